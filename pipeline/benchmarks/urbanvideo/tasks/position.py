"""Landmark Position: where a landmark is for the drone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import TIME, FlightCase, clipped, clock, unsaid
from pipeline.benchmarks.urbanvideo.even import EvenTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.geometry.bearings import relative_bearing_deg

SECTORS: Final = ("Ahead of the drone", "To the right of the drone", "Behind the drone", "To the left of the drone")
_AND: Final = " and "
BELOW, ABOVE = "below it", "rising above it"


class LandmarkPosition(EvenTask):
    """Operands: a landmark and a second. Truth: one of four sectors off the nose; and below or above, if that is clear.

    Heights are spoken of only where the landmark's top is above or below the horizon by a margin. What is nearly under
    the drone is in no sector; that it is directly below is no option, since it is hardly ever right.
    """

    name = "Landmark Position"
    share = 859
    category = "Perception"
    template = "urbanvideo/landmark_position"
    slots = ("landmark", TIME)
    needs = frozenset(("places", "heading", "height"))
    definition = "Tell the agent's current position relative to a landmark."
    example = "The direction of the lake from the UAV's egocentric view:"

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every landmark that the video has shown, every few seconds."""
        yield from unsaid(view)
        for second, index in view.moments:
            for place in view.pool:
                yield self._case(view, place, second, index)

    def kind(self, case: FlightCase) -> bool:
        """Heights are in all options or in none: else the options would tell which of the two matters."""
        return _AND in str(case.answer)

    def _case(self, view: UrbanView, place: int, second: int, index: int) -> FlightCase:
        rules, mark = view.rules, view.places[place]
        case = clipped(view, mark.label, clock(second), until_s=second)
        case.shown(view, place, second)
        east, north, up = view.enu_m[index]
        away = float(np.hypot(mark.center[0] - east, mark.center[1] - north))
        heading = view.heading_deg[index : index + 1]
        bearing = float(relative_bearing_deg(view.enu_m[index : index + 1], heading, mark.center[None])[0])
        sector = round(bearing / 90.0) % 4 if np.isfinite(bearing) else 0
        margin = 45.0 - abs(bearing - round(bearing / 90.0) * 90.0) if np.isfinite(bearing) else np.nan
        half = float(np.degrees(np.arcsin(mark.radius_m / away))) if away > mark.radius_m else 90.0
        case.fact("distance", mark.label, away, "m")
        case.fact("bearing", mark.label, bearing, "deg")
        case.require("heading_unsteady", view.heading_swing_deg(index), "<=", rules.heading_steady_max_deg, "deg")
        case.require("too_wide_from_here", half, "<=", rules.half_width_max_deg, "deg")
        case.heading(view)
        least = rules.direction_margin_min_deg + view.heading_error_deg
        case.require("near_sector_boundary", margin, ">=", least, "deg")
        ground = view.ground_m if np.isnan(mark.base_m) else mark.base_m
        near = max(away - mark.radius_m, 1e-6)
        depression = float(np.degrees(np.arctan2(up - ground, near)))
        case.require("nearly_below", depression, "<=", rules.depression_max_deg, "deg")
        vertical = _vertical(case, away, mark.radius_m, up, mark.top_m, rules.elevation_min_deg)
        return case.ask(_words(SECTORS[sector], vertical), (_words(name, vertical) for name in SECTORS))


def _vertical(case: FlightCase, away: float, radius: float, up: float, top: float, least_deg: float) -> str | None:
    """Whether the top is below or above; None where it is about level, or not known.

    Measured to the far side of the landmark, where its top is nearest to the horizon.
    """
    if np.isnan(top):
        return None
    elevation = float(np.degrees(np.arctan2(top - up, away + radius)))
    if elevation <= -least_deg:
        case.require("not_below", elevation, "<=", -least_deg, "deg")
        return BELOW
    if elevation >= least_deg:
        case.require("not_above", elevation, ">=", least_deg, "deg")
        return ABOVE
    return None


def _words(sector: str, vertical: str | None) -> str:
    return f"{sector}{_AND}{vertical}" if vertical else sector
