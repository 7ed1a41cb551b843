"""What a review comes to: the verdicts as they are kept with a build, and where each question stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pydantic import BaseModel

from pipeline.questions.choices import offered
from pipeline.review.agreement import Agreement, agreements
from pipeline.review.pack import content_of
from pipeline.review.standing import by_item, standing_of
from pipeline.review.verdicts import Verdict

VERDICTS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("content", pa.string()),
        pa.field("reviewer", pa.string()),
        pa.field("role", pa.string()),
        pa.field("answer", pa.string()),
        pa.field("decision", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("note", pa.string()),
        pa.field("correction", pa.string()),
        pa.field("at", pa.string()),
    ]
)


class Stand(BaseModel):
    """Where a question stands that somebody reviewed (`standing.Standing`)."""

    id: int
    state: str
    answer: str | None
    reviewers: int
    reasons: tuple[str, ...]


class Reviewed(BaseModel):
    """What stage `review` found.

    Attributes:
        stands: of every question of the build that has a verdict, by id.
        agreements: between reviewers, on questions as they are now.
        reviewers: how many people reviewed or adjudicated.
        adjudicated: questions of which a disagreement was settled.
        gone: verdicts on questions that the build no longer has.
    """

    stands: tuple[Stand, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    reviewers: int = 0
    adjudicated: int = 0
    gone: int = 0


def verdicts_table(verdicts: Iterable[Verdict]) -> pa.Table:
    """Verdicts as they are kept (`VERDICTS`), by question and reviewer."""
    rows = sorted(verdicts, key=lambda v: (v.item, v.content, v.role, v.at, v.reviewer))
    return pa.Table.from_pylist([{**vars(v), "id": v.item} for v in rows], VERDICTS)


def read_verdicts(table: pa.Table) -> list[Verdict]:
    """The verdicts of `verdicts_table`."""
    return [Verdict(item=row.pop("id"), **row) for row in table.to_pylist()]


def review(questions: Iterable[Mapping[str, Any]], verdicts: Sequence[Verdict], salt: bytes) -> Reviewed:
    """Where every question with a verdict stands, and how far reviewers agree.

    Args:
        questions: rows of `tables.QUESTIONS`.
        verdicts: all of them.
        salt: as in `pack.content_of`.
    """
    on = by_item(verdicts)
    rows = {row["id"]: offered(row) for row in questions if row["id"] in on}
    stands, current = [], {}
    for item in sorted(rows):
        content = content_of(salt, rows[item])
        standing = standing_of(on[item], content)
        stands.append(Stand(id=item, **standing._asdict()))
        current[item] = [v for v in on[item] if v.content == content]
    reviews = {item: own for item, all_own in current.items() if (own := [v for v in all_own if v.role == "review"])}
    numeric = {row["task"] for row in rows.values() if not row["options"]}
    settled = [item for item, own in current.items() if any(v.role == "adjudicate" and v.decision for v in own)]
    return Reviewed(
        stands=tuple(stands),
        agreements=tuple(agreements(reviews, {item: row["task"] for item, row in rows.items()}, numeric)),
        reviewers=len({v.reviewer for own in current.values() for v in own}),
        adjudicated=len(settled),
        gone=sum(len(own) for item, own in on.items() if item not in rows),
    )


def states_of(reviewed: Reviewed) -> Counter[str]:
    """How many questions with a verdict stand where."""
    return Counter(stand.state for stand in reviewed.stands)
