"""Questions whose text gives nothing away: the options are the flight's own answers, each right equally often.

Whoever has not seen the video knows of two moments of one flight the same text and the same options. So whatever rule
he follows, he gives both the same answer; where every option is right as often as any other he is right by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Final

from pipeline.benchmarks.urbanvideo.cases import FlightCase, UrbanTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.identity import digest
from pipeline.questions.cases import WRONG_MIN

ANSWERS_MIN: Final = WRONG_MIN + 1


class EvenTask(UrbanTask):
    """A task whose options are the answers of its own questions of the flight, each right equally often."""

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every candidate with its answer, in canonical order, as if it alone were asked."""
        raise NotImplementedError

    def kind(self, case: FlightCase) -> Hashable:
        """What sets candidates apart that cannot have the same options."""
        return None

    def clash(self, view: UrbanView, a: str, b: str) -> bool:
        """Whether two answers may both be called right, so that they cannot stand side by side."""
        return False

    def fair(self, view: UrbanView, case: FlightCase, option: str) -> bool:
        """Whether an option is wrong for a candidate, and not so by the words of the question alone."""
        return True

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """All of them; those that cannot be asked in equal numbers per answer are refused."""
        every = list(self.judged(view))
        self.ask_once(view, every)
        groups: dict[Hashable, dict[str, list[FlightCase]]] = defaultdict(lambda: defaultdict(list))
        for case in every:
            if case.refusal is None and case.answer is not None:
                groups[self.kind(case)][case.answer].append(case)
        for group in groups.values():
            for case, answers in even(group, f"{view.scene.id} {self.name}", partial(self.clash, view)):
                case.ask(str(case.answer), [option for option in answers if self.fair(view, case, option)])
        yield from every


def even(
    group: dict[str, list[FlightCase]], purpose: str, clash: Callable[[str, str], bool]
) -> list[tuple[FlightCase, Sequence[str]]]:
    """Every candidate of a group with the answers that are offered; those that are too many or too few are refused.

    Args:
        group: the candidates by answer, in order.
        purpose: what the draw is for, which says who of several of one answer stay.
        clash: see `EvenTask`.
    """
    drawn = {answer: sorted(found, key=lambda case: digest(purpose, *case.draw)) for answer, found in group.items()}
    offered: list[str] = []
    for answer in sorted(group, key=lambda answer: (-len(group[answer]), digest(purpose, *drawn[answer][0].draw))):
        if not any(clash(answer, other) for other in offered):
            offered.append(answer)
    # As many questions as there can be: few of each of many answers, or many of each of few.
    each = max(range(1, max(map(len, group.values())) + 1), key=lambda n: (_total(group, offered, n), -n))
    kept = [answer for answer in offered if len(group[answer]) >= each]
    for answer, found in drawn.items():
        for place, case in enumerate(found, start=1):
            case.require("too_few_answers", len(kept), ">=", ANSWERS_MIN, "answers")
            if answer not in kept:
                case.refuse("answer_too_rare", len(found), each, "candidates")
            case.require("answer_too_frequent", place, "<=", each, "candidates")
    return [(case, kept) for found in drawn.values() for case in found]


def _total(group: dict[str, list[FlightCase]], offered: list[str], each: int) -> int:
    """How many questions there are with so many of each answer; 0 with too few answers."""
    answers = sum(len(group[answer]) >= each for answer in offered)
    return each * answers if answers >= ANSWERS_MIN else 0
