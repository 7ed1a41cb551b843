"""What a map does not know, planted: each refused with its reason, beside the same map without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pipeline.benchmarks.cityeqa.query import Query, RouteLimits
from pipeline.benchmarks.cityeqa.relations import Pairs
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.counting import gathered
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Phrase
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import City
from tests.benchmarks.cityeqa.test_refused import WALL, refusals, scene, shop
from tests.oracles.map_targets import OsmExtract, seconds
from tests.worlds.city.cities import ORIGIN, city, point
from tests.worlds.city.readers.test_osm import Extract

LIMITS = RouteLimits(10.0, 120.0, 60.0)
BESIDE = "shop beside a left b"


def fit(facts: City, noun: str) -> tuple[list[str], list[str]]:
    """Ids of what a noun surely means, and of what it may mean."""
    query = Query(facts, LIMITS)
    sure, maybe = query.fit(Phrase(noun), np.arange(len(facts.things)))
    return tuple(sorted(np.array([t.id for t in facts.things])[m].tolist()) for m in (sure, maybe))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("tags", "noun", "may"),
    [
        ({"building": "yes", "shop": "supermarket"}, "shop", True),  # a shop as a whole
        ({"building": "yes", "shop": "supermarket"}, "bakery", False),
        ({"building": "yes"}, "shop", False),
        ({"building": "yes", "amenity": "pub"}, "restaurant", True),  # people say either
        ({"building": "yes", "tourism": "museum"}, "shop", True),
    ],
)
def test_a_building_that_is_a_shop_as_a_whole_may_be_the_shop(
    tags: dict[str, str], noun: str, may: bool, tmp_path: Path
) -> None:
    town = Extract()
    house_id, node = town.way(100, 100, 20, 20, **tags), town.node(300, 300, shop="bakery")
    sure, maybe = fit(town.read(tmp_path).facts, noun)
    assert (f"way/{house_id}" in maybe) is may
    assert f"way/{house_id}" not in sure
    assert (f"node/{node}" in sure) is (noun != "restaurant")


def test_what_nobody_may_see_or_call_a_shop_is_asked_nothing_and_may_be_meant(tmp_path: Path) -> None:
    town = Extract()
    town.way(180, 180, 20, 20, building="yes")
    own = {
        town.node(100, 100, office="lawyer"): "whether one would call it a shop is not told: office=lawyer",
        town.node(110, 100, shop="vacant"): "whether one would call it a shop is not told: shop=vacant",
        town.node(120, 100, shop="shoes", level="1"): "not visible from the street: level=1",
        town.node(130, 100, shop="shoes", level="0"): None,
        town.node(140, 100, shop="shoes", indoor="yes"): "not visible from the street: indoor=yes",
        town.node(150, 100, amenity="cafe;bar"): "whether one would call it a shop is not told: amenity=cafe;bar",
        town.node(160, 100, man_made="mast"): "whether one would call it a tower is not told: man_made=mast",
    }
    lot = town.way(300, 300, 20, 20, amenity="parking", parking="underground")
    facts = town.read(tmp_path).facts
    doubts = {t.id: t.doubt for t in facts.things}
    assert {f"node/{key}": why for key, why in own.items()} == {k: v for k, v in doubts.items() if k.startswith("node")}
    assert doubts[f"way/{lot}"] == "not visible from the street: parking=underground"
    sure, maybe = fit(facts, "shop")
    assert (len(sure), len(maybe)) == (1, 6)
    assert [len(fit(facts, noun)[1]) for noun in ("bar", "bakery", "tower")] == [1, 1, 1]


def test_two_at_one_address_have_no_left_and_right() -> None:
    """4 m apart they are two fronts; with errors of 0.6 m each 5 m are not enough, and 5.2 are."""
    for x, error, measured in ((46.05, 0.0, 3.95), (45.95, 0.0, None), (45.0, 0.6, 3.8), (44.75, 0.6, None)):
        at = [shop("a", 50.0, "ALPHA", error_m=error), shop("b", x, "BETA", error_m=error), shop("c", 75.0, "GAMMA")]
        found = refusals(city(WALL, *at, complete=("shop",)), "Spatial Reasoning", "too_near_to_order")
        assert {row for row in found if row[0] == BESIDE} == ({(BESIDE, measured, 4.0)} if measured else set())


def test_a_front_with_room_for_a_shop_that_nobody_mapped() -> None:
    """8.2 m apart 4.2 are free between two fronts: a third may be missing, unless the map has all shops."""
    for x, complete, measured in ((41.8, (), 4.2), (42.2, (), None), (41.8, ("shop",), None)):
        at = [shop("a", 50.0, "ALPHA"), shop("b", x, "BETA"), shop("c", 75.0, "GAMMA")]
        found = refusals(city(WALL, *at, complete=complete), "Spatial Reasoning", "room_for_another")
        assert {row for row in found if row[0] == BESIDE} == ({(BESIDE, measured, 4.0)} if measured else set())


def test_a_shop_of_unknown_place_may_stand_between() -> None:
    """The next is 7 m away: what is mapped at 10 m may be nearer where its own place is sure to 3 m only."""
    office = {"doubt": "an office?"}
    for x, facts, broken in (
        (47.0, office, True), (47.0, {"facing_deg": None}, True), (47.0, {"y": 20.0}, False), (40.0, office, False),
        (40.0, {**office, "error_m": 2.9}, False), (40.0, {**office, "error_m": 3.1}, True),
    ):  # fmt: skip
        between = shop("m", x, **facts)
        at = [shop("a", 50.0, "ALPHA"), shop("b", 43.0, "BETA"), shop("c", 75.0, "GAMMA")]
        found = refusals(city(WALL, *at, between), "Spatial Reasoning", "others_of_unknown_place")
        assert ((BESIDE, 1.0, 0.0) in found) is broken


@pytest.mark.parametrize(
    ("pub", "other", "away_m", "twice"),
    [
        ({"amenity": "pub"}, {"amenity": "restaurant"}, 8.0, True),  # a node, and an area off it
        ({"amenity": "pub"}, {"amenity": "restaurant"}, 16.0, False),
        ({"amenity": "pub"}, {"amenity": "bank"}, 8.0, False),
        ({"amenity": "pub", "name": "Red Lion"}, {"amenity": "restaurant", "name": "Red Lion Inn"}, 8.0, True),
        ({"amenity": "pub", "name": "Red Lion"}, {"amenity": "restaurant", "name": "Da Mario"}, 8.0, False),
    ],
)
def test_one_place_that_is_mapped_twice(
    pub: dict[str, str], other: dict[str, str], away_m: float, twice: bool, tmp_path: Path
) -> None:
    town = Extract()
    node, area = town.node(20.0, 15.0, **pub), town.way(20.0 + away_m, 10.0, 10.0, 10.0, building="yes", **other)
    found = town.read(tmp_path)
    doubt = f"the map may have it twice: as way/{area} too" if twice else None
    assert {t.id: t.doubt for t in found.facts.things} == {f"node/{node}": doubt, f"way/{area}": None}
    assert ("mapped_twice" in {f.name for f in found.findings}) is twice


@pytest.mark.parametrize(
    ("bearing_deg", "error_m", "sure", "maybe"),
    [
        (4.0, 10.0, True, True),  # asin(10 / 20) = 30 degrees: 34 of 35
        (6.0, 10.0, False, True),
        (84.0, 10.0, False, True),  # 54 of 55
        (86.0, 10.0, False, False),
        (86.0, 20.0, False, True),  # anywhere about it
    ],
)
def test_a_bearing_under_the_error_of_the_map(bearing_deg: float, error_m: float, sure: bool, maybe: bool) -> None:
    one = np.zeros(1, dtype=np.intp)
    pairs = Pairs(one, one, np.array([20.0]), np.array([bearing_deg]), np.array([error_m]))
    found = pairs.holds(0, 10.0, 60.0)
    assert (bool(found[0][0]), bool(found[1][0])) == (sure, maybe)


def test_which_is_nearer_under_the_error_of_the_map() -> None:
    """14.2 m against 10 is 1.42 times as far; with an error of a metre each, 12.2 / 12."""

    def town(error: float) -> City:
        own = [point("s", "statue", 50.0, 30.0, error_m=error), point("k", "kiosk", 60.0, 30.0, error_m=error)]
        return city(*own, point("f", "fountain", 35.8, 30.0, error_m=error))

    assert not refusals(town(0.0), "Spatial Reasoning", "as_near")
    assert ("nearer s f k", 1.017, 1.4) in refusals(town(1.0), "Spatial Reasoning", "as_near")


def counted(*cars: CityThing) -> tuple[Sequence[str], Sequence[float]]:
    facts = city(point("f", "fountain", 50.0, 50.0), *cars, complete=("car",))
    view = CityView(scene(facts), CityRules(near_m=(20,)))
    (found,) = gathered(view)
    edge = next(c for c in found.checks if c.name == "on_the_edge")
    return [view.things[i].id for i in found.things], [edge.value]


def test_a_count_is_one_by_edges_and_by_centres() -> None:
    """Half a fountain is 2.12 m, half a car 2.38: one at 21 to 26 m is nearer than 20 by edges, or nearly so."""
    assert counted(point("c", "car", 68.4, 50.0)) == (["c"], [0.0])  # 18.4 from centre to centre, margin 1.5
    assert counted(point("c", "car", 68.6, 50.0)) == ([], [1.0])
    assert counted(point("c", "car", 75.9, 50.0)) == ([], [1.0])  # 25.9 - 4.5 = 21.4
    assert counted(point("c", "car", 76.1, 50.0)) == ([], [0.0])


def test_the_oracle_of_maps_sees_a_second_target(tmp_path: Path) -> None:
    """Without anything of ours: one node, or a supermarket that is a building beside it."""
    asked = "There is a shop to the north of you. Please tell me What kind of shop is the shop?"
    row = {"question_id": 1, "question": asked, "initial_pose": [100.0, 100.0, 5.0, 0.0, 0.0, 0.0]}
    for second, times, found in ((False, 1.5, 0), (True, 1.0, 0), (True, 1.5, 1)):
        town = Extract()
        node = town.node(100, 180, shop="bakery")
        if second:
            town.way(90, 250, 20, 20, building="yes", shop="supermarket")  # 150 m off
        path = tmp_path / f"{second}{times}.osm"
        path.write_text(town.text(), encoding="utf-8")
        extract = OsmExtract(str(path), ORIGIN.lat_deg, ORIGIN.lon_deg)
        assert len(seconds(extract, [row | {"group": f"here/node/{node}"}], times)) == found
