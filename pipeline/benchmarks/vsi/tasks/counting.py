"""object_counting: how many instances of a category are in the room."""

from __future__ import annotations

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray
from pipeline.questions.arrays import Answers, ArrayTask, format_numbers
from pipeline.questions.rules import Fact, check
from pipeline.questions.task import Number


class ObjectCounting(ArrayTask[ScanView]):
    """Operand: a category. Truth: the number of its instances (VSI-Bench B.1: not asked below 2)."""

    name = "object_counting"
    share = 1
    template = "vsi/object_counting"
    roles = ("category",)
    slots = ("counted",)
    form: Number = Number(decimals=0, unit="objects")

    def operands(self, view: ScanView) -> IntArray:
        """Every category whose count can be relied on, (n, 1)."""
        return view.usable("counted")[:, None]

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The count; evidence is the stated count beside the number of boxes."""
        category = operands[:, 0]
        count = view.count[category].astype(float)
        names = view.categories[category]
        return Answers(
            truth=format_numbers(count, self.form),
            checks=(check("too_few_instances", count, ">=", view.rules.min_count, "objects"),),
            facts=(
                Fact("stated_count", names, count, "objects"),
                Fact("boxes", names, view.boxed[category].astype(float), "objects"),
            ),
        )
