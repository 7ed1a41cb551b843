"""Tasks over arrays of operands: all candidates of a scene are answered at once, as columns, and can be audited.

Operands are indices into ``view.names`` (sorted), one row per candidate. A task enumerates them (`ArrayTask.operands`)
and answers them (`ArrayTask.answer`); an audit passes its own operands to the same `answer`.

`CandidateSampler` and `sets` form tuples of operands: all of them or, beyond `MOST`, a sample. Sets of four out of n
things grow with the fourth power of n: 60 categories give 27 million relative distances, of which six are asked. So
beyond `MOST` each thing is combined only with the things of the lowest digest beside it: one more thing in the scene
displaces few tuples, and nothing is left out altogether.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, permutations
from math import comb, perm
from typing import Final, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.identity import digest
from pipeline.core.schema import Rejection
from pipeline.core.tables import CANDIDATES, IN_BUDGET, NO_CANDIDATES
from pipeline.core.templates import Operands
from pipeline.questions.rules import Check, Fact, Verdicts, evidence, lists, verdicts
from pipeline.questions.task import Number, SceneView, TaskBase

ANNOTATED: Final = "annotated_only"  # flag of a candidate whose answer nobody looked for in what is shown
WRITTEN: Final = "written"  # flag of a candidate that people wrote
# A number that is written as 0: no relative accuracy can be given to an answer to it, and scorers divide by it.
_TYPES: Final = [(field.name, field.type) for field in CANDIDATES]  # looked up once: a table would take 50 µs for it
WRITTEN_ZEROS: Final = ("0", "0.0")


class ArrayView(SceneView, Protocol):
    """A scene whose things can be operands."""

    @property
    def names(self) -> StrArray:
        """All possible operands (C,), sorted."""

    @property
    def is_examined(self) -> bool:
        """Whether it is known what is shown of the scene; else answers are those of its annotation alone."""

    def problems(self, slot: str) -> Sequence[Rejection | None]:
        """Why each of `names` cannot stand in a slot, or None if it can."""

    @property
    def budgets(self) -> tuple[int, ...]:
        """Numbers of evenly spaced frames of the video of which it is known what they show."""

    def frames_without(self, operand: int) -> IntArray:
        """Frames of the delivered video that show nothing of a thing for sure."""

    def shown_in(
        self, budget: int, operands: IntArray, slots: tuple[str, ...]
    ) -> tuple[tuple[Check, ...], tuple[Fact, ...]]:
        """Whether so many frames show all that each question (n, k) names, and the numbers that prove it."""


A = TypeVar("A", bound=ArrayView)


@dataclass(frozen=True)
class Answers:
    """Answers of a batch of n candidates.

    Attributes:
        truth: (n,) the answer in words, or the formatted number.
        checks: in the order in which they are reported.
        facts: the numbers that prove the answer.
        flags: (n,) remarks that do not reject, "" for none.
        wrong: (n,) lists of what may be offered beside the truth; None: `ArrayTask.labels` says it.
        share: (n,) share in [0, 1] of such candidates that is asked: answers that are common, or known by the name, are
            asked less often than they occur (`selection.select` draws them by their ids). None: all.
    """

    truth: StrArray
    checks: tuple[Check, ...]
    facts: tuple[Fact, ...]
    flags: StrArray | None = None
    wrong: pa.ListArray | None = None
    share: FloatArray | None = None

    def verdicts(self) -> Verdicts:
        """The first broken check of each candidate; an answer that is written as 0 breaks one more."""
        n = len(self.truth)
        written = np.isin(self.truth, WRITTEN_ZEROS)
        zero = Check("answer_is_zero", ">", ~written, np.zeros(n), np.zeros(n), None)
        return verdicts((*self.checks, zero), n)


class ArrayTask(TaskBase[A]):
    """Base of tasks over arrays of operands.

    Attributes:
        roles: one name per operand; the fields of the template, unless `fields` says otherwise.
        slots: what each operand needs (`ArrayView.problem`).
        hides: a question has no answer where any of so many operands, the first ones, is not shown; None: of all.
    """

    roles: tuple[str, ...] = ()
    hides: int | None = None

    def operands(self, view: A) -> IntArray:
        """All candidates (n, len(roles)), in canonical order, without randomness; -1 fills up short rows.

        Empty where there is an obstacle.
        """
        raise NotImplementedError

    def untried(self, view: A) -> Rejection | None:
        """How many candidates there are where these are more than `operands` forms; None: it forms all."""
        return None

    def answer(self, view: A, operands: IntArray) -> Answers:
        """Answers and measured checks for any operands that meet their slots."""
        raise NotImplementedError

    def answer_in(self, view: A, operands: IntArray, truth: StrArray, budget: int) -> Answers:
        """Answers to whom so many evenly spaced frames of the video are shown, and what is in the way of any.

        Unless overridden the same as of the whole video, where the frames show all that the question names.

        Args:
            view: of the scene.
            operands: of candidates that are asked of the whole video (n, k).
            truth: their answers there (n,).
            budget: one of the view's.
        """
        return Answers(truth, *view.shown_in(budget, operands, self.slots))

    def twin_frames(self, view: A, operands: tuple[str, ...]) -> tuple[str, IntArray]:
        """The thing without which a question has no answer, and the frames of the video that show nothing of it.

        Of several such things the one that is out of the picture most; "" and none where it names nothing.
        """
        names = dict.fromkeys(operands if self.hides is None else operands[: self.hides])
        found = [(name, view.frames_without(int(np.searchsorted(view.names.astype(str), name)))) for name in names]
        return max(found, key=lambda item: len(item[1]), default=("", np.empty(0, dtype=np.intp)))

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """Fields of the template: each role's name, unless overridden."""
        return dict(zip(self.roles, operands, strict=True))

    def canonical(self, fields: Operands) -> tuple[str, ...] | None:
        """The operands that parsed fields stand for, the inverse of `fields`; None for none."""
        return tuple(str(fields[role]) for role in self.roles)

    def candidates(self, view: A) -> pa.Table:
        """Every candidate (`CANDIDATES`): first what no operands were formed of, then the answered ones."""
        refused = self._refused(view)
        whole = self.obstacle(view) or self.unreadable(view)
        return refused if whole else pa.concat_tables([refused, self._answered(view)])

    def _answered(self, view: A) -> pa.Table:
        operands = self.operands(view)
        answers = self.answer(view, operands)
        there = operands >= 0
        names = view.names[operands].tolist() if there.all() else [tuple(view.names[row[row >= 0]]) for row in operands]
        found = answers.verdicts()
        kept = found.broken < 0
        nothing = pa.nulls(len(kept), pa.list_(pa.string()))
        return self._table(
            view,
            len(operands),
            id=self.ids(view, names),
            operands=lists(view.names[operands[there]], there.sum(1)),
            answer=pa.array(answers.truth, pa.string(), mask=~kept),
            wrong=nothing if answers.wrong is None else pc.if_else(pa.array(kept), answers.wrong, nothing),
            **self._in_budgets(view, operands, answers.truth, kept),
            evidence=evidence(answers.facts, answers.checks, kept),
            flags=_flags(answers, None if view.is_examined else ANNOTATED),
            share=pa.nulls(len(operands), pa.float64())
            if answers.share is None
            else pa.array(answers.share, mask=~kept),
            **found.columns,
        )

    def _in_budgets(self, view: A, operands: IntArray, truth: StrArray, kept: BoolArray) -> dict[str, pa.Array]:
        """What becomes of the kept candidates in each frame budget; null where none is known."""
        budgets, rows = view.budgets, np.flatnonzero(kept)
        if not budgets:
            return {}
        parts, asked = [], np.zeros((len(rows), len(budgets)), dtype=bool)
        for place, budget in enumerate(budgets):
            answers = self.answer_in(view, operands[rows], truth[rows], budget)
            found = answers.verdicts()
            asked[:, place] = stays = found.broken < 0
            columns = {
                "budget": pa.repeat(pa.scalar(budget, pa.int32()), len(rows)),
                "answer": pa.array(answers.truth, pa.string(), mask=~stays),
                "evidence": evidence(answers.facts, answers.checks, stays),
                **found.columns,
            }
            parts.append(pa.StructArray.from_arrays([columns[f.name] for f in IN_BUDGET], fields=list(IN_BUDGET)))
        by_row = np.arange(len(rows) * len(budgets)).reshape(len(budgets), -1).T.ravel()
        known = kept.astype(np.intp) * len(budgets)
        shows = np.zeros(len(kept), dtype=np.intp)
        shows[rows] = asked.sum(1)
        numbers = np.broadcast_to(np.array(budgets, dtype=np.int32), asked.shape)[asked]
        return {
            "budgets": lists(pa.concat_arrays(parts).take(pa.array(by_row)), known, kept),
            "visible_in": lists(pa.array(numbers, pa.int32()), shows, kept),
        }

    def _refused(self, view: A) -> pa.Table:
        """One row per role and operand that cannot play it, so that no candidate is lost without a word."""
        obstacle = self.obstacle(view) or self.unreadable(view)
        whole = obstacle or self.untried(view)
        rows = [("scene", view.scene.name, whole)] if whole else []
        for role, slot in {} if obstacle else dict(zip(self.roles, self.slots, strict=True)).items():
            rows += [(role, name, p) for name, p in zip(view.names, view.problems(slot), strict=True) if p]
        if not rows:
            return NO_CANDIDATES
        return self._table(
            view,
            len(rows),
            id=self.ids(view, [(role, name) for role, name, _ in rows]),
            role=[role for role, _, _ in rows],
            operands=[[name] for _, name, _ in rows],
            reason=[p.reason for _, _, p in rows],
            measured=[p.measured for _, _, p in rows],
            limit=[p.limit for _, _, p in rows],
            unit=[p.unit for _, _, p in rows],
        )

    def _table(self, view: A, n: int, **columns: object) -> pa.Table:
        columns |= {"scene": pa.repeat(view.scene.id, n), "task": pa.repeat(self.name, n)}
        return pa.Table.from_arrays([_column(columns.get(name), kind, n) for name, kind in _TYPES], schema=CANDIDATES)


def _column(values: object, kind: pa.DataType, n: int) -> pa.Array:
    """Values as an array of n; null where there are none. ``pa.array`` takes an array through Arrow's C interface."""
    if values is None:
        return pa.nulls(n, kind)
    if not isinstance(values, pa.Array):
        return pa.array(values, kind)
    return values if values.type == kind else values.cast(kind)


def _flags(answers: Answers, of_scene: str | None) -> pa.Array:
    """The flags of each candidate, and that of the scene; null for none."""
    n = len(answers.truth)
    if answers.flags is None:
        no_flags = pa.nulls(n, pa.list_(pa.string()))
        return no_flags if of_scene is None else lists(pa.repeat(of_scene, n), np.ones(n, dtype=np.intp))
    flags = np.stack([answers.flags, np.full(n, of_scene or "", dtype=object)], axis=1)
    present = flags != ""
    return lists(flags[present], present.sum(1), present.any(1))


def format_numbers(values: FloatArray, number: Number) -> StrArray:
    """Each value with the fixed number of decimals, rounded half to even in its exact binary value."""
    return np.char.mod(f"%.{number.decimals}f", values).astype(object)


MOST: Final = 100_000  # of one task and scene; a gigabyte holds those of all tasks


class CandidateSampler(NamedTuple):
    """A sampler of tuples of things.

    Attributes:
        scope: of the digests: the scene and the task.
        names: of all things.
        firsts: what may come first.
        others: what may follow, each once.
        size: how many follow.
        ordered: whether their order matters.
        most: tuples that are formed.
    """

    scope: tuple[str, ...]
    names: StrArray
    firsts: IntArray
    others: IntArray
    size: int
    ordered: bool = False
    most: int = MOST

    @property
    def total(self) -> int:
        """How many tuples there are."""
        return sum(self._ways(len(self._others_of(first))) for first in self.firsts)

    @property
    def formed(self) -> int:
        """How many of them `tuples` forms."""
        kept = self._others_kept()
        return sum(self._ways(min(kept, len(self._others_of(first)))) for first in self.firsts)

    def tuples(self) -> IntArray:
        """At most ``most`` tuples (n, 1 + size), in canonical order; more only where one other each is too many."""
        rows = [np.empty((0, 1 + self.size), dtype=np.intp)]
        kept = self._others_kept()
        for first in self.firsts:
            beside = self.drawn(first, kept)
            rest = beside[_places(len(beside), self.size, ordered=self.ordered)]
            rows.append(np.column_stack([np.full(len(rest), first, dtype=np.intp), rest]))
        return np.concatenate(rows)

    def drawn(self, first: np.intp, kept: int) -> IntArray:
        """At most so many others of a first (k,), in ascending order: those with the lowest digests."""
        beside, name = self._others_of(first), str(self.names[first])
        if len(beside) <= kept:
            return beside
        by_digest = sorted(beside, key=lambda other: digest(*self.scope, name, str(self.names[other])))
        return np.sort(np.array(by_digest[:kept], dtype=np.intp))

    def _others_of(self, first: np.intp) -> IntArray:
        return self.others[self.others != first]

    def _ways(self, others: int) -> int:
        return (perm if self.ordered else comb)(others, self.size)

    def _others_kept(self) -> int:
        """How many others each first is combined with."""
        kept = len(self.others)
        if self.total > self.most:
            while kept > self.size and len(self.firsts) * self._ways(kept) > self.most:
                kept -= 1
        return kept


class SampledTask(ArrayTask[A]):
    """Base of tasks whose operands a sampler forms."""

    def among(self, view: A) -> CandidateSampler:
        """The sampler of a scene."""
        raise NotImplementedError

    def operands(self, view: A) -> IntArray:
        """The sampler's tuples (n, len(roles)): all, or a sample where they are many."""
        return self.among(view).tuples()

    def untried(self, view: A) -> Rejection | None:
        """The number of tuples where these are more than the sampler forms."""
        among = self.among(view)
        return untried(among.total, among.formed)


def sets(scope: tuple[str, ...], names: StrArray, of: IntArray, size: int, most: int = MOST) -> IntArray:
    """Sets of things (n, size), each in ascending order: all, or those that are drawn for each of its things."""
    if comb(len(of), size) <= most:
        return of[_places(len(of), size, ordered=False)]
    return np.unique(np.sort(CandidateSampler(scope, names, of, of, size - 1, most=most).tuples(), axis=1), axis=0)


def untried(total: int, formed: int) -> Rejection | None:
    """Says how many there are where these are more than were formed."""
    if total <= formed:
        return None
    return Rejection(reason="more_than_are_tried", measured=float(total), limit=float(formed), unit="candidates")


def _places(n: int, size: int, *, ordered: bool) -> IntArray:
    """Indices (m, size) of every selection of ``size`` out of n, in lexicographic order."""
    found = permutations(range(n), size) if ordered else combinations(range(n), size)
    return np.fromiter(chain.from_iterable(found), dtype=np.intp).reshape(-1, size)
