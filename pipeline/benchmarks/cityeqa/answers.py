"""What kind of answer a question has (table 4), and when two answers say the same."""

from __future__ import annotations

import re
from typing import Final

from pipeline.metrics.number_words import normalised

YES_NO, NUMBER, CLOSED, OPEN = ANSWER_TYPES = ("yes/no", "number", "closed text", "open text")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
# Proper names are open text, common nouns and colours closed: the question tells which it wants.
_ASKS_NAME: Final = re.compile(
    r"\bnames?\b|\bcalled\b|\bwhat (?:does|do)\b.*\b(?:say|read)\b|\bwritten\b", re.IGNORECASE
)


def answer_type(asked: str, answer: str) -> str:
    """Which of `ANSWER_TYPES` an answer is."""
    bare = normalised(answer)
    if bare in {"yes", "no"}:
        return YES_NO
    if _NUMBER.fullmatch(bare):
        return NUMBER
    return OPEN if _ASKS_NAME.search(asked) else CLOSED
