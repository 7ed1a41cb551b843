"""The wording of a task: where its target is, landmark by landmark, and the question about it.

"There is a church to the north of you. To the east of the church, there is a bakery. Please tell me What is the name
of the bakery?" Every question of the release has this form with one landmark between; one to three hops are ours.
`render` and `parse` are inverse to each other, so that the text alone can be run as a query (`query`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pipeline.core.errors import TemplateError
from pipeline.core.templates import load_template

DIRECTIONS: Final = ("north", "east", "south", "west")  # of the agent or a landmark; yaw 0, 90, 180, 270
FIRST: Final = "cityeqa/parts/first"
NEXT: Final = "cityeqa/parts/next"
ASK: Final = "cityeqa/parts/ask"
PARTS: Final = (FIRST, NEXT, ASK)
_BETWEEN: Final = re.compile(r"(?<=\.)\s+(?=To the |Please tell me )")


@dataclass(frozen=True)
class Hop:
    """Something in a direction of the agent (the first) or of what the hop before leads to (all others).

    Attributes:
        landmark: with its article, as it is introduced: "a church".
    """

    direction: str
    landmark: str


@dataclass(frozen=True)
class Told:
    """What a task's text says: the last hop leads to the target, which the question is about."""

    hops: tuple[Hop, ...]
    question: str


def definite(landmark: str) -> str:
    """A landmark as it is called when it was introduced before: "the church"."""
    article, _, rest = landmark.partition(" ")
    return f"the {rest}" if article in ("a", "an") else landmark


def render(told: Told) -> str:
    """The text. Raises TemplateError where `parse` would read something else in it."""
    first = told.hops[0]
    sentences = [load_template(FIRST).render({"landmark": first.landmark, "direction": first.direction})]
    for before, hop in zip(told.hops, told.hops[1:], strict=False):
        fields = {"direction": hop.direction, "anchor": definite(before.landmark), "landmark": hop.landmark}
        sentences.append(load_template(NEXT).render(dict(fields)))
    sentences.append(load_template(ASK).render({"question": told.question}))
    text = " ".join(sentences)
    if parse(text) != told:
        raise TemplateError(f"{text!r} reads in two ways")
    return text


def parse(text: str) -> Told | None:
    """What a text says; None for one that is of another form, or whose anchors are not what it introduced."""
    *sentences, last = _BETWEEN.split(" ".join(text.split()))
    asked = load_template(ASK).parse(last)
    if asked is None or not sentences:
        return None
    hops: list[Hop] = []
    for sentence in sentences:
        found = load_template(NEXT if hops else FIRST).parse(sentence)
        if found is None or found["direction"] not in DIRECTIONS:
            return None
        if hops and found["anchor"] != definite(hops[-1].landmark):
            return None
        hops.append(Hop(str(found["direction"]), str(found["landmark"])))
    return Told(tuple(hops), str(asked["question"]))
