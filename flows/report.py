"""The command `scan2qa report`: what a build released, told on one page to someone who did not build it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from pydantic import ValidationError

from flows.console import console
from flows.diff import report_of
from flows.kept import read_kept
from flows.review import benchmark_of
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.files import write_atomically
from pipeline.core.sketch import Sketch
from pipeline.engine.again import last_outputs
from pipeline.engine.given import STORE
from pipeline.engine.manifest import read_manifest, read_quarantine
from pipeline.engine.store import Result, Store
from pipeline.export.comparison import read_release
from pipeline.export.comparison_report import Report
from pipeline.export.glossary import glossary
from pipeline.export.history import RELEASES, history
from pipeline.export.release import Released, changed_file
from pipeline.export.report.examples import drawn, examples
from pipeline.export.report.page import Told, page
from pipeline.export.report.refused import nearest_refused
from pipeline.review.reviewed import Reviewed
from pipeline.worlds.registry import WORLDS, read_scene

REPORT_FILE: Final = "report.html"
_COUNTED: Final = ["id", "scene", "task", "answer"]
_OF_QUESTION: Final = re.compile(r"[^/]+/(\d+)[^/]*\.png")  # a picture that goes with a question, by its id


def report(folder: Path, out: Path | None) -> None:
    """Writes the report of a build: one file that opens from disk."""
    path = out or folder / REPORT_FILE
    raw = report_page(folder)
    write_atomically(path, raw)
    console.print(f"Report: {path} ({len(raw) / 1e6:.1f} MB, one file; opens in any browser)", soft_wrap=True)


def report_page(folder: Path) -> bytes:
    """The report of a build's newest release. Raises ConfigError without a release, StoreError for a changed one."""
    outputs, store = last_outputs(read_manifest(folder)), Store(folder / STORE)
    kept = history(folder)
    if not outputs.get("export") or not kept:
        raise ConfigError(f"{folder} holds no release yet: build first, then report on it")
    release = folder / RELEASES / kept[-1].name
    released = _released(store, outputs["export"], release)
    configured = read_kept(folder).configured
    benchmark = BENCHMARKS[benchmark_of(folder)]
    found = read_release(release, [benchmark.columns])
    provenance = _table(release, _COUNTED)
    pool = drawn({row["id"]: row["task"] for row in provenance})
    rows = {row["id"]: row for row in _table(release, None, pool)}
    chosen = [rows[number] for number in pool]
    pictures = _pictures(release, released, set(pool))
    unpictured = {row["scene"] for row in chosen if row["id"] not in pictures}
    maps = _maps(store, {u: r for u, r in (outputs.get("look") or outputs["observe"]).items() if u in unpictured})
    nearest = nearest_refused(release)
    reviewed = _reviewed(store, outputs.get("review", {}))
    changes, unread = _changes(folder, [one.name for one in kept])
    told = Told(
        title=configured["export"]["pretty_name"] or benchmark.title,
        about=benchmark.card.about,
        name=found.name,
        profile=rows[pool[0]]["profile"] if pool and len(benchmark.profiles) > 1 else "",
        released=released,
        provenance=provenance,
        debiased=found.debiased,
        reviewed=reviewed,
        states=_states(reviewed, found.questions),
        quarantine=read_quarantine(folder),
        nearest=nearest.of_reasons,
        words=glossary(benchmark.name),
        changes=changes,
        unread=unread,
        fixes=len(found.fixes),
    )
    return page(told, examples(chosen, found.questions, maps, pictures, nearest.of_scenes))


def _released(store: Store, exported: Mapping[str, Result], release: Path) -> Released:
    """What the release counted, which is what lies there. Raises StoreError where a file is not what was written."""
    try:
        released = Released.model_validate_json(store.get(next(iter(exported.values()))))
    except ValidationError as error:
        raise ConfigError(f"{release}: made by another version; build again, then report on it") from error
    changed = changed_file(release, released)
    if changed is not None:
        raise StoreError(f"{release / changed}: missing or changed since it was released; build again")
    return released


def _table(release: Path, columns: list[str] | None, ids: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Rows of the provenance; its columns, and questions, all or some."""
    path = next(iter(sorted((release / "provenance").glob("*.parquet"))))
    filters = None if ids is None else [("id", "in", list(ids))]
    rows: list[dict[str, Any]] = pq.read_table(path, columns=columns, filters=filters).to_pylist()
    return rows


def _pictures(release: Path, released: Released, wanted: set[int]) -> dict[int, list[bytes]]:
    """The pictures of some questions, as they are in the release."""
    found: dict[int, list[bytes]] = {}
    for name in sorted(released.files):
        told = _OF_QUESTION.fullmatch(name)
        if told and int(told[1]) in wanted:
            found.setdefault(int(told[1]), []).append((release / name).read_bytes())
    return found


def _maps(store: Store, observed: Mapping[str, Result]) -> dict[str, Sketch]:
    """The scenes from above, one at a time in memory."""
    maps = {}
    for unit, result in sorted(observed.items()):
        scene = read_scene(store.get(result))
        maps[unit] = WORLDS[scene.facts.world].sketch(scene)
    return maps


def _reviewed(store: Store, results: Mapping[str, Result]) -> Reviewed:
    return next((Reviewed.model_validate_json(store.get(result)) for result in results.values()), Reviewed())


def _states(reviewed: Reviewed, questions: Mapping[int, Any]) -> Counter[str]:
    """How many of the released questions stand where; empty where nobody reviewed."""
    if not reviewed.stands:
        return Counter()
    count = Counter(stand.state for stand in reviewed.stands if stand.id in questions)
    count["waiting"] += len(questions) - count.total()
    return count


def _changes(folder: Path, kept: Sequence[str]) -> tuple[Report | None, str]:
    """What changed since the release before; else None and, where there is one that cannot be read, a word of it."""
    if len(kept) < 2:
        return None, ""
    home = folder / RELEASES
    try:
        return report_of(home / kept[-2], home / kept[-1], "", reasons=False), ""
    except ConfigError as error:
        console.print(f"Not compared with the release before: {error}")
        return None, f"The release before, {kept[-2]}, cannot be read by this version: nothing is compared."
