"""UrbanVideo-Bench's score: accuracy per task, per category and of all questions (appendix C.1).

The paper leaves unclear replies to GPT-4o and then to a person. Here the letter is looked for by rule, and a reply in
which none is found is wrong, counted and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from pipeline.benchmarks.urbanvideo.columns import COLUMNS
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.schema import Model
from pipeline.questions.harness import Harness, Marking
from pipeline.questions.published import read_own
from pipeline.questions.scoring_protocol import Answer, Ask, Figure, Metric, Score, Scores, find_option, group_by

ACCURACY: Final = "accuracy"


class UrbanScoreSettings(Model):
    """Nothing can be chosen."""


def mark(answers: Sequence[Answer], settings: UrbanScoreSettings, ask: Ask | None = None) -> Scores:
    """1 for the right letter, else 0."""
    # 19 released items state no options in their text; A to G are what the paper looks for.
    read = [find_option(answer, unlettered=7) for answer in answers]
    right = [letter == a.question.ground_truth.strip().upper() for (letter, _), a in zip(read, answers, strict=True)]
    return Scores({ACCURACY: np.array(right, dtype=np.float64)}, [unread for _, unread in read])


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """Tasks and categories in the order of table 1, others after them, and all questions."""
    named = {name: name for name in URBAN_TASKS}
    types = sorted({a.question.question_type for a in answers} - set(named))
    tasks = group_by(answers, "task", named | {name: name for name in types})
    categories = group_by(answers, "category", {name: task.category for name, task in URBAN_TASKS.items()})
    return [*tasks, *categories, Figure("all", members=tuple(range(len(answers))))]


SCORE: Final = Score[UrbanScoreSettings](
    read=partial(read_own, columns=COLUMNS),
    metrics={ACCURACY: Metric("accuracy", is_guessed=True)},
    settings=UrbanScoreSettings,
    mark=mark,
    figures=figures,
)


HARNESS: Final = Harness(lambda question, split: Marking("letter"))
