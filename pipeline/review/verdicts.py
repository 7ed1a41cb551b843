"""Verdicts of reviewers on a question: events, the verdict that they add up to, and the question's status after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from pipeline.core.templates import load_table
from pipeline.metrics.letters import find_letter
from pipeline.metrics.mra import mean_relative_accuracy
from pipeline.metrics.numbers import find_number, unit_of_question

Kind = Literal["answer", "accept", "flag", "undo", "mend"]
Role = Literal["review", "adjudicate"]
KINDS: Final[tuple[Kind, ...]] = ("answer", "accept", "flag", "undo", "mend")
ROLES: Final[tuple[Role, ...]] = ("review", "adjudicate")

_WORDS: Final = load_table("review")
# Closed lists, so that flags can be counted: name -> as people read it. The first is offered for all benchmarks.
COMMON: Final[dict[str, str]] = _WORDS["reasons"]
REASONS: Final[dict[str, str]] = COMMON | _WORDS["cityeqa_reasons"]
RAW_REJECTED: Final = "raw_task_rejected"  # a reason that nobody gives: reviewers rejected what it was made from
CLOSE_MRA: Final = 0.5  # five of VSI-Bench's ten tolerances: an estimate off by 30% at most


class ReviewEvent(NamedTuple):
    """One thing that a reviewer did.

    Attributes:
        item: the question's id.
        content: what the question was then (`pipeline.review.review_bundle.content_of`).
        kind: an answer given blind, the word that the truth is right, a flag, that the last of these two is undone, or
            that the question is mended: ``content`` is what it is then.
        role: "adjudicate" where it settles what reviewers disagree on.
        answer: a letter or a number; of a flag, what would be right instead, if that was said; of a mend its words
            (`mends.QuestionEdit.written`).
        reason: of a flag, one of `REASONS`.
        at: UTC, ISO 8601.
    """

    item: int
    content: str
    reviewer: str
    kind: Kind
    role: Role
    answer: str | None
    reason: str | None
    note: str | None
    at: str


@dataclass(frozen=True)
class ReviewVerdict:
    """The whole verdict of one reviewer on one question in one role.

    Attributes:
        answer: given before the truth was seen; None where a flag was raised instead.
        decision: None until it is judged; an answer that is the truth judges by itself.
        correction: what would be right, with a flag.
        mend: the words that this reviewer gave the question, and so accepts (`mends.QuestionEdit.written`).
        previous: what it was before the decision, for undo.
    """

    item: int
    content: str
    reviewer: str
    role: Role = "review"
    answer: str | None = None
    decision: Literal["accept", "flag"] | None = None
    reason: str | None = None
    note: str | None = None
    correction: str | None = None
    mend: str | None = None
    at: str = ""
    previous: ReviewVerdict | None = field(default=None, repr=False, compare=False)

    @property
    def label(self) -> str | None:
        """The part compared between reviewers: accept, reject, or correct and to what; None until it is judged."""
        if self.decision == "flag":
            return f"correct {self.correction}" if self.correction else "reject"
        return self.decision

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of it: a flag without an answer was undone."""
        return self.answer is None and self.decision is None


def verdicts_of(events: Iterable[ReviewEvent]) -> list[ReviewVerdict]:
    """The verdicts that events add up to, in the order of their first events; of two decisions the later one holds."""
    found: dict[tuple[int, str, str, str], ReviewVerdict] = {}
    answers: dict[tuple[int, str, str], str | None] = {}
    for event in events:
        at = event.item, event.content, event.reviewer
        if event.kind == "answer":
            answers[at] = event.answer
        start = ReviewVerdict(event.item, event.content, event.reviewer, event.role)
        found[*at, event.role] = with_event(found.get((*at, event.role), start), event)
    # Whoever adjudicates after having reviewed answered once, as a reviewer.
    return [replace(v, answer=answers.get((v.item, v.content, v.reviewer))) for v in found.values() if not v.is_empty]


def with_event(verdict: ReviewVerdict, event: ReviewEvent) -> ReviewVerdict:
    """A verdict after one more event."""
    if event.kind == "answer":
        return replace(verdict, answer=event.answer, at=event.at)
    if event.kind == "undo":
        nothing = ReviewVerdict(verdict.item, verdict.content, verdict.reviewer, verdict.role)
        return replace(verdict.previous or nothing, answer=verdict.answer, at=event.at)
    flag = event.kind == "flag"
    return replace(
        verdict,
        mend=event.answer if event.kind == "mend" else verdict.mend,
        decision="flag" if flag else "accept",
        reason=event.reason,
        note=event.note,
        correction=event.answer if flag else None,
        at=event.at,
        previous=verdict,
    )


def read_answer(given: str, options: Sequence[str] | None, question: str) -> str | None:
    """A reviewer's answer in the form in which answers are kept: a letter, or a number; None where it is neither."""
    if options:
        texts = [option.partition(". ")[2] for option in options]
        return find_letter(given, len(texts), texts).value
    number = find_number(given, unit_of_question(question)).value
    return None if number is None else f"{number.normalize():f}"


def matches(answer: str, truth: str, options: Sequence[str] | None, question: str) -> bool:
    """Whether an answer is as good as the truth: the same letter or count, or an estimate off by 30% at most."""
    if options:
        return answer == truth
    if unit_of_question(question) is None:  # a count
        return Decimal(answer) == Decimal(truth)
    return mean_relative_accuracy(Decimal(answer), Decimal(truth)) >= CLOSE_MRA


REVIEWERS: Final = 2  # per question, as in the CityEQA paper; then adjudication of disagreements
State = Literal["accepted", "corrected", "mended", "rejected", "disputed", "answered", "waiting", "stale"]
STATES: Final[dict[State, str]] = _WORDS["states"]
_OF_DECISION: Final[dict[str, State]] = {"accept": "accepted", "reject": "rejected", "correct": "corrected"}


REFUSED: Final[frozenset[State]] = frozenset({"corrected", "rejected"})  # states of a check whose questions go


class Consensus(NamedTuple):
    """Where a question stands.

    Attributes:
        answer: the right letter or number where it was corrected.
        reviewers: who have judged it as it is now.
        reasons: of the flags, sorted; of a mended question also of those before.
        mend: its words where they were mended (`mends.QuestionEdit.written`).
    """

    state: State
    answer: str | None = None
    reviewers: int = 0
    reasons: tuple[str, ...] = ()
    mend: str | None = None


def consensus_of(verdicts: Sequence[ReviewVerdict], content: str) -> Consensus:
    """Where a question stands, from all verdicts on it; those on another content are stale.

    What is answered and not judged yet is no disagreement: it counts neither for nor against.
    """
    own = [verdict for verdict in verdicts if verdict.content == content]
    mend = next((verdict.mend for verdict in own if verdict.mend), None)
    found = _consensus(own, bool(verdicts))
    if mend is None or found.state not in {"accepted", "corrected"}:
        return found
    reasons = tuple(sorted({v.reason for v in verdicts if v.decision == "flag" and v.reason}))
    return found._replace(state="mended" if found.state == "accepted" else found.state, reasons=reasons, mend=mend)


def _consensus(own: Sequence[ReviewVerdict], was_judged: bool) -> Consensus:
    if not own:
        return Consensus("stale" if was_judged else "waiting")
    reviews = [verdict for verdict in own if verdict.role == "review"]
    labels = [verdict.label for verdict in reviews if verdict.label]
    reasons = tuple(sorted({v.reason for v in own if v.decision == "flag" and v.reason}))
    settled = [(v.at, v.label) for v in own if v.role == "adjudicate" and v.label]
    if settled:
        return _consensus_of(max(settled)[1], len(labels), reasons)
    if len(labels) < REVIEWERS:
        return Consensus("waiting" if len(labels) == len(reviews) else "answered", None, len(labels), reasons)
    if len(set(labels)) > 1:
        return Consensus("disputed", None, len(labels), reasons)
    return _consensus_of(labels[0], len(labels), reasons)


def _consensus_of(label: str, reviewers: int, reasons: tuple[str, ...]) -> Consensus:
    decision, _, answer = label.partition(" ")
    return Consensus(_OF_DECISION[decision], answer or None, reviewers, reasons)
