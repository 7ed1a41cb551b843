"""Texts that lead over what is no building, and things that show their names."""

from __future__ import annotations

import numpy as np

from pipeline.benchmarks.cityeqa.query import Hop, Query, RouteLimits, RouteQuery
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import RELATIONS, Phrase
from pipeline.core.schema import Source
from pipeline.worlds.city.facts import City, CityScene
from tests.benchmarks.cityeqa.cities import tasks_of
from tests.worlds.city.cities import city, house, point

NORTH, EAST = RELATIONS.index("north"), RELATIONS.index("east")
FRONT = RELATIONS.index("front")


def scene_of(facts: City) -> CityScene:
    """Facts as a scene."""
    source = Source(reader="city", reader_version=1, files=(), sha256="")
    return CityScene(id="city/here", dataset="city", name="here", source=source, facts=facts)


def leads(facts: City, *legs: Hop) -> tuple[list[str], list[str]]:
    """What a wording leads to from the middle of the southern border, surely and possibly."""
    found = Query(facts, RouteLimits(10.0, 120.0, 60.0)).lead([RouteQuery(50.0, 1.0, legs)])
    sure, maybe = ([facts.things[i].id for i in np.sort(m.indices)] for m in found)
    return sure, maybe


def test_a_statue_leads_to_what_lies_east_of_it() -> None:
    facts = city(
        house("far", 80, 80, 8, 8), point("bench-1", "bench", 80.0, 50.0), point("bench-2", "bench", 20.0, 50.0),
        point("roon", "statue", 50.0, 50.0),
    )  # fmt: skip
    assert leads(facts, Hop(NORTH, Phrase("statue")), Hop(EAST, Phrase("bench"))) == (["bench-1"], ["bench-1"])


def test_a_memorial_of_unknown_looks_leads_nowhere_surely_and_may_be_the_statue() -> None:
    facts = city(
        house("far", 80, 80, 8, 8), point("bench-1", "bench", 80.0, 50.0), point("bench-2", "bench", 72.0, 12.0),
        point("roon", "statue", 50.0, 50.0),
        point("unclear", "statue", 50.0, 30.0, noun="memorial", doubt="what it looks like is not told"),
    )  # fmt: skip
    sure, maybe = leads(facts, Hop(NORTH, Phrase("statue")), Hop(EAST, Phrase("bench")))
    assert sure == ["bench-1"]
    assert maybe == ["bench-1", "bench-2"]
    assert not CityView(scene_of(facts), CityRules()).query.is_landmark[-1]


def test_a_shop_that_a_phrase_may_mean_leads_on_too() -> None:
    """A bank in a building is a bank to whoever reads "the bank", wherever the bank has a building of its own."""
    facts = city(
        house("own", 46, 40, 8, 8).model_copy(update={"noun": "bank"}),
        point("office", "shop", 40.0, 20.0, noun="bank"),
        point("bench-1", "bench", 80.0, 44.0), point("bench-2", "bench", 80.0, 20.0),
    )  # fmt: skip
    _, maybe = leads(facts, Hop(NORTH, Phrase("bank")), Hop(EAST, Phrase("bench")))
    assert maybe == ["bench-1", "bench-2"]


def test_nothing_is_surely_in_front_of_a_square() -> None:
    facts = city(
        house("far", 80, 80, 8, 8), point("bench-1", "bench", 50.0, 60.0),
        point("square", "square", 50.0, 50.0, facing_deg=0.0),
    )  # fmt: skip
    sure, maybe = leads(facts, Hop(NORTH, Phrase("square")), Hop(FRONT, Phrase("bench")))
    assert (sure, maybe) == ([], ["bench-1"])


def test_names_of_stops_are_asked_where_there_are_two() -> None:
    stops = [point(f"stop-{i}", "bus stop", 20.0 + 60 * i, 50.0) for i in range(2)]
    alike = [stop.model_copy(update={"name": "Market"}) for stop in stops]
    houses = [house("far", 80, 80, 8, 8)]
    other = alike[1].model_copy(update={"name": "Town Hall"})
    for stops, reasons in ((alike, {"other_names"}), ([alike[0], other], set())):
        _, refused = tasks_of(scene_of(city(*houses, *stops)), CityRules(), "Attribute Recognition")
        of_names = {row["reason"] for row in refused if row["operands"][0] == "name of a bus stop"}
        assert (of_names & {"other_names"}) == reasons
        assert of_names


def test_a_shop_that_is_asked_what_it_is_goes_by_no_name() -> None:
    """Of "the shop named Planet Pasta" everybody knows what it is for, and of a chain who knows the chain."""
    facts = city(
        house("h", 40, 40, 20, 20),
        point("pasta", "shop", 50.0, 40.0, noun="restaurant").model_copy(update={"name": "Planet Pasta"}),
        point("lacy", "shop", 50.0, 60.0, noun="shoe shop", sign="LACY").model_copy(update={"name": "Lacy"}),
    )
    view = CityView(scene_of(facts), CityRules())
    for number, thing in enumerate(view.things):
        if thing.kind == "shop":
            assert view.phrases(number)[0].name is not None
            assert {(p.noun, p.name) for p in view.unsorted_phrases(number)} == {("shop", None)}
