"""Telemetry logs of ground stations, ``.tlog``: 8 bytes of time, then a MAVLink packet of version 1 or 2, and again.

Time is that of the ground station's clock, UTC. What is logged is what the ground station heard: also its own messages,
those of the radio, and those of other drones. What the messages look like comes from pymavlink's definitions (dialect
ardupilotmega, which holds all that any autopilot sends here); the packets are taken apart without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.frames import Gimbal, against_horizon, enu_from_ned, flu_to_enu, pitch_deg, quaternion
from pipeline.formats.logs.log import (
    GOOD_FIX,
    DamagedBytes,
    Log,
    Records,
    Series,
    column,
    damage_findings,
    file_bytes,
    last_known,
    no_position,
    only_grounded,
    pressure_height_m,
)

V1, V2 = 0xFE, 0xFD
_TIME_BYTES: Final = 8  # big-endian microseconds since 1970
_V1_HEAD, _V2_HEAD = 6, 10
_CRC_BYTES, _SIGNATURE_BYTES = 2, 13
_SIGNED: Final = 1  # of the incompatibility flags of version 2
_MAGIC: Final = re.compile(b"[\xfd\xfe]")


class MessageTable(NamedTuple):
    """All good messages of one kind: when they were received, by whom they were sent, and their fields (N,)."""

    t_s: FloatArray
    system: IntArray
    component: IntArray
    fields: Records

    def take(self, keep: BoolArray) -> MessageTable:
        """Some of the messages."""
        return MessageTable(self.t_s[keep], self.system[keep], self.component[keep], self.fields[keep])

    def columns(self, *names: str) -> FloatArray:
        """Fields side by side (N, k)."""
        return np.stack([self.fields[name].astype(np.float64) for name in names], axis=-1)


def read_messages(raw: bytes, names: tuple[str, ...]) -> tuple[Mapping[str, MessageTable], tuple[Finding, ...]]:
    """The messages of these names whose checksum holds, in the order of the file, and findings about damage."""
    starts: dict[int, list[int]] = {_classes()[name].id: [] for name in names}
    damages: list[DamagedBytes] = []
    at, end, before = 0, len(raw), 0
    while at < end:
        after = packet_end(raw, at)
        if after is None or after > end:
            # It may be the length of the packet before that is wrong; its checksum will not hold then.
            after = _next_packet(raw, before + 1)
            damages.append(DamagedBytes(at if after >= at else before, after))
        else:
            before = at
            kind = raw[at + 13] if raw[at + 8] == V1 else raw[at + 15] | raw[at + 16] << 8 | raw[at + 17] << 16
            if kind in starts:
                starts[kind].append(at)
        at = after
    kinds = [(name, _classes()[name]) for name in names]
    tables = {name: _table(raw, found, kind) for name, kind in kinds if (found := starts[kind.id])}
    return {name: one for name, one in tables.items() if len(one.t_s)}, damage_findings(end, damages)


def packet_end(raw: bytes, at: int) -> int | None:
    """Where the packet, with its time, ends that begins at ``at``; None if none begins there."""
    head = at + _TIME_BYTES
    if head + 3 > len(raw):
        return None
    if raw[head] == V1:
        return head + _V1_HEAD + raw[head + 1] + _CRC_BYTES
    if raw[head] == V2:
        signature = _SIGNATURE_BYTES if raw[head + 2] & _SIGNED else 0
        return head + _V2_HEAD + raw[head + 1] + _CRC_BYTES + signature
    return None


def _next_packet(raw: bytes, start: int) -> int:
    """Where the next packet begins that another one follows; the end of the file if there is none."""
    for found in _MAGIC.finditer(raw, start + _TIME_BYTES):
        at = found.start() - _TIME_BYTES
        after = packet_end(raw, at)
        if after is not None and (after == len(raw) or (after < len(raw) and packet_end(raw, after) is not None)):
            return at
    return len(raw)


def _table(raw: bytes, starts: list[int], message: Any) -> MessageTable:
    dtype = _layout(message)
    begin = np.array(starts)
    data = np.frombuffer(raw, dtype=np.uint8)
    two = data[begin + _TIME_BYTES] == V2
    head = np.where(two, _V2_HEAD, _V1_HEAD)
    sent = data[begin + _TIME_BYTES + 1].astype(np.intp)
    body = begin + _TIME_BYTES + head
    good = _checked(data, begin + _TIME_BYTES + 1, head - 1 + sent, message.crc_extra)
    # Version 2 leaves out zeros at the end and may have fields that are newer than the definition.
    parts = [
        raw[at : at + min(n, dtype.itemsize)].ljust(dtype.itemsize, b"\0")
        for at, n in zip(body[good].tolist(), sent[good].tolist(), strict=True)
    ]
    times = b"".join([raw[at : at + _TIME_BYTES] for at in begin[good].tolist()])
    system = (begin + _TIME_BYTES + np.where(two, 5, 3))[good]
    return MessageTable(
        np.frombuffer(times, ">u8").astype(np.int64) / 1e6,
        data[system].astype(np.intp),
        data[system + 1].astype(np.intp),
        np.frombuffer(b"".join(parts), dtype=dtype),
    )


def _layout(message: Any) -> np.dtype[Any]:
    """The fields in the order in which they are sent; pymavlink has one letter for each, also for arrays."""
    letters = message.native_format.decode().lstrip("<")
    named = zip(message.ordered_fieldnames, letters, message.array_lengths, strict=True)
    return np.dtype([(name, f"<{letter}", (n,)) if n else (name, f"<{letter}") for name, letter, n in named])


def _checked(data: np.ndarray[Any, np.dtype[np.uint8]], begin: IntArray, length: IntArray, extra: int) -> BoolArray:
    """Whether the checksum (X.25) over ``length`` bytes from ``begin`` and ``extra`` stands behind them: (N,)."""
    table = np.arange(256, dtype=np.uint16)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ 0x8408, table >> 1).astype(np.uint16)
    crc = np.full(len(begin), 0xFFFF, dtype=np.uint16)
    for step in range(int(length.max())):
        inside = step < length
        byte = data[np.where(inside, begin + step, 0)]
        crc = np.where(inside, crc >> 8 ^ table[(crc ^ byte) & 0xFF], crc)
    crc = crc >> 8 ^ table[(crc ^ extra) & 0xFF]
    end = begin + length
    return np.asarray(crc == data[end] + 256 * data[end + 1].astype(np.uint16))


@cache
def _classes() -> dict[str, Any]:
    """The messages that there are, by name."""
    from pymavlink.dialects.v20 import ardupilotmega  # long, and only telemetry logs need it

    return {message.msgname: message for message in ardupilotmega.mavlink_map.values()}


CLOCKS_APART_S: Final = 2.0  # a radio delays by less
RESTART_S: Final = 1.0  # messages that overtake each other on the radio lie closer


def with_boot_clock(log: Log, boot_ms: FloatArray) -> Log:
    """The log with where the drone was started again, and where its clock disagrees with the ground station's.

    The drone's clock begins at 0 with every start, so each start is looked at by itself, against the smallest
    difference of the two clocks: that of the messages which the radio did not delay.

    Args:
        log: on the ground station's clock, which is used.
        boot_ms: (N,) milliseconds since the drone was started.
    """
    t_s = log.t_s
    boot_s = boot_ms / 1e3
    begins = np.concatenate([[False], np.diff(boot_s) < -RESTART_S])
    start = np.cumsum(begins)
    difference = t_s - boot_s
    odd = np.zeros(len(t_s), dtype=bool)  # no checksum covers the ground station's time: of one alone nothing follows
    step = np.abs(np.diff(difference)) > CLOCKS_APART_S
    odd[1:-1] = step[:-1] & step[1:] & (np.abs(difference[2:] - difference[:-2]) <= CLOCKS_APART_S)
    offsets = np.where(odd, np.inf, difference)
    smallest = np.array([offsets[start == number].min() for number in range(start[-1] + 1)])
    off = np.where(odd, 0.0, difference - smallest[start])
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
    marks = {"clocks_apart": apart} if apart.any() else {}
    return replace(log, begins=begins, findings=(*log.findings, *found), marks=marks)


Tables = Mapping[str, MessageTable]
GIMBALS: Final = ("GIMBAL_DEVICE_ATTITUDE_STATUS", "MOUNT_ORIENTATION", "MOUNT_STATUS")
NO_HEADING: Final = 65535
# MAV_TYPE of what sends positions without being the drone: antenna tracker, ground station, gimbal, ADS-B, camera, …
NOT_A_VEHICLE: Final = (5, 6, 18, 26, 27, 30, 31, 32, 33, 34)
HOME_APART_MM: Final = 1000
NO_AUTOPILOT: Final = 8  # MAV_AUTOPILOT_INVALID: a gimbal, a camera, a ground station
ARMED: Final = 128  # MAV_MODE_FLAG_SAFETY_ARMED
LANDED: Final = 1  # MAV_LANDED_STATE_ON_GROUND; greater ones: in the air, taking off, landing
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
    log = replace(_POSITIONS[kind](table, tables), findings=findings)
    attitude, gimbal = _attitude(tables), _gimbal(tables)
    boot_ms = column(table.fields, "time_boot_ms")
    if boot_ms is not None:
        log = with_boot_clock(log, boot_ms)
    return replace(
        log,
        name=name,
        dialect=kind,
        attitude=attitude,
        heading=log.heading if attitude is None else None,
        gimbal_pitch=None if gimbal is None else gimbal.pitch,
        heights=_heights(tables),
        grounded=_grounded(tables),
        on_ground=_on_ground(tables),
        findings=(*log.findings, *(gimbal.findings if gimbal else ())),
    )


def _global(table: MessageTable, tables: Tables) -> Log:
    """The estimator's position on WGS84."""
    fields, t_s = table.fields, table.t_s
    # ArduPilot sends the height of its barometer as altitude and as height until it has set its home; the two part by
    # hundreds of metres as it does. Till then the altitude is the one above an unknown start.
    offset_mm = fields["alt"].astype(np.int64) - fields["relative_alt"]
    homeless = (offset_mm == 0) & bool((np.abs(offset_mm) > HOME_APART_MM).any())
    return Log(
        name="",
        dialect="",
        clock="utc",
        t_s=t_s,
        lat_lon_alt=table.columns("lat", "lon", "alt") * (1e-7, 1e-7, 1e-3),
        height_m=np.where(homeless, np.nan, fields["relative_alt"] / 1e3),
        usable=_has_fix(tables, t_s),
        refused={"from before the home was set": homeless} if homeless.any() else {},
        velocity_mps=enu_from_ned(table.columns("vx", "vy", "vz")) / 1e2,
        heading=Series(t_s, np.where(fields["hdg"] == NO_HEADING, np.nan, fields["hdg"] / 1e2)),
    )


def _receiver(table: MessageTable, tables: Tables) -> Log:
    """The position of the satellite receiver."""
    place = table.columns("lat", "lon", "alt") * (1e-7, 1e-7, 1e-3)
    return Log("", "", "utc", table.t_s, lat_lon_alt=place, usable=_has_fix(tables, table.t_s))


def _local(table: MessageTable, _: Tables) -> Log:
    """The estimator's local position, which needs no satellites."""
    enu, velocity = (enu_from_ned(table.columns(*names)) for names in (("x", "y", "z"), ("vx", "vy", "vz")))
    return Log("", "", "utc", table.t_s, enu_m=enu, velocity_mps=velocity)


def _grounded(tables: Tables) -> str | None:
    """Why the vehicle cannot have flown: its kind, or motors that were never armed; None: it may have flown."""
    beats = tables.get("HEARTBEAT")
    if beats is None:
        return None
    autopilot = beats.take(beats.fields["autopilot"] != NO_AUTOPILOT)
    if (why := only_grounded(autopilot.fields["type"])) is not None:
        return why
    if len(autopilot.t_s) >= ENOUGH_BEATS and not (autopilot.fields["base_mode"] & ARMED).any():
        return f"its motors were armed in none of {len(autopilot.t_s)} heartbeats"
    return None


def _on_ground(tables: Tables) -> Series | None:
    """Whether the vehicle stands: as it says, or where it does not while its motors are not armed."""
    if "EXTENDED_SYS_STATE" in tables:
        state = _one_component(tables["EXTENDED_SYS_STATE"])
        landed = state.fields["landed_state"]
        return Series(state.t_s, np.select([landed == LANDED, landed > LANDED], [1.0, 0.0], np.nan))
    if "HEARTBEAT" not in tables:
        return None
    beats = tables["HEARTBEAT"]
    beats = beats.take(beats.fields["autopilot"] != NO_AUTOPILOT)
    if not len(beats.t_s):
        return None
    return Series(beats.t_s, np.where(beats.fields["base_mode"] & ARMED, np.nan, 1.0))


def _one_component(table: MessageTable) -> MessageTable:
    """The messages of the component that sent most; of equals the first, which is the autopilot."""
    return table.take(table.component == np.bincount(table.component).argmax())


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
    return Series(table.t_s, flu_to_enu(quaternion(*table.columns("roll", "pitch", "yaw").T)))


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


_POSITIONS: Final[dict[str, Callable[[MessageTable, Tables], Log]]] = {
    "GLOBAL_POSITION_INT": _global,
    "GPS_RAW_INT": _receiver,
    "LOCAL_POSITION_NED": _local,
}
POSITIONS: Final = tuple(_POSITIONS)  # in the order of preference
MESSAGES: Final = (*POSITIONS, *GIMBALS, "ATTITUDE", "HEARTBEAT", "SCALED_PRESSURE", "EXTENDED_SYS_STATE")
