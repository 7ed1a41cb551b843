"""Results on disk: one file per stage and unit, named by what it was made from and by what it holds.

``<store>/<stage>/<dataset>/<unit>.<key>.<digest><suffix>``: the key is a digest of everything the result depends on,
the digest is that of the file's bytes. So a listing of the folder says what is there, and a file that was cut or
changed is noticed when it is read. Files are written to a temporary name, synced and renamed: after a kill at any
point a result is there whole or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import StoreError

DIGEST_CHARS: Final = 32  # hex; 128 bits
ROW_GROUP: Final = 10_000
_TEMPORARY: Final = ".tmp-"
_PARQUET: Final[dict[str, Any]] = {"compression": "zstd", "write_page_index": True, "store_schema": True}


class Result(NamedTuple):
    """A finished result: the digest of its bytes and where they lie."""

    digest: str
    path: Path


def digest_of(value: Any) -> str:
    """Digest of a JSON-like value, or of bytes."""
    raw = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True, ensure_ascii=False).encode()
    return hashlib.sha256(raw).hexdigest()[:DIGEST_CHARS]


class Store:
    """The results of one build. Raises StoreError, in one line, when the disk refuses."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def index(self, stage: str) -> dict[tuple[str, str], Result]:
        """All results of a stage by (unit, key), from one listing of its folders."""
        found: dict[tuple[str, str], Result] = {}
        for folder in sorted(p for p in (self.root / stage).glob("*") if p.is_dir()):
            for path in folder.iterdir():
                name, key, digest = _parts(path)
                if digest:
                    found[f"{folder.name}/{name}", key] = Result(digest, path)
        return found

    def put(self, stage: str, unit: str, key: str, raw: bytes, suffix: str) -> Result:
        """Writes one result."""
        digest = digest_of(raw)
        dataset, _, name = unit.partition("/")
        path = self.root / stage / dataset / f"{name}.{key}.{digest}{suffix}"
        write_atomically(path, raw)
        return Result(digest, path)

    def get(self, result: Result) -> bytes:
        """The bytes of a result. Raises StoreError if they are not what the name says."""
        try:
            raw = result.path.read_bytes()
        except OSError as error:
            raise StoreError(f"{result.path}: cannot be read ({error.strerror}); run the build again") from error
        if digest_of(raw) != result.digest:
            raise StoreError(f"{result.path}: damaged since it was written; remove it and run the build again")
        return raw

    def is_sound(self, result: Result) -> bool:
        """Whether the file still holds what its name says."""
        try:
            self.get(result)
        except StoreError:
            return False
        return True

    def prune(self, keep: Iterable[Path]) -> None:
        """Removes every file of the store that is not in ``keep``."""
        kept = set(keep)
        for path in sorted(self.root.rglob("*")):
            if path not in kept and not path.is_dir():
                path.unlink(missing_ok=True)


def write_atomically(path: Path, raw: bytes) -> None:
    """Writes a file so that it is there whole or not at all, also after a power cut."""
    temporary: str | None = None
    with _told(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY)
            with os.fdopen(handle, "wb") as file:
                _write(file.fileno(), raw)
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except OSError:
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)
            raise


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Turns what the disk says into one line for the user."""
    try:
        yield
    except OSError as error:
        hint = {errno.ENOSPC: "free some space", errno.EDQUOT: "free some space"}.get(
            error.errno or 0, "give a folder that can be written with --out"
        )
        raise StoreError(f"{folder}: cannot write ({error.strerror}): {hint}") from error


def remove_temporary(folder: Path, inner: Iterable[str]) -> None:
    """Removes what killed processes left behind in a folder and below inner ones; nobody may be writing there."""
    for paths in (folder.glob(f"{_TEMPORARY}*"), *((folder / name).rglob(f"{_TEMPORARY}*") for name in inner)):
        for path in list(paths):
            path.unlink(missing_ok=True)


def _write(descriptor: int, raw: bytes) -> None:
    """All bytes to a file descriptor; the one place where the store meets the disk."""
    view = memoryview(raw)
    while view:
        view = view[os.write(descriptor, view) :]


def _parts(path: Path) -> tuple[str, str, str]:
    """Unit name, key and digest of a result's file name; empty strings for a temporary or foreign file."""
    name, _, rest = path.name.rpartition(".")
    name, _, digest = name.rpartition(".")
    name, _, key = name.rpartition(".")
    sound = name and rest and len(key) == len(digest) == DIGEST_CHARS and not path.name.startswith(_TEMPORARY)
    return (name, key, digest) if sound else ("", "", "")


def table_bytes(table: pa.Table, level: int = 3, metadata: dict[str, str] | None = None) -> bytes:
    """A table as Parquet: zstd, row groups of 10,000, page index; the same bytes for the same table."""
    if metadata:
        table = table.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    # Without rows there is no row group: datasets cannot read one of none.
    with pq.ParquetWriter(sink, table.schema, compression_level=level, **_PARQUET) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=ROW_GROUP)
    return bytes(sink.getvalue())


class TableFile:
    """A Parquet file written piece by piece, for tables that do not fit into memory: as `table_bytes` would write it.

    ``append`` any number of tables, ``finish``, then ``publish``: only then it takes the place of an older file. The
    same rows give the same bytes, however they were cut into pieces. Used in a ``with`` statement, at whose end nothing
    is left of a file that was not published.
    """

    def __init__(self, path: Path, schema: pa.Schema, level: int, metadata: dict[str, str]) -> None:
        self.path = path
        self.num_rows = 0
        self.nbytes = 0
        self.sha256 = ""
        self._schema = schema.with_metadata(metadata)
        self._finished = False
        self._waiting: list[pa.Table] = []
        self._sum = hashlib.sha256()
        with _told(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle, self._temporary = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY)
            try:
                file = pa.PythonFile(self, mode="w")
                self._writer = pq.ParquetWriter(file, self._schema, compression_level=level, **_PARQUET)
            except OSError:
                os.close(self._handle)
                Path(self._temporary).unlink(missing_ok=True)
                raise

    def __enter__(self) -> TableFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._finished:
            with suppress(OSError):  # of a disk that is full; there is an error under way already
                self._writer.close()
            os.close(self._handle)
        Path(self._temporary).unlink(missing_ok=True)

    def append(self, table: pa.Table) -> None:
        """Adds rows; those that fill no row group yet wait."""
        self.num_rows += table.num_rows
        self.nbytes += table.nbytes
        self._waiting.append(table.replace_schema_metadata(self._schema.metadata))
        while sum(part.num_rows for part in self._waiting) >= ROW_GROUP:
            rows = pa.concat_tables(self._waiting)
            self._put(rows.slice(0, ROW_GROUP))
            self._waiting = [rows.slice(ROW_GROUP)]

    def finish(self) -> None:
        """Writes what waits and the footer; ``sha256`` is known from then on."""
        rest = pa.concat_tables([*self._waiting, self._schema.empty_table()])
        if rest.num_rows:
            self._put(rest)
        with _told(self.path.parent):
            self._writer.close()
            os.fchmod(self._handle, 0o644)
            os.fsync(self._handle)
            os.close(self._handle)
        self._finished = True
        self.sha256 = self._sum.hexdigest()

    def publish(self) -> None:
        """Puts the file in its place."""
        with _told(self.path.parent):
            Path(self._temporary).replace(self.path)

    def _put(self, rows: pa.Table) -> None:
        with _told(self.path.parent):
            self._writer.write_table(rows.combine_chunks(), row_group_size=ROW_GROUP)

    # What Arrow asks of a file.
    closed = False

    def write(self, raw: bytes) -> int:
        """Called by Arrow."""
        self._sum.update(raw)
        _write(self._handle, raw)
        return len(raw)

    def flush(self) -> None:
        """Called by Arrow."""

    def close(self) -> None:
        """Called by Arrow; `finish` closes the file."""


def read_table(raw: bytes) -> pa.Table:
    """The table of `table_bytes`."""
    return pq.read_table(pa.BufferReader(raw), use_threads=False)
