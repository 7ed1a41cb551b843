"""A section of a scan: boxes seen from the side, in an upright plane in which a length is drawn as long as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.benchmarks.vsi.drawings.plan import Plan, told
from pipeline.core.arrays import FloatArray
from pipeline.drawing.ground import Ground
from pipeline.drawing.sheet import WIDTH, Part

_TALLEST: Final = 230.0
_LEVEL_M: Final = 1e-6  # what is shorter over ground has no direction there


def section(
    plan: Plan, boxes: Sequence[tuple[int, str, str]], ends: npt.ArrayLike, fact: str, subject: str, words: str
) -> Part:
    """Boxes (index, class, name) from the side, and the line between two ends (2, 3) whose length is a fact."""
    start, end = np.asarray(ends, dtype=np.float64)
    across = end[:2] - start[:2]
    length = float(np.hypot(*across))
    across = across / length if length > _LEVEL_M else _longest_side(plan, boxes[0][0])

    def flat(points: FloatArray) -> FloatArray:
        return np.stack([points[..., 0] * across[0] + points[..., 1] * across[1], points[..., 2]], axis=-1)

    shapes = [flat(plan.corners[index]) for index, _, _ in boxes]
    ground = Ground(np.concatenate([*shapes, flat(np.stack([start, end]))]), WIDTH, _TALLEST)
    canvas = ground.canvas()
    canvas.text("note", (10, 18), "from the side")
    for (_, kind, name), points in zip(boxes, shapes, strict=True):
        outline = ground.at(_hull(points))
        canvas.shape(kind, [outline], name)
        canvas.label("name", (outline[:, 0].mean(), outline[:, 1].min()), name, 5.0)
    line = ground.at(flat(np.stack([start, end])))
    canvas.line("measure", line, told(fact, subject))
    for at in line:
        canvas.dot("a dot", at, 3.0)
    canvas.label("value", line.mean(0), words)
    return Part(canvas, ground.told() | {"part": "section"})


def _longest_side(plan: Plan, index: int) -> FloatArray:
    """The direction (2,) over ground of the longest of a box's sides that has one."""
    sides = plan.view.boxes.axes[index] * plan.view.boxes.half[index][:, None]
    over_ground = np.hypot(sides[:, 0], sides[:, 1])
    best = int(over_ground.argmax())
    return np.asarray(sides[best, :2] / over_ground[best]) if over_ground[best] > _LEVEL_M else np.array([1.0, 0.0])


def _hull(points: FloatArray) -> FloatArray:
    """The outline (k, 2) of points that lie in a plane; themselves where they lie on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:
        order = np.lexsort(points.T)
        return np.asarray(points[order[[0, -1]]])
