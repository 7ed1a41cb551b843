"""Tasks Proximity and Duration.

Proximity asks how the distance to a landmark changes during a stretch of the flight; Duration asks which of two
movements takes longer, and by how much.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.benchmarks.urbanvideo.cases import (
    SO_FAR,
    TIME,
    EvenTask,
    FlightCase,
    FlightEvent,
    StretchSubjects,
    UrbanTask,
    clip_s,
    clipped,
    clock,
    cuts,
    events,
    last_second,
    latest,
    sentence,
    unnameable,
)
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.arrays import FloatArray, StrArray
from pipeline.worlds.flight.places import LEAST_M
from pipeline.worlds.flight.steps import CaptionStep, mirrored

COURSES: Final = (
    "It comes closer throughout",
    "It moves farther away throughout",
    "It first comes closer, then moves farther away",
    "It first moves farther away, then comes closer",
    "The distance stays about the same",
)
_STILL: Final = 4
WHOLE_CLIP: Final = "over the whole video"  # where that is a clip, whose length says nothing of the flight
_RUNS: Final = (1, 3)  # movements in a stretch
_MOVING: Final = ("fly", "ascend", "descend")  # how actions begin that bring a drone elsewhere
_SAMPLES: Final = 150  # of a stretch: half a minute at 5 Hz
_STILL_RATE: Final = 0.1  # of the mean rate at which a distance changes: below it the distance counts as constant


class DistanceChange(NamedTuple):
    """How distances (..., n) change.

    Attributes:
        course: (...,) index into `COURSES`, -1 for none of them.
        share: (...,) share by which it changes as its course says, of the greater distance; without a course overall.
    """

    course: npt.NDArray[np.intp]
    share: FloatArray


class FlightStretch(NamedTuple):
    """A stretch of a flight: some movements, or all of it up to a second.

    Attributes:
        when: in words.
        start_s: its begin.
        end: the whole second at which it ends.
        steps: the movements that the words count.
    """

    when: str
    start_s: float
    end: int
    steps: tuple[CaptionStep, ...] = ()


class Proximity(EvenTask):
    """Operands: a landmark, which stretch in words (the latest movements, or all), and the second it ends at.

    The course must be the same whichever point is measured to: the nearest of the footprint, its centre, and the foot
    of that (which counts height). Else it depends on how one reads the question. So it does where the course is that
    of a few metres about the landmark: it must be the same whether or not one counts as there by then.
    """

    reads = "nearness"
    name = "Proximity"
    share = 117
    category = "Perception"
    template = "urbanvideo/questions/proximity"
    slots = ("landmark", "when", TIME)
    needs = frozenset(("places", "height"))

    def kind(self, case: FlightCase) -> str:
        """Hardly any distance falls and rises during one movement: which stretch it is must not tell the answer."""
        return case.operands[1]

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every landmark and stretch that ends with a movement: that one, the latest three, and all of the clip."""
        yield from unnameable(view)
        if not view.pool:
            return
        measured, subjects = np.stack([view.distance_m, *_to_center(view)]), StretchSubjects()
        for stretch in _stretches(view):
            at = np.flatnonzero((view.t_s >= stretch.start_s) & (view.t_s <= stretch.end))
            pause_s = float(np.diff(np.concatenate([[stretch.start_s], view.t_s[at], [stretch.end]])).max())
            if len(at) < 2 or pause_s > view.rules.step_gap_max_s:
                for place in view.pool:
                    case = _case(view, place, stretch)
                    case.refuse("stretch_not_tracked", pause_s, view.rules.step_gap_max_s, "s")
                    yield case
                continue
            interruptions = int(view.part[at[-1]] - view.part[at[0]])
            every = max(1, len(at) // _SAMPLES)
            chosen = np.union1d(at[::every], at[-1:])
            series = measured[:, :, chosen]
            ways = np.concatenate([np.maximum(series, least) for least in (view.rules.there_m, LEAST_M)])
            change = change_of(ways, view.rules.change_min, view.rules.still_max)
            still = still_share(np.maximum(series, LEAST_M), view.t_s[chosen]).max(0)
            still = np.maximum(still, idle_share(view.steps, stretch.start_s, stretch.end))
            for row, place in enumerate(view.pool):
                case = _case(view, place, stretch)
                case.require("track_interrupted", interruptions, "<=", 0, "parts")
                case.shown(view, place, stretch.end)
                self._judge(view, case, series[0, row], change.course[:, row], change.share[:, row])
                if case.answer != COURSES[_STILL]:
                    case.require("distance_constant_for_long", still[row], "<=", view.rules.still_share_max, "share")
                if case.refusal is None:
                    subject = f"{case.operands[0]}: {case.answer}"
                    case.follows_from(subjects.fact(subject, stretch.start_s, stretch.end))
                yield case

    def _judge(
        self, view: UrbanView, case: FlightCase, series: FloatArray, course: npt.NDArray[np.intp], share: FloatArray
    ) -> None:
        rules = view.rules
        if (course < 0).any():
            worst = int(course.argmin())
            small = share[worst] < rules.change_min
            reason = "distance_changes_too_little" if small else "distance_changes_irregularly"
            case.refuse(reason, share[worst], rules.change_min, "share")
        elif (course != course[0]).any():
            case.refuse("depends_on_where_measured", len(set(course.tolist())), 1, "courses")
        elif course[0] == _STILL:
            case.require("distance_changes_too_little", share.max(), "<=", rules.still_max, "share")
        else:
            case.require("distance_changes_too_little", share.min(), ">=", rules.change_min, "share")
        for name, value in zip(("start", "end", "least", "most"), _first_last_least_most(series), strict=True):
            case.fact(f"distance_{name}", case.operands[0], float(value), "m")
        case.ask(COURSES[course[0]], COURSES)


def change_of(series: FloatArray, change_min: float, still_max: float) -> DistanceChange:
    """Courses of distances (..., n): each must be followed steadily, up to ``still_max`` of the distance."""
    first, last, low, high = _first_last_least_most(series)
    falling = series / np.minimum.accumulate(series, axis=-1) - 1 <= still_max
    rising_back = series / np.minimum.accumulate(series[..., ::-1], axis=-1)[..., ::-1] - 1 <= still_max
    rising = np.maximum.accumulate(series, axis=-1) / series - 1 <= still_max
    falling_back = np.maximum.accumulate(series[..., ::-1], axis=-1)[..., ::-1] / series - 1 <= still_max
    place = np.arange(series.shape[-1])
    to_low = place <= series.argmin(-1)[..., None]
    to_high = place <= series.argmax(-1)[..., None]
    share = np.stack(
        [
            1 - last / first,
            1 - first / last,
            1 - low / np.minimum(first, last),
            1 - np.maximum(first, last) / high,
        ],
        axis=-1,
    )
    steady = np.stack(
        [
            falling.all(-1),
            rising_back.all(-1),
            (falling | ~to_low).all(-1) & (rising_back | to_low).all(-1),
            (rising | ~to_high).all(-1) & (falling_back | to_high).all(-1),
        ],
        axis=-1,
    )
    spread = 1 - low / high
    # A course with a turn in it is tried first: coming closer by half and leaving by a little is no "closer".
    fits = steady & (share >= change_min)
    order = np.array([2, 3, 0, 1])
    chosen = order[fits[..., order].argmax(-1)]
    course = np.where(fits.any(-1), chosen, np.where(spread <= still_max, _STILL, -1))
    picked = np.take_along_axis(share, np.maximum(chosen, 0)[..., None], -1)[..., 0]
    return DistanceChange(course.astype(np.intp), np.where(fits.any(-1), picked, spread))


def still_share(series: FloatArray, t_s: FloatArray) -> FloatArray:
    """Share (...,) of the time (n,) in which distances (..., n) change at less than a tenth of their mean rate."""
    seconds = np.diff(t_s)
    change = np.abs(np.diff(series, axis=-1))
    mean = change.sum(-1, keepdims=True) / seconds.sum()
    still: FloatArray = np.where(change < _STILL_RATE * mean * seconds, seconds, 0.0).sum(-1) / seconds.sum()
    return still


def idle_share(steps: Sequence[CaptionStep], start_s: float, end_s: float) -> float:
    """Share of a stretch in which the drone hovers or turns: a noisy track has it move a little then."""
    idle = [step for step in steps if not any(action.startswith(_MOVING) for action in step.actions)]
    overlap = [min(step.end_s, end_s) - max(step.start_s, start_s) for step in idle]
    return sum(max(seconds, 0.0) for seconds in overlap) / (end_s - start_s)


def _first_last_least_most(series: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    return series[..., 0], series[..., -1], series.min(-1), series.max(-1)


def _to_center(view: UrbanView) -> tuple[FloatArray, FloatArray]:
    """Distances (P, N) of the path to the centres, over ground, and to their feet in space."""
    chosen = [view.places[i] for i in view.pool]
    center = np.array([place.center for place in chosen])
    foot = np.array([view.ground_m if np.isnan(place.base_m) else place.base_m for place in chosen])
    over_ground = np.hypot(*np.moveaxis(view.enu_m[None, :, :2] - center[:, None], -1, 0))
    return over_ground, np.hypot(over_ground, view.enu_m[None, :, 2] - foot[:, None])


def _case(view: UrbanView, place: int, stretch: FlightStretch) -> FlightCase:
    """About one landmark; the movements that the question counts are clear, and it is known when they begin."""
    case = clipped(view, view.places[place].label, stretch.when, clock(stretch.end), until_s=stretch.end)
    case.require("clip_too_short", stretch.end - (case.from_s or 0.0), ">=", stretch.end - stretch.start_s, "s")
    first = view.steps.index(stretch.steps[0]) if stretch.steps else 0
    for before in view.steps[max(0, first - 1) : first]:
        case.follows(view, before, stretch.steps[0])
    for step in stretch.steps:
        case.step(view, step)
    for before, after in pairwise(stretch.steps):
        case.follows(view, before, after)
    return case


def _stretches(view: UrbanView) -> list[FlightStretch]:
    """In order of their ends, then of their begins."""
    steps, ends, length = view.steps, cuts(view), clip_s(view)
    runs = [steps[i : i + length] for length in _RUNS for i in range(len(steps) - length + 1)]
    found = [FlightStretch(latest(len(run)), max(0.0, run[0].start_s), last_second(view, run[-1]), run) for run in runs]
    if length is None:
        found += [FlightStretch(SO_FAR, 0.0, cut) for cut in ends]
    else:
        found += [FlightStretch(WHOLE_CLIP, float(cut - length), cut) for cut in ends if cut >= length]
    found = [stretch for stretch in found if stretch.end in ends]
    return sorted(
        (one for one in found if one.end - one.start_s >= view.rules.window_min_s),
        key=lambda one: (one.end, one.start_s, one.when),
    )


TWICE: Final = 2.0


class Duration(UrbanTask):
    """Operands: two movements of one kind, or one and its mirror image, in order of time.

    Of other pairs one knows which is longer without having seen them: tilting the camera is short. That both take
    about the same time is no option: two ends each are not known well enough to prove it.
    """

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """Whether the first takes longer, and whether more than twice as long."""
        firsts = [sentence(first) for first, _ in operands.to_pylist()]
        parts = [answer.rsplit(", ", 1) for answer in answers.tolist()]
        named = zip(parts, firsts, strict=True)
        return np.array(
            [f"{'first' if who == first else 'second'}, {how}" for (who, how), first in named], dtype=object
        )

    reads = "order"
    name = "Duration"
    share = 132
    category = "Perception"
    template = "urbanvideo/questions/duration"
    slots = ("first", "second")
    needs = frozenset(("steps", "seconds"))

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every two of the first three times of a kind of movement; it and its mirror image, if each is flown once."""
        called = events(view)
        for kind, found in called.items():
            image = called.get(mirrored(kind), [])
            pairs = [*combinations(found, 2)]
            if image is not found and len(found) == len(image) == 1 and found[0].place < image[0].place:
                pairs.append((found[0], image[0]))
            for first, second in pairs:
                yield self._case(view, first, second)

    def _case(self, view: UrbanView, first: FlightEvent, second: FlightEvent) -> FlightCase:
        rules = view.rules
        case = FlightCase(first.words, second.words)
        case.follows_from(f"seconds of movement {second.place}")  # of three in pairs, two pairs tell the third
        for event in (first, second):
            case.counted(view, event)
            case.step(view, event.step)
            case.fact("duration", event.words, event.step.seconds, "s")
        if first.step.actions == second.step.actions:
            case.require("movement_split", second.place - first.place, ">", 1, "places")
        shorter, longer = sorted((first, second), key=lambda event: event.step.seconds)
        short_s, long_s = shorter.step.seconds, longer.step.seconds
        ratio = long_s / max(short_s, 1e-9)
        case.require("durations_alike", ratio, ">=", rules.duration_ratio_min, "ratio")
        case.require("durations_alike", long_s - short_s, ">=", rules.duration_gap_min_s, "s")
        case.require("near_twice", max(ratio / TWICE, TWICE / ratio), ">=", rules.duration_twice_margin, "ratio")
        case.require("near_twice", abs(long_s - TWICE * short_s), ">=", rules.duration_twice_gap_min_s, "s")
        rests = ("more than twice as long", "but less than twice as long")
        words = {event: [f"{sentence(event.words)}, {rest}" for rest in rests] for event in (first, second)}
        return case.ask(words[longer][0 if ratio > TWICE else 1], (*words[first], *words[second]))
