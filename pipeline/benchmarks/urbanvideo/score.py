"""UrbanVideo-Bench's score: accuracy per task, per category, per source (figure 4) and of all questions (appendix C.1).

The paper leaves unclear replies to GPT-4o and then to a person. Here the letter is looked for by rule, and a reply in
which none is found is wrong, counted and named. What a judge says of such replies is counted apart.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
from pydantic import Field

from pipeline.benchmarks.urbanvideo.columns import COLUMNS
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.schema import Model
from pipeline.llm.base import ModelSpec
from pipeline.questions.harness import Harness, Marking
from pipeline.questions.published import read_of_benchmark
from pipeline.questions.scoring_protocol import (
    Answer,
    Ask,
    Figure,
    Judge,
    Metric,
    Score,
    Scores,
    find_option,
    group_by,
    unmeasured,
)

ACCURACY, JUDGED, NOT_JUDGED = "accuracy", "judged", "not_judged"
JUDGE: Final = Judge(
    "judge_urbanvideo", "mark", "integer", 0, 1, lambda question: {"options": list(question.options or ())}
)
_RELEASED: Final = re.compile(r"[A-Za-z]+(?=_)")  # before a released video's number


class UrbanScoreSettings(Model):
    """Settings of the score."""

    judge: ModelSpec | None = Field(default=None, description="null: replies that name no option are wrong")


def mark(answers: Sequence[Answer], settings: UrbanScoreSettings, ask: Ask | None = None) -> Scores:
    """1 for the right letter, else 0; with a judge also what it says of the replies in which none is found."""
    # 19 released items state no options in their text; A to G are what the paper looks for.
    read = [find_option(answer, unlettered=7) for answer in answers]
    unread = [why for _, why in read]
    right = [letter == a.question.ground_truth.strip().upper() for (letter, _), a in zip(read, answers, strict=True)]
    values = {ACCURACY: np.array(right, dtype=np.float64), JUDGED: unmeasured(len(answers))}
    if ask is None:
        return Scores(values, unread)
    unclear = [n for n, why in enumerate(unread) if why is not None]
    values[JUDGED] = values[ACCURACY].copy()
    values[JUDGED][unclear], words, failed = JUDGE.judged([answers[n] for n in unclear], ask)
    note = f"Judged: {len(words)} of {len(answers)} replies, {np.nansum(values[JUDGED][unclear]):g} right."
    return Scores(values, unread, {NOT_JUDGED: failed} if failed else {}, [note], words)


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """Tasks and categories in the order of table 1, others after them, sources where there are several, and all."""
    named = {name: name for name in URBAN_TASKS}
    types = sorted({a.question.question_type for a in answers} - set(named))
    tasks = group_by(answers, "task", named | {name: name for name in types})
    categories = group_by(answers, "category", {name: task.category for name, task in URBAN_TASKS.items()})
    of = [source_of(str(a.question.scene_name or "")) for a in answers]
    names = sorted(set(of)) if len(set(of)) > 1 else []
    sources = [Figure(name, "source", tuple(n for n, own in enumerate(of) if own == name)) for name in names]
    return [*tasks, *categories, *sources, Figure("all", members=tuple(range(len(answers))))]


def source_of(video: str) -> str:
    """Where a video is from, by its path: the folder that the build puts it in, or how the released files are named."""
    folder, found, _ = video.removeprefix("videos/").partition("/")
    named = _RELEASED.match(video)
    return folder if found else named[0] if named else "other videos"


SCORE: Final = Score[UrbanScoreSettings](
    read=partial(read_of_benchmark, columns=COLUMNS),
    metrics={
        ACCURACY: Metric("accuracy", is_guessed=True),
        JUDGED: Metric("accuracy with judge", is_minor=True),
    },
    settings=UrbanScoreSettings,
    mark=mark,
    figures=figures,
    unusual={NOT_JUDGED: "the judge gave no mark: not in accuracy with judge; score again, what was judged is kept"},
)


HARNESS: Final = Harness(lambda question, split: Marking("letter"))
