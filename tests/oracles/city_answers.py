"""Tasks of a city answered again from their text alone: one thing after the other, with shapely's nearest points.

Nothing of the benchmark is used but its text: the words are read by expressions of this file, and what "to the north"
means is said here once more, without margins: within 45 degrees of the axis between the nearest points of footprints.
"""

import math
import re
from functools import cache
from typing import Any

import shapely
from shapely.ops import nearest_points

from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import City

AXES = {"north": 0.0, "east": 90.0, "south": 180.0, "west": 270.0}
FIRST_M, NEXT_M = 120.0, 60.0
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "beige", "white", "grey", "black"]
USES = {
    "buy bread": {"bakery"}, "buy medicine": {"pharmacy"}, "withdraw money": {"bank"},
    "get a haircut": {"hairdresser's"},
    "buy a bunch of flowers": {"flower shop"}, "buy a pair of shoes": {"shoe shop"},
    "order a meal": {"restaurant", "fast-food restaurant"}, "spend the night": {"hotel", "hostel", "guest house"},
    "fill up a car with petrol": {"petrol station"},
    "have a cup of coffee": {"café", "coffee shop"}, "buy meat": {"butcher's"}, "buy toys": {"toy shop"},
    "buy a pair of glasses": {"optician's"}, "have a bicycle repaired": {"bicycle shop"},
    "have a drink in the evening": {"bar", "pub"},
}  # fmt: skip
_FIRST = re.compile(r"There is (.+?) to the (north|east|south|west) of you\.")
_MOST = re.compile(r"Find the (tallest|largest|nearest) (.+?) to the (north|east|south|west) of you\.")
_WORDS = {
    **{axis: f"To the {axis} of" for axis in AXES},
    "front": "In front of", "behind": "Behind", "across": "Across the street from",
    "same": "On the same side of the street as",
}  # fmt: skip
_HEADS = "|".join(_WORDS.values())
_NEXT = re.compile(rf"({_HEADS}) (.+?), there is (.+?)\.(?= (?:{_HEADS}|Please tell me) )")
# Each question in the first of its wordings.
_PLAIN = [
    (r"Which type of vehicle stands ", "What kind of vehicle is parked "),
    (r"What colour is the vehicle beside (.+)\?", r"What colour is the vehicle next to \1?"),
    (r"What is the colour of the vehicle beside (.+)\?", r"What colour is the vehicle next to \1?"),
    (r"Which colour does the vehicle parked next to (.+) have\?", r"What colour is the vehicle next to \1?"),
    (r"What is the (.+?) across the (.+) called\?", r"What is the name of the \1 across the \2?"),
    (r"Which name can be read on the (.+?) across the ", r"What is the name of the \1 across the "),
    (r"Seen from (.+?), in which direction is (.+): north", r"In which direction from \1 is \2: north"),
    (r"Which way is it from (.+?) to (.+): north", r"In which direction from \1 is \2: north"),
    (r"Within (.+?) metres of (.+?), in which direction from it is the tallest building:",
     r"In which direction from \2 is the tallest building within \1 metres of it:"),
    (r"What is the colour of the (.+?) that is nearest to ", r"What colour is the \1 nearest to "),
    (r"What is the colour of the walls of ", "What colour are the walls of "),
    (r"Which colour do the walls of (.+) have\?", r"What colour are the walls of \1?"),
    (r"What is the colour of ", "What colour is "),
    (r"Which colour does (.+) have\?", r"What colour is \1?"),
    (r"What is the number of (.+?) (in front of|in) ", r"How many \1 are there \2 "),
    (r"How many (.+?) can be counted (in front of|in) ", r"How many \1 are there \2 "),
    (r"Measured from edge to edge, how many (.+?) are within ", r"How many \1 are there within "),
    (r"Can any (.+?) be seen (in front of|in) ", r"Is there any \1 \2 "),
    (r"Does (.+?) contain any (.+?)\? ", r"Is there any \2 in \1? "),
    (r"Measured from edge to edge, is any (.+?) within ", r"Is there any \1 within "),
    (r"Where is (.+?), seen from (.+): in front of it or behind it\?", r"Is \1 in front of \2 or behind it?"),
    (r"How many floors does ", "How many storeys does "),
    (r"How many storeys high is (.+)\?", r"How many storeys does \1 have?"),
    (r"What's the name of ", "What is the name of "),
    (r"What is (.+) called\?", r"What is the name of \1?"),
    (r"Which is closer to ", "Which is nearer to "),
    (r"(?:What sort|Which type) of ", "What kind of "),
    (r"Is the roof of (.+) flat, pitched", r"What shape does the roof of \1 have: flat, pitched"),
    (r"Are (the .+?) and (the .+) on the same side of the street\?", r"Is \2 on the same side of the street as \1?"),
    (r"Looking at (.+) from the front, what is the colour of the (.+?) to its (left|right)\?",
     r"What colour is the \2 to the \3 of \1, seen from its front?"),
    (r"Looking at (.+) from the front, what is written on the (.+?) to its (left|right)\?",
     r"What is written on the \2 to the \3 of \1, seen from its front?"),
    (r"Seen from the street, what can be read on the (.+?) to the (left|right) of (.+)\?",
     r"What is written on the \1 to the \2 of \3, seen from its front?"),
    (r"Which words does (.+) show\?", r"What is written on \1?"),
    (r"Can one (.+) at (the .+)\? \(yes", r"Is \2 a place where one can \1? (yes"),
    (r"I want to (.+?)\. Is (.+) the right place for it\? ", r"Is \2 a place where one can \1? "),
    (r"Can I park in one of the marked spaces of (.+)\? \(yes", r"Is there any free parking space in \1? (yes"),
    (r"I am looking for a parking space\. Is one free in (.+)\? ", r"Is there any free parking space in \1? "),
    (r"Can I (.+) in (the .+)\? \(yes", r"Is \2 a place where one can \1? (yes"),
    (r"What can be read on (.+)\?", r"What is written on \1?"),
    (r"How many parking spaces in (.+) are empty\?", r"How many free parking spaces are there in \1?"),
    (r"In how many of the marked spaces of (.+) could one still park\?",
     r"How many free parking spaces are there in \1?"),
    (r"A vehicle is parked (.+)\. What kind is it\?", r"What kind of vehicle is parked \1?"),
    (r"What is the (\w+) vehicle in front of (.+): (an? .+) or (an? .+)\?",
     r"In front of \2, is the \1 vehicle \3 or \4?"),
    (r"What is the (\w+) vehicle in (.+): (an? .+) or (an? .+)\?", r"In \2, is the \1 vehicle \3 or \4?"),
]  # fmt: skip
VEHICLES = ("car", "van", "truck", "bus")
CORNER_M = 25.0
STREET_M = 40.0  # what is farther from every street lies on none


def shape(thing: CityThing) -> Any:
    """Its footprint."""
    return _shape(thing.outline, thing.center)


@cache  # a text is tried on all things of a city, again and again
def _shape(outline: tuple[tuple[float, ...], ...] | None, center: tuple[float, ...]) -> Any:
    return shapely.Polygon(outline) if outline else shapely.Point(center)


def lies(one: Any, other: Any, direction: str, reach_m: float) -> bool:
    """Whether one shape has another in a direction within a reach."""
    a, b = nearest_points(one, other)
    away = math.dist(a.coords[0], b.coords[0])
    if away == 0 or away > reach_m:
        return False
    bearing = math.degrees(math.atan2(b.x - a.x, b.y - a.y))
    return abs((bearing - AXES[direction] + 180) % 360 - 180) <= 45


def streets(city: City) -> dict[str, Any]:
    """All streets by name, or by id where they have none."""
    found: dict[str, list[Any]] = {}
    for street in city.streets:
        found.setdefault(street.name or street.id, []).append(shapely.LineString(street.line))
    return {name: shapely.union_all(lines) for name, lines in found.items()}


def side_of(city: City, thing: CityThing) -> tuple[str, float] | None:
    """The nearest street, and on which side of its nearest piece a thing lies: 1 or -1, 0 on its line.

    None: it lies on no street, since none is within `STREET_M`.
    """
    if not city.streets:
        return None
    nearest = min(city.streets, key=lambda s: shapely.LineString(s.line).distance(shape(thing)))
    if shapely.LineString(nearest.line).distance(shape(thing)) > STREET_M:
        return None
    a, b = nearest_points(shapely.LineString(nearest.line), shape(thing))
    ends = list(zip(nearest.line, nearest.line[1:], strict=False))
    (x, y), (u, v) = min(ends, key=lambda e: (round(shapely.LineString(e).distance(a), 6), e))
    (x, y), (u, v) = sorted([(x, y), (u, v)])  # whichever way it was drawn
    cross = (u - x) * (b.y - y) - (v - y) * (b.x - x)
    return nearest.name or nearest.id, math.copysign(1, cross) if abs(cross) > 1e-9 else 0.0


def front(city: City, thing: CityThing) -> float | None:
    """Compass bearing of a front: told, or towards the nearest street."""
    if thing.facing_deg is not None:
        return thing.facing_deg
    if not city.streets:
        return None
    a, b = nearest_points(shape(thing), shapely.union_all([shapely.LineString(s.line) for s in city.streets]))
    return math.degrees(math.atan2(b.x - a.x, b.y - a.y)) % 360


def about(city: City, one: CityThing, other: CityThing, relation: str) -> bool:
    """Whether another thing lies in front of one, behind it, across the street from it or on the same side."""
    a, b = nearest_points(shape(one), shape(other))
    away, ahead = a.distance(b), front(city, one)
    if relation in ("front", "behind"):
        if ahead is None or away > (20.0 if relation == "front" else 35.0):
            return False
        bearing = math.degrees(math.atan2(b.x - a.x, b.y - a.y))
        off = abs((bearing - ahead + 180) % 360 - 180)
        crosses = any(shapely.LineString(s.line).crosses(shapely.LineString([a, b])) for s in city.streets)
        return off <= 45 and not crosses if relation == "front" else off >= 135
    mine, its = side_of(city, one), side_of(city, other)
    if mine is None or its is None or mine[0] != its[0] or away > NEXT_M or 0.0 in (mine[1], its[1]):
        return False
    if relation == "same":
        return mine[1] == its[1]
    line = streets(city)[mine[0]]
    at = [nearest_points(line, end)[0] for end in (a, b)]
    return mine[1] != its[1] and at[0].distance(at[1]) <= 25.0


def at_corner(city: City, thing: CityThing) -> bool:
    """Whether two streets pass it near, one before it and one beside it."""
    feet = []
    for name, line in streets(city).items():
        at, own = nearest_points(line, shape(thing))
        inner = not any(at.distance(shapely.Point(end)) < 0.5 for end in line.boundary.geoms)
        if at.distance(own) <= CORNER_M and inner:
            feet.append((name, math.degrees(math.atan2(at.x - own.x, at.y - own.y))))
    turns = [abs((b - a + 180) % 360 - 180) for m, (_, a) in enumerate(feet) for _, b in feet[:m]]
    return any(40 <= turn <= 140 for turn in turns)


def fits(city: City, thing: CityThing, phrase: str) -> bool:
    """Whether a thing may be called so."""
    words = re.sub(r"^(?:an?|the) ", "", phrase).replace("business", "shop")
    cornered = re.fullmatch(r"(.+?) at the corner of two streets", words)
    if cornered:
        return cornered[1] in (thing.kind, thing.noun) and at_corner(city, thing)
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


def targets(city: City, text: str, at: tuple[float, float]) -> list[CityThing]:
    """All things that a text leads to from a place."""
    here = shapely.Point(at)
    first, most = _FIRST.match(text), _MOST.match(text)
    if most:
        phrase, axis = f"a {most[2]}", most[3]
    else:
        assert first is not None, text
        phrase, axis = first[1], first[2]
    now = [t for t in city.things if lies(here, shape(t), axis, FIRST_M) and fits(city, t, phrase)]
    if most and now:
        now = [max(now, key=lambda t: greatness(t, most[1], here))]
    called = phrase
    for words, anchor, phrase in _NEXT.findall(text):
        assert anchor == "the " + called.partition(" ")[2], text
        near = [t for t in city.things if fits(city, t, phrase)]
        (relation,) = [name for name, head in _WORDS.items() if head == words]
        now = [t for t in near if any(a.id != t.id and _is(city, a, t, relation) for a in now)]
        called = phrase
    return now


def _is(city: City, one: CityThing, other: CityThing, relation: str) -> bool:
    if relation in AXES:
        return lies(shape(one), shape(other), relation, NEXT_M)
    return about(city, one, other, relation)


def greatness(thing: CityThing, word: str, here: Any) -> float:
    """What is compared: heights as far as they are known, areas, nearness."""
    if word == "tallest":
        return thing.top_m or thing.height_m or 2.5 * (thing.levels or 0.0)
    return shape(thing).area if word == "largest" else -shape(thing).distance(here)


def plain(asked: str) -> str:
    """A question in the first of its wordings; a business may be any shop."""
    asked = asked.replace("business", "shop")
    for wording, first in _PLAIN:
        found, count = re.subn(rf"^{wording}", first, asked)
        if count:
            return found
    return asked


# What is asked of a thing's own entry, by words that no other question has, in order.
TRAITS = {
    "the ground of|[Ww]hat surface": "surface",
    "^(?!.*colour).*the walls of": "walls",
    "the roof of.*(made of|material)|material.*the roof of": "roof material",
    "made of|material": "material",
    "[Ss]port|[Gg]ame": "sport",
    "parallel": "layout",
    "along the street": "site",
    "needles": "foliage",
}


def answer(city: City, text: str, target: CityThing) -> str | None:  # noqa: PLR0911, PLR0912 - a line per question
    """The answer to a text's question about its target; None for a question that this file does not know."""
    asked = plain(text.partition(" Please tell me ")[2])
    inside = lambda kind, colour=None: [  # noqa: E731 - read where it is used
        t for t in city.things
        if kind in (t.kind, t.noun) and colour in (None, t.colour) and shape(target).contains(shapely.Point(t.center))
    ]  # fmt: skip
    near = lambda kind, metres, colour=None: [  # noqa: E731
        t for t in city.things
        if kind in (t.kind, t.noun) and t.id != target.id and colour in (None, t.colour)
        and shape(t).distance(shape(target)) <= metres
    ]  # fmt: skip
    in_front = lambda kind, colour=None: [  # noqa: E731
        t for t in city.things if kind in (t.kind, t.noun) and colour in (None, t.colour) and _before(target, t)
    ]
    if re.match(r"What is the name of the shop across the street from ", asked):
        (only,) = [t for t in city.things if t.kind == "shop" and t != target and about(city, target, t, "across")]
        return only.sign or only.name
    if found := re.match(r"Is (.+) on the same side of the street as the ", asked):
        other = _only(city, target, found[1])
        return "yes" if side_of(city, target) == side_of(city, other) else "no"
    if found := re.match(r"Is (.+) in front of the .+ or behind it\?", asked):
        other = _only(city, target, found[1])
        return "in front of it" if about(city, target, other, "front") else "behind it"
    if asked.startswith("In which direction") and "the tallest building within 50 metres" in asked:
        houses = [t for t in city.things if t.kind == "building" and t != target]
        near = [t for t in houses if shape(t).distance(shape(target)) <= 50]
        best = max(near, key=lambda t: greatness(t, "tallest", None))
        (found_,) = [d for d in AXES if lies(shape(target), shape(best), d, 1e9)]
        return found_
    if found := re.match(r"What colour is the ([\w ]+?) in front of ", asked):
        (only,) = in_front(found[1])
        return only.colour
    if re.match(r"What is the name of|What is written on the (?!shop to|signboard to)", asked):
        return target.sign or target.name
    if asked.startswith("What kind of shop is"):
        return target.noun
    for words, trait in TRAITS.items():
        if re.search(words, asked):
            return target.traits.get(trait)
    if asked.startswith("What colour is the roof"):
        return target.roof_colour
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
    if "vehicle is parked" in asked or "or a" in asked:
        where, colour = (in_front if "n front of" in asked else inside), re.search(r"the (\w+) vehicle", asked)
        (only,) = [t for kind in VEHICLES for t in where(kind, colour and colour[1])]
        return only.noun
    if asked.startswith("What colour is the vehicle next to "):
        beside = [t for t in city.things if t.kind in VEHICLES and t != target]
        return min(beside, key=lambda t: math.dist(t.center, target.center)).colour
    if "free parking space" in asked:
        feet = [shapely.Point(t.center) for t in city.things if t.kind in VEHICLES]
        free = [t for t in inside("parking space") if not any(shape(t).contains(foot) for foot in feet)]
        return NUMBERS[len(free)] if asked.startswith("How") else "yes" if free else "no"
    if re.match(r"What colour (?:is|are the walls of) the ", asked):
        return target.colour
    if asked.startswith("How many storeys"):
        return NUMBERS[int(target.levels or 0)]
    if found := re.match(r"How many ([\w ]+?) are there (?:within (\d+) metres of|(in front of)|in) ", asked):
        words = {word for t in city.things for word in (t.kind, t.noun)}
        kind = next(k for k in words if found[1] in (k + "s", k + "es", k[:-1] + "ies"))
        return NUMBERS[len(near(kind, int(found[2])) if found[2] else in_front(kind) if found[3] else inside(kind))]
    if found := re.match(r"Is there any ([\w ]+?) (?:within (\d+) metres of|(in front of)|in) the ", asked):
        colour, _, rest = found[1].partition(" ")
        kind, colour_ = (rest, colour) if colour in COLOURS else (found[1], None)
        if found[3]:
            return "yes" if in_front(kind, colour_) else "no"
        return "yes" if (near(kind, int(found[2]), colour_) if found[2] else inside(kind, colour_)) else "no"
    if found := re.match(r"In which direction from .+? is the (.+): north, east, south or west\?", asked):
        return _direction(city, target, f"the {found[1]}")
    if found := re.match(r"Which is nearer to .+: (the .+) or (the .+)\?", asked):
        return min((found[1], found[2]), key=lambda p: shape(_only(city, target, p)).distance(shape(target)))
    if found := re.match(r"Is .+ a place where one can (.+)\? \(yes or no\)", asked):
        return "yes" if target.noun in USES[found[1]] else "no"
    return None


def _before(target: CityThing, thing: CityThing) -> bool:
    """Whether a thing stands in the ten metres by twelve that a shop front looks at."""
    yaw = math.radians(target.facing_deg or 0.0)
    dx, dy = thing.center[0] - target.center[0], thing.center[1] - target.center[1]
    ahead, across = dx * math.sin(yaw) + dy * math.cos(yaw), dx * math.cos(yaw) - dy * math.sin(yaw)
    return 0 <= ahead <= 12 and abs(across) <= 5


def _only(city: City, target: CityThing, phrase: str) -> CityThing:
    """The one thing about a target that may be called so."""
    about = [t for t in city.things if t.id != target.id and shape(t).distance(shape(target)) <= 60]
    (found,) = [t for t in about if fits(city, t, phrase)]
    return found


def _direction(city: City, target: CityThing, phrase: str) -> str:
    other = _only(city, target, phrase)
    (found,) = [d for d in AXES if lies(shape(target), shape(other), d, 1e9)]
    return found


def _beside(city: City, target: CityThing, what: str, kind: str, side: str) -> str | None:
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
