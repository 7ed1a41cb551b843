"""The record of a build: ``manifest.parquet`` (results, inputs) and ``quarantine.parquet`` (excluded units).

The manifest is in packs of units, by the hash of each unit, as the store is: a row group each. Only the packs that are
looked at become objects, so that what a build holds grows little with the number of scenes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.core.files import write_atomically
from pipeline.core.groups import grouped
from pipeline.core.identity import DIGEST_CHARS, digest_of
from pipeline.core.parquet import TableFile, read_table, table_bytes
from pipeline.core.schema import Quarantine
from pipeline.core.tables import texts
from pipeline.engine.code import code_parts
from pipeline.engine.store import Result, depth_of, hash_bits
from pipeline.release.history import RELEASES, candidate, kept_name, newest_release

if TYPE_CHECKING:
    from pipeline.release.released import Released

Why = Literal["new", "input", "config", "code", "missing", "asked", "reused"]
MANIFEST: Final = pa.schema(
    [
        *texts("stage", "unit", "key", "inputs"),
        pa.field("output", pa.string()),  # null: quarantined
        pa.field("why", pa.string()),
        pa.field("seconds", pa.float64()),
        *texts("config", "code", "path"),
        pa.field("parts", pa.map_(pa.string(), pa.string())),
    ]
)
MANIFEST_FILE: Final = "manifest.parquet"
MADE_OF: Final = "scan2qa_made_of"  # key of the file's metadata
PLANNED: Final = "scan2qa_plans"  # likewise: `Manifest.planned`
PACKS: Final = "scan2qa_packs"  # likewise: of each row group the bits of its units' hash, and its seal
QUARANTINE_FILE: Final = "quarantine.parquet"
SEAL: Final = "seal"  # key of the metadata: digest of all else that the file holds


RESULTS: Final = "results of "  # before the name of a stage, among the inputs of another
SHORT: Final = 12  # hex digits of the digests that only explain
OPEN_PACKS: Final = 40  # that are objects at a time: some 100 MB


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

    def of(self, manifest: Manifest, before: Lineage) -> Lineage:
        """The part of this lineage, or else of an older one, that a manifest refers to."""
        config, code = before.config | self.config, before.code | self.code
        return Lineage(
            {d: config[d] for d in sorted(manifest.configs) if d in config},
            {d: code[d] for d in sorted(manifest.codes) if d in code},
        )


_RESULT: Final = ("stage", "unit", "output", "path")
_Pack = dict[tuple[str, str], Entry]
_Read = Callable[[Sequence[str] | None], pa.Table]  # the rows of a pack: all columns, or some


class Manifest(Mapping[tuple[str, str], Entry]):
    """The rows of a build by stage and unit; those of packs that were not looked at lately are compressed, or on disk.

    Args:
        units: how many are expected, so that a pack has at most `store.PACK_RESULTS` of them on average.
        folder: of the build, for rows that are compressed.
        packs: rows that are read when they are looked at, by the bits of their units' hash, all as many.

    Attributes:
        counts: stage -> why -> units of the rows that were added.
        configs: digests of the settings of these rows.
        codes: digests of their code.
        planned: `Planner.signatures` of the plan of a whole build; empty: these are rows of something else.
    """

    def __init__(
        self,
        units: int = 0,
        folder: Path | None = None,
        packs: Mapping[str, _Read] | None = None,
        planned: Mapping[str, str] | None = None,
    ) -> None:
        self.planned = planned or {}
        self._folder = folder or Path()
        self._stored = dict(packs or {})
        self._reused: dict[str, _Reused] = {}
        self._depth = len(next(iter(self._stored), "")) or depth_of(units)
        self._open: dict[str, _Pack] = {}  # the one used last at the end
        self._changed: set[str] = set()
        self.counts: dict[str, Counter[str]] = {}
        self.configs: set[str] = set()
        self.codes: set[str] = set()

    def add(self, entries: Iterable[Entry]) -> None:
        """Adds rows, in place of those of the same stage and unit."""
        # Pack by pack: to open one is to decode it and, beyond `OPEN_PACKS`, to encode another.
        for bits, own in grouped(entries, lambda entry: self.pack_of(entry.unit)).items():
            pack = self.pack(bits)
            self._changed.add(bits)
            self._reused.pop(bits, None)
            for entry in own:
                at, whys = (entry.stage, entry.unit), self.counts.setdefault(entry.stage, Counter())
                whys[entry.why] += 1
                if (before := pack.get(at)) is not None:
                    whys[before.why] -= 1
                pack[at] = entry
                self.configs.add(entry.config)
                self.codes.add(entry.code)

    def reuse(self, reused: ReusedPack, stages: Sequence[str]) -> None:
        """Adds the rows of some stages in a pack of another manifest; these are read when they are looked at."""
        bits = reused.bits
        if bits in self._changed or bits in self._stored:
            self.add(_entries(reused.rows(stages), self._folder).values())
            return
        self._open.pop(bits, None)
        known = self._reused[bits].stages if bits in self._reused else frozenset[str]()
        new = [stage for stage in stages if stage in reused.counts and stage not in known]
        self._reused[bits] = _Reused(reused, known.union(new))
        for stage in new:
            self.counts.setdefault(stage, Counter())["reused"] += reused.counts[stage]
        self.configs |= reused.configs
        self.codes |= reused.codes

    @property
    def reused_packs(self) -> dict[str, ReusedPack]:
        """The packs of which all rows are those of another manifest, by their bits."""
        return {bits: one.pack for bits, one in self._reused.items()}

    def pack_of(self, unit: str) -> str:
        """The bits of the pack that a unit is in."""
        return hash_bits(unit)[: self._depth]

    def pack(self, bits: str) -> _Pack:
        """The rows of a pack, not to be changed."""
        found = self._open.pop(bits, None)
        if found is None:
            found = _entries(self.table(bits), self._folder)
            while len(self._open) >= OPEN_PACKS:
                self._close(next(iter(self._open)))
        self._open[bits] = found
        return found

    def table(self, bits: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a pack, in no order; all columns, or some at least."""
        if bits in self._changed and bits in self._open:
            return _table(self._open[bits].values(), self._folder)
        if (reused := self._reused.get(bits)) is not None:
            return reused.pack.rows(reused.stages, columns)
        return self._stored[bits](columns) if bits in self._stored else MANIFEST.empty_table()

    def rows(
        self,
        units: Set[str] | None = None,
        stages: Collection[str] | None = None,
        is_made: bool | None = None,
    ) -> Iterator[Entry]:
        """The rows of some units and stages, or of all, pack by pack: with a result, without one, or both."""
        for bits in self._packs_of(units):
            if is_made is not False or bits not in self._reused:  # all that is reused has a result
                yield from self._rows_in(bits, units, stages, is_made)

    def own_rows(self) -> Iterator[Entry]:
        """The rows of all packs but `reused_packs`."""
        for bits in self.packs:
            yield from () if bits in self._reused else self._rows_in(bits, None, None, None)

    def _packs_of(self, units: Iterable[str] | None) -> list[str]:
        return self.packs if units is None else sorted(set(map(self.pack_of, units)))

    def _rows_in(
        self, bits: str, units: Set[str] | None, stages: Collection[str] | None, is_made: bool | None
    ) -> Iterable[Entry]:
        """Those rows of a pack; one that is not open stays so."""
        if bits not in self._open:
            return _entries(_chosen(self.table(bits), units, stages, is_made), self._folder).values()
        return [
            entry
            for entry in self._open[bits].values()
            if (units is None or entry.unit in units)
            and (stages is None or entry.stage in stages)
            and (is_made is None or is_made == (entry.output is not None))
        ]

    def results(
        self, units: Set[str] | None = None, stages: Collection[str] | None = None
    ) -> dict[str, dict[str, Result]]:
        """The results that the rows of some units and stages, or of all, name: stage -> unit -> result."""
        found: dict[str, dict[str, Result]] = {}
        for bits in self._packs_of(units):
            for stage, own in self.results_in(bits, stages, units).items():
                found.setdefault(stage, {}).update(own)
        return found

    def results_in(
        self, bits: str, stages: Collection[str] | None = None, units: Set[str] | None = None
    ) -> dict[str, dict[str, Result]]:
        """The results that the rows of a pack name, of some stages and units or of all."""
        found: dict[str, dict[str, Result]] = {}
        if bits in self._open:
            for entry in self._rows_in(bits, units, stages, is_made=True):
                found.setdefault(entry.stage, {})[entry.unit] = cast(Result, entry.output)
            return found
        # Units one by one: for an array of them Arrow imports pandas, which takes longer than a build of nothing.
        table = _chosen(self.table(bits, _RESULT), None, stages, is_made=True)
        home_of = cache(self._folder.joinpath)
        for stage, unit, output, path in zip(*(table[name].to_pylist() for name in _RESULT), strict=True):
            if units is None or unit in units:
                home, _, name = path.partition("/")
                found.setdefault(intern(stage), {})[unit] = Result(output, home_of(home), name)
        return found

    def has_keys_of(self, other: Manifest) -> bool:
        """Whether the same stages of the same units have the same keys in another manifest."""
        if self.planned and self.planned == other.planned:
            return True
        return len(self) == len(other) and all(
            (found := other.get(at)) is not None and found.key == entry.key for at, entry in self.items()
        )

    def _close(self, bits: str) -> None:
        pack = self._open.pop(bits)
        if bits in self._changed:
            self._changed.discard(bits)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, MANIFEST, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
                stream.write_table(_table(pack.values(), self._folder))
            self._stored[bits] = partial(_unpacked, sink.getvalue().to_pybytes())

    def tables(self) -> Iterator[tuple[str, pa.Table]]:
        """The rows of each pack that has any, in no order, with its bits; in order of these."""
        yield from ((bits, table) for bits in self.packs if (table := self.table(bits)).num_rows)

    @property
    def packs(self) -> list[str]:
        """The bits of all packs, in order."""
        return sorted({*self._open, *self._stored, *self._reused})

    def __getitem__(self, at: tuple[str, str]) -> Entry:
        return self.pack(self.pack_of(at[1]))[at]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for bits in self.packs:
            yield from tuple(self.pack(bits))

    def __len__(self) -> int:
        return sum(len(self.pack(bits)) for bits in self.packs)

    def __bool__(self) -> bool:
        return any(self.table(bits, ["stage"]).num_rows for bits in self.packs)


@dataclass(frozen=True)
class ReusedPack:
    """A pack of the last manifest all of whose results are there, and whose scenes are planned as they were.

    Attributes:
        read: gives its rows.
        counts: their number by stage.
        configs: the digests of their settings.
        codes: the digests of their code.
    """

    bits: str
    read: _Read
    counts: Mapping[str, int]
    configs: Set[str]
    codes: Set[str]

    @classmethod
    def of(cls, manifest: Manifest, bits: str, table: pa.Table) -> ReusedPack:
        """The pack of a manifest that has these rows."""
        counts = Counter(table["stage"].to_pylist())
        configs, codes = ({*table[name].unique().to_pylist()} for name in ("config", "code"))
        return cls(bits, partial(manifest.table, bits), counts, configs, codes)

    def rows(self, stages: Collection[str], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of some stages, as those of a build that reused all of them."""
        table = self.read(columns)
        if {*stages} != self.counts.keys():
            table = table.filter(pc.is_in(table["stage"], pa.array(sorted(stages), pa.string())))
        if (place := table.schema.get_field_index("why")) < 0:
            return table
        return table.set_column(place, MANIFEST.field("why"), pa.array(["reused"] * table.num_rows, pa.string()))


class _Reused(NamedTuple):
    """Rows of a pack of another manifest, those of some stages."""

    pack: ReusedPack
    stages: frozenset[str]


def _unpacked(raw: bytes, columns: Sequence[str] | None) -> pa.Table:
    return pa.ipc.open_stream(raw).read_all()


@dataclass
class Outcome:
    """The outcome of a build."""

    entries: Manifest = field(default_factory=Manifest)
    quarantine: list[Quarantine] = field(default_factory=list)
    released: Released | None = None

    @property
    def manifest(self) -> Iterable[Entry]:
        """Its rows, pack by pack."""
        return self.entries.values()

    @property
    def ran(self) -> Iterable[Entry]:
        """The rows of what ran."""
        return (entry for entry in self.entries.own_rows() if entry.why != "reused")

    @property
    def num_scenes(self) -> int:
        """How many scenes it has; all of them go through the first stage."""
        return max((sum(whys.values()) for whys in self.entries.counts.values()), default=0)

    def counts(self) -> dict[str, dict[str, int]]:
        """Number of units per stage and why."""
        return {stage: {why: n for why, n in whys.items() if n} for stage, whys in self.entries.counts.items()}


def write_outcome(folder: Path, outcome: Outcome, order: Sequence[str], made_of: Lineage | None = None) -> None:
    """Writes both files of a build; rows by pack, in the order of the stages, then of the units.

    ``made_of`` is what is behind its digests.
    """
    behind = (made_of or Lineage()).of(outcome.entries, read_lineage(folder))
    seals = []
    with TableFile(folder / MANIFEST_FILE, MANIFEST, level=1, metadata={}, row_group=2**31) as file:
        for bits, table in outcome.entries.tables():
            ordered = table.append_column("place", pc.index_in(table["stage"], pa.array(order)))
            own = ordered.sort_by([("place", "ascending"), ("unit", "ascending")]).select(MANIFEST.names)
            seals.append([bits, _seal(own)])
            file.append(own)
            file.end_group()
        about = {MADE_OF: json.dumps(asdict(behind), sort_keys=True), PACKS: json.dumps(seals)}
        about |= {PLANNED: json.dumps(outcome.entries.planned)} if outcome.entries.planned else {}
        file.finish(about | {SEAL: digest_of(about)})
        file.publish()
    quarantine = pa.Table.from_pylist(
        [q.model_dump() for q in sorted(outcome.quarantine, key=lambda q: (q.unit, q.stage))],
        schema=pa.schema(texts(*Quarantine.model_fields)),
    )
    raw = table_bytes(quarantine, metadata={SEAL: _seal(quarantine)})
    write_atomically(folder / QUARANTINE_FILE, raw)


def _chosen(table: pa.Table, units: Set[str] | None, stages: Collection[str] | None, is_made: bool | None) -> pa.Table:
    """The rows of some units and stages, or of all, with a result, without one, or both."""
    if is_made is not None:
        table = table.filter((pc.is_valid if is_made else pc.is_null)(table["output"]))
    for name, of in (("unit", units), ("stage", stages)):
        if of is not None:
            table = table.filter(pc.is_in(table[name], pa.array(sorted(of), pa.string())))
    return table


def _table(entries: Iterable[Entry], folder: Path) -> pa.Table:
    home_of = cache(lambda root: root.relative_to(folder).as_posix())  # of a few for hundreds of thousands of rows
    return pa.Table.from_pylist([_row(entry, home_of) for entry in entries], MANIFEST)


def _row(entry: Entry, home_of: Callable[[Path], str]) -> dict[str, Any]:
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
        "path": f"{home_of(entry.output.root)}/{entry.output.name}" if entry.output else None,
        "parts": sorted(entry.parts.items()),
    }


def _entries(table: pa.Table, folder: Path) -> _Pack:
    found: _Pack = {}
    home_of = cache(folder.joinpath)
    for row in table.to_pylist():
        stage, unit, config, code, why = (intern(row[name]) for name in ("stage", "unit", "config", "code", "why"))
        home, _, name = (row["path"] or "").partition("/")
        output = Result(row["output"], home_of(home), name) if row["output"] else None
        parts = {intern(name): part for name, part in row["parts"] or ()}
        found[stage, unit] = Entry(
            stage, unit, row["key"], row["inputs"], config, code, cast(Why, why), output, row["seconds"], parts
        )
    return found


def read_lineage(folder: Path, file: str = MANIFEST_FILE) -> Lineage:
    """Reads the lineage of the last manifest; empty where it is not known."""
    opened = _opened(folder / file)
    try:
        return Lineage(**json.loads(opened[1][MADE_OF])) if opened else Lineage()
    except (KeyError, ValueError, TypeError):
        return Lineage()


def read_manifest(folder: Path, file: str = MANIFEST_FILE) -> Manifest:
    """The last manifest; empty where there is none, a damaged one, or another version's.

    Its packs are read when they are looked at; a damaged one has no rows.
    """
    opened = _opened(folder / file)
    if opened is None or opened[0].schema_arrow.names != MANIFEST.names or PACKS not in opened[1]:
        return Manifest()
    packs: list[tuple[str, str]] = json.loads(opened[1][PACKS])
    read = {bits: _RowGroup(opened[0], n, seal) for n, (bits, seal) in enumerate(packs)}
    return Manifest(folder=folder, packs=read, planned=json.loads(opened[1].get(PLANNED, "{}")))


@dataclass
class _RowGroup:
    """A row group of a manifest file; it has no rows where it is damaged, which is looked at once."""

    file: pq.ParquetFile
    number: int
    seal: str
    is_sound: bool | None = None

    def __call__(self, columns: Sequence[str] | None) -> pa.Table:
        try:
            if self.is_sound is None:
                table = self.file.read_row_group(self.number, use_threads=False)
                self.is_sound = _seal(table) == self.seal
            elif self.is_sound:
                table = self.file.read_row_group(self.number, columns, use_threads=False)
            return table if self.is_sound else MANIFEST.empty_table()
        except (OSError, ValueError, pa.ArrowException):
            return MANIFEST.empty_table()


def _opened(path: Path) -> tuple[pq.ParquetFile, dict[str, str]] | None:
    """A manifest and what its metadata say; None where it is missing or damaged."""
    try:
        # A file that another one has taken the place of stays as it is for whoever has it mapped.
        file = pq.ParquetFile(path, memory_map=True)
        about = {key.decode(): value.decode() for key, value in (file.metadata.metadata or {}).items()}
        about.pop("ARROW:schema", None)
        return (file, about) if about.pop(SEAL, None) == digest_of(about) else None
    except (OSError, ValueError, pa.ArrowException):
        return None


def released_manifest(folder: Path) -> Manifest:
    """`read_manifest` of the newest release: the last one, unless what was built last waits as a candidate."""
    newest = newest_release(folder) if candidate(folder) else None
    return read_manifest(folder, f"{RELEASES}/{kept_name(newest, MANIFEST_FILE)}") if newest else read_manifest(folder)


def read_quarantine(folder: Path) -> list[Quarantine]:
    """The last quarantine; empty where there is none, a damaged one, or another version's."""
    try:
        table = read_table((folder / QUARANTINE_FILE).read_bytes())
        is_sound = (table.schema.metadata or {}).get(SEAL.encode()) == _seal(table).encode()
    except (OSError, ValueError, TypeError, pa.ArrowException):
        return []
    if not is_sound or table.schema.names != list(Quarantine.model_fields):
        return []
    return [Quarantine.model_validate(row) for row in table.to_pylist()]


def _seal(table: pa.Table) -> str:
    """A digest of all values: Parquet itself reads many a flipped byte."""
    sealed = hashlib.sha256()
    columns = [column.combine_chunks() for column in table.columns]
    while columns:
        column = columns.pop()
        if pa.types.is_map(column.type):
            sealed.update(_values_of(column.offsets))
            columns += [column.keys, column.items]
        elif pa.types.is_string(column.type):
            lengths = np.frombuffer(_values_of(pc.binary_length(column)), np.int32).copy()
            lengths[np.frombuffer(_values_of(pc.is_null(column).cast(pa.uint8())), bool)] = -1
            sealed.update(lengths.tobytes())
            sealed.update(_text_of(column.drop_null()))
        else:
            sealed.update(_values_of(column))
    return sealed.hexdigest()[:DIGEST_CHARS]


def _text_of(column: pa.StringArray) -> memoryview:
    """All texts of a column without nulls, one after the other."""
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return memoryview(b"")
    places = np.frombuffer(offsets, np.int32)
    return memoryview(data)[places[column.offset] : places[column.offset + len(column)]]


def _values_of(column: pa.Array) -> memoryview:
    """The values of a column of numbers without nulls. Arrow's own way to NumPy imports pandas."""
    width = column.type.bit_width // 8
    return memoryview(column.buffers()[1])[width * column.offset : width * (column.offset + len(column))]
