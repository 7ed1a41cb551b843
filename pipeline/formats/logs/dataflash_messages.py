"""Messages of an ArduPilot log as tables, from its binary form or its text form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.records import Damage, damage_findings, finite, table, to_numbers

HEAD: Final = b"\xa3\x95"
_FMT: Final = 128  # its layout: type, length, name[4], format[16], columns[64]
_FMT_BYTES: Final = 89
# ArduPilot, libraries/AP_Logger/LogStructure.h: layout and divisor of each letter.
_LETTERS: Final[dict[str, tuple[str, float]]] = {
    "a": ("(32,)<i2", 1),
    "b": ("i1", 1),
    "B": ("u1", 1),
    "h": ("<i2", 1),
    "H": ("<u2", 1),
    "i": ("<i4", 1),
    "I": ("<u4", 1),
    "f": ("<f4", 1),
    "d": ("<f8", 1),
    "n": ("S4", 1),
    "N": ("S16", 1),
    "Z": ("S64", 1),
    "c": ("<i2", 1e2),
    "C": ("<u2", 1e2),
    "e": ("<i4", 1e2),
    "E": ("<u4", 1e2),
    "L": ("<i4", 1e7),
    "M": ("u1", 1),
    "q": ("<i8", 1),
    "Q": ("<u8", 1),
    "g": ("<f2", 1),
}
# Letters that a field may have. Another one means another unit, or a damaged format: then there is no such field.
_TRUSTED: Final = {
    **dict.fromkeys(("Lat", "Lng"), "L"),
    **dict.fromkeys(("Alt", "RelAlt", "RelHomeAlt"), "ef"),
    **dict.fromkeys(("Roll", "Pitch", "Yaw"), "cCf"),
    **dict.fromkeys(("PN", "PE", "PD", "VN", "VE", "VD"), "f"),
    "TimeUS": "Q",
    **dict.fromkeys(("TimeMS", "T"), "I"),
}

Columns = Mapping[str, FloatArray]  # fields (N,) in the units of the log's documentation


class Messages(NamedTuple):
    """Numbers of the messages asked for, by message and field, and findings about damage of the file."""

    tables: Mapping[str, Columns]
    findings: tuple[Finding, ...]


@dataclass
class _Format:
    name: str
    length: int
    letters: str
    fields: list[str]
    starts: list[int] = field(default_factory=list)


def read_binary(raw: bytes, wanted: Collection[str]) -> Messages:
    """The wanted messages of a ``.bin`` log; of a damaged one, all that can be told apart."""
    formats: list[_Format | None] = [None] * 256
    formats[_FMT] = _Format("FMT", _FMT_BYTES, "", [])
    damages: list[Damage] = []
    at, end, before, last = 0, len(raw), 0, formats[_FMT]
    while at < end:
        known = formats[raw[at + 2]] if raw[at : at + 2] == HEAD and at + 3 <= end else None
        after = at + known.length if known is not None else end + 1
        if known is None or after > end:
            after = _next_record(raw, before + 1, formats)
            if after < at and last is not None and last.starts[-1:] == [before + 3]:
                last.starts.pop()  # the record before was of another type, and with that of another length
            damages.append(Damage(at if after >= at else before, after))
        else:
            before, last = at, known
            if known.name == "FMT":
                _define(raw[at + 3 : after], formats)
            elif known.name in wanted:
                known.starts.append(at + 3)
        at = after
    tables: dict[str, Columns] = {}
    for one in formats:
        if one is not None and one.starts and one.name not in tables:
            tables[one.name] = _numbers(raw, one)
    return Messages(tables, damage_findings(end, damages))


def _next_record(raw: bytes, start: int, formats: list[_Format | None]) -> int:
    """Where the next record begins that another one follows; the end of the file if there is none."""
    at = raw.find(HEAD, start)
    while at >= 0:
        known = formats[raw[at + 2]] if at + 3 <= len(raw) else None
        if known is not None:
            after = at + known.length
            if after == len(raw) or raw[after : after + 2] == HEAD:
                return at
        at = raw.find(HEAD, at + 1)
    return len(raw)


def _define(body: bytes, formats: list[_Format | None]) -> None:
    """Takes a format, unless it is broken or its number is in use."""
    kind, length = body[0], body[1]
    name, letters, fields = (
        part.split(b"\0")[0].decode("ascii", "replace") for part in (body[2:6], body[6:22], body[22:86])
    )
    labels = fields.split(",")
    named = len(labels) == len(letters) == len(set(labels)) and all(labels)
    sound = named and set(letters) <= set(_LETTERS)
    if formats[kind] is None and sound and _layout(letters, labels).itemsize + len(HEAD) + 1 == length:
        formats[kind] = _Format(name, length, letters, labels)


def _layout(letters: str, labels: list[str]) -> np.dtype[Any]:
    return np.dtype([(label, _LETTERS[letter][0]) for letter, label in zip(letters, labels, strict=True)])


def _numbers(raw: bytes, one: _Format) -> Columns:
    records = table(raw, one.starts, _layout(one.letters, one.fields))
    return {
        label: finite(records[label].astype(np.float64)) / _LETTERS[letter][1]
        for letter, label in zip(one.letters, one.fields, strict=True)
        if records[label].dtype.kind in "iuf" and records[label].ndim == 1 and letter in _TRUSTED.get(label, letter)
    }


def read_text(text: str, wanted: Collection[str]) -> Messages:
    """The wanted messages of a ``.log`` file: ``NAME, value, …`` a line, in units; broken lines are left out."""
    *lines, rest = text.split("\n")
    fields: dict[str, list[str]] = {}
    rows: dict[str, list[list[str]]] = {}
    broken = 0
    for line in lines:
        name, *values = [value.strip() for value in line.split(",")]
        if name == "FMT" and len(values) > 4:
            fields.setdefault(values[2], values[4:])
        elif name in wanted and len(values) == len(fields.get(name, ())):
            rows.setdefault(name, []).append(values)
        elif name in wanted:
            broken += 1
    tables = {
        name: {label: to_numbers(values) for label, values in zip(fields[name], zip(*found, strict=True), strict=True)}
        for name, found in rows.items()
    }
    findings = []
    if broken:
        message = f"{broken} lines have another number of values than their format says, and were left out"
        findings.append(doubt("damaged_lines", "log", message, "copy the log from the drone again", broken, 0))
    if rest.strip():  # a number that lost its last digits looks like any other
        message = "the log ends in the middle of a line, which was left out"
        findings.append(note("truncated", "log", message, "if the flight goes on, copy the log again"))
    return Messages(tables, tuple(findings))
