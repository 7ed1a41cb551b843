"""Labels of landmarks: unique names, relations, and when neither tells one apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.observe.landmarks import WINDS, labels


def place(name: str, east: float, north: float) -> Landmark:
    return Landmark(name=name, center=(east, north), radius_m=5)


def labelled(*places: Landmark) -> tuple[str | None, ...]:
    return labels(places, 200.0, 10.0)


HALL = place("City Hall", 0, 0)


def test_unique_names_stay():
    assert labelled(HALL, place("Library", 10, 0)) == ("City Hall", "Library")
    assert labels((), 200.0, 10.0) == ()


def test_namesakes_far_apart_are_unique_and_near_ones_are_not():
    assert labelled(place("Shop", 0, 0), place("Shop", 201, 0)) == ("Shop", "Shop")
    assert labelled(place("Shop", 0, 0), place("Shop", 199, 0)) == (None, None)
    assert labelled(place("Shop", 0, 0), place(" SHOP ", 50, 0)) == (None, None)


def test_a_namesake_is_told_by_its_direction_from_a_unique_one():
    found = labelled(HALL, place("Shop", 0, 100), place("Shop", -70, -70))
    assert found == ("City Hall", "the Shop north of City Hall", "the Shop southwest of City Hall")


@pytest.mark.parametrize(
    ("degrees", "told"), [(0, True), (12, True), (13, False), (22, False), (33, True), (347, False)]
)
def test_the_direction_has_a_margin(degrees, told):
    a = np.radians(degrees)
    found = labelled(HALL, place("Shop", 100 * np.sin(a), 100 * np.cos(a)), place("Shop", 0, -60))
    assert (found[1] is not None) is told


@pytest.mark.parametrize("wind", range(8))
def test_all_eight_winds(wind):
    a = np.radians(45 * wind)
    found = labelled(
        HALL, place("Shop", 100 * np.sin(a), 100 * np.cos(a)), place("Shop", -90 * np.sin(a), -90 * np.cos(a))
    )
    assert found[1] == f"the Shop {WINDS[wind]} of City Hall"
    assert found[2] == f"the Shop {WINDS[(wind + 4) % 8]} of City Hall"


def test_two_in_the_same_direction_are_not_told_apart():
    assert labelled(HALL, place("Shop", 0, 60), place("Shop", 0, 120))[1:] == (None, None)
    # 31 degrees off north: in the sector of northeast, but within 10 degrees of that of north
    assert labelled(HALL, place("Shop", 0, 60), place("Shop", 60, 100))[1] is None


def test_the_next_unique_one_serves_where_the_nearest_does_not_tell():
    found = labelled(HALL, place("Shop", 0, 60), place("Shop", 0, 120), place("Mill", 0, 90))
    assert found[1:3] == ("the Shop south of Mill", "the Shop north of Mill")
    found = labelled(HALL, place("Shop", 40, 90), place("Shop", 40, -60), place("Mill", 140, 90))
    assert found[1] == "the Shop west of Mill"  # from City Hall it is at 24 degrees


def test_an_anchor_must_be_unique_and_near():
    assert (
        labelled(place("Mill", 0, 0), place("Mill", 20, 0), place("Shop", 0, 90), place("Shop", 90, 0)) == (None,) * 4
    )
    assert labelled(HALL, place("Shop", 0, 250), place("Shop", 90, 250)) == ("City Hall", None, None)


def test_a_place_right_at_the_anchor_has_no_direction():
    assert labelled(HALL, place("Shop", 0, 0), place("Shop", 0, 90))[1] is None


def test_a_label_that_would_be_too_long_is_none():
    long = "x" * 190
    assert labelled(HALL, place(long, 0, 100), place(long, 0, -100))[1:] == (None, None)


spots = st.lists(
    st.tuples(st.sampled_from("AAABC"), st.integers(-300, 300), st.integers(-300, 300)), min_size=1, max_size=12
)


@pytest.mark.slow
@given(spots, st.randoms())
def test_labels_tell_apart_within_the_distance_and_follow_their_landmark(found, random):
    places = [place(*spot) for spot in found]
    named = labelled(*places)
    for i, a in enumerate(places):
        for j in range(i):
            near = np.hypot(*np.subtract(a.center, places[j].center)) <= 200
            assert not (near and named[i] is not None and named[i] == named[j])
    if len({p.center for p in places}) == len(places):
        order = list(range(len(places)))
        random.shuffle(order)
        assert labelled(*(places[i] for i in order)) == tuple(named[i] for i in order)
