"""WGS84 to the ENU frame of a flight and back, exactly (through ECEF)."""

from __future__ import annotations

from typing import Final

import numpy as np
import pymap3d

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Origin

METRES_PER_DEGREE: Final = 111_320.0  # of latitude; of longitude at the equator


def to_enu(lat_lon_alt: FloatArray, origin: Origin) -> FloatArray:
    """ENU metres (N, 3) about an origin of WGS84 degrees and metres (N, 3).

    An origin without an altitude lies at 0. Up is that of the tangent plane: 10 km away it falls 8 m below one's
    feet, so heights are differences of altitudes, never of ``up``.
    """
    lat, lon, alt = np.asarray(lat_lon_alt, dtype=np.float64).T
    enu = pymap3d.geodetic2enu(lat, lon, alt, origin.lat_deg, origin.lon_deg, origin.alt_m or 0.0)
    return np.column_stack(enu).astype(np.float64)


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
