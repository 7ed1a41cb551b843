"""The letter that a reply to a multiple-choice question names, or the reason why it names none.

Stricter than the released benchmark's parser. Six places are tried in turn, and the first in which a letter stands
decides: the whole reply ("(D)"); after a word that states an answer ("Answer: B", "答案是B", ``{"answer": "B"}``); at
the beginning, as options are written ("B. chair, since …") or with a reason behind it ("D, because A is far"); after a
word for "option"; anywhere as a word of its own.
Two different letters in the deciding place, or one beyond the options, is no answer, but where the last sentence
concludes with one of them ("A is too far and C is behind, so B"). Letters that are denied ("not B")
do not count, nor do the English words "A" and "I".
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.metrics.replies import ANSWER_WORDS, CONCLUDES, LATIN, ParsedReply, without_markup

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
# "D, because A is far": a reason follows; not another letter, and no second thought.
_REASONED: Final = re.compile(
    rf"[(\[]?(?P<letters>{_BARE})[)\]]?(?:\s*[,;-]\s*|\s+)"
    r"(?=(?:because|since|as|for|due|given|based|the|it|this|that|which|so|but|when|if|from|in|i|my|there|we)\b)",
)
_CHOSEN: Final = re.compile(rf"(?:{_OPTION_WORDS}){_FILLER}(?P<letters>{_MANY})", re.IGNORECASE)
_ANYWHERE: Final = re.compile(rf"(?P<letters>{_BARE}|{_BRACKETED})")
_TAKEN_BACK: Final = re.compile(
    r"\b(?:no, wait|wait|actually|correction|on second thought|scratch that)\b", re.IGNORECASE
)
# The last sentence, where it concludes: such a word, at most 60 other characters, and letters to the end.
_CONCLUDED: Final = re.compile(
    rf".*{CONCLUDES}(?P<rest>(?!.*\b(?:maybe|perhaps|possibly|might|could|unless|if)\b)[^\n]{{0,60}})\Z",
    re.IGNORECASE | re.DOTALL,
)
_NO_WORD: Final = re.compile(r"[\s.,:;!?'-]+")
_ARTICLE: Final = re.compile(r"^(?:the|an?)\s+")
_LETTER: Final = re.compile(_BARE, re.IGNORECASE)


def find_letter(reply: str, options: int = 4, texts: Sequence[str] = ()) -> ParsedReply[str]:
    """The letter named by a reply to a question with that many options.

    With the options' ``texts`` a reply that is one of them and nothing else names its letter ("The table." for "B").

    Reasons for None: ``empty``, ``no_letter``, ``several_letters``, ``out_of_range``.
    """
    text = without_markup(reply)
    if not text:
        return ParsedReply(None, "empty")
    whole = _WHOLE.fullmatch(text)
    if whole:
        return _decide({whole[1].upper()}, options)
    named = [n for n, option in enumerate(texts) if _bare_words(option) == _bare_words(text)]
    if len(named) == 1:
        return ParsedReply(ALPHABET[named[0]], None)
    text = _DENIED.sub(" ", text)
    for place in (_STATED, _LISTED, _REASONED, _CHOSEN, _ANYWHERE):
        if place is _LISTED:
            found = _at_the_start(text)
        elif place is _REASONED:
            found = _with_a_reason(text)
        else:
            found = set(_letters(text, place))
        if found:
            read = _decide(found | _second_thoughts(text), options)
            concluded = _CONCLUDED.match(text) if read.reason == "several_letters" and place is not _STATED else None
            last = set(_letters(concluded["rest"], _ANYWHERE)) if concluded else set()
            return _decide(last, options) if len(last) == 1 else read
    return ParsedReply(None, "no_letter")


def _second_thoughts(text: str) -> set[str]:
    """Letters that are named after the reply has taken something back."""
    taken_back = _TAKEN_BACK.search(text)
    return set(_letters(text[taken_back.end() :], _ANYWHERE)) if taken_back else set()


def _bare_words(text: str) -> str:
    """An option or a reply without article, case and punctuation."""
    return _ARTICLE.sub("", _NO_WORD.sub(" ", text).strip().lower())


def _decide(found: set[str], options: int) -> ParsedReply[str]:
    if len(found) > 1:
        return ParsedReply(None, "several_letters")
    letter = found.pop()
    return ParsedReply(letter, None) if letter in ALPHABET[:options] else ParsedReply(None, "out_of_range")


def _letters(text: str, place: re.Pattern[str]) -> Iterator[str]:
    for match in place.finditer(text):
        for letter in _LETTER.finditer(text, *match.span("letters")):
            if not _is_word(letter[0], text, letter.end()):
                yield letter[0].upper()


def _at_the_start(text: str) -> set[str]:
    """The letters that are written as options are, if the reply begins with one."""
    listed = list(_LISTED.finditer(text))
    return {match[1] for match in listed} if listed and listed[0].start() == 0 else set()


def _with_a_reason(text: str) -> set[str]:
    """The letter with which the reply begins, if a reason follows it."""
    match = _REASONED.match(text)
    return {match["letters"]} if match and not _is_word(match["letters"], text, match.end("letters")) else set()


def _is_word(letter: str, text: str, end: int) -> bool:
    """Whether a letter is the article "A" or the pronoun "I"."""
    follows = {"A": _AFTER_A, "I": _WORD_FOLLOWS}.get(letter.upper())
    return follows is not None and follows.match(text, end) is not None
