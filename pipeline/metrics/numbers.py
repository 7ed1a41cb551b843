"""The number that a reply states, or the reason why it states none.

Stricter than the released benchmark's parser, which takes the first word. A number right after a word that states an
answer ("answer: 2.5", ``{"answer": 2.5}``) decides; else all numbers of the reply must be equal. Units are read over
and never converted: the question names the unit. "1,234" and "1.234.567" are thousands, "1,5" and "1.234,5" have a
decimal comma.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from pipeline.metrics.replies import ANSWER_WORDS, LATIN, THIN, Reading, plain

# fmt: off
_WORDS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)
# fmt: on
_SEPARATORS: Final = rf".,'{THIN}"
# Not within a word ("m2", "3D", "2nd"), but in "2.5m" and "2x3".
_NUMBER: Final = re.compile(
    rf"(?:(?<![{LATIN}^])(?<![{LATIN}][.,_])|(?<=[0-9]x))"
    rf"(?P<sign>(?<![)\]%])[-+])?(?P<digits>[0-9](?:[0-9]|[{_SEPARATORS}](?=[0-9]))*|\.[0-9]+)"
    rf"(?P<power>[eE][-+]?[0-9]{{1,6}}(?![{LATIN}]))?(?!(?:D|st|nd|rd|th)\b)(?![0-9])"
)
_NOT_FINITE: Final = re.compile(r"∞|(?<![a-z])(?:nan|inf(?:inity)?)(?![a-z])", re.IGNORECASE)
_STATED: Final = re.compile(
    rf"(?:{ANSWER_WORDS})(?:[\s:=(\[~≈是为為は은는约約]"
    r"|\b(?:is|be|would|should|about|around|approximately|approx|roughly|circa|es|est|ist|è|é)\b\.?){0,20}(?=[-+.]?[0-9])",
    re.IGNORECASE,
)
_AND_ANOTHER: Final = re.compile(
    r"\s*[^\W\d]{0,12}\s*(?:-|~|/|\b(?:to|or|and|bis|oder|ou|o|à|a)\b|到|至|或)\s*[0-9]", re.IGNORECASE
)
_WORD_ALONE: Final = re.compile(r"([a-z]+)(?:\s+[^\W\d]+)?[.!]*", re.IGNORECASE)


def find_number(reply: str) -> Reading[Decimal]:
    """The number named by a reply, which is finite.

    Reasons for None: ``empty``, ``no_number``, ``several_numbers``, ``not_finite``, ``unreadable`` ("1.2.3").
    """
    text = plain(reply)
    if not text:
        return Reading(None, "empty")
    stated = _numbers(text, [match.end() for match in _STATED.finditer(text)])
    found = stated or _numbers(text, None)
    if None in found:
        return Reading(None, "unreadable")
    if len(set(found)) > 1:
        return Reading(None, "several_numbers")
    if found:
        return Reading(found[0], None)
    alone = _WORD_ALONE.fullmatch(text)
    if alone and alone[1].lower() in _WORDS:
        return Reading(Decimal(_WORDS.index(alone[1].lower())), None)
    return Reading(None, "not_finite" if _NOT_FINITE.search(text) else "no_number")


def _numbers(text: str, starts: list[int] | None) -> list[Decimal | None]:
    """Every number of a text, or those at given places with what is joined to them ("2 to 3"); None: unreadable."""
    if starts is None:
        return [_value(match) for match in _NUMBER.finditer(text)]
    found: list[Decimal | None] = []
    for start in starts:
        match = _NUMBER.match(text, start)
        while match:
            found.append(_value(match))
            joined = _AND_ANOTHER.match(text, match.end())
            match = _NUMBER.match(text, joined.end() - 1) if joined else None
    return found


def _value(match: re.Match[str]) -> Decimal | None:
    digits = _with_decimal_point(match["digits"])
    return None if digits is None else Decimal(f"{match['sign'] or ''}{digits}{match['power'] or ''}")


def _with_decimal_point(digits: str) -> str | None:
    """Digits with separators as Python writes them; None where they are no number ("1,2,3", "1.2.3")."""
    marks = [c for c in digits if c in _SEPARATORS]
    if not marks:
        return digits
    last = marks[-1]
    decimal = last in ".," and marks.count(last) == 1 and not _is_thousands(digits, last)
    whole, _, fraction = digits.rpartition(last) if decimal else (digits, "", "")
    groups = re.split(f"[{_SEPARATORS}]", whole)
    if len({c for c in whole if c in _SEPARATORS}) > 1 or any(len(group) != 3 for group in groups[1:]):
        return None
    if len(groups) > 1 and len(groups[0]) > 3:
        return None
    return f"{''.join(groups)}.{fraction}" if decimal else "".join(groups)


def _is_thousands(digits: str, mark: str) -> bool:
    """Whether the only separator is a comma before three digits: "1,234", but not "0,125"."""
    return mark == "," and re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", digits) is not None
