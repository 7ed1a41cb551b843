"""Progress Evaluation: the step of the given route that is being flown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.benchmarks.urbanvideo.cases import FlightCase, clipped, clock, cut_in, route_told
from pipeline.benchmarks.urbanvideo.even import EvenTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.sequence import STEP_SEPARATOR
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.rules import make_rejection
from pipeline.worlds.flight.facts import Action
from pipeline.worlds.flight.steps import RESTS, TILTS, Actions, Step

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

    The route's steps and the flight's movements must match in one way alone (`ways_to_fly`).
    """

    name = "Progress Evaluation"
    share = 763
    category = "Navigation"
    template = "urbanvideo/progress_evaluation"
    needs = frozenset(("steps", "route"))
    definition = "Given the navigation route at the start, analyze which step the navigation is currently performing."
    example = (
        "Navigation Route: [Fly along the road, then turn left and fly towards the bridge, ...]. What is the UAV's "
        "current move?"
    )

    def obstacle(self, view: UrbanView) -> Rejection | None:
        """The route is not understood, or is not what was flown."""
        found = super().obstacle(view)
        if found is not None:
            return found
        if not route_told(view):
            return make_rejection("route_tells_other_answers")
        untracked, most = view.untracked_s, view.rules.untracked_max_s
        if untracked > most:
            return Rejection(reason="movements_unknown", measured=untracked, limit=most, unit="s")
        told = [actions_of(words) for words in view.flight.route]
        unclear = sum(not actions for actions in told)
        if unclear:
            return Rejection(reason="route_steps_unclear", measured=unclear, limit=0, unit="steps")
        ways = ways_to_fly(told, view.steps)
        if len(ways) != 1:
            reason = "route_fits_in_several_ways" if ways else "route_disagrees_with_flight"
            return Rejection(reason=reason, measured=len(ways), limit=1, unit="ways")
        return None

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """A second within every movement that carries out a step."""
        route = view.flight.route
        (flown,) = ways_to_fly([actions_of(words) for words in route], view.steps)
        for number, (words, step) in enumerate(zip(route, flown, strict=True), start=1):
            cut = cut_in(view, step, self.name)
            case = clipped(view, clock(cut), *route, until_s=cut, draw=(clock(cut),))
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


def actions_of(words: str) -> Actions:
    """What a step of a route asks for; nothing if it is not understood, or asks for one movement after another."""
    found: set[Action] = {action for action, pattern in _WORDS if re.search(pattern, words, re.IGNORECASE)}
    if any(action.startswith("fly") and action != "fly forward" for action in found):
        found.discard("fly forward")  # "fly" alone is forward, "fly left" is not
    return frozenset(found) if len(found) == 1 or _AT_ONCE.search(words) else frozenset()


def ways_to_fly(told: Sequence[Actions], steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """In which ways the movements may be the steps of a route: none, the only one, or two of several.

    Every step is a movement that does what it asks for, in order; pauses and tilts of the camera may be left over.
    """
    ways: dict[int, list[tuple[Step, ...]]] = {0: [()]}  # by the number of steps flown so far
    for step in steps:
        further: dict[int, list[tuple[Step, ...]]] = {}
        for flown, found in ways.items():
            if step.actions <= _IDLE:
                further.setdefault(flown, []).extend(found)
            if flown < len(told) and told[flown] <= step.actions:
                further.setdefault(flown + 1, []).extend((*way, step) for way in found)
        ways = {flown: found[:2] for flown, found in further.items()}
    return ways.get(len(told), [])
