import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import offsets_m, sun_at, to_enu, to_lat_lon_alt

EQUATOR = Origin(lat_deg=0.0, lon_deg=10.0, alt_m=0.0)


def test_axes_and_signs() -> None:
    """On the equator of WGS84 a degree of longitude is 111,319.5 m, one of latitude 110,574 m."""
    small = 1e-3
    enu = to_enu(np.array([[0.0, 10.0 + small, 0.0], [small, 10.0, 0.0], [0.0, 10.0, 7.5]]), EQUATOR)
    assert enu[0] == pytest.approx([111.3195, 0.0, 0.0], abs=2e-3)
    assert enu[1] == pytest.approx([0.0, 110.574, 0.0], abs=2e-3)
    assert enu[2] == pytest.approx([0.0, 0.0, 7.5], abs=1e-6)


def test_the_tangent_plane_leaves_the_ground() -> None:
    """10 km away the ground lies d²/2R = 7.8 m below the plane."""
    enu = to_enu(np.array([[0.0, 10.0 + 10_000 / 111_319.5, 0.0]]), EQUATOR)
    assert enu[0, 2] == pytest.approx(-7.84, abs=0.05)


def test_an_origin_without_altitude_lies_at_0() -> None:
    origin = Origin(lat_deg=47.0, lon_deg=8.0, alt_m=None)
    assert to_enu(np.array([[47.0, 8.0, 12.0]]), origin)[0] == pytest.approx([0, 0, 12.0], abs=1e-6)


def test_the_date_line_is_no_leap() -> None:
    offset = offsets_m(np.array([[0.0, -179.999]]), np.array([0.0, 179.999]))
    assert offset[0] == pytest.approx([0.002 * 111_320, 0.0], abs=1e-3)


def test_offsets_agree_with_the_ellipsoid() -> None:
    place = np.array([[46.51, 7.26]])
    exact = to_enu(np.column_stack([place, [0.0]]), Origin(lat_deg=46.5, lon_deg=7.25, alt_m=0.0))[0, :2]
    assert offsets_m(place, np.array([46.5, 7.25]))[0] == pytest.approx(exact, rel=0.01)


@given(st.floats(-80, 80), st.floats(-180, 180), st.floats(-100, 9000), st.tuples(*[st.floats(-20_000, 20_000)] * 3))
def test_back_and_forth(lat: float, lon: float, alt: float, enu: tuple[float, float, float]) -> None:
    origin = Origin(lat_deg=lat, lon_deg=lon, alt_m=alt)
    there = to_lat_lon_alt(np.array([enu]), origin)
    assert to_enu(there, origin)[0] == pytest.approx(enu, abs=1e-3)


@pytest.mark.parametrize(
    ("place", "moment", "azimuth", "elevation"),
    [
        ((39.742476, -105.1786), "2003-10-17T19:30:30+00:00", 194.340, 39.888),  # NREL's example of its SPA, 2008
        ((45.0, 45.0), "2020-03-20T12:07:30+00:00", 234.736, 30.0),  # an equinox at three: atan2(-√2, -1)
        ((-33.86, 151.21), "2020-12-21T01:53:20+00:00", 0.0, 79.58),  # the longest day of Sydney: 90 - 33.86 + 23.44
    ],
)
def test_the_sun_stands_where_almanacs_have_it(
    place: tuple[float, float], moment: str, azimuth: float, elevation: float
) -> None:
    found = sun_at(*place, datetime.datetime.fromisoformat(moment).timestamp())
    assert found[1] == pytest.approx(elevation, abs=0.1)
    assert (found[0] - azimuth + 180.0) % 360.0 - 180.0 == pytest.approx(0.0, abs=0.2)


@pytest.mark.parametrize("year", range(1950, 2051, 10))
def test_the_sun_stands_where_keplers_orbit_has_it(year: int) -> None:
    """Along the ellipse of eccentricity 0.0167 (Kepler's equation), turned by the tilt, then by the Earth."""
    moment, lat, lon = datetime.datetime(year, year % 7 + 3, 5, year % 24, tzinfo=datetime.UTC), 47.0, year - 1990.0
    days = moment.timestamp() / 86_400 - 10_957.5
    mean = eccentric = np.radians(357.528 + 0.9856003 * days)
    for _ in range(9):
        eccentric = mean + 0.01671 * np.sin(eccentric)
    true = 2 * np.arctan(np.sqrt(1.01671 / 0.98329) * np.tan(eccentric / 2))
    longitude = np.radians(280.460 + 0.9856474 * days) + (true - mean)

    def turn(angle: float) -> np.ndarray:
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    x, (y, z) = np.cos(longitude), turn(np.radians(23.439 - 4e-7 * days)) @ [np.sin(longitude), 0.0]
    south, east = turn(-np.radians(280.46062 + 360.98564737 * days + lon)) @ [x, y]
    up, north = turn(-np.radians(lat)) @ [south, z]
    azimuth, elevation = np.radians(sun_at(lat, lon, moment.timestamp()))
    level = np.cos(elevation)
    found = level * np.sin(azimuth), level * np.cos(azimuth), np.sin(elevation)
    assert found == pytest.approx((east, north, up), abs=3e-5)
