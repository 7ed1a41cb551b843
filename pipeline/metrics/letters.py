"""The letter that a reply to a multiple-choice question names, or the reason why it names none.

Stricter than the released benchmark's parser. Five places are tried in turn, and the first in which a letter stands
decides: the whole reply ("(D)"); after a word that states an answer ("Answer: B", "答案是B", ``{"answer": "B"}``); at
the beginning, as options are written ("B. chair, since …"); after a word for "option"; anywhere as a word of its own.
Two different letters in the deciding place, or one beyond the options, is no answer. Letters that are denied ("not B")
do not count, nor do the English words "A" and "I".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pipeline.metrics.replies import ANSWER_WORDS, LATIN, Reading, plain

ALPHABET: Final = "ABCDEFGHIJ"
# After the letter A these words may stand; before any other word in lower case it is the article.
_AFTER_A: Final = re.compile(r"\s+(?!(?:is|as|because|since|for|due|based|given|and|or|y|o|et|ou|und|oder)\b)[a-zà-ɏ]")
_WORD_FOLLOWS: Final = re.compile(r"\s+[a-zà-ɏ]")
_BARE: Final = rf"(?<![{LATIN}'/-])[A-Z](?![{LATIN}'/-])"
_BRACKETED: Final = rf"(?<![{LATIN}])[(\[][a-z][)\]]"
_MANY: Final = rf"[(\[]?{_BARE}[)\]]?(?:\s*(?:,|/|&|\bor\b|\band\b|或|和)\s*[(\[]?{_BARE}[)\]]?)*"
_FILLER: Final = (
    r"(?:[\s:=(\[是为為は은는选選项項-]"
    r"|\b(?:is|be|would|should|must|most|likely|probably|therefore|option|choice|letter|number|es|est|ist|è|é|la|the)\b){0,20}"
)
_OPTION_WORDS: Final = r"\b(?:options?|choices?|choose|select|opción|opção|opzione|optie)\b|选项|選項|选择|選擇|选|選"
_DENIED: Final = re.compile(
    rf"(?:\b(?:not|neither|nor|cannot be)|n't(?: be)?)\s+(?:(?:option|choice)\s+)?[(\[]?{_BARE}[)\]]?", re.IGNORECASE
)
_WHOLE: Final = re.compile(r"[(\[]?([A-Za-z])[)\]]?\s*[.,:;!)。]*")
_STATED: Final = re.compile(rf"(?:{ANSWER_WORDS}){_FILLER}(?P<letters>{_MANY})", re.IGNORECASE)
_LISTED: Final = re.compile(rf"(?<![{LATIN}'/-])[(\[]?([A-Z])(?:[.:)\]]|(?=\s*\n)|(?=\s*\Z))")
_CHOSEN: Final = re.compile(rf"(?:{_OPTION_WORDS}){_FILLER}(?P<letters>{_MANY})", re.IGNORECASE)
_ANYWHERE: Final = re.compile(rf"(?P<letters>{_BARE}|{_BRACKETED})")
_LETTER: Final = re.compile(_BARE, re.IGNORECASE)


def find_letter(reply: str, options: int = 4) -> Reading[str]:
    """The letter named by a reply to a question with that many options.

    Reasons for None: ``empty``, ``no_letter``, ``several_letters``, ``out_of_range``.
    """
    text = plain(reply)
    if not text:
        return Reading(None, "empty")
    whole = _WHOLE.fullmatch(text)
    if whole:
        return _decide({whole[1].upper()}, options)
    text = _DENIED.sub(" ", text)
    for place in (_STATED, _LISTED, _CHOSEN, _ANYWHERE):
        found = _at_the_start(text) if place is _LISTED else set(_letters(text, place))
        if found:
            return _decide(found, options)
    return Reading(None, "no_letter")


def _decide(found: set[str], options: int) -> Reading[str]:
    if len(found) > 1:
        return Reading(None, "several_letters")
    letter = found.pop()
    return Reading(letter, None) if letter in ALPHABET[:options] else Reading(None, "out_of_range")


def _letters(text: str, place: re.Pattern[str]) -> Iterator[str]:
    for match in place.finditer(text):
        for letter in _LETTER.finditer(text, *match.span("letters")):
            if not _is_word(letter[0], text, letter.end()):
                yield letter[0].upper()


def _at_the_start(text: str) -> set[str]:
    """The letters that are written as options are, if the reply begins with one."""
    listed = list(_LISTED.finditer(text))
    return {match[1] for match in listed} if listed and listed[0].start() == 0 else set()


def _is_word(letter: str, text: str, end: int) -> bool:
    """Whether a letter is the article "A" or the pronoun "I"."""
    follows = {"A": _AFTER_A, "I": _WORD_FOLLOWS}.get(letter.upper())
    return follows is not None and follows.match(text, end) is not None
