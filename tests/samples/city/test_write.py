"""The sample cities: the same bytes every time, truth that the map holds, and nothing where it cannot stand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from pipeline.samples.city.write import COMPLETE, write_cities
from pipeline.samples.common.city_plan import PLANS
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.readers.city import Cities
from tests.worlds.city.cities import read


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cities") / "city"
    write_cities(folder)
    return folder


@pytest.fixture(scope="module", params=[plan.id for plan in PLANS])
def city(request: pytest.FixtureRequest, root: Path) -> CityScene:
    return read(root, request.param)


@pytest.fixture
def truth(root: Path, city: CityScene) -> dict[str, dict[str, Any]]:
    things = json.loads((root / "truth" / f"{city.name}.json").read_bytes())["things"]
    return {thing["id"]: thing for thing in things}


def test_the_same_bytes_every_time(root: Path, tmp_path: Path) -> None:
    write_cities(tmp_path)
    files = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert all((root / file).read_bytes() == (tmp_path / file).read_bytes() for file in files)
    assert [ref.id for ref in Cities().scenes(root).scenes] == [f"sample_cities/{plan.id}" for plan in PLANS]


def test_the_reader_finds_what_was_planted(city: CityScene, truth: dict[str, dict[str, Any]]) -> None:
    assert city.findings == ()
    assert {thing.id for thing in city.facts.things} == set(truth)
    for thing in city.facts.things:
        planted = truth[thing.id]
        for fact in ("kind", "noun", "sign", "name", "facing_deg", "on", "height_m"):
            assert getattr(thing, fact) == planted[fact], (thing.id, fact)
        assert thing.colour == planted["color"], thing.id
        assert thing.roof_colour == planted["roof_color"], thing.id
        assert thing.center == pytest.approx(planted["center"], abs=0.02)
        assert thing.doubt is None
    assert set(city.facts.complete) == set(COMPLETE)
    assert {thing.kind for thing in city.facts.things} <= set(COMPLETE)


def test_there_is_something_to_ask(city: CityScene) -> None:
    kinds = Counter(thing.kind for thing in city.facts.things)
    assert kinds["building"] >= 20
    assert all(kinds[kind] for kind in ("car", "bench", "signboard", "shop", "tree", "parking", "crossing", "park"))
    assert len({thing.colour for thing in city.facts.things if thing.kind == "car"}) >= 4


def test_nothing_stands_in_anything_else(city: CityScene) -> None:
    houses = [t for t in city.facts.things if t.kind == "building"]
    shapes = np.array([shapely.Polygon(house.outline) for house in houses])
    a, b = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    assert (a == b).all()
    bounds = shapely.Polygon(city.facts.bounds)
    for thing in city.facts.things:
        at = shapely.Point(thing.center)
        assert bounds.covers(at), thing.id
        if thing.kind != "building":
            assert not shapely.contains(shapes, at).any(), thing.id
    cars = [shapely.Point(t.center).buffer(0.9) for t in city.facts.things if t.kind == "car"]
    assert shapely.area(shapely.union_all(cars)) == pytest.approx(sum(car.area for car in cars))


def test_shops_and_signs_can_be_walked_up_to(city: CityScene) -> None:
    space = FreeSpace(city.facts)
    houses = {t.id: shapely.Polygon(t.outline) for t in city.facts.things if t.kind == "building"}
    fronts = [t for t in city.facts.things if t.kind in ("shop", "signboard")]
    for front in fronts:
        assert front.on is not None
        assert front.facing_deg is not None
        assert houses[front.on].distance(shapely.Point(front.center)) == pytest.approx(0.15, abs=0.03)
        yaw = np.radians(front.facing_deg)
        before = [front.center[0] + 4 * np.sin(yaw), front.center[1] + 4 * np.cos(yaw), 5.0]
        assert space.free(np.array([before])).all(), front.id
