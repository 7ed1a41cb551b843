"""What a map has of what its other entries tell of, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.counting import gathered
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.reading.maps.city_thing import KindCoverage
from pipeline.reading.maps.map_quality import MapCoverage, coverage_of, front_gaps_m
from tests.benchmarks.cityeqa.test_refused import scene
from tests.worlds.city.cities import city, house, point
from tests.worlds.city.readers.test_osm import Extract

MUSEUM = house("museum", 400.0, 10.0, 20.0, 20.0).model_copy(update={"also": ("shop",)})


def test_what_other_entries_tell_of_is_looked_for_in_squares() -> None:
    things = [
        house("h", 10.0, 10.0, 20.0, 20.0), MUSEUM,
        point("in", "shop", 15.0, 15.0), point("by", "shop", 34.9, 15.0), point("off", "shop", 35.1, 15.0),
        point("unsure", "shop", 300.0, 300.0, doubt="an office?"),
        point("a", "bus stop", 100.0, 100.0, traits={"bench": "yes"}),
        point("b", "bus stop", -10.0, 100.0, traits={"bench": "yes"}),
        point("c", "bus stop", 200.0, 100.0, traits={"bench": "no"}),
        point("seat", "bench", 107.9, 100.0),
    ]  # fmt: skip
    numbers = np.array([[20.0, 8.0], [12.0, 8.0], [428.0, 20.0]])  # 8.6 and 7.6 m from a shop, 8 m from a museum
    found = {(row.kind, row.area): (row.told, row.found) for row in coverage_of(things, numbers, "shop")}
    assert found == {
        ("building", None): (6, 4), ("building", (0, 0)): (5, 4), ("building", (250, 0)): (1, 0),
        ("shop", None): (3, 2), ("shop", (0, 0)): (2, 1), ("shop", (250, 0)): (1, 1),
        ("bench", None): (2, 1), ("bench", (0, 0)): (1, 1), ("bench", (-250, 0)): (1, 0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([(None, 52, 52)], 0.9505),  # n / (n + 1.645 squared): just enough to count
        ([(None, 51, 51)], 0.9496),
        ([(None, 400, 395), ((0, 0), 9, 9)], 0.9745),
        ([(None, 400, 395), ((0, 0), 9, 8)], 0.0),  # one is missing in the same square
        ([(None, 400, 395), ((250, 0), 9, 8)], 0.9745),
        ([], 0.0),
    ],
)
def test_a_kind_may_be_counted_where_the_map_shows_that_it_has_all(
    rows: list[tuple[tuple[int, int] | None, int, int]], share: float
) -> None:
    coverage = tuple(KindCoverage(kind="bench", area=area, told=told, found=found) for area, told, found in rows)
    facts = city(point("f", "fountain", 50.0, 50.0), point("s", "bench", 60.0, 50.0), coverage=coverage)
    assert MapCoverage(facts.coverage).least("bench", (50.0, 50.0)) == pytest.approx(share, abs=1e-4)
    assert MapCoverage(facts.coverage).least("tree", (50.0, 50.0)) == 0.0
    (counted,) = gathered(CityView(scene(facts), CityRules(near_m=(20,))))
    assert counted.checks[0].holds is (share >= 0.95)
    declared = MapCoverage(facts.coverage, ("bench",))
    assert declared.least("bench", (50.0, 50.0)) == 1.0


def test_free_fronts_between_neighbours() -> None:
    """6 and 13 m apart, each seen from both; what faces elsewhere, or lies off the line of the front, is none."""
    row = [point(name, "shop", x, 0.0, facing_deg=180.0) for name, x in (("a", 0.0), ("b", 6.0), ("c", 19.0))]
    off = point("d", "shop", 6.0, 10.0, facing_deg=180.0)
    assert sorted(front_gaps_m([*row, off], "shop").tolist()) == [2.0, 2.0, 9.0, 9.0]


def test_a_map_says_how_much_it_knows(tmp_path: Path) -> None:
    """House numbers are no things, and move nothing; that of a building tells of nothing but itself."""
    town = Extract()
    town.way(100, 100, 20, 20, building="church", addr__housenumber="1")
    for n in range(5):
        town.node(101.0 + 4 * n, 97.0 - n % 2, shop="shoes", name=f"Number {n}")
    town.node(300, 300, addr__housenumber="7")
    town.node(200, 200, highway="bus_stop", bench="yes")
    found = town.read(tmp_path)
    assert {thing.kind for thing in found.facts.things} == {"building", "shop", "bus stop"}
    (told,) = [f.message for f in found.findings if f.name == "map_quality"]
    assert told == "; ".join(
        (
            "here/map.osm: 5 premises: 5 front a wall and 0 may be there twice",
            "they stand 3.0 m from it in the median, nine of ten within 4.0 m",
            "between 0 of 8 neighbouring fronts another has room",
            "5 of 6 premises and house numbers lie at a building (in 2 squares of 250 m)",
            "0 of 1 house numbers have premises (in 1 squares of 250 m)",
            "0 of 1 stops that have a bench by their own entry have it on the map (in 1 squares of 250 m)",
            "of 1 buildings 100% have a kind, 0% a height",
        )
    )
