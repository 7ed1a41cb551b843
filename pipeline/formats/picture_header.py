"""What the head of a JPEG or PNG says of itself, without decoding it: before anybody gives memory to its pixels.

JPEG: ITU-T T.81, annex B; PNG: third edition, sections 5 and 11.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

_JPEG: Final = b"\xff\xd8"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_END_OF_IMAGE: Final = b"\xff\xd9"
_START_OF_SCAN: Final = 0xDA
_STANDALONE: Final = frozenset({0x01, *range(0xD0, 0xD8)})
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE: Final = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_SEGMENTS_MAX: Final = 4096  # before the picture: a colour profile in pieces has 255, metadata in pieces some hundred
_PNG_CHANNELS: Final = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}


@dataclass(frozen=True)
class Header:
    """The head of a picture.

    Attributes:
        kind: its format.
        width: pixels.
        height: pixels.
        bits: of one channel of one pixel.
        channels: 1 grey, 3 colour (a palette is), 4 CMYK of a JPEG, and with transparency of a PNG.
        progressive: whether it is sent coarse to fine; then a decoder holds all coefficients at once.
        scans: how often its decoder goes over it; 1 for most.
        whole: whether its end is there.
    """

    kind: Literal["JPEG", "PNG"]
    width: int
    height: int
    bits: int
    channels: int
    progressive: bool
    scans: int
    whole: bool


def header_of(raw: bytes) -> Header | None:
    """The head of an encoded picture; None where it is no JPEG and no PNG, or breaks off within its head."""
    if raw.startswith(_JPEG):
        return _jpeg(raw)
    return _png(raw) if raw.startswith(_PNG) else None


def _jpeg(raw: bytes) -> Header | None:
    at, frame = 2, None
    for _ in range(_SEGMENTS_MAX):
        while raw[at : at + 2] == b"\xff\xff":  # fill bytes
            at += 1
        if at + 4 > len(raw) or raw[at] != 0xFF:
            return None
        marker = raw[at + 1]
        if marker in _STANDALONE:
            at += 2
            continue
        (length,) = struct.unpack_from(">H", raw, at + 2)
        if marker in _FRAMES and length >= 8 and at + 10 <= len(raw):
            bits, height, width, channels = struct.unpack_from(">BHHB", raw, at + 4)
            frame = (marker, bits, height, width, channels)
        if marker == _START_OF_SCAN:
            break
        at += 2 + length
    if frame is None or raw[at + 1] != _START_OF_SCAN:
        return None
    marker, bits, height, width, channels = frame
    return Header(
        kind="JPEG",
        width=width,
        height=height,
        bits=bits,
        channels=channels,
        progressive=marker in _PROGRESSIVE,
        scans=raw.count(b"\xff\xda", at),  # in coded data 0xFF is followed by 0x00
        whole=raw.rfind(_END_OF_IMAGE) > at,
    )


def _png(raw: bytes) -> Header | None:
    if len(raw) < 29 or raw[12:16] != b"IHDR":
        return None
    width, height, bits, colours, _, _, interlaced = struct.unpack_from(">IIBBBBB", raw, 16)
    if colours not in _PNG_CHANNELS:
        return None
    return Header(
        kind="PNG",
        width=width,
        height=height,
        bits=bits,
        channels=_PNG_CHANNELS[colours],
        progressive=bool(interlaced),
        scans=7 if interlaced else 1,
        whole=b"IEND" in raw[-64:],
    )
