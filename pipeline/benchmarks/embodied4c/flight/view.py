"""A flight as its exam sees it: moments at which questions stand, and how landmarks lie about the drone then."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.case import WORDINGS, ExamCase, ToldFacts, about_log, log_flags, pose
from pipeline.benchmarks.embodied4c.rules import AERIAL, ExamRules
from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Rejection
from pipeline.drawing import fonts
from pipeline.geometry.angles import rate, turn_rate_dps
from pipeline.questions.gate import ShownScene
from pipeline.questions.selection import times_held
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.flight.view import FlightView, Need

WINDOW_S: Final = 1.0  # over which rates are measured, half of it before a time
KMH: Final = 3.6
_TIMED: Final = frozenset({"air_mt", "air_sm", "air_sm_height"})  # of speeds, or the last seconds


class FlightExam:
    """A flight under the exam's rules. Frame: ENU metres; "here" is ahead and to the left of the drone's nose.

    Attributes:
        flight: the flight as its world sees it.
        moments: seconds of the video with the sample nearest to each.
        flags: what each of its questions carries.
        log_doubts: about the log as a whole.
        told: facts that questions ask for.
    """

    domain = AERIAL

    def __init__(self, scene: FlightScene, rules: ExamRules) -> None:
        self.scene, self.rules, self.asked_facts = scene, rules, ToldFacts()
        self.flight: FlightView[ExamRules] = FlightView(scene, rules)
        self.log_doubts = about_log(scene.findings)
        self.flags = log_flags(AERIAL, scene, rules, scene.facts.drawable, "camera of the drone")
        known = [
            (second, index)
            for second, index in self.flight.moments
            if second >= rules.past_min_s and second <= self.flight.end_s - rules.future_min_s
        ]
        most = round(rules.exam_moments_max * times_held(self.flight.end_s))
        self.moments = [known[(i + 1) * len(known) // most - 1] for i in range(most)] if len(known) > most else known

    @cached_property
    def shown(self) -> ShownScene:
        """What whoever answers is shown of it; where its positions are steps no way, and no number finer than two."""
        step_m = max((f.measured or 0.0 for f in self.scene.findings if f.name == "quantised"), default=0.0)
        if not step_m:
            return self.flight.shown
        least = {"distance": 2 * step_m, "distance from the start": 2 * step_m, "speed": 2 * step_m * KMH / WINDOW_S}
        known = {name: own for name, own in self.flight.shown.readable.items() if name != "way flown"}
        return replace(self.flight.shown, readable={n: max(own, least.get(n, 0.0)) for n, own in known.items()})

    @property
    def asked_s(self) -> list[float]:
        """The times at which questions stand."""
        return [float(second) for second, _ in self.moments]

    @property
    def obstacle(self) -> Rejection | None:
        """Why nothing can be asked at all."""
        if not self.flight.observed:
            return Rejection(reason="motion_not_observed", measured=None, limit=None, unit=None)
        if self.flight.carried is not None:
            return self.flight.carried
        doubts = [found for found in self.scene.findings if found.severity == "doubt" and found.stretches is None]
        if self.scene.video is not None:
            whole = self.flight.obstacle(frozenset())
            if whole is not None:
                return whole
        elif doubts:  # without a video the world asks nothing; what it knows of doubts is then not asked for
            first = doubts[0]
            return Rejection(reason=first.name, measured=first.measured, limit=first.limit, unit=first.unit)
        return None if self.moments else Rejection(reason="no_moment", measured=0, limit=1, unit="times")

    @cached_property
    def velocity_mps(self) -> FloatArray:
        """(N, 3) over ground and upwards; NaN where samples around a time are of two parts of the track."""
        return self._velocity(WINDOW_S)

    @cached_property
    def short_mps(self) -> FloatArray:
        """(N,) speed over ground, over half the time, up to each: what a film that ends there shows."""
        velocity = self._velocity(WINDOW_S / 2, until=True)
        return np.asarray(np.hypot(velocity[:, 0], velocity[:, 1]))

    @cached_property
    def climb_shown_mps(self) -> FloatArray:
        """(N,) upwards, over the time up to each."""
        return self._velocity(WINDOW_S, until=True)[:, 2]

    def _velocity(self, window_s: float, *, until: bool = False) -> FloatArray:
        flight = self.flight
        found = rate(flight.t_s, flight.enu_m, window_s, until=until)
        step = 1.0 / flight.motion.rate_hz
        gaps = np.flatnonzero(np.diff(flight.t_s) > 1.5 * step)
        for gap in gaps.tolist():
            left, right = flight.t_s[gap], flight.t_s[gap + 1]
            found[(flight.t_s >= left - WINDOW_S / 2) & (flight.t_s <= right + WINDOW_S)] = np.nan
        return found

    @cached_property
    def speed_mps(self) -> FloatArray:
        """(N,) over ground."""
        return np.asarray(np.hypot(self.velocity_mps[:, 0], self.velocity_mps[:, 1]))

    @cached_property
    def turn_dps(self) -> FloatArray:
        """(N,) of the nose, clockwise."""
        return turn_rate_dps(self.flight.t_s, self.flight.heading_deg, WINDOW_S)

    @cached_property
    def turn_shown_dps(self) -> FloatArray:
        """(N,) the same over the time up to each."""
        return turn_rate_dps(self.flight.t_s, self.flight.heading_deg, WINDOW_S, until=True)

    def whole_since(self, second: float, from_s: float = 0.0) -> float:
        """Seconds from one time to another of which the track tells nothing."""
        t = self.flight.t_s
        inside = t[(t >= from_s) & (t <= second)]
        steps = np.diff(np.concatenate([[from_s], inside, [second]]))
        return float(steps[steps > 1.5 / self.flight.motion.rate_hz].sum())

    def way_m(self, second: float, from_s: float = 0.0) -> float:
        """Length of the path in space between two times."""
        t = self.flight.t_s
        part = self.flight.enu_m[(t >= from_s - 1e-6) & (t <= second + 1e-6)]
        return float(np.linalg.norm(np.diff(part, axis=0), axis=1).sum())

    def bearing_deg(self, place: int, index: int) -> float:
        """Of a place's middle from the nose, clockwise, in [-180, 180)."""
        east, north = self.flight.places[place].center - self.flight.enu_m[index, :2]
        return float((np.degrees(np.arctan2(east, north)) - self.flight.heading_deg[index] + 180) % 360 - 180)


def case(
    view: FlightExam, kind: str, second: int, operands: Iterable[str] = (), /, *places: int, **fields: str
) -> ExamCase:
    """A case of a kind at a second of the video, about places that its video shows."""
    one = pose(view, kind, float(second), operands, fields)
    moved: frozenset[Need] = frozenset(("steps", "seconds") if kind in _TIMED else ("steps",))
    shown: frozenset[Need] = frozenset(("places",) if view.scene.video is None else ("places", "views"))
    doubt = view.flight.doubt(shown if places else moved)
    if doubt is not None:
        one.refuse(doubt.reason, doubt.measured, doubt.limit, doubt.unit)
    if places and view.scene.video is not None and not view.flight.seen_known:
        one.refuse("views_unknown")
    if (video := WORDINGS[kind].video) in {"shown_s", "long_s"}:
        one.require("clip_too_short", second, ">=", getattr(view.rules, video), "s")
    for place in places:
        label = view.flight.places[place].label
        if letters := unwritten(view, place):
            one.refuse("name_not_drawn", letters, 0, "letters")
        seen = float(view.flight.seen_by(place, second, one.from_s or 0.0))
        one.require("not_seen_yet", seen, ">=", 1, "times", label)
        one.name(view.flight.named(place, seen))
    return one


def unwritten(view: FlightExam, place: int) -> int:
    """How many letters of a place's name a drawn film cannot write: it shows empty boxes."""
    return 0 if view.scene.video else fonts.unwritten(view.flight.places[place].label)


def named(view: FlightExam) -> Iterator[tuple[int, int, int, float]]:
    """Second, sample, place, and the distance over ground from the drone to its footprint."""
    for second, index in view.moments:
        for row, place in enumerate(view.flight.pool):
            yield second, index, place, float(view.flight.distance_m[row, index])


def steady(view: FlightExam, one: ExamCase, index: int) -> None:
    """That the nose is known and stays for a moment."""
    swing = view.flight.heading_swing_deg(index) + view.flight.heading_error_deg
    one.require("nose_swings", swing, "<=", view.rules.swing_max_deg, "deg")


def label_of(view: FlightExam, place: int) -> str:
    """How a place is spoken of."""
    return view.flight.places[place].label


def without_article(label: str) -> tuple[str, ...]:
    """A label without its article."""
    return (label.removeprefix("the "),) if label.startswith("the ") else ()
