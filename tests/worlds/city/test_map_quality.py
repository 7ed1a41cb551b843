"""What a map has of what its other entries tell of, by hand."""

from pathlib import Path

import pytest

from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.counting import gathered
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.reading.maps.city_thing import KindCoverage
from pipeline.reading.maps.map_quality import MapCoverage
from tests.benchmarks.cityeqa.test_refused import scene
from tests.worlds.city.cities import city, point
from tests.worlds.city.readers.test_osm import Extract


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
