"""Feather files (Arrow's IPC format) whose columns are known ahead."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.errors import FormatError

Columns = dict[str, npt.NDArray[Any]]

_SHOWN: Final = 20  # names of columns in a message


def read_feather(raw: bytes, wanted: Mapping[str, type[np.generic] | None]) -> Columns:
    """Columns by name, (N,) each; others of the file are left alone.

    Args:
        raw: the file.
        wanted: what each column is cast to; None: text, as an array of objects.

    Raises:
        FormatError: ``not_feather``, ``wrong_columns``, ``wrong_column_type``, ``null_values``.
    """
    import pyarrow as pa  # 0.1 s, which no other format of its world needs
    import pyarrow.feather

    try:
        table = pyarrow.feather.read_table(pa.BufferReader(raw), memory_map=False)
        table.validate(full=True)  # Arrow believes the offsets of damaged texts, and ends the process
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormatError("not_feather", f"no Feather table: {str(error).splitlines()[0]}") from error
    missing = [name for name in wanted if name not in names]
    if missing:
        there = ", ".join(names[:_SHOWN]) or "none"
        raise FormatError("wrong_columns", f"without the columns {', '.join(missing)}; there are {there}")
    doubled = [name for name in wanted if names.count(name) > 1]
    if doubled:
        raise FormatError("wrong_columns", f"with several columns of the names {', '.join(doubled)}")
    columns: Columns = {}
    for name, kind in wanted.items():
        column = table.column(name)
        if column.null_count:
            raise FormatError("null_values", f"{column.null_count} of {len(column)} values of {name} are null")
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if pa.types.is_dictionary(column.type):
            column, text = column.cast(pa.string()), True
        number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if (kind is None and not text) or (kind is not None and not number):
            wants = "text" if kind is None else "numbers"
            raise FormatError("wrong_column_type", f"the column {name} is of type {column.type}, not {wants}")
        values = column.to_numpy(zero_copy_only=False)
        if kind is not None and np.issubdtype(kind, np.integer) and not pa.types.is_integer(column.type):
            raise FormatError("wrong_column_type", f"the column {name} is of type {column.type}, not whole numbers")
        columns[name] = np.asarray(values, dtype=object if kind is None else kind)
    return columns
