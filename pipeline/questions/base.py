"""What all tasks share: a scene as arrays, and answers as columns.

Operands are category indices into ``SceneView.categories`` (sorted by name), one row per candidate question. A task
enumerates them (`operands`) and answers them (`answer`); an audit hands operands of its own to the same `answer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from pipeline.geometry.boxes import BoolArray, FloatArray, IntArray, closest_distance_m, stack
from pipeline.geometry.grids import SampledBoxes
from pipeline.questions.ambiguity import Rules
from pipeline.schema import Finding, Rejection, Scene, SceneObject
from pipeline.templates import Operands

WRITTEN: Final = "written"  # flag of a candidate that people wrote

StrArray = npt.NDArray[np.object_]
# Needs a count; at least one box; exactly one instance; at least one instance that the video shows.
Slot = Literal["counted", "boxed", "unique", "seen"]


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


class SceneView:
    """A scene as arrays under one profile.

    Attributes:
        categories: (C,) names, sorted.
        count: (C,) instances as the source states them.
        boxed: (C,) number of boxes.
        boxes: all boxes, grouped by category in the same order.
        first: (C,) index of each category's first box (meaningless where it has none).
    """

    def __init__(self, scene: Scene, rules: Rules) -> None:
        self.scene = scene
        self.rules = rules
        names = sorted({*scene.counts, *(o.category for o in scene.objects)})
        self.categories: StrArray = np.array(names, dtype=object)
        self.index = {name: i for i, name in enumerate(names)}
        self.count = np.array([scene.counts.get(n, 0) for n in names], dtype=np.intp)
        shown = [o for o in scene.objects if not (rules.refuse_unseen and is_unseen(o))]
        objects = sorted(shown, key=lambda o: (o.category, o.instance))
        self.unseen = np.zeros(len(names), dtype=np.intp)
        for item in scene.objects:
            self.unseen[self.index[item.category]] += is_unseen(item)
        if rules.refuse_unseen:
            self.count = np.maximum(self.count - self.unseen, 0)
        self._objects = objects
        self.boxes = stack(
            [o.box.center for o in objects], [o.box.lengths for o in objects], [o.box.axes for o in objects]
        )
        self.category_of = np.array([self.index[o.category] for o in objects], dtype=np.intp)
        self.boxed = np.bincount(self.category_of, minlength=len(names))
        first = np.searchsorted(self.category_of, np.arange(len(names)))
        self.first = np.minimum(first, max(len(objects) - 1, 0))
        self._doubts = {f.subject: f for f in reversed(scene.findings) if f.severity == "doubt"}

    def problem(self, category: int, slot: Slot) -> Rejection | None:
        """Why a category cannot stand in a slot, or None if it can."""
        name = str(self.categories[category])
        if self.unseen[category] and not self.boxed[category]:
            return Rejection(reason="never_visible", measured=0, limit=1, unit="frames")
        if slot == "unique" and self.count[category] != 1:
            return Rejection(reason="not_unique", measured=int(self.count[category]), limit=1, unit="objects")
        doubt = self.doubt(name)
        if doubt is not None:
            return Rejection(reason=doubt.name, measured=doubt.measured, limit=doubt.limit, unit=doubt.unit)
        if slot != "counted" and self.boxed[category] == 0:
            return Rejection(reason="category_without_box", measured=0, limit=1, unit="boxes")
        if slot == "seen" and np.isnan(self.first_seen_s[category]):
            return Rejection(reason="never_visible", measured=0, limit=1, unit="frames")
        return None

    def doubt(self, subject: str) -> Finding | None:
        """The doubt about a category (or "room"), if the profile heeds doubts."""
        return self._doubts.get(subject) if self.rules.refuse_doubts else None

    def usable(self, slot: Slot) -> IntArray:
        """Indices of the categories that can stand in a slot, ascending."""
        return np.array([c for c in range(len(self.categories)) if self.problem(c, slot) is None], dtype=np.intp)

    @cached_property
    def distance_m(self) -> FloatArray:
        """(C, C) smallest distance between any box of a unique category (row) and any box of another (column).

        NaN in the rows of categories that are not unique.
        """
        matrix = np.full((len(self.categories),) * 2, np.nan)
        rows = np.isin(self.category_of, self.usable("unique"))
        first, second = np.nonzero(rows[:, None] & (self.category_of[:, None] != self.category_of[None, :]))
        if self.rules.distance == "exact":
            # Each unordered pair once, so that both orders give the same bits.
            low, high = np.minimum(first, second), np.maximum(first, second)
            pairs, inverse = np.unique(low * len(rows) + high, return_inverse=True)
            i, j = np.divmod(pairs, len(rows))
            distance = closest_distance_m(self.boxes.take(i), self.boxes.take(j))[inverse]
        else:
            distance = SampledBoxes(self.boxes).distance_m(first, second)
        cells = (self.category_of[first], self.category_of[second])
        matrix[cells] = np.inf
        np.minimum.at(matrix, cells, distance)
        return matrix

    @cached_property
    def first_seen_s(self) -> FloatArray:
        """(C,) time at which the video first shows any object of the category; NaN if never, or not examined."""
        first = np.full(len(self.categories), np.nan)
        for item, category in zip(self._objects, self.category_of, strict=True):
            if item.visibility is not None and item.visibility.first_seen_s is not None:
                first[category] = np.fmin(first[category], item.visibility.first_seen_s)
        return first

    @cached_property
    def shown_in(self) -> BoolArray:
        """(C, B) whether each frame budget shows every object of the category; B = 0 where nothing was examined."""
        observation = self.scene.observation
        if observation is None:
            return np.empty((len(self.categories), 0), dtype=bool)
        shown = np.ones((len(self.categories), len(observation.budgets)), dtype=bool)
        for item, category in zip(self._objects, self.category_of, strict=True):
            pixels = item.visibility.budgets if item.visibility else {}
            shown[category] &= [pixels.get(n, 0) >= observation.min_pixels for n in observation.budgets]
        return shown

    def center_m(self, category: IntArray) -> FloatArray:
        """Centre (n, 3) of each category's first box."""
        return np.asarray(self.boxes.center[self.first[category]])

    def pair_names(self, first: IntArray, second: IntArray) -> StrArray:
        """Each pair of categories as "a - b"."""
        return np.asarray(self.categories[first] + " - " + self.categories[second])


def is_unseen(item: SceneObject) -> bool:
    """Whether the video was examined and shows nothing of an object."""
    return item.visibility is not None and item.visibility.frames_seen == 0


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
