"""Whether a reply in words is one of the accepted answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from pipeline.metrics.number_words import normalised
from pipeline.metrics.numbers import find_number
from pipeline.metrics.replies import ANSWER_WORDS, plain

_YES_OR_NO: Final = frozenset({"yes", "no"})
_UNDECIDED: Final = re.compile(r"\W*\w+(?:\s*\?|\W+(?:and|or)\W+(?:yes|no)\b)", re.IGNORECASE)  # "Yes and no", "Yes? …"
_STATED: Final = re.compile(rf"(?:{ANSWER_WORDS})(?:\s*(?:\bis\b|[:：=是为為]))+\s*(?P<rest>[^\n]+)", re.IGNORECASE)


def is_stated(reply: str, forms: Iterable[str]) -> bool:
    """Whether a reply is one of some answers, but for case, punctuation, article and how a number is written.

    Of a reply that states its answer ("The answer is red.") what follows counts, of several lines the last one. Where
    yes or no is asked, the first word of that does ("Yes, there is one."), and where a number is, the number.
    """
    text = plain(reply).strip()
    stated = list(_STATED.finditer(text))
    said = stated[-1]["rest"] if stated else text.splitlines()[-1] if text else ""
    return any(_is_same(said, normalised(form)) for form in forms)


def _is_same(said: str, truth: str) -> bool:
    if truth in _YES_OR_NO:
        return _YES_OR_NO.intersection(normalised(said).split(" ")[:1]) == {truth} and not _UNDECIDED.match(said)
    if truth.isdecimal():
        return find_number(said).value == Decimal(truth)
    return normalised(said) == truth
