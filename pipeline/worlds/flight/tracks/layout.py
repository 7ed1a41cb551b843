"""Where the positions of a log lie: laid out in ENU metres, from local positions or from WGS84."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding, Origin
from pipeline.formats.logs.log import Log
from pipeline.geometry.geodesy import offsets_m, to_enu
from pipeline.worlds.flight.tracks.fixes import Fixes, bounded, is_place

DISAGREE_M: Final = 20.0  # a receiver's noise at its worst, and a local frame's drift over a flight
HIGHEST_M: Final = 50_000.0  # larger altitudes and heights are broken numbers


class Placed(NamedTuple):
    """Positions of some samples of a log.

    Attributes:
        enu_m: (N, 3), about any zero; rows of NaN could not be placed.
        lat_lon_alt: (N, 3) WGS84, NaN where unknown.
        level_m: (N,) the altitudes or heights that the path is laid out by.
        local: whether ENU is the log's own local frame.
        findings: what was wrong.
    """

    enu_m: FloatArray
    lat_lon_alt: FloatArray
    level_m: FloatArray
    local: bool
    findings: tuple[Finding, ...]


def place(log: Log, index: IntArray) -> Placed:
    """The samples ``index`` (N,) of a log in ENU: its local positions, unless those of WGS84 contradict them."""
    known_place = np.full((len(index), 3), np.nan)
    found: list[Finding] = []
    if log.lat_lon_alt is not None:
        logged = log.lat_lon_alt[index]
        known = is_place(logged[:, :2])
        known_place[known] = logged[known]
    if log.enu_m is not None:
        enu_m, known = log.enu_m[index], np.isfinite(known_place[:, 0])
        apart = _apart_m(enu_m[known, :2], known_place[known, :2])
        if apart <= DISAGREE_M:
            return Placed(enu_m, known_place, enu_m[:, 2], local=True, findings=())
        message = f"local and WGS84 positions part by {apart:.0f} m; the path is that of WGS84"
        remedy = "see whether the estimator was reset in flight"
        found.append(doubt("positions_disagree", "log", message, remedy, apart, DISAGREE_M, "m"))
    level, above_sea = _levels(log, index, known_place[:, 2], found)
    if not above_sea:
        known_place[:, 2] = np.nan
    return Placed(_laid_out(known_place, level), known_place, level, local=False, findings=tuple(found))


def _apart_m(local_m: FloatArray, lat_lon_deg: FloatArray) -> float:
    """How far two paths (N, 2) part over ground once they begin at one point: the distance that 95% keep below."""
    if not len(local_m):
        return 0.0
    gap = offsets_m(lat_lon_deg, lat_lon_deg[0]) - (local_m - local_m[0])
    return float(np.quantile(np.hypot(gap[:, 0], gap[:, 1]), 0.95))


def _levels(log: Log, index: IntArray, altitude: FloatArray, found: list[Finding]) -> tuple[FloatArray, bool]:
    """The better known of altitude and height above take-off (N,), and whether it is the altitude; 0 without either."""
    n = len(index)
    altitude = bounded(altitude, HIGHEST_M)
    if not np.nan_to_num(altitude).any():  # all of it 0 is none
        altitude = np.full(n, np.nan)
    height = np.full(n, np.nan) if log.height_m is None else bounded(log.height_m[index], HIGHEST_M)
    above_sea = bool(np.isfinite(altitude).sum() >= max(1, np.isfinite(height).sum()))
    level = altitude if above_sea else height
    missing = int((~np.isfinite(level)).sum())
    if missing == n:
        remedy = "take no height from this log"
        found.append(doubt("no_altitude", "log", "the log has no altitudes; the path is laid out flat", remedy))
        return np.zeros(n), False
    if missing:
        message = f"{missing} of {n} positions have no altitude and were left out"
        found.append(
            note("refused_altitudes", "log", message, "none needed if the rest will do", missing / n, 0.0, "share")
        )
    return level, above_sea


def _laid_out(place: FloatArray, level_m: FloatArray) -> FloatArray:
    """ENU (N, 3) of WGS84 positions about the first that has a level."""
    at = np.column_stack([place[:, :2], level_m])
    known = np.isfinite(at).all(1)
    if not known.any():
        return np.full_like(at, np.nan)
    lat, lon, alt = map(float, at[np.argmax(known)])
    return to_enu(at, Origin(lat_deg=lat, lon_deg=lon, alt_m=alt))


def zeroed(fixes: Fixes, local: bool) -> tuple[Fixes, Origin | None]:
    """ENU about the first fix that is left and that WGS84 places; without WGS84 about the first that is left."""
    placed = np.isfinite(fixes.lat_lon_alt[:, 0])
    first = int(np.argmax(placed))
    enu_m = fixes.enu_m - fixes.enu_m[first] if local else _laid_out(fixes.lat_lon_alt, fixes.level_m)
    if not placed.any():
        return replace(fixes, enu_m=enu_m), None
    lat, lon, alt = map(float, fixes.lat_lon_alt[first])
    return replace(fixes, enu_m=enu_m), Origin(lat_deg=lat, lon_deg=lon, alt_m=alt if np.isfinite(alt) else None)
