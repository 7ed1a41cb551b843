"""Sequence Recall and Action Generation: the movement that comes next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pipeline.benchmarks.urbanvideo.cases import FlightCase, UrbanTask, clock, sentence
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.templates import Operands
from pipeline.worlds.flight.steps import Step, others, phrase

GOAL, ROUTE = "Navigation goal", "Navigation route"
STEP_SEPARATOR = "; "


class SequenceRecall(UrbanTask):
    """Operands: a movement that occurs once. Truth: the one after it."""

    name = "Sequence Recall"
    template = "urbanvideo/sequence_recall"
    slots = ("step",)
    needs = frozenset(("steps",))
    definition = "State the agent's next step after a given movement."
    example = "What is the agent's next step after changing direction to the left over the intersection?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every kind of movement but the last, at its first occurrence."""
        asked: set[str] = set()
        for before, after in pairwise(view.steps):
            words = before.says("ing")
            if words not in asked:
                asked.add(words)
                case = FlightCase(words)
                case.once(view, before)
                yield _next(view, case, before, after)


class ActionGeneration(UrbanTask):
    """Operands: the second at which the video is cut, then "Navigation goal" or "… route", then its words.

    Truth: the movement after the cut. Flying on as before is no wrong option: a cut may lie half a second early.
    """

    name = "Action Generation"
    template = "urbanvideo/action_generation"
    needs = frozenset(("steps", "goal or route"))
    definition = "Given the navigation goal or route at the start, generate the next control action from here."
    example = "Navigation Route: [...]. To finish the route, what are the best NEXT actions for the UAV?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """The begin of every movement but the first."""
        flight = view.flight
        task = (ROUTE, *flight.route) if flight.route else (GOAL, str(flight.goal))
        for before, after in pairwise(view.steps):
            case = FlightCase(clock(max(0, round(after.start_s))), *task)
            yield _next(view, case, before, after)

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The goal or the route in one field."""
        time, kind, *words = operands
        return {"kind": kind, "task": STEP_SEPARATOR.join(words), "time": time}


def _next(view: UrbanView, case: FlightCase, before: Step, after: Step) -> FlightCase:
    """Asks for the movement after another; what the two share or do as well is no wrong option."""
    case.step(view, before)
    case.step(view, after)
    case.follows(view, before, after)
    case.require("movement_split", float(before.actions == after.actions), "<=", 0, "times")
    flown = [step.actions for step in view.steps]
    wrong = others(after.actions, flown, view.known_actions, barred=(before.actions,))
    return case.ask(sentence(after.says("plain")), (sentence(phrase(actions, "plain")) for actions in wrong))
