"""Duration: which of two movements takes longer, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from pipeline.benchmarks.urbanvideo.cases import FlightCase, UrbanTask, sentence
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.worlds.flight.steps import Step

TWICE: Final = 2.0


class Duration(UrbanTask):
    """Operands: two movements that occur once, in order of time.

    That both take about the same time is no option: two ends each are not known well enough to prove it.
    """

    name = "Duration"
    template = "urbanvideo/duration"
    slots = ("first", "second")
    needs = frozenset(("steps", "seconds"))
    definition = "Tell which of two movements takes longer."
    example = "Which takes longer, the agent's movement through the alley or its descent to the balcony?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every pair of kinds of movements, each at its first occurrence."""
        kinds: dict[str, Step] = {}
        for step in view.steps:
            kinds.setdefault(step.says("ing"), step)
        for first, second in combinations(kinds.values(), 2):
            yield self._case(view, first, second)

    def _case(self, view: UrbanView, first: Step, second: Step) -> FlightCase:
        rules = view.rules
        case = FlightCase(first.says("ing"), second.says("ing"))
        for step in (first, second):
            case.once(view, step)
            case.step(view, step)
            case.fact("duration", step.says("ing"), step.seconds, "s")
        shorter, longer = sorted((first, second), key=lambda step: step.seconds)
        ratio = longer.seconds / max(shorter.seconds, 1e-9)
        case.require("durations_alike", ratio, ">=", rules.duration_ratio_min, "ratio")
        case.require("durations_alike", longer.seconds - shorter.seconds, ">=", rules.duration_gap_min_s, "s")
        case.require("near_twice", max(ratio / TWICE, TWICE / ratio), ">=", rules.duration_twice_margin, "ratio")
        from_twice_s = abs(longer.seconds - TWICE * shorter.seconds)
        case.require("near_twice", from_twice_s, ">=", rules.duration_twice_gap_min_s, "s")
        words = {step: (_more(step), _less(step)) for step in (first, second)}
        answer = words[longer][0 if ratio > TWICE else 1]
        return case.ask(answer, (*words[first], *words[second]))


def _more(step: Step) -> str:
    return f"{sentence(step.says('ing'))}, more than twice as long"


def _less(step: Step) -> str:
    return f"{sentence(step.says('ing'))}, but less than twice as long"
