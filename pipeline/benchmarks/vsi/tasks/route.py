"""route_planning: the turns of a route from object to object."""

import re
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import LIST_SEPARATOR, Operands
from pipeline.geometry.angles import leftward_deg
from pipeline.geometry.floors import (
    BODY_HEIGHT_M,
    CELL_M,
    Footprints,
    FreeFloor,
    body_clearance,
    footprints,
    free_floor,
)
from pipeline.questions.arrays import MOST, WRITTEN, Answers, ArrayTask, CandidateSampler, untried
from pipeline.questions.cases import WRONG_MIN
from pipeline.questions.rules import Check, Fact, check, lists
from pipeline.worlds.indoor.facts import TURNS, Route
from pipeline.worlds.indoor.view import IndoorView

STRAIGHT_BELOW_DEG: Final = 30.0
BACK_FROM_DEG: Final = 135.0
LEFT, RIGHT, BACK = range(len(TURNS))
FEW: Final = "too_few_options"
PLANNED_MAX: Final = 3  # objects that a route which nobody wrote passes, the destination included
OFFERED_TURNS_MAX: Final = 5  # of a route that is to get options; longer ones are audited only
TOUCH_M: Final = 1e-6
_CHUNK: Final = 4096  # routes at a time; bounds memory


class WalkedRoute(NamedTuple):
    """Measurements of a batch of n routes on their legs, (n, legs) each; NaN where there is no leg or no turn."""

    turn_deg: FloatArray  # signed, left positive
    plain_deg: FloatArray  # the same from centre to centre, as it is read off a plan
    length_m: FloatArray
    free_m: FloatArray  # way to the first other object
    off_floor_m: FloatArray  # part of the leg on which the body does not fit on the floor
    unseen_m: FloatArray  # part of the leg on which the scan shows no floor below the body, or something above it


class RouteBatch(NamedTuple):
    """Routes (n, k), filled up with -1, how many of them nobody wrote, and how many of those there are in all."""

    operands: IntArray
    generated: int
    total: int


_FORMED: Final[WeakKeyDictionary[ScanView, RouteBatch]] = WeakKeyDictionary()


class RoutePlanning(ArrayTask[ScanView]):
    """Operands: start, object faced there, then the objects passed, the destination last.

    One stands beside the start on the line to the faced object. Where the first object passed is the faced one, the
    route begins straight on, else with a turn; every other leg begins with a turn. A leg leads towards the centre of
    its object's box and ends where a body of the given radius touches it. That object must be the first one met, and
    the way must be on the floor, of a scan on floor that it shows with nothing above (`Room.seen_floor`); the object
    that one stands at may be brushed past. A turn is straight within 30°, left or right up to 135°, then back
    (VSI-Bench B.1 has people draw the routes; the limits are ours). Two to five movements.

    Offered are other turns as many, none of which anybody could read into the way: neither the turns between straight
    lines from centre to centre, which differ from the walked ones beside large objects, nor, where a turn of either is
    close to 135°, what it would be beyond. Nobody turns back twice, so that is no option, and no such route is asked.
    """

    reads = "way"
    name = "route_planning"
    share = 1
    template = "vsi/questions/route_planning"
    roles = ("start", "facing", *["passed"] * PLANNED_MAX)
    slots = ("unique",) * len(roles)

    def obstacle(self, view: ScanView) -> Rejection | None:
        """Without the outline of the floor no way can be checked."""
        if view.scene.facts.room.floor:
            return None
        return Rejection(reason="floor_not_measured", measured=None, limit=None, unit=None)

    def operands(self, view: ScanView) -> IntArray:
        """Routes written by people, then all others of one to three legs, (n, k) filled up with -1."""
        if self.obstacle(view) is not None:
            return np.empty((0, len(self.roles)), dtype=np.intp)
        return self._formed(view).operands

    def untried(self, view: ScanView) -> Rejection | None:
        """See `ArrayTask.untried`."""
        formed = self._formed(view)
        return untried(formed.total, formed.generated)

    def _formed(self, view: ScanView) -> RouteBatch:
        if view not in _FORMED and view.rules.routes_by_people:
            _FORMED[view] = RouteBatch(self._written_operands(view, self._width(view)), 0, 0)
        if view not in _FORMED:
            unique = view.usable("unique")  # a quarter of all: each is two routes, and these may go on
            among = CandidateSampler(
                (view.scene.id, self.name), view.categories, unique, unique, 2, ordered=True, most=MOST // 4
            )
            start, facing, passed = among.tuples().T
            width = self._width(view)
            turn_first = _filled(np.stack([start, facing, passed], axis=1), width)
            straight_first = _filled(np.stack([start, facing, facing, passed], axis=1), width)
            short = np.concatenate([turn_first, straight_first])
            longer, all_longer = self._one_further(view, short, among)
            found = np.concatenate([self._written_operands(view, width), short, longer])
            _, first = np.unique(found, axis=0, return_index=True)
            _FORMED[view] = RouteBatch(found[np.sort(first)], len(short) + len(longer), 2 * among.total + all_longer)
        return _FORMED[view]

    def _one_further(self, view: ScanView, short: IntArray, among: CandidateSampler) -> tuple[IntArray, int]:
        """Continuations of the routes that can be walked, and how many there are in all.

        A rejected route stands for all that begin with it, but for one that has too few options: a longer one has more.
        """
        checks = [own for own in self.answer(view, short).checks if own.reason != FEW]
        sound = short[np.logical_and.reduce([rule.ok for rule in checks])] if len(short) else short
        kept = max(1, MOST // 2 // max(len(sound), 1))
        on = np.zeros((len(view.categories),) * 2, dtype=bool)
        for last in among.firsts:
            on[last, among.drawn(last, kept)] = True
        unique, rows = among.firsts, np.arange(len(sound))
        free = (sound < 0).argmax(1)
        new = (sound[:, None, :] != unique[None, :, None]).all(2)  # (routes, objects)
        row, place = np.nonzero(new & on[sound[rows, free - 1]][:, unique])
        longer = sound[row]
        longer[np.arange(len(row)), free[row]] = unique[place]
        return longer, int(new.sum())

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The turns; evidence is every turn's angle and every leg's length. Rows of an audit have any length."""
        operands = _filled(operands, max(self._width(view), operands.shape[1]))
        parts = [self._walk(view, operands[i : i + _CHUNK]) for i in range(0, max(len(operands), 1), _CHUNK)]
        turns, plain, length, free, off, unseen = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        size = np.abs(turns)
        margin = np.minimum(np.abs(size - STRAIGHT_BELOW_DEG), np.abs(size - BACK_FROM_DEG))
        rules, names, rows = view.rules, view.categories, np.arange(len(operands))
        spare = np.where(np.isnan(length), np.inf, free - length)
        worst = spare.argmin(1)
        truth, wrong = _turn_names(turns), _wrong(turns, plain, rules.turn_reading_deg, rules.back_turns_max)
        enough = WRONG_MIN if wrong is None else wrong.sum(1)
        bottom = footprints(view.boxes, rules.body_radius_m).bottom_m[view.first[operands]]
        highest = np.where(operands >= 0, bottom, 0.0).max(1)
        scanned = (
            ()
            if view.scene.facts.room.seen_floor is None
            else (check("floor_not_seen", -_row_minimum(-unseen), "<=", 0.0, "m"),)
        )
        written = self._written_operands(view, operands.shape[1])
        return Answers(
            truth=truth,
            checks=(
                check("above_the_body", highest, "<=", BODY_HEIGHT_M[1], "m"),
                check("leg_too_short", _row_minimum(length), ">=", rules.leg_min_m, "m"),
                Check(
                    "something_in_the_way", ">=", spare[rows, worst] >= 0, free[rows, worst], length[rows, worst], "m"
                ),
                check("leaves_the_floor", -_row_minimum(-off), "<=", 0.0, "m"),
                *scanned,
                check("goes_straight_on", _row_minimum(size), ">=", STRAIGHT_BELOW_DEG, "deg"),
                check("near_turn_boundary", _row_minimum(margin), ">=", rules.turn_margin_min_deg, "deg"),
                check("turns_back_twice", (size >= BACK_FROM_DEG).sum(1), "<=", rules.back_turns_max, "turns"),
                check(FEW, np.broadcast_to(enough, len(operands)), ">=", WRONG_MIN, "wrong options"),
                check("written_route_disagrees", self._agreement(view, operands, truth), ">=", 1.0, "agreement"),
            ),
            facts=tuple(
                fact
                for leg, passed in enumerate(operands[:, 2:].T)
                for fact in (
                    Fact("turn", np.where(passed >= 0, names[passed], "none"), turns[:, leg], "deg"),
                    Fact("leg", np.where(passed >= 0, names[passed], "none"), length[:, leg], "m"),
                )
            ),
            flags=np.where((operands[:, None] == written[None]).all(2).any(1), WRITTEN, "").astype(object),
            wrong=None if wrong is None else lists(_sequences(turns.shape[1])[1][np.nonzero(wrong)[1]], wrong.sum(1)),
        )

    def refusals(self, view: ScanView, route: Route) -> list[dict[str, Any]]:
        """Why a route that a person wrote would not be asked (`RouteWriting`); its names are `route_names`."""
        if whole := self.obstacle(view) or self.unreadable(view):
            return [whole.model_dump()]
        alone = IndoorView(view.scene.with_facts(routes=(route,)), view.rules)
        found = self.answer(alone, self._written_operands(alone, self._width(alone))).verdicts().columns
        refused = {name: found[name].to_pylist()[0] for name in ("reason", "measured", "limit", "unit")}
        return [refused] if refused["reason"] else []

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The way as numbered steps, with a blank for every turn."""
        start, facing, *passed = operands
        steps = steps_in_words(facing, tuple(passed))
        return {"start": start, "facing": facing, "destination": passed[-1], "steps": steps}

    def canonical(self, fields: Operands) -> tuple[str, ...] | None:
        """The objects of the steps, also of routes that people worded (`parse_steps`)."""
        return parse_steps(fields)

    def _walk(self, view: ScanView, operands: IntArray) -> WalkedRoute:
        plan, bare = (footprints(view.boxes, radius) for radius in (view.rules.body_radius_m, 0.0))
        room = view.scene.facts.room
        floor = free_floor(room.floor or ())
        seen = None if room.seen_floor is None else body_clearance(room.seen_floor.grid(), view.boxes)
        box = np.where(operands >= 0, view.first[operands], 0)
        at = box[:, 0]
        heading = along = _unit(plan.center[box[:, 1]] - plan.center[at])
        leave = plan.crossings_m(plan.center[at], heading, at)[1]
        position = plan.center[at] + heading * leave[:, None]
        columns: list[FloatArray] = []
        for leg in range(2, operands.shape[1]):
            there, target = operands[:, leg] >= 0, box[:, leg]
            straight_on = (operands[:, leg] == operands[:, 1]) & (leg == 2)
            direction = _unit(plan.center[target] - position)
            length, free = _ahead(plan, bare, position, direction, at, target)
            off, unseen = (
                np.zeros_like(length)
                if grid is None
                else _metres_off(grid, position, direction, length, view.rules.body_radius_m)
                for grid in (floor, seen)
            )
            line = _unit(plan.center[target] - plan.center[at])
            turn, plain = (
                np.where(straight_on, np.nan, _signed_turn(*way)) for way in ((heading, direction), (along, line))
            )
            columns += [np.where(there, value, np.nan) for value in (turn, plain, length, free, off, unseen)]
            step = np.where(there & np.isfinite(length), length, 0.0)
            position = position + direction * step[:, None]
            heading, along = (np.where(there[:, None], new, old) for new, old in ((direction, heading), (line, along)))
            at = np.where(there, target, at)
        kinds = len(WalkedRoute._fields)
        table = np.stack(columns, axis=1).reshape(len(operands), len(columns) // kinds, kinds)
        return WalkedRoute(*np.moveaxis(table, 2, 0))

    def _written(self, view: ScanView) -> dict[tuple[str, ...], Route]:
        """Routes written by people by their operands, if those are all unique here."""
        usable = {str(view.categories[i]) for i in view.usable("unique")}
        routes = {(route.start, route.facing, *route.passed): route for route in view.scene.facts.routes}
        return {names: route for names, route in routes.items() if usable.issuperset(names)}

    def _width(self, view: ScanView) -> int:
        """Operands of the longest route, written or not."""
        return max([len(self.roles), *map(len, self._written(view))])

    def _written_operands(self, view: ScanView, width: int) -> IntArray:
        rows = np.full((len(self._written(view)), width), -1, dtype=np.intp)
        for row, names in zip(rows, self._written(view), strict=True):
            row[: len(names)] = [view.index[name] for name in names]
        return rows

    def _agreement(self, view: ScanView, operands: IntArray, truth: StrArray) -> FloatArray:
        """1 where no person wrote the route, or wrote the same turns; else 0."""
        agreed = np.ones(len(operands))
        for row, route in zip(
            self._written_operands(view, operands.shape[1]), self._written(view).values(), strict=True
        ):
            same = (operands == row).all(1)
            agreed[same] = (truth[same] == LIST_SEPARATOR.join(route.turns)).astype(float)
        return agreed


def route_names(view: ScanView) -> tuple[str, ...]:
    """The objects that a route may name: those of which the scene has one, and the video shows it."""
    return tuple(str(view.categories[i]) for i in view.usable("unique"))


def _filled(operands: IntArray, width: int) -> IntArray:
    """Rows (n, k) filled up with -1 to ``width``."""
    return np.pad(operands, ((0, 0), (0, width - operands.shape[1])), constant_values=-1)


def _turn_names(turns: FloatArray) -> StrArray:
    """The turns (n, legs) of each route in words, separated by ", "."""
    left, right, back = TURNS
    truth = np.full(len(turns), "", dtype=object)
    for turn in turns.T:
        name = np.where(np.abs(turn) >= BACK_FROM_DEG, back, np.where(turn > 0, left, right)).astype(object)
        separator = np.where(truth == "", "", LIST_SEPARATOR).astype(object)
        truth = np.where(np.isnan(turn), truth, truth + separator + name)
    return truth


def _wrong(turns: FloatArray, plain: FloatArray, reading_deg: float, back_max: int) -> BoolArray | None:
    """Which of `_sequences` are wrong options of each route (n, legs), (n, u); None for routes too long for options.

    A turn within ``reading_deg`` of 135° may be read as "back" or as the turn to its side: neither is wrong. Nor is
    what the turns from centre to centre, ``plain``, are read as; without ``reading_deg`` the walked ones alone count.
    """
    if turns.shape[1] > OFFERED_TURNS_MAX:
        return None
    read = _readings(turns, reading_deg)
    if reading_deg > 0:
        read |= _readings(plain, reading_deg)
    order = np.isnan(turns).argsort(axis=1, kind="stable")  # a route that begins straight on has no first turn
    read = np.take_along_axis(read, order[:, :, None], 1)
    there = ~np.take_along_axis(np.isnan(turns), order, 1)
    offered = _sequences(turns.shape[1])[0]
    as_long = ((offered >= 0) == there[:, None]).all(2)
    right = (read[:, np.arange(turns.shape[1]), offered] | (offered < 0)).all(2)
    return np.asarray(as_long & ~right & ((offered == BACK).sum(1) <= back_max))


def _readings(turns: FloatArray, reading_deg: float) -> BoolArray:
    """What each turn (n, legs) may be read as, (n, legs, 3) in the order of `TURNS`; nothing where there is none."""
    size = np.abs(turns)
    aside = (size < BACK_FROM_DEG) | (size - BACK_FROM_DEG < reading_deg)
    back = (size >= BACK_FROM_DEG) | (BACK_FROM_DEG - size < reading_deg)
    return np.stack([aside & (turns > 0), aside & (turns <= 0), back], axis=2)


@cache
def _sequences(legs: int) -> tuple[IntArray, StrArray]:
    """All sequences of one to ``legs`` turns: numbers in `TURNS` (u, legs), filled up with -1, and in words (u,)."""
    rows = [turns for n in range(1, legs + 1) for turns in product(range(len(TURNS)), repeat=n)]
    numbers = np.array([(*row, *(-1,) * (legs - len(row))) for row in rows], dtype=np.intp).reshape(-1, legs)
    return numbers, np.array([LIST_SEPARATOR.join(TURNS[turn] for turn in row) for row in rows], dtype=object)


def _unit(vector: FloatArray) -> FloatArray:
    length = np.hypot(vector[:, 0], vector[:, 1])
    return vector / np.where(length > 0, length, 1.0)[:, None]


def _signed_turn(heading: FloatArray, direction: FloatArray) -> FloatArray:
    """Turn from one unit direction to another, in (-180, 180], left positive."""
    bearing = leftward_deg(np.zeros_like(heading), heading, direction)
    return np.where(bearing > 180.0, bearing - 360.0, bearing)


def _row_minimum(values: FloatArray) -> FloatArray:
    """Smallest number (n,) of each row, NaN ignored."""
    return np.where(np.isnan(values), np.inf, values).min(1)


def _ahead(
    plan: Footprints, bare: Footprints, position: FloatArray, direction: FloatArray, at: IntArray, target: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Metres (n,) from positions (n, 2) straight on to the targets, and to the first thing in the way; inf for none.

    ``plan`` is grown by the body, ``bare`` is not: one may brush past the object that one stands at, but not go
    through it.
    """
    rows = np.arange(len(target))
    enter, leaving = plan.crossings_m(position, direction)
    ahead = np.where((leaving > TOUCH_M) & plan.obstacle, np.maximum(enter, 0.0), np.inf)
    ahead[rows, target] = np.inf
    enter_at, leave_at = bare.crossings_m(position, direction, at)
    ahead[rows, at] = np.where(leave_at > TOUCH_M, np.maximum(enter_at, 0.0), np.inf)
    return np.maximum(enter[rows, target], 0.0), ahead.min(1, initial=np.inf)


def _metres_off(
    floor: FreeFloor, position: FloatArray, direction: FloatArray, length: FloatArray, radius_m: float
) -> FloatArray:
    """Metres of each leg on which a body of the radius does not fit on the floor."""
    longest = float(length[np.isfinite(length)].max(initial=0.0))
    steps = np.arange(0.0, longest + CELL_M, CELL_M)
    points = position[:, None] + direction[:, None] * steps[None, :, None]
    within = steps[None] <= np.where(np.isfinite(length), length, 0.0)[:, None]
    return ((floor.at(points) < radius_m) & within).sum(1) * CELL_M


BLANK: Final = "[please fill in]"
FORWARD: Final = "Go forward until the "
_STEP: Final = re.compile(r"(?:^|\s+)\d+\.\s+")
# The released routes also say "until passing the", "untli the", "until a", or how far.
_FORWARD: Final = re.compile(
    r"go forward(?: (?:until|untli))?(?: (?:passing|past))?(?: (?:the|a))? (.+)", re.IGNORECASE
)


def steps_in_words(facing: str, passed: tuple[str, ...]) -> str:
    """The way as numbered steps, with a blank for every turn; none where the first object passed is the faced one."""
    steps = [step for name in passed for step in (BLANK, FORWARD + name)]
    if passed[0] == facing:
        steps = steps[1:]
    return " ".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def parse_steps(fields: Operands) -> tuple[str, ...] | None:
    """Start, faced object and the objects passed, of a question's fields; None where the steps are no such route.

    Routes that people wrote name things in their own words ("the sofa with two blankets"); these are given in lower
    case, without the article, and it is for the scene to know them or not. Who goes straight on at the start is taken
    to face what is met first, and a turn at the very end to be towards the destination.
    """
    start, facing, destination = (str(fields[key]) for key in ("start", "facing", "destination"))
    text = str(fields["steps"]).strip()
    ours = tuple(step.removeprefix(FORWARD) for step in _STEP.split(text) if step.startswith(FORWARD))
    if ours and ours[-1] == destination and steps_in_words(facing, ours) == text:
        return (start, facing, *ours)
    steps = [step.strip(" .") for step in _STEP.split(text) if step.strip()]
    passed: list[str] = []
    turned = False
    for number, step in enumerate(steps):
        way = _FORWARD.fullmatch(step)
        if way and (turned or number == 0):
            passed.append(_bare_name(way[1]))
        elif way or turned or step.lower() != BLANK:
            return None
        turned = not way
    if turned:
        passed.append(_bare_name(destination))
    straight_on = bool(steps) and steps[0].lower() != BLANK
    return (_bare_name(start), passed[0] if straight_on else _bare_name(facing), *passed) if passed else None


def _bare_name(name: str) -> str:
    return name.strip(" .,").lower().removeprefix("the ")
