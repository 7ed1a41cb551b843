"""Groups and counts by name."""

from __future__ import annotations

from pipeline.core.groups import by_frequency, grouped


def test_groups_and_their_members_keep_their_order() -> None:
    assert list(grouped(["pear", "fig", "plum", "kiwi"], len).items()) == [(4, ["pear", "plum", "kiwi"]), (3, ["fig"])]
    assert grouped(iter(()), len) == {}


def test_of_equally_frequent_names_the_first_comes_first() -> None:
    assert by_frequency({"b": 2, "a": 2, "c": 3}) == [("c", 3), ("a", 2), ("b", 2)]
