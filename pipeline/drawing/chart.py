"""A chart: metres over the seconds of a video."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.sheet import WIDTH, Part

HIGH: Final = 150.0
TOP: Final = 24.0
BOTTOM: Final = 24.0
_LEFT: Final = 44.0
_RIGHT: Final = 14.0
_LEAST: Final = 5.0  # metres that the axis covers at least
_POINTS: Final = 500


class Chart:
    """Metres over seconds."""

    def __init__(self, title: str, t_s: FloatArray, values_m: FloatArray, end_s: float, floor: float | None) -> None:
        self.canvas = Canvas(WIDTH, HIGH)
        known = values_m[np.isfinite(values_m)]
        low = min(float(known.min(initial=np.inf)), np.inf if floor is None else floor) if len(known) else 0.0
        span = max(float(known.max(initial=-np.inf)) - low, _LEAST) if len(known) else _LEAST
        self.per_s = (WIDTH - _LEFT - _RIGHT) / max(end_s, 1e-9)
        self.per_m = (HIGH - TOP - BOTTOM) / span
        self.low = low
        self._title, self._end_s, self._high = title, end_s, low + span
        self._t_s, self._values = t_s, values_m

    def at(self, t_s: float | FloatArray, metres: float | FloatArray) -> FloatArray:
        """Units of seconds and metres."""
        x = _LEFT + np.asarray(t_s, dtype=np.float64) * self.per_s
        return np.stack([x, HIGH - BOTTOM - (np.asarray(metres) - self.low) * self.per_m], axis=-1)

    def stretch(self, kind: str, from_s: float, until_s: float, fact: str) -> None:
        """A stretch of the video."""
        left, right = self.at(from_s, 0)[0], self.at(until_s, 0)[0]
        corners = [(left, TOP), (right, TOP), (right, HIGH - BOTTOM), (left, HIGH - BOTTOM)]
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
        bottom = HIGH - BOTTOM
        self.canvas.line("tick", [(_LEFT, TOP), (_LEFT, bottom), (WIDTH - _RIGHT, bottom)])
        for metres in (self.low, self._high):
            y = self.at(0.0, metres)[1]
            self.canvas.text("small", (_LEFT - 6, y + 4), f"{metres:.0f} m", "end", 11)
        for second in (0.0, self._end_s):
            self.canvas.text("small", (self.at(second, 0)[0], bottom + 16), f"{second:.0f} s", "middle", 11)
        self.canvas.text("note", (_LEFT + 6, 15), self._title, size=12)
        return Part(self.canvas, {"part": name, "per-s": f"{self.per_s:.9g}", "per-m": f"{self.per_m:.9g}"})
