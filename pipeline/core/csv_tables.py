"""Tables as CSV in UTF-8, of people and of other programs."""

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.core.files import MAX_FILE_BYTES, read_file


def read_csv(
    path: Path, needed: Collection[str], remedy: str, most_bytes: int = MAX_FILE_BYTES
) -> list[dict[str, str]]:
    """The rows of a file by the names in its first line. Raises ConfigError; see `csv_rows`."""
    try:
        raw = read_file(path, most_bytes)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); {remedy}") from error
    return csv_rows(raw, path, needed, remedy)


def csv_rows(raw: bytes, where: object, needed: Collection[str], remedy: str) -> list[dict[str, str]]:
    """The rows of a table by the names in its first line; a cell that a short row lacks is empty.

    Raises ConfigError, which begins with ``where`` and ends with ``remedy``: it is no CSV, or lacks a column that is
    ``needed``.
    """
    try:
        table = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), restval="")
        rows = list(table)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{where}: cannot be read as CSV: {error}; {remedy}") from error
    missing = [name for name in needed if name not in (table.fieldnames or ())]
    if missing:
        raise ConfigError(f"{where}: no column {', '.join(missing)}; {remedy}")
    return rows


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A table with its first line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()
