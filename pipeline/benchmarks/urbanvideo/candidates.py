"""All candidate questions of a flight as one table: every row is asked for, or carries the reason why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.urbanvideo.cases import Case, UrbanTask
from pipeline.core.errors import TemplateError
from pipeline.core.identity import question_ids
from pipeline.core.schema import Rejection
from pipeline.core.tables import CANDIDATES
from pipeline.core.templates import load_template
from pipeline.worlds.flight.view import FlightView

SIGHT_UNKNOWN: Final = "sight_unknown"  # flag: it is not known whether the video shows the landmarks


def urban_candidates(view: FlightView, tasks: Sequence[UrbanTask]) -> pa.Table:
    """Every candidate of every task, in the order of the tasks; see `CANDIDATES`.

    A task of which nothing can be asked about the flight has one row, with role "scene". Tasks that only a model
    answers have none.
    """
    rows: list[dict[str, Any]] = []
    for task in tasks:
        if not task.facts:
            continue
        obstacle = task.obstacle(view)
        if obstacle is not None:
            rows.append(_refused(view, task, obstacle))
            continue
        cases = _each_once(task.cases(view))
        if not cases:
            nothing = Rejection(reason="nothing_to_ask_about", measured=0, limit=1, unit="candidates")
            rows.append(_refused(view, task, nothing))
        ids = question_ids(view.scene.id, task.name, task.template, [case.operands for case in cases])
        rows += [_row(view, task, case, number) for case, number in zip(cases, ids, strict=True)]
    return pa.Table.from_pylist(rows, schema=CANDIDATES)


def _each_once(cases: Iterable[Case]) -> list[Case]:
    """The candidates; those of equal operands (times that round to one second) as one that is refused."""
    found: dict[tuple[str, ...], Case] = {}
    count: Counter[tuple[str, ...]] = Counter()
    for case in cases:
        count[case.operands] += 1
        found.setdefault(case.operands, case)
    for operands, case in found.items():
        if count[operands] > 1:
            case.refuse("reads_in_two_ways", count[operands], 1, "candidates")
    return list(found.values())


def _refused(view: FlightView, task: UrbanTask, obstacle: Rejection) -> dict[str, Any]:
    (number,) = question_ids(view.scene.id, task.name, task.template, [("scene", view.scene.name)])
    return {
        "id": number,
        "scene": view.scene.id,
        "task": task.name,
        "role": "scene",
        "operands": [view.scene.name],
        **_reason(obstacle),
    }


def _row(view: FlightView, task: UrbanTask, case: Case, number: int) -> dict[str, Any]:
    refusal = case.refusal or _unreadable(task, case)
    row: dict[str, Any] = {"id": number, "scene": view.scene.id, "task": task.name, "operands": list(case.operands)}
    if refusal is not None:
        return row | _reason(refusal)
    flags = [SIGHT_UNKNOWN] if "places" in task.needs and not view.seen_known else None
    return row | {"answer": case.answer, "wrong": case.wrong, "evidence": case.evidence, "flags": flags}


def _unreadable(task: UrbanTask, case: Case) -> Rejection | None:
    """A name that would make the question read in two ways, such as one that contains the words around it."""
    try:
        load_template(task.template).render(task.fields(case.operands, None))
    except TemplateError:
        return Rejection(reason="reads_in_two_ways", measured=None, limit=None, unit=None)
    return None


def _reason(refusal: Rejection) -> dict[str, Any]:
    return {
        "reason": refusal.reason,
        "measured": refusal.measured,
        "limit": refusal.limit,
        "unit": refusal.unit,
    }
