"""Tables as bytes, Parquet or an Arrow stream: the same table gives the same bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.core import files
from pipeline.core.errors import StoreError
from pipeline.core.files import translate_os_errors

ROW_GROUP: Final = 10_000
_SMALL_BYTES: Final = 1_000_000
_PARQUET_MAGIC: Final = b"PAR1"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD: Final = pa.Codec("zstd", compression_level=3)
_PARQUET: Final[dict[str, Any]] = {"compression": "zstd", "write_page_index": True, "store_schema": True}
_PASSED_ON: Final[dict[str, Any]] = {"compression": "snappy", "write_statistics": False, "store_schema": True}


def table_bytes(table: pa.Table, level: int | None = None, metadata: dict[str, str] | None = None) -> bytes:
    """A table as Parquet with row groups of 10,000; the same bytes for the same table.

    Args:
        table: all rows.
        level: of zstd, of tables that are released, which have a page index; None: of all others, with snappy.
        metadata: of the schema.
    """
    if metadata:
        table = table.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    # Without rows there is no row group: datasets cannot read one of none.
    options = _PASSED_ON if level is None else _PARQUET | {"compression_level": level}
    if level is None:  # a few rows of each task, say: the same bytes in three quarters of the time
        table = table.combine_chunks()
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=ROW_GROUP)
    return bytes(sink.getvalue())


def arrow_bytes(table: pa.Table, metadata: dict[str, str] | None = None) -> bytes:
    """A table that a stage passes on, as an Arrow IPC stream in one frame of zstd (`read_table` reads it).

    Parquet takes five times as long to write and read the few rows that each of many columns of a scene has.
    """
    if metadata:
        table = table.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return bytes(_ZSTD.compress(sink.getvalue(), asbytes=True))


class TableFile:
    """A Parquet file written piece by piece, for tables that do not fit into memory: as `table_bytes` would write it.

    ``append`` any number of tables, ``finish``, then ``publish``: only then it takes the place of an older file. The
    same rows give the same bytes, however they were cut into pieces. Used in a ``with`` statement, at whose end nothing
    is left of a file that was not published.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, level: int, metadata: dict[str, str], row_group: int | None = None
    ) -> None:
        self.path = path
        self._row_group = row_group or ROW_GROUP
        self.num_rows = 0
        self.nbytes = 0
        self.sha256 = ""
        self._schema = schema.with_metadata(metadata)
        self._finished = False
        self._waiting: list[pa.Table] = []
        self._sum = hashlib.sha256()
        with translate_os_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle, self._temporary = files.new_temporary(path.parent)
            try:
                file = pa.PythonFile(self, mode="w")
                self._writer = pq.ParquetWriter(file, self._schema, compression_level=level, **_PARQUET)
            except OSError:
                os.close(self._handle)
                self._temporary.unlink(missing_ok=True)
                raise

    def __enter__(self) -> TableFile:
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._finished:
            with suppress(OSError):  # of a disk that is full; there is an error under way already
                self._writer.close()
            os.close(self._handle)
        self._temporary.unlink(missing_ok=True)

    def append(self, table: pa.Table) -> None:
        """Adds rows; those that fill no row group yet wait."""
        self.num_rows += table.num_rows
        self.nbytes += table.nbytes
        self._waiting.append(table.replace_schema_metadata(self._schema.metadata))
        while sum(part.num_rows for part in self._waiting) >= self._row_group:
            rows = pa.concat_tables(self._waiting)
            self._write_rows(rows.slice(0, self._row_group))
            self._waiting = [rows.slice(self._row_group)]

    def end_group(self) -> None:
        """Writes what waits as a row group."""
        rest, self._waiting = pa.concat_tables([*self._waiting, self._schema.empty_table()]), []
        if rest.num_rows:
            self._write_rows(rest)

    def finish(self, metadata: dict[str, str] | None = None) -> None:
        """Writes what waits and the footer, with more metadata; ``sha256`` is known from then on."""
        self.end_group()
        with translate_os_errors(self.path.parent):
            self._writer.add_key_value_metadata(metadata or {})
            self._writer.close()
            os.fsync(self._handle)
            os.close(self._handle)
        self._finished = True
        self.sha256 = self._sum.hexdigest()

    def publish(self) -> None:
        """Puts the file in its place."""
        with translate_os_errors(self.path.parent):
            self._temporary.replace(self.path)

    def _write_rows(self, rows: pa.Table) -> None:
        with translate_os_errors(self.path.parent):
            self._writer.write_table(rows.combine_chunks(), row_group_size=self._row_group)

    # What Arrow asks of a file.
    closed = False

    def write(self, raw: bytes) -> int:
        """Called by Arrow."""
        self._sum.update(raw)
        files.write_all(self._handle, raw)
        return len(raw)

    def flush(self) -> None:
        """Called by Arrow."""

    def close(self) -> None:
        """Called by Arrow; `finish` closes the file."""


def shard_name(split: str, number: int = 0, of: int = 1) -> str:
    """The name of a file of a released table, as the Hugging Face hub has them: ``test-00017-of-00128.parquet``."""
    return f"{split}-{number:05d}-of-{of:05d}.parquet"


def released_files(folder: Path, split: str | None = None) -> list[Path]:
    """All files in a folder of a release in their order, or those of a split; none where there is no such table."""
    return sorted(folder.glob(f"{split}-*.parquet" if split else "*.parquet"))


def files_of(table: Path) -> list[Path]:
    """The files of a table in their order: one, or those that a name with an asterisk (``test-*.parquet``) means."""
    return sorted(table.parent.glob(table.name)) if "*" in table.name else [table]


def read_files(
    files: Sequence[Path], columns: Sequence[str] | None = None, where: pc.Expression | None = None
) -> pa.Table:
    """The rows of some files of one table, in their order; some columns, and those rows for which ``where`` holds.

    Raises OSError or ArrowException for one that cannot be read.
    """
    if not files:
        raise FileNotFoundError("a table without a file")
    return pq.read_table([*map(str, files)], columns=columns, filters=where, partitioning=None)


def read_table(raw: bytes, columns: list[str] | None = None) -> pa.Table:
    """The table of `table_bytes` or `arrow_bytes`, or some of its columns.

    `pyarrow.parquet.read_table` would import pandas.
    """
    if raw.startswith(_PARQUET_MAGIC):
        return pq.ParquetFile(pa.BufferReader(raw)).read(columns, use_threads=False)
    table = _small_table(raw) if len(raw) <= _SMALL_BYTES else _stream(raw).read_all()
    return table if columns is None else table.select(columns)


def table_metadata(raw: bytes) -> dict[bytes, bytes]:
    """The metadata of the table of `arrow_bytes`, whose rows are not read. Raises StoreError for anything else."""
    try:
        return dict(_stream(raw).schema.metadata or {})
    except pa.ArrowInvalid as error:
        raise StoreError(f"a stored table is {error}: another version of scan2qa made it; build again") from error


@lru_cache(2)  # the stages of a scene read the same result one after the other
def _small_table(raw: bytes) -> pa.Table:
    return _stream(raw).read_all()


def _stream(raw: bytes) -> pa.ipc.RecordBatchStreamReader:
    if not raw.startswith(_ZSTD_MAGIC):
        raise pa.ArrowInvalid("neither Parquet nor an Arrow stream in a frame of zstd")
    return pa.ipc.open_stream(pa.CompressedInputStream(pa.BufferReader(raw), "zstd"))
