"""Ways to put a question in several turns, as VSI-Bench compares them (sections 5.2 and 6, appendix B.3 and B.4).

A `Dialogue` is a generator: it gives what is asked next, is sent the reply, and returns the answer. The first turn of
each conversation comes with what is shown of the scene.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pipeline.core.templates import load_table
from pipeline.llm.prompts import load_prompt
from pipeline.metrics.number_words import normalised

RUNS: Final = 5  # of self-consistency
VOTES: Final = 3  # plans, votes and predictions of a tree of thoughts
MAP_CELLS: Final = 10
_SAID: Final[Mapping[str, Any]] = load_table("prompting")
_ORDINAL: Final = re.compile(rf"\b[1-{VOTES}]\b")


class Turn(NamedTuple):
    """What is asked next: a conversation of user and model in turns, and which of several runs of it this is."""

    said: tuple[str, ...]
    run: int = 0


Dialogue = Generator[Turn, str, str]


class PromptingMethod(NamedTuple):
    """One way: the temperature at which it samples, and the dialogue about a question's text."""

    temperature: float
    dialogue: Callable[[str], Dialogue]


def chain_of_thought(text: str, run: int = 0) -> Dialogue:
    """Zero-shot chain of thought, and a turn more that extracts the answer."""
    asked = f"{text}\n{_SAID['think']}"
    reasons = yield Turn((asked,), run)
    answer = yield Turn((asked, reasons, _SAID["extract"]), run)
    return answer


def self_consistency(text: str) -> Dialogue:
    """The answer that most of five chains of thought end with; of equally frequent ones the first."""
    answers = []
    for run in range(RUNS):
        answers.append((yield from chain_of_thought(text, run)))
    return _most_frequent(answers)


def tree_of_thoughts(text: str) -> Dialogue:
    """Three plans, three votes for one of them, three answers by it, three votes for one of these."""
    plans = yield Turn((_SAID["plans"].format(question=text, n=VOTES),))
    plan = yield from _voted(_SAID["choose_plan"].format(question=text, plans=plans, n=VOTES))
    answers = []
    for run in range(VOTES):
        asked = _SAID["by_plan"].format(question=text, plans=plans, plan=plan)
        reasons = yield Turn((asked,), run)
        answers.append((yield Turn((asked, reasons, _SAID["extract"]), run)))
    listed = "\n".join(f"{n}. {answer}" for n, answer in enumerate(answers, 1))
    chosen = yield from _voted(_SAID["choose_answer"].format(question=text, answers=listed, n=VOTES))
    return answers[int(chosen) - 1]


def map_first(text: str) -> Dialogue:
    """A cognitive map of the categories that the question names, then the answer by it."""
    asked = load_prompt("cognitive_map").render(cells=MAP_CELLS, categories=_SAID["of_question"].format(question=text))
    drawn = yield Turn((asked,))
    answer = yield Turn((asked, drawn, _SAID["by_map"].format(question=text)))
    return answer


def _voted(text: str) -> Dialogue:
    """The number that most votes name last; the first one where none names any."""
    votes = []
    for run in range(VOTES):
        found = _ORDINAL.findall((yield Turn((text,), run)))
        votes += found[-1:]
    return _most_frequent(votes) if votes else "1"


def _most_frequent(answers: Iterable[str]) -> str:
    """The first of the most frequent answers, but for case and punctuation."""
    said: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for answer in answers:
        said.setdefault(normalised(answer), answer)
        counted[normalised(answer)] += 1
    return said[max(counted, key=counted.__getitem__)]


METHODS: Final[Mapping[str, PromptingMethod]] = {
    "chain_of_thought": PromptingMethod(0.0, chain_of_thought),
    "self_consistency": PromptingMethod(0.7, self_consistency),
    "tree_of_thoughts": PromptingMethod(0.7, tree_of_thoughts),
    "map_first": PromptingMethod(0.0, map_first),
}
