"""higher: which of two objects reaches higher; a task over arrays."""

import numpy as np

from pipeline.benchmarks.toy.rules import RoomView
from pipeline.core.arrays import IntArray
from pipeline.questions.arrays import Answers, ArrayTask
from pipeline.questions.rules import Fact, check


class Higher(ArrayTask[RoomView]):
    """Operands: two unique categories in alphabetical order. Truth: the one whose top is higher."""

    name = "higher"
    reads = "height"
    share = 1
    template = "toy/higher"
    roles = ("first", "second")
    slots = ("unique", "unique")

    def operands(self, view: RoomView) -> IntArray:
        """Every pair of unique categories, (n, 2)."""
        unique = view.usable("unique")
        first, second = np.triu_indices(len(unique), k=1)
        return np.column_stack([unique[first], unique[second]])

    def answer(self, view: RoomView, operands: IntArray) -> Answers:
        """The higher one; evidence is the height of both tops in the scan's frame."""
        boxes = view.boxes.take(view.first[operands.ravel()])
        top_m = boxes.corners()[:, :, 2].max(1).reshape(-1, 2)
        names = view.categories[operands]
        rise_m = np.abs(top_m[:, 0] - top_m[:, 1])
        return Answers(
            truth=np.where(top_m[:, 0] > top_m[:, 1], names[:, 0], names[:, 1]),
            checks=(check("tops_too_similar", rise_m, ">=", view.rules.rise_min_m, "m"),),
            facts=tuple(Fact("top", names[:, i], top_m[:, i], "m") for i in range(2)),
        )

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Both."""
        return operands
