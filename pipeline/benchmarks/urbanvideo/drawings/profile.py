"""What changes in the course of a flight, over the seconds of its video: height, and distance to a landmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.urbanvideo.drawings.plan import KINDS, Flown, Plan
from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.sheet import WIDTH, Part

_HIGH: Final = 150.0
_LEFT: Final = 44.0
_RIGHT: Final = 14.0
_TOP: Final = 24.0
_BOTTOM: Final = 24.0
_LEAST: Final = 5.0  # metres that the axis covers at least
_POINTS: Final = 500


class Chart:
    """Metres over seconds."""

    def __init__(self, title: str, t_s: FloatArray, values_m: FloatArray, end_s: float, floor: float | None) -> None:
        self.canvas = Canvas(WIDTH, _HIGH)
        known = values_m[np.isfinite(values_m)]
        low = min(float(known.min(initial=np.inf)), np.inf if floor is None else floor) if len(known) else 0.0
        span = max(float(known.max(initial=-np.inf)) - low, _LEAST) if len(known) else _LEAST
        self.per_s = (WIDTH - _LEFT - _RIGHT) / max(end_s, 1e-9)
        self.per_m = (_HIGH - _TOP - _BOTTOM) / span
        self.low = low
        self._title, self._end_s, self._high = title, end_s, low + span
        self._t_s, self._values = t_s, values_m

    def at(self, t_s: float | FloatArray, metres: float | FloatArray) -> FloatArray:
        """Units of seconds and metres."""
        x = _LEFT + np.asarray(t_s, dtype=np.float64) * self.per_s
        return np.stack([x, _HIGH - _BOTTOM - (np.asarray(metres) - self.low) * self.per_m], axis=-1)

    def stretch(self, kind: str, from_s: float, until_s: float, fact: str) -> None:
        """A stretch of the video."""
        left, right = self.at(from_s, 0)[0], self.at(until_s, 0)[0]
        corners = [(left, _TOP), (right, _TOP), (right, _HIGH - _BOTTOM), (left, _HIGH - _BOTTOM)]
        self.canvas.shape(kind, [corners])
        told = {"fact": fact, "from-s": f"{from_s:g}", "until-s": f"{until_s:g}"}
        self.canvas.line("edge of", [corners[3], corners[2]], told)

    def part(self, name: str) -> Part:
        """The chart with its curve and axes."""
        step = max(1, len(self._t_s) // _POINTS)
        known = np.isfinite(self._values[::step])
        curve = self.at(self._t_s[::step][known], self._values[::step][known])
        if len(curve):
            self.canvas.line("curve", curve)
        bottom = _HIGH - _BOTTOM
        self.canvas.line("tick", [(_LEFT, _TOP), (_LEFT, bottom), (WIDTH - _RIGHT, bottom)])
        for metres in (self.low, self._high):
            y = self.at(0.0, metres)[1]
            self.canvas.text("small", (_LEFT - 6, y + 4), f"{metres:.0f} m", "end", 11)
        for second in (0.0, self._end_s):
            self.canvas.text("small", (self.at(second, 0)[0], bottom + 16), f"{second:.0f} s", "middle", 11)
        self.canvas.text("note", (_LEFT + 6, 15), self._title, size=12)
        return Part(self.canvas, {"part": name, "per-s": f"{self.per_s:.9g}", "per-m": f"{self.per_m:.9g}"})


def heights(plan: Plan, row: Mapping[str, Any], flown: Sequence[Flown]) -> Part:
    """Height above take-off, with the stretch that is asked about and its movements."""
    view = plan.view
    chart = Chart("height above take-off", view.t_s, view.height_m, view.end_s, None)
    begin, end = row["from_s"] or 0.0, view.end_s if row["until_s"] is None else row["until_s"]
    if not flown:
        chart.stretch("stretch", begin, end, "stretch")
    else:
        for number, step in enumerate(flown):
            start, stop = max(step.start_s, 0.0), min(step.end_s, view.end_s)
            chart.stretch(f"{KINDS[number % len(KINDS)]} band", start, stop, "movement")
            chart.canvas.text("name", (chart.at((start + stop) / 2, 0)[0], _TOP + 12), str(number + 1), "middle", 11)
    if row["until_s"] is not None:
        x = chart.at(end, 0)[0]
        chart.canvas.line("measure", [(x, _TOP), (x, _HIGH - _BOTTOM)])
        chart.canvas.text("small", (x, _HIGH - _BOTTOM + 16), f"{end:.0f} s", "middle", 11)
    return chart.part("heights")
