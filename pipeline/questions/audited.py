"""The outcome of answering a published question file again: statuses, coverage and leakage, with their tables."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from pipeline.core.errors import ConfigError
from pipeline.core.groups import first_named, grouped
from pipeline.core.schema import Rejection
from pipeline.core.tables import ReleaseListing
from pipeline.core.templates import in_unit
from pipeline.questions.published import Published

STATUSES: Final = ("reproduced", "differs", "not_askable", "ambiguous", "unsupported")
SHOWN: Final = 3  # cases, and types of questions, that are named beside a reason
_ROUNDING: Final = 1e-9  # of differences of decimals


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
class LeftOut:
    """A row of a published file that cannot be used, so that it is left out and the rest is not.

    Attributes:
        row: its number, from 1.
        id: as it stands there; "" where there is none.
        finding: short machine-readable name.
        message: what was found, with the offending value.
        remedy: what the reader can do about it.
    """

    row: int
    id: str
    finding: str
    message: str
    remedy: str


@dataclass(frozen=True)
class ExaminationInputs:
    """The inputs of an examination besides the question file itself.

    Attributes:
        scenes: of the metadata that it was made from; none where it is examined alone.
        profile: name of the rules; "" where there are none.
        rules: the limits.
        split: the column that names the split of a question; None: it names none.
    """

    scenes: Sequence[Any] = ()
    profile: str = ""
    rules: Any = None
    split: str | None = None


@dataclass(frozen=True)
class Examined:
    """The results of an audit.

    Attributes:
        table: one row per question.
        listings: what people read of it.
        left_out: the rows that could not be used.
    """

    table: pa.Table
    listings: Sequence[ReleaseListing]
    left_out: Sequence[LeftOut] = ()


def summaries(table: pa.Table, title: str, tolerances: Mapping[str, tuple[float, str]]) -> list[ReleaseListing]:
    """Of an `audit_table`: statuses per question type, then every reason with the ids that it holds for.

    ``tolerances``: question type -> by how much a number may differ to be as good as equal, and its unit.
    """
    rows = table.to_pylist()
    reasons = _reasons(rows)
    return [_statuses(rows, title, _nearness(rows, tolerances)), *([reasons] if reasons.rows else [])]


def _statuses(rows: Sequence[Mapping[str, Any]], title: str, note: str) -> ReleaseListing:
    """How many questions of each type have each status."""
    per_type: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        per_type[row["question_type"]][row["status"]] += 1
    total = sum(per_type.values(), Counter[str]())
    cells = [(name, *_counts(counts)) for name, counts in sorted(per_type.items())]
    return ReleaseListing(title, ("question type", "n", *STATUSES), cells, ("all", *_counts(total)), note=note)


def _counts(counts: Counter[str]) -> list[str]:
    return [str(counts.total()), *(str(counts[status] or "") for status in STATUSES)]


def _reasons(rows: Sequence[Mapping[str, Any]]) -> ReleaseListing:
    """The question types and first cases of each reason; of questions that cannot be answered again the types alone."""
    reasons = grouped((row for row in rows if row["reason"]), itemgetter("status", "reason"))
    cells = []
    for (status, reason), own in sorted(reasons.items()):
        kinds = Counter(row["question_type"] for row in own)
        types = named([f"{kind} {n}" if len(kinds) > 1 else kind for kind, n in kinds.most_common()])
        cases = "" if status == "unsupported" else named(list(map(_case, own)))
        cells.append((reason, status, str(len(own)), types, cases))
    heads, texts = ("reason", "status", "n", "question types", "cases"), ("question types", "cases")
    return ReleaseListing("Why", heads, cells, words=("status",), sentences=texts, note="--out FILE writes all cases.")


def named(cases: Sequence[str]) -> str:
    """The first cases by name, and how many more there are."""
    return first_named(cases, SHOWN)


def _case(row: Mapping[str, Any]) -> str:
    if row["status"] == "differs":
        return f"{row['id']} ({row['published']} / {row['recomputed']})"
    if isinstance(row["measured"], float):
        return f"{row['id']} ({in_unit(format(row['measured'], '.3g'), row['unit'])})"
    return str(row["id"])


def _nearness(rows: Sequence[Mapping[str, Any]], tolerances: Mapping[str, tuple[float, str]]) -> str:
    """How near the numbers are that were answered again."""
    lines = []
    for name, (limit, unit) in tolerances.items():
        gaps = [abs(float(r["recomputed"]) - float(r["published"])) for r in rows if _is_both(r, name)]
        if gaps:
            within = sum(gap <= limit + _ROUNDING for gap in gaps)
            share = f"{within} of {len(gaps)} answered again are within {limit:g} {unit} ({within / len(gaps):.2%})"
            lines.append(f"{name}: {share}")
    return "\n".join(lines)


def _is_both(row: Mapping[str, Any], name: str) -> bool:
    return row["question_type"] == name and row["recomputed"] is not None and row["status"] in {"reproduced", "differs"}


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


class AuditRow(Protocol):
    """A published question with all columns of its row."""

    @property
    def id(self) -> int | str:
        """Its id."""

    @property
    def rest(self) -> Mapping[str, Any]:
        """Its row as it stands in the file."""


def leakage(path: Path, column: str, questions: Sequence[AuditRow], name: str, groups: Sequence[str]) -> ReleaseListing:
    """Per split: its questions, and those of groups that other splits have too.

    Args:
        path: the questions' file, for what is said of it.
        column: names the split of a question.
        questions: the rows.
        name: of what groups are.
        groups: that of each question; two questions of one group share what has to be known.

    Raises ConfigError for a question without a split.
    """
    splits = [_split(path, column, question) for question in questions]
    where: dict[str, set[str]] = defaultdict(set)
    for group, split in zip(groups, splits, strict=True):
        where[group].add(split)
    rows = []
    for split in sorted(set(splits)):
        own = [group for group, other in zip(groups, splits, strict=True) if other == split]
        rows.append(_row(split, own, {group for group in own if len(where[group]) > 1}))
    total = _row("all", groups, {group for group, found in where.items() if len(found) > 1})
    heads = (column, "n", f"{name}s", "of other splits too", "n of these", "share")
    return ReleaseListing(f"Leaks of the split, by {name}", heads, rows, total)


def _split(path: Path, column: str, question: AuditRow) -> str:
    value = question.rest.get(column)
    if not isinstance(value, str | int) or value == "":
        known = ", ".join(sorted(map(str, question.rest)))
        raise ConfigError(f"{path}: question {question.id} has no {column}; its columns are {known}")
    return str(value)


def _row(split: str, groups: Sequence[str], shared: set[str]) -> tuple[str, ...]:
    leaked = sum(group in shared for group in groups)
    share = f"{leaked / len(groups):.1%}" if groups else ""
    return split, str(len(groups)), str(len(set(groups))), str(len(shared)), str(leaked), share
