"""Open questions written by a model: rules that their words must meet, whatever their subject.

Each rule measures; the first that fails is the reason. Whether an answer is true is left to the facts and to a second
model (`questions.model_authoring`).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipeline.core.templates import load_table
from pipeline.llm.base import record
from pipeline.metrics.number_words import normalised
from pipeline.questions.model_authoring import line
from pipeline.questions.rules import Measure, rule

QUESTION_WORDS: Final = (4, 40)
ANSWER_WORDS: Final = 6
PROOF_CHARS: Final = 600  # of what is kept
WRONG: Final = (3, 7)  # what else is answered to such questions
ACCEPTED: Final = 4  # other forms of the answer
STANDS_OUT: Final = (1.5, 2)  # an answer longer than this factor and number of words more gives itself away
STEM: Final = 5  # letters that words of one meaning have in common: baker, bakery; medicine, medical
SAME_ANSWERS: Final = 2  # questions of a scene that have one answer
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}  # how many is a rule: one bad question does not cost the others
_TABLE: Final = load_table("questions/open_items")


def _any_of(name: str) -> re.Pattern[str]:
    """Any of the words, each a pattern, that the table lists under a name."""
    return re.compile(rf"\b(?:{'|'.join(_TABLE[name])})\b")


_WORD: Final = re.compile(r"[^\W\d_]+")
_PLURAL: Final = re.compile(r"\w{3}[^su]s$")
_MARKUP: Final = re.compile(r"[<>\[\]{}|\\`*#_=^~]|https?:|www\.|&\w+;")
_OPEN: Final = re.compile(
    r"^(?:(?:at|in|on|of|for|from|with|by|to|under|during|before|after|until|since|into|near|beside|behind|along) )?"
    r"(?:what|which|who|whom|whose|where|when|why|how)\b"
)
_NUMBERS: Final = re.compile(
    r"\bhow (?:many|much|far|high|tall|wide|deep|fast|old|often|large|big|heavy|near|close)\b|"
    r"\bhow long (?:is|are|was|were)\b|\bwhat (?:time|year|date)\b(?! of (?:the )?(?:day|year)\b)|"
    r"\b(?:number|amount|percentage|speed|distance|height|length|width|temperature) of\b"
)
_OPINION: Final = _any_of("opinion")
_CHOICE: Final = re.compile(r"\bor\b")
_EXAM: Final = _any_of("exam")
_ORDERS: Final = _any_of("orders")
_SAYS_NOTHING: Final = re.compile(
    rf"\b(?:{'|'.join(_TABLE['vague'])})\b|^(?:{'|'.join(_TABLE['any'])})? ?(?:{'|'.join(_TABLE['general'])})$"
)
_SURE: Final = frozenset({"yes", "no", "true", "false"})
_STOP: Final = frozenset(_TABLE["small"].split())


@dataclass(frozen=True)
class OpenItem:
    """A question as a model wrote it, with an answer in a few words.

    Attributes:
        accepted: other forms of the answer that are as right.
        wrong: what else is answered to such questions: panels and priors choose from these and the answer.
        proof: what makes the answer right, in the model's words.
    """

    question: str
    answer: str
    accepted: tuple[str, ...]
    wrong: tuple[str, ...]
    proof: str

    @property
    def right(self) -> tuple[str, ...]:
        """Every form of the answer."""
        return (self.answer, *self.accepted)

    @property
    def texts(self) -> tuple[str, ...]:
        """All that whoever is asked, or guesses, may read."""
        return (self.question, *self.right, *self.wrong)


def item_schema(**more: Any) -> dict[str, Any]:
    """JSON schema of one item with further properties; the proof is first, so that a model thinks before it answers."""
    return record(proof=_TEXT, **more, question=_TEXT, answer=_TEXT, accepted=_TEXTS, wrong=_TEXTS)


def item_of(raw: Mapping[str, Any]) -> OpenItem:
    """An item of a reply that follows the schema, its texts on one line each."""
    return OpenItem(
        line(raw["question"]),
        line(raw["answer"]).rstrip("."),
        tuple(line(form).rstrip(".") for form in raw["accepted"]),
        tuple(line(other).rstrip(".") for other in raw["wrong"]),
        line(raw["proof"])[:PROOF_CHARS],
    )


def stems(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, each by its first letters."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    words = (word for word in _WORD.findall(bare.replace("'s", "")) if word not in _STOP)
    return frozenset((word[:-1] if _PLURAL.search(word) else word)[:STEM] for word in words)


def form(item: OpenItem) -> Iterator[Measure]:
    """That a question is one, open, and in plain words."""
    asked = item.question.casefold()
    words = len(asked.split())
    yield rule("question_too_short", words, ">=", QUESTION_WORDS[0], "words")
    yield rule("question_too_long", words, "<=", QUESTION_WORDS[1], "words")
    yield rule("markup_in_text", sum(len(_MARKUP.findall(text.casefold())) for text in item.texts), "<=", 0, "marks")
    yield rule("other_script", sum(map(_foreign, item.texts)), "<=", 0, "characters")
    sentences = len(re.findall(r"[.?!:;](?:\s|$)", item.question))
    yield rule("not_one_sentence", float(sentences == 1 and asked.endswith("?")), ">=", 1, "questions")
    yield rule("not_an_open_question", float(bool(_OPEN.match(asked))), ">=", 1, "question words")
    yield rule("asks_for_a_number", len(_NUMBERS.findall(asked)), "<=", 0, "numbers")
    yield rule("lists_what_to_choose", len(_CHOICE.findall(asked)), "<=", 0, "alternatives")
    yield rule("asks_for_an_opinion", len(_OPINION.findall(asked)), "<=", 0, "words")
    demands = len(_EXAM.findall(asked)) + sum(len(_ORDERS.findall(text.casefold())) for text in item.texts[1:])
    yield rule("speaks_of_the_exam", demands, "<=", 0, "words")
    yield from _answer(item)
    yield from _check_other_answers(item)
    yield from leaks(item)


def _answer(item: OpenItem) -> Iterator[Measure]:
    """That the answer, in each form, is short, says something, and is in words."""
    forms = [normalised(text) for text in item.right]
    yield rule("answer_empty", sum(not text for text in forms), "<=", 0, "forms")
    yield rule("too_many_forms", len(item.accepted), "<=", ACCEPTED, "forms")
    yield rule("answer_too_long", max(len(text.split()) for text in item.right), "<=", ANSWER_WORDS, "words")
    yield rule("answer_is_yes_or_no", sum(text.partition(" ")[0] in _SURE for text in forms), "<=", 0, "forms")
    yield rule("answer_is_a_number", sum(any(c.isdigit() for c in text) for text in forms), "<=", 0, "forms")
    vague = sum(bool(_SAYS_NOTHING.search(line(text).casefold())) for text in item.right)
    yield rule("answer_says_nothing", vague, "<=", 0, "forms")
    several = sum(bool(re.search(r"\bor\b|[/;]|,.*,", text.casefold())) for text in item.right)
    yield rule("answer_is_several", several, "<=", 0, "forms")


def _check_other_answers(item: OpenItem) -> Iterator[Measure]:
    """That what else could be answered is enough, differs, and does not tell which of all is right."""
    wrong = [normalised(text) for text in item.wrong]
    yield rule("wrong_options_missing", sum(map(bool, wrong)), ">=", WRONG[0], "wrong options")
    yield rule("wrong_options_too_many", len(wrong), "<=", WRONG[1], "wrong options")
    right = {normalised(text) for text in item.right}
    repeated = len(wrong) - len({*wrong} - right)
    yield rule("options_repeat", repeated, "<=", 0, "options")
    mine = [stems(text) for text in item.right]
    part = sum(any(m and o and (m <= o or o <= m) for m in mine) for o in map(stems, item.wrong))
    yield rule("options_include_right", part, "<=", 0, "wrong options")
    longest = max(len(text.split()) for text in item.wrong)
    factor, more = STANDS_OUT
    yield rule("answer_stands_out", len(item.answer.split()), "<=", max(factor * longest, longest + more), "words")


def leaks(item: OpenItem, facts: Sequence[str] = ()) -> Iterator[Measure]:
    """That the question, and what else is told with it, has no word of the answer that the wrong ones lack.

    Words that half of the wrong ones have too tell nothing ("road" where it is a wet road, a dry road, an icy road).
    """
    asked = stems(" ".join((item.question, *facts)))
    wrong = [stems(text) for text in item.wrong]
    common = {word for word in asked if 2 * sum(word in other for other in wrong) >= len(wrong)}
    shared = (stems(item.answer) & asked) - common
    for text in item.accepted:  # a form may repeat the question ("blurred lights"), but not be all of it
        shared |= (stems(text) if stems(text) <= asked else frozenset()) - common
    yield rule("answer_in_the_question", len(shared), "<=", 0, "words")


def _foreign(text: str) -> int:
    """Letters that are not Latin, and what is not to be seen."""
    odd = 0
    for c in text:
        category = unicodedata.category(c)
        odd += category in ("Cf", "Co", "Cn", "Cs", "Sk") or (
            category[0] == "L" and "LATIN" not in unicodedata.name(c, "")
        )
    return odd
