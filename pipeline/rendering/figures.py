"""The figures of the report, computed from the tables and counts of a release."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.blind.rule import ANSWERED, BALANCE
from pipeline.blind.totals import TextOnly
from pipeline.core.groups import grouped
from pipeline.core.schema import Quarantine
from pipeline.questions.selection import THINNED
from pipeline.release.comparison import CAPS
from pipeline.release.released import Released

RULE: Final = "rule"  # what a candidate was rejected by; the others are `CHOICE` and `GUESSED`
CHOICE: Final = "choice"
GUESSED: Final = "guessed"
SHOWN_ANSWERS: Final = 8  # of a task, the most frequent
FEW_ANSWERS: Final = 24  # numbers that take more values are shown as a histogram
BARS: Final = 16  # of a histogram
_ENDS: Final = (0.01, 0.99)  # what lies beyond goes into the first and the last bar
TRIED: Final = "more_than_are_tried"  # of `questions.arrays`: the rest of more candidates than are formed
BLIND: Final = frozenset({ANSWERED, BALANCE})
CLEARER: Final = "asked_at_another_time"  # of `questions.cases`: the same words at a moment that is clearer
CHOSEN: Final = CAPS | {THINNED, TRIED, CLEARER}  # beside a benchmark's own (`Card.chosen`)
SPLITS: Final = ("asked", "released", "debiased")


class FunnelStep(NamedTuple):
    """A step of the funnel: how many candidates are left, and how many were rejected on the way to it."""

    label: str
    left: int
    dropped: int
    explanation: str


class RejectionReason(NamedTuple):
    """A reason for which candidates of a task were rejected; ``explanation`` explains it, "" where no text does."""

    task: str
    reason: str
    by: str
    n: int
    explanation: str


class AnswerShare(NamedTuple):
    """How often something is the answer, or a bar of a histogram."""

    label: str
    n: int


class AnswerFigure(NamedTuple):
    """The answers of a task.

    Attributes:
        most: the most frequent answer; its share of all is held against ``even``.
        even: the share that each would have if all that occur were as frequent.
        shares: the most frequent answers, the most frequent first; empty for a histogram.
        rest: how many questions have other answers than these.
        bars: of numbers that take many values, a histogram; its first and last bars take the outermost hundredths.
    """

    task: str
    n: int
    distinct: int
    most: AnswerShare
    even: float
    shares: tuple[AnswerShare, ...]
    rest: int
    bars: tuple[AnswerShare, ...]


class BestGuess(NamedTuple):
    """The score of the best attacker on one split of a task, held against chance."""

    split: str
    n: int
    chance: float
    best: float
    name: str


class FindingFigure(NamedTuple):
    """A finding in the raw data: how often, in how many scenes, and one of them in words."""

    name: str
    severity: str
    n: int
    scenes: int
    example: str


def by_whom(reason: str, chosen: Collection[str]) -> str:
    """Whether a candidate broke a rule, was not chosen (``chosen``: `Card.chosen`), or was answered blind."""
    return CHOICE if reason in CHOSEN or reason in chosen else GUESSED if reason in BLIND else RULE


def reasons_of(
    rejections: Mapping[str, Mapping[str, int]], words: Mapping[str, str], chosen: Collection[str]
) -> list[RejectionReason]:
    """Every reason of every task, the most frequent first within its task; tasks by name. ``words``: `glossary`."""
    rows = [
        RejectionReason(task, name, by_whom(name, chosen), n, words.get(name, ""))
        for task, found in rejections.items()
        for name, n in found.items()
    ]
    return sorted(rows, key=lambda row: (row.task, -row.n, row.reason))


def funnel(released: Released, debiased: int | None, chosen: Collection[str]) -> list[FunnelStep]:
    """From all candidates to the release, and to `debiased` where there is such a split."""
    dropped: Counter[str] = Counter()
    for found in released.rejections.values():
        for name, n in found.items():
            dropped[by_whom(name, chosen)] += n
    asked = sum(released.questions.values())
    offered = asked + dropped[GUESSED]
    sound = offered + dropped[CHOICE]
    steps = [
        FunnelStep(
            "Candidates", sound + dropped[RULE], 0, "every question that the templates can form about these scenes"
        ),
        FunnelStep(
            "Hold every rule", sound, dropped[RULE], "one true answer, with a margin, and what it is about can be seen"
        ),
        FunnelStep("Chosen", offered, dropped[CHOICE], "a few per scene and task, spread over what they name"),
        FunnelStep(
            "Released", asked, dropped[GUESSED], "not answered by models that never saw the video, where any were asked"
        ),
    ]
    if debiased is not None:
        description = "a smaller split in which guessing from the words earns as little as possible"
        steps.append(FunnelStep("Split debiased", debiased, asked - debiased, description))
    return steps


def sources(rows: Collection[Mapping[str, Any]]) -> tuple[list[str], dict[str, Counter[str]]]:
    """The sources by name, and the number of questions of each task in each; rows of the provenance."""
    count: dict[str, Counter[str]] = {}
    for row in rows:
        count.setdefault(row["task"], Counter())[row["scene"].partition("/")[0]] += 1
    return sorted({name for found in count.values() for name in found}), dict(sorted(count.items()))


def answers_of(rows: Collection[Mapping[str, Any]]) -> list[AnswerFigure]:
    """The answers of each task; rows of the provenance."""
    found: dict[str, Counter[str]] = {}
    for (task, answer), n in Counter((row["task"], row["answer"]) for row in rows).items():
        found.setdefault(task, Counter())[answer] = n
    return answer_figures(found)


def answer_figures(answers: Mapping[str, Counter[str]]) -> list[AnswerFigure]:
    """The answers of each task, of which it is known how often each is given."""
    return [_answers(task, count) for task, count in sorted(answers.items())]


def _answers(task: str, count: Counter[str]) -> AnswerFigure:
    ordered = sorted((AnswerShare(*item) for item in count.items()), key=lambda share: (-share.n, share.label))
    bars = _histogram(count) if len(count) > FEW_ANSWERS else ()
    shown = () if bars else tuple(ordered[:SHOWN_ANSWERS])
    rest = 0 if bars else count.total() - sum(share.n for share in shown)
    return AnswerFigure(task, count.total(), len(count), ordered[0], 1 / len(count), shown, rest, bars)


def _histogram(answers: Counter[str]) -> tuple[AnswerShare, ...]:
    """Bars of equal width; none where an answer is no number."""
    try:
        values = np.repeat([float(answer) for answer in answers], [*answers.values()])
    except ValueError:
        return ()
    low, high = np.quantile(values, _ENDS)
    if not np.isfinite(values).all() or not low < high:
        return ()
    edges = np.linspace(low, high, BARS + 1)
    counts, _ = np.histogram(np.clip(values, low, high), edges)
    return tuple(AnswerShare(f"{a:.3g} to {b:.3g}", int(n)) for a, b, n in zip(edges, edges[1:], counts, strict=False))


def guesses(row: TextOnly) -> list[BestGuess]:
    """The best attacker on each split of a task that has one."""
    found = []
    for split in SPLITS:
        guessed = getattr(row, split)
        if guessed is not None and guessed.earned:
            name, best = max(guessed.earned.items(), key=lambda item: (item[1], item[0]))
            found.append(BestGuess(split, guessed.n, guessed.chance, best, name))
    return found


def findings_of(released: Released) -> list[FindingFigure]:
    """The findings in the raw data by name, the most frequent first."""
    found = grouped(released.findings, lambda row: (row[1], row[2]))  # scene, name, severity, message, …
    rows = [
        FindingFigure(name, severity, len(own), len({scene for scene, *_ in own}), min(f"{r[0]}: {r[3]}" for r in own))
        for (name, severity), own in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.n, row.name, row.severity))


def quarantined(rows: Collection[Quarantine]) -> dict[str, list[Quarantine]]:
    """The number left out by finding, the most frequent first."""
    found = grouped(sorted(rows, key=lambda row: (row.unit, row.stage)), lambda row: row.finding)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))
