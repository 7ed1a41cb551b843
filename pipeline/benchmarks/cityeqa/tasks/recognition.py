"""Object and Attribute Recognition, and World Knowledge: what shops are, what signs say, and what one can do in a shop.

Names are asked for as objects, as 29 of the 34 released rows at hand have it that ask for one; attributes are colours,
shapes and surfaces. Of World Knowledge only uses are asked here: what is seen at a shop tells its sort, and everybody
knows what that is for. Other questions of this category, such as whether a shop is open, a model writes (stage
`author`).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.raw import OPEN, YES_NO, YES_OR_NO, RawQuestion
from pipeline.benchmarks.cityeqa.tasks.base import (
    EqaTask,
    called_business,
    colour_known,
    colours_of,
    name_flags,
    name_known,
    names_of_split,
    other_names,
    others_of,
    parts,
    question_about,
)
from pipeline.benchmarks.cityeqa.tasks.counting import (
    CENTRES,
    COUNTED,
    FRONTED,
    PLACES,
    complete,
    in_front,
    inside,
    unsure_within,
)
from pipeline.benchmarks.cityeqa.view import UNTOLD, CityView
from pipeline.benchmarks.cityeqa.wording import BUSINESS, SIGNBOARD
from pipeline.core.groups import grouped
from pipeline.core.identity import digest, rng_for
from pipeline.core.templates import load_table
from pipeline.questions.rules import Measure, rule
from pipeline.reading.maps.city_thing import BUILDING, SHOP, SHOWN_BY_NAME, VEHICLES
from pipeline.reading.maps.map_quality import alike

NOUNS: Final = 9  # other sorts of shops that are offered to who guesses


class ObjectRecognition(EqaTask):
    """The sort of a shop that is only called one, names, what is written on a signboard, and the sort of vehicles."""

    reads = "kind"
    share = 335
    name = "Object Recognition"
    about = frozenset({SHOP, SIGNBOARD, *PLACES, *SHOWN_BY_NAME})
    parts = parts(
        "ask_name",
        "ask_sign",
        "ask_noun",
        "ask_vehicle_in",
        "ask_vehicle_front",
        "ask_which_vehicle_in",
        "ask_which_vehicle_front",
    )

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
        """Of every shop its sort, of all that shows its name this, of every signboard what is written there."""
        shops = view.of_kind(SHOP).tolist()
        names = {i: view.read(i) for i in shops}
        nouns = sorted({view.things[i].noun for i in shops if view.is_business(i)} - {SHOP})
        for i in view.targets(SHOP):
            thing = view.things[i]
            flags = name_flags(thing)
            yield question_about(
                view,
                i,
                kind="sort",
                phrases=view.unsorted_phrases(i),
                part="ask_noun",
                fields={"general": BUSINESS},
                answer=thing.noun,
                others=others_of(view, thing.noun, nouns, NOUNS, "noun"),
                pixels_min=view.rules.read_pixels_min,
                checks=(
                    called_business(view, i),
                    rule("other_sorts", len(nouns) - 1, ">=", 1, "sorts"),
                    rule("shows_what_it_is", float(names[i] is not None), ">=", 1, "names"),
                    _by_lot(view.asked_of(i), "noun"),
                ),
                flags=flags,
            )
        boards = view.of_kind(SIGNBOARD).tolist()
        written = names_of_split(view, boards)
        for i in view.targets(SIGNBOARD):
            text = view.read(i)
            yield question_about(
                view,
                i,
                kind="sign",
                part="ask_sign",
                answer=text or "",
                others=others_of(view, text, written[i], NAMES, "sign"),
                answer_type=OPEN,
                checks=(name_known(text), other_names(written[i], text)),
            )
        for kind in sorted(SHOWN_BY_NAME):
            yield from _names(view, kind)
        yield from _vehicles(view)


def _lot(view: CityView, i: int) -> str:
    """What is asked of a vehicle at another thing: its colour, its sort, or, by its colour, which of two sorts it is.

    The text of one of these questions would answer the others. Of other things it is the colour.
    """
    thing = view.things[i]
    lots = ("colour", "sort", "which") if thing.kind in VEHICLES else ("colour",)
    return min(lots, key=lambda lot: digest("asked", view.scene.id, thing.id, lot))


def _by_lot(lot: str, asked: str) -> Measure:
    """Whether what is asked of a thing is what a lot chose of what its other questions would tell."""
    return rule("tells_another_answer", float(lot != asked), "<=", 0, "questions")


def _vehicles(view: CityView) -> Iterator[RawQuestion]:
    """The sort of the only vehicle in a place or in front of a shop, and of the only one there of its colour."""
    nouns = sorted({view.things[i].noun for kind in VEHICLES for i in view.of_kind(kind).tolist()} - {"car"})
    for i in view.targets(*PLACES, *FRONTED):
        if view.things[i].kind in PLACES:
            where, own = "in", () if view.things[i].outline is None else tuple(inside(view, i, VEHICLES, VEHICLES))
        else:
            faces = view.things[i].facing_deg is not None
            where, own = "front", tuple(in_front(view, i, VEHICLES, VEHICLES)) if faces else ()
        checks = tuple(check for found in own for check in found.checks)
        vehicles = tuple(j for found in own for j in found.things)
        for j in vehicles:
            thing, lot = view.things[j], _lot(view, j)
            if lot == "sort" and len(vehicles) > 1:
                lot = "which"
            same = sum(view.things[k].colour in (None, thing.colour) for k in vehicles)
            others = [noun for noun in nouns if noun not in alike(thing.noun) and thing.noun not in alike(noun)]
            sorted_in = rule("sort_unknown", float(thing.noun == thing.kind == "car"), "<=", 0, "things")
            ask = partial(
                question_about, view, i, about=(j,), shown=(j,), answer=thing.noun, operands=(thing.id, where)
            )
            if len(vehicles) == 1:
                yield ask(
                    kind=f"vehicle {'in front of' if where == 'front' else where} a {view.things[i].kind}",
                    part=f"ask_vehicle_{where}",
                    others=tuple(nouns),
                    checks=(
                        *checks,
                        sorted_in,
                        rule("other_sorts", len(nouns) - 1, ">=", 1, "sorts"),
                        _by_lot(lot, "sort"),
                    ),
                )
            if thing.colour is None or not others:
                continue
            other = others[int(rng_for(view.scene.id, thing.id, "which").integers(len(others)))]
            one, two = sorted((thing.noun, other))
            yield ask(
                kind="which vehicle",
                part=f"ask_which_vehicle_{where}",
                fields={"colour": thing.colour, "one": one, "other": two},
                others=(one, two),
                even=f"{one} or {two}",
                checks=(
                    *checks,
                    sorted_in,
                    rule("several_there", same, "<=", 1, "things"),
                    _by_lot(lot, "which"),
                ),
            )


NAMES: Final = 3  # other names that are offered to who guesses
NEAREST_M: Final = 25.0  # to what is nearest to something
SECOND_M: Final = 60.0  # about it, where the next but one is looked for: it is as far at least


LOOKS: Final[tuple[str, ...]] = tuple(load_table("city/traits")["looks"])
ROOF_MATERIAL: Final = "roof material"


def look_part(trait: str) -> str:
    """The part of a text that asks for a trait."""
    return f"ask_{trait.replace(' ', '_')}"


class AttributeRecognition(EqaTask):
    """Attributes that are known for sure; those that the map does not have are not asked."""

    reads = "look"
    share = 204
    name = "Attribute Recognition"
    parts = parts(
        "ask_board",
        "ask_colour",
        "ask_colour_in",
        "ask_colour_front",
        "ask_colour_nearest",
        "ask_roof_colour",
        "ask_wall_colour",
        *(look_part(trait) for trait in LOOKS),
    )

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
        """Of all things whose colour may be known the colour, of buildings what their roofs are."""
        yield from _boards(view)
        for kind in COUNTED:
            yield from _beside_places(view, kind)
            yield from _in_front(view, kind)
        for kind in sorted({thing.kind for thing in view.things if thing.colour is not None}):
            colours = colours_of(view, view.of_kind(kind).tolist())
            for i in view.targets(kind):
                if kind not in (SHOP, SIGNBOARD):  # a shop's colour is its signboard's, by which that is called
                    yield _colour(view, i, colours)
        buildings = view.of_kind(BUILDING).tolist()
        roofs = colours_of(view, buildings, roof=True)
        for i in view.targets(BUILDING):
            thing = view.things[i]
            if thing.roof_colour is not None:
                yield _roof(view, i, "roof colour", "ask_roof_colour", thing.roof_colour, roofs)
        for trait in LOOKS:
            yield from _looks(view, trait)


def _names(view: CityView, kind: str) -> Iterator[RawQuestion]:
    """The name of every shop that is called by its sort, and of other things that show theirs.

    It is guessed among names of its sort: who knows chains, or reads "Planet Pasta", knows the sort of a name.
    """
    # The names of other shops are in texts about them, so that nobody would guess them.
    shops = [i for i in view.of_kind(kind).tolist() if kind != SHOP or "name" in UNTOLD.get(view.asked_of(i), ())]
    by_noun = grouped(shops, lambda i: view.things[i].noun)
    alike = {i: found for own in by_noun.values() for i, found in names_of_split(view, own).items()}
    for i in view.targets(kind):
        thing, name, of_sort = view.things[i], view.read(i), alike.get(i, ())
        lots = (_by_lot(view.asked_of(i), "name"),) if kind == SHOP else ()
        yield question_about(
            view,
            i,
            kind="name" if kind == SHOP else f"name of a {kind}",
            phrases=view.phrases(i, hide=("name",)),
            part="ask_name",
            answer=name or "",
            others=others_of(view, name, of_sort, NAMES, "name"),
            answer_type=OPEN,
            checks=(name_known(name), *lots, other_names(of_sort, name)),
            flags=name_flags(thing),
        )


def _boards(view: CityView) -> Iterator[RawQuestion]:
    """The colour of the signboard over every shop that has one."""
    colours = colours_of(view, view.of_kind(SIGNBOARD).tolist())
    for i in view.targets(SHOP):
        thing = view.things[i]
        own = view.query.signs.get(thing.id)
        if not own:
            continue
        over = [view.index[board] for board in view.query.boards[thing.id]]
        board = min(over, key=lambda j: math.dist(view.things[j].center, thing.center))
        yield question_about(
            view,
            i,
            kind="colour of a board",
            phrases=view.phrases(i, hide=("sign", "colour")),
            part="ask_board",
            answer=min(own),
            others=colours,
            shown=(board,),
            checks=(
                _by_lot(view.asked_of(i), "sign"),
                rule("two_boards", len(own), "<=", 1, "colours"),
                view.stands_out(board),
                rule("other_colours", len(colours) - 1, ">=", 1, "colours"),
            ),
        )


def _beside_places(view: CityView, kind: str) -> Iterator[RawQuestion]:
    """The colour of the only thing of a kind in a place, and of the one that is clearly the nearest to something."""
    colours = colours_of(view, view.of_kind(kind).tolist())
    if len(colours) < 2:
        return
    for i in view.targets(*PLACES, *CENTRES):
        place = view.things[i]
        if place.kind == kind:
            continue
        inside = place.kind in PLACES
        about = view.around(i, SECOND_M)
        near = view.among(about, kind)
        if not len(near):
            continue
        away = view.distance_m(i, near)
        order = np.argsort(away, kind="stable")
        first = int(near[order[0]])
        second_m = float(away[order[1]]) if len(order) > 1 else SECOND_M
        if not inside and away[order[0]] > NEAREST_M:
            continue
        if inside and (place.outline is None or away[order[0]] > 0):
            continue
        checks = [
            complete(view, kind, i),
            colour_known(view.things[first]),
            _by_lot(_lot(view, first), "colour"),
        ]
        reach_m = 0.0 if inside else float(away[order[0]]) * view.rules.nearer_ratio_min
        checks.append(unsure_within(view, i, kind, about, shapely.buffer(view.query.shapes[i], reach_m)))
        if inside:
            checks.append(rule("several_there", float((away <= view.rules.near_margin_m).sum()), "<=", 1, "things"))
        else:
            nearest_m = float(away[order[0]] + view.errors_m[i] + view.errors_m[first])
            next_m = second_m - float(view.errors_m[i] + view.errors_m[near[order[1:2]]].max(initial=0.0))
            ratio = min(next_m / max(nearest_m, 1.0), 99.0)
            checks.append(rule("as_near", ratio, ">=", view.rules.nearer_ratio_min, "ratio"))
        yield question_about(
            view,
            i,
            kind=f"colour of the {kind} {'in' if inside else 'nearest to'} a {place.kind}",
            part="ask_colour_in" if inside else "ask_colour_nearest",
            fields={"thing": kind},
            answer=view.things[first].colour or "",
            others=colours,
            shown=(first,) if inside else (first, i),
            pixels_min=view.rules.pixels_min // 2,
            about=(first,),
            checks=tuple(checks),
        )


def _in_front(view: CityView, kind: str) -> Iterator[RawQuestion]:
    """The colour of the only thing of a kind in front of a shop."""
    colours = colours_of(view, view.of_kind(kind).tolist())
    if len(colours) < 2:
        return
    for i in view.targets(*FRONTED):
        if view.things[i].facing_deg is None:
            continue
        (found,) = in_front(view, i, (kind,))
        if not found.things:
            continue
        first = found.things[0]
        yield question_about(
            view,
            i,
            kind=f"colour of the {kind} in front of a {view.things[i].kind}",
            part="ask_colour_front",
            fields={"thing": kind},
            answer=view.things[first].colour or "",
            others=colours,
            shown=(first,),
            pixels_min=view.rules.pixels_min // 2,
            about=(first,),
            checks=(
                *found.checks,
                rule("several_there", len(found.things), "<=", 1, "things"),
                colour_known(view.things[first]),
                _by_lot(_lot(view, first), "colour"),
            ),
        )


def _colour(view: CityView, i: int, colours: tuple[str, ...]) -> RawQuestion:
    thing = view.things[i]
    return question_about(
        view,
        i,
        kind=f"colour of a {thing.kind}",
        phrases=view.phrases(i, hide=("colour", "sign")),
        part="ask_wall_colour" if thing.kind == BUILDING else "ask_colour",
        answer=thing.colour or "",
        others=colours,
        checks=(
            colour_known(thing),
            rule("other_colours", len(set(colours) - {thing.colour}), ">=", 1, "colours"),
        ),
    )


def _roof(view: CityView, i: int, kind: str, part: str, answer: str, others: tuple[str, ...]) -> RawQuestion:
    thing = view.things[i]
    top_m = thing.top_m if thing.top_m is not None else (thing.height_m or float("inf"))
    return question_about(
        view,
        i,
        kind=kind,
        part=part,
        answer=answer,
        others=others,
        checks=(
            # The walls are all that is seen of a house from below its eaves.
            rule("roof_above_the_agent", max(view.city.slabs_m) - top_m, ">=", 0, "m"),
        ),
        z_min_m=top_m,
    )


def _looks(view: CityView, trait: str) -> Iterator[RawQuestion]:
    """What the map tells of a trait of things that have one, as what a car park is covered with."""
    told = [i for i, thing in enumerate(view.things) if trait in thing.traits and thing.doubt is None]
    words: dict[str, set[str]] = {}
    for i in told:
        words.setdefault(view.things[i].kind, set()).add(view.things[i].traits[trait])
    asked = set(view.targets(*words)) & set(told)
    for i in sorted(asked):
        thing = view.things[i]
        others = tuple(sorted(words[thing.kind]))
        if trait == ROOF_MATERIAL:
            raw = _roof(view, i, trait, look_part(trait), thing.traits[trait], others)
            yield replace(raw, checks=(view.pictured(trait), *raw.checks))
            continue
        yield question_about(
            view,
            i,
            kind=f"{trait} of a {thing.kind}",
            part=look_part(trait),
            answer=thing.traits[trait],
            others=others,
            checks=(view.pictured(trait), rule("other_looks", len(others) - 1, ">=", 1, "words")),
        )


# What one can do in shops of some sorts, and in which others perhaps, of which it is not asked; surely in no other.
USES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    use: (tuple(sorts["has"]), tuple(sorts["may"])) for use, sorts in load_table("cityeqa/uses").items()
}


class WorldKnowledge(EqaTask):
    """Each use is asked as often of a shop that has it as of one that has not, and of a shop one of each at most."""

    reads = "kind"
    share = 190
    name = "World Knowledge"
    about = frozenset({SHOP})
    parts = parts("ask_use")

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
        """Every shop of a known sort with every use that it surely has or has not."""
        for i in view.targets(SHOP):
            thing, text = view.things[i], view.read(i)
            for use, (has, may) in USES.items():
                if thing.noun == SHOP or thing.noun in may:
                    continue
                yield question_about(
                    view,
                    i,
                    kind="use",
                    operands=(use,),
                    phrases=view.unsorted_phrases(i),
                    part="ask_use",
                    fields={"use": use},
                    answer=YES_NO[0] if thing.noun in has else YES_NO[1],
                    others=YES_NO,
                    answer_type=YES_OR_NO,
                    pixels_min=view.rules.read_pixels_min,
                    even=use,
                    crossed=True,
                    checks=(
                        called_business(view, i),
                        rule("shows_what_it_is", float(text is not None), ">=", 1, "names"),
                        _by_lot(view.asked_of(i), "use"),
                    ),
                    flags=name_flags(thing),
                )
