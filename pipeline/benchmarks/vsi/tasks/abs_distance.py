"""object_abs_distance: metres between the closest points of two objects."""

from __future__ import annotations

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.arrays import Answers, Fact, Number, check, format_numbers
from pipeline.worlds.indoor.view import SceneView, Slot


class AbsDistance:
    """Operands: two unique categories in alphabetical order. Truth: closest-point distance, one decimal (B.1)."""

    name = "object_abs_distance"
    version = 1
    template = "vsi/object_abs_distance"
    roles: tuple[str, ...] = ("first", "second")
    slots: tuple[Slot, ...] = ("unique", "unique")
    number = Number(decimals=1, unit="m")

    def obstacle(self, view: SceneView) -> Rejection | None:
        """See `Task.obstacle`."""
        return None

    def operands(self, view: SceneView) -> IntArray:
        """Every unordered pair of unique categories, (n, 2)."""
        unique = view.usable("unique")
        first, second = np.triu_indices(len(unique), k=1)
        return np.stack([unique[first], unique[second]], axis=1)

    def answer(self, view: SceneView, operands: IntArray) -> Answers:
        """The distance by the profile's metric."""
        first, second = operands.T
        distance = view.distance_m[first, second]
        return Answers(
            truth=format_numbers(distance, self.number),
            checks=(check("objects_too_close", distance, ">=", view.rules.abs_distance_min_m, "m"),),
            facts=(Fact("distance", view.pair_names(first, second), distance, "m"),),
        )

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """See `Task.labels`."""
        return ()

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """See `Task.fields`."""
        return {"first": operands[0], "second": operands[1]}

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """See `Task.canonical`."""
        return tuple(sorted((str(fields["first"]), str(fields["second"]))))
