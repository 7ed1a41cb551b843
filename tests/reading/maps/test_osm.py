"""OpenStreetMap extracts: a small one written here, the real one, and broken ones."""

import bz2
import gzip
import json
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings
from pipeline.reading.maps import osm
from pipeline.reading.maps.feature import MapBounds
from pipeline.reading.maps.osm import height_of
from pipeline.reading.maps.read import read_context
from tests.conftest import REAL_DATA
from tests.reading.maps.opened import EVERYWHERE, fault_of, files_of, names_of, read_file

NODES = {1: (52.0, 4.0), 2: (52.0, 4.001), 3: (52.001, 4.001), 4: (52.001, 4.0)}


def osm_text(ways: list[tuple[list[int], dict[str, str]]], points: list[dict[str, str]] | None = None) -> str:
    def tags(of: dict[str, str]) -> str:
        return "".join(f'<tag k="{k}" v="{v}"/>' for k, v in of.items())

    lines = [f'<node id="{i}" version="1" lat="{lat}" lon="{lon}"/>' for i, (lat, lon) in NODES.items()]
    for number, of in enumerate(points or []):
        lines.append(f'<node id="{100 + number}" version="1" lat="52.5" lon="4.5">{tags(of)}</node>')
    for number, (nodes, of) in enumerate(ways):
        refs = "".join(f'<nd ref="{i}"/>' for i in nodes)
        lines.append(f'<way id="{number + 1}" version="1">{refs}{tags(of)}</way>')
    return f'<?xml version="1.0"?><osm version="0.6">{"".join(lines)}</osm>'


def write(folder: Path, text: str) -> Path:
    path = folder / "city.osm"
    path.write_text(text, encoding="utf-8")
    return path


RING = [1, 2, 3, 4, 1]


@pytest.mark.parametrize(
    ("tag", "metres"),
    [
        ("12", 12.0),
        ("12.5", 12.5),
        ("12 m", 12.0),
        ("12m", 12.0),
        ("12,5", 12.5),
        ("12,5 m", 12.5),
        (" 7 metres ", 7.0),
        ("40'", 12.192),
        ("40 ft", 12.192),
        ("12'6\"", 3.81),
        ("1000", 1000.0),
    ],
)
def test_heights_in_the_documented_spellings(tag: str, metres: float) -> None:
    assert height_of(tag) == pytest.approx(metres)


@pytest.mark.parametrize(
    "tag", [None, "", "high", "0", "-4", "1,250", "~12", "3 storeys", "1001", "12 km", "1e3", "12;15", "١٢"]
)
def test_other_heights_are_unknown(tag: str | None) -> None:
    assert np.isnan(height_of(tag))


def test_all_that_an_extract_has_in_a_box(tmp_path: Path) -> None:
    """Outlines are not closed; what is seen of a thing goes with it, and no more; streets and grass are none."""
    ways = [
        (RING, {"building": "train_station", "name": "Hoofd, &quot;Centraal&quot;", "height": "12 m", "note": "x"}),
        (RING, {"building": "yes", "building:levels": "4", "roof:colour": "x" * 201, "name": "a&#9;b"}),
        (RING, {"leisure": "park", "name": "Green", "height": "40'"}),
        ([1, 2], {"highway": "residential", "name": "Main St"}),
        (RING, {"landuse": "grass"}),
    ]
    points = [{"amenity": "cafe", "name": "Zoë's", "colour": "red"}, {"place": "city", "name": "Delft"}]
    path = write(tmp_path, osm_text(ways, points))
    found, findings = read_file(path)
    facts = [(f.id, f.name, f.kind, f.solid, dict(f.tags)) for f in found]
    assert sorted(facts) == [
        ("node/100", "Zoë's", "cafe", False, {"amenity": "cafe"}),
        ("way/1", 'Hoofd, "Centraal"', "train station", True, {"building": "train_station", "height": "12 m"}),
        ("way/2", None, "building", True, {"building": "yes", "building:levels": "4"}),
        ("way/3", "Green", "park", False, {"leisure": "park", "height": "40'"}),
    ]
    by_id = {f.id: f for f in found}
    assert [by_id[f"way/{n}"].height_m for n in (1, 3)] == [12.0, pytest.approx(12.192)]
    assert np.isnan([by_id["way/2"].height_m, by_id["node/100"].height_m, *(f.foot_m for f in found)]).all()
    assert by_id["node/100"].outlines[0].tolist() == [[52.5, 4.5]]
    assert sorted(map(tuple, by_id["way/1"].outlines[0].round(7).tolist())) == sorted(NODES.values())
    assert names_of(findings) == ["unusable_name"]
    within, _ = read_file(path, MapBounds(52.0, 4.0, 0.01, 0.01))
    assert {f.id for f in within} == {"way/1", "way/2", "way/3"}
    told = read_context(files_of(tmp_path), path, EVERYWHERE, False, Findings(), ("landuse",), ("colour",))
    assert [(f.id, f.kind, dict(f.tags)) for f in told] == [("way/5", "grass", {"landuse": "grass"})]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["node", "way", "relation"]), st.integers(-3, 3)), max_size=6))
def test_an_extract_is_sorted_where_a_plain_look_says_so(drawn: list[tuple[str, int]]) -> None:
    """By type, then ids: -1, -2, 1, 2; in one part or in many."""
    text = "".join(f'<{kind} version="1" id="{number}"/>' for kind, number in drawn)
    ranks = [(["node", "way", "relation"].index(kind), number > 0, abs(number)) for kind, number in drawn]
    expected = all(one <= other for one, other in pairwise(ranks))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        Path(folder, "a.osm").write_text(f"<osm>{text}</osm>", encoding="utf-8")
        for part in (1 << 24, 30):
            patched.setattr(osm, "_PART_BYTES", part)
            assert osm._is_sorted(Path(folder, "a.osm")) is expected
        assert osm._is_sorted(Path(folder, "a.pbf"))


def test_tags_of_other_tools() -> None:
    """Texts and numbers; those below, and those that one text has. What is empty, a truth or a list tells nothing."""
    facts = {"a": "1", "b": 2, "c": 2.5, "d": 3.0, "e": True, "f": "", "g": [1],
             "tags": {"a": "0", "h": "x", "i": None}, "other_tags": '"j"=>"say \\"no\\"","k"=>"\\\\","l'}  # fmt: skip
    more = {"h": "x", "j": 'say "no"', "k": "\\"}
    own = {"a": "0", "b": "2", "c": "2.5", "d": "3", "other_tags": facts["other_tags"]}
    assert osm.osm_tags(facts) == own | more
    assert osm.osm_tags({"tags": "x"}) == {"tags": "x"}


def test_an_outline_without_its_nodes_is_left_out_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, osm_text([(RING, {"building": "yes"}), ([1, 2, 99, 1], {"building": "yes"})]))
    found, findings = read_file(path)
    assert len(found) == 1
    (finding,) = findings.items
    assert (finding.name, finding.severity, finding.measured) == ("broken_outlines", "note", 1.0)
    assert "1 of 2" in finding.message


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("a.osm.pbf", b"", "empty_file"),
        ("a.osm.pbf", b"this is no protocol buffer at all", "unreadable_osm"),
        ("a.osm", b"<osm version='0.6'><node id='1'", "unreadable_osm"),
        ("a.osm", b'{"type": "FeatureCollection", "features": []}', "unreadable_osm"),
    ],
)
def test_a_broken_extract_is_refused(tmp_path: Path, name: str, raw: bytes, expected: str) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    assert fault_of(path).finding == expected


EXTRACT = REAL_DATA / "city" / "test.osm.pbf"


@pytest.mark.real_data
def test_the_real_extract() -> None:
    """2,219 outlines, 48 of them cut off at the edge; ten state levels, and none a height."""
    found, findings = read_file(EXTRACT, MapBounds(60.53, 26.95, 0.1, 0.1))
    walls = [f for f in found if f.solid]
    assert len(walls) == 2219 - 48
    assert all(np.isnan(f.height_m) for f in walls)
    assert names_of(findings) == ["broken_outlines"]
    assert findings.items[0].measured == 48.0
    assert {"Otsolan Koulu", "Liikuntasali"} <= {f.name for f in walls}
    assert "Malmingin päiväkoti" in {f.name for f in found if not f.solid}
    corners = np.concatenate([outline for f in walls for outline in f.outlines])
    assert corners.min(0) == pytest.approx([60.52, 26.93], abs=0.005)
    assert corners.max(0) == pytest.approx([60.54, 26.97], abs=0.005)


@pytest.mark.real_data
def test_an_extract_cut_or_spoilt_anywhere_is_refused_or_read(tmp_path: Path) -> None:
    raw = EXTRACT.read_bytes()
    rng = np.random.default_rng(5)
    path = tmp_path / "cut.osm.pbf"
    outcomes = []
    for trial in range(60):
        at = int(rng.integers(1, len(raw)))
        spoilt = raw[:at] + bytes([raw[at] ^ 255]) + raw[at + 1 :] if trial % 2 else raw[:at]
        path.write_bytes(spoilt)
        try:
            found, _ = read_file(path, MapBounds(60.53, 26.95, 0.01, 0.01))
        except RawDataError as error:
            outcomes.append(error.finding)
        else:
            outcomes.append("read")
            assert all(np.isfinite(outline).all() for f in found for outline in f.outlines)
    assert set(outcomes) <= {"unreadable_osm", "read"}
    assert outcomes.count("unreadable_osm") > 30


def test_packed_extracts_are_read(tmp_path: Path) -> None:
    text = osm_text([(RING, {"building": "yes", "height": "12"})])
    plain, _ = read_file(write(tmp_path, text))
    for packed, module in (("city.osm.gz", gzip), ("city.osm.bz2", bz2)):
        (tmp_path / packed).write_bytes(module.compress(text.encode()))
        found, _ = read_file(tmp_path / packed)
        assert [f.height_m for f in found] == [f.height_m for f in plain] == [12.0]


@pytest.mark.real_data
def test_a_packed_real_extract_has_named_places() -> None:
    path = REAL_DATA / "city" / "monaco.osm.gz"
    found, _ = read_file(path)
    assert sum(f.name is not None for f in found) > 100


def test_bridges_and_waters_that_are_lines(tmp_path: Path) -> None:
    """Two ways that meet on a bridge are one of 8 m; a river is there every 50 m, but for where an outline has it."""
    ways = [
        ([1, 2], {"highway": "primary", "bridge": "yes"}),
        ([2, 3], {"highway": "primary", "bridge": "viaduct"}),
        ([3, 4], {"waterway": "river"}),
        ([1, 4], {"waterway": "river", "tunnel": "culvert"}),
        ([1, 2], {"waterway": "ditch"}),
    ]
    keys = ("bridge", "waterway", "natural")
    found = read_context(files_of(tmp_path), write(tmp_path, osm_text(ways)), EVERYWHERE, False, Findings(), keys)
    assert [f.kind for f in found] == ["bridge", "water", "water", "water"], "68.5 m of a river"
    assert [(f.name, f.solid, f.tags) for f in found] == [
        (None, False, {"man_made": "bridge"}), *[(None, False, {"natural": "water"})] * 3,
    ]  # fmt: skip
    north, east = 111_200.0, 111_320.0 * np.cos(np.radians(52.0))
    outline = shapely.Polygon(found[0].outlines[0] * (north, east))
    assert outline.area == pytest.approx(8 * (68.5 + 111.2), rel=0.05)
    places = np.array([f.outlines[0][0] for f in found[1:]])
    assert places == pytest.approx(np.array([[52.001, 4.001], [52.001, 4.0005], [52.001, 4.0]]), abs=1e-9)
    path = write(tmp_path, osm_text([*ways, (RING, {"natural": "water"})]))
    within = read_context(files_of(tmp_path), path, EVERYWHERE, False, Findings(), keys)
    assert sum(f.kind == "water" and len(f.outlines[0]) == 1 for f in within) <= 3, "those of the border may stay"


NOTHING = None


@pytest.mark.parametrize(
    ("tags", "finding"),
    [
        ("building=yes", NOTHING),
        ("building=yes disused=no layer=1 building:levels:underground=2 start_date=1890", NOTHING),
        ("natural=water layer=-1", NOTHING),  # a river below its bridges
        ("building=no", "not_there"),
        ("building=Demolished", "not_there"),
        ("building=yes demolished=yes", "not_there"),
        ("building=yes proposed=2031", "not_there"),
        ("shop=bakery removed=yes", "not_there"),
        ("building=no shop=bakery", NOTHING),  # the bakery is there
        ("building=yes location=underground", "below_ground"),
        ("building=yes amenity=parking parking=underground", "below_ground"),
        ("building=underground", "below_ground"),
        ("building=yes layer=-1", "perhaps_not_there"),
        ("building=yes building:levels=0 building:levels:underground=2", "perhaps_not_there"),
        ("building=construction", "perhaps_not_there"),
        ("building=yes end_date=2018", "perhaps_not_there"),
        ("building=yes start_date=2031", "perhaps_not_there"),  # after it was mapped
        ("building=yes ruins=yes", "perhaps_not_there"),
        ("shop=bakery disused=yes", "perhaps_not_there"),
        ("shop=disused", "perhaps_not_there"),
        ("shop=bakery opening_date=2031-05-01", "perhaps_not_there"),
        ("shop=bakery opening_hours='closed'", "perhaps_not_there"),
        ("shop=bakery layer=-1", "perhaps_not_there"),
    ],
)
def test_what_a_map_itself_says_is_not_there(tags: str, finding: str | None, tmp_path: Path) -> None:
    words = dict(word.split("=", 1) for word in tags.split())
    text = osm_text([(RING, words)]).replace("<way ", '<way timestamp="2019-04-14T18:23:52Z" ')
    found, findings = read_file(write(tmp_path, text))
    assert names_of(findings) == ([] if finding is None else [finding])
    assert [f.doubt is not None for f in found] == (
        [finding is not None] if finding in (None, "perhaps_not_there") else []
    )
    told = {"properties": words | {"@timestamp": "2019-04-14T18:23:52Z"}, "type": "Feature"}
    outline = [[[lon, lat] for lat, lon in (NODES[i] for i in RING)]]
    geojson = tmp_path / "map.geojson"
    entry = told | {"geometry": {"type": "Polygon", "coordinates": outline}}
    geojson.write_text(json.dumps({"type": "FeatureCollection", "features": [entry]}))
    again, said = read_file(geojson)  # the same tags as Overpass Turbo writes them
    assert ([f.doubt for f in again], names_of(said)) == ([f.doubt for f in found], names_of(findings))
