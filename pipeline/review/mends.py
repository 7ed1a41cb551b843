"""Mended questions: another wording, or other wrong options, that a reviewer proposes and a second one confirms.

What is true stays: the reference answer, the option that says it, the numbers and the things that the question names.
A mended question is another content of the same question (`review_bundle.content_of`), with verdicts of its own.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, NamedTuple

from pipeline.core.templates import load_table
from pipeline.metrics.numbers import unit_of_question
from pipeline.review.review_bundle import ReviewItem, ReviewTruth, content_of

LONGEST_WORDING: Final = 1_000  # characters
LONGEST_OPTION: Final = 200
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
# What turns an answer into another one: words of one group mean the same, and a mended question has the same groups.
_RELATIONS: Final[list[str]] = [words for row in load_table("questions/relations") for words in row]


class QuestionEdit(NamedTuple):
    """How a question reads after it was mended: its wording, and its options with their letters; None: it has none."""

    text: str
    options: tuple[str, ...] | None

    def written(self) -> str:
        """As it is kept."""
        return json.dumps({"text": self.text, "options": self.options}, ensure_ascii=False)


def read_mend(raw: str) -> QuestionEdit:
    """The mend of `QuestionEdit.written`. Raises ValueError for anything else."""
    match json.loads(raw):
        case {"text": str(text), "options": None}:
            return QuestionEdit(text, None)
        case {"text": str(text), "options": [*options]} if all(isinstance(option, str) for option in options):
            return QuestionEdit(text, tuple(options))
    raise ValueError("this is no mended question")


def mended_row(row: Mapping[str, Any], mend: QuestionEdit) -> dict[str, Any]:
    """A row of `tables.QUESTIONS`, as it is offered, with the mended words."""
    return {**row, "text": mend.text, "options": list(mend.options) if mend.options else row["options"]}


def mended_item(salt: bytes, item: ReviewItem, truth: ReviewTruth, mend: QuestionEdit) -> ReviewItem:
    """A question as a reviewer sees it after it was mended."""
    row: dict[str, Any] = {"scene": item.scene, "task": item.task, "ground_truth": truth.truth, "options": item.options}
    after = mended_row(row | {"from_s": truth.from_s, "until_s": truth.until_s}, mend)
    return replace(item, content=content_of(salt, after), question=mend.text, options=mend.options)


def problem_of(item: ReviewItem, truth: ReviewTruth, mend: QuestionEdit) -> str | None:
    """Why a question cannot be mended so, as a sentence with the remedy; None: it can."""
    before, after = item.options or (), mend.options or ()
    texts = [option.partition(". ")[2].strip() for option in after]
    lost = [name for name in truth.operands if _names(item.question, name) and not _names(mend.text, name)]
    turned = [words.partition("|")[0] for words in _RELATIONS if _has(item.question, words) != _has(mend.text, words)]
    changed = [
        old for old, new in zip(before, after, strict=False) if old[0] == truth.truth and _folded(old) != _folded(new)
    ]
    broken = {
        "Nothing is changed: change the wording or a wrong option.": (item.question, item.options) == mend,
        "The wording is empty, has line breaks, or is too long.": not _is_line(mend.text, LONGEST_WORDING),
        f"The wording no longer names {', '.join(lost)}: name it.": bool(lost),
        "The wording has other numbers or another unit: the answer would be another one.": (
            sorted(_NUMBER.findall(item.question)) != sorted(_NUMBER.findall(mend.text))
            or unit_of_question(item.question) != unit_of_question(mend.text)
        ),
        f"Only one version says {' or '.join(turned)}: the answer would be another one.": bool(turned),
        "The letters of the options stay.": [one[0] for one in before] != [one[0] for one in after],
        "An option is empty, has line breaks, or is too long.": not all(_is_line(t, LONGEST_OPTION) for t in texts),
        "Two options say the same.": len({_NUMBER.sub(_value, _folded(t)) for t in texts}) < len(texts),
        f"Option {truth.truth} is the reference answer and stays: if it is wrong, enter the right answer.": bool(
            changed
        ),
    }
    return next((problem for problem, is_so in broken.items() if is_so), None)


def _is_line(text: str, most: int) -> bool:
    """Whether a text stands on one line, without control characters and marks that turn the writing."""
    return 0 < len(text) <= most and not any(unicodedata.category(sign) in {"Cc", "Cf", "Zl", "Zp"} for sign in text)


def _has(text: str, words: str) -> bool:
    return re.search(rf"(?<![\w-])(?:{words})(?![\w-])", text.casefold()) is not None


def _names(text: str, name: str) -> bool:
    """Whether a text names a thing, in whole words."""
    return _has(_folded(text), f"{re.escape(_folded(name))}(?:e?s)?")


def _value(number: re.Match[str]) -> str:
    return f"{Decimal(number[0]).normalize():f}"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
