"""Pictures of the maps that Cognitive Map questions offer as text: one PNG per question, an option beside the other."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import pyarrow as pa
from PIL import Image, ImageDraw, ImageFont

TASK: Final = "Cognitive Map"
ROW_SEPARATOR: Final = " / "
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_CELL: Final = 32  # pixels
_GAP: Final = 24
_TITLE: Final = 28
_PATH: Final = (52, 101, 164)
_COLOURS: Final = {"S": (78, 154, 6), "E": (204, 0, 0)}
_LANDMARK: Final = (237, 212, 0)
_GRID: Final = (211, 215, 207)
_INK: Final = (46, 52, 54)


def map_pictures(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """Name within the release -> PNG, for the Cognitive Map questions among the asked ones."""
    rows = asked.select(["id", "task", "options"]).to_pylist()
    return {f"maps/{row['id']}.png": _picture(row["options"]) for row in rows if row["task"] == TASK}


def _picture(options: list[str]) -> bytes:
    grids = [option.partition(". ")[2].split(ROW_SEPARATOR) for option in options]
    side = max(len(grid) for grid in grids) * _CELL
    picture = Image.new("RGB", (len(grids) * (side + _GAP) + _GAP, side + _TITLE + _GAP), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=18)
    for number, (option, grid) in enumerate(zip(options, grids, strict=True)):
        left = _GAP + number * (side + _GAP)
        draw.text((left + side / 2, _TITLE / 2), option.partition(".")[0], fill=_INK, font=font, anchor="mm")
        _draw_map(draw, grid, left, font)
    raw = io.BytesIO()
    picture.save(raw, "PNG", optimize=False)
    return raw.getvalue()


def _draw_map(draw: ImageDraw.ImageDraw, grid: list[str], left: int, font: _Font) -> None:
    for row, cells in enumerate(grid):
        for column, mark in enumerate(cells):
            x, y = left + column * _CELL, _TITLE + row * _CELL
            draw.rectangle((x, y, x + _CELL, y + _CELL), outline=_GRID)
            middle = (x + _CELL / 2, y + _CELL / 2)
            if mark == "*":
                draw.circle(middle, _CELL / 6, fill=_PATH)
            elif mark in _COLOURS or re.fullmatch(r"\d", mark):
                draw.rectangle((x + 3, y + 3, x + _CELL - 3, y + _CELL - 3), fill=_COLOURS.get(mark, _LANDMARK))
                ink = _INK if mark.isdigit() else "white"
                draw.text(middle, mark, fill=ink, font=font, anchor="mm")
