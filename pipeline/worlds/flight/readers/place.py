"""Map features in the frame of a flight: landmarks to speak of, buildings that hide them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.geometry.tracks import Buildings
from pipeline.reading.maps.feature import Feature, mentioned
from pipeline.reading.maps.looks import Look, look_of
from pipeline.reading.maps.placed import Placed, circle_about
from pipeline.worlds.flight.facts import Landmark

LANDMARK_MAX_M: Final = 50_000.0  # from the flight's origin: nothing farther was ever seen from a drone
GROUND_DIFFERENCE_M: Final = (
    20.0  # between take-off and the feet of most buildings; altitudes of GPS are off by as much
)
SAME_SHARE: Final = 0.25  # of the larger one's radius: nearer than this, two outlines of one size are of one thing
SAME_SIZE: Final = 0.7  # of the larger one's radius is the smaller one's; a point has none


def landmarks(placed: Placed, file: str, findings: Findings) -> tuple[Landmark, ...]:
    """The features that have a name or a look and lie within 50 km; says which do not."""
    far = placed.distance_m > LANDMARK_MAX_M
    if far.any():
        names = [_who(f, i) for i, f in enumerate(placed.features) if far[i]]
        message = f"{file}: {len(names)} of {len(far)} landmarks lie over 50 km from the flight: {mentioned(names)}"
        remedy = "GeoJSON has the longitude first; is this the file of this flight, and its log in the right place?"
        worst = float(placed.distance_m.max()) / 1000.0
        findings.add(doubt("landmark_too_far", file, message, remedy, worst, LANDMARK_MAX_M / 1000.0, "km"))
    found = (_landmark(placed, i) for i in np.flatnonzero(~far).tolist())
    return tuple(mark for mark in found if mark.name is not None or mark.look is not None)


def others(marks: Sequence[Landmark], more: Sequence[Landmark]) -> tuple[Landmark, ...]:
    """Those of more landmarks that are not one of the first over again: as another map has it, in about its place."""
    center = np.array([mark.center for mark in marks]).reshape(-1, 2)
    radius = np.array([mark.radius_m for mark in marks])

    def is_there(mark: Landmark) -> bool:
        larger, smaller = np.maximum(radius, mark.radius_m), np.minimum(radius, mark.radius_m)
        alike = (radius == 0) | (smaller >= SAME_SIZE * larger)
        return bool((alike & (np.hypot(*(center - mark.center).T) <= SAME_SHARE * larger)).any())

    return tuple(mark for mark in more if not is_there(mark))


def buildings(placed: Placed) -> Buildings:
    """Every polygon of the features that hide what stands behind them."""
    chosen = [i for i, f in enumerate(placed.features) if f.solid and placed.distance_m[i] <= LANDMARK_MAX_M]
    index = np.array([i for i in chosen for _ in placed.outlines[i]], dtype=np.intp)
    outlines = tuple(outline for i in chosen for outline in placed.outlines[i])
    return Buildings(outlines, placed.ground_m[index], placed.top_m[index])


def check_heights(placed: Placed, ground_m: float | None, findings: Findings) -> None:
    """Says what is not known of the heights, what was assumed, and where they contradict the take-off."""
    solid = np.array([f.solid for f in placed.features], dtype=bool)
    unknown = solid & np.isnan(placed.top_m)
    if unknown.any():
        message = f"{int(unknown.sum())} of {int(solid.sum())} buildings have no known height"
        remedy = "add heights to the map, so that it is known what they hide"
        findings.add(note("heights_unknown", "buildings", message, remedy, float(unknown.sum()), 0.0, "buildings"))
    assumed = placed.assumed & np.isfinite(placed.top_m)
    if assumed.any():
        message = f"{int(assumed.sum())} things with a height, but of unknown foot, were put at the height of take-off"
        remedy = "give base_m, the height of the foot above the ground at take-off, where the land is not flat"
        findings.add(note("ground_assumed_flat", "buildings", message, remedy, float(assumed.sum()), 0.0, "things"))
    known = solid & ~placed.assumed
    if ground_m is not None and known.any():
        off = abs(float(np.median(placed.foot_m[known])) - ground_m)
        if off > GROUND_DIFFERENCE_M:
            message = f"most buildings stand {off:.0f} m above or below the ground at take-off"
            remedy = "compare the altitudes of log and map; those of some drones are off by this much"
            findings.add(doubt("ground_differs", "buildings", message, remedy, off, GROUND_DIFFERENCE_M, "m"))


def _who(feature: Feature, place: int) -> str:
    return repr(feature.name) if feature.name else f"feature {place}"


def _landmark(placed: Placed, place: int) -> Landmark:
    feature, outlines = placed.features[place], placed.outlines[place]
    circle_center, radius = circle_about(np.concatenate(outlines))
    largest = max(outlines, key=lambda o: shapely.Polygon(o).area) if len(outlines[0]) > 2 else None
    return Landmark(
        name=feature.name,
        kind=feature.kind,
        look=_with_area(look_of(feature), outlines),
        center=circle_center,
        radius_m=radius,
        outline=None if largest is None else tuple((float(x), float(y)) for x, y in largest),
        base_m=_known(placed.foot_m[place]),
        top_m=_known(placed.top_m[place]),
    )


def _with_area(look: Look | None, outlines: Sequence[FloatArray]) -> Look | None:
    """A look with the area of all outlines; a point has none."""
    area = sum(shapely.Polygon(outline).area for outline in outlines if len(outline) > 2)
    return look.model_copy(update={"area_m2": round(float(area), 1)}) if look and area >= 0.1 else look


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
