"""Objects of no plausible size are in doubt, and `strict` asks nothing that rests on them."""

from __future__ import annotations

import pytest

from pipeline.core.schema import Finding
from pipeline.worlds.indoor.doubts import TYPICAL, Typical, factor_limit, implausible
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.registry import examined
from tests.conftest import cube, make_scene
from tests.conftest import rows_of as candidates_of
from tests.worlds.indoor.size_table import typical_sizes


def sized(category: str, *sides_m: float) -> IndoorScene:
    """A scene with one cube of each side, and a bed and a sofa of usual sizes."""
    objects = [cube(category, 3.0 * n, 0.0, side) for n, side in enumerate(sides_m)]
    return make_scene([*objects, ("bed", (0, 4, 0.3), (2.1, 1.6, 0.5), 0), ("sofa", (4, 4, 0.4), (1.9, 0.9, 0.8), 0)])


@pytest.mark.parametrize(
    ("category", "side_m", "limit_m"),
    [("ceiling light", 0.07, 0.155), ("closet", 0.27, None), ("cup", 3.0, None), ("door", 0.75, 0.857)],
)
def test_what_no_such_thing_measures_is_in_doubt(category: str, side_m: float, limit_m: float | None) -> None:
    (found,) = implausible(sized(category, side_m))
    assert (found.name, found.severity, found.subject) == ("implausible_size", "doubt", category)
    assert (found.measured, found.unit) == (side_m, "m")
    assert found.limit is not None
    assert limit_m is None or found.limit == pytest.approx(limit_m, abs=0.002)


@pytest.mark.parametrize(
    ("category", "side_m"),
    [
        ("ceiling light", 0.2),
        ("ceiling light", 2.4),
        ("closet", 1.0),
        ("cup", 0.2),
        ("table", 3.0),
        ("unheard of", 9.0),
    ],
)
def test_what_one_may_meet_is_not(category: str, side_m: float) -> None:
    assert implausible(sized(category, side_m)) == ()


def test_a_category_is_told_once_by_its_worst_object() -> None:
    (found,) = implausible(sized("cup", 0.14, 1.2, 3.0, 0.02))
    assert found.measured == 3.0


def test_the_published_size_counts_too() -> None:
    """A door is 1.96 m in the scans at hand and 1.75 m in ScanNet; 0.9 m is half of the one and not of the other."""
    assert implausible(sized("door", 0.9)) == ()


def test_limits_by_hand() -> None:
    """Washers hardly vary and lights do: both limits are at their bounds; a category of one box is judged loosely."""
    assert factor_limit(TYPICAL["washer"]) == 2.0
    assert factor_limit(TYPICAL["ceiling light"]) == 4.0
    assert factor_limit(Typical(10**9, 1.0, 0.25)) == pytest.approx(2.71828, abs=1e-4)  # four spreads of a quarter: e
    assert factor_limit(Typical(1, 1.0, 0.0)) > factor_limit(Typical(10, 1.0, 0.0))


def test_strict_asks_nothing_that_rests_on_it() -> None:
    scene = examined(sized("cup", 3.0))
    for task in ("object_size_estimation", "object_abs_distance"):
        rows = candidates_of(scene, task)
        assert all("cup" not in row["operands"] for row in rows if row["reason"] is None)
        assert {row["reason"] for row in rows if row["operands"] == ["cup"]} == {"implausible_size"}
        official = candidates_of(scene, task, "official")
        assert any("cup" in row["operands"] for row in official if row["reason"] is None)


@pytest.mark.real_data
def test_the_table_is_that_of_the_released_scenes(real_scenes: list[IndoorScene]) -> None:
    assert typical_sizes(real_scenes) == TYPICAL


@pytest.mark.real_data
def test_one_released_box_in_a_hundred_is_in_doubt(real_scenes: list[IndoorScene]) -> None:
    """1,415 boxes, of which those beyond the limits stand in a few categories of a few scenes."""
    found: list[Finding] = [finding for scene in real_scenes for finding in implausible(scene)]
    assert 8 <= len(found) <= 15
    assert sum(len(scene.facts.objects) for scene in real_scenes) == 1415
