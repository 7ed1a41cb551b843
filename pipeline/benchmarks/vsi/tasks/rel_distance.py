"""object_rel_distance: which of four categories is closest to an object."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.random import Generator

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray, StrArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.arrays import Answers, ArrayTask, CandidateSampler, untried
from pipeline.questions.rules import Fact, check


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


# How often an object of a category is the nearest of four, whatever it is near to: what someone without the video would
# go by. Made from the askable candidates of the 122 released scenes at hand, every scene alike
# (`python -m tests.benchmarks.vsi.nearness_table`).
OF_ANY: Final = 0.25  # of a category that is not known
NEAREST: Final[dict[str, float]] = {
    "backpack": 0.26,
    "basket": 0.31,
    "bed": 0.4,
    "blanket": 0.3,
    "bookshelf": 0.18,
    "bowl": 0.28,
    "ceiling light": 0.23,
    "chair": 0.38,
    "clock": 0.17,
    "closet": 0.09,
    "coat hanger": 0.19,
    "computer mouse": 0.13,
    "computer tower": 0.23,
    "counter": 0.39,
    "cup": 0.08,
    "cutting board": 0.34,
    "dishwasher": 0.07,
    "door": 0.24,
    "exhaust fan": 0.09,
    "fan": 0.12,
    "fireplace": 0.55,
    "headphones": 0.15,
    "heater": 0.29,
    "kettle": 0.12,
    "keyboard": 0.13,
    "lamp": 0.15,
    "laptop": 0.15,
    "microwave": 0.04,
    "mirror": 0.3,
    "monitor": 0.36,
    "nightstand": 0.16,
    "pan": 0.35,
    "paper bag": 0.08,
    "pillow": 0.14,
    "plant": 0.14,
    "printer": 0.13,
    "radiator": 0.1,
    "refrigerator": 0.2,
    "shoe rack": 0.21,
    "shoes": 0.24,
    "sofa": 0.19,
    "stool": 0.25,
    "stove": 0.25,
    "suitcase": 0.15,
    "table": 0.37,
    "table lamp": 0.15,
    "telephone": 0.09,
    "toilet": 0.19,
    "towel": 0.43,
    "trash bin": 0.32,
    "trash can": 0.35,
    "tv": 0.19,
    "washer": 0.45,
    "whiteboard": 0.32,
    "window": 0.11,
}
