"""GPMF, the key-length-value streams of GoPro (github.com/gopro/gpmf-parser, README).

Each item has a FourCC, a type, the size of one structure, how often it repeats, and its data, padded to 4 bytes; all is
big-endian. Type 0 is nested: devices (DEVC) hold streams (STRM). In a stream the items before the data describe them:
SCAL divides them, TYPE tells the fields of structures of type "?".

Lengths are untrusted. What reaches beyond what holds it, or has no FourCC, ends that device or stream there, and is
counted as damage; nothing is ever read twice, so that work and memory are bounded by the size of the payload.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.formats.logs.log import DamagedBytes, finite

DEPTH_MAX: Final = 8  # cameras nest two deep
FIELDS_MAX: Final = 64  # of one structure; the widest known, of motors, has 30
STREAMS_MAX: Final = 4096  # of one payload; cameras have up to 30
ABOUT_MAX: Final = 64  # items that describe one stream, and
ABOUT_BYTES: Final = 1024  # of each
_HEAD: Final = 8
_FOURCC: Final = re.compile(rb"[A-Za-z0-9_ ]{4}")
_NUMBERS: Final = {
    "b": "i1", "B": "u1", "s": ">i2", "S": ">u2", "l": ">i4", "L": ">u4", "j": ">i8", "J": ">u8", "f": ">f4",
    "d": ">f8", "q": ">i4", "Q": ">i8",
}  # fmt: skip
_FIXED_POINT: Final = {"q": 2.0**16, "Q": 2.0**32}  # Q15.16 and Q31.32
_OPAQUE: Final = {"c": 1, "F": 4, "G": 16, "U": 16}  # bytes of what is no number
_TYPE: Final = re.compile(r"([A-Za-z])(?:\[(\d{1,3})\])?")


class KlvItem(NamedTuple):
    """One item: how its data are written, and where they stand in the payload."""

    key: str
    kind: str
    size: int
    start: int
    stop: int


@dataclass(frozen=True)
class KlvStream:
    """The data of one stream in one payload.

    Attributes:
        device: its name (DVNM), and number (DVID) in hexadecimal.
        key: FourCC of the data.
        values: (n, k) numbers, divided by their scale; NaN for fields that are no numbers.
        about: the items of the stream that describe it, as bytes.
    """

    device: str
    key: str
    values: FloatArray
    about: Mapping[str, bytes]

    def number(self, key: str) -> float | None:
        """A describing item that is one whole number without a sign, for example GPSF; None where there is none."""
        raw = self.about.get(key, b"")
        return float(int.from_bytes(raw, "big")) if 0 < len(raw) <= 8 else None

    def text(self, key: str) -> str:
        """A describing item as text."""
        return self.about.get(key, b"").decode("latin-1").strip("\0 ")


class KlvPayload(NamedTuple):
    """The streams of a payload in their order, and the places in it that belong to no whole item."""

    streams: list[KlvStream]
    damages: list[DamagedBytes]


def read_payload(raw: bytes, keys: frozenset[str]) -> KlvPayload:
    """The streams of a payload whose data have one of some keys. Raises nothing, whatever the bytes."""
    damages: list[DamagedBytes] = []
    streams: list[KlvStream] = []
    for device in _items(raw, 0, len(raw), damages):
        if device.key == "DEVC" and device.kind == "\0":
            _read_device(raw, device, keys, streams, damages, 1)
    return KlvPayload(streams, damages)


def _read_device(
    raw: bytes, device: KlvItem, keys: frozenset[str], streams: list[KlvStream], damages: list[DamagedBytes], depth: int
) -> None:
    name = ""
    for item in _items(raw, device.start, device.stop, damages):
        if item.key in ("DVNM", "DVID"):
            payload = raw[item.start : item.stop]
            name = payload.decode("latin-1").strip("\0 ") if item.key == "DVNM" else name or payload.hex()
        elif item.kind == "\0" and item.key == "STRM" and len(streams) < STREAMS_MAX:
            stream = _read_stream(raw, item, name, keys, damages)
            streams += [stream] if stream else []
        elif item.kind == "\0" and depth < DEPTH_MAX:
            _read_device(raw, item, keys, streams, damages, depth + 1)
        elif item.kind == "\0":
            damages.append(DamagedBytes(item.start, item.stop))


def _read_stream(
    raw: bytes, stream: KlvItem, device: str, keys: frozenset[str], damages: list[DamagedBytes]
) -> KlvStream | None:
    """The data of a stream, its last item; None where they have another key or no row, or do not fit what is told."""
    about: dict[str, bytes] = {}
    data: KlvItem | None = None
    for item in _items(raw, stream.start, stream.stop, damages):
        if item.key in keys:
            data = item
        elif item.kind != "\0" and len(about) < 2 * ABOUT_MAX:
            about[item.key] = raw[item.start : min(item.stop, item.start + ABOUT_BYTES)]
            about[f"{item.key} type"] = item.kind.encode("latin-1")
    if data is None:
        return None
    values = _values(raw[data.start : data.stop], data, about)
    if values is None:
        damages.append(DamagedBytes(data.start, data.stop))
    return KlvStream(device, data.key, values, about) if values is not None and len(values) else None


def _items(raw: bytes, start: int, stop: int, damages: list[DamagedBytes]) -> Iterator[KlvItem]:
    """The items between two bytes, up to the first that is none."""
    while start < stop:
        if not any(raw[start : start + 4]):  # filled up with zeros: their end
            return
        length = int.from_bytes(raw[start + 6 : start + 8], "big") * (raw[start + 5] if start + 5 < stop else 0)
        if stop - start < _HEAD or not _FOURCC.fullmatch(raw, start, start + 4) or start + _HEAD + length > stop:
            damages.append(DamagedBytes(start, stop))
            return
        begin = start + _HEAD
        yield KlvItem(
            raw[start : start + 4].decode("latin-1"), chr(raw[start + 4]), raw[start + 5], begin, begin + length
        )
        start = begin + (length + 3 & ~3)


def _values(data: bytes, item: KlvItem, about: Mapping[str, bytes]) -> FloatArray | None:
    """The structures (n, k) of an item, scaled; None where type, size and scale do not fit one another."""
    fields = _fields(item, about)
    if fields is None or not 0 < len(fields) <= FIELDS_MAX:
        return None
    dtype = np.dtype([(str(i), _NUMBERS.get(kind, f"V{_OPAQUE.get(kind)}")) for i, kind in enumerate(fields)])
    if dtype.itemsize != item.size:
        return None
    rows = np.frombuffer(data, dtype=dtype)
    values = np.full((len(rows), len(fields)), np.nan)
    for i, kind in enumerate(fields):
        if kind in _NUMBERS:
            values[:, i] = rows[str(i)].astype(np.float64) / _FIXED_POINT.get(kind, 1.0)
    scale = _scale(about)
    if scale is None or len(scale) not in (0, 1, len(fields)):
        return None
    if len(scale):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = values / scale
    return finite(values)


def _fields(item: KlvItem, about: Mapping[str, bytes]) -> list[str] | None:
    """The type of each field of a structure: of simple types as many as fill it."""
    if item.kind != "?":
        width = np.dtype(_NUMBERS[item.kind]).itemsize if item.kind in _NUMBERS else _OPAQUE.get(item.kind)
        return None if width is None or not item.size or item.size % width else [item.kind] * (item.size // width)
    types = about.get("TYPE", b"").decode("latin-1").strip("\0 ")
    fields: list[str] = []
    at = 0
    while at < len(types):
        match = _TYPE.match(types, at)
        if match is None or match[1] not in _NUMBERS | _OPAQUE or len(fields) > FIELDS_MAX:
            return None
        fields += [match[1]] * min(int(match[2] or 1), FIELDS_MAX + 1)
        at = match.end()
    return fields


def _scale(about: Mapping[str, bytes]) -> FloatArray | None:
    """The divisors, none where the stream has none; None where they are no numbers."""
    if "SCAL" not in about:
        return np.empty(0)
    kind = about["SCAL type"].decode("latin-1")[:1]
    if kind not in _NUMBERS or len(about["SCAL"]) % np.dtype(_NUMBERS[kind]).itemsize:
        return None
    return np.frombuffer(about["SCAL"], dtype=_NUMBERS[kind]).astype(np.float64) / _FIXED_POINT.get(kind, 1.0)
