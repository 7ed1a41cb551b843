"""Answers of one kind of question in one log, made even: who guesses by its words then earns little."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from pipeline.benchmarks.embodied4c.case import WORDINGS, ExamCase
from pipeline.core.identity import digest
from pipeline.questions.rules import Relation

_ALL: Final = ""  # the trait of every case
ENOUGH: Final = 60  # measured numbers of a kind that stay, where there are so many
# Of one or two buses nobody is wrong by much: so many different counts are to be beside a trait of these kinds.
COUNTED: Final = frozenset({"ct_near", "ct_ahead", "lm_seen", "lm_passed"})
LEAST_COUNTS: Final = 3
BY_TRAIT: Final = frozenset({"at_size", "arm_md", "arm_cs"})  # measured kinds whose numbers hang on what is measured
STEP: Final = math.log(1.25)  # numbers within a quarter of one another are guessed alike


def make_even(cases: Iterable[ExamCase], purpose: str, *, measured: bool) -> None:
    """Refuses, for each kind (a case's first operand), what would make an answer more likely than another.

    Words and counts: no answer is given oftener than another by more than one, of all questions of a kind and of those
    of each trait; usual ones (`Wording.usual`) more seldom. Of a closed set of which one answer is left none is asked.
    ``measured`` numbers are spread over magnitudes: of those within a quarter of one another as few stay as leave
    `ENOUGH`.
    """
    kinds: dict[str, list[ExamCase]] = {}
    for case in cases:
        if case.refusal is None and case.answer is not None:
            kinds.setdefault(case.operands[0], []).append(case)
    for kind, own in kinds.items():
        own.sort(key=lambda case: digest(purpose, "even", *case.draw))
        if measured:
            _spread_out(own)
        else:
            _level(kind, own, purpose)


def _level(kind: str, own: Sequence[ExamCase], purpose: str) -> None:
    """Takes case after case while no answer leads by more than one, in all or beside a trait, nor a trait a count."""
    taken = _Taken(kind, own, purpose)
    left, before = list(own), -1
    while left and before != len(left):
        before = len(left)
        left = [case for case in left if not taken.take(case)]
    for case in left:
        case.require("answer_too_frequent", *taken.against(case), "candidates")
    if WORDINGS[kind].open:
        return
    for case in reversed(own):
        few = min((len(taken.beside[trait]) for trait in case.traits), default=LEAST_COUNTS)
        least = LEAST_COUNTS if kind in COUNTED else 2
        if case.refusal is None and few < least:
            case.refuse("answer_never_varies", few, least, "answers")
            taken.count(case, -1)
    if len(taken.beside[_ALL]) < 2:
        for case in own:
            case.refuse("answer_never_varies", 1, 2, "answers")


class _Taken:
    """What was taken of one kind.

    Attributes:
        beside: trait -> how often each answer.
        places: of traits, at which there are several.
        under: answer and place -> how often each trait that stands there.
    """

    def __init__(self, kind: str, own: Sequence[ExamCase], purpose: str) -> None:
        self.kind, self.purpose = kind, purpose
        standing = [set(traits) for traits in zip(*(case.traits for case in own), strict=False)]
        self.places = [n for n, there in enumerate(standing) if len(there) > 1]
        self.beside: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.under: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)

    def take(self, case: ExamCase) -> bool:
        """Takes a case, if that makes nothing too likely."""
        number, _, most = self.against(case)
        if number > most:
            return False
        self.count(case, 1)
        return True

    def against(self, case: ExamCase) -> tuple[int, Relation, int]:
        """What would be with a case: how often its usual answer is given, where that is too often, else its lead."""
        odds = WORDINGS[self.kind].usual.get(case.guessed, 1)
        if odds > 1:
            others = max((n for other, n in self.beside[_ALL].items() if other != case.guessed), default=0)
            share = digest(self.purpose, self.kind, "share")[0] / 256  # so that half a question is in every second log
            number, most = self.beside[_ALL][case.guessed] + 1, math.floor(others / odds + share)
            if number > most:
                return number, "<=", most
        return self.lead(case) + 1, "<=", 1

    def lead(self, case: ExamCase) -> int:
        """By how many its answer is ahead of any other beside one of its traits, or the trait under its answer."""
        found = [_ahead(self.beside[trait], case.guessed) for trait in (_ALL, *case.traits)]
        if case.guessed.isdecimal():  # more are within a larger radius
            found += [_ahead(self.under[case.guessed, n], case.traits[n]) for n in self.places]
        return max(found)

    def count(self, case: ExamCase, more: int) -> None:
        """Counts a case as taken, or no longer."""
        for trait in (_ALL, *case.traits):
            _add(self.beside[trait], case.guessed, more)
        for n, trait in enumerate(case.traits):
            _add(self.under[case.guessed, n], trait, more)


def _ahead(counted: Counter[str], name: str) -> int:
    return counted[name] - max((n for other, n in counted.items() if other != name), default=0)


def _add(counted: Counter[str], name: str, more: int) -> None:
    counted[name] += more
    if not counted[name]:
        del counted[name]


def _spread_out(own: Sequence[ExamCase]) -> None:
    traits: dict[tuple[str, ...], list[ExamCase]] = {}
    for case in own:
        traits.setdefault(case.traits if case.operands[0] in BY_TRAIT else (), []).append(case)
    for alike in traits.values():
        _fill(alike, -(-ENOUGH // len(traits)))


def _fill(own: Sequence[ExamCase], enough: int) -> None:
    """Keeps as few of each magnitude as leave enough, and of none more than a quarter, but for two."""
    of = [round(math.log(float(case.guessed)) / STEP) for case in own]
    sizes = Counter(of).values()
    most = next(n for n in range(1, len(own) + 1) if sum(min(s, n) for s in sizes) >= min(enough, len(own)))
    while most > 2 and most > sum(min(s, most) for s in sizes) / 4:
        most -= 1
    seen: Counter[int] = Counter()
    for case, magnitude in zip(own, of, strict=True):
        seen[magnitude] += 1
        if seen[magnitude] > most:
            case.refuse("answer_too_frequent", seen[magnitude], most, "candidates")
