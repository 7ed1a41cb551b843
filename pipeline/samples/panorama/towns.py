"""The towns in which the sample panoramas are taken: where they lie, how they look, and the words on their signs.

The towns are made up, the countries are not: a town's language, its paint and its trees are those of the country that
it lies in, so that what a panorama shows says something about where it was taken (towns.yaml). In each, the places
where panoramas are taken, and the walls on the streets about them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import TypeAdapter

from pipeline.core.identity import rng_for
from pipeline.samples.common.city_plan import PITCH_M, STREET_M, CityPlan, Color, Planted, planted


class Town(NamedTuple):
    """One town.

    Attributes:
        plan: its blocks and houses.
        name: as maps have it.
        country: as maps have it.
        code: ISO 3166-1 of the country.
        language: of its signs.
        streets: names of its streets: first those that run north, from the west, then those that run east, from the
            south.
        highway: of its streets, as OpenStreetMap has it, in the same order.
        words: by kind of shop, as OpenStreetMap has it: what stands on its sign. Capitals have no accents there, which
            the font of the samples lacks.
        names: what may stand behind that.
        walls: of its houses, by name.
        surface: of its roads.
        line: of the middle of its roads.
        tree: most of its trees are of this kind.
        drives: on which side.
        lamp: colour of its street lamps.
        post_box: colour of its post boxes.
    """

    plan: CityPlan
    name: str
    country: str
    code: str
    language: str
    streets: tuple[str, ...]
    highway: tuple[str, ...]
    words: tuple[str, ...]
    names: tuple[str, ...]
    walls: tuple[str, ...]
    surface: str
    line: str
    tree: str
    drives: str
    lamp: str
    post_box: str


class PlannedStreet(NamedTuple):
    """A straight street: whether it runs north, and the other coordinate of its middle line."""

    is_north: bool
    line: float

    def at(self, along: float, across: float) -> tuple[float, float]:
        """A place of it in the town frame."""
        return (self.line + across, along) if self.is_north else (along, self.line - across)


_DATA: Final[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("towns.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)
TOWNS: Final = TypeAdapter(tuple[Town, ...]).validate_python(_DATA["towns"])
KINDS: Final[tuple[tuple[str, str, str], ...]] = tuple(map(tuple, _DATA["kinds"]))
ALIKE: Final[tuple[tuple[str, ...], ...]] = tuple(map(tuple, _DATA["alike"]))
COLORS: Final[dict[str, Color]] = {name: tuple(color) for name, color in _DATA["colors"].items()}


PLACES_PER_TOWN: Final = 4
WILD_M: Final = 20_000.0  # east and north of its town is the wilderness
WALL_M: Final = STREET_M / 2  # from the middle of a street to the houses
REACH_M: Final = 27.0  # along the street, to which it is furnished
UNIT_M: Final = 6.4  # of a shop's front


class PlantedSpot(NamedTuple):
    """A place where a panorama is taken.

    Attributes:
        number: of it in its town, from 1.
        street: on which it lies.
        name: of the street; empty in the wilderness, which has none.
        along: where on the street.
        across: where between its sides.
    """

    town: Town
    number: int
    street: PlannedStreet
    name: str
    along: float
    across: float

    @property
    def id(self) -> str:
        """Name of its panorama."""
        return f"{self.town.plan.id}-{self.number if self.name else 'wild'}"

    @property
    def at(self) -> tuple[float, float]:
        """In the frame that it is drawn in."""
        return self.street.at(self.along, self.across)

    @property
    def position(self) -> tuple[float, float]:
        """In the town's frame. The wilderness is drawn beside the town, and lies far off."""
        x, y = self.at
        return (x, y) if self.name else (x + WILD_M, y + WILD_M)


class StreetWall(NamedTuple):
    """A wall on a street: its side, left -1 and right 1, and where it begins and ends along the street."""

    side: int
    first: float
    last: float


def streets(town: Town) -> Iterator[tuple[PlannedStreet, str]]:
    """All streets of a town with their names, those that run north first."""
    lines = [(True, i) for i in range(town.plan.columns + 1)] + [(False, j) for j in range(town.plan.rows + 1)]
    for (is_north, number), name in zip(lines, town.streets, strict=True):
        yield PlannedStreet(is_north, number * PITCH_M), name


def spots() -> tuple[PlantedSpot, ...]:
    """The places of all towns: those with the most walls on the street, each in another; and two in the wilderness."""
    found: list[PlantedSpot] = []
    for town in TOWNS:
        rng = rng_for("sample panorama spots", town.plan.id)
        walls_of = houses(town)
        ranked: list[tuple[float, int, PlannedStreet, str, float]] = []
        blocks = (town.plan.rows, town.plan.columns)
        for number, (street, name) in enumerate(streets(town)):
            for block in range(blocks[0] if street.is_north else blocks[1]):
                along = block * PITCH_M + PITCH_M / 2 + float(rng.uniform(-4, 4))
                walls = sum(f.last - f.first for f in fronts(walls_of, street, along))
                ranked.append((-walls, number, street, name, round(along, 2)))
        taken: list[str] = []
        for _, _, street, name, along in sorted(ranked):
            if name not in taken and len(taken) < PLACES_PER_TOWN:
                taken.append(name)
                side = -1.0 if town.drives == "left" else 1.0
                across = round(side * float(rng.uniform(0.6, 2.4)), 2)
                found.append(PlantedSpot(town, len(taken), street, name, along, across))
    wild = PlannedStreet(True, -700.0)
    return (*found, *(PlantedSpot(town, 0, wild, "", -700.0, 0.0) for town in TOWNS[1::3]))


def houses(town: Town) -> list[Planted]:
    """All houses of a town."""
    return [thing for thing in planted(town.plan) if thing.kind == "building" and thing.corners]


def box(thing: Planted) -> tuple[tuple[float, float], tuple[float, float]]:
    """South-west and north-east corner of a thing."""
    xs, ys = zip(*(thing.corners or ()), strict=True)
    return (min(xs), min(ys)), (max(xs), max(ys))


def fronts(among: list[Planted], street: PlannedStreet, along: float) -> list[StreetWall]:
    """Walls on a street within reach of a place on it."""
    found = []
    for house in among:
        (x, y), (u, v) = box(house)
        lines, ends = ((x, u), (y, v)) if street.is_north else ((y, v), (x, u))
        first, last = max(ends[0], along - REACH_M), min(ends[1], along + REACH_M)
        if last - first < UNIT_M:
            continue
        if abs(lines[0] - (street.line + WALL_M)) < 0.1:
            found.append(StreetWall(1 if street.is_north else -1, first, last))
        if abs(lines[1] - (street.line - WALL_M)) < 0.1:
            found.append(StreetWall(-1 if street.is_north else 1, first, last))
    return sorted(found)
