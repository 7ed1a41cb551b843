"""Map features in the frame of a flight: boxes, circles, the date line, and heights above ground and sea."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.findings import Findings
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.reading.maps.feature import Feature, MapBounds, PlacedFeature, box_around
from pipeline.worlds.flight.readers.surroundings import buildings, landmarks

FIJI = Origin(lat_deg=-17.0, lon_deg=179.9995, alt_m=3.0)
EQUATOR_DEGREE_M = 111_319.49  # of longitude: 2 pi 6,378,137 m / 360
SQUARE = ((0.0, 0.0), (0.0, 30.0), (40.0, 30.0), (40.0, 0.0))


def feature(origin: Origin, *east_north: tuple[float, float], **facts: Any) -> Feature:
    """A feature with its corners in metres about an origin."""
    places = to_lat_lon_alt(np.column_stack([np.array(east_north), np.zeros(len(east_north))]), origin)
    lon = (places[:, 1] + 180.0) % 360.0 - 180.0
    values: dict[str, Any] = {"name": "X", "kind": None, "solid": True, **facts}
    return Feature((np.column_stack([places[:, 0], lon]),), **values)


def marks(placed: PlacedFeature) -> Any:
    return landmarks(placed, "map.geojson", Findings())


def test_a_landmark_across_the_date_line_lies_beside_the_flight() -> None:
    """A thousandth of a degree at 17° south is 106.5 m."""
    beyond = Feature((np.array([[-17.0, -179.9995]]),), "Reef", None, solid=False)
    (mark,) = marks(PlacedFeature([beyond], FIJI, 0.0))
    assert mark.center == pytest.approx((106.5, 0.0), abs=0.2)


def test_the_smallest_circle_about_a_rectangle() -> None:
    (mark,) = marks(PlacedFeature([feature(FIJI, *SQUARE)], FIJI, 0.0))
    assert mark.center == pytest.approx((20.0, 15.0), abs=1e-3)
    assert mark.radius_m == pytest.approx(25.0, abs=1e-3)
    assert np.array(mark.outline) == pytest.approx(np.array(SQUARE), abs=1e-3)


def test_a_landmark_of_two_polygons_shows_the_larger_and_hides_with_both() -> None:
    small, large = feature(FIJI, (0, 0), (0, 10), (10, 0)), feature(FIJI, (90, 0), (90, 30), (120, 0))
    both = Feature((*small.outlines, *large.outlines), "Halls", None, solid=True, height_m=5.0)
    placed = PlacedFeature([both], FIJI, -2.0)
    (mark,) = marks(placed)
    assert mark.outline is not None
    assert np.array(mark.outline) == pytest.approx(np.array([[90, 0], [90, 30], [120, 0]]), abs=1e-3)
    assert mark.center[0] == pytest.approx(60.0, abs=1.0)
    found = buildings(placed)
    assert [len(outline) for outline in found.outlines] == [3, 3]
    assert found.top_m == pytest.approx([3.0, 3.0])


@pytest.mark.parametrize(
    ("alt_m", "ground_m", "datum", "foot_m", "expected"),
    [
        (3.0, -10.0, "takeoff", 2.0, (-8.0, 22.0, -8.0)),
        (3.0, -10.0, "takeoff", np.nan, (None, 20.0, -10.0)),
        (3.0, -10.0, "sea", 5.0, (2.0, 32.0, 2.0)),
        (None, -10.0, "sea", 5.0, (None, 20.0, -10.0)),
        (3.0, None, "takeoff", 2.0, (None, None, np.nan)),
        (3.0, None, "takeoff", np.nan, (None, None, np.nan)),
        (3.0, None, "sea", 5.0, (2.0, 32.0, 2.0)),
    ],
)
def test_feet_and_tops(
    alt_m: float | None, ground_m: float | None, datum: str, foot_m: float, expected: tuple[Any, Any, float]
) -> None:
    """A height of 30 m, above what is known of its foot; nothing unknown becomes a 0."""
    origin = FIJI.model_copy(update={"alt_m": alt_m})
    placed = PlacedFeature([feature(origin, *SQUARE, datum=datum, foot_m=foot_m, height_m=30.0)], origin, ground_m)
    (mark,) = marks(placed)
    assert (mark.base_m, mark.top_m) == (expected[0], expected[1])
    found = buildings(placed)
    assert found.base_m == pytest.approx([expected[2]], nan_ok=True)
    assert found.top_m == pytest.approx([np.nan if expected[1] is None else expected[1]], nan_ok=True)


def test_no_features_are_no_landmarks_and_no_buildings() -> None:
    placed = PlacedFeature([], FIJI, 0.0)
    assert marks(placed) == ()
    assert buildings(placed).outlines == ()
    assert len(buildings(placed).top_m) == 0


COORDINATES = st.floats(-3000.0, 3000.0)


@given(st.floats(-85.0, 85.0), st.floats(-180.0, 180.0), COORDINATES, COORDINATES, st.floats(0.0, 360.0))
def test_a_box_holds_all_within_its_radius(lat: float, lon: float, east: float, north: float, bearing: float) -> None:
    origin = Origin(lat_deg=lat, lon_deg=lon, alt_m=0.0)
    path = np.array([[0.0, 0.0, 0.0], [east, north, 50.0]])
    away = path[1, :2] + 999.0 * np.array([np.sin(np.radians(bearing)), np.cos(np.radians(bearing))])
    place = to_lat_lon_alt(np.array([[*away, 0.0]]), origin)[:, :2]
    assert box_around(origin, path, 1000.0).holds(place).all()


def test_a_box_ends_soon_after_its_radius() -> None:
    """At the equator a degree is 111,319 m of longitude and 110,574 m of latitude."""
    box = box_around(Origin(lat_deg=0.0, lon_deg=180.0, alt_m=None), np.zeros((1, 3)), 1000.0)
    east = np.array([1000.0, 1020.0, -1000.0, -1020.0]) / EQUATOR_DEGREE_M
    places = np.column_stack([np.zeros(4), (180.0 + east + 180.0) % 360.0 - 180.0])
    assert box.holds(places).tolist() == [True, False, True, False]
    north = np.array([[999.0 / 110_574, 180.0], [1001.0 / 110_574, -180.0]])
    assert box.holds(north).tolist() == [True, False]


@given(st.floats(-89.0, 89.0), st.floats(-180.0, 180.0), st.floats(1e-4, 0.1))
def test_a_box_holds_its_corners_however_they_are_rounded(south: float, west: float, side: float) -> None:
    south, west, north, east = (round(v, 7) for v in (south, west, south + side, west + side))
    box = MapBounds((south + north) / 2, (west + east) / 2, (north - south) / 2, (east - west) / 2)
    assert box.holds(np.array([[south, west], [south, east], [north, west], [north, east]])).all()


def test_a_box_of_the_whole_world_holds_its_corners() -> None:
    assert MapBounds(0.0, 0.0, 90.0, 180.0).holds(np.array([[90.0, 180.0], [-90.0, -180.0], [0.0, 0.0]])).all()
