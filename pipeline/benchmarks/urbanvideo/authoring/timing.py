"""Checks statements of time and frequency in a question and its right option against the flight."""

import re
from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.claims import EARLY, LATE, PHASE, described, observable
from pipeline.benchmarks.urbanvideo.authoring.meaning import Asks
from pipeline.benchmarks.urbanvideo.authoring.observed import NOW_S, ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.words import (
    ANY_SIDE,
    MEANT,
    MOVEMENT,
    NUMBERS,
    PHRASES,
    SEEN,
    movements,
    normalized,
    without,
)
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem, Extract
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.flight.facts import Segment

Span = tuple[float, float]

_DIRECTLY: Final = re.compile(
    r"\bas soon as\b|\bno sooner\b|\b(?:right|just|straight|directly|immediately|shortly) after\b|\bthe moment\b"
)
_DURING: Final = re.compile(r"\b(?:while|as|during|when|in the course of)\b(?P<what>[^,?;]*)")
_AFTER: Final = re.compile(r"\b(?:after|following|once)\b(?P<what>[^,?;]*)")
_BEFORE: Final = re.compile(r"\b(?:before|prior to|until)\b(?P<what>[^,?;]*)")
_SHOWN: Final = re.compile(
    r"\b(?:in the (?:picture|frame|image|video|shot)|camera (?:\w+ )?(?:shows?|faces?|captures?|films?|looks? at)|"
    r"(?:comes?|came) into|look(?:s|ed|ing)? at|film(?:s|ed|ing)?|watch(?:es|ed|ing)?|"
    r"can be made out|is (?:shown|filmed)|shows?)\b"
)
_PLACES: Final = {"first": 0, "second": 1, "third": 2, "last": -1, "final": -1}
_EVENT: Final = re.compile(
    r"\b(?P<link>after|following|before) (?:the|its) (?:(?P<place>first|second|third|last|final) )?"
    r"(?P<what>(?:\w+ )?(?:turn|descent|ascent|climb)(?: to the (?:left|right))?)\b"
)
_PASSED: Final = re.compile(
    r"\b(?P<link>after|before|until|once) (?:it|the drone|the uav|the agent)(?: has| had)? "
    r"(?:(?:flies|flew|flown|goes|went|gone|moves|moved) (?:past|by|over)|pass(?:es|ed)(?: by| over)?|reach(?:es|ed)|"
    r"(?:comes?|came|gets?|got) to|arriv(?:es|ed) at)(?P<what>[^,?;]*)"
)
_WINDOW: Final = re.compile(
    rf"\b(?:in|within|during|over|for) the (?P<end>first|last|final|opening|closing) (?P<n>\d+|{'|'.join(NUMBERS)}|"
    r"few|twenty|thirty) seconds\b"
)
_MORE_NUMBERS: Final = {"few": 5, "twenty": 20, "thirty": 30}
_OF_WHAT: Final = re.compile(r"\b(?:see|sees|saw|seen|shows?|shown|visible|in view) of (?P<what>[^,?;]*)")
_SECOND: Final = re.compile(r"\b(?:second|third|fourth|last|final)\b")
_HOW_OFTEN: Final = re.compile(r"\bhow (?:many times|often)\b(?P<what>[^?]*)")
_NUMBER: Final = re.compile(rf"\b(?P<n>\d+|{'|'.join(NUMBERS)}|once|twice|thrice|never)\b")
_WORDS: Final = {"once": 1, "twice": 2, "thrice": 3, "never": 0}


def timing(item: DraftItem, facts: ObservedFacts, known: Extract, asks: Asks) -> Iterator[Measure]:
    """The rules of time. Nothing is held against what was not observed.

    Args:
        item: its question must not suppose what was not.
        facts: of the flight.
        known: movements and objects.
        asks: the form of the question.
    """
    question = normalized(without(item.question, known.objects))
    if facts.segments:
        misplaced = _misplaced(question, facts) + _mispassed(normalized(item.question), facts)
        yield rule("invalid_or_ambiguous_not_then", misplaced, "<=", 0, "movements")
    if known.movements:
        yield rule("invalid_or_ambiguous_not_directly", _not_next(question, known, facts), "<=", 0, "movements")
    if not facts.segments:
        return
    match = _HOW_OFTEN.search(question)
    answers = _NUMBER.search(normalized(item.answer))
    done = _counted(match["what"], facts) if match else None
    if answers and done is not None:
        word = answers["n"]
        number = _WORDS.get(word, NUMBERS.index(word) if word in NUMBERS else None)
        yield rule("hallucination_how_often", abs((int(word) if number is None else number) - done), "<=", 0, "times")
    if asks == "what" and facts.views is not None and is_about_sight(question):
        when = spans(question, facts)
        told_of = _OF_WHAT.search(normalized(item.question))
        spoken = {*described(item.answer, facts), *(described(told_of["what"], facts) if told_of else ())}
        away = sum(not is_shown_in(n, when, facts) for n in spoken) if when else 0
        yield rule("hallucination_not_in_view_then", away, "<=", 0, "landmarks")


def _not_next(question: str, known: Extract, facts: ObservedFacts) -> int:
    """Movements that are said to follow directly on another one, and never do."""
    wrong = 0
    for sentence in re.split(r"[.;?]", question):
        named = [(m.start(), str(m.lastgroup).replace("_", " ")) for m in MOVEMENT.finditer(sentence)]
        for link in _DIRECTLY.finditer(sentence):
            before = [name for at, name in named if at < link.start()]
            after = [name for at, name in named if at >= link.end()]
            if not before:  # "as soon as it had risen, it turned"
                before, after = after[1:2], after[:1]
            if before and after and observable(before[-1], facts) and observable(after[0], facts):
                wrong += not _follows(after[0], before[-1], known.movements)
    return wrong


def _misplaced(question: str, facts: ObservedFacts) -> int:
    """Movements that are said to come after, or before, the first, second or last of some others, and never do."""
    wrong = 0
    for sentence in re.split(r"[.;?]", question):
        for event in _EVENT.finditer(sentence):
            runs = _runs(event["what"], facts)
            place = _PLACES[event["place"]] if event["place"] else 0
            rest = sentence[: event.start()] + "," + sentence[event.end() :]
            named = [name for name in movements(rest) if observable(name, facts)]
            if not runs or (not event["place"] and len(runs) > 1) or len(named) != 1:
                continue
            if place >= len(runs):
                wrong += 1
                continue
            start, end = runs[place]
            made = [(s.start_s, s.end_s) for s in facts.segments if set(MEANT[named[0]]) & set(s.actions)]
            follows = event["link"] != "before"
            wrong += not any(a >= end - NOW_S if follows else b <= start + NOW_S for a, b in made)
    return wrong


def _mispassed(question: str, facts: ObservedFacts) -> int:
    """Movements that are said to come before, or after, the drone passes a landmark, and never do."""
    found = _PASSED.search(question)
    marks = described(found["what"], facts) if found else []
    named = movements(question[: found.start()] + "," + question[found.end() :]) if found else []
    named = [name for name in named if observable(name, facts)]
    if not found or len(set(marks)) != 1 or len(named) != 1:
        return 0
    away_m = facts.distance_m(*set(marks))
    if not len(away_m):
        return 0
    passed_s = float(facts.view.t_s[int(away_m.argmin())])
    made = [(s.start_s, s.end_s) for s in facts.segments if set(MEANT[named[0]]) & set(s.actions)]
    follows = found["link"] in {"after", "once"}
    return int(not any(b >= passed_s - NOW_S if follows else a <= passed_s + NOW_S for a, b in made))


def _runs(what: str, facts: ObservedFacts) -> list[Span]:
    """When the movement that some words name is made, neighbours as one; empty where they name none or several."""
    meant = _movement_of(what)
    if meant is None or not observable(meant[0], facts):
        return []
    found: list[Span] = []
    does = False
    for segment in facts.segments:
        did, does = does, bool(set(meant) & set(segment.actions))
        if does:
            found.append((found.pop()[0], segment.end_s) if did else (segment.start_s, segment.end_s))
    return found


def _movement_of(what: str) -> tuple[str, ...] | None:
    named = [MEANT[name] for name in dict.fromkeys(str(m.lastgroup).replace("_", " ") for m in MOVEMENT.finditer(what))]
    named = named or [meant for pattern, meant in ANY_SIDE if pattern.search(what)]
    return named[0] if len(named) == 1 else None


def _follows(first: str, then: str, made: tuple[tuple[str, ...], ...]) -> bool:
    """Whether a movement is made with the end of another, or in the stretch after it."""
    does = [(set(MEANT[first]) & set(m), set(MEANT[then]) & set(m)) for m in made]
    return any(a and (b or (n + 1 < len(does) and does[n + 1][1])) for n, (a, b) in enumerate(does))


def _counted(what: str, facts: ObservedFacts) -> int | None:
    """How often a movement is made that a question names; None where it names none, or several."""
    meant = _movement_of(what)
    return len(_runs(what, facts)) if meant and observable(meant[0], facts) else None


def spans(question: str, facts: ObservedFacts) -> list[Span]:
    """The stretches of the flight that a question asks about, seconds; empty where it names none that is clear."""
    end_s = max(segment.end_s for segment in facts.segments)
    window = _WINDOW.search(question)
    if window:
        word = window["n"]
        length = _MORE_NUMBERS.get(word) or (NUMBERS.index(word) if word in NUMBERS else int(word))
        return [(0.0, length) if window["end"] in {"first", "opening"} else (max(0.0, end_s - length), end_s)]
    early, late = bool(EARLY.search(question)), bool(LATE.search(question))
    for pattern in (_DURING, _AFTER, _BEFORE):
        clause = pattern.search(question)
        made = _named_segments(clause["what"], facts) if clause else []
        if not clause or not made:
            continue
        if pattern is _DURING:
            chosen = made[:1] if early else made[-1:] if late else made
            return [(s.start_s, s.end_s) for s in chosen]
        if len(made) > 1 and _SECOND.search(clause["what"]):
            return []
        return [(made[0].end_s, end_s)] if pattern is _AFTER else [(0.0, made[-1].start_s)]
    if early != late:
        return [(0.0, PHASE * end_s)] if early else [((1 - PHASE) * end_s, end_s)]
    return []


def _named_segments(clause: str, facts: ObservedFacts) -> list[Segment]:
    """The segments of the one movement that a clause names."""
    made = [name for name in movements(clause) if name in PHRASES]
    if len(made) != 1:
        return []
    return [s for s in facts.segments if set(MEANT[made[0]]) & set(s.actions)]


def is_about_sight(question: str) -> bool:
    """Whether a question asks what the video shows."""
    return bool(SEEN.search(question) or _SHOWN.search(question))


def is_shown_in(landmark: int, when: list[Span], facts: ObservedFacts) -> bool:
    """Whether a landmark is in the picture in one of some stretches, or nearly."""
    views = (facts.views or {}).get(landmark, ())
    return any(start <= end + NOW_S and begin <= stop + NOW_S for start, stop in views for begin, end in when)
