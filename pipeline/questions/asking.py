"""The protocol of asking a model a benchmark's questions: what it is shown and told, with the paper's own prompts.

Ways to put a question in several turns, as VSI-Bench compares them (sections 5.2 and 6, appendix B.3 and B.4).
A `Dialogue` is a generator: it gives what is asked next, is sent the reply, and returns the answer. The first turn of
each conversation comes with what is shown of the scene.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, Protocol

from pipeline.core.templates import load_table
from pipeline.llm.base import Image
from pipeline.llm.prompts import load_prompt
from pipeline.metrics.number_words import normalised
from pipeline.questions.published import Published

RUNS: Final = 5  # of self-consistency
VOTES: Final = 3  # plans, votes and predictions of a tree of thoughts
MAP_CELLS: Final = 10
_SAID: Final[Mapping[str, Any]] = load_table("prompting")
_ORDINAL: Final = re.compile(rf"\b[1-{VOTES}]\b")


class PromptTurn(NamedTuple):
    """What is asked next: a conversation of user and model in turns, and which of several runs of it this is."""

    said: tuple[str, ...]
    run: int = 0


Dialogue = Generator[PromptTurn, str, str]


class PromptingMethod(NamedTuple):
    """One way: the temperature at which it samples, and the dialogue about a question's text."""

    temperature: float
    dialogue: Callable[[str], Dialogue]


def chain_of_thought(text: str, run: int = 0) -> Dialogue:
    """Zero-shot chain of thought, and a turn more that extracts the answer."""
    asked = f"{text}\n{_SAID['think']}"
    reasons = yield PromptTurn((asked,), run)
    answer = yield PromptTurn((asked, reasons, _SAID["extract"]), run)
    return answer


def self_consistency(text: str) -> Dialogue:
    """The answer that most of five chains of thought end with; of equally frequent ones the first."""
    answers = []
    for run in range(RUNS):
        answers.append((yield from chain_of_thought(text, run)))
    return _most_frequent(answers)


def tree_of_thoughts(text: str) -> Dialogue:
    """Three plans, three votes for one of them, three answers by it, three votes for one of these."""
    plans = yield PromptTurn((_SAID["plans"].format(question=text, n=VOTES),))
    plan = yield from _voted(_SAID["choose_plan"].format(question=text, plans=plans, n=VOTES))
    answers = []
    for run in range(VOTES):
        asked = _SAID["by_plan"].format(question=text, plans=plans, plan=plan)
        reasons = yield PromptTurn((asked,), run)
        answers.append((yield PromptTurn((asked, reasons, _SAID["extract"]), run)))
    listed = "\n".join(f"{n}. {answer}" for n, answer in enumerate(answers, 1))
    chosen = yield from _voted(_SAID["choose_answer"].format(question=text, answers=listed, n=VOTES))
    return answers[int(chosen) - 1]


def map_first(text: str) -> Dialogue:
    """A cognitive map of the categories that the question names, then the answer by it."""
    asked = load_prompt("cognitive_map").render(cells=MAP_CELLS, categories=_SAID["of_question"].format(question=text))
    drawn = yield PromptTurn((asked,))
    answer = yield PromptTurn((asked, drawn, _SAID["by_map"].format(question=text)))
    return answer


def _voted(text: str) -> Dialogue:
    """The number that most votes name last; the first one where none names any."""
    votes = []
    for run in range(VOTES):
        found = _ORDINAL.findall((yield PromptTurn((text,), run)))
        votes += found[-1:]
    return _most_frequent(votes) if votes else "1"


def _most_frequent(answers: Iterable[str]) -> str:
    """The first of the most frequent answers, but for case and punctuation."""
    texts: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for answer in answers:
        texts.setdefault(normalised(answer), answer)
        counted[normalised(answer)] += 1
    return texts[max(counted, key=counted.__getitem__)]


METHODS: Final[Mapping[str, PromptingMethod]] = {
    "chain_of_thought": PromptingMethod(0.0, chain_of_thought),
    "self_consistency": PromptingMethod(0.7, self_consistency),
    "tree_of_thoughts": PromptingMethod(0.7, tree_of_thoughts),
    "map_first": PromptingMethod(0.0, map_first),
}


@dataclass(frozen=True)
class QuestionPrompt:
    """One question as a model is asked it.

    Attributes:
        text: the words of the user's turn, after what is shown.
        video: path of its video below the folder of videos; None: it has none.
        images: paths of its pictures below the release, shown after the video.
        legend: path of a picture below the release that is shown too if it is there.
    """

    text: str
    video: str | None = None
    images: tuple[str, ...] = ()
    legend: str | None = None


@dataclass(frozen=True)
class StepPrompt:
    """What an agent is told before its next step, and what gives the picture that it sees; None: it sees none."""

    text: str
    look: Callable[[], Image] | None


class AgentEpisode(Protocol):
    """One question that an agent answers step by step: what it sees depends on what it replied."""

    def prompt(self) -> StepPrompt | None:
        """What the agent is asked next; None: the episode has ended."""

    def take(self, reply: str) -> None:
        """Does what a reply says; what it does not say, or what is not allowed, is told in the next prompt."""

    def result(self) -> dict[str, Any]:
        """The columns of the replies' file beside the id: ``answer``, ``steps`` where it moved, ``log``."""


@dataclass(frozen=True)
class AskedOf:
    """What a prompt depends on beside its question.

    Attributes:
        split: of the release.
        proprietary: whether the model is behind its maker's own interface: VSI-Bench words its prompts by that.
        prompt: one of `Asking.prompts` or `Asking.methods`; empty: the paper's own.
        release: its folder.
        scene: what a function makes of the facts of a question's scene, once for all questions of the scene. Raises
            ConfigError where the release does not lie in its build.
    """

    split: str
    proprietary: bool
    prompt: str
    release: Path
    scene: Callable[[Published, Callable[[Any], Any]], Any]


@dataclass(frozen=True)
class Asking:
    """How the questions of a benchmark are put to a model.

    Attributes:
        source: where the prompt stands.
        temperature: of sampling.
        max_tokens: of a reply.
        prompt: of a question.
        system: the system prompt; empty: none.
        ends_asked: whether a question stands at the end of its video, so that the last frame must be among those shown.
        prompts: names of other prompts that the paper compares.
        methods: ways to put a question in several turns that it compares, by name.
        episode: of a question that an agent answers; None: it is asked once, by its prompt.
        agents: who acts without a model, by name: the next reply in an episode. One of the name of a prompt is its.
    """

    source: str
    temperature: float
    max_tokens: int
    prompt: Callable[[Published, AskedOf], QuestionPrompt]
    system: str = ""
    ends_asked: bool = False
    prompts: tuple[str, ...] = ()
    methods: Mapping[str, PromptingMethod] = field(default_factory=dict)
    episode: Callable[[Published, AskedOf], AgentEpisode | None] = lambda question, asked: None
    agents: Mapping[str, Callable[[Any, Random, StepPrompt], str]] = field(default_factory=dict)

    @classmethod
    def of(cls, benchmark: str, prompt: Callable[[Published, AskedOf], QuestionPrompt], **more: Any) -> Asking:
        """With the settings of ``templates/tables/BENCHMARK/asking.yaml``."""
        table: Mapping[str, Any] = load_table(f"{benchmark}/asking")
        settings = {name: table[name] for name in ("source", "temperature", "max_tokens")}
        return replace(cls(**settings, prompt=prompt, system=table.get("system", "")), **more)
