"""Tasks that measure: how many there are, how large an object or the room is, how far apart two objects are."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.arrays import Answers, ArrayTask, format_numbers
from pipeline.questions.rules import Check, Fact, check
from pipeline.questions.task import Number

# A scan that shows the furniture of two kinds of room is open-plan or several rooms: "this room" is then a matter
# of reading, although the question says to take the combined space. Such questions are flagged, not dropped.
ROOM_KINDS: Final[dict[str, frozenset[str]]] = {
    "bathroom": frozenset({"toilet", "bathtub", "shower", "shower curtain", "bidet"}),
    "bedroom": frozenset({"bed", "nightstand", "crib"}),
    "kitchen": frozenset({"stove", "oven", "dishwasher", "refrigerator", "kitchen counter", "kitchen cabinet"}),
    "living room": frozenset({"sofa", "couch", "coffee table", "fireplace"}),
    "office": frozenset({"whiteboard", "printer", "copier", "computer tower"}),
}
ONE_ROOM: Final = 1


class RoomSize(ArrayTask[ScanView]):
    """No operand. Truth: area in square metres, one decimal (VSI-Bench B.1: alpha shape of the scan's points)."""

    name = "room_size_estimation"
    share = 1
    template = "vsi/room_size_estimation"
    roles = ()
    slots = ()
    form: Number = Number(decimals=1, unit="m2", usual=17.0, slopes=(3, 3))  # of 122 scans

    def obstacle(self, view: ScanView) -> Rejection | None:
        """A room that was not measured, or whose measurement is doubtful, is never asked about."""
        if view.scene.facts.room.area_m2 is None:
            return Rejection(reason="room_not_measured", measured=None, limit=None, unit="m2")
        doubt = view.doubt("room")
        if doubt is None:
            return None
        return Rejection(reason=doubt.name, measured=doubt.measured, limit=doubt.limit, unit=doubt.unit)

    def operands(self, view: ScanView) -> IntArray:
        """One candidate without operands, (1, 0), where the room was measured."""
        return np.empty((int(self.obstacle(view) is None), 0), dtype=np.intp)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The area as the source measured it."""
        n = len(operands)
        area = view.scene.facts.room.area_m2
        measured = np.full(n, np.nan if area is None else area)
        kinds = room_kinds(view)
        flag = "open_plan" if len(kinds) > ONE_ROOM else ""
        subject = np.full(n, ", ".join(kinds) or "none", dtype=object)
        return Answers(
            truth=format_numbers(measured, self.form),
            checks=(),
            facts=(
                Fact("room_area", np.full(n, "room", dtype=object), measured, "m2"),
                Fact("room_kinds", subject, np.full(n, float(len(kinds))), "kinds"),
            ),
            flags=np.full(n, flag, dtype=object),
        )


def room_kinds(view: ScanView) -> list[str]:
    """The kinds of room whose furniture the scene holds, sorted."""
    present = set(view.categories)
    return [kind for kind, furniture in sorted(ROOM_KINDS.items()) if furniture & present]


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
