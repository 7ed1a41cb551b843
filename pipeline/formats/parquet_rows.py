"""Rows of Parquet files of untrusted origin, as columns of numbers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import FormatError
from pipeline.core.files import open_file

ROWS_MAX: Final = 10_000_000  # of a file: LeRobot's hold some hundred thousand
VALUES_MAX: Final = 500_000_000  # of all columns, as a file declares them: constants cost it nothing
_SHOWN: Final = 200


def columns_of(path: Path) -> tuple[str, ...]:
    """Names of a file's columns. Raises FormatError: ``missing_file``, ``not_parquet``."""
    with _opened(path) as file:
        return tuple(file.schema_arrow.names)


def read_rows(path: Path, columns: Sequence[str], equal: tuple[str, int] | None = None) -> dict[str, list[Any]]:
    """Columns as lists, one entry a row; of the rows in which a column has a value, where that is asked for.

    Raises FormatError: ``missing_file``, ``not_parquet``, ``wrong_columns``, ``table_too_large``.
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
                raise FormatError("wrong_column_type", f"the lists of {name} are not of one length")
            whole = whole.flatten()
        if not (pa.types.is_floating(whole.type) or pa.types.is_integer(whole.type) or pa.types.is_boolean(whole.type)):
            raise FormatError("wrong_column_type", f"the column {name} is of type {kind}, not numbers")
        numbers = (
            whole.cast(pa.float64(), safe=False) if not pa.types.is_boolean(whole.type) else whole.cast(pa.uint8())
        )
        found[name] = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(-1, width)
    return found


def _table(path: Path, columns: Sequence[str], equal: tuple[str, int] | None) -> dict[str, Any]:
    import pyarrow.compute as pc

    with _opened(path) as file:
        there = file.schema_arrow.names
        missing = [name for name in columns if name not in there]
        if missing:
            columns_text = f"without the columns {', '.join(missing)}; there are {', '.join(there)}"
            raise FormatError("wrong_columns", columns_text)
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        values = sum(group.column(n).num_values for group in groups for n in range(group.num_columns))
        if file.metadata.num_rows > ROWS_MAX or values > VALUES_MAX:
            message = f"{file.metadata.num_rows:,} rows and {values:,} values, over {ROWS_MAX:,} and {VALUES_MAX:,}"
            raise FormatError("table_too_large", message)
        wanted = [number for number, group in enumerate(groups) if equal is None or _may_hold(group, *equal)]
        table = file.read_row_groups(wanted, columns=list(columns))
        if equal is not None:
            table = table.filter(pc.equal(table.column(equal[0]), equal[1]))
    return {name: table.column(name) for name in columns}


def _may_hold(group: Any, name: str, value: int) -> bool:
    """Whether a row group may have a row in which a column has a value, by its own statistics."""
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == name and column.is_stats_set and column.statistics.has_min_max:
            low, high = column.statistics.min, column.statistics.max
            return not (isinstance(low, int) and isinstance(high, int)) or low <= value <= high
    return True


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file to be read from; what Arrow says of it as FormatError."""
    import pyarrow as pa  # 0.1 s, which no other format of its world needs
    import pyarrow.parquet as pq

    try:
        with open_file(path) as raw:
            yield pq.ParquetFile(raw)
    except FileNotFoundError as error:
        raise FormatError("missing_file", "there is no such file") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError("not_parquet", f"cannot be read as Parquet: {_line(error)}") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:_SHOWN]
