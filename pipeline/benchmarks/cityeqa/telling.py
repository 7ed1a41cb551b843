"""Names that say what a shop is: "Pharmacie Ferry", "Hôtel Ambassador", "Pizza&co". They are read, not looked for."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

STEM: Final = 4  # letters that a word of the name and one of the sort have in common
# Beginnings of words that tell a sort in English, French, German, Italian or Spanish, beside the sorts themselves.
_TELLING: Final = (
    "apoth", "assur", "auto", "baker", "banc", "bank", "banq", "bijou", "bistr", "book", "boulang", "brasser",
    "burger", "buchh", "cafe", "casino", "cine", "chauss", "chocol", "clinic", "coffee", "coiff", "credit",
    "cuisin", "dental", "farmac", "fashion", "fleur", "flor", "fotogr", "fris", "gall", "galer", "garage",
    "gelat", "glac", "gourm", "grill", "hair", "hostel", "hotel", "immo", "insur", "jewel", "joyer", "juwel",
    "kitchen", "kino", "librair", "librer", "lott", "market", "march", "meat", "mode", "musee", "museum",
    "mutua", "optic", "optik", "pano", "patiss", "pharm", "photo", "pizz", "post", "presse", "pub", "restaur",
    "ristor", "salon", "schuh", "shoe", "spa", "sport", "super", "sushi", "tabac", "taver", "tea", "theat",
    "toy", "trattor", "vin", "voyag", "wein", "wine", "zahn",
)  # fmt: skip


def telling_words(name: str, sort: str) -> int:
    """How many words of a name tell what it is: by their beginning that of the sort, or of any sort."""
    sorts = tuple(word[:STEM] for word in _words(sort) if len(word) >= STEM and word != "shop")
    return sum(word.startswith((*_TELLING, *sorts)) for word in _words(name))


def _words(text: str) -> list[str]:
    """In small letters without accents."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return re.findall(r"[^\W\d_]+", bare)
