"""What a map tells of the look of a thing, and from which of its words; nothing that it does not tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.findings import Findings
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.maps.appearance import look_of, rgb_of
from pipeline.reading.maps.feature import Feature, MapBounds
from pipeline.reading.maps.osm import read_osm
from tests.conftest import REAL_DATA

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
