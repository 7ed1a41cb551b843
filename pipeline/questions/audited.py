"""What comes of answering a published question file again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pipeline.core.schema import Rejection
from pipeline.questions.published import Published

STATUSES: Final = ("reproduced", "differs", "not_askable", "ambiguous", "unsupported")


@dataclass(frozen=True)
class Audited:
    """One row of an audit."""

    question: Published
    scene: str
    status: str
    recomputed: str | None = None
    rejection: Rejection | None = None


def audit_table(audited: Sequence[Audited]) -> pa.Table:
    """The audited as columns, one row per question; the last four are null where it is reproduced."""
    whole = all(isinstance(f.question.id, int) for f in audited)
    return pa.table(
        {
            "id": pa.array([f.question.id if whole else str(f.question.id) for f in audited]),
            "question_type": pa.array([f.question.question_type for f in audited], pa.string()),
            "scene": pa.array([f.scene for f in audited], pa.string()),
            "status": pa.array([f.status for f in audited], pa.string()),
            "published": pa.array([f.question.ground_truth for f in audited], pa.string()),
            "recomputed": pa.array([f.recomputed for f in audited], pa.string()),
            "reason": pa.array([f.rejection.reason if f.rejection else None for f in audited], pa.string()),
            "measured": pa.array([f.rejection.measured if f.rejection else None for f in audited], pa.float64()),
            "limit": pa.array([f.rejection.limit if f.rejection else None for f in audited], pa.float64()),
            "unit": pa.array([f.rejection.unit if f.rejection else None for f in audited], pa.string()),
        }
    )


@dataclass(frozen=True)
class Miss:
    """A published question that the candidates lack or contradict."""

    question: Published
    kind: str  # "lacking" or "contradicted"
    rejection: Rejection


@dataclass
class Coverage:
    """Of one question type: how many are published, of these unanswerable from the metadata, and contained."""

    published: int = 0
    not_in_metadata: int = 0
    contained: int = 0
