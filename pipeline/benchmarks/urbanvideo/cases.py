"""The base of the flight tasks: measurements of movements and landmarks for a case, and the task itself.

Where a text must give nothing away, the options are the flight's own answers, each right equally often. Whoever has not
seen the video knows of two moments of one flight the same text and the same options. So whatever rule he follows, he
gives both the same answer; where every option is right as often as any other he is right by chance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import numpy as np

from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.groups import grouped
from pipeline.core.identity import digest, rng_for
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.geometry.bearings import compass_deg, turn_between_deg
from pipeline.questions.cases import WRONG_MIN, Case, CaseTask
from pipeline.questions.selection import SAME_FACT, times_held
from pipeline.questions.task import Choice, Form
from pipeline.worlds.flight.places import BESIDE, LEAST_M
from pipeline.worlds.flight.steps import GENERAL, Actions, CaptionStep, covers, overlap, phrase
from pipeline.worlds.flight.view import Need

OPTIONS: Final = 5  # UrbanVideo-Bench, figure 1: A to E
SO_FAR: Final = "over the flight so far"
# One question of a flight is asked about what is on the way to its goal, or near that: what one has for an answer is
# seldom offered by another, so that in either the landmarks that both offer would be known to be wrong.
ABOUT_GOAL: Final = "landmarks about the goal"
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TIME: Final = "time"  # slot of an operand that no question says: when it ends
HEADING_OF_COURSE: Final = "heading_of_course"  # evidence and flag: by so much the heading may be off
LOOK_FROM_PICTURES: Final = "look_from_pictures"  # flag: words for landmarks rest on what a model saw


class FlightEvent(NamedTuple):
    """A movement and what it is called: "turning left", "turning left beside the park" or "… for the second time".

    Attributes:
        words: what it is called.
        numbered: whether these say which time it is, since there are several.
        place: among the movements of the flight.
        step: the movement.
        landmark: the place that the words name, of `view.places`.
    """

    words: str
    numbered: bool
    place: int
    step: CaptionStep
    landmark: int | None = None


_TIMES: Final = ("first", "second", "third")


def events(view: UrbanView) -> dict[Actions, list[FlightEvent]]:
    """The movements by kind, each with what it is called; of every kind the first three."""
    called: dict[Actions, list[FlightEvent]] = {}
    for kind, found in grouped(range(len(view.steps)), lambda place: view.steps[place].actions).items():
        words, numbered = phrase(kind, "ing"), len(found) > 1
        called[kind] = []
        for time, place in zip(_TIMES, found, strict=False):
            step = view.steps[place]
            event = FlightEvent(f"{words} for the {time} time" if numbered else words, numbered, place, step)
            toward, beside = led_to(view, step), _passed(view, step)
            mark, relation = (beside, BESIDE) if toward is None else (toward, TOWARDS)
            if mark is not None:
                described = FlightEvent(f"{words}{relation}{view.places[mark].label}", False, place, step, mark)
                event = event if _rivals(view, described) else described
            called[kind].append(event)
    return called


TOWARDS: Final = " towards "


def led_to(view: UrbanView, step: CaptionStep, case: FlightCase | None = None) -> int | None:
    """The landmark that a flight over ground leads to: in view meanwhile, ahead, and nearer by a fifth at its end.

    ``case`` takes the numbers.
    """
    rules = view.rules
    angle, share, distance = _approach(view, step)
    ahead = (angle <= rules.toward_max_deg) & (share <= 1 - rules.change_min) & (distance[:, 0] > LEAST_M)
    times = view.t_s[_is_during(view, step)].tolist()  # what was seen before them alone may lie below, or behind
    ahead &= np.array([view.seen_by(place, step.end_s) and _in_view(view, place, times) for place in view.pool], bool)
    if not view.seen_known or not ahead.any():
        return None
    best = int(np.where(ahead, np.round(distance[:, 1], 6), np.inf).argmin())
    if case is not None:
        label = view.places[view.pool[best]].label
        case.require("not_towards", float(angle[best]), "<=", rules.toward_max_deg, "deg", label)
        case.require("not_nearer", float(share[best]), "<=", 1 - rules.change_min, "ratio", label)
    return view.pool[best]


def _approach(view: UrbanView, step: CaptionStep) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of each place asked about the angle (P,) between movement and place, how much of its distance (P,) is left.

    And its distances (P, 2) at both ends; NaN of what is no flight over ground.
    """
    start, end = view.index(max(0.0, step.start_s)), view.index(min(step.end_s, view.end_s))
    if start is None or end is None or not view.pool or not any(a.startswith("fly") for a in step.actions):
        nothing = np.full(len(view.pool), np.nan)
        return nothing, nothing, np.full((len(view.pool), 2), np.nan)
    ends = view.enu_m[[start, end]]
    distance = view.distance_m[:, [start, end]]
    offset = view.places.center[view.pool] - ends[0, :2]
    angle = np.abs(turn_between_deg(compass_deg(ends[1] - ends[0]), compass_deg(offset)))
    return angle, distance[:, 1] / np.maximum(distance[:, 0], LEAST_M), distance


def _passed(view: UrbanView, step: CaptionStep) -> int | None:
    """The landmark beside which a movement on the spot is made: in view meanwhile, and the nearest by far."""
    rules, at = view.rules, _is_during(view, step)
    moves = any(action.startswith("fly") for action in step.actions)
    if moves or not view.seen_known or not len(view.places) or not at.any():
        return None
    path, times = view.enu_m[at], view.t_s[at].tolist()
    away, unspoken = view.places.approach_m(path), view.unspoken.approach_m(path)
    place, distance, ratio = view.places.nearest(away, unspoken)
    seen = place in view.pool and _in_view(view, place, times)
    near = rules.there_m <= distance <= rules.beside_max_m and ratio >= rules.second_ratio_min
    return place if seen and near else None


def _in_view(view: UrbanView, place: int, times: Sequence[float]) -> bool:
    """Whether the video shows a place at any of some times."""
    return any(view.in_view_s(place, t) >= 0 for t in times)


def _is_during(view: UrbanView, step: CaptionStep) -> BoolArray:
    return np.asarray((view.t_s >= step.start_s) & (view.t_s <= step.end_s))


def _rivals(view: UrbanView, event: FlightEvent) -> int:
    """Other movements that the words for one may fit too, by margins twice as wide."""
    rules, mark, found = view.rules, event.landmark, 0
    row = view.pool.index(mark) if mark in view.pool else -1
    for place, other in enumerate(view.steps):
        if place == event.place or not covers(event.step.actions, other.actions):
            continue
        angle, share, _ = _approach(view, other)
        leads = angle[row] <= 2 * rules.toward_max_deg and share[row] <= 1 - rules.change_min / 2
        at = _is_during(view, other)
        near = not at.any() or view.places[mark or 0].distance_m(view.enu_m[at]).min() <= 2 * rules.beside_max_m
        found += bool(leads or near)
    return found


class FlightCase(Case):
    """A candidate about movements and landmarks of a flight. What is left and right in its words decides no draw."""

    def step(self, view: UrbanView, step: CaptionStep) -> None:
        """A movement that the question or its answer names: known, clear, and within the video."""
        rules, words = view.rules, step.says("ing")
        self.fact("start", words, step.start_s, "s")
        self.fact("end", words, step.end_s, "s")
        if not step.known:
            self.refuse("heading_unknown")
        if any(action.startswith(("fly", "turn")) for action in step.actions - GENERAL):
            self.heading(view)
        self.require("step_unclear", step.margin, ">=", rules.step_margin_min, "ratio", words)
        self.require("step_cut_off", view.beyond_s(step), "<=", rules.cut_off_max_s, "s", words)

    def heading(self, view: UrbanView) -> None:
        """Says so where the heading that an answer rests on is the course of a drone that is flown nose first."""
        if view.heading_error_deg:
            self.fact(HEADING_OF_COURSE, "heading", view.heading_error_deg, "deg")

    def follows_from(self, *facts: str) -> None:
        """The facts that tell its answer: one question is asked of each (`selection.SAME_FACT`)."""
        self.flags += [f"{SAME_FACT}: {fact}" for fact in facts]

    def within(self, view: UrbanView, step: CaptionStep, second: int) -> None:
        """The second lies in a movement, and not at its very begin or end."""
        inside = min(second - step.start_s, min(step.end_s, view.end_s) - second)
        self.require("step_too_short", inside, ">=", view.rules.cut_inside_min_s, "s", step.says("ing"))

    def follows(self, view: UrbanView, before: CaptionStep, after: CaptionStep) -> None:
        """Nothing unknown lies between two movements."""
        self.require("track_interrupted", after.part - before.part, "<=", 0, "parts")
        self.require("steps_apart", after.start_s - before.end_s, "<=", view.rules.step_gap_max_s, "s")

    def shown(self, view: UrbanView, place: int, by_s: float) -> None:
        """The part of the video shows a landmark by then."""
        label, first = view.places[place].label, view.first_seen_s(place, self.from_s or 0.0)
        if first is None:
            before = view.first_seen_s(place) is not None
            self.refuse("not_seen_in_clip" if before else "never_visible", 0, 1, "times")
        else:
            self.require("not_seen_yet", first, "<=", by_s, "s", label)
        self.name(view.named(place, float(first is not None)))

    def recognised(self, view: UrbanView) -> None:
        """The movements in the case's part of the video are flown once: else nobody could tell when it is."""
        if self.from_s is None or self.until_s is None:
            return
        least, part = view.rules.cut_inside_min_s, (self.from_s, self.until_s)
        kinds = [step.actions for step in view.steps]
        seen = [step.actions for step in view.steps if step.within_s(*part) >= least]
        runs = (kinds[i : i + len(seen)] for i in range(len(kinds) - len(seen) + 1))
        places = sum(all(map(overlap, run, seen)) for run in runs)
        self.require("clip_fits_elsewhere", places, "<=", 1, "places")

    def counted(self, view: UrbanView, event: FlightEvent) -> None:
        """A movement is known by its name, or by which time it is: no other does the same and more, none is unclear."""
        self.require("movements_unknown", view.untracked_s, "<=", view.rules.untracked_max_s, "s")
        if event.landmark is not None:
            self.shown(view, event.landmark, view.end_s)
            beside = [view.steps[n] for n in (event.place - 1, event.place + 1) if 0 <= n < len(view.steps)]
            split = sum(other.actions == event.step.actions for other in beside)
            self.require("movement_split", split, "<=", 0, "times", event.words)
            if led_to(view, event.step, self) is None:
                away = view.places[event.landmark].distance_m(view.enu_m[_is_during(view, event.step)]).min()
                self.require("nothing_beside", float(away), "<=", view.rules.beside_max_m, "m", event.words)
            self.require("step_not_unique", _rivals(view, event), "<=", 0, "times", event.words)
            self.require("step_unclear", event.step.margin, ">=", view.rules.step_margin_min, "ratio", event.words)
            return
        kind, among = event.step.actions, view.steps[: event.place + 2] if event.numbered else view.steps
        more = sum(covers(kind, other.actions) for other in among if other.actions != kind)
        self.require("step_not_unique", more, "<=", 0, "times", event.words)
        times = [place for place, step in enumerate(view.steps[: event.place + 1]) if step.actions == kind]
        apart = min((after - before for before, after in pairwise(times)), default=2)
        self.require("movement_split", apart, ">", 1, "places", event.words)
        least = min(view.steps[place].margin for place in times)
        self.require("step_unclear", least, ">=", view.rules.step_margin_min, "ratio", event.words)


class UrbanTask(CaseTask[UrbanView]):
    """One of the 16 tasks of UrbanVideo-Bench. Subclasses are stateless.

    Attributes:
        share: its questions in the released benchmark, of 5,250.
        category: its group in table 1 of the paper.
        needs: what facts of the flight it rests on; a doubt about one of them refuses it.
        model_assisted: whether a model may write its questions too.
        question_form: the form of its questions, where a model writes them: for a reason, for what might be, or for
            neither.
        slots: the field of the template for each operand; that of `TIME` is in none, since a question is of "the
            current position", which is where its part of the video ends.
        definition: the task (table 1 of the paper), where a model writes its questions.
        example: a question of the paper, or in its manner; likewise.
    """

    form: Form = Choice(most=OPTIONS)
    category: str
    needs: frozenset[Need] = frozenset()
    model_assisted: bool = False
    question_form: Literal["what", "why", "if"] = "what"
    definition: str = ""
    example: str = ""

    def obstacle(self, view: UrbanView) -> Rejection | None:
        """The first need of the task that the flight does not meet; of landmarks, too, when the video shows them."""
        return view.obstacle(self.needs | {"views"} if "places" in self.needs else self.needs)

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """Every operand but the time."""
        return {slot: value for slot, value in zip(self.slots, operands, strict=True) if slot != TIME}

    def flags(self, view: UrbanView) -> list[str] | None:
        """What its questions rest on that someone may doubt."""
        needed = {"places", "goal", "route", "goal or route"} & self.needs and view.pictured
        rests = {"heading", "views", "steps"} & self.needs and view.heading_error_deg
        return [*([LOOK_FROM_PICTURES] if needed else []), *([HEADING_OF_COURSE] if rests else [])] or None


def unnameable(view: UrbanView) -> Iterator[FlightCase]:
    """A rejected candidate for each landmark near the path that no words tell from everything else."""
    for name, rejection in view.unnameable_reasons.items():
        case = FlightCase(name)
        case.refuse(rejection.reason, rejection.measured, rejection.limit, rejection.unit)
        yield case


def goal_of(view: UrbanView) -> int:
    """The landmark that is the goal. Raises ValueError where none is, and tasks that need one ask nothing."""
    if view.goal is None:
        raise ValueError('a task with need "goal" is asked only where the goal is a landmark')
    return view.goal


def clock(second: int) -> str:
    """A whole second of the video as a player shows it: "0:42"."""
    return f"{second // 60}:{second % 60:02d}"


def latest(count: int) -> str:
    """Some movements, the last of which is the one at the current position, in words; ten at most."""
    return f"during the latest {_NUMBERS[count]} movements" if count > 1 else "during the latest movement"


def clip_s(view: UrbanView) -> int | None:
    """Length of the clips of tasks in which the time since the start of a flight would tell the answer: one for all.

    None: they begin with the video.
    """
    share, rules = view.rules.clip_share, view.rules
    return None if share is None else int(np.clip(view.end_s * share, rules.clip_min_s, rules.clip_max_s))


def clipped(view: UrbanView, *operands: str, until_s: int, draw: tuple[str, ...] | None = None) -> FlightCase:
    """A candidate about a clip of the length of `clip_s`."""
    length = clip_s(view)
    from_s = None if length is None else max(0, until_s - length)
    case = FlightCase(*operands, until_s=until_s, from_s=from_s, draw=draw)
    if length is not None:
        case.require("clip_too_short", until_s, ">=", length, "s")
    return case


def cut_in(view: UrbanView, step: CaptionStep, *purpose: str) -> int:
    """A whole second well within a movement, drawn for the purpose; where there is none, the one nearest its middle.

    Always the middle, or the begin, would tell with the length of the video which movement it is. Where a clip of the
    length of `clip_s` can end in the movement, it does.
    """
    start, end = max(0.0, step.start_s), min(step.end_s, view.end_s)
    clear, length = view.rules.cut_inside_min_s, clip_s(view) or 0
    if end - clear >= length:
        start = max(start, length - clear)
    seconds = range(math.ceil(start + clear - 1e-6), math.floor(end - clear + 1e-6) + 1)
    if not seconds:
        return round((start + end) / 2)
    return seconds[int(rng_for(view.scene.id, "cut", *purpose, clock(round(start))).integers(len(seconds)))]


def last_second(view: UrbanView, step: CaptionStep) -> int:
    """The last whole second of a movement: at it the next has not begun."""
    return math.floor(min(step.end_s, view.end_s) + 1e-6)


def cuts(view: UrbanView) -> list[int]:
    """Whole seconds at which movements end: where a question about the flight so far may end; thinned if many."""
    found = sorted({last_second(view, step) for step in view.steps} or {math.floor(view.end_s)})
    most = round(view.rules.cuts_max * times_held(view.end_s))
    return [found[(i + 1) * len(found) // most - 1] for i in range(most)] if len(found) > most else found


def orders(view: UrbanView, steps: Sequence[CaptionStep]) -> list[str]:
    """The facts that tell the order of some movements in a row: which comes after which; of one alone, that it is."""
    first = view.steps.index(steps[0])
    return [f"order {n}" for n in range(first, first + len(steps) - 1)] or [f"movement {first}"]


class StretchSubjects:
    """Facts about stretches of a flight: two of one subject are the same if half of the shorter is in the longer."""

    def __init__(self) -> None:
        self._known: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)

    def fact(self, subject: str, start_s: float, end_s: float) -> str:
        """The name of the fact of a stretch."""
        known = self._known[subject]
        for number, (from_s, until_s) in enumerate(known):
            common = min(end_s, until_s) - max(start_s, from_s)
            if common > min(end_s - start_s, until_s - from_s) / 2:
                return f"{subject} {number}"
        known.append((start_s, end_s))
        return f"{subject} {len(known) - 1}"


def sentence(words: str) -> str:
    """The text with a capital letter at its beginning."""
    return words[:1].upper() + words[1:]


ANSWERS_MIN: Final = WRONG_MIN + 1


class EvenTask(UrbanTask):
    """A task whose options are the answers of its own questions of the flight, each right equally often."""

    balanced = False

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every candidate with its answer, in canonical order, as if it alone were asked."""
        raise NotImplementedError

    def kind(self, case: FlightCase) -> Hashable:
        """The key that sets candidates apart which cannot have the same options."""
        return None

    def clash(self, view: UrbanView, a: str, b: str) -> bool:
        """Whether two answers may both be called right, so that they cannot stand side by side."""
        return False

    def fair(self, view: UrbanView, case: FlightCase, option: str) -> bool:
        """Whether an option is wrong for a candidate, and not so by the words of the question alone."""
        return True

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """All of them; those that cannot be asked in equal numbers per answer are refused."""
        every = list(self.judged(view))
        self.ask_once(view, every)
        groups: dict[Hashable, dict[str, list[FlightCase]]] = defaultdict(lambda: defaultdict(list))
        for case in every:
            if case.refusal is None and case.answer is not None:
                groups[self.kind(case)][case.answer].append(case)
        for group in groups.values():
            for case, answers in even(group, f"{view.scene.id} {self.name}", partial(self.clash, view)):
                case.ask(str(case.answer), [option for option in answers if self.fair(view, case, option)])
        yield from every


def even(
    group: dict[str, list[FlightCase]], purpose: str, clash: Callable[[str, str], bool]
) -> list[tuple[FlightCase, Sequence[str]]]:
    """Every candidate of a group with the answers that are offered; those that are too many or too few are refused.

    Args:
        group: the candidates by answer, in order.
        purpose: what the draw is for, which says who of several of one answer stay.
        clash: see `EvenTask`.
    """
    drawn = {answer: sorted(found, key=lambda case: digest(purpose, *case.draw)) for answer, found in group.items()}
    offered: list[str] = []
    for answer in sorted(group, key=lambda answer: (-len(group[answer]), digest(purpose, *drawn[answer][0].draw))):
        if not any(clash(answer, other) for other in offered):
            offered.append(answer)
    # As many options as there can be, up to five; then as many questions.
    each = max(range(1, max(map(len, group.values())) + 1), key=lambda n: (_total(group, offered, n), -n))
    kept = [answer for answer in offered if len(group[answer]) >= each]
    for answer, found in drawn.items():
        for place, case in enumerate(found, start=1):
            case.require("too_few_answers", len(kept), ">=", ANSWERS_MIN, "answers")
            if answer not in kept:
                case.refuse("answer_too_rare", len(found), each, "candidates")
            case.require("answer_too_frequent", place, "<=", each, "candidates")
    return [(case, kept) for found in drawn.values() for case in found]


def _total(group: dict[str, list[FlightCase]], offered: list[str], each: int) -> tuple[int, int]:
    """How many options there are with so many questions of each answer, and how many questions; 0 with too few."""
    answers = sum(len(group[answer]) >= each for answer in offered)
    return (min(answers, OPTIONS), each * answers) if answers >= ANSWERS_MIN else (0, 0)
