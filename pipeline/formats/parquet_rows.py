"""Rows of Parquet files of untrusted origin, as columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray

ROWS_MAX: Final = 10_000_000  # of what is read at once
_SHOWN: Final = 200


class ParquetError(Exception):
    """This is no such table: ``finding`` is short and machine-readable."""

    def __init__(self, finding: str, message: str) -> None:
        self.finding = finding
        self.message = message
        super().__init__(finding, message)


def columns_of(path: Path) -> tuple[str, ...]:
    """Names of a file's columns. Raises ParquetError: ``not_parquet``; FileNotFoundError."""
    import pyarrow as pa  # 0.1 s, which no other format of its world needs
    import pyarrow.parquet as pq

    try:
        return tuple(pq.read_schema(path).names)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ParquetError("not_parquet", f"no Parquet file: {_line(error)}") from error


def read_rows(path: Path, columns: Sequence[str], equal: tuple[str, int] | None = None) -> dict[str, list[Any]]:
    """Columns as lists, one entry a row; of the rows in which a column has a value, where that is asked for.

    Raises ParquetError: ``not_parquet``, ``wrong_columns``, ``table_too_large``; FileNotFoundError.
    """
    return {name: column.to_pylist() for name, column in _table(path, columns, equal).items()}


def read_tables(path: Path, columns: Sequence[str], equal: tuple[str, int]) -> dict[str, FloatArray]:
    """Columns of numbers or of lists of one length as (N, k). Raises as `read_rows`, and ``wrong_column_type``."""
    import pyarrow as pa

    found = {}
    for name, column in _table(path, columns, equal).items():
        kind, whole = column.type, column.combine_chunks()
        whole = whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
        width = 1
        if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
            lengths = set(whole.value_lengths().to_pylist()) if len(whole) else {1}
            width = lengths.pop() or 0
            if lengths or not width:
                raise ParquetError("wrong_column_type", f"the lists of {name} are not of one length")
            whole = whole.flatten()
        if not (pa.types.is_floating(whole.type) or pa.types.is_integer(whole.type) or pa.types.is_boolean(whole.type)):
            raise ParquetError("wrong_column_type", f"the column {name} is of type {kind}, not numbers")
        numbers = whole.cast(pa.float64()) if not pa.types.is_boolean(whole.type) else whole.cast(pa.uint8())
        found[name] = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(-1, width)
    return found


def _table(path: Path, columns: Sequence[str], equal: tuple[str, int] | None) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    there = columns_of(path)
    missing = [name for name in columns if name not in there]
    if missing:
        raise ParquetError("wrong_columns", f"without the columns {', '.join(missing)}; there are {', '.join(there)}")
    try:
        wanted = None if equal is None else [(equal[0], "=", equal[1])]
        rows = pq.read_metadata(path).num_rows
        if rows > ROWS_MAX:
            raise ParquetError("table_too_large", f"{rows:,} rows, over {ROWS_MAX:,}")
        table = pq.read_table(path, columns=list(columns), filters=wanted, partitioning=None)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ParquetError("not_parquet", f"cannot be read: {_line(error)}") from error
    return {name: table.column(name) for name in columns}


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:_SHOWN]
