"""What is believed of a model's words: on both sides of every limit."""

from typing import Any

import numpy as np
import pytest

from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.look.look import EVEN, TALL, UNCLEAR, WIDE, CheckedLook, believed, ratio_of
from pipeline.worlds.flight.look.survey import LandmarkCrop

RED, GREY, BACK = (200, 30, 30), (128, 128, 128), (90, 160, 70)
HONEST = {"kind": "building", "proportions": WIDE, "walls": "red", "roof": "red", "roof_shape": "flat"}


def some(colour: tuple[int, int, int], share: float = 1.0, count: int = 100) -> np.ndarray:
    """So many pixels, a share of them in a colour and the rest in that of a lawn."""
    of = round(share * count)
    return np.array([colour] * of + [BACK] * (count - of), dtype=np.uint8).reshape(-1, 3)


def crop(**parts: Any) -> LandmarkCrop:
    own = {"walls": some(RED), "roof": some(RED), "upper": some(RED)} | parts
    return LandmarkCrop(second=1.0, size=0.1, shown=1.0, jpeg=b"", **own)


def thing(noun: str = "building", height: float = 10.0, **look: Any) -> Landmark:
    outline = ((-10.0, -5.0), (10.0, -5.0), (10.0, 5.0), (-10.0, 5.0))
    raw = {"center": (0, 0), "radius_m": 11.2, "outline": outline, "base_m": 0, "top_m": height}
    return Landmark.model_validate(raw | {"appearance": {"noun": noun, **look}})


def judged(mark: Landmark | None = None, crops: Any = None, other: Any = None, **said: str) -> CheckedLook:
    mark, one = mark or thing(), HONEST | said
    assert mark.appearance is not None
    return believed(mark, mark.appearance, crops or (crop(), crop()), (one, one | (other or {})), 10.0)


def reasons(found: CheckedLook) -> list[str]:
    return [refused.reason for refused in found.refused]


def test_words_that_pixels_and_map_bear_out_are_believed_with_their_numbers() -> None:
    found = judged()
    assert found.words == {"walls": "red", "roof": "red", "roof_shape": "flat"}
    assert found.changes["walls"] == pytest.approx(RED, abs=1)
    assert found.refused == []
    shown = {e.name: (e.value, e.relation, e.limit) for e in found.evidence if e.subject == "red walls"}
    assert shown["colour_not_in_picture"] == (1.0, ">=", 0.5)
    assert shown["colour_doubtful"][0] > 10


def test_a_colour_that_the_pixels_do_not_have_is_a_refusal_with_what_was_measured() -> None:
    found = judged(walls="blue")
    assert "walls" not in found.words
    (walls, shape) = found.refused
    assert (walls.reason, walls.measured, walls.limit) == ("colour_not_in_picture", 0.0, 0.5)
    assert shape.reason == "roof_shape_unproven", "without a colour it is not known where the roof ends"
    assert "walls" in judged(crops=(crop(walls=some(RED, 0.51)),) * 2).words
    assert "walls" not in judged(crops=(crop(), crop(walls=some(RED, 0.49)))).words, "both pictures must show it"
    few = judged(crops=(crop(walls=some(RED, count=59)),) * 2)
    assert (few.refused[0].reason, few.refused[0].measured) == ("surface_too_small", 0)


def test_between_two_words_neither_is_believed() -> None:
    rose = some((215, 55, 90))
    found = judged(crops=(crop(walls=rose, roof=rose),) * 2)
    assert reasons(found)[0] in ("colour_not_in_picture", "colour_doubtful")
    assert "walls" not in found.words


def test_two_pictures_must_agree_and_nobody_is_pressed() -> None:
    found = judged(other={"walls": "brown"})
    assert (found.refused[0].reason, found.refused[0].measured) == ("pictures_differ", 2)
    assert found.words == {"roof": "red"}
    assert judged(other={"walls": UNCLEAR}).words == {"roof": "red"}
    nothing = judged(walls=UNCLEAR, roof=UNCLEAR, roof_shape=UNCLEAR)
    assert (nothing.words, nothing.refused) == ({}, [])


@pytest.mark.parametrize(
    ("noun", "kind", "is_believed"),
    [
        ("building", "building", True),
        ("building", "church", True),  # a map's building may be any
        ("church", "building", True),
        ("building", UNCLEAR, True),
        ("church", "storage tank", False),
        ("building", "chimney", False),
        ("building", "something else", False),
    ],
)
def test_a_kind_that_the_map_rules_out_costs_all_words(noun: str, kind: str, is_believed: bool) -> None:
    found = judged(thing(noun), kind=kind)
    assert bool(found.words) == is_believed
    assert is_believed or reasons(found) == ["kind_unlike_map"]


def test_proportions_that_the_map_rules_out_cost_all_words() -> None:
    """20 by 10 m: 25 m high it is 1.1 to 2.5 times as high as wide."""
    assert ratio_of(thing(height=25.0)) == pytest.approx((25 / 22.4, 2.5))
    for height, said, holds in (
        (25.0, TALL, True), (25.0, WIDE, True), (25.0, EVEN, True), (30.0, WIDE, False), (7.9, TALL, False),
        (8.1, TALL, True), (4.9, EVEN, False), (5.1, EVEN, True), (46.0, EVEN, False),
    ):  # fmt: skip
        found = judged(thing(height=height), proportions=said)
        assert bool(found.words) == holds, (height, said)
        assert holds or reasons(found) == ["proportions_unlike_map"]


def test_a_roof_fills_its_corners_or_leaves_them() -> None:
    def shape(share: float, word: str, **look: Any) -> CheckedLook:
        return judged(thing(**look), crops=(crop(upper=some(RED, share)),) * 2, roof_shape=word)

    assert "roof_shape" in shape(0.81, "flat").words
    assert reasons(shape(0.79, "flat")) == ["roof_leaves_corners"]
    assert "roof_shape" in shape(0.49, "domed").words
    assert reasons(shape(0.51, "domed")) == ["roof_fills_corners"]
    assert reasons(shape(0.1, "domed", sign="MUSEUM")) == ["roof_shape_unproven"]


def test_without_a_height_a_thing_of_one_colour_is_told_and_one_of_two_is_not() -> None:
    low = thing().model_copy(update={"top_m": None})
    assert judged(low, proportions=TALL).words == {"walls": "red", "roof": "red", "roof_shape": "flat"}
    two = judged(low, roof="grey")
    assert (two.words, two.refused[0].reason, two.refused[0].measured) == ({}, "surfaces_not_told_apart", 2)


def test_what_the_map_tells_is_not_asked_and_a_tower_has_no_roof() -> None:
    assert judged(thing(walls=GREY, roof_shape="flat")).words == {"roof": "red"}
    tower = judged(thing("tower"), crops=(crop(roof=some(GREY, count=0)),) * 2, kind="tower", roof=UNCLEAR)
    assert tower.words == {"walls": "red", "roof": "red"}
