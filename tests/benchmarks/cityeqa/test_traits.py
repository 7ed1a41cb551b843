"""Wordings, and what things have and look like by their own entries on a map."""

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from pipeline.benchmarks.cityeqa.raw import RawQuestion, one_way
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks import recognition
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask
from pipeline.benchmarks.cityeqa.tasks.counting import HAS, HAVING, Counting, Existence
from pipeline.benchmarks.cityeqa.tasks.recognition import LOOKS, AttributeRecognition, ObjectRecognition, look_part
from pipeline.benchmarks.cityeqa.tasks.spatial import SpatialReasoning
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Phrase, wordings
from pipeline.core.templates import TEMPLATES_DIR, load_table, load_template
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import City
from tests.benchmarks.cityeqa.test_refused import refusals, scene
from tests.oracles.city_answers import plain
from tests.worlds.city.cities import city, point
from tests.worlds.city.readers.test_osm import Extract

PARTS = yaml.safe_load((TEMPLATES_DIR / "cityeqa" / "parts.yaml").read_text(encoding="utf-8"))
FIELDS = {
    "target": "the bank", "other": "the pub", "one": "the kiosk", "thing": "shop", "things": "cars", "side": "left",
    "metres": "20", "use": "buy bread", "general": "shop", "has": "a shelter", "where": "in", "colour": "red",
}  # fmt: skip


def told(part: str) -> str:
    """A wording with the words above."""
    template = load_template(f"cityeqa/parts/{part}")
    return template.render({name: FIELDS[name] for name in template.fields})


@pytest.mark.parametrize("part", sorted(name for name in PARTS if name.startswith("ask_")))
def test_all_wordings_of_a_question_have_its_fields_and_are_one_question_to_who_answers_it(part: str) -> None:
    first = part.rstrip("_0123456789")
    assert f"cityeqa/parts/{part}" in wordings(first)
    assert set(load_template(f"cityeqa/parts/{part}").fields) == set(load_template(f"cityeqa/parts/{first}").fields)
    traits = {"ask_has", *map(look_part, LOOKS)}
    near = first.endswith("_near")
    if first not in traits:
        assert plain(told(part)).replace(", from edge to edge", "") == told(first).replace(", from edge to edge", "")
    assert ("edge to edge" in told(part)) is near


def test_each_number_chooses_a_wording_and_none_may_tell_the_answer() -> None:
    raw = RawQuestion(
        "name", 0, ("a",), (Phrase("bank"),), "ask_name", "called", ("called", "UBS"), "open text", (0,), 1
    )
    asked = [raw.question(Phrase("bank"), turn) for turn in range(4)]
    assert asked == [
        "What is the name of the bank?", "What's the name of the bank?", "What is the bank called?",
        "What is the name of the bank?",
    ]  # fmt: skip
    assert raw.gives_away(Phrase("bank"))  # in its third wording alone


@pytest.mark.parametrize(
    ("tags", "traits"),
    [
        ({"highway": "bus_stop", "shelter": "yes", "bench": "no"}, {"shelter": "yes", "bench": "no"}),
        ({"highway": "bus_stop", "shelter": "perhaps"}, {}),
        ({"highway": "crossing", "crossing": "zebra", "crossing__island": "yes"},
         {"traffic light": "no", "traffic island": "yes"}),
        ({"amenity": "cafe", "outdoor_seating": "sidewalk", "atm": "yes"}, {"seats outdoors": "yes"}),
        ({"amenity": "bench", "material": "wood;metal", "backrest": "yes"}, {"backrest": "yes"}),
        ({"natural": "tree", "leaf_type": "needleleaved", "material": "wood"}, {"foliage": "needles"}),
    ],
)  # fmt: skip
def test_traits_of_a_map(tags: Mapping[str, str], traits: Mapping[str, str], tmp_path: Path) -> None:
    town = Extract()
    node = town.node(100, 100, **tags)
    town.way(180, 180, 20, 20, building="yes")
    found = {t.id: t.traits for t in town.read(tmp_path).facts.things}
    assert found[f"node/{node}"] == traits


def test_every_trait_has_its_words() -> None:
    table = load_table("city/traits")
    assert all(wordings(look_part(trait)) for trait in table["looks"])
    assert {kind for trait in HAS.values() for kind in trait["of"]} - HAVING <= set(
        load_table("city/kinds")["premises"]["amenity"].values()
    ) | {"bakery"}


def test_what_a_stop_has_is_asked_where_its_own_entry_tells() -> None:
    """No map needs to know all benches for that; but where it has one beside a stop without, it contradicts itself."""
    stops = [
        point("a", "bus stop", 20.0, 20.0, traits={"bench": "yes"}),
        point("b", "bus stop", 60.0, 60.0, traits={"bench": "no"}),
        point("c", "bus stop", 80.0, 20.0, traits={"bench": "no"}),
    ]
    facts = city(*stops, point("seat", "bench", 80.0, 27.9), point("far", "bench", 60.0, 68.1))
    raws = [raw for raw in Existence().raws(CityView(scene(facts), CityRules(drawn_only=False))) if raw.kind == "has"]
    assert {raw.operands[0]: (raw.answer, raw.broken and raw.broken.name) for raw in raws} == {
        "a": ("yes", None), "b": ("no", None), "c": ("no", "map_contradicts_itself"),
    }  # fmt: skip
    assert raws[0].question(Phrase("bus stop")) == "Does the bus stop have a bench? (yes or no)"
    filmed = CityRules(raw_tasks_per_category=1, drawn_only=False)
    assert ("has c bench", 1.0, 0.0) in refusals(facts, "Existence Judgement", "map_contradicts_itself", filmed)
    refused = {(f"has {name} bench", 0.0, 1.0) for name in "abc"}
    assert refusals(facts, "Existence Judgement", "trait_not_drawn") == refused, "drawn pictures show boxes alone"


@pytest.mark.parametrize(("other", "broken"), [("bakery", "other_sorts"), ("pharmacy", None)])
def test_the_sort_of_a_shop_is_asked_where_there_is_another(
    other: str, broken: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CityView, "asked_of", lambda view, i: "noun")  # elsewhere a lot decides
    shops = [
        point(str(n), "shop", 20.0 + 40 * n, 20.0, noun=noun, sign=f"Shop {n}")
        for n, noun in enumerate(("bakery", other))
    ]
    assert asked(city(*shops), ObjectRecognition, "sort") == [("bakery", broken), (other, broken)]


def test_what_a_square_is_covered_with_is_asked_where_others_are_not() -> None:
    for other, broken in (("asphalt", True), ("gravel", False)):
        lots = [
            point(name, "parking", x, 50.0, traits={"surface": word})
            for name, x, word in (("a", 20.0, "asphalt"), ("b", 80.0, other))
        ]
        facts = city(*lots)
        found = {raw.operands[0]: raw for raw in AttributeRecognition().raws(CityView(scene(facts), CityRules()))}
        assert (found["a"].answer, found["b"].answer) == ("asphalt", other)
        assert (found["a"].broken is not None) is broken
        key = "surface of a parking a"
        assert ((key, 0.0, 1.0) in refusals(facts, "Attribute Recognition", "other_looks")) is broken


VEHICLES_WHOLE = ("car", "van", "truck", "bus", "parking space")


def box(name: str, kind: str, x: float, y: float, w: float, d: float) -> CityThing:
    """An area whose south-west corner is at x, y."""
    ring = ((x, y), (x + w, y), (x + w, y + d), (x, y + d))
    middle = (x + w / 2, y + d / 2)
    return CityThing(id=name, kind=kind, noun=kind, center=middle, radius_m=math.hypot(w, d) / 2, outline=ring)


def lot(*vehicles: CityThing, complete: tuple[str, ...] = VEHICLES_WHOLE) -> City:
    """A car park with four spaces side by side, their middles at x = 31.25, 33.75, 36.25 and 38.75, y = 22.5."""
    spaces = [box(f"s{n}", "parking space", 30.0 + 2.5 * n, 20.0, 2.5, 5.0) for n in range(4)]
    return city(box("lot", "parking", 20.0, 15.0, 40.0, 30.0), *spaces, *vehicles, complete=complete)


def parked(name: str, x: float, noun: str = "sedan", colour: str | None = "red", y: float = 22.5) -> CityThing:
    return point(name, "van" if noun == "van" else "car", x, y, noun=noun, colour=colour, facing_deg=0.0)


def asked(facts: City, task: type[EqaTask], kind: str) -> list[tuple[str, str | None]]:
    """Answers to the questions of a kind, and what breaks each."""
    raws = task().raws(CityView(scene(facts), CityRules()))
    return [(raw.answer, raw.broken and raw.broken.name) for raw in raws if raw.kind == kind]


@pytest.mark.parametrize(
    ("vehicles", "free", "broken"),
    [
        ([parked("a", 31.25)], "three", None),
        ([parked("a", 31.25), parked("b", 38.75, "van")], "two", None),  # what a van is called does not matter
        ([parked("a", 32.5)], "two", "on_the_edge"),  # half in each of two spaces
        ([parked("a", 31.25).model_copy(update={"facing_deg": None})], "four", "on_the_edge"),
        ([parked("a", 31.25).model_copy(update={"error_m": 0.6})], "three", "on_the_edge"),
        ([parked("a", 31.25), parked("b", 50.0)], "three", None),  # beside the spaces
    ],
)
def test_a_parking_space_is_free_where_no_vehicle_stands(
    vehicles: list[CityThing], free: str, broken: str | None
) -> None:
    assert asked(lot(*vehicles), Counting, "free parking spaces") == [(free, broken)]
    assert asked(lot(*vehicles), Existence, "any free parking space") == [("yes", broken)]


def test_a_full_car_park_has_no_free_space_and_an_incomplete_map_tells_none() -> None:
    full = [parked(f"c{n}", 31.25 + 2.5 * n) for n in range(4)]
    assert asked(lot(*full), Existence, "any free parking space") == [("no", None)]
    assert asked(lot(*full), Counting, "free parking spaces") == [("zero", "none_there")]
    assert asked(lot(*full, complete=VEHICLES_WHOLE[:-1]), Existence, "any free parking space") == [
        ("no", "map_incomplete")
    ]
    assert ("any free parking space lot free parking space", 0.0, 0.95) in refusals(
        lot(*full, complete=()), "Existence Judgement", "map_incomplete"
    )


def test_vehicles_are_asked_by_their_sort_where_the_map_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "_lot", lambda view, i: "sort")  # elsewhere a lot decides
    facts = lot(parked("a", 31.25, "jeep", "white"), parked("b", 36.25, "taxi", "blue"), parked("c", 50.0, "sedan"))
    in_lot = "which vehicle"
    assert sorted(answer for answer, broken in asked(facts, ObjectRecognition, in_lot) if broken is None) == [
        "jeep", "sedan", "taxi",
    ]  # fmt: skip
    counts = {kind: asked(facts, Counting, f"{kind} in a parking") for kind in ("cars", "jeeps", "taxis", "sedans")}
    assert counts == {
        "cars": [("three", None)], "jeeps": [("one", None)], "taxis": [("one", None)],
        "sedans": [("one", "sort_unknown")],  # the taxi may be one
    }  # fmt: skip
    assert ("sedans in a parking lot sedan in", 1.0, 0.0) in refusals(facts, "Counting", "sort_unknown")
    (alone,) = asked(lot(parked("a", 31.25, "jeep")), ObjectRecognition, "vehicle in a parking")
    assert alone == ("jeep", "other_sorts")
    unsorted = lot(parked("a", 31.25, "car"), parked("b", 50.0, "jeep", "blue"))
    assert asked(unsorted, ObjectRecognition, "which vehicle")[0] == ("car", "sort_unknown")


@pytest.mark.parametrize(
    ("x", "broken"),
    # Cars are 1.8 m wide: from edge to edge 0.7, 4.0, 4.1 m to the white one.
    [(33.75, None), (37.05, None), (37.15, "none")],
)
def test_the_colour_of_the_vehicle_next_to_another(x: float, broken: str | None) -> None:
    facts = lot(parked("a", 31.25, colour="white"), parked("b", x, colour="red"))
    found = {raw.operands[0]: raw for raw in SpatialReasoning().raws(CityView(scene(facts), CityRules()))
             if raw.kind == "colour next to"}  # fmt: skip
    assert {i: raw.answer for i, raw in found.items()} == ({} if broken else {"a": "red", "b": "white"})
    if not broken:
        # "The vehicle next to the red car" would tell the colour of what stands next to the white one.
        assert [raw.broken for raw in found.values()] == [None, None]
        assert len(one_way(list(found.values()))) == 1
        between = lot(parked("a", 31.25, colour="white"), parked("b", x), parked("c", 31.25, y=30.0))  # 3.1 m behind
        assert asked(between, SpatialReasoning, "colour next to")[0][1] == "two_beside"
        unpainted = lot(parked("a", 31.25), parked("b", x, colour=None))
        assert asked(unpainted, SpatialReasoning, "colour next to")[0] == ("", "colour_unknown")


def test_every_other_vehicle_is_half_as_far_again_as_the_farthest_next_one() -> None:
    """Of one with another 0.7 m to its right, a third to its left: 1.5 times 4 m are 6."""
    for away, broken in ((5.8, "two_beside"), (6.2, None)):
        third = parked("c", 31.25 - 1.8 - away, colour="blue")
        facts = lot(parked("a", 31.25, colour="white"), parked("b", 33.75, colour="red"), third)
        assert asked(facts, SpatialReasoning, "colour next to") == [("red", broken), ("white", None)]


def test_all_that_is_asked_of_a_car_park_with_what_must_be_seen_for_it() -> None:
    """Two of four spaces are free; a blue car stands beside them. What a car is called takes more pixels to see."""
    facts = lot(parked("a", 31.25), parked("b", 38.75, "van"), parked("c", 50.0, colour="blue"))
    view = CityView(scene(facts), CityRules())
    s1, s2, a, b, c = (view.index[name] for name in ("s1", "s2", "a", "b", "c"))
    found = [raw for task in (Existence(), Counting()) for raw in task.raws(view)]
    told = {(raw.part, raw.operands[1]): (raw.answer, raw.pixels_min, raw.shown, raw.about) for raw in found}
    any_of, count = "ask_exists_in", "ask_count_in"
    assert told == {
        (any_of, "car"): ("yes", 100, (0, a), (a, c)),
        (any_of, "red car"): ("yes", 100, (0, a), (a, c)),
        (any_of, "blue car"): ("yes", 100, (0, c), (a, c)),
        (any_of, "sedan"): ("yes", 400, (0, a), (a, c)),
        (any_of, "van"): ("yes", 100, (0, b), (b,)),
        (any_of, "red van"): ("yes", 100, (0, b), (b,)),
        ("ask_exists_free", "free parking space"): ("yes", 100, (s1,), (s1, s2, a, c, b)),
        (count, "car"): ("two", 100, (0, a, c), (a, c)),
        (count, "sedan"): ("two", 400, (0, a, c), (a, c)),
        (count, "van"): ("one", 100, (0, b), (b,)),
        ("ask_count_free", "free parking space"): ("two", 200, (s1, s2, a, c, b), (s1, s2, a, c, b)),
    }
    assert {raw.even for raw in found} == {"", "parking space", *(f"{n} in a parking" for n in
            ("car", "red car", "blue car", "sedan", "van", "red van"))}  # fmt: skip
