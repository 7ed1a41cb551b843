"""Result files: plain tables of id and answer, trajectories, and what lmms-eval, VLMEvalKit and inspect_ai write.

They are .csv, .tsv, .xlsx, .json, .jsonl and .parquet, also behind .gz. The form is told by the columns, never by the
name; a call reads files of one form.
"""

import codecs
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow.parquet as pq

from pipeline.core.errors import ConfigError
from pipeline.core.files import read_file
from pipeline.core.groups import first_named

CELL_MOST: Final = 32_767  # characters of a cell of .xlsx; the rest is cut off
TABLE_BYTES_MAX: Final = 128 * 2**20  # of a table, which takes some fifteen times as much memory
ROWS_BYTES_MAX: Final = 2**30  # of lines of JSON, and of a log with what its model was shown
_MEDIA: Final = re.compile(rb'"data:(?:image|video)/[\w.+-]+;base64,[\w+/=]*"')  # as inspect_ai logs it
GZIP: Final = ".gz"
SAMPLES: Final = "*_samples_*.jsonl"  # as lmms-eval names them
TRAJECTORY: Final = "trajectory.json"  # one question each, as `EmbodiedView.save` writes them
_NAMED: Final = 3  # files in a message
_PICKLES: Final = frozenset({".pkl", ".pickle"})


def files_of(path: Path) -> list[Path]:
    """A result file itself; of a folder the samples that lmms-eval wrote there, or the trajectories of agents.

    Raises ConfigError for a folder without any, naming what else could be meant.
    """
    if not path.is_dir():
        return [path]
    for names in ((SAMPLES, SAMPLES + GZIP), (TRAJECTORY,)):
        found = sorted(f for name in names for f in path.rglob(name))
        if found:
            return found
    others = sorted(str(f) for f in path.rglob("*") if _suffix(f) in _READERS)
    if not others:
        raise ConfigError(f"{path}: this folder holds no results; give the folder or the files of a harness's run")
    raise ConfigError(
        f"{path}: this folder holds neither samples of lmms-eval ({SAMPLES}) nor trajectories; give the files "
        f"that hold the replies, of {first_named(others, _NAMED)}"
    )


def rows_of_file(path: Path) -> list[Any]:
    """The rows of a file. Raises ConfigError, naming the file and its fault."""
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
        return read(_bytes(path, suffix))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file") from error
    except Exception as error:  # of six libraries, which raise what they like for a damaged file
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"{path}: cannot be read as {suffix}: {problem}") from error


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


def _bytes(path: Path, suffix: str) -> bytes:
    most = ROWS_BYTES_MAX if suffix in (".json", ".jsonl") else TABLE_BYTES_MAX
    if (size := path.stat().st_size) > most:
        hint = "run inspect eval with --no-log-images, or " if suffix == ".json" else ""
        raise ValueError(f"{size} bytes, over {most}; {hint}split it into several files")
    raw = read_file(path, most)
    return _unpacked(raw, most) if path.suffix.lower() == GZIP else raw


def _unpacked(raw: bytes, most: int) -> bytes:
    with gzip.open(io.BytesIO(raw)) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise ValueError(f"more than {most} bytes when unpacked; split it into several files")
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
    text = _text(raw)
    head = text.lstrip().partition("\n")[0]
    if not head:
        raise ValueError("it is empty")
    if not how and "," not in head and (mark := next((mark for mark in ";\t" if mark in head), None)):
        raise ValueError(f"its cells are separated by {mark!r}; write a .csv with commas, or a .tsv with tabs")
    file = io.StringIO(text, newline="")
    return _rows_by_name(pd.read_csv(file, dtype=str, keep_default_na=False, header=None, **how))


def _xlsx(raw: bytes) -> list[Any]:
    table = pd.read_excel(io.BytesIO(raw), dtype=object, keep_default_na=False, header=None, engine="openpyxl")
    return [row for row in _rows_by_name(table) if any(value is not None for value in row.values())]


def _rows_by_name(table: pd.DataFrame) -> list[Any]:
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
    raw = _MEDIA.sub(b'""', raw)
    if len(raw) > TABLE_BYTES_MAX:
        raise ValueError(f"{len(raw)} bytes without pictures, over {TABLE_BYTES_MAX}; split it into several files")
    found = json.loads(raw)
    if isinstance(found, dict) and "trajectory" in found:
        return [found]
    if isinstance(found, dict) and {"eval", "samples"} <= set(found) and isinstance(found["samples"], list):
        return found["samples"]
    if isinstance(found, dict) and "eval" in found and "status" in found:
        told = (found.get("error") or {}).get("message", "")
        raise ValueError(
            f"this run of inspect_ai ended as {found['status']} without a sample: {told or 'run it again'}"
        )
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


PLAIN, TRAJECTORIES = "table of id and answer", "trajectories"
LMMS_EVAL, VLMEVALKIT, INSPECT = "lmms-eval's samples", "VLMEvalKit's results", "inspect_ai's log"
# How a tool begins the text that it writes for a reply where its request failed; it holds numbers (HTTP 401).
_FAILED: Final = {LMMS_EVAL: "[LMMS_EVAL_REQUEST_FAILED", VLMEVALKIT: "Failed to obtain answer"}
IDS: Final = ("id", "question_id", "Question_id")  # as the benchmarks name it
REPLIES: Final = ("prediction", "answer")  # what has both, has the truth in the second
_GOOD: Final = "columns id and answer, or a result file of lmms-eval (…_samples_….jsonl), VLMEvalKit or inspect_ai"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class PredictionRow:
    """One row of a result file.

    Attributes:
        where: file and row, for what is said of it.
        id: of the question; None where only its place in the release is known.
        place: row of the question in the release, from 0.
        truth: as the file has it; None: it does not.
        reply: whatever stands there.
        steps: whatever stands there; None: no trajectory.
        log: whatever stands there; None: no agent that looks about.
        is_cut: whether the reply fills a cell of a spreadsheet, so that its end is missing.
        has_failed: whether the tool noted in its place that the request failed; ``reply`` is None then.
    """

    where: str
    id: str | None
    place: int | None
    truth: str | None
    reply: Any
    steps: Any = None
    log: Any = None
    is_cut: bool = False
    has_failed: bool = False


@dataclass(frozen=True)
class Predictions:
    """The rows of result files of one form."""

    form: str
    rows: Sequence[PredictionRow]


def read_predictions(paths: Sequence[Path]) -> Predictions:
    """The rows of result files. Raises ConfigError, naming file and row, also where they are of several forms."""
    found: dict[str, str] = {}  # form -> where it is first met
    rows: list[PredictionRow] = []
    for path in (file for given in paths for file in files_of(given)):
        raws = rows_of_file(path)
        if not raws:
            raise ConfigError(f"{path}: holds no answers; give {_GOOD}")
        for number, raw in enumerate(raws, start=1):
            where = f"{path}, row {number}"
            form = _form(raw, where)
            found.setdefault(form, where)
            contents = _READ[form](raw, where)
            if raw.get("error") if form == INSPECT else str(contents.reply).startswith(_FAILED.get(form, ())):
                contents = replace(contents, reply=None, has_failed=True)
            rows.append(replace(contents, is_cut=True) if is_cut(path, contents.reply) else contents)
    if set(found) == {PLAIN, TRAJECTORIES}:  # an agent that answers without a step
        del found[PLAIN]
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise ConfigError(f"{first} is of {one}, {second} of {other}: score the results of one tool at a time")
    return Predictions(next(iter(found)), rows)


def _form(raw: Any, where: str) -> str:
    columns = set(raw) if isinstance(raw, dict) else set()
    if {"doc_id", "target"} <= columns and columns & {"resps", "filtered_resps"}:
        return LMMS_EVAL
    if {"index", "prediction"} <= columns:
        return VLMEVALKIT
    if {"id", "epoch", "output"} <= columns:
        return INSPECT
    if columns & set(IDS) and "steps" in columns:
        return TRAJECTORIES
    if columns & set(IDS) and columns & set(REPLIES):
        return PLAIN
    found = f"its columns are {', '.join(map(str, raw))}" if columns else f"it is {str(raw)[:60]!r}"
    raise ConfigError(f"{where}: {found}; give {_GOOD}")


def _row_without_harness(raw: Row, where: str) -> PredictionRow:
    name = next(name for name in IDS if name in raw)
    reply = next((raw[name] for name in REPLIES if name in raw), None)
    return PredictionRow(
        where, _id(raw[name], where, name), None, None, reply, raw.get("steps"), raw.get("log", raw.get("trajectory"))
    )


def _lmms_eval(raw: Row, where: str) -> PredictionRow:
    """The id stands in the question as older versions keep it, or among metrics; else its place is known."""
    docs = [doc for doc in (raw.get("doc"), *raw.values()) if isinstance(doc, dict)]
    named = next(((doc[name], name) for doc in docs for name in IDS if name in doc), None)
    replies = raw["filtered_resps"] if "filtered_resps" in raw else raw["resps"]
    while isinstance(replies, list) and len(replies) == 1:
        replies = replies[0]
    if named:
        return PredictionRow(where, _id(*named[:1], where, named[1]), None, None, replies)
    place = raw["doc_id"]
    if isinstance(place, bool) or not isinstance(place, int) or place < 0:
        raise ConfigError(f"{where}: doc_id is {place!r}; give lmms-eval's samples as it wrote them")
    return PredictionRow(where, None, place, str(raw["target"]), replies)


def _vlmevalkit(raw: Row, where: str) -> PredictionRow:
    name = next((name for name in IDS if raw.get(name) is not None), "index")
    return PredictionRow(where, _id(raw[name], where, name), None, None, raw["prediction"])


def _inspect(raw: Row, where: str) -> PredictionRow:
    """What the model said last; a sample that failed has no reply."""
    output = raw["output"]
    reply = output.get("completion") if isinstance(output, dict) else None
    return PredictionRow(where, _id(raw["id"], where, "id"), None, None, reply)


def _id(value: Any, where: str, name: str) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as spreadsheets keep whole numbers
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise ConfigError(f"{where}: {name} is {value!r}; give the question's id")
    return unicode(value)


_READ: Final[dict[str, Callable[[Row, str], PredictionRow]]] = {
    PLAIN: _row_without_harness,
    TRAJECTORIES: _row_without_harness,
    LMMS_EVAL: _lmms_eval,
    VLMEVALKIT: _vlmevalkit,
    INSPECT: _inspect,
}
