"""object_taller: which of two objects is taller."""

from typing import Final

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray
from pipeline.questions.arrays import Answers, ArrayTask
from pipeline.questions.rules import Fact, check

DIFFERENCE_MIN_M: Final = 0.12  # ours: a hand is 0.1 m broad, and less cannot be told by eye


class Taller(ArrayTask[ScanView]):
    """Operands: two unique categories in alphabetical order. Truth: the one whose box is higher from bottom to top."""

    name = "object_taller"
    reads = "height"
    share = 1
    template = "vsi/object_taller"
    roles = ("first", "second")
    slots = ("unique", "unique")

    def operands(self, view: ScanView) -> IntArray:
        """Every pair of unique categories, (n, 2)."""
        unique = view.usable("unique")
        first, second = np.triu_indices(len(unique), k=1)
        return np.column_stack([unique[first], unique[second]])

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The taller one; evidence is both heights. A box may be tilted: each of its axes adds its upward part."""
        boxes = view.boxes.take(view.first[operands.ravel()])
        height_m = (2 * boxes.half * np.abs(boxes.axes[:, :, 2])).sum(1).reshape(-1, 2)
        names = view.categories[operands]
        difference_m = np.abs(height_m[:, 0] - height_m[:, 1])
        return Answers(
            truth=np.where(height_m[:, 0] > height_m[:, 1], names[:, 0], names[:, 1]),
            checks=(check("heights_too_similar", difference_m, ">=", DIFFERENCE_MIN_M, "m"),),
            facts=tuple(Fact("height", names[:, i], height_m[:, i], "m") for i in range(2)),
        )

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Both."""
        return operands
