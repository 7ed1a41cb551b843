"""Contradictions within a released file: of two of its rows, and of a pose that does not show its own target.

Rows of one raw task (words asked, target, observation pose, answer) are one claim. Of each claim follow facts: how many
there are of something at a place, whether there are any, the colour, name or signboard of a target, what lies left or
right of what. Two claims whose facts cannot both be true contradict one another; a claim whose answer follows from
those of others is confirmed by them. Neither says which row is wrong: the city is no part of the file.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from operator import itemgetter
from typing import Any, Final

from pipeline.benchmarks.cityeqa.released import ReleasedTask, off_deg
from pipeline.benchmarks.cityeqa.wording import parse
from pipeline.core.groups import grouped
from pipeline.core.templates import load_table
from pipeline.geometry.colours import WORDS
from pipeline.metrics.number_words import normalised

HALF_VIEW_DEG: Final = 45.0  # of a picture 90 degrees wide
HERE_M: Final = 1.0  # under which a bearing says nothing: poses are whole metres
SAME_PLACE_M: Final = 2.0  # between two targets of one thing, on the ground
SAME_SCENE_M: Final = 60.0  # between two targets of which words mean the same shop: chains have others farther off
SIDE_DEG: Final = 3.0  # between two things, so that one is left of the other
_TABLE: Final[dict[str, Any]] = load_table("cityeqa/released_questions")
_ASKED: Final = {form: re.compile(text.replace("{what}", "(?P<what>.+)")) for form, text in _TABLE["asked"].items()}
_RELATIONS: Final = {words: name for name, many in _TABLE["relations"].items() for words in many}
_RELATION: Final = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _RELATIONS), key=len, reverse=True))})\b")
_NAMED: Final = re.compile(r"^(?P<thing>.+?) named (?P<name>.+)$")
_SIGNED: Final = re.compile(
    r"^(?P<thing>.+?) with an? ?(?P<sign>\w+) signboard$|^(?P<one>.+?) with (?P<bare>\w+) signboard$"
)
_FILLER: Final = frozenset(_TABLE["filler"])
_UNREAD: Final = frozenset(_TABLE["unread"])
LEFT, RIGHT = "left of", "right of"
ACROSS: Final = "across from"
_AT_TARGET: Final = {"", "in", "in front of", "of"}  # relations of things that are, or are at, their row's target
_OPPOSITE: Final = {LEFT: RIGHT, RIGHT: LEFT}


@dataclass(frozen=True)
class DescribedTarget:
    """A thing as a released question calls it.

    Attributes:
        head: its noun: "car", also of a jeep.
        modifiers: what else it is called: {"jeep"}.
        sign: colour of its signboard.
        relation: to what it lies at, one of the table's; "" for none.
        place: what it lies at.
    """

    head: str
    modifiers: frozenset[str] = frozenset()
    colour: str = ""
    sign: str = ""
    name: str = ""
    relation: str = ""
    place: DescribedTarget | None = None

    @property
    def alone(self) -> DescribedTarget:
        """The thing without where it lies."""
        return replace(self, relation="", place=None)

    def includes(self, other: DescribedTarget) -> bool:
        """Whether each thing that is called as ``other`` may be called so too, wherever it lies."""
        return (
            self.head == other.head
            and self.modifiers <= other.modifiers
            and all(getattr(self, of) in {"", getattr(other, of)} for of in ("colour", "sign", "name"))
        )


def described(text: str) -> DescribedTarget | None:
    """A thing with where it lies, of lower-case words without marks; None for words that name none."""
    named = _NAMED.match(text)
    relation = _RELATION.search(text, 0, named.start("name") if named else len(text))
    if relation is not None:
        thing, place = described(text[: relation.start()]), described(text[relation.end() :])
        return None if thing is None or place is None else replace(thing, relation=_RELATIONS[relation[0]], place=place)
    if named is not None:
        thing = described(named["thing"])
        return None if thing is None else replace(thing, name=" ".join(named["name"].split()))
    signed = _SIGNED.match(text)
    if signed is not None:
        thing = described(signed["thing"] or signed["one"])
        return None if thing is None else replace(thing, sign=signed["sign"] or signed["bare"])
    words = [word for word in text.split() if word not in _FILLER]
    if not words or not _UNREAD.isdisjoint(words):
        return None
    *before, last = words
    colours = [word for word in before if word in WORDS]
    modifiers = {word for word in before if word not in WORDS}
    if last in _TABLE["also"]:
        modifiers.add(last.removesuffix("s"))
    head = _TABLE["also"].get(last) or _TABLE["heads"].get(last, last)
    return DescribedTarget(
        head, frozenset(word.removesuffix("s") for word in modifiers if word != head), "".join(colours[:1])
    )


@dataclass(frozen=True, eq=False)
class Claim:
    """What rows of one raw task say.

    Attributes:
        rows: that say it, the first first.
        form: of the question, one of the table's; "" for another.
        what: that it asks about; None where that was not read.
        answer: in one form (`normalised`).
    """

    rows: tuple[ReleasedTask, ...]
    asked: str
    form: str
    what: DescribedTarget | None
    answer: str

    @property
    def task(self) -> ReleasedTask:
        """The first of its rows."""
        return self.rows[0]

    @property
    def at(self) -> tuple[float, float]:
        """Where the target is, on the ground."""
        return self.task.target[:2]

    @property
    def number(self) -> int | None:
        """The count that it answers with."""
        value = "1" if self.answer == "one" else "0" if self.answer in {"none", "zero"} else self.answer
        return int(value) if self.form == "count" and value.isascii() and value.isdigit() else None

    @property
    def least(self) -> int | None:
        """How many there are at least of what it asks about; None where it tells nothing of that."""
        if self.form == "exists":
            return {"yes": 1, "no": 0}.get(self.answer)
        return self.number if self.form == "count" else 1

    @property
    def most(self) -> float:
        """How many there are at most."""
        if self.form == "exists" and self.answer == "no":
            return 0
        return math.inf if self.number is None else self.number


@dataclass(frozen=True)
class Contradiction:
    """What cannot be true together.

    Attributes:
        reason: machine-readable name.
        other: the second claim; None where one row contradicts itself.
        measured: with its limit, in ``unit``; None where nothing was measured.
    """

    reason: str
    one: Claim
    other: Claim | None = None
    measured: float | None = None
    limit: float | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Consistency:
    """All that was found, and the claims whose answer follows from another: claim -> that one."""

    contradictions: tuple[Contradiction, ...]
    confirmed: dict[Claim, Claim]


def examine_claims(tasks: Sequence[ReleasedTask]) -> Consistency:
    """Holds the claims of a file against their poses and one another."""
    claims = claims_of(tasks)
    found: dict[Hashable, Contradiction] = {}
    confirmed: dict[Claim, Claim] = {}
    for claim in claims:
        is_aside = any(words in claim.asked for words in _TABLE["relations"][ACROSS])  # the pose looks the other way
        if (off := off_view_deg(claim.task)) is not None and off > HALF_VIEW_DEG and not is_aside:
            found[claim, "target_out_of_view"] = Contradiction(
                "target_out_of_view", claim, None, off, HALF_VIEW_DEG, "deg"
            )
    for rule in (_same_words, _counts, _attributes, _neighbours, _sides):
        for one, other, reason, measured in rule(claims):
            if not reason:
                confirmed.setdefault(one, other)
            elif (other, one, reason) not in found and (one, other, reason) not in found:
                limit, unit = (0.0, "deg") if reason == "side_mirrored" else (None, None)
                found[one, other, reason] = Contradiction(reason, one, other, measured, limit, unit)
    return Consistency(tuple(found.values()), confirmed)


def claims_of(tasks: Iterable[ReleasedTask]) -> list[Claim]:
    """The claims of rows, in the order of their first rows."""
    groups: dict[tuple[str, str, Hashable], list[ReleasedTask]] = defaultdict(list)
    for task in tasks:
        told = parse(task.question)
        asked = _normalized(told.question if told else task.question)
        groups[asked, normalised(task.answer), (task.target, task.observation)].append(task)
    found = []
    for (asked, answer, _), rows in groups.items():
        form, what = _read(asked)
        found.append(Claim(tuple(rows), asked, form, what, answer))
    return found


def off_view_deg(task: ReleasedTask) -> float | None:
    """By how much a task's observation pose looks past its target, degrees; None where it stands at it."""
    east, north = (b - a for a, b in zip(task.observation[:2], task.target[:2], strict=True))
    return None if math.hypot(east, north) < HERE_M else off_deg(_bearing(east, north), task.observation.yaw)


Finding = tuple[Claim, Claim, str, float | None]
"""Two claims, why they contradict one another, and what was measured; "": the second confirms the first."""


def _normalized(question: str) -> str:
    """Words in lower case without marks and what says how to answer."""
    bare = re.sub(r"\((?:yes|no|or|/|\s)+\)", " ", question.casefold())
    return " ".join(re.sub(r"[^\w\s&+.-]|\.(?!\w)", " ", bare.replace("'", "").replace("\u2019", "")).split())


def _read(asked: str) -> tuple[str, DescribedTarget | None]:
    for form, pattern in _ASKED.items():
        if match := pattern.match(asked):
            what = described(match["what"])
            if (
                what is not None
                and what.relation == "of"
                and what.place is not None
                and what.place.relation in _OPPOSITE
            ):
                what = replace(what, relation=what.place.relation, place=what.place.place)  # of what lies to that side
            return form, what
    return "", None


def _bearing(east: float, north: float) -> float:
    return math.degrees(math.atan2(east, north))


def _are_near(one: Claim, other: Claim, within_m: float) -> bool:
    return math.dist(one.at, other.at) <= within_m


def _agree(one: str, other: str) -> bool:
    """Whether two answers may mean the same: "yellow" and "yellow and black" may, "yes" and "no" do not."""
    a, b = set(one.split()), set(other.split())
    return a <= b or b <= a


def _pairs(claims: Iterable[Claim], key: Callable[[Claim], Hashable]) -> Iterator[tuple[Claim, Claim]]:
    for group in grouped(claims, key).values():
        yield from combinations(group, 2)


def _same_words(claims: Sequence[Claim]) -> Iterator[Finding]:
    """The same words asked of one target, with two answers."""
    for one, other in _pairs(claims, lambda claim: claim.asked):
        if _are_near(one, other, SAME_PLACE_M) and not _agree(one.answer, other.answer):
            yield one, other, "answers_contradict", None


def _counts(claims: Sequence[Claim]) -> Iterator[Finding]:
    """How many there are at a place: a part is no more than the whole, and what has a colour is there."""
    placed = [
        claim
        for claim in claims
        if claim.what is not None
        and claim.what.place is not None
        and claim.form in {"count", "exists", "colour", "type"}
        and claim.what.relation not in {"of", LEFT, RIGHT}
    ]
    for group in grouped(placed, lambda claim: claim.what and (claim.what.relation, claim.what.place)).values():
        for whole, part in permutations(group, 2):
            if whole.what is None or part.what is None or not whole.what.alone.includes(part.what.alone):
                continue
            asked_here = {whole.form, part.form} <= {"count", "exists"}
            if not _are_near(whole, part, SAME_PLACE_M if asked_here else SAME_SCENE_M):
                continue
            if part.least is not None and part.least > whole.most:
                yield whole, part, "counts_contradict", None
            elif (
                whole.form == "exists"
                and part.form != "exists"
                and ((part.least or 0) > 0 if whole.answer == "yes" else part.number == 0 and whole.what == part.what)
            ):
                yield whole, part, "", None
            if part.form in {"colour", "type"} and whole.what.alone == part.what.alone and (whole.number or 0) > 1:
                yield part, whole, "one_of_several", None


@dataclass(frozen=True)
class _Known:
    """What a claim tells of the thing at its target; ``is_answer``: as its answer, and not in its words."""

    claim: Claim
    of: str
    value: str
    is_answer: bool


def _known_targets(claims: Sequence[Claim]) -> list[_Known]:
    """Colours, names and colours of signboards of targets."""
    found = []
    for claim in claims:
        what = claim.what
        if what is None or what.relation not in _AT_TARGET:
            continue
        if claim.form in {"count", "exists"}:  # the target is the place; of a shop it is the shop
            target = what.place if what.relation in {"in", "in front of"} else None
        elif what.relation == "of" and what.head == "signboard" and claim.form == "colour":
            target = what.place
            found.append(_Known(claim, "sign", claim.answer, is_answer=True))
        else:
            target = what.alone
            if claim.form in {"colour", "name"}:
                of = "sign" if (claim.form, what.head) == ("colour", "signboard") else claim.form
                found.append(_Known(claim, of, claim.answer, is_answer=True))
        if target is not None:
            sign = target.sign or (target.colour if target.head == "signboard" else "")
            colour = "" if target.head == "signboard" else target.colour
            told = {"name": normalised(target.name), "sign": sign, "colour": colour}
            found += [_Known(claim, of, value, is_answer=False) for of, value in told.items() if value]
    return found


def _attributes(claims: Sequence[Claim]) -> Iterator[Finding]:
    """Two colours, names or signboards of one target, and two signboards of one name about a place."""
    known = _known_targets(claims)
    by_target = grouped(known, lambda one: (one.of, one.claim.task.target.place))
    names: dict[Hashable, set[str]] = defaultdict(set)
    for one in known:
        if one.of == "name":
            names[one.claim.task.target.place].add(one.value)
    signs = [(name, one) for one in known if one.of == "sign" for name in names[one.claim.task.target.place]]
    by_name = [[one for _, one in group] for group in grouped(signs, itemgetter(0)).values()]
    for group in [*by_target.values(), *by_name]:
        for a, b in permutations(group, 2):
            if a.claim == b.claim or a.claim.asked == b.claim.asked or not _are_near(a.claim, b.claim, SAME_SCENE_M):
                continue
            if not _agree(a.value, b.value):
                yield a.claim, b.claim, f"{a.of}s_contradict", None
            elif a.is_answer and a.value == b.value and not _is_sided(a.claim):  # the side would stay unexamined
                yield a.claim, b.claim, "", None


def _neighbours(claims: Sequence[Claim]) -> Iterator[Finding]:
    """Two answers to what lies on one side of a thing; and A left of B where B is left of A."""
    sided = [c for c in claims if _is_sided(c) and c.form in {"colour", "name"}]
    for one, other in _pairs(sided, lambda c: (c.form, c.what)):
        # The same words about one place are told by `_same_words`.
        is_told = one.asked == other.asked and _are_near(one, other, SAME_PLACE_M)
        if not is_told and _are_near(one, other, SAME_SCENE_M) and not _agree(one.answer, other.answer):
            yield one, other, "neighbours_contradict", None
    for one, other in combinations(sided, 2):
        if one.form != other.form or not _are_near(one, other, SAME_SCENE_M) or one.what is None or other.what is None:
            continue
        if _calls(one.what.place, other) and _calls(other.what.place, one):
            if one.what.relation == other.what.relation:
                yield one, other, "neighbours_contradict", None
            else:
                yield one, other, "", None
                yield other, one, "", None


def _is_sided(claim: Claim) -> bool:
    return claim.what is not None and claim.what.relation in _OPPOSITE


def _calls(place: DescribedTarget | None, by: Claim) -> bool:
    """Whether a thing is what a claim answers with: its name, or its colour."""
    if place is None:
        return False
    if by.form == "name":
        return normalised(place.name) == by.answer
    return by.answer in {place.sign, place.colour} and bool(by.answer)


def _sides(claims: Sequence[Claim]) -> Iterator[Finding]:
    """Left and right as the observation pose sees them, where other claims tell where both things are."""
    known = _known_targets(claims)
    for claim in claims:
        what = claim.what
        if what is None or what.place is None or not _is_sided(claim):
            continue
        near = [k for k in known if _are_near(k.claim, claim, SAME_SCENE_M) and not _is_sided(k.claim)]
        anchor = [k for k in near if _matches(what.place, k)]
        answered = [k for k in near if k.value == claim.answer and k.of in {"name", "sign"}]
        places = {k.claim.at for k in anchor}
        target = claim.at
        if any(math.dist(target, place) <= SAME_PLACE_M for place in places):
            others = {k.claim.at for k in answered}
            if len(others) != 1:  # the target is the thing beside which it lies, and where that is nobody tells
                continue
            (target,) = others
        if len(places) != 1:  # nobody tells where it is, or two do differently
            continue
        (place,) = places
        turns = [_bearing(x - claim.task.observation.x, y - claim.task.observation.y) for x, y in (place, target)]
        turn = (turns[1] - turns[0] + 180) % 360 - 180
        if min(math.dist(claim.task.observation[:2], at) for at in (place, target)) < HERE_M or not (
            SIDE_DEG <= abs(turn) <= 180 - SIDE_DEG
        ):
            continue
        seen = RIGHT if turn > 0 else LEFT
        if seen != what.relation:
            yield claim, anchor[0].claim, "side_mirrored", turn
        elif any(math.dist(k.claim.at, target) <= SAME_PLACE_M for k in answered):
            yield claim, anchor[0].claim, "", None


def _matches(place: DescribedTarget, known: _Known) -> bool:
    """Whether what is known of a target makes it the thing that words mean."""
    if place.name:
        return known.of == "name" and known.value == normalised(place.name)
    sign = place.sign or (place.colour if place.head == "signboard" else "")
    return bool(sign) and known.of == "sign" and known.value == sign
