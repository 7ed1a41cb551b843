"""The protocol of scoring a benchmark: replies in, scores per question out, and the figures computed from them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Model
from pipeline.llm.base import ModelSpec, Reply, Request, record, user
from pipeline.llm.failures import ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.metrics.letters import find_letter
from pipeline.metrics.replies import ParsedReply
from pipeline.questions.published import Published

S = TypeVar("S", bound=Model)
TOO_LONG: Final = "too_long"
MAX_CHARS: Final = 500_000  # of a reply in which an answer is looked for; thoughts of 100,000 tokens are fewer
# Replies in the order of the requests, or why there is none.
Ask = Callable[[Sequence[Request]], Sequence[Reply | ModelError]]


@dataclass(frozen=True)
class Answer:
    """The reply to one question.

    Attributes:
        reply: a model's words; None: nothing was said.
        steps: where an agent was, if it moved: poses (k, 6) as the benchmark writes them, the start first.
        views: where an agent that looks about looked at each step (k, 3): yaw, pitch (degrees) and zoom.
    """

    question: Published
    reply: str | None = None
    steps: FloatArray | None = None
    views: FloatArray | None = None


@dataclass(frozen=True)
class Metric:
    """One thing that is measured of answers.

    Attributes:
        title: as people write it, with its unit.
        digits: behind the point.
        is_guessed: whether the blind table of a release tells what guessing earns in it.
        is_minor: whether people are shown it of all questions alone.
        is_main: whether a section of many metrics is short with it: the others are shown with ``--verbose``.
        statistic: what of the marks a figure is.
        sections: of the figures that are told in it; empty: all.
        highest: mark that a question can earn.
    """

    title: str
    digits: int = 3
    is_guessed: bool = False
    is_minor: bool = False
    is_main: bool = False
    statistic: Literal["mean", "median"] = "mean"
    sections: tuple[str, ...] = ()
    highest: float = 1.0

    def written(self, value: float | None) -> str:
        """A value with as many digits as the metric has; empty where there is none."""
        return "" if value is None else f"{value:.{self.digits}f}"


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
    """The scores of answers.

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
        difference: whether it is its first part less its second, drawn by the same scenes.
    """

    name: str
    section: str = ""
    members: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    inset: bool = False
    difference: bool = False


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
        judge: the model that the settings name as judge; None: the answers need none.
        unusual: name in `Scores.left_out` -> what it means.
        composites: metric -> how it follows from others.
        also: questions that stand in no file, by the ids that were answered.
        logged: columns of the questions' file that stand beside what each question earned.
        published: metric -> figure -> model -> what the paper prints for it.
    """

    read: Callable[[Path], list[Published]]
    metrics: Mapping[str, Metric]
    settings: type[S]
    mark: Callable[[Sequence[Answer], S, Ask | None], Scores]
    figures: Callable[[Sequence[Answer]], list[Figure]]
    judge: Callable[[S], ModelSpec | None] = lambda settings: getattr(settings, "judge", None)
    unusual: Mapping[str, str] = field(default_factory=dict)
    composites: Mapping[str, Composite] = field(default_factory=dict)
    also: Callable[[Collection[str]], list[Published]] = no_more
    logged: Sequence[str] = ()
    published: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)


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


def find_option(answer: Answer, unlettered: int = 0) -> ParsedReply[str]:
    """The letter that a reply names among the options of its question; of one without options among so many letters."""
    if is_too_long(answer.reply):
        return ParsedReply(None, TOO_LONG)
    texts = [option.split(". ", 1)[-1] for option in answer.question.options or ()]
    return find_letter(answer.reply or "", len(texts) or unlettered, texts)


def unmeasured(n: int) -> FloatArray:
    """Marks (n,) of what was not measured."""
    return np.full(n, np.nan)


@dataclass(frozen=True)
class Judge:
    """How a model judges replies in words.

    Attributes:
        prompt: name of the prompt, whose fields are question, answer, response and those that ``more`` gives.
        mark: name of the mark in the judge's JSON reply.
        kind: type of the mark in JSON.
        lowest: the lowest mark; whoever says nothing, or more than anybody reads, has it without the judge.
        highest: the highest mark.
    """

    prompt: str
    mark: str
    kind: Literal["integer", "number"]
    lowest: int
    highest: int
    more: Callable[[Published], Mapping[str, Any]] = lambda question: {}

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of a reply."""
        return record(**{self.mark: {"type": self.kind, "minimum": self.lowest, "maximum": self.highest}})

    def request(self, answer: Answer) -> Request:
        """The question to the judge about one answer."""
        prompt, question = load_prompt(self.prompt), answer.question
        fields = {"question": question.question, "answer": question.ground_truth, "response": answer.reply}
        text = prompt.render(**fields, **self.more(question))
        return Request((user(text),), self.schema, prompt=prompt.version)

    def judged(self, answers: Sequence[Answer], ask: Ask) -> tuple[FloatArray, dict[str, str], list[str]]:
        """Marks (n,), the judge's words per question, and the questions that it did not judge (NaN)."""
        asked = [n for n, a in enumerate(answers) if a.reply is not None and not is_too_long(a.reply)]
        marks = np.full(len(answers), self.lowest, dtype=np.float64)
        words: dict[str, str] = {}
        failed: list[str] = []
        for n, reply in zip(asked, ask([self.request(answers[n]) for n in asked]), strict=True):
            name = str(answers[n].question.id)
            if isinstance(reply, ModelError):
                marks[n] = np.nan
                failed.append(f"{name} ({reply.kind})")
            else:
                marks[n], words[name] = float(structured(reply)[self.mark]), reply.text
        return marks, words, failed
