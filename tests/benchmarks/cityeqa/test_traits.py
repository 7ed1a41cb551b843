"""Wordings, and what things have and look like by their own entries on a map."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from pipeline.benchmarks.cityeqa.raw import RawQuestion
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.counting import HAS, HAVING, Existence
from pipeline.benchmarks.cityeqa.tasks.recognition import LOOKS, AttributeRecognition, look_part
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Phrase, wordings
from pipeline.core.templates import TEMPLATES_DIR, load_table, load_template
from tests.benchmarks.cityeqa.test_refused import refusals, scene
from tests.oracles.city_answers import plain
from tests.worlds.city.cities import city, point
from tests.worlds.city.readers.test_osm import Extract

PARTS = yaml.safe_load((TEMPLATES_DIR / "cityeqa" / "parts.yaml").read_text(encoding="utf-8"))
FIELDS = {
    "target": "the bank", "other": "the pub", "one": "the kiosk", "thing": "shop", "things": "cars", "side": "left",
    "metres": "20", "use": "buy bread", "general": "shop", "has": "a shelter",
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
    raws = [raw for raw in Existence().raws(CityView(scene(facts), CityRules())) if raw.kind == "has"]
    assert {raw.operands[0]: (raw.answer, raw.broken and raw.broken.name) for raw in raws} == {
        "a": ("yes", None), "b": ("no", None), "c": ("no", "map_contradicts_itself"),
    }  # fmt: skip
    assert raws[0].question(Phrase("bus stop")) == "Does the bus stop have a bench? (yes or no)"
    assert ("has c bench", 1.0, 0.0) in refusals(facts, "Existence Judgement", "map_contradicts_itself")


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
