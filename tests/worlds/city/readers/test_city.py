"""The reader of cities: what it makes of sound maps, and what of broken ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.city_thing import CityThing
from pipeline.reading.maps.feature import MapBounds
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.city.occluders import Occluders
from pipeline.worlds.city.readers.city import Cities, CitySettings, _box
from tests.conftest import REAL_DATA
from tests.worlds.city.cities import SETTINGS, block, feature, house, lon_lat, point, read, spot, write


def things(scene: CityScene) -> dict[str, CityThing]:
    return {thing.id: thing for thing in scene.facts.things}


def found(scene: CityScene) -> dict[str, str]:
    return {finding.name: finding.message for finding in scene.findings}


def test_a_city_by_hand(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        block(10, 20, 12, 8, id="b1", height_m=9.5, levels=3, colour="#b22222", name="Town\nHall", roof_shape="dome"),
        objects=[
            spot("car", 30, 40, id="c1", colour="blue", facing_deg=450),
            spot("bakery", 16, 18, id="s1", name="Crumb", sign="CRUMB"),
            spot("spaceship", 50, 50, id="u1"),
        ],
        settings=SETTINGS + "complete: [car]\nslabs_m: [4]\n",
    )
    scene = read(root)
    assert scene.id == "city/here"
    assert scene.facts.complete == ("car",)
    assert scene.facts.slabs_m == (4.0,)
    found = things(scene)
    assert sorted(found) == ["b1", "c1", "s1"]
    house, car, shop = found["b1"], found["c1"], found["s1"]
    assert (house.kind, house.noun, house.name, house.colour) == ("building", "building", "Town Hall", "red")
    assert (house.height_m, house.top_m, house.levels, house.roof_shape) == (9.5, 9.5, 3.0, "domed")
    assert house.outline == ((10.0, 20.0), (22.0, 20.0), (22.0, 28.0), (10.0, 28.0))
    assert house.source_tags["colour"] == "colour=#b22222"
    assert (car.kind, car.colour, car.center, car.facing_deg) == ("car", "blue", (30.0, 40.0), 90.0)
    # The shop's point lies 2 m south of the house: it fronts its south wall, where it is put.
    assert (shop.kind, shop.noun, shop.sign, shop.on, shop.facing_deg) == ("shop", "bakery", "CRUMB", "b1", 180.0)
    assert shop.center == (16.0, 19.85)


def test_ids_that_a_map_lacks_are_of_what_and_where_a_thing_is(tmp_path: Path) -> None:
    first = read(write(tmp_path / "a", spot("car", 1, 2), spot("car", 5, 2), block(10, 20, 5, 5)))
    other = read(write(tmp_path / "b", block(10, 20, 5, 5), spot("car", 5, 2), spot("bench", 9, 9), spot("car", 1, 2)))
    assert set(things(first)) < set(things(other))


def test_a_root_holds_folders_and_map_files(tmp_path: Path) -> None:
    root = write(tmp_path, block(10, 20, 5, 5))
    (root / "there.geojson").write_bytes((root / "here" / "map.geojson").read_bytes())
    (root / "notes.json").write_text("{}")
    (root / ".hidden.geojson").write_text("{}")
    (root / "empty").mkdir()
    listing = Cities().scenes(root)
    assert [ref.id for ref in listing.scenes] == ["city/here", "city/there"]
    assert listing.broken == ()
    assert things(read(root, "there"))
    stamp = listing.scenes[0].stamp
    (root / "here" / "objects.geojson").write_text("x")
    assert Cities().scenes(root).scenes[0].stamp != stamp


def test_roots_without_a_city_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        Cities().scenes(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no city here"):
        Cities().scenes(tmp_path)


def test_names_that_cannot_be_ids_and_cities_given_twice(tmp_path: Path) -> None:
    root = write(tmp_path, block(10, 20, 5, 5))
    for name in ("here.geojson", "a city.geojson"):
        (root / name).write_bytes((root / "here" / "map.geojson").read_bytes())
    listing = Cities().scenes(root)
    assert listing.scenes == ()
    assert sorted(error.finding for error in listing.broken) == ["duplicate_scene", "unsafe_scene_name"]


def test_two_maps_of_one_city(tmp_path: Path) -> None:
    root = write(tmp_path, block(10, 20, 5, 5))
    (root / "here" / "other.geojson").write_bytes((root / "here" / "map.geojson").read_bytes())
    with pytest.raises(RawDataError, match=r"map.geojson, other.geojson.*name one as map in city.yaml") as caught:
        read(root)
    assert caught.value.finding == "several_maps"
    (root / "here" / "city.yaml").write_text(SETTINGS + "map: other.geojson\n")
    assert read(root).source.files == ("here/city.yaml", "here/other.geojson")


@pytest.mark.parametrize(
    ("settings", "finding", "said"),
    [
        ("complete: car", "bad_setting", "complete"),
        ("complete: [car, cars]", "unknown_kind", "names 'cars', which is no kind"),
        ("bound: [1, 2, 3, 4]", "bad_setting", "unknown key bound"),
        ("origin: {lat_deg: 99, lon_deg: 0, alt_m: 0}", "bad_setting", "lat_deg"),
        ("slabs_m: [-5]", "bad_setting", "slabs_m"),
        ("dataset: a/b", "bad_setting", "dataset"),
        ("a: 1\na: 2", "bad_yaml", "line 1: the key 'a' is given twice"),
        ("\n".join(f"key{n}: 1" for n in range(5000)), "bad_setting", "unknown key key0"),
        ("dataset: 0x" + "f" * 4000, "bad_yaml", "line 1: a number of 4,002 characters, over 64"),
        ("dataset: 1" + ":59" * 200_000, "bad_yaml", "a number of 600,001 characters"),
        ("dataset: 1" + ":59" * 1000 + ".5", "bad_yaml", "a number of 3,003 characters"),
        ('dataset: "\\ud800"', "bad_yaml", "line 1: half a character"),
        ("dataset: " + "x" * 2**20, "bad_yaml", "1,048,585 characters, over 1,048,576"),
        ("- 1", "bad_yaml", "not a mapping"),
        ("map: elsewhere.osm", "missing_file", "elsewhere.osm"),
        ("map: ../elsewhere.osm", "bad_setting", "map"),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, settings: str, finding: str, said: str) -> None:
    root = write(tmp_path, block(10, 20, 5, 5), settings=settings)
    with pytest.raises(RawDataError, match=said) as caught:
        read(root)
    assert caught.value.finding == finding


def test_footprints_that_overlap_and_buildings_given_twice(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        block(10, 10, 20, 20, id="large", height_m=9),
        block(25, 15, 10, 10, id="into it", height_m=9),
        block(10, 10, 20, 20.1, id="again", height_m=9),
        block(29.9, 40, 10, 10, id="beside", height_m=9),
        block(20, 40, 10, 10, id="sharing a wall", height_m=9),
    )
    scene = read(root)
    kept = things(scene)
    assert sorted(kept) == ["again", "beside", "into it", "sharing a wall"]
    assert kept["into it"].doubt == "its footprint overlaps again"
    assert [kept[i].doubt for i in ("again", "beside", "sharing a wall")] == [None] * 3
    assert "into it (in again)" in found(scene)["overlapping_footprints"]
    assert "large (as again)" in found(scene)["doubled_footprint"]
    assert len(Occluders(scene.facts).prisms) == 4  # what is in doubt stands in the way


def test_outlines_that_cross_themselves_and_heights_that_are_not_known(tmp_path: Path) -> None:
    bow = lon_lat((50, 50), (60, 60), (60, 50), (50, 60), (50, 50))
    root = write(
        tmp_path,
        block(10, 10, 5, 5, id="bare"),
        feature({"type": "Polygon", "coordinates": [bow]}, {"kind": "building", "id": "bow"}),
    )
    scene = read(root)
    assert sorted(things(scene)) == ["bare"]
    assert "unusable_outline" in found(scene)
    assert "1 of 1 buildings have no height: bare" in found(scene)["heights_unknown"]


def test_a_city_on_a_slope(tmp_path: Path) -> None:
    houses = [block(10 + 8 * i, 10, 5, 5, id=f"b{i}", height_m=9, base_m=2.0 * i - 4) for i in range(6)]
    scene = read(write(tmp_path, *houses))
    assert "differ by 9 m" in found(scene)["ground_not_flat"]
    prisms = {scene.facts.things[p.thing].id: (p.base_m, p.top_m) for p in Occluders(scene.facts).prisms}
    assert prisms["b0"] == (-4.0, 5.0)  # in a dip
    assert prisms["b5"] == (0.0, 15.0)  # below it is the hill


def test_an_outline_smaller_than_a_centimetre(tmp_path: Path) -> None:
    scene = read(write(tmp_path, block(10, 10, 5, 5, id="b"), block(30, 30, 0.002, 0.002, id="speck")))
    assert sorted(things(scene)) == ["b"]
    assert "speck" in found(scene)["unusable_outline"]


def test_a_car_in_centimetres(tmp_path: Path) -> None:
    scene = read(write(tmp_path, block(10, 10, 5, 5), objects=[spot("car", 30, 30, id="c", height_m=150)]))
    assert things(scene)["c"].height_m is None
    assert "not in centimetres" in next(f.remedy for f in scene.findings if f.name == "implausible_height")


def test_what_lies_far_off(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        *(block(10 + 10 * i, 10, 5, 5, id=f"b{i}") for i in range(5)),
        feature({"type": "Point", "coordinates": [0.0, 0.0]}, {"kind": "tree", "id": "null island"}),
        objects=[spot("car", 30, 30, id="here"), spot("car", 30, 900, id="beyond")],
        settings="complete: []\n",
    )
    scene = read(root)
    assert {"here", "b0"} <= set(things(scene))
    assert not {"beyond", "null island"} & set(things(scene))
    assert "beyond" in found(scene)["off_the_map"]
    assert "null island" in found(scene)["far_from_the_map"]


def test_a_city_is_cut_out_of_a_larger_map(tmp_path: Path) -> None:
    """Its bounds are 111 m to the south, 222 m to the north, 72 m to the west and 143 m to the east of the origin."""
    inside = [(0, -105), (0, 215), (-65, 0), (135, 0)]
    outside = [(0, -120), (0, 230), (-80, 0), (150, 0)]
    trees = [spot("tree", x, y, id=f"{x} {y}") for x, y in inside + outside]
    scene = read(write(tmp_path, *trees))
    assert sorted(things(scene)) == sorted(f"{x} {y}" for x, y in inside)
    assert "off_the_map" not in found(scene), "nobody is told of what was meant to be cut off"
    assert scene.facts.bounds[0] == pytest.approx((-72, -111), abs=1)
    assert scene.facts.bounds[2] == pytest.approx((143, 222), abs=1)


def test_no_bound_is_less_than_nothing(tmp_path: Path) -> None:
    """A corner at the origin, but for a billionth of a degree: 0, and not -0, which is another text."""
    settings = (
        "origin: {lat_deg: 50.0, lon_deg: 8.0, alt_m: 100}\nbounds: [7.9999999999, 49.9999999999, 8.001, 50.001]\n"
    )
    scene = read(write(tmp_path, spot("tree", 20, 20), settings=settings))
    assert "-0.0" not in str(scene.facts.bounds)


@pytest.mark.parametrize("settings", ["complete: []\n", "bounds: [179.99, -0.01, -179.99, 0.01]\n"])
def test_a_city_across_the_180th_meridian(tmp_path: Path, settings: str) -> None:
    """On the equator 0.001 degrees are 111.32 m; the house has a corner on either side."""
    ring = [[179.9999, 0], [-179.9999, 0], [-179.9999, 0.0002], [179.9999, 0.0002], [179.9999, 0]]
    house = feature({"type": "Polygon", "coordinates": [ring]}, {"kind": "building", "id": "house"})
    trees = [
        feature({"type": "Point", "coordinates": [lon, 0.0005]}, {"kind": "tree", "id": name})
        for lon, name in ((179.9995, "west"), (-179.9995, "east"))
    ]
    scene = read(write(tmp_path, house, *trees, settings=settings))
    placed = things(scene)
    assert abs(scene.facts.origin.lon_deg) == 180.0
    assert placed["east"].center[0] - placed["west"].center[0] == pytest.approx(111.32, abs=0.02)
    assert np.ptp(np.array(placed["house"].outline), axis=0) == pytest.approx([22.26, 22.11], abs=0.02)


@pytest.mark.parametrize(
    "bounds",
    ["[4.37, 51.9, 4.35, 52.0]", "[4.35, 52.0, 4.37, 51.9]", "[4.35, 51.9, 4.35, 52.0]", "[4.35, 52.0, 4.37, 52.0]"],
)
def test_bounds_in_another_order(tmp_path: Path, bounds: str) -> None:
    with pytest.raises(RawDataError, match="not west, south, east, north"):
        read(write(tmp_path, spot("tree", 1, 1), settings=f"bounds: {bounds}\n"))


def test_a_city_that_is_too_large_for_a_grid_of_metres(tmp_path: Path) -> None:
    houses = [block(x, 10, 5, 5) for x in (0, 12_000, *range(6000, 6200, 10))]
    assert len(things(read(write(tmp_path / "cut", *houses)))) == 1  # its bounds are stated
    with pytest.raises(RawDataError, match=r"12\.0 km from side to side, over 10") as caught:
        read(write(tmp_path / "whole", *houses, settings="complete: []\n"))
    assert caught.value.finding == "city_too_large"


def test_a_map_in_metres_is_no_map_in_degrees(tmp_path: Path) -> None:
    ring = [[0, 0], [200, 0], [200, 200], [0, 200], [0, 0]]
    root = write(tmp_path, feature({"type": "Polygon", "coordinates": [ring]}, {"kind": "building"}))
    with pytest.raises(RawDataError, match="longitude") as caught:
        read(root)
    assert caught.value.finding == "not_wgs84"


@pytest.mark.parametrize("features", [[], [spot("spaceship", 1, 1)]], ids=["nothing", "nothing with a noun"])
def test_a_map_of_nothing(tmp_path: Path, features: list[Any]) -> None:
    with pytest.raises(RawDataError) as caught:
        read(write(tmp_path, *features))
    assert caught.value.finding == "empty_map"


def test_a_map_beyond_its_bounds_says_so(tmp_path: Path) -> None:
    ring = [[8.0, 50.0], [8.001, 50.0], [8.001, 50.0]]  # open, too
    broken = feature({"type": "Polygon", "coordinates": [ring]}, {"kind": "building"})
    with pytest.raises(RawDataError) as caught:
        read(write(tmp_path, broken, settings=SETTINGS.replace("8.002", "7.9995")))
    assert all(part in caught.value.message for part in ("within the bounds of city.yaml", "1 of 1 features"))


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("Müller &\n Söhne", "Müller & Söhne"),
        ("<b>Bold</b>", None),
        ('Say "cheese"', None),
        ("x" * 90, None),
        ("[red]Alert[/red]", None),
        ("Bella Napoli 2", "Bella Napoli 2"),
        ("日本料理", "日本料理"),
        ("CafÃ© de Paris", None),  # UTF-8 that was read as Latin-1
        ("ÐšÐ°Ñ„Ðµ", None),
        ("Caf\ufffd de Paris", None),
        ("Marks &amp; Fils", None),
        ("Café des &#201;toiles", None),
        ("unknown", None),
        ("FIXME", None),
        ("Marks & Fils", "Marks & Fils"),
        ("CAFÉ® São Tomé", "CAFÉ® São Tomé"),
        ("Ñandú", "Ñandú"),
        ("Unknown Pleasures", "Unknown Pleasures"),
    ],
)
def test_names_with_markup_or_line_breaks(tmp_path: Path, name: str, taken: str | None) -> None:
    scene = read(write(tmp_path, block(10, 10, 5, 5, id="b", name=name)))
    assert things(scene)["b"].name == taken
    assert ("unspeakable_name" in found(scene)) is (taken is None)
    assert ("name_of_several_lines" in found(scene)) is ("\n" in name)


def test_colours_that_have_no_word_for_sure(tmp_path: Path) -> None:
    colours = {"#c81e1e": "red", "#285ab4": "blue", "#b9965a": None, "nonsense": None, "#f5f5f0": "white"}
    root = write(
        tmp_path, block(90, 90, 5, 5), objects=[spot("car", 5 * i, 1, id=c, colour=c) for i, c in enumerate(colours)]
    )
    found = things(read(root))
    assert {c: found[c].colour for c in colours} == colours


@pytest.mark.long
def test_ten_thousand_objects(tmp_path: Path) -> None:
    """In one file: a second; ten times as many take ten."""
    east, north = (8.0 + np.arange(10_000) % 400 * 1e-6, 50.0 + np.arange(10_000) // 400 * 1e-6)
    cars = [
        {
            "type": "Feature",
            "properties": {"kind": "car", "colour": "red"},
            "geometry": {"type": "Point", "coordinates": at},
        }
        for at in np.column_stack([east, north]).tolist()
    ]
    scene = read(write(tmp_path, block(10, 10, 5, 5), objects=cars))
    assert len(scene.facts.things) == 10_001


@pytest.mark.real_data
@pytest.mark.slow
def test_real_extracts() -> None:
    """Counts as osmium alone gives them, less what is given twice."""
    root = REAL_DATA / "city"
    listing = Cities().scenes(root)
    assert [ref.id for ref in listing.scenes] == [
        "city/berlin-siegessaeule",
        "city/countries",
        "city/delft",
        "city/monaco",
        "city/test",
    ]
    with pytest.raises(RawDataError, match="nine tenths of the map") as caught:
        read(root, "countries")
    assert caught.value.finding == "not_a_city"
    monaco = read(root, "monaco")
    # A drinking fountain may be called a fountain, and has another tag.
    kinds = [thing.kind for thing in monaco.facts.things if thing.noun != "drinking fountain"]
    assert {k: kinds.count(k) for k in ("building", "crossing", "tree", "bench", "parking", "fountain")} == {
        "building": 966,
        "crossing": 223,
        "tree": 208,
        "bench": 3,
        "parking": 29,
        "fountain": 7,
    }
    assert monaco.facts.complete == ()
    assert sum(thing.facing_deg is not None for thing in monaco.facts.things if thing.kind == "shop") > 40
    berlin = read(root, "berlin-siegessaeule")
    assert np.ptp(np.array(berlin.facts.bounds), axis=0) == pytest.approx([346.2, 301.5], abs=0.5)  # as its header says
    delft = read(root, "delft")
    assert len(delft.facts.things) == 160
    assert all(thing.top_m is not None for thing in delft.facts.things)


def test_the_facts_survive_json(tmp_path: Path) -> None:
    scene = read(write(tmp_path, block(10, 20, 12, 8, id="b1", height_m=9.5), objects=[spot("car", 30, 40)]))
    assert CityScene.model_validate_json(scene.model_dump_json()) == scene
    json.loads(scene.model_dump_json())


def street(name: str, *points: tuple[float, float]) -> dict[str, Any]:
    return feature({"type": "LineString", "coordinates": lon_lat(*points)}, {"kind": "street", "name": name})


def test_streets_of_one_id_and_streets_far_off_are_left_out(tmp_path: Path) -> None:
    one, same, far = (
        street("A", (0, 0), (50, 0)) | {"id": "s1"},
        street("B", (0, 9), (50, 9)) | {"id": "s1"},
        street("C", (90, 0), (10_900, 0)) | {"id": "s2"},
    )
    told = {f.name: f for f in read(write(tmp_path, block(10, 20, 12, 8), one, same, far)).findings}
    assert {"doubled_street", "far_street"} <= set(told)


def test_a_folder_without_a_map_and_a_map_of_more_than_a_city_are_refused(tmp_path: Path) -> None:
    root = write(tmp_path / "a", block(10, 20, 12, 8))
    (ref,) = Cities().scenes(root).scenes
    (root / "here" / "map.geojson").unlink()
    with pytest.raises(RawDataError, match="missing_map"):
        Cities().read(SceneFiles(root, ref))
    wide = write(tmp_path / "b", *(block(x * 30_000, 20, 12, 8) for x in range(4)), settings="{}")
    with pytest.raises(RawDataError, match="not_a_city"):
        read(wide)


def test_the_json_of_overpass_is_refused_with_what_to_ask_it_for(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    value = {"version": 0.6, "generator": "Overpass API 0.7.62", "elements": [{"type": "way", "id": 1, "nodes": [2]}]}
    (tmp_path / "here" / "map.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(RawDataError, match=r"Overpass's own JSON.*\[out:xml\]") as caught:
        read(tmp_path)
    assert caught.value.finding == "not_a_feature_collection"


def test_things_share_the_sets_of_their_fields_and_change_on_their_own() -> None:
    """The sets take half of a thing's memory. What is known of one is not written into another's."""
    one, other = point("a", "car", 1, 2), point("b", "car", 3, 4)
    assert one.model_fields_set is other.model_fields_set
    assert one.model_fields_set == {"id", "kind", "noun", "center", "radius_m"}
    red = one.model_copy(update={"colour": "red"})
    assert "colour" in red.model_fields_set
    assert "colour" not in other.model_fields_set
    assert type(red).model_validate_json(red.model_dump_json()) == red
    assert house("h", 0, 0, 5, 5).model_fields_set != one.model_fields_set


def test_the_part_of_a_map_is_that_within_its_bounds() -> None:
    """West, south, east and north; read is what lies within half of their distances of the middle."""
    assert _box(CitySettings(bounds=(10.0, 20.0, 12.0, 21.0))) == MapBounds(20.5, 11.0, 0.5, 1.0)
    assert _box(CitySettings(bounds=(179.0, 20.0, -179.0, 21.0))) == MapBounds(20.5, 180.0, 0.5, 1.0)
