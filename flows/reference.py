"""The command `scan2qa reference`: pages of the documentation, and example pictures from builds of the samples."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from flows.console import console
from flows.opened import Opened, open_build, sketch_of
from flows.options import BUILDS
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.files import write_atomically
from pipeline.engine.manifest import MANIFEST_FILE
from pipeline.engine.reference import PICTURES, WITHOUT_FILE, references
from pipeline.export.glossary import ANY, SHARED, findings_of, glossary
from pipeline.export.reason_pictures import of_finding, of_rejection
from pipeline.export.report.refused import some_of_each
from pipeline.worlds.registry import WORLDS

TRIED: Final = 12  # rejections of each task and reason
NOT_MET: Final = "no sample scene has it"
NOT_SHOWN: Final = "nothing that a map from above shows"
NOT_DRAWN: Final = "not drawn yet"  # of what was added since the samples were last built


def reference(folder: Path, builds: Path | None) -> None:
    """Writes the pages; with a folder of builds of the samples, the pictures before."""
    if builds is None:
        _list(folder / PICTURES)
    else:
        _draw(folder / PICTURES, builds)
    for file, text in references(BUILDS, folder / PICTURES).items():
        write_atomically(folder / file, text.encode())


def _draw(place: Path, builds: Path) -> None:
    """Draws an example of each reason and finding that the builds have, and lists those of which there is none."""
    everything = _everything()
    met: dict[str, set[str]] = {group: set() for group in everything}
    pictures: dict[str, dict[str, bytes]] = {group: {} for group in everything}
    for folder in sorted(path.parent for path in builds.glob(f"*/{MANIFEST_FILE}")):
        opened = open_build(folder)
        for group, reason, raw in (*_reasons(opened), *_findings(opened)):
            met[group].add(reason)
            if raw is not None and reason in everything[group]:
                pictures[group].setdefault(reason, raw)
    shutil.rmtree(place, ignore_errors=True)
    without: dict[str, dict[str, str]] = {}
    for group, words in everything.items():
        for name in words:
            if name in pictures[group]:
                write_atomically(place / group / f"{name}.svg", pictures[group][name])
            else:
                without.setdefault(group, {})[name] = NOT_SHOWN if name in met[group] else NOT_MET
    write_atomically(place / WITHOUT_FILE, yaml.safe_dump(without, sort_keys=True).encode())
    n = sum(map(len, without.values()))
    console.print(
        f"{sum(map(len, everything.values())) - n} pictures; {n} reasons and findings have none: {WITHOUT_FILE}"
    )


def _list(place: Path) -> None:
    """Takes up what was added since pictures were drawn, and leaves out what is gone."""
    file = place / WITHOUT_FILE
    before = yaml.safe_load(file.read_text("utf-8")) if file.exists() else {}
    without: dict[str, dict[str, str]] = {}
    for group, words in _everything().items():
        for path in sorted((place / group).glob("*.svg")):
            if path.stem not in words:
                path.unlink()
        for name in words:
            if not (place / group / f"{name}.svg").exists():
                without.setdefault(group, {})[name] = before.get(group, {}).get(name, NOT_DRAWN)
    write_atomically(file, yaml.safe_dump(without, sort_keys=True).encode())


def _everything() -> dict[str, Mapping[str, str]]:
    """Group -> reasons or findings with their words."""
    shared = glossary(SHARED)
    reasons = {name: {r: w for r, w in glossary(name).items() if r not in shared} for name in BENCHMARKS}
    return {SHARED: shared, **reasons, **{f"findings/{w}": findings_of(w) for w in (ANY, *WORLDS)}}


def _reasons(opened: Opened) -> Iterator[tuple[str, str, bytes | None]]:
    """Group, reason and picture, the rejections nearest to their limits first."""
    shared = glossary(SHARED)
    rows, _ = some_of_each(opened.release, TRIED)
    sketches: dict[str, Any] = {s.id: sketch_of(s) for s in opened.scenes(row["scene"] for row in rows)}
    for row in rows:
        group = SHARED if row["reason"] in shared else opened.benchmark.name
        yield group, row["reason"], of_rejection(row, sketches[row["scene"]]) if row["scene"] in sketches else None


def _findings(opened: Opened) -> Iterator[tuple[str, str, bytes | None]]:
    results = opened.outputs.get("look") or opened.outputs.get("observe") or {}
    for scene in opened.scenes(results):
        for finding in scene.findings:
            group = ANY if finding.name in findings_of(ANY) else scene.facts.world
            yield f"findings/{group}", finding.name, of_finding(finding, sketch_of(scene))
