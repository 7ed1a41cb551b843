"""Tasks Sequence Recall, Action Generation and Progress Evaluation.

The first two ask for the movement that comes next; Progress Evaluation asks for the step of the given route that is
being flown.
"""

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from pipeline.benchmarks.urbanvideo.cases import (
    ANSWERS_MIN,
    TOWARDS,
    EvenTask,
    FlightCase,
    FlightEvent,
    clipped,
    clock,
    cut_in,
    events,
    orders,
    sentence,
)
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.landmarks import GOAL, may_bring_nearer, require_nearer
from pipeline.core.identity import digest, rng_for
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.rules import make_rejection
from pipeline.questions.selection import SAME_FACT
from pipeline.worlds.flight.facts import Action
from pipeline.worlds.flight.places import BESIDE
from pipeline.worlds.flight.steps import (
    FOUR,
    RESTS,
    SEVEN,
    TILTS,
    Actions,
    CaptionStep,
    flipped,
    mirrored,
    opposed,
    overlap,
    phrase,
)
from pipeline.worlds.flight.view import Need

ROUTE: Final = "Navigation route"
STEP_SEPARATOR = "; "


_OF_EVENT: Final = re.compile(f" for the |{TOWARDS}|{BESIDE}")  # between a movement and what tells it from others


class _Next(EvenTask):
    """A task that asks for the movement after another one."""

    def clash(self, view: UrbanView, a: str, b: str) -> bool:
        """One says no more than a part of the other, so that both may be called right."""
        meant = _movements_by_option(view)
        return overlap(meant[a], meant[b])


class SequenceRecall(_Next):
    """Operands: a movement that occurs once, or one of several with which time it is. Truth: the one after it.

    A flight that does not have the three answers of an `EvenTask` is offered a fixed set.
    """

    reads = "movement"
    name = "Sequence Recall"
    share = 112
    category = "Recall"
    template = "urbanvideo/questions/sequence_recall"
    slots = ("step",)
    needs = frozenset(("steps",))

    def obstacle(self, view: UrbanView) -> Rejection | None:
        """Where other questions print the route, they tell the answer."""
        return super().obstacle(view) or revealed_by_route(view)

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """As `EvenTask` has them; else of `SEVEN` movements, or of `FOUR` without a heading, or variants of several."""
        found = list(super().cases(view)) if len(view.steps) > ANSWERS_MIN else []
        if any(case.refusal is None for case in found):
            yield from found
            return
        headed = set(SEVEN) <= view.known_actions
        single = [frozenset((action,)) for action in (SEVEN if headed else FOUR)]
        for event, case in self._judged(view):
            right = view.steps[event.place + 1].actions
            # Of several at once, a single movement would stand out.
            offered = single if len(right) == 1 else _variants(right)
            barred = (right, event.step.actions)
            wrong = [option for option in offered if not any(overlap(option, other) for other in barred)]
            yield case.ask(str(case.answer), map(_option, wrong))

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every movement but the last, of each kind the first three."""
        for _, case in self._judged(view):
            yield case

    def _judged(self, view: UrbanView) -> Iterator[tuple[FlightEvent, FlightCase]]:
        found = [event for kind in events(view).values() for event in kind if event.place + 1 < len(view.steps)]
        for event in sorted(found, key=lambda event: event.place):
            case = FlightCase(event.words, draw=(clock(round(event.step.start_s)),))
            case.counted(view, event)
            _ask_for_next(view, case, event.step, view.steps[event.place + 1])
            ask_of_order(view, case, captions=False)
            yield event, case

    def fair(self, view: UrbanView, case: FlightCase, option: str) -> bool:
        """After a movement comes another one, as anybody knows."""
        return phrase(_movements_by_option(view)[option], "ing") != _OF_EVENT.split(case.operands[0])[0]


class ActionGeneration(_Next):
    """Operands: the second at which the question ends, then "Navigation goal" or "… route", then its words.

    Truth: the movement after the one that is in progress there, which is a wrong option like any other. Where only a
    goal is given, a movement that brings it nearer; no other option may be called such a movement.
    """

    reads = "movement"
    name = "Action Generation"
    share = 1171
    category = "Navigation"
    template = "urbanvideo/questions/action_generation"
    needs = frozenset(("steps", "goal or route"))

    def obstacle(self, view: UrbanView) -> Rejection | None:
        """Unless a route is told the goal must have a place: else it is not known what brings it nearer."""
        by_goal: frozenset[Need] = frozenset() if prints_route(view) else frozenset(("goal", "places"))
        return super().obstacle(view) or view.obstacle(by_goal)

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """A second within every movement but the last."""
        flight, goal = view.flight, self.led_by(view)
        task = (ROUTE, *flight.route) if goal is None else (GOAL, view.places[goal].label)
        for before, after in pairwise(view.steps):
            cut = cut_in(view, before, self.name)
            case = clipped(view, clock(cut), *task, until_s=cut, draw=(clock(cut),))
            case.within(view, before, cut)
            if goal is None:
                case.recognised(view)
            else:
                case.shown(view, goal, cut)
                require_nearer(view, case, after, goal)
            yield _ask_for_next(view, case, before, after)

    def led_by(self, view: UrbanView) -> int | None:
        """The goal, where no route is told."""
        return None if prints_route(view) else view.goal

    def fair(self, view: UrbanView, case: FlightCase, option: str) -> bool:
        """Nobody may say that it brings the goal nearer too."""
        goal, cut_s = self.led_by(view), case.until_s or 0.0
        if goal is None:
            return True
        done_s = next(step.end_s for step in view.steps if step.end_s >= cut_s)
        return not may_bring_nearer(view, _movements_by_option(view)[option], done_s, goal)

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The goal or the route in one field."""
        _, kind, *words = operands
        return {"kind": kind, "task": STEP_SEPARATOR.join(words)}


class _AlongRoute(ActionGeneration):
    """As if the route were told."""

    def led_by(self, view: UrbanView) -> int | None:
        return None


def _ask_for_next(view: UrbanView, case: FlightCase, before: CaptionStep, after: CaptionStep) -> FlightCase:
    """Asks for the movement after another."""
    case.follows_from(*orders(view, (before, after)))
    case.step(view, before)
    case.step(view, after)
    case.follows(view, before, after)
    case.require("movement_split", float(before.actions == after.actions), "<=", 0, "times")
    case.answer = _option(after.actions)
    return case


def _option(actions: Actions) -> str:
    return sentence(phrase(actions, "plain"))


def _movements_by_option(view: UrbanView) -> dict[str, Actions]:
    """The movements of the flight by the options that they are."""
    return {_option(step.actions): step.actions for step in view.steps}


def _variants(actions: Actions) -> list[Actions]:
    """Movements at once, with each side, height and way as it is or as its opposite."""
    found = [actions]
    for change in (mirrored, flipped, opposed):
        found += [change(variant) for variant in found]
    return found


_IDLE: Final[Actions] = TILTS | RESTS
_FLY: Final = r"\b(?:fly|go|move|head|proceed|continue|advance|strafe|shift|drift)(?:ing)?\b"
_SIDE: Final = r"(?: (?:to|towards) the| sideways)?"
_WORDS: Final[tuple[tuple[Action, str], ...]] = (
    ("ascend", r"\b(?:ascend|rise|rais|climb|tak(?:e|ing) ?off|(?:fly|go|move) up\b)"),
    ("descend", r"\b(?:descend|lower|land(?:ing)?\b|(?:fly|go|move) down\b)"),
    ("turn left", r"\b(?:turn|rotate|yaw|curve|arc)(?:ing)?\b[^,;]*\bleft\b"),
    ("turn right", r"\b(?:turn|rotate|yaw|curve|arc)(?:ing)?\b[^,;]*\bright\b"),
    ("fly left", rf"{_FLY}{_SIDE} left\b"),
    ("fly right", rf"{_FLY}{_SIDE} right\b"),
    ("fly backward", rf"{_FLY}(?: straight)? back(?:ward)?s?\b"),
    ("gimbal up", r"\b(?:tilt|look|camera|gimbal)\b[^,;]*\bup"),
    ("gimbal down", r"\b(?:tilt|look|camera|gimbal)\b[^,;]*\bdown"),
    ("hover", r"\b(?:hover|stop|wait|pause)"),
    ("fly forward", rf"{_FLY}(?! up\b| down\b)"),
)
_AT_ONCE: Final = re.compile(r"\b(?:while|curve|arc)\b", re.IGNORECASE)


class ProgressEvaluation(EvenTask):
    """Operands: a second, then the steps of the route. Truth: the step that is being flown.

    The route's steps and the flight's movements must match in one way alone (`ways_to_fly`). Which step is flown tells
    the next action too: as many steps as its share says, drawn by lot, are asked for here, the rest by next actions.
    """

    reads = "movement"
    name = "Progress Evaluation"
    share = 763
    category = "Navigation"
    template = "urbanvideo/questions/progress_evaluation"
    needs = frozenset(("steps", "route"))

    def obstacle(self, view: UrbanView) -> Rejection | None:
        """The route is not understood, is not what was flown, or would tell what is asked instead."""
        found = super().obstacle(view) or route_flown(view).refusal
        return found or (None if prints_route(view) else make_rejection("route_tells_other_answers"))

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """As `EvenTask` has them, by lot: else the last step, after which there is no action, would be asked most."""
        every = list(super().cases(view))
        asked = sorted(
            (case for case in every if case.refusal is None),
            key=lambda case: digest(view.scene.id, self.name, "left", *case.draw),
        )
        here = self.share / (self.share + ActionGeneration.share) if _next_asked(view) else 1.0
        for case in asked[math.ceil(here * len(asked)) :]:
            case.refuse("route_tells_other_answers", len(asked), math.ceil(here * len(asked)), "candidates")
        yield from every

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """A second within every movement that carries out a step."""
        route = view.flight.route
        for number, (words, step) in enumerate(zip(route, route_flown(view).steps, strict=True), start=1):
            cut = cut_in(view, step, self.name)
            case = clipped(view, clock(cut), *route, until_s=cut, draw=(clock(cut),))
            # With the route before one's eyes, the next action follows from the step that is being flown.
            place = view.steps.index(step)
            case.follows_from(*orders(view, view.steps[place : place + 2]))
            case.fact("step", words, number, "of the route")
            case.step(view, step)
            case.within(view, step, cut)
            case.recognised(view)
            times = sum(other.casefold() == words.casefold() for other in route)
            case.require("step_not_unique", times, "<=", 1, "times", words)
            yield case.ask(words, route)

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The route in one field, its steps numbered."""
        _, *route = operands
        return {"route": STEP_SEPARATOR.join(route)}


class FlownRoute(NamedTuple):
    """The movements that carry out the steps of a route, or why it is not known which do."""

    steps: tuple[CaptionStep, ...] = ()
    refusal: Rejection | None = None


def route_flown(view: UrbanView) -> FlownRoute:
    """How the route that the pilot was given was flown."""
    untracked, most = view.untracked_s, view.rules.untracked_max_s
    if untracked > most:
        return FlownRoute(refusal=Rejection(reason="movements_unknown", measured=untracked, limit=most, unit="s"))
    steps = [actions_of(words) for words in view.flight.route]
    unclear = sum(not actions for actions in steps)
    if unclear:
        return FlownRoute(refusal=Rejection(reason="route_steps_unclear", measured=unclear, limit=0, unit="steps"))
    ways = ways_to_fly(steps, view.steps)
    if len(ways) != 1:
        reason = "route_fits_in_several_ways" if ways else "route_disagrees_with_flight"
        return FlownRoute(refusal=Rejection(reason=reason, measured=len(ways), limit=1, unit="ways"))
    return FlownRoute(ways[0])


@lru_cache(maxsize=1)  # each candidate of a flight asks
def prints_route(view: UrbanView) -> bool:
    """Whether questions about this flight print the route that its pilot was given; drawn for each flight.

    Not where no question would: what it tells can be asked then.
    """
    if not view.flight.route or view.obstacle(frozenset(("steps", "route"))) is not None:
        return False
    if float(rng_for(view.scene.id, "navigation route").random()) >= view.rules.routes_told:
        return False
    return not route_flown(view).refusal or _next_asked(view)


def _next_asked(view: UrbanView) -> bool:
    """Whether next actions are asked for along a printed route."""
    return any(case.refusal is None for case in _AlongRoute().cases(view))


def revealed_by_route(view: UrbanView) -> Rejection | None:
    """Why what the drone did is not asked: a printed route tells it."""
    return make_rejection("told_by_the_route") if prints_route(view) else None


def ask_of_order(view: UrbanView, case: FlightCase, *, captions: bool) -> None:
    """Refuses captions of a flight, or else what comes next: a lot for each flight leaves one of them.

    No caption has the order that is asked for, so what it says is seldom what comes next.
    """
    lot, limit = float(rng_for(view.scene.id, "captions").random()), view.rules.captioned
    if (lot < limit) != captions:
        case.refuse(SAME_FACT, lot, limit, "share")


def actions_of(words: str) -> Actions:
    """The actions that a step of a route asks for; none if it is not understood, or asks for several in turn."""
    found: set[Action] = {action for action, pattern in _WORDS if re.search(pattern, words, re.IGNORECASE)}
    if any(action.startswith("fly") and action != "fly forward" for action in found):
        found.discard("fly forward")  # "fly" alone is forward, "fly left" is not
    return frozenset(found) if len(found) == 1 or _AT_ONCE.search(words) else frozenset()


def ways_to_fly(actions: Sequence[Actions], steps: Sequence[CaptionStep]) -> list[tuple[CaptionStep, ...]]:
    """In which ways the movements may be the steps of a route: none, the only one, or two of several.

    Every step is a movement that does what it asks for, in order; pauses and tilts of the camera may be left over.
    """
    ways: dict[int, list[tuple[CaptionStep, ...]]] = {0: [()]}  # by the number of steps flown so far
    for step in steps:
        further: dict[int, list[tuple[CaptionStep, ...]]] = {}
        for flown, found in ways.items():
            if step.actions <= _IDLE:
                further.setdefault(flown, []).extend(found)
            if flown < len(actions) and actions[flown] <= step.actions:
                further.setdefault(flown + 1, []).extend((*way, step) for way in found)
        ways = {flown: found[:2] for flown, found in further.items()}
    return ways.get(len(actions), [])
