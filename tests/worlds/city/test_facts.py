"""The facts of cities."""

from __future__ import annotations

from tests.worlds.city.cities import house, point


def test_things_share_the_sets_of_their_fields_and_change_on_their_own() -> None:
    """The sets take half of a thing's memory. What is known of one is not written into another's."""
    one, other = point("a", "car", 1, 2), point("b", "car", 3, 4)
    assert one.model_fields_set is other.model_fields_set
    assert one.model_fields_set == {"id", "kind", "noun", "center", "radius_m"}
    red = one.model_copy(update={"colour": "red"})
    assert "colour" in red.model_fields_set
    assert "colour" not in other.model_fields_set
    assert type(red).model_validate_json(red.model_dump_json()) == red
    assert house("h", 0, 0, 5, 5).model_fields_set != one.model_fields_set
