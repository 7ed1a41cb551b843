"""What answering without the video earns, per task: attackers and models, before and after what was removed for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.blind.rule import ANSWERED, BALANCE, Verdict
from pipeline.blind.summary import guessed
from pipeline.blind.text_only import Guessed, TextOnly, Voter
from pipeline.core.arrays import BoolArray, FloatArray


def text_only(
    asked: pa.Table, filtered: pa.Table, pruned: pa.Table | None, verdicts: Sequence[Verdict]
) -> list[TextOnly]:
    """One summary per task, in alphabetical order.

    Args:
        asked: all selected questions (`core.tables.QUESTIONS`), those that were removed for it included.
        filtered: `filtering.filtered` of them.
        pruned: the table of stage `prune` on what was not removed, or None where it did not run.
        verdicts: `rule.rule`; empty where no panel was asked.
    """
    scene = dict(zip(asked["id"].to_pylist(), asked["scene"].to_pylist(), strict=True))
    judged = {verdict.votes.task: verdict for verdict in verdicts}
    rows = []
    for task in sorted(set(filtered["task"].to_pylist())):
        mine = filtered.filter(pc.equal(filtered["task"], task))
        left = pruned.filter(pc.equal(pruned["question_type"], task)) if pruned is not None else None
        reasons = mine["reason"].to_pylist()
        verdict = judged.get(task)
        before = _guessed(mine, "asked", scene)
        if before is None:
            continue
        rows.append(
            TextOnly(
                task=task,
                asked=before,
                released=_guessed(mine, "left", scene),
                debiased=None if left is None else _guessed(left, "left", scene),
                voters={} if verdict is None else _voters(verdict),
                agreement=None if verdict is None else verdict.votes.agreement,
                answered=reasons.count(ANSWERED),
                balanced=reasons.count(BALANCE),
                by_luck=0.0 if verdict is None else verdict.by_luck,
            )
        )
    return rows


def _guessed(table: pa.Table, column: str, scene: Mapping[int, str]) -> Guessed | None:
    """Figures from a column of scores, of the questions that have them."""
    rows = [
        (i, dict(scores))
        for i, scores in zip(*table.select(["id", column]).to_pydict().values(), strict=True)
        if scores
    ]
    if not rows:
        return None
    names = dict.fromkeys(name for _, scores in rows for name in scores)
    found: dict[str, FloatArray] = {name: np.array([scores.get(name, np.nan) for _, scores in rows]) for name in names}
    return guessed([scene[i] for i, _ in rows], found)


def _voters(verdict: Verdict) -> dict[str, Voter]:
    stays: BoolArray = np.array([reason is None for reason in verdict.reasons])
    return {
        model: Voter(
            right=float(ballot.right.mean()),
            right_released=float(ballot.right[stays].mean()) if stays.any() else None,
            luck=verdict.luck[model],
            standing=verdict.standing[model],
            unanswered=ballot.failed,
            unread=ballot.unread,
        )
        for model, ballot in verdict.votes.ballots.items()
    }
