"""Examines a released CityEQA file by itself: what it says is held against its own poses and its other rows.

The city that the tasks were made in is no part of the release. What only its map could show is `unsupported`, by name.
So is an answer that follows from no other row: `reproduced` is what the file itself confirms (`consistency`).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Audit
from pipeline.benchmarks.cityeqa.consistency import HALF_VIEW_DEG, Claim, Contradiction, examine_claims
from pipeline.benchmarks.cityeqa.raw import ANSWER_TYPES, answer_type
from pipeline.benchmarks.cityeqa.released import AXES_DEG, CATEGORIES, ReleasedTask, off_deg, read_released
from pipeline.benchmarks.cityeqa.wording import TaskText, parse
from pipeline.core.groups import grouped
from pipeline.core.tables import ReleaseListing
from pipeline.core.templates import load_table
from pipeline.metrics.number_words import normalised
from pipeline.questions.audited import ExaminationInputs, Examined, LeftOut, leakage, named

MAX_START_M: Final = 200.0  # section 2.2: p0 lies "within a 200-meter range" of the target
SECTOR_DEG: Final = 45.0  # to either side of an axis
_WORDS: Final = load_table("cityeqa/audit")
# What only the city's map could show: check -> what it would take.
UNSUPPORTED: Final[dict[str, str]] = _WORDS["unsupported"]
_LIMITS: Final = {"start_m": MAX_START_M, "half_view_deg": HALF_VIEW_DEG}
_SUMMARY: Final[dict[str, str]] = {name: words.format(**_LIMITS) for name, words in _WORDS["summary"].items()}
_UNEXAMINED: Final = "answer_not_examined"
_SCHEMA: Final = pa.schema(
    [
        pa.field("row", pa.int64()),
        pa.field("id", pa.string()),
        pa.field("category", pa.string()),
        pa.field("answer_type", pa.string()),
        pa.field("target", pa.string()),  # its group: tasks of one target belong into one split
        pa.field("raw_task", pa.string()),  # of one target, observation pose and answer
        pa.field("hop_1", pa.string()),
        pa.field("start_yaw_deg", pa.float64()),
        pa.field("hop_1_off_deg", pa.float64()),
        pa.field("start_to_target_m", pa.float64()),  # on the ground
        pa.field("status", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("measured", pa.float64()),
        pa.field("limit", pa.float64()),
        pa.field("unit", pa.string()),
        pa.field("findings", pa.string()),  # all reasons, the first of which is `reason`
        pa.field("other_rows", pa.string()),  # ids of those that contradict it; of a reproduced one that confirm it
    ]
)


@dataclass(frozen=True)
class _Fault:
    """Why a row does not agree with itself or with others; ``reason`` is a key of `_SUMMARY`."""

    reason: str
    status: str
    measured: float | None = None
    limit: float | None = None
    unit: str | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class _AuditedTask:
    """A task with what is read and measured of it."""

    task: ReleasedTask
    told: TaskText | None
    kind: str
    target: str
    raw: str
    hop_off_deg: float | None
    start_m: float
    faults: tuple[_Fault, ...]
    confirmed_by: tuple[str, ...] = ()


def examine(path: Path, basis: ExaminationInputs) -> Examined:
    """All that an audit of a released file says. Raises ConfigError where it cannot be read."""
    tasks, left_out = read_released(path)
    contradictions, confirmed = _examined(tasks)
    seen = _audit_tasks(tasks, contradictions, confirmed)
    rows = [(name, str(len(seen)), needed) for name, needed in UNSUPPORTED.items()]
    title = "Not checked: the city is no part of the release"
    listings = [
        _checks(seen, len(left_out)),
        *_faulty(seen),
        *_contradictions(contradictions),
        ReleaseListing(title, ("unsupported", "n", "it would take"), rows, words=("it would take",), is_detail=True),
        _types(seen),
        _groups(seen),
        _priors(seen),
    ]
    if basis.split is not None:
        for name, groups in (("target", [s.target for s in seen]), ("raw task", [s.raw for s in seen])):
            listings.append(leakage(path, basis.split, [s.task for s in seen], name, groups))
    return Examined(_table(seen, left_out), listings, left_out)


AUDIT: Final = Audit(examine)


def _examined(tasks: Sequence[ReleasedTask]) -> tuple[list[Contradiction], dict[int, Claim]]:
    """Contradictions within each city of a file, and row -> the claim that its answer follows from."""
    cities = grouped(tasks, lambda task: str(task.rest.get("city") or ""))
    found = [examine_claims(own) for own in cities.values()]
    confirmed = {
        row.row: by for consistency in found for claim, by in consistency.confirmed.items() for row in claim.rows
    }
    return [one for consistency in found for one in consistency.contradictions], confirmed


def _audit_tasks(
    tasks: Sequence[ReleasedTask], contradictions: Sequence[Contradiction], confirmed: dict[int, Claim]
) -> list[_AuditedTask]:
    within: dict[int, dict[str, _Fault]] = defaultdict(dict)
    for one in contradictions:
        # What was measured is one row's own; the other only tells where something is.
        sides = [(one.one, one.other)] if one.measured is not None else [(one.one, one.other), (one.other, one.one)]
        for claim, other in sides:
            ids = tuple(str(row.id) for row in other.rows) if other else ()
            for row in claim.rows if claim else ():
                before = within[row.row].get(one.reason)
                within[row.row][one.reason] = _Fault(
                    one.reason,
                    "ambiguous" if one.measured is None else "differs",
                    one.measured,
                    one.limit,
                    one.unit,
                    (*(before.others if before else ()), *ids),
                )
    targets = _numbered(tasks, lambda t: t.target.place, "t")
    raws = _numbered(tasks, lambda t: (t.target.place, t.observation, normalised(t.answer)), "r")
    same_start = grouped(tasks, _start)
    found = []
    for task, target, raw in zip(tasks, targets, raws, strict=True):
        told = parse(task.question)
        off = None if told is None else off_deg(task.initial.yaw, AXES_DEG[told.hops[0].direction])
        start_m = math.dist(task.initial[:2], task.target[:2])
        faults = tuple(_faults(task, off, start_m, same_start[_start(task)]))
        faults += tuple(fault for name, fault in within[task.row].items() if name not in {f.reason for f in faults})
        by = tuple(str(row.id) for row in confirmed[task.row].rows) if task.row in confirmed else ()
        faults += () if by else (_Fault(_UNEXAMINED, "unsupported"),)
        kind = answer_type(told.question if told else task.question, task.answer)
        found.append(_AuditedTask(task, told, kind, target, raw, off, start_m, faults, by))
    return found


def _start(task: ReleasedTask) -> Hashable:
    return " ".join(task.question.split()), task.initial


def _numbered(tasks: Sequence[ReleasedTask], key: Callable[[ReleasedTask], Hashable], letter: str) -> list[str]:
    """A name for each task's group, by the order in which groups come first."""
    number: dict[Hashable, int] = {}
    return [f"{letter}{number.setdefault(key(task), len(number) + 1)}" for task in tasks]


def _faults(
    task: ReleasedTask, off: float | None, start_m: float, same_start: Sequence[ReleasedTask]
) -> Iterable[_Fault]:
    if off is None:
        yield _Fault("wording_not_recognised", "unsupported")
    elif off >= SECTOR_DEG:
        yield _Fault("start_looks_elsewhere", "differs", off, SECTOR_DEG, "deg")
    if start_m > MAX_START_M:
        yield _Fault("start_too_far", "differs", start_m, MAX_START_M, "m")
    others = [other for other in same_start if other is not task]
    if any(normalised(other.answer) != normalised(task.answer) for other in others):
        yield _Fault("answers_contradict", "ambiguous", len(others) + 1, 1, "tasks")
    elif others:
        yield _Fault("asked_twice", "differs", len(others) + 1, 1, "tasks")


def _table(seen: Sequence[_AuditedTask], left_out: Sequence[LeftOut]) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {"row": row.row, "id": row.id, "status": "left_out", "reason": row.finding, "findings": row.finding}
        for row in left_out
    ]
    for s in seen:
        first = s.faults[0] if s.faults else _Fault("", "reproduced")
        rows.append(
            {
                "row": s.task.row,
                "id": str(s.task.id),
                "category": s.task.category,
                "answer_type": s.kind,
                "target": s.target,
                "raw_task": s.raw,
                "hop_1": s.told.hops[0].direction if s.told else None,
                "start_yaw_deg": s.task.initial.yaw,
                "hop_1_off_deg": s.hop_off_deg,
                "start_to_target_m": s.start_m,
                "status": first.status,
                "reason": first.reason or None,
                "measured": first.measured,
                "limit": first.limit,
                "unit": first.unit,
                "findings": ", ".join(fault.reason for fault in s.faults) or None,
                "other_rows": ", ".join(first.others or (() if s.faults else s.confirmed_by)) or None,
            }
        )
    return pa.Table.from_pylist(sorted(rows, key=lambda row: int(row["row"])), schema=_SCHEMA)


def _checks(seen: Sequence[_AuditedTask], left_out: int) -> ReleaseListing:
    """The checks of every task, with the number that holds, differs and is unsupported."""
    rows = []
    parsed = sum(s.told is not None for s in seen)
    for reason, title in _SUMMARY.items():
        n = parsed if reason == "start_looks_elsewhere" else len(seen)
        wrong = sum(fault.reason == reason for s in seen for fault in s.faults)
        if reason == _UNEXAMINED:
            rows.append((title, f"{n - wrong} of {n}", "", str(wrong or "")))
        else:
            rows.append((title, f"{n - wrong} of {n}", str(wrong or ""), str(len(seen) - n or "")))
    note = f"{left_out} rows were left out of all this; they are listed below." if left_out else ""
    return ReleaseListing("Audit of the file by itself", ("check", "holds", "differs", "unsupported"), rows, note=note)


def _faulty(seen: Sequence[_AuditedTask]) -> list[ReleaseListing]:
    """The questions behind each finding."""
    cases: dict[tuple[str, str], list[str]] = defaultdict(list)
    for s in seen:
        for fault in (fault for fault in s.faults if fault.reason != _UNEXAMINED):
            measured = f" ({fault.measured:.4g} {fault.unit})" if fault.unit in {"m", "deg"} else ""
            cases[fault.reason, fault.status].append(f"{s.task.id}{measured}")
    rows = [(reason, status, str(len(ids)), named(ids)) for (reason, status), ids in sorted(cases.items())]
    heads = ("finding", "status", "n", "questions")
    return [ReleaseListing("Why", heads, rows, words=("status",), sentences=("questions",))] if rows else []


def _contradictions(found: Sequence[Contradiction]) -> list[ReleaseListing]:
    """What the rows of a file say against one another, and against their own poses, with both in words."""
    if not found:
        return []
    rows = []
    for one in sorted(found, key=lambda c: (list(_SUMMARY).index(c.reason), c.one.task.row)):
        measured = "" if one.measured is None else f" ({one.measured:.0f} {one.unit}, limit {one.limit:g})"
        rows.append((one.reason + measured, _text(one.one), _text(one.other) if one.other else "its own poses"))
    note = (
        "Both cannot be true, and the file does not show which one is wrong. A mirrored entry holds as seen from "
        "the shop; the column beside it names the source of the other position."
    )
    return [
        ReleaseListing(
            "Contradictions within the file", ("finding", "rows say", "others say"), rows,
            sentences=("rows say", "others say"), note=note, is_detail=True,
        )
    ]  # fmt: skip


def _text(claim: Claim) -> str:
    told = parse(claim.task.question)
    asked = told.question if told else claim.task.question
    return f"{named([str(row.id) for row in claim.rows])}: {asked} - {claim.task.answer}"


def _types(seen: Sequence[_AuditedTask]) -> ReleaseListing:
    """Table 4 of the paper."""
    counts = Counter((s.task.category, s.kind) for s in seen)
    rows = [(name, *_cells([counts[name, kind] for kind in ANSWER_TYPES])) for name in CATEGORIES]
    totals = _cells([sum(counts[name, kind] for name in CATEGORIES) for kind in ANSWER_TYPES])
    return ReleaseListing("Answer types", ("category", *ANSWER_TYPES, "n"), rows, ("all", *totals), is_detail=True)


def _cells(counts: Sequence[int]) -> list[str]:
    return [*(str(n or "") for n in counts), str(sum(counts))]


def _groups(seen: Sequence[_AuditedTask]) -> ReleaseListing:
    """How many tasks have the same target, and the same raw task."""
    kinds: tuple[tuple[str, list[Hashable]], ...] = (
        ("targets", [s.target for s in seen]),
        ("raw tasks: target, observation, answer", [s.raw for s in seen]),
        ("  and the same words asked", [(s.raw, _question(s)) for s in seen]),
        ("start poses", [s.task.initial for s in seen]),
    )
    rows = []
    for name, groups in kinds:
        sizes = sorted(Counter(groups).values())
        spread = (str(sizes[0]), f"{median(sizes):g}", str(sizes[-1])) if sizes else ("", "", "")
        rows.append((name, str(len(sizes)), *spread))
    note = "Tasks of one target share what has to be known: split by target, never by row."
    heads = ("of tasks with the same", "groups", "smallest", "median", "largest")
    return ReleaseListing("Groups", heads, rows, note=note, is_detail=True)


def _priors(seen: Sequence[_AuditedTask]) -> ReleaseListing:
    """Scores of answering without the city, per category."""
    rows, earned = [], Counter[str]()
    for category in CATEGORIES:
        own = [s for s in seen if s.task.category == category]
        if not own:
            continue
        usual, n = Counter(normalised(s.task.answer) for s in own).most_common(1)[0]
        apart, mixed = _as_asked(own, lambda s: s.target), _as_asked(own, lambda s: str(s.task.row))
        earned.update({"n": len(own), "usual": n, "apart": apart, "mixed": mixed})
        rows.append((category, str(len(own)), usual, *(_share(found, len(own)) for found in (n, apart, mixed))))
    total = [_share(earned[name], earned["n"]) for name in ("usual", "apart", "mixed")]
    heads = ("category", "n", "usual answer", "always so", "as asked", "and leaking")
    note = (
        "Right without the city: always the category's usual answer; the usual answer to the same words asked, of "
        "other targets; and of other tasks, as where a split by row leaks."
    )
    return ReleaseListing(
        "Priors", heads, rows, ("all", str(earned["n"]), "", *total), words=("usual answer",), note=note
    )


def _as_asked(own: Sequence[_AuditedTask], group: Callable[[_AuditedTask], str]) -> int:
    """How many answers are the usual one to the same words, or else to all, among tasks of other groups."""
    said: dict[Hashable, Counter[str]] = defaultdict(Counter)  # by words, by group, by both, and of all
    for s in own:
        for key in ((_question(s), None), (None, group(s)), (_question(s), group(s)), (None, None)):
            said[key][normalised(s.task.answer)] += 1
    right = 0
    for s in own:
        alike = said[_question(s), None] - said[_question(s), group(s)] or said[None, None] - said[None, group(s)]
        right += bool(alike) and alike.most_common(1)[0][0] == normalised(s.task.answer)
    return right


def _question(s: _AuditedTask) -> str:
    return " ".join((s.told.question if s.told else s.task.question).casefold().split())


def _share(n: int, of: int) -> str:
    return f"{n} ({n / of:.0%})" if of else ""
