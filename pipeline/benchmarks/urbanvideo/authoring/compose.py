"""Third step: in the role of an examiner the model writes questions of one task; it never chooses a letter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.extract import Extract
from pipeline.benchmarks.urbanvideo.authoring.narrate import Passage, as_lines
from pipeline.benchmarks.urbanvideo.authoring.observed import Observed
from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.core.identity import rng_for
from pipeline.core.templates import load_template
from pipeline.llm.shown import Shown
from pipeline.questions.asking import Ask, line, listed, quoted, record, take

OPTIONS: Final = 5  # UrbanVideo-Bench, section 3: A to E
# Who asks, drawn by flight, so that all tasks of one begin alike (servers keep beginnings): UrbanVideo-Bench,
# section 3, lets a model play roles, so that questions vary.
ROLES: Final = (
    "a teacher of a school for drone pilots, and your students have watched the video of this flight",
    "an examiner of the aviation authority, and the candidates for a licence have watched the video of this flight",
    "the leader of a rescue team, and your members have watched the video of a flight over the place",
    "a reporter on city traffic, and your readers have watched the video of this flight",
    "an inspector of buildings, and your colleagues have watched the video of this flight",
)
_TEXT: Final = {"type": "string"}
_QUESTION: Final = record(
    proof=_TEXT,  # first, so that the model has thought before it commits itself
    question=_TEXT,
    answer=_TEXT,
    wrong={"type": "array", "items": _TEXT},  # how many is a check: one bad question does not cost the others
    objects={"type": "array", "items": _TEXT},
    time_s={"type": ["number", "null"]},
)


@dataclass(frozen=True)
class WrittenItem:
    """A question as a model wrote it.

    Attributes:
        answer: the right option; ``wrong`` the others.
        objects: what the question and its right option speak of, as the model says.
        time_s: the moment that its directions refer to; None for no single one.
        proof: what in the flight makes the right option right, in the model's words.
    """

    question: str
    answer: str
    wrong: tuple[str, ...]
    objects: tuple[str, ...] = ()
    time_s: float | None = None
    proof: str = ""


def compose(
    task: UrbanTask,
    facts: Observed,
    passages: Sequence[Passage],
    known: Extract,
    ask: Ask,
    shown: Shown | None,
    count: int,
) -> list[WrittenItem]:
    """At most ``count`` questions of a task. Raises RefusedError."""
    written = take(
        "compose",
        ask,
        record(questions=listed(_QUESTION, 0, count)),
        shown,
        facts=facts.text(),
        narration=as_lines(passages),
        objects=[quoted(name) for name in known.objects],
        name=task.name,
        definition=task.definition,
        role=ROLES[int(rng_for(facts.view.scene.id, "role").integers(len(ROLES)))],
        wordings=[
            re.sub(r"\{(\w+)\}", r"[\1]", words) for words in (load_template(task.template).text, *task.wordings)
        ],
        example=task.example,
        count=count,
        options=OPTIONS,
    )
    return [
        WrittenItem(
            line(q["question"]),
            line(q["answer"]),
            tuple(map(line, q["wrong"])),
            tuple(q["objects"]),
            q["time_s"],
            line(q["proof"]),
        )
        for q in written["questions"]
    ]
