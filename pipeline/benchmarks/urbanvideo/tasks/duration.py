"""Duration: which of two movements takes longer, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

from pipeline.benchmarks.urbanvideo.cases import FlightCase, UrbanTask, sentence
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.worlds.flight.steps import Actions, Step, covers, mirrored

TWICE: Final = 2.0
_TIMES: Final = ("first", "second", "third")


class Event(NamedTuple):
    """A movement and what it is called: "turning left", or "turning left for the second time".

    Attributes:
        place: among the movements of the flight.
    """

    words: str
    place: int
    step: Step


class Duration(UrbanTask):
    """Operands: two movements of one kind, or one and its mirror image, in order of time.

    Of other pairs one knows which is longer without having seen them: tilting the camera is short. That both take
    about the same time is no option: two ends each are not known well enough to prove it.
    """

    name = "Duration"
    share = 132
    category = "Perception"
    template = "urbanvideo/duration"
    slots = ("first", "second")
    needs = frozenset(("steps", "seconds"))
    definition = "Tell which of two movements takes longer."
    example = "Which takes longer, the agent's movement through the alley or its descent to the balcony?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every two of the first three times of a kind of movement; it and its mirror image, if each is flown once."""
        events = _events(view)
        for kind, found in events.items():
            image = events.get(mirrored(kind), [])
            pairs = [*combinations(found, 2)]
            if image is not found and len(found) == len(image) == 1 and found[0].place < image[0].place:
                pairs.append((found[0], image[0]))
            for first, second in pairs:
                yield self._case(view, first, second)

    def _case(self, view: UrbanView, first: Event, second: Event) -> FlightCase:
        rules = view.rules
        case = FlightCase(first.words, second.words)
        case.require("movements_unknown", view.untracked_s, "<=", rules.untracked_max_s, "s")
        for event in (first, second):
            kind = event.step.actions
            others = [other.actions for other in view.steps[: second.place + 2] if other.actions != kind]
            more = sum(covers(kind, other) for other in others)
            case.require("step_not_unique", more, "<=", 0, "times", event.words)
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
        words = {event: (_more(event), _less(event)) for event in (first, second)}
        return case.ask(words[longer][0 if ratio > TWICE else 1], (*words[first], *words[second]))


def _events(view: UrbanView) -> dict[Actions, list[Event]]:
    """The movements by kind, each with what it is called; of every kind the first three."""
    places: dict[Actions, list[int]] = {}
    for place, step in enumerate(view.steps):
        places.setdefault(step.actions, []).append(place)
    return {
        kind: [
            Event(_called(view.steps[place], time if len(found) > 1 else None), place, view.steps[place])
            for time, place in zip(_TIMES, found, strict=False)
        ]
        for kind, found in places.items()
    }


def _called(step: Step, time: str | None) -> str:
    return step.says("ing") + (f" for the {time} time" if time else "")


def _more(event: Event) -> str:
    return f"{sentence(event.words)}, more than twice as long"


def _less(event: Event) -> str:
    return f"{sentence(event.words)}, but less than twice as long"
