"""A question about a flight: landmarks and the way until then from above, and heights beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import shapely

from pipeline.benchmarks.embodied4c.drawings.marks import COLOURS, angle, measured
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.ground import Ground
from pipeline.drawing.sheet import WIDTH, Part
from pipeline.worlds.flight.places import Place

_TALL: Final = 150.0  # units of the part with heights
_FOOT: Final = 26.0
LEAST_M: Final = 60.0  # shown at least
HOME: Final = frozenset({"air_dt_home", "air_cs_home"})
BEARINGS: Final = frozenset({"air_lc"})
LEVELS: Final = frozenset({"air_at_height", "air_rs"})


def parts(view: FlightExam, row: Mapping[str, Any]) -> list[Part]:
    """The map, and the heights of the drone until then and of the landmarks that are named."""
    kind, _, *about = row["operands"]
    index = view.flight.index(row["until_s"])
    if index is None:
        return []
    places = [view.flight.places[n] for n in view.flight.pool]
    named = [place for place in places if place.label in about or f": {place.label}" in row["text"]]
    own, way = view.flight.enu_m[index, :2], view.flight.enu_m[: index + 1, :2]
    ground = Ground(np.concatenate([way, own[None], *(outline(place) for place in named)]), WIDTH, least_m=LEAST_M)
    canvas = ground.canvas()
    canvas.shape("thing", [ground.at(outline(place)) for place in places if place not in named])
    canvas.line("way", ground.at(way))
    for colour, place in zip(COLOURS, named, strict=False):
        canvas.shape(colour, [ground.at(outline(place))], place.label)
        canvas.label("name", ground.at(place.center), place.label)
    heading = view.flight.heading_deg[index]
    at = ground.at(own)
    if np.isfinite(heading):
        canvas.arrow("nose", at, at + 34 * np.array([np.sin(np.radians(heading)), -np.cos(np.radians(heading))]))
    canvas.dot("here", at, 5)
    for place in named:
        gap = float(place.distance_m(own[None])[0])
        if kind not in LEVELS and gap > 0:
            measured(canvas, ground, np.stack([own, nearest(place, own)]), gap, "m", f"{gap:.1f} m")
    if kind in HOME:
        start = view.flight.enu_m[0, :2]
        away = float(np.linalg.norm(own - start))
        measured(canvas, ground, np.stack([own, start]), away, "m", f"{away:.1f} m")
    if kind in BEARINGS and named and np.isfinite(heading):
        bearing = view.bearing_deg(view.flight.pool[places.index(named[0])], index)
        angle(canvas, at, 90 - float(heading), -bearing)
    return [Part(canvas, ground.told()), _heights(view, index, named)]


def outline(place: Place) -> FloatArray:
    """Its footprint (n, 2), or the circle that stands for it."""
    if place.outline is not None:
        return place.outline
    turn = np.radians(np.arange(0, 360, 15))
    return place.center + max(place.radius_m, 1.0) * np.column_stack([np.cos(turn), np.sin(turn)])


def nearest(place: Place, point: FloatArray) -> FloatArray:
    """The point (2,) of its footprint that is nearest to another."""
    if place.outline is not None:
        line = shapely.LinearRing(place.outline)
        found = line.interpolate(line.project(shapely.Point(point)))
        return np.array([found.x, found.y])
    way = point - place.center
    return np.asarray(place.center + way * (place.radius_m / max(float(np.hypot(*way)), 1e-9)))


def _heights(view: FlightExam, index: int, named: list[Place]) -> Part:
    """Heights over the time, and landmarks from foot to top beside it, to one scale."""
    t, height = view.flight.t_s[: index + 1], view.flight.enu_m[: index + 1, 2]
    known = [place for place in named if np.isfinite([place.base_m, place.top_m]).all()]
    low = min([float(height.min()), *(place.base_m for place in known)])
    high = max([float(height.max()), *(place.top_m for place in known), low + 2.0])
    per_m = (_TALL - 2 * _FOOT) / (high - low)
    canvas = Canvas(WIDTH, _TALL)

    def up(value: float) -> float:
        return _TALL - _FOOT - (value - low) * per_m

    across = (WIDTH - 220) / max(float(t[-1] - t[0]), 1.0)
    canvas.line("curve", np.column_stack([20 + (t - t[0]) * across, _TALL - _FOOT - (height - low) * per_m]))
    canvas.text("small", (20, _TALL - 8), f"height of the drone until {t[-1]:.1f} s", size=11)
    for n, (colour, place) in enumerate(zip(COLOURS, known, strict=False)):
        x = WIDTH - 180 + 30 * n
        ends = [(x, up(place.base_m)), (x, up(place.top_m))]
        canvas.line(f"bar {colour}", ends, {"measure": f"{place.top_m - place.base_m:.9g}", "unit": "m"})
        canvas.label("value", ends[1], f"{place.top_m - place.base_m:.0f} m")
    return Part(canvas, {"part": "heights", "per-m": f"{per_m:.9g}"})
