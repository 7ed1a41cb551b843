"""Cities of OpenStreetMap, as people extract them."""

import bz2
import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import quoteattr

import numpy as np
import osmium
import pytest

from pipeline.benchmarks.cityeqa.query import Query, RouteLimits
from pipeline.benchmarks.cityeqa.wording import Phrase
from pipeline.reading.maps import osm
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.city.occluders import Occluders
from tests.conftest import REAL_DATA
from tests.worlds.city.cities import lon_lat, read

# ---- an extract of OpenStreetMap as GeoJSON, as the tools of others write it: osmium's own geometries


Style = Callable[[str, Mapping[str, str]], dict[str, Any]]


def flat(identity: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """As Overpass Turbo and QGIS."""
    return {"id": identity, "properties": {**tags, "@id": identity}}


def nested(identity: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """As osmtogeojson, where its option ``flatProperties`` is off."""
    kind, _, number = identity.partition("/")
    return {"id": identity, "properties": {"type": kind, "id": number, "tags": dict(tags), "relations": [], "meta": {}}}


def rarer(identity: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """As GDAL: some keys have a property each, the others stand in one."""
    own = {key: value for key, value in tags.items() if key in {"name", "building", "highway", "shop", "amenity"}}
    quoted = [f"{_quoted(key)}=>{_quoted(value)}" for key, value in tags.items() if key not in own]
    return {"properties": {"osm_id": identity.partition("/")[2], **own, "other_tags": ",".join(quoted) or None}}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_geojson(extract: Path, style: Style) -> dict[str, Any]:
    """All nodes, lines and areas of an extract that have tags."""
    factory = osmium.geom.GeoJSONFactory()
    features = []
    for thing in osmium.FileProcessor(str(extract)).with_locations().with_areas():
        tags = dict(thing.tags)
        is_round = "highway" in tags and tags.get("area") != "yes"  # a closed way that is a line all the same
        if not tags or (thing.is_area() and is_round):
            continue
        if thing.is_node():
            identity, raw = f"node/{thing.id}", factory.create_point(thing)
        elif thing.is_area():
            identity = f"{'way' if thing.from_way() else 'relation'}/{thing.orig_id()}"
            if not any(True for _ in thing.outer_rings()):
                continue  # osmium could not close it
            raw = factory.create_multipolygon(thing)
        elif thing.is_way() and (is_round or not thing.is_closed()):
            identity, raw = f"way/{thing.id}", factory.create_linestring(thing)
        else:
            continue
        geometry = json.loads(raw)
        if geometry["type"] == "MultiPolygon" and len(geometry["coordinates"]) == 1:
            geometry = {"type": "Polygon", "coordinates": geometry["coordinates"][0]}
        features.append({"type": "Feature", "geometry": geometry, **style(identity, tags)})
    return {"type": "FeatureCollection", "features": features}


Tags = Mapping[str, str]
SIDE_M: Final = 400.0


class Extract:
    """An extract of a square in the making."""

    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._ways: list[str] = []
        self._count = 0

    def node(self, x: float, y: float, **tags: str) -> int:
        """A point, by its metres; ``__`` stands for a colon in keys."""
        self._count += 1
        lon, lat = lon_lat((x, y))[0]
        self._nodes.append(f'<node id="{self._count}" version="1" lat="{lat:.9f}" lon="{lon:.9f}">{_tags(tags)}</node>')
        return self._count

    def way(self, x: float, y: float, w: float, d: float, **tags: str) -> int:
        """An outline, by its south-west corner."""
        corners = [self.node(*at) for at in ((x, y), (x + w, y), (x + w, y + d), (x, y + d))]
        self._count += 1
        ends = "".join(f'<nd ref="{n}"/>' for n in (*corners, corners[0]))
        self._ways.append(f'<way id="{self._count}" version="1">{ends}{_tags(tags)}</way>')
        return self._count

    def text(self) -> str:
        """The file."""
        (west, south), (east, north) = lon_lat((0.0, 0.0), (SIDE_M, SIDE_M))
        box = f'<bounds minlat="{south}" minlon="{west}" maxlat="{north}" maxlon="{east}"/>'
        return f'<?xml version="1.0"?><osm version="0.6">{box}{"".join(self._nodes)}{"".join(self._ways)}</osm>'

    def read(self, folder: Path) -> CityScene:
        """The city, as the reader has it."""
        (folder / "here").mkdir(parents=True)
        (folder / "here" / "map.osm").write_text(self.text(), encoding="utf-8")
        (folder / "here" / "city.yaml").write_text("origin: {lat_deg: 50.0, lon_deg: 8.0, alt_m: null}\n")
        return read(folder)


def _tags(tags: Tags) -> str:
    return "".join(f"<tag k={quoteattr(k.replace('__', ':'))} v={quoteattr(v)}/>" for k, v in tags.items())


def words(scene: CityScene) -> dict[str, str]:
    """By id what things are called."""
    return {thing.id: thing.noun for thing in scene.facts.things if thing.kind != "building"}


def test_what_is_seen_of_memorials_works_of_art_and_stops(tmp_path: Path) -> None:
    """A plate in the pavement, a painting and the place where a bus halts are nothing that one sees from afar."""
    town = Extract()
    town.way(180, 180, 20, 20, building="yes")
    seen = {
        town.node(100, 100, historic="memorial", memorial="statue"): "statue",
        town.node(120, 100, historic="memorial", memorial="bust"): "bust",
        town.node(140, 100, tourism="artwork", artwork_type="sculpture"): "sculpture",
        town.node(160, 100, historic="memorial", name="Ernst-Reuter-Linde"): "memorial",
        town.node(180, 100, highway="bus_stop", name="Market"): "bus stop",
    }
    town.node(110, 100, historic="memorial", memorial="stolperstein")
    town.node(130, 100, historic="memorial", memorial="plaque")
    town.node(150, 100, tourism="artwork", artwork_type="mural")
    town.node(185, 100, highway="bus_stop", public_transport="stop_position", name="Market")
    scene = town.read(tmp_path)
    assert words(scene) == {f"node/{key}": noun for key, noun in seen.items()}
    unclear = [thing.noun for thing in scene.facts.things if thing.doubt]
    assert unclear == ["memorial"]


def test_a_memorial_of_which_nobody_tells_the_looks_may_be_the_statue(tmp_path: Path) -> None:
    town = Extract()
    town.way(180, 180, 20, 20, building="yes")
    town.node(100, 100, historic="memorial", memorial="statue")
    town.node(160, 100, historic="memorial")
    query = Query(town.read(tmp_path).facts, RouteLimits(10.0, 120.0, 60.0))
    sure, maybe = query.fit(Phrase("statue"), np.arange(len(query.city.things)))
    assert (int(sure.sum()), int(maybe.sum())) == (1, 2)


def test_a_building_is_as_high_as_its_highest_part_and_not_all_over(tmp_path: Path) -> None:
    """What surely shows of it is the least that a building has; above that, all of it may be there."""
    town = Extract()
    column = town.way(100, 100, 40, 40, building="yes", height="9.2")
    town.way(115, 115, 10, 10, building__part="yes", height="58.59")
    untold = town.way(200, 100, 40, 40, building="yes")
    town.way(205, 105, 10, 10, building__part="yes", height="30")
    town.way(225, 105, 10, 10, building__part="yes")
    told = town.way(300, 100, 40, 40, building="yes")
    town.way(300, 100, 40, 20, building__part="yes", height="12")
    town.way(300, 120, 40, 20, building__part="yes", height="21,5")
    town.way(10, 10, 10, 10, building__part="yes", height="99")  # of no building
    scene = town.read(tmp_path)
    by_id = {thing.id: thing for thing in scene.facts.things}
    assert (by_id[f"way/{column}"].height_m, by_id[f"way/{column}"].top_m) == (58.59, 58.59)
    assert by_id[f"way/{untold}"].height_m is None
    assert by_id[f"way/{told}"].height_m == 21.5
    solids = Occluders(scene.facts)
    own = [p for p in solids.prisms if scene.facts.things[p.thing].id == f"way/{column}"]
    assert [(p.base_m, p.top_m, p.sure) for p in own] == [(0.0, 2.5, True), (2.5, 58.59, False)]


def test_what_lies_beyond_the_border_is_left_out_and_what_it_cuts_stays(tmp_path: Path) -> None:
    town = Extract()
    cut = town.way(SIDE_M - 10, 100, 40, 20, building="yes")
    town.way(SIDE_M + 20, 100, 40, 20, building="yes")
    town.node(SIDE_M + 300, 100, highway="bus_stop")
    scene = town.read(tmp_path)
    assert [thing.id for thing in scene.facts.things] == [f"way/{cut}"]
    (finding,) = [f for f in scene.findings if f.name == "beyond_the_map"]
    assert "2 of 3 things lie beyond the map's border" in finding.message


@pytest.mark.parametrize("suffix", [".osm", ".osm.gz", ".osm.bz2", ".osm.pbf"])
def test_every_form_of_an_extract_is_the_same_city(tmp_path: Path, suffix: str) -> None:
    import osmium

    town = Extract()
    town.way(180, 180, 20, 20, building="house", building__levels="3", name='Haus "Zur <b>Post</b>" & Söhne')
    town.node(100, 100, shop="bakery", name="مخبز النور")
    plain = town.read(tmp_path).facts
    root = tmp_path / "other"
    (root / "here").mkdir(parents=True)
    (root / "here" / "city.yaml").write_text("origin: {lat_deg: 50.0, lon_deg: 8.0, alt_m: null}\n")
    path, raw = root / "here" / f"map{suffix}", town.text().encode()
    if suffix.endswith(".pbf"):
        with osmium.SimpleWriter(
            str(path), header=osmium.io.Reader(str(tmp_path / "here" / "map.osm")).header()
        ) as out:
            for thing in osmium.FileProcessor(str(tmp_path / "here" / "map.osm")):
                out.add(thing)
    else:
        path.write_bytes({".osm": bytes, ".osm.gz": gzip.compress, ".osm.bz2": bz2.compress}[suffix](raw))
    again = read(root).facts
    assert again == plain
    assert [(t.noun, t.name, t.levels) for t in again.things] == [
        ("bakery", "مخبز النور", None),
        ("building", None, 3.0),
    ]


@pytest.mark.parametrize("part_bytes", [1 << 24, 50])
@pytest.mark.parametrize(
    "order",
    [
        pytest.param(lambda nodes, ways: [*ways, *nodes], id="ways first"),
        pytest.param(lambda nodes, ways: [*nodes[4:], *ways, *nodes[:4]], id="Overpass: body, then what it needs"),
        pytest.param(lambda nodes, ways: [*nodes, *reversed(ways)], id="ids in disorder"),
        pytest.param(lambda nodes, ways: [e.replace(' version="1" ', " ") for e in (*ways, *nodes)], id="no versions"),
    ],
)
def test_an_extract_in_disorder_is_the_same_city(
    tmp_path: Path, order: Any, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(osm, "_PART_BYTES", part_bytes)
    town = Extract()
    town.way(180, 180, 20, 20, building="house")
    town.way(120, 120, 20, 20, building="house")
    town.way(20, 20, 100, 0, highway="residential", name="Gasse")
    town.node(100, 100, shop="bakery")
    plain = town.read(tmp_path / "plain").facts
    assert len(plain.streets) == 1
    assert len(plain.things) == 3
    monkeypatch.setattr(town, "_nodes", order(town._nodes, town._ways))
    monkeypatch.setattr(town, "_ways", [])
    assert town.read(tmp_path / "other").facts == plain


@pytest.mark.parametrize("style", [flat, nested, rarer])
def test_an_extract_in_geojson_is_the_same_city(tmp_path: Path, style: Style) -> None:
    town = Extract()
    town.way(180, 180, 20, 20, building="house", building__levels="3", roof__colour="red", name='Haus "Post" \\ Söhne')
    town.way(100, 180, 60, 20, building="yes", height="40 ft", building__colour="#b22222")
    town.way(100, 300, 60, 20, leisure="park", name="Grün")
    town.node(190, 178, shop="bakery", name="مخبز النور")
    town.node(30, 30, natural="tree", ele="12")
    plain = town.read(tmp_path).facts
    path = tmp_path / "other" / "here" / "map.geojson"
    path.parent.mkdir(parents=True)
    (west, south), (east, north) = lon_lat((0.0, 0.0), (SIDE_M, SIDE_M))
    (path.parent / "city.yaml").write_text(
        f"origin: {{lat_deg: 50.0, lon_deg: 8.0, alt_m: null}}\nbounds: [{west}, {south}, {east}, {north}]\n"
    )
    path.write_text(json.dumps(as_geojson(tmp_path / "here" / "map.osm", style)), encoding="utf-8")
    again = read(path.parent.parent).facts
    assert [_but_for_ids(thing) for thing in sorted(again.things, key=_place)] == [
        _but_for_ids(thing) for thing in sorted(plain.things, key=_place)
    ]
    assert len(plain.things) == 5
    if style is not rarer:  # which has no kinds of ids
        assert [thing.id for thing in again.things] == [thing.id for thing in plain.things]


def _place(thing: CityThing) -> tuple[float, float]:
    return thing.center


def _but_for_ids(thing: CityThing) -> dict[str, Any]:
    return thing.model_dump(exclude={"id", "on", "source_tags"})


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize("style", [rarer, pytest.param(flat, marks=pytest.mark.long)])
def test_monaco_in_geojson_has_the_same_things_and_streets(tmp_path: Path, style: Style) -> None:
    extract = REAL_DATA / "city" / "monaco.osm.gz"
    for name in ("osm", "geojson"):
        (tmp_path / name / "here").mkdir(parents=True)
        (tmp_path / name / "here" / "city.yaml").write_text("origin: {lat_deg: 43.74, lon_deg: 7.42, alt_m: 0}\n")
    shutil.copy(extract, tmp_path / "osm" / "here" / extract.name)
    value = as_geojson(extract, style)
    (tmp_path / "geojson" / "here" / "map.geojson").write_text(json.dumps(value), encoding="utf-8")
    plain, again = (read(tmp_path / name).facts for name in ("osm", "geojson"))
    mine, own = (sorted(map(_told, facts.things)) for facts in (again, plain))
    assert mine == own
    assert len(own) > 1500
    assert sorted((s.name or "", s.sure, s.line) for s in again.streets) == sorted(
        (s.name or "", s.sure, s.line) for s in plain.streets
    )


def _told(thing: CityThing) -> str:
    return str(_but_for_ids(thing))
