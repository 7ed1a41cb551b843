"""Applies blind filtering, and proves that it leaves no more bias than it found.

Removing the questions that guesses get right makes the rest guessable where the guesses are all alike: once the rights
are gone, "left" is the answer. So every attacker is tried on the questions before and after, on folds that took no part
in the choice, and a task that became easier to guess fails the stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.blind.attack import FOREST, SCORES, attack, guessed, score_column, standard_error
from pipeline.blind.fine_tuned import FineTunedScores
from pipeline.blind.forest import on_all_cores
from pipeline.blind.items import UNSEEN, BlindItem, folds_of, items_of, shards_of
from pipeline.blind.priors import by_frequency
from pipeline.blind.rule import ANSWERED, BALANCE, VERDICTS, Verdict, verdict_table
from pipeline.blind.text_only import Guessed, TextOnly, Voter
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import BiasError
from pipeline.questions.choices import is_number

MAX_MORE: Final = 0.01  # score that an attacker may gain
ERRORS: Final = 2.0  # and standard errors of the difference besides: figures of a few questions move by themselves
FLOOR: Final = 10  # questions; fewer tell nothing

FILTERED: Final = pa.schema(
    [
        *VERDICTS,
        pa.field("asked", SCORES),  # what attackers earn on it among all questions
        pa.field("left", SCORES),  # among those that stay; null: it is removed
    ]
)


NO_VERDICTS: Final = VERDICTS.empty_table()
Tuned = Callable[[Sequence[BlindItem], IntArray], FineTunedScores]


def filtered(
    questions: pa.Table, verdicts: Sequence[Verdict], waiting: pa.Table = NO_VERDICTS, tuned: Tuned | None = None
) -> pa.Table:
    """The verdict on every question and what attackers earn on it before and after (`FILTERED`), by id.

    Args:
        questions: all that were selected (`core.tables.QUESTIONS`).
        verdicts: `rule.rule`; empty where no panel was asked, and nothing is removed.
        waiting: `rule.pending`; these are in neither of the two, and nothing is earned on them.
        tuned: fine-tunes an attacker (`fine_tuned.fine_tuned`) on all questions, whatever is removed of them.

    Raises:
        BiasError: what stays of a task is easier to guess than it was.
    """
    held = set(waiting["id"].to_pylist())
    judged = verdict_table(verdicts) if verdicts else _unjudged(questions, held)
    parts, compared = [], []
    for shard in shards_of(questions):
        items = sorted((item for item in items_of(shard) if item.id not in held), key=lambda item: int(item.id))
        table = judged.filter(pc.is_in(judged["id"], pa.array([item.id for item in items], pa.int64())))
        stays = np.array([reason is None for reason in table["reason"].to_pylist()], dtype=np.bool_)
        left = [item for item, mine in zip(items, stays.tolist(), strict=True) if mine]
        with on_all_cores(len(items)) as run:
            before = attack(items, run)
            if tuned:
                found = tuned(items, folds_of([item.group for item in items], dealing=UNSEEN[0]))
                before[found.name] = found.earned
            known = {name: scores[stays] for name, scores in before.items()}
            after = before if len(left) == len(items) else attack(left, run, informed=known)
        compared.append(_Compared([item.task for item in items], [item.group for item in items], stays, before, after))
        ids = table["id"].to_pylist()
        for name, members, scores in (("asked", items, before), ("left", left, after)):
            table = table.append_column(FILTERED.field(name), score_column(ids, members, scores))
        parts.append(table)
    _check(compared)
    for name in ("asked", "left") if held else ():
        waiting = waiting.append_column(FILTERED.field(name), pa.nulls(waiting.num_rows, SCORES))
    parts += [waiting] if held else []
    return parts[0] if len(parts) == 1 else pa.concat_tables(parts).sort_by("id").combine_chunks()


def _unjudged(questions: pa.Table, held: Set[int]) -> pa.Table:
    rows = [
        {"id": row["id"], "task": row["task"], "voters": 0, "right": 0}
        for row in questions.select(["id", "task"]).sort_by("id").to_pylist()
        if row["id"] not in held
    ]
    return pa.Table.from_pylist(rows, schema=VERDICTS)


class _Compared(NamedTuple):
    """The questions (n,) of a shard: which of them stay, and what attackers earn on all (n,) and on these."""

    tasks: Sequence[str]
    groups: Sequence[str]
    stays: BoolArray
    before: Mapping[str, FloatArray]
    after: Mapping[str, FloatArray]


def _check(shards: Sequence[_Compared]) -> None:
    """Compares the forest, and the best attacker before with the best after: another may be the best by then."""
    tasks, groups = (np.array(list(chain.from_iterable(parts))) for parts in list(zip(*shards, strict=True))[:2])
    stays = np.concatenate([shard.stays for shard in shards])
    worse = []
    for task in np.unique(tasks).tolist():
        mine, left = tasks == task, tasks[stays] == task
        if left.sum() in (mine.sum(), *range(FLOOR)):
            continue
        was, now = (
            {name: np.concatenate([scores[name] for scores in found])[rows] for name in found[0]}
            for found, rows in (([s.before for s in shards], mine), ([s.after for s in shards], left))
        )
        was = {name: scores for name, scores in was.items() if not np.isnan(scores).any()}
        now = {name: now[name] for name in was}
        for one, other in {(FOREST, FOREST), (_best(was), _best(now))}:
            errors = [
                standard_error(scores, groups[rows].tolist()) or 0.0
                for scores, rows in ((was[one], mine), (now[other], mine & stays))
            ]
            noise = math.hypot(*errors)
            if now[other].mean() > was[one].mean() + MAX_MORE + ERRORS * noise:
                worse.append(f"{task}: {one} {was[one].mean():.3f} -> {other} {now[other].mean():.3f} ± {noise:.3f}")
    if worse:
        raise BiasError(
            "blind filtering made what is left easier to guess without the video: "
            + "; ".join(sorted(worse))
            + ". Ask more or other models, or set blind.remove: none and leave the removal to pruning"
        )


def _best(scores: dict[str, FloatArray]) -> str:
    return max(scores, key=lambda name: (scores[name].mean(), name))


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
    known = {row["id"]: row for row in asked.select(["id", "scene", *_ANSWERS]).to_pylist()}
    judged = {verdict.votes.task: verdict for verdict in verdicts}
    rows = []
    for task in sorted(set(filtered["task"].to_pylist())):
        mine = filtered.filter(pc.equal(filtered["task"], task))
        left = pruned.filter(pc.equal(pruned["question_type"], task)) if pruned is not None else None
        reasons = mine["reason"].to_pylist()
        verdict = judged.get(task)
        before = _guessed(mine, "asked", known)
        if before is None:
            continue
        rows.append(
            TextOnly(
                task=task,
                asked=before,
                released=_guessed(mine, "left", known),
                debiased=None if left is None else _guessed(left, "left", known),
                voters={} if verdict is None else _voters(verdict),
                agreement=None if verdict is None else verdict.votes.agreement,
                answered=reasons.count(ANSWERED),
                balanced=reasons.count(BALANCE),
                by_luck=0.0 if verdict is None else verdict.by_luck,
            )
        )
    return rows


_ANSWERS: Final = ("options", "ground_truth", "answer", "choice")


def _guessed(table: pa.Table, column: str, known: Mapping[int, Mapping[str, Any]]) -> Guessed | None:
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
    own = [known[i] for i, _ in rows]
    answers = [row["answer"] for row in own]
    letters = [row["ground_truth"] if row["options"] else row["choice"] or row["answer"] for row in own]
    numbers = all(not row["options"] and is_number(row["answer"]) for row in own)
    figures = guessed([row["scene"] for row in own], found)
    frequency = by_frequency(None if numbers else letters, answers)
    return figures.model_copy(update={"frequency": frequency})


def _voters(verdict: Verdict) -> dict[str, Voter]:
    stays: BoolArray = np.array([reason is None for reason in verdict.reasons])
    return {
        model: Voter(
            asked=int(ballot.asked.sum()),
            right=float(ballot.right[ballot.asked].mean()),
            right_released=float(ballot.right[left].mean()) if (left := stays & ballot.asked).any() else None,
            luck=verdict.luck[model],
            standing=verdict.standing[model],
            unanswered=ballot.failed,
            unread=ballot.unread,
        )
        for model, ballot in verdict.votes.ballots.items()
        if ballot.asked.any()
    }
