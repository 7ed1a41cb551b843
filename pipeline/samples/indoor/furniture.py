"""Furniture of the sample rooms: kinds as planned (`load_table`), whose parts become triangles."""

from __future__ import annotations

from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.templates import load_table
from pipeline.samples.common.shapes import Profile, Shape, box_shape, cushion_shape, round_shape

CYLINDER: Final[Profile] = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))


class FurniturePart(NamedTuple):
    """One part.

    Local axes of a piece: x to its right, y to its back, z up.

    Attributes:
        form: what fills the span: "block", "turned" or "cushion".
        span: x0, x1, y0, y1, z0, z1 as shares of the piece's box.
        color: a surface's name, or "main" or "second", which each scene chooses among the kind's colours.
        top: x0, x1, y0, y1 of a block's upper side where it differs from the lower one: it tapers or leans.
        profile: of what a lathe has turned.
        axis: about which it was turned: 0, 1, 2 for x, y, z.
        squareness: of its outline: 0 round, towards 1 a rectangle.
    """

    form: str
    span: tuple[float, ...]
    color: str
    top: tuple[float, ...] | None = None
    profile: Profile = CYLINDER
    axis: int = 2
    squareness: float = 0.0


class Kind(NamedTuple):
    """A kind of furniture.

    Attributes:
        size_m: usual width, depth and height.
        colors: pairs of surfaces for "main" and "second"; each scene takes one.
        parts: they touch all six sides of the box, so that the box is known by construction.
        with_no: a label: ``more`` are added in scenes without pieces of that label.
        more: such parts.
    """

    size_m: tuple[float, float, float]
    colors: tuple[tuple[str, str], ...]
    parts: tuple[FurniturePart, ...]
    with_no: str | None = None
    more: tuple[FurniturePart, ...] = ()


def _parts(rows: list[dict[str, Any]]) -> tuple[FurniturePart, ...]:
    """The parts of rows of the plan; a row with lists x, y or z is one part for each of their combinations."""
    found = []
    for row in rows:
        form = next(form for form in ("block", "turned", "cushion") if form in row)
        shifts = {axis: row[axis] for axis in row if axis in ("x", "y", "z")}
        profile = PROFILES[row["profile"]] if "profile" in row else CYLINDER
        for shift in product(*shifts.values()):
            by = dict(zip(shifts, shift, strict=True))
            off = [by.get(axis, 0.0) for axis in "xxyyzz"]
            span = tuple(a + b for a, b in zip(row[form], off, strict=True))
            top = tuple(a + b for a, b in zip(row["top"], off[:4], strict=True)) if "top" in row else None
            axis = "xyz".index(row.get("axis", "z"))
            found.append(FurniturePart(form, span, row["color"], top, profile, axis, row.get("squareness", 0.0)))
    return tuple(found)


_PLAN: Final = load_table("samples/indoor_furniture")
PROFILES: Final[dict[str, Profile]] = {k: tuple((r, h) for r, h in v) for k, v in _PLAN["profiles"].items()}
KINDS: Final[dict[str, Kind]] = {
    label: Kind(
        tuple(raw["size_m"]),
        tuple((main, second) for main, second in raw.get("colors", [("white", "steel")])),
        _parts(raw["parts"]),
        raw.get("with_no"),
        _parts(raw.get("more", [])),
    )
    for label, raw in _PLAN["kinds"].items()
}


def shape_of(part: FurniturePart, size_m: FloatArray, step_m: float) -> Shape:
    """Triangles of a part of a piece of this size (3,); the origin is the lower front left corner of its box."""
    low, high = np.array(part.span[0::2]) * size_m, np.array(part.span[1::2]) * size_m
    if part.form == "turned":
        return round_shape(low, high, step_m, part.profile, part.axis, part.squareness)
    if part.form == "cushion":
        return cushion_shape(low, high, step_m)
    top = None if part.top is None else np.array(part.top) * size_m[[0, 0, 1, 1]]
    return box_shape(low, high, step_m, top)
