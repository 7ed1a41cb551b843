"""What the flight tasks share: what a case asks of movements and landmarks, and the task itself."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.schema import Rejection
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.task import Choice, Form
from pipeline.worlds.flight.doubts import Need
from pipeline.worlds.flight.steps import Step

SIGHT_UNKNOWN: Final = "sight_unknown"  # flag: it is not known whether the video shows the landmarks


class FlightCase(Case):
    """A candidate about movements and landmarks of a flight."""

    def step(self, view: UrbanView, step: Step) -> None:
        """A movement that the question or its answer names: known, clear, and within the video."""
        rules, words = view.rules, step.says("ing")
        self.fact("start", words, step.start_s, "s")
        self.fact("end", words, step.end_s, "s")
        if not step.known:
            self.refuse("heading_unknown")
        self.require("step_unclear", step.margin, ">=", rules.step_margin_min, "ratio", words)
        self.require("step_cut_off", view.beyond_s(step), "<=", rules.cut_off_max_s, "s", words)

    def follows(self, view: UrbanView, before: Step, after: Step) -> None:
        """Nothing unknown lies between two movements."""
        self.require("track_interrupted", after.part - before.part, "<=", 0, "parts")
        self.require("steps_apart", after.start_s - before.end_s, "<=", view.rules.step_gap_max_s, "s")

    def shown(self, view: UrbanView, place: int, by_s: float) -> None:
        """The video shows a landmark by then, where it is known what it shows."""
        label, first = view.places[place].label, view.first_seen_s(place)
        if view.seen_known and first is None:
            self.refuse("never_visible", 0, 1, "times")
        elif first is not None:
            self.require("not_seen_yet", first, "<=", by_s, "s", label)

    def once(self, view: UrbanView, step: Step) -> None:
        """A movement is known by its name: no other does the same, or the same and more."""
        self.require("movements_unknown", view.untracked_s, "<=", view.rules.untracked_max_s, "s")
        times = sum(step.actions <= other.actions for other in view.steps)
        self.require("step_not_unique", times, "<=", 1, "times", step.says("ing"))


class UrbanTask(CaseTask[UrbanView]):
    """One of the 16 tasks of UrbanVideo-Bench. Subclasses are stateless.

    Attributes:
        needs: what facts of the flight it rests on; a doubt about one of them refuses it.
        model_assisted: whether a model may write its questions too.
        definition: what the task is (table 1 of the paper).
        example: a question of the paper, or in its manner.
    """

    form: Form = Choice(most=5)  # A to E
    needs: frozenset[Need] = frozenset()
    model_assisted: bool = False
    definition: str
    example: str

    def obstacle(self, view: UrbanView) -> Rejection | None:
        """What the flight lacks of what the task needs."""
        return view.obstacle(self.needs)

    def flags(self, view: UrbanView) -> list[str] | None:
        """Questions about landmarks say so where it is not known when these are in view."""
        return [SIGHT_UNKNOWN] if "places" in self.needs and not view.seen_known else None


def clock(second: int) -> str:
    """A whole second of the video as a player shows it: "0:42"."""
    return f"{second // 60}:{second % 60:02d}"


def sentence(words: str) -> str:
    """The text with a capital letter at its beginning."""
    return words[:1].upper() + words[1:]
