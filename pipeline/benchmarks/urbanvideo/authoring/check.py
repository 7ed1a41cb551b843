"""Last step: what a written question must meet. Each check measures; the first that fails is the reason.

The reasons begin with the aspect under which people mended the questions of UrbanVideo-Bench (section 3.2.4):
``invalid_or_ambiguous``, ``hallucination``, ``direction``, ``choices``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.claims import (
    claims,
    described,
    mistimed_s,
    not_made,
    observable,
    side_off_deg,
    supposed_instead,
    words_of,
)
from pipeline.benchmarks.urbanvideo.authoring.meaning import Asks, content, nearly_same, of_form, reads, says_all_of
from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.timing import is_about_sight, is_shown_in, spans, timing
from pipeline.benchmarks.urbanvideo.authoring.words import (
    BUILDINGS,
    COMPASS,
    FACING,
    FLOWN,
    FLOWN_AS,
    LOOKS,
    MOVEMENT,
    PARTS,
    PLACED,
    PLACED_AS,
    SEEN,
    SIDES,
    SUPPOSING,
    UNREAL,
    absolute,
    contains,
    covered,
    movements,
    normalized,
    sides,
    singular,
    stories,
    things,
    tokens,
    without,
)
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem, Extract
from pipeline.benchmarks.urbanvideo.cases import OPTIONS
from pipeline.questions.rules import Measure, rule

QUESTION_WORDS: Final = (4, 150)  # a given route is part of the question
OPTION_WORDS: Final = 40
STANDS_OUT: Final = (1.5, 3)  # a right option longer than this factor and number of words more gives itself away
_LETTER: Final = re.compile(
    r"(?:(?:option|choice|answer) )?\(?[A-J]\)?[.:)]?|\(?(?:[A-J]|\d)[.):]\s.*", re.IGNORECASE | re.DOTALL
)
_LETTERED: Final = re.compile(r"(?:^|\s)\(?A[.):]\s.*\s\(?B[.):]\s", re.DOTALL)
# What happens in the flight, with no word of when.
_DOES: Final = re.compile(
    r"\b(?:what|which)\b.*\b(?:(?:does|did) .*\bdo|happens?|movements?|man(?:oeuvre|euver)s?|actions?)\b"
)
# What an object is asked for by: other objects of the video are not there.
_WHERE: Final = re.compile(
    r"\b(?:after|before|while|when|during(?! (?:the|this) flight)|beside|next to|near|behind|under|below|above|between|"
    r"on|in (?!(?:the|this) (?:video|flight|picture|image)\b))\b"
)
# Asked of the flight as a whole, without a word of seeing.
_OF_FLIGHT: Final = re.compile(r"\b(?:of|in|on|during|from) (?:this|the) (?:flight|video|film|footage|tour)\b")
# What stays, or is lost, was there.
_KEPT_IN_VIEW: Final = re.compile(
    r"\b(?P<what>[^,?;:]*?) (?:have |has |had )?"
    r"(?:stay(?:s|ed)?|remain(?:s|ed)?|vanish(?:es|ed)?|disappear(?:s|ed)?|left)"
    r"(?: in| from| out of)? (?:the )?(?:picture|view|sight|frame|video)\b"
)
_EDGE: Final = (
    r"(?=$|[,.]| (?:that|which|with|on|in|at|and|to|from|over|by|near|beside|ahead|behind|as|is|straight|directly|"
    r"right|full|farther|far|close|below|above|under|next|of|whose|where|standing|growing|getting|coming)\b)"
)
_THING: Final = re.compile(
    rf"(?:an?|the|some|several|two|three) (?:(?:row|line|group|pair|couple|stretch|lot|number|cluster|series)s? of "
    rf"(?P<of>[\w' -]+?){_EDGE}|(?P<thing>[\w' -]+?){_EDGE})"
)
_TIMES: Final = content("start end first last second finally once twice again then flight way moment")
_TURNING: Final = frozenset(
    {*SIDES, "front", "turn", "fly", "forward", "backward", "hover", "ascend", "descend", "gimbal", "up", "down"}
)
_SEVERAL: Final = re.compile(
    r"\b(?:all|none|both|any|some) of (?:the )?(?:above|these|those|them|options)\b|\ball above\b"
)


def measures(item: DraftItem, facts: ObservedFacts, known: Extract, asks: Asks = "why") -> Iterator[Measure]:
    """Every rule, in the order in which they are reported; those after one that is broken may make no sense.

    ``asks`` is the form of the task's questions.
    """
    yield from options(item)
    yield from letters(item)
    yield from lengths(item)
    yield from reads(item, asks, (*known.objects, *facts.names))
    yield hallucination(item, facts, known)
    if asks == "what":
        yield rule("hallucination_unknown_answer", _unknown_head(item.answer, facts, known), "<=", 0, "objects")
    yield direction(item, facts)
    yield from agreement(item, facts, known, asks)
    yield from only_right(item, facts, known)
    yield from leaks(item)


def options(item: DraftItem) -> Iterator[Measure]:
    """Their number; one is right; no two say the same."""
    offered = (item.answer, *item.wrong)
    words = [tokens(option) for option in offered]
    yield rule("choices_too_few", len(offered), ">=", OPTIONS, "options")
    yield rule("choices_too_many", len(offered), "<=", OPTIONS, "options")
    yield rule("choices_empty", sum(not option.strip() for option in offered), "<=", 0, "options")
    yield rule("choices_not_one_right", sum(bool(_SEVERAL.search(normalized(o))) for o in offered), "<=", 0, "options")
    yield rule("choices_right_among_wrong", words[1:].count(words[0]), "<=", 0, "options")
    same = sum(
        a == b or (says_all_of(x, y) and says_all_of(y, x))
        for (a, x), (b, y) in combinations(zip(words, offered, strict=True), 2)
    )
    yield rule("choices_same_meaning", same, "<=", 0, "pairs of options")
    right = item.answer
    part = sum(says_all_of(right, wrong) or says_all_of(wrong, right) for wrong in item.wrong)
    yield rule("choices_include_right", part, "<=", 0, "options")
    within = sum(says_all_of(a, b) or says_all_of(b, a) for a, b in combinations(item.wrong, 2))
    yield rule("choices_include_each_other", within, "<=", 0, "pairs of options")
    alike = sum(nearly_same(a, b) for a, b in combinations(offered, 2))
    yield rule("choices_nearly_same", alike, "<=", 0, "pairs of options")


def hallucination(item: DraftItem, facts: ObservedFacts, known: Extract) -> Measure:
    """Things that the question or its right option names, and that nobody has seen."""
    names = (*known.objects, *facts.kinds)
    named = [*things(item.question, names), *things(item.answer, names), *item.objects]
    unknown = {thing for thing in named if not covered(thing, names) and not _general(thing, item, names)}
    return rule("hallucination_unknown_object", len(unknown), "<=", 0, "objects")


def _unknown_head(answer: str, facts: ObservedFacts, known: Extract) -> int:
    """1 where an answer is a thing of a kind that nobody has seen, known to `things` or not ("a paddle steamer")."""
    found = _THING.match(normalized(without(answer, known.objects)))
    if not found or "_" in found[0]:
        return 0
    head = singular((found["of"] or found["thing"]).split()[-1])
    names = (*known.objects, *facts.kinds)
    seen = {word for name in names for word in (*tokens(name), *content(name))} | PARTS
    return int(not (head in seen or content(head) & seen or head in {"building", "structure", "landmark"}))


def _general(thing: str, item: DraftItem, names: Sequence[str]) -> bool:
    """Whether a thing is a part, or the general word, of something known: the roof, or the building, of a tower."""
    if not {word for name in names for word in tokens(name)} & BUILDINGS:
        return False
    head = singular(thing)
    described_as = re.findall(rf"([\w-]+)\s+{re.escape(thing)}\b", normalized(f"{item.question} {item.answer}"))
    return head in PARTS or (head in {"building", "structure"} and not set(described_as) & LOOKS)


def direction(item: DraftItem, facts: ObservedFacts) -> Measure:
    """Points of the compass left in question and options; `relative` takes out those that it can."""
    texts = (item.question, item.answer, *item.wrong)
    return rule("direction_absolute", sum(len(absolute(t, facts.names)) for t in texts), "<=", 0, "directions")


def agreement(item: DraftItem, facts: ObservedFacts, known: Extract, asks: Asks = "why") -> Iterator[Measure]:
    """Question and right option against movements, places and views, as far as these were observed.

    A question that supposes ("if the drone flew lower") asks for what was not; of it only what it sets this against
    ("instead of ascending") must have been.
    """
    supposes = asks == "if" or bool(SUPPOSING.search(normalized(item.question)) and not of_form(item.question, "why"))
    premises = supposed_instead(item.question) if supposes else [item.question]
    if known.movements:
        asked = [m for text in premises for m in movements(without(text, known.objects)) if observable(m, facts)]
        never = sum(not_made([m], known.movements) for m in asked)
        yield rule("invalid_or_ambiguous_movement_not_made", never, "<=", 0, "movements")
    if supposes:
        kept = {
            n for match in _KEPT_IN_VIEW.finditer(normalized(item.question)) for n in described(match["what"], facts)
        }
        if facts.views is not None:
            yield rule("hallucination_never_in_view", sum(not facts.views.get(n) for n in kept), "<=", 0, "landmarks")
        yield from claims(premises, facts, known)
        return
    if known.movements:
        answered = stories(without(item.answer, known.objects))
        observed = [[m for m in story if observable(m, facts)] for story in answered]
        against = sum(not_made(story, known.movements) for story in observed)
        yield rule("choices_contradict_movements", against, "<=", 0, "movements")
    off_deg = [
        off
        for text, about in ((item.question, item.answer if asks == "what" else ""), (item.answer, item.question))
        if (off := side_off_deg(text, about, facts, item.time_s)) is not None
    ]
    if off_deg:
        yield rule("direction_contradicts_pose", max(off_deg), "<=", facts.margin_deg, "deg")
    if facts.views is not None:
        unseen = {n for text in (item.question, item.answer) for n in _unseen(text, facts)}
        yield rule("hallucination_never_in_view", len(unseen), "<=", 0, "landmarks")
    yield from claims((item.question, item.answer), facts, known)
    yield from timing(item, facts, known, asks)


def _unseen(text: str, facts: ObservedFacts) -> set[int]:
    """Landmarks that a text speaks of as being there, and that no picture shows; the goal may be spoken of unseen."""
    plainly = normalized(text)
    if UNREAL.search(plainly) or facts.views is None:
        return set()
    goal = not SEEN.search(plainly)
    return {
        n
        for n in described(text, facts)
        if not facts.views.get(n) and not (goal and facts.flight.landmarks[n].label == facts.flight.goal)
    }


def only_right(item: DraftItem, facts: ObservedFacts, known: Extract) -> Iterator[Measure]:
    """No wrong option that differs from the right one only in a side or in movements is as true as that one."""
    true = _also_there(item, facts) + _also_seen(item, facts, known)
    whole = bool(_DOES.search(normalized(item.question))) and not movements(item.question)
    for wrong in item.wrong:
        if whole and not content(MOVEMENT.sub(" ", normalized(wrong))) - _TIMES:
            story = [m for m in movements(without(wrong, known.objects)) if observable(m, facts)]
            true += bool(story) and not not_made(story, known.movements) and not mistimed_s([wrong], facts, known)
            continue
        if content(wrong) - _TURNING != content(item.answer) - _TURNING:
            continue
        here, there = sides(wrong), sides(item.answer)
        if here and there and here != there:
            off = side_off_deg(wrong, item.question, facts, item.time_s)
            true += off is not None and off <= 0
        observed = [m for story in stories(without(wrong, known.objects)) for m in story if observable(m, facts)]
        if observed and known.movements and not here:
            true += not not_made(observed, known.movements)
    yield rule("choices_wrong_is_true", true, "<=", 0, "options")


def letters(item: DraftItem) -> Iterator[Measure]:
    """The model gives texts; the letter is drawn later."""
    lettered = sum(bool(_LETTER.fullmatch(option)) for option in (item.answer, *item.wrong))
    yield rule("choices_letter", lettered, "<=", 0, "options")


def _also_there(item: DraftItem, facts: ObservedFacts) -> int:
    """Wrong options that name a landmark, as the right one does, which is where the question asks, or in view then."""
    if len(described(item.answer, facts)) != 1 or not of_form(item.question, "what"):
        return 0
    where, seen = sides(item.question), _asks_of_sight(normalized(item.question))
    named = [
        (mark, sides(wrong))
        for wrong in item.wrong
        for mark in described(wrong, facts)
        if content(wrong) - _TURNING - content(" ".join(PARTS)) <= content(words_of(mark, facts))
    ]
    if len(where) == 1:
        return sum(facts.off_side_deg(mark, where[0], item.time_s) == 0 for mark, _ in named)
    if not seen:
        return 0
    when = spans(normalized(item.question), facts) if facts.segments and item.time_s is None else []
    return sum(
        (is_shown_in(mark, when, facts) if when else facts.is_shown(mark, item.time_s))
        and all(facts.off_side_deg(mark, side, item.time_s) == 0 for side in placed)
        for mark, placed in named
    )


def _also_seen(item: DraftItem, facts: ObservedFacts, known: Extract) -> int:
    """Wrong options that name an object of the video, where the question asks what it shows, at no time or place."""
    question = normalized(item.question)
    if not of_form(question, "what") or sides(question) or item.time_s is not None:
        return 0
    if (facts.segments and spans(question, facts)) or _WHERE.search(question):
        return 0
    seen = [content(name) for name in known.objects if name not in facts.names]
    return sum(bool(words := content(wrong)) and any(words <= name for name in seen) for wrong in item.wrong)


def _asks_of_sight(question: str) -> bool:
    """Whether a question asks what the video shows, or what belongs to the flight."""
    return is_about_sight(question) or bool(_OF_FLIGHT.search(question))


def leaks(item: DraftItem) -> Iterator[Measure]:
    """The question holds its right option and no other, or brings options of its own."""
    question = tokens(item.question)
    is_told = contains(question, tokens(item.answer)) or content(item.answer) <= content(item.question)
    is_told = is_told and not any(content(wrong) <= content(item.question) for wrong in item.wrong)
    yield rule("invalid_or_ambiguous_answer_in_question", float(is_told), "<=", 0, "answers")
    listed = bool(_LETTERED.search(item.question))
    yield rule("invalid_or_ambiguous_options_in_question", float(listed), "<=", 0, "lists of options")


def lengths(item: DraftItem) -> Iterator[Measure]:
    """A question, of so many words; a right option that is much the longest gives itself away."""
    least, most = QUESTION_WORDS
    asked, right = len(item.question.split()), len(item.answer.split())
    longest_wrong = max(len(option.split()) for option in item.wrong)
    factor, more = STANDS_OUT
    yield rule("invalid_or_ambiguous_no_question", normalized(item.question).count("?"), ">=", 1, "question marks")
    yield rule("invalid_or_ambiguous_too_short", asked, ">=", least, "words")
    yield rule("invalid_or_ambiguous_too_long", asked, "<=", most, "words")
    yield rule("choices_too_long", max(right, longest_wrong), "<=", OPTION_WORDS, "words")
    yield rule("choices_right_stands_out", right, "<=", factor * longest_wrong + more, "words")


def relative(item: DraftItem, facts: ObservedFacts) -> DraftItem:
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
                phrase = f"{match['go']} {FLOWN_AS[side]}" if pattern is FLOWN else PLACED_AS[side]
                text, hidden = (t[: match.start()] + phrase + t[match.end() :] for t in (text, hidden))
        return text

    return replace(
        item,
        question=rewritten(item.question),
        answer=rewritten(item.answer),
        wrong=tuple(rewritten(option) for option in item.wrong),
    )
