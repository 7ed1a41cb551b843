"""A flight as arrays, as far as its video goes: path, pose, movements, landmarks and when they are in view."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Final, Generic, Literal, TypeVar

import numpy as np
from pydantic import Field

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.schema import Finding, Limits, Metres, Rejection, Share
from pipeline.core.templates import load_table
from pipeline.geometry.bearings import turn_between_deg
from pipeline.questions.gate import NamedThing, ShownScene, named_rules
from pipeline.questions.rules import first_broken
from pipeline.questions.selection import times_held
from pipeline.reading.maps.appearance import NOUN_OF
from pipeline.worlds.flight.facts import Action, Flight, FlightMotion, FlightScene, Segment
from pipeline.worlds.flight.places import BESIDE, LEAST_M, NamedLandmark, Places, by_name, nameable, place_of
from pipeline.worlds.flight.steps import ALL, CLIMBS, GENERAL, RESTS, TILTS, Actions, CaptionStep

# What an answer may rest on. "seconds": that durations are those of the flight.
Need = Literal["steps", "seconds", "places", "height", "heading", "views", "goal", "route", "goal or route"]

# What a finding casts doubt on. A doubt that is not listed may be about the clock or the positions: on everything.
TOUCHES: Final[dict[str, frozenset[Need]]] = {k: frozenset(needs) for k, needs in load_table("logs/touches").items()}


NOTES_THAT_COUNT: Final = frozenset(("step_clock",))  # notes, but ones that `TOUCHES` speaks of


def doubted_stretches(findings: Iterable[Finding], video_offset_s: float) -> FloatArray:
    """Start and end (k, 2), seconds of the video, of the stretches that doubts are about: nothing is asked of them."""
    found = [stretch for f in findings if f.severity == "doubt" for stretch in f.stretches or ()]
    return np.array(found, dtype=np.float64).reshape(-1, 2) - video_offset_s


def within_any(t_s: FloatArray, stretches: FloatArray) -> BoolArray:
    """Which times (N,) lie in one of some stretches (k, 2), their ends included."""
    inside = (t_s[:, None] >= stretches[:, 0]) & (t_s[:, None] <= stretches[:, 1])
    return np.asarray(inside.any(1))


def overlaps_any(start_s: float, end_s: float, stretches: FloatArray) -> bool:
    """Whether an interval has a moment in common with one of some stretches (k, 2)."""
    return bool(((stretches[:, 0] < end_s) & (stretches[:, 1] > start_s)).any())


def without(spans: FloatArray, stretches: FloatArray) -> FloatArray:
    """Intervals (m, 2) in order, less some stretches (k, 2): what is left of each, in order of time."""
    for low, high in stretches.tolist():
        before = np.column_stack([spans[:, 0], np.minimum(spans[:, 1], low)])
        after = np.column_stack([np.maximum(spans[:, 0], high), spans[:, 1]])
        spans = np.concatenate([before, after])
        spans = spans[spans[:, 1] > spans[:, 0]]
        spans = spans[np.argsort(spans[:, 0], kind="stable")]
    return spans


CARRIED: Final = frozenset(("gpx", "kml", "gpmf"))  # formats of logs that anything that moves may have
# Up or down by so much within so many seconds, and so steeply: no road and no stairs are.
STEEP_M, STEEP_S, STEEP_MIN = 5.0, 4.0, 0.7
GROUND_M: Final = 0.5  # above take-off: lower, a drone that does not move stands on the ground
# The map of the film that is drawn where there is no video: from the drone to its edges, west and east, south (above
# the words at its foot) and north; and how far within or beyond these the middle of a mark is surely, or maybe, seen.
MAP_M: Final = ((-240.0, 240.0), (-158.0, 180.0))
MAP_EDGE_M: Final = 4.0
GLIMPSE_S: Final = 1.0  # in view for less after a clip begins, a thing is hardly noticed
_EPS_S: Final = 1e-6  # times are sums of steps
_NO_MOTION: Final = FlightMotion(
    rate_hz=5.0, t_s=(), enu_m=(), height_m=(), heading_deg=(), course_deg=(), pitch_deg=(), part=(), segments=(),
    views=None,
)  # fmt: skip


class FlightRules(Limits):
    """The limits that every benchmark over flights sets; its own rules extend them."""

    landmarks: Literal["described", "legend"] = Field(
        default="described",
        description="what they are called: what is seen of them, or their names, which pictures from the video explain",
    )
    legend_share_min: Share = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="of the picture's width or height, that a named landmark takes at best",
    )
    landmarks_max: int = Field(default=8, ge=2, description="asked about in one flight: those nearest to the path")
    reach_m: Metres = Field(default=100.0, description="from the path to a landmark, where no view is known")
    moments_max: int = Field(default=40, ge=1, description="times asked about in a minute of a flight, evenly thinned")


_SHOWN: Final = load_table("shown")["flight"]
FILMED: Final = ShownScene(**_SHOWN["filmed"])
DRAWN: Final = ShownScene(**_SHOWN["drawn"], complete=None)
_RANKED: Final = re.compile(r"the (?:(?:tallest|lowest|largest) )?")  # before a noun; among what the log knows
_NOUNS: Final = frozenset(NOUN_OF.values())
GAUGE_PX: Final = 240.0  # of that gauge
SPANS_M: Final = (150.0, 600.0, 2400.0, 12000.0)  # of the gauge: the first that holds the flight, for nearly all 150

R = TypeVar("R", bound=FlightRules)


def _is_bare(label: str, sort: str | None) -> bool:
    """Whether a label is a noun alone, "the storage tank" or "the tallest building", and so fits what no log has."""
    ranked = _RANKED.match(label)
    noun = label[ranked.end() :].casefold() if ranked else ""
    return bool(noun) and (" " not in noun or noun in _NOUNS or noun == (sort or "").casefold())


def _told_apart(flight: Flight) -> Flight:
    """The flight without the labels that fit other things in its film, of which the log does not know all.

    Nor those of what stands beside such a thing.
    """
    if flight.complete is None:
        return flight
    shown = replace(FILMED, complete=frozenset(flight.complete))
    why: dict[str, Rejection] = {}
    for mark in flight.landmarks:
        if mark.label and _is_bare(mark.label, mark.sort):
            broken = first_broken(named_rules(shown, NamedThing(mark.label, mark.sort or "thing")))
            why |= {mark.label: broken.rejection()} if broken else {}
    reasons = [why.get(m.label or "") or why.get((m.label or "").partition(BESIDE)[2]) for m in flight.landmarks]
    landmarks = [
        mark if reason is None else mark.model_copy(update={"label": None, "proof": (), "unnameable_reason": reason})
        for mark, reason in zip(flight.landmarks, reasons, strict=True)
    ]
    return flight.model_copy(update={"landmarks": tuple(landmarks)})


def gauge_span_m(top_m: float) -> float:
    """What the gauge of a drawn film spans for a flight that is at most so high."""
    return next((span for span in SPANS_M if span >= top_m), SPANS_M[-1])


class FlightView(Generic[R]):
    """A flight under its rules. Unknown numbers are NaN.

    Args:
        scene: a flight, with its motion observed; without motion nothing is asked.
        rules: limits.

    Attributes:
        end_s: end of the video, or of the track where no video is known.
        t_s: (N,) seconds from the start of the video, within it.
        enu_m: (N, 3).
        height_m: (N,) above take-off.
        heading_deg: (N,) of the nose, clockwise from north.
        heading_error_deg: by which a heading may be off; 0 for that of a log.
        pitch_deg: (N,) of the camera.
        stated_mps: (N,) speed over ground that the log itself states; None: it states none.
        part: (N,).
        doubted: (k, 2) start and end of the stretches that are in doubt; no sample or movement lies in them.
        steps: movements that lie in the video, wholly or in part, in order of time.
        places: landmarks that can be named, by name.
        unspoken: landmarks of which the word fits what the log does not know, too.
    """

    def __init__(self, scene: FlightScene, rules: R) -> None:
        self.scene, self.rules = scene, rules
        self.observed = scene.facts.motion is not None
        self.motion = motion = scene.facts.motion or _NO_MOTION
        t = np.array(motion.t_s, dtype=np.float64)
        video = scene.video
        length = video.frames / video.fps if video and video.frames and video.fps else None
        self.end_s = round(float(length if length is not None else t[-1] if len(t) else 0.0), 6)  # a sum of steps
        named = rules.landmarks == "legend"
        filmed = _told_apart(scene.facts) if scene.video is not None else scene.facts
        self.flight = by_name(scene.facts, self.end_s, rules.legend_share_min) if named else filmed
        marks = enumerate(zip(scene.facts.landmarks, self.flight.landmarks, strict=True))
        unspoken = [(i, was) for i, (was, mark) in marks if not named and was.label and mark.label is None]
        self.unspoken = Places(place_of(i, was, was.label or "") for i, was in unspoken)
        self.doubted = doubted_stretches(scene.findings, self.flight.video_offset_s)
        within = (t >= -_EPS_S) & (t <= self.end_s + _EPS_S) & ~within_any(t, self.doubted)
        self.t_s = t[within]
        self.enu_m = np.array(motion.enu_m, dtype=np.float64).reshape(-1, 3)[within]
        self.height_m, self.heading_deg, self.pitch_deg = (
            np.array(column, dtype=np.float64)[within]
            for column in (motion.height_m, motion.heading_deg, motion.pitch_deg)
        )
        stated = np.array(motion.stated_mps, dtype=np.float64)
        self.stated_mps: FloatArray | None = stated[within] if len(stated) else None
        self.heading_error_deg = motion.heading_error_deg
        self.part: IntArray = np.array(motion.part, dtype=np.intp)[within]
        names = {word for mark in self.flight.landmarks for word in (mark.name, mark.label)}
        doubts = [f for f in scene.findings if f.severity == "doubt" or f.name in NOTES_THAT_COUNT]
        # A doubt about one landmark leaves out that one, a doubt about a stretch that stretch.
        # That about tilts that are not known is none of a camera that does not tilt, and of a film without a camera.
        camera = self.flight.camera
        settled = {"gimbal_frame"} if scene.video is None or (camera and camera.pitch_deg is not None) else set()
        self._doubts = [f for f in doubts if f.subject not in names and f.stretches is None and f.name not in settled]
        self.places = nameable(self.flight.landmarks, {f.subject for f in doubts})
        self.steps = self._steps()

    @cached_property
    def shown(self) -> ShownScene:
        """Its film, or else the film that is drawn of it, to whoever is asked about it."""
        if self.scene.video is not None:
            return replace(FILMED, complete=None if self.flight.complete is None else frozenset(self.flight.complete))
        top = float(np.nanmax(np.append(np.abs(self.height_m), 0.0)))
        pixel_m = gauge_span_m(top) / GAUGE_PX
        return replace(DRAWN, readable={**DRAWN.readable, "height": pixel_m})

    @property
    def pictured(self) -> bool:
        """Whether a landmark that can be named has a look that a model saw in pictures."""
        return any(m.label and m.pictured and m.pictured.words for m in self.flight.landmarks)

    # What can be asked at all

    def obstacle(self, needs: frozenset[Need]) -> Rejection | None:
        """Why a task that rests on these facts cannot be asked, or None."""
        if self.scene.video is None:
            return Rejection(reason="missing_video", measured=None, limit=None, unit=None)
        if not self.observed:
            return Rejection(reason="motion_not_observed", measured=None, limit=None, unit=None)
        refused = self.carried or self.doubt(needs)
        if refused is not None:
            return refused
        if len(self.t_s) < 2:
            return Rejection(reason="track_too_short", measured=len(self.t_s), limit=2, unit="samples")
        lacking: dict[Need, tuple[bool, str]] = {
            "steps": (not self.steps, "no_movement"),
            "places": (not len(self.places), "no_landmark_described" if self.flight.landmarks else "no_landmark"),
            "heading": (not np.isfinite(self.heading_deg).any(), "no_heading"),
            "views": (self.motion.views is None, "views_unknown"),
            "goal": (self.goal is None, self.no_goal),
            "route": (not self.flight.route, "no_route"),
            "goal or route": (not (self.flight.route or self.flight.goal), "no_goal_or_route"),
        }
        for need, (lacks, reason) in lacking.items():
            if need in needs and lacks:
                return Rejection(reason=reason, measured=None, limit=None, unit=None)
        return None

    def doubt(self, needs: frozenset[Need]) -> Rejection | None:
        """The first doubt about the log as a whole that touches these facts."""
        doubts = (d for d in self._doubts if d.name not in TOUCHES or TOUCHES[d.name] & needs)
        first = next(doubts, None)
        if first is None:
            return None
        return Rejection(reason=first.name, measured=first.measured, limit=first.limit, unit=first.unit)

    @property
    def heights_from_start(self) -> bool:
        """Whether heights count from the log's first position, which may be in the air."""
        return any(found.name == "height_from_first_fix" for found in self.scene.findings)

    @cached_property
    def carried(self) -> Rejection | None:
        """Why it is not known that the log is a drone's: cars and people carry such receivers too, and go up hills."""
        if self.flight.log not in CARRIED or not self.heights_from_start or self.flight.nose_first or len(self.t_s) < 2:
            return None
        after = np.minimum(np.searchsorted(self.t_s, self.t_s + STEEP_S - _EPS_S), len(self.t_s) - 1)
        step = self.enu_m[after] - self.enu_m
        same = (self.part[after] == self.part) & (np.abs(step[:, 2]) >= STEEP_M)
        steepest = float((np.abs(step[same, 2]) / np.maximum(np.hypot(*step[same, :2].T), LEAST_M)).max(initial=0.0))
        if steepest >= STEEP_MIN:
            return None
        return Rejection(reason="not_known_to_fly", measured=round(steepest, 6), limit=STEEP_MIN, unit="m up per m")

    # Time

    def index(self, t_s: float) -> int | None:
        """The sample nearest to a time, or None where the track has a gap there."""
        if not len(self.t_s):
            return None
        nearest = int(np.abs(self.t_s - t_s).argmin())
        return nearest if abs(self.t_s[nearest] - t_s) <= 1.0 / self.motion.rate_hz + _EPS_S else None

    @cached_property
    def moments(self) -> list[tuple[int, int]]:
        """Whole seconds at which the track is known, as (second, sample); evenly thinned if there are many."""
        found = [(second, self.index(second)) for second in range(1, int(self.end_s) + 1)]
        known = [(second, index) for second, index in found if index is not None]
        most = round(self.rules.moments_max * times_held(self.end_s))
        return [known[i * len(known) // most] for i in range(most)] if len(known) > most else known

    def heading_swing_deg(self, index: int) -> float:
        """Largest turn from the heading at a sample within a second of it; NaN if any heading there is unknown."""
        around = np.abs(self.t_s - self.t_s[index]) <= 1.0 + _EPS_S
        return float(np.abs(turn_between_deg(self.heading_deg[index], self.heading_deg[around])).max())

    @cached_property
    def untracked_s(self) -> float:
        """Seconds of the video of which the track tells nothing."""
        return self.untracked_until_s(self.end_s)

    def untracked_until_s(self, t_s: float) -> float:
        """The same up to a time."""
        steps = np.diff(np.concatenate([[0.0], self.t_s[self.t_s < t_s], [t_s]]))
        return float(steps[steps > 1.0 / self.motion.rate_hz + _EPS_S].sum())

    # Movements

    @cached_property
    def known_actions(self) -> Actions:
        """The actions that the log can tell: without a heading, neither turns nor which way is forward are known."""
        tells = CLIMBS | GENERAL
        if np.isfinite(self.heading_deg).any():
            tells = ALL - TILTS
        return tells | TILTS if np.isfinite(self.pitch_deg).any() else tells

    def _steps(self) -> tuple[CaptionStep, ...]:
        steps = []
        for segment in sorted(self.motion.segments, key=lambda s: (s.start_s, s.end_s)):
            outside = segment.end_s <= 0 or segment.start_s >= self.end_s or not len(self.t_s)
            if outside or overlaps_any(segment.start_s, segment.end_s, self.doubted):
                continue
            actions: frozenset[Action] = frozenset(segment.actions)
            if actions <= RESTS and self._stands(segment):
                continue
            steps.append(
                CaptionStep(
                    actions=actions,
                    start_s=segment.start_s,
                    end_s=segment.end_s,
                    margin=segment.margin,
                    part=int(self.part[np.abs(self.t_s - segment.start_s).argmin()]),
                    known=actions <= CLIMBS | GENERAL | TILTS or segment.turn_deg is not None,
                )
            )
        return tuple(steps)

    def _stands(self, segment: Segment) -> bool:
        """Whether the drone stands on the ground that it took off from; not where its height is not known.

        Lower than that it may stand or hover, so that it is no hover; but it stays in place.
        """
        within = (self.t_s >= segment.start_s) & (self.t_s <= segment.end_s)
        height_m = np.median(self.height_m[within]) if within.any() else np.nan
        return bool(abs(height_m) < GROUND_M if segment.actions == ("stay in place",) else height_m < GROUND_M)

    def beyond_s(self, step: CaptionStep) -> float:
        """How much of a movement lies outside the video."""
        return max(0.0, -step.start_s, step.end_s - self.end_s)

    # Landmarks

    @cached_property
    def pool(self) -> list[int]:
        """Places asked about: those that the video shows (where views are known), nearest to the path first."""
        if not len(self.places) or not len(self.t_s):
            return []
        path = self.enu_m[:: max(1, round(self.motion.rate_hz))]
        closest = self.places.approach_m(path)
        order = sorted(range(len(self.places)), key=lambda i: (round(float(closest[i]), 6), self.places[i].label))
        if self.seen_known:
            chosen = [i for i in order if self.first_seen_s(i) is not None]
        else:
            chosen = [i for i in order if closest[i] <= self.rules.reach_m]
        return chosen[: self.rules.landmarks_max]

    @property
    def seen_known(self) -> bool:
        """Whether it is known when landmarks are in view: of a film that is drawn always."""
        return self.scene.video is None or self.motion.views is not None

    @cached_property
    def _intervals(self) -> dict[int, FloatArray]:
        """In-view intervals (k, 2) within the video by landmark, in order of time."""
        if self.scene.video is None:
            return {place.index: self._on_map(place, -MAP_EDGE_M) for place in self.places}
        found = {}
        for view in self.motion.views or ():
            spans = np.clip(np.array(sorted(view.intervals), dtype=np.float64).reshape(-1, 2), 0.0, self.end_s)
            found[view.landmark] = without(spans[spans[:, 1] > spans[:, 0]], self.doubted)
        return found

    def _on_map(self, place: NamedLandmark, margin_m: float) -> FloatArray:
        """Intervals (k, 2) in which the drawn film has a place's middle on its map, or no farther beyond its edge."""
        off = np.asarray(place.center) - self.enu_m[:, :2]
        low, high = np.array(MAP_M).T
        known = np.flatnonzero(((off >= low - margin_m) & (off <= high + margin_m)).all(1))
        if not len(known):
            return np.empty((0, 2))
        parts = np.split(known, 1 + np.flatnonzero(np.diff(self.t_s[known]) > 1.5 / self.motion.rate_hz))
        return np.array([[self.t_s[part[0]], self.t_s[part[-1]]] for part in parts])

    def first_seen_s(self, place: int, since_s: float = 0.0) -> float | None:
        """When a place is first in view, and what its label says that it stands beside; None: never.

        ``since_s``: looking from then on, for `GLIMPSE_S` at least.
        """
        firsts = []
        for shown in (place, self.places.anchor(place)):
            spans = None if shown is None else self._intervals.get(self.places[shown].index, np.empty((0, 2)))
            if spans is not None:
                spans = spans[spans[:, 1] - since_s >= GLIMPSE_S] if since_s > 0 else spans
                firsts.append(float(np.maximum(spans[:, 0], since_s).min(initial=np.inf)))
        return max(firsts) if np.isfinite(max(firsts)) else None

    def seen_by(self, place: int, t_s: float, since_s: float = 0.0) -> bool:
        """Whether the video shows a place up to a time, from another one on; True where views are not known."""
        first = self.first_seen_s(place, since_s)
        return not self.seen_known or (first is not None and first <= t_s)

    def maybe_seen_by(self, place: int, t_s: float, since_s: float = 0.0) -> bool:
        """Whether any part of a place may have been in the picture up to a time, from another one on."""
        spans = self._possible.get(self.places[place].index, np.empty((0, 2)))
        return self.seen_by(place, t_s, since_s) or bool(((spans[:, 0] <= t_s) & (spans[:, 1] >= since_s)).any())

    def named(self, place: int, seen: float | None) -> NamedThing:
        """A place as a question names it: by a look, by what it stands beside, or by a name of its own."""
        mark = self.flight.landmarks[self.places[place].index]
        label = self.places[place].label
        named = self.rules.landmarks == "legend" or not _is_bare(label, mark.sort)
        return NamedThing(label, mark.sort or "thing", seen, mark=label if named else "")

    def times_in_view(self, place: int) -> int:
        """How often the video shows a place."""
        return len(self._intervals.get(self.places[place].index, ()))

    def in_view_s(self, place: int, t_s: float) -> float:
        """Seconds to the nearest change of view: positive while in view, negative while not, -inf if never."""
        spans = self._intervals.get(self.places[place].index)
        if spans is None or not len(spans):
            return -np.inf
        signed = np.minimum(t_s - spans[:, 0], spans[:, 1] - t_s)
        return float(signed.max())

    def out_of_view_s(self, place: int, t_s: float) -> float:
        """Seconds to the nearest time at which any part of a place may be in the picture; negative: it may be now."""
        spans = self._possible.get(self.places[place].index)
        if spans is None or not len(spans):
            return np.inf
        return float(np.maximum(spans[:, 0] - t_s, t_s - spans[:, 1]).min())

    @cached_property
    def _possible(self) -> dict[int, FloatArray]:
        """Intervals (k, 2) in which landmarks may be in view."""
        if self.scene.video is None:
            spans = {place.index: self._on_map(place, place.radius_m + MAP_EDGE_M) for place in self.places}
        else:
            views = self.motion.views or ()
            spans = {v.landmark: np.array(v.possible, dtype=np.float64).reshape(-1, 2) for v in views}
        return {landmark: np.concatenate([possible, self.doubted]) for landmark, possible in spans.items()}

    @cached_property
    def goal(self) -> int | None:
        """The place that the pilot was sent to, if it is one."""
        return self.places.named(self.flight.goal) if self.flight.goal else None

    @property
    def no_goal(self) -> str:
        """Why the goal, if it is not `goal`, cannot be asked about."""
        wanted = (self.flight.goal or "").strip().casefold()
        marks = zip(self.flight.landmarks, self.scene.facts.landmarks, strict=True)
        unnamed = (name or "" for mark, was in marks if mark.label is None for name in (mark.name, was.label))
        named = any(name.casefold() == wanted for name in unnamed)
        return "no_goal" if not wanted else "goal_not_described" if named else "goal_is_no_landmark"

    @cached_property
    def unnameable_reasons(self) -> dict[str, Rejection]:
        """Why landmarks near the path, by name, cannot be spoken of: the nearest, as many as are asked about."""
        path = self.enu_m[:: max(1, round(self.motion.rate_hz)), :2]
        away = {
            mark.name: (
                float(np.hypot(*(path - mark.center).T).min(initial=np.inf)) - mark.radius_m,
                mark.unnameable_reason,
            )
            for mark in self.flight.landmarks
            if mark.name and mark.unnameable_reason
        }
        near = sorted((round(m, 6), name) for name, (m, _) in away.items() if m <= self.rules.reach_m)
        return {name: away[name][1] for _, name in near[: self.rules.landmarks_max]}

    @cached_property
    def distance_m(self) -> FloatArray:
        """Distances (len(pool), N) of the path to the footprints of the places asked about."""
        chosen = [self.places[i].distance_m(self.enu_m) for i in self.pool]
        return np.stack(chosen) if chosen else np.empty((0, len(self.t_s)))

    @cached_property
    def ground_m(self) -> float:
        """Height of the ground, ENU: under the take-off, or else the lowest that the drone flew."""
        known = np.isfinite(self.height_m)
        lowest = self.enu_m[:, 2].min() if not known.any() else np.median((self.enu_m[:, 2] - self.height_m)[known])
        return float(lowest)
