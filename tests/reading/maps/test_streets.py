"""Streets of maps: which ways are any, and what is wrong with lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.core.findings import Findings
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.maps.feature import MapBounds
from pipeline.reading.maps.streets import read_streets_of_osm, streets_of_geojson
from tests.conftest import REAL_DATA

EVERYWHERE = MapBounds(0.0, 0.0, 90.0, 180.0)
OSM = """<?xml version="1.0"?><osm version="0.6">
<node id="1" lat="50" lon="8"/><node id="2" lat="50" lon="8.001"/><node id="3" lat="50.001" lon="8.001"/>
{}</osm>"""


def ways(*tags: str) -> str:
    """Ways of two nodes with tags such as "highway=primary;name=A"."""
    out = []
    for n, words in enumerate(tags, start=10):
        pairs = "".join('<tag k="{}" v="{}"/>'.format(*pair.split("=")) for pair in words.split(";"))
        out.append(f'<way id="{n}"><nd ref="1"/><nd ref="2"/>{pairs}</way>')
    return OSM.format("".join(out))


def read(folder: Path, text: str) -> dict[str, tuple[str | None, bool]]:
    path = folder / "map.osm"
    path.write_text(text, encoding="utf-8")
    found = read_streets_of_osm(SceneFiles(folder, SceneRef("city/map", (".", "map.osm"), "")), path, EVERYWHERE)
    return {street.id: (street.name, street.sure) for street in found}


def test_which_ways_are_streets(tmp_path: Path) -> None:
    text = ways(
        "highway=residential;name=Elm  Street", "highway=service", "highway=footway", "highway=primary;bridge=yes",
        "highway=primary;tunnel=yes", "highway=pedestrian;area=yes", "highway=tertiary;layer=-1", "building=yes",
        "highway=unclassified;name=A\u202eB",
    )  # fmt: skip
    assert read(tmp_path, text) == {
        "way/10": ("Elm Street", True),
        "way/11": (None, False),  # a drive
        "way/13": (None, False),  # above what lies below
        "way/16": (None, False),
        "way/18": (None, True),  # its name turns the text about
    }


def test_ways_without_nodes_are_none(tmp_path: Path) -> None:
    text = OSM.format('<way id="9"><nd ref="1"/><nd ref="77"/><tag k="highway" v="primary"/></way>')
    assert read(tmp_path, text) == {}


def line(kind: str, coordinates: Any, **facts: Any) -> dict[str, Any]:
    properties = {"kind": kind, **facts}
    return {"type": "Feature", "properties": properties, "geometry": {"type": "LineString", "coordinates": coordinates}}


@pytest.mark.parametrize(
    "broken", [None, [], [[8.0, 50.0]], [[8.0, 50.0], "x"], [[8.0, 50.0], [8.0, True]], [[8, 99]] * 2]
)
def test_broken_lines_are_named(broken: Any) -> None:
    findings = Findings()
    sound = line("street", [[8.0, 50.0], [8.001, 50.0]], name="Elm", id="e")
    found = streets_of_geojson(
        {"features": [sound, line("street", broken), line("river", [])]}, "map.geojson", findings
    )
    assert [(street.id, street.name) for street in found] == [("e", "Elm")]
    (finding,) = findings.items
    assert (finding.name, finding.subject) == ("broken_streets", "map.geojson")
    assert "1 streets" in finding.message
    assert "street 1" in finding.message


@pytest.mark.real_data
def test_the_streets_of_monaco() -> None:
    folder = REAL_DATA / "city"
    files = SceneFiles(folder, SceneRef("city/monaco", (".", "monaco.osm.gz"), ""))
    found = read_streets_of_osm(files, folder / "monaco.osm.gz", EVERYWHERE)
    assert len(found) > 400
    assert any(street.name == "Boulevard Albert 1er" and street.sure for street in found)
