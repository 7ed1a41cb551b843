"""obj_appearance_order: in which order four categories first appear in the video."""

from __future__ import annotations

from itertools import permutations
from math import comb

import numpy as np
import pyarrow as pa

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import BoolArray, IntArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import LIST_SEPARATOR, Operands
from pipeline.questions.arrays import MOST, Answers, ArrayTask, sets, untried
from pipeline.questions.rules import Fact, check


class AppearanceOrder(ArrayTask[ScanView]):
    """Operands: n categories in alphabetical order. Truth: the categories in order of first appearance.

    A category appears when the pixels of any of its objects first pass a threshold, in any frame of the video; times
    too close together are ambiguous (VSI-Bench B.1). The text names the categories in the order of the first option,
    as every released question names them in the order of one of its options.
    """

    name = "obj_appearance_order"
    share = 1
    template = "vsi/obj_appearance_order"

    def __init__(self, choices: int = 4) -> None:
        self.choices = choices
        self.roles = ("choice",) * choices
        self.slots = ("seen",) * choices

    def obstacle(self, view: ScanView) -> Rejection | None:
        """Without an examined video nothing is known about appearance."""
        if view.scene.facts.observation is not None:
            return None
        return Rejection(reason="video_not_examined", measured=None, limit=None, unit=None)

    def operands(self, view: ScanView) -> IntArray:
        """Every set of categories that the video shows, (n, choices); see `tuples` where they are many."""
        return sets((view.scene.id, self.name), view.categories, self._seen(view), self.choices)

    def untried(self, view: ScanView) -> Rejection | None:
        """See `ArrayTask.untried`."""
        total = comb(len(self._seen(view)), self.choices)
        return untried(total, total if total <= MOST else len(self.operands(view)))

    def _seen(self, view: ScanView) -> IntArray:
        return view.usable("seen") if self.obstacle(view) is None else np.empty(0, dtype=np.intp)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The order; evidence is every first time and the smallest gap between two of them."""
        first = view.first_seen_s[operands]
        names = np.take_along_axis(view.categories[operands], first.argsort(axis=1, kind="stable"), axis=1)
        truth = names[:, 0]
        for column in names.T[1:]:
            truth = truth + LIST_SEPARATOR + column
        gap = np.diff(np.sort(first, axis=1), axis=1).min(1)
        return Answers(
            truth=truth,
            checks=(check("first_times_too_close", gap, ">=", view.rules.first_gap_min_s, "s"),),
            facts=tuple(
                Fact("first_seen", view.categories[operands[:, i]], first[:, i], "s") for i in range(operands.shape[1])
            ),
        )

    def visible_in(self, view: ScanView, operands: IntArray, kept: BoolArray) -> pa.Array:
        """Frame budgets that show the categories, and show them first in this very order."""
        return view.visible_in(operands, kept, in_order=True)

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Every order of the categories."""
        return tuple(LIST_SEPARATOR.join(order) for order in permutations(operands))

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The categories in the order of the first option."""
        return {"choices": tuple(options[0].split(LIST_SEPARATOR)) if options else operands}

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """The categories in alphabetical order."""
        return tuple(sorted(fields["choices"]))
