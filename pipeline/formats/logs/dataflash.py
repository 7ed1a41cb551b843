"""ArduPilot logs: ``.bin`` as the drone writes them, ``.log`` as ground stations do. Time counts from boot."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.formats.logs.frames import enu_from_ned, flu_to_enu, quaternion
from pipeline.formats.logs.log import (
    GOOD_FIX,
    DamagedBytes,
    Log,
    Series,
    damage_findings,
    decoded,
    file_bytes,
    finite,
    last_known,
    no_position,
    table,
    to_numbers,
)

HEAD: Final = b"\xa3\x95"
_FMT: Final = 128  # its layout: type, length, name[4], format[16], columns[64]
_FMT_BYTES: Final = 89
_LETTERS: Final[dict[str, tuple[str, float]]] = {
    k: tuple(v) for k, v in load_table("logs/formats")["dataflash"].items()
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


class MessageColumns(NamedTuple):
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


def read_binary(raw: bytes, wanted: Collection[str]) -> MessageColumns:
    """The wanted messages of a ``.bin`` log; of a damaged one, all that can be told apart."""
    formats: list[_Format | None] = [None] * 256
    formats[_FMT] = _Format("FMT", _FMT_BYTES, "", [])
    damages: list[DamagedBytes] = []
    at, end, before, last = 0, len(raw), 0, formats[_FMT]
    while at < end:
        known = formats[raw[at + 2]] if raw[at : at + 2] == HEAD and at + 3 <= end else None
        after = at + known.length if known is not None else end + 1
        if known is None or after > end:
            after = _next_record(raw, before + 1, formats)
            if after < at and last is not None and last.starts[-1:] == [before + 3]:
                last.starts.pop()  # the record before was of another type, and with that of another length
            damages.append(DamagedBytes(at if after >= at else before, after))
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
    return MessageColumns(tables, damage_findings(end, damages))


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


def read_text(text: str, wanted: Collection[str]) -> MessageColumns:
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
    return MessageColumns(tables, tuple(findings))


Tables = Mapping[str, Columns]
_OTHERS: Final = ("ATT", "MNT", "BARO", "EV", "ARM", "STAT")
# Of EV (AP_Logger, LogEvent): whether the vehicle stood before and stands after it; None: not known.
_EVENTS: Final = {10: (1, 1), 11: (None, 1), 15: (1, 1), 17: (0, 1), 18: (0, 1), 28: (1, 0)}
ARMING_S: Final = 1.0  # for so long after its motors were armed it stands, where nothing else is told
_HEAD_BYTES: Final = 16  # hold the first four letters in any encoding


class DataFlash:
    """Reads ``.bin`` and ``.log`` files."""

    name = "dataflash"
    suffixes = (".bin", ".log")

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether it begins with the two bytes of every binary record, or with a line that states a record's format."""
        return head.startswith(HEAD) or _is_text(head)

    @np.errstate(invalid="ignore", over="ignore")  # damaged numbers may be anything
    def read(self, path: Path) -> tuple[Log, ...]:
        """The flight: POS of the estimator, else GPS, else the estimator's local position (flights without GPS)."""
        raw = text = file_bytes(path)
        wanted = (*POSITIONS, *_OTHERS)
        if raw.startswith(HEAD):
            tables, findings = read_binary(raw, wanted)
        elif _is_text(raw):
            tables, findings = read_text(decoded(raw), wanted)
            text = decoded(raw).encode()
        else:
            remedy = "give a .bin or .log file of ArduPilot"
            raise RawDataError(path, "not_dataflash", "the file does not begin as an ArduPilot log does", remedy)
        tables = {name: _first_instance(columns) for name, columns in tables.items()}
        for name, positions in POSITIONS.items():
            if name in tables and (log := positions(name, tables)):
                att, mnt = tables.get("ATT", {}), tables.get("MNT", {})
                att_s, angles = _time("ATT", att), _stack(att, "Roll", "Pitch", "Yaw")
                mnt_s, pitch = _time("MNT", mnt), mnt.get("Pitch")
                if att_s is not None and angles is not None:
                    log = replace(log, attitude=Series(att_s, flu_to_enu(quaternion(*np.radians(angles).T))))
                if mnt_s is not None and pitch is not None:
                    log = replace(log, gimbal_pitch=Series(mnt_s, pitch))
                log = replace(log, heights=_heights(tables), on_ground=_on_ground(tables))
                return (replace(log, findings=findings, grounded=_grounded(text)),)
        raise no_position(path, ", ".join(POSITIONS))


# Autopilots name themselves and their version when they start: "ArduCopter V4.3.6 (0c5e999c)", "APM:Rover v2.50".
_FIRMWARE: Final = re.compile(rb"(Copter|Heli|Plane|Rover|Sub|Blimp|AntennaTracker) [Vv]\d+\.\d")
_NOT_AERIAL: Final = {b"Rover": "ground or surface vehicle", b"Sub": "submarine", b"AntennaTracker": "antenna"}


def _grounded(text: bytes) -> str | None:
    """Why the vehicle cannot have flown: all firmware that a log names is for others; None: it may have flown."""
    named = sorted(set(_FIRMWARE.findall(text)))
    if not named or not all(name in _NOT_AERIAL for name in named):
        return None
    return f"it is a {' and a '.join(_NOT_AERIAL[name] for name in named)}"


def _on_ground(tables: Tables) -> Series | None:
    """Whether the vehicle stands: by a plane's STAT, or a copter's events of arming, take-off and landing.

    A log usually begins as the motors are armed (LOG_DISARMED 0); a new file may begin in the air.
    """
    stat, events, arms = (tables.get(name, {}) for name in ("STAT", "EV", "ARM"))
    stat_s, event_s, arm_s = _time("STAT", stat), _time("EV", events), _time("ARM", arms)
    if stat_s is not None and "isFlying" in stat:
        return Series(stat_s, 1.0 - stat["isFlying"])
    rows: list[tuple[float, float | None]] = []
    if event_s is not None and "Id" in events:
        for t_s, number in zip(event_s.tolist(), events["Id"].tolist(), strict=True):
            if number in _EVENTS:
                before, after = _EVENTS[number]
                rows += [*([] if rows else [(-np.inf, before)]), (t_s, after)]
    elif arm_s is not None and "ArmState" in arms:
        first_s = arm_s[arms["ArmState"] == 1][:1].tolist()
        rows = [row for t_s in first_s for row in ((-np.inf, 1), (t_s + ARMING_S, None))]
    if not rows:
        return None
    return Series(*np.array([(t_s, np.nan if value is None else value) for t_s, value in rows], dtype=np.float64).T)


def _is_text(head: bytes) -> bool:
    return decoded(head[:_HEAD_BYTES]).startswith("FMT,")


def _first_instance(columns: Columns) -> Columns:
    """The rows of the first receiver, estimator core or gimbal, where a message has several."""
    for key in ("I", "C"):
        known = columns[key][np.isfinite(columns[key])] if key in columns else np.empty(0)
        if len(known):
            return {name: values[columns[key] == known.min()] for name, values in columns.items()}
    return columns


def _time(name: str, columns: Columns) -> FloatArray | None:
    """Seconds since boot. Of old logs TimeMS; there the GPS has that in T, and the time of the week in TimeMS."""
    if "TimeUS" in columns:
        return columns["TimeUS"] / 1e6
    key = "T" if name == "GPS" else "TimeMS"
    return columns[key] / 1e3 if key in columns else None


def _stack(columns: Columns, *names: str) -> FloatArray | None:
    return np.stack([columns[name] for name in names], axis=-1) if set(names) <= set(columns) else None


def _pos(name: str, tables: Tables) -> Log | None:
    pos, gps = tables[name], tables.get("GPS", {})
    t_s, place = _time(name, pos), _stack(pos, "Lat", "Lng", "Alt")
    if t_s is None or place is None:
        return None
    gps_t_s, status = _time("GPS", gps), gps.get("Status")
    fixed = None if gps_t_s is None or status is None else last_known(t_s, gps_t_s, status) >= GOOD_FIX
    return Log("", name, "boot", t_s, lat_lon_alt=place, height_m=pos.get("RelHomeAlt"), usable=fixed)


def _gps(name: str, tables: Tables) -> Log | None:
    gps = tables[name]
    t_s, place, motion = _time(name, gps), _stack(gps, "Lat", "Lng", "Alt"), _stack(gps, "Spd", "GCrs", "VZ")
    if t_s is None or place is None:
        return None
    velocity = None
    if motion is not None:
        speed, course, down = motion[:, 0], np.radians(motion[:, 1]), motion[:, 2]
        velocity = np.stack([speed * np.sin(course), speed * np.cos(course), -down], axis=-1)
    fixed, height = gps["Status"] >= GOOD_FIX if "Status" in gps else None, gps.get("RelAlt")
    return Log("", name, "boot", t_s, lat_lon_alt=place, height_m=height, usable=fixed, velocity_mps=velocity)


def _local(name: str, tables: Tables) -> Log | None:
    t_s, ned = _time(name, tables[name]), _stack(tables[name], "PN", "PE", "PD")
    velocity = _stack(tables[name], "VN", "VE", "VD")
    if t_s is None or ned is None:
        return None
    moving = None if velocity is None else enu_from_ned(velocity)
    return Log("", name, "boot", t_s, enu_m=enu_from_ned(ned), velocity_mps=moving)


def _heights(tables: Tables) -> dict[str, Series]:
    """Heights of the receiver, above sea level, and of the barometer."""
    found: dict[str, Series] = {}
    for source, name in (("GPS", "GPS"), ("barometer", "BARO")):
        columns = tables.get(name, {})
        t_s, height = _time(name, columns), columns.get("Alt")
        if t_s is not None and height is not None:
            no_fix = columns["Status"] < GOOD_FIX if "Status" in columns else False
            found[source] = Series(t_s, np.where(no_fix, np.nan, height))
    return found


# In the order of preference: the estimator's place on WGS84, the receiver's, the estimator's local position.
POSITIONS: Final[dict[str, Callable[[str, Tables], Log | None]]] = {
    **{"POS": _pos, "GPS": _gps},
    **dict.fromkeys(("XKF1", "NKF1"), _local),
}
