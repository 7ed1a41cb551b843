"""The PNG of a sheet: resvg draws its lines and texts, what lies under these is pasted.

A picture of a video in an SVG costs resvg more than all else, and the ground of a scene is the same for all of its
questions: both are pixels already. The parts of a sheet are drawn one by one, as many of them come again in the next
question, and what is empty between them costs as much as what is drawn.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Final

from PIL import Image

from pipeline.drawing.fonts import FAMILY, font_file
from pipeline.drawing.sheet import PANEL, Sheet, svg_of

_GROUNDS: Final = 8  # that are kept, of 0.9 MB each
_ABOVE: Final = 32  # that are kept, of 0.5 MB each: a still or a chart is the same in many questions of a scene
_BEYOND: Final = 6  # pixels around a part, for wide lines and texts at its edge
_RUNS: Final = 3  # zlib's Z_RLE: half the time of its search for what repeats, and hardly more bytes here


def png_of(sheet: Sheet) -> bytes:
    """A sheet as PNG, light, with the font of `fonts` and no other: the same bytes on every machine."""
    body = sheet.laid_out()
    page = Image.new("RGB", (round(body.width), round(body.height)), "white")
    for part in body.placed():
        x, y = round(part.at[0]), round(part.at[1])
        if part.panel:
            page.paste(_ground(part.canvas.beginning(), part.canvas.width, part.canvas.height), (x, y))
        for left, top, photo in part.canvas.photos():
            page.paste(Image.open(io.BytesIO(photo.jpeg)), (x + round(left), y + round(top)))
        beyond = 0 if part.cut else _BEYOND
        above = _above(part.canvas.rest(), part.canvas.width, part.canvas.height, beyond)
        page.paste(above, (x - beyond, y - beyond), above)
    raw = io.BytesIO()
    page.save(raw, "PNG", compress_type=_RUNS)
    return raw.getvalue()


@lru_cache(maxsize=_ABOVE)
def _above(elements: str, width: float, height: float, beyond: int) -> Image.Image:
    """A part's lines and texts, and what of them is so many pixels beyond its edges."""
    drawn = _pixels(svg_of(elements, width, height, beyond=beyond))
    drawn.load()
    return drawn


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
