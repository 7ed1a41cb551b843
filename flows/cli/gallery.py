"""The command `scan2qa gallery`: all questions of a build with their pictures, to filter and open, from disk."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from operator import itemgetter
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from flows.cli.leaderboard import replies_of
from flows.cli.output.console import console, count_of
from flows.cli.release_reader import ReleaseReader, open_build, sketch_of
from flows.cli.score import scorable, show_unusual
from flows.cli.show import details_of, near_misses
from pipeline.core.errors import ConfigError
from pipeline.core.files import TEMPORARY, new_folder, translate_os_errors
from pipeline.core.groups import grouped
from pipeline.core.spatial import TopDownMap
from pipeline.core.tables import PART_SPLITS, budget_of
from pipeline.core.video_spec import VIDEOS, video_file
from pipeline.engine.config import settings_of
from pipeline.release.media import videos_folder
from pipeline.rendering.details import dropped
from pipeline.rendering.examples import in_turn
from pipeline.rendering.gallery import (
    INDEX,
    GalleryHeader,
    GalleryQuestion,
    GalleryRejection,
    GalleryReply,
    Picture,
    gallery,
)
from pipeline.rendering.glossary import glossary
from pipeline.rendering.near_misses import nearest_refused, some_of_each
from pipeline.review.maps import map_after, map_file
from pipeline.scoring.leaderboard import ranking_metric
from pipeline.scoring.score import split_of

FOLDER: Final = "gallery"
MARK: Final = "data/rows-0000.js"  # of a gallery
EACH: Final = 12  # rejected candidates of each task and reason that are shown


def make_gallery(folder: Path, out: Path | None, given: Sequence[str] = (), settings: Sequence[str] = ()) -> None:
    """Writes the gallery of a build's newest release, and prints where it is.

    Args:
        folder: of the build, or of a release.
        out: the gallery's folder; None: beside the build.
        given: replies, ``MODEL=FILE`` or ``MODEL@SPLIT=FILE``.
        settings: by which these are scored.
    """
    place = out or folder / FOLDER
    n, size = write_gallery(folder, place, given, settings)
    console.print(f"Gallery: {place / INDEX} ({count_of(n, 'file')}, {size / 1e6:.1f} MB; opens in any browser)")


def write_gallery(
    folder: Path, place: Path, given: Sequence[str] = (), settings: Sequence[str] = ()
) -> tuple[int, int]:
    """Writes the gallery of a build's newest release: a page, and beside it its data and maps; gives files and bytes.

    It is there whole or not at all: it takes the place of the one before when it is written. Raises ConfigError where
    something else lies there.
    """
    opened = open_build(folder)
    if place.exists() and not (place / MARK).exists() and (place.is_file() or any(place.iterdir())):
        raise ConfigError(f"{place} holds something else than a gallery: give another folder with --out")
    replies = _replies(opened, given, settings)
    made = place.parent / f"{TEMPORARY}{place.name}"
    n, size = 0, 0
    with translate_os_errors(place), new_folder(made):
        for name, raw in files(opened, place, replies):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes(raw)
            n, size = n + 1, size + len(raw)
        shutil.rmtree(place, ignore_errors=True)
        made.rename(place)
    return n, size


Replies = dict[tuple[str, int | None], dict[str, GalleryReply]]  # model and frame budget -> question -> its reply


def _replies(opened: ReleaseReader, given: Sequence[str], settings: Sequence[str]) -> Replies:
    """The replies to the questions of the gallery. Raises ConfigError for those to a split with other questions."""
    if not given:
        return {}
    score = scorable(opened.benchmark.name)
    full = split_of(opened.release).name
    found: Replies = {}
    for split, models in replies_of(score, opened.release, full, given, settings_of(score.settings, settings)).items():
        budget = budget_of(split)
        if budget is None and split not in {full, *PART_SPLITS}:
            raise ConfigError(f"@{split}: the gallery shows other questions; give replies to {full} or to N_frame")
        for model, scored in models.items():
            if (model, budget) in found:
                raise ConfigError(f"{model}@{split}: the same questions have other replies of {model}; give one file")
            show_unusual(scored, score, f" in the replies of {model} to {split}")
            metric = ranking_metric(score, scored)
            highest = score.metrics[metric].highest
            found[model, budget] = {
                str(answer.question.id): GalleryReply(
                    model, budget, answer.reply or "", None if isnan(mark) else mark / highest, why or ""
                )
                for answer, mark, why in zip(
                    scored.answers, scored.marks.values[metric].tolist(), scored.marks.unread, strict=True
                )
                if answer.reply is not None or answer.steps is not None
            }
    return found


def files(opened: ReleaseReader, place: Path, replies: Replies | None = None) -> Iterator[tuple[str, bytes]]:
    """File below the gallery -> bytes."""
    replies = replies or {}
    refused, reasons = some_of_each(opened.release, EACH)
    by_number = {row["id"]: row for row in opened.rows("provenance")}
    rows = [by_number[number] for number in in_turn({number: row["task"] for number, row in by_number.items()})]
    sketches = {scene.id: sketch_of(scene) for scene in opened.scenes(row["scene"] for row in (*rows, *refused))}
    beside, marks = _address(place, opened.release), opened.marks(rows)
    nearest = nearest_refused(opened.release, opened.benchmark.card.chosen).of_scenes
    near = near_misses(opened, rows, nearest, sketches)
    places = {key: f"near/{n}.svg" for n, key in enumerate(sorted(near))}
    budgets: dict[int, set[int]] = {}
    for one in opened.rows("budgets", ["id", "budget", "answer"]):
        if one["answer"] is not None:
            budgets.setdefault(one["budget"], set()).add(one["id"])
    films = opened.folder / VIDEOS if opened.outputs else videos_folder(opened.release)
    shown, maps = [], {places[key]: raw for key, raw in near.items()}
    for detail, row in zip(details_of(opened, rows, maps=False), rows, strict=True):
        pictures = [
            Picture(f"{beside}/{quote(file)}", "Picture that goes with this question", marks.get((row["id"], file), ()))
            for file in opened.pictures.get(row["id"], ())
        ]
        if not pictures and (drawn := _map(sketches, row["scene"], row["operands"], row["from_s"], row["until_s"])):
            maps[f"maps/{row['id']}.svg"] = drawn
            pictures = [Picture(f"maps/{row['id']}.svg", "Its scene from above, with what it names marked")]
        near_miss = places.get((row["scene"], row["task"]), "")
        own = [found[str(row["id"])] for found in replies.values() if str(row["id"]) in found]
        shown_in = [budget for budget, ids in budgets.items() if row["id"] in ids]
        video = _video(films, place, row)
        shown.append(GalleryQuestion(detail, pictures, near_miss, video, shown_in, own))
    words = glossary(opened.benchmark.name)
    blind = grouped(opened.of("blind", {row["id"] for row in refused}), itemgetter("id"))
    lost = []
    for row in refused:
        drawn = _map(sketches, row["scene"], row["operands"])
        name = f"maps/{row['id']}.svg" if drawn else ""
        if drawn:
            maps[name] = drawn
        lost.append(GalleryRejection(dropped(row, words, None, blind.get(row["id"], ())), name))
    yield from maps.items()
    about = GalleryHeader(opened.title, opened.benchmark.card.about, opened.read.name, reasons, EACH, list(replies))
    yield from gallery(about, shown, lost)


def _map(
    sketches: Mapping[str, TopDownMap],
    scene: str,
    about: Sequence[str] | None,
    from_s: float | None = None,
    until_s: float | None = None,
) -> bytes | None:
    """A scene from above as a file; None where nothing can be drawn of it."""
    drawn = map_after(sketches[scene], about or (), until_s, from_s or 0.0) if scene in sketches else None
    return map_file(drawn) if drawn else None


def _video(films: Path, place: Path, row: Mapping[str, Any]) -> str:
    """The address of the video that a question is asked about; empty where there is none."""
    video = films / video_file(row["scene"], row["until_s"], row["from_s"])
    return _address(place, video) if video.is_file() else ""


def _address(place: Path, path: Path) -> str:
    """The relative address of a file or folder, seen from the gallery."""
    return quote(os.path.relpath(path.resolve(), place.resolve()))
