"""Answers a published question file again: parses the operands out of each text and asks the same task code.

Also finds what published questions say otherwise than the data (`contradictions`). Before a release people looked at
answers and corrected some without touching the metadata (two chairs where five are in the room). Whoever builds from
the same metadata would ask again with the value that was found wrong.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.benchmarks.vsi.card import COLUMNS, REVSI_COLUMNS
from pipeline.benchmarks.vsi.rules import OFFICIAL, Rules, ScanView
from pipeline.benchmarks.vsi.tasks.measures import ObjectCounting
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.arrays import IntArray
from pipeline.core.findings import doubt
from pipeline.core.identity import question_ids
from pipeline.core.schema import Finding, Rejection
from pipeline.core.templates import load_template
from pipeline.questions.arrays import ArrayTask
from pipeline.questions.audited import (
    Audited,
    Coverage,
    ExaminationInputs,
    Examined,
    Miss,
    audit_table,
    leakage,
    summaries,
)
from pipeline.questions.choices import LETTERS, number_of
from pipeline.questions.published import Published, read_published
from pipeline.questions.task import Number
from pipeline.worlds.indoor.facts import IndoorScene

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
UNSUPPORTED: Final = frozenset({"video_not_examined", "floor_not_measured", "other_extent_measured"})
NOT_IN_METADATA: Final = UNSUPPORTED | {"scene_missing", "category_missing"}
TOLERANCES: Final = {"object_abs_distance": (0.1, "m")}
_OPTION: Final = re.compile(r"\s*\(?([A-J])[.:)]\s*(.*?)\s*", re.DOTALL)


def examine(path: Path, basis: ExaminationInputs) -> Examined:
    """All that an audit of a released file says."""
    questions = read_published(path, (COLUMNS, REVSI_COLUMNS))
    table = audit_table(audit(questions, basis.scenes, basis.rules))
    listings = summaries(table, f"Audit, profile {basis.profile}", TOLERANCES)
    if basis.split is not None:
        listings.append(leakage(path, basis.split, questions, "scene", [q.scene_name for q in questions]))
    return Examined(table, listings)


def audit(questions: Sequence[Published], scenes: Iterable[IndoorScene], rules: Rules) -> list[Audited]:
    """One finding per question, in the given order."""
    known = _Scenes(scenes)
    groups: dict[str | None, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        scene = known.of(question)
        groups[scene.id if scene else None].append(number)
    audited: dict[int, Audited] = {}
    for scene_id, numbers in groups.items():
        view = ScanView(known.by_id[scene_id], rules) if scene_id else None
        chosen = [questions[n] for n in numbers]
        audited.update(zip(numbers, _audit_scene(chosen, view), strict=True))
    return [audited[number] for number in range(len(questions))]


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


def _audit_scene(questions: Sequence[Published], view: ScanView | None) -> list[Audited]:
    """Findings about the questions of one scene; those of one task are answered in one batch."""
    audited: dict[int, Audited] = {}
    batches: dict[tuple[str, int], list[tuple[int, list[int]]]] = defaultdict(list)
    for number, question in enumerate(questions):
        scene = view.scene.id if view else f"{question.dataset or '?'}/{question.scene_name}"
        operands = operands_of(question)
        obstacle = TASKS[question.question_type].obstacle(view) if view and operands is not None else None
        if operands is None:
            known = question.question_type in TASKS
            reason = "wording_not_recognised" if known else "question_type_not_supported"
            audited[number] = Audited(question, scene, "unsupported", None, _rejection(reason))
        elif view is None:
            audited[number] = Audited(question, scene, "not_askable", None, _rejection("scene_missing"))
        elif obstacle is not None:
            audited[number] = Audited(question, scene, _status(obstacle), None, obstacle)
        else:
            problem = _problem(TASKS[question.question_type], operands, view)
            if problem:
                audited[number] = Audited(question, scene, _status(problem), None, problem)
            else:
                index = [view.index[name] for name in operands]
                batches[question.question_type, len(index)].append((number, index))
    for (name, size), members in batches.items():
        indices = np.array([index for _, index in members], dtype=np.intp).reshape(len(members), size)
        chosen = [questions[number] for number, _ in members]
        compared = _answer_batch(chosen, TASKS[name], indices, view) if view else []
        audited.update(zip((number for number, _ in members), compared, strict=True))
    return [audited[number] for number in range(len(questions))]


def _answer_batch(
    questions: Sequence[Published], task: ArrayTask[ScanView], operands: IntArray, view: ScanView
) -> list[Audited]:
    answers = task.answer(view, operands)
    found = answers.verdicts()
    audited = []
    for row, question in enumerate(questions):
        audited.append(_compare(question, view.scene.id, task, str(answers.truth[row]), found.rejection(row)))
    return audited


def operands_of(question: Published) -> tuple[str, ...] | None:
    """Canonical operands of a published question, or None if it is of no task or wording that we know."""
    task = TASKS.get(question.question_type)
    fields = load_template(task.template).parse(question.question) if task else None
    return task.canonical(fields) if task and fields is not None else None


def _problem(task: ArrayTask[ScanView], operands: tuple[str, ...], view: ScanView) -> Rejection | None:
    more = len(operands) - len(task.roles)  # more choices, or fewer, than we ask with
    roles, slots = task.roles + task.roles[-1:] * more, task.slots + task.slots[-1:] * more
    # A route may pass what it faces at the start; nothing else stands twice in a question.
    pairs = combinations(zip(roles, operands, strict=False), 2)
    if any(a == b and (one, other) != ("facing", "passed") for (one, a), (other, b) in pairs):
        return _rejection("repeated_operand")
    for name in operands:
        if name not in view.index:
            return _rejection("category_missing")
    problems = (view.problem(view.index[name], slot) for name, slot in zip(operands, slots, strict=False))
    return next((p for p in problems if p), None)


def _compare(
    question: Published, scene: str, task: ArrayTask[ScanView], answer: str | None, rejection: Rejection | None
) -> Audited:
    if not isinstance(task.form, Number):
        options = _options(question.options or ())
        if question.ground_truth.strip() not in options:
            return Audited(question, scene, "unsupported", answer, _rejection("options_not_recognised"))
        letters = [letter for letter, text in options.items() if text == answer]
        recomputed = letters[0] if letters else answer
        same = recomputed == question.ground_truth.strip()
        difference = _rejection("answer_differs" if letters else "answer_not_among_options")
    else:
        published = number_of(question.ground_truth)
        if published is None:
            return Audited(question, scene, "unsupported", answer, _rejection("ground_truth_not_a_number"))
        recomputed = answer
        gap = None if answer is None else abs(Decimal(answer) - published)
        same = gap == 0
        difference = Rejection(
            reason="value_differs", measured=None if gap is None else float(gap), limit=0.0, unit=task.form.unit
        )
    if rejection is not None:
        return Audited(question, scene, _status(rejection), recomputed, rejection)
    return Audited(question, scene, "reproduced" if same else "differs", recomputed, None if same else difference)


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


def _rejection(reason: str) -> Rejection:
    return Rejection(reason=reason, measured=None, limit=None, unit=None)


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
                view = ScanView(scene, rules)
                tables[scene.id] = _rows_by_id(pa.concat_tables([own.candidates(view) for own in TASKS.values()]))
            row = tables[scene.id].get(
                question_ids(scene.id, task.name, load_template(task.template).identity, [operands])[0]
            )
        if scene is None or row is None or row["reason"] is not None:
            reason = _refusal(row) if row else _never_formed(operands, scene, task, rules)
            count.not_in_metadata += reason.reason in NOT_IN_METADATA
            misses.append(Miss(question, "lacking", reason))
            continue
        count.contained += 1
        if _compare(question, scene.id, task, row["answer"], None).status != "reproduced":
            misses.append(Miss(question, "contradicted", _rejection(f"the candidate's answer is {row['answer']}")))
    return counts, misses


def _rows_by_id(table: pa.Table) -> dict[int, dict[str, Any]]:
    columns = table.select(["answer", "reason", "measured", "limit", "unit"]).to_pylist()
    return dict(zip(table["id"].to_pylist(), columns, strict=True))


def _refusal(row: dict[str, Any]) -> Rejection:
    return Rejection(reason=row["reason"], measured=row["measured"], limit=row["limit"], unit=row["unit"])


def _never_formed(
    operands: tuple[str, ...], scene: IndoorScene | None, task: ArrayTask[ScanView], rules: Rules
) -> Rejection:
    if scene is None:
        return _rejection("scene_missing")
    view = ScanView(scene, rules)
    return task.obstacle(view) or _problem(task, operands, view) or _rejection("not_enumerated")


# Sizes, distances and areas of the same things differ by how boxes are fitted and points drawn; corrections are larger.
DIFFERENCE_MAX: Final = 0.1  # of the published number
ROUNDING: Final = Decimal("0.1")  # metres or square metres: a step of the last decimal is no correction
# Answers that rest on what a video shows or where one can walk: those are not in the metadata that people corrected.
NOT_OF_METADATA: Final = frozenset({"obj_appearance_order", "route_planning"})


def contradictions(
    questions: Sequence[Published], scene: IndoorScene, corrected: Collection[str] = ()
) -> tuple[Finding, ...]:
    """A doubt about each category, or the room, of which published questions about the scene say otherwise.

    ``corrected`` are subjects that people corrected: what was published of these was made before.
    """
    found: dict[str, Finding] = {}
    asked = [q for q in questions if q.question_type in TASKS and q.question_type not in NOT_OF_METADATA]
    asked = [q for q in asked if not set(operands_of(q) or ()) & set(corrected)]
    for answered in audit(asked, [scene], OFFICIAL):
        if _differs(answered):
            for subject, finding in ((s, f) for s, f in _doubts(answered) if s not in corrected):
                found.setdefault(subject, finding)
    return tuple(found[subject] for subject in sorted(found))


def _differs(answered: Audited) -> bool:
    """Whether the answers differ by more than fitting and rounding; a count also where it is too small to be asked."""
    form = TASKS[answered.question.question_type].form
    if not isinstance(form, Number):
        return answered.status == "differs"
    if answered.recomputed is None or answered.status == "unsupported":
        return False
    ours, theirs = Decimal(answered.recomputed), Decimal(answered.question.ground_truth.strip())
    if isinstance(TASKS[answered.question.question_type], ObjectCounting):
        return ours != theirs
    step = ROUNDING if form.decimals else Decimal(1)
    return abs(ours - theirs) > max(step, Decimal(str(DIFFERENCE_MAX)) * theirs)


def _doubts(answered: Audited) -> Iterator[tuple[str, Finding]]:
    question = answered.question
    form = TASKS[question.question_type].form
    ours, theirs, unit = answered.recomputed, question.ground_truth.strip(), None
    measured = limit = None
    if isinstance(form, Number) and ours is not None:
        measured, limit, unit = float(ours), float(theirs), form.unit
    for subject in operands_of(question) or ("room",):
        message = f"{subject}: {ours} by the data, {theirs} in the published question {question.id}"
        remedy = "look at the video, and correct the data; or leave the published file out (known)"
        name = "published_answer_differs"
        yield subject, doubt(name, subject, message, remedy, measured, limit, unit)
