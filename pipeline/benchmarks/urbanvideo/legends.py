"""Legend pictures: what the landmarks that a question names look like, each cut from the video, with its name."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from pipeline.benchmarks.benchmark import ScenePictures
from pipeline.benchmarks.urbanvideo.rules import UrbanRules, UrbanView
from pipeline.drawing.fonts import font
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
        said = " | ".join([row["text"], *(row["options"] or ())])
        named = [place for place in view.places if re.search(rf"(?<!\w){re.escape(place.label)}(?!\w)", said)]
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
    raw = io.BytesIO()
    sheet.save(raw, "PNG", optimize=False)
    return raw.getvalue()


def _wanted(rules: UrbanRules) -> bool:
    return rules.landmarks == "legend"


LEGENDS: Final = ScenePictures(module=__name__, folder="legends", wanted=_wanted, draw=legends)
