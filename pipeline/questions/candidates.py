"""All candidate questions of a scene as one table: every row is asked for, or carries the reason why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import BoolArray, IntArray, StrArray
from pipeline.core.identity import question_ids
from pipeline.core.tables import CANDIDATES, EVIDENCE
from pipeline.questions.arrays import Answers, Task
from pipeline.worlds.indoor.view import SceneView, Slot

DECIMALS: Final = 6  # of numbers in tables: a micrometre, and well above what processors round differently
# A number that is written as 0: no relative accuracy can be given to an answer to it, and scorers divide by it.
WRITTEN_ZEROS: Final = frozenset({"0", "0.0"})


def candidates(view: SceneView, tasks: Sequence[Task]) -> pa.Table:
    """Every candidate of every task, in the order of the tasks; see `CANDIDATES`."""
    parts = [CANDIDATES.empty_table()]
    for task in tasks:
        parts.append(_refused(view, task))
        if task.obstacle(view) is None:
            parts.append(_answered(view, task))
    return pa.concat_tables(parts)


def _answered(view: SceneView, task: Task) -> pa.Table:
    operands = task.operands(view)
    answers = task.answer(view, operands)
    n = len(operands)
    failed, reasons = verdicts(answers, n)
    kept = failed < 0
    names = (
        [tuple(view.categories[row[row >= 0]]) for row in operands]
        if (operands < 0).any()
        else view.categories[operands].tolist()
    )
    return _table(
        view,
        task,
        n,
        id=question_ids(view.scene.id, task.name, task.template, names),
        operands=_lists(view.categories[operands[operands >= 0]], (operands >= 0).sum(1)),
        answer=pa.array(answers.truth, pa.string(), mask=~kept),
        visible_in=_visible_in(view, operands, kept),
        evidence=_evidence(answers, kept),
        flags=_flags(answers, n),
        **reasons,
    )


def verdicts(answers: Answers, n: int) -> tuple[IntArray, dict[str, pa.Array]]:
    """The first failed check of each candidate, -1 for none, and its columns reason, measured, limit and unit."""
    failed = np.full(n, -1, dtype=np.intp)
    reason, unit = np.full(n, None, dtype=object), np.full(n, None, dtype=object)
    measured, limit = np.full(n, np.nan), np.full(n, np.nan)
    for number, check in enumerate(answers.checks):
        hit = (failed < 0) & ~check.ok
        failed[hit] = number
        reason[hit], unit[hit] = check.reason, check.unit
        measured[hit], limit[hit] = check.measured[hit], check.limit[hit]
    zero = (failed < 0) & np.array([truth in WRITTEN_ZEROS for truth in answers.truth], dtype=bool)
    failed[zero], reason[zero], measured[zero] = len(answers.checks), "answer_is_zero", 0.0
    return failed, {
        "reason": pa.array(reason, pa.string()),
        "measured": _numbers(measured),
        "limit": _numbers(limit),
        "unit": pa.array(unit, pa.string()),
    }


def _refused(view: SceneView, task: Task) -> pa.Table:
    """One row per role and category that cannot play it, so that no candidate is lost without a word."""
    rows = []
    obstacle = task.obstacle(view)
    if obstacle is not None:
        rows.append(("scene", view.scene.name, obstacle))
    roles: dict[str, Slot] = {} if obstacle else dict(zip(task.roles, task.slots, strict=True))
    for role, slot in roles.items():
        for category, name in enumerate(view.categories):
            problem = view.problem(category, slot)
            if problem is not None:
                rows.append((role, name, problem))
    return _table(
        view,
        task,
        len(rows),
        id=question_ids(view.scene.id, task.name, task.template, [(role, name) for role, name, _ in rows]),
        role=[role for role, _, _ in rows],
        operands=[[name] for _, name, _ in rows],
        reason=[p.reason for _, _, p in rows],
        measured=[p.measured for _, _, p in rows],
        limit=[p.limit for _, _, p in rows],
        unit=[p.unit for _, _, p in rows],
    )


def _table(view: SceneView, task: Task, n: int, **columns: object) -> pa.Table:
    columns |= {"scene": pa.repeat(view.scene.id, n), "task": pa.repeat(task.name, n)}
    arrays = [pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(n, f.type) for f in CANDIDATES]
    return pa.Table.from_arrays(arrays, schema=CANDIDATES)


def _evidence(answers: Answers, kept: BoolArray) -> pa.Array:
    """Facts and passed checks of the kept candidates; a rejected one carries its reason instead."""
    n = len(kept)
    nothing = np.full(n, np.nan)
    entries: list[tuple[Any, ...]] = [(f.name, f.subject, f.value, None, nothing, f.unit) for f in answers.facts]
    for rule in answers.checks:
        subject = np.full(n, "rule", dtype=object)
        entries.append((rule.reason, subject, rule.measured, rule.relation, rule.limit, rule.unit))
    if not entries:
        return pa.nulls(n, pa.list_(EVIDENCE))
    columns = list(zip(*entries, strict=True))

    def repeated(index: int) -> StrArray:
        return np.tile(np.array(columns[index], dtype=object), int(kept.sum()))

    def gathered(index: int) -> np.ndarray:
        return np.stack([column[kept] for column in columns[index]], axis=1).ravel()

    value = gathered(2)
    known = np.isfinite(value)  # a leg that a route does not have, or nothing at all in the way, is no number
    structs = pa.StructArray.from_arrays(
        [
            pa.array(repeated(0)[known], pa.string()),
            pa.array(gathered(1)[known], pa.string()),
            _numbers(value[known]),
            pa.array(repeated(3)[known], pa.string()),
            _numbers(gathered(4)[known]),
            pa.array(repeated(5)[known], pa.string()),
        ],
        fields=list(EVIDENCE),
    )
    length = np.zeros(n, dtype=np.intp)
    length[kept] = known.reshape(-1, len(entries)).sum(1)
    return _lists(structs, length, kept)


def _visible_in(view: SceneView, operands: IntArray, kept: BoolArray) -> pa.Array:
    """Frame budgets that show every object a question speaks of; null where the video was not examined."""
    if view.scene.facts.observation is None or operands.shape[1] == 0:
        return pa.nulls(len(kept), pa.list_(pa.int32()))
    shown = (view.shown_in[operands] | (operands < 0)[:, :, None]).all(1) & kept[:, None]
    budgets = np.broadcast_to(np.array(view.scene.facts.observation.budgets, dtype=np.int32), shown.shape)
    return _lists(pa.array(budgets[shown], pa.int32()), shown.sum(1), kept)


def _flags(answers: Answers, n: int) -> pa.Array:
    if answers.flags is None:
        return pa.nulls(n, pa.list_(pa.string()))
    present = answers.flags != ""
    return _lists(answers.flags[present], present.astype(np.intp), present)


def _lists(values: StrArray | pa.Array, lengths: IntArray, valid: BoolArray | None = None) -> pa.Array:
    """A list array of consecutive runs of ``values``; null where ``valid`` is False."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    mask = None if valid is None else pa.array(~valid)
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=mask)


def _numbers(values: np.ndarray) -> pa.Array:
    """Rounded to `DECIMALS`, NaN as null; + 0.0 turns -0.0 into 0.0."""
    return pa.array(np.round(values, DECIMALS) + 0.0, pa.float64(), from_pandas=True)
