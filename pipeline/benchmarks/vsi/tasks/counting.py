"""object_counting: how many instances of a category are in the room."""

from __future__ import annotations

from pipeline.core.arrays import IntArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.arrays import Answers, Fact, Number, check, format_numbers
from pipeline.worlds.indoor.view import SceneView, Slot


class ObjectCounting:
    """Operand: a category. Truth: the number of its instances (VSI-Bench B.1: not asked below 2)."""

    name = "object_counting"
    version = 1
    template = "vsi/object_counting"
    roles: tuple[str, ...] = ("category",)
    slots: tuple[Slot, ...] = ("counted",)
    number = Number(decimals=0, unit="objects")

    def obstacle(self, view: SceneView) -> Rejection | None:
        """See `Task.obstacle`."""
        return None

    def operands(self, view: SceneView) -> IntArray:
        """Every category whose count can be relied on, (n, 1)."""
        return view.usable("counted")[:, None]

    def answer(self, view: SceneView, operands: IntArray) -> Answers:
        """The count; evidence is the stated count beside the number of boxes."""
        category = operands[:, 0]
        count = view.count[category].astype(float)
        names = view.categories[category]
        return Answers(
            truth=format_numbers(count, self.number),
            checks=(check("too_few_instances", count, ">=", view.rules.min_count, "objects"),),
            facts=(
                Fact("stated_count", names, count, "objects"),
                Fact("boxes", names, view.boxed[category].astype(float), "objects"),
            ),
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
