"""Last step: what a written question must meet. Each check measures; the first that fails is the reason.

The reasons begin with the aspect under which people mended the questions of UrbanVideo-Bench (section 3.2.4):
``invalid_or_ambiguous``, ``hallucination``, ``direction``, ``choices``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.compose import OPTIONS, WrittenItem
from pipeline.benchmarks.urbanvideo.authoring.extract import Extract
from pipeline.benchmarks.urbanvideo.authoring.observed import Observed
from pipeline.benchmarks.urbanvideo.authoring.vocabulary import (
    COMPASS,
    FACING,
    FLOWN,
    FLOWN_AS,
    MEANT,
    PLACED,
    PLACED_AS,
    SEEN,
    SUPPOSING,
    UNREAL,
)
from pipeline.benchmarks.urbanvideo.authoring.words import (
    absolute,
    contains,
    covered,
    movements,
    plain,
    sides,
    things,
    tokens,
    without,
)
from pipeline.questions.rules import Measure, rule

QUESTION_WORDS: Final = (4, 150)  # a given route is part of the question
OPTION_WORDS: Final = 40
STANDS_OUT: Final = (1.5, 3)  # a right option longer than this factor and number of words more gives itself away
_LETTER: Final = re.compile(
    r"(?:(?:option|choice|answer) )?\(?[A-J]\)?[.:)]?|\(?[A-J][.):]\s.*", re.IGNORECASE | re.DOTALL
)
_LETTERED: Final = re.compile(r"(?:^|\s)\(?A[.):]\s.*\s\(?B[.):]\s", re.DOTALL)
_SEVERAL: Final = re.compile(
    r"\b(?:all|none|both|any|some) of (?:the )?(?:above|these|those|them|options)\b|\ball above\b"
)


def measures(item: WrittenItem, facts: Observed, known: Extract) -> Iterator[Measure]:
    """Every rule, in the order in which they are reported; those after one that is broken may make no sense."""
    yield from options(item)
    yield hallucination(item, facts, known)
    yield direction(item, facts)
    yield from agreement(item, facts, known)
    yield from letters(item)
    yield from leaks(item)
    yield from lengths(item)


def options(item: WrittenItem) -> Iterator[Measure]:
    """Their number; one is right; no two say the same."""
    offered = (item.answer, *item.wrong)
    said = [tokens(option) for option in offered]
    yield rule("choices_too_few", len(offered), ">=", OPTIONS, "options")
    yield rule("choices_too_many", len(offered), "<=", OPTIONS, "options")
    yield rule("choices_empty", sum(not option.strip() for option in offered), "<=", 0, "options")
    yield rule("choices_not_one_right", sum(bool(_SEVERAL.search(plain(o))) for o in offered), "<=", 0, "options")
    yield rule("choices_right_among_wrong", said[1:].count(said[0]), "<=", 0, "options")
    same = sum(a == b for a, b in combinations(said[1:], 2))
    yield rule("choices_same_meaning", same, "<=", 0, "pairs of options")


def hallucination(item: WrittenItem, facts: Observed, known: Extract) -> Measure:
    """Things that the question or its right option names, and that nobody has seen."""
    names = (*known.objects, *facts.kinds)
    named = [*things(item.question, names), *things(item.answer, names), *item.objects]
    unknown = {thing for thing in named if not covered(thing, names)}
    return rule("hallucination_unknown_object", len(unknown), "<=", 0, "objects")


def direction(item: WrittenItem, facts: Observed) -> Measure:
    """Points of the compass left in question and options; `relative` takes out those that it can."""
    texts = (item.question, item.answer, *item.wrong)
    return rule("direction_absolute", sum(len(absolute(t, facts.names)) for t in texts), "<=", 0, "directions")


def agreement(item: WrittenItem, facts: Observed, known: Extract) -> Iterator[Measure]:
    """Question and right option against movements, places and views, as far as these were observed.

    A question that supposes ("if the drone flew lower") asks for what was not, and is left alone.
    """
    if SUPPOSING.search(plain(item.question)):
        return
    if known.movements:
        asked = [m for m in movements(without(item.question, known.objects)) if _observable(m, facts)]
        never = sum(_not_made([m], known.movements) for m in asked)
        yield rule("invalid_or_ambiguous_movement_not_made", never, "<=", 0, "movements")
        said = [m for m in movements(without(item.answer, known.objects)) if _observable(m, facts)]
        yield rule("choices_contradict_movements", _not_made(said, known.movements), "<=", 0, "movements")
    found = sides(item.answer)
    both = _named(f"{item.question} {item.answer}", facts)
    if len(both) == 1 and len(found) == 1:
        off_deg = facts.off_side_deg(both[0], found[0], item.time_s)
        if off_deg is not None:
            yield rule("direction_contradicts_pose", off_deg, "<=", facts.margin_deg, "deg")
    answer = plain(item.answer)
    if facts.views is not None and SEEN.search(answer) and not UNREAL.search(answer):
        unseen = [n for n in _named(item.answer, facts) if not facts.views.get(n)]
        yield rule("hallucination_never_in_view", len(unseen), "<=", 0, "landmarks")


def letters(item: WrittenItem) -> Iterator[Measure]:
    """The model gives texts; the letter is drawn later."""
    lettered = sum(bool(_LETTER.fullmatch(option)) for option in (item.answer, *item.wrong))
    yield rule("choices_letter", lettered, "<=", 0, "options")


def leaks(item: WrittenItem) -> Iterator[Measure]:
    """The question holds its right option and no other, or brings options of its own."""
    question = tokens(item.question)
    told = contains(question, tokens(item.answer)) and not any(contains(question, tokens(w)) for w in item.wrong)
    yield rule("invalid_or_ambiguous_answer_in_question", float(told), "<=", 0, "answers")
    listed = bool(_LETTERED.search(item.question))
    yield rule("invalid_or_ambiguous_options_in_question", float(listed), "<=", 0, "lists of options")


def lengths(item: WrittenItem) -> Iterator[Measure]:
    """A question, of so many words; a right option that is much the longest gives itself away."""
    least, most = QUESTION_WORDS
    asked, right = len(item.question.split()), len(item.answer.split())
    longest_wrong = max(len(option.split()) for option in item.wrong)
    factor, more = STANDS_OUT
    yield rule("invalid_or_ambiguous_no_question", plain(item.question).count("?"), ">=", 1, "question marks")
    yield rule("invalid_or_ambiguous_too_short", asked, ">=", least, "words")
    yield rule("invalid_or_ambiguous_too_long", asked, "<=", most, "words")
    yield rule("choices_too_long", max(right, longest_wrong), "<=", OPTION_WORDS, "words")
    yield rule("choices_right_stands_out", right, "<=", factor * longest_wrong + more, "words")


def relative(item: WrittenItem, facts: Observed) -> WrittenItem:
    """The question with compass points turned into directions from the drone where its heading tells them.

    The heading at the item's time must be known and steady, and the direction clear of the edges between two sides;
    else the words stay, for `direction` to find.
    """
    heading = facts.heading_deg(item.time_s)
    if heading is None:
        return item

    def rewritten(text: str) -> str:
        hidden = without(text, facts.names)  # of the same length: places in it are places in the text
        for pattern in (FLOWN, PLACED):
            for match in reversed(list(pattern.finditer(hidden))):
                side = facts.side_of(COMPASS[re.sub(r"[- ]", "", match["point"].lower())] - heading)
                if side is None or FACING.search(hidden[: match.start()]):
                    continue
                said = f"{match['go']} {FLOWN_AS[side]}" if pattern is FLOWN else PLACED_AS[side]
                text, hidden = (t[: match.start()] + said + t[match.end() :] for t in (text, hidden))
        return text

    return replace(
        item,
        question=rewritten(item.question),
        answer=rewritten(item.answer),
        wrong=tuple(rewritten(option) for option in item.wrong),
    )


def _observable(movement: str, facts: Observed) -> bool:
    """Whether the log could have shown it: without a gimbal or a heading in it, nothing speaks against one."""
    if movement.startswith("gimbal") and facts.segments:
        return any(segment.gimbal_deg is not None for segment in facts.segments)
    if movement.startswith("turn") and facts.segments:
        return any(segment.turn_deg is not None for segment in facts.segments)
    return True


def _not_made(said: Sequence[str], made: Sequence[tuple[str, ...]]) -> int:
    """How many movements find no place in the flight after those said before; one stretch may make several at once."""
    missing, at, here = 0, 0, set[str]()
    for movement in said:
        for n in range(at, len(made)):
            does = set(MEANT[movement]) & set(made[n]) - (here if n == at else set())
            if does:
                at, here = n, (here if n == at else set()) | does
                break
        else:
            missing += 1
    return missing


def _named(text: str, facts: Observed) -> list[int]:
    """Landmarks that a text names."""
    return [n for n in facts.landmarks if without(text, [str(facts.flight.landmarks[n].label)]) != text]
