"""Spatial Awareness: where an object lies in a view, beside another, before or behind one, after turns, and how far.

Distances are asked so that labels do not tell them.

Views are drawn after the answer. Cross View shows two; the second is what one sees after a turn of k * 90 degrees from
the first. From there one turns again. The object is in one of the two, left or right of its middle: so four of the
eight directions can be right, and those are offered, each as often as any other.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np

from pipeline.benchmarks.ergeobench.images import FOV_DEG, WHOLE
from pipeline.benchmarks.ergeobench.tasks.base import TRIES, SeenTask, by_digest, usable
from pipeline.benchmarks.ergeobench.view import TURNS, ErgeoView, aimed
from pipeline.benchmarks.ergeobench.view import TURNS as VIEWS
from pipeline.geometry.angles import wrapped_deg
from pipeline.geometry.views import PinholeView
from pipeline.questions.cases import Case
from pipeline.questions.rules import Measure, rule
from pipeline.questions.task import Choice

MIDDLE_DEG: Final = 15.0  # about the middle of a picture: nothing else of the label may lie there
PAIRS: Final = 40  # of objects of a label, lowest digests first
OF_PAIR: Final = ("the one on the left", "the one on the right")
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

    reads = "nearness"
    name = "Depth Estimation"
    template = "ergeobench/questions/depth"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        cases: list[Case] = []
        bins: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for i in by_digest(view, self.name, range(len(view.objects))):
            case, place = self._candidate(view, i)
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

    def _candidate(self, view: ErgeoView, i: int) -> tuple[Case, int]:
        """The candidate about an object without its options, and its bin."""
        seen, rules = view.objects[i], view.rules
        case = self.about(view, i, is_named=False)
        self.word(view, case, label=seen.label)
        distance_m = np.nan if seen.distance_m is None else seen.distance_m
        case.require("distance_unknown", distance_m, ">", 0, "m", seen.id)
        borders = rules.depth_bins_m
        margin = min(abs(distance_m - border) / border for border in borders)
        case.require("near_a_depth_border", margin, ">=", rules.depth_margin, "share", seen.id)
        shot = min(view.level, key=lambda own: abs(float(wrapped_deg(seen.yaw_deg - own.yaw_deg))))
        case.require("partly_outside_view", float(view.shown_whole(shot)[i]), ">=", 1, "whole objects", seen.id)
        others = [view.objects[j] for j in view.may_be(seen.label).tolist() if j != i]
        gaps = [abs(float(wrapped_deg(own.yaw_deg - shot.yaw_deg))) - own.width_deg / 2 for own in others]
        case.require("another_of_its_label", min(gaps, default=180.0), ">=", MIDDLE_DEG, "deg", seen.id)
        if case.refusal is None:
            self.lay(view, case, shot, members=[i])
        return case, int(np.searchsorted(borders, distance_m))


class Distance(DistanceTask):
    """Which of two objects of one label in a view is nearer, or farther away, which is drawn: left or right."""

    reads = "nearness"
    name = "Distance"
    template = "ergeobench/questions/distance"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Pairs of objects of one label that one view may show."""
        for label in sorted(set(view.labels)):
            members = by_digest(view, self.name, view.of_label(label).tolist())
            yaw_deg = [seen.yaw_deg for seen in view.objects]
            pairs = [(i, j) for i, j in combinations(members, 2) if abs(wrapped_deg(yaw_deg[i] - yaw_deg[j])) < FOV_DEG]
            for pair in pairs[:PAIRS]:
                yield self._candidate(view, min(pair), max(pair))
            if not PAIRS >= len(pairs) > 0:
                rest = Case(label, wording="")
                rest.refuse("no_two_in_a_view" if not pairs else "too_many_pairs", len(pairs), PAIRS, "pairs")
                yield rest

    def _candidate(self, view: ErgeoView, i: int, j: int) -> Case:
        one, other = view.objects[i], view.objects[j]
        case = self.about(view, i, j)
        rng = self.rng(view, one.id, other.id)
        word = list(NEARER)[int(rng.integers(len(NEARER)))]
        self.word(view, case, label=one.label, word=word)
        own_m, others_m = view.distances_m[[i, j]].tolist()
        ratio = max(own_m, others_m) / min(own_m, others_m)
        case.require("distances_too_similar", ratio, ">=", view.rules.distance_ratio_min, "ratio")
        turn_deg = float(wrapped_deg(other.yaw_deg - one.yaw_deg))
        gap_deg = abs(turn_deg) - (one.width_deg + other.width_deg) / 2
        case.require("side_by_side_too_close", gap_deg, ">=", view.rules.side_margin_deg, "deg")
        shots = view.towards(one.yaw_deg + turn_deg / 2, -FOV_DEG / 2, FOV_DEG / 2, rng)
        same = view.may_be(one.label)
        for shot in shots if case.refusal is None else ():
            if view.shown_whole(shot)[[i, j]].all() and int(view.touched(shot)[same].sum()) == 2:
                self.lay(view, case, shot, members=[i, j])
                i_is_left, i_is_nearer = turn_deg > 0, own_m < others_m
                is_left = i_is_left == (i_is_nearer == (NEARER[word] > 0))
                return case.ask(OF_PAIR[0] if is_left else OF_PAIR[1], OF_PAIR, least=1)
        return self.unshown(case, len(shots))


BIN_DEG: Final = 20.0  # of yaws that one option stands for: four of them fill 80 of a view's 90 degrees
BINS: Final = {
    -30.0: "about 30 degrees to the left",
    -10.0: "about 10 degrees to the left",
    10.0: "about 10 degrees to the right",
    30.0: "about 30 degrees to the right",
}
COLUMNS: Final = {"left": -2 / 3, "middle": 0.0, "right": 2 / 3}  # thirds of a picture, x of their middles
ROWS: Final = {"upper": 0.5, "lower": -0.5}
CELLS: Final = {f"{row} {column}": (x, y) for row, y in ROWS.items() for column, x in COLUMNS.items()}


class YawEstimation(SeenTask):
    """By how much one must turn to look straight at an object: four bins of 20 degrees."""

    reads = "yaw"
    name = "Yaw Estimation"
    template = "ergeobench/questions/yaw_estimation"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            rng = self.rng(view, seen.id)
            centre = list(BINS)[int(rng.integers(len(BINS)))]
            least = max(view.rules.yaw_margin_deg, view.error_deg(i))
            if seen.id in view.landmarks:
                case.require("bearing_unsure", least, "<", BIN_DEG / 2, "deg", seen.id)
            room = BIN_DEG / 2 - least
            shots = view.towards(seen.yaw_deg, centre - room, centre + room, rng) if case.refusal is None else []
            shot = view.first_lone(i, shots)
            self.word(view, case, label=seen.label)
            if shot is None:
                yield self.unshown(case, len(shots))
                continue
            turn_deg = float(wrapped_deg(seen.yaw_deg - shot.yaw_deg))
            self.lay(view, case, shot, members=[i])
            case.fact("turn", seen.id, turn_deg, "deg")
            margin = BIN_DEG / 2 - abs(turn_deg - centre)
            case.require("near_a_yaw_border", margin, ">=", least - 0.01, "deg")
            yield case.ask(BINS[centre], BINS.values())


class Positioning(SeenTask):
    """In which of six cells of the picture an object lies. The camera is tilted too: else height would tell it."""

    reads = "place"
    name = "2D Positioning"
    template = "ergeobench/questions/positioning"
    form = Choice(len(CELLS))

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            rng = self.rng(view, seen.id)
            answer = list(CELLS)[int(rng.integers(len(CELLS)))]
            if seen.id in view.landmarks:
                case.refuse("pitch_unknown", 0, 1, "pitches")
            middle_deg = (seen.pitch_low_deg + seen.pitch_high_deg) / 2
            tilts = [abs(s.pitch_deg) for y in ROWS.values() if (s := aimed(seen.yaw_deg, middle_deg, 0.0, y))]
            steepest = max(tilts) if len(tilts) == len(ROWS) else 90.0
            case.require("not_in_every_cell", steepest, "<=", view.rules.tilt_max_deg, "deg of tilt")
            shot = None
            if case.refusal is None:
                x, y = CELLS[answer]
                margin = view.rules.cell_margin
                free_x, free_y = 1 / 3 - margin, 0.5 - margin
                draws = rng.uniform(-1, 1, (TRIES, 2)).tolist()
                drawn = (aimed(seen.yaw_deg, middle_deg, x + free_x * dx, y + free_y * dy) for dx, dy in draws)
                shot = view.first_lone(i, (s for s in drawn if s and abs(s.pitch_deg) <= view.rules.tilt_max_deg))
            self.word(view, case, label=seen.label)
            if shot is None:
                yield self.unshown(case, TRIES)
                continue
            self.lay(view, case, shot, members=[i])
            self._require_within_cell(view, case, i, shot, answer)
            yield case.ask(answer, CELLS)

    def _require_within_cell(self, view: ErgeoView, case: Case, i: int, shot: PinholeView, answer: str) -> None:
        """Where the object's middle lies, and how far from the next cell."""
        left, right, low, high = view.extent(i, shot).tolist()
        x, y = (left + right) / 2, (low + high) / 2
        centre = CELLS[answer][0]
        across = min(1 / 3 - abs(x - centre), 1.0) if centre == 0 else abs(x) - 1 / 3
        side = x * centre > 0 or centre == 0
        case.fact("middle_x", view.objects[i].id, x, "half pictures")
        case.fact("middle_y", view.objects[i].id, y, "half pictures")
        up = abs(y) if (y > 0) == answer.startswith("upper") else -abs(y)
        measured = min(across if side else -1.0, up)
        case.require("near_a_cell_border", measured, ">=", view.rules.cell_margin / 2, "half pictures")


TURN_TEXTS: Final = {90: "90 degrees to the right", -90: "90 degrees to the left", 180: "180 degrees"}
SECTOR_DEG: Final = 45.0
SECTORS: Final = (
    "ahead, a little to the right",
    "to the right, a little ahead",
    "to the right, a little behind",
    "behind, a little to the right",
    "behind, a little to the left",
    "to the left, a little behind",
    "to the left, a little ahead",
    "ahead, a little to the left",
)


def sector(turn_deg: float) -> str:
    """The direction of something that lies so far clockwise from where one looks."""
    return SECTORS[int(turn_deg % 360.0 // SECTOR_DEG)]


class CrossView(SeenTask):
    """Where an object lies after a second turn, of four directions."""

    reads = "kind"
    name = "Cross View"
    template = "ergeobench/questions/cross_view"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            rng = self.rng(view, seen.id)
            first, second = (list(TURN_TEXTS)[int(k)] for k in rng.integers(len(TURN_TEXTS), size=2))
            in_second, to_right = (bool(k) for k in rng.integers(2, size=2))
            self.word(view, case, label=seen.label, first=TURN_TEXTS[first], second=TURN_TEXTS[second])
            margin = max(view.rules.sector_margin_deg, view.error_deg(i))
            off_deg = (margin, SECTOR_DEG - margin) if to_right else (margin - SECTOR_DEG, -margin)
            found = None
            shots = view.towards(seen.yaw_deg, *off_deg, rng) if case.refusal is None else []
            for own in shots:
                turn = -first if in_second else first
                other = view.level[(view.level.index(own) + turn * VIEWS // 360) % VIEWS]
                if view.is_lone(i, own) and not view.touched(other)[view.may_be(seen.label)].any():
                    found = (other, own) if in_second else (own, other)
                    break
            if found is None:
                yield self.unshown(case, len(shots))
                continue
            self.lay(view, case, *found, members=[i])
            turn_deg = float(wrapped_deg(seen.yaw_deg - found[1].yaw_deg - second))
            case.fact("turn_after_the_turns", seen.id, turn_deg, "deg")
            to_border = min(turn_deg % SECTOR_DEG, SECTOR_DEG - turn_deg % SECTOR_DEG)
            case.require("near_a_sector_border", to_border, ">=", margin - 0.02, "deg")
            centres = (-first - second, -second)  # of what each of the views shows, after the turns
            offered = [sector(c + side * SECTOR_DEG / 2) for c in centres for side in (-1, 1)]
            yield case.ask(sector(turn_deg), offered, least=3)


PARTNERS: Final = 2  # of an object, with each of which it is asked about
LEFT, RIGHT = SIDES = ("to the left", "to the right")
FRONT, BEHIND = FACING = ("in front of me", "behind me")


class LeftRight(SeenTask):
    """Whether one object lies left or right of another in a view; which is named first is drawn."""

    reads = "side"
    name = "Left/Right Relative"
    template = "ergeobench/questions/left_right"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Each object that can be named, with a few others of other labels that one view may show too."""
        able = list(usable(view))
        for i in range(len(view.objects)):
            if i not in able:
                yield self._candidate(view, i, None)
        done: set[frozenset[int]] = set()
        for i in able:
            one, others = view.objects[i], by_digest(view, f"{self.name} {view.objects[i].id}", able)
            turns = {j: abs(float(wrapped_deg(one.yaw_deg - view.objects[j].yaw_deg))) for j in others}
            near = [j for j in others if view.labels[j] != one.label and turns[j] < FOV_DEG]
            for j in near[:PARTNERS]:
                if frozenset((i, j)) not in done:
                    done.add(frozenset((i, j)))
                    yield self._candidate(view, i, j)
            if not near:
                yield self._candidate(view, i, None)

    def _candidate(self, view: ErgeoView, i: int, j: int | None) -> Case:
        if j is None:
            case = self.about(view, i)
            self.word(view, case, first=view.objects[i].label, second="?")
            case.refuse("nothing_beside_it", 0, 1, "objects within a view")
            return case
        i, j = min(i, j), max(i, j)  # objects are sorted by id
        rng = self.rng(view, view.objects[i].id, view.objects[j].id)
        if rng.integers(2):
            i, j = j, i
        case = self.about(view, i, j)
        one, other = view.objects[i], view.objects[j]
        self.word(view, case, first=one.label, second=other.label)
        turn_deg = float(wrapped_deg(one.yaw_deg - other.yaw_deg))
        gap_deg = abs(turn_deg) - (one.width_deg + other.width_deg) / 2
        case.require("side_by_side_too_close", gap_deg, ">=", view.rules.side_margin_deg, "deg")
        shots = view.towards(other.yaw_deg + turn_deg / 2, -FOV_DEG / 2, FOV_DEG / 2, rng)
        shot = next((s for s in shots if view.is_lone(i, s) and view.is_lone(j, s)), None)
        if shot is None or case.refusal is not None:
            return self.unshown(case, len(shots))
        self.lay(view, case, shot, members=[i, j])
        case.fact("turn_from_the_second_to_the_first", one.id, turn_deg, "deg")
        return case.ask(LEFT if turn_deg < 0 else RIGHT, SIDES, least=1)


class FrontBack(SeenTask):
    """Whether an object of the panorama lies before or behind one who looks as a view shows, which is drawn."""

    reads = "side"
    name = "Front/Back Relative"
    template = "ergeobench/questions/front_back"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            self.word(view, case, label=seen.label)
            case.require("another_of_its_label", len(view.may_be(seen.label)), "<=", 1, "objects")
            seam_deg = 180.0 - abs(seen.yaw_deg) - seen.width_deg / 2
            case.require("across_the_seam", seam_deg, ">=", view.rules.apart_deg, "deg")
            rng = self.rng(view, seen.id)
            answer = FACING[int(rng.integers(2))]
            room = 90.0 - view.rules.facing_margin_deg - seen.width_deg / 2
            case.require("too_wide_for_a_side", room, ">=", 360 / TURNS, "deg")
            if case.refusal is not None:
                yield case
                continue
            middle = 180.0 if answer == BEHIND else 0.0
            shot = view.towards(seen.yaw_deg, middle - room, middle + room, rng)[0]
            off_deg = abs(float(wrapped_deg(seen.yaw_deg - shot.yaw_deg)))
            self.lay(view, case, WHOLE, shot)
            case.fact("off_the_way_one_looks", seen.id, off_deg, "deg")
            margin = abs(off_deg - 90.0) - seen.width_deg / 2
            case.require("near_neither_side", margin, ">=", view.rules.facing_margin_deg - 0.01, "deg")
            yield case.ask(FRONT if off_deg < 90 else BEHIND, FACING, least=1)
