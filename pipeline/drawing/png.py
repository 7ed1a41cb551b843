"""The PNG of a sheet: resvg draws its lines and texts, what lies under these is pasted.

A picture of a video in an SVG costs resvg more than all else, and the ground of a scene is the same for all of its
questions: both are pixels already.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Final

from PIL import Image

from pipeline.drawing.fonts import FAMILY, font_file
from pipeline.drawing.sheet import PANEL, Sheet, svg_of

_GROUNDS: Final = 8  # that are kept, of 0.9 MB each
_RUNS: Final = 3  # zlib's Z_RLE: half the time of its search for what repeats, and hardly more bytes here


def png_of(sheet: Sheet) -> bytes:
    """A sheet as PNG, light, with the font of `fonts` and no other: the same bytes on every machine."""
    body = sheet.laid_out()
    above = _pixels(svg_of(body.rest(), body.width, body.height))
    page = Image.new("RGB", above.size, "white")
    for part in body.placed():
        if part.panel:
            ground = _ground(part.canvas.beginning(), part.canvas.width, part.canvas.height)
            page.paste(ground, (round(part.at[0]), round(part.at[1])))
    for x, y, photo in body.photos():
        page.paste(Image.open(io.BytesIO(photo.jpeg)), (round(x), round(y)))
    page.paste(above, (0, 0), above)
    raw = io.BytesIO()
    page.save(raw, "PNG", compress_type=_RUNS)
    return raw.getvalue()


@lru_cache(maxsize=_GROUNDS)
def _ground(elements: str, width: float, height: float) -> Image.Image:
    """A part's panel with what it has in common with others."""
    page = Image.new("RGB", (round(width), round(height)), PANEL)
    if elements:
        drawn = _pixels(svg_of(elements, width, height))
        page.paste(drawn, (0, 0), drawn)
    return page


def _pixels(svg: str) -> Image.Image:
    """A drawing on transparent ground, RGBA."""
    import resvg_py

    raw = resvg_py.svg_to_bytes(
        svg_string=svg, skip_system_fonts=True, font_files=[font_file()], font_family=FAMILY, sans_serif_family=FAMILY
    )
    return Image.open(io.BytesIO(raw))
