"""A map from above: metres to units, what every map of a scene shows, its scale; and a chart of metres over seconds."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.spatial import TopDownMap
from pipeline.drawing.canvas import Canvas, CanvasBox
from pipeline.drawing.sheet import WIDTH, SheetPart

MARGIN: Final = 30.0
LEAST_M: Final = 2.0  # shown at least, so that a lone point is a map too
_TALLEST: Final = 1.0  # of its width
_DOT: Final = 4.0
_SCALES_M: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class Ground:
    """Where points lie on a map. x to the right and y up, metres, become units from the upper left corner.

    Args:
        points: (n, 2) what the map must show.
        width: units.
        tallest: of its height, units.
        least_m: shown at least.

    Attributes:
        per_m: units of a metre.
    """

    def __init__(
        self, points: npt.ArrayLike, width: float, tallest: float | None = None, least_m: float = LEAST_M
    ) -> None:
        shown = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        low, high = (shown.min(0), shown.max(0)) if len(shown) else (np.zeros(2), np.zeros(2))
        size = np.maximum(high - low, least_m)
        most = _TALLEST * width if tallest is None else tallest
        self.per_m = float(min((width - 2 * MARGIN) / size[0], (most - 2 * MARGIN) / size[1]))
        self.width, self.height = width, float(np.ceil(size[1] * self.per_m + 2 * MARGIN))
        middle = (low + high) / 2
        self._corner = middle + np.array([-self.width, self.height]) / 2 / self.per_m  # of the upper left, metres

    def at(self, points: npt.ArrayLike) -> FloatArray:
        """Units (..., 2) of points (..., 2 or more)."""
        x, y = np.moveaxis(np.asarray(points, dtype=np.float64)[..., :2], -1, 0)
        return np.stack([(x - self._corner[0]) * self.per_m, (self._corner[1] - y) * self.per_m], axis=-1)

    def canvas(self) -> Canvas:
        """An empty map with its scale."""
        canvas = Canvas(self.width, self.height)
        self.scale(canvas)
        return canvas

    def scale(self, canvas: Canvas) -> None:
        """A bar of about a sixth of the width, in the lower right corner."""
        length_m = min(_SCALES_M, key=lambda m: abs(math.log(m * self.per_m / (self.width / 6))))
        right, y = self.width - 12, self.height - 10
        left = right - length_m * self.per_m
        canvas.line("scale", [(left, y - 4), (left, y), (right, y), (right, y - 4)], {"metres": f"{length_m:g}"})
        canvas.text("small", ((left + right) / 2, y - 6), f"{length_m:g} m", "middle", 11)
        canvas.keep_free(CanvasBox(left, y - 18, right, y + 4))

    def attributes(self) -> dict[str, str]:
        """The scale that a reader of the drawing measures by."""
        return {"part": "map", "per-m": f"{self.per_m:.9g}"}


def points_to_show(sketch: TopDownMap) -> FloatArray:
    """All points (n, 2) of a sketch."""
    outlines = [*sketch.ground, *(thing.outline for thing in sketch.things)]
    path = [(x, y) for _, x, y in sketch.path]
    return np.array([*(point for outline in outlines for point in outline), *path], dtype=np.float64).reshape(-1, 2)


def draw_sketch(canvas: Canvas, ground: Ground, sketch: TopDownMap) -> None:
    """Ground, things and path of a scene, as every map of it begins."""
    canvas.shape("ground", [ground.at(outline) for outline in sketch.ground])
    for thing in sketch.things:
        if len(thing.outline) > 2:
            canvas.shape("thing", [ground.at(thing.outline)], thing.label)
        else:
            canvas.dot("thing", ground.at(thing.outline[0]), _DOT, thing.label)
    if len(sketch.path) == 1:
        canvas.dot("here", ground.at(sketch.path[0][1:]), _DOT, "camera")
    elif sketch.path:
        canvas.line("path", ground.at([(x, y) for _, x, y in sketch.path]))


HIGH: Final = 150.0
TOP: Final = 24.0
BOTTOM: Final = 24.0
_LEFT: Final = 44.0
_RIGHT: Final = 14.0
_LEAST: Final = 5.0  # metres that the axis covers at least
_POINTS: Final = 500


class Chart:
    """Metres over seconds."""

    def __init__(self, title: str, t_s: FloatArray, values_m: FloatArray, end_s: float, floor: float | None) -> None:
        self.canvas = Canvas(WIDTH, HIGH)
        known = values_m[np.isfinite(values_m)]
        low = min(float(known.min(initial=np.inf)), np.inf if floor is None else floor) if len(known) else 0.0
        span = max(float(known.max(initial=-np.inf)) - low, _LEAST) if len(known) else _LEAST
        self.per_s = (WIDTH - _LEFT - _RIGHT) / max(end_s, 1e-9)
        self.per_m = (HIGH - TOP - BOTTOM) / span
        self.low = low
        self._title, self._end_s, self._high = title, end_s, low + span
        self._t_s, self._values = t_s, values_m

    def at(self, t_s: float | FloatArray, metres: float | FloatArray) -> FloatArray:
        """Units of seconds and metres."""
        x = _LEFT + np.asarray(t_s, dtype=np.float64) * self.per_s
        return np.stack([x, HIGH - BOTTOM - (np.asarray(metres) - self.low) * self.per_m], axis=-1)

    def stretch(self, kind: str, from_s: float, until_s: float, fact: str) -> None:
        """A stretch of the video."""
        left, right = self.at(from_s, 0)[0], self.at(until_s, 0)[0]
        corners = [(left, TOP), (right, TOP), (right, HIGH - BOTTOM), (left, HIGH - BOTTOM)]
        self.canvas.shape(kind, [corners])
        attributes = {"fact": fact, "from-s": f"{from_s:g}", "until-s": f"{until_s:g}"}
        self.canvas.line("edge of", [corners[3], corners[2]], attributes)

    def part(self, name: str) -> SheetPart:
        """The chart with its curve and axes."""
        step = max(1, len(self._t_s) // _POINTS)
        known = np.isfinite(self._values[::step])
        curve = self.at(self._t_s[::step][known], self._values[::step][known])
        if len(curve):
            self.canvas.line("curve", curve)
        bottom = HIGH - BOTTOM
        self.canvas.line("tick", [(_LEFT, TOP), (_LEFT, bottom), (WIDTH - _RIGHT, bottom)])
        for metres in (self.low, self._high):
            y = self.at(0.0, metres)[1]
            self.canvas.text("small", (_LEFT - 6, y + 4), f"{metres:.0f} m", "end", 11)
        for second in (0.0, self._end_s):
            self.canvas.text("small", (self.at(second, 0)[0], bottom + 16), f"{second:.0f} s", "middle", 11)
        self.canvas.text("note", (_LEFT + 6, 15), self._title, size=12)
        return SheetPart(self.canvas, {"part": name, "per-s": f"{self.per_s:.9g}", "per-m": f"{self.per_m:.9g}"})
