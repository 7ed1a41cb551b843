"""The wording: renders and parses, of the release too; phrases; and queries by hand."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.cityeqa.query import Hop, Query, RouteLimits, RouteQuery
from pipeline.benchmarks.cityeqa.wording import (
    COLOURS,
    DIRECTIONS,
    RELATIONS,
    HopText,
    Phrase,
    TaskText,
    parse,
    phrase,
    render,
)
from pipeline.core.errors import TemplateError
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import City, Street
from tests.conftest import REAL_DATA

NOUNS = st.sampled_from(["building", "church", "parking lot", "hairdresser's", "university", "orange grower's"])
PHRASES = st.one_of(
    st.builds(Phrase, NOUNS),
    st.builds(Phrase, NOUNS, colour=st.sampled_from(COLOURS)),
    st.builds(Phrase, NOUNS, sign=st.sampled_from(COLOURS)),
    st.builds(Phrase, NOUNS, corner=st.just(True)),
    st.builds(Phrase, NOUNS, name=st.text("abcABC named &.'", min_size=1, max_size=12)),
)


@given(PHRASES)
def test_a_phrase_reads_back_or_is_refused(said: Phrase) -> None:
    if said.is_sayable:
        assert phrase(str(said)) == said


@given(
    st.lists(st.tuples(st.sampled_from(DIRECTIONS), PHRASES), min_size=1, max_size=3), st.text("ab. To?", max_size=30)
)
def test_a_text_reads_back_or_is_refused(hops: list[tuple[str, Phrase]], question: str) -> None:
    try:
        told = TaskText(tuple(HopText(d, str(p)) for d, p in hops), " ".join(question.split()))
        text = render(told)
    except TemplateError:
        return
    assert parse(text) == told


@pytest.mark.parametrize(
    ("hops", "text"),
    [
        ((HopText("north", "a building", "tallest"),), "Find the tallest building to the north of you."),
        ((HopText("east", "an orchard", "nearest"),), "Find the nearest orchard to the east of you."),
        (
            (HopText("south", "a church"), HopText("front", "a car")),
            "There is a church to the south of you. In front of the church, there is a car.",
        ),
        (
            (HopText("west", "a building at the corner of two streets"), HopText("behind", "a bakery")),
            "There is a building at the corner of two streets to the west of you. "
            "Behind the building at the corner of two streets, there is a bakery.",
        ),
        (
            (HopText("north", "a hotel", ""), HopText("across", "a bank"), HopText("same side", "a bar")),
            "There is a hotel to the north of you. Across the street from the hotel, there is a bank. "
            "On the same side of the street as the bank, there is a bar.",
        ),
    ],
)
def test_words_about_streets_and_superlatives(hops: tuple[HopText, ...], text: str) -> None:
    told = TaskText(hops, "What is it?")
    assert render(told) == f"{text} Please tell me What is it?"
    assert parse(render(told)) == told


def test_other_words_are_not_read() -> None:
    assert parse("Find the oldest building to the north of you. Please tell me What is it?") is None
    assert parse("Find the tallest building to the left of you. Please tell me What is it?") is None
    assert parse("There is a bank to the north of you. Behind the bar, there is a car. Please tell me What?") is None


@pytest.mark.real_data
def test_all_released_questions_read_back() -> None:
    for row in json.loads((REAL_DATA / "cityeqa" / "CityEQA_EC_200.json").read_text()):
        told = parse(row["question"])
        assert len(told.hops) == 2
        assert render(told) == row["question"]


def test_anchors_must_be_what_was_introduced() -> None:
    text = "There is a church to the north of you. To the east of the {}, there is a bank. Please tell me What is it?"
    assert parse(text.format("church")) is not None
    assert parse(text.format("building")) is None


def square(id: str, x: float, y: float, half: float = 5.0, kind: str = "building", **more: object) -> CityThing:
    """A thing with a square footprint."""
    ring = ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))
    base = {"noun": kind} | more
    return CityThing(id=id, kind=kind, center=(x, y), radius_m=half * 2**0.5, outline=ring, **base)  # type: ignore[arg-type]


def asked(*things: CityThing, streets: tuple[Street, ...] = ()) -> Query:
    """A small map to be asked."""
    bounds = ((-300.0, -300.0), (300.0, -300.0), (300.0, 300.0), (-300.0, 300.0))
    return Query(City(origin=None, bounds=bounds, things=things, streets=streets), RouteLimits(10.0, 120.0, 60.0))


def found(query: Query, *legs: tuple[str, Phrase]) -> tuple[list[str], list[str]]:
    """Ids of what a wording from (0, 0) leads to surely, and possibly."""
    way = RouteQuery(0.0, 0.0, tuple(Hop(DIRECTIONS.index(d), p) for d, p in legs))
    return ids(query, way)


def ids(query: Query, way: RouteQuery) -> tuple[list[str], list[str]]:
    """Ids, in order, of what a way leads to surely, and possibly."""
    led = query.lead([way])
    names = [sorted(query.city.things[i].id for i in m.indices.tolist()) for m in (led.sure, led.maybe)]
    return names[0], names[1]


BUILDING = Phrase("building")


@pytest.mark.parametrize(
    ("x", "y", "sure", "maybe"),
    [
        (0.0, 50.0, ["a"], ["a"]),  # straight north
        (50.0, 0.0, [], []),
        (35.0, 45.0, [], ["a"]),  # the nearest point at 36.9 degrees: within the margin
        (33.0, 45.0, ["a"], ["a"]),  # at 35 degrees
        (0.0, 124.0, ["a"], ["a"]),  # its south wall is 119 m away, within reach
        (0.0, 184.0, [], ["a"]),  # 179 m: within one and a half times the reach, which no text says
        (0.0, 186.0, [], []),
    ],
)
def test_a_hop_by_hand(x: float, y: float, sure: list[str], maybe: list[str]) -> None:
    assert found(asked(square("a", x, y)), ("north", BUILDING)) == (sure, maybe)


def test_every_landmark_counts_not_the_nearest() -> None:
    """Two buildings to the north, a bank east of each: "the bank" is none of them."""
    two = asked(
        square("a", 0, 30), square("b", 0, 90), square("c", 40, 30, kind="shop", noun="bank"),
        square("d", 40, 90, kind="shop", noun="bank"),
    )  # fmt: skip
    assert sorted(found(two, ("north", BUILDING), ("east", Phrase("bank")))[1]) == ["c", "d"]
    red = asked(
        square("a", 0, 30, colour="red"), square("b", 0, 90, colour="blue"),
        square("c", 40, 30, kind="shop", noun="bank"), square("d", 40, 90, kind="shop", noun="bank"),
    )  # fmt: skip
    assert found(red, ("north", Phrase("building", colour="red")), ("east", Phrase("bank"))) == (["c"], ["c"])


def test_what_is_not_known_of_a_thing_may_be_so() -> None:
    """A building of unknown colour may be the red one; a shop of unknown sort the bakery."""
    query = asked(square("a", 0, 30), square("s", 0, -30, kind="shop"))
    assert found(query, ("north", Phrase("building", colour="red"))) == ([], ["a"])
    assert found(query, ("south", Phrase("bakery")))[0] == []
    with_bakery = asked(
        square("a", 0, 30), square("s", 0, -30, kind="shop"), square("t", 9, -60, kind="shop", noun="bakery")
    )
    assert found(with_bakery, ("south", Phrase("bakery"))) == (["t"], ["s", "t"])


def test_what_touches_lies_in_every_direction_perhaps() -> None:
    query = asked(square("a", 0, 50), square("s", 10, 50, kind="shop", noun="bank"))
    for direction in DIRECTIONS:
        assert found(query, ("north", BUILDING), (direction, Phrase("bank"))) == ([], ["s"])


# A street that runs east, 12 m to the north of it a house, and beyond a bakery behind the house.
ELM = Street(id="elm", name="Elm Street", line=((-100.0, 50.0), (0.0, 50.0), (100.0, 50.0)))
MILL = Street(id="mill", name="Mill Avenue", line=((0.0, 50.0), (0.0, 200.0)))


def about(relation: str, *things: CityThing, streets: tuple[Street, ...] = (ELM,)) -> tuple[list[str], list[str]]:
    """Ids of what surely and possibly has a relation to the house, which lies north of (40, 0)."""
    query = asked(square("house", 40.0, 67.0), *things, streets=streets)
    way = RouteQuery(40.0, 0.0, (Hop(0, BUILDING), Hop(RELATIONS.index(relation), Phrase("bank"))))
    return ids(query, way)


def bank(name: str, x: float, y: float, **more: Any) -> CityThing:
    """A bank as a point."""
    return CityThing(id=name, kind="shop", noun="bank", center=(x, y), radius_m=0.0, **more)


@pytest.mark.parametrize(
    ("relation", "x", "y", "sure", "maybe"),
    [
        ("front", 40.0, 55.0, True, True),  # between house and street
        ("front", 40.0, 45.0, False, True),  # beyond the middle of the street, 17 m away
        ("front", 40.0, 80.0, False, False),
        ("front", 65.0, 55.0, False, False),  # 71 degrees off its front: beside it
        ("front", 50.5, 55.0, False, True),  # 51 degrees: within the margin
        ("behind", 40.0, 80.0, True, True),
        ("behind", 40.0, 98.0, False, True),  # 26 m behind
        ("behind", 40.0, 55.0, False, False),
        ("across", 40.0, 38.0, True, True),
        ("across", 40.0, 58.0, False, False),  # on its own side
        ("across", 65.0, 38.0, False, True),  # 20 m farther along the street
        ("across", 82.0, 38.0, False, False),  # 37 m
        ("same side", 70.0, 62.0, True, True),
        ("same side", 70.0, 38.0, False, False),
        ("same side", 70.0, 51.0, False, True),  # nearly on the line: on which side of it, nobody can say
        ("same side", 70.0, 99.0, False, False),  # 49 m from the street: not on it
    ],
)
def test_a_street_by_hand(relation: str, x: float, y: float, sure: bool, maybe: bool) -> None:
    found = about(relation, bank("bank", x, y))
    assert found == (["bank"] * sure, ["bank"] * maybe)


def test_where_no_street_is_known_nothing_is_sure() -> None:
    for relation in ("front", "behind"):
        assert about(relation, bank("bank", 40.0, 55.0), streets=()) == ([], ["bank"])
    for relation in ("across", "same side"):  # on a map without streets nothing lies on one
        assert about(relation, bank("bank", 40.0, 55.0), streets=()) == ([], [])


def test_a_house_between_two_streets_has_no_sure_front() -> None:
    """A second street as far from it as the first; and one that only some would call a street."""
    other = Street(id="ash", name="Ash Street", line=((-100.0, 84.0), (100.0, 84.0)))
    for streets in ((ELM, other), (ELM, other.model_copy(update={"sure": False}))):
        assert about("front", bank("bank", 40.0, 58.0), streets=streets)[0] == []
        assert about("same side", bank("bank", 70.0, 60.0), streets=streets)[0] == []


def test_both_ways_of_an_avenue_may_be_one_street() -> None:
    """Two lines of one name that do not touch: who lies on the other may be on the same side, or across."""
    avenue = [Street(id=f"w{y:g}", name="Avenue", line=((-100.0, y), (100.0, y))) for y in (50.0, 30.0)]
    for relation in ("across", "same side"):
        assert about(relation, bank("bank", 40.0, 20.0), streets=tuple(avenue)) == ([], ["bank"])


def test_a_roundabout_has_no_corner_of_two_streets_between_its_own_arms() -> None:
    """A ring of 20 m about (0, 100) and the avenue that leaves it to the south; the house looks on the ring alone."""
    ring = tuple((10.0 * math.sin(a), 100.0 - 10.0 * math.cos(a)) for a in np.linspace(0, 2 * math.pi, 13).tolist())
    streets = (Street(id="ring", name="Place", line=(*ring[:-1], ring[0])), ELM)
    leaving = Street(id="exit", name="Mill Avenue", line=((0.0, 90.0), (0.0, 0.0)))
    corner = Phrase("building", corner=True)
    inside, beside = square("inside", 0.0, 103.0), square("beside", 14.0, 80.0)
    sure, _ = asked(inside, beside, streets=(*streets, leaving)).fit(corner, np.arange(2))
    assert sure.tolist() == [False, True]
    place = Street(id="exit", name="Place", line=leaving.line)  # the same street goes on: perhaps no corner
    sure, maybe = asked(beside, streets=(streets[0], place)).fit(corner, np.arange(1))
    assert (sure.tolist(), maybe.tolist()) == ([False], [True])


def most(word: str, *things: CityThing) -> tuple[list[str], list[str]]:
    """Ids of what a superlative of buildings to the north leads to surely, and possibly."""
    return ids(asked(*things), RouteQuery(0.0, 0.0, (Hop(0, BUILDING, word),)))


def test_superlatives_need_a_margin_and_all_that_may_be_there() -> None:
    low, high = square("low", 0, 30, top_m=10.0), square("high", 0, 60, top_m=13.0)
    assert most("tallest", low, high) == (["high"], ["high"])
    assert most("tallest", square("low", 0, 30, top_m=11.0), high) == ([], ["high", "low"])  # 1.18 times as tall
    assert most("tallest", low, high, square("far", 0, 134, top_m=50.0)) == ([], ["far", "high"])  # 129 m: may be there
    assert most("tallest", low, high, square("west", -90, 30, top_m=50.0)) == (["high"], ["high"])
    assert most("nearest", low, high) == (["low"], ["low"])  # 25 m and 55 m
    assert most("nearest", low, square("high", 0, 44, top_m=13.0))[0] == ["low"]  # 39 m: 1.56 times as far
    assert most("nearest", low, square("high", 0, 39, top_m=13.0))[0] == []  # 34 m: 1.36 times
    assert most("largest", low, square("wide", 0, 60, half=7.0)) == (["wide"], ["wide"])  # 196 m2 and 100 m2
    assert most("largest", low, square("wide", 0, 60, half=6.0))[0] == []  # 144 m2


def test_an_unknown_height_may_be_the_tallest() -> None:
    """Storeys bound a height: nine are 22.5 m at least and 50 m at most."""
    nine, two = square("nine", 0, 60, levels=9.0), square("two", 0, 30, levels=2.0)
    assert most("tallest", nine, two) == (["nine"], ["nine"])
    assert most("tallest", nine, two, square("bare", 0, 90)) == ([], ["bare", "nine"])
