"""Cognitive Map: path and landmarks from above, as small text grids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import OPTIONS, FlightCase, StretchSubjects, UrbanTask, clock, cuts
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.captions import Misreading, misreadings
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import digest
from pipeline.core.templates import Operands

EMPTY, PATH, START, END = ".", "*", "S", "E"
ROW_SEPARATOR: Final = " / "
Swap = tuple[str, str]  # landmarks
_FIRST_WAY: Final = 0.1  # of the map's side: what the drone flies first is its direction over that


class CognitiveMap(UrbanTask):
    """Operands: the second at which the question ends, then the landmarks on the map, in order of their digits.

    Truth: the map of the flight up to there, its rows separated by slashes.

    The drone first flies upwards on it, so that no cardinal direction is needed.
    """

    reads = "way"
    name = "Cognitive Map"
    share = 265
    category = "Perception"
    template = "urbanvideo/questions/cognitive_map"
    needs = frozenset(("places",))

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """At the end of every movement, with some of the landmarks seen by then, drawn by lot.

        Those nearest to the path would tell what is asked of the goal: in three of five questions, what is related to
        it or on the way to it is nearer to the path than all other options. A map keeps the landmarks of earlier ones,
        and the wrong maps of a flight are all wrong in the same ways: else the right ones are those that agree.
        """
        subjects = StretchSubjects()
        lots = [digest(view.scene.id, self.name, view.places[place].label) for place in view.pool]
        kept: list[int] = []
        drawn: list[tuple[int, FlightCase, Drawing]] = []
        for cut in cuts(view):
            seen = _told_apart(view, [row for row, place in enumerate(view.pool) if view.seen_by(place, cut)])
            if seen and (view.t_s <= cut).any():
                rows = sorted(seen, key=lambda row: (row not in kept, lots[row]))[: view.rules.map_landmarks]
                case, drawing = self._case(view, sorted(view.pool[row] for row in rows), cut)
                kept = kept if case.refusal else rows
                drawn.append((cut, case, drawing))
        swaps = self._swaps(view, [(case, drawing) for _, case, drawing in drawn if case.refusal is None])
        for cut, case, drawing in drawn:
            self._offer(view, case, drawing, swaps)
            if case.refusal is None:  # a map is new where most of its latter half is
                case.follows_from(subjects.fact("map", cut / 2, cut))
            yield case

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The landmarks as a legend of digits."""
        return {"legend": "; ".join(f"{digit} = {label}" for digit, label in enumerate(operands[1:], start=1))}

    def _case(self, view: UrbanView, chosen: list[int], cut: int) -> tuple[FlightCase, Drawing]:
        rules, flown = view.rules, view.t_s <= cut
        labels = [view.places[i].label for i in chosen]
        case = FlightCase(clock(cut), *labels, until_s=cut)
        path, marks = view.enu_m[flown, :2], view.places.center[chosen]
        extent = float(np.hypot(*(path.max(0) - path.min(0))))
        case.require("path_too_short", extent, ">=", rules.map_extent_min_m, "m")
        case.require("path_unknown", view.untracked_until_s(cut), "<=", rules.untracked_max_s, "s")
        case.require("too_few_landmarks", len(chosen), ">=", 2, "landmarks")
        path, marks = _turned_up(path, marks, _FIRST_WAY * extent)
        cells, side = _cells(np.concatenate([marks, path]), rules.map_cells)
        drawing = Drawing(cells[len(marks) :], cells[: len(marks)])
        case.fact("cell", "map", side, "m")
        case.require("map_crowded", drawing.free, ">=", 0, "cells")
        case.require("parts_not_joined", int(np.ptp(view.part[flown])), "<=", 0, "parts")
        for name, (row, column) in zip([*labels, START, END], drawing.spots.tolist(), strict=True):
            case.fact("row", name, row, "cell")
            case.fact("column", name, column, "cell")
        return case, drawing

    def _swaps(self, view: UrbanView, drawn: Sequence[tuple[FlightCase, Drawing]]) -> tuple[Swap, ...]:
        """The landmarks to exchange, of a lot that most maps of a flight allow; two pairs where as many allow both."""
        shared = set.intersection(*({*case.operands[1:]} for case, _ in drawn)) if drawn else set()
        pairs = sorted(combinations(sorted(shared), 2), key=lambda pair: digest(view.scene.id, self.name, *pair))
        both = [(one, other) for one, other in combinations(pairs, 2) if not {*one} & {*other}]

        def allowed(swaps: tuple[Swap, ...]) -> int:
            wrong = ((drawing, _misread(view.rules.map_cells, case, drawing, swaps)) for case, drawing in drawn)
            return sum(min(map(right.shift, others)) >= view.rules.map_shift_min for right, others in wrong)

        return max([*both, *((pair,) for pair in pairs)], key=allowed, default=())

    def _offer(self, view: UrbanView, case: FlightCase, drawing: Drawing, swaps: tuple[Swap, ...]) -> None:
        """The right map, and those of the wrong ones that a lot says for all maps of the flight."""
        k, least = view.rules.map_cells, view.rules.map_shift_min
        wrong = _misread(k, case, drawing, swaps)
        shifts = [other.shift(drawing) for other in wrong]
        case.fact("least_shift", "wrong maps", min(shifts), "cells")
        if min(shifts) < least:
            case.refuse("too_few_options", sum(shift >= least for shift in shifts), len(wrong), "wrong options")
        lot = sorted(range(len(wrong)), key=lambda n: digest(view.scene.id, self.name, f"wrong {n}"))
        case.ask(drawing.text(k), (wrong[n].text(k) for n in sorted(lot[: OPTIONS - 1])))


def _told_apart(view: UrbanView, rows: list[int]) -> list[int]:
    """Rows of the pool without those whose label says that they stand beside another: else the legend tells of them."""
    chosen = {view.pool[row] for row in rows}
    return [row for row in rows if view.places.anchor(view.pool[row]) not in chosen]


class Drawing(NamedTuple):
    """The content of a map, as rows and columns.

    Attributes:
        path: (n, 2) cells of the path, from start to end.
        marks: (m, 2) cells of the landmarks.
    """

    path: IntArray
    marks: IntArray

    @property
    def spots(self) -> IntArray:
        """Cells (m + 2, 2) of all that has a sign of its own: landmarks, start, end."""
        return np.concatenate([self.marks, self.path[[0, -1]]])

    @property
    def free(self) -> int:
        """0 where all signs have a cell of their own, less by one for each that has not."""
        return len(np.unique(self.spots, axis=0)) - len(self.spots)

    def shift(self, other: Drawing) -> float:
        """Cells by which that sign differs which differs most, with the maps laid over each other as well as may be.

        A map says nothing of where its edges are: moved as a whole it is the same map.
        """
        return float(np.ptp(self.spots - other.spots, axis=0).max()) / 2

    def text(self, k: int) -> str:
        """The map of (k, k) cells."""
        grid = np.full((k, k), EMPTY)
        grid[tuple(self.path.T)] = PATH
        for sign, (row, column) in zip([*map(str, range(1, len(self.marks) + 1)), START, END], self.spots, strict=True):
            grid[row, column] = sign
        return ROW_SEPARATOR.join("".join(row) for row in grid.tolist())


def _turned_up(path: FloatArray, marks: FloatArray, first_m: float) -> tuple[FloatArray, FloatArray]:
    """Path and landmarks about the start, turned so that the first way goes up (+y)."""
    offset = path - path[0]
    gone = np.hypot(*offset.T) >= first_m - 1e-6
    east, north = offset[int(gone.argmax())]
    length = max(float(np.hypot(east, north)), 1e-9)
    turn = np.array([[north, -east], [east, north]]) / length
    return offset @ turn.T, (marks - path[0]) @ turn.T


def _cells(points: FloatArray, k: int) -> tuple[IntArray, float]:
    """Row and column (n, 2) of points in the smallest square about them, and the side of a cell, metres."""
    low, high = points.min(0), points.max(0)
    side = max(float((high - low).max()), 1e-9) / k * (1 + 1e-6)
    corner = (low + high) / 2 - side * k / 2
    column, up = np.clip(np.floor(np.round((points - corner) / side, 6)).astype(np.intp), 0, k - 1).T
    return np.stack([k - 1 - up, column], axis=1), side


def _misread(k: int, case: FlightCase, drawing: Drawing, swaps: tuple[Swap, ...]) -> list[Drawing]:
    """The map of (k, k) cells mirrored, and with landmarks in each other's place: each alone, and all together.

    On all of them the drone first flies upwards: else the words alone would tell the wrong ones. And on all of them the
    path goes by the landmarks as near as it did: those on a map are near the path, as anybody may guess.
    """
    labels = case.operands[1:]
    pairs = [[labels.index(name) for name in swap] for swap in swaps if {*swap} <= {*labels}]
    ways = [*(partial(_exchanged, pair) for pair in pairs), partial(_mirrored, k)]
    return misreadings(drawing, map(Misreading, ways), lambda other: True, lambda one, other: False)


def _mirrored(k: int, drawing: Drawing) -> Drawing:
    """Left for right."""
    return Drawing(_flipped(drawing.path, k), _flipped(drawing.marks, k))


def _flipped(cells: IntArray, k: int) -> IntArray:
    row, column = cells.T
    return np.stack([row, k - 1 - column], axis=1)


def _exchanged(pair: list[int], drawing: Drawing) -> Drawing:
    marks = drawing.marks.copy()
    marks[pair] = drawing.marks[pair[::-1]]
    return Drawing(drawing.path, marks)
