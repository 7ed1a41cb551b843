"""What is known of a flight without a model: its movements, and where its landmarks are from the drone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from pipeline.benchmarks.urbanvideo.authoring.vocabulary import SIDES
from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.worlds.flight.facts import Flight, Landmark, Motion, Segment

MARGIN_DEG: Final = 15.0  # to the edge of a side, as for the landmark tasks that are answered from facts
MAX_LANDMARKS: Final = 40  # told to a model: those in view, then the nearest
NOW_S: Final = 2.0  # "at 12 s" means within so many seconds: models tell the time of a video no better
_HALF_SIDE_DEG: Final = 45.0
_NOT_KNOWN: Final = "not known"


@dataclass(frozen=True)
class Observed:
    """A flight's facts. ``flight.motion`` may be None: then there are none but the names."""

    flight: Flight

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The movements; empty where nothing was observed."""
        return self.flight.motion.segments if self.flight.motion else ()

    @cached_property
    def landmarks(self) -> tuple[int, ...]:
        """Indices of the nameable landmarks near the path: those in view first, then by distance."""
        named = [n for n, landmark in enumerate(self.flight.landmarks) if landmark.label]
        near_m = {n: float(np.nanmin(self._distance_m(n), initial=np.inf)) for n in named}
        seen = self.views or {}
        return tuple(sorted(named, key=lambda n: (not seen.get(n), near_m[n], n))[:MAX_LANDMARKS])

    @property
    def names(self) -> tuple[str, ...]:
        """What may be spoken of: the landmarks' labels, the goal and the steps of the route."""
        labels = [str(self.flight.landmarks[n].label) for n in self.landmarks]
        return tuple(dict.fromkeys([*labels, *([self.flight.goal] if self.flight.goal else []), *self.flight.route]))

    @property
    def kinds(self) -> tuple[str, ...]:
        """What sorts of things the landmarks are."""
        return tuple(sorted({kind for n in self.landmarks if (kind := self.flight.landmarks[n].kind)}))

    @cached_property
    def views(self) -> dict[int, tuple[tuple[float, float], ...]] | None:
        """When each landmark is in the picture; None where that is not known."""
        motion = self.flight.motion
        return None if motion is None or motion.views is None else {v.landmark: v.intervals for v in motion.views}

    def heading_deg(self, time_s: float | None) -> float | None:
        """Of the nose at a time; None where it is not known, or turns by more than the margin about that time."""
        motion = self.flight.motion
        if motion is None or time_s is None:
            return None
        now = _moments(motion, time_s)
        around = _floats(motion.heading_deg)[now]
        if not len(around) or not np.isfinite(around).all():
            return None
        middle = float(around[len(around) // 2])
        return middle if float(np.abs(_turned(around, middle)).max()) <= MARGIN_DEG else None

    def off_side_deg(self, landmark: int, side: str, time_s: float | None) -> float | None:
        """By how much a landmark misses a side of the drone at best; 0 within it, None where that is not known.

        At a given time; otherwise over all times at which the landmark is in the picture, or over the whole flight.
        """
        motion = self.flight.motion
        if motion is None:
            return None
        t_s = np.array(motion.t_s)
        if time_s is not None:
            when = _moments(motion, time_s)
        elif self.views and self.views.get(landmark):
            when = np.any([(t_s >= start) & (t_s <= end) for start, end in self.views[landmark]], axis=0)
        else:
            when = np.ones(len(t_s), dtype=bool)
        off = np.abs(_turned(self._bearing_deg(landmark)[when], SIDES[side])) - _HALF_SIDE_DEG
        off = off[np.isfinite(off)]
        return float(np.maximum(off, 0.0).min()) if len(off) else None

    def text(self) -> str:
        """The facts as lines for a model. Names from files are `quoted`."""
        flight = self.flight
        lines = []
        if flight.goal:
            lines.append(f"Navigation goal: {quoted(flight.goal)}")
        lines += [f"Navigation route, step {n}: {quoted(step)}" for n, step in enumerate(flight.route, start=1)]
        lines.append("Movements, measured:" if self.segments else f"Movements: {_NOT_KNOWN}")
        lines += [f"- {_movement(segment)}" for segment in self.segments]
        lines.append("Landmarks:" if self.landmarks else f"Landmarks: {_NOT_KNOWN}")
        lines += [f"- {self._landmark(n)}" for n in self.landmarks]
        return "\n".join(lines)

    def _landmark(self, n: int) -> str:
        landmark: Landmark = self.flight.landmarks[n]
        told = [quoted(str(landmark.label)) + (f" ({quoted(landmark.kind)})" if landmark.kind else "")]
        if self.views is not None:
            shown = [f"{start:.0f} to {end:.0f} s" for start, end in self.views.get(n, ())]
            told.append("in the picture at " + ", ".join(shown) if shown else "never in the picture")
        distance_m, bearing = self._distance_m(n), self._bearing_deg(n)
        if self.flight.motion is not None and np.isfinite(distance_m).any():
            nearest = int(np.nanargmin(distance_m))
            time_s = self.flight.motion.t_s[nearest]
            side = side_of(float(bearing[nearest]))
            told.append(f"nearest at {time_s:.0f} s: {distance_m[nearest]:.0f} m" + (f", {side}" if side else ""))
        return "; ".join(told)

    def _offset_m(self, n: int) -> FloatArray:
        """From the drone to a landmark (T, 2), east and north."""
        motion = self.flight.motion
        path = np.array(motion.enu_m, dtype=np.float64).reshape(-1, 3)[:, :2] if motion else np.empty((0, 2))
        return np.array(self.flight.landmarks[n].center) - path

    def _distance_m(self, n: int) -> FloatArray:
        return np.asarray(np.linalg.norm(self._offset_m(n), axis=1))

    def _bearing_deg(self, n: int) -> FloatArray:
        """Of a landmark from the nose (T,), clockwise; NaN without a heading."""
        east, north = self._offset_m(n).T
        heading = _floats(self.flight.motion.heading_deg) if self.flight.motion else np.empty(0)
        return np.asarray(np.degrees(np.arctan2(east, north)) - heading)


def side_of(bearing_deg: float) -> str | None:
    """Name of the side (`SIDES`) in which a bearing from the nose clearly lies; None between two, or for NaN."""
    for side, middle in SIDES.items():
        if abs(_turned(np.array(bearing_deg), middle)) <= _HALF_SIDE_DEG - MARGIN_DEG:
            return side
    return None


def _turned(angle_deg: FloatArray, from_deg: float) -> FloatArray:
    """Difference of angles in [-180, 180)."""
    return np.asarray((angle_deg - from_deg + 180.0) % 360.0 - 180.0)


def _moments(motion: Motion, time_s: float) -> BoolArray:
    return np.abs(np.array(motion.t_s) - time_s) <= NOW_S


def _floats(values: tuple[float | None, ...]) -> FloatArray:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def quoted(text: str) -> str:
    """A text as data within a prompt: a JSON string, which ends neither its line nor its quotation."""
    return json.dumps(text, ensure_ascii=False)


def _movement(segment: Segment) -> str:
    sizes = []
    if segment.distance_m >= 1:
        sizes.append(f"{segment.distance_m:.0f} m over ground")
    if abs(segment.climb_m) >= 1:
        sizes.append(f"{abs(segment.climb_m):.0f} m {'up' if segment.climb_m > 0 else 'down'}")
    if segment.turn_deg is not None and abs(segment.turn_deg) >= MARGIN_DEG:
        sizes.append(f"turned by {abs(segment.turn_deg):.0f} degrees")
    return f"{segment.start_s:.0f} to {segment.end_s:.0f} s: {' + '.join(segment.actions)}" + (
        f" ({', '.join(sizes)})" if sizes else ""
    )
