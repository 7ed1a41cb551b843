"""Whether a reply in words is one of the accepted answers."""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from difflib import SequenceMatcher
from typing import Final

from pipeline.metrics.number_words import normalised
from pipeline.metrics.numbers import find_number
from pipeline.metrics.replies import ANSWER_WORDS, without_markup

_YES_OR_NO: Final = frozenset({"yes", "no"})
_SEVERAL: Final = re.compile(r"\bor\b|[,;/|]", re.IGNORECASE)
_MORE_WORDS: Final = 6  # beside a name: "It is called …, on the roof"
_ALIKE: Final = 0.8  # of two texts, by which letters in five may differ
_UNDECIDED: Final = re.compile(r"\W*\w+(?:\s*\?|\W+(?:and|or)\W+(?:yes|no)\b)", re.IGNORECASE)  # "Yes and no", "Yes? …"
_STATED: Final = re.compile(rf"(?:{ANSWER_WORDS})(?:\s*(?:\bis\b|[:：=是为為]))+\s*(?P<rest>[^\n]+)", re.IGNORECASE)


def is_stated(reply: str, forms: Iterable[str]) -> bool:
    """Whether a reply is one of some answers, but for case, punctuation, article and how a number is written.

    Of a reply that states its answer ("The answer is red.") what follows counts, of several lines the last one. Where
    yes or no is asked, the first word of that does ("Yes, there is one."), and where a number is, the number.
    """
    answer_text = _stated_answer(reply)
    return any(_is_same(answer_text, normalised(form)) for form in forms)


def is_named(reply: str, forms: Iterable[str]) -> bool:
    """Whether a reply names one of some names, matched loosely (ERGeoBench, appendix C.2), and nothing else beside it.

    Case, accents and punctuation do not count, nor words before and after the name, nor a letter in five. Of several
    things ("A or B", "A, B") each must be one of the names.
    """
    names = [_letters(form) for form in forms]
    parts = [_letters(part) for part in _SEVERAL.split(_stated_answer(reply))]
    return " ".join(parts) in names or all(any(_is_near(part, name) for name in names if name) for part in parts)


def _stated_answer(reply: str) -> str:
    """What follows where a reply states its answer, else its last line."""
    text = without_markup(reply).strip()
    stated = list(_STATED.finditer(text))
    return stated[-1]["rest"] if stated else text.splitlines()[-1] if text else ""


def _letters(text: str) -> str:
    """Words without case, accents and punctuation, one blank apart."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join("".join(c if c.isalnum() else " " for c in bare).split())


def _is_near(stated: str, name: str) -> bool:
    words = set(stated.split()) - set(name.split())
    is_within = f" {name} " in f" {stated} " and len(words) <= _MORE_WORDS
    return is_within or SequenceMatcher(None, stated, name, autojunk=False).ratio() >= _ALIKE


def _is_same(stated: str, truth: str) -> bool:
    if truth in _YES_OR_NO:
        return _YES_OR_NO.intersection(normalised(stated).split(" ")[:1]) == {truth} and not _UNDECIDED.match(stated)
    if truth.isdecimal():
        return find_number(stated).value == Decimal(truth)
    return normalised(stated) == truth
