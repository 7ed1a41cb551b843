"""Telemetry logs of ground stations, ``.tlog``. Time is that of the ground station's clock, UTC.

What is logged is what the ground station heard: also its own messages, those of the radio, and those of other drones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log, Series
from pipeline.formats.logs.mavlink import Table, packet_end, read_messages
from pipeline.formats.logs.ned import enu_from_ned, flu_to_enu, pitch_deg, quaternion
from pipeline.formats.logs.records import GOOD_FIX, Records, column, file_bytes, held, no_position

Tables = Mapping[str, Table]
POSITIONS: Final = ("GLOBAL_POSITION_INT", "GPS_RAW_INT", "LOCAL_POSITION_NED")  # in the order of preference
GIMBALS: Final = ("GIMBAL_DEVICE_ATTITUDE_STATUS", "MOUNT_ORIENTATION", "MOUNT_STATUS")
MESSAGES: Final = (*POSITIONS, *GIMBALS, "ATTITUDE", "HEARTBEAT")
NO_HEADING: Final = 65535
# MAV_TYPE of what sends positions without being the drone: antenna tracker, ground station, gimbal, ADS-B, camera, …
NOT_A_VEHICLE: Final = (5, 6, 18, 26, 27, 30, 31, 32, 33, 34)
HOME_APART_MM: Final = 1000
CLOCKS_APART_S: Final = 2.0  # a radio delays by less


class Tlog:
    """Reads ``.tlog`` files."""

    name = "tlog"
    version = 1
    suffixes = (".tlog",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """By a first packet that a second one follows."""
        first = packet_end(head, 0)
        return first is not None and (first >= len(head) - 16 or packet_end(head, first) is not None)

    @np.errstate(invalid="ignore", over="ignore")  # damaged numbers may be anything
    def read(self, path: Path) -> tuple[Log, ...]:
        """The flight of each drone that sent its position."""
        raw = file_bytes(path)
        if not self.is_own(path, raw[:4096]):
            remedy = "give a .tlog file of a ground station"
            raise RawDataError(path, "not_tlog", "the file does not begin with a time and a MAVLink packet", remedy)
        tables, damage = read_messages(raw, MESSAGES)
        systems = _vehicles(tables)
        logs = []
        for system in systems:
            own = {name: table.take(table.system == system) for name, table in tables.items()}
            own = {name: table for name, table in own.items() if len(table.t_s)}
            logs.append(_log(f"system {system}" if len(systems) > 1 else "", own, damage))
        if not logs:
            raise no_position(path, ", ".join(POSITIONS))
        return tuple(logs)


def _vehicles(tables: Tables) -> list[int]:
    """Systems that sent positions and that do not call themselves something else than a vehicle."""
    senders = [tables[name].system for name in POSITIONS if name in tables]
    found = {int(system) for system in np.unique(np.concatenate(senders))} if senders else set()
    beats = tables.get("HEARTBEAT")
    if beats is None:
        return sorted(found)
    for system in sorted(found):
        kinds = beats.fields["type"][beats.system == system]
        if len(kinds) and np.isin(kinds, NOT_A_VEHICLE).all():
            found.remove(system)
    return sorted(found)


def _log(name: str, tables: Tables, findings: tuple[Finding, ...]) -> Log:
    """One vehicle's flight."""
    kind = next(one for one in POSITIONS if one in tables)
    table = _one_component(tables[kind])
    fields, t_s = table.fields, table.t_s
    place = height = enu = velocity = heading = None
    usable = None if "GPS_RAW_INT" not in tables else _has_fix(tables["GPS_RAW_INT"], t_s)
    if kind == "LOCAL_POSITION_NED":
        enu = enu_from_ned(_stack(table, "x", "y", "z"))
        velocity = enu_from_ned(_stack(table, "vx", "vy", "vz"))
        usable = None  # such positions need no satellites
    else:
        place = _stack(table, "lat", "lon", "alt") * (1e-7, 1e-7, 1e-3)
    if kind == "GLOBAL_POSITION_INT":
        height = fields["relative_alt"] / 1e3
        velocity = enu_from_ned(_stack(table, "vx", "vy", "vz")) / 1e2
        homeless = _before_home(fields)
        if homeless.any():
            fixed = np.ones(len(t_s), dtype=bool) if usable is None else usable
            usable = fixed & ~homeless
            lost = int((fixed & homeless).sum())
            message = f"{lost} positions from before the home was set have no altitude above the sea and were refused"
            findings += (note("no_home", "log", message, "none needed", lost, 0),)
        heading = Series(t_s, np.where(fields["hdg"] == NO_HEADING, np.nan, fields["hdg"] / 1e2))
    attitude = _attitude(tables)
    return Log(
        name=name,
        dialect=kind,
        clock="utc",
        t_s=t_s,
        lat_lon_alt=place,
        enu_m=enu,
        height_m=height,
        usable=usable,
        velocity_mps=velocity,
        attitude=attitude,
        heading=heading if attitude is None else None,
        gimbal_pitch=_gimbal(tables),
        findings=findings + _clock_doubt(table),
    )


def _one_component(table: Table) -> Table:
    """The messages of the component that sent most; of equals the first, which is the autopilot."""
    return table.take(table.component == np.bincount(table.component).argmax())


def _stack(table: Table, *names: str) -> FloatArray:
    return np.stack([table.fields[name].astype(np.float64) for name in names], axis=-1)


def _before_home(fields: Records) -> BoolArray:
    """Where the altitude still is the one above an unknown start, though later ones are above sea level.

    ArduPilot sends the height of its barometer as both until it has set its home; the two part by hundreds of metres
    as it does.
    """
    offset_mm = fields["alt"].astype(np.int64) - fields["relative_alt"]
    return (offset_mm == 0) & bool((np.abs(offset_mm) > HOME_APART_MM).any())


def _has_fix(gps: Table, t_s: FloatArray) -> BoolArray:
    gps = _one_component(gps)
    return held(t_s, gps.t_s, gps.fields["fix_type"]) >= GOOD_FIX


def _attitude(tables: Tables) -> Series | None:
    if "ATTITUDE" not in tables:
        return None
    table = _one_component(tables["ATTITUDE"])
    return Series(table.t_s, flu_to_enu(quaternion(*_stack(table, "roll", "pitch", "yaw").T)))


def _gimbal(tables: Tables) -> Series | None:
    """Pitch of the camera against the horizon, from the newest protocol that was in use."""
    name = next((one for one in GIMBALS if one in tables), None)
    if name is None:
        return None
    table = _one_component(tables[name])
    if name == "MOUNT_STATUS":
        return Series(table.t_s, table.fields["pointing_a"] / 1e2)
    if name == "MOUNT_ORIENTATION":
        return Series(table.t_s, table.fields["pitch"].astype(np.float64))
    return Series(table.t_s, pitch_deg(table.fields["q"].astype(np.float64)))


def _clock_doubt(table: Table) -> tuple[Finding, ...]:
    """Compares how long the ground station's clock and the drone's say that the log took."""
    boot_s = column(table.fields, "time_boot_ms")
    if boot_s is None:
        return ()
    apart = (table.t_s - table.t_s[0]) - (boot_s - boot_s[0]) / 1e3
    worst = float(np.abs(apart).max())
    if worst <= CLOCKS_APART_S:
        return ()
    message = f"the ground station's clock, which is used, and the drone's drift apart by up to {worst:.2f} s"
    remedy = "check the offset to the video at both ends of the flight"
    return (doubt("clocks_apart", "log", message, remedy, worst, CLOCKS_APART_S, "s"),)
