"""A small city on a grid of streets, with named places: what stands in it, as facets, and where it lies on Earth.

City frame: ENU metres about `CITY_ORIGIN`, the ground at z = 0. Streets run along multiples of `PITCH_M`. Every shape
fits into its block's upright box and touches all of its sides, so that a map that has the box is right.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import yaml

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.core.schema import Origin
from pipeline.core.templates import load_table
from pipeline.geometry import geodesy

_WIDTH: Final = 5
_HEIGHT: Final = 7
_LETTERS: Final[dict[str, list[str]]] = load_table("samples/letters")  # rows of dots


def strokes(words: str) -> list[tuple[float, float, float, float]]:
    """The dots of a word in rows: left and right, bottom and top, as shares of the word's width and height."""
    columns = (_WIDTH + 1) * len(words) - 1
    found = []
    for place, letter in enumerate(words):
        for row, dots in enumerate(_LETTERS[letter]):
            for inked in re.finditer("1+", dots):
                left, right = ((_WIDTH + 1) * place + edge for edge in inked.span())
                top = _HEIGHT - row
                found.append((left / columns, right / columns, (top - 1) / _HEIGHT, top / _HEIGHT))
    return found


Color = tuple[int, int, int]
Form = Literal["box", "domed", "pitched", "rounded", "church", "water tower", "obelisk", "oval", "park"]
Point = tuple[float, float, float]

_TREE: Final[Color] = (40, 96, 44)
_TRUNK: Final[Color] = (96, 72, 52)
_FIELD: Final[Color] = (70, 150, 60)
_PATH: Final[Color] = (205, 192, 160)
_PAINT: Final[Color] = (24, 24, 28)
_BOARD: Final[Color] = (250, 250, 246)
_ROUND: Final = 20  # facets about a circle
_RINGS: Final = 4  # of a dome
_PROUD_M: Final = 0.25  # by which a sign stands out from its wall, and letters from their board
_TREE_M: Final = (5.0, 3.2)  # height and width
_TREES_APART_M: Final = 9.0


class Facet(NamedTuple):
    """A flat polygon (k, 3) that bulges everywhere, counter-clockwise from outside, and its colour.

    ``windows`` says whether windows are painted on it: on upright walls that follow the grid of streets.
    """

    corners: FloatArray
    color: Color
    windows: bool = False


def facets(form: Form, low: Point, high: Point, color: Color, sign: str | None = None) -> list[Facet]:
    """The facets of a thing that fills a box between two corners."""
    made = list(_FORMS[form](np.array(low), np.array(high), color))
    return made + (list(_signs(np.array(low), np.array(high), sign)) if sign else [])


def _box(low: FloatArray, high: FloatArray, color: Color, windows: bool = True) -> Iterator[Facet]:
    yield from _prism(_rectangle(low, high), low[2], high[2], color, windows=windows)


def _rectangle(low: FloatArray, high: FloatArray) -> FloatArray:
    return np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])


def _ellipse(low: FloatArray, high: FloatArray, share: float) -> FloatArray:
    """Corners (k, 2) of an ellipse within a box, counter-clockwise; it touches the box where share is 1."""
    turn = 2 * np.pi * np.arange(_ROUND) / _ROUND
    return (low + high)[:2] / 2 + share * (high - low)[:2] / 2 * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _prism(outline: FloatArray, foot: float, top: float, color: Color, *, windows: bool = False) -> Iterator[Facet]:
    """Upright walls over an outline (k, 2), and a flat roof."""
    yield from _walls(outline, outline, foot, top, color, windows)
    yield Facet(_at_height(outline, top), color)


def _walls(
    lower: FloatArray, upper: FloatArray, foot: float, top: float, color: Color, windows: bool = False
) -> Iterator[Facet]:
    """Walls from one outline up to another of as many corners."""
    below, above = _at_height(lower, foot), _at_height(upper, top)
    for i in range(len(lower)):
        j = (i + 1) % len(lower)
        yield Facet(np.stack([below[i], below[j], above[j], above[i]]), color, windows)


def _at_height(outline: FloatArray, z: float) -> FloatArray:
    return np.column_stack([outline, np.full(len(outline), z)])


def _split(low: FloatArray, high: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """The lower part of a box with a share of its height, and the rest."""
    z = low[2] + share * (high[2] - low[2])
    return np.array([*high[:2], z]), np.array([*low[:2], z])


def _domed(low: FloatArray, high: FloatArray, color: Color) -> Iterator[Facet]:
    """A house with a dome on it, over most of its roof."""
    eaves, roof = _split(low, high, 0.5)
    yield from _box(low, eaves, color)
    middle, half = (low + high) / 2, float(min((high - low)[:2])) * 0.42
    base_low, base_high = middle - half, middle + half
    for ring in range(_RINGS):
        a, b = (np.pi / 2 * (ring + i) / _RINGS for i in (0, 1))
        lower, upper = (_ellipse(base_low, base_high, max(float(np.cos(t)), 0.02)) for t in (a, b))
        z = [roof[2] + (high[2] - roof[2]) * float(np.sin(t)) for t in (a, b)]
        yield from _walls(lower, upper, z[0], z[1], color)
    yield Facet(_at_height(_ellipse(base_low, base_high, 0.02), float(high[2])), color)


def _pitched(low: FloatArray, high: FloatArray, color: Color, share: float = 0.6) -> Iterator[Facet]:
    """A house with a ridge along its longer side."""
    eaves, roof = _split(low, high, share)
    yield from _walls(_rectangle(low, eaves), _rectangle(low, eaves), low[2], eaves[2], color, windows=True)
    dark: Color = (color[0] * 3 // 4, color[1] * 3 // 4, color[2] * 3 // 4)
    a, b, c, d = _at_height(_rectangle(roof, high), float(roof[2]))
    middle, z = (low + high) / 2, float(high[2])
    if high[0] - low[0] >= high[1] - low[1]:
        a, b, c, d = b, c, d, a
        ridge = np.array([[low[0], middle[1], z], [high[0], middle[1], z]])[::-1]
    else:
        ridge = np.array([[middle[0], low[1], z], [middle[0], high[1], z]])
    yield Facet(np.stack([b, c, ridge[1], ridge[0]]), dark)
    yield Facet(np.stack([d, a, ridge[0], ridge[1]]), dark)
    yield Facet(np.stack([a, b, ridge[0]]), color)
    yield Facet(np.stack([c, d, ridge[1]]), color)


def _rounded(low: FloatArray, high: FloatArray, color: Color) -> Iterator[Facet]:
    """A hall under a barrel along its longer side."""
    eaves, roof = _split(low, high, 0.45)
    yield from _walls(_rectangle(low, eaves), _rectangle(low, eaves), low[2], eaves[2], color, windows=True)
    long = int(high[1] - low[1] > high[0] - low[0])
    turn = np.pi * np.arange(9) / 8
    across = (low + high)[1 - long] / 2 + np.cos(turn) * (high - low)[1 - long] / 2
    up = roof[2] + np.sin(turn) * (high[2] - roof[2])
    ends = []
    for at in (low[long], high[long]):
        end = np.empty((len(turn), 3))
        end[:, long], end[:, 1 - long], end[:, 2] = at, across, up
        ends.append(end)
    first, last = ends
    for i in range(len(turn) - 1):
        yield Facet(np.stack([first[i], last[i], last[i + 1], first[i + 1]]), color)
    yield Facet(first, color)
    yield Facet(last[::-1], color)


def _church(low: FloatArray, high: FloatArray, color: Color) -> Iterator[Facet]:
    """A nave with a steep roof, and at its southern end a tower with a spire."""
    side = high[0] - low[0]
    tower = np.array([high[0], low[1] + side, low[2] + 0.6 * (high[2] - low[2])])
    nave_high = np.array([*high[:2], low[2] + 0.5 * (high[2] - low[2])])
    yield from _pitched(np.array([low[0], low[1] + side * 0.9, low[2]]), nave_high, color)
    inset = np.array([0.15 * side, 0.0, 0.0])
    yield from _box(low + inset, tower - inset, color)
    outline = _rectangle(low + inset, tower - inset)
    tip = np.repeat(outline.mean(0)[None], 4, axis=0)
    yield from _walls(outline, tip + (outline - tip) * 0.02, tower[2], high[2], (70, 80, 84))


def _water_tower(low: FloatArray, high: FloatArray, color: Color) -> Iterator[Facet]:
    """A round shaft under a wider tank with a pointed cap."""
    z = low[2] + (high[2] - low[2]) * np.array([0.0, 0.62, 0.7, 0.92, 1.0])
    share = (0.55, 0.55, 1.0, 1.0, 0.02)
    for i in range(4):
        rings = [_ellipse(low, high, s) for s in share[i : i + 2]]
        yield from _walls(rings[0], rings[1], z[i], z[i + 1], color)


def _obelisk(low: FloatArray, high: FloatArray, color: Color) -> Iterator[Facet]:
    """A pillar that tapers to a point."""
    outline = _rectangle(low, high)
    middle = outline.mean(0)
    eaves = low[2] + 0.88 * (high[2] - low[2])
    waist = middle + (outline - middle) * 0.6
    yield from _walls(outline, waist, low[2], eaves, color)
    yield from _walls(waist, middle + (outline - middle) * 0.02, eaves, high[2], color)


def _oval(low: FloatArray, high: FloatArray, color: Color) -> Iterator[Facet]:
    """A stadium: stands about a green field, open above."""
    outer, rim, field = (_ellipse(low, high, share) for share in (1.0, 0.94, 0.7))
    yield from _walls(outer, outer, low[2], high[2], color)
    yield from _walls(outer, rim, high[2], high[2], color)
    yield from _walls(rim, field, high[2], low[2] + 1.0, color)
    yield Facet(_at_height(field, low[2] + 1.0), _FIELD)


def _park(low: FloatArray, high: FloatArray, color: Color) -> Iterator[Facet]:
    """A lawn with two paths across, and trees in rows between them."""
    yield from _prism(_rectangle(low, high), low[2], high[2], color)
    middle, top = (low + high) / 2, high[2] + 0.02
    for a, b in (
        ((low[0], middle[1] - 1.5), (high[0], middle[1] + 1.5)),
        ((middle[0] - 1.5, low[1]), (middle[0] + 1.5, high[1])),
    ):
        yield Facet(_at_height(_rectangle(np.array([*a, 0.0]), np.array([*b, 0.0])), top), _PATH)
    rows = [low[1] + 4.0, low[1] + 10.0, high[1] - 10.0, high[1] - 4.0]
    for k, y in enumerate(rows):
        for x in np.arange(low[0] + 4.0 + 4.5 * (k % 2), high[0] - 4.0, _TREES_APART_M).tolist():
            yield from _tree(x, y, float(high[2]))


def _tree(x: float, y: float, ground: float) -> Iterator[Facet]:
    half, top = _TREE_M[1] / 2, ground + _TREE_M[0]
    trunk = np.array([[x - 0.2, y - 0.2], [x + 0.2, y - 0.2], [x + 0.2, y + 0.2], [x - 0.2, y + 0.2]])
    yield from _walls(trunk, trunk, ground, ground + 1.6, _TRUNK)
    turn = 2 * np.pi * np.arange(6) / 6
    crown = np.array([x, y]) + half * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    yield from _walls(crown * 0.4 + np.array([x, y]) * 0.6, crown, ground + 1.2, ground + 2.4, _TREE)
    yield from _walls(crown, crown * 0.1 + np.array([x, y]) * 0.9, ground + 2.4, top, _TREE)


def _signs(low: FloatArray, high: FloatArray, words: str) -> Iterator[Facet]:
    """Boards with the words along the upper edge of all four walls."""
    outline = _rectangle(low, high)
    for i in range(4):
        start, end = outline[i], outline[(i + 1) % 4]
        length = float(np.hypot(*(end - start)))
        along, out = (end - start) / length, np.array([(end - start)[1], -(end - start)[0]]) / length
        board = (1.0, length - 1.0, float(high[2]) - 7.5, float(high[2]) - 0.3)
        yield _panel(start, along, out * _PROUD_M, board, _BOARD)
        for left, right, bottom, top in strokes(words):
            width, height = board[1] - board[0] - 2.0, board[3] - board[2] - 1.4
            piece = (
                board[0] + 1.0 + left * width,
                board[0] + 1.0 + right * width,
                board[2] + 0.7 + bottom * height,
                board[2] + 0.7 + top * height,
            )
            yield _panel(start, along, out * 2 * _PROUD_M, piece, _PAINT)


def _panel(start: FloatArray, along: FloatArray, out: FloatArray, span: Sequence[float], color: Color) -> Facet:
    """An upright rectangle before a wall: from and to along the wall, from and to in height."""
    left, right, bottom, top = span
    a, b = start + along * left + out, start + along * right + out
    return Facet(np.array([[*a, bottom], [*b, bottom], [*b, top], [*a, top]]), color)


_FORMS: Final = {
    "box": _box,
    "domed": _domed,
    "pitched": _pitched,
    "rounded": _rounded,
    "church": _church,
    "water tower": _water_tower,
    "obelisk": _obelisk,
    "oval": _oval,
    "park": _park,
}


Vec2 = tuple[float, float]


def sample_data(name: str) -> dict[str, Any]:
    """The data of ``<name>.yaml`` beside this module, with tuples in the place of lists of numbers."""
    loaded: dict[str, Any] = yaml.load(
        Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
    )
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
    """A building or place within an upright box, city frame.

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


class CityPlace(NamedTuple):
    """A thing to speak of: its block of the grid, the corner of its footprint in there, its size (x, y, height).

    ``plain_name`` is what anybody would call it who sees it, and nothing else; None where others look the same.
    ``form`` is its shape, and ``sign`` what can be read on it.
    """

    name: str
    plain_name: str | None
    kind: str
    cell: tuple[int, int]
    corner: Vec2
    size: tuple[float, float, float]
    color: Color
    form: Form = "box"
    sign: str | None = None
    is_point: bool = False  # in the list of landmarks
    alone: bool = True  # nothing else stands in its block


PLACES: Final = tuple(CityPlace(**entry) for entry in sample_data("city")["places"])
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
