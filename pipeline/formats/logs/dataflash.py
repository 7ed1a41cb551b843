"""ArduPilot logs: ``.bin`` as the drone writes them, ``.log`` as ground stations do. Time counts from boot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.formats.logs.dataflash_messages import HEAD, Columns, read_binary, read_text
from pipeline.formats.logs.log import Log, Series
from pipeline.formats.logs.ned import enu_from_ned, flu_to_enu, quaternion
from pipeline.formats.logs.records import GOOD_FIX, file_bytes, last_known, no_position
from pipeline.formats.logs.text import decoded

Tables = Mapping[str, Columns]
_OTHERS: Final = ("ATT", "MNT", "BARO")
_HEAD_BYTES: Final = 16  # hold the first four letters in any encoding


class DataFlash:
    """Reads ``.bin`` and ``.log`` files."""

    name = "dataflash"
    version = 1
    suffixes = (".bin", ".log")

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether it begins with the two bytes of every binary record, or with a line that states a record's format."""
        return head.startswith(HEAD) or _is_text(head)

    @np.errstate(invalid="ignore", over="ignore")  # damaged numbers may be anything
    def read(self, path: Path) -> tuple[Log, ...]:
        """The flight: POS of the estimator, else GPS, else the estimator's local position (flights without GPS)."""
        raw = file_bytes(path)
        wanted = (*POSITIONS, *_OTHERS)
        if raw.startswith(HEAD):
            tables, findings = read_binary(raw, wanted)
        elif _is_text(raw):
            tables, findings = read_text(decoded(raw), wanted)
        else:
            remedy = "give a .bin or .log file of ArduPilot"
            raise RawDataError(path, "not_dataflash", "the file does not begin as an ArduPilot log does", remedy)
        tables = {name: _first_instance(columns) for name, columns in tables.items()}
        for name, positions in POSITIONS.items():
            if name in tables and (log := positions(name, tables)):
                attitude, gimbal = _attitude(tables), _gimbal(tables)
                heights = _heights(tables)
                return (replace(log, attitude=attitude, gimbal_pitch=gimbal, heights=heights, findings=findings),)
        raise no_position(path, ", ".join(POSITIONS))


def _is_text(head: bytes) -> bool:
    return decoded(head[:_HEAD_BYTES]).startswith("FMT,")


def _first_instance(columns: Columns) -> Columns:
    """The rows of the first receiver, estimator core or gimbal, where a message has several."""
    for field in ("I", "C"):
        known = columns[field][np.isfinite(columns[field])] if field in columns else np.empty(0)
        if len(known):
            return {name: values[columns[field] == known.min()] for name, values in columns.items()}
    return columns


def _time(name: str, columns: Columns) -> FloatArray | None:
    """Seconds since boot. Of old logs TimeMS; there the GPS has that in T, and the time of the week in TimeMS."""
    if "TimeUS" in columns:
        return columns["TimeUS"] / 1e6
    field = "T" if name == "GPS" else "TimeMS"
    return columns[field] / 1e3 if field in columns else None


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
    return Log(
        name="",
        dialect=name,
        clock="boot",
        t_s=t_s,
        lat_lon_alt=place,
        height_m=gps.get("RelAlt"),
        usable=gps["Status"] >= GOOD_FIX if "Status" in gps else None,
        velocity_mps=velocity,
    )


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


def _attitude(tables: Tables) -> Series | None:
    att = tables.get("ATT", {})
    t_s, angles = _time("ATT", att), _stack(att, "Roll", "Pitch", "Yaw")
    if t_s is None or angles is None:
        return None
    return Series(t_s, flu_to_enu(quaternion(*np.radians(angles).T)))


def _gimbal(tables: Tables) -> Series | None:
    mnt = tables.get("MNT", {})
    t_s, pitch = _time("MNT", mnt), mnt.get("Pitch")
    return None if t_s is None or pitch is None else Series(t_s, pitch)


# In the order of preference: the estimator's place on WGS84, the receiver's, the estimator's local position.
POSITIONS: Final[dict[str, Callable[[str, Tables], Log | None]]] = {
    "POS": _pos,
    "GPS": _gps,
    "XKF1": _local,
    "NKF1": _local,
}
