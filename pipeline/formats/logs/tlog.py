"""Telemetry logs of ground stations, ``.tlog``. Time is that of the ground station's clock, UTC.

What is logged is what the ground station heard: also its own messages, those of the radio, and those of other drones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.frames import Gimbal, against_horizon, enu_from_ned, flu_to_enu, pitch_deg, quaternion
from pipeline.formats.logs.log import (
    GOOD_FIX,
    Log,
    Records,
    Series,
    column,
    file_bytes,
    last_known,
    no_position,
    pressure_height_m,
)
from pipeline.formats.logs.mavlink import Table, packet_end, read_messages

CLOCKS_APART_S: Final = 2.0  # a radio delays by less
RESTART_S: Final = 1.0  # messages that overtake each other on the radio lie closer


class Clocks(NamedTuple):
    """What two clocks show.

    Attributes:
        begins: (N,) True where the drone was started again.
        apart: (N,) True where the clocks disagree.
        findings: both in words; `clocks_apart` is about the samples ``apart``.
    """

    begins: BoolArray
    apart: BoolArray
    findings: tuple[Finding, ...]


def compared(t_s: FloatArray, boot_ms: FloatArray) -> Clocks:
    """Where the drone was started again, and where its clock disagrees with the ground station's.

    The drone's clock begins at 0 with every start, so each start is looked at by itself, against the smallest
    difference of the two clocks: that of the messages which the radio did not delay.

    Args:
        t_s: (N,) times of the ground station's clock, which is used.
        boot_ms: (N,) milliseconds since the drone was started.
    """
    boot_s = boot_ms / 1e3
    begins = np.concatenate([[False], np.diff(boot_s) < -RESTART_S])
    start = np.cumsum(begins)
    difference = t_s - boot_s
    smallest = np.array([difference[start == number].min() for number in range(start[-1] + 1)])
    off = difference - smallest[start]
    apart = off > CLOCKS_APART_S
    found: list[Finding] = []
    if begins.any():
        message = f"the drone was started again {int(begins.sum())} times; a new part begins at each"
        found.append(note("restarted", "log", message, "none needed: parts are not joined", int(begins.sum()), 0))
    if apart.any():
        message = (
            f"the ground station's clock, which is used, and the drone's are apart by up to {off.max():.2f} s, "
            f"at {int(apart.sum())} of {len(t_s)} positions"
        )
        remedy = "check the offset to the video at both ends of the flight"
        found.append(doubt("clocks_apart", "log", message, remedy, float(off.max()), CLOCKS_APART_S, "s"))
    return Clocks(begins, apart, tuple(found))


Tables = Mapping[str, Table]
GIMBALS: Final = ("GIMBAL_DEVICE_ATTITUDE_STATUS", "MOUNT_ORIENTATION", "MOUNT_STATUS")
NO_HEADING: Final = 65535
# MAV_TYPE of what sends positions without being the drone: antenna tracker, ground station, gimbal, ADS-B, camera, …
NOT_A_VEHICLE: Final = (5, 6, 18, 26, 27, 30, 31, 32, 33, 34)
HOME_APART_MM: Final = 1000
# MAV_TYPE of what moves on or below the surface: rover, boat, submarine.
NOT_AERIAL: Final = {10: "rover", 11: "boat", 12: "submarine"}
NO_AUTOPILOT: Final = 8  # MAV_AUTOPILOT_INVALID: a gimbal, a camera, a ground station
ARMED: Final = 128  # MAV_MODE_FLAG_SAFETY_ARMED
ENOUGH_BEATS: Final = 10  # one is sent every second


class Tlog:
    """Reads ``.tlog`` files."""

    name = "tlog"
    suffixes = (".tlog",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether it begins with a packet that a second one follows."""
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
    log = _POSITIONS[kind](table, tables)
    attitude, gimbal = _attitude(tables), _gimbal(tables)
    boot_ms = column(table.fields, "time_boot_ms")
    clocks = None if boot_ms is None else compared(table.t_s, boot_ms)
    return replace(
        log,
        name=name,
        dialect=kind,
        begins=clocks.begins if clocks else None,
        attitude=attitude,
        heading=log.heading if attitude is None else None,
        gimbal_pitch=None if gimbal is None else gimbal.pitch,
        heights=_heights(tables),
        grounded=_grounded(tables),
        findings=(*findings, *(clocks.findings if clocks else ()), *(gimbal.findings if gimbal else ())),
        marks={"clocks_apart": clocks.apart} if clocks and clocks.apart.any() else {},
    )


def _global(table: Table, tables: Tables) -> Log:
    """The estimator's position on WGS84."""
    fields, t_s = table.fields, table.t_s
    homeless = _before_home(fields)
    return Log(
        name="",
        dialect="",
        clock="utc",
        t_s=t_s,
        lat_lon_alt=_stack(table, "lat", "lon", "alt") * (1e-7, 1e-7, 1e-3),
        height_m=np.where(homeless, np.nan, fields["relative_alt"] / 1e3),
        usable=_has_fix(tables, t_s),
        refused={"from before the home was set": homeless} if homeless.any() else {},
        velocity_mps=enu_from_ned(_stack(table, "vx", "vy", "vz")) / 1e2,
        heading=Series(t_s, np.where(fields["hdg"] == NO_HEADING, np.nan, fields["hdg"] / 1e2)),
    )


def _receiver(table: Table, tables: Tables) -> Log:
    """The position of the satellite receiver."""
    place = _stack(table, "lat", "lon", "alt") * (1e-7, 1e-7, 1e-3)
    return Log("", "", "utc", table.t_s, lat_lon_alt=place, usable=_has_fix(tables, table.t_s))


def _local(table: Table, _: Tables) -> Log:
    """The estimator's local position, which needs no satellites."""
    enu, velocity = (enu_from_ned(_stack(table, *names)) for names in (("x", "y", "z"), ("vx", "vy", "vz")))
    return Log("", "", "utc", table.t_s, enu_m=enu, velocity_mps=velocity)


def _grounded(tables: Tables) -> str | None:
    """Why the vehicle cannot have flown: its kind, or motors that were never armed; None: it may have flown."""
    beats = tables.get("HEARTBEAT")
    if beats is None:
        return None
    autopilot = beats.take(beats.fields["autopilot"] != NO_AUTOPILOT)
    kinds = np.unique(autopilot.fields["type"])
    if len(kinds) and np.isin(kinds, list(NOT_AERIAL)).all():
        return f"it is a {' and a '.join(NOT_AERIAL[int(kind)] for kind in kinds)}"
    if len(autopilot.t_s) >= ENOUGH_BEATS and not (autopilot.fields["base_mode"] & ARMED).any():
        return f"its motors were armed in none of {len(autopilot.t_s)} heartbeats"
    return None


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


def _has_fix(tables: Tables, t_s: FloatArray) -> BoolArray | None:
    """Whether the receiver had a fix in three dimensions at some times (N,); None: it does not say."""
    if "GPS_RAW_INT" not in tables:
        return None
    gps = _one_component(tables["GPS_RAW_INT"])
    return last_known(t_s, gps.t_s, gps.fields["fix_type"]) >= GOOD_FIX


def _heights(tables: Tables) -> dict[str, Series]:
    """Heights of the receiver, above sea level, and of the barometer."""
    found: dict[str, Series] = {}
    if "SCALED_PRESSURE" in tables:
        air = _one_component(tables["SCALED_PRESSURE"])
        found["barometer"] = Series(air.t_s, pressure_height_m(air.fields["press_abs"].astype(np.float64)))
    if "GPS_RAW_INT" in tables:
        gps = _one_component(tables["GPS_RAW_INT"])
        found["GPS"] = Series(gps.t_s, np.where(gps.fields["fix_type"] >= GOOD_FIX, gps.fields["alt"] / 1e3, np.nan))
    return found


def _attitude(tables: Tables) -> Series | None:
    if "ATTITUDE" not in tables:
        return None
    table = _one_component(tables["ATTITUDE"])
    return Series(table.t_s, flu_to_enu(quaternion(*_stack(table, "roll", "pitch", "yaw").T)))


def _gimbal(tables: Tables) -> Gimbal | None:
    """Pitch of the camera against the horizon, from the newest protocol that was in use."""
    name = next((one for one in GIMBALS if one in tables), None)
    if name is None:
        return None
    table = _one_component(tables[name])
    if name == "MOUNT_STATUS":
        body = _one_component(tables["ATTITUDE"]) if "ATTITUDE" in tables else None
        body_t_s = np.empty(0) if body is None else body.t_s
        body_deg = np.empty(0) if body is None else np.degrees(body.fields["pitch"].astype(np.float64))
        return against_horizon(table.t_s, table.fields["pointing_a"] / 1e2, body_t_s, body_deg)
    if name == "MOUNT_ORIENTATION":
        return Gimbal(Series(table.t_s, table.fields["pitch"].astype(np.float64)), ())
    return Gimbal(Series(table.t_s, pitch_deg(table.fields["q"].astype(np.float64))), ())


_POSITIONS: Final[dict[str, Callable[[Table, Tables], Log]]] = {
    "GLOBAL_POSITION_INT": _global,
    "GPS_RAW_INT": _receiver,
    "LOCAL_POSITION_NED": _local,
}
POSITIONS: Final = tuple(_POSITIONS)  # in the order of preference
MESSAGES: Final = (*POSITIONS, *GIMBALS, "ATTITUDE", "HEARTBEAT", "SCALED_PRESSURE")
