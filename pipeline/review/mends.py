"""Mended questions: another wording, or other wrong options, that a reviewer proposes and a second one confirms.

What is true stays: the reference answer, the option that says it, the numbers and the things that the question names.
A mended question is another content of the same question (`review_bundle.content_of`), with verdicts of its own.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pipeline.metrics.numbers import asked_unit
from pipeline.review.review_bundle import ReviewItem, ReviewTruth, content_of

LONGEST_WORDING: Final = 1_000  # characters
LONGEST_OPTION: Final = 200
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


class Mend(NamedTuple):
    """How a question reads after it was mended: its wording, and its options with their letters; None: it has none."""

    text: str
    options: tuple[str, ...] | None

    def written(self) -> str:
        """As it is kept."""
        return json.dumps({"text": self.text, "options": self.options}, ensure_ascii=False)


def read_mend(raw: str) -> Mend:
    """The mend of `Mend.written`. Raises ValueError for anything else."""
    match json.loads(raw):
        case {"text": str(text), "options": None}:
            return Mend(text, None)
        case {"text": str(text), "options": [*options]} if all(isinstance(option, str) for option in options):
            return Mend(text, tuple(options))
    raise ValueError("this is no mended question")


def mended_row(row: Mapping[str, Any], mend: Mend) -> dict[str, Any]:
    """A row of `tables.QUESTIONS`, as it is offered, with the mended words."""
    return {**row, "text": mend.text, "options": list(mend.options) if mend.options else row["options"]}


def mended_item(salt: bytes, item: ReviewItem, truth: ReviewTruth, mend: Mend) -> ReviewItem:
    """A question as a reviewer sees it after it was mended."""
    row: dict[str, Any] = {"scene": item.scene, "task": item.task, "ground_truth": truth.truth, "options": item.options}
    after = mended_row(row | {"from_s": truth.from_s, "until_s": truth.until_s}, mend)
    return replace(item, content=content_of(salt, after), question=mend.text, options=mend.options)


def problem_of(item: ReviewItem, truth: ReviewTruth, mend: Mend) -> str | None:
    """Why a question cannot be mended so, as a sentence with the remedy; None: it can."""
    before, after = item.options or (), mend.options or ()
    texts = [option.partition(". ")[2].strip() for option in after]
    named = [name for name in truth.operands if _plain(name) in _plain(item.question)]
    lost = [name for name in named if _plain(name) not in _plain(mend.text)]
    changed = [old for old, new in zip(before, after, strict=False) if old[0] == truth.truth and old != new]
    broken = {
        "Nothing is changed: change the wording or a wrong option.": (item.question, item.options) == mend,
        "The wording is empty, has line breaks, or is too long.": not _is_line(mend.text, LONGEST_WORDING),
        f"The wording no longer names {', '.join(lost)}: name it.": bool(lost),
        "The wording has other numbers or another unit: the answer would be another one.": (
            sorted(_NUMBER.findall(item.question)) != sorted(_NUMBER.findall(mend.text))
            or asked_unit(item.question) != asked_unit(mend.text)
        ),
        "The number of options stays.": len(before) != len(after),
        "An option is empty, has line breaks, or is too long.": not all(_is_line(t, LONGEST_OPTION) for t in texts),
        "Two options say the same.": len(set(map(_plain, texts))) < len(texts),
        f"Option {truth.truth} is the reference answer and stays: if it is wrong, enter the right answer.": bool(
            changed
        ),
    }
    return next((told for told, is_so in broken.items() if is_so), None)


def _is_line(text: str, most: int) -> bool:
    """Whether a text stands on one line, without control characters and marks that turn the writing."""
    return 0 < len(text) <= most and not any(unicodedata.category(sign) in {"Cc", "Cf", "Zl", "Zp"} for sign in text)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
