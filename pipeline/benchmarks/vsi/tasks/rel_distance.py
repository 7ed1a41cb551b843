"""object_rel_distance: which of four categories is closest to an object."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.random import Generator

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray, StrArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands, load_table
from pipeline.questions.arrays import Answers, ArrayTask, CandidateSampler, untried
from pipeline.questions.rules import Fact, check

OF_ANY: Final = 0.25  # of a category that is not known
# How often an object of a category is the nearest of four, whatever it is near to.
NEAREST: Final[dict[str, float]] = load_table("indoor/nearest")


class RelDistance(ArrayTask[ScanView]):
    """Operands: a unique primary object and n other categories in alphabetical order. Truth: the nearest category.

    Of a category with several instances the nearest one counts (VSI-Bench B.1). Rejected when the nearest is too
    close to tell from touching, or when any two distances are too close to each other; in rooms over 40 m² `strict`
    asks for twice the gap, and also where the area is unknown. Of a scene's candidates those are asked in which what is
    usually near is right no more often than what is usually far (`NEAREST`).
    """

    name = "object_rel_distance"
    share = 1
    template = "vsi/object_rel_distance"
    leak_group = "nearest"

    def __init__(self, choices: int = 4) -> None:
        self.choices = choices
        self.roles = ("primary", *["choice"] * choices)
        self.slots = ("unique", *["boxed"] * choices)

    def operands(self, view: ScanView) -> IntArray:
        """Every unique primary with every set of other categories, (n, 1 + choices); many are drawn from (`tuples`)."""
        return self._among(view).tuples()

    def untried(self, view: ScanView) -> Rejection | None:
        """See `ArrayTask.untried`."""
        among = self._among(view)
        return untried(among.total, among.formed)

    def _among(self, view: ScanView) -> CandidateSampler:
        scope, names = (view.scene.id, self.name), view.categories
        return CandidateSampler(scope, names, view.usable("unique"), view.usable("boxed"), self.choices)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The nearest choice; evidence is every distance and the smallest gap between two of them."""
        primary, choices = operands[:, :1], operands[:, 1:]
        distance = view.distance_m[primary, choices]
        ranked = np.sort(distance, axis=1)
        gap = np.diff(ranked, axis=1).min(1, initial=np.inf)  # an audit may meet a single choice
        labels = view.categories[choices]
        nearest = labels[np.arange(len(labels)), distance.argmin(1)]
        rules, area = view.rules, view.scene.facts.room.area_m2
        small_room = area is not None and area <= rules.large_room_m2
        limit = rules.gap_min_m if small_room else rules.gap_min_large_room_m
        return Answers(
            truth=nearest,
            checks=(
                check("nearest_too_close", ranked[:, 0], ">=", rules.nearest_min_m, "m"),
                check("distances_too_similar", gap, ">", limit, "m"),
            ),
            facts=tuple(
                Fact("distance", view.pair_names(primary[:, 0], choices[:, i]), distance[:, i], "m")
                for i in range(choices.shape[1])
            ),
        )

    def guess_classes(self, operands: StrArray, answers: StrArray, rng: Generator) -> IntArray:
        """How many of the choices are the nearest more often, in general, than the right one; counted down from a draw.

        Down: where none of the scene's candidates has what was drawn, the usual answer is not what takes its place.
        """
        names, index = np.unique(np.column_stack([answers, operands[:, 1:]]).astype(str), return_inverse=True)
        share = np.array([NEAREST.get(name, OF_ANY) for name in names])[index.reshape(len(answers), -1)]
        rank = (share[:, 1:] > share[:, :1]).sum(1)
        return np.asarray((rng.integers(self.choices) - rank) % self.choices)

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """The choices."""
        return operands[1:]

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The choices appear in the text in the order of the options."""
        return {"primary": operands[0], "choices": options or operands[1:]}

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """The choices in alphabetical order."""
        return (str(fields["primary"]), *sorted(fields["choices"]))
