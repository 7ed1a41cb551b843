"""Left/Right and Front/Back: where an object lies beside another, and before or behind who looks one way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.ergeobench.aiming import wrapped
from pipeline.benchmarks.ergeobench.images import FOV_DEG, WHOLE
from pipeline.benchmarks.ergeobench.tasks.base import SeenTask, by_digest, usable
from pipeline.benchmarks.ergeobench.view import TURNS, ErgeoView
from pipeline.questions.cases import Case

PARTNERS: Final = 2  # of an object, with each of which it is asked about
LEFT, RIGHT = SIDES = ("to the left", "to the right")
FRONT, BEHIND = FACING = ("in front of me", "behind me")


class LeftRight(SeenTask):
    """Whether one object lies left or right of another in a view; which is named first is drawn."""

    name = "Left/Right Relative"
    template = "ergeobench/left_right"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Each object that can be named, with a few others of other labels that one view may show too."""
        able = list(usable(view))
        for i in range(len(view.objects)):
            if i not in able:
                yield self._one(view, i, None)
        done: set[frozenset[int]] = set()
        for i in able:
            near = [j for j in by_digest(view, f"{self.name} {view.objects[i].id}", able) if self._fits(view, i, j)]
            for j in near[:PARTNERS]:
                if frozenset((i, j)) not in done:
                    done.add(frozenset((i, j)))
                    yield self._one(view, i, j)
            if not near:
                yield self._one(view, i, None)

    def _fits(self, view: ErgeoView, i: int, j: int) -> bool:
        one, other = view.objects[i], view.objects[j]
        return one.label != other.label and abs(float(wrapped(one.yaw_deg - other.yaw_deg))) < FOV_DEG

    def _one(self, view: ErgeoView, i: int, j: int | None) -> Case:
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
        turn_deg = float(wrapped(one.yaw_deg - other.yaw_deg))
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

    name = "Front/Back Relative"
    template = "ergeobench/front_back"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            self.word(view, case, label=seen.label)
            case.require("another_of_its_label", len(view.of_label(seen.label)), "<=", 1, "objects")
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
            off_deg = abs(float(wrapped(seen.yaw_deg - shot.yaw_deg)))
            self.lay(view, case, WHOLE, shot)
            case.fact("off_the_way_one_looks", seen.id, off_deg, "deg")
            margin = abs(off_deg - 90.0) - seen.width_deg / 2
            case.require("near_neither_side", margin, ">=", view.rules.facing_margin_deg - 0.01, "deg")
            yield case.ask(FRONT if off_deg < 90 else BEHIND, FACING, least=1)
