"""Names of countries, cities and streets, brought into the form in which a reply's is compared with the truth's.

The paper compares labels by equality (equation 4) and does not say in which form. Ours, for both sides: without case,
accents, punctuation, brackets and leading article; of a list with commas its first part; then

- countries through a table of names and ISO codes (templates/ergeobench/countries.yaml),
- cities without "city of", "municipality of" and the like, and without "city" at their end,
- streets with their abbreviations written out, and without a house number.

A truth may have several names, parted by ";": any of them is right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import yaml

from pipeline.core.templates import TEMPLATES_DIR

PARTS: Final = ";"
# What models write where they do not know: the paper (appendix F.3) calls such replies invalid and lists none.
# fmt: off
UNKNOWN: Final = frozenset((
    "unknown", "n a", "na", "none", "null", "not available", "not applicable", "not sure", "unsure", "uncertain",
    "undetermined", "unspecified", "unidentified", "indeterminate", "unclear", "tbd", "no idea", "x", "placeholder",
    "string", "to be determined",
))
# fmt: on
_UNKNOWN_STARTS: Final = ("unknown ", "unidentified ", "unnamed ", "undetermined ", "not ", "cannot ", "unable to ")
_BRACKETS: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_NO_WORD: Final = re.compile(r"[\W_]+")
_ARTICLE: Final = re.compile(r"^the\s+")
_CITY_BEFORE: Final = re.compile(
    r"^(?:city and county|metropolitan city|city|municipality|town|metropolis|greater|ville|ciudad|comune|stadt)"
    r"(?:\s+(?:of|de|di))?\s+(?=\w)"
)
_CITY_AFTER: Final = re.compile(r"(?<=\w)\s+(?:city|municipality|shi|metropolitan area)$")
# "12 Main Street", "Hauptstrasse 12", "Rue de Rivoli 5"; not "Calle 5" or "5th Avenue".
_HOUSE_NUMBER: Final = re.compile(
    r"^\d+\s?[a-z]?\s+(?=\D)|(?:(?<=str)|(?<=strasse)|(?<=weg)|(?<=gasse)|(?<=platz)|(?<=allee)|(?<=\w\s\w{4}))\s+\d+\s?[a-z]?$"
)
_STREET_WORDS: Final[Mapping[str, str]] = {
    "st": "street", "str": "strasse", "rd": "road", "ave": "avenue", "av": "avenue", "avda": "avenida",
    "blvd": "boulevard", "boul": "boulevard", "bd": "boulevard", "dr": "drive", "ln": "lane", "ct": "court",
    "pl": "place", "sq": "square", "hwy": "highway", "pkwy": "parkway", "ter": "terrace", "rte": "route",
    "pza": "plaza", "n": "north", "s": "south", "e": "east", "w": "west", "mt": "mount",
}  # fmt: skip


def normalised(text: str) -> str:
    """A name without case, accents, punctuation, brackets and article: "The Côte d'Azur (FR)" -> "cote d azur"."""
    bare = (_BRACKETS.sub(" ", text).strip() or text).casefold()
    marks = unicodedata.normalize("NFKD", bare)
    letters = "".join(c for c in marks if unicodedata.category(c) != "Mn" or not _is_latin_before(c))
    words = _NO_WORD.sub(" ", unicodedata.normalize("NFC", letters)).strip()
    return _ARTICLE.sub("", words.translate(_LETTERS))


def _is_latin_before(mark: str) -> bool:
    """Whether a combining mark is an accent: those of other scripts (a Thai vowel, a Hindi one) are letters."""
    return "\u0300" <= mark <= "\u036f"


_LETTERS: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i"})


def is_unknown(text: str) -> bool:
    """Whether a name says that there is none."""
    plain = normalised(text)
    return not plain or plain in UNKNOWN or plain.startswith(_UNKNOWN_STARTS)


def country(text: str) -> str:
    """The form of a country: its key in the table, where it has one."""
    whole = normalised(text)
    return _countries().get(whole) or _countries().get(normalised(text.split(",", maxsplit=1)[0])) or whole


def city(text: str) -> str:
    """The form of a city."""
    plain = normalised(text.split(",", maxsplit=1)[0])
    return _CITY_AFTER.sub("", _CITY_BEFORE.sub("", plain)) or plain


def street(text: str) -> str:
    """The form of a street."""
    plain = _HOUSE_NUMBER.sub("", normalised(text.split(",", maxsplit=1)[0]))
    first, _, rest = plain.partition(" ")
    words = [first if first == "st" and rest else _STREET_WORDS.get(first, first)]
    words += [_STREET_WORDS.get(word, word) for word in rest.split()]
    return re.sub(r"(?<=\w)str\b", "strasse", " ".join(words))


FORMS: Final[Mapping[str, Callable[[str], str]]] = {"street": street, "city": city, "country": country}


def is_same(level: str, said: str, truth: str) -> bool:
    """Whether a name that was said is one of those of the truth, at the level "street", "city" or "country"."""
    form = FORMS[level]
    return form(said) in {form(name) for name in truth.split(PARTS) if name.strip()}


@cache
def _countries() -> dict[str, str]:
    """Every normalised name and code -> the normalised key of its country."""
    table = yaml.safe_load((TEMPLATES_DIR / "ergeobench" / "countries.yaml").read_text(encoding="utf-8"))
    return {normalised(name): normalised(key) for key, names in table.items() for name in (key, *names)}
