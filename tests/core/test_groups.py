"""Groups and counts by name, and the first of many."""

from __future__ import annotations

from pipeline.core.groups import by_frequency, first_named, grouped


def test_groups_and_their_members_keep_their_order() -> None:
    assert list(grouped(["pear", "fig", "plum", "kiwi"], len).items()) == [(4, ["pear", "plum", "kiwi"]), (3, ["fig"])]
    assert grouped(iter(()), len) == {}


def test_of_equally_frequent_names_the_first_comes_first() -> None:
    assert by_frequency({"b": 2, "a": 2, "c": 3}) == [("c", 3), ("a", 2), ("b", 2)]


def test_of_many_names_the_first_are_told_and_the_others_counted() -> None:
    assert [first_named("abc", most) for most in (2, 3, 4)] == ["a, b, … 1 more", "a, b, c", "a, b, c"]
    assert first_named([], 2) == ""
