"""Trajectory Captioning: the movements of a stretch, in order and by landmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pipeline.geometry.bearings import compass_deg, turn_between_deg
from pipeline.questions.urban.base import Case, UrbanTask, clock
from pipeline.questions.urban.places import LEAST_M
from pipeline.questions.urban.steps import Actions, Step, flipped, mirrored, overlap, phrase
from pipeline.questions.urban.view import FlightView


class Leg(NamedTuple):
    """A movement in a caption, with the landmark that it goes towards, if any."""

    actions: Actions
    toward: str | None

    def words(self) -> str:
        """For example "flies forward towards the Town Hall"."""
        return phrase(self.actions, "third") + (f" towards {self.toward}" if self.toward else "")


class TrajectoryCaptioning(UrbanTask):
    """Operands: begin and end of a stretch of a few movements, or of a short flight as a whole."""

    name = "Trajectory Captioning"
    template = "urban/trajectory_captioning"
    slots = ("start", "end")
    needs = frozenset(("steps",))
    definition = "Summarize the agent's movement path using visual cues and landmarks."
    example = "Summarize the drone's movement from 0:10 to 0:55."

    def cases(self, view: FlightView) -> Iterator[Case]:
        """Every run of `caption_steps` movements, and the whole flight if it has few."""
        n, length = len(view.steps), view.rules.caption_steps
        runs = [(i, i + length) for i in range(n - length + 1)]
        if n <= view.rules.caption_steps_max and (0, n) not in runs:
            runs.append((0, n))
        for first, last in runs:
            yield self._case(view, view.steps[first:last])

    def _case(self, view: FlightView, steps: Sequence[Step]) -> Case:
        case = Case(clock(max(0, round(steps[0].start_s))), clock(round(min(steps[-1].end_s, view.end_s))))
        for step in steps:
            case.step(view, step)
        for before, after in pairwise(steps):
            case.follows(view, before, after)
        repeated = sum(a.actions == b.actions for a, b in pairwise(steps))
        case.require("movement_split", repeated, "<=", 0, "times")
        legs = tuple(Leg(step.actions, _toward(view, step, case)) for step in steps)
        return case.ask(_caption(legs), (_caption(other) for other in _misread(legs, view.known_actions)))


def _caption(legs: Sequence[Leg]) -> str:
    return f"It {', then '.join(leg.words() for leg in legs)}."


def _toward(view: FlightView, step: Step, case: Case) -> str | None:
    """The landmark that a flight over ground leads to: seen by then, ahead of it, and nearer by a fifth at its end."""
    rules = view.rules
    start, end = view.index(max(0.0, step.start_s)), view.index(min(step.end_s, view.end_s))
    if (
        not view.seen_known
        or not view.pool
        or start is None
        or end is None
        or not any(a.startswith("fly") for a in step.actions)
    ):
        return None
    ends = view.enu_m[[start, end]]
    distance = view.distance_m[:, [start, end]]
    offset = view.places.center[view.pool] - ends[0, :2]
    angle = np.abs(turn_between_deg(compass_deg(ends[1] - ends[0]), compass_deg(offset)))
    share = distance[:, 1] / np.maximum(distance[:, 0], LEAST_M)
    ahead = (angle <= rules.toward_max_deg) & (share <= 1 - rules.change_min) & (distance[:, 0] > LEAST_M)
    ahead &= [view.seen_by(place, step.end_s) for place in view.pool]
    if not ahead.any():
        return None
    best = int(np.where(ahead, np.round(distance[:, 1], 6), np.inf).argmin())
    label = view.places[view.pool[best]].label
    case.require("not_towards", float(angle[best]), "<=", rules.toward_max_deg, "deg", label)
    case.require("not_nearer", float(share[best]), "<=", 1 - rules.change_min, "ratio", label)
    return label


def _misread(legs: tuple[Leg, ...], known: Actions) -> Iterator[tuple[Leg, ...]]:
    """The movements mirrored, upside down, in other orders, and both: so that the right one is not the middle of all.

    A reading that says no more than a part of what happened, or splits a movement in two, is left out.
    """
    swapped = [(*legs[:i], legs[i + 1], legs[i], *legs[i + 2 :]) for i in range(len(legs) - 1)]
    for order in (legs, *swapped, legs[::-1]):
        for change in (frozenset, mirrored, flipped, _turned_over):
            other = tuple(Leg(change(leg.actions), leg.toward) for leg in order)
            same = all(overlap(a.actions, b.actions) for a, b in zip(legs, other, strict=True))
            split = any(a.actions == b.actions for a, b in pairwise(other))
            if not same and not split and all(leg.actions <= known for leg in other):
                yield other


def _turned_over(actions: Actions) -> Actions:
    return mirrored(flipped(actions))
