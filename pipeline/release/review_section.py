"""What a release says of human review: its two tables and its part of the dataset card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.review.reviewed import Agreement, Reviewed, Stand
from pipeline.review.verdicts import STATES

REVIEW: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("state", pa.string()),  # of `standing.STATES`
        pa.field("answer", pa.string()),  # the right letter or number of a corrected question
        pa.field("reviewers", pa.int32()),
        pa.field("reasons", pa.list_(pa.string())),  # of flags
    ]
)
_KEPT: Final = ("accepted", "corrected")


def review_table(asked: pa.Table, reviewed: Reviewed) -> pa.Table:
    """Where each question stands, in the order of the questions (`REVIEW`)."""
    stands = {stand.id: stand for stand in reviewed.stands}
    return pa.Table.from_pylist([_stand(stands, i).model_dump() for i in asked["id"].to_pylist()], REVIEW)


def accepted(asked: pa.Table, reviewed: Reviewed) -> pa.Table:
    """The accepted questions, and the corrected ones with the answer that reviewers found right."""
    stands = {stand.id: stand for stand in reviewed.stands if stand.state in _KEPT}
    rows = asked.filter(pc.is_in(asked["id"], pa.array(sorted(stands), pa.int64())))
    right = [stands[i].answer for i in rows["id"].to_pylist()]
    truths = [new or old for new, old in zip(right, rows["ground_truth"].to_pylist(), strict=True)]
    place = rows.schema.get_field_index("ground_truth")
    return rows.set_column(place, rows.schema.field(place), pa.array(truths, pa.string()))


def review_section(asked: pa.Table, reviewed: Reviewed) -> list[str]:
    """The lines of the card; none where nobody reviewed."""
    if not reviewed.stands:
        return []
    stands = {stand.id: stand for stand in reviewed.stands}
    states = Counter(_stand(stands, i).state for i in asked["id"].to_pylist())
    people = f"{reviewed.reviewers} people" if reviewed.reviewers != 1 else "One person"
    return [
        "## Human review",
        "",
        f"{people} answered questions from the videos without seeing the answers, then judged them; two per question, "
        f"and disagreements are settled ({reviewed.adjudicated} were).",
        "",
        "| state | questions | |",
        "|---|---|---|",
        *(f"| {state} | {states[state]} | {words} |" for state, words in STATES.items() if states[state]),
        "",
        "Agreement of reviewers before anything was settled, on verdicts (right, to be corrected, bad) and on answers "
        "given blind; n/a where it is not defined, as kappa and alpha are when all say one thing:",
        "",
        "| task | of | questions | raw agreement | Cohen's kappa | Krippendorff's alpha |",
        "|---|---|---|---|---|---|",
        *map(_agreement, reviewed.agreements),
        "",
    ]


def figure(value: float | None) -> str:
    """A figure of agreement as text."""
    return "n/a" if value is None else f"{value:.3f}"


def _agreement(row: Agreement) -> str:
    figures = " | ".join(figure(value) for value in (row.raw, row.kappa, row.alpha))
    return f"| {row.task} | {row.about}s | {row.items} | {figures} |"


def _stand(stands: Mapping[int, Stand], question: int) -> Stand:
    return stands.get(question) or Stand(id=question, state="waiting", answer=None, reviewers=0, reasons=())
