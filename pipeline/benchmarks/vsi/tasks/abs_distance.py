"""object_abs_distance: metres between the closest points of two objects."""

from __future__ import annotations

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray
from pipeline.core.templates import Operands
from pipeline.questions.arrays import Answers, ArrayTask, format_numbers
from pipeline.questions.rules import Fact, check
from pipeline.questions.task import Number


class AbsDistance(ArrayTask[ScanView]):
    """Operands: two unique categories in alphabetical order. Truth: closest-point distance, one decimal (B.1)."""

    name = "object_abs_distance"
    share = 1
    template = "vsi/object_abs_distance"
    roles = ("first", "second")
    slots = ("unique", "unique")
    form: Number = Number(decimals=1, unit="m", usual=3.5, slopes=(1, 3))  # 589 pairs of 122 scenes

    def operands(self, view: ScanView) -> IntArray:
        """Every unordered pair of unique categories, (n, 2)."""
        unique = view.usable("unique")
        first, second = np.triu_indices(len(unique), k=1)
        return np.stack([unique[first], unique[second]], axis=1)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The distance by the profile's metric."""
        first, second = operands.T
        distance = view.distance_m[first, second]
        return Answers(
            truth=format_numbers(distance, self.form),
            checks=(check("objects_too_close", distance, ">=", view.rules.abs_distance_min_m, "m"),),
            facts=(Fact("distance", view.pair_names(first, second), distance, "m"),),
        )

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """Either order of the two is one question."""
        return tuple(sorted((str(fields["first"]), str(fields["second"]))))
