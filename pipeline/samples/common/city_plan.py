"""The plan of a sample city: blocks of houses with shops, parks, car parks and parked cars along straight streets.

City frame: ENU metres about the city's origin, which is the south-west corner; the ground at z = 0. Streets run along
multiples of `PITCH_M`; block (column, row) lies between those of its numbers and the next.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from pipeline.core.identity import rng_for
from pipeline.core.schema import Origin
from pipeline.core.templates import load_table

Vec2 = tuple[float, float]
Color = tuple[int, int, int]

PITCH_M: Final = 64.0
STREET_M: Final = 18.0  # from wall to wall
KERB_M: Final = 6.0  # from the middle of a street: where cars stand
_BLOCK_M: Final = PITCH_M - STREET_M
_ALLEY_M: Final = 6.0
_GAP_M: Final = 2.0  # between the houses of a row
_PROUD_M: Final = 0.15  # of signs and shop fronts before their wall

_TABLE: Final = load_table("samples/city")
PAINTS, WALLS, ROOFS = (TypeAdapter(dict[str, Color]).validate_python(_TABLE[k]) for k in ("paints", "walls", "roofs"))
SHAPES: Final = ("flat", "gabled", "pyramidal", "dome", "round")  # of roofs, as maps call them
SPACE_M: Final = (2.6, 5.2)
FREE: Final = (0, 0, 1, 2, 3, 4, 6)  # so many spaces of a car park are free
CARS: Final[list[str]] = _TABLE["cars"]
SURFACES: Final[list[str]] = _TABLE["surfaces"]
LOW: Final = 4  # storeys: higher houses have flat roofs
SORTS: Final = 4  # of shops in a busy city: several are of each, whose names are told apart by looking alone
# Each sort with a name for each sample city: who has read of one city's bakery knows no other's.
SHOPS: Final[tuple[tuple[str, list[str]], ...]] = tuple(_TABLE["shops"].items())
_AVENUES: Final[list[str]] = _TABLE["avenues"]
_STREETS: Final[list[str]] = _TABLE["streets"]
_SIDES: Final = {"south": (0, -1), "east": (1, 0), "north": (0, 1), "west": (-1, 0)}
FACING: Final = {"south": 180.0, "east": 90.0, "north": 0.0, "west": 270.0}


class CityPlan(NamedTuple):
    """One sample city."""

    id: str
    columns: int
    rows: int
    origin: Origin
    names: int | None = 0  # which of the names of `SHOPS` its shops have; None: a lot deals all names to the sorts
    busy: bool = False  # whether some houses stand in rows, cars before some shops, and shops are of `SORTS` sorts

    @property
    def size_m(self) -> Vec2:
        """East and north end of its outer streets."""
        return self.columns * PITCH_M, self.rows * PITCH_M


PLANS: Final = (
    CityPlan("arden", 4, 3, Origin(lat_deg=52.0, lon_deg=4.36, alt_m=4.0), 0, True),
    CityPlan("brookfield", 4, 4, Origin(lat_deg=40.4, lon_deg=-3.7, alt_m=650.0), 1, True),
    CityPlan("corvale", 5, 5, Origin(lat_deg=-33.9, lon_deg=151.2, alt_m=30.0), 2, True),
)


class Planted(NamedTuple):
    """One thing of a sample city, with all that its map tells of it.

    ``corners`` is its footprint, counter-clockwise; None for a point.
    """

    id: str
    kind: str
    noun: str
    center: Vec2
    corners: tuple[Vec2, ...] | None = None
    color: str | None = None
    rgb: Color | None = None
    roof_color: str | None = None
    roof_rgb: Color | None = None
    height_m: float | None = None
    base_m: float | None = None
    levels: int | None = None
    roof_shape: str | None = None
    facing_deg: float | None = None
    sign: str | None = None
    name: str | None = None
    on: str | None = None
    tags: tuple[tuple[str, str], ...] = ()  # further properties


class CentreLine(NamedTuple):
    """A street by its middle line."""

    id: str
    name: str
    line: tuple[Vec2, ...]


def streets(plan: CityPlan) -> tuple[CentreLine, ...]:
    """The streets of a city, with a corner wherever two meet."""
    (east, north), at = plan.size_m, PITCH_M
    found = [
        CentreLine(
            f"avenue-{i}", _AVENUES[i % len(_AVENUES)], tuple((i * at, j * at) for j in range(round(north / at) + 1))
        )
        for i in range(plan.columns + 1)
    ]
    found += [
        CentreLine(
            f"street-{j}", _STREETS[j % len(_STREETS)], tuple((i * at, j * at) for i in range(round(east / at) + 1))
        )
        for j in range(plan.rows + 1)
    ]
    return tuple(found)


def planted(plan: CityPlan) -> tuple[Planted, ...]:
    """All that stands in a city, in one order."""
    rng = rng_for("sample city world", plan.id)
    cells = [(i, j) for j in range(plan.rows) for i in range(plan.columns)]
    order = [cells[k] for k in rng.permutation(len(cells)).tolist()]
    parks, lots, squares = (
        (order[:1], order[1:3], order[3:4]) if len(cells) < 20 else (order[:2], order[2:5], order[5:7])
    )
    sorts, names = zip(*SHOPS, strict=True)
    dealt = rng_for("sample city names", plan.id).permutation(np.ravel(names)).tolist()
    called = dealt[: len(sorts)] if plan.names is None else [of_sort[plan.names] for of_sort in names]
    own = rng_for("sample city sorts", plan.id).permutation(sorts).tolist()[:SORTS] if plan.busy else sorts
    shops = [(own[k % len(own)], called[k]) for k in rng.permutation(len(sorts)).tolist()]
    found: list[Planted] = []
    for cell in cells:
        if cell in parks:
            found += _park(cell, rng)
        elif cell in lots:
            found += _car_park(cell, rng)
        elif cell in squares:
            found += _square(cell, rng)
        else:
            for house in _houses(cell, rng, plan.busy):
                found.append(_roofed(house, plan.id))
                side = _street_side(house, cell)
                if side and shops and rng.random() < 0.7:
                    shop = _shop(house, side, *shops.pop(), rng)
                    found += [*shop, *(_parked(shop[0], side, rng) if plan.busy else ())]
    found += _streets(plan, rng)
    sorted_in = [_described(thing, plan.id) for thing in found]
    return (*sorted_in, *(space for cell in lots for space in _spaces(cell, sorted_in, plan.id)))


def _described(thing: Planted, city: str) -> Planted:
    """A thing with more of it told: the sort of a car, what houses are built of and car parks are covered with."""
    rng = rng_for("sample city sort", city, thing.id)
    if thing.kind == "car":
        noun = CARS[int(rng.integers(len(CARS)))]
        return thing._replace(noun=noun, kind="van" if noun == "van" else "car")
    if thing.kind == "parking":
        return thing._replace(tags=(("surface", SURFACES[int(rng.integers(len(SURFACES)))]),))
    return thing


def _spaces(cell: tuple[int, int], things: Sequence[Planted], city: str) -> Iterator[Planted]:
    """Marked spaces of a car park: those of its cars, and up to six more that are free."""
    x, y = _corner(cell)
    rng = rng_for("sample city spaces", city, *map(str, cell))
    own = {thing.center for thing in things if thing.id.startswith(f"car-{cell[0]}{cell[1]}")}
    places = [(x + 10 + 5.2 * i, y + 10 + 12.5 * j) for j in range(3) for i in range(6)]
    others = [place for place in places if place not in own]
    free = [others[k] for k in rng.permutation(len(others))[: int(rng.choice(FREE))].tolist()]
    for n, (u, v) in enumerate(sorted([*own, *free])):
        corners = _box((u - SPACE_M[0] / 2, v - SPACE_M[1] / 2), SPACE_M)
        yield _area("parking space", "parking space", f"{cell[0]}{cell[1]}-{n}", corners)


def _corner(cell: tuple[int, int]) -> Vec2:
    """South-west corner of a block, where its pavement ends."""
    return cell[0] * PITCH_M + STREET_M / 2, cell[1] * PITCH_M + STREET_M / 2


def _box(low: Vec2, size: Vec2) -> tuple[Vec2, ...]:
    (x, y), (w, d) = low, size
    return (x, y), (x + w, y), (x + w, y + d), (x, y + d)


def _middle(corners: tuple[Vec2, ...]) -> Vec2:
    xs, ys = zip(*corners, strict=True)
    return (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2


def _area(kind: str, noun: str, number: str, corners: tuple[Vec2, ...], name: str | None = None) -> Planted:
    return Planted(f"{kind}-{number}", kind, noun, _middle(corners), corners, name=name)


def _houses(cell: tuple[int, int], rng: np.random.Generator, busy: bool) -> Iterator[Planted]:
    """One to six houses of a block, each with walls and storeys of its own."""
    x, y = _corner(cell)
    half = (_BLOCK_M - _ALLEY_M) / 2
    across = (x, x + half + _ALLEY_M), (y, y + half + _ALLEY_M)
    kind = int(rng.integers(5 if busy else 4))
    if kind == 0:
        inset = float(rng.integers(4, 9))
        plots = [((x + inset, y + inset), (_BLOCK_M - 2 * inset, _BLOCK_M - 2 * inset))]
    elif kind == 1:
        plots = [((x, v), (_BLOCK_M, half)) for v in across[1]]
    elif kind == 2:
        plots = [((u, y), (half, _BLOCK_M)) for u in across[0]]
    elif kind == 3:
        plots = [((u, v), (half, half)) for u in across[0] for v in across[1]]
    else:  # two rows of three: the houses in the middle lie on one street alone
        wide = (_BLOCK_M - 2 * _GAP_M) / 3
        plots = [((x + k * (wide + _GAP_M), v), (wide, half)) for k in range(3) for v in across[1]]
    for n, (low, size) in enumerate(plots):
        color = list(WALLS)[int(rng.integers(len(WALLS)))]
        levels = int(rng.integers(2, 13))
        corners = _box(low, size)
        yield Planted(
            f"b{cell[0]}{cell[1]}{'abcdef'[n]}", "building", "building", _middle(corners), corners, color, WALLS[color],
            height_m=round(levels * 3.2 + 1.0, 1), levels=levels,
        )  # fmt: skip


def _roofed(house: Planted, city: str) -> Planted:
    """A house with a roof of its own: what its walls are says nothing about it."""
    rng = rng_for("sample city roof", city, house.id)
    color, shape = list(ROOFS)[int(rng.integers(len(ROOFS)))], "flat"
    if (house.levels or 0) <= LOW:
        shape = SHAPES[int(rng.integers(len(SHAPES)))]
    return house._replace(roof_color=color, roof_rgb=ROOFS[color], roof_shape=shape)


def _street_side(house: Planted, cell: tuple[int, int]) -> str | None:
    """A side of a house that lies on a street; None: it stands back from all of them."""
    x, y = _corner(cell)
    xs, ys = zip(*(house.corners or ()), strict=True)
    ends = {"south": min(ys) - y, "north": y + _BLOCK_M - max(ys), "west": min(xs) - x, "east": x + _BLOCK_M - max(xs)}
    return next((side for side, gap in ends.items() if gap < 1.0), None)


def _shop(house: Planted, side: str, noun: str, words: str, rng: np.random.Generator) -> list[Planted]:
    """A shop on a house's ground floor, and its signboard above."""
    (cx, cy), (dx, dy) = house.center, _SIDES[side]
    xs, ys = zip(*(house.corners or ()), strict=True)
    wide = (max(xs) - min(xs)) if dy else (max(ys) - min(ys))
    along = round(float(rng.uniform(-0.3, 0.3)) * wide, 1)
    out = ((max(ys) - min(ys)) if dy else (max(xs) - min(xs))) / 2 + _PROUD_M
    center = (cx + (along if dy else dx * out), cy + (dy * out if dy else along))
    paint = list(PAINTS)[int(rng.integers(len(PAINTS)))]
    number = house.id[1:]
    return [
        Planted(
            f"shop-{number}", "shop", noun, center, facing_deg=FACING[side], sign=words, name=words.title(), on=house.id
        ),
        Planted(
            f"sign-{number}", "signboard", "signboard", center, None, paint, PAINTS[paint], height_m=1.0, base_m=3.2,
            facing_deg=FACING[side], sign=words, on=house.id,
        ),
    ]  # fmt: skip


def _parked(shop: Planted, side: str, rng: np.random.Generator) -> Iterator[Planted]:
    """Cars before some shops, at those kerbs where none stand otherwise."""
    count = int(rng.integers(0, 3)) if side in ("south", "east") else 0
    (x, y), (dx, dy) = shop.center, _SIDES[side]
    out = STREET_M / 2 - KERB_M - _PROUD_M
    for n in range(count):
        along = 2.6 * (2 * n - 1) if count > 1 else 0.0
        at = (round(x + dx * out - dy * along, 2), round(y + dy * out + dx * along, 2))
        yield _car(f"car-f{shop.id.removeprefix('shop-')}{n}", at, 90.0 if dy else 0.0, rng)


def _park(cell: tuple[int, int], rng: np.random.Generator) -> list[Planted]:
    x, y = _corner(cell)
    number = f"{cell[0]}{cell[1]}"
    found = [_area("park", "park", number, _box((x, y), (_BLOCK_M, _BLOCK_M)))]
    found.append(Planted(f"fountain-{number}", "fountain", "fountain", (x + _BLOCK_M / 2, y + _BLOCK_M / 2)))
    spots = [(x + 5 + 12 * i, y + 5 + 12 * j) for i in range(4) for j in range(4) if (i, j) not in ((1, 1), (2, 2))]
    for n, k in enumerate(rng.permutation(len(spots))[: int(rng.integers(5, 9))].tolist()):
        found.append(Planted(f"tree-{number}{n}", "tree", "tree", spots[k]))
    for n, side in enumerate(("south", "north")[: int(rng.integers(1, 3))]):
        dy = _SIDES[side][1]
        at = (x + _BLOCK_M / 2 + 6.0, y + _BLOCK_M / 2 + dy * 4.0)
        found.append(Planted(f"bench-{number}{n}", "bench", "bench", at, facing_deg=FACING[side]))
    return found


def _car_park(cell: tuple[int, int], rng: np.random.Generator) -> list[Planted]:
    """A car park with cars in some of its places."""
    x, y = _corner(cell)
    number = f"{cell[0]}{cell[1]}"
    found = [_area("parking", "parking lot", number, _box((x + 3, y + 3), (_BLOCK_M - 6, _BLOCK_M - 6)))]
    places = [(x + 10 + 5.2 * i, y + 10 + 12.5 * j) for j in range(3) for i in range(6)]
    for n, k in enumerate(rng.permutation(len(places))[: int(rng.integers(2, 8))].tolist()):
        found.append(_car(f"car-{number}{n}", places[k], 0.0, rng))
    return found


def _square(cell: tuple[int, int], rng: np.random.Generator) -> list[Planted]:
    """A square with benches; statue and kiosk stand side by side, or far apart with shops nearer to each."""
    x, y = _corner(cell)
    number, middle = f"{cell[0]}{cell[1]}", (x + _BLOCK_M / 2, y + _BLOCK_M / 2)
    statue, kiosk = ((0.0, 0.0), (12.0, -10.0)) if cell[0] % 2 else ((-15.0, 15.0), (18.0, -18.0))
    found = [
        Planted(f"{kind}-{number}", kind, kind, (middle[0] + dx, middle[1] + dy))
        for kind, (dx, dy) in (("statue", statue), ("kiosk", kiosk))
    ]
    sides = [list(FACING)[k] for k in rng.permutation(4)[: int(rng.integers(2, 5))].tolist()]
    for n, side in enumerate(sides):
        dx, dy = _SIDES[side]
        at = (middle[0] + 6.0 * dx, middle[1] + 6.0 * dy)
        found.append(Planted(f"bench-{number}{n}", "bench", "bench", at, facing_deg=FACING[side]))
    return found


def _streets(plan: CityPlan, rng: np.random.Generator) -> Iterator[Planted]:
    """Crossings at some corners, and cars, trees and bus stops at the kerbs of the streets within the city."""
    for i in range(1, plan.columns):
        for j in range(1, plan.rows):
            if rng.random() < 0.5:
                x, y = i * PITCH_M, j * PITCH_M + STREET_M / 2 + 3.0
                corners = _box((x - 5.0, y - 2.0), (10.0, 4.0))
                yield _area("crossing", "pedestrian crossing", f"{i}{j}", corners)
    for i in range(1, plan.columns):
        for j in range(plan.rows):
            for n in range(int(rng.integers(0, 3))):
                at = (i * PITCH_M + KERB_M, j * PITCH_M + STREET_M + 8.0 + 12.0 * n)
                yield _car(f"car-n{i}{j}{n}", at, 0.0, rng)
    for j in range(1, plan.rows):
        for i in range(plan.columns):
            what = rng.random()
            at = (i * PITCH_M + STREET_M + 10.0, j * PITCH_M - KERB_M)
            if what < 0.25:
                yield Planted(f"bus_stop-{i}{j}", "bus stop", "bus stop", at, facing_deg=0.0)
            elif what < 0.5:
                yield Planted(f"tree-s{i}{j}", "tree", "tree", at)
            elif what < 0.8:
                yield _car(f"car-e{i}{j}", at, 90.0, rng)


def _car(name: str, at: Vec2, facing_deg: float, rng: np.random.Generator) -> Planted:
    paint = list(PAINTS)[int(rng.integers(len(PAINTS)))]
    return Planted(name, "car", "car", at, None, paint, PAINTS[paint], facing_deg=facing_deg)
