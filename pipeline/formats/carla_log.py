"""Recordings of the CARLA simulator (`client.start_recorder`), without CARLA: bytes to arrays, no meaning.

Little endian. Header: uint16 version, string magic, int64 Unix seconds, string map; a string is a uint16 length and
bytes. Then packets of uint8 id, uint32 size and data. Frame 0 opens a frame, each other packet belongs to the last one
opened. LibCarla/source/carla and Unreal/CarlaUE4/Plugins/Carla/Source/Carla/Recorder, CARLA 0.9.12 to 0.9.15, which all
write version 1. Places are centimetres in Unreal's left-handed frame (y to the right), angles degrees (roll, pitch,
yaw), velocities metres per second.
"""

import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import FormatError

Records = npt.NDArray[Any]  # structured, (R,)

MAGIC: Final = "CARLA_RECORDER"
VERSION: Final = 1

FRAME, ADD, REMOVE, PARENT, COLLISION, POSITION, LIGHT, VEHICLE = 0, 2, 3, 4, 5, 6, 7, 8
LAMPS, KINEMATICS, BOX = 10, 12, 13
# Which nothing here needs: end of frame, walkers' gait, lamps of the street, platform time, physics, times of traffic
# lights, trigger volumes, frame counter, bones, visual time, doors, wheels, bikers.
_PASSED: Final = frozenset({1, 9, 11, *range(14, 24)})
_VECTOR: Final = ("<f4", 3)
# Packets that are a uint16 count and as many records.
TABLES: Final[dict[int, np.dtype[Any]]] = {
    REMOVE: np.dtype([("id", "<u4")]),
    PARENT: np.dtype([("id", "<u4"), ("parent", "<u4")]),
    COLLISION: np.dtype([("number", "<u4"), ("first", "<u4"), ("second", "<u4"), ("heroes", "u1", 2)]),
    POSITION: np.dtype([("id", "<u4"), ("place", *_VECTOR), ("rotation", *_VECTOR)]),
    LIGHT: np.dtype([("id", "<u4"), ("frozen", "u1"), ("elapsed", "<f4"), ("state", "u1")]),
    VEHICLE: np.dtype(
        [("id", "<u4"), ("steering", "<f4"), ("throttle", "<f4"), ("brake", "<f4"), ("hand", "u1"), ("gear", "<i4")]
    ),
    LAMPS: np.dtype([("id", "<u4"), ("lit", "<u4")]),
    KINEMATICS: np.dtype([("id", "<u4"), ("velocity", *_VECTOR), ("spin", *_VECTOR)]),
    BOX: np.dtype([("id", "<u4"), ("origin", *_VECTOR), ("extent", *_VECTOR)]),
}
_HEAD: Final = struct.Struct("<BI")
_FRAME: Final = struct.Struct("<Qdd")
_ADDED: Final = struct.Struct("<IB6fI")
_COUNT: Final = struct.Struct("<H")


@dataclass(frozen=True)
class AddedActor:
    """An actor that came into the recording.

    Attributes:
        frame: index of the frame.
        kind: 0 other, 1 vehicle, 2 walker, 3 traffic light, 4 sign, 5 sensor.
        place: centimetres; for what was fixed to a parent about the parent.
        rotation: roll, pitch, yaw, degrees.
    """

    frame: int
    id: int
    kind: int
    place: tuple[float, float, float]
    rotation: tuple[float, float, float]
    blueprint: str
    attributes: dict[str, str]


@dataclass(frozen=True)
class FrameTable:
    """All records of one kind of packet: (R,), and of each the index of its frame, (R,)."""

    frame: npt.NDArray[np.intp]
    records: Records


@dataclass(frozen=True)
class CarlaLog:
    """A recording.

    Attributes:
        map_name: of the town.
        start_s: Unix time, seconds.
        elapsed_s: (F,) of each frame from the start of the simulation, as written.
        added: in their order.
        tables: by the id of packets; those that did not occur are empty.
        unknown: packets of ids that nothing is known of: id -> how many.
        damaged: packets whose size does not fit what is in them: id -> how many. They were left out.
        left_bytes: of a last packet that was cut off.
    """

    map_name: str
    start_s: int
    elapsed_s: FloatArray
    added: tuple[AddedActor, ...]
    tables: dict[int, FrameTable]
    unknown: dict[int, int]
    damaged: dict[int, int]
    left_bytes: int


def read_carla_log(raw: bytes) -> CarlaLog:
    """A recording from the bytes of its file.

    Raises:
        FormatError: ``not_carla``, ``unknown_version``, ``no_frames``.
    """
    start_s, map_name, at = _header(raw)
    packets = _Packets(raw)
    end, unpack = len(raw), _HEAD.unpack_from
    while at + _HEAD.size <= end:
        kind, size = unpack(raw, at)
        stop = at + _HEAD.size + size
        if stop > end:
            break
        packets.take(kind, at + _HEAD.size, stop)
        at = stop
    if not packets.elapsed:
        raise FormatError("no_frames", f"{end} bytes without a frame")
    return CarlaLog(
        map_name=map_name,
        start_s=start_s,
        elapsed_s=np.array(packets.elapsed, dtype=np.float64),
        added=tuple(packets.added),
        tables={kind: _table(kind, packets.parts[kind], packets.frames[kind]) for kind in TABLES},
        unknown=dict(sorted(packets.unknown.items())),
        damaged={kind: count for kind, count in sorted(packets.damaged.items()) if count},
        left_bytes=end - at,
    )


class _Packets:
    """Collects what packets hold."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._view = memoryview(raw)  # of which parts are no copies
        self.elapsed: list[float] = []
        self.added: list[AddedActor] = []
        self.parts: dict[int, list[memoryview]] = {kind: [] for kind in TABLES}
        self.frames: dict[int, list[tuple[int, int]]] = {kind: [] for kind in TABLES}
        self.unknown: Counter[int] = Counter()
        self.damaged: Counter[int] = Counter()
        self._sizes = {kind: dtype.itemsize for kind, dtype in TABLES.items()}

    def take(self, kind: int, begin: int, stop: int) -> None:
        """One packet, whose data lie from ``begin`` to before ``stop``."""
        size = stop - begin
        if kind in self._sizes:
            count = _COUNT.unpack_from(self._raw, begin)[0] if size >= _COUNT.size else -1
            if count * self._sizes[kind] + _COUNT.size != size or not self.elapsed:
                self.damaged[kind] += 1
            elif count:
                self.parts[kind].append(self._view[begin + _COUNT.size : stop])
                self.frames[kind].append((len(self.elapsed) - 1, count))
        elif kind == FRAME and size == _FRAME.size:
            self.elapsed.append(_FRAME.unpack_from(self._raw, begin)[2])
        elif (
            kind == ADD and self.elapsed and (found := _added(self._raw[begin:stop], len(self.elapsed) - 1)) is not None
        ):
            self.added += found
        elif kind in {FRAME, ADD}:
            self.damaged[kind] += 1
        elif kind not in _PASSED:
            self.unknown[kind] += 1


def _header(raw: bytes) -> tuple[int, str, int]:
    """When it was recorded, the map, and where the packets begin."""
    try:
        version, at = _COUNT.unpack_from(raw)[0], _COUNT.size
        magic, at = _text(raw, at)
        if magic != MAGIC:
            raise FormatError("not_carla", f"no recording of CARLA: it begins with {raw[:18]!r}")
        if version != VERSION:
            raise FormatError("unknown_version", f"a recording of version {version}, and only {VERSION} is known")
        (start_s,) = struct.unpack_from("<q", raw, at)
        map_name, at = _text(raw, at + 8)
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise FormatError("not_carla", f"no recording of CARLA: it begins with {raw[:18]!r}") from error
    return start_s, map_name, at


def _added(data: bytes, frame: int) -> list[AddedActor] | None:
    """The actors of one packet; None where they do not fill it."""
    found, at = [], _COUNT.size
    try:
        for _ in range(_COUNT.unpack_from(data)[0]):
            number, kind, x, y, z, roll, pitch, yaw, _ = _ADDED.unpack_from(data, at)
            blueprint, at = _text(data, at + _ADDED.size)
            (count,) = _COUNT.unpack_from(data, at)
            at += _COUNT.size
            attributes = {}
            for _ in range(count):
                name, at = _text(data, at + 1)  # after a byte for its type
                attributes[name], at = _text(data, at)
            found.append(AddedActor(frame, number, kind, (x, y, z), (roll, pitch, yaw), blueprint, attributes))
    except (struct.error, UnicodeDecodeError, IndexError):
        return None
    return found if at == len(data) else None


def _text(raw: bytes, at: int) -> tuple[str, int]:
    """A string, and where it ends. Raises IndexError where it ends beyond the bytes."""
    (length,) = _COUNT.unpack_from(raw, at)
    begin, end = at + _COUNT.size, at + _COUNT.size + length
    if end > len(raw):
        raise IndexError(f"a string of {length} bytes at {at} of {len(raw)}")
    return raw[begin:end].decode(), end


def _table(kind: int, parts: list[memoryview], frames: list[tuple[int, int]]) -> FrameTable:
    at = np.array(frames, dtype=np.intp).reshape(-1, 2)
    return FrameTable(np.repeat(at[:, 0], at[:, 1]), np.frombuffer(b"".join(parts), dtype=TABLES[kind]))
