"""object_size_estimation: the longest side of the only object of a category."""

from __future__ import annotations

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.arrays import Answers, Fact, Number, format_numbers
from pipeline.worlds.indoor.view import SceneView, Slot

CM_PER_M = 100.0


class ObjectSize:
    """Operand: a category with one instance. Truth: longest box side in whole centimetres (VSI-Bench B.1)."""

    name = "object_size_estimation"
    version = 1
    template = "vsi/object_size_estimation"
    roles: tuple[str, ...] = ("category",)
    slots: tuple[Slot, ...] = ("unique",)
    number = Number(decimals=0, unit="cm", lower=0.4, upper=1.8)

    def obstacle(self, view: SceneView) -> Rejection | None:
        """See `Task.obstacle`."""
        return None

    def operands(self, view: SceneView) -> IntArray:
        """Every unique category, (n, 1)."""
        return view.usable("unique")[:, None]

    def answer(self, view: SceneView, operands: IntArray) -> Answers:
        """The longest side; evidence is all three sides."""
        category = operands[:, 0]
        sides = np.sort(view.boxes.half[view.first[category]] * 2, axis=1)[:, ::-1]
        names = view.categories[category]
        return Answers(
            truth=format_numbers(sides[:, 0] * CM_PER_M, self.number),
            checks=(),
            facts=tuple(Fact(f"side_{i + 1}", names, sides[:, i], "m") for i in range(3)),
        )

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """See `Task.labels`."""
        return ()

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """See `Task.fields`."""
        return {"category": operands[0]}

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """See `Task.canonical`."""
        return (str(fields["category"]),)
