"""Distances among many landmarks, against every one of them measured."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.places import nameable
from tests.benchmarks.urbanvideo.flights import mark


def landmarks(seed: int, n: int) -> list[Landmark]:
    """Points, discs and turned rectangles, some of them long, that do not cross."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        x, y = rng.uniform(-400, 400, 2)
        long, wide, turn = rng.uniform(2, 80), rng.uniform(2, 10), rng.uniform(0, np.pi)
        corners = np.array([[-long, -wide], [long, -wide], [long, wide], [-long, wide]]) / 2
        spun = corners @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + [x, y]
        if i % 3 == 0:
            outline = tuple((float(a), float(b)) for a, b in spun)
            found.append(mark(f"place {i:03}", x, y, float(np.hypot(long, wide) / 2), outline=outline))
        else:
            found.append(mark(f"place {i:03}", x, y, 0.0 if i % 3 == 1 else float(rng.uniform(1, 10))))
    return found


def shape(mark: Landmark) -> shapely.Geometry:
    return shapely.Polygon(mark.outline) if mark.outline else shapely.Point(mark.center)


def measured(a: Landmark, b: Landmark) -> float:
    rounds = sum(m.radius_m for m in (a, b) if not m.outline)
    return max(shapely.distance(shape(a), shape(b)) - rounds, 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_are_measured_exactly(seed: int) -> None:
    marks = landmarks(seed, 150)
    places = nameable(marks, ())
    assert [place.label for place in places] == sorted(m.label or "" for m in marks)
    point = mark("here", 10.0, 20.0, 0.0)
    away = [measured(point, m) for m in marks]
    near, distance, ratio = places.nearest(places.approach_m(np.array([[10.0, 20.0]])))
    assert (near, distance) == (int(np.argmin(away)), pytest.approx(min(away)))
    assert ratio == pytest.approx(sorted(away)[1] / max(min(away), 1.0))
    for i in (0, 1, 2):
        gaps = [np.inf if i == j else measured(marks[i], other) for j, other in enumerate(marks)]
        near, distance, ratio = places.nearest(places.gaps_m(i))
        if shapely.crosses(shapely.boundary(shape(marks[i])), shapely.boundary(shape(marks[near]))):
            continue  # two footprints that cross are not in the source
        assert (near, distance) == (int(np.argmin(gaps)), pytest.approx(min(gaps)))
        assert min(ratio, 4.0) == pytest.approx(min(sorted(gaps)[1] / max(min(gaps), 1.0), 4.0))


def test_names() -> None:
    marks = [mark("b", 0, 0), mark("a", 1, 0, name="First"), mark("B", 2, 0), mark("c", 3, 0, name="Dom")]
    places = nameable([*marks, mark("d", 4, 0).model_copy(update={"label": None}), mark("two  spaces", 5, 0)], {"Dom"})
    assert [place.label for place in places] == ["a"]
    assert places.named(" FIRST ") == places.named("a") == 0
    assert places.named("c") is None


def test_what_stands_beside_something_doubted_is_doubted() -> None:
    marks = [mark("the park", 0, 0, name="Green"), mark("the hut beside the park", 9, 0), mark("the mill", 30, 0)]
    assert [place.label for place in nameable(marks, {"Green"})] == ["the mill"]
    assert nameable(marks, ()).anchor(0) == 2
    assert [nameable(marks, ()).tied(*pair) for pair in ((0, 2), (2, 0), (0, 1))] == [True, True, False]
