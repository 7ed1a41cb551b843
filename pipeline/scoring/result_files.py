"""The rows of a result file, whatever they mean: .csv, .tsv, .xlsx, .json, .jsonl and .parquet, also behind .gz."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.errors import ConfigError
from pipeline.core.files import MAX_FILE_BYTES, read_file

CELL_MOST: Final = 32_767  # characters of a cell of .xlsx; the rest is cut off
GZIP: Final = ".gz"
SAMPLES: Final = "*_samples_*.jsonl"  # as lmms-eval names them
_NAMED: Final = 3  # files in a message
_PICKLES: Final = frozenset({".pkl", ".pickle"})
# What is wrong with a file is said by whatever reads it.
_UNREADABLE: Final = (OSError, EOFError, ValueError, TypeError, KeyError, RecursionError, BadZipFile, pa.ArrowException)


def files_of(path: Path) -> list[Path]:
    """A result file itself; of a folder the samples that lmms-eval wrote there.

    Raises ConfigError for a folder without any, naming what else could be meant.
    """
    if not path.is_dir():
        return [path]
    samples = sorted(f for name in (SAMPLES, SAMPLES + GZIP) for f in path.rglob(name))
    if samples:
        return samples
    others = sorted(str(f) for f in path.rglob("*") if _suffix(f) in _READERS)
    if not others:
        raise ConfigError(f"{path}: this folder holds no results; give the folder or the files of a harness's run")
    more = f", … {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    raise ConfigError(
        f"{path}: this folder holds no samples of lmms-eval ({SAMPLES}); give the files that hold the replies, of "
        f"{', '.join(others[:_NAMED])}{more}"
    )


def rows_of_file(path: Path) -> list[Any]:
    """What stands in a file, row by row. Raises ConfigError, naming the file and what is wrong with it."""
    suffix = _suffix(path)
    if suffix in _PICKLES:
        raise ConfigError(
            f"{path}: pickles are never opened, since that would run what is in them; let VLMEvalKit write tables "
            "(PRED_FORMAT=tsv)"
        )
    read = _READERS.get(suffix)
    if read is None:
        raise ConfigError(
            f"{path}: results are read as {', '.join(_READERS)}, also with {GZIP}; give a file that ends so"
        )
    try:
        return read(_unpacked(read_file(path)) if path.suffix.lower() == GZIP else read_file(path))
    except _UNREADABLE as error:
        told = " ".join(str(error).split())
        raise ConfigError(f"{path}: cannot be read as {suffix}: {told}") from error


def is_cut(path: Path, reply: Any) -> bool:
    """Whether a reply in a file is as long as a cell of a spreadsheet can be: what wrote it cut the rest off."""
    return _suffix(path) == ".xlsx" and isinstance(reply, str) and len(reply) >= CELL_MOST


def unicode(value: Any) -> str:
    """A value as text that can be written; half of a pair of JSON's escapes becomes "?"."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _suffix(path: Path) -> str:
    """Its ending, without one that says that it is packed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix != GZIP), "")


def _unpacked(raw: bytes) -> bytes:
    with gzip.open(io.BytesIO(raw)) as file:
        found = file.read(MAX_FILE_BYTES + 1)
    if len(found) > MAX_FILE_BYTES:
        raise ValueError(f"more than {MAX_FILE_BYTES} bytes when unpacked")
    return found


def _text(raw: bytes) -> str:
    """UTF-8, or what a mark at the beginning says, as spreadsheets write it."""
    marked = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not {error.encoding.upper()}; save it as UTF-8") from error


def _table(raw: bytes, **how: Any) -> list[Any]:
    """All cells as text, so that "NA" and "007" stay what they are; empty ones None."""
    text = io.StringIO(_text(raw), newline="")
    return _named(pd.read_csv(text, dtype=str, keep_default_na=False, header=None, **how))


def _xlsx(raw: bytes) -> list[Any]:
    table = pd.read_excel(io.BytesIO(raw), dtype=object, keep_default_na=False, header=None, engine="openpyxl")
    return [row for row in _named(table) if any(value is not None for value in row.values())]


def _named(table: pd.DataFrame) -> list[Any]:
    """Rows by the names in the first one. Raises ValueError for a name that stands twice."""
    if table.empty:
        raise ValueError("it is empty")
    names = [str(name) for name in table.iloc[0]]
    twice = [name for name, n in Counter(names).items() if n > 1 and name]
    if twice:
        raise ValueError(f"two columns are named {twice[0]}; leave one")
    rows = table.iloc[1:].to_numpy(dtype=object).tolist()
    return [dict(zip(names, (None if value == "" else value for value in row), strict=True)) for row in rows]


def _json(raw: bytes) -> list[Any]:
    found = json.loads(raw)
    if not isinstance(found, list):
        is_of_lmms = isinstance(found, dict) and "results" in found
        hint = "; of lmms-eval give the samples (--log_samples)" if is_of_lmms else ""
        raise TypeError(f"it holds {type(found).__name__}, not a list of answers{hint}")
    return found


def _jsonl(raw: bytes) -> list[Any]:
    rows = []
    for number, line in enumerate(_text(raw).split("\n"), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return rows


_READERS: Final[dict[str, Callable[[bytes], list[Any]]]] = {
    ".csv": _table,
    ".tsv": lambda raw: _table(raw, sep="\t"),
    ".xlsx": _xlsx,
    ".json": _json,
    ".jsonl": _jsonl,
    ".parquet": lambda raw: pq.read_table(io.BytesIO(raw)).to_pylist(),
}
