"""The convex hull of a few points in the plane, without a library that takes a moment to start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pipeline.core.arrays import FloatArray

NEAR_M: Final = 1e-6  # a corner that stands out by less is none


def hull(points: FloatArray) -> list[tuple[float, float]]:
    """Corners of the hull of points (n, 2), counter-clockwise from the lowest x; fewer than 3: it has no area.

    Andrew's monotone chain; for a handful of points, since it looks at them one by one.
    """
    ordered = sorted({(float(x), float(y)) for x, y in points})
    return [*_half(ordered), *_half(reversed(ordered))] if len(ordered) > 1 else ordered


def _half(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """One side of the hull, without its last corner."""
    side: list[tuple[float, float]] = []
    for point in points:
        while len(side) > 1 and _out(side[-2], side[-1], point) <= NEAR_M:
            side.pop()
        side.append(point)
    return side[:-1]


def _out(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """How far b stands out to the right of the line from a to c, metres."""
    length = ((c[0] - a[0]) ** 2 + (c[1] - a[1]) ** 2) ** 0.5
    across = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return across / length if length > NEAR_M else 0.0
