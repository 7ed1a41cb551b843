"""Objects of no plausible size are in doubt, and scenes that are not upright; nothing is asked that rests on them."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.core.schema import Finding
from pipeline.worlds.indoor import quality_checks
from pipeline.worlds.indoor.facts import SCALE, SIGHT, UPRIGHT, IndoorScene
from pipeline.worlds.indoor.quality_checks import (
    examine,
    extent_doubts,
    implausible,
    label_doubts,
    plausible_m,
    scale_doubts,
    upright_doubts,
)
from pipeline.worlds.indoor.sizes import TYPICAL
from pipeline.worlds.registry import examined
from tests.conftest import cube, make_scene, turned_box, with_boxes
from tests.conftest import rows_of as candidates_of
from tests.worlds.indoor.size_table import typical_sizes


def sized(category: str, *sides_m: float) -> IndoorScene:
    """A scene with one cube of each side, and a bed and a sofa of usual sizes."""
    objects = [cube(category, 3.0 * n, 0.0, side) for n, side in enumerate(sides_m)]
    return make_scene([*objects, ("bed", (0, 4, 0.3), (2.1, 1.6, 0.5), 0), ("sofa", (4, 4, 0.4), (1.9, 0.9, 0.8), 0)])


@pytest.mark.parametrize(
    ("category", "side_m", "limit_m"),
    [("ceiling light", 0.07, 0.198), ("closet", 0.27, None), ("cup", 3.0, None), ("door", 0.75, 0.761)],
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
        ("table", 3.5),
        ("stool", 0.96),  # of a bar
        ("unheard of", 9.0),
    ],
)
def test_what_one_may_meet_is_not(category: str, side_m: float) -> None:
    assert implausible(sized(category, side_m)) == ()


def test_a_category_is_told_once_by_its_worst_object() -> None:
    (found,) = implausible(sized("cup", 0.14, 1.2, 3.0, 0.02))
    assert found.measured == 3.0


def test_limits_by_hand() -> None:
    """Washers hardly vary: rare sizes bound them. Tables vary: quartiles do. Of crates one box is known."""
    few = 2 ** (1 / 12)
    assert plausible_m("washer") == pytest.approx((0.83 / 1.3 / few, 0.91 * 1.5 * few))
    few, fence = 2 ** (1 / 193), (1.53 / 0.87) ** 1.5
    assert plausible_m("table") == pytest.approx((0.87 / fence / few, 1.53 * fence * few))
    assert plausible_m("crate") == pytest.approx((0.4 / 1.3 / 2, 0.4 * 1.5 * 2))


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
    assert 7 <= len(found) <= 12
    assert sum(len(scene.facts.objects) for scene in real_scenes) == 1415


def scaled(scene: IndoorScene, factor: float) -> IndoorScene:
    """The scene with every length multiplied."""
    return with_boxes(
        scene, lambda box: {name: tuple(factor * v for v in getattr(box, name)) for name in ("lengths", "center")}
    )


@pytest.mark.parametrize(("factor", "told"), [(1, False), (1.8, False), (3.28084, True), (0.3048, True), (39.37, True)])
def test_lengths_in_another_unit_are_told_once_and_sizes_no_more(factor: float, told: bool) -> None:
    found = [f for f in examine(scaled(make_scene(ROOM), factor)) if f.name != "another_axis_is_up"]
    names = {f.name for f in found}
    assert (names == {"sizes_of_another_unit"}) if told else ("sizes_of_another_unit" not in names)
    if told:
        one = found[0]
        assert [(f.subject, f.severity, f.unit) for f in found] == [(of, "doubt", "ratio") for of in (SCALE, SIGHT)]
        assert one.measured == pytest.approx(factor, rel=0.2)  # the room's things are about as large as usual
        assert one.limit == (2.0 if factor > 1 else 0.5)


def test_the_middle_size_by_hand() -> None:
    """Of three boxes the middle one tells: at exactly twice the usual length nothing is in doubt, above it all is."""
    sides = {name: TYPICAL[name].median_m for name in ("bed", "sofa", "table")}
    beyond = make_scene([cube("bed", 0, 0, 3 * sides["bed"]), cube("sofa", 9, 0, sides["sofa"])])
    assert scale_doubts(beyond) == ()  # two boxes
    for factor, measured in ((2.0, []), (2.01, [2.01]), (0.499, [0.499])):
        cubes = [cube(name, 20.0 * n, 0.0, factor * side) for n, (name, side) in enumerate(sides.items())]
        assert [f.measured for f in scale_doubts(make_scene(cubes)) if f.subject == SCALE] == measured
    assert scale_doubts(make_scene([cube("bed", 9.0 * n, 0.0, 9.0) for n in range(4)])) == ()  # one kind


def test_another_unit_costs_lengths_and_not_counts() -> None:
    feet = examined(scaled(make_scene([*ROOM, ("chair", (4.0, 1.4, 0.44), (0.5, 0.5, 0.88), 0.0)]), 3.28084))
    for task in ("object_size_estimation", "object_abs_distance"):
        assert "sizes_of_another_unit" in {row["reason"] for row in candidates_of(feet, task)}
    assert any(row["operands"] == ["chair"] and row["reason"] is None for row in candidates_of(feet, "object_counting"))


@pytest.mark.real_data
def test_units_of_the_released_scenes(real_scenes: list[IndoorScene]) -> None:
    """As they are none is in doubt; of the 107 with boxes enough one is not told when read in feet."""
    assert not [scene.scene_id for scene in real_scenes if scale_doubts(scene)]
    told = {unit: sum(bool(scale_doubts(scaled(s, unit))) for s in real_scenes) for unit in (3.28084, 0.3048)}
    assert told == {3.28084: 106, 0.3048: 107}


# Category, center, side lengths, yaw: a room as it is, z up.
ROOM: Final = [
    ("bed", (0.0, 0.0, 0.35), (2.1, 1.6, 0.7), 0.0),
    ("table", (3.0, 0.5, 0.38), (1.2, 0.7, 0.76), 10.0),
    ("chair", (3.0, 1.4, 0.44), (0.5, 0.5, 0.88), 0.0),
    ("sofa", (1.0, 3.5, 0.42), (1.9, 0.9, 0.84), 0.0),
    ("refrigerator", (4.5, 4.0, 0.85), (0.7, 0.7, 1.7), 0.0),
    ("door", (-1.0, 3.0, 1.0), (0.1, 0.9, 2.0), 0.0),
    ("monitor", (3.0, 0.5, 1.0), (0.6, 0.2, 0.45), 0.0),
    ("trash bin", (4.5, 0.0, 0.22), (0.3, 0.3, 0.45), 0.0),
]
TURNED: Final = {  # by what turns the scene: the axis that then points up
    "-z": np.diag([1.0, -1.0, -1.0]),
    "x": np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
    "-x": np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]),
    "y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "-y": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
}


def turned(scene: IndoorScene, rotation: np.ndarray) -> IndoorScene:
    """The scene with every point rotated by a matrix (3, 3)."""
    return with_boxes(scene, lambda box: turned_box(box, rotation))


def test_a_room_is_upright() -> None:
    assert upright_doubts(make_scene(ROOM)) == ()


@pytest.mark.parametrize("up", TURNED)
def test_another_axis_that_is_up_is_told(up: str) -> None:
    (found,) = upright_doubts(turned(make_scene(ROOM), TURNED[up]))
    assert (found.name, found.severity, found.limit) == ("another_axis_is_up", "doubt", 1.5)
    assert f"with {up} up" in found.message
    assert found.measured is not None
    assert round(found.measured, 3) == found.measured > 1.5
    assert "z must point up" in found.remedy


@pytest.mark.parametrize(("slope_deg", "is_told"), [(11.0, False), (13.0, True)])
def test_a_floor_that_slopes_is_told(slope_deg: float, is_told: bool) -> None:
    found = upright_doubts(turned(make_scene(ROOM), Rotation.from_euler("x", slope_deg, degrees=True).as_matrix()))
    assert [(f.name, f.limit, f.unit) for f in found] == ([("floor_slopes", 12.0, "deg")] if is_told else [])
    assert all(f.measured == pytest.approx(slope_deg, abs=0.6) for f in found)


def test_too_few_objects_tell_nothing() -> None:
    assert upright_doubts(turned(make_scene(ROOM[:4]), TURNED["x"])) == ()
    chairs = [("chair", (float(n), 0.0, 0.44), (0.5, 0.5, 0.88), 0.0) for n in range(6)]
    assert upright_doubts(turned(make_scene(chairs), TURNED["x"])) == ()
    row = [(name, (9.0, y, z), size, turn) for name, (_, y, z), size, turn in ROOM]  # in one line, far from the origin
    assert upright_doubts(turned(make_scene(row), Rotation.from_euler("x", 13.0, degrees=True).as_matrix())) == ()


def resized(scene: IndoorScene, factor: float) -> IndoorScene:
    """The same objects, about the same middles."""
    return with_boxes(scene, lambda box: {"lengths": tuple(factor * v for v in box.lengths)})


@pytest.mark.parametrize(("factor", "told"), [(1.0, None), (0.8, None), (1.3, None), (0.5, "twice"), (2.0, "half")])
def test_boxes_of_half_or_twice_their_size(factor: float, told: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = resized(make_scene(ROOM), factor)
    found = extent_doubts(scene)
    assert [f.name for f in found] == (["extents_of_another_size"] * 2 if told else [])
    assert "another_axis_is_up" not in {f.name for f in examine(scene)}
    if told is None:
        return
    one, other = found
    assert f"at {told} their size" in one.message
    assert (one.subject, other.subject, one.unit, one.limit) == (SCALE, SIGHT, "ratio", 1.3)
    assert one.measured is not None
    for limit, count in ((one.measured - 1e-3, 2), (one.measured + 1e-3, 0)):
        monkeypatch.setattr(quality_checks, "EXTENT_RATIO_MAX", limit)
        assert len(extent_doubts(scene)) == count


def test_halved_boxes_cost_distances_and_not_counts() -> None:
    halved = examined(resized(make_scene([*ROOM, ("chair", (4.0, 1.4, 0.44), (0.5, 0.5, 0.88), 0.0)]), 0.5))
    told = {f.name for f in halved.findings}
    assert told & {"extents_of_another_size", "sizes_of_another_unit"}
    assert all(row["reason"] for row in candidates_of(halved, "object_abs_distance"))
    assert any(row["reason"] is None for row in candidates_of(halved, "object_counting"))


@pytest.mark.real_data
def test_extents_of_the_released_scenes(real_scenes: list[IndoorScene]) -> None:
    """As they are none is in doubt; of the 81 with boxes enough 70 are told at half their size, 80 at twice."""
    told = [sum(bool(extent_doubts(resized(scene, factor))) for scene in real_scenes) for factor in (1.0, 0.5, 2.0)]
    assert told == [0, 70, 80]


def relabelled(scene: IndoorScene, order: Sequence[int]) -> IndoorScene:
    """The scene whose n-th box has the label of the ``order[n]``-th one."""
    labels = [item.category for item in scene.facts.objects]
    objects = [o.model_copy(update={"category": labels[n]}) for o, n in zip(scene.facts.objects, order, strict=True)]
    return scene.with_facts(objects=tuple(objects))


@pytest.mark.parametrize(
    ("order", "is_told"), [(range(8), False), ((1, 2, 3, 4, 5, 6, 7, 0), True), (range(7, -1, -1), True)]
)
def test_labels_of_other_boxes_are_told(order: Sequence[int], is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = relabelled(make_scene(ROOM), order)
    found = label_doubts(scene)
    assert [(f.name, f.subject) for f in found] == [("labels_of_other_boxes", s) for s in (SIGHT, UPRIGHT)] * is_told
    if not is_told:
        return
    saved = found[0].measured
    assert saved is not None
    assert (found[0].limit, found[0].unit) == (0.4, "share")
    for limit, told in ((saved - 1e-3, 2), (saved + 1e-3, 0)):
        monkeypatch.setattr(quality_checks, "LABELS_SAVED_MAX", limit)
        assert len(label_doubts(scene)) == told


def test_labels_that_hardly_matter_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = relabelled(make_scene(ROOM), range(7, -1, -1))
    assert label_doubts(scene)
    monkeypatch.setattr(quality_checks, "LABELS_OFF_MIN", 9.0)  # no box can be so far off
    assert label_doubts(scene) == ()


def test_labels_of_other_boxes_cost_all_but_counts() -> None:
    rows = [*ROOM, ("chair", (4.0, 1.4, 0.44), (0.5, 0.5, 0.88), 0.0)]
    wrong = examined(relabelled(make_scene(rows), [8, 0, 1, 2, 3, 4, 5, 6, 7]))
    assert {"labels_of_other_boxes"} == {f.name for f in wrong.findings if f.subject in (SIGHT, UPRIGHT)}
    for task in ("object_abs_distance", "object_rel_direction_easy", "obj_appearance_order"):
        assert all(row["reason"] for row in candidates_of(wrong, task))
    assert "labels_of_other_boxes" not in {row["reason"] for row in candidates_of(wrong, "object_counting")}


@pytest.mark.real_data
def test_labels_of_the_released_scenes(real_scenes: list[IndoorScene]) -> None:
    """As they are none is in doubt; of the 81 with boxes enough 64 are told when each label is one box late."""
    late = [relabelled(s, np.roll(np.arange(len(s.facts.objects)), 1).tolist()) for s in real_scenes]
    assert [scene.id for scene in real_scenes if label_doubts(scene)] == []
    assert sum(bool(label_doubts(scene)) for scene in late) == 64


@pytest.mark.parametrize("profile", ["strict", "official"])
def test_nothing_is_asked_of_what_is_not_upright_but_counts(profile: str) -> None:
    scene = examined(turned(make_scene([*ROOM, ("chair", (2.0, 1.4, 0.44), (0.5, 0.5, 0.88), 0.0)]), TURNED["y"]))
    for task in ("object_size_estimation", "object_abs_distance", "object_rel_direction_easy"):
        reasons = {row["reason"] for row in candidates_of(scene, task, profile)}
        assert None not in reasons
        assert "another_axis_is_up" in reasons
    assert None in {row["reason"] for row in candidates_of(scene, "object_counting", profile)}


@pytest.mark.real_data
def test_released_scenes_are_upright_and_told_when_they_are_turned(real_scenes: list[IndoorScene]) -> None:
    assert [scene.id for scene in real_scenes if upright_doubts(scene)] == []
    large = [scene for scene in real_scenes if upright_doubts(turned(scene, TURNED["x"]))]
    told = {up: sum(bool(upright_doubts(turned(scene, by))) for scene in large) for up, by in TURNED.items()}
    assert len(large) >= 80
    assert min(told[up] for up in ("x", "-x", "y", "-y")) >= 0.95 * len(large)
    assert told["-z"] >= 0.75 * len(large)
