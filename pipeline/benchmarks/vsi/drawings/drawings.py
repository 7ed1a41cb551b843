"""The drawings of all tasks of VSI-Bench."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.benchmark import Drawings, Footage
from pipeline.benchmarks.vsi.drawings.directions import direction
from pipeline.benchmarks.vsi.drawings.lengths import distance, nearest, size
from pipeline.benchmarks.vsi.drawings.plan import Drawn, Named, Plan
from pipeline.benchmarks.vsi.drawings.rooms import area, counts
from pipeline.benchmarks.vsi.drawings.routes import route
from pipeline.benchmarks.vsi.drawings.times import order
from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.video_form import VideoForm
from pipeline.drawing.sheet import MOST_STILLS, Part, Sheet, Still

_OF_TASK: Final[dict[str, Callable[[Plan, Mapping[str, Any]], Drawn]]] = {
    "object_counting": counts,
    "object_size_estimation": size,
    "room_size_estimation": area,
    "object_abs_distance": distance,
    "object_rel_distance": nearest,
    "object_rel_direction_easy": direction,
    "object_rel_direction_medium": direction,
    "object_rel_direction_hard": direction,
    "obj_appearance_order": order,
    "route_planning": route,
}


def draw(
    view: ScanView, questions: Iterable[Mapping[str, Any]], footage: Footage | None
) -> Iterator[tuple[int, Sheet]]:
    """Question -> what is drawn of it."""
    plan = Plan(view, footage.form if footage else VideoForm())
    for row in questions:
        drawn = _OF_TASK[row["task"]](plan, row)
        parts = [Part(drawn.map, plan.ground.told()), *drawn.parts]
        stills = _stills(plan, drawn.named, footage) if footage else ()
        yield int(row["id"]), Sheet(f"{row['task']}: {row['text']}", parts, drawn.notes, stills)


def _stills(plan: Plan, named: Sequence[Named], footage: Footage) -> list[Still]:
    """The picture that shows each object best, those of one second as one; the first few."""
    by_second: dict[float, list[Named]] = {}
    for one in dict.fromkeys(named):
        if one.second is not None:
            by_second.setdefault(one.second, []).append(one)
    stills = []
    for second, shown in list(by_second.items())[:MOST_STILLS]:
        lines = plan.cameras.lines(second, plan.view.boxes.take(np.array([one.index for one in shown])))
        marks = [(one.kind, edges, one.name) for one, edges in zip(shown, lines, strict=True)]
        caption = f"{second:.1f} s: {', '.join(one.name for one in shown)}"
        stills.append(Still(second, plan.cameras.content(footage(second)), caption, marks))
    return stills


DRAWINGS: Final = Drawings(module=__name__, draw=draw)
