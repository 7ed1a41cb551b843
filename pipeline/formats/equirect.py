"""JPEG without anything but the picture, as pictures of the sphere are passed on."""

from __future__ import annotations

import struct
from typing import Final

_SOI: Final = 0xD8
_EOI: Final = 0xD9
_SOS: Final = 0xDA
_ADOBE: Final = 0xEE  # says whether the colours are RGB or YCbCr: without it they may be wrong
_RESTARTS: Final = range(0xD0, 0xD8)
_METADATA: Final = frozenset({*range(0xE0, 0xF0), 0xFE}) - {_ADOBE}  # application segments and comments


def bare_jpeg(raw: bytes) -> bytes | None:
    """A JPEG with the same pixels and nothing else: no EXIF, XMP, profile, thumbnail, comment or data behind its end.

    None for what is no JPEG or breaks off: bytes that are not understood are not passed on.
    """
    if raw[:2] != bytes((0xFF, _SOI)):
        return None
    kept, at = [raw[:2]], 2
    while at + 2 <= len(raw):
        if raw[at] != 0xFF:
            return None
        marker = raw[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        if marker == _EOI:
            return b"".join([*kept, raw[at : at + 2]])
        if at + 4 > len(raw):
            return None
        end = at + 2 + struct.unpack_from(">H", raw, at + 2)[0]
        if marker == _SOS:
            end = _end_of_scan(raw, end)
        if end > len(raw):
            return None
        if marker not in _METADATA:
            kept.append(raw[at:end])
        at = end
    return None


def _end_of_scan(raw: bytes, at: int) -> int:
    """Where coded data end that begin somewhere: in them 0xFF is followed by 0x00 or a restart marker."""
    while True:
        at = raw.find(b"\xff", at)
        if at < 0 or at + 1 >= len(raw):
            return len(raw) + 1
        if raw[at + 1] not in {0x00, *_RESTARTS}:
            return at
        at += 2
