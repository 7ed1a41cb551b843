"""Facts of a flight known without a model: its movements, and the positions of landmarks relative to the drone."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from pipeline.benchmarks.urbanvideo.authoring.words import SIDES
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.geometry import bearings
from pipeline.geometry.bearings import relative_bearing_deg, turn_between_deg
from pipeline.questions.model_authoring import quoted
from pipeline.worlds.flight.facts import Flight, Landmark, Segment
from pipeline.worlds.flight.observe.flight import BY_COMPASS, UNSEEN

MAX_LANDMARKS: Final = 40  # told to a model: those in view, then the nearest
NOW_S: Final = 2.0  # "at 12 s" means within so many seconds: models tell the time of a video no better
_HALF_SIDE_DEG: Final = 45.0
_NOT_KNOWN: Final = "not known"


@dataclass(frozen=True)
class ObservedFacts:
    """A flight's facts, from the view that the tasks have of it. Without motion there are none but the names."""

    view: UrbanView

    @property
    def flight(self) -> Flight:
        """The facts of the scene."""
        return self.view.flight

    @property
    def margin_deg(self) -> float:
        """How far from the edge of a side something must be to be on that side: that of the landmark tasks."""
        return self.view.rules.direction_margin_min_deg + self.view.heading_error_deg

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The movements; empty where nothing was observed."""
        return self.view.motion.segments

    @cached_property
    def landmarks(self) -> tuple[int, ...]:
        """Indices of the nameable landmarks near the path: those in view first, then by distance."""
        named = [n for n, landmark in enumerate(self.flight.landmarks) if landmark.label]
        near_m = {n: float(self.distance_m(n).min(initial=np.inf)) for n in named}
        seen = self.views or {}
        return tuple(sorted(named, key=lambda n: (not seen.get(n), near_m[n], n))[:MAX_LANDMARKS])

    @property
    def names(self) -> tuple[str, ...]:
        """All names that may be used: the landmarks' labels, the goal and the steps of the route."""
        labels = [str(self.flight.landmarks[n].label) for n in self.landmarks]
        return tuple(dict.fromkeys([*labels, *([self.goal] if self.goal else []), *self.route]))

    @property
    def goal(self) -> str | None:
        """Where the pilot was sent; None where that is the name of a landmark that no words of what is seen fit."""
        named = self.view.goal is None and self.view.no_goal == "goal_not_described"
        return None if named else self.flight.goal

    @property
    def route(self) -> tuple[str, ...]:
        """The steps that the pilot was given; none where they name what no video shows."""
        doubts = {finding.name for finding in self.view.scene.findings}
        return () if doubts & {UNSEEN, BY_COMPASS} else self.flight.route

    @property
    def kinds(self) -> tuple[str, ...]:
        """The sorts of the landmarks."""
        return tuple(sorted({sort for n in self.landmarks if (sort := self.flight.landmarks[n].sort)}))

    @cached_property
    def views(self) -> dict[int, tuple[tuple[float, float], ...]] | None:
        """When each landmark is in the picture; None where that is not known."""
        views = self.view.motion.views
        return None if views is None else {v.landmark: v.intervals for v in views}

    def heading_deg(self, time_s: float | None) -> float | None:
        """The heading of the nose at a time; None where it is not known, or the drone turns too fast."""
        if time_s is None:
            return None
        around = self.view.heading_deg[self._moments(time_s)]
        if not len(around) or not np.isfinite(around).all():
            return None
        middle = float(around[len(around) // 2])
        return (
            middle
            if float(np.abs(turn_between_deg(np.array(middle), around)).max())
            <= self.view.rules.direction_margin_min_deg
            else None
        )

    def off_side_deg(self, landmark: int, side: str, time_s: float | None) -> float | None:
        """By how much a landmark misses a side of the drone at best; 0 within it, None where that is not known.

        At a given time; otherwise over all times at which the landmark is in the picture, or over the whole flight.
        """
        t_s = self.view.t_s
        if time_s is not None:
            when = self._moments(time_s)
        elif self.views and self.views.get(landmark):
            when = np.any([(t_s >= start) & (t_s <= end) for start, end in self.views[landmark]], axis=0)
        else:
            when = np.ones(len(t_s), dtype=bool)
        bearing = self._bearing_deg(landmark)[when]
        off = np.abs(turn_between_deg(np.array(SIDES[side]), bearing)) - _HALF_SIDE_DEG - self.view.heading_error_deg
        off = off[np.isfinite(off)]
        return float(np.maximum(off, 0.0).min()) if len(off) else None

    def is_shown(self, landmark: int, time_s: float | None) -> bool:
        """Whether a landmark is surely in the picture at a time, or at any; False where that is not known."""
        spans = (self.views or {}).get(landmark, ())
        return any(time_s is None or start <= time_s <= end for start, end in spans)

    def side_of(self, bearing_deg: float) -> str | None:
        """The side (`SIDES`) in which a bearing from the nose clearly lies; None between two, or for NaN."""
        for side, middle in SIDES.items():
            off = abs(float(turn_between_deg(np.array(middle), np.array(bearing_deg))))
            if off <= _HALF_SIDE_DEG - self.margin_deg:
                return side
        return None

    def text(self) -> str:
        """The facts as lines for a model. Names from files are `quoted`."""
        lines = []
        if self.goal:
            lines.append(f"Navigation goal: {quoted(self.goal)}")
        lines += [f"Navigation route, step {n}: {quoted(step)}" for n, step in enumerate(self.route, start=1)]
        lines.append("Movements, measured:" if self.segments else f"Movements: {_NOT_KNOWN}")
        lines += [f"- {self._movement(segment)}" for segment in self.segments]
        lines.append("Landmarks:" if self.landmarks else f"Landmarks: {_NOT_KNOWN}")
        lines += [f"- {self._landmark(n)}" for n in self.landmarks]
        return "\n".join(lines)

    def _landmark(self, n: int) -> str:
        landmark: Landmark = self.flight.landmarks[n]
        words = [quoted(str(landmark.label)) + (f" ({quoted(landmark.sort)})" if landmark.sort else "")]
        if self.views is not None:
            shown = [f"{start:.0f} to {end:.0f} s" for start, end in self.views.get(n, ())]
            words.append("in the picture at " + ", ".join(shown) if shown else "never in the picture")
        distance_m, bearing = self.distance_m(n), self._bearing_deg(n)
        if len(distance_m):
            nearest = int(distance_m.argmin())
            side = self.side_of(float(bearing[nearest]))
            words.append(
                f"nearest at {self.view.t_s[nearest]:.0f} s: {distance_m[nearest]:.0f} m"
                + (f", {side}" if side else "")
            )
        return "; ".join(words)

    def _movement(self, segment: Segment) -> str:
        sizes = []
        if segment.distance_m >= 1:
            sizes.append(f"{segment.distance_m:.0f} m over ground")
        if abs(segment.climb_m) >= 1:
            sizes.append(f"{abs(segment.climb_m):.0f} m {'up' if segment.climb_m > 0 else 'down'}")
        if segment.turn_deg is not None and abs(segment.turn_deg) >= self.margin_deg:
            sizes.append(f"turned by {abs(segment.turn_deg):.0f} degrees")
        return f"{segment.start_s:.0f} to {segment.end_s:.0f} s: {' + '.join(segment.actions)}" + (
            f" ({', '.join(sizes)})" if sizes else ""
        )

    def _moments(self, time_s: float) -> BoolArray:
        return np.abs(self.view.t_s - time_s) <= NOW_S

    def distance_m(self, n: int) -> FloatArray:
        """Distance of the path to a landmark's centre (T,), over ground."""
        return bearings.distance_m(self.view.enu_m, np.array(self.flight.landmarks[n].center))

    def _bearing_deg(self, n: int) -> FloatArray:
        """Bearing of a landmark from the nose (T,), clockwise; NaN without a heading."""
        center = np.array(self.flight.landmarks[n].center)
        return relative_bearing_deg(self.view.enu_m, self.view.heading_deg, center)
