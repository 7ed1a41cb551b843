"""What all tasks share: a scene as arrays, and answers as columns.

Operands are category indices into ``SceneView.categories`` (sorted by name), one row per candidate question. A task
enumerates them (`operands`) and answers them (`answer`); an audit hands operands of its own to the same `answer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands

if TYPE_CHECKING:
    from pipeline.worlds.indoor.view import SceneView, Slot

WRITTEN: Final = "written"  # flag of a candidate that people wrote


@dataclass(frozen=True)
class Check:
    """One rule over a batch: ``reason`` applies where ``measured`` is not in ``relation`` to ``limit``. Arrays (n,)."""

    reason: str
    relation: Literal[">=", ">", "<=", "<"]
    ok: BoolArray
    measured: FloatArray
    limit: FloatArray
    unit: str


@dataclass(frozen=True)
class Fact:
    """One number behind each answer of a batch. ``subject`` and ``value`` are (n,)."""

    name: str
    subject: StrArray
    value: FloatArray
    unit: str


@dataclass(frozen=True)
class Answers:
    """Answers of a batch of n candidates.

    Attributes:
        truth: (n,) the answer in words, or the formatted number.
        checks: in the order in which they are reported.
        facts: the numbers that prove the answer.
        flags: (n,) remarks that do not reject, "" for none.
    """

    truth: StrArray
    checks: tuple[Check, ...]
    facts: tuple[Fact, ...]
    flags: StrArray | None = None


@dataclass(frozen=True)
class Number:
    """How a numeric answer is written, and the bounds of its generated options as factors of the truth (B.1)."""

    decimals: int
    unit: str
    lower: float = 0.25
    upper: float = 1.75


class Task(Protocol):
    """One question type. Implementations are stateless; a difficulty is a constructor argument."""

    name: str
    version: int
    template: str
    roles: tuple[str, ...]  # one name per operand
    slots: tuple[Slot, ...]  # what each operand needs

    @property
    def number(self) -> Number | None:
        """How a numeric answer is written; None for multiple choice."""
        ...

    def obstacle(self, view: SceneView) -> Rejection | None:
        """Why nothing of this type can be asked about the scene as a whole; `operands` is then empty."""
        ...

    def operands(self, view: SceneView) -> IntArray:
        """All candidates (n, len(roles)), in canonical order, without randomness; -1 fills up short rows."""
        ...

    def answer(self, view: SceneView, operands: IntArray) -> Answers:
        """Answers and measured checks for any operands that meet their slots."""
        ...

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Everything that may be offered as an option, the truth included; empty for numbers."""
        ...

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """Template fields for names of operands, with the options in the order in which they are offered."""
        ...

    def canonical(self, fields: Operands) -> tuple[str, ...] | None:
        """The operands that parsed template fields stand for: the inverse of `fields`; None for none."""
        ...


_RELATIONS: Final[dict[str, np.ufunc]] = {
    ">=": np.greater_equal,
    ">": np.greater,
    "<=": np.less_equal,
    "<": np.less,
}


def check(
    reason: str, measured: npt.ArrayLike, relation: Literal[">=", ">", "<=", "<"], limit: float, unit: str
) -> Check:
    """A check that passes where ``measured relation limit`` holds; a NaN does not pass."""
    value = np.asarray(measured, dtype=np.float64)
    bound = np.full(value.shape, float(limit))
    return Check(reason, relation, _RELATIONS[relation](value, bound), value, bound, unit)


def format_numbers(values: FloatArray, number: Number) -> StrArray:
    """Each value with the fixed number of decimals, rounded half to even in its exact binary value."""
    return np.char.mod(f"%.{number.decimals}f", values).astype(object)
