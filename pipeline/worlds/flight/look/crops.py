"""The part of a picture about one thing: where its walls and its roof are in it, and how it is cut out to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from pipeline.core.arrays import BoolArray
from pipeline.formats.images import jpeg_bytes
from pipeline.worlds.flight.look.paint import Pixels
from pipeline.worlds.flight.look.painted import Eye, Prisms, filled, painted, shrunk
from pipeline.worlds.flight.look.survey import Frame, Glimpse

CROPS: Final = 2  # of each thing
SIZE_MIN: Final = 0.004  # of the picture: 920 pixels of 640x360
SHOWN_MIN: Final = 0.6  # of the thing's outline: in the picture, and nothing known before it
APART_MIN_S: Final = 2.0  # between two crops: another moment, so another picture
_INNER: Final = 0.8  # of an outline: pose and map are not known to a pixel
_WALLS: Final = 0.45  # of its height: up to there anything has walls, whatever its roof
_UPPER: Final = 0.75  # of its height: what lies above it a flat roof fills, and no other does
_AROUND: Final = 0.35  # of the thing's longer side, on every side of it, as in legend pictures
_SIDE: Final = 512  # pixels of the longer side of what is shown, at most
_INK: Final = (255, 0, 255)  # no house has it
_LINE: Final = 2


@dataclass(frozen=True)
class Crop:
    """One thing in one picture.

    Attributes:
        second: of the video.
        size: share of the picture that shows it.
        shown: share of its outline.
        walls: pixels (n, 3) of them.
        roof: the same; none where the camera is not above it. Of what has no known height both are all of it.
        upper: pixels (n, 3) of its outline above three quarters of its height.
        jpeg: of the part about it, with a line around it.
    """

    second: float
    size: float
    shown: float
    walls: Pixels
    roof: Pixels
    upper: Pixels
    jpeg: bytes


def chosen(glimpses: Sequence[Glimpse], seconds: Sequence[float]) -> list[Glimpse]:
    """The largest good ones, apart in time: up to `CROPS`."""
    good = [g for g in glimpses if g.size >= SIZE_MIN and g.shown >= SHOWN_MIN]
    found: list[Glimpse] = []
    for glimpse in sorted(good, key=lambda g: (-round(g.size, 9), g.moment)):
        if all(abs(seconds[glimpse.moment] - seconds[f.moment]) >= APART_MIN_S for f in found):
            found.append(glimpse)
        if len(found) == CROPS:
            break
    return found


def crop(frame: Frame, eye: Eye, prisms: Prisms, thing: int, glimpse: Glimpse, second: float) -> Crop:
    """A thing in a picture of the video."""
    height, width = frame.shape[:2]
    size = (width, height)
    own = painted(prisms, eye, size) == thing

    def region(low: float, high: float) -> BoolArray:
        return filled(prisms.ring(thing, eye, size, (low, high)), size)

    is_known = bool(prisms.is_known[thing])
    above = is_known and eye.enu_m[2] > prisms.top_m[thing]
    top = region(1.0, 1.0) if above else np.zeros_like(own)
    roof = filled(shrunk(prisms.ring(thing, eye, size, (1.0, 1.0)), _INNER), size) if above else top
    walls = filled(shrunk(prisms.ring(thing, eye, size, (0.0, _WALLS)), _INNER), size) & ~top
    upper = own & ~region(0.0, _UPPER)
    if not is_known:
        walls = roof = filled(shrunk(prisms.ring(thing, eye, size), _INNER), size)
    return Crop(
        second=round(second, 3),
        size=round(glimpse.size, 4),
        shown=round(min(1.0, glimpse.shown), 3),
        walls=frame[own & walls],
        roof=frame[own & roof],
        upper=frame[upper],
        jpeg=_cut(frame, prisms.ring(thing, eye, size)),
    )


def _cut(frame: Frame, ring: np.ndarray) -> bytes:
    """The part of a picture about an outline (k, 2), with that outline drawn on it."""
    height, width = frame.shape[:2]
    low, high = np.maximum(ring.min(0), 0), np.minimum(ring.max(0), (width, height))
    more = _AROUND * float((high - low).max())
    left, top = (max(0, int(v - more)) for v in low.tolist())
    right, bottom = (min(limit, int(v + more) + 1) for v, limit in zip(high.tolist(), (width, height), strict=True))
    part = Image.fromarray(frame[top:bottom, left:right])
    scale = _SIDE / max(part.size)
    part = part.resize([max(1, round(side * scale)) for side in part.size], Image.Resampling.BICUBIC)
    points = [((x - left) * scale, (y - top) * scale) for x, y in ring.tolist()]
    ImageDraw.Draw(part).line([*points, points[0]], fill=_INK, width=_LINE)
    return jpeg_bytes(np.asarray(part))
