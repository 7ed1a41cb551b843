"""What a map tells of a thing, its look and its place, and from which of its words; nothing that it does not tell."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.findings import Findings
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.maps.appearance import look_of, rgb_of, rise_of
from pipeline.reading.maps.checks import apart, on_the_map, plausible, report_heights, report_layers, unique, within
from pipeline.reading.maps.city_thing import CityThing, KindCoverage
from pipeline.reading.maps.feature import Feature, MapBounds, PlacedFeature
from pipeline.reading.maps.map_quality import (
    MapCoverage,
    coverage_of,
    front_gaps_m,
    once,
    one_in_a_place,
    report_quality,
    with_errors,
)
from pipeline.reading.maps.osm import read_osm
from pipeline.reading.maps.things import _doubt_of_front, _Wall, on_facades, things_of, with_parts
from tests.conftest import REAL_DATA
from tests.worlds.city.cities import ORIGIN, house, lon_lat, point

SQUARE = np.array([[0.0, 0.0], [0.0, 1e-4], [1e-4, 1e-4], [1e-4, 0.0]])


def feature(solid: bool = True, point: bool = False, height: float = np.nan, **tags: str) -> Feature:
    named = {key.replace("__", ":"): value for key, value in tags.items()}
    return Feature((SQUARE[:1] if point else SQUARE,), None, None, solid, height, tags=named)


def test_colours_as_maps_write_them() -> None:
    assert [rgb_of(t) for t in ("#b22222", "#B22", " Dark Red ", "light_grey", "dimgray")] == [
        (178, 34, 34),
        (187, 34, 34),
        (139, 0, 0),
        (211, 211, 211),
        (105, 105, 105),
    ]
    assert rgb_of("darkred") == rgb_of("darkred"), "the library keeps what it has looked up, in another form"
    assert [rgb_of(t) for t in ("", "#12345", "reddish", "rgb(1,2,3)", "#gg0000", "٣")] == [None] * 6


@pytest.mark.parametrize(
    ("tags", "noun", "source"),
    [
        ({"building": "yes"}, "building", "building=yes"),
        ({"building": "chapel"}, "church", "building=chapel"),
        ({"building": "yes", "man_made": "water_tower"}, "tower", "man_made=water_tower"),
        ({"building": "yes", "amenity": "parking"}, "building", "building=yes"),
        ({"leisure": "park"}, "park", "leisure=park"),
        ({"natural": "water"}, "body of water", "natural=water"),
        (
            {"building": "yes", "amenity": "place_of_worship", "religion": "christian"},
            "church",
            "amenity=place_of_worship, religion=christian",
        ),
    ],
)
def test_nouns(tags: dict[str, str], noun: str, source: str) -> None:
    look = look_of(feature(solid="building" in tags, **tags))
    assert (look.noun, look.source_tags) == (noun, {"noun": source})
    assert (look.walls, look.roof, look.roof_shape, look.height_m, look.sign) == (None,) * 5


@pytest.mark.parametrize("tags", [{"shop": "bakery"}, {"tourism": "artwork"}, {"historic": "memorial"}, {}])
def test_what_nobody_sees_has_no_look(tags: dict[str, str]) -> None:
    assert look_of(feature(solid=False, point=True, **tags)) is None
    assert look_of(feature(solid=False, **tags)) is None


def test_a_point_is_seen_where_it_is_slim() -> None:
    seen = look_of(feature(solid=False, point=True, historic="monument"))
    assert seen is not None
    park = feature(solid=False, point=True, leisure="park")
    assert look_of(park) is None
    assert look_of(park, of_unknown_extent=True).noun == "park"


def test_what_lies_underground_or_indoors_is_not_seen() -> None:
    assert look_of(feature(solid=False, amenity="parking")).noun == "car park"
    assert look_of(feature(solid=False, amenity="parking", parking="surface")).noun == "car park"
    for hidden in ({"parking": "underground"}, {"location": "underground"}, {"indoor": "yes"}):
        assert look_of(feature(solid=False, amenity="parking", **hidden), of_unknown_extent=True) is None


def test_all_that_is_told_with_its_source() -> None:
    told = {"building": "yes", "building__colour": "red", "roof__colour": "#303030", "roof__shape": "gabled"}
    look = look_of(feature(**told, building__levels="4"))
    assert (look.walls, look.roof, look.roof_shape, look.height_m) == ((255, 0, 0), (48, 48, 48), "pitched", (10, 25))
    assert look.source_tags == {
        "noun": "building=yes",
        "walls": "building:colour=red",
        "roof": "roof:colour=#303030",
        "roof_shape": "roof:shape=gabled",
        "height_m": "building:levels=4",
    }
    measured = look_of(feature(height=12.5, **told, building__levels="4", height__="x"))
    assert measured.height_m == (12.5, 12.5)
    whole = look_of(feature(kind="building", colour="white", sign=" GRAND\n HOTEL "))
    assert (whole.walls, whole.roof, whole.sign) == ((255, 255, 255), (255, 255, 255), "GRAND HOTEL")


@pytest.mark.parametrize(
    "tags",
    [
        {"building__colour": "salmonish"},
        {"roof__shape": "many"},
        {"building__levels": "3;4"},
        {"building__levels": "0"},
        {"building__levels": "999"},
        {"sign": 'say "no"'},
        {"sign": "x" * 61},
    ],
)
def test_what_cannot_be_read_is_not_told(tags: dict[str, Any]) -> None:
    look = look_of(feature(building="yes", **tags))
    assert (look.walls, look.roof_shape, look.height_m, look.sign) == (None,) * 4


@pytest.mark.real_data
def test_the_real_column_has_its_colours() -> None:
    """Berlin's column of victory: parts with colours and heights."""
    folder = REAL_DATA / "city"
    files = SceneFiles(Path(folder), SceneRef("flights/a", (".",), ""))
    box = MapBounds(52.5145, 13.3501, 0.01, 0.02)
    found = read_osm(files, folder / "berlin-siegessaeule.osm.gz", box, Findings())
    looks = [look for one in found if (look := look_of(one)) is not None]
    assert len(looks) >= 5
    assert all(f"{look.source_tags['noun']}" for look in looks)


# ---- the things of a city, by their metres


def placed(*points: tuple[float, float], solid: bool = False, height: float = np.nan, **tags: str) -> Feature:
    named = {key.replace("__", ":"): value for key, value in tags.items() if key not in {"id", "name"}}
    ring = np.array(lon_lat(*points))[:, ::-1]
    return Feature((ring,), tags.get("name"), None, solid, height, tags=named, id=tags.get("id", ""))


def corners(x: float, y: float, w: float, d: float) -> tuple[tuple[float, float], ...]:
    return (x, y), (x + w, y), (x + w, y + d), (x, y + d)


def test_all_that_is_told_of_the_things_of_a_map() -> None:
    garages = placed(*corners(60, 60, 4, 4), solid=True, id="relation/2", building="garage")
    upper = placed(*corners(60, 70, 4, 4))
    features = [
        placed(
            *corners(10, 20, 12, 8)[::-1], (10, 28), solid=True, height=9.504, name="Town\nHall", id="way/1",
            building="yes", building__levels="3", building__colour="#b22222", roof__shape="gabled", type="multipolygon",
        ),
        placed(
            *corners(40, 20, 12, 8), solid=True, id=" way  3", building="church", colour="red", roof__colour="black"
        ),
        placed(
            *corners(80, 20, 12, 8), solid=True, id="way/4", building="yes", amenity="place_of_worship",
            religion="christian", model__levels="2",
        ),
        placed((1, 2), height=66.9, name="David", id="node/1", tourism="artwork", artwork_type="statue",
               min_height="58.6"),
        placed((3, 2), id="node/2", name="<b>", shop="bakery", level="1"),
        placed((5, 2), id="node/3", shop="bakery;books"),
        placed((7, 2), id="node/4", historic="memorial"),
        placed((9, 2), id="node/5", highway="bus_stop", bench="yes", shelter="no"),
        placed((11, 2), id="node/6", highway="bus_stop", public_transport="stop_position"),
        placed((13, 2), id="c", kind="car", colour="blue", facing_deg="450", sign="TAXI", noun="cab"),
        placed((15, 2), id="node/7", shop="vacant"),
        placed(*corners(150, 20, 4, 4), id="b", kind="Building", levels="1", facing_deg="nan"),
        placed(*corners(150, 40, 4, 4), solid=True, id="s", shop="bakery", building="yes", building__levels="200.5"),
        placed((17, 2), id="node/8", shop="candles", location="underground", on="way/1"),
        placed((0, 0), (9, 9), (9, 0), (0, 9), id="bow", leisure="park"),
        placed((21, 2), id="node/10", shop="bakery", amenity="cafe", level="0.0"),
        Feature(garages.outlines + upper.outlines, None, None, True, tags=garages.tags, id=garages.id),
        placed(*corners(100, 20, 30, 8), id="way/9", highway="bus_stop"),
        placed(*corners(100, 60, 30, 8), id="way/10", leisure="park"),
        placed((200, 0), (203, 0), (200, 4), id="way/11", highway="pedestrian", area="yes"),
        placed(
            (200, 50), (206, 50), (200, 58), id="way/12", leisure="playground", surface="sett", material="wood"
        ),
    ]  # fmt: skip
    findings = Findings()
    found = things_of(PlacedFeature(features, ORIGIN, 0.0), "map", findings)
    shop, building = {"kind": "shop", "noun": "shop"}, {"kind": "building", "noun": "building"}
    assert [thing.model_dump(exclude_defaults=True) for thing in found] == [
        {"id": "way/1", **building, "name": "Town Hall", "colour": "red", "rgb": (178, 34, 34), "roof_shape": "pitched",
         "height_m": 9.5, "top_m": 9.5, "levels": 3.0, "center": (16.0, 24.0), "radius_m": 7.21,
         "outline": ((10.0, 28.0), (10.0, 20.0), (22.0, 20.0), (22.0, 28.0)),
         "source_tags": {"noun": "building=yes", "colour": "building:colour=#b22222",
                         "roof_shape": "roof:shape=gabled"}},
        {"id": "way 3", "kind": "building", "noun": "church", "colour": "red", "roof_colour": "black",
         "rgb": (255, 0, 0), "roof_rgb": (0, 0, 0), "center": (46.0, 24.0), "radius_m": 7.21,
         "outline": corners(40.0, 20.0, 12.0, 8.0),
         "source_tags": {"noun": "building=church", "colour": "colour=red", "roof_colour": "roof:colour=black"}},
        {"id": "way/4", "kind": "building", "noun": "church", "levels": 2.0, "center": (86.0, 24.0), "radius_m": 7.21,
         "outline": corners(80.0, 20.0, 12.0, 8.0),
         "source_tags": {"noun": "amenity=place_of_worship, religion=christian"}},
        {"id": "node/1", "kind": "statue", "noun": "statue", "also": ("sculpture",), "name": "David", "height_m": 8.3,
         "base_m": 58.6, "top_m": 66.9, "center": (1.0, 2.0), "radius_m": 0.0,
         "source_tags": {"noun": "tourism=artwork, artwork_type=statue"}},
        {"id": "node/2", "kind": "shop", "noun": "bakery", "center": (3.0, 2.0), "radius_m": 0.0,
         "doubt": "not visible from the street: level=1", "source_tags": {"noun": "shop=bakery"}},
        {"id": "node/3", **shop, "also": ("bakery", "bookshop"), "center": (5.0, 2.0), "radius_m": 0.0,
         "doubt": "whether one would call it a shop is not told: shop=bakery;books",
         "source_tags": {"noun": "shop=bakery;books"}},
        {"id": "node/4", "kind": "statue", "noun": "memorial", "center": (7.0, 2.0), "radius_m": 0.0,
         "doubt": "what it looks like is not told: historic=memorial", "source_tags": {"noun": "historic=memorial"}},
        {"id": "node/5", "kind": "bus stop", "noun": "bus stop", "traits": {"shelter": "no", "bench": "yes"},
         "center": (9.0, 2.0), "radius_m": 0.0, "source_tags": {"noun": "highway=bus_stop"}},
        {"id": "c", "kind": "car", "noun": "cab", "sign": "TAXI", "colour": "blue", "rgb": (0, 0, 255),
         "center": (13.0, 2.0), "radius_m": 0.0, "facing_deg": 90.0,
         "source_tags": {"noun": "kind=car", "colour": "colour=blue"}},
        {"id": "node/7", "kind": "shop", "noun": "vacant shop", "center": (15.0, 2.0), "radius_m": 0.0,
         "doubt": "whether one would call it a shop is not told: shop=vacant", "source_tags": {"noun": "shop=vacant"}},
        {"id": "b", **building, "levels": 1.0, "center": (152.0, 22.0), "radius_m": 2.83,
         "outline": corners(150.0, 20.0, 4.0, 4.0), "source_tags": {"noun": "kind=Building"}},
        {"id": "s", "kind": "building", "noun": "bakery", "also": ("shop",), "center": (152.0, 42.0),
         "radius_m": 2.83, "outline": corners(150.0, 40.0, 4.0, 4.0), "source_tags": {"noun": "shop=bakery"}},
        {"id": "node/8", **shop, "center": (17.0, 2.0), "radius_m": 0.0, "on": "way/1",
         "doubt": "not visible from the street: location=underground", "source_tags": {"noun": "shop=candles"}},
        {"id": "node/10", "kind": "shop", "noun": "bakery", "also": ("café",), "center": (21.0, 2.0), "radius_m": 0.0,
         "source_tags": {"noun": "shop=bakery"}},
        *({"id": f"relation/2#{n}", **building, "center": (62.0, y + 2), "radius_m": 2.83,
           "outline": corners(60.0, y, 4.0, 4.0), "source_tags": {"noun": "building=garage"}}
          for n, y in ((1, 60.0), (2, 70.0))),
        {"id": "way/10", "kind": "park", "noun": "park", "center": (115.0, 64.0), "radius_m": 15.52,
         "outline": corners(100.0, 60.0, 30.0, 8.0), "source_tags": {"noun": "leisure=park"}},
        {"id": "way/12", "kind": "playground", "noun": "playground", "center": (203.0, 54.0), "radius_m": 5.0,
         "outline": ((200.0, 50.0), (206.0, 50.0), (200.0, 58.0)), "traits": {"surface": "cobblestones"},
         "source_tags": {"noun": "leisure=playground"}},
    ]  # fmt: skip
    assert [(one.name, one.severity, one.measured, one.message) for one in findings.items] == [
        ("unusable_outline", "doubt", 1,
         "map: 1 outlines, to the centimetre, have no area or cross themselves: bow"),
        ("unspeakable_name", "doubt", 1,
         "map: 1 names that are broken or none, have markup, or are over 80 characters: '<b>'"),
        ("name_of_several_lines", "note", 1, "map: 1 names of several lines, each taken as one: 'Town\\nHall'"),
    ]  # fmt: skip


def test_what_can_be_read_on_a_thing_and_what_a_shop_shows() -> None:
    told = {
        ("shop", "bakery", "Crumb", None): ("Crumb", "bakery"), ("shop", "shop", "Crumb", "BREAD"): ("BREAD", None),
        ("statue", "statue", "David", None): (None, None), ("car", "cab", None, "TAXI"): ("TAXI", None),
    }  # fmt: skip
    for (kind, noun, name, sign), shown in told.items():
        thing = point("a", kind, 0, 0, noun=noun).model_copy(update={"name": name, "sign": sign})
        assert (thing.text, thing.type_shown) == shown


def test_how_high_a_thing_may_be() -> None:
    """By its storeys and a roof, or else by its kind; a house of a kind that is not known by that of all houses."""
    made = [
        feature(building="yes", building__levels="1"), feature(building="yes", building__levels="1.5"),
        feature(building="yes", height__="x", height=7.5), feature(building="garage"), feature(building="Garage"),
        feature(building="yes"), feature(building="church"), feature(leisure="park", solid=False),
    ]  # fmt: skip
    rises = [rise_of(one, look_of(one)) for one in made]
    assert rises[:3] == [(2.5, 10.0), (3.75, 12.5), (7.5, 7.5)]
    assert rises[3] == rises[4] != rises[5] == rise_of(feature(), None)
    assert rises[6] != rises[5]
    assert all(low <= high for low, high in rises)


def test_the_height_of_a_building_is_that_of_its_highest_part() -> None:
    parts = [
        placed(*corners(15, 15, 10, 10), height=58.594, building__part="yes"),
        placed(*corners(12, 12, 2, 2), height=3.0, building__part="yes"),
        placed(*corners(55, 15, 5, 5), height=30.0, building__part="yes"),
        placed(*corners(65, 15, 5, 5), building__part="yes"),
        placed(*corners(95, 15, 5, 5), height=40.0, building__part="yes"),
        placed(*corners(135, 15, 5, 5), height=50.0, solid=True, building__part="yes"),  # a building of its own
    ]
    tall = house("tall", 10, 10, 40, 40, 9.2, base_m=1.0)
    names = {"untold": 50, "told": 90, "none": 130}
    things = [tall, *(house(name, x, 10, 40, 40, None) for name, x in names.items()), point("shop", "shop", 15, 15)]
    found = with_parts(things, PlacedFeature(parts, ORIGIN, 0.0))
    assert [(one.height_m, one.top_m, one.parts, one.source_tags) for one in found] == [
        (58.59, 59.59, 2, {"height": "the highest of 2 parts"}),
        (None, None, tall.parts, {}),  # a part of unknown height may be higher
        (40.0, 40.0, 1, {"height": "the highest of 1 parts"}),
        (None, None, tall.parts, {}),
        (None, None, tall.parts, {}),
    ]
    assert with_parts(things, PlacedFeature(parts[-1:], ORIGIN, 0.0)) == things


def test_a_shop_fronts_the_nearest_wall_that_stands_free() -> None:
    """Two houses share a wall; one is a pillar of 90 cm; in a hall all walls are 10 m away."""
    walls = [
        house("a", 10, 20, 12, 8),
        house("b", 22, 20, 10, 8),
        house("p", 50, 20, 0.9, 8),
        house("h", 70, 0, 20, 20),
    ]
    places = {
        "south": (16, 18), "party": (21, 24), "edge": (12, 15), "far": (12, 14.99), "pillar": (50.45, 19),
        "hall": (80, 10), "west": (9, 25),
    }  # fmt: skip
    shops = [point(name, "shop", *at) for name, at in places.items()]
    declared, car = point("own", "shop", 16, 18, facing_deg=45.0), point("car", "car", 16, 18)
    found = on_facades([*walls, *shops, declared, car])
    assert found[:4] == walls
    assert found[-2:] == [declared, car]
    assert [(one.on, one.facing_deg, one.center, one.error_m) for one in found[4:-2]] == [
        ("a", 180.0, (16.0, 19.85), 2.0),
        ("a", 180.0, (21.0, 19.85), 4.0),
        ("a", 180.0, (12.0, 19.85), 5.0),
        (None, None, (12.0, 14.99), 0.0),
        ("p", 90.0, (51.05, 20.0), 1.1),
        ("h", None, (80.0, 10.0), 0.0),
        ("a", 270.0, (9.85, 25.0), 1.0),
    ]
    assert found[4].source_tags == {"facing_deg": "the nearest free wall of a, 2.0 m away"}


# ---- what is wrong with a map, and what it does not know


def told(findings: Findings) -> list[tuple[Any, ...]]:
    return [(one.name, one.severity, one.measured, one.limit, one.message.partition(": ")[2]) for one in findings.items]


def test_what_is_wrong_with_the_things_of_a_map() -> None:
    findings = Findings()
    one, two = point("c", "car", 1, 1), point("c", "car", 2, 2)
    twice = [point("d", "bench", 3, 3)] * 2
    assert unique([one, two, *twice], "map", findings) == twice[:1]
    bounds = corners(0.0, 0.0, 100.0, 100.0)
    objects = [point("in", "car", 5, 5), point("at", "car", 150, 5), point("off", "car", 150.1, 5)]
    assert on_the_map(objects, bounds, "map", findings) == objects[:2]
    assert on_the_map([], bounds, "map", findings) == []
    cut = house("cut", 90, 0, 20, 5)
    assert within([cut, *objects], bounds, "map", findings) == [cut, objects[0]]
    assert told(findings) == [
        ("duplicate_id", "doubt", 1, 0,
         "1 of 4 things have an id that another thing has too, and were left out: c"),
        ("off_the_map", "doubt", 1, 0, "1 of 3 objects lie over 50 m off the map, and were left out: off"),
        ("beyond_the_map", "note", 2, 0, "2 of 4 things lie beyond the map's border: at, off"),
    ]  # fmt: skip


def test_heights_in_feet_storeys_or_centimetres_are_not_believed() -> None:
    """1.5 to 8 m a storey; a car is at most 12 m high, eight times what is usual."""
    heights = {"a": (30.0, 10), "b": (80.0, 10), "c": (80.1, 10), "d": (15.0, 10), "e": (14.9, 10), "f": (500.0, None)}
    things = [house(name, 0, 0, 5, 5, height, levels=levels) for name, (height, levels) in heights.items()]
    things += [point(f"{height}", "car", 0, 0, height_m=height) for height in (12.0, 12.1)]
    findings = Findings()
    found = plausible([*things, house("bare", 0, 0, 5, 5, None, levels=3)], "map", findings)
    assert [one.id for one in found if one.height_m is None and one.top_m is None] == ["c", "e", "12.1", "bare"]
    assert told(findings) == [
        ("implausible_height", "doubt", 2, 0,
         "2 of 9 things have a height that is not 1.5 to 8 m per storey; it was taken as unknown: c, e"),
        ("implausible_height", "doubt", 1, 0,
         "1 of 9 things are over 8 times as high as is usual for their kind; it was taken as unknown: 12.1"),
    ]  # fmt: skip


def test_how_much_is_known_of_the_heights_of_a_map() -> None:
    """A slope of 9 m is told by what nine tenths of the feet are within: 0.9 of 5.5 are less than 5, of 5.6 more."""
    for most, slopes in ((5.5, False), (5.6, True)):
        findings = Findings()
        feet = [house(f"h{n}", 0, 0, 5, 5, base_m=most * n / 4) for n in range(5)]
        report_heights([*feet, house("bare", 0, 0, 5, 5, None), point("p", "shop", 0, 0)], "map", findings)
        names = ["ground_not_flat"] * slopes + ["heights_unknown"]
        assert [one.name for one in findings.items] == names
        assert told(findings)[-1][2:] == (1, 0, "1 of 6 buildings have no height: bare")
        assert [one.measured for one in findings.items[:-1]] == [pytest.approx(0.9 * 5.6)] * slopes
    report_heights([point("p", "shop", 0, 0)], "map", findings := Findings())
    assert findings.items == []


def test_buildings_given_twice_and_those_that_stand_in_one_another() -> None:
    """The third repeats the second by nine tenths, which is left out as it repeats the first; that takes none along."""
    first, second, third = (house(*at) for at in (
        ("first", 10, 10, 20, 20), ("second", 10, 10.95, 20, 19.9), ("third", 10, 12.5, 20, 19.8)
    ))  # fmt: skip
    alone, tenth, over = house("t", 50, 0, 20, 20), house("at", 69, 0, 10, 10), house("over", 49, 10.1, 2, 2)
    tower, lot = point("x", "tower", 15, 15), house("s", 10, 10, 5, 5).model_copy(update={"kind": "parking"})
    findings = Findings()
    found = apart([second, third, tower, first, over, alone, tenth, lot], "map", findings)
    assert {one.id: one.doubt for one in found} == {
        "third": "its footprint overlaps first", "x": None, "first": None, "over": "its footprint overlaps t",
        "t": None, "at": None, "s": None,
    }  # fmt: skip
    assert told(findings) == [
        ("doubled_footprint", "doubt", 1, 0,
         "1 of 6 buildings have the footprint of another, and were left out: second (as first)"),
        ("overlapping_footprints", "doubt", 2, 0,
         "2 of 6 buildings share a tenth or more of their footprint with a larger one: nothing is asked of them: "
         "over (in t), third (in first)"),
    ]  # fmt: skip
    assert apart([tower, lot], "map", Findings()) == [tower, lot]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 12)] * 2, *[st.sampled_from((18, 19, 20))] * 2), max_size=8))
def test_each_building_that_is_left_out_repeats_one_that_stays(boxes: list[tuple[int, int, int, int]]) -> None:
    outlines = [((x, y), (x + w, y), (x + w, y + d), (x, y + d)) for x, y, w, d in boxes]
    houses = [
        CityThing(id=f"b{n}", kind="building", noun="building", center=ring[0], radius_m=14.0, outline=ring)
        for n, ring in enumerate(outlines)
    ]
    findings = Findings()
    kept = {thing.id for thing in apart(houses, "map", findings)}
    told = next((one.message for one in findings.items if one.name == "doubled_footprint"), "")
    pairs = dict(re.findall(r"(b\d) \(as (b\d)\)", told))
    assert {house.id for house in houses} - kept == pairs.keys()
    assert set(pairs.values()) <= kept


MUSEUM = house("museum", 400.0, 10.0, 20.0, 20.0).model_copy(update={"also": ("shop",)})


def test_what_other_entries_tell_of_is_looked_for_in_squares() -> None:
    things = [
        house("h", 10.0, 10.0, 20.0, 20.0), MUSEUM,
        point("in", "shop", 15.0, 15.0), point("by", "shop", 34.9, 15.0), point("off", "shop", 35.1, 15.0),
        point("unsure", "shop", 300.0, 300.0, doubt="an office?"),
        point("a", "bus stop", 100.0, 100.0, traits={"bench": "yes"}),
        point("b", "bus stop", -10.0, 100.0, traits={"bench": "yes"}),
        point("c", "bus stop", 200.0, 100.0, traits={"bench": "no"}),
        point("seat", "bench", 107.9, 100.0),
    ]  # fmt: skip
    numbers = np.array([[20.0, 8.0], [12.0, 8.0], [428.0, 20.0]])  # 8.6 and 7.6 m from a shop, 8 m from a museum
    found = {(row.kind, row.area): (row.told, row.found) for row in coverage_of(things, numbers, "shop")}
    assert found == {
        ("building", None): (6, 4), ("building", (0, 0)): (5, 4), ("building", (250, 0)): (1, 0),
        ("shop", None): (3, 2), ("shop", (0, 0)): (2, 1), ("shop", (250, 0)): (1, 1),
        ("bench", None): (2, 1), ("bench", (0, 0)): (1, 1), ("bench", (-250, 0)): (1, 0),
    }  # fmt: skip


def test_two_entries_of_one_place() -> None:
    """Within 15 m: of one name, or an area beside a point without a name, or with a word in common; no two houses."""
    pub = {"noun": "pub", "also": ("shop",)}
    area = house("area", 0, 0, 10, 10).model_copy(update={**pub, "name": "Red Lion Inn"})
    second = house("second", -6, 0, 5, 5).model_copy(update={**pub, "name": "Red Lion Inn"})
    points = {
        "same": ("pub", 40, 0, "red  LION"), "twin": ("bar", 55, 0, "Red Lion"), "far": ("pub", 70.1, 0, "Red Lion"),
        "word": ("bar", 20, 5, "The Lion"), "none": ("restaurant", 5, 24, None), "bank": ("bank", 5, 12, None),
        "other": ("pub", 5, 14, "Blue Inn"),
    }  # fmt: skip
    twins = [point(i, "shop", x, y, noun=noun).model_copy(update={"name": n}) for i, (noun, x, y, n) in points.items()]
    findings = Findings()
    found = once([area, *twins, point("tree", "tree", 5, 12), second], "shop", "map", findings)
    doubts = {one.id: one.doubt.rpartition(": ")[2] for one in found if one.doubt}
    assert doubts == {"same": "as twin too", "twin": "as same too", "word": "as area too", "none": "as area too"}
    assert told(findings)[0][:4] == ("mapped_twice", "note", 5, 0), "of buildings nothing is in doubt"
    assert once(twins[2:], "shop", "map", Findings()) == twins[2:]


@pytest.mark.parametrize(("turned_deg", "away_m", "told"), [
    (45.0, 2.9, False), (45.1, 2.9, True), (-45.0, 2.9, False), (314.9, 2.9, True), (90.0, 3.0, False),
])  # fmt: skip
def test_another_side_of_a_house_is_a_rival_of_its_front(turned_deg: float, away_m: float, told: bool) -> None:
    """From within: it faces over 45 degrees elsewhere, and is less than 1.5 times as far."""
    walls = [_Wall(np.array([5.0, 10.0]), 0.0, 2.0), _Wall(np.array([10.0, 5.0]), turned_deg, away_m)]
    found = _doubt_of_front(
        shapely.Point(7, 8), walls, house("h", 0, 0, 10, 10), shapely.box(0, 0, 10, 10), shapely.STRtree([])
    )
    assert (found is not None) is told


def test_an_object_that_people_found_again_may_be_one_of_the_map() -> None:
    """Within 3 m; of two benches that are both mapped, or both found, half of their width are 0.3 m."""
    for away_m, added, doubted in (
        (2.9, {"b"}, 2),
        (3.1, {"b"}, 0),
        (2.9, {"a", "b"}, 0),
        (0.31, {}, 0),
        (0.29, {}, 2),
    ):
        pair = [point("a", "bench", 0, 0), point("b", "bench", away_m, 0)]
        assert sum(bool(one.doubt) for one in one_in_a_place(pair, added, "map", Findings())) == doubted


@pytest.mark.parametrize(("benches", "metres", "told"), [
    (1, 10.0, []), (2, 0.0, [(2 / 21, 0.05, "share")]), (0, 15.0, [(3 / 100, 0.02, "share")]),
])  # fmt: skip
def test_objects_and_streets_lie_beside_buildings(benches: int, metres: float, told: list[Any]) -> None:
    """More than one of twenty objects, and more than two of a hundred places, 5 m apart, on streets."""
    things = [house("h", 0, 0, 20, 20), house("over", 500, 0, 20, 20, base_m=2.0), point("sign", "signboard", 1, 1)]
    things += [point(f"b{n}", "bench", 10.0 if n < benches else 505.0, 10.0) for n in range(21)]
    streets = [[(metres - 2.0, 5.0), (metres - 2.0 - 499.0, 5.0)]]
    report_layers(things, streets, "map", findings := Findings())
    assert [(one.measured, one.limit, one.unit) for one in findings.items] == [
        (round(share, 4), limit, unit) for share, limit, unit in told
    ]


@pytest.mark.parametrize("facing", [0.0, 90.0, 180.0, 250.0])
def test_free_fronts_between_neighbours(facing: float) -> None:
    """6, 13 and 48 m apart, each seen from both; what lies 36 degrees off the line of the front is none, nor what has
    no front.
    """
    right = np.radians(facing + 90.0)
    along, ahead = np.array([np.sin(right), np.cos(right)]), np.array([-np.cos(right), np.sin(right)])
    places = {"a": (0, 0), "b": (6, 0), "c": (19, 0), "d": (6, 4.37), "e": (67, 0), "f": (118, 0)}
    row = [point(name, "shop", *(x * along + y * ahead), facing_deg=facing) for name, (x, y) in places.items()]
    others = [point("bare", "shop", *(9 * along)), point("sign", "signboard", *(3 * along), facing_deg=facing)]
    # The one that is 4.37 m before another sees two at 36 degrees, and one at 18.6: 13.72 m.
    found = front_gaps_m([*row[:3], row[3], *row[4:], *others], "shop")
    assert sorted(found.tolist()) == pytest.approx([2, 2, 9, 9, 9.715, 44, 44], abs=1e-3)


def test_points_of_a_map_are_as_far_off_as_its_shops_are_from_their_walls() -> None:
    """Median of 1, 2, 3, 4 and 9 m; what people added stands where they say; areas have no such error."""
    shops = [point(f"s{m}", "shop", 9.0 * m, 0.0, error_m=m) for m in (1.0, 2.0, 3.0, 4.0, 9.0)]
    tree, car, lot = point("t", "tree", 0.0, 9.0), point("c", "car", 5.0, 9.0), house("h", 50.0, 50.0, 9.0, 9.0)
    found = {t.id: t.error_m for t in with_errors([*shops, tree, car, lot], [*shops, tree, lot])}
    assert found == {"s1.0": 3.0, "s2.0": 3.0, "s3.0": 3.0, "s4.0": 4.0, "s9.0": 9.0, "t": 3.0, "c": 0.0, "h": 0.0}
    few = with_errors([*shops[:4], tree], [*shops, tree])
    assert [t.error_m for t in few] == [1.0, 2.0, 3.0, 4.0, 0.0]  # of fewer than five nothing is estimated


def test_the_share_that_a_map_has_about_a_place() -> None:
    """Wilson's lower bound, n / (n + 1.645 squared) where none is missing; of all squares within reach of the place."""
    rows = [(None, 60, 58), ((0, 0), 30, 30), ((250, 0), 20, 20), ((0, -250), 10, 8)]
    known = MapCoverage([KindCoverage(kind="bench", area=area, told=n, found=hit) for area, n, hit in rows], ("tree",))
    z2 = 1.6449**2
    reached = [
        ((125.0, 125.0), 0.0, 30),
        ((125.0, 125.0), 125.0, 50),
        ((240.0, 250.0), 10.1, 50),
        ((500.0, 250.0), 0.0, 20),
    ]
    assert [known.around("bench", at, reach) for at, reach, _ in reached[:1] + reached[2:]] == pytest.approx(
        [n / (n + z2) for _, _, n in reached[:1] + reached[2:]], abs=1e-4
    )
    assert known.around("bench", (125.0, 125.0), 125.0) < 0.95, "the square to the south lacks two"
    assert known.around("bench", (900.0, 900.0), 100.0) == known.around("tree", (0.0, 0.0), 9.0) == 0.0
    assert known.least("bench", (-1.0, -1.0)) == pytest.approx(0.9042, abs=1e-4)
    assert [known.least(kind, (1.0, -1.0)) for kind in ("bench", "tree", "car")] == [0.0, 1.0, 0.0]


def test_a_map_says_in_one_finding_how_well_it_knows_its_things() -> None:
    shops = [point(f"s{n}", "shop", 6.0 * n, 0.0, facing_deg=180.0, error_m=float(n)) for n in range(3)]
    unsure = point("u", "shop", 90.0, 0.0, doubt="the map may have it twice: as s0 too")
    church = house("a", 0, 5, 9, 9).model_copy(update={"noun": "church"})
    houses = [church, house("b", 20, 5, 9, 9, None), house("c", 40, 5, 9, 9)]
    rows = [("building", None, 4, 3), ("building", (0, 0), 4, 3), ("bench", None, 2, 1), ("bench", (0, 0), 2, 1)]
    coverage = [KindCoverage(kind=kind, area=area, told=n, found=hit) for kind, area, n, hit in rows]
    report_quality([*shops, unsure, *houses], coverage, "shop", "map", findings := Findings())
    assert told(findings)[0][4] == "; ".join(
        (
            "4 premises: 3 front a wall and 1 may be there twice",
            "they stand 1.0 m from it in the median, nine of ten within 1.8 m",
            "between 0 of 4 neighbouring fronts another has room",
            "3 of 4 premises and house numbers lie at a building (in 1 squares of 250 m)",
            "1 of 2 stops that have a bench by their own entry have it on the map (in 1 squares of 250 m)",
            "of 3 buildings 33% have a kind, 67% a height",
        )
    )
    report_quality([], (), "shop", "map", findings := Findings())
    assert told(findings)[0][4] == "0 premises: 0 front a wall and 0 may be there twice"
