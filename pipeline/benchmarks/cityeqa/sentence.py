"""The one sentence form of CityEQA's released questions: two hops between buildings, a thing, and what is asked.

All 1,412 released questions have it: "There is a building to the D1 of you. To the D2 of the building, there is X.
Please tell me Q".
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

AXES_DEG: Final = {"north": 0.0, "east": 90.0, "south": 180.0, "west": 270.0}  # clockwise from north
_AXIS: Final = "|".join(AXES_DEG)
_FORM: Final = re.compile(
    rf"There is a building to the ({_AXIS}) of you\. To the ({_AXIS}) of the building, there is (\S.*?)\. "
    r"Please tell me (\S.*)"
)


class Sentence(NamedTuple):
    """What a question says: directions from the start on, what stands at their end, and what is asked about it."""

    hops: tuple[str, str]
    thing: str
    asked: str


def parse(question: str) -> Sentence | None:
    """The parts of a released question; None where it has another form."""
    match = _FORM.fullmatch(question.strip())
    return Sentence((match[1], match[2]), match[3], match[4]) if match else None
