"""Options of questions as whoever reads them alone may doubt them: each is possible, told apart, and one is right."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.questions.choices import LETTERS, number_of, offered
from pipeline.questions.gate import MOST

_SECONDS: Final = re.compile(r"\bhow many seconds\b.*\b(?:since|so far)\b", re.IGNORECASE)


def option_faults(rows: Iterable[dict[str, Any]]) -> list[str]:
    """What is wrong with the options of questions (`tables.QUESTIONS`), those that guessers are offered included."""
    return [
        f"{row['task']}: {fault}: {row['text']} {row['options'] or row['choices']}"
        for row in rows
        for fault in _faults(row)
    ]


def _faults(row: dict[str, Any]) -> Iterator[str]:
    start, end = row["from_s"] or 0.0, row["until_s"]
    if end is not None and not 0.0 <= start < end:
        yield f"asked of {start} to {end} s"
    shown = offered(row)
    if not shown["options"]:
        return
    letters, said = zip(*(option.split(". ", 1) for option in shown["options"]), strict=True)
    if "".join(letters) != LETTERS[: len(letters)] or len(said) < 2:
        yield "letters"
    if len({" ".join(words.casefold().split()) for words in said}) < len(said):
        yield "an option twice"
    right = [letter for letter, words in zip(letters, said, strict=True) if words == row["answer"]]
    if not row["options"] and not right:  # of a place that is named whole a guesser chooses the country
        right = [letter for letter, words in zip(letters, said, strict=True) if words in row["answer"]]
    if right != [shown["ground_truth"]]:
        yield f"right are {right}, the truth is {shown['ground_truth']}"
    numbers = [number for words in said if (number := number_of(words)) is not None]
    if 0 < len(numbers) < len(said) and row["options"]:
        yield "numbers beside words"
    if len(numbers) < len(said):
        return
    if len(set(numbers)) < len(numbers) or min(numbers) < min(0, float(row["answer"])):
        yield "numbers"
    most = [fact["value"] for fact in row["evidence"] or () if fact["name"] == MOST]
    most += [end - start] if end is not None and _SECONDS.search(row["text"]) else []
    if most and float(max(numbers)) > min(most) + 0.5:
        yield f"more than {min(most)} is impossible"
