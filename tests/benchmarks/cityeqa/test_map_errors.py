"""What a map does not know, planted: each refused with its reason, beside the same map without it."""

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
from tests.worlds.city.cities import ORIGIN, block, city, point, read, spot, write
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
        ({"amenity": "cafe", "name": "L'Étoile"}, {"amenity": "cafe", "name": "L’ETOILE"}, 8.0, True),
        ({"amenity": "cafe", "name": "Bar 1"}, {"amenity": "cafe", "name": "Bar 2"}, 8.0, False),
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
    ("one", "other", "away_m", "twice"),
    [
        ({"shop": "shoes", "name": "Alpha"}, {"shop": "toys", "name": "Beta"}, 1.9, True),  # one front
        ({"shop": "shoes", "name": "Alpha"}, {"shop": "toys", "name": "Beta"}, 2.1, False),
        ({"shop": "shoes", "name": "Alpha"}, {"shop": "shoes"}, 3.9, True),
        ({"shop": "shoes", "name": "Alpha"}, {"shop": "shoes"}, 4.1, False),
        ({"shop": "shoes", "name": "Alpha"}, {"shop": "toys"}, 3.9, False),
    ],
)
def test_two_points_of_one_front(
    one: dict[str, str], other: dict[str, str], away_m: float, twice: bool, tmp_path: Path
) -> None:
    town = Extract()
    town.way(100.0, 100.0, 40.0, 20.0, building="yes")
    own = {f"node/{town.node(x, 99.0, **tags)}" for x, tags in ((120.0, one), (120.0 + away_m, other))}
    doubts = {t.id: t.doubt for t in town.read(tmp_path).facts.things if t.kind == "shop"}
    assert {key for key, doubt in doubts.items() if doubt and "twice" in doubt} == (own if twice else set())


@pytest.mark.parametrize(
    ("tags", "by"),
    [
        ({"disused__shop": "bakery"}, "disused:shop=bakery"),
        ({"was__shop": "yes"}, "was:shop=yes"),
        ({"was__shop": "butcher"}, None),  # what was there before
        ({"opening_hours": "Mo-Su off"}, "opening_hours=Mo-Su off"),
        ({"opening_hours": "Mo-Fr 8:00-18:00; Sa,Su off"}, None),
        ({"operational_status": "closed"}, "operational_status=closed"),
        ({"name": "Bäcker Pfau (geschlossen)"}, "name=Bäcker Pfau (geschlossen)"),
        ({"name": "The Closed Book (Annex)"}, None),
    ],
)
def test_a_shop_that_may_be_closed_for_good(tags: dict[str, str], by: str | None, tmp_path: Path) -> None:
    town = Extract()
    town.way(100.0, 100.0, 40.0, 20.0, building="yes")
    town.node(120.0, 99.0, shop="bakery", **tags)
    found = town.read(tmp_path)
    (doubt,) = [t.doubt for t in found.facts.things if t.kind == "shop"]
    assert doubt == (f"whether it is there is not told: {by}" if by else None)
    assert ("perhaps_not_there" in {f.name for f in found.findings}) is (by is not None)


@pytest.mark.parametrize(
    ("tags", "hidden"),
    [
        ({"addr__floor": "2"}, "addr:floor=2"),
        ({"addr__floor": "1"}, None),
        ({"floor": "3"}, "floor=3"),
        ({"floor": "EG"}, None),
        ({"indoor": "shop"}, "indoor=shop"),
        ({"location": "rooftop"}, "location=rooftop"),
    ],
)
def test_a_shop_that_nobody_sees_from_the_street(tags: dict[str, str], hidden: str | None, tmp_path: Path) -> None:
    town = Extract()
    town.way(100.0, 100.0, 40.0, 20.0, building="yes")
    town.node(120.0, 99.0, shop="bakery", **tags)
    (doubt,) = [t.doubt for t in town.read(tmp_path).facts.things if t.kind == "shop"]
    assert doubt == (f"not visible from the street: {hidden}" if hidden else None)


@pytest.mark.parametrize(
    ("x", "y", "house", "street", "doubt"),
    [
        (
            137.1,
            102.0,
            "yes",
            None,
            "which of two walls it fronts is not told: they are 2.0 and 2.9 m away (limit: 1.5",
        ),
        (136.5, 102.0, "yes", None, None),  # 3.5 m, 1.75 times as far
        (139.0, 98.0, "yes", None, None),  # before the one alone
        (142.5, 98.0, "yes", None, "which of two walls it fronts is not told: they are 3.2 and 3.2 m away"),
        (120.0, 104.0, "mall", None, "whether it has a front of its own is not told: it is in a mall"),
        (120.0, 99.0, "mall", None, None),  # before its wall
        (120.0, 104.0, "yes", 106.0, "it may front a way through its building, 2.0 m away; the wall is 4.0 m away"),
        (120.0, 102.0, "yes", 106.0, None),
        (120.0, 99.0, "yes", 106.0, None),
    ],
)
def test_a_shop_whose_front_may_be_elsewhere(
    x: float, y: float, house: str, street: float | None, doubt: str | None, tmp_path: Path
) -> None:
    town = Extract()
    own = {"building": "yes", "shop": "mall"} if house == "mall" else {"building": house}
    town.way(100.0, 100.0, 40.0, 30.0, **own)
    if street is not None:
        town.way(80.0, street, 80.0, 0.0, highway="service", covered="yes")
    town.node(x, y, shop="bakery")
    (shop,) = [t for t in town.read(tmp_path).facts.things if t.noun == "bakery"]
    assert shop.facing_deg is not None
    assert (shop.doubt or "").startswith(doubt or "")
    assert (shop.doubt is None) is (doubt is None)


@pytest.mark.parametrize(
    ("other", "away_m", "twice"),
    [("bench", 2.9, True), ("bench", 3.1, False), ("waste_basket", 0.5, False)],
)
def test_a_bench_that_people_found_again(other: str, away_m: float, twice: bool, tmp_path: Path) -> None:
    """Counted, it would be two."""
    town = [spot("bench", 20.0, 20.0, id="mapped"), block(50.0, 50.0, 9.0, 9.0, id="house")]
    found = read(write(tmp_path, *town, objects=[spot(other, 20.0 + away_m, 20.0, id="added")]))
    doubted = {t.id for t in found.facts.things if t.doubt}
    assert doubted == ({"mapped", "added"} if twice else set())
    assert ("mapped_twice" in {f.name for f in found.findings}) is twice


@pytest.mark.parametrize(("kind", "away_m", "twice"), [("car", 0.8, True), ("car", 1.0, False), ("tree", 0.9, True)])
def test_two_of_a_survey_in_one_place(kind: str, away_m: float, twice: bool, tmp_path: Path) -> None:
    """Two bodies overlap by half: a car is 1.8 m wide."""
    own = [spot(kind, 20.0, 20.0, id="a"), spot("van" if kind == "car" else kind, 20.0 + away_m, 20.0, id="b")]
    found = read(write(tmp_path, block(50.0, 50.0, 9.0, 9.0, id="house"), objects=own))
    assert {t.id for t in found.facts.things if t.doubt} == ({"a", "b"} if twice else set())


@pytest.mark.parametrize(
    ("turn_deg", "wrong", "shops", "told"),
    [(0, 8, 8, None), (59, 8, 8, None), (61, 8, 8, 1.0), (180, 8, 8, 1.0), (180, 4, 8, None), (180, 5, 8, 0.625),
     (180, 7, 7, None)],
)  # fmt: skip
def test_shops_that_face_into_their_walls(
    turn_deg: int, wrong: int, shops: int, told: float | None, tmp_path: Path
) -> None:
    """A metre before the south walls of a row of houses: what most of them state is not used."""
    row = [block(20.0 + 15.0 * n, 60.0, 10.0, 10.0, id=f"house {n}") for n in range(shops)]
    south, facing = row[0]["geometry"]["coordinates"][0][0][1], [180 + turn_deg * (n < wrong) for n in range(shops)]
    signs = [spot("shop", 25.0 + 15.0 * n, 59.0, id=f"shop {n}", facing_deg=facing[n] % 360) for n in range(shops)]
    assert all(sign["geometry"]["coordinates"][1] < south for sign in signs)
    found = read(write(tmp_path, *row, objects=signs))
    doubts = [(f.measured, f.limit) for f in found.findings if f.name == "facings_into_walls"]
    faces = [thing.facing_deg for thing in found.facts.things if thing.kind == "shop"]
    assert doubts == ([(told, 0.5)] if told else [])
    assert faces == pytest.approx([180.0] * shops if told else [one % 360 for one in facing], abs=0.1)


@pytest.mark.parametrize(("shift_m", "measured"), [(0.0, None), (5.0, None), (12.0, 0.225)])
def test_streets_through_houses(shift_m: float, measured: float | None, tmp_path: Path) -> None:
    """Houses of 10 m every 40 m along a street, 6 m from its middle: one shifted by 12 m takes 90 m of 398."""
    town = Extract()
    for n in range(9):
        town.way(20.0 + 40.0 * n, 106.0 - shift_m, 10.0, 10.0, building="yes")
    town.way(0.5, 100.0, 398.0, 0.0, highway="residential")
    told = [f for f in town.read(tmp_path).findings if f.name == "layers_disagree"]
    assert [(f.measured, f.limit) for f in told] == ([(measured, 0.02)] if measured else [])


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
