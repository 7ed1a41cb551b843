"""Cross View: where an object lies after turns, when it was seen before them.

Two views are shown; the second is what one sees after a turn of k * 90 degrees from the first. From there one turns
again. The object is in one of the two, left or right of its middle: so four of the eight directions can be right, and
those are offered, each as often as any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.ergeobench.aiming import wrapped
from pipeline.benchmarks.ergeobench.tasks.base import SeenTask
from pipeline.benchmarks.ergeobench.view import TURNS as VIEWS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.questions.cases import Case

TURNS: Final = {90: "90 degrees to the right", -90: "90 degrees to the left", 180: "180 degrees"}
STAY: Final = 0
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

    name = "Cross View"
    template = "ergeobench/cross_view"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            rng = self.rng(view, seen.id)
            first, second = (list(TURNS)[int(k)] for k in rng.integers(len(TURNS), size=2))
            in_second, to_right = (bool(k) for k in rng.integers(2, size=2))
            self.word(view, case, label=seen.label, first=TURNS[first], second=TURNS[second])
            margin = view.rules.sector_margin_deg
            off_deg = (margin, SECTOR_DEG - margin) if to_right else (margin - SECTOR_DEG, -margin)
            found = None
            shots = view.towards(seen.yaw_deg, *off_deg, rng) if case.refusal is None else []
            for own in shots:
                turn = -first if in_second else first
                other = view.level[(view.level.index(own) + turn * VIEWS // 360) % VIEWS]
                if view.is_lone(i, own) and not view.touched(other)[view.of_label(seen.label)].any():
                    found = (other, own) if in_second else (own, other)
                    break
            if found is None:
                yield self.unshown(case, len(shots))
                continue
            self.lay(view, case, *found, members=[i])
            turn_deg = float(wrapped(seen.yaw_deg - found[1].yaw_deg - second))
            case.fact("turn_after_the_turns", seen.id, turn_deg, "deg")
            to_border = min(turn_deg % SECTOR_DEG, SECTOR_DEG - turn_deg % SECTOR_DEG)
            case.require("near_a_sector_border", to_border, ">=", margin - 0.02, "deg")
            centres = (-first - second, -second)  # of what each of the views shows, after the turns
            offered = [sector(c + side * SECTOR_DEG / 2) for c in centres for side in (-1, 1)]
            yield case.ask(sector(turn_deg), offered, least=3)
