"""object_rel_direction: on which side an object is for someone who stands at one object and faces another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.geometry.angles import leftward_deg, margin_below_deg, margin_deg
from pipeline.questions.arrays import Answers, ArrayTask
from pipeline.questions.rules import Fact, check

BACK_FROM_DEG: Final = 135.0  # "to my back if I would have to turn at least 135 degrees" (Table 3)
FULL_TURN_DEG: Final = 360.0


@dataclass(frozen=True)
class Level:
    """A difficulty: counter-clockwise sector edges from the facing direction, the sectors' names, and what is offered.

    ``sectors[i]`` lies between ``edges[i]`` and the next edge. A sector that is not offered rejects the question.
    """

    name: str
    edges: tuple[float, ...]
    sectors: tuple[str, ...]
    offered: tuple[str, ...]


LEVELS: Final = {
    "easy": Level("easy", (0.0, 135.0, 225.0), ("left", "back", "right"), ("left", "right")),
    "medium": Level("medium", (0.0, 135.0, 225.0), ("left", "back", "right"), ("left", "right", "back")),
    "hard": Level(
        "hard",
        (0.0, 90.0, 180.0, 270.0),
        ("front-left", "back-left", "back-right", "front-right"),
        ("front-left", "front-right", "back-left", "back-right"),
    ),
}


class RelDirection(ArrayTask[ScanView]):
    """Operands: three unique objects: standing by, facing, asked. Truth: the sector of the asked one's centre.

    On the floor plane, between the centres of the boxes, counter-clockwise is left (VSI-Bench B.1 and Table 3).
    """

    roles = ("standing", "facing", "asked")
    slots = ("unique", "unique", "unique")

    def __init__(self, level: str) -> None:
        self.level = LEVELS[level]
        self.name = f"object_rel_direction_{level}"
        self.template = f"vsi/{self.name}"

    def operands(self, view: ScanView) -> IntArray:
        """Every ordered triple of different unique categories, (n, 3)."""
        unique = view.usable("unique")
        triples = np.stack(np.meshgrid(unique, unique, unique, indexing="ij"), -1).reshape(-1, 3)
        a, b, c = triples.T
        return triples[(a != b) & (b != c) & (a != c)]

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The sector; evidence is the bearing, the three distances, the margin and the stray corners."""
        rules = view.rules
        standing, facing, asked = operands.T
        here, there, target = (view.center_m(operand) for operand in (standing, facing, asked))
        bearing = leftward_deg(here, there, target)
        sector = self._sector(bearing)
        truth = np.array(self.level.sectors, dtype=object)[sector]
        pairs = np.stack(
            [view.distance_m[standing, facing], view.distance_m[standing, asked], view.distance_m[facing, asked]]
        )
        horizontal = np.minimum(np.hypot(*(there - here)[:, :2].T), np.hypot(*(target - here)[:, :2].T))
        two_sided = rules.hard_margin_two_sided or self.level.name != "hard"
        margin = (margin_deg if two_sided else margin_below_deg)(bearing, self.level.edges)
        corners = view.boxes.take(view.first[asked]).corners()
        corner_bearing = leftward_deg(here[:, None], there[:, None], corners)
        stray = (self._sector(corner_bearing) != sector[:, None]).sum(1)
        checks = [
            check("objects_too_close", pairs.min(0), ">=", rules.pair_min_m, "m"),
            check("objects_too_far_apart", pairs.max(0), "<=", rules.pair_max_m, "m"),
            check("no_direction_on_the_floor", horizontal, ">=", rules.horizontal_min_m, "m"),
            check("near_sector_boundary", margin, ">=", rules.margin_min_deg, "deg"),
            check("box_reaches_into_another_sector", stray, "<=", rules.corners_max, "corners"),
        ]
        if "back" in self.level.sectors and "back" not in self.level.offered:
            turn = np.minimum(bearing, FULL_TURN_DEG - bearing)
            checks.insert(3, check("behind_the_observer", turn, "<", BACK_FROM_DEG, "deg"))
        return Answers(
            truth=truth,
            checks=tuple(checks),
            facts=(
                Fact("bearing", view.categories[asked], bearing, "deg"),
                Fact("distance", view.pair_names(standing, facing), pairs[0], "m"),
                Fact("distance", view.pair_names(standing, asked), pairs[1], "m"),
                Fact("distance", view.pair_names(facing, asked), pairs[2], "m"),
            ),
        )

    def _sector(self, bearing: FloatArray) -> IntArray:
        return np.searchsorted(np.array(self.level.edges), bearing, side="right") - 1

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """The sectors that this level offers."""
        return self.level.offered
