"""SPA of drives, two or three things compared: sizes (R/S), places (R/P) and distances (R/D)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, permutations
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.asking import words
from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.drive.asking import case, mark
from pipeline.benchmarks.embodied4c.drive.refs import KINDS, LONG, Ref, refs
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.core.identity import digest

AXES: Final = {"longer": 0, "taller": 2}
RANKED: Final = 3


def _plain(view: DriveExam, moment: int) -> list[Ref]:
    """The nearest of each single kind at a moment that may be spoken of."""
    return [ref for ref in refs(view, moment, sides=False) if len(KINDS[ref.kind]) == 1]


def _order(view: DriveExam, moment: int, *found: Ref) -> list[Ref]:
    """Things in an order that tells nothing: drawn from what they are."""
    time = f"{view.second(moment):.2f}"
    return sorted(found, key=lambda ref: digest(view.scene.id, time, ref.key))


def size(view: DriveExam) -> Iterator[ExamCase]:
    """R/S: which of two things is longer or taller."""
    for moment in range(len(view.moments)):
        for pair in _comparable(view, moment):
            first, second = _order(view, moment, *pair)
            for more, axis in AXES.items():
                if more == "longer" and not {first.kind, second.kind} <= LONG:
                    continue  # how long a pedestrian is depends on the stride
                a, b = (float(view.size_m[ref.actor, axis]) for ref in (first, second))
                fields = {"thing": first.words, "other": second.words, "more": more}
                one = case(view, "rs_size", moment, (first.key, second.key, more), first, second, **fields)
                one.fact(more, first.words, a, "m")
                one.fact(more, second.words, b, "m")
                one.require("sizes_alike", max(a / b, b / a), ">=", view.rules.size_ratio_min, "ratio")
                for name, ref in (("asked", first), ("other", second)):
                    mark(view, one, name, view.place_m[ref.actor, view.moments[moment]])
                larger = first if a > b else second
                one.traits, one.guess = (more, first.kind), larger.side
                told = larger.side.removesuffix(" of the ego vehicle")
                accepted = (f"the {larger.kind} {larger.side}", larger.side, told, f"the one {told}")
                yield words(one, larger.words, (first.words, second.words), accepted)


def _comparable(view: DriveExam, moment: int) -> list[tuple[Ref, Ref]]:
    """The nearest of one kind on different sides: of a bus and a car anybody knows which is longer."""
    sided = [ref for ref in refs(view, moment) if ref.side]
    return [(a, b) for a, b in combinations(sided, 2) if a.kind == b.kind and a.actor != b.actor]


def place(view: DriveExam) -> Iterator[ExamCase]:
    """R/P: on which side of another a thing is as seen from our car, and whether it is nearer or farther."""
    answers = {
        f"{side} and {depth}": (f"{depth} and {side}", f"to the {side} and {depth}", f"{side}, {depth}")
        for side in ("left", "right")
        for depth in ("nearer", "farther")
    }
    for moment in range(len(view.moments)):
        for pair in combinations(_plain(view, moment), 2):
            first, second = _order(view, moment, *pair)
            one = case(
                view, "rp_place", moment, (first.key, second.key), first, second, thing=first.words, other=second.words
            )
            turn = float((view.off_deg[first.actor, moment] - view.off_deg[second.actor, moment] + 180) % 360 - 180)
            one.fact("turn", f"from {second.words} to {first.words}", turn, "deg")
            one.require("in_one_line", abs(turn), ">=", view.rules.side_margin_deg, "deg")
            one.require("on_opposite_sides", abs(turn), "<=", 120.0, "deg")
            ratio = max(first.gap_m, 0.01) / max(second.gap_m, 0.01)
            one.fact("distance", first.words, first.gap_m, "m")
            one.fact("distance", second.words, second.gap_m, "m")
            one.require("distances_alike", max(ratio, 1 / ratio), ">=", view.rules.distance_ratio_min, "ratio")
            answer = f"{'left' if turn > 0 else 'right'} and {'nearer' if ratio < 1 else 'farther'}"
            for name, ref in (("asked", first), ("other", second)):
                mark(view, one, name, view.place_m[ref.actor, view.moments[moment]])
            yield words(one, answer, answers, answers[answer])


def ranking(view: DriveExam) -> Iterator[ExamCase]:
    """R/D: three things by their distance from us, closest first."""
    for moment in range(len(view.moments)):
        for three in combinations(_plain(view, moment), RANKED):
            told = _order(view, moment, *three)
            ranked = sorted(three, key=lambda ref: ref.gap_m)
            names = [ref.kind for ref in told]
            one = case(
                view,
                "rd_rank",
                moment,
                [ref.key for ref in told],
                *told,
                first=f"{names[0]}{view.scope}",
                second=f"{names[1]}{view.scope}",
                third=f"{names[2]}{view.scope}",
            )
            for ref in told:
                one.fact("distance", ref.words, ref.gap_m, "m")
            steps = np.diff([ref.gap_m for ref in ranked])
            ratios = [b.gap_m / max(a.gap_m, 0.01) for a, b in pairwise(ranked)]
            one.require("distances_alike", float(min(ratios)), ">=", view.rules.distance_ratio_min, "ratio")
            one.require("distances_alike", float(steps.min()), ">=", view.rules.second_gap_m, "m")
            for ref in told:
                mark(view, one, ref.kind, view.place_m[ref.actor, view.moments[moment]])
            every = [", ".join(order) for order in permutations(names)]
            answer = ", ".join(ref.kind for ref in ranked)
            spoken = [f"the {a}, the {b}, the {c}" for a, b, c in [[ref.kind for ref in ranked]]]
            yield words(one, answer, every, spoken)
