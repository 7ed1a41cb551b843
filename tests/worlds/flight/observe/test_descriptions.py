"""How landmarks are spoken of: by what is seen of them, and of nothing else near the flight."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.geometry.colours import WORDS
from pipeline.reading.maps.appearance import may_be
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.observe.descriptions import DescriptionConfig, ReferringExpression, describe
from pipeline.worlds.flight.observe.flight import COMPASS

CONFIG = DescriptionConfig()
PATH = np.zeros((1, 3))
RED, DARK_RED, GREY, BLUE, ROSE = (200, 30, 30), (150, 25, 25), (128, 128, 128), (70, 150, 235), (215, 55, 90)


def thing(
    noun: str = "building",
    at: tuple[float, float] = (0.0, 0.0),
    colour: Any = None,
    height: float | tuple[float, float] | None = None,
    radius: float = 5.0,
    **look: Any,
) -> Landmark:
    if colour is not None:
        look |= {"walls": colour, "roof": colour}
    if height is not None:
        look["height_m"] = height if isinstance(height, tuple) else (height, height)
    return Landmark.model_validate({"center": at, "radius_m": radius, "appearance": {"noun": noun, **look}})


def said(*things: Landmark) -> tuple[ReferringExpression, ...]:
    return describe(things, PATH, CONFIG)


def labels(*things: Landmark) -> list[str | None]:
    return [one.label for one in said(*things)]


def test_a_thing_alone_is_told_by_its_noun_and_colour() -> None:
    assert labels(thing("park")) == ["the park"]
    assert labels(thing("church", colour=RED)) == ["the red church"]
    assert labels(thing(colour=ROSE)) == ["the building"], "red or pink"
    assert labels(thing(walls=RED)) == ["the building with red walls"]
    assert labels(thing(roof=RED)) == ["the building with a red roof"]
    assert labels(thing(roof=SURE["orange"])) == ["the building with an orange roof"]
    assert labels() == []


def test_what_is_told_of_one_is_not_told_of_the_other() -> None:
    assert labels(thing(colour=RED), thing(colour=GREY)) == ["the red building", "the grey building"]
    assert labels(thing(roof_shape="domed"), thing(roof_shape="flat")) == ["the building with a dome", None]
    assert labels(thing("church"), thing("park")) == ["the church", "the park"]


def test_what_the_video_shows_from_afar_is_a_rival_and_so_is_what_has_no_extent() -> None:
    three = [thing("park"), thing("church", at=(0, 9000)), thing("park", at=(0, 9000))]
    assert [one.label for one in describe(three, PATH, CONFIG)] == ["the park", None, None]
    shown = describe(three, PATH, CONFIG, np.array([True, True, False]))
    assert [one.label for one in shown] == ["the park", "the church", None]
    every = [one.label for one in describe(three, PATH, CONFIG, np.ones(3, dtype=bool))]
    assert every == [None, "the church", "the park beside the church"]
    point = thing("park", at=(0, 100), radius=0.0)
    assert [one.label for one in said(thing("park"), point)] == [None, None]
    assert said(point)[0].unnameable_reason.reason == "looks_unknown"
    assert labels(thing("fountain", radius=0.0)) == ["the fountain"]
    perhaps = thing("park", at=(0, 100)).model_copy(update={"doubt": "end_date=2018"})
    assert [one.label for one in said(thing("park"), perhaps)] == [None, None]


def test_a_colour_that_may_be_the_other_ones_does_not_tell() -> None:
    """Reds of two kinds are both red; what is between red and pink may be either; an untold colour may be any."""
    assert labels(thing(colour=RED), thing(colour=DARK_RED)) == [None, None]
    assert labels(thing(colour=RED), thing(colour=ROSE)) == [None, None]
    assert labels(thing(colour=RED), thing()) == [None, None]
    assert labels(thing(colour=RED), thing(walls=GREY))[0] is None, "its roof may be red"


def test_a_noun_that_may_be_said_of_the_other_does_not_tell() -> None:
    assert labels(thing("building", colour=RED), thing("church", colour=RED)) == [None, "the red church"]
    assert labels(thing("tower"), thing("chimney")) == [None, None]
    assert labels(thing("tower"), thing(height=30, radius=5)) == [None, None], "a house as slim as a tower"
    assert labels(thing("tower"), thing(height=10, radius=5))[0] == "the tower"
    assert labels(thing("tower"), thing())[0] is None, "its height is not known"


@pytest.mark.parametrize(
    ("high", "low", "told"),
    [(13.0, 10.0, True), (12.9, 10.0, False), (9.0, 6.0, True), (8.9, 6.0, False), (None, 10.0, False)],
)
def test_heights_tell_by_a_ratio_and_a_storey(high: float | None, low: float, told: bool) -> None:
    found = labels(thing(colour=RED, height=high), thing(colour=RED, height=low))
    assert found == (["the tallest red building", "the lowest red building"] if told else [None, None])


def test_storeys_tell_a_height_by_their_bounds() -> None:
    assert labels(thing(height=(25.0, 55.0)), thing(height=(5.0, 15.0)))[0] == "the tallest building"
    assert labels(thing(height=(15.0, 35.0)), thing(height=(5.0, 15.0)))[0] is None


@pytest.mark.parametrize(("large", "told"), [(2000.0, True), (1999.0, False), (None, False)])
def test_sizes_tell_by_a_factor(large: float | None, told: bool) -> None:
    found = labels(thing("park", area_m2=large), thing("park", area_m2=1000.0), thing("building"))
    assert found == ["the largest park" if told else None, None, "the building"]


def test_a_sign_tells_what_looks_do_not() -> None:
    twins = thing(colour=RED, sign="HOTEL"), thing(colour=RED, sign="BANK"), thing(colour=RED, sign="bank")
    assert labels(*twins) == ['the red building with the sign "HOTEL"', None, None]


@pytest.mark.parametrize(("gap", "other", "told"), [(19, 61, True), (31, 60, False), (19, 48, False)])
def test_what_stands_beside_something_else_is_told_by_it(gap: float, other: float, told: bool) -> None:
    """Gaps are those of the circles, each of 5 m."""
    found = labels(thing("park"), thing(at=(gap + 10.0, 0.0)), thing(at=(0.0, -other - 10.0)))
    assert found == ["the park", "the building beside the park" if told else None, None]


@pytest.mark.parametrize(
    ("gap", "other", "told"), [(70, 141, True), (70, 139, False), (31, 62, True), (31, 60, False), (101, 210, False)]
)
def test_what_is_by_far_the_nearest_of_its_kind_is_told_by_that(gap: float, other: float, told: bool) -> None:
    found = labels(thing("park"), thing(at=(gap + 10.0, 0.0)), thing(at=(0.0, -other - 10.0)))
    assert found == ["the park", "the building nearest to the park" if told else None, None]


@pytest.mark.parametrize(("away", "told"), [(71.0, "beside"), (69.0, "nearest to"), (47.0, None)])
def test_what_has_an_outline_is_as_far_as_that_and_not_as_its_circle(away: float, told: str | None) -> None:
    """A strip 80 m long, 10 m wide, across the way to it: 61 m from the park; its circle reaches to 26 m."""
    strip = thing(at=(0.0, away), radius=40.0).model_copy(
        update={"outline": ((-40, away - 5), (40, away - 5), (40, away + 5), (-40, away + 5))}
    )
    found = labels(thing("park"), thing(at=(29.0, 0.0)), strip)
    assert found[1] == (f"the building {told} the park" if told else None)


@pytest.mark.parametrize(("away", "told"), [(116, "beside"), (114, "nearest to"), (104, None)])
def test_a_point_that_stands_for_something_large_may_reach_farther(away: float, told: str | None) -> None:
    """60 m, or at least 50 m, must lie between church and other park, which reaches up to 50 m from its point."""
    park, other = thing("park", at=(30.0, 0.0)), thing("park", at=(0.0, away), radius=0.0)
    assert labels(thing("church"), park, other)[1] == (f"the park {told} the church" if told else None)


def test_only_what_is_near_the_flight_counts() -> None:
    assert labels(thing("park"), thing("park", at=(0.0, 506.0)))[0] == "the park"
    assert labels(thing("park"), thing("park", at=(0.0, 504.0)))[0] is None
    far = said(thing("park"), thing("park", at=(0.0, 506.0)))[1].unnameable_reason
    assert (far.reason, far.limit) == ("not_near_the_flight", 500.0)


def test_why_there_is_no_label_is_said_with_numbers() -> None:
    nothing = Landmark(name="Shop", center=(0, 0), radius_m=0)
    found = said(thing(colour=RED), thing(colour=RED), thing(colour=RED), nothing)
    reasons = [
        (one.unnameable_reason.reason, one.unnameable_reason.measured, one.unnameable_reason.limit)
        for one in found
        if one.unnameable_reason
    ]
    assert reasons == [("looks_like_another", 3, 1)] * 3 + [("looks_unknown", None, None)]
    shown = said(thing(colour=RED), thing(colour=BLUE))[0].proof
    assert [(e.name, e.relation, e.limit) for e in shown] == [
        ("colour_fits", ">=", 10.0),
        ("colour_fits_no_other", ">=", 10.0),
    ]
    assert all(e.value >= 10.0 for e in shown)


def test_labels_are_proved_with_what_was_measured() -> None:
    def proof(*things: Landmark, of: int = 0) -> list[tuple[str, float, str, float | None]]:
        return [(e.name, e.value, e.relation, e.limit) for e in said(*things)[of].proof if "colour" not in e.name]

    high, low = thing(colour=RED, height=14.0), thing(colour=RED, height=10.0)
    assert proof(high, low) == proof(low, high) == [("height_ratio", 1.4, ">=", 1.3)]
    parks = thing("park", area_m2=2500.0), thing("park", area_m2=1000.0), thing("building")
    assert proof(*parks) == [("area_ratio", 2.5, ">=", 2.0)]
    there = thing("park"), thing(at=(29.0, 0.0)), thing(at=(0.0, -75.0))
    assert proof(*there, of=1) == [("gap", 19.0, "<=", 20.0), ("gap_of_others", 65.0, ">=", 60.0)]
    far = thing("park"), thing(at=(50.0, 0.0)), thing(at=(0.0, -110.0))
    assert proof(*far, of=1) == [("gap", 40.0, "<=", 100.0), ("gap_of_others", 100.0, ">=", 80.0)]


# Any city


SURE = {word: colours[0] for word, colours in WORDS.items()}
things = st.builds(
    thing,
    noun=st.sampled_from(["building", "building", "church", "tower", "park"]),
    at=st.tuples(st.integers(-300, 300), st.integers(-300, 300)),
    colour=st.none() | st.sampled_from([*SURE.values(), ROSE]) | st.tuples(*[st.integers(0, 255)] * 3),
    height=st.none() | st.integers(3, 60).map(float),
    radius=st.sampled_from([3.0, 10.0]),
    roof_shape=st.sampled_from([None, "flat", "pitched", "domed"]),
    sign=st.sampled_from([None, None, "BANK", "HOTEL"]),
    area_m2=st.none() | st.integers(20, 400).map(float),
)
_LABEL = re.compile(
    r"the (?:(?P<rank>tallest|lowest|largest) )?(?:(?P<colour>\w+) )?(?P<noun>building|church|tower|park)"
    r"(?: with (?P<roof>a dome|a pitched roof))?(?: with the sign \"(?P<sign>\w+)\")?"
    r"(?: (?P<how>beside|nearest to) (?P<anchor>.+))?"
)
_ROOFS = {"a dome": "domed", "a pitched roof": "pitched"}


def somebody_says(label: str, mark: Landmark, by_label: dict[str, Landmark], all_of: tuple[Landmark, ...]) -> bool:
    """Whether words may be said of a thing by somebody who is off by half of every margin: slow and plain."""
    found = _LABEL.fullmatch(label)
    assert found is not None, label
    look = mark.appearance
    slim = look.noun in may_be("building") and (look.height_m is None or look.height_m[1] >= 2.4 * mark.radius_m)
    wrong = [look.noun not in may_be(found["noun"]) and not (found["noun"] == "tower" and slim)]
    if found["colour"] and look.walls is not None:
        wrong.append(_off(look.walls, found["colour"]) > CONFIG.colour_margin / 2)
    if found["roof"]:
        wrong.append(look.roof_shape not in {None, _ROOFS[found["roof"]]})
    if found["sign"]:
        wrong.append(look.sign != found["sign"])
    if found["anchor"]:
        anchor = by_label[found["anchor"]]
        plainly = label.partition(f" {found['how']} ")[0]
        alike = [m for m in all_of if m not in (mark, anchor) and somebody_says(plainly, m, by_label, all_of)]
        gap, *others = (
            np.hypot(*np.subtract(m.center, anchor.center)) - m.radius_m - anchor.radius_m for m in (mark, *alike)
        )
        nearer = any(1.25 * max(other, 1.0) < gap for other in others)
        wrong.append(gap > 45.0 if found["how"] == "beside" else nearer)
    if found["rank"]:
        plainly = label.replace(f"{found['rank']} ", "", 1)
        rivals = [m for m in all_of if m is not mark and somebody_says(plainly, m, by_label, all_of)]
        wrong.append(any(_beats(m, mark, found["rank"]) for m in rivals))
    return not any(wrong)


def _beats(rival: Landmark, mark: Landmark, rank: str) -> bool:
    """Whether another thing is surely taller, or lower, by a tenth."""
    if rank == "largest":
        areas = [m.appearance.area_m2 for m in (rival, mark) if m.appearance and m.appearance.area_m2]
        return len(areas) == 2 and areas[0] > 1.5 * areas[1]
    heights = [m.appearance.height_m for m in (rival, mark) if m.appearance and m.appearance.height_m]
    if len(heights) < 2:
        return False
    (low, high), (mine_low, mine_high) = heights
    return low > 1.1 * mine_high if rank == "tallest" else 1.1 * high < mine_low


def _off(rgb: tuple[int, int, int], word: str) -> float:
    """By how much another word fits a colour better (CIELAB by hand)."""

    def lab(colour: tuple[int, int, int]) -> np.ndarray:
        linear = [c / 3294.6 if c <= 10.31475 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        r, g, b = linear
        x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
        y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
        z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
        fx, fy, fz = (t ** (1 / 3) if t > 0.008856451679 else 7.787037 * t + 4 / 29 for t in (x, y, z))
        return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])

    away = {w: min(float(np.linalg.norm(lab(rgb) - lab(c))) for c in colours) for w, colours in WORDS.items()}
    return away[word] - min(d for w, d in away.items() if w != word)


@settings(max_examples=40)
@given(st.lists(things, min_size=1, max_size=8).map(tuple))
def test_every_label_applies_to_one_thing_alone(city: tuple[Landmark, ...]) -> None:
    found = said(*city)
    by_label = {one.label: mark for one, mark in zip(found, city, strict=True) if one.label}
    assert len(by_label) == sum(one.label is not None for one in found)
    for one, mark in zip(found, city, strict=True):
        assert (one.label is None) == (one.unnameable_reason is not None)
        if one.label:
            fits = [m for m in city if somebody_says(one.label, m, by_label, city)]
            assert fits == [mark], one.label
            assert not COMPASS.search(one.label)
            assert all(e.limit is not None and (e.value >= e.limit) == (e.relation == ">=") for e in one.proof)


@settings(max_examples=20)
@given(st.lists(things, min_size=2, max_size=6), st.randoms())
def test_labels_follow_their_things_in_any_order(city: list[Landmark], random: Any) -> None:
    found = labels(*city)
    order = list(range(len(city)))
    random.shuffle(order)
    assert labels(*(city[i] for i in order)) == [found[i] for i in order]


def test_what_takes_over_200_characters_is_not_said() -> None:
    """With "the " before them 197 characters are 201; with one less it is said."""
    (long,) = said(thing("x" * 197))
    assert long.label is None
    assert (long.unnameable_reason.reason, long.unnameable_reason.measured, long.unnameable_reason.limit) == (
        "label_too_long",
        201,
        200,
    )
    assert labels(thing("x" * 196)) == [f"the {'x' * 196}"]


@pytest.mark.parametrize("other", [70.0, 70.5, 90.0])
def test_a_proof_has_the_gap_of_the_nearest_that_looks_alike(other: float) -> None:
    """Circles of 5 m: 60 m is what must lie between, and so is proved; of two the nearer one counts."""
    found = said(thing("park"), thing(at=(29.0, 0.0)), thing(at=(0.0, -other)), thing(at=(0.0, 300.0)))[1]
    assert found.label == "the building beside the park"
    assert [e.value for e in found.proof] == [19.0, other - 10.0]
