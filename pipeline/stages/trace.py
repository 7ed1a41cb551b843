"""Everything that one question of a build came from, and the others that came from the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from pipeline.core.errors import ConfigError
from pipeline.core.fixes import SCENE
from pipeline.core.parquet import read_table
from pipeline.core.schema import AnyScene, Applied, Finding
from pipeline.core.tables import QUESTIONS
from pipeline.engine.manifest import Entry, read_manifest
from pipeline.engine.plan import WHOLE
from pipeline.engine.stage import STORE
from pipeline.engine.store import Store
from pipeline.release.comparison import reason_of
from pipeline.stages.fix import FIX
from pipeline.stages.registry import STAGES
from pipeline.stages.select import SELECT
from pipeline.stages.unify import UNIFY
from pipeline.worlds.registry import WORLDS, read_scene

ASKED: Final = "asked"
_GENERAL: Final = {"target": "drop_scene"}


@dataclass(frozen=True)
class Trace:
    """What is known of one question.

    Attributes:
        row: of `tables.SELECTED`: a question, or a candidate that was refused.
        refused: why it is not asked, in words; None: it is.
        released: its row in the release's provenance; None where it is in none.
        scene: as the stages behind `fix` see it.
        read: as its reader gave it.
        entries: the manifest's rows of its scene and of the whole build, in the order of the stages.
        findings: of its scene, those about what it names first.
        fixes: that it rests on.
        siblings: what it names -> the other candidates of its scene that name it too.
    """

    row: Mapping[str, Any]
    refused: str | None
    released: Mapping[str, Any] | None
    scene: AnyScene
    read: AnyScene
    entries: Sequence[Entry]
    findings: Sequence[Finding]
    fixes: Sequence[Applied]
    siblings: Mapping[str, Sequence[Mapping[str, Any]]]

    def drafts(self, taken: Iterable[str], date: str) -> str:
        """Entries to paste into a file of fixes, with a free id; they change nothing before ``set`` is another."""
        dataset, name = self.read.dataset, self.read.name
        known = {
            int(i.rpartition("-")[2]) for i in taken if i.startswith(f"{dataset}-") and i.rpartition("-")[2].isdigit()
        }
        first = max(known, default=0) + 1
        found = [*WORLDS[self.read.facts.world].drafts(self.read, tuple(self.row["operands"])), dict(_GENERAL)]
        told = [
            {"id": f"{dataset.lower()}-{first:04}", "reader": self.read.source.reader, "scene": name}
            | draft
            | {"why": "what is wrong, and how you know", "who": "your name", "date": date}
            for draft in found
        ]
        return "\n".join(_entry(draft) for draft in told)


def _entry(draft: dict[str, Any]) -> str:
    """A list item whose boxes stand on one line; the date without quotes."""
    lines = []
    for key, value in draft.items():
        text = yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True, sort_keys=False)
        lines.append(f"{key}: {text.removesuffix(chr(10)).removesuffix(f'{chr(10)}...')}")
    return "- " + "\n  ".join(lines).replace(f"date: '{draft['date']}'", f"date: {draft['date']}")


def find(number: int, folder: Path) -> str | None:
    """The scene of a question in a build's release, asked or refused; None where it has no such question."""
    for name in ("provenance", "rejected"):
        for path in sorted((folder / "release" / name).glob("*.parquet")):
            rows = pq.read_table(path, columns=["scene"], filters=pc.field("id") == number)
            if rows.num_rows:
                return str(rows["scene"][0])
    return None


def trace(number: int, folder: Path) -> Trace:
    """Everything that a question of a build came from. Raises ConfigError where the build does not know it."""
    scene_id = find(number, folder)
    manifest = read_manifest(folder)
    if scene_id is None:
        message = f"{folder}: no question {number}, neither asked nor refused"
        raise ConfigError(f"{message}; ids are in release/data and release/rejected")
    store = Store(folder / STORE)

    def result(stage: str) -> bytes:
        entry = manifest.get((stage, scene_id))
        if entry is None or entry.output is None:
            raise ConfigError(f"{folder}: stage {stage} has no result of {scene_id}; build again")
        return store.get(entry.output)

    selected = read_table(result(SELECT.name))
    rows = selected.filter(pc.equal(selected["id"], number)).to_pylist()
    if not rows:
        raise ConfigError(f"{folder}: the release is older than the last results of {scene_id}; build again")
    row, named = rows[0], set(rows[0]["operands"])
    scene = read_scene(result(FIX.name))
    released = _provenance(folder, number)
    refused = reason_of(row) if row["reason"] is not None else None
    if refused is None and released is None:
        refused = _removed(folder, number)
    return Trace(
        row=row,
        refused=refused,
        released=released,
        scene=scene,
        read=read_scene(result(UNIFY.name)),
        entries=[manifest[at] for name in STAGES for at in ((name, scene_id), (name, WHOLE)) if at in manifest],
        findings=sorted(scene.findings, key=lambda finding: finding.subject not in named),
        fixes=[fix for fix in scene.fixes if set(fix.subjects) & {SCENE, *named}],
        siblings={name: _siblings(selected, name, number) for name in dict.fromkeys(row["operands"])},
    )


def _siblings(selected: Any, name: str, number: int) -> list[dict[str, Any]]:
    """The questions of a scene that name something, but for one."""
    asked = selected.filter(pc.is_null(selected["reason"])).select(QUESTIONS.names)
    return [row for row in asked.to_pylist() if name in row["operands"] and row["id"] != number]


def _provenance(folder: Path, number: int) -> Mapping[str, Any] | None:
    for path in sorted((folder / "release" / "provenance").glob("*.parquet")):
        rows = pq.read_table(path, filters=pc.field("id") == number).to_pylist()
        if rows:
            found: Mapping[str, Any] = rows[0]
            return found
    return None


def _removed(folder: Path, number: int) -> str | None:
    """Why a question that was selected is not in the release."""
    for path in sorted((folder / "release" / "rejected").glob("*.parquet")):
        rows = pq.read_table(path, filters=pc.field("id") == number).to_pylist()
        if rows:
            return reason_of(rows[0])
    return None
