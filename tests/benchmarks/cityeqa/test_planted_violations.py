"""Cities of which a task would name what an agent's pictures do not show so: each is refused, and for that reason."""

from typing import Any

import pytest

from pipeline.benchmarks.cityeqa.tasks import recognition
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.worlds.city.facts import City, CityThing
from tests.benchmarks.cityeqa.cities import tasks_of
from tests.benchmarks.cityeqa.test_refused import RULES, WALL, board, scene, shop
from tests.worlds.city.cities import city, house, point

COUNT, THERE, LOOK = "Counting", "Existence Judgement", "Attribute Recognition"
SORT, SIDE, USE = "Object Recognition", "Spatial Reasoning", "World Knowledge"
LOT = house("lot", 20.0, 20.0, 20.0, 20.0, height_m=None).model_copy(update={"kind": "parking", "noun": "parking lot"})
CARS = ("car",)


def car(name: str, x: float = 30.0, y: float = 30.0, **facts: Any) -> CityThing:
    return point(name, "car", x, y, **{"colour": "red"} | facts)


def parked(*cars: CityThing, complete: tuple[str, ...] = CARS) -> City:
    """A parking lot, and a blue and a red car elsewhere."""
    return city(LOT, *cars, car("e", 90.0, 90.0, colour="blue"), car("f", 90.0, 80.0), complete=complete)


def about(*things: CityThing, complete: tuple[str, ...] = ("bench", "car")) -> City:
    """A fountain with things about it."""
    return city(point("f", "fountain", 50.0, 50.0), *things, complete=complete)


def bench(name: str, x: float, y: float = 50.0, **facts: Any) -> CityThing:
    return point(name, "bench", x, y, **{"colour": "green"} | facts)


A, B, C = board("a", 50.0, "ALPHA", colour="red"), board("b", 40.0, "BETA", colour="blue"), board("c", 75.0, "GAMMA")
STREET = (shop("s", 50.0, "Crumb"), shop("t", 35.0, "Till", noun="bank"), shop("u", 70.0, "Stem", noun="florist"))
BETWEEN = shop("m", 47.0, doubt="an office?")
UNKNOWN_COLOUR, NO_NAME = ("colour_unknown", 0, 1), ("no_name_to_read", 0, 1)
EDGE, PART = ("on_the_edge", 1, 0), ("map_incomplete", 0, 0.95)
# What is planted: a city, a category that would ask of it, first operands, the reason, its measured value and limit.
PLANTED: dict[str, tuple[City, str, str, tuple[Any, ...]]] = {
    "cars of which the map may lack some": (parked(car("c"), complete=()), COUNT, "lot car", PART),
    "no car, where it may lack some": (parked(complete=()), THERE, "lot car", PART),
    "a car half in the lot": (parked(car("c"), car("d", 40.0)), COUNT, "lot car", EDGE),
    "a car there that is in doubt": (
        parked(car("c"), car("d", 25.0, doubt="the map may have it twice")), COUNT, "lot car",
        ("others_of_unknown_place", 1, 0),
    ),
    "no car but one in doubt": (
        parked(car("d", doubt="the map may have it twice")), THERE, "lot car", ("others_of_unknown_place", 1, 0),
    ),
    "the colour of a car beside one in doubt": (
        parked(car("c"), car("d", 25.0, doubt="twice")), LOOK, "lot c", ("others_of_unknown_place", 1, 0),
    ),
    "the one car of two": (parked(car("c"), car("d", 25.0)), LOOK, "lot c", ("several_there", 2, 1)),
    "a car of unknown colour": (parked(car("c", colour=None)), LOOK, "lot c", UNKNOWN_COLOUR),
    "a red car beside one of unknown colour": (
        parked(car("c", colour=None)), THERE, "lot red car", ("colour_unknown", 1, 0),
    ),
    "a bench at 20 m": (about(bench("b", 71.0)), COUNT, "f bench 20", EDGE),
    "nine benches": (
        about(*(bench(f"b{n}", 42.0 + 2 * n, 55.0) for n in range(9))), COUNT, "f bench 20", ("too_many", 9, 8),
    ),
    "the bench nearest of two": (
        about(bench("b", 60.0), bench("d", 39.0, colour="red")), LOOK, "f b", ("as_near", 1.1, 1.4),
    ),
    "the nearest beside one in doubt": (
        about(bench("b", 60.0), bench("d", 45.0, colour="red", doubt="twice"), bench("e", 95.0, colour="red")),
        LOOK, "f b", ("others_of_unknown_place", 1, 0),
    ),
    "a board in a slit between walls": (
        city(WALL, house("w", 20.0, 30.0, 60.0, 29.5), A, B), SORT, "a", ("no_free_pose", 0, 1),
    ),
    "a board without words": (city(WALL, board("a", 50.0, "24"), C), SORT, "a", NO_NAME),
    "what a shop is for that nothing shows": (
        city(WALL, shop("s", 50.0, None), *STREET[1:]), USE, "s", ("shows_what_it_is", 0, 1),
    ),
    "a shop that faces nowhere": (
        city(WALL, shop("s", 50.0, "Crumb", facing_deg=None), shop("v", 35.0, "Till")), SORT, "s",
        ("extent_unknown", 1, 0),
    ),
    "the board of a shop with two": (
        city(WALL, shop("s", 50.0, "CRUMB"), board("a", 49.0, "CRUMB", colour="red"),
        board("b", 51.0, "CRUMB", colour="blue")), LOOK, "s", ("two_boards", 2, 1),
    ),
    "left of it, round the corner": (
        city(WALL, A, B.model_copy(update={"center": (40.0, 49.9)}), C), SIDE, "a left b", ("not_beside", 45, 35),
    ),
    "left of it, on another front": (
        city(WALL, A, B.model_copy(update={"facing_deg": 205.0}), C), SIDE, "a left b", ("other_front", 25, 20),
    ),
    "the next of two": (city(WALL, A, B, board("d", 38.0, "DELTA"), C), SIDE, "a left b", ("two_beside", 1.2, 1.4)),
    "the next, with room between": (city(WALL, A, B, C), SIDE, "a left b", ("room_for_another", 6, 4)),
    "the next, beyond one in doubt": (
        city(WALL, shop("a", 50.0, "ALPHA"), shop("b", 43.0, "BETA"), BETWEEN, STREET[2]), SIDE, "a left b",
        ("others_of_unknown_place", 1, 0),
    ),
    "its colour, which is unknown": (city(WALL, A, board("b", 46.0, "BETA"), C), SIDE, "a left b", UNKNOWN_COLOUR),
    "the tallest of two as tall": (
        city(house("h", 10, 10, 10, 10), house("i", 40, 10, 10, 10, 20.0), house("j", 10, 40, 10, 10, 19.0),
        point("f", "fountain", 30.0, 15.0)), SIDE, "f i", ("as_tall", 20 / 19, 1.2),
    ),
    "the tallest, where one is of unknown height": (
        city(house("h", 10, 10, 10, 10, None), house("i", 40, 10, 10, 10, 20.0),
        point("f", "fountain", 30.0, 15.0)), SIDE, "f i", ("height_unknown", 1, 0),
    ),
    "a roof above the agent": (
        city(house("h", 30, 30, 20, 20, 40.0, roof_colour="red"), house("i", 70, 70, 9, 9, roof_colour="grey")),
        LOOK, "h", ("roof_above_the_agent", -31, 0),
    ),
    "half a storey": (city(house("h", 30, 30, 20, 20, levels=2.5)), COUNT, "h", ("half_storeys", 0.5, 0)),
    "a storey that a roof may hold": (
        city(house("h", 30, 30, 20, 20, levels=3.0, roof_shape="rounded")), COUNT, "h", ("room_under_the_roof", 1, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_task_that_the_pictures_do_not_bear_is_refused_for_that(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    facts, category, first, reason = PLANTED[name]
    monkeypatch.setattr(recognition, "_lot", lambda view, i: "colour")  # elsewhere a lot decides
    monkeypatch.setattr(CityView, "asked_of", lambda view, i: {LOOK: "sign", USE: "use"}.get(category, "name"))
    rows, refused = tasks_of(scene(facts), RULES, category)
    assert not [row["question"] for row in rows if " ".join(row["raw"]).startswith(first)]
    found = [
        (row["reason"], pytest.approx(row["measured"], abs=1e-3), row["limit"])
        for row in refused
        if f"{first} " in f"{' '.join(row['operands'])} "
    ]
    assert reason in found
