"""Applies blind filtering, and proves that it leaves no more bias than it found.

Removing the questions that guesses get right makes the rest guessable where the guesses are all alike: once the rights
are gone, "left" is the answer. So every attacker is tried on the questions before and after, on folds that took no part
in the choice, and a task that became easier to guess fails the stage.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.blind.attack import FOREST, SCORES, attack, guessed, score_column, scores_in, standard_error
from pipeline.blind.fine_tuned import FineTunedScores
from pipeline.blind.forest import on_all_cores
from pipeline.blind.items import UNSEEN, BlindItem, folds_of, item_of, items_of, question_rows, shards_of, with_company
from pipeline.blind.priors import by_frequency
from pipeline.blind.rule import ANSWERED, BALANCE, VERDICTS, TaskVerdict, verdict_table
from pipeline.blind.totals import GuessScores, ModelVotes, TextOnly
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
        pa.field("choices", SCORES),  # the same, of numbers that are chosen among their choices; null: nothing else
    ]
)


SCORED: Final = FILTERED.names[len(VERDICTS) :]
NO_VERDICTS: Final = VERDICTS.empty_table()
Tuned = Callable[[Sequence[BlindItem], IntArray], FineTunedScores]


def filtered(
    questions: pa.Table, verdicts: Sequence[TaskVerdict], waiting: pa.Table = NO_VERDICTS, tuned: Tuned | None = None
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
    asked = questions.filter(pc.invert(pc.is_in(questions["id"], waiting["id"].combine_chunks())))
    judged = verdict_table(verdicts) if verdicts else _unjudged(asked)
    parts = []
    for unsorted in shards_of(asked):
        shard = unsorted.sort_by("id")
        items = items_of(shard)
        table = judged.filter(pc.is_in(judged["id"], shard["id"].combine_chunks()))
        stays = pc.is_null(table["reason"]).to_numpy()
        left = [item for item, mine in zip(items, stays.tolist(), strict=True) if mine]
        with on_all_cores(len(items)) as run:
            before = attack(items, run)
            if tuned:
                found = tuned(items, folds_of([item.group for item in items], dealing=UNSEEN[0]))
                before[found.name] = found.earned
            known = {name: scores[stays] for name, scores in before.items()}
            after = before if len(left) == len(items) else attack(left, run, informed=known)
            chosen = {
                row["id"]: item_of(row, among_choices=True)
                for row, item, mine in zip(question_rows(shard), items, stays.tolist(), strict=True)
                if mine and row["choices"] and not item.options
            }
            of_choices = attack(with_company(chosen.values()), run)
        among = np.array([item.id in chosen for item in items], dtype=bool)
        for name, mine, scores in zip(
            SCORED, (np.ones_like(stays), stays, among), (before, after, of_choices), strict=True
        ):
            table = table.append_column(name, score_column(scores, mine))
        parts.append(table)
    for name in SCORED:
        waiting = waiting.append_column(name, pa.nulls(len(waiting), parts[-1][name].type))
    table = pa.concat_tables([*parts, waiting]).sort_by("id")
    _check(table, asked)
    return table


def _unjudged(questions: pa.Table) -> pa.Table:
    rows, n = questions.select(["id", "task"]).sort_by("id"), len(questions)
    nothing = [pa.repeat(pa.scalar(0, pa.int32()), n)] * 2 + [pa.nulls(n, field.type) for field in list(VERDICTS)[4:]]
    return pa.table([*rows.columns, *nothing], VERDICTS)


def _check(table: pa.Table, questions: pa.Table) -> None:
    """Compares the forest, and the best attacker before with the best after: another may be the best by then."""
    worse = []
    table = table.filter(pc.is_valid(table["asked"]))
    for task in sorted(pc.unique(table["task"]).to_pylist()):
        mine = table.filter(pc.equal(table["task"], task))
        left = mine.filter(pc.is_valid(mine["left"]))
        if len(left) in (len(mine), *range(FLOOR)):
            continue
        was = {name: scores for name, scores in scores_in(mine["asked"]).items() if not np.isnan(scores).any()}
        now = {name: scores for name, scores in scores_in(left["left"]).items() if name in was}
        groups, groups_left = (_groups(rows["id"], questions) for rows in (mine, left))
        for one, other in {(FOREST, FOREST), (_best(was), _best(now))}:
            errors = (standard_error(was[one], groups) or 0.0, standard_error(now[other], groups_left) or 0.0)
            noise = math.hypot(*errors)
            if now[other].mean() > was[one].mean() + MAX_MORE + ERRORS * noise:
                worse.append(f"{task}: {one} {was[one].mean():.3f} -> {other} {now[other].mean():.3f} ± {noise:.3f}")
    if worse:
        raise BiasError(
            "blind filtering made what is left easier to guess without the video: "
            + "; ".join(sorted(worse))
            + ". Ask more or other models, or set blind.remove: none and leave the removal to pruning"
        )


def _groups(ids: pa.ChunkedArray, questions: pa.Table) -> list[str]:
    rows = questions.select(["scene", "group"]).take(pc.index_in(ids, questions["id"].combine_chunks()))
    return [f"{scene}#{group}" for scene, group in zip(*rows.to_pydict().values(), strict=True)]


def _best(scores: dict[str, FloatArray]) -> str:
    return max(scores, key=lambda name: (scores[name].mean(), name))


def text_only(
    asked: pa.Table, filtered: pa.Table, pruned: pa.Table | None, verdicts: Sequence[TaskVerdict]
) -> list[TextOnly]:
    """One summary per task, in alphabetical order.

    Args:
        asked: all selected questions (`core.tables.QUESTIONS`), those that were removed for it included.
        filtered: `filtering.filtered` of them.
        pruned: the table of stage `prune` on what was not removed, or None where it did not run.
        verdicts: `rule.rule`; empty where no panel was asked.
    """
    judged = {verdict.votes.task: verdict for verdict in verdicts}
    rows = []
    for task in sorted(set(filtered["task"].to_pylist())):
        mine = filtered.filter(pc.equal(filtered["task"], task))
        left = pruned.filter(pc.equal(pruned["question_type"], task)) if pruned is not None else None
        reasons = mine["reason"].to_pylist()
        verdict = judged.get(task)
        before = _guessed(mine, "asked", asked)
        if before is None:
            continue
        rows.append(
            TextOnly(
                task=task,
                asked=before,
                released=_guessed(mine, "left", asked),
                debiased=None if left is None else _guessed(left, "left", asked),
                choices=_guessed(mine, "choices", asked),
                voters={} if verdict is None else _voters(verdict),
                agreement=None if verdict is None else verdict.votes.agreement,
                answered=reasons.count(ANSWERED),
                balanced=reasons.count(BALANCE),
                by_luck=0.0 if verdict is None else verdict.by_luck,
            )
        )
    return rows


def _guessed(table: pa.Table, column: str, asked: pa.Table) -> GuessScores | None:
    """Figures from a column of scores, of the questions that have them."""
    table = table.filter(pc.is_valid(table[column]))
    if not len(table):
        return None
    names = ["scene", "ground_truth", "answer", "choice"]
    rows = asked.select([*names, "options"]).take(pc.index_in(table["id"], asked["id"].combine_chunks()))
    scenes, truths, answers, choices = (rows[name].to_pylist() for name in names)
    shown = pc.greater(pc.fill_null(pc.list_value_length(rows["options"]), 0), 0).to_pylist()
    letters = [
        truth if has else choice or answer
        for has, truth, choice, answer in zip(shown, truths, choices, answers, strict=True)
    ]
    numbers = column != "choices" and not any(shown) and all(map(is_number, answers))
    figures = guessed(scenes, scores_in(table[column]))
    frequency = by_frequency(None if numbers else letters, answers)
    return figures.model_copy(update={"frequency": frequency})


def _voters(verdict: TaskVerdict) -> dict[str, ModelVotes]:
    stays: BoolArray = np.array([reason is None for reason in verdict.reasons])
    return {
        model: ModelVotes(
            asked=int(ballot.was_asked.sum()),
            right=float(ballot.right[ballot.was_asked].mean()),
            right_released=float(ballot.right[left].mean()) if (left := stays & ballot.was_asked).any() else None,
            luck=verdict.chance_accuracy[model],
            standing=verdict.standing[model],
            unanswered=ballot.failed,
            unread=ballot.unread,
        )
        for model, ballot in verdict.votes.ballots.items()
        if ballot.was_asked.any()
    }
