"""The gate: what a question names and asks for, held against what is shown to whoever answers it.

A log, a map or an annotation may be true of more than its film shows, and of less. So a world's view says what is shown
(`ShownScene`), a task what its questions read (`TaskBase.reads`) and name (`NamedThing`), and no candidate of any task
passes that names what is not in the picture, what has a double there, or what the log cannot tell to have none, or that
asks for a number more exactly than it can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from pipeline.core.templates import load_table
from pipeline.questions.rules import Measure, rule

# Names of quantities, as tasks and views have in common. Those without a unit are read or not; there is no step.
STEPS: Final = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # to which a number may be asked
READ_SHARE: Final = 0.1  # of a number: half a step is no more of it; as near as scorers of numbers want an answer
TOO_FINE: Final = "finer_than_shown"
MOST: Final = "possible_most"  # evidence: no answer can be larger, so that none that is offered to who guesses is
TOO_COARSE: Final = "read_too_coarsely"


@dataclass(frozen=True)
class ShownScene:
    """What whoever answers is shown of a scene.

    Attributes:
        by: the medium: "film", "film from above", "front camera", "panorama".
        readable: quantity -> the finest step in which it can be read there, in its unit, 0 for what has none (a kind,
            an order, a side). A quantity that is not here cannot be read at all.
        complete: kinds of which the log knows every single thing that is shown; None: all kinds.
    """

    by: str
    readable: Mapping[str, float]
    complete: frozenset[str] | None = field(default=frozenset())

    def knows_all(self, kind: str) -> bool:
        """Whether nothing of a kind is shown that the log does not know."""
        return self.complete is None or kind in self.complete

    def step(self, quantity: str, wanted: float) -> float:
        """The step in which a quantity is asked for: the one that is wanted, or the finest that can be read."""
        least = max(wanted, self.readable.get(quantity, wanted))
        return next((step for step in STEPS if step >= least), least)


@dataclass(frozen=True)
class NamedThing:
    """A thing that a question names as if there were one.

    Attributes:
        words: how it is named.
        kind: of which the log knows all, or not (`ShownScene.complete`).
        seen: how often, or for how long, the part of the video that counts shows it; None: the log does not tell.
        least: of ``seen``, so that it counts.
        unit: of ``seen``.
        doubles: how many others of which the log knows the same words may mean.
        mark: what in its words tells it from things that the log does not know: its colour, its place, its part in the
            task; "" for nothing.
    """

    words: str
    kind: str
    seen: float | None = None
    least: float = 1.0
    unit: str = "times"
    doubles: int = 0
    mark: str = ""


def named_rules(shown: ShownScene, thing: NamedThing) -> Iterator[Measure]:
    """That a thing is in the picture, and the only one there that its words may mean."""
    if thing.seen is not None:
        yield rule("not_in_picture", thing.seen, ">=", thing.least, thing.unit, thing.words)
    yield rule("double_in_picture", float(thing.doubles), "<=", 0, "things", thing.words)
    alone = shown.knows_all(thing.kind) or bool(thing.mark)
    yield rule("others_not_logged", float(alone), ">=", 1, "kinds known whole", thing.words)


def read_rules(
    shown: ShownScene, quantity: str, step: float | None = None, value: float | None = None
) -> Iterator[Measure]:
    """That a quantity can be read, and to the step that is asked for.

    Args:
        shown: to whoever answers.
        quantity: what is asked for, or what has to be read to work it out.
        step: to which it is asked, in its unit; None: in no steps.
        value: the number itself, of which half of what can be read is at most `READ_SHARE`; None: it does not matter.
    """
    yield rule("not_shown", float(quantity in shown.readable), ">=", 1, f"{quantity} in a {shown.by}")
    finest = shown.readable.get(quantity, 0.0)
    if step is not None and finest > 0:
        yield rule(TOO_FINE, step, ">=", finest, quantity)
    if value is not None and finest > 0:
        share = finest / 2 / abs(value) if value else float("inf")
        yield rule(TOO_COARSE, share, "<=", READ_SHARE, f"share of the {quantity}")


def gate(
    shown: ShownScene, things: Iterable[NamedThing], read: Iterable[tuple[str, float | None, float | None]]
) -> Iterator[Measure]:
    """Every rule about what a question names, and what has to be read to answer it (quantity, step, value)."""
    for thing in things:
        yield from named_rules(shown, thing)
    for quantity, step, value in read:
        yield from read_rules(shown, quantity, step, value)


@lru_cache(100_000)
def are_lookalikes(one: str, other: str) -> bool:
    """Whether two labels are different names of a group of names that people take for one another."""
    a, b = _in_a_group(one), _in_a_group(other)
    return a is not None and b is not None and a != b and _GROUPS[a] == _GROUPS[b]


@lru_cache(100_000)  # the names of one scene are those of others
def alike(other: str, name: str) -> bool:
    """Whether people may call by a name what the annotation calls otherwise: a desk, or a coffee table, "table".

    Nor do capitals, hyphens, spaces or a plural tell two names apart.
    """
    a, b = _singular(other), _singular(name)
    return a.replace(" ", "") == b.replace(" ", "") or a.endswith(f" {b}") or are_lookalikes(other, name)


def _singular(label: str) -> str:
    """A label in small letters, its words one space apart, without the s of a plural."""
    words = " ".join(label.casefold().replace("-", " ").split())
    return words if words.endswith(("ss", "us")) else words.removesuffix("s")


_GROUPS: Final = {_singular(name): n for n, names in enumerate(load_table("lookalikes")) for name in names}


def _in_a_group(label: str) -> str | None:
    """The longest name of a group that a label is, or ends with: of an office desk "desk"."""
    words = _singular(label).split()
    return next((tail for i in range(len(words)) if (tail := " ".join(words[i:])) in _GROUPS), None)
