"""JPEGs without anything but the picture."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.formats.images import decoded
from pipeline.worlds.panorama.pictures import bare_jpeg
from tests.oracles.picture_tags import beside_pixels, tags
from tests.worlds.panorama.panoramas import jpeg, texture

XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><GPano:PoseHeadingDegrees>12</GPano:PoseHeadingDegrees></x:xmpmeta>'


def exif() -> bytes:
    """EXIF with a position."""
    tags = Image.Exif()
    tags[0x010F] = "Maker"
    gps = tags.get_ifd(0x8825)
    gps[1], gps[2], gps[3], gps[4] = "N", (43.0, 44.0, 22.5), "E", (7.0, 25.0, 38.0)
    return tags.tobytes()


def talkative(**options: Any) -> bytes:
    """A JPEG that tells where it was taken, in every way, and another picture behind its end."""
    raw = jpeg(exif=exif(), xmp=XMP, comment="Monaco", icc_profile=b"a profile", **options)
    return raw + jpeg(texture(16, 8), exif=exif())


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"restart_marker_blocks": 3}, {"subsampling": 0, "quality": 100}], ids=str
)
def test_only_the_picture_stays(options: dict[str, Any]) -> None:
    raw = talkative(**options)
    assert "GPS GPSLatitude" in tags(raw)
    assert {"segment FE", "segment E1", "segment E2"} <= set(beside_pixels(raw))
    bare = bare_jpeg(raw)
    assert bare is not None
    assert beside_pixels(bare) == []
    pixels = [np.asarray(Image.open(io.BytesIO(one))) for one in (raw, bare)]
    assert (pixels[0] == pixels[1]).all()


def test_what_is_not_understood_is_not_passed_on() -> None:
    raw = jpeg()
    png = io.BytesIO()
    Image.new("RGB", (4, 2)).save(png, "PNG")
    for broken in (b"", raw[:40], raw[: len(raw) // 2], raw[:-2], png.getvalue(), raw[:2] + b"\0" + raw[2:]):
        assert bare_jpeg(broken) is None


def test_decoding_within_limits() -> None:
    image = decoded(jpeg(), 256 * 128)
    assert (image.mode, image.size) == ("RGB", (256, 128))
    assert decoded(jpeg(), 256 * 128 - 1) is None
    assert decoded(jpeg()[:100], 10**6) is None
    grey = io.BytesIO()
    Image.new("L", (4, 2), 7).save(grey, "PNG")
    turned = decoded(grey.getvalue(), 8)
    assert turned.getpixel((0, 0)) == (7, 7, 7)
