"""Answers a published question file again: parses the operands out of each text and asks the same task code."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.benchmarks.vsi.benchmark import TASKS
from pipeline.benchmarks.vsi.rules import Rules
from pipeline.core.arrays import IntArray
from pipeline.core.errors import ConfigError
from pipeline.core.identity import question_ids
from pipeline.core.schema import Rejection
from pipeline.core.templates import load_template
from pipeline.questions.arrays import Task
from pipeline.questions.candidates import candidates, verdicts
from pipeline.questions.choices import LETTERS
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.view import SceneView

STATUSES: Final = ("reproduced", "differs", "not_askable", "ambiguous", "unsupported")
# Reasons for which a question has no answer at all; every other rejection is an ambiguity.
NOT_ASKABLE: Final = frozenset(
    {
        "scene_missing",
        "category_missing",
        "category_without_box",
        "not_unique",
        "too_few_instances",
        "room_not_measured",
        "repeated_operand",
    }
)
# The metadata hold nothing that could answer such a question; a raw scan would.
UNSUPPORTED: Final = frozenset({"video_not_examined", "floor_not_measured"})
NOT_IN_METADATA: Final = UNSUPPORTED | {"scene_missing", "category_missing"}
REQUIRED: Final = ("id", "scene_name", "question_type", "question", "ground_truth")
_FIRST_OPTION: Final = re.compile(r"\s*A[.:)]\s")
_OPTION: Final = re.compile(r"\s*\(?([A-J])[.:)]\s*(.*?)\s*", re.DOTALL)


@dataclass(frozen=True)
class Published:
    """One published question."""

    id: int | str
    dataset: str | None
    scene_name: str
    question_type: str
    question: str
    options: tuple[str, ...] | None
    ground_truth: str


@dataclass(frozen=True)
class Finding:
    """One row of an audit."""

    question: Published
    scene: str
    status: str
    recomputed: str | None = None
    rejection: Rejection | None = None


def read_questions(path: Path) -> list[Published]:
    """Questions of a .jsonl, .json or .parquet file in the released columns. Raises ConfigError, naming the row."""
    try:
        if path.suffix == ".parquet":
            rows = pq.read_table(path).to_pylist()
        elif path.suffix == ".json":
            rows = json.loads(path.read_text(encoding="utf-8"))
        else:
            lines = path.read_text(encoding="utf-8").splitlines()
            rows = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read as .jsonl, .json or .parquet: {error}") from error
    if not isinstance(rows, list):
        raise ConfigError(f"{path}: holds {type(rows).__name__}, not a list of questions")
    return [_published(path, number, row) for number, row in enumerate(rows, start=1)]


def _published(path: Path, number: int, row: Any) -> Published:
    if isinstance(row, dict) and "Question_id" in row:
        row = _from_urban(row)
    missing = [k for k in REQUIRED if not isinstance(row, dict) or row.get(k) is None]
    if missing:
        raise ConfigError(f"{path}: question {number} has no {', '.join(missing)}; needed are {', '.join(REQUIRED)}")
    options = row.get("options")
    if not isinstance(options, list | None):
        raise ConfigError(
            f"{path}: question {number} has options {options!r}; give a list, or null where there are none"
        )
    return Published(
        id=row["id"] if isinstance(row["id"], int) else str(row["id"]),
        dataset=row.get("dataset"),
        scene_name=str(row["scene_name"]),
        question_type=str(row["question_type"]),
        question=str(row["question"]),
        options=tuple(map(str, options)) if options else None,
        ground_truth=str(row["ground_truth"]),
    )


def _from_urban(row: dict[str, Any]) -> dict[str, Any]:
    """A row of UrbanVideo-Bench, whose options are lines of the question's text, in the columns of VSI-Bench."""
    lines = str(row.get("question", "")).splitlines()
    first = next((n for n, line in enumerate(lines) if _FIRST_OPTION.match(line)), len(lines))
    options = [line.strip() for line in lines[first:] if line.strip()]
    return {
        "id": row["Question_id"],
        "scene_name": row.get("video_id"),
        "question_type": row.get("question_category"),
        "question": "\n".join(lines[:first]).removesuffix("Choices:").strip(),
        "options": options or None,
        "ground_truth": row.get("answer"),
    }


def audit(questions: Sequence[Published], scenes: Iterable[IndoorScene], rules: Rules) -> list[Finding]:
    """One finding per question, in the given order."""
    known = _Scenes(scenes)
    groups: dict[str | None, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        scene = known.of(question)
        groups[scene.id if scene else None].append(number)
    findings: dict[int, Finding] = {}
    for scene_id, numbers in groups.items():
        view = SceneView(known.by_id[scene_id], rules) if scene_id else None
        chosen = [questions[n] for n in numbers]
        findings.update(zip(numbers, _audit_scene(chosen, view), strict=True))
    return [findings[number] for number in range(len(questions))]


class _Scenes:
    """Scenes by id, and by name for questions that name no dataset."""

    def __init__(self, scenes: Iterable[IndoorScene]) -> None:
        self.by_id = {scene.id: scene for scene in scenes}
        self._by_name: dict[str, list[IndoorScene]] = defaultdict(list)
        for scene in self.by_id.values():
            self._by_name[scene.name].append(scene)

    def of(self, question: Published) -> IndoorScene | None:
        """The scene that a question is about; None where there is none, or more than one of its name."""
        if question.dataset is not None:
            return self.by_id.get(f"{question.dataset}/{question.scene_name}")
        alone = self._by_name.get(question.scene_name, [])
        return alone[0] if len(alone) == 1 else None


def _audit_scene(questions: Sequence[Published], view: SceneView | None) -> list[Finding]:
    """Findings about the questions of one scene; those of one task are answered in one batch."""
    findings: dict[int, Finding] = {}
    batches: dict[tuple[str, int], list[tuple[int, list[int]]]] = defaultdict(list)
    for number, question in enumerate(questions):
        scene = view.scene.id if view else f"{question.dataset or '?'}/{question.scene_name}"
        operands = operands_of(question)
        obstacle = TASKS[question.question_type].obstacle(view) if view and operands is not None else None
        if operands is None:
            known = question.question_type in TASKS
            reason = "wording_not_recognised" if known else "question_type_not_supported"
            findings[number] = Finding(question, scene, "unsupported", None, _because(reason))
        elif view is None:
            findings[number] = Finding(question, scene, "not_askable", None, _because("scene_missing"))
        elif obstacle is not None:
            findings[number] = Finding(question, scene, _status(obstacle), None, obstacle)
        else:
            problem = _problem(TASKS[question.question_type], operands, view)
            if problem:
                findings[number] = Finding(question, scene, _status(problem), None, problem)
            else:
                index = [view.index[name] for name in operands]
                batches[question.question_type, len(index)].append((number, index))
    for (name, size), members in batches.items():
        indices = np.array([index for _, index in members], dtype=np.intp).reshape(len(members), size)
        chosen = [questions[number] for number, _ in members]
        compared = _answer_batch(chosen, TASKS[name], indices, view) if view else []
        findings.update(zip((number for number, _ in members), compared, strict=True))
    return [findings[number] for number in range(len(questions))]


def _answer_batch(questions: Sequence[Published], task: Task, operands: IntArray, view: SceneView) -> list[Finding]:
    answers = task.answer(view, operands)
    failed, reasons = verdicts(answers, len(questions))
    columns = {key: column.to_pylist() for key, column in reasons.items()}
    findings = []
    for row, question in enumerate(questions):
        rejection = Rejection(**{k: v[row] for k, v in columns.items()}) if failed[row] >= 0 else None
        findings.append(_compare(question, view.scene.id, task, str(answers.truth[row]), rejection))
    return findings


def operands_of(question: Published) -> tuple[str, ...] | None:
    """Canonical operands of a published question, or None if it is of no task or wording that we know."""
    task = TASKS.get(question.question_type)
    fields = load_template(task.template).parse(question.question) if task else None
    return task.canonical(fields) if task and fields is not None else None


def _problem(task: Task, operands: tuple[str, ...], view: SceneView) -> Rejection | None:
    more = len(operands) - len(task.roles)  # more choices, or fewer, than we ask with
    roles, slots = task.roles + task.roles[-1:] * more, task.slots + task.slots[-1:] * more
    # A route may pass what it faces at the start; nothing else stands twice in a question.
    pairs = combinations(zip(roles, operands, strict=False), 2)
    if any(a == b and (one, other) != ("facing", "passed") for (one, a), (other, b) in pairs):
        return _because("repeated_operand")
    for name in operands:
        if name not in view.index:
            return _because("category_missing")
    problems = (view.problem(view.index[name], slot) for name, slot in zip(operands, slots, strict=False))
    return next((p for p in problems if p), None)


def _compare(question: Published, scene: str, task: Task, answer: str | None, rejection: Rejection | None) -> Finding:
    if task.number is None:
        options = _options(question.options or ())
        if question.ground_truth.strip() not in options:
            return Finding(question, scene, "unsupported", answer, _because("options_not_recognised"))
        letters = [letter for letter, text in options.items() if text == answer]
        recomputed = letters[0] if letters else answer
        same = recomputed == question.ground_truth.strip()
        difference = _because("answer_differs" if letters else "answer_not_among_options")
    else:
        published = _decimal(question.ground_truth)
        if published is None:
            return Finding(question, scene, "unsupported", answer, _because("ground_truth_not_a_number"))
        recomputed = answer
        gap = None if answer is None else abs(Decimal(answer) - published)
        same = gap == 0
        difference = Rejection(
            reason="value_differs", measured=None if gap is None else float(gap), limit=0.0, unit=task.number.unit
        )
    if rejection is not None:
        return Finding(question, scene, _status(rejection), recomputed, rejection)
    return Finding(question, scene, "reproduced" if same else "differs", recomputed, None if same else difference)


def _status(rejection: Rejection) -> str:
    if rejection.reason in UNSUPPORTED:
        return "unsupported"
    return "not_askable" if rejection.reason in NOT_ASKABLE else "ambiguous"


def _options(options: Sequence[str]) -> dict[str, str]:
    """Letter -> text; options without a letter get theirs by position."""
    pairs: dict[str, str] = {}
    for letter, option in zip(LETTERS, options, strict=False):
        match = _OPTION.fullmatch(option)
        pairs[match[1] if match else letter] = match[2] if match else option.strip()
    return pairs


def _decimal(text: str) -> Decimal | None:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def _because(reason: str) -> Rejection:
    return Rejection(reason=reason, measured=None, limit=None, unit=None)


def audit_table(findings: Sequence[Finding]) -> pa.Table:
    """The findings as columns, one row per question; the last four are null where it is reproduced."""
    whole = all(isinstance(f.question.id, int) for f in findings)
    return pa.table(
        {
            "id": pa.array([f.question.id if whole else str(f.question.id) for f in findings]),
            "question_type": pa.array([f.question.question_type for f in findings], pa.string()),
            "scene": pa.array([f.scene for f in findings], pa.string()),
            "status": pa.array([f.status for f in findings], pa.string()),
            "published": pa.array([f.question.ground_truth for f in findings], pa.string()),
            "recomputed": pa.array([f.recomputed for f in findings], pa.string()),
            "reason": pa.array([f.rejection.reason if f.rejection else None for f in findings], pa.string()),
            "measured": pa.array([f.rejection.measured if f.rejection else None for f in findings], pa.float64()),
            "limit": pa.array([f.rejection.limit if f.rejection else None for f in findings], pa.float64()),
            "unit": pa.array([f.rejection.unit if f.rejection else None for f in findings], pa.string()),
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


def coverage(
    questions: Sequence[Published], scenes: Iterable[IndoorScene], rules: Rules
) -> tuple[dict[str, Coverage], list[Miss]]:
    """Whether the enumerated candidates, before caps, contain the published questions of known tasks.

    A miss is a question that is not among the askable candidates, or whose answer differs from the candidate's.
    """
    counts: dict[str, Coverage] = defaultdict(Coverage)
    misses: list[Miss] = []
    tables: dict[str, dict[int, dict[str, Any]]] = {}
    known = _Scenes(scenes)
    for question in questions:
        operands = operands_of(question)
        if operands is None:
            continue
        task = TASKS[question.question_type]
        count = counts[task.name]
        count.published += 1
        scene = known.of(question)
        row = None
        if scene is not None:
            if scene.id not in tables:
                tables[scene.id] = _rows_by_id(candidates(SceneView(scene, rules), list(TASKS.values())))
            row = tables[scene.id].get(question_ids(scene.id, task.name, task.template, [operands])[0])
        if scene is None or row is None or row["reason"] is not None:
            reason = _refusal(row) if row else _never_formed(operands, scene, task, rules)
            count.not_in_metadata += reason.reason in NOT_IN_METADATA
            misses.append(Miss(question, "lacking", reason))
            continue
        count.contained += 1
        if _compare(question, scene.id, task, row["answer"], None).status != "reproduced":
            misses.append(Miss(question, "contradicted", _because(f"the candidate's answer is {row['answer']}")))
    return counts, misses


def _rows_by_id(table: pa.Table) -> dict[int, dict[str, Any]]:
    columns = table.select(["answer", "reason", "measured", "limit", "unit"]).to_pylist()
    return dict(zip(table["id"].to_pylist(), columns, strict=True))


def _refusal(row: dict[str, Any]) -> Rejection:
    return Rejection(reason=row["reason"], measured=row["measured"], limit=row["limit"], unit=row["unit"])


def _never_formed(operands: tuple[str, ...], scene: IndoorScene | None, task: Task, rules: Rules) -> Rejection:
    if scene is None:
        return _because("scene_missing")
    view = SceneView(scene, rules)
    return task.obstacle(view) or _problem(task, operands, view) or _because("not_enumerated")
