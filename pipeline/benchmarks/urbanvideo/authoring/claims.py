"""Checks claims of a question and its right option against the observed flight: order, counts, sizes, places."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.words import (
    ANY_SIDE,
    CLAUSE,
    MEANT,
    MOVEMENT,
    NUMBER_OF,
    NUMBERS,
    THINGS,
    TIMES_OF,
    UNITS,
    UNREAL,
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
from pipeline.benchmarks.urbanvideo.authoring.writing import Extract
from pipeline.core.arrays import FloatArray
from pipeline.questions.rules import Measure, rule

NUMBER_OFF_MAX: Final = 0.2  # share by which a told number may differ: people and models round
PHASE: Final = 1 / 3  # of the flight is its beginning, as much its end
_NUMBER: Final = rf"(?P<n>\d+(?:\.\d+)?|{'|'.join([*NUMBERS[1:], *NUMBER_OF])})"
_SIZE: Final = re.compile(rf"\b{_NUMBER}[ -]?(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})s?(?!\w)")
_SINCE: Final = re.compile(r"\b(?:at|after|by|until|from|around|second) (?:about )?$")
_STILL: Final = re.compile(r"turn|gimbal|hover|tilt")  # movements without metres: these are of what else is done
_CLOCK: Final = re.compile(r"\b(?P<m>\d{1,2}):(?P<s>\d\d)\b")
_TIMES: Final = re.compile(rf"\b(?:(?P<word>once|twice|thrice)|{_NUMBER} times)\b")
_COUNTED: Final = re.compile(rf"\b{_NUMBER} (?P<things>(?:[\w-]+ ){{0,2}}[\w-]+)")
EARLY: Final = re.compile(
    r"\b(?:at|in|from|near) the (?:very )?(?:beginning|start|outset|initial|early)\b|\binitial(?:ly)?\b|\bat first\b|"
    r"\b(?:in|during|over) the (?:very )?first (?:few )?(?:seconds|moments)\b|\bat the very start\b"
)
LATE: Final = re.compile(r"\b(?:at|in|near|towards) the (?:very )?(?:end|final|last)\b|\bfinally\b|\bin the end\b")
_TOWARDS: Final = re.compile(
    r"\b(?:towards?|closer to|approach(?:es|ed|ing)?|near(?:s|ed|ing)|reach(?:es|ed|ing)?) (?:the )?_"
)
_AWAY: Final = re.compile(
    r"\b(?:away from|farther from|further from|left behind|leav(?:es|ing)|retreat(?:s|ed|ing)? from) (?:the )?_"
)
_OVER: Final = re.compile(
    r"\b(?:fl(?:y|ies|ew|ying|own)|pass(?:es|ed|ing)?|cross(?:es|ed|ing)?|hover(?:s|ed|ing)?)"
    r"(?: directly| straight| right)? (?:over|above) (?:the )?_"
)
_HIGHER: Final = re.compile(r"\b(?:above|higher than|clear(?:s|ed|ing)?)(?: the (?:top|roof) of)? (?:the )?_")
_LOWER: Final = re.compile(r"\b(?:below|lower than|beneath)(?: the (?:top|roof) of)? (?:the )?_")
_DOES: Final = re.compile(
    r"\b(?:what|which)\b.*?\b(?:(?:does|did) .*\bdo|movements?|steps?|actions?)\b.*\b(?P<order>after|before|once)\b"
)
_ASKED: Final = re.compile(r"\b(?:what|which)\b")
_INSTEAD: Final = re.compile(r"\b(?:instead of|rather than|without(?= \w+ing\b)) (?P<what>[^,?;]*)")
_HAD_NOT: Final = re.compile(r"\b(?:had not|hadn't|had (?:it|the \w+) not|did not|didn't) (?P<what>[^,?;]*)")

_LEFT_OUT: Final = re.compile(
    r"\b(?:skip(?:s|ped)?|le(?:ft|aves?) out|omit(?:s|ted)?|drop(?:s|ped)?|miss(?:es|ed)?|cancel(?:s|led)?) "
    r"(?P<what>(?:the|its|that|this) [^,?;:]*)"
)


def claims(texts: Sequence[str], facts: ObservedFacts, known: Extract) -> Iterator[Measure]:
    """Rules that hold the claims of texts against the flight. Nothing is held against what was not observed.

    Args:
        texts: the texts; what they only suppose is left alone.
        facts: of the flight.
        known: movements and objects.
    """
    if known.movements:
        narrated = [story for text in texts for story in stories(without(text, known.objects))]
        narrated += [story for text in texts[:1] for story in _asked_for(text, texts[1:], known)]
        order = sum(not_made([m for m in story if observable(m, facts)], known.movements) for story in narrated)
        yield rule("invalid_or_ambiguous_order", order, "<=", 0, "movements")
    if facts.segments:
        yield rule("invalid_or_ambiguous_times", _miscounted(texts, facts, known), "<=", 0, "times")
        yield rule("invalid_or_ambiguous_when", mistimed_s(texts, facts, known), "<=", 0, "s")
        off = max((_size_off(text, facts, known) for text in texts), default=0.0)
        yield rule("hallucination_number", off, "<=", NUMBER_OFF_MAX, "share")
    counted = sum(_too_many(text, facts, known) for text in texts)
    yield rule("hallucination_count", counted, "<=", 0, "things")
    yield from _places(texts, facts)


def _asked_for(question: str, answers: Sequence[str], known: Extract) -> Iterator[list[str]]:
    """Movements of question and answer in one, where it asks what is done after or before others."""
    found = _DOES.search(normalized(question))
    if found:
        named = movements(without(question, known.objects))
        for answer in answers:
            done = movements(without(answer, known.objects))
            yield [*done, *named] if found["order"] == "before" else [*named, *done]


def supposed_instead(question: str) -> list[str]:
    """The premises of a question ("instead of ascending", "had it not turned"): these must be so."""
    text = normalized(question)
    return [match["what"] for pattern in (_INSTEAD, _HAD_NOT, _LEFT_OUT) for match in pattern.finditer(text)]


def not_made(texts: Sequence[str], made: Sequence[tuple[str, ...]]) -> int:
    """How many movements find no place in the flight after those said before; one stretch may make several at once."""
    missing, at, here = 0, 0, set[str]()
    for movement in texts:
        for n in range(at, len(made)):
            does = set(MEANT[movement]) & set(made[n]) - (here if n == at else set())
            if does:
                at, here = n, (here if n == at else set()) | does
                break
        else:
            missing += 1
    return missing


def observable(movement: str, facts: ObservedFacts) -> bool:
    """Whether the log could tell of a movement: it has a gimbal, or a heading."""
    if not facts.segments or movement in {"ascend", "descend"}:
        return True
    gimbal = movement.startswith("gimbal")
    return any((s.gimbal_deg if gimbal else s.turn_deg) is not None for s in facts.segments)


def described(text: str, facts: ObservedFacts) -> list[int]:
    """Landmarks that a text speaks of, by their label or by a description that fits one alone."""
    labels = [str(facts.flight.landmarks[n].label) for n in facts.landmarks]
    named = [n for n, label in zip(facts.landmarks, labels, strict=True) if without(text, [label]) != text]
    nouns = frozenset(singular(word) for n in facts.landmarks for word in words_of(n, facts).lower().split()[-1:])
    for thing in things(without(text, labels), (), nouns):
        fits = [n for n in facts.landmarks if covered(thing, [words_of(n, facts)])]
        named += [fits[0]] if len(fits) == 1 and fits[0] not in named else []
    return named


def side_off_deg(text: str, about: str, facts: ObservedFacts, time_s: float | None) -> float | None:
    """By how much the sides at which a text puts landmarks miss them; None where it puts none.

    Clause by clause: a side is that of the landmark in its clause, else of the only one that text and question name.
    """
    worst: float | None = None
    for clause in _clauses(text):
        found, here = sides(clause), described(clause, facts)
        if not here and (_ASKED.search(normalized(clause)) or not things(clause, ())):
            here = described(f"{about} {text}", facts)
        if len(found) != 1 or len(here) != 1:
            continue
        off = facts.off_side_deg(here[0], found[0], time_s)
        if off is not None:
            worst = off if worst is None else max(worst, off)
    return worst


def _clauses(text: str) -> list[str]:
    return [part for part in re.split(r"[,;.]\s|\b(?:and|while|but|as|because|since|when)\b", text) if part.strip()]


def words_of(n: int, facts: ObservedFacts) -> str:
    """The name and the sort of a landmark."""
    landmark = facts.flight.landmarks[n]
    return f"{landmark.label} {landmark.sort or ''}"


def _runs(movement: str, facts: ObservedFacts) -> int:
    does = [bool(set(MEANT[movement]) & set(segment.actions)) for segment in facts.segments]
    return sum(now and not before for before, now in zip([False, *does], does, strict=False))


def _miscounted(texts: Sequence[str], facts: ObservedFacts, known: Extract) -> int:
    """Differences between the times that texts tell of a movement and those at which it was made."""
    off = 0
    for text in texts:
        for sentence in re.split(r"[.;,]\s| and | then | after | before ", normalized(without(text, known.objects))):
            made = [m for m in movements(sentence) if observable(m, facts)]
            times = _TIMES.search(sentence)
            if times and len(made) == 1:
                count = TIMES_OF[times["word"]] if times["word"] else _number(times["n"])
                off += abs(int(count) - _runs(made[0], facts))
    return off


def mistimed_s(texts: Sequence[str], facts: ObservedFacts, known: Extract) -> float:
    """How far a movement that is said to begin or to end the flight is from its first or last third."""
    end_s = max(segment.end_s for segment in facts.segments)
    off = 0.0
    for text in texts:
        for sentence in re.split(r"[.;,]\s| then | after | before ", normalized(without(text, known.objects))):
            for movement in movements(sentence):
                spans = [(s.start_s, s.end_s) for s in facts.segments if set(MEANT[movement]) & set(s.actions)]
                if not spans or not observable(movement, facts):
                    continue
                if EARLY.search(sentence):
                    off = max(off, min(start for start, _ in spans) - PHASE * end_s)
                if LATE.search(sentence):
                    off = max(off, (1 - PHASE) * end_s - max(end for _, end in spans))
    return off


def _size_off(text: str, facts: ObservedFacts, known: Extract) -> float:
    """Largest share by which a number with a unit misses all that was measured of its kind."""
    flat, worst = normalized(without(text, known.objects)), 0.0
    end_s = max(segment.end_s for segment in facts.segments)
    for match in _CLOCK.finditer(flat):
        worst = max(worst, (int(match["m"]) * 60 + int(match["s"])) / end_s - 1)
    for match in _SIZE.finditer(flat):
        kind, factor = UNITS[match["unit"]]
        value = _number(match["n"]) * factor
        before = CLAUSE.split(flat[: match.start()])[-1]
        clause = before + CLAUSE.split(flat[match.end() :])[0]
        near = [str(m.lastgroup).replace("_", " ") for m in MOVEMENT.finditer(clause)]
        near = near or [name for pattern, names in ANY_SIDE if pattern.search(clause) for name in names]
        near = [name for name in near if kind != "m" or not _STILL.match(name)]
        measured = _sizes(kind, near, bool(_SINCE.search(before)), facts)
        if kind == "m" and not near:
            measured = [*measured, *_lengths(described(text, facts), facts)]
        if kind == "s" and value <= end_s and re.search(r"\b(?:at|second) (?:about )?$", before):
            continue  # any moment of the flight
        worst = max(worst, min((abs(value - one) / max(one, 1e-9) for one in measured), default=1.0))
    return worst


def _sizes(kind: str, near: Sequence[str], moment: bool, facts: ObservedFacts) -> list[float]:
    """Measured sizes of a kind: of the movements that are named beside the number, else of all."""
    wanted = {name for movement in near for name in MEANT[movement]}
    segments = [s for s in facts.segments if not wanted or wanted & set(s.actions)]
    if kind == "deg":
        turns = not wanted or any(name.startswith("turn") for name in wanted)
        tilts = not wanted or any(name.startswith("gimbal") for name in wanted)
        return [abs(s.turn_deg) for s in segments if s.turn_deg and turns] + [
            abs(s.gimbal_deg) for s in segments if s.gimbal_deg and tilts
        ]
    if kind == "s":
        return [s.end_s - s.start_s for s in segments] + [t for s in segments if moment for t in (s.start_s, s.end_s)]
    vertical = wanted & {"ascend", "descend"}
    level = wanted - {"ascend", "descend"}
    sizes = [abs(s.climb_m) for s in segments if not level or vertical]
    sizes += [s.distance_m for s in segments if not vertical or level]
    if not len(facts.view.t_s):
        return sizes
    ends = np.searchsorted(facts.view.t_s, [t for s in segments for t in (s.start_s, s.end_s)])
    heights: list[float] = facts.view.height_m[np.clip(ends, 0, len(facts.view.t_s) - 1)].tolist()
    return sizes + heights


def _lengths(landmarks: Sequence[int], facts: ObservedFacts) -> list[float]:
    """Heights of landmarks, and their distances from the path."""
    found: list[float] = []
    for n in landmarks:
        mark = facts.flight.landmarks[n]
        found += [mark.top_m - (mark.base_m or 0.0)] if mark.top_m is not None else []
        found += facts.distance_m(n).tolist()
    return found


def _too_many(text: str, facts: ObservedFacts, known: Extract) -> int:
    """Things beyond those that are known, of those that a text counts."""
    marks = [words_of(n, facts) for n in facts.landmarks]
    others = [name for name in known.objects if name not in facts.names]
    over = 0
    for match in _COUNTED.finditer(normalized(without(text, facts.names))):
        words = match["things"].split()
        heads = [n for n, word in enumerate(words) if singular(word) in THINGS]
        if not heads or (count := _number(match["n"])) < 2:
            continue
        thing = " ".join(words[: heads[0] + 1])
        have = sum(_stated(name) for name in (*marks, *others) if covered(thing, [name]))
        over += max(0, int(count) - have)
    return over


def _stated(name: str) -> int:
    """How many things a name stands for: three for "three sailing boats"."""
    return max([1, *(int(word) for word in tokens(name) if word.isdigit() and len(word) < 4)])


def _number(word: str) -> float:
    if word in NUMBERS:
        return float(NUMBERS.index(word))
    return float(NUMBER_OF[word]) if word in NUMBER_OF else float(word)


def _places(texts: Sequence[str], facts: ObservedFacts) -> Iterator[Measure]:
    """Approaches, leavings, crossings and heights, against the path."""
    rules = facts.view.rules
    come, gone, above = 1.0, 1.0, 0.0
    high, low = 0.0, 0.0
    for text in texts:
        for clause in _clauses(normalized(text)):
            here = described(clause, facts)
            if len(here) != 1 or UNREAL.search(clause) or not len(facts.view.t_s):
                continue
            blotted = _without_landmark(clause, here[0], facts)
            distance = facts.distance_m(here[0])
            mark = facts.flight.landmarks[here[0]]
            height = facts.view.enu_m[:, 2]
            if _TOWARDS.search(blotted):
                come = min(come, _drop(distance))
            if _AWAY.search(blotted):
                gone = min(gone, _drop(distance[::-1]))
            if _OVER.search(blotted):
                above = max(above, float(distance.min()) - mark.radius_m)
            if mark.top_m is not None and _HIGHER.search(blotted):
                high = max(high, mark.top_m - float(height.max()))
            if mark.top_m is not None and _LOWER.search(blotted):
                low = max(low, float(height.min()) - mark.top_m)
    yield rule("invalid_or_ambiguous_not_approached", come, ">=", rules.change_min, "share")
    yield rule("invalid_or_ambiguous_not_left", gone, ">=", rules.change_min, "share")
    yield rule("invalid_or_ambiguous_not_over", above, "<=", rules.there_m, "m")
    yield rule("invalid_or_ambiguous_not_above", high, "<=", 0, "m")
    yield rule("invalid_or_ambiguous_not_below", low, "<=", 0, "m")


def _without_landmark(clause: str, n: int, facts: ObservedFacts) -> str:
    """A clause with what names its landmark as underscores."""
    label = str(facts.flight.landmarks[n].label)
    hidden = without(clause, [label])
    if hidden != clause:
        return hidden
    its = set(tokens(words_of(n, facts)))
    words = {word for word in re.findall(r"[\w-]+", clause) if set(tokens(word)) & its}
    return re.sub(r"_(?: _+)+", "_", without(clause, words))


def _drop(distance_m: FloatArray) -> float:
    """Largest share by which a distance (T,) shrinks from one time to a later one."""
    before = np.maximum(np.maximum.accumulate(distance_m), 1e-9)
    return float(np.max(1.0 - distance_m / before, initial=0.0))
