"""The wording: renders and parses, of the release too; phrases; and queries by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.cityeqa.phrases import COLOURS, Phrase, phrase
from pipeline.benchmarks.cityeqa.query import Leg, Limits, Query, Way
from pipeline.benchmarks.cityeqa.wording import DIRECTIONS, Hop, Told, parse, render
from pipeline.core.errors import TemplateError
from pipeline.worlds.city.facts import City, Thing
from tests.conftest import REAL_DATA

NOUNS = st.sampled_from(["building", "church", "parking lot", "hairdresser's", "university", "orange grower's"])
PHRASES = st.one_of(
    st.builds(Phrase, NOUNS),
    st.builds(Phrase, NOUNS, colour=st.sampled_from(COLOURS)),
    st.builds(Phrase, NOUNS, sign=st.sampled_from(COLOURS)),
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
        told = Told(tuple(Hop(d, str(p)) for d, p in hops), " ".join(question.split()))
        text = render(told)
    except TemplateError:
        return
    assert parse(text) == told


def test_all_released_questions_read_back() -> None:
    for row in json.loads((REAL_DATA / "cityeqa" / "CityEQA_EC_200.json").read_text()):
        told = parse(row["question"])
        assert told is not None
        assert len(told.hops) == 2
        assert render(told) == row["question"]


def test_anchors_must_be_what_was_introduced() -> None:
    text = "There is a church to the north of you. To the east of the {}, there is a bank. Please tell me What is it?"
    assert parse(text.format("church")) is not None
    assert parse(text.format("building")) is None


def square(id: str, x: float, y: float, half: float = 5.0, kind: str = "building", **more: object) -> Thing:
    """A thing with a square footprint."""
    ring = ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))
    base = {"noun": kind} | more
    return Thing(id=id, kind=kind, center=(x, y), radius_m=half * 2**0.5, outline=ring, **base)  # type: ignore[arg-type]


def asked(*things: Thing) -> Query:
    """A small map to be asked."""
    bounds = ((-300.0, -300.0), (300.0, -300.0), (300.0, 300.0), (-300.0, 300.0))
    return Query(City(origin=None, bounds=bounds, things=things), Limits(10.0, 120.0, 60.0))


def found(query: Query, *legs: tuple[str, Phrase]) -> tuple[list[str], list[str]]:
    """Ids of what a wording from (0, 0) leads to surely, and possibly."""
    way = Way(0.0, 0.0, tuple(Leg(DIRECTIONS.index(d), p) for d, p in legs))
    led = query.lead([way])
    return tuple([query.city.things[i].id for i in m.indices.tolist()] for m in (led.sure, led.maybe))  # type: ignore


BUILDING = Phrase("building")


@pytest.mark.parametrize(
    ("x", "y", "sure", "maybe"),
    [
        (0.0, 50.0, ["a"], ["a"]),  # straight north
        (50.0, 0.0, [], []),
        (35.0, 45.0, [], ["a"]),  # the nearest point at 36.9 degrees: within the margin
        (33.0, 45.0, ["a"], ["a"]),  # at 35 degrees
        (0.0, 124.0, ["a"], ["a"]),  # its south wall is 119 m away, within reach
        (0.0, 126.0, [], ["a"]),  # 121 m: within a tenth of the reach
        (0.0, 138.0, [], []),
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
