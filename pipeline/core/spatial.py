"""A scene in space, independent of its world: boxes, lines and points in 3D (`Spatial`), and a `TopDownMap`.

Worlds convert their facts to these forms; viewers and drawings read them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from pydantic import FiniteFloat

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.schema import Model


@dataclass(frozen=True)
class SpatialBoxes:
    """Boxes with names.

    Attributes:
        labels: (n,) as questions call them; empty where they do not.
        centers: (n, 3) metres.
        lengths: (n, 3) full sides along the axes, metres.
        axes: (n, 3, 3) one unit axis per row.
        ids: (n,) as operands name them where that is not the label, empty where it is; () where it always is.
    """

    labels: tuple[str, ...] = ()
    centers: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    lengths: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    axes: FloatArray = field(default_factory=lambda: np.empty((0, 3, 3)))
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spatial:
    """A scene in space: metres, z up, the frame of its facts.

    Attributes:
        boxes: around its things.
        lines: outlines and the like, (k, 3) each.
        path: (m, 4) seconds of the video, x, y, z: of the camera; in order of time.
        vertices: (v, 3) of its surface; empty where there is none.
        faces: (f, 3) vertex indices.
    """

    boxes: SpatialBoxes = SpatialBoxes()
    lines: tuple[FloatArray, ...] = ()
    path: FloatArray = field(default_factory=lambda: np.empty((0, 4)))
    vertices: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    faces: IntArray = field(default_factory=lambda: np.empty((0, 3), dtype=np.intp))


def flat(sketch: TopDownMap) -> Spatial:
    """A map laid on the ground: things as boxes without height about their outlines, axes along those of the map."""
    outlines = [np.array(thing.outline, dtype=np.float64) for thing in sketch.things]
    low = np.array([points.min(0) for points in outlines]).reshape(-1, 2)
    high = np.array([points.max(0) for points in outlines]).reshape(-1, 2)
    n = len(outlines)
    labels, ids = (tuple(getattr(thing, name) for thing in sketch.things) for name in ("label", "id"))
    axes = np.tile(np.eye(3), (n, 1, 1))
    boxes = SpatialBoxes(labels, on_ground((low + high) / 2), on_ground(high - low), axes, ids)
    closed = [*sketch.ground, *(thing.outline for thing in sketch.things if len(thing.outline) > 2)]
    lines = tuple(on_ground(np.array([*line, line[0]], dtype=np.float64)) for line in closed)
    path = np.array(sketch.path, dtype=np.float64).reshape(-1, 3)
    return Spatial(boxes, lines, np.column_stack([path, np.zeros(len(path))]))


def on_ground(points: FloatArray) -> FloatArray:
    """Points (n, 2) as (n, 3) at height 0."""
    return np.column_stack([points, np.zeros(len(points))])


Point = tuple[FiniteFloat, FiniteFloat]


class MappedThing(Model):
    """Something with a place.

    Attributes:
        label: as questions call it; empty where they do not.
        outline: its corners in order, metres; one point for a thing without an extent.
        seen_s: seconds of the video at which it first appears, surely; None: not known or never.
        id: as operands name it where that is not the label.
    """

    label: str
    outline: tuple[Point, ...]
    seen_s: FiniteFloat | None = None
    id: str = ""


class TopDownMap(Model):
    """A scene from above: x to the right, y up, metres.

    Attributes:
        ground: closed outlines, filled by the even-odd rule.
        things: in the scene's order.
        path: seconds of the video, x, y: of the camera; of a picture one; empty where it is not known.
    """

    ground: tuple[tuple[Point, ...], ...] = ()
    things: tuple[MappedThing, ...] = ()
    path: tuple[tuple[FiniteFloat, FiniteFloat, FiniteFloat], ...] = ()

    @cached_property
    def bounds_m(self) -> FloatArray:
        """Least x and y and greatest x and y (T, 4) of the outline of each thing."""
        if not self.things:
            return np.empty((0, 4))
        points = np.array([point for thing in self.things for point in thing.outline])
        first = np.cumsum([0, *(len(thing.outline) for thing in self.things[:-1])])
        return np.hstack([np.minimum.reduceat(points, first), np.maximum.reduceat(points, first)])


PATH_POINTS: Final = 400  # of a long path, evenly spaced: more would not be seen


def thinned(path: FloatArray) -> FloatArray:
    """Of a `TopDownMap.path` (N, 3), NaN where it is not known, evenly as many rows as are drawn, and the last."""
    known = path[~np.isnan(path).any(1)]
    return np.concatenate([known[: -1 : math.ceil(len(known) / PATH_POINTS) or 1], known[-1:]])
