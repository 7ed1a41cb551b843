"""The Geo-localization Score (ERGeoBench, section 3.3): formulas over figures in per cent and kilometres."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray

RADIUS_KM: Final = 6371.0  # equation 5
WITHIN_KM: Final = (1, 25, 200, 750, 2500)  # equation 6
FARTHEST_KM: Final = 20_037.5  # D_max of equation 7: half of the circumference, and what an invalid reply counts as


def great_circle_km(lat_lon_deg: FloatArray, other: FloatArray) -> FloatArray:
    """Haversine distance (N,) between WGS84 degrees (N, 2) on a sphere (equation 5), kilometres."""
    one, two = np.radians(lat_lon_deg), np.radians(other)
    half = np.sin((two - one) / 2) ** 2
    square = half[:, 0] + np.cos(one[:, 0]) * np.cos(two[:, 0]) * half[:, 1]
    return np.asarray(2 * RADIUS_KM * np.arcsin(np.sqrt(np.clip(square, 0.0, 1.0))))


def error_score(median_km: FloatArray) -> FloatArray:
    """S_err of median errors (...,), in [0, 100] (equation 7)."""
    share = 1 - np.log(median_km + 1) / np.log(FARTHEST_KM + 1)
    return np.asarray(np.clip(share, 0.0, None) * 100)


def gls(figures: FloatArray) -> FloatArray:
    """GLS (...,) in [0, 100] of figures (9, ...) (equations 3, 4 and 6).

    In order: accuracy of street, city and country, hits within each of `WITHIN_KM`, all in per cent, and the median
    error in kilometres. A level that is NaN is nowhere known (in the wilderness there is no street): the others count.
    """
    levels = figures[:3]
    known = (~np.isnan(levels)).sum(axis=0)
    semantic = np.divide(np.nansum(levels, axis=0), known, out=np.full(known.shape, np.nan), where=known > 0)
    hits = figures[3:8].mean(axis=0)
    return np.asarray((semantic + hits + error_score(figures[8])) / 3)
