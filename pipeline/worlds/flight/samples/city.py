"""A small city of upright blocks on a grid of streets, with named places, and where it lies on Earth.

City frame: ENU metres about `CITY_ORIGIN`, the ground at z = 0. Streets run along multiples of `PITCH_M`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import yaml

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.core.schema import Origin
from pipeline.geometry import geodesy
from pipeline.worlds.flight.samples.shapes import Color, Form

Vec2 = tuple[float, float]


def sample_data(name: str) -> dict[str, Any]:
    """The data of ``<name>.yaml`` beside this module, with tuples in the place of lists of numbers."""
    loaded: dict[str, Any] = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    for entries in loaded.values():
        for entry in entries:
            entry.update({k: tuple(v) for k, v in entry.items() if isinstance(v, list)})
    return loaded


CITY_ORIGIN: Final = Origin(lat_deg=52.0, lon_deg=4.36, alt_m=4.0)  # the altitude of the ground
PITCH_M: Final = 48.0
STREET_M: Final = 16.0
COLUMNS: Final = 8
ROWS: Final = 6
_ALLEY_M: Final = 4.0  # between two buildings of one block
_HEIGHTS_M: Final = (8.0, 27.0)  # of buildings without a name
_MUTED: Final[tuple[Color, ...]] = (
    (176, 168, 158),
    (150, 146, 146),
    (190, 184, 172),
    (160, 142, 128),
    (136, 134, 138),
    (198, 192, 186),
)


class Block(NamedTuple):
    """What stands within an upright box, city frame.

    ``place`` is the index of the place that it is, None for any other building; ``form`` its shape; ``sign`` the words
    on its walls.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    color: Color
    place: int | None = None
    form: Form = "box"
    sign: str | None = None

    def corners(self) -> FloatArray:
        """Corners (4, 2) of the footprint, counter-clockwise."""
        (x, y, _), (far_x, far_y, _) = self.low, self.high
        return np.array([[x, y], [far_x, y], [far_x, far_y], [x, far_y]])


class Place(NamedTuple):
    """A thing to speak of: its block of the grid, the corner of its footprint in there, its size (x, y, height).

    ``said`` is what anybody would call it who sees it, and nothing else; None where something else looks the same.
    ``form`` is its shape, and ``sign`` what can be read on it.
    """

    name: str
    said: str | None
    kind: str
    cell: tuple[int, int]
    corner: Vec2
    size: tuple[float, float, float]
    color: Color
    form: Form = "box"
    sign: str | None = None
    is_point: bool = False  # in the list of landmarks
    alone: bool = True  # nothing else stands in its block


PLACES: Final = tuple(Place(**entry) for entry in sample_data("city")["places"])
_PARK: Final = ((3, 2), (4, 2))
_YARD: Final = (6, 4)


def blocks() -> tuple[Block, ...]:
    """Every block of the city: first the places, in their order, then the houses."""
    placed = [Block(*_span(p.cell, p.corner, p.size), p.color, i, p.form, p.sign) for i, p in enumerate(PLACES)]
    taken = {place.cell for place in PLACES if place.alone} | set(_PARK)
    houses = [block for i in range(COLUMNS) for j in range(ROWS) if (i, j) not in taken for block in _houses((i, j))]
    yard = [((0, 0), (32, 7)), ((0, 25), (32, 7)), ((0, 7), (7, 18)), ((25, 7), (7, 18))]
    houses += [Block(*_span(_YARD, corner, (*size, 25.0 + i)), _MUTED[i]) for i, (corner, size) in enumerate(yard)]
    return (*placed, *houses)


def _houses(cell: tuple[int, int]) -> list[Block]:
    """One or two houses of a block; the shops take a corner of theirs."""
    rng = rng_for("sample city", *cell)
    side = PITCH_M - STREET_M
    deep = (side - _ALLEY_M) / 2
    shop = next((place for place in PLACES if place.cell == cell), None)
    if shop is not None:
        plots = [((0.0, shop.size[1] + _ALLEY_M), (side, side - shop.size[1] - _ALLEY_M))]
    elif rng.random() < 0.55:
        plots = [((0.0, 0.0), (side, deep)), ((0.0, deep + _ALLEY_M), (side, deep))]
        if rng.random() < 0.5:
            plots = [(corner[::-1], size[::-1]) for corner, size in plots]
    else:
        inset = float(rng.integers(0, 4))
        plots = [((inset, inset), (side - 2 * inset, side - 2 * inset))]
    return [
        Block(
            *_span(cell, corner, (*size, round(float(rng.uniform(*_HEIGHTS_M)), 1))), _MUTED[rng.integers(len(_MUTED))]
        )
        for corner, size in plots
    ]


def _span(
    cell: tuple[int, int], corner: Vec2, size: tuple[float, float, float]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Lowest and highest corner of a thing in a block of the grid."""
    x, y = (PITCH_M * index + STREET_M / 2 + shift for index, shift in zip(cell, corner, strict=True))
    return (x, y, 0.0), (x + size[0], y + size[1], size[2])


def to_wgs84(points: FloatArray) -> FloatArray:
    """Latitude and longitude in degrees, altitude in metres (N, 3), of points (N, 3) of the city frame."""
    return geodesy.to_lat_lon_alt(points, CITY_ORIGIN)


def to_enu(points: FloatArray, origin: Origin) -> FloatArray:
    """Points (N, 3) of the city frame in ENU metres about another origin; without altitude, it lies on the ground."""
    if origin.alt_m is None:
        origin = origin.model_copy(update={"alt_m": CITY_ORIGIN.alt_m})
    return geodesy.to_enu(to_wgs84(points), origin)
