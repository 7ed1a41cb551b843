"""The result of a review: the verdicts as kept with a build, the status of each question, and agreement.

Cohen, "A coefficient of agreement for nominal scales", 1960; Krippendorff, "Computing Krippendorff's
alpha-reliability", 2011. Kappa is undefined where chance alone would agree always, alpha where all values are one;
undefined figures are None.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any, Final, Literal

import pyarrow as pa
from pydantic import BaseModel

from pipeline.core.groups import grouped
from pipeline.core.tables import texts
from pipeline.questions.choices import offered
from pipeline.review.mends import mended_row, read_mend
from pipeline.review.review_bundle import CHECKS, content_of
from pipeline.review.verdicts import RAW_REJECTED, REFUSED, ReviewVerdict, consensus_of

Metric = Literal["nominal", "interval"]


class Agreement(BaseModel):
    """How far reviewers agree on one thing about the questions of one task.

    Attributes:
        about: "verdict" (accept, correct, reject) or "answer" (given blind).
        items: questions that two or more reviewers have judged.
        raw: share of questions on which the first two agree.
    """

    task: str
    about: Literal["verdict", "answer"]
    items: int
    raw: float | None
    kappa: float | None
    alpha: float | None


def agreements(
    reviews: Mapping[int, Sequence[ReviewVerdict]], tasks: Mapping[int, str], numeric: Collection[str]
) -> list[Agreement]:
    """Per task, and "all" questions for verdicts, from their reviews (no adjudication), in the order of tasks.

    They rest on what is judged: an answer whose reviewer has not judged it yet is in none of the figures.

    Args:
        reviews: question -> its reviews, the earliest first.
        tasks: question -> its task.
        numeric: tasks that are answered by numbers: alpha of their answers is that of an interval scale, and equal
            estimates are too rare for the other figures to mean anything, so these are None.
    """
    rows = []
    of_task: dict[str, list[Sequence[ReviewVerdict]]] = {}
    for item, own in reviews.items():
        of_task.setdefault(tasks[item], []).append([verdict for verdict in own if verdict.label])
    for task in sorted(of_task):
        rows.append(_row(task, "verdict", [[_kind(v) for v in _in_order(own)] for own in of_task[task]]))
        answers = [[v.answer for v in _in_order(own) if v.answer is not None] for own in of_task[task]]
        if task in numeric:
            numbers = [list(map(float, own)) for own in answers]
            shared = sum(len(own) > 1 for own in numbers)
            alpha = krippendorff_alpha(numbers, "interval")
            rows.append(Agreement(task=task, about="answer", items=shared, raw=None, kappa=None, alpha=alpha))
        else:
            rows.append(_row(task, "answer", answers))
    if len(asked := sorted(set(of_task) - set(CHECKS))) > 1:
        everything = [[_kind(v) for v in _in_order(own)] for task in asked for own in of_task[task]]
        rows.append(_row("all", "verdict", everything))
    return rows


def _kind(verdict: ReviewVerdict) -> str:
    return (verdict.label or "").partition(" ")[0]


def _in_order(own: Iterable[ReviewVerdict]) -> list[ReviewVerdict]:
    """By name, so that one rater's answers stand in one column as far as pairs of reviewers allow."""
    return sorted(own, key=lambda verdict: verdict.reviewer)


def _row(task: str, about: Literal["verdict", "answer"], units: Sequence[Sequence[str]]) -> Agreement:
    shared = [own for own in units if len(own) > 1]
    one, other = [own[0] for own in shared], [own[1] for own in shared]
    return Agreement(
        task=task,
        about=about,
        items=len(shared),
        raw=raw_agreement(one, other),
        kappa=cohen_kappa(one, other),
        alpha=krippendorff_alpha(units, "nominal"),
    )


def raw_agreement(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Share of equal labels; None without any."""
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one) if one else None


def cohen_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of two raters' labels; None where both always say one and the same, or nothing."""
    n = len(one)
    agreed = sum(a == b for a, b in zip(one, other, strict=True))
    left, right = Counter(one), Counter(other)
    by_chance = sum(count * right[label] for label, count in left.items())  # times n * n
    if n * n == by_chance:
        return None
    return (n * agreed - by_chance) / (n * n - by_chance)


def krippendorff_alpha(units: Iterable[Sequence[str | float]], metric: Metric) -> float | None:
    """Krippendorff's alpha over units with any number of values each; None where all paired values are one.

    ``interval`` takes numbers, whose squared difference is their distance.
    """
    pairable = [own for own in units if len(own) > 1]
    values = [value for own in pairable for value in own]
    if len(set(values)) < 2:
        return None
    observed = sum(sum(_distance(a, b, metric) for a, b in permutations(own, 2)) / (len(own) - 1) for own in pairable)
    n = len(values)
    if metric == "nominal":
        expected = float(n * n - sum(count * count for count in Counter(values).values()))
    else:  # the sum of squared differences of all ordered pairs
        numbers = list(map(float, values))
        mean = sum(numbers) / n
        expected = 2 * n * sum((number - mean) ** 2 for number in numbers)
    return 1 - (n - 1) * observed / expected


def _distance(a: str | float, b: str | float, metric: Metric) -> float:
    return float(a != b) if metric == "nominal" else (float(a) - float(b)) ** 2


_WORDS: Final = ("content", "reviewer", "role", "answer", "decision", "reason", "note", "correction", "mend", "at")
VERDICTS: Final = pa.schema([pa.field("id", pa.int64()), *texts(*_WORDS)])


class QuestionStatus(BaseModel):
    """The status of a question that somebody reviewed (`review_queue.Consensus`)."""

    id: int
    state: str
    answer: str | None
    reviewers: int
    reasons: tuple[str, ...]
    mend: str | None = None


class Reviewed(BaseModel):
    """The result of stage `review`.

    Attributes:
        stands: of every question of the build that has a verdict, by id.
        agreements: between reviewers, on questions as they are now.
        reviewers: how many people reviewed or adjudicated.
        adjudicated: questions of which a disagreement was settled.
        gone: verdicts on questions that the build no longer has.
    """

    stands: tuple[QuestionStatus, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    reviewers: int = 0
    adjudicated: int = 0
    gone: int = 0


def verdicts_table(verdicts: Iterable[ReviewVerdict]) -> pa.Table:
    """Verdicts as they are kept (`VERDICTS`), by question and reviewer."""
    rows = sorted(verdicts, key=lambda v: (v.item, v.content, v.role, v.at, v.reviewer))
    return pa.Table.from_pylist([{**vars(v), "id": v.item} for v in rows], VERDICTS)


def read_verdicts(table: pa.Table) -> list[ReviewVerdict]:
    """The verdicts of `verdicts_table`, also of one that knew no mends."""
    return [ReviewVerdict(item=row.pop("id"), **row) for row in table.to_pylist()]


def review(
    questions: Iterable[Mapping[str, Any]],
    verdicts: Sequence[ReviewVerdict],
    salt: bytes,
    checks: Iterable[Mapping[str, Any]] = (),
) -> Reviewed:
    """Where every question with a verdict stands, or whose raw task was rejected, and how far reviewers agree.

    Args:
        questions: rows of `tables.QUESTIONS`.
        verdicts: all of them.
        salt: as in `pack.content_of`.
        checks: as in `Benchmark`.
    """
    on = grouped(verdicts, lambda verdict: verdict.item)
    rows = {row["id"]: offered(row) for row in (*questions, *checks) if row["id"] in on}
    stands, current = dict[int, QuestionStatus](), {}
    for item in sorted(rows):
        content = _content_now(salt, rows[item], on[item])
        standing = consensus_of(on[item], content)
        stands[item] = QuestionStatus(id=item, **standing._asdict())
        current[item] = [v for v in on[item] if v.content == content]
    for check in [stands.pop(item) for item in sorted(rows) if rows[item]["task"] in CHECKS]:
        if check.state in REFUSED:
            status = {"state": "rejected", "answer": None, "reasons": (RAW_REJECTED, *check.reasons)}
            stands |= {i: check.model_copy(update={"id": i, **status}) for i in rows[check.id]["asked"]}
    reviews = {item: own for item, all_own in current.items() if (own := reviews_in(all_own))}
    numeric = {row["task"] for row in rows.values() if not row["options"]}
    settled = [item for item, own in current.items() if any(v.role == "adjudicate" and v.decision for v in own)]
    return Reviewed(
        stands=tuple(stands[item] for item in sorted(stands)),
        agreements=tuple(agreements(reviews, {item: row["task"] for item, row in rows.items()}, numeric)),
        reviewers=len({v.reviewer for own in current.values() for v in own}),
        adjudicated=len(settled),
        gone=sum(len(own) for item, own in on.items() if item not in rows),
    )


def reviews_in(verdicts: Iterable[ReviewVerdict]) -> list[ReviewVerdict]:
    """Those whose agreement tells something: no adjudications, nor who proposed what the question says now."""
    return [verdict for verdict in verdicts if verdict.role == "review" and not verdict.mend]


def _content_now(salt: bytes, row: Mapping[str, Any], verdicts: Iterable[ReviewVerdict]) -> str:
    """What a question is now: as it was mended last, unless it has changed in the build since."""
    mended = sorted((v for v in verdicts if v.mend), key=lambda v: (v.at, v.content), reverse=True)
    applied = ((v, content_of(salt, mended_row(row, read_mend(v.mend or "")))) for v in mended)
    return next((content for v, content in applied if v.content == content), content_of(salt, row))


def states_of(reviewed: Reviewed) -> Counter[str]:
    """How many questions with a verdict stand where."""
    return Counter(stand.state for stand in reviewed.stands)
