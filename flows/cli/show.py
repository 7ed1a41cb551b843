"""The command `scan2qa show`: one question, rejected candidate or scene, on the terminal or on a page."""

import os
import sys
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.table import Table

from flows.cli.output.console import console, print_wrapped
from flows.cli.output.tables import numbers, print_pairs, print_table, sentences
from flows.cli.release_reader import ReleaseReader, open_build, sketch_of
from flows.cli.trace import print_evidence
from pipeline.core.errors import ConfigError, shortened
from pipeline.core.files import write_atomically
from pipeline.core.groups import grouped
from pipeline.core.schema import AnyScene, Finding
from pipeline.core.spatial import TopDownMap
from pipeline.engine.manifest import MANIFEST_FILE
from pipeline.rendering.details import BlindReplies, QuestionDetail, RejectionDetail, SceneDetail, detail, dropped, seen
from pipeline.rendering.examples import examples
from pipeline.rendering.gallery import Picture, one_page
from pipeline.rendering.glossary import glossary
from pipeline.rendering.near_misses import Key, NearMiss, near_miss_figure, nearest_refused
from pipeline.rendering.report import embedded

SHOWN: Final = "shown"  # folder of a build
FOUND_IN: Final = ("provenance", "rejected")
MAX_ID: Final = 2**63 - 1
MAX_DIGITS: Final = 20  # so many are more than any id has
NAME_CHARS: Final = 80  # of what is not found, in a message
LIKE: Final = 3  # names in a hint
LIKE_FROM: Final = 4  # characters: with fewer, too much is like it


def show(wanted: str, folders: Sequence[Path], page: bool | None, out: Path | None, rerun: Path | None = None) -> None:
    """Shows a question or a rejected candidate by its id, or a scene by its name, from the first build that has it.

    Args:
        wanted: an id, or "dataset/name".
        folders: of builds, or of releases.
        page: write a page and open it; None: where there is a display.
        out: the page's file.
        rerun: a recording for Rerun is written there too.

    Raises ConfigError where none of them has it, or what is there cannot be read.
    """
    wanted = wanted.lstrip("0") or "0" if wanted.isdecimal() else wanted
    folder = _folder_of(wanted, folders)
    opened = open_build(folder)
    found = _FoundRow(opened, wanted)
    if rerun is not None:
        from flows.cli.recording import record

        record(opened, found.scene, found.questions, rerun)
    found.print()
    if rerun is not None:
        console.print(f"Recording: {rerun} (rerun {rerun} opens it)")
    if page or out or (page is None and _has_display()):
        path = out or folder / SHOWN / f"{wanted.replace('/', '_')}.html"
        write_atomically(path, found.page())
        console.print(f"Page: {path}")
        if _has_display():
            webbrowser.open(path.resolve().as_uri())


def details_of(opened: ReleaseReader, rows: Sequence[Mapping[str, Any]], maps: bool) -> list[QuestionDetail]:
    """All that is known of some questions, rows of the provenance; ``maps``: with those of their scenes."""
    scenes = {scene.id: scene for scene in opened.scenes(row["scene"] for row in rows)}
    ids = {row["id"] for row in rows}
    replies = grouped(opened.of("blind", ids), itemgetter("id"))
    stands = {row["id"]: row for row in opened.of("review", ids)}
    budgets = grouped(opened.of("budgets", ids), itemgetter("id"))
    drawn = {s: sketch_of(scene) for s, scene in scenes.items()} if maps else {}
    nearest = nearest_refused(opened.release, opened.benchmark.card.chosen)
    near = near_misses(opened, rows, nearest.of_scenes, drawn) if maps else {}
    shown = examples(rows, opened.read.questions, drawn, {}, nearest.of_scenes, near)
    return [
        detail(
            one,
            row,
            scenes.get(row["scene"]),
            replies.get(row["id"], ()),
            stands.get(row["id"]),
            budgets.get(row["id"], ()),
        )
        for one, row in zip(shown, rows, strict=True)
    ]


def near_misses(
    opened: ReleaseReader,
    rows: Iterable[Mapping[str, Any]],
    refused: Mapping[Key, NearMiss],
    sketches: Mapping[str, TopDownMap],
) -> dict[Key, bytes]:
    """Pictures of what was refused most narrowly of some questions' scenes and tasks.

    A city has more things than such a picture can show: of benchmarks without drawings there is the value alone.
    """
    found = {}
    for key in {(row["scene"], row["task"]) for row in rows} & refused.keys():
        sketch = sketches.get(key[0]) if opened.benchmark.drawings else None
        if (drawn := near_miss_figure(refused[key], sketch)) is not None:
            found[key] = drawn
    return found


class _FoundRow:
    """The requested question, candidate or scene, read from a release."""

    def __init__(self, opened: ReleaseReader, wanted: str) -> None:
        self._opened, self._wanted = opened, wanted
        where = pc.field("id") == int(wanted) if wanted.isdecimal() else pc.field("scene") == wanted
        self.provenance, refused = (opened.rows(table, where=where) for table in FOUND_IN)
        units = {row["scene"] for row in (*self.provenance, *refused)}
        self.scene: AnyScene | None = next(opened.scenes(units), None)
        sketch: TopDownMap | None = sketch_of(self.scene) if self.scene else None
        self.questions: list[QuestionDetail] = []
        self.refused: list[RejectionDetail] = []
        self.seen: list[SceneDetail] = []
        if wanted.isdecimal():
            self.questions = details_of(opened, self.provenance, maps=True)
            words, replies = glossary(opened.benchmark.name), opened.of("blind", {row["id"] for row in refused})
            self.refused = [dropped(row, words, sketch, replies) for row in refused]
        else:
            self.seen = [seen(wanted, self.provenance, refused, self.scene, sketch)]

    def print(self) -> None:
        """Prints it to the terminal."""
        for one in self.questions:
            row = next(row for row in self.provenance if row["id"] == one.shown.id)
            _print_question(one, row)
        for lost in self.refused:
            print_pairs(
                f"Rejected candidate {lost.id}: {lost.task}, {lost.scene}",
                [
                    ("not asked", lost.reason),
                    ("which means", lost.means),
                    ("measured", lost.measured_text or "nothing is measured for this reason"),
                    ("about", ", ".join(lost.about)),
                    ("as", lost.role),
                ],
            )
            _print_guesses(lost.guessed)
        for scene in self.seen:
            heads = [*numbers("asked", "rejected"), *sentences("most frequent reasons")]
            table = Table("task", *heads, title=f"Scene {scene.id}")
            for task in sorted({*scene.questions, *scene.dropped}):
                reasons = scene.dropped.get(task, {})
                told = ", ".join(f"{reason} {n:,}" for reason, n in list(reasons.items())[:3])
                table.add_row(task, f"{scene.questions.get(task, 0):,}", f"{sum(reasons.values()):,}", told)
            print_table(table)
            _print_findings("Findings in its raw data", scene.findings)
            print_pairs("Sources", scene.made)
        print_wrapped(f"From {self._opened.release}; scan2qa trace shows its source and other questions from it.")

    def page(self) -> bytes:
        """One self-contained page."""
        heading = f"Scene {self._wanted}" if self.seen else f"Question {self._wanted}"
        return one_page(
            heading if self.questions or self.seen else f"Rejected candidate {self._wanted}",
            self._opened.title,
            self._opened.read.name,
            questions=[(one, self._pictures(one.shown.id)) for one in self.questions],
            dropped=self.refused,
            scenes=self.seen,
        )

    def _pictures(self, number: int) -> list[Picture]:
        files, marks = self._opened.pictures.get(number, ()), self._opened.marks(self.provenance)
        read = {file: embedded((self._opened.release / file).read_bytes()) for file in files}
        return [Picture(raw, file, marks.get((number, file), ())) for file, raw in read.items()]


def _folder_of(wanted: str, folders: Sequence[Path]) -> Path:
    """The first folder whose release has it. Raises ConfigError, which names what is like it."""
    is_number = wanted.isdecimal()
    column = "id" if is_number else "scene"
    value: int | str = int(wanted[:MAX_DIGITS]) if is_number else wanted
    tables = [(folder, path) for folder in folders for path in _tables_of(folder)]
    if not isinstance(value, int) or value <= MAX_ID:
        for folder, path in tables:
            if _column(path, column, pc.field(column) == value):
                return folder
    looked = ", ".join(str(folder) for folder in folders) or "outputs/"
    what = "question or rejected candidate with id" if is_number else "scene (dataset/name)"
    if folders and not tables:
        raise ConfigError(f"{looked}: neither a build nor a release; name the folder of one behind {wanted}")
    wanted = shortened(wanted, NAME_CHARS)
    like = _similar_names(wanted, is_number, column, [path for _, path in tables])
    hint = f"Did you mean {', '.join(like)}?" if like else "Pass the build or release folder as second argument."
    raise ConfigError(f"No {what} {wanted} under {looked}. {hint}")


def _tables_of(folder: Path) -> list[Path]:
    """The files of a build's or a release's tables in which things are looked for."""
    release = folder / "release" if (folder / MANIFEST_FILE).exists() else folder
    return [path for table in FOUND_IN for path in sorted((release / table).glob("*.parquet"))]


def _similar_names(wanted: str, is_number: bool, column: str, paths: Sequence[Path]) -> list[str]:
    """Questions whose id begins as the wanted one, or scenes with the wanted name in theirs; a few."""
    if len(wanted) < LIKE_FROM:
        return []
    found: dict[str, None] = {}
    for path in paths:
        named = (str(name) for name in _column(path, column))
        fit = (n for n in named if (n.startswith(wanted) if is_number else wanted.lower() in n.lower()))
        found |= dict.fromkeys(islice(fit, LIKE))
    return list(found)[:LIKE]


def _column(path: Path, column: str, where: pc.Expression | None = None) -> list[Any]:
    """The different values of a column of a table. Raises ConfigError."""
    try:
        found = pq.read_table(path, columns=[column], filters=where)
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); copy the release again, or build again") from error
    return list(found[column].unique().to_pylist())


def _has_display() -> bool:
    """Returns whether a browser can be opened and the terminal is interactive."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _print_question(one: QuestionDetail, row: Mapping[str, Any]) -> None:
    shown = one.shown
    options = "\n".join(
        f"{option.letter + '. ' if option.letter else ''}{option.text}{'   <- right' if option.right else ''}"
        for option in shown.options
    )
    near = shown.near.near if shown.near else None
    print_pairs(
        f"Question {shown.id}: {shown.task}, {shown.scene}",
        [
            ("question", shown.text),
            ("options", options),
            ("answer", shown.answer),
            ("about", ", ".join(shown.operands)),
            ("in its own words", shown.proof or ""),
            ("remarks", ", ".join(one.remarks)),
            ("near miss", f"{near.measured_text} ({near.reason})" if near else "none"),
            ("review", one.review),
            ("pruning", one.bias),
        ],
    )
    print_evidence(row["evidence"] or ())
    _print_guesses(one.guessed)
    _print_findings("Found about what it names", one.doubts[: one.touched])
    print_pairs("Sources", one.made)


def _print_guesses(rows: Sequence[BlindReplies]) -> None:
    if not rows:
        return
    table = Table("model", "asked for", *numbers("right"), *sentences("it said"), title="Without the video")
    for one in rows:
        failed = f" ({one.failed} failed)" if one.failed else ""
        table.add_row(
            one.model, one.form, f"{one.right} of {one.asked}", (", ".join(one.answers) or "nothing") + failed
        )
    print_table(table)


def _print_findings(title: str, rows: Sequence[Finding]) -> None:
    if not rows:
        return
    table = Table("finding", "", "about", *sentences("what was found, and what helps"), title=title)
    for one in rows:
        table.add_row(one.name, one.severity, one.subject, f"{one.message}; {one.remedy}")
    print_table(table)
