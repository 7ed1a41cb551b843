"""Answers of one kind of question in one log, made even: who guesses the commonest then earns little."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pipeline.core.identity import digest
from pipeline.questions.cases import Case

TIMES: Final = 2  # as often as another an answer is given at most


def make_even(cases: Iterable[Case], purpose: str, *, measured: bool) -> None:
    """Refuses, for each kind (a case's first operand), what would make an answer over `TIMES` as frequent as another.

    Of words and counts those answers stay that occur ``n`` times, each at most ``TIMES * n`` times, for the ``n`` that
    leaves most questions with two answers or more; of a kind with one answer one question stays. A ``measured`` number
    is hardly twice the same: none is dropped for being rare, and each stays `TIMES` times at most.
    """
    kinds: dict[str, dict[str, list[Case]]] = {}
    for case in cases:
        if case.refusal is None and case.answer is not None:
            kinds.setdefault(case.operands[0], {}).setdefault(case.answer, []).append(case)
    for by_answer in kinds.values():
        sizes = [len(own) for own in by_answer.values()]
        least = 1 if measured else least_of(sizes)
        most = 1 if len(sizes) == 1 and not measured else TIMES * least
        for own in by_answer.values():
            own.sort(key=lambda case: digest(purpose, "even", *case.draw))
            for place, case in enumerate(own, start=1):
                if len(own) < least:
                    case.refuse("answer_too_rare", len(own), least, "candidates")
                elif place > most:
                    case.refuse("answer_too_frequent", place, most, "candidates")


def least_of(sizes: Iterable[int]) -> int:
    """How often an answer must occur to stay; 1 where no number leaves two answers."""
    every = sorted(sizes)
    if len(every) < 2:
        return 1

    def left(n: int) -> int:
        return sum(min(size, TIMES * n) for size in every if size >= n)

    return max(sorted(set(every[:-1])), key=lambda n: (left(n), -n))
