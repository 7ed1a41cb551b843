"""A city as the tasks of CityEQA see it: its things by what they are called, what poses show, where agents can go."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.query import Query, RouteLimits
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.wording import BUSINESS, COLOURS, NO_BUSINESSES, SIGNBOARD, Phrase
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.groups import grouped
from pipeline.core.identity import digest
from pipeline.core.templates import load_table
from pipeline.drawing.fonts import has_letter
from pipeline.questions.gate import ShownScene
from pipeline.questions.rules import Measure, rule
from pipeline.reading.maps.city_thing import BUILDING, SHOP, SIZES, VEHICLES, CityThing
from pipeline.reading.maps.map_quality import MapCoverage
from pipeline.worlds.city.facts import City, CityScene
from pipeline.worlds.city.occluders import SPACE, Occluders, box_ring
from pipeline.worlds.city.paths import FreeSpace, Paths
from pipeline.worlds.city.visibility import CitySight

CORNERED: Final = frozenset({BUILDING, SHOP})  # of which one says that they are at a corner
# What tells what is asked of a shop.
UNTOLD: Final = {"name": ("name",), "sign": ("sign",)} | dict.fromkeys(("noun", "use"), ("noun", "name"))
_USE_LOTS: Final = 3  # times as often as any other part: two shops must differ in it
_DRAWN: Final = frozenset(name for name, trait in load_table("city/traits")["looks"].items() if trait.get("drawn"))
_HEIGHTS: Final = 2  # of which ways are kept, up to 150 MB each; tasks follow one another by height
GRID_M: Final = 4.0  # between places that are searched for starts, multiples of it east and north of the city's origin
_TILE: Final = 32  # places along the sides of a part of that grid
_TILES: Final = 256  # that are kept, up to 50 kB each
LETTERS_MIN: Final = 3  # of a name: with fewer it may be a number or an abbreviation


class CityView:
    """One city.

    Args:
        scene: of the world "city".
        rules: the limits.
    """

    def __init__(self, scene: CityScene, rules: CityRules) -> None:
        self.scene, self.rules = scene, rules
        self.city: City = scene.facts
        self.things: tuple[CityThing, ...] = self.city.things
        self.ways = lru_cache(maxsize=_HEIGHTS)(self._ways)
        self._open_of_tile = lru_cache(maxsize=_TILES)(self._open_tile)
        self._landmarks: dict[int, tuple[Phrase, ...]] = {}
        self._drawn: dict[str, list[int]] = {}
        self._maybe: dict[str, BoolArray] = {}
        self._called: dict[tuple[int, tuple[str, ...]], tuple[Phrase, ...]] = {}
        self.index = {thing.id: i for i, thing in enumerate(self.things)}

    @cached_property
    def shown(self) -> ShownScene:
        """The pictures that an agent takes in the city."""
        seen = dict.fromkeys(("kind", "look", "side", "nearness"), 0.0)
        return ShownScene("camera in the city", {**seen, "count": 1.0}, frozenset(self.city.complete))

    @cached_property
    def query(self) -> Query:
        """The map, to be asked where wordings lead."""
        rules = self.rules
        return Query(self.city, RouteLimits(rules.margin_deg, rules.first_reach_m, rules.next_reach_m))

    @cached_property
    def solids(self) -> Occluders:
        """All that blocks the view."""
        return Occluders(self.city)

    @cached_property
    def sight(self) -> CitySight:
        """Visibility of things from poses."""
        return CitySight(self.city, self.solids)

    @cached_property
    def free(self) -> FreeSpace:
        """Where the agent can be."""
        return FreeSpace(self.city, self.rules.body_m, self.solids)

    def _ways(self, z_m: float) -> Paths:
        """Shortest ways at a height. Kept for the last two."""
        return Paths(self.free.slab(z_m), self.rules.path_max_m)

    def is_open(self, poses: FloatArray) -> BoolArray:
        """Whether a body can be at places (n, 6), and no building is below it: the text says what lies about it."""
        out = self.free.free(poses[:, :3])
        points = shapely.points(poses[out, :2])
        place, thing = self.query.relations.tree.query(points, predicate="dwithin", distance=self.rules.body_m)
        out[np.flatnonzero(out)[place[self.query.is_building[thing]]]] = False
        return out

    def open_places(self, i: int, reach_m: float, z_m: float) -> FloatArray:
        """Open places (n, 6) of the grid of `GRID_M` about a thing at a height, and some beyond a reach."""
        side = _TILE * GRID_M
        low, high = (np.floor((self.centers[i] + far) / side).astype(int) for far in (-reach_m, reach_m))
        tiles = (low + tile for tile in np.ndindex(*(high - low + 1).tolist()))
        return np.concatenate([self._open_of_tile(*tile.tolist(), z_m) for tile in tiles])

    def _open_tile(self, column: int, row: int, z_m: float) -> FloatArray:
        at = np.arange(_TILE)
        poses = np.zeros((_TILE**2, 6))
        poses[:, 0] = np.repeat(at + column * _TILE, _TILE) * GRID_M
        poses[:, 1] = np.tile(at + row * _TILE, _TILE) * GRID_M
        poses[:, 2] = z_m
        return poses[self.is_open(poses)]

    @cached_property
    def centers(self) -> FloatArray:
        """(T, 2)."""
        return np.array([thing.center for thing in self.things], dtype=np.float64).reshape(-1, 2)

    @cached_property
    def solid_things(self) -> frozenset[int]:
        """Indices of the things that can be seen at all."""
        return frozenset(self.solids.thing[self.solids.sure].tolist())

    @cached_property
    def coverage(self) -> MapCoverage:
        """The share of things that the map has."""
        return MapCoverage(self.city.coverage, self.city.complete)

    @cached_property
    def errors_m(self) -> FloatArray:
        """(T,) how far each thing may stand from its place on the map."""
        return self.query.relations.error_m

    @cached_property
    def bodies_m(self) -> FloatArray:
        """(T,) from the centre of a thing that the map has as a point to its edge, at most; 0 for areas."""
        found = [0.0 if t.outline is not None or t.kind not in SIZES else float(np.hypot(*SIZES[t.kind][:2])) / 2
                 for t in self.things]  # fmt: skip
        return np.array(found, dtype=np.float64)

    @cached_property
    def footprints(self) -> np.ndarray:
        """(T,) shapely geometries of the ground that things cover; of vehicles as large as such usually are."""
        shapes = np.asarray(self.query.shapes).copy()
        for i, thing in enumerate(self.things):
            if thing.outline is None and thing.kind in (*VEHICLES, SPACE) and thing.facing_deg is not None:
                width_m, depth_m = SIZES[thing.kind][:2]
                shapes[i] = shapely.Polygon(box_ring(self.centers[i], width_m, depth_m, thing.facing_deg))
        return shapes

    def narrower(self, kind: str) -> tuple[Phrase, ...]:
        """What vehicles of a kind are called more narrowly, in alphabetical order."""
        nouns = {self.things[i].noun for i in self.of_kind(kind).tolist()} if kind in VEHICLES else set()
        return tuple(Phrase(noun) for noun in sorted(nouns - {kind}))

    def picked(self, things: Collection[int], asked: Phrase) -> tuple[tuple[int, ...], Measure]:
        """Those of some things that surely fit a phrase, and the rule that none of the others may."""
        own = np.array(things, dtype=np.intp)
        sure, maybe = self.query.fit(asked, own) if len(own) else np.zeros((2, 0), dtype=bool)
        unsure = int((maybe & ~sure).sum())
        if asked.colour is None:
            return tuple(own[sure].tolist()), rule("sort_unknown", unsure, "<=", 0, "things")
        return tuple(own[sure].tolist()), rule("colour_unknown", unsure, "<=", 0, "things")

    def of_kind(self, kind: str) -> IntArray:
        """Indices of the things of a kind of which nothing is in doubt."""
        return self._of_kind.get(kind, np.empty(0, dtype=np.intp))

    @cached_property
    def _of_kind(self) -> dict[str, IntArray]:
        sure = (i for i, thing in enumerate(self.things) if thing.doubt is None)
        by_kind = grouped(sure, lambda i: self.things[i].kind)
        return {kind: np.array(own, dtype=np.intp) for kind, own in by_kind.items()}

    def among(self, things: IntArray, kind: str) -> IntArray:
        """Those of some things that are of a kind and not in doubt."""
        is_kind = self._is_kind.get(kind)
        return things[:0] if is_kind is None else things[is_kind[things]]

    def unsure_among(self, things: IntArray, kind: str) -> IntArray:
        """Those of some things that may be of a kind too: what is in doubt, and what people may call so."""
        if kind not in self._maybe:
            maybe = self.query.fit(Phrase(kind), np.arange(len(self.things)))[1].copy()
            maybe[self.of_kind(kind)] = False
            self._maybe[kind] = maybe
        return things[self._maybe[kind][things]]

    @cached_property
    def _is_kind(self) -> dict[str, BoolArray]:
        found = {kind: np.zeros(len(self.things), dtype=bool) for kind in self._of_kind}
        for kind, own in self._of_kind.items():
            found[kind][own] = True
        return found

    def targets(self, *kinds: str) -> list[int]:
        """The things of some kinds that questions are made about, ascending: of a kind as many as are asked, drawn."""
        return sorted(i for kind in kinds for i in self._targets(kind))

    def _targets(self, kind: str) -> list[int]:
        if kind not in self._drawn:
            own, most = self.of_kind(kind).tolist(), self.rules.things_per_kind
            if len(own) > most:
                own = sorted(own, key=lambda i: digest("target", self.scene.id, self.things[i].id))[:most]
            self._drawn[kind] = own
        return self._drawn[kind]

    def left_out(self, kinds: Collection[str]) -> Iterator[tuple[str, Measure]]:
        """The kinds of which questions are made about some things alone, and of how many they are."""
        for kind in sorted(kinds):
            found = rule("things_are_drawn", len(self.of_kind(kind)), "<=", self.rules.things_per_kind, "things")
            if not found.holds:
                yield kind, found

    @property
    def kinds(self) -> frozenset[str]:
        """Of its things."""
        return frozenset(self._of_kind)

    def read(self, i: int) -> str | None:
        """The text that can be read on a thing: a name in letters that pictures of it show."""
        text = self.things[i].text or ""
        return text if sum(c.isalpha() for c in text) >= LETTERS_MIN and all(map(has_letter, text)) else None

    def distance_m(self, one: int, others: IntArray) -> FloatArray:
        """Distances (n,) between footprints."""
        shapes = self.query.shapes
        return np.asarray(shapely.distance(shapes[one], shapes[others]))

    def blocked(self, i: int, others: IntArray) -> IntArray:
        """How many buildings (n,) stand on the straight lines between a thing and others, but for those they are in."""
        shapes = self.query.shapes
        lines = shapely.shortest_line(shapes[i], shapes[others])
        line, hit = self.query.relations.tree.query(lines, predicate="intersects")
        ends = shapely.intersects(shapes[hit], shapes[i]) | shapely.intersects(shapes[hit], shapes[others[line]])
        between = self.query.is_building[hit] & ~ends
        return np.bincount(line[between], minlength=len(others))

    def around(self, i: int, reach_m: float) -> IntArray:
        """Indices of the other things within a reach of a thing, ascending."""
        near = self.query.near(i, reach_m)
        return near[near != i]

    def phrases(self, i: int, hide: Collection[str] = ()) -> tuple[Phrase, ...]:
        """The possible names of a thing, the plainest last, without the parts to be hidden.

        Args:
            i: its index.
            hide: any of "noun", "colour", "sign", "name".
        """
        key = (i, tuple(hide))
        if key not in self._called:
            self._called[key] = self._phrases(i, {*hide, *UNTOLD.get(self.asked_of(i), ())})
        return self._called[key]

    def is_business(self, i: int) -> bool:
        """Whether anybody would call a thing a business: a bakery or a bank, and no museum."""
        return self.things[i].kind == SHOP and self.things[i].noun not in NO_BUSINESSES

    def asked_of(self, i: int) -> str:
        """What of a shop is asked by lot and not told by texts about it: "name", "noun", "use", "sign" or, "", nothing.

        Otherwise its other questions would have the answers. Nothing is asked only where nothing can be.
        """
        thing = self.things[i]
        if thing.kind != SHOP:
            return ""
        signs = self.query.signs.get(thing.id)
        is_called = bool(signs or self.query.fronts.corner[i])  # also without its sort
        is_sorted = self.is_business(i) and thing.noun != SHOP
        lots: dict[str, int] = {"name": self.read(i) is not None, "sign": bool(signs), "noun": is_sorted and is_called}
        lots["use"] = is_sorted * (_USE_LOTS if is_called else 1)
        parts = [(part, str(n)) for part, most in lots.items() for n in range(most)]
        return min(parts, key=lambda lot: digest("asked", self.scene.id, thing.id, *lot), default=("",))[0]

    @cached_property
    def on_the_wall(self) -> FloatArray:
        """(T,): by how much a signboard stands out from its wall, as the largest difference of a channel, 0 to 255.

        Infinite: no signboard, or a board or wall whose colour is not known. Of colours without values those of the
        same word are the same.
        """
        apart = np.full(len(self.things), np.inf)
        for i in self.of_kind(SIGNBOARD).tolist():
            board, on = self.things[i], self.index.get(self.things[i].on or "")
            if on is None or board.colour is None:
                continue
            wall = self.things[on]
            if board.rgb is not None and wall.rgb is not None:
                apart[i] = np.abs(np.subtract(board.rgb, wall.rgb)).max()
            elif board.colour == wall.colour:
                apart[i] = 0.0
        return apart

    def stands_out(self, i: int) -> Measure:
        """Whether a signboard is told from the wall that it hangs on, so that its colour is seen."""
        return rule("colour_of_the_wall", float(self.on_the_wall[i]), ">=", self.rules.board_contrast_min, "levels")

    def pictured(self, trait: str) -> Measure:
        """Whether pictures show a trait: those that are drawn from a map show few."""
        shows = trait in _DRAWN or not self.rules.drawn_only
        return rule("trait_not_drawn", float(shows), ">=", 1, "kinds of pictures")

    def _phrases(self, i: int, hide: Collection[str]) -> tuple[Phrase, ...]:
        thing = self.things[i]
        noun = BUSINESS if "noun" in hide else thing.noun
        looks = BUSINESS if self.is_business(i) else noun  # of what it looks like from the street
        found = []
        name = self.read(i)
        signs = self.query.signs.get(thing.id, set())
        if name is not None and "name" not in hide and thing.kind != SIGNBOARD:
            found.append(Phrase(noun, name=name))
        boards = [self.index[board] for board in self.query.boards.get(thing.id, ())]
        if len(signs) == 1 and "sign" not in hide and all(self.stands_out(j).holds for j in boards):
            found.append(Phrase(looks, sign=next(iter(signs))))
        if thing.colour in COLOURS and "colour" not in hide and self.stands_out(i).holds:
            found.append(Phrase(looks, colour=thing.colour))
        if thing.kind in CORNERED and self.query.fronts.corner[i]:
            found.append(Phrase(looks, corner=True))
        found.append(Phrase(noun))
        return tuple(p for p in found if p.is_sayable)

    def unsorted_phrases(self, i: int) -> tuple[Phrase, ...]:
        """The possible names of premises without their sort: by signboard or corner, and never by their name.

        Who knows a chain, or reads "Planet Pasta", need not look.
        """
        return self.phrases(i, ("noun", "name"))

    def landmark_phrases(self, i: int) -> tuple[Phrase, ...]:
        """The possible names of a landmark: by its noun and colour; a building as a building too."""
        if i not in self._landmarks:
            self._landmarks[i] = self._landmark(i)
        return self._landmarks[i]

    def _landmark(self, i: int) -> tuple[Phrase, ...]:
        thing = self.things[i]
        found = {Phrase(BUILDING), Phrase(thing.noun)} if thing.kind == BUILDING else {Phrase(thing.noun)}
        if thing.colour in COLOURS:
            found |= {replace(phrase, colour=thing.colour) for phrase in found}
        if thing.kind in CORNERED and self.query.fronts.corner[i]:
            found |= {Phrase(noun, corner=True) for noun in {phrase.noun for phrase in found}}
        if thing.sign is not None and self.read(i):
            found.add(Phrase(thing.noun, name=thing.sign))
        return tuple(sorted((p for p in found if p.is_sayable), key=str))
