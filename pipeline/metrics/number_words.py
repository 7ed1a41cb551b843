"""Numbers written as words, made digits: "two and a half" -> "2.5", "a dozen" -> "12", "三" -> "3".

The word "one" is mostly no number ("the one on the left", "one of them") and is left as it is where it may be none.
"""

import re
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Final

from pipeline.core.templates import load_table

_WORDS: Final = load_table("metrics/number_words")
_SMALL: Final[tuple[str, ...]] = tuple(_WORDS["small"])
_TENS: Final[tuple[str, ...]] = tuple(_WORDS["tens"])
_ALONE: Final[dict[str, int]] = _WORDS["alone"]
VALUES: Final = {word: n for n, word in enumerate(_SMALL)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_SCALES: Final = {"hundred": 100, "thousand": 1000, "dozen": 12}
_ONE: Final = r"(?:" + "|".join([*_SMALL, *_TENS]) + r")"
_RUN: Final = re.compile(
    rf"\b(?:(?P<run>(?:{_ONE}|an?(?=[\s-]+(?:hundred|thousand|dozen|and\s+a\s+half)))(?:(?:[\s-]+|\s+and\s+)(?:{_ONE}|hundred|thousand|dozen))*)"
    rf"(?P<point>\s+point(?:\s+{_ONE})+)?(?P<half>\s+and\s+(?:a\s+half|one\s+half|a\s+quarter|three\s+quarters))?"
    rf"|(?P<only>(?:a\s+)?half(?=\s+(?:an?|of\s+an?)\b)|a\s+half|a\s+quarter(?=\s+of)|three\s+quarters))\b",
    re.IGNORECASE,
)
_HALF_DOZEN: Final = re.compile(r"\bhalf\s+a\s+dozen\b", re.IGNORECASE)
_UNIT_AND_HALF: Final = re.compile(
    r"\b(?P<n>an?|one|two|three|four|five|[0-9]{1,3})\s+(?P<unit>[a-z]{2,12})\s+and\s+a\s+half\b", re.IGNORECASE
)
_DIGITS_AND_HALF: Final = re.compile(r"\b([0-9]{1,3})\s+and\s+a\s+half\b", re.IGNORECASE)
_PARTS: Final = {"half": "0.5", "three quarters": "0.75", "quarter": "0.25"}
_NO_NUMBER_BEFORE: Final = re.compile(
    r"\b(?:the|this|that|which|each|every|no|any|another|other|some|only|last|first|next|closest|nearest|option)\s+\Z",
    re.IGNORECASE,
)
_NO_NUMBER_AFTER: Final = re.compile(
    r"\s+(?:of|that|which|who|is|to|in|on|by|at|with|can|may|should|could|would|another|side|more|after|has)\b",
    re.IGNORECASE,
)
_HAN_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_SCALES: Final = {"十": 10, "百": 100, "千": 1000}
_HAN: Final = re.compile(
    r"[零〇一二两兩三四五六七八九十百千]+(?:点[零〇一二三四五六七八九]+)?(?![般些样樣定直起旦边邊方])"
)
_ALONE_WORD: Final = re.compile(r"([^\W\d_]+)(?:\s+[^\W\d_]+)?[.!。]*")


def with_digits(text: str) -> str:
    """The text with the numbers that are written as words in digits."""
    alone = _ALONE_WORD.fullmatch(text.strip())
    if alone and alone[1].lower() in _ALONE:
        return text.replace(alone[1], str(_ALONE[alone[1].lower()]), 1)
    text = _RUN.sub(_english, _HALF_DOZEN.sub("6", _UNIT_AND_HALF.sub(r"\g<n> and a half \g<unit>", text)))
    return _HAN.sub(_han, _DIGITS_AND_HALF.sub(r"\1.5", text))


def _english(match: re.Match[str]) -> str:
    if match["only"]:
        only = " ".join(match["only"].lower().split())
        return next(value for name, value in _PARTS.items() if name in only)
    words = [word for word in re.split(r"[\s-]+", match["run"].lower()) if word != "and"]
    bare = words == ["one"] and not match["point"] and not match["half"]
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_noun = bare and (_NO_NUMBER_BEFORE.search(before) or _NO_NUMBER_AFTER.match(after))
    if is_noun or any(a in _SMALL and b in VALUES for a, b in pairwise(words)):
        return match[0]  # "the one by the door", or counted aloud: "one two three"
    total, current = 0, 0
    for word in words:
        if word in _SCALES:
            current = max(current, 1) * _SCALES[word]
            if word == "thousand":
                total, current = total + current, 0
        else:
            current += 1 if word in {"a", "an"} else VALUES[word]
    value = Decimal(total + current)
    if match["half"]:
        value += Decimal(next(part for name, part in _PARTS.items() if name in " ".join(match["half"].lower().split())))
    digits = "".join(str(VALUES[word]) for word in (match["point"] or "").lower().split()[1:])
    return f"{value}.{digits}" if digits else str(value)


def _han(match: re.Match[str]) -> str:
    whole, _, fraction = match[0].partition("点")
    total, current = 0, 0
    for c in whole:
        if c in _HAN_SCALES:
            total, current = total + max(current, 1) * _HAN_SCALES[c], 0
        else:
            current = current * 10 + _HAN_DIGITS[c]
    digits = "".join(str(_HAN_DIGITS[c]) for c in fraction)
    return f"{total + current}{'.' if digits else ''}{digits}"


_ARTICLE: Final = re.compile(r"^(?:an?|the)\s+")
_NO_WORD: Final = re.compile(r"[^\w.]+|\.(?!\d)|(?<!\d)\.")


@lru_cache(maxsize=2**12)  # the same answers are looked for in many texts
def normalised(answer: str) -> str:
    """An answer without case, punctuation, article, and with numbers in digits: "A Sedan." and "sedan" are the same."""
    bare = " ".join(_NO_WORD.sub(" ", answer.casefold()).split())
    return with_digits(_ARTICLE.sub("", bare))
