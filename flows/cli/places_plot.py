"""Chosen places on the map of their cities."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_enu
from pipeline.places import PlaceCity, Spot, class_score
from pipeline.reading.maps.gazetteer import Gazetteer

MOST: Final = 9  # cities that are drawn
_GREY: Final = "#666666"
_STYLE: Final[Any] = {"font.family": "DejaVu Sans", "font.size": 9, "axes.edgecolor": _GREY, "axes.labelcolor": _GREY,
                      "xtick.color": _GREY, "ytick.color": _GREY, "axes.axisbelow": True}  # fmt: skip


def draw(spots: Sequence[Spot], known: Gazetteer, radius_m: float) -> bytes:
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
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _city(
    axis: Any, city: PlaceCity, spots: Sequence[Spot], known: Gazetteer, radius_m: float, span: tuple[float, float]
) -> Any:
    origin = Origin(lat_deg=city.lat_deg, lon_deg=city.lon_deg, alt_m=None)
    lines, widths = [], []
    for road in known.roads:
        flat = _flat(road.lat_lon, origin)
        if np.hypot(*flat.T).min() <= 1.1 * radius_m:
            lines.append(flat)
            widths.append(0.3 + 1.7 * (class_score(road.classes) or 0.0))
    axis.add_collection(LineCollection(lines, colors="#c8c8c8", linewidths=widths))
    axis.add_patch(Circle((0, 0), radius_m, fill=False, edgecolor="#b0b0b0", linestyle=":"))
    axis.plot(0, 0, "+", color=_GREY, markersize=9)
    at = _flat(np.array([(spot.lat_deg, spot.lon_deg) for spot in spots]), origin)
    shown = axis.scatter(
        *at.T, c=[spot.score for spot in spots], vmin=span[0], vmax=span[1], cmap="viridis", s=22, zorder=3,
        edgecolors="white", linewidths=0.5,
    )  # fmt: skip
    points = np.concatenate([*lines, at])
    points = points[np.hypot(*points.T) <= 1.1 * radius_m]
    half = max(float(np.abs(points).max()) * 1.05, 100.0)
    axis.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xlabel="east (m)", ylabel="north (m)")
    axis.set_title(f"{city.name}, {city.country_code}: {len(spots)} places", fontsize=10, parse_math=False)
    return shown


def _flat(lat_lon: np.ndarray, origin: Origin) -> np.ndarray:
    return to_enu(np.column_stack([lat_lon, np.zeros(len(lat_lon))]), origin)[:, :2]
