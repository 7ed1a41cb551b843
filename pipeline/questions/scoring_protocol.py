"""The protocol of scoring a benchmark: replies in, scores per question out, and the figures computed from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Model
from pipeline.llm.base import ModelSpec, Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.llm.replies import structured
from pipeline.questions.published import Published

S = TypeVar("S", bound=Model)
TOO_LONG: Final = "too_long"
MAX_CHARS: Final = 500_000  # of a reply in which an answer is looked for; thoughts of 100,000 tokens are fewer
# Replies in the order of the requests, or why there is none.
Ask = Callable[[Sequence[Request]], Sequence[Reply | ModelError]]


@dataclass(frozen=True)
class Answer:
    """What was said to one question.

    Attributes:
        reply: a model's words; None: nothing was said.
        steps: where an agent was, if it moved: poses (k, 6) as the benchmark writes them, the start first.
    """

    question: Published
    reply: str | None = None
    steps: FloatArray | None = None


@dataclass(frozen=True)
class Metric:
    """One thing that is measured of answers.

    Attributes:
        title: as people write it, with its unit.
        digits: behind the point.
        is_guessed: whether the blind table of a release tells what guessing earns in it.
        is_minor: whether people are shown it of all questions alone.
        statistic: what of the marks a figure is.
        sections: of the figures that are told in it; empty: all.
    """

    title: str
    digits: int = 3
    is_guessed: bool = False
    is_minor: bool = False
    statistic: Literal["mean", "median"] = "mean"
    sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Composite:
    """A metric that has no marks of its own: a figure in it follows from the same figure in others.

    Attributes:
        parts: names of the metrics.
        formula: (k, ...) figures in these -> (...) of this one, element by element: it is asked of all samples at once.
    """

    parts: tuple[str, ...]
    formula: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Scores:
    """What answers earn.

    Attributes:
        values: metric -> (n,), one per answer; NaN: it was not measured.
        unread: per answer, why no answer was found in the reply; None: one was.
        left_out: name (of `Score.unusual`) -> the questions of which something could not be used.
        notes: what else there is to say.
        replies: a judge's reply per question id.
    """

    values: Mapping[str, FloatArray]
    unread: Sequence[str | None]
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    replies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """The mean of marks: over some answers, or, where it has parts, over other figures.

    Attributes:
        name: unique.
        section: of the table, such as "task"; "" for all of it.
        members: indices of the answers.
        parts: names of figures; each counts the same.
        inset: whether it is a part of the one above it.
    """

    name: str
    section: str = ""
    members: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    inset: bool = False


def no_judge(settings: Model) -> ModelSpec | None:
    """Of a benchmark whose answers need no judge."""
    return None


def no_more(answered: Collection[str]) -> list[Published]:
    """Of a benchmark whose questions all stand in files."""
    return []


@dataclass(frozen=True)
class Score(Generic[S]):
    """How replies to the questions of a benchmark are scored.

    Attributes:
        read: the questions of a file. Raises ConfigError.
        metrics: by name, in order; the first is the one that counts.
        settings: what one may choose.
        mark: answers, settings and the judge's ear, if there is a judge.
        figures: of answers.
        judge: the model that the settings name as judge.
        unusual: name in `Scores.left_out` -> what it means.
        composites: metric -> how it follows from others.
        also: questions that stand in no file, by the ids that were answered.
        logged: columns of the questions' file that stand beside what each question earned.
    """

    read: Callable[[Path], list[Published]]
    metrics: Mapping[str, Metric]
    settings: type[S]
    mark: Callable[[Sequence[Answer], S, Ask | None], Scores]
    figures: Callable[[Sequence[Answer]], list[Figure]]
    judge: Callable[[S], ModelSpec | None] = no_judge
    unusual: Mapping[str, str] = field(default_factory=dict)
    composites: Mapping[str, Composite] = field(default_factory=dict)
    also: Callable[[Collection[str]], list[Published]] = no_more
    logged: Sequence[str] = ()


def group_by(answers: Sequence[Answer], section: str, names: Mapping[str, str]) -> list[Figure]:
    """A figure for each of some values of `Published.question_type` mapped through ``names``, those that occur."""
    figures = []
    for name in dict.fromkeys(names.values()):
        members = tuple(n for n, a in enumerate(answers) if names.get(a.question.question_type) == name)
        if members:
            figures.append(Figure(name, section, members))
    return figures


def is_too_long(reply: str | None) -> bool:
    """Whether a reply is so long that no answer is looked for in it."""
    return reply is not None and len(reply) > MAX_CHARS


def unmeasured(n: int) -> FloatArray:
    """Marks (n,) of what was not measured."""
    return np.full(n, np.nan)


def judged(
    answers: Sequence[Answer],
    ask: Ask,
    request: Callable[[Answer], Request],
    mark: Callable[[Any], float],
    lowest: float,
) -> tuple[FloatArray, dict[str, str], list[str]]:
    """Marks (n,), the judge's words per question, and the questions that it did not judge (NaN).

    Who says nothing, or more than anybody reads, has the lowest mark without the judge.

    Args:
        answers: n of them.
        ask: asks the judge.
        request: what it is asked about one answer.
        mark: what its reply, a JSON value, is worth.
        lowest: the lowest mark.
    """
    asked = [n for n, a in enumerate(answers) if a.reply is not None and not is_too_long(a.reply)]
    marks = np.full(len(answers), lowest, dtype=np.float64)
    words: dict[str, str] = {}
    failed: list[str] = []
    for n, reply in zip(asked, ask([request(answers[n]) for n in asked]), strict=True):
        name = str(answers[n].question.id)
        if isinstance(reply, ModelError):
            marks[n] = np.nan
            failed.append(f"{name} ({reply.kind})")
        else:
            marks[n], words[name] = mark(structured(reply)), reply.text
    return marks, words, failed
