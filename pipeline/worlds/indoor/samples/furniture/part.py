"""The parts that furniture is put together from, and how a part becomes triangles.

Local axes of a piece: x to its right, y to its back, z up. A part spans shares of the piece's box: x0, x1, y0, y1, z0,
z1. Its colour is a surface of `surfaces`, or "main" or "second", which each scene chooses among the kind's colours.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.sampling.shapes import Profile, Shape, box_shape, cushion_shape, round_shape

CYLINDER: Final[Profile] = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
BALL: Final[Profile] = (
    *((0.0, 0.0), (0.38, 0.04), (0.71, 0.15), (0.92, 0.31), (1.0, 0.5)),
    *((0.92, 0.69), (0.71, 0.85), (0.38, 0.96), (0.0, 1.0)),
)
_AXES: Final = {"x": 0, "y": 1, "z": 2}

Span = tuple[float, float, float, float, float, float]


class Part(NamedTuple):
    """One part.

    Attributes:
        span: x0, x1, y0, y1, z0, z1 as shares of the piece's box.
        color: a surface's name, "main" or "second".
        form: what fills the span.
        top: x0, x1, y0, y1 of a block's upper side where it differs from the lower one.
        profile: of what a lathe has turned.
        axis: about which it was turned.
        squareness: of its outline: 0 round, towards 1 a rectangle.
    """

    span: Span
    color: str
    form: Literal["block", "turned", "cushion"] = "block"
    top: tuple[float, float, float, float] | None = None
    profile: Profile = CYLINDER
    axis: Literal["x", "y", "z"] = "z"
    squareness: float = 0.0


Parts = tuple[Part, ...]


class Kind(NamedTuple):
    """A kind of furniture.

    Attributes:
        parts: they touch all six sides of the box, so that the box is known by construction.
        size_m: usual width, depth and height.
        colors: pairs of surfaces for "main" and "second"; each scene takes one.
        with_no: a label, and the parts that are added in scenes without pieces of that label.
    """

    parts: Parts
    size_m: tuple[float, float, float]
    colors: tuple[tuple[str, str], ...] = (("white", "steel"),)
    with_no: tuple[str, Parts] | None = None


def block(span: Span, color: str, top: tuple[float, float, float, float] | None = None) -> Part:
    """A box, or what tapers or leans towards ``top``."""
    return Part(span, color, "block", top)


def turned(
    span: Span,
    color: str,
    profile: Profile = CYLINDER,
    axis: Literal["x", "y", "z"] = "z",
    squareness: float = 0.0,
) -> Part:
    """What a lathe makes."""
    return Part(span, color, "turned", None, profile, axis, squareness)


def cushion(span: Span, color: str) -> Part:
    """Something stuffed."""
    return Part(span, color, "cushion")


def fronts(columns: int, rows: int, span: Span, color: str, knob: str) -> Parts:
    """Doors or drawers with knobs, side by side and one above the other, in the plane x-z of the span.

    Knobs take the front half of the span's depth, the fronts its back half.
    """
    x0, x1, y0, y1, z0, z1 = span
    gap, middle = 0.012, (y0 + y1) / 2
    found = []
    for i in range(columns):
        for j in range(rows):
            left, right = x0 + (x1 - x0) * i / columns + gap, x0 + (x1 - x0) * (i + 1) / columns - gap
            low, high = z0 + (z1 - z0) * j / rows + gap, z0 + (z1 - z0) * (j + 1) / rows - gap
            x, z = (left + right) / 2, (low + high) / 2
            half = min(0.16 * (right - left), 0.1)
            found.append(block((left, right, middle, y1, low, high), color))
            found.append(block((x - half, x + half, y0, middle, z - 0.015, z + 0.02), knob))
    return tuple(found)


def shape_of(part: Part, size_m: FloatArray, step_m: float) -> Shape:
    """Triangles of a part of a piece of this size (3,); the origin is the lower front left corner of its box."""
    low, high = np.array(part.span[0::2]) * size_m, np.array(part.span[1::2]) * size_m
    if part.form == "turned":
        return round_shape(low, high, step_m, part.profile, _AXES[part.axis], part.squareness)
    if part.form == "cushion":
        return cushion_shape(low, high, step_m)
    top = None if part.top is None else np.array(part.top) * size_m[[0, 0, 1, 1]]
    return box_shape(low, high, step_m, top)
