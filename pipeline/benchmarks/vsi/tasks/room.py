"""room_size_estimation: the floor area of the scanned space."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import IntArray
from pipeline.core.schema import Rejection
from pipeline.questions.arrays import Answers, ArrayTask, format_numbers
from pipeline.questions.rules import Fact
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
