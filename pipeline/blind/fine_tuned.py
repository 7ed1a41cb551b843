"""The primary attacker of the stress test (arXiv 2511.04655): a language model that is fine-tuned on the benchmark.

For each fold a model learns by LoRA to answer the questions of the other folds, of all tasks at once, from question and
options as text; then it answers those of the fold. Options are weighed by the likelihood of letter and words. Of a
number, the answers in other folds are weighed likewise, and the guess is the one with the highest expected score.
"""

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.blind.attack import tasks_of
from pipeline.blind.forest import guesses_of
from pipeline.blind.items import LETTERS, BlindItem
from pipeline.blind.priors import chance
from pipeline.blind.totals import FINE_TUNED
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import digest
from pipeline.llm.lora import EPOCHS, PASSES, LocalModel, PromptAnswers
from pipeline.metrics.mra import mean_relative_accuracies

_DECIMALS: Final = 6
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class FineTunedScores:
    """Scores of n questions, arrays (n,), as `attack.ForestScores`, and the attacker's name."""

    name: str
    bias: FloatArray
    earned: FloatArray


def fine_tuned(items: Sequence[BlindItem], fold: IntArray, folder: Path, progress: Progress) -> FineTunedScores:
    """Scores of questions of any tasks with the fold (n,) of each; equal whatever their order.

    Args:
        items: the questions.
        fold: (n,) shared by all questions of a group, whatever their task.
        folder: of the model (`pipeline.llm.lora`).
        progress: called with what is done and for how long, and the passes through the model: done, and of all.
    """
    model = LocalModel(folder)
    score = np.zeros((2, len(items)))  # bias and earned
    for index in tasks_of(items).values():
        score[:, index] = chance([items[i] for i in index], fold[index])
    order = np.array(sorted(range(len(items)), key=lambda i: items[i].id), dtype=np.intp)
    parts = [(order[fold[order] != test], order[fold[order] == test]) for test in np.unique(fold).tolist()]
    asked = [_prompts(items, train, test) for train, test in parts]
    total = sum(
        PASSES * EPOCHS * len(train) + sum(len(choice.answers) for choice in choices.values())
        for (train, _), choices in zip(parts, asked, strict=True)
    )
    tick = _Clock(progress, total, model.on_processor).tick
    for number, ((train, _), choices) in enumerate(zip(parts, asked, strict=True)):
        if not len(train) or not choices:
            continue
        known = [(_prompt(items[i]), _answer(items[i])) for i in train]
        seed = int.from_bytes(digest(FINE_TUNED, str(number))[:4], "big")
        for i, logs in zip(choices, model.adapt_and_score(known, list(choices.values()), seed, tick), strict=True):
            likely = np.exp(logs - logs.max())
            score[:, i] = _scored(items[i], choices[i], np.round(likely / likely.sum(), _DECIMALS))
    name = re.sub(r"[^\w.+-]", "_", folder.resolve().name)
    return FineTunedScores(f"{FINE_TUNED} {name}", *score)


def _prompts(items: Sequence[BlindItem], train: IntArray, test: IntArray) -> dict[int, PromptAnswers]:
    """Index of each tested question -> its prompt and answers; without numbers of tasks that no other fold has."""
    numbers: dict[str, list[float]] = {}
    for i in train:
        numbers.setdefault(items[i].task, []).append(float(items[i].number or 0))
    guesses = {task: [_decimal(value) for value in guesses_of(np.array(found))] for task, found in numbers.items()}
    found = {}
    for i in test.tolist():
        item = items[i]
        answers = [_option(item, n) for n in range(len(item.options))] or guesses.get(item.task, [])
        if answers:
            found[i] = PromptAnswers(_prompt(item), answers)
    return found


def _scored(item: BlindItem, choice: PromptAnswers, likely: FloatArray) -> tuple[float, float]:
    """Bias and earned of one question, from how likely (k,) its answers are."""
    if item.right is not None:
        top = likely == likely.max()
        return float(likely[item.right]), float(top[item.right] / top.sum())
    values = np.array([float(answer) for answer in choice.answers])
    expected = np.round(mean_relative_accuracies(values[:, None], values[None]) @ likely, _DECIMALS)
    earned = float(mean_relative_accuracies(values[expected.argmax()], float(item.number or 0)))
    return earned, earned


def _prompt(item: BlindItem) -> str:
    return "\n".join([item.text, *(_option(item, n).strip() for n in range(len(item.options))), "Answer:"])


def _answer(item: BlindItem) -> str:
    return _decimal(float(item.number or 0)) if item.right is None else _option(item, item.right)


def _option(item: BlindItem, place: int) -> str:
    return f" {LETTERS[place]}. {item.options[place]}"


def _decimal(value: float) -> str:
    return f" {np.format_float_positional(value, trim='-')}"


class _Clock:
    """Counts passes, and tells how long all take on a processor, as far as the batches after the first show."""

    _LOOKS: Final = 8  # batches

    def __init__(self, progress: Progress, total: int, on_processor: bool) -> None:
        self._progress, self._total, self._on_processor = progress, total, on_processor
        self._done, self._label = 0, "fine-tuning"
        self._ticks: list[tuple[float, int]] = []

    def tick(self, passes: int) -> None:
        self._done += passes
        if len(self._ticks) <= self._LOOKS:
            self._ticks.append((time.monotonic(), self._done))
            return
        if self._on_processor and self._label == "fine-tuning":
            (start_s, before), (end_s, done) = self._ticks[0], self._ticks[-1]
            minutes = math.ceil((end_s - start_s) / (done - before) * self._total / 60)
            self._label += f" on the processor (no GPU found), about {minutes:,} min"
        self._progress(self._label, self._done, self._total)
