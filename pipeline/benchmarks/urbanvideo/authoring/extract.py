"""Second step: the narration as lists of movements and objects, and what of that is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from pipeline.benchmarks.urbanvideo.authoring.narrate import Passage, as_lines
from pipeline.benchmarks.urbanvideo.authoring.observed import Observed
from pipeline.benchmarks.urbanvideo.authoring.words import tokens
from pipeline.questions.asking import Ask, listed, record, take
from pipeline.worlds.flight.facts import Action

MAX_MOVEMENTS: Final = 100
MAX_OBJECTS: Final = 40
_SCHEMA: Final = record(
    movements=listed({"type": "string", "enum": list(get_args(Action))}, 0, MAX_MOVEMENTS),
    objects=listed({"type": "string"}, 0, MAX_OBJECTS),
)


@dataclass(frozen=True)
class Extract:
    """What a question may speak of.

    Attributes:
        movements: what is done at once, in order: of the measured segments, or of the narration where there are none.
        objects: names of landmarks, goal and route, and the objects of the narration.
    """

    movements: tuple[tuple[str, ...], ...]
    objects: tuple[str, ...]


def extract(facts: Observed, passages: Sequence[Passage], ask: Ask, seen: bool) -> Extract:
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
