"""The command `scan2qa report`: one page that explains a release to readers who did not build it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from flows.cli.diff import report_of
from flows.cli.output.console import console
from flows.cli.release_reader import open_build, sketch_of
from flows.cli.show import near_misses
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.tables import QUESTIONS
from pipeline.engine.manifest import read_quarantine
from pipeline.release.comparison import Report
from pipeline.release.history import RELEASES, history
from pipeline.rendering.examples import drawn, examples
from pipeline.rendering.glossary import glossary
from pipeline.rendering.near_misses import nearest_refused
from pipeline.rendering.report import ReportInputs, page
from pipeline.review.reviewed import Reviewed

REPORT_FILE: Final = "report.html"
_COUNTED: Final = pa.schema([QUESTIONS.field(name) for name in ("id", "scene", "task", "answer", "evidence", "flags")])


def report(folder: Path, out: Path | None) -> None:
    """Writes the report of a build: one file that opens from disk."""
    path = out or folder / REPORT_FILE
    raw = report_page(folder)
    write_atomically(path, raw)
    console.print(f"Report: {path} ({len(raw) / 1e6:.1f} MB, one file; opens in any browser)")


def report_page(folder: Path) -> bytes:
    """The report of a build's newest release. Raises ConfigError without a release, StoreError for a changed one."""
    opened = open_build(folder)
    if opened.released is None:
        raise ConfigError(f"{folder}: a release without its build; give the folder of the build")
    benchmark, release = opened.benchmark, opened.release
    provenance = opened.rows("provenance", _COUNTED.names)
    pool = drawn({row["id"]: row["task"] for row in provenance})
    rows = {row["id"]: row for row in opened.of("provenance", pool)}
    chosen = [rows[number] for number in pool]
    marks = opened.marks(chosen)
    pictures = {
        n: [((release / file).read_bytes(), marks.get((n, file), ())) for file in opened.pictures.get(n, ())]
        for n in pool
    }
    nearest = nearest_refused(release, benchmark.card.chosen)
    without = {row["scene"] for row in chosen if not pictures[row["id"]]}
    wanted = {row["scene"] for row in chosen} if benchmark.drawings else without
    sketches = {scene.id: sketch_of(scene) for scene in opened.scenes(wanted)}
    near = near_misses(opened, chosen, nearest.of_scenes, sketches)
    maps = {name: sketch for name, sketch in sketches.items() if name in without}
    reviewed = opened.reviewed()
    changes, unread = _changes(folder, [one.name for one in history(folder)], benchmark.name)
    told = ReportInputs(
        title=opened.title,
        about=benchmark.card.about,
        remarks=benchmark.card.remarks(benchmark.card.counts(pa.Table.from_pylist(provenance, _COUNTED))),
        name=opened.read.name,
        profile=rows[pool[0]]["profile"] if pool and len(benchmark.profiles) > 1 else "",
        released=opened.released,
        provenance=provenance,
        debiased=opened.read.debiased,
        reviewed=reviewed,
        states=_states(reviewed, opened.read.questions),
        quarantine=read_quarantine(folder),
        nearest=nearest.of_reasons,
        words=glossary(benchmark.name),
        chosen=benchmark.card.chosen,
        changes=changes,
        unread=unread,
        fixes=len(opened.read.fixes),
    )
    return page(told, examples(chosen, opened.read.questions, maps, pictures, nearest.of_scenes, near))


def _states(reviewed: Reviewed, questions: Mapping[int, Any]) -> Counter[str]:
    """The number of released questions by review status; empty where nobody reviewed."""
    if not reviewed.stands:
        return Counter()
    count = Counter(stand.state for stand in reviewed.stands if stand.id in questions)
    count["waiting"] += len(questions) - count.total()
    return count


def _changes(folder: Path, kept: Sequence[str], benchmark: str) -> tuple[Report | None, str]:
    """The changes since the release before; else None, with a message where there is one that cannot be read."""
    if len(kept) < 2:
        return None, ""
    home = folder / RELEASES
    try:
        return report_of(home / kept[-2], home / kept[-1], "", benchmark, reasons=False), ""
    except ConfigError as error:
        console.print(f"Not compared with the release before: {error}")
        return None, f"The release before, {kept[-2]}, cannot be read by this version: nothing is compared."
