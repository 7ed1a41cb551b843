"""PX4 ULog. Time counts from boot; positions are the estimator's where it has any, else a receiver's."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.formats.logs.frames import enu_from_ned, flu_to_enu, heading_deg_of, lat_lon_deg, pitch_deg
from pipeline.formats.logs.log import (
    GOOD_FIX,
    DamagedBytes,
    Log,
    Records,
    Series,
    column,
    columns,
    damage_findings,
    file_bytes,
    last_known,
    no_position,
    only_grounded,
    table,
)

LOCAL: Final = "vehicle_local_position"
ATTITUDE: Final = "vehicle_attitude"
GIMBAL: Final = "gimbal_device_attitude_status"
MOUNT: Final = "mount_orientation"
HOME: Final = "home_position"
AIR: Final = "vehicle_air_data"
STATUS: Final = "vehicle_status"
LANDED: Final = "vehicle_land_detected"
DISARMED, ARMED = (0, 1), 2  # arming_state; before 1.15 it began with 0 as well
RECEIVERS: Final = ("vehicle_gps_position", "sensor_gps")
NEAR_S: Final = 1.0  # a height farther than this from a position says nothing about it
RESET_M: Final = 0.5  # the estimator corrects itself by centimetres all the time; more than that is not flown

Topics = Mapping[str, Records]


class PX4Ulog:
    """Reads ``.ulg`` files."""

    name = "px4_ulog"
    suffixes = (".ulg", ".ulog")

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether it begins with the seven bytes of every ULog."""
        return head.startswith(MAGIC)

    @np.errstate(invalid="ignore", over="ignore")  # damaged numbers may be anything
    def read(self, path: Path) -> tuple[Log, ...]:
        """The flight: local positions with attitude, or WGS84 ones where the estimator gave none."""
        recording = read_topics(path, (*POSITIONS, ATTITUDE, GIMBAL, MOUNT, HOME, AIR, STATUS, LANDED))
        found, lost = recording.findings, recording.dropouts_ms
        if lost:
            message = f"the logger lost messages {len(lost)} times, {sum(lost)} ms in all"
            remedy = "a faster card; gaps of the track are marked"
            found += (note("dropouts", "log", message, remedy, sum(lost) / 1000, 0, "s"),)
        for name, positions in POSITIONS.items():
            if name in recording.topics and (log := positions(name, recording.topics)):
                attitude = _attitude(recording.topics)
                kinds = column(recording.topics[STATUS], "system_type") if STATUS in recording.topics else None
                return (
                    replace(
                        log,
                        attitude=attitude,
                        heading=None if attitude else log.heading,
                        gimbal_pitch=_gimbal(recording.topics),
                        height_m=_local_height(log, recording.topics) if log.height_m is None else log.height_m,
                        on_ground=_on_ground(recording.topics),
                        heights=_heights(recording.topics),
                        findings=found + log.findings,
                        grounded=None if kinds is None else only_grounded(kinds),
                    ),
                )
        raise no_position(path, ", ".join(POSITIONS))


def _on_ground(topics: Topics) -> Series | None:
    """Whether the vehicle stands: by its land detector, or before that was logged while it is disarmed.

    A log usually begins as the motors are armed (SDLOG_MODE 0), but a switch of the remote control (3), a stream to the
    ground station or a new file may begin one in the air.
    """
    for name, key in ((LANDED, "landed"), (STATUS, "arming_state")):
        records = topics.get(name)
        if records is None or (t_s := _time(records)) is None or key not in (records.dtype.names or ()):
            continue
        value = records[key].astype(np.float64)
        if key == "landed" or value.ndim != 1:
            return Series(t_s, value) if value.ndim == 1 else None
        taken_off = column(records, "takeoff_time")
        waits = np.zeros(len(t_s), dtype=bool) if taken_off is None else (value == ARMED) & (taken_off == 0)
        return Series(t_s, np.where(np.isin(value, DISARMED) | waits, 1.0, np.nan))
    return None


def _time(records: Records) -> FloatArray | None:
    """Seconds since boot. Unsigned microseconds above 2**63 are broken; as signed ones they lie before boot."""
    if "timestamp" not in (records.dtype.names or ()) or records["timestamp"].dtype != np.dtype("<u8"):
        return None
    return records["timestamp"].astype(np.int64) / 1e6


def _flag(records: Records, name: str) -> BoolArray:
    """A flag (N,); where the version of PX4 does not log it, True."""
    value = column(records, name)
    return np.ones(len(records), dtype=bool) if value is None or value.ndim != 1 else value != 0


def _local(name: str, topics: Topics) -> Log | None:
    records = topics[name]
    t_s, ned = _time(records), columns(records, "x", "y", "z")
    if t_s is None or ned is None:
        return None
    usable = np.isfinite(ned).all(1) & _flag(records, "xy_valid") & _flag(records, "z_valid")
    if not usable.any():
        return None
    velocity = columns(records, "vx", "vy", "vz")
    if velocity is not None:
        moving = _flag(records, "v_xy_valid") & _flag(records, "v_z_valid")
        velocity = np.where(moving[:, None], enu_from_ned(velocity), np.nan)
    begins, resets = _resets(records)
    yaw = columns(records, "heading")
    yaw = columns(records, "yaw") if yaw is None else yaw
    return Log(
        name="",
        dialect=name,
        clock="boot",
        t_s=t_s,
        lat_lon_alt=_placed(records, ned, usable),
        enu_m=enu_from_ned(ned),
        height_m=_above_home(topics.get(HOME), ned[:, 2]),
        usable=usable,
        begins=begins,
        velocity_mps=velocity,
        heading=None if yaw is None else Series(t_s, heading_deg_of(yaw[:, 0])),
        findings=resets,
    )


def _placed(records: Records, ned: FloatArray, usable: BoolArray) -> FloatArray | None:
    """WGS84 of local positions, each about the reference of its own row; NaN where there is none."""
    reference = columns(records, "ref_lat", "ref_lon", "ref_alt")
    if reference is None or "xy_global" not in (records.dtype.names or ()):
        return None
    known = usable & _flag(records, "xy_global") & np.isfinite(reference[:, :2]).all(1)
    known &= (np.abs(reference[:, :2]) <= (90.0, 180.0)).all(1) & (reference[:, :2] != 0).any(1)
    if not known.any():
        return None
    found = np.full((len(ned), 3), np.nan)
    found[known, :2] = lat_lon_deg(ned[known], reference[known, 0], reference[known, 1])
    high = known & _flag(records, "z_global")
    found[high, 2] = reference[high, 2] - ned[high, 2]
    return found


def _above_home(home: Records | None, down: FloatArray) -> FloatArray | None:
    """Height above the first home position, which PX4 sets on the ground as it arms."""
    if home is None or (at := columns(home, "z")) is None:
        return None
    at = at[_flag(home, "valid_lpos") & _flag(home, "valid_alt") & np.isfinite(at[:, 0])]
    return at[0, 0] - down if len(at) else None


def _local_height(log: Log, topics: Topics) -> FloatArray | None:
    """Height above take-off at the positions of a log, from local heights that are valid; None if there is none.

    An estimator without a place over ground still knows its height. It counts from the home, or if none was set from
    where it was switched on, if it stood there.
    """
    records = topics.get(LOCAL)
    if log.enu_m is not None or records is None or (t_s := _time(records)) is None:
        return None
    down = column(records, "z")
    if down is None or down.ndim != 1:
        return None
    good = np.flatnonzero(np.isfinite(down) & _flag(records, "z_valid"))
    if not len(good):
        return None
    above_home = _above_home(topics.get(HOME), down)
    stands = _on_ground(topics)
    if above_home is None and (stands is None or last_known(t_s[good[:1]], stands.t_s, stands.value)[0] != 1.0):
        return None
    height = down[good[0]] - down if above_home is None else above_home
    order = good[np.argsort(t_s[good], kind="stable")]
    known_s = t_s[order]
    after = np.searchsorted(known_s, log.t_s)
    around = known_s[np.maximum(after - 1, 0)], known_s[np.minimum(after, len(known_s) - 1)]
    wait = np.min([np.abs(log.t_s - one) for one in around], axis=0)
    return np.where(wait <= NEAR_S, np.interp(log.t_s, known_s, height[order]), np.nan)


def _heights(topics: Topics) -> dict[str, Series]:
    """Heights of the receiver, above sea level, and of the barometer."""
    found: dict[str, Series] = {}
    for name in RECEIVERS:
        receiver = _gps(name, topics) if name in topics else None
        if receiver is not None and receiver.lat_lon_alt is not None:
            fixed = True if receiver.usable is None else receiver.usable
            found["GPS"] = Series(receiver.t_s, np.where(fixed, receiver.lat_lon_alt[:, 2], np.nan))
            break
    air = topics.get(AIR)
    if air is not None and (t_s := _time(air)) is not None:
        height = column(air, "baro_alt_meter")
        if height is not None and height.ndim == 1:
            found["barometer"] = Series(t_s, height)
    return found


def _resets(records: Records) -> tuple[BoolArray, tuple[Finding, ...]]:
    """Where the estimator moved its own position by `RESET_M` or more, over ground or in height."""
    begins = np.zeros(len(records), dtype=bool)
    jumps = []
    for counter_name, delta_name in (("xy_reset_counter", "delta_xy"), ("z_reset_counter", "delta_z")):
        counter, delta = column(records, counter_name), column(records, delta_name)
        if counter is None or counter.ndim != 1:
            continue
        moved = (
            np.full(len(records), np.inf) if delta is None else np.sqrt((delta.reshape(len(records), -1) ** 2).sum(1))
        )
        reset = np.concatenate([[False], np.diff(counter) != 0]) & ~(moved < RESET_M)
        begins |= reset
        jumps.append(moved[reset])
    sizes = np.concatenate(jumps) if jumps else np.empty(0)
    if not len(sizes):
        return begins, ()
    known = sizes[np.isfinite(sizes)]
    message = f"the estimator reset its position {int(begins.sum())} times; a new part begins at each"
    remedy = "none needed: parts are not joined"
    return begins, (doubt("position_reset", "log", message, remedy, known.max() if len(known) else None, RESET_M, "m"),)


def _global(name: str, topics: Topics) -> Log | None:
    records = topics[name]
    t_s, place = _time(records), columns(records, "lat", "lon", "alt")
    if t_s is None or place is None:
        return None
    usable = _flag(records, "lat_lon_valid") & _flag(records, "alt_valid") & np.isfinite(place).all(1)
    return Log("", name, "boot", t_s, lat_lon_alt=place, usable=usable)


def _gps(name: str, topics: Topics) -> Log | None:
    records = topics[name]
    t_s, fix = _time(records), columns(records, "fix_type")
    place = columns(records, "latitude_deg", "longitude_deg", "altitude_msl_m")
    if place is None and (older := columns(records, "lat", "lon", "alt")) is not None and records["lat"].dtype == "<i4":
        place = older * (1e-7, 1e-7, 1e-3)
    if t_s is None or place is None:
        return None
    velocity = columns(records, "vel_n_m_s", "vel_e_m_s", "vel_d_m_s")
    if velocity is not None:
        velocity = np.where(_flag(records, "vel_ned_valid")[:, None], enu_from_ned(velocity), np.nan)
    usable = None if fix is None else fix[:, 0] >= GOOD_FIX
    return Log("", name, "boot", t_s, lat_lon_alt=place, usable=usable, velocity_mps=velocity)


def _attitude(topics: Topics) -> Series | None:
    records = topics.get(ATTITUDE)
    if records is None or (t_s := _time(records)) is None:
        return None
    q = column(records, "q")
    return Series(t_s, flu_to_enu(q)) if q is not None and q.shape[1:] == (4,) else None


def _gimbal(topics: Topics) -> Series | None:
    """Camera pitch against the horizon; a gimbal in the vehicle's frame counts it so too, for that frame only turns."""
    for name, key in ((GIMBAL, "q"), (MOUNT, "attitude_euler_angle")):
        records = topics.get(name)
        if records is None or (t_s := _time(records)) is None or (value := column(records, key)) is None:
            continue
        if value.shape[1:] == (4,):
            return Series(t_s, pitch_deg(value))
        if value.shape[1:] == (3,):  # roll, pitch, yaw in radians
            return Series(t_s, np.degrees(value[:, 1]))
    return None


# In the order of preference: the estimator's in metres, the estimator's on WGS84 (logged more rarely), a receiver's.
POSITIONS: Final[dict[str, Callable[[str, Topics], Log | None]]] = {
    LOCAL: _local,
    "vehicle_global_position": _global,
    "vehicle_gps_position": _gps,
    "sensor_gps": _gps,
}


MAGIC: Final = b"ULog\x01\x12\x35"
_HEADER_BYTES: Final = 16
_SYNC: Final = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"
_FORMAT, _ADD, _DATA, _DROPOUT, _FLAGS = b"FADOB"
_OTHER: Final = frozenset(b"IMPQRSLC")  # information, parameters, removals, synchronisation, texts
_LARGEST: Final = 0xFFFF  # bytes of a message
_DEEPEST: Final = 8  # formats within formats
_KNOWN_FLAGS: Final = 1  # of the first incompatible byte: data appended
_TYPES: Final[dict[str, str]] = load_table("logs/formats")["ulog"]


class UlogRecording(NamedTuple):
    """The logged values of the topics asked for.

    Attributes:
        topics: of each topic its instance with most messages, (N,) with the fields of its format.
        dropouts_ms: durations for which the logger lost messages.
        findings: about damage of the file.
    """

    topics: Mapping[str, Records]
    dropouts_ms: list[int]
    findings: tuple[Finding, ...]


@dataclass
class _Subscription:
    """One instance of a topic. Padding at the end of a format may be logged or not."""

    name: str
    instance: int
    dtype: np.dtype[Any]
    most: int
    starts: list[int] = field(default_factory=list)


def read_topics(path: Path, wanted: Collection[str]) -> UlogRecording:
    """The wanted topics of a file; of a damaged one, all that can be told apart. Raises RawDataError."""
    raw = file_bytes(path)
    if not raw.startswith(MAGIC):
        raise RawDataError(path, "not_ulog", "the file does not begin as a ULog does", "give a .ulg file of PX4")
    definitions = _Definitions(path, wanted)
    damages: list[DamagedBytes] = []
    at, end, search = _HEADER_BYTES, len(raw), _HEADER_BYTES
    while at < end:
        size = raw[at] | raw[at + 1] << 8 if at + 3 <= end else end
        body, after = at + 3, at + 3 + size
        whole = after <= end and size > 0
        if whole and raw[at + 2] == _DATA:
            topic = definitions.topics.get(raw[body] | raw[body + 1] << 8, _UNKNOWN) if size > 2 else _UNKNOWN
            if topic is not None:
                whole = topic.dtype.itemsize <= size - 2 <= topic.most
                if whole:
                    topic.starts.append(body + 2)
        elif whole:
            whole = definitions.take(raw[at + 2], raw[body:after])
        if not whole and raw.startswith(MAGIC, at):
            message = f"a second log begins at byte {at}: several were joined"
            raise RawDataError(path, "several_flights", message, "give each log its own file, in a folder of its own")
        if whole:
            search = body + 1  # not from here on: the size of a message, when wrong, hides others
        else:
            sync = raw.find(_SYNC, search)
            stop = sync if sync >= 0 else end
            damages.append(DamagedBytes(min(at, stop), stop))
            after = search = stop + len(_SYNC)
        at = after
    return UlogRecording(definitions.tables(raw), definitions.dropouts_ms, damage_findings(end, damages))


class _Definitions:
    """The formats, and the number of each topic, as the messages other than data have them."""

    def __init__(self, path: Path, wanted: Collection[str]) -> None:
        self.path = path
        self.wanted = wanted
        self.formats: dict[str, str] = {}
        self.layouts: dict[str, tuple[np.dtype[Any], int] | None] = {}  # None: broken
        self.topics: dict[int, _Subscription | None] = {}  # None: a topic that nobody asked for
        self.wanted_topics: list[_Subscription] = []
        self.dropouts_ms: list[int] = []

    def take(self, kind: int, body: bytes) -> bool:
        """Takes one message; False where the bytes cannot be one."""
        if kind == _FORMAT:
            name, _, fields = body.decode("utf-8", "replace").partition(":")
            self.formats[name] = fields
        elif kind == _ADD and len(body) > 3:
            name = body[3:].decode("utf-8", "replace")
            layout = self._layout(name) if name in self.wanted else None
            topic = None if layout is None else _Subscription(name, body[0], *layout)
            self.topics[body[1] | body[2] << 8] = topic
            if topic is not None:
                self.wanted_topics.append(topic)
        elif kind == _DROPOUT and len(body) == 2:
            self.dropouts_ms.append(body[0] | body[1] << 8)
        elif kind == _FLAGS:
            if len(body) >= 16 and (body[8] & ~_KNOWN_FLAGS or any(body[9:16])):
                message = f"incompatible flags {body[8:16].hex()} are set"
                raise RawDataError(self.path, "unknown_ulog", message, "convert it with PX4's own tools to version 1")
        else:
            return kind in _OTHER
        return True

    def _layout(self, name: str) -> tuple[np.dtype[Any], int] | None:
        """Fields as logged and most bytes of a message; looked up once, for all formats come before the topics."""
        if name not in self.layouts:
            try:
                logged, full = (_dtype(name, self.formats, padded=padded) for padded in (False, True))
                self.layouts[name] = (logged, full.itemsize) if logged.itemsize else None
            except (ValueError, TypeError, KeyError, OverflowError):
                self.layouts[name] = None
        return self.layouts[name]

    def tables(self, raw: bytes) -> dict[str, Records]:
        """Of each topic the instance with most messages, the first of equals."""
        found: dict[str, Records] = {}
        for topic in sorted(self.wanted_topics, key=lambda one: (-len(one.starts), one.instance)):
            if topic.starts and topic.name not in found:
                found[topic.name] = table(raw, topic.starts, topic.dtype)
        return found


def _dtype(name: str, formats: Mapping[str, str], *, padded: bool = True, depth: int = 0) -> np.dtype[Any]:
    """Layout of a format, for example "uint64_t timestamp;float[4] q;uint8_t[4] _padding0;"."""
    if depth > _DEEPEST:
        raise ValueError("formats within formats without end")
    fields = [tuple(one.split(" ")) for one in formats[name].split(";") if one]
    while not padded and fields and fields[-1][-1].startswith("_padding"):
        fields.pop()
    layout, size = [], 0
    for kind, label in fields:
        base, _, written = kind.rstrip("]").partition("[")
        length = int(written) if written else 1
        one = np.dtype(_TYPES[base]) if base in _TYPES else _dtype(base, formats, depth=depth + 1)
        size += length * one.itemsize
        if length < 1 or size > _LARGEST:  # looked at field by field: a trap of formats within formats ends early
            raise ValueError("larger than any message")
        layout.append((label, one, (length,)) if written else (label, one))
    return np.dtype(layout)


# Of a topic that was never announced no message has the right size.
_UNKNOWN: Final = _Subscription("", 0, np.dtype("V65535"), 0)
