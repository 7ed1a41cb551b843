"""Yaw Estimation and 2D Positioning: where an object lies in a view that was drawn after the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.ergeobench.aiming import aimed, wrapped
from pipeline.benchmarks.ergeobench.tasks.base import TRIES, SeenTask
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.geometry.views import View
from pipeline.questions.cases import Case
from pipeline.questions.task import Choice

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

    name = "Yaw Estimation"
    template = "ergeobench/yaw_estimation"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            rng = self.rng(view, seen.id)
            centre = list(BINS)[int(rng.integers(len(BINS)))]
            room = BIN_DEG / 2 - view.rules.yaw_margin_deg
            shots = view.towards(seen.yaw_deg, centre - room, centre + room, rng) if case.refusal is None else []
            shot = view.first_lone(i, shots)
            self.word(view, case, label=seen.label)
            if shot is None:
                yield self.unshown(case, len(shots))
                continue
            turn_deg = float(wrapped(seen.yaw_deg - shot.yaw_deg))
            self.lay(view, case, shot, members=[i])
            case.fact("turn", seen.id, turn_deg, "deg")
            margin = BIN_DEG / 2 - abs(turn_deg - centre)
            case.require("near_a_yaw_border", margin, ">=", view.rules.yaw_margin_deg - 0.01, "deg")
            yield case.ask(BINS[centre], BINS.values())


class Positioning(SeenTask):
    """In which of six cells of the picture an object lies. The camera is tilted too: else height would tell it."""

    name = "2D Positioning"
    template = "ergeobench/positioning"
    form = Choice(len(CELLS))

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per object."""
        for i, seen in enumerate(view.objects):
            case = self.about(view, i)
            rng = self.rng(view, seen.id)
            answer = list(CELLS)[int(rng.integers(len(CELLS)))]
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
            self._within(view, case, i, shot, answer)
            yield case.ask(answer, CELLS)

    def _within(self, view: ErgeoView, case: Case, i: int, shot: View, answer: str) -> None:
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
