"""Shared parts of the strict parsers: a reply without its reasoning, in plain form, and a reading with its reason."""

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final, Generic, NamedTuple, TypeVar

_TRIED: Final = 200  # braces from which an object may begin: each is read to where it breaks off
_NAMES: Final = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratchpad)"
# Opening and closing tags as today's models write them: <think>, [THINK] (Mistral), ◁think▷ (Kimi),
# <|begin_of_thought|> (Sky-T1), <|channel|>analysis<|message|> … <|end|> (gpt-oss without its template).
_OPEN: Final = rf"(?:[<\[◁]{_NAMES}[>\]▷]|<\|begin_of_thought\|>|<\|channel\|>(?:analysis|commentary)<\|message\|>)"
_CLOSE: Final = rf"(?:[<\[◁]/{_NAMES}[>\]▷]|<\|end_of_thought\|>|<\|end\|>(?=\s*<\|start\|>))"
_LAST_CLOSE: Final = re.compile(rf".*{_CLOSE}", re.DOTALL | re.IGNORECASE)
_UNCLOSED: Final = re.compile(rf"{_OPEN}.*", re.DOTALL | re.IGNORECASE)
_FRAME: Final = re.compile(
    r"<\|start\|>assistant|<\|channel\|>final<\|message\|>|<\|(?:return|end|im_end|eot_id)\|>"
    r"|<\|(?:begin|end)_of_solution\|>"
)


def without_reasoning(reply: str) -> str:
    """The reply behind the last closing tag of a thought, also where the server swallowed the opening one.

    What follows an opening tag that is never closed was cut off while thinking, and is no answer.
    """
    last = _LAST_CLOSE.match(reply)
    text = reply[last.end() :] if last else reply
    return _FRAME.sub(" ", _UNCLOSED.sub(" ", text))


T = TypeVar("T")

# Words after which an answer is stated. CJK and others: a reply in another language is read as far as these go.
ANSWER_WORDS: Final = (
    r"\b(?:answer|ans|solution|result|respuesta|réponse|reponse|antwort|risposta|resposta|ответ)\b"
    r"|答案|答え|回答|정답|답"
)
# Words with which the last sentence of a reply concludes; after a sum an equals sign does the same.
CONCLUDES: Final = (
    r"(?:\b(?:so|therefore|thus|hence|consequently|altogether|overall|in total|total(?:s|ling|ing)?(?: of| to)?"
    r"|in conclusion|finally|(?:which|that|this) (?:makes|gives|leaves)|adds? up to|sums? to)\b"
    r"|[0-9][^\n=]{0,20}[-+*/x×][^\n=]{0,20}[0-9][^\n=]{0,12}=|所以|因此|总共|一共|共)"
)
_JSON_KEYS: Final = ("answer", "final_answer", "choice", "option", "letter", "value", "prediction", "result")
_MARKED_ANSWER: Final = re.compile(r"<\s*(?:answer|ans)\s*>|\\boxed\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>\n]{1,40}>")
_MARKUP: Final = re.compile(r"__|\\(?:text|mathrm|mathbf|textbf)\b|\\[()\[\],;! ]")
FRACTION_SLASH: Final = "\u2044"
THIN: Final = "\u2009"
LATIN: Final = "A-Za-zÀ-ÖØ-öø-ɏ0-9"  # of a word or number; for character classes
_MARKS: Final = str.maketrans(
    dict.fromkeys('*`"“”„«»${}', " ")
    | dict.fromkeys("\u200b\u200e\u200f\ufeff", "")
    | {"²": "^2", "³": "^3"}
    | dict.fromkeys("\u00a0\u202f\u2009", THIN)  # blanks that do not break: between groups of three digits
    | {"−": "-", "–": "-", "—": "-", "’": "'", "٫": ".", "٬": ","}
)


class ParsedReply(NamedTuple, Generic[T]):
    """The answer in a reply; where ``value`` is None, ``reason`` names why."""

    value: T | None
    reason: str | None


def without_markup(reply: str) -> str:
    """A reply without thoughts, markup and quotation marks, full-width letters and foreign digits made ASCII.

    Blanks that do not break become `THIN`. Of a JSON object, wherever in the reply it stands, only the answer is left.
    """
    text = without_reasoning(reply)
    found = _answer_of_json(text)
    if found is not None:
        text = f"answer: {found}"
    text = _TAG.sub(" ", _MARKUP.sub(" ", _MARKED_ANSWER.sub(" answer: ", text)))
    text = "".join(map(_fraction, text))
    text = THIN.join(unicodedata.normalize("NFKC", part) for part in text.translate(_MARKS).split(THIN))
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text).strip()


def _fraction(c: str) -> str:
    """The fraction that a single character stands for, parted from the whole number before it: "2½" -> "2 1/2"."""
    if not unicodedata.decomposition(c).startswith("<fraction>"):
        return c
    return f" {unicodedata.normalize('NFKC', c).replace(FRACTION_SLASH, '/')}"


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects of a text, one after the other, whatever stands between them."""
    decoder = json.JSONDecoder(strict=False)  # replies have line breaks in strings
    start = text.find("{")
    for _ in range(_TRIED):
        if start < 0:
            return
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(found, dict):
            yield found
        start = text.find("{", end)


def _answer_of_json(text: str) -> str | None:
    """The answer in the first JSON object of a reply: under a known key, or its only value. Numbers as written."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        # strict=False: replies have line breaks in strings
        decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, strict=False)
        found: Any = decoder.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    lowered = {str(key).lower(): value for key, value in found.items()}
    values = [lowered[key] for key in _JSON_KEYS if key in lowered] or (
        list(lowered.values()) if len(lowered) == 1 else []
    )
    return str(values[0]) if values and isinstance(values[0], str) else None
