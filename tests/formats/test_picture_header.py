"""The heads of pictures, against what Pillow wrote."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.formats.picture_tags import header_of


def encoded(mode: str, kind: str, size: tuple[int, int] = (40, 20), **options: Any) -> bytes:
    out = io.BytesIO()
    if mode == "I;16":
        Image.fromarray(np.full(size[::-1], 700, dtype=np.uint16)).save(out, kind)
    else:
        Image.new(mode, size).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("mode", "kind", "options", "bits", "channels", "progressive"),
    [
        ("RGB", "JPEG", {}, 8, 3, False),
        ("RGB", "JPEG", {"progressive": True}, 8, 3, True),
        ("L", "JPEG", {}, 8, 1, False),
        ("CMYK", "JPEG", {}, 8, 4, False),
        ("RGB", "PNG", {}, 8, 3, False),
        ("RGBA", "PNG", {}, 8, 4, False),
        ("I;16", "PNG", {}, 16, 1, False),
    ],
)
def test_what_was_written_is_told(
    mode: str, kind: str, options: dict[str, Any], bits: int, channels: int, progressive: bool
) -> None:
    header = header_of(encoded(mode, kind, **options))
    assert (header.kind, header.width, header.height) == (kind, 40, 20)
    assert (header.bits, header.channels, header.progressive, header.whole) == (bits, channels, progressive, True)
    assert header.scans == (10 if progressive else 1)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_picture_that_breaks_off(kind: str) -> None:
    raw = encoded("RGB", kind, (400, 200))
    header = header_of(raw[: len(raw) - 200])
    assert not header.whole
    assert header_of(raw[:20]) is None


@pytest.mark.parametrize("raw", [b"", b"GIF89a", b"\xff\xd8", b"\xff\xd8\xff\xe1\x00", b"\xff\xd8" + b"\xff" * 9000])
def test_what_is_no_picture(raw: bytes) -> None:
    assert header_of(raw) is None


def test_segments_without_end_are_not_followed() -> None:
    """A segment that says it has no length would be met again for ever."""
    assert header_of(b"\xff\xd8" + b"\xff\xe1\x00\x00" * 10_000) is None


def test_the_size_is_told_before_anybody_decodes() -> None:
    ihdr = struct.pack(">IIBBBBB", 60_000, 30_000, 8, 2, 0, 0, 0)
    header = header_of(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + ihdr + b"\0\0\0\0")
    assert (header.width, header.height) == (60_000, 30_000)
