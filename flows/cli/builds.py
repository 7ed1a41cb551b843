"""The command `scan2qa builds`: lists the builds of a folder."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from flows.cli.output.console import console
from flows.cli.output.tables import numbers, print_table
from flows.orchestration.saved_build import SAVED_FILE, UNFINISHED_FILE, SavedBuild, read_saved_build
from pipeline.core.errors import ConfigError
from pipeline.core.parquet import released_files
from pipeline.engine.lease import LOCK_FILE, is_running
from pipeline.engine.manifest import Entry, read_manifest, read_quarantine
from pipeline.release.history import candidate
from pipeline.stages.registry import STAGES


def show_builds(folder: Path) -> None:
    """A row for each build: when it was last started, its scenes, its questions and how it stands."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder; give one with builds, such as outputs")
    table = Table("build", "started, UTC", *numbers("scenes", "questions"), "state", box=None)
    for build in sorted({path.parent for name in (SAVED_FILE, UNFINISHED_FILE) for path in folder.glob(f"*/{name}")}):
        table.add_row(*_row(build))
    if table.row_count:
        print_table(table)
    else:
        console.print(f"No builds in {folder}.")


def _row(folder: Path) -> tuple[str, ...]:
    try:
        kept = read_saved_build(folder, UNFINISHED_FILE)
        kept = kept if kept.at else read_saved_build(folder)
    except ConfigError:
        kept = SavedBuild(at="?")
    manifest = read_manifest(folder)
    scenes = {unit for stage, unit in manifest if STAGES[stage].unit == "scene"}
    questions = questions_in(folder)
    left_out = len({row.unit for row in read_quarantine(folder)})
    counted = "" if questions is None else f"{questions:,}"
    found = f"{len(scenes):,}" + (f" ({left_out:,} left out)" if left_out else "")
    return folder.name, kept.at, found, counted, _state(folder, manifest)


def questions_in(folder: Path) -> int | None:
    """Rows of the largest split of a build's release; None where there is none, or a damaged one."""
    rows: Counter[str] = Counter()
    try:
        for path in released_files(folder / "release" / "data"):
            rows[path.name.partition("-")[0]] += pq.read_metadata(path).num_rows
        return max(rows.values())
    except (OSError, ValueError, pa.ArrowException):
        return None


def _state(folder: Path, manifest: Mapping[tuple[str, str], Entry]) -> str:
    if is_running(folder):
        return "running"
    if not (folder / LOCK_FILE).exists():
        return "not started"
    if not manifest:
        return "not finished"
    if (folder / UNFINISHED_FILE).exists():
        return "last run not finished"
    ran = {stage for stage, _ in manifest}
    alone = {stage for (stage, _), entry in manifest.items() if entry.why == "asked"}
    last = ""
    for name in (name for name in STAGES if name in ran):
        if name in alone:
            last = name
        elif last:
            return f"stages behind {last} not run"
    return "candidate waits" if candidate(folder) else "complete"
