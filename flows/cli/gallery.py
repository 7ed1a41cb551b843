"""The command `scan2qa gallery`: all questions of a build with their pictures, to filter and open, from disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from flows.cli.output.console import console, count_of
from flows.cli.release_reader import ReleaseReader, open_build, sketch_of
from flows.cli.show import by_id, details_of, near_misses
from pipeline.core.errors import ConfigError
from pipeline.core.files import TEMPORARY, translate_os_errors
from pipeline.core.spatial import TopDownMap
from pipeline.core.video_spec import video_file
from pipeline.rendering.details import dropped
from pipeline.rendering.gallery import INDEX, GalleryHeader, GalleryQuestion, GalleryRejection, gallery
from pipeline.rendering.near_misses import nearest_refused, some_of_each
from pipeline.rendering.reason_examples import glossary
from pipeline.review.maps import map_after, map_file
from pipeline.stages.video import VIDEOS

FOLDER: Final = "gallery"
MARK: Final = "data/rows-0000.js"  # of a gallery
EACH: Final = 12  # rejected candidates of each task and reason that are shown


def make_gallery(folder: Path, out: Path | None) -> None:
    """Writes the gallery of a build's newest release, and prints where it is."""
    place = out or folder / FOLDER
    n, size = write_gallery(folder, place)
    console.print(
        f"Gallery: {place / INDEX} ({count_of(n, 'file')}, {size / 1e6:.1f} MB; opens in any browser)", soft_wrap=True
    )


def write_gallery(folder: Path, place: Path) -> tuple[int, int]:
    """Writes the gallery of a build's newest release: a page, and beside it its data and maps; gives files and bytes.

    It is there whole or not at all: it takes the place of the one before when it is written. Raises ConfigError where
    something else lies there.
    """
    opened = open_build(folder)
    if place.exists() and not (place / MARK).exists() and (place.is_file() or any(place.iterdir())):
        raise ConfigError(f"{place} holds something else than a gallery: give another folder with --out")
    made = place.parent / f"{TEMPORARY}{place.name}"
    n, size = 0, 0
    with translate_os_errors(place):
        shutil.rmtree(made, ignore_errors=True)  # of a command that was killed
        try:
            for name, raw in files(opened, place):
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(raw)
                n, size = n + 1, size + len(raw)
            shutil.rmtree(place, ignore_errors=True)
            made.rename(place)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return n, size


def files(opened: ReleaseReader, place: Path) -> Iterator[tuple[str, bytes]]:
    """File below the gallery -> bytes."""
    refused, reasons = some_of_each(opened.release, EACH)
    rows = sorted(opened.rows("provenance"), key=lambda row: (row["task"], row["scene"], row["id"]))
    sketches = {scene.id: sketch_of(scene) for scene in opened.scenes(row["scene"] for row in (*rows, *refused))}
    beside = _address(place, opened.release)
    nearest = nearest_refused(opened.release, opened.benchmark.card.chosen).of_scenes
    near = near_misses(opened, rows, nearest, sketches)
    places = {key: f"near/{n}.svg" for n, key in enumerate(sorted(near))}
    shown, maps = [], {places[key]: raw for key, raw in near.items()}
    for detail, row in zip(details_of(opened, rows, maps=False), rows, strict=True):
        pictures = [
            (f"{beside}/{quote(file)}", "Picture that goes with this question")
            for file in opened.pictures.get(row["id"], ())
        ]
        if not pictures and (drawn := _map(sketches, row["scene"], row["operands"], row["from_s"], row["until_s"])):
            maps[f"maps/{row['id']}.svg"] = drawn
            pictures = [(f"maps/{row['id']}.svg", "Its scene from above, with what it names marked")]
        near_miss = places.get((row["scene"], row["task"]), "")
        shown.append(GalleryQuestion(detail, pictures, near_miss, _video(opened.folder, place, row)))
    words, replies = glossary(opened.benchmark.name), by_id(opened.of("blind", {row["id"] for row in refused}))
    lost = []
    for row in refused:
        drawn = _map(sketches, row["scene"], row["operands"])
        name = f"maps/{row['id']}.svg" if drawn else ""
        if drawn:
            maps[name] = drawn
        lost.append(GalleryRejection(dropped(row, words, None, replies.get(row["id"], ())), name))
    yield from maps.items()
    about = GalleryHeader(opened.title, opened.benchmark.card.about, opened.read.name, reasons, EACH)
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


def _video(build: Path, place: Path, row: Mapping[str, Any]) -> str:
    """The address of the video that a question is asked about; empty where the build has none."""
    video = build / VIDEOS / video_file(row["scene"], row["until_s"], row["from_s"])
    return _address(place, video) if video.is_file() else ""


def _address(place: Path, path: Path) -> str:
    """The relative address of a file or folder, seen from the gallery."""
    return quote(os.path.relpath(path.resolve(), place.resolve()))
