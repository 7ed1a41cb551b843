"""A map from above: metres to units, what every map of a scene shows, and its scale."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.sketch import Sketch
from pipeline.drawing.canvas import Box, Canvas

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
        canvas.keep_free(Box(left, y - 18, right, y + 4))

    def told(self) -> dict[str, str]:
        """What a reader of the drawing measures by."""
        return {"part": "map", "per-m": f"{self.per_m:.9g}"}


def points_to_show(sketch: Sketch) -> FloatArray:
    """All points (n, 2) of a sketch."""
    outlines = [*sketch.ground, *(thing.outline for thing in sketch.things)]
    path = [(x, y) for _, x, y in sketch.path]
    return np.array([*(point for outline in outlines for point in outline), *path], dtype=np.float64).reshape(-1, 2)


def draw_sketch(canvas: Canvas, ground: Ground, sketch: Sketch, faint: Collection[str] = ()) -> None:
    """Ground, things and path of a scene, as every map of it begins; things with a label in ``faint`` are dashed."""
    canvas.shape("ground", [ground.at(outline) for outline in sketch.ground])
    for thing in sketch.things:
        kind = "thing faint" if thing.label in faint else "thing"
        if len(thing.outline) > 2:
            canvas.shape(kind, [ground.at(thing.outline)], thing.label)
        else:
            canvas.dot(kind, ground.at(thing.outline[0]), _DOT, thing.label)
    if sketch.path:
        canvas.line("path", ground.at([(x, y) for _, x, y in sketch.path]))
