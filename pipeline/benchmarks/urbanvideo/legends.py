"""Pictures for UrbanVideo-Bench's questions: legends of named landmarks, and the maps of Cognitive Map's options.

A legend shows each landmark that a question names, cut from the video, with its name. A map picture shows the maps that
a Cognitive Map question offers as text, one PNG per question, the options side by side.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from PIL import Image, ImageDraw, ImageFont

from pipeline.benchmarks.benchmark import ScenePictures
from pipeline.benchmarks.urbanvideo.rules import UrbanRules, UrbanView
from pipeline.core.tables import picture_file
from pipeline.drawing.fonts import font
from pipeline.drawing.raster import as_png
from pipeline.worlds.flight.facts import Shot
from pipeline.worlds.flight.places import shot_of

Frame = npt.NDArray[np.uint8]  # (h, w, 3)
_SIDE: Final = 200  # pixels of the longer side of a picture
_LINE: Final = 26
_GAP: Final = 12
_AROUND: Final = 0.35  # of the landmark's longer side in the picture, on every side of it
_FRAME: Final = (239, 41, 41)
_INK: Final = (46, 52, 54)


def legends(
    view: UrbanView, questions: Iterable[Mapping[str, Any]], frame_at: Callable[[float], Frame]
) -> dict[int, bytes]:
    """Question -> PNG, for those that name landmarks.

    Args:
        view: a flight whose landmarks have their names.
        questions: rows of `tables.QUESTIONS` of this flight.
        frame_at: the picture of the video at a second.
    """
    cut: dict[str, Image.Image] = {}
    found = {}
    for row in questions:
        text = " | ".join([row["text"], *(row["options"] or ())])
        named = [place for place in view.places if re.search(rf"(?<!\w){re.escape(place.label)}(?!\w)", text)]
        for place in named:
            shot = shot_of(view.flight, place.index, view.end_s)
            if place.label not in cut and shot is not None:
                cut[place.label] = _cut(frame_at(shot.second), shot)
        if named:
            found[int(row["id"])] = _sheet({place.label: cut[place.label] for place in named})
    return found


def _cut(frame: Frame, shot: Shot) -> Image.Image:
    """The part of a picture about a landmark, with a line around it."""
    height, width = frame.shape[:2]
    left, top, right, bottom = (share * side for share, side in zip(shot.box, (width, height) * 2, strict=True))
    more = _AROUND * max(right - left, bottom - top)
    x0, y0 = max(0, round(left - more)), max(0, round(top - more))
    x1, y1 = min(width, round(right + more)), min(height, round(bottom + more))
    part = Image.fromarray(frame[y0:y1, x0:x1])
    scale = _SIDE / max(part.size)
    part = part.resize([max(1, round(side * scale)) for side in part.size], Image.Resampling.LANCZOS)
    corners = ((left - x0) * scale, (top - y0) * scale, (right - x0) * scale, (bottom - y0) * scale)
    ImageDraw.Draw(part).rectangle(corners, outline=_FRAME, width=2)
    return part


def _sheet(pictures: Mapping[str, Image.Image]) -> bytes:
    """The pictures beside one another, each over its name."""
    letters = font(15)
    widths = [max(_SIDE, round(letters.getlength(name))) + _GAP for name in pictures]
    sheet = Image.new("RGB", (sum(widths) + _GAP, _SIDE + _LINE + 2 * _GAP), "white")
    draw, left = ImageDraw.Draw(sheet), _GAP
    for (name, picture), width in zip(pictures.items(), widths, strict=True):
        middle = left + (width - _GAP) // 2
        sheet.paste(picture, (middle - picture.width // 2, _GAP + (_SIDE - picture.height) // 2))
        draw.text((middle, _GAP + _SIDE + _LINE / 2), name, fill=_INK, font=letters, anchor="mm")
        left += width
    return as_png(sheet)


def _wanted(rules: UrbanRules) -> bool:
    return rules.landmarks == "legend"


LEGENDS: Final = ScenePictures(module=__name__, folder="legends", wanted=_wanted, draw=legends)


TASK: Final = "Cognitive Map"
ROW_SEPARATOR: Final = " / "
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_CELL: Final = 32  # pixels
_MAP_GAP: Final = 24
_TITLE: Final = 28
_PATH: Final = (52, 101, 164)
_COLOURS: Final = {"S": (78, 154, 6), "E": (204, 0, 0)}
_LANDMARK: Final = (237, 212, 0)
_GRID: Final = (211, 215, 207)
_MAP_INK: Final = (46, 52, 54)


def map_pictures(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """Name within the release -> PNG, for the Cognitive Map questions among the asked ones."""
    rows = asked.select(["id", "task", "options"]).to_pylist()
    return {picture_file("maps", row["id"]): _picture(row["options"]) for row in rows if row["task"] == TASK}


def _picture(options: list[str]) -> bytes:
    grids = [option.partition(". ")[2].split(ROW_SEPARATOR) for option in options]
    side = max(len(grid) for grid in grids) * _CELL
    picture = Image.new("RGB", (len(grids) * (side + _MAP_GAP) + _MAP_GAP, side + _TITLE + _MAP_GAP), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=18)
    for number, (option, grid) in enumerate(zip(options, grids, strict=True)):
        left = _MAP_GAP + number * (side + _MAP_GAP)
        draw.text((left + side / 2, _TITLE / 2), option.partition(".")[0], fill=_MAP_INK, font=font, anchor="mm")
        for row, cells in enumerate(grid):
            for column, mark in enumerate(cells):
                x, y = left + column * _CELL, _TITLE + row * _CELL
                draw.rectangle((x, y, x + _CELL, y + _CELL), outline=_GRID)
                middle = (x + _CELL / 2, y + _CELL / 2)
                if mark == "*":
                    draw.circle(middle, _CELL / 6, fill=_PATH)
                elif mark in _COLOURS or re.fullmatch(r"\d", mark):
                    draw.rectangle((x + 3, y + 3, x + _CELL - 3, y + _CELL - 3), fill=_COLOURS.get(mark, _LANDMARK))
                    ink = _MAP_INK if mark.isdigit() else "white"
                    draw.text(middle, mark, fill=ink, font=font, anchor="mm")
    return as_png(picture)
