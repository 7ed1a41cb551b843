"""Tasks of a city answered again from their text alone: one thing after the other, with shapely's nearest points.

Nothing of the benchmark is used but its text: the words are read by expressions of this file, and what "to the north"
means is said here once more, without margins: within 45 degrees of the axis between the nearest points of footprints.
"""

from __future__ import annotations

import math
import re
from typing import Any

import shapely
from shapely.ops import nearest_points

from pipeline.worlds.city.facts import City, Thing

AXES = {"north": 0.0, "east": 90.0, "south": 180.0, "west": 270.0}
FIRST_M, NEXT_M = 120.0, 60.0
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "beige", "white", "grey", "black"]
USES = {
    "buy bread": "bakery", "buy medicine": "pharmacy", "withdraw money": "bank", "get a haircut": "hairdresser's",
    "buy a bunch of flowers": "flower shop", "buy a pair of shoes": "shoe shop", "order a meal": "restaurant",
}  # fmt: skip
_FIRST = re.compile(r"There is (.+?) to the (north|east|south|west) of you\.")
_NEXT = re.compile(r"To the (north|east|south|west) of (.+?), there is (.+?)\.(?= To the | Please tell me )")


def shape(thing: Thing) -> Any:
    """Its footprint."""
    return shapely.Polygon(thing.outline) if thing.outline else shapely.Point(thing.center)


def lies(one: Any, other: Any, direction: str, reach_m: float) -> bool:
    """Whether one shape has another in a direction within a reach."""
    a, b = nearest_points(one, other)
    away = math.dist(a.coords[0], b.coords[0])
    if away == 0 or away > reach_m:
        return False
    bearing = math.degrees(math.atan2(b.x - a.x, b.y - a.y))
    return abs((bearing - AXES[direction] + 180) % 360 - 180) <= 45


def fits(city: City, thing: Thing, phrase: str) -> bool:
    """Whether a thing may be called so."""
    words = re.sub(r"^(?:an?|the) ", "", phrase)
    named = re.fullmatch(r"(.+?) named (.+)", words)
    if named:
        return named[1] in (thing.kind, thing.noun) and named[2] in (thing.name, thing.sign)
    signed = re.fullmatch(r"(.+?) with an? (\w+) signboard", words)
    if signed:
        boards = [
            t.colour for t in city.things
            if t.kind == "signboard" and t.on == thing.on and math.dist(t.center, thing.center) < 3
        ]  # fmt: skip
        return thing.kind == "shop" and signed[1] in (thing.kind, thing.noun) and boards == [signed[2]]
    colour, _, noun = words.partition(" ")
    if colour in COLOURS:
        return noun in (thing.kind, thing.noun) and thing.colour == colour
    return words in (thing.kind, thing.noun)


def targets(city: City, text: str, at: tuple[float, float]) -> list[Thing]:
    """All things that a text leads to from a place."""
    first = _FIRST.match(text)
    assert first is not None, text
    here = shapely.Point(at)
    now = [t for t in city.things if lies(here, shape(t), first[2], FIRST_M) and fits(city, t, first[1])]
    called = first[1]
    for direction, anchor, phrase in _NEXT.findall(text):
        assert anchor == "the " + called.partition(" ")[2], text
        anchors = [t for t in now if t.kind == "building"]
        near = [t for t in city.things if fits(city, t, phrase)]
        now = [t for t in near if any(a.id != t.id and lies(shape(a), shape(t), direction, NEXT_M) for a in anchors)]
        called = phrase
    return now


def answer(city: City, text: str, target: Thing) -> str | None:  # noqa: PLR0911, PLR0912 - a line per question
    """The answer to a text's question about its target; None for a question that this file does not know."""
    asked = text.partition(" Please tell me ")[2]
    inside = lambda kind, colour=None: [  # noqa: E731 - read where it is used
        t for t in city.things
        if t.kind == kind and colour in (None, t.colour) and shape(target).contains(shapely.Point(t.center))
    ]  # fmt: skip
    near = lambda kind, metres, colour=None: [  # noqa: E731
        t for t in city.things
        if t.kind == kind and t.id != target.id and colour in (None, t.colour)
        and shape(t).distance(shape(target)) <= metres
    ]  # fmt: skip
    if re.match(r"What is the name of|What is written on the (?!shop to|signboard to)", asked):
        return target.sign or target.name
    if asked.startswith("What kind of shop"):
        return target.noun
    if asked.startswith("What colour is the roof"):
        return target.roof_colour
    if asked.startswith("What shape does the roof"):
        return target.roof_shape
    if found := re.match(r"What colour is the signboard of ", asked):
        (board,) = [
            t
            for t in city.things
            if t.kind == "signboard" and t.on == target.on and math.dist(t.center, target.center) < 3
        ]
        return board.colour
    if found := re.match(r"What colour is the ([\w ]+?) nearest to ", asked):
        return min(near(found[1], 1e9), key=lambda t: shape(t).distance(shape(target))).colour
    if found := re.match(r"What colour is the ([\w ]+?) in the ", asked):
        (only,) = inside(found[1])
        return only.colour
    if found := re.match(r"What (colour is|is written on) the (\w+) to the (left|right) of", asked):
        return _beside(city, target, found[1], found[2], found[3])
    if re.match(r"What colour is the ", asked):
        return target.colour
    if asked.startswith("How many storeys"):
        return NUMBERS[int(target.levels or 0)]
    if found := re.match(r"How many ([\w ]+?) are there (?:within (\d+) metres of|in) ", asked):
        kind = next(k for k in {t.kind for t in city.things} if found[1] in (k + "s", k + "es", k[:-1] + "ies"))
        return NUMBERS[len(near(kind, int(found[2])) if found[2] else inside(kind))]
    if found := re.match(r"Is there any ([\w ]+?) (?:within (\d+) metres of|in) the ", asked):
        colour, _, rest = found[1].partition(" ")
        kind, colour_ = (rest, colour) if colour in COLOURS else (found[1], None)
        return "yes" if (near(kind, int(found[2]), colour_) if found[2] else inside(kind, colour_)) else "no"
    if found := re.match(r"In which direction from .+? is the (.+): north, east, south or west\?", asked):
        return _direction(city, target, f"the {found[1]}")
    if found := re.match(r"Which is nearer to .+: (the .+) or (the .+)\?", asked):
        return min((found[1], found[2]), key=lambda p: shape(_only(city, target, p)).distance(shape(target)))
    if found := re.match(r"Is .+ a place where one can (.+)\? \(yes or no\)", asked):
        return "yes" if USES[found[1]] == target.noun else "no"
    return None


def _only(city: City, target: Thing, phrase: str) -> Thing:
    """The one thing about a target that may be called so."""
    about = [t for t in city.things if t.id != target.id and shape(t).distance(shape(target)) <= 60]
    (found,) = [t for t in about if fits(city, t, phrase)]
    return found


def _direction(city: City, target: Thing, phrase: str) -> str:
    other = _only(city, target, phrase)
    (found,) = [d for d in AXES if lies(shape(target), shape(other), d, 1e9)]
    return found


def _beside(city: City, target: Thing, what: str, kind: str, side: str) -> str | None:
    """Of the next thing along the front; who looks at the front has the front's right at the left."""
    yaw = math.radians(target.facing_deg or 0.0)
    right = (math.cos(yaw), -math.sin(yaw))  # of the front, seen from above, looking out of it
    sign = 1 if side == "left" else -1
    best = None
    for t in city.things:
        if t.kind == kind and t.id != target.id and t.facing_deg is not None:
            dx, dy = t.center[0] - target.center[0], t.center[1] - target.center[1]
            along, away = sign * (dx * right[0] + dy * right[1]), math.hypot(dx, dy)
            same = abs((t.facing_deg - (target.facing_deg or 0.0) + 180) % 360 - 180) <= 20
            if same and along >= away * math.cos(math.radians(35)) and (best is None or away < best[0]):
                best = (away, t)
    if best is None:
        return None
    return best[1].colour if what.startswith("colour") else best[1].sign or best[1].name
