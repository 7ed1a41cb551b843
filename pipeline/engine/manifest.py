"""The record of a build: ``manifest.parquet`` (results, inputs) and ``quarantine.parquet`` (excluded units)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any, Final, Literal, cast

import pyarrow as pa

from pipeline.core.files import write_atomically
from pipeline.core.identity import digest_of_rows
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.schema import Quarantine
from pipeline.engine.code import code_parts
from pipeline.engine.store import Result
from pipeline.release.history import RELEASES, beside, candidate, newest_release
from pipeline.release.writer import Released

Why = Literal["new", "input", "config", "code", "missing", "asked", "reused"]
MANIFEST: Final = pa.schema(
    [
        pa.field("stage", pa.string()),
        pa.field("unit", pa.string()),
        pa.field("key", pa.string()),
        pa.field("inputs", pa.string()),
        pa.field("output", pa.string()),  # null: quarantined
        pa.field("why", pa.string()),
        pa.field("seconds", pa.float64()),
        pa.field("config", pa.string()),
        pa.field("code", pa.string()),
        pa.field("path", pa.string()),
        pa.field("parts", pa.map_(pa.string(), pa.string())),
    ]
)
MANIFEST_FILE: Final = "manifest.parquet"
MADE_OF: Final = "scan2qa_made_of"  # key of the file's metadata
QUARANTINE_FILE: Final = "quarantine.parquet"
SEAL: Final = "seal"  # key of the metadata: digest of all else that the file holds


RESULTS: Final = "results of "  # before the name of a stage, among the inputs of another
_AT_ONCE: Final = 5_000  # rows that are looked at as objects
SHORT: Final = 12  # hex digits of the digests that only explain


@dataclass(slots=True)
class Entry:
    """One row of the manifest.

    Attributes:
        seconds: what making the result took, whenever that was.
        parts: what ``inputs`` is the digest of, by name, and a short digest of each.
    """

    stage: str
    unit: str
    key: str
    inputs: str
    config: str
    code: str
    why: Why
    output: Result | None = None
    seconds: float = 0.0
    parts: dict[str, str] = field(default_factory=dict)


@dataclass
class Lineage:
    """The settings and modules behind the digests of a manifest, so that changes can be named.

    Attributes:
        config: digest -> the settings.
        code: digest -> modules and libraries, each with a short digest of what it is or its version.
    """

    config: dict[str, Any] = field(default_factory=dict)
    code: dict[str, dict[str, str]] = field(default_factory=dict)

    def note(self, config: str, settings: Any, code: str, roots: tuple[str, ...]) -> None:
        """Keeps what is behind the two digests of a stage."""
        self.config[config] = settings
        if code not in self.code:
            self.code[code] = {name: value[:SHORT] for name, value in code_parts(roots).items()}

    def of(self, entries: Iterable[Entry], before: Lineage) -> Lineage:
        """The part of this lineage, or else of an older one, that some entries refer to."""
        entries = list(entries)
        config, code = before.config | self.config, before.code | self.code
        return Lineage(
            {d: config[d] for d in sorted({e.config for e in entries}) if d in config},
            {d: code[d] for d in sorted({e.code for e in entries}) if d in code},
        )


@dataclass
class Outcome:
    """The outcome of a build."""

    manifest: list[Entry] = field(default_factory=list)
    quarantine: list[Quarantine] = field(default_factory=list)
    released: Released | None = None

    def counts(self) -> dict[str, dict[str, int]]:
        """Number of units per stage and why."""
        table: dict[str, dict[str, int]] = {}
        for entry in self.manifest:
            row = table.setdefault(entry.stage, {})
            row[entry.why] = row.get(entry.why, 0) + 1
        return table


def write_outcome(folder: Path, outcome: Outcome, order: Sequence[str], made_of: Lineage | None = None) -> None:
    """Writes both files of a build; rows in the order of the stages, then of the units.

    ``made_of`` is what is behind its digests.
    """
    behind = (made_of or Lineage()).of(outcome.manifest, read_lineage(folder))
    about = {MADE_OF: json.dumps(asdict(behind), sort_keys=True, ensure_ascii=False)}
    home = next((e.output.root.relative_to(folder).as_posix() for e in outcome.manifest if e.output), "")
    entries = sorted(outcome.manifest, key=lambda e: (order.index(e.stage), e.unit))
    batches = [
        pa.RecordBatch.from_pylist([_row(e, home) for e in entries[start : start + _AT_ONCE]], MANIFEST)
        for start in range(0, len(entries), _AT_ONCE)
    ]
    manifest = pa.Table.from_batches(batches, MANIFEST)
    write_atomically(folder / MANIFEST_FILE, _sealed(manifest, about))
    quarantine = pa.Table.from_pylist(
        [q.model_dump() for q in sorted(outcome.quarantine, key=lambda q: (q.unit, q.stage))],
        schema=pa.schema([(name, pa.string()) for name in Quarantine.model_fields]),
    )
    write_atomically(folder / QUARANTINE_FILE, _sealed(quarantine, {}))


def _row(entry: Entry, home: str) -> dict[str, Any]:
    return {
        "stage": entry.stage,
        "unit": entry.unit,
        "key": entry.key,
        "inputs": entry.inputs,
        "output": entry.output.digest if entry.output else None,
        "why": entry.why,
        "seconds": round(entry.seconds, 4),
        "config": entry.config,
        "code": entry.code,
        "path": f"{home}/{entry.output.name}" if entry.output else None,
        "parts": sorted(entry.parts.items()),
    }


def read_lineage(folder: Path, file: str = MANIFEST_FILE) -> Lineage:
    """Reads the lineage of the last manifest; empty where it is not known."""
    table = _read_if_there(folder / file)
    try:
        return (
            Lineage(**json.loads((table.schema.metadata or {})[MADE_OF.encode()])) if table is not None else Lineage()
        )
    except (KeyError, ValueError, TypeError):
        return Lineage()


def read_manifest(folder: Path, file: str = MANIFEST_FILE) -> dict[tuple[str, str], Entry]:
    """The last manifest by (stage, unit); empty where there is none, a damaged one, or another version's."""
    table = _read_if_there(folder / file)
    if table is None or table.schema.names != MANIFEST.names:
        return {}
    found: dict[tuple[str, str], Entry] = {}
    homes: dict[str, Path] = {}
    for batch in table.to_batches(_AT_ONCE):
        for row in batch.to_pylist():
            stage, unit, config, code, why = (intern(row[name]) for name in ("stage", "unit", "config", "code", "why"))
            home, _, name = (row["path"] or "").partition("/")
            root = homes.setdefault(home, folder / home)
            output = Result(row["output"], root, name) if row["output"] else None
            parts = {intern(name): part for name, part in row["parts"] or ()}
            found[stage, unit] = Entry(
                stage, unit, row["key"], row["inputs"], config, code, cast(Why, why), output, row["seconds"], parts
            )
    return found


def released_manifest(folder: Path) -> dict[tuple[str, str], Entry]:
    """`read_manifest` of the newest release: the last one, unless what was built last waits as a candidate."""
    newest = newest_release(folder) if candidate(folder) else None
    return read_manifest(folder, f"{RELEASES}/{beside(newest, MANIFEST_FILE)}") if newest else read_manifest(folder)


def read_quarantine(folder: Path) -> list[Quarantine]:
    """The last quarantine; empty where there is none, a damaged one, or another version's."""
    table = _read_if_there(folder / QUARANTINE_FILE)
    if table is None or table.schema.names != list(Quarantine.model_fields):
        return []
    return [Quarantine.model_validate(row) for row in table.to_pylist()]


def _sealed(table: pa.Table, about: dict[str, str]) -> bytes:
    """A Parquet file whose metadata holds a digest of all its values: Parquet itself reads many a flipped byte."""
    return table_bytes(table, metadata={**about, SEAL: _seal(table, about)})


def _seal(table: pa.Table, about: dict[str, str]) -> str:
    return digest_of_rows(about, chain.from_iterable(batch.to_pylist() for batch in table.to_batches(_AT_ONCE)))


def _read_if_there(path: Path) -> pa.Table | None:
    """The table of a file; None where it is missing or damaged."""
    try:
        table = read_table(path.read_bytes())
        about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        return table if about.pop(SEAL, None) == _seal(table, about) else None
    except (OSError, ValueError, TypeError, pa.ArrowException):  # TypeError: texts that have become bytes
        return None
