"""Depth Estimation and Distance: how far objects are, asked so that their labels do not tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np

from pipeline.benchmarks.ergeobench.images import FOV_DEG
from pipeline.benchmarks.ergeobench.tasks.base import SeenTask, by_digest
from pipeline.benchmarks.ergeobench.view import ErgeoView, wrapped
from pipeline.questions.cases import Case
from pipeline.questions.rules import Measure, rule

MIDDLE_DEG: Final = 15.0  # about the middle of a picture: nothing else of the label may lie there
PAIRS: Final = 40  # of objects of a label, lowest digests first
SIDES: Final = ("the one on the left", "the one on the right")
NEARER: Final = {"nearer": 1, "farther away": -1}


class DistanceTask(SeenTask):
    """Base of tasks about distances."""

    def required(self, view: ErgeoView) -> tuple[Measure, ...]:
        """Distances must be known."""
        return (rule("no_distance_known", int(np.isfinite(view.distances_m).sum()), ">=", 1, "objects"),)


class DepthTask(DistanceTask):
    """How far the object in the middle of a view is: near, middle or far.

    Of objects of one label as many are asked in each bin as in any other, and bins in which there is none are not
    offered: a car is not nearer than a tower because it is a car.
    """

    name = "Depth Estimation"
    template = "ergeobench/depth"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        cases: list[Case] = []
        bins: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for i in by_digest(view, self.name, range(len(view.objects))):
            case, place = self._one(view, i)
            if case.refusal is None:
                bins[view.labels[i]][place].append(len(cases))
            cases.append(case)
        near, far = view.rules.depth_bins_m
        names = (f"less than {near:g} m", f"between {near:g} and {far:g} m", f"more than {far:g} m")
        for found in bins.values():
            even = min(map(len, found.values())) if len(found) > 1 else 0
            for place, members in found.items():
                for n in members[even:]:
                    cases[n].refuse("no_counterpart", len(members), even, "objects of the label in the bin")
                for n in members[:even]:
                    cases[n].ask(names[place], [names[b] for b in sorted(found)], least=1)
        yield from cases

    def _one(self, view: ErgeoView, i: int) -> tuple[Case, int]:
        """The candidate about an object without its options, and its bin."""
        seen, rules = view.objects[i], view.rules
        case = self.about(view, i, is_named=False)
        self.word(view, case, label=seen.label)
        distance_m = np.nan if seen.distance_m is None else seen.distance_m
        case.require("distance_unknown", distance_m, ">", 0, "m", seen.id)
        borders = rules.depth_bins_m
        margin = min(abs(distance_m - border) / border for border in borders)
        case.require("near_a_depth_border", margin, ">=", rules.depth_margin, "share", seen.id)
        shot = min(view.level, key=lambda own: abs(float(wrapped(seen.yaw_deg - own.yaw_deg))))
        case.require("partly_outside_view", float(view.whole(shot)[i]), ">=", 1, "whole objects", seen.id)
        others = [view.objects[j] for j in view.of_label(seen.label).tolist() if j != i]
        gaps = [abs(float(wrapped(own.yaw_deg - shot.yaw_deg))) - own.width_deg / 2 for own in others]
        case.require("another_of_its_label", min(gaps, default=180.0), ">=", MIDDLE_DEG, "deg", seen.id)
        if case.refusal is None:
            self.lay(view, case, shot, members=[i])
        return case, int(np.searchsorted(borders, distance_m))


class Distance(DistanceTask):
    """Which of two objects of one label in a view is nearer, or farther away, which is drawn: left or right."""

    name = "Distance"
    template = "ergeobench/distance"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Pairs of objects of one label that one view may show."""
        for label in sorted(set(view.labels)):
            members = by_digest(view, self.name, view.of_label(label).tolist())
            yaw_deg = [seen.yaw_deg for seen in view.objects]
            pairs = [(i, j) for i, j in combinations(members, 2) if abs(wrapped(yaw_deg[i] - yaw_deg[j])) < FOV_DEG]
            for pair in pairs[:PAIRS]:
                yield self._one(view, min(pair), max(pair))
            if not PAIRS >= len(pairs) > 0:
                rest = Case(label, wording="")
                rest.refuse("no_two_in_a_view" if not pairs else "too_many_pairs", len(pairs), PAIRS, "pairs")
                yield rest

    def _one(self, view: ErgeoView, i: int, j: int) -> Case:
        one, other = view.objects[i], view.objects[j]
        case = self.about(view, i, j)
        rng = self.rng(view, one.id, other.id)
        word = list(NEARER)[int(rng.integers(len(NEARER)))]
        self.word(view, case, label=one.label, word=word)
        own_m, others_m = view.distances_m[[i, j]].tolist()
        ratio = max(own_m, others_m) / min(own_m, others_m)
        case.require("distances_too_similar", ratio, ">=", view.rules.distance_ratio_min, "ratio")
        turn_deg = float(wrapped(other.yaw_deg - one.yaw_deg))
        gap_deg = abs(turn_deg) - (one.width_deg + other.width_deg) / 2
        case.require("side_by_side_too_close", gap_deg, ">=", view.rules.side_margin_deg, "deg")
        shots = view.towards(one.yaw_deg + turn_deg / 2, -FOV_DEG / 2, FOV_DEG / 2, rng)
        same = view.of_label(one.label)
        for shot in shots if case.refusal is None else ():
            if view.whole(shot)[[i, j]].all() and int(view.touched(shot)[same].sum()) == 2:
                self.lay(view, case, shot, members=[i, j])
                i_is_left, i_is_nearer = turn_deg > 0, own_m < others_m
                is_left = i_is_left == (i_is_nearer == (NEARER[word] > 0))
                return case.ask(SIDES[0] if is_left else SIDES[1], SIDES, least=1)
        return self.unshown(case, len(shots))
