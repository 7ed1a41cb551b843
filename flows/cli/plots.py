"""Pictures that commands draw with matplotlib: a track with its height profile, and chosen places on maps of cities."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_plane
from pipeline.places import CaptureSpot, PlaceCity, class_score
from pipeline.reading.maps.gazetteer import Gazetteer
from pipeline.worlds.flight.tracks.assemble import AssembledTrack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST: Final = 9  # cities that are drawn
_COLOURS: Final = "viridis"
_START: Final = "#1b7837"
_END: Final = "#c2185b"
_GREY: Final = "#666666"
_LEAST_M: Final = 1.0  # half the width of the map of a flight that stood still
_PARTS_SHOWN: Final = 20  # more dotted lines than this hide the profile
_STYLE: Final[Any] = {"font.family": "DejaVu Sans", "font.size": 9, "axes.edgecolor": _GREY, "axes.labelcolor": _GREY,
                      "xtick.color": _GREY, "ytick.color": _GREY, "axes.axisbelow": True}  # fmt: skip
_GRID: Final[Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
}


def track_png(assembled: AssembledTrack, title: str) -> bytes:
    """A PNG: the path from above and the height over time, coloured by time; parts are not joined."""
    track = assembled.track
    joined = np.diff(track.part) == 0
    span = (float(track.t_s[0]), max(float(track.t_s[-1]), float(track.t_s[0]) + 1e-3))
    with mpl.rc_context(_STYLE | _GRID):
        figure = Figure(figsize=(12, 5.2), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        from_above, profile = figure.subplots(1, 2, width_ratios=(1, 1.15))
        lines = _path(from_above, track.enu_m[:, :2], track.t_s, joined, span)
        _fit(from_above, track.enu_m[:, :2])
        from_above.set(xlabel="east (m)", ylabel="north (m)")
        if np.isfinite(track.height_m).any():
            _path(profile, np.column_stack([track.t_s, track.height_m]), track.t_s, joined, span)
            profile.margins(0.03, 0.12)
            profile.autoscale_view()
        else:
            profile.text(0.5, 0.5, "no heights in the log", ha="center", color=_GREY, transform=profile.transAxes)
        starts = track.t_s[1:][~joined]
        for start in starts if len(starts) <= _PARTS_SHOWN else ():
            profile.axvline(start, color=_GREY, linewidth=0.6, linestyle=":")
        profile.set(xlabel="time (s)", ylabel="height above take-off (m)")
        from_above.legend(loc="best", frameon=False)
        figure.colorbar(lines, ax=profile, label="time (s)", pad=0.01, aspect=35).outline.set_visible(False)
        parts = int(track.part[-1]) + 1
        told = f"{len(track)} positions in {track.t_s[-1] - track.t_s[0]:.1f} s" + f", {parts} parts" * (parts > 1)
        figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=12, fontweight="bold")
        figure.text(0.01, 0.925, told, ha="left", color=_GREY)
        return _png(figure)


def _path(
    axes: Axes, points: FloatArray, t_s: FloatArray, joined: BoolArray, span: tuple[float, float]
) -> LineCollection:
    """Lines between the samples (N, 2) of a part, dots where a sample stands alone, both ends marked."""
    known = np.asarray(np.isfinite(points).all(1))
    pairs = np.stack([points[:-1], points[1:]], axis=1)[joined & known[:-1] & known[1:]]
    lines = LineCollection(list(pairs), cmap=_COLOURS, linewidth=1.8, capstyle="round", zorder=2)
    lines.set_array(t_s[:-1][joined & known[:-1] & known[1:]])
    lines.set_clim(*span)
    axes.add_collection(lines)
    alone = np.concatenate([[True], ~joined]) & np.concatenate([~joined, [True]])
    axes.scatter(
        points[alone, 0], points[alone, 1], c=t_s[alone], cmap=_COLOURS, vmin=span[0], vmax=span[1], s=6, zorder=2
    )
    for at, colour, marker, label in ((0, _START, "o", "start"), (-1, _END, "s", "end")):
        here = points[known][at]
        axes.plot(*here, marker=marker, color=colour, markersize=7, linestyle="", label=label, mec="white", zorder=3)
    return lines


def _fit(axes: Axes, points: FloatArray) -> None:
    """A square with room around the path."""
    low, high = points.min(0), points.max(0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, _LEAST_M) * 1.08
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")


def places_png(spots: Sequence[CaptureSpot], known: Gazetteer, radius_m: float) -> bytes:
    """A PNG: of each of the first cities its roads, the wider the higher their class, and its places by their score."""
    cities = list(dict.fromkeys(spot.city for spot in spots))[:MOST]
    across = math.ceil(math.sqrt(len(cities)))
    down = math.ceil(len(cities) / across)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(5.2 * across + 1.0, 5.2 * down), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(down, across, squeeze=False)
        shown = None
        low, high = min(spot.score for spot in spots), max(spot.score for spot in spots)
        span = (low, max(high, low + 1e-6))
        for axis, city in zip(axes.flat, cities, strict=False):
            shown = _city(axis, city, [spot for spot in spots if spot.city == city], known, radius_m, span)
        for axis in axes.flat[len(cities) :]:
            axis.set_axis_off()
        if shown is not None:
            figure.colorbar(shown, ax=axes, shrink=0.6, label="score (equation 8)")
        figure.text(0.995, 0.004, "© OpenStreetMap contributors", ha="right", va="bottom", color=_GREY, fontsize=7)
        return _png(figure)


def _city(
    axis: Any,
    city: PlaceCity,
    spots: Sequence[CaptureSpot],
    known: Gazetteer,
    radius_m: float,
    span: tuple[float, float],
) -> Any:
    origin = Origin(lat_deg=city.lat_deg, lon_deg=city.lon_deg, alt_m=None)
    lines, widths = [], []
    for road in known.roads:
        flat = to_plane(road.lat_lon, origin)
        if np.hypot(*flat.T).min() <= 1.1 * radius_m:
            lines.append(flat)
            widths.append(0.3 + 1.7 * (class_score(road.classes) or 0.0))
    axis.add_collection(LineCollection(lines, colors="#c8c8c8", linewidths=widths))
    axis.add_patch(Circle((0, 0), radius_m, fill=False, edgecolor="#b0b0b0", linestyle=":"))
    axis.plot(0, 0, "+", color=_GREY, markersize=9)
    at = to_plane(np.array([(spot.lat_deg, spot.lon_deg) for spot in spots]), origin)
    shown = axis.scatter(
        *at.T, c=[spot.score for spot in spots], vmin=span[0], vmax=span[1], cmap=_COLOURS, s=22, zorder=3,
        edgecolors="white", linewidths=0.5,
    )  # fmt: skip
    points = np.concatenate([*lines, at])
    points = points[np.hypot(*points.T) <= 1.1 * radius_m]
    half = max(float(np.abs(points).max()) * 1.05, 100.0)
    axis.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xlabel="east (m)", ylabel="north (m)")
    axis.set_title(f"{city.name}, {city.country_code}: {len(spots)} places", fontsize=10, parse_math=False)
    return shown


def _png(figure: Figure) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format="png", metadata={"Software": None})
    return sink.getvalue()
