"""The protocol of asking a model a benchmark's questions: what it is shown and told, with the paper's own prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

from pipeline.core.templates import load_table
from pipeline.llm.base import Image
from pipeline.questions.prompting import PromptingMethod
from pipeline.questions.published import Published


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

    def by_oracle(self, prompt: StepPrompt) -> str:
        """The next reply of an agent that knows where the answer is seen, and the answer."""

    def at_random(self, draw: Random, prompt: StepPrompt) -> str:
        """The next reply of an agent that acts at random."""


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

    @classmethod
    def of(cls, benchmark: str, prompt: Callable[[Published, AskedOf], QuestionPrompt], **more: Any) -> Asking:
        """With the settings of ``templates/tables/BENCHMARK/asking.yaml``."""
        table: Mapping[str, Any] = load_table(f"{benchmark}/asking")
        settings = {name: table[name] for name in ("source", "temperature", "max_tokens")}
        return replace(cls(**settings, prompt=prompt, system=table.get("system", "")), **more)
