"""object_size_estimation: the longest side of the only object of a category."""

from __future__ import annotations

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray
from pipeline.questions.arrays import Answers, ArrayTask, format_numbers
from pipeline.questions.rules import Check, Fact, check
from pipeline.questions.task import Number

CM_PER_M = 100.0


class ObjectSize(ArrayTask[ScanView]):
    """Operand: a category with one instance. Truth: longest box side in whole centimetres (VSI-Bench B.1)."""

    name = "object_size_estimation"
    share = 1
    template = "vsi/object_size_estimation"
    roles = ("category",)
    slots = ("unique",)
    form: Number = Number(decimals=0, unit="cm", usual=140.0, slopes=(2, 4))  # 390 objects of 122 scenes

    def operands(self, view: ScanView) -> IntArray:
        """Every unique category, (n, 1)."""
        return view.usable("unique")[:, None]

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The longest side; evidence is all three sides."""
        category = operands[:, 0]
        sides = np.sort(view.boxes.half[view.first[category]] * 2, axis=1)[:, ::-1]
        names = view.categories[category]
        return Answers(
            truth=format_numbers(sides[:, 0] * CM_PER_M, self.form),
            checks=_shown(view, category),
            facts=tuple(Fact(f"side_{i + 1}", names, sides[:, i], "m") for i in range(3)),
        )


def _shown(view: ScanView, category: IntArray) -> tuple[Check, ...]:
    """Whether the video shows enough of the side to measure it; no rule where the video was not examined."""
    least, seen = view.rules.extent_seen_min, view.extent_seen
    if least is None or seen is None:
        return ()
    return (check("extent_not_shown", seen[category], ">=", least, "share"),)
