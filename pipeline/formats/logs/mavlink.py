"""Messages of a telemetry log as tables: 8 bytes of time, then a MAVLink packet of version 1 or 2, again and again.

What the messages look like comes from pymavlink's definitions (dialect ardupilotmega, which holds all that any
autopilot sends here); the packets are taken apart without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Damage, Records, damage_findings

V1, V2 = 0xFE, 0xFD
_TIME_BYTES: Final = 8  # big-endian microseconds since 1970
_V1_HEAD, _V2_HEAD = 6, 10
_CRC_BYTES, _SIGNATURE_BYTES = 2, 13
_SIGNED: Final = 1  # of the incompatibility flags of version 2
_MAGIC: Final = re.compile(b"[\xfd\xfe]")


class Table(NamedTuple):
    """All good messages of one kind: when they were received, by whom they were sent, and their fields (N,)."""

    t_s: FloatArray
    system: IntArray
    component: IntArray
    fields: Records

    def take(self, keep: BoolArray) -> Table:
        """Some of the messages."""
        return Table(self.t_s[keep], self.system[keep], self.component[keep], self.fields[keep])


def read_messages(raw: bytes, names: tuple[str, ...]) -> tuple[Mapping[str, Table], tuple[Finding, ...]]:
    """The messages of these names whose checksum holds, in the order of the file, and findings about damage."""
    starts: dict[int, list[int]] = {_classes()[name].id: [] for name in names}
    damages: list[Damage] = []
    at, end, before = 0, len(raw), 0
    while at < end:
        after = packet_end(raw, at)
        if after is None or after > end:
            # It may be the length of the packet before that is wrong; its checksum will not hold then.
            after = _next_packet(raw, before + 1)
            damages.append(Damage(at if after >= at else before, after))
        else:
            before = at
            kind = raw[at + 13] if raw[at + 8] == V1 else raw[at + 15] | raw[at + 16] << 8 | raw[at + 17] << 16
            if kind in starts:
                starts[kind].append(at)
        at = after
    tables = {}
    for name in names:
        if found := starts[_classes()[name].id]:
            tables[name] = _table(raw, found, _classes()[name])
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


def _table(raw: bytes, starts: list[int], message: Any) -> Table:
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
    return Table(
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
    crc = np.full(len(begin), 0xFFFF, dtype=np.uint16)
    for step in range(int(length.max())):
        inside = step < length
        byte = data[np.where(inside, begin + step, 0)]
        crc = np.where(inside, crc >> 8 ^ _X25[(crc ^ byte) & 0xFF], crc)
    crc = crc >> 8 ^ _X25[(crc ^ extra) & 0xFF]
    end = begin + length
    return np.asarray(crc == data[end] + 256 * data[end + 1].astype(np.uint16))


def _x25_table() -> np.ndarray[Any, np.dtype[np.uint16]]:
    crc = np.arange(256, dtype=np.uint16)
    for _ in range(8):
        crc = np.where(crc & 1, crc >> 1 ^ 0x8408, crc >> 1).astype(np.uint16)
    return crc


_X25: Final = _x25_table()


@cache
def _classes() -> dict[str, Any]:
    """The messages that there are, by name."""
    from pymavlink.dialects.v20 import ardupilotmega  # long, and only telemetry logs need it

    return {message.msgname: message for message in ardupilotmega.mavlink_map.values()}
