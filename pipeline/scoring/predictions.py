"""Result files: plain tables of id and answer, trajectories, and what lmms-eval and VLMEvalKit write.

The form is told by the columns, never by the name; a call reads files of one form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pipeline.core.errors import ConfigError
from pipeline.scoring.result_files import files_of, is_cut, rows_of_file, unicode

PLAIN, TRAJECTORIES, LMMS_EVAL, VLMEVALKIT = FORMS = (
    "table of id and answer",
    "trajectories",
    "lmms-eval's samples",
    "VLMEvalKit's results",
)
IDS: Final = ("id", "question_id", "Question_id")  # as the benchmarks name it
REPLIES: Final = ("prediction", "answer")  # what has both, has the truth in the second
_GOOD: Final = "columns id and answer, or a result file of lmms-eval (…_samples_….jsonl) or VLMEvalKit"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """One row of a result file.

    Attributes:
        where: file and row, for what is said of it.
        id: of the question; None where only its place in the release is known.
        place: row of the question in the release, from 0.
        truth: as the file has it; None: it does not.
        reply: whatever stands there.
        steps: whatever stands there; None: no trajectory.
        is_cut: whether the reply fills a cell of a spreadsheet, so that its end is missing.
    """

    where: str
    id: str | None
    place: int | None
    truth: str | None
    reply: Any
    steps: Any = None
    is_cut: bool = False


@dataclass(frozen=True)
class Predictions:
    """The rows of result files of one form."""

    form: str
    rows: Sequence[Said]


def read_predictions(paths: Sequence[Path]) -> Predictions:
    """What stands in result files. Raises ConfigError, naming file and row, also where they are of several forms."""
    found: dict[str, str] = {}  # form -> where it is first met
    rows: list[Said] = []
    for path in (file for given in paths for file in files_of(given)):
        raws = rows_of_file(path)
        if not raws:
            raise ConfigError(f"{path}: holds no answers; give {_GOOD}")
        for number, raw in enumerate(raws, start=1):
            where = f"{path}, row {number}"
            form = _form(raw, where)
            found.setdefault(form, where)
            said = _READ[form](raw, where)
            rows.append(replace(said, is_cut=True) if is_cut(path, said.reply) else said)
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
    if columns & set(IDS) and "steps" in columns:
        return TRAJECTORIES
    if columns & set(IDS) and columns & set(REPLIES):
        return PLAIN
    found = f"its columns are {', '.join(map(str, raw))}" if columns else f"it is {str(raw)[:60]!r}"
    raise ConfigError(f"{where}: {found}; give {_GOOD}")


def _plain(raw: Row, where: str) -> Said:
    name = next(name for name in IDS if name in raw)
    reply = next((raw[name] for name in REPLIES if name in raw), None)
    return Said(where, _id(raw[name], where, name), None, None, reply, raw.get("steps"))


def _lmms_eval(raw: Row, where: str) -> Said:
    """The id stands in the question as older versions keep it, or among metrics; else its place is known."""
    docs = [doc for doc in (raw.get("doc"), *raw.values()) if isinstance(doc, dict)]
    named = next(((doc[name], name) for doc in docs for name in IDS if name in doc), None)
    replies = raw["filtered_resps"] if "filtered_resps" in raw else raw["resps"]
    while isinstance(replies, list) and len(replies) == 1:
        replies = replies[0]
    if named:
        return Said(where, _id(*named[:1], where, named[1]), None, None, replies)
    place = raw["doc_id"]
    if isinstance(place, bool) or not isinstance(place, int) or place < 0:
        raise ConfigError(f"{where}: doc_id is {place!r}; give lmms-eval's samples as it wrote them")
    return Said(where, None, place, str(raw["target"]), replies)


def _vlmevalkit(raw: Row, where: str) -> Said:
    name = next((name for name in IDS if raw.get(name) is not None), "index")
    return Said(where, _id(raw[name], where, name), None, None, raw["prediction"])


def _id(value: Any, where: str, name: str) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as spreadsheets keep whole numbers
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise ConfigError(f"{where}: {name} is {value!r}; give the question's id")
    return unicode(value)


_READ: Final[dict[str, Callable[[Row, str], Said]]] = {
    PLAIN: _plain,
    TRAJECTORIES: _plain,
    LMMS_EVAL: _lmms_eval,
    VLMEVALKIT: _vlmevalkit,
}
