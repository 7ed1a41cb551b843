"""Landmarks of a planted map: by hand, and refused where map, position or heading do not decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shapely import Polygon

from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.reading.maps import surroundings
from pipeline.reading.maps.city_thing import CityThing
from pipeline.reading.maps.gazetteer import stamped
from pipeline.worlds.panorama.facts import PanoramaConfig, PanoramaLandmark, PanoramaScene
from pipeline.worlds.panorama.observe.landmarks import RAYS, _targets, landmarks_of
from tests.benchmarks.ergeobench.made import scene

HERE = Origin(lat_deg=50.0, lon_deg=8.0, alt_m=None)
CONFIG = PanoramaConfig(position_error_m=1.0)
SPATIAL = ("Yaw Estimation", "2D Positioning", "Left/Right Relative", "Front/Back Relative", "Cross View")


def _lon_lat(points: list[tuple[float, float]]) -> list[list[float]]:
    enu = np.column_stack([np.array(points, dtype=np.float64), np.zeros(len(points))])
    return to_lat_lon_alt(enu, HERE)[:, [1, 0]].round(9).tolist()


def _box(x: float, y: float, wide: float, deep: float, **tags: str) -> dict[str, Any]:
    ring = _lon_lat([(x, y), (x + wide, y), (x + wide, y + deep), (x, y + deep), (x, y)])
    return {"type": "Feature", "properties": tags, "geometry": {"type": "Polygon", "coordinates": [ring]}}


def _point(x: float, y: float, **tags: str) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": tags,
        "geometry": {"type": "Point", "coordinates": _lon_lat([(x, y)])[0]},
    }


def _street(*points: tuple[float, float], name: str) -> dict[str, Any]:
    line = {"type": "LineString", "coordinates": _lon_lat(list(points))}
    return {"type": "Feature", "properties": {"highway": "residential", "name": name}, "geometry": line}


HOUSES = [
    _box(x, y, 18.0, 12.0, building="yes", height="9")
    for y, gap in ((10.0, (-9,)), (-22.0, (11, 31, 51)))
    for x in range(-109, 110, 20)
    if x not in gap
]
NUMBERS = [
    _point(x, y, **{"addr:housenumber": "1"})
    for y, gap in ((12.0, (-12, 12)), (-12.0, (10, 70)))
    for x in range(-105, 110, 10)
    if not gap[0] < x < gap[1]
]
CHURCH = _box(-8, 50, 16, 16, building="church", name="St Mary", height="20")
BAKERY = _point(15, 12, shop="bakery", name="Kern")
EDGE_ON = _point(40, 12, shop="butcher", name="Bock")
BEHIND = _box(-40, -60, 6, 6, building="tower", name="Old Tower")
HOTEL = _box(50, -20, 14, 9, building="yes", tourism="hotel", name="Birch Hotel", height="9")
MAP = [*HOUSES, *NUMBERS, CHURCH, HOTEL, BAKERY, EDGE_ON, BEHIND, _street((-150, 0), (150, 0), name="Main Street")]


def _seen(folder: Path, features: list[dict[str, Any]], **facts: Any) -> PanoramaScene:
    (path := folder / "here.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    around = surroundings.surroundings_of((stamped(path),), HERE.lat_deg, HERE.lon_deg)[0]
    made = scene(**({"position": HERE, "heading_deg": 90.0, "accuracy_m": 1.0} | facts))
    update = landmarks_of(made.facts, around, CONFIG)
    return made.model_copy(update={"facts": made.facts.model_copy(update=update)})


def _reasons(found: PanoramaScene, task: str, **rules: Any) -> dict[str, str | None]:
    rows = ERGEO_TASKS[task].candidates(ErgeoView(found, ErgeoRules(**rules))).to_pylist()
    return {row["operands"][0].removeprefix("map "): row["reason"] for row in rows}


def _named(found: PanoramaScene) -> dict[str, PanoramaLandmark]:
    return {own.name: own for own in found.facts.landmarks}


@pytest.mark.parametrize(("eye", "axis", "wall"), [((60, 5), 0, -50), ((-130, 5), 0, -70), ((-60, -90), 1, 0)])
def test_of_a_house_its_near_walls_are_seen(eye: tuple[int, int], axis: int, wall: int) -> None:
    """A house of 20 x 10 m at -70, 0: across all of the wall that looks here, wherever the map has its zero."""
    ring = ((-70.0, 0.0), (-50.0, 0.0), (-50.0, 10.0), (-70.0, 10.0))
    house = CityThing(id="h", kind="building", noun="building", center=(-60.0, 5.0), radius_m=11.2, outline=ring)
    targets = _targets(house, Polygon(ring), np.array(eye, dtype=float))
    assert targets[:, axis] == pytest.approx(np.full(RAYS, wall))
    assert np.ptp(targets[:, 1 - axis]) == pytest.approx((10, 20)[axis], rel=2 / RAYS)


def test_by_hand(tmp_path: Path) -> None:
    found = _seen(tmp_path, MAP)
    own = _named(found)
    church, bakery = own["St Mary"], own["Kern"]
    assert (church.distance_m, church.error_m) == (pytest.approx(50.0, abs=0.02), 1.0)
    assert church.bearing_deg % 360 == pytest.approx(0.0, abs=0.05) or church.bearing_deg > 359.95
    assert church.width_deg == pytest.approx(2 * np.degrees(np.arctan2(8, 50)), abs=0.05)
    assert church.error_deg == pytest.approx(np.degrees(np.arctan2(1, 50)), abs=0.01)
    assert church.top_deg == pytest.approx(np.degrees(np.arctan2(17.5, 50)), abs=0.05)
    # The bakery's point stands 2 m behind its wall, a palm's width before which it is put.
    assert bakery.error_m == pytest.approx(3.0, abs=0.02)
    assert bakery.bearing_deg == pytest.approx(
        np.degrees(np.arctan2(12.5, 9.85) + np.arctan2(17.5, 9.85)) / 2, abs=0.05
    )
    assert (church.visible_share, own["Bock"].visible_share, own["Old Tower"].visible_share) == (1.0, 0.0, 0.0)
    assert found.facts.street_deg == 90.0
    assert (church.side, bakery.side, own["Birch Hotel"].side) == (1, 1, -1)  # looking east, north is left
    assert found.facts.map_coverage == pytest.approx((len(NUMBERS) + 2) / (len(NUMBERS) + 2 + 2.7055), abs=1e-3)


@pytest.mark.parametrize(("way", "street_deg"), [(1, 30.0), (-1, 210.0)])
def test_sides_are_those_of_who_walks_the_street_as_the_map_draws_it(
    way: int, street_deg: float, tmp_path: Path
) -> None:
    """One church lies to its west, another to its east, whether it is drawn to the north-north-east or back."""
    street = _street((-100 * way, -173.2 * way), (100 * way, 173.2 * way), name="Skew Lane")
    churches = [_box(x, y, 8, 8, building="church", name=name) for x, y, name in ((-64, 6, "West"), (56, -14, "East"))]
    found = _seen(tmp_path, [street, *churches])
    assert found.facts.street_deg == pytest.approx(street_deg, abs=0.1)
    assert {name: landmark.side for name, landmark in _named(found).items()} == {"West": way, "East": -way}


def test_questions_hold_from_any_heading(tmp_path: Path) -> None:
    """Where the camera looked changes the yaw, and neither bearing nor side."""
    for heading in (0.0, 90.0, 233.0):
        found = _seen(tmp_path, MAP, heading_deg=heading)
        view = ErgeoView(found, ErgeoRules())
        yaw = {own.name: own.yaw_deg for own in view.objects}
        assert (yaw["St Mary"] + heading + 180) % 360 - 180 == pytest.approx(0.0, abs=0.05)
        asked = [row for row in ERGEO_TASKS["Side of the Street"].candidates(view).to_pylist() if not row["reason"]]
        ids = {f"map {own.id}": own.name for own in found.facts.landmarks}
        answers = {ids[row["operands"][0]]: row["answer"] for row in asked}
        assert answers == {"Birch Hotel": "on the right", "Kern": "on the left"}  # both are seen to the east


def test_what_is_not_decided_is_refused(tmp_path: Path) -> None:
    found = _seen(tmp_path, MAP)
    ids = {own.name: own.id for own in found.facts.landmarks}
    for task in SPATIAL:
        reasons = _reasons(found, task)
        assert reasons[ids["Old Tower"]] == reasons[ids["Bock"]] == "occluded"
    assert _reasons(found, "2D Positioning")[ids["St Mary"]] == "pitch_unknown"
    assert _reasons(found, "Yaw Estimation")[ids["St Mary"]] is None
    assert _reasons(found, "Yaw Estimation")[ids["Kern"]] == "bearing_unsure"  # 9.5 and 3 degrees
    assert _reasons(found, "Front/Back Relative")[ids["Kern"]] is None
    assert _reasons(found, "Yaw Estimation", heading_error_deg=9.0)[ids["St Mary"]] == "bearing_unsure"
    no_numbers = _seen(tmp_path, [own for own in MAP if own not in NUMBERS])
    assert _reasons(no_numbers, "Yaw Estimation")[ids["St Mary"]] == "map_coverage_low"
    assert _reasons(no_numbers, "Nearest Landmark")[ids["Kern"]] == "map_coverage_low"
    no_heading = _seen(tmp_path, MAP, heading_deg=None)
    assert ErgeoView(no_heading, ErgeoRules()).objects == ()
    assert set(_reasons(no_heading, "Side of the Street").values()) == {"heading_unknown"}
    alike = _seen(tmp_path, [*MAP, _box(-60, 40, 8, 8, building="church", height="12")])
    assert _reasons(alike, "Front/Back Relative")[ids["St Mary"]] == "double_in_picture"
    forked = _seen(tmp_path, [*MAP, _street((-60, 40), (60, 40), name="Back Lane")])
    assert _reasons(forked, "Side of the Street")[ids["St Mary"]] == "side_of_street_unsure"
    bare = _seen(tmp_path, [*HOUSES, *NUMBERS])
    assert _reasons(bare, "Nearest Landmark") == {"p1": "no_objects_known"}


def test_where_no_building_has_room_the_map_need_not_have_all(tmp_path: Path) -> None:
    """From the road to the church lies a square; to the bakery 5.9 m of pavement, which the sight crosses aslant."""
    bare = [own for own in MAP if own not in NUMBERS]
    assert {own.open_share for own in _named(_seen(tmp_path, bare)).values()} == {0.0}
    for deep, share in ((46.0, 1.0), (39.5, 0.0)):  # before the church up to 6.5 m of it are left
        found = _seen(tmp_path, [*bare, _box(-12, 4, 24, deep, place="square")])
        own = _named(found)
        assert own["St Mary"].open_share == share
        asked = _reasons(found, "Yaw Estimation")[own["St Mary"].id]
        assert asked == (None if share else "map_coverage_low")


def test_the_nearest_needs_no_heading(tmp_path: Path) -> None:
    features = [*MAP, _point(-14, 12, shop="books", name="Lese"), _box(3, 80, 2, 2, man_made="tower", name="Kiel")]
    features.append(_box(-30, -8, 0.5, 0.5, historic="memorial", memorial="statue", name="Goethe", height="4"))
    found = _seen(tmp_path, features, heading_deg=None)
    rows = ERGEO_TASKS["Nearest Landmark"].candidates(ErgeoView(found, ErgeoRules(apparent_min_deg=0.8))).to_pylist()
    own = {f"the {o.noun} named {o.name}": o for o in found.facts.landmarks}
    asked = [row for row in rows if row["reason"] is None]
    assert asked
    for row in asked:
        far = [own[option].distance_m for option in row["wrong"]]
        away = own[row["answer"]].distance_m
        assert away < min(far) if "nearest" in row["wording"] else away > max(far)


def test_an_extract_that_is_too_large_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "FILE_MAX", 10)
    (path := tmp_path / "here.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": MAP}))
    around, (told,) = surroundings.surroundings_of((stamped(path),), HERE.lat_deg, HERE.lon_deg)
    assert (around.things, told.name, told.limit) == ((), "map_too_large", 10.0)
    assert landmarks_of(scene(position=HERE).facts, around, CONFIG) == {
        "landmarks": (),
        "map_coverage": 0.0,
        "street_deg": None,
    }
