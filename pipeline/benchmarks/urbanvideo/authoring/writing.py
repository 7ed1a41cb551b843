"""The three steps in which a model writes questions about a flight.

First the flight is told in order, from its video or, for models that see none, from the measured facts. Then the
narration becomes lists of movements and objects, of which some are believed. At last, in the role of an examiner, the
model writes questions of one task; it never chooses a letter.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.words import tokens
from pipeline.benchmarks.urbanvideo.cases import OPTIONS, UrbanTask
from pipeline.core.identity import rng_for
from pipeline.core.schema import Rejection
from pipeline.core.templates import load_table, load_template
from pipeline.llm.base import record
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.questions.model_authoring import (
    Ask,
    PromptArguments,
    RefusedItemError,
    line,
    listed,
    quoted,
    take,
    written_items,
)
from pipeline.worlds.flight.facts import Action

MAX_PASSAGES: Final = 60
_SPARE: Final = 2  # passages beyond the movements: before the first and after the last
MAX_MOVEMENTS: Final = 100
MAX_OBJECTS: Final = 40
_SCHEMA: Final = record(
    movements=listed({"type": "string", "enum": list(get_args(Action))}, 0, MAX_MOVEMENTS),
    objects=listed({"type": "string"}, 0, MAX_OBJECTS),
)
# Who asks, drawn by flight, so that all tasks of one begin alike (servers keep beginnings): UrbanVideo-Bench,
# section 3, lets a model play roles, so that questions vary.
ROLES: Final[tuple[str, ...]] = tuple(load_table("urbanvideo/words")["roles"])
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
class Passage:
    """A stretch of the flight in words."""

    start_s: float
    end_s: float
    text: str


def narrate(facts: ObservedFacts, ask: Ask, shown: VisualInputs | None) -> tuple[Passage, ...]:
    """The flight in passages, in order. Raises RefusedError, also where there is neither video nor movement to tell."""
    if shown is None and not facts.segments:
        raise RefusedItemError(Rejection(reason="narrate_without_facts", measured=0, limit=1, unit="movements"))
    most = min(MAX_PASSAGES, len(facts.segments) + _SPARE if facts.segments else MAX_PASSAGES)
    passage = record(start_s={"type": "number"}, end_s={"type": "number"}, text={"type": "string"})
    answer = take("narrate", ask, record(passages=listed(passage, 1, most)), shown, facts=facts.text(), most=most)
    return tuple(Passage(**p) for p in sorted(answer["passages"], key=lambda p: (p["start_s"], p["end_s"])))


def as_lines(passages: Sequence[Passage]) -> str:
    """A narration as lines for a model."""
    return "\n".join(f"- {p.start_s:.0f} to {p.end_s:.0f} s: {quoted(p.text)}" for p in passages)


@dataclass(frozen=True)
class Extract:
    """Movements and objects that a question may name.

    Attributes:
        movements: what is done at once, in order: of the measured segments, or of the narration where there are none.
        objects: names of landmarks, goal and route, and the objects of the narration.
    """

    movements: tuple[tuple[str, ...], ...]
    objects: tuple[str, ...]


def extract(facts: ObservedFacts, passages: Sequence[Passage], ask: Ask, seen: bool) -> Extract:
    """Movements and objects of a narration. Raises RefusedError.

    An object counts if the narration speaks of it. Where the narrator has ``seen`` nothing, the facts alone count:
    whatever else it tells of is made up, and nobody is asked.
    """
    made = tuple(segment.actions for segment in facts.segments)
    if not seen:
        return Extract(made, facts.names)
    lists = take("extract", ask, _SCHEMA, None, narration=as_lines(passages), movements=list(get_args(Action)))
    narrated = {word for passage in passages for word in tokens(passage.text)}
    objects = [name.strip() for name in lists["objects"] if (words := set(tokens(name))) and words <= narrated]
    return Extract(
        made or tuple((movement,) for movement in lists["movements"]),
        tuple(dict.fromkeys([*facts.names, *objects])),
    )


@dataclass(frozen=True)
class DraftItem:
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


def compose_arguments(
    task: UrbanTask,
    facts: ObservedFacts,
    passages: Sequence[Passage],
    known: Extract,
    shown: VisualInputs | None,
    count: int,
) -> PromptArguments:
    """The arguments of the prompt for at most ``count`` questions of a task."""
    role = ROLES[int(rng_for(facts.view.scene.id, "role").integers(len(ROLES)))]
    template = load_template(task.template)
    fields = {
        "facts": facts.text(),
        "narration": as_lines(passages),
        "objects": [quoted(name) for name in known.objects],
        "name": task.name,
        "definition": task.definition,
        "role": role,
        "wordings": [re.sub(r"\{(\w+)\}", r"[\1]", words) for words in (template.text, *template.wordings)],
        "example": task.example,
        "count": count,
        "options": OPTIONS,
        "refused": (),
    }
    return written_items(_QUESTION), shown, fields


def item_of(raw: Mapping[str, Any]) -> DraftItem:
    """A question of a reply."""
    question, answer, proof = (line(raw[name]) for name in ("question", "answer", "proof"))
    return DraftItem(question, answer, tuple(map(line, raw["wrong"])), tuple(raw["objects"]), raw["time_s"], proof)
