"""Verdicts as files: writes sheets and Label Studio tasks, reads CSV or Parquet back.

A row that cannot be used is left out and reported with its line; a file that cannot be read is refused as a whole.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

import pyarrow as pa

from pipeline.core.csv_tables import csv_bytes
from pipeline.core.errors import SUBJECT_CHARS, ConfigError, shortened
from pipeline.core.parquet import read_table
from pipeline.review.mends import read_mend
from pipeline.review.review_bundle import ReviewItem, ReviewTruth, flag_of
from pipeline.review.reviewed import VERDICTS
from pipeline.review.verdicts import REASONS, ROLES, ReviewEvent, ReviewVerdict, matches, read_answer

_SHOWN: Final = ("id", "content", "video", "pictures", "task", "question", "options")
_BLANK: Final = ("reviewer", "answer", "reason", "note")  # to be filled
SHEET: Final = (*_SHOWN, *_BLANK)
NEEDED: Final = ("id", "reviewer")
LONGEST_NOTE: Final = 2_000  # characters
LONGEST_NAME: Final = 40
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run what begins so (OWASP, CSV injection)
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_DECISIONS: Final = ("", "accept", "flag")


class LeftOutRow(NamedTuple):
    """A row that was not taken."""

    line: int
    finding: str
    remedy: str


class ImportedSheet(NamedTuple):
    """The yield of a file: events to append, how many rows say what is known already, and what was left out."""

    events: list[ReviewEvent]
    already_known: int
    left_out: list[LeftOutRow]


def sheet(items: Sequence[ReviewItem]) -> bytes:
    """A sheet to fill by hand, without any truth: CSV in UTF-8 with a byte order mark, as spreadsheets want it."""
    rows = (
        (i.id, i.content, i.video or "", " | ".join(i.pictures), i.task, i.question, " | ".join(i.options or ()))
        for i in items
    )
    return written(SHEET, ((*row, *("" for _ in _BLANK)) for row in rows))


def verdict_sheet(verdicts: Iterable[ReviewVerdict]) -> bytes:
    """All verdicts as CSV, in the columns of `VERDICTS`."""
    names = [name for name in VERDICTS.names if name != "id"]
    return written(VERDICTS.names, ((v.item, *(getattr(v, name) or "" for name in names)) for v in verdicts))


def written(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """CSV in which no cell is a formula: an apostrophe stands before what could be one."""
    return b"\xef\xbb\xbf" + csv_bytes(header, ([neutral(str(cell)) for cell in row] for row in rows))


def neutral(cell: str) -> str:
    """A cell that no spreadsheet runs; `plain` is the way back."""
    return f"'{cell}" if cell.startswith((*_FORMULA, "'")) else cell


def plain(cell: str) -> str:
    """The text of a cell before `neutral`."""
    return cell[1:] if cell.startswith(tuple(f"'{sign}" for sign in (*_FORMULA, "'"))) else cell


def read_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a verdict file with their lines, all cells as text. Raises ConfigError for a file of another kind."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    rows = _parquet_rows(path, raw) if raw[:4] == b"PAR1" else _csv_rows(path, raw)
    if not rows:
        raise ConfigError(f"{path}: holds no verdict: it has no row below its header")
    missing = [name for name in NEEDED if name not in rows[0][1]]
    if missing:
        raise ConfigError(
            f"{path}: has no column {', '.join(missing)}; needed are id, reviewer, answer or decision (see sheet.csv)"
        )
    return rows


def taken(
    rows: Iterable[tuple[int, Mapping[str, str]]],
    items: Mapping[int, ReviewItem],
    truths: Mapping[int, ReviewTruth],
    known: Iterable[ReviewVerdict],
    now: str,
) -> ImportedSheet:
    """The events of the rows of a file.

    Args:
        rows: of `read_rows`.
        items: of the pack, by id.
        truths: of the pack: an answer that is the truth counts as accepted.
        known: what is stored already. Rows that say the same add nothing; rows that give another answer of the same
            reviewer are left out, since the first answer, given blind, stays.
        now: UTC, ISO 8601; for rows without a time.
    """
    stored = {(v.item, v.content, v.reviewer, v.role): v for v in known}
    lines: dict[tuple[int, str, str, str], int] = {}
    events, same, left_out = [], 0, []
    for line, row in rows:
        found = _verdict(row, items, truths)
        if isinstance(found, tuple):
            left_out.append(LeftOutRow(line, *found))
            continue
        at = found.item, found.content, found.reviewer, found.role
        before = stored.get(at)
        if before is not None and _verdict_content(before) == _verdict_content(found):
            same += 1
            continue
        if before is not None and (at in lines or (found.answer and before.answer and found.answer != before.answer)):
            where = f"line {lines[at]}" if at in lines else "what is stored"
            finding = f"{found.reviewer} says otherwise on question {found.item} in {where}"
            left_out.append(LeftOutRow(line, finding, "keep one of them"))
            continue
        stored[at], lines[at] = found, line
        events += _events(found, before, found.at or now)
    return ImportedSheet(events, same, left_out)


def _verdict_content(verdict: ReviewVerdict) -> tuple[object, ...]:
    return verdict.answer, verdict.decision, verdict.reason, verdict.note, verdict.correction, verdict.mend


def _events(verdict: ReviewVerdict, before: ReviewVerdict | None, at: str) -> list[ReviewEvent]:
    start = (verdict.item, verdict.content, verdict.reviewer)
    events = []
    if verdict.answer is not None and (before is None or before.answer is None):
        events.append(ReviewEvent(*start, "answer", verdict.role, verdict.answer, None, None, at))
    if verdict.mend is not None:
        events.append(ReviewEvent(*start, "mend", verdict.role, verdict.mend, None, None, at))
    if verdict.decision is not None and not (verdict.mend and verdict.decision == "accept"):
        entered = (verdict.correction, verdict.reason, verdict.note)
        events.append(ReviewEvent(*start, verdict.decision, verdict.role, *entered, at))
    return events


def _verdict(
    row: Mapping[str, str], items: Mapping[int, ReviewItem], truths: Mapping[int, ReviewTruth]
) -> ReviewVerdict | tuple[str, str]:
    """A row's verdict, or what is wrong with it and the remedy."""
    said = {name: plain(cell.strip()) for name, cell in row.items()}
    if not re.fullmatch("[0-9]{1,16}", said["id"]):
        finding = f"id {shortened(said['id'], SUBJECT_CHARS)!r} is no whole number"
        return finding, "format the column as text before saving: spreadsheets shorten long numbers"
    item = items.get(int(said["id"]))
    if item is None:
        remedy = "it may be of another build, no longer asked, or rounded by a spreadsheet (to 15 digits)"
        return f"this build has no question {said['id']}", remedy
    reviewer, content = said["reviewer"], said.get("content", "") or item.content
    if problem := name_problem(reviewer):
        return problem, "fill the column reviewer"
    return _judged(item, truths[item.id], ReviewVerdict(item.id, content, reviewer), said)


def _judged(
    item: ReviewItem, truth: ReviewTruth, verdict: ReviewVerdict, said: Mapping[str, str]
) -> ReviewVerdict | tuple[str, str]:
    reason, decision, role = _named(said.get("reason", "")), said.get("decision", ""), said.get("role", "") or "review"
    note = said.get("note", "")[:LONGEST_NOTE] or None
    if problem := _problem(reason, decision, role, note, said):
        return problem
    answers: dict[str, str | None] = {}
    for name in ("answer", "correction"):
        given = said.get(name, "")
        answers[name] = read_answer(given, item.options, item.question) if given else None
        if given and answers[name] is None:
            wanted = f"a letter up to {item.options[-1][0]}" if item.options else "a number"
            return f"{name} {given!r} is not {wanted}", "mend it"
    answer, current = answers["answer"], verdict.content == item.content
    kept: Any = "flag" if reason else decision or None
    if kept is None and answer is None:
        return "says nothing: no answer and no reason", "fill one of them, or delete the row"
    if kept is None and answer and current and matches(answer, truth.truth, item.options, item.question):
        kept = "accept"
    elif kept is None and answer and current and (flag := flag_of(item.task, answer)):
        kept, (reason, answers["correction"]) = "flag", flag
    mend = said.get("mend", "") or None
    if mend:
        try:
            read_mend(mend)
        except ValueError:
            return "column mend holds no mended question", "leave the row as it was exported"
    fields: dict[str, Any] = {"role": role, "answer": answer, "decision": kept, "reason": reason or None, "note": note}
    return replace(verdict, **fields, correction=answers["correction"], mend=mend, at=said.get("at", ""))


def _problem(
    reason: str | None, decision: str, role: str, note: str | None, said: Mapping[str, str]
) -> tuple[str, str] | None:
    if reason is None:
        return f"unknown reason {said['reason']!r}", f"one of: {', '.join(REASONS.values())}"
    if decision not in _DECISIONS or role not in ROLES:
        wrong = decision if decision not in _DECISIONS else role
        return f"unknown {wrong!r}", "decision is accept or flag, role is review or adjudicate"
    if decision == "flag" and not reason:
        return "a flag without a reason", f"one of: {', '.join(REASONS.values())}"
    if decision == "accept" and reason:
        return f"accepted, and yet flagged: {reason}", "keep one of them"
    if reason == "other" and not note:
        return "the reason other without a note", "say in the column note what is wrong"
    return None


def name_problem(name: str) -> str | None:
    """The fault of a reviewer's name, if it has one."""
    if not name:
        return "no reviewer is named"
    if len(name) > LONGEST_NAME or not name.isprintable():
        return f"the reviewer's name has more than {LONGEST_NAME} characters, or some that cannot be printed"
    return None


def _named(reason: str) -> str | None:
    """The name of a reason, given as its name or in words; empty for none, None for an unknown one."""
    words = {text: name for name, text in REASONS.items()} | {"other": "other"}
    return reason if not reason or reason in REASONS else words.get(reason.lower())


def _parquet_rows(path: Path, raw: bytes) -> list[tuple[int, dict[str, str]]]:
    try:
        rows = read_table(raw).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: damaged Parquet ({error}); export it again") from error
    return [(n, {k: "" if v is None else str(v) for k, v in row.items()}) for n, row in enumerate(rows, start=1)]


def _csv_rows(path: Path, raw: bytes) -> list[tuple[int, dict[str, str]]]:
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not {encoding.removesuffix('-sig').upper()}; save it as CSV in UTF-8"
        ) from error
    if "\0" in text:
        raise ConfigError(f"{path}: is neither CSV nor Parquet; save it as CSV in UTF-8")
    head = text.split("\n", 1)[0]
    between = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        if len(set(names)) < len(names):
            raise ConfigError(f"{path}: a column is named twice: {', '.join(names)}")
        return [_cells(path, reader.line_num, names, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise ConfigError(f"{path}: line {reader.line_num} is no CSV ({error}); save it again") from error


def _cells(path: Path, line: int, names: Sequence[str], row: Sequence[str]) -> tuple[int, dict[str, str]]:
    if len(row) != len(names):
        raise ConfigError(f"{path}: line {line} has {len(row)} cells, and the header {len(names)}; mend it")
    return line, dict(zip(names, row, strict=True))


LETTERS: Final = "ABCDEFGH"


def tasks(items: Sequence[ReviewItem], build: str, videos: str) -> bytes:
    """The items as a list of tasks, JSON; no truth is in it, nor a scene's name, which may tell a place.

    Args:
        items: of the pack.
        build: the address below which Label Studio finds the build's folder, for example ``/data/local-files/?d=``.
        videos: the folder of videos in it.
    """
    listed = [
        {
            "data": {
                "id": item.id,
                "content": item.content,
                "task": item.task,
                "video": f"{build}{videos}/{item.video}" if item.video else "",
                "pictures": [f"{build}{picture}" for picture in item.pictures],
                "question": item.question,
                "options": "\n".join(item.options or ("Give a number.",)),
            }
        }
        for item in items
    ]
    return json.dumps(listed, ensure_ascii=False, indent=1).encode()


def interface(items: Sequence[ReviewItem]) -> bytes:
    """The labelling interface: what the items show, the question, a letter or a number, flags from the closed list."""
    view = ET.Element("View")
    ET.SubElement(view, "Header", value="$question")
    if any(item.video for item in items):
        ET.SubElement(view, "Video", name="video", value="$video")
    if any(item.pictures for item in items):
        ET.SubElement(view, "Image", name="pictures", valueList="$pictures")
    ET.SubElement(view, "Text", name="options", value="$options")
    letters = ET.SubElement(view, "Choices", name="answer", toName="options", choice="single", showInline="true")
    for letter in LETTERS:
        ET.SubElement(letters, "Choice", value=letter, hotkey=letter.lower())
    ET.SubElement(view, "Number", name="number", toName="options")
    flags = ET.SubElement(view, "Choices", name="reason", toName="options", choice="multiple")
    for reason in REASONS.values():
        ET.SubElement(flags, "Choice", value=reason)
    ET.SubElement(view, "TextArea", name="note", toName="options", placeholder="note", maxSubmissions="1")
    ET.indent(view)
    return ET.tostring(view, encoding="utf-8", xml_declaration=False) + b"\n"
