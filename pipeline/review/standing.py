"""Where a question stands after what reviewers said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from pipeline.review.verdicts import Verdict

REVIEWERS: Final = 2  # per question, as in the CityEQA paper; then adjudication of disagreements
State = Literal["accepted", "corrected", "rejected", "disputed", "waiting", "stale"]
STATES: Final[dict[State, str]] = {
    "accepted": "reviewers found the answer right",
    "corrected": "reviewers agreed on another answer",
    "rejected": "reviewers found the question bad",
    "disputed": "reviewers disagree, and nobody settled it yet",
    "waiting": "fewer than two reviewers have looked at it",
    "stale": "it has changed since it was reviewed: it is to be reviewed again",
}
_OF_DECISION: Final[dict[str, State]] = {"accept": "accepted", "reject": "rejected", "correct": "corrected"}


class Standing(NamedTuple):
    """Where a question stands.

    Attributes:
        answer: the right letter or number where it was corrected.
        reviewers: who have reviewed it as it is now.
        reasons: of the flags, sorted.
    """

    state: State
    answer: str | None = None
    reviewers: int = 0
    reasons: tuple[str, ...] = ()


def standing_of(verdicts: Sequence[Verdict], content: str) -> Standing:
    """Where a question stands, from all verdicts on it; those on another content are stale."""
    own = [verdict for verdict in verdicts if verdict.content == content]
    if not own:
        return Standing("stale" if verdicts else "waiting")
    reviews = [verdict for verdict in own if verdict.role == "review"]
    reasons = tuple(sorted({v.reason for v in own if v.decision == "flag" and v.reason}))
    settled = [v for v in own if v.role == "adjudicate" and v.decision]
    if settled:
        return _as(max(settled, key=lambda v: v.at).label, len(reviews), reasons)
    if len(reviews) < REVIEWERS:
        return Standing("waiting", None, len(reviews), reasons)
    labels = {verdict.label for verdict in reviews}
    if len(labels) > 1 or labels == {"differs"}:
        return Standing("disputed", None, len(reviews), reasons)
    return _as(labels.pop(), len(reviews), reasons)


def _as(label: str, reviewers: int, reasons: tuple[str, ...]) -> Standing:
    decision, _, answer = label.partition(" ")
    return Standing(_OF_DECISION[decision], answer or None, reviewers, reasons)


def by_item(verdicts: Iterable[Verdict]) -> dict[int, list[Verdict]]:
    """The verdicts on each question."""
    found: dict[int, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.item, []).append(verdict)
    return found
