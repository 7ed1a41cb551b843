"""WGS84 to the ENU frame of a flight and back, exactly (through ECEF)."""

from typing import Final

import numpy as np
import pymap3d

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Origin

_J2000_S: Final = 946_728_000.0  # 2000-01-01 12:00 UTC
METRES_PER_DEGREE: Final = 111_320.0  # of latitude; of longitude at the equator


def to_enu(lat_lon_alt: FloatArray, origin: Origin) -> FloatArray:
    """ENU metres (N, 3) about an origin of WGS84 degrees and metres (N, 3).

    An origin without an altitude lies at 0. Up is that of the tangent plane: 10 km away it falls 8 m below one's
    feet, so heights are differences of altitudes, never of ``up``.
    """
    lat, lon, alt = np.asarray(lat_lon_alt, dtype=np.float64).T
    enu = pymap3d.geodetic2enu(lat, lon, alt, origin.lat_deg, origin.lon_deg, origin.alt_m or 0.0)
    return np.column_stack(enu).astype(np.float64)


def sun_at(lat_deg: float, lon_deg: float, utc_s: float) -> tuple[float, float]:
    """Azimuth of the sun, clockwise from north in [0, 360), and its elevation without refraction, degrees.

    Within 0.1 degrees from 1950 to 2050 (Astronomical Almanac, "Low-precision formulas for the Sun").

    Args:
        lat_deg: of the place.
        lon_deg: likewise.
        utc_s: seconds since 1970-01-01, UTC.
    """
    days = (utc_s - _J2000_S) / 86_400.0
    anomaly, mean = np.radians(357.528 + 0.9856003 * days), 280.460 + 0.9856474 * days
    longitude = np.radians(mean + 1.915 * np.sin(anomaly) + 0.020 * np.sin(2 * anomaly))
    tilt, lat = np.radians(23.439 - 4e-7 * days), np.radians(lat_deg)
    ascension = np.arctan2(np.cos(tilt) * np.sin(longitude), np.cos(longitude))
    declination = np.arcsin(np.sin(tilt) * np.sin(longitude))
    hour = np.radians(280.46062 + 360.98564737 * days + lon_deg) - ascension
    north = np.cos(lat) * np.sin(declination) - np.sin(lat) * np.cos(declination) * np.cos(hour)
    up = np.sin(lat) * np.sin(declination) + np.cos(lat) * np.cos(declination) * np.cos(hour)
    azimuth = np.degrees(np.arctan2(-np.cos(declination) * np.sin(hour), north))
    return float(azimuth % 360.0), float(np.degrees(np.arcsin(np.clip(up, -1.0, 1.0))))


def to_plane(lat_lon_deg: FloatArray, origin: Origin) -> FloatArray:
    """East and north (N, 2), metres, of WGS84 degrees (N, 2) at altitude 0, about an origin; see `to_enu`."""
    return to_enu(np.column_stack([lat_lon_deg, np.zeros(len(lat_lon_deg))]), origin)[:, :2]


def to_lat_lon_alt(enu_m: FloatArray, origin: Origin) -> FloatArray:
    """WGS84 degrees and metres (N, 3) of ENU metres (N, 3); the inverse of `to_enu`."""
    east, north, up = np.asarray(enu_m, dtype=np.float64).T
    geodetic = pymap3d.enu2geodetic(east, north, up, origin.lat_deg, origin.lon_deg, origin.alt_m or 0.0)
    return np.column_stack(geodetic).astype(np.float64)


def offsets_m(lat_lon_deg: FloatArray, about: FloatArray) -> FloatArray:
    """East and north (N, 2) of WGS84 degrees (N, 2) from a point (2,), metres, on a sphere; good to a percent.

    Safe across the date line.
    """
    delta = lat_lon_deg - about
    east = (delta[:, 1] + 180.0) % 360.0 - 180.0
    return np.column_stack([east * np.cos(np.radians(about[0])), delta[:, 0]]) * METRES_PER_DEGREE
