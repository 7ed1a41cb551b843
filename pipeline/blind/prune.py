"""Iterative bias pruning (arXiv 2511.04655): the most guessable questions go, and the attackers are fitted again.

Some questions are guessable only because of others, so only a batch goes before the scores are made anew. Each round
deals the scenes to other folds: scores of one dealing are partly luck, and who removes by them round after round takes
away that luck and not the bias (of the released VSI-Bench, sizes were then guessed .17 on these folds and .33 on
others, orders of appearance .05 and so far below chance). What is left is the split ``debiased``; the full one stays.

Attackers come twice: fitted on what is left, and on all questions of the other folds. The former find what pruning
itself makes guessable; the latter forget nothing, as nobody does who has seen other releases (of a category of which
pruning leaves three, the former no longer know the usual size). Those that know all are the same in every round.

Which answer is used least (`LEAST`) is asked only of what is left. All questions are even by lots, and who knows four
fifths of them is right about the rest by luck; but what goes is what others guess, round after round, until the answers
are so even that each fold has more of what the others lack (of VSI-Bench 4 points in sizes compared).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ValidationError

from pipeline.blind.attack import (
    CHANCE,
    FEW,
    FOREST,
    SCORES,
    ForestScores,
    PreparedTask,
    attack,
    earned_by_all,
    prepared,
    score_column,
    scores_in,
    scores_of,
    standard_error,
    stress_table,
    stress_test,
    tasks_of,
)
from pipeline.blind.config import PruneConfig
from pipeline.blind.forest import Run, on_all_cores, run_here
from pipeline.blind.items import FOLDS, BlindItem, OptionRows, codes_of, folds_of, items_of, shards_of
from pipeline.blind.priors import CONSTANTS, by_frequency
from pipeline.blind.shortcut_attackers import LEAST
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.files import read_file

ROUNDS_FILE: Final = "pruning.jsonl"


class PruneRound(NamedTuple):
    """The removals of one round.

    Attributes:
        removed: ids of the questions that went.
        running: names of the tasks that are not done yet.
    """

    removed: tuple[int | str, ...]
    running: tuple[str, ...]


class _Line(BaseModel):
    key: str
    removed: tuple[int | str, ...]
    running: tuple[str, ...]


class PruneLog:
    """The rounds of one pruning, a line each.

    Args:
        path: their file.
        key: digest of all that the rounds follow from; lines with another key are of another pruning.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key

    def done(self) -> list[PruneRound]:
        """The rounds that are whole, in order. Raises OSError."""
        return list(self._lines())

    def add(self, removed: Sequence[int | str], running: Sequence[str]) -> None:
        """Keeps one more. Raises OSError."""
        line = json.dumps({"key": self._key, "removed": list(removed), "running": list(running)})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def begin(self) -> list[PruneRound]:
        """As `done`; what is of another pruning, or was cut in mid-line, is removed first. Raises OSError."""
        found = self.done()
        self._path.unlink(missing_ok=True)
        for one in found:
            self.add(one.removed, one.running)
        return found

    def end(self) -> None:
        """Forgets them, and those of all shards: the result is kept. Raises OSError."""
        for path in (self._path, *self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}")):
            path.unlink(missing_ok=True)

    def of_shard(self, number: int) -> PruneLog:
        """The rounds of one shard; the first has this file."""
        path = self._path
        return PruneLog(path.with_name(f"{path.stem}-{number}{path.suffix}"), self._key) if number else self

    def _lines(self) -> Iterator[PruneRound]:
        if not self._path.exists():
            return
        for raw in read_file(self._path).splitlines():
            try:
                line = _Line.model_validate_json(raw)
            except ValidationError:  # the write that the kill came into
                return
            if line.key != self._key:
                return
            yield PruneRound(line.removed, line.running)


FLOOR: Final = 10  # questions that every task keeps, or none
FEWEST_NUMBERS: Final = 5  # so few may go together; options are too often guessed by luck where there are so few
LIMIT: Final = 1.0  # standard errors above chance at which a task is done
CLEAR: Final = 2.5  # standard errors above chance up to which one dealing is not enough to tell
DRAWS: Final = 5  # dealings that are then looked at
STEP: Final = 0.5  # of what has to go, as far as one round can tell: the rest may be its luck
_EXACT: Final = 1e-9  # a standard error of nothing would divide by nothing
SHARE: Final = 10  # at most a tenth of a task at once, where that is more than a batch


@dataclass
class _Pruning:
    """One task on its way: what is left of it, and what this round knows.

    Attributes:
        members: (n,) indices among all items.
        left: indices among the task's.
        informed: what attackers earn that learn from all of the task's questions in other folds.
        bias: (m,) how guessable each that is left is, above chance; by the strongest attacker.
        quota: how many may go in this round.
    """

    tested: PreparedTask
    members: IntArray
    left: IntArray
    informed: Drawn
    bias: FloatArray
    quota: int = 0

    @property
    def format(self) -> bool:
        return self.tested.rows.choice


def prune(
    items: Sequence[BlindItem],
    config: PruneConfig,
    run: Run = run_here,
    progress: Callable[[int, int], None] = lambda done, removed: None,
    rounds: PruneLog | None = None,
    tuned: Mapping[str, FloatArray] | None = None,
) -> IntArray:
    """Round (n,) in which each question is removed, 0 for those that stay.

    Per round and task: the strongest of the attackers (forest and priors; for numbers a constant is none, since a best
    one there always is) is compared with chance, for numbers with the best constant. Those that know all of the task's
    questions in other folds come first; when they are done, those that know only what is left. A task is done when all
    of both are within a standard error, on the mean of several dealings. Else the questions of the highest bias go,
    equal ones by id: half of those that by this round's figures would bring the task down to chance, so that it does
    not come to lie below; at most ``config.batch`` or a tenth; never one that is less than ``config.tau`` above chance,
    and never below 10 of a task; these, or fewer numbers, go together where they are still guessed clearly (by `CLEAR`
    errors and ``config.tau``). With ``config.budget`` questions with options are ranked against one another, and so are
    the numbers, and at most so many of each go. With ``rounds`` it goes on after those. ``tuned``: what more attackers
    earn on each question (n,) that know all and are not fitted again.
    """
    removed_in = np.zeros(len(items), dtype=np.intp)
    tasks = _begin(items, run, tuned or {})
    budget = dict.fromkeys((True, False), math.inf if config.budget is None else config.budget)
    place = {item.id: n for n, item in enumerate(items)}
    done = 0
    for known in rounds.begin() if rounds else ():
        done += 1
        gone = np.array([place[id] for id in known.removed], dtype=np.intp)
        removed_in[gone] = done
        for task in tasks:
            mine = np.isin(task.members[task.left], gone)
            budget[task.format] -= int(mine.sum())
            task.left = task.left[~mine]
        tasks = [task for task in tasks if task.tested.task in known.running]
    while tasks := [task for task in _assessed(tasks, done + 1, config, run) if task.quota]:
        done += 1
        for form in (True, False):
            chosen = _chosen([task for task in tasks if task.format == form], budget[form], config)
            budget[form] -= sum(map(len, chosen.values()))
            for task in tasks:
                if task.tested.task in chosen:
                    gone = task.left[chosen[task.tested.task]]
                    removed_in[task.members[gone]] = done
                    task.left = np.setdiff1d(task.left, gone)
        tasks = [task for task in tasks if budget[task.format] > 0]
        if rounds:
            went = np.flatnonzero(removed_in == done).tolist()
            rounds.add([items[n].id for n in went], [task.tested.task for task in tasks])
        progress(done, int((removed_in > 0).sum()))
    return removed_in


def _begin(items: Sequence[BlindItem], run: Run, tuned: Mapping[str, FloatArray]) -> list[_Pruning]:
    index = tasks_of(items)
    tested = prepared(items, index)
    draws = DRAWS if len(items) < FEW else 1
    informed = _drawn(tested, [f"prune informed {draw}" for draw in range(draws)], run)
    for earned, _ in chain.from_iterable(informed):
        del earned[LEAST]
    return [
        _Pruning(
            one,
            members,
            np.arange(len(members)),
            [(earned | {name: scores[members] for name, scores in tuned.items()}, bias) for earned, bias in drawn],
            np.zeros(len(members)),
        )
        for one, members, drawn in zip(tested, index.values(), informed, strict=True)
    ]


def _assessed(tasks: Sequence[_Pruning], number: int, config: PruneConfig, run: Run) -> Sequence[_Pruning]:
    """The tasks with their bias and quota of this round; those that seem done are tried on more dealings."""
    tasks = [task for task in tasks if len(task.left) >= (FLOOR if task.format else FEWEST_NUMBERS)]
    unseen = []
    for task in tasks:
        known = [
            ({name: s[task.left] for name, s in earned.items()}, bias[task.left]) for earned, bias in task.informed
        ]
        _set_quota(task, _assess(task.tested.of(task.left), known), config)
        if not task.quota:
            unseen.append(task)
    left = [task.tested.of(task.left) for task in unseen]
    drawn = _drawn(left, [f"prune {number}"], run)
    found = [_assess(one, scores) for one, scores in zip(left, drawn, strict=True)]
    unsure = [n for n, one in enumerate(found) if one.errors <= CLEAR]
    more = _drawn([left[n] for n in unsure], [f"prune {number} again {draw}" for draw in range(1, DRAWS)], run)
    for n, scores in zip(unsure, more, strict=True):
        drawn[n] += scores
        found[n] = _assess(left[n], drawn[n])
    for task, one in zip(unseen, found, strict=True):
        _set_quota(task, one, config)
    return tasks


def _set_quota(task: _Pruning, found: _Assessment, config: PruneConfig) -> None:
    task.bias = found.bias
    if len(task.left) <= FLOOR:
        is_clear = found.errors > CLEAR and found.points > config.tau * len(task.left)
        task.quota = len(task.left) if is_clear else 0
        return
    needed = math.ceil(STEP * found.points / found.room) if found.errors > LIMIT else 0
    most = max(config.batch, len(task.left) // SHARE)
    eligible = int(((found.bias >= config.tau) & (found.bias > 0)).sum())
    task.quota = min(needed, most, eligible, len(task.left) - FLOOR)


Drawn = list[tuple[dict[str, FloatArray], FloatArray]]  # per dealing: what attackers earn, and the forest's bias


def _drawn(tested: Sequence[PreparedTask], dealings: Sequence[str], run: Run) -> list[Drawn]:
    drawn: list[Drawn] = [[] for _ in tested]
    for dealing in dealings:
        folds = [one.dealt(dealing) for one in tested]
        scores: list[ForestScores] = scores_of(tested, folds, run)
        for mine, one, fold, found in zip(drawn, tested, folds, scores, strict=True):
            mine.append((earned_by_all(one.items, fold, found, one.from_others), found.bias))
    return drawn


@dataclass(frozen=True)
class _Assessment:
    """The strongest attacker of a task in one round, of those that are further above chance than they may be.

    Attributes:
        bias: (m,) how guessable each question is, above chance.
        points: the score by which all of it is above chance; ``errors`` in standard errors.
        room: by how much the points fall with a question that is guessed right.
    """

    bias: FloatArray
    points: float
    errors: float
    room: float


def _assess(tested: PreparedTask, drawn: Drawn) -> _Assessment:
    earned = {name: np.mean([found[name] for found, _ in drawn], axis=0) for name in drawn[0][0]}
    chance, forest = earned.pop(CHANCE), np.mean([bias for _, bias in drawn], axis=0)
    level = float(chance.mean())
    if not tested.rows.choice:
        earned = {name: scores for name, scores in earned.items() if name not in CONSTANTS}
        level = max(level, by_frequency(None, [str(item.number) for item in tested.items]))
    groups = [item.group for item in tested.items]
    above = {name: float(scores.mean()) - level for name, scores in earned.items() if not np.isnan(scores).any()}
    errors = {name: above[name] / max(standard_error(earned[name], groups) or 0.0, _EXACT) for name in above}
    strongest = max(above, key=lambda name: (errors[name] > LIMIT, above[name], name))
    # Priors are right or wrong: among those that one has right, the forest tells which is the most guessable.
    guessed = _right_least(tested.items) if strongest == LEAST else earned[strongest]
    scores = forest if strongest == FOREST else (guessed + forest) / 2
    return _Assessment(
        bias=np.round(scores - chance, 9),
        points=above[strongest] * len(scores),
        errors=errors[strongest],
        # With one less of the answer that is used least the other folds, too, tell less of it.
        room=max(1 - level, 1 / len(scores)) * (FOLDS - 1 if strongest == LEAST else 1),
    )


def _right_least(items: Sequence[BlindItem]) -> FloatArray:
    """Score (n,) of the option that is right least often, of equals the first: of which one goes one more shall go."""
    rows, (_, code) = OptionRows.of(items), codes_of([option for item in items for option in item.options])
    share = np.bincount(code, rows.right) / np.bincount(code)
    return rows.score(-np.argsort(np.argsort(share, kind="stable"))[code])


def _chosen(tasks: Sequence[_Pruning], budget: float, config: PruneConfig) -> dict[str, IntArray]:
    """Task -> indices (among those that are left of it) of what goes in this round."""
    # Questions are in the order of their ids, which a stable sort keeps among equals.
    ranked = {task.tested.task: np.argsort(-task.bias, kind="stable")[: task.quota] for task in tasks}
    if budget == math.inf:
        return ranked
    size = max(config.batch, sum(len(task.left) for task in tasks) // SHARE)
    everyone = sorted(
        (-float(task.bias[index]), task.tested.items[task.left[index]].id, task.tested.task, index)
        for task in tasks
        for index in ranked[task.tested.task].tolist()
    )[: int(min(budget, size))]
    return {
        task.tested.task: np.array([index for _, _, name, index in everyone if name == task.tested.task], dtype=np.intp)
        for task in tasks
    }


LEFT: Final = "left"


def debiased(
    questions: pa.Table,
    filtered: pa.Table,
    config: PruneConfig,
    progress: Callable[[int, int], None],
    rounds: PruneLog | None = None,
) -> pa.Table:
    """`attack.stress_table` of what filtering left; questions that stay have scores of attackers on unseen folds.

    Attackers are fitted on the questions of a shard (`items.shards_of`), one after the other, and applied to them.

    Args:
        questions: all that were selected (`core.tables.QUESTIONS`).
        filtered: `filtering.FILTERED` of them.
        config: how far to prune.
        progress: called with the questions removed and all questions.
        rounds: of this pruning, where they are kept.
    """
    stay = filtered.filter(pc.is_null(filtered["reason"]))
    asked = questions.filter(pc.is_in(questions["id"], stay["id"].combine_chunks()))
    shards, parts, gone, seen = shards_of(asked), [], 0, 0
    for number, shard in enumerate(shards):
        share = None if config.budget is None else _share(config.budget, seen, len(shard), len(asked))

        def told(_: int, removed: int, before: int = gone) -> None:
            progress(before + removed, len(asked))

        own = config.model_copy(update={"budget": share})
        parts.append(_debiased(shard, stay, own, told, rounds.of_shard(number) if rounds else None))
        gone, seen = gone + pc.count(parts[-1]["removed_in_round"]).as_py(), seen + len(shard)
    return pa.concat_tables(parts).sort_by("id").combine_chunks()


def _share(budget: int, before: int, own: int, all_: int) -> int:
    """The share of a shard in a budget: those of all shards come to it."""
    return budget * (before + own) // all_ - budget * before // all_


def _debiased(
    questions: pa.Table,
    stay: pa.Table,
    config: PruneConfig,
    progress: Callable[[int, int], None],
    rounds: PruneLog | None,
) -> pa.Table:
    """`debiased` of the questions of one shard."""
    items = items_of(questions.sort_by("id"))
    fold = folds_of([item.group for item in items])
    with on_all_cores(len(items)) as run:
        scores = stress_test(items, fold, run)
        ids = pa.array([item.id for item in items], pa.int64())
        known = scores_in(stay[LEFT].take(pc.index_in(ids, stay["id"].combine_chunks())))
        tuned = {name: earned for name, earned in known.items() if name not in SCORES.names}
        removed_in = prune(items, config, run, progress, rounds, tuned)
        stays = removed_in == 0
        left = [items[n] for n in np.flatnonzero(stays)]
        found = attack(left, run, informed={name: earned[stays] for name, earned in known.items()})
    table = stress_table(items, fold, scores, removed_in)
    return table.append_column(LEFT, score_column(found, pc.is_null(table["removed_in_round"]).to_numpy()))
