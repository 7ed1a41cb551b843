"""The `Task` protocol: one type of question, with its candidates, its wording and the form of its answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import StrArray
from pipeline.core.identity import question_ids
from pipeline.core.schema import AnyScene, Rejection
from pipeline.core.templates import Operands, load_template
from pipeline.questions.gate import ShownScene, read_rules
from pipeline.questions.rules import first_broken

V = TypeVar("V", bound="SceneView")
V_contra = TypeVar("V_contra", contravariant=True)


def of_names(operands: pa.ListArray, numbers: StrArray) -> StrArray:
    """Classes (n,) of a task that is balanced within names (`TaskBase.by_name`): what it names, and the number."""
    names = map(", ".join, operands.to_pylist())
    return np.array([f"{name}{OF_NAME}{number}" for name, number in zip(names, numbers, strict=True)], object)


OF_NAME: Final = ": "


class SceneView(Protocol):
    """A scene as the tasks of a benchmark see it; each world has a view of its own."""

    @property
    def scene(self) -> AnyScene:
        """The scene."""

    @property
    def shown(self) -> ShownScene:
        """What whoever answers is shown of it."""


@dataclass(frozen=True)
class Choice:
    """Answers are options with letters, at most so many of them."""

    most: int = 4


class OrderChoice(Choice):
    """Options are orders of the same things (`choices.draw_orders`)."""


@dataclass(frozen=True)
class Number:
    """Answers are numbers: how they are written, and where they lie.

    Attributes:
        quantiles: numbers in ascending order, between any two neighbours of which equally many answers lie.
        usual: how large a thing of a name usually is: quantiles are multiples of the square root of that.
        by_kind: whether the first operand says of what kind a question is, the second when, and all others about what:
            each build measures what is usual of a kind about the same, and of the kind (`balance.Balance.usual`).
    """

    decimals: int
    unit: str
    quantiles: tuple[float, ...] = ()
    usual: Callable[[str], float] | None = None
    by_kind: bool = False

    def quantiles_of(self, operands: Iterable[str]) -> Sequence[float]:
        """Those of a question about some things. The root: asked are the unusual ones, of which a name tells less."""
        if self.usual is None:
            return self.quantiles
        scale = math.sqrt(sum(map(self.usual, operands)))
        return [scale * quantile for quantile in self.quantiles]


@dataclass(frozen=True)
class FreeText:
    """Answers are words of one's own, and no options are shown.

    A candidate still brings what else is usually answered to its kind of question (yes and no, the colours, names of
    other shops): who guesses, guesses among those, so a panel and the priors choose from them (``choices``).

    Attributes:
        most: at most so many of them, the truth among them.
        guessed: what of an answer is guessed, where that is not all of it.
    """

    most: int = 10
    guessed: Callable[[str], str] = str


Form = Choice | Number | FreeText


class Task(Protocol[V_contra]):
    """One type of question. Implementations hold no state; a difficulty is a constructor argument.

    `arrays.ArrayTask` and `cases.CaseTask` are the two bases that implement it.
    """

    @property
    def name(self) -> str:
        """Its name in the release."""

    @property
    def share(self) -> int:
        """How many questions of it there shall be for so many of the benchmark's other tasks."""

    @property
    def version(self) -> int:
        """Goes into the provenance."""

    @property
    def template(self) -> str:
        """Its wording below ``templates/``: folder, file and entry, or folder and file (`load_template`)."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Further templates that its texts are put together from."""

    @property
    def form(self) -> Form:
        """The form of its answers."""

    @property
    def leak_group(self) -> str | None:
        """The tasks of whose answers one may give away another share a name; the number of their operands is one.

        Their questions are spread over what they name (`selection.spread`); None: they are not.
        """

    @property
    def balanced(self) -> bool:
        """Whether its answers are balanced over all scenes (`questions.balance`)."""

    @property
    def once(self) -> bool:
        """Whether each class of its guesses is asked of one scene alone."""

    @property
    def by_name(self) -> bool:
        """Whether over all scenes its numbers are balanced within the names that its classes have (`of_names`)."""

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The guess that makes a candidate right for someone without the video: the name (n,) of its class.

        The questions of a task are even over these, within a scene and over all (`questions.balance`).

        Args:
            operands: (n,) lists of names.
            answers: (n,) in words.
        """

    def candidates(self, view: V_contra) -> pa.Table:
        """Every candidate of a scene (`tables.CANDIDATES`): a question, or a rejection with its measured reason."""

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Everything that may be offered as an option, the truth included; empty where candidates bring their own."""

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """Fields of the template for names of operands, with the options in the order in which they are offered."""


class TaskBase(Generic[V]):
    """Attributes and answers that tasks have in common; see `Task`.

    Attributes:
        reads: the quantity that whoever answers has to read in what is shown (`gate.ShownScene.readable`); "" where
            each case says so itself, or nothing has to be seen to answer.
        general: whether its questions are about no scene.
        balanced: whether its answers are balanced over all scenes; not where the options are the answers of one scene,
            each right equally often there: what is rare elsewhere would be right wherever it is offered.
        once: whether each class of its guesses is asked of one scene alone: by lot, of those that offer it.
        by_name: whether over all scenes its numbers are balanced within the names that its classes have (`of_names`),
            since these tell something of them, as of sizes and counts.
    """

    name: str
    reads: str
    share: int
    version: int = 1
    general: bool = False
    balanced: bool = True
    once: bool = False
    by_name: bool = False
    template: str
    form: Form = Choice()
    leak_group: str | None = None
    parts: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()

    def obstacle(self, view: V) -> Rejection | None:
        """Why nothing of this type can be asked about the scene as a whole."""
        return None

    def unreadable(self, view: V) -> Rejection | None:
        """Why what is asked cannot be read in what is shown of the scene, to the step that is asked for."""
        if not self.reads:
            return None
        step = 10.0**-self.form.decimals if isinstance(self.form, Number) else None
        broken = first_broken(read_rules(view.shown, self.reads, step))
        return broken.rejection() if broken else None

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The answer, unless overridden."""
        return answers

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Everything that may be offered as an option, the truth included; none unless overridden."""
        return ()

    def ids(self, view: V, operands: Sequence[Sequence[str]]) -> list[int]:
        """Question ids of tuples of names."""
        return question_ids(view.scene.id, self.name, load_template(self.template).identity, operands)
