"""When two short answers say the same, word for word."""

from __future__ import annotations

import re
from typing import Final

from pipeline.metrics.number_words import with_digits

_ARTICLE: Final = re.compile(r"^(?:an?|the)\s+")
_NO_WORD: Final = re.compile(r"[^\w.]+|\.(?!\d)|(?<!\d)\.")


def normalised(answer: str) -> str:
    """An answer without case, punctuation, article, and with numbers in digits: "A Sedan." and "sedan" are the same."""
    bare = " ".join(_NO_WORD.sub(" ", answer.casefold()).split())
    return with_digits(_ARTICLE.sub("", bare))
