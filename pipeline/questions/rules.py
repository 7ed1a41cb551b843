"""Rules and evidence: measured numbers, the limits that bound them, and rejections where a limit is broken.

There is one engine for both kinds of tasks. `Measure` is one number about one candidate; `Check` and `Fact` are the
same about a whole batch, as arrays. Both become the same evidence (`tables.EVIDENCE`) and the same `Rejection`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.schema import Rejection
from pipeline.core.tables import EVIDENCE

Relation = Literal[">=", ">", "<=", "<"]

DECIMALS: Final = 6  # of numbers in tables: a micrometre, and well above what processors round differently
RULE: Final = "rule"  # subject of a number that belongs to the whole question
_EVIDENCE: Final = list(EVIDENCE)
_HOLDS: Final[dict[str, Any]] = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


@dataclass(frozen=True)
class Measure:
    """One number about one candidate. Without a relation and a limit it is a fact, with them a rule."""

    name: str
    value: float
    unit: str
    subject: str = RULE
    relation: Relation | None = None
    limit: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the rule is kept; NaN keeps none, and a fact breaks none."""
        return self.relation is None or bool(_HOLDS[self.relation](self.value, self.limit))

    def evidence(self) -> dict[str, Any] | None:
        """The row of `EVIDENCE`; None for a number that is not finite (there is nothing of the kind)."""
        if not math.isfinite(self.value):
            return None
        return {
            "name": self.name,
            "subject": self.subject,
            "value": rounded(self.value),
            "relation": self.relation,
            "limit": self.limit,
            "unit": self.unit,
        }

    def rejection(self) -> Rejection:
        """The rejection by a broken rule."""
        return make_rejection(self.name, self.value, self.limit, self.unit)


def rule(
    reason: str, value: float, relation: Relation, limit: float, unit: str, subject: str = RULE
) -> Measure:  # the order in which a rule is read aloud
    """A rule: ``reason`` refuses the candidate unless ``value relation limit``."""
    return Measure(reason, value, unit, subject, relation, limit)


def first_broken(measures: Iterable[Measure]) -> Measure | None:
    """The first rule that is broken; None: all hold."""
    return next((measure for measure in measures if not measure.holds), None)


def make_rejection(
    reason: str, measured: float | None = None, limit: float | None = None, unit: str | None = None
) -> Rejection:
    """A rejection, its measured value rounded as in all tables; one that is not finite is None."""
    number = None if measured is None or not math.isfinite(measured) else rounded(measured)
    return Rejection(reason=reason, measured=number, limit=limit, unit=unit)


def rounded(value: float) -> float:
    """A number as tables hold it; + 0.0 turns -0.0 into 0.0."""
    return round(float(value), DECIMALS) + 0.0


@dataclass(frozen=True)
class Check:
    """A rule over a batch: ``reason`` refuses where ``measured`` is not in ``relation`` to ``limit``. Arrays (n,)."""

    reason: str
    relation: Relation
    ok: BoolArray
    measured: FloatArray
    limit: FloatArray
    unit: str | None


@dataclass(frozen=True)
class Fact:
    """One number behind each answer of a batch. ``subject`` and ``value`` are (n,)."""

    name: str
    subject: StrArray
    value: FloatArray
    unit: str


def check(reason: str, measured: npt.ArrayLike, relation: Relation, limit: npt.ArrayLike, unit: str) -> Check:
    """A check of values (n,) against one limit or (n,); it passes where ``measured relation limit``; NaN never does."""
    value = np.asarray(measured, dtype=np.float64)
    bound = np.broadcast_to(np.asarray(limit, dtype=np.float64), value.shape)
    return Check(reason, relation, np.asarray(_HOLDS[relation](value, bound)), value, bound, unit)


@dataclass(frozen=True)
class Verdicts:
    """The first broken check of each candidate of a batch.

    Attributes:
        broken: (n,) its number among the checks, -1 where none is broken.
        columns: reason, measured, limit and unit, null where none is broken.
    """

    broken: IntArray
    columns: dict[str, pa.Array]

    def rejection(self, row: int) -> Rejection | None:
        """The rejection of one candidate."""
        if self.broken[row] < 0:
            return None
        return Rejection(**{name: column[row].as_py() for name, column in self.columns.items()})


def verdicts(checks: Sequence[Check], n: int) -> Verdicts:
    """Applies checks in their order to a batch of n candidates."""
    broken = np.full(n, -1, dtype=np.intp)
    for number, one in enumerate(checks):
        broken[(broken < 0) & ~one.ok] = number
    rows = np.flatnonzero(broken >= 0)
    found = np.full((2, n), np.nan)
    if len(rows):
        found[:, rows] = np.array([[one.measured, one.limit] for one in checks])[broken[rows], :, rows].T
    measured, limit = found
    return Verdicts(
        broken,
        {
            "reason": _words([*(one.reason for one in checks), None], broken),
            "measured": numbers(measured),
            "limit": numbers(limit),
            "unit": _words([*(one.unit for one in checks), None], broken),
        },
    )


def _words(words: Sequence[str | None], which: IntArray) -> pa.Array:
    """Those of a few words (n,)."""
    return pa.array(np.array(words, dtype=object)[which], pa.string())


def evidence(facts: Sequence[Fact], checks: Sequence[Check], kept: BoolArray) -> pa.Array:
    """Facts and passed checks of the kept candidates (n,) as lists of `EVIDENCE`; null for the others.

    Numbers that are not finite (a leg that a route does not have, nothing at all in the way) are left out.
    """
    n, width = int(kept.sum()), len(facts) + len(checks)
    if n * width == 0:
        return pa.nulls(len(kept), pa.list_(EVIDENCE))
    value, limit, subject = np.empty((n, width)), np.full((n, width), np.nan), np.full((n, width), RULE, dtype=object)
    for column, fact in enumerate(facts):
        value[:, column], subject[:, column] = fact.value[kept], fact.subject[kept]
    for column, one in enumerate(checks, len(facts)):
        value[:, column], limit[:, column] = one.measured[kept], one.limit[kept]
    known = np.isfinite(value)
    which = np.nonzero(known)[1]
    structs = pa.StructArray.from_arrays(
        [
            _words([*(one.name for one in facts), *(one.reason for one in checks)], which),
            pa.array(subject[known], pa.string()),
            numbers(value[known]),
            _words([*(None for _ in facts), *(one.relation for one in checks)], which),
            numbers(limit[known]),
            _words([*(one.unit for one in facts), *(one.unit for one in checks)], which),
        ],
        fields=_EVIDENCE,
    )
    lengths = np.zeros(len(kept), dtype=np.intp)
    lengths[kept] = known.sum(1)
    return lists(structs, lengths, kept)


def lists(values: StrArray | pa.Array, lengths: IntArray, valid: BoolArray | None = None) -> pa.Array:
    """A list array of consecutive runs of ``values``; null where ``valid`` is False."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    flat = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    mask = None if valid is None else pa.array(~valid)
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=mask)


def numbers(values: FloatArray) -> pa.Array:
    """Rounded to `DECIMALS`, NaN as null; + 0.0 turns -0.0 into 0.0."""
    return pa.array(np.round(values, DECIMALS) + 0.0, pa.float64(), from_pandas=True)
