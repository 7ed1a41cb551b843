"""object_rel_distance and object_rel_direction: the closest of four categories, and the side on which an object lies.

Of a direction one stands at one object and faces another.
"""

from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from pipeline.benchmarks.vsi.rules import WORDS, ScanView, containing
from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.templates import Operands, load_table
from pipeline.geometry.angles import leftward_deg, margin_below_deg, margin_deg
from pipeline.geometry.boxes import horizontal_side_m
from pipeline.geometry.floors import StandablePositions, footprints, standing_places
from pipeline.questions.arrays import Answers, CandidateSampler, SampledTask
from pipeline.questions.rules import Check, Fact, Relation, check
from pipeline.questions.usual import nearness

OF_ANY: Final = 0.25  # of a category that is not known
# How often an object of a category is the nearest of four, whatever it is near to.
NEAREST: Final[dict[str, float]] = load_table("indoor/nearest")


class RelDistance(SampledTask[ScanView]):
    """Operands: a unique primary object and n other categories in alphabetical order. Truth: the nearest category.

    Of a category with several instances the nearest one counts (VSI-Bench B.1). Rejected when the nearest is too
    close to tell from touching, or when any two distances are too close to each other. In rooms over 40 m², and where
    the area is unknown, `strict` asks for twice the gap; everywhere it asks for a lead of the nearest that grows with
    its distance, since nobody sees which of two things 5 m away is 20 cm nearer. Of a scene's candidates those are
    asked in which what is usually near is right no more often than what is usually far.

    Args:
        name: of the task and of its template.
        choices: how many categories are offered.
        farthest: asks for the farthest one instead; then each choice is unique too.
        beyond: relation in which each distance stands to the least one.
    """

    reads = "nearness"
    share = 1
    hides = 1  # the primary
    leak_group = "nearest"

    def __init__(
        self, choices: int = 4, name: str = "object_rel_distance", *, farthest: bool = False, beyond: Relation = ">="
    ) -> None:
        self.name, self.template = name, f"vsi/questions/{name}"
        self.choices, self.farthest, self.beyond = choices, farthest, beyond
        self.roles = ("primary", *["choice"] * choices)
        self.slots = ("unique", *["unique" if farthest else "boxed"] * choices)

    def among(self, view: ScanView) -> CandidateSampler:
        """Every unique primary with every set of other categories."""
        scope, names = (view.scene.id, self.name), view.categories
        others = view.usable("unique" if self.farthest else "boxed")
        return CandidateSampler(scope, names, view.usable("unique"), others, self.choices)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The nearest choice, or the farthest; evidence is every distance and the smallest gap between two of them."""
        primary, choices = operands[:, :1], operands[:, 1:]
        distance = view.distance_m[primary, choices]
        ranked = np.sort(distance, axis=1)
        gaps = np.diff(ranked, axis=1, append=np.inf)  # an audit may meet a single choice
        labels = view.categories[choices]
        best = distance.argmax(1) if self.farthest else distance.argmin(1)
        rules, words, area = view.rules, WORDS[view.rules.words], view.scene.facts.room.area_m2
        unfit = containing(view.categories, (*words.sprawling, *words.overhead))[operands].sum(1)
        small_room = area is not None and area <= rules.large_room_m2
        limits = np.full(gaps.shape, rules.gap_min_m if small_room else rules.gap_min_large_room_m)
        first, asked = (slice(-2, -1), slice(-1, None)) if self.farthest else (slice(1), slice(1))
        limits[:, first] = np.maximum(limits[:, first], rules.lead_share_min * ranked[:, asked])
        rows, worst = np.arange(len(gaps)), (gaps - limits).argmin(1)
        return Answers(
            truth=labels[rows, best],
            checks=(
                *([check("name_is_not_asked", unfit, "<=", 0, "names")] if words.sprawling else []),
                check("nearest_too_close", ranked[:, 0], self.beyond, rules.nearest_min_m, "m"),
                check("distances_too_similar", gaps[rows, worst], ">", limits[rows, worst], "m"),
            ),
            facts=tuple(
                Fact("distance", view.pair_names(primary[:, 0], choices[:, i]), distance[:, i], "m")
                for i in range(choices.shape[1])
            ),
        )

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """How many of the choices one would rather guess than the right one, and whether names tell of nearness.

        One guesses what usually stands near the primary (`nearness`), of equals what is the nearest more often
        (`NEAREST`); of still equal ones the first.
        """
        named = operands.flatten().to_numpy(zero_copy_only=False).reshape(len(answers), -1)
        names, index = np.unique(np.column_stack([answers, named]).astype(str), return_inverse=True)
        index = index.reshape(len(answers), -1)
        near = np.array([[nearness(one, other) for other in names] for one in names]).reshape(len(names), -1)
        share = np.array([NEAREST.get(name, OF_ANY) for name in names])
        beside = near[index[:, 1:2], index[:, 2:]]
        worth = (beside + share[index[:, 2:]]) * (-1 if self.farthest else 1)  # shares are below 1
        right = index[:, 2:] == index[:, :1]
        own = worth[right][:, None]
        before = (worth > own) | ((worth == own) & (right.cumsum(1) == 0))
        prefix = np.where(beside.any(1), "by names ", "")
        return np.char.add(prefix, before.sum(1).astype(str)).astype(object)

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """The choices."""
        return operands[1:]

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The choices appear in the text in the order of the options."""
        return {"primary": operands[0], "choices": options or operands[1:]}

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """The choices in alphabetical order."""
        return (str(fields["primary"]), *sorted(fields["choices"]))


BACK_FROM_DEG: Final = 135.0  # "to my back if I would have to turn at least 135 degrees" (Table 3)
FULL_TURN_DEG: Final = 360.0
HALF_TURN_DEG: Final = 180.0
CEILING: Final = "ceiling"  # what hangs there says so: ceiling light, ceiling fan
OVERHEAD_M: Final = 2.0  # height of a door: one walks below what begins higher
EDGE_DEG: Final = 1e-6  # a place on the very boundary, as in rooms built on a grid, is on neither side
_BESIDE: Final[WeakKeyDictionary[ScanView, tuple[StandablePositions, IntArray]]] = WeakKeyDictionary()  # all levels ask
_CHUNK: Final = 4096  # triples at a time, seen from every place; bounds memory


@dataclass(frozen=True)
class DirectionLevel:
    """A difficulty: counter-clockwise sector edges from the facing direction, the sectors' names, and what is offered.

    ``sectors[i]`` lies between ``edges[i]`` and the next edge. A sector that is not offered rejects the question.
    """

    name: str
    edges: tuple[float, ...]
    sectors: tuple[str, ...]
    offered: tuple[str, ...]


LEVELS: Final = {
    "easy": DirectionLevel("easy", (0.0, 135.0, 225.0), ("left", "back", "right"), ("left", "right")),
    "medium": DirectionLevel("medium", (0.0, 135.0, 225.0), ("left", "back", "right"), ("left", "right", "back")),
    "hard": DirectionLevel(
        "hard",
        (0.0, 90.0, 180.0, 270.0),
        ("front-left", "back-left", "back-right", "front-right"),
        ("front-left", "front-right", "back-left", "back-right"),
    ),
}


class RelDirection(SampledTask[ScanView]):
    """Operands: three unique objects: standing by, facing, asked. Truth: the sector of the asked one's centre.

    On the floor plane, between the centres of the boxes, counter-clockwise is left (VSI-Bench B.1 and Table 3). Nobody
    stands in the centre of a bed: `strict` asks only what has the same answer from every place beside the object.

    Args:
        level: one of `LEVELS`.
        name: of the task and of its template; None: that of the level.
        away: one faces away from the second object.
    """

    reads = "side"
    share = 1
    leak_group = "direction"  # of all three levels
    roles = ("standing", "facing", "asked")
    slots = ("unique", "unique", "unique")

    def __init__(self, level: str, name: str | None = None, *, away: bool = False) -> None:
        self.level, self.away = LEVELS[level], away
        self.name = name or f"object_rel_direction_{level}"
        self.template = f"vsi/questions/{self.name}"

    def among(self, view: ScanView) -> CandidateSampler:
        """Every ordered triple of different unique categories."""
        unique = view.usable("unique")
        return CandidateSampler((view.scene.id, self.name), view.categories, unique, unique, 2, ordered=True)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The sector; evidence is the bearing, the three distances, the margin and the stray corners."""
        rules = view.rules
        standing, facing, asked = operands.T
        here, there, target = (view.center_m(operand) for operand in (standing, facing, asked))
        bearing = self._bearing(here, there, target)
        sector = self._sector(bearing)
        truth = np.array(self.level.sectors, dtype=object)[sector]
        pairs = np.stack(
            [view.distance_m[standing, facing], view.distance_m[standing, asked], view.distance_m[facing, asked]]
        )
        horizontal = np.minimum(np.hypot(*(there - here)[:, :2].T), np.hypot(*(target - here)[:, :2].T))
        two_sided = rules.hard_margin_two_sided or self.level.name != "hard"
        margin = (margin_deg if two_sided else margin_below_deg)(bearing, self.level.edges)
        needed = np.maximum(rules.margin_min_deg, np.degrees(np.arctan2(rules.position_error_m, horizontal)))
        corners = view.boxes.take(view.first[asked]).corners()
        corner_bearing = self._bearing(here[:, None], there[:, None], corners)
        stray = (self._sector(corner_bearing) != sector[:, None]).sum(1)
        checks = [check("objects_too_close", pairs.min(0), ">=", rules.pair_min_m, "m")]
        if rules.pair_max_m is not None:
            checks.append(check("objects_too_far_apart", pairs.max(0), "<=", rules.pair_max_m, "m"))
        if rules.pair_plan_min_m > 0:
            plan = view.plan_distance_m
            apart = np.minimum(np.minimum(plan[standing, facing], plan[standing, asked]), plan[facing, asked])
            checks.append(check("objects_too_close_on_the_floor", apart, ">=", rules.pair_plan_min_m, "m"))
        if rules.side_max_m is not None:
            longest = horizontal_side_m(view.boxes)[view.first[operands]].max(1)
            checks.append(check("object_too_large", longest, "<=", rules.side_max_m, "m"))
        checks += [
            check("no_direction_on_the_floor", horizontal, ">=", rules.horizontal_min_m, "m"),
            check("near_sector_boundary", margin, ">=", needed, "deg"),
            check("box_reaches_into_another_sector", stray, "<=", rules.corners_max, "corners"),
        ]
        if "back" in self.level.sectors and "back" not in self.level.offered:
            turn = np.minimum(bearing, FULL_TURN_DEG - bearing)
            before = next(i for i, one in enumerate(checks) if one.reason == "near_sector_boundary")
            checks.insert(before, check("behind_the_observer", turn, "<", BACK_FROM_DEG, "deg"))
        if rules.hold_around:
            checks = [*_overhead(view, operands), *checks]
            checks += self._all_around(view, operands, sector, np.logical_and.reduce([one.ok for one in checks]))
        return Answers(
            truth=truth,
            checks=tuple(checks),
            share=self._share(view, truth, np.logical_and.reduce([one.ok for one in checks])),
            facts=(
                Fact("bearing", view.categories[asked], bearing, "deg"),
                Fact("distance", view.pair_names(standing, facing), pairs[0], "m"),
                Fact("distance", view.pair_names(standing, asked), pairs[1], "m"),
                Fact("distance", view.pair_names(facing, asked), pairs[2], "m"),
            ),
        )

    def _share(self, view: ScanView, truth: StrArray, asked: BoolArray) -> FloatArray | None:
        """The share (n,) that is asked: of hard directions less of what a scene has more of, ahead or behind."""
        factor = WORDS[view.rules.words].ahead_factor
        if factor is None or self.level.name != "hard":
            return None
        ahead = np.char.startswith(truth.astype(str), "front")
        ways = np.array([(asked & ~ahead).sum(), (asked & ahead).sum()])
        return np.minimum(1.0, factor * ways[::-1] / np.maximum(ways, 1))[ahead.astype(np.intp)]

    def _all_around(self, view: ScanView, operands: IntArray, sector: IntArray, left: BoolArray) -> list[Check]:
        """Whether there is a place to stand and the answer holds at all of them; not measured for what is not left."""
        places, elsewhere = np.full((2, len(operands)), np.nan)
        beside, row = _standing_places(view)
        which = row[operands[left, 0]]
        places[left] = beside.free.sum(1)[which]
        rows = np.flatnonzero(left)
        for start in range(0, len(rows), _CHUNK):
            part = rows[start : start + _CHUNK]
            at = which[start : start + _CHUNK]
            there, target = (view.center_m(operand)[:, None] for operand in operands[part, 1:].T)
            bearing = self._bearing(beside.place[at], there, target)
            other = (self._sector(bearing) != sector[part, None]) & beside.free[at]
            other[other] = margin_deg(bearing[other], self.level.edges) > EDGE_DEG
            elsewhere[part] = other.sum(1) / np.maximum(places[part], 1.0)
        return [
            check("nowhere_to_stand", places, ">=", 1, "places"),
            check("depends_on_where_one_stands", elsewhere, "<=", 0.0, "share"),
        ]

    def _bearing(self, here: FloatArray, there: FloatArray, target: FloatArray) -> FloatArray:
        """Degrees in [0, 360) from where one faces, counter-clockwise."""
        bearing = leftward_deg(here, there, target)
        return (
            np.where(bearing >= HALF_TURN_DEG, bearing - HALF_TURN_DEG, bearing + HALF_TURN_DEG)
            if self.away
            else bearing
        )

    def _sector(self, bearing: FloatArray) -> IntArray:
        return np.searchsorted(np.array(self.level.edges), bearing, side="right") - 1

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """The sectors that this level offers."""
        return self.level.offered


def _standing_places(view: ScanView) -> tuple[StandablePositions, IntArray]:
    """Places beside every object that one may stand by, and the row (C,) of each category in them; once per scene."""
    if view not in _BESIDE:
        unique = view.usable("unique")
        row = np.full(len(view.categories), -1, dtype=np.intp)
        row[unique] = np.arange(len(unique))
        floor = view.scene.facts.room.floor or None
        _BESIDE[view] = standing_places(view.boxes, view.first[unique], view.rules.body_radius_m, floor), row
    return _BESIDE[view]


def _overhead(view: ScanView, operands: IntArray) -> list[Check]:
    """Nobody stands by what hangs from the ceiling, and where one looks to see it is not where it is on the floor."""
    bottom = footprints(view.boxes, 0.0).bottom_m[view.first[operands]].max(1)
    named = np.char.startswith(view.categories.astype(str), CEILING)[operands].sum(1)
    return [
        check("hangs_from_the_ceiling", named, "<=", 0, "objects"),
        check("hangs_overhead", bottom, "<=", OVERHEAD_M, "m"),
    ]
