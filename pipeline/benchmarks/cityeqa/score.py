"""CityEQA's score: QAA by a judge, navigation error (NE), mean time steps (MTS), and from a radius on success and SPL.

NE is the distance from where the agent stood at last to the target. The paper says "distance"; its released code
measures |dx| + |dy| on the ground. All three are told, each under its name. Success is where the answer is seen, which
may be far from the target (a car park is counted from its edge): near the observation pose.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import Field

from pipeline.benchmarks.cityeqa.columns import within_steps
from pipeline.benchmarks.cityeqa.raw import ANSWER_TYPES, answer_type
from pipeline.benchmarks.cityeqa.released import CATEGORIES, ReleasedTask, off_deg, pose_of, read_released
from pipeline.benchmarks.cityeqa.wording import parse
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Model
from pipeline.core.templates import load_table
from pipeline.llm.base import ModelSpec
from pipeline.metrics.words import is_stated
from pipeline.questions.harness import Harness, Marking
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import (
    TOO_LONG,
    Answer,
    Ask,
    Figure,
    Judge,
    Metric,
    Score,
    Scores,
    group_by,
    is_too_long,
    unmeasured,
)

JUDGE: Final = Judge("judge_cityeqa", "mark", "integer", 1, 5)
QAA, MATCH, MTS, SUCCESS, SPL = "qaa", "match", "mts", "success", "spl"
NE_3D, NE_2D, NE_L1 = "ne_euclid3d", "ne_euclid2d", "ne_l1"
NOT_JUDGED, OTHER_START = "not_judged", "other_start"
PATH_M: Final = "path_m"  # column with the length of the shortest path, which the release of the paper does not have
ORACLE_STEPS: Final = "oracle_steps"  # likewise with its moves and turns
_ASKING: Final = load_table("cityeqa/asking")
STEPS_MAX: Final[int] = _ASKING["navigation_steps"] + _ASKING["collection_steps"]  # as many as agents are given
SAME_PLACE_M, SAME_YAW_DEG = 0.5, 1.0  # of the first step and the start
METRICS: Final = {
    QAA: Metric("QAA (1-5)", 2, highest=5.0),
    MATCH: Metric("match", 3, is_guessed=True),
    NE_3D: Metric("NE euclid3d (m)", 2),
    NE_2D: Metric("NE euclid2d (m)", 2, is_minor=True),
    NE_L1: Metric("NE l1 (m)", 2, is_minor=True),
    MTS: Metric("MTS (steps)", 2),
    SUCCESS: Metric("success", 3),
    SPL: Metric("SPL", 3),
}


class CityScoreSettings(Model):
    """Settings of the score."""

    within_m: float = Field(
        default=20.0, gt=0, description="success: so near to where the answer is seen (AerialVLN's radius)"
    )
    steps_max: int = Field(
        default=STEPS_MAX, ge=1, description="moves and turns, after which a trajectory is cut (CityEQA, section 4.1)"
    )
    judge: ModelSpec | None = Field(default=None, description="null: no QAA, only exact matches")


def read(path: Path) -> list[Published]:
    """The tasks of a file in the released columns; a task's scene is its target. Raises ConfigError for a bad row."""
    tasks, left_out = read_released(path)
    if left_out:
        first = left_out[0]
        raise ConfigError(
            f"{path}: {len(left_out)} rows cannot be used; row {first.row}: {first.finding}: {first.message}. "
            f"scan2qa audit cityeqa --questions {path} lists them; correct or delete them"
        )
    return [
        Published(t.id, None, _group(t), t.category, t.question, None, t.answer.strip(), rest=t.rest) for t in tasks
    ]


def _group(task: ReleasedTask) -> str:
    return str(task.rest.get("group") or " ".join(f"{x:g}" for x in task.target.place))


def mark(answers: Sequence[Answer], settings: CityScoreSettings, ask: Ask | None = None) -> Scores:
    """Marks of all metrics; those that cannot be measured are NaN, and why is said."""
    values: dict[str, FloatArray] = {name: unmeasured(len(answers)) for name in METRICS}
    values[MATCH] = np.array([float(is_match(answer)) for answer in answers])
    notes, left_out, words = [], {}, dict[str, str]()
    if ask is None:
        notes.append("QAA needs a judge: --set judge.provider=… --set judge.model=…; `match` is no QAA.")
    else:
        values[QAA], words, failed = JUDGE.judged(answers, ask)
        if failed:
            left_out[NOT_JUDGED] = failed
    elsewhere = _measure(answers, settings, values)
    if elsewhere:
        left_out[OTHER_START] = elsewhere
    moved = [a for a in answers if a.steps is not None]
    if moved:
        unmoved = len(answers) - len(moved)
        notes += [f"Without a trajectory, and so in no mean of NE, MTS, success and SPL: {unmoved}."] if unmoved else []
        cut = sum(len(a.steps) - 1 > settings.steps_max for a in moved if a.steps is not None)
        notes += [f"Longer than {settings.steps_max} steps, and cut there: {cut}; their answers count."] if cut else []
        if all(PATH_M not in a.question.rest for a in moved):
            notes.append(f"SPL is unsupported: the questions have no {PATH_M}, the length of the shortest path.")
    notes += _of_the_oracle(answers)
    unread = [None if a.reply is None or not is_too_long(a.reply) else TOO_LONG for a in answers]
    return Scores(values, unread, left_out, notes, words)


def _of_the_oracle(answers: Sequence[Answer]) -> list[str]:
    """The share of tasks, by category, that the oracle solves within the steps of agents."""
    known = ((a.question.question_type, a.question.rest.get(ORACLE_STEPS)) for a in answers)
    return within_steps((category, steps) for category, steps in known if isinstance(steps, int | float))


def is_match(answer: Answer) -> bool:
    """Whether a reply states the answer (`is_stated`)."""
    if answer.reply is None or is_too_long(answer.reply):
        return False
    return is_stated(answer.reply, [answer.question.ground_truth])


def _measure(answers: Sequence[Answer], settings: CityScoreSettings, values: dict[str, FloatArray]) -> list[str]:
    """Fills in what trajectories show; gives the questions whose trajectory begins elsewhere."""
    elsewhere = []
    for n, answer in enumerate(answers):
        if answer.steps is None:
            continue
        rest = answer.question.rest
        start, target = pose_of(rest["initial_pose"], "initial_pose"), pose_of(rest["target_pose"], "target_pose")
        first = answer.steps[0]
        if np.linalg.norm(first[:3] - start[:3]) > SAME_PLACE_M or off_deg(first[5], start.yaw) > SAME_YAW_DEG:
            elsewhere.append(str(answer.question.id))
            continue
        steps = answer.steps[: settings.steps_max + 1]
        away = steps[-1, :3] - target.place
        values[NE_3D][n] = np.linalg.norm(away)
        values[NE_2D][n] = np.linalg.norm(away[:2])
        values[NE_L1][n] = np.abs(away[:2]).sum()
        values[MTS][n] = len(steps) - 1
        goal = pose_of(rest["observation_pose"], "observation_pose")
        values[SUCCESS][n] = np.linalg.norm(steps[-1, :3] - goal.place) <= settings.within_m
        values[SPL][n] = values[SUCCESS][n] * _directness(steps, rest.get(PATH_M))
    return elsewhere


def _directness(steps: FloatArray, shortest_m: object) -> float:
    """Shortest path over path taken, at most 1 (Anderson et al., "On Evaluation of Embodied Navigation Agents")."""
    if not isinstance(shortest_m, int | float):
        return np.nan
    taken_m = float(np.linalg.norm(np.diff(steps[:, :3], axis=0), axis=1).sum())
    return 1.0 if shortest_m <= 0 else shortest_m / max(taken_m, shortest_m)


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """Categories, answer types (table 4), and all tasks."""
    kinds = [_kind(answer) for answer in answers]
    types = [
        Figure(kind, "answer type", tuple(n for n, own in enumerate(kinds) if own == kind))
        for kind in ANSWER_TYPES
        if kind in kinds
    ]
    categories = group_by(answers, "category", {name: name for name in CATEGORIES})
    return [*categories, *types, Figure("all", members=tuple(range(len(answers))))]


def _kind(answer: Answer) -> str:
    told = parse(answer.question.question)
    return answer_type(told.question if told else answer.question.question, answer.question.ground_truth)


SCORE: Final = Score[CityScoreSettings](
    read=read,
    metrics=METRICS,
    settings=CityScoreSettings,
    mark=mark,
    figures=figures,
    unusual={
        NOT_JUDGED: "the judge gave no mark: in no mean of QAA; score again, what was judged is kept",
        OTHER_START: "the first step is not the task's start pose: not measured; begin steps with it",
    },
)


# The paper's blind agent: one that acts is asked by `scan2qa ask`.
HARNESS: Final = Harness(lambda question, split: Marking("words"))
