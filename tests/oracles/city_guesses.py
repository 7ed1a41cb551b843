"""What one earns who never sees the city: rules that a clever person would make up after reading some tasks.

Of the others' tasks a rule may learn all it likes: those of other targets.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.oracles.city_answers import plain

COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "beige", "white", "grey", "black"]
AXES = ["north", "east", "south", "west"]
_KINDS: dict[str, str] = {
    "nearer": r"Which is nearer to ",
    "tallest": r"In which direction from .+ is the tallest ",
    "direction": r"In which direction ",
    "same side": r"Is .+ on the same side of the street as ",
    "front or behind": r"Is .+ in front of .+ or behind it",
    "across": r"What is the name of the \w+ across ",
    "use": r"Is .+ a place where one can ",
    "any": r"Is there any ",
    "roof colour": r"What colour is the roof ",
    "colour": r"What colour ",
    "sort": r"What kind of ",
    "name": r"What is the name ",
    "written": r"What is written ",
    "number": r"How many ",
}


class Asked(NamedTuple):
    """A task without what an agent would see."""

    kind: str
    where: str
    question: str
    answer: str
    target: str
    choices: tuple[str, ...]


Rule = Callable[[Asked, Sequence[Asked]], str | None]


def asked(row: dict[str, Any]) -> Asked:
    """A released row as who only reads has it."""
    where, _, question = row["question"].partition("Please tell me ")
    question = plain(question)
    kind = next(kind for kind, pattern in _KINDS.items() if re.match(pattern, question))
    found = re.search(r": (the .+) or (the .+)\?", question)
    ends = ["in front of it", "behind it"]
    closed = {
        "direction": AXES,
        "tallest": AXES,
        "same side": ["yes", "no"],
        "front or behind": ends,
        "use": ["yes", "no"],
        "any": ["yes", "no"],
    }
    choices = found.groups() if kind == "nearer" and found else tuple(closed.get(kind, ()))
    return Asked(kind, where, question, row["answer"], row["group"], choices)


def _most(answers: Sequence[str]) -> str | None:
    return min(Counter(answers).items(), key=lambda item: (-item[1], item[0]))[0] if answers else None


def most_frequent(one: Asked, others: Sequence[Asked]) -> str | None:
    """What is answered most often to questions of the kind."""
    return _most([other.answer for other in others])


def as_it_says(one: Asked, others: Sequence[Asked]) -> str | None:
    """The colour that the question has already."""
    return next((word for word in re.findall(r"[a-z]+", one.question) if word in COLOURS), None)


def last_colour(one: Asked, others: Sequence[Asked]) -> str | None:
    """The last colour on the way."""
    return next((word for word in re.findall(r"[a-z]+", one.where)[::-1] if word in COLOURS), None)


def first_named(one: Asked, others: Sequence[Asked]) -> str | None:
    """The first that the question offers."""
    return one.choices[0] if one.choices else None


def last_named(one: Asked, others: Sequence[Asked]) -> str | None:
    """The last that the question offers."""
    return one.choices[-1] if one.choices else None


def longest(one: Asked, others: Sequence[Asked]) -> str | None:
    """The longest that the question offers."""
    return max(one.choices, key=len, default=None)


def right_elsewhere(one: Asked, others: Sequence[Asked]) -> str | None:
    """Of what is offered the one that is right most often where it is offered."""
    share: dict[str, list[bool]] = defaultdict(list)
    for other in others:
        for choice in other.choices:
            share[choice].append(other.answer == choice)
    return max(one.choices, key=lambda c: sum(share[c]) / len(share[c]) if share[c] else 0.5, default=None)


def by_target(one: Asked, others: Sequence[Asked]) -> str | None:
    """What is answered most often of things of that name."""
    same = [
        o.answer for o in others if _of(o.question) == _of(one.question) and o.answer in (one.choices or [o.answer])
    ]
    return _most(same) or most_frequent(one, others)


def last_direction(one: Asked, others: Sequence[Asked]) -> str | None:
    """The direction that the way had last, for a direction."""
    return next((word for word in re.findall(r"[a-z]+", one.where)[::-1] if word in AXES), None)


def more_within_more(one: Asked, others: Sequence[Asked]) -> str | None:
    """There is one within 20 metres, and none nearer."""
    return ("yes" if "within 20 metres" in one.question else "no") if one.kind == "any" else None


def none_within_less(one: Asked, others: Sequence[Asked]) -> str | None:
    """There is none within 10 metres, and one farther about."""
    return ("no" if "within 10 metres" in one.question else "yes") if one.kind == "any" else None


def by_other(one: Asked, others: Sequence[Asked]) -> str | None:
    """What is answered most often about things like the other that it names: a car park is across the street."""
    if one.kind not in {"same side", "front or behind", "direction"}:
        return None
    named = re.match(r"(?:Is|In which direction from .+? is) (the .+?)(?: on the same| in front of|:)", one.question)
    same = [o.answer for o in others if named and named[1] in o.question.partition(" as the ")[0]]
    return _most(same) or most_frequent(one, others)


def streets_cross(one: Asked, others: Sequence[Asked]) -> str | None:
    """What the way led across the street to, or to its other side, has the others on its side, or has not."""
    if one.kind != "same side":
        return None
    return "yes" if "same side" in one.where or "corner" in one.where else "no"


def where_it_went_on(one: Asked, others: Sequence[Asked]) -> str | None:
    """What lies behind something has things in front of it; what lies before it is low."""
    if one.kind == "front or behind":
        return "in front of it" if re.search(r"\. Behind ", one.where) else "behind it"
    return last_direction(one, others) if one.kind == "tallest" else None


def against_the_way(one: Asked, others: Sequence[Asked]) -> str | None:
    """Opposite the direction that the way had last: the landmark that it came from is tall, and known by a name."""
    last = last_direction(one, others)
    return None if last is None else AXES[(AXES.index(last) + 2) % 4]


def _of(question: str) -> str:
    """The question without signs, names and colours of its target: what sort of thing is asked of."""
    bare = re.sub(r" named [^:,?]+?(?=[:,?]| is | a place )| with an? \w+ signboard", "", question)
    return re.sub(rf"\b(?:{'|'.join(COLOURS)}) ", "", bare.partition(":")[0])


RULES: tuple[Rule, ...] = (
    most_frequent, as_it_says, last_colour, first_named, last_named, longest, right_elsewhere, by_target,
    last_direction, more_within_more, none_within_less, by_other, streets_cross, where_it_went_on, against_the_way,
)  # fmt: skip


def chance(one: Asked, others: Sequence[Asked]) -> float:
    """Of one choice of those there are: offered, or else ever answered."""
    return 1 / len(set(one.choices) or {other.answer for other in (*others, one)})


def _raw(one: Asked) -> tuple[str, ...]:
    """What is asked, from wherever, and however its target is called; of a red car and of a blue one is asked twice."""
    asked = re.match(r"(?:Is there any|How many|What colour is the) (.+?) (?:in|within|nearest|to) ", one.question)
    return (one.target, _of(one.question), asked[1] if asked else "", one.answer, *one.choices)


def earned(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], tuple[int, float, float]]:
    """For each kind of question and rule: number of raw questions, what it earns, and what chance does.

    A raw question counts once, from however many starts and however its target is called.
    """
    by_kind: dict[str, list[Asked]] = defaultdict(list)
    for row in rows:
        one = asked(row)
        if _raw(one) not in {_raw(other) for other in by_kind[one.kind]}:
            by_kind[one.kind].append(one)
    found = {}
    for kind, own in sorted(by_kind.items()):
        for rule in RULES:
            hits = luck = 0.0
            for one in own:
                others = [other for other in own if other.target != one.target]
                hits += rule(one, others) == one.answer
                luck += chance(one, others)
            found[kind, rule.__name__] = (len(own), hits / len(own), luck / len(own))
    return found
