"""Views of episodes: doubts of any reader, and films drawn to scale in which nothing comes before its time."""

from __future__ import annotations

from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.findings import Findings
from pipeline.core.quantized_series import QuantizedSeries, pack
from pipeline.core.schema import Video
from pipeline.drawing.raster import INK, SIZE
from pipeline.worlds.arm.bev_video import ABOVE, BESIDE, drawn, top_down_map
from pipeline.worlds.arm.facts import JOINT_STEP, PLACE_STEP_M, SHARE_STEP, Arm, ArmCamera, Gripper, Joint, SceneItem
from pipeline.worlds.arm.readers.rlbench import RLBench
from pipeline.worlds.arm.readers.series import LARGEST, WIDEST, as_numbers, known, stacked, step_of, turns_wxyz
from pipeline.worlds.arm.view import BEYOND_MAX, EDGE_PX, GRIPPER, MAP_PX, ArmView, examine
from pipeline.worlds.registry import examined
from tests.drawing.reading import bounds
from tests.worlds.arm.episodes import found, read, rows, write_demo


def test_sound_episodes_have_none(views: list[ArmView]) -> None:
    assert [finding for view in views for finding in examine(view.scene)] == []


@pytest.mark.parametrize(("step_m", "jumps"), [(0.24, False), (0.26, True)])
def test_a_gripper_that_jumps_is_unknown_while_it_does(step_m: float, jumps: bool, tmp_path: Path) -> None:
    made = rows()
    for row in made[20:]:
        row["gripper_pose"] = row["gripper_pose"] + np.array([step_m, 0, 0, 0, 0, 0, 0])  # and 5 mm as always, in 50 ms
    write_demo(tmp_path, made)
    view = ArmView(examined(read(tmp_path, RLBench())))
    assert ("gripper_jumps" in found(view.scene)) == jumps
    assert np.flatnonzero(np.isnan(view.gripper_m[:, 0])).tolist() == ([19, 20] if jumps else [])


@pytest.mark.parametrize("over", [-0.001, 0.001])
def test_joints_beyond_their_limits_are_told_to_the_hundredth(over: float, views: list[ArmView]) -> None:
    scene, arm = views[0].scene, views[0].facts.arm
    top = float(arm.position.array[:, 0].max())
    joint = arm.joints[0].model_copy(update={"high": top - BEYOND_MAX - over})
    changed = scene.with_facts(arm=arm.model_copy(update={"joints": (joint, *arm.joints[1:])}))
    assert [finding.subject for finding in examine(changed)] == (["shoulder"] if over > 0 else [])


def test_the_gripper_is_open_or_closed_where_it_is_sure(tmp_path: Path) -> None:
    made = rows()
    for number, row in enumerate(made):
        row["gripper_open"] = 1.0 if number < 10 else 0.5 if number < 12 else 0.0 if number < 20 else 1.0
    write_demo(tmp_path, made)
    view = ArmView(read(tmp_path, RLBench()))
    assert [view.state_at(row) for row in (9, 11, 12, 20)] == ["open", None, "closed", "open"]
    assert view.width_m[0] == pytest.approx(0.08)


def test_speeds_and_ways_are_those_of_the_movement(tmp_path: Path) -> None:
    write_demo(tmp_path, rows())
    view = ArmView(read(tmp_path, RLBench()))
    assert view.gripper_speed_mps[1:-1] == pytest.approx(np.full(38, 0.1), abs=1e-4)
    assert np.abs(view.gripper_m[-1] - view.gripper_m[0]).sum() == pytest.approx(0.1 * 39 * 0.05, abs=1e-5)
    assert view.angle_rate[5] == pytest.approx([0.4, -0.2])
    assert view.approach[0] == pytest.approx([0, 0, 1])
    assert view.effort[0] == pytest.approx([1, 2])


def test_things_lie_to_scale_from_above_and_from_the_side(views: list[ArmView]) -> None:
    """The grey dot of the foot and the gripper's dot: as far apart, in both maps, as the log says."""
    view = views[0]
    footage = drawn(view.scene)
    first = next(iter(footage.frames()))
    assert first.shape == (SIZE[1], SIZE[0], 3)
    bar = (first[296, 266:520] == INK["text"]).all(1)
    per_m = float(bar.argmin()) / 0.5  # up to the first pixel beside it; the longest bar that fits is of 50 cm
    assert per_m == pytest.approx(1 / view.pixel_m, abs=0.5 / 0.5), "half a pixel"
    apart = view.gripper_m[0] - view.base_m
    for at, across, up in ((ABOVE, -apart[1], apart[0]), (BESIDE, apart[0], apart[2])):
        left, top, side = (int(v) for v in at)
        part = first[top : top + side, left : left + side]
        foot = np.argwhere((part == INK["edge"]).all(2)).mean(0)
        fingers = np.argwhere((part == INK["own"]).all(2))
        tip = np.array([fingers[:, 0].max() - 4, fingers[:, 1].mean()])
        y, x = (tip - foot) / per_m
        assert np.hypot(x - across, -y - up) < 0.02, "2 cm are 3 pixels"


@pytest.mark.slow
def test_no_picture_knows_what_comes_later(views: list[ArmView]) -> None:
    """The same pictures of an episode of which the second half was changed."""
    view = views[1]
    whole = drawn(view.scene)
    half = len(view.times_s) // 2
    moved = (np.arange(len(view.times_s)) >= half)[:, None] * np.array([0.1, 0.0, 0.0])
    items = tuple(
        item.model_copy(update={"place_m": pack(place + moved, PLACE_STEP_M)})
        for item, place in zip(view.facts.items, view.item_m, strict=True)
    )
    facts = view.facts.model_copy(update={"items": items})
    changed = drawn(view.scene.model_copy(update={"facts": facts}))
    pairs = list(zip(whole.frames(), changed.frames(), strict=True))
    same = [bool((a == b).all()) for a, b in pairs]
    first = int(np.searchsorted(np.arange(len(pairs)) / whole.fps, view.times_s[half] - 1e-6))
    assert all(same[:first])
    assert not any(same[first:])


def test_things_have_the_colours_that_they_are_said_to_have(views: list[ArmView]) -> None:
    """Of CSS where they are not basic; what has none looks like none, which questions could mean, where others have."""
    red, maroon, plain = (222, 50, 40), (128, 0, 0), INK["thing"]
    first = next(view for view in views if len(view.facts.items) >= 3)
    for words, shown in (
        (("red", "Maroon", ""), {red, maroon, plain}),
        (("red", "no colour at all", ""), {red, plain}),
        (("", "", ""), set()),
    ):
        looks = ({"colour": word} if word else {} for word in words)
        items = tuple(i.model_copy(update={"attributes": of}) for i, of in zip(first.facts.items, looks, strict=False))
        picture = next(iter(drawn(first.scene.with_facts(items=items)).frames()))
        assert {colour for colour in (red, maroon, plain) if (picture == colour).all(2).sum() > 20} == shown


@pytest.mark.parametrize("turned_round", [False, True])
def test_what_is_higher_or_nearer_hides_the_rest(views: list[ArmView], turned_round: bool) -> None:
    """A red cube of 6 cm lies on a green one of 10, before which one of 20 stands, seen from the robot's right side.

    Whichever comes first in the log, from above both the red and the green are seen, and from the side no green: 36% of
    the green one is covered where less of it is.
    """
    first = next(view for view in views if len(view.facts.items) >= 3)
    ahead, left, up = first.extent[0]
    looks = (
        ("red", 0.06, (ahead, left, up + 0.08)),
        ("green", 0.1, (ahead, left, up)),
        ("blue", 0.2, (ahead, left - 0.2, up)),
    )
    made = [
        item.model_copy(
            update={
                "attributes": {"colour": colour},
                "size_m": (side,) * 3,
                "place_m": pack(np.tile(place, (len(first.times_s), 1)), PLACE_STEP_M),
            }
        )
        for item, (colour, side, place) in zip(first.facts.items, looks, strict=False)
    ]
    items = tuple(made[::-1] if turned_round else made)
    scene = first.scene.with_facts(items=items)
    picture = next(iter(drawn(scene).frames()))
    covered = dict(zip((item.attributes["colour"] for item in items), ArmView(scene).covered(0).tolist(), strict=True))
    assert covered == {"red": 0.0, "green": 0.36, "blue": 0.0}

    def seen(colour: tuple[int, int, int], at: tuple[float, float, float]) -> int:
        x, y, side = (int(v) for v in at)
        return int((picture[y : y + side, x : x + side] == colour).all(2).sum())

    red, green, blue = (222, 50, 40), (50, 160, 70), (50, 90, 210)
    assert seen(red, ABOVE) > 0
    assert seen(green, ABOVE) > 0
    assert seen(blue, BESIDE) > 0
    assert seen(green, BESIDE) == 0


@pytest.mark.parametrize(("angle_deg", "across_px", "up_px"), [(0, 0, 5.5), (90, -5.5, 0), (-90, 5.5, 0)])
def test_a_dial_turns_counter_clockwise(angle_deg: float, across_px: float, up_px: float, views: list[ArmView]) -> None:
    """The middle of its red hand of 11 pixels, which points up at 0."""
    facts = views[0].facts
    angle = pack(np.full((len(facts.times_s), 1), np.radians(angle_deg)), 1e-6)
    arm = facts.arm.model_copy(update={"joints": facts.arm.joints[:1], "position": angle, "velocity": None})
    picture = next(iter(drawn(views[0].scene.with_facts(arm=arm, items=())).frames()))
    rows, columns = np.nonzero((picture[:100, 530:] == INK["red"]).all(2))
    assert (columns.mean() - 12, 20 - rows.mean()) == pytest.approx((across_px, up_px), abs=1)


def test_what_is_near_a_map_s_edge_is_drawn_where_the_view_says_so(views: list[ArmView]) -> None:
    """A red thing half a pixel within the margin of a map, and half a pixel beyond it, to its four sides."""
    view = next(view for view in views if view.facts.items)
    item = view.facts.items[0].model_copy(update={"attributes": {"colour": "red"}, "size_m": None})
    alone = view.scene.with_facts(items=(item,), gripper=None, arm=None)
    middle, pixel_m, shown = ArmView(alone).extent[0], ArmView(alone).pixel_m, []
    left, top, side = (int(v) for v in ABOVE)
    for axis, sense, pixels in product((0, 1), (-1, 1), (-0.5, 0.5)):
        place = middle + np.eye(3)[axis] * sense * (MAP_PX / 2 - EDGE_PX + pixels) * pixel_m
        places = np.tile(place, (len(view.times_s), 1))
        places[0] = middle  # by which the map is laid
        scene = alone.with_facts(items=(item.model_copy(update={"place_m": pack(places, PLACE_STEP_M)}),))
        picture = next(islice(drawn(scene).frames(), 5, None))[top : top + side, left : left + side]
        shown.append((bool(ArmView(scene).in_maps(place[None])[0, 0]), bool((picture == (222, 50, 40)).all(2).any())))
    assert shown == [(True, True), (False, False)] * 4


def test_a_camera_has_in_its_picture_what_is_wholly_before_it(views: list[ArmView]) -> None:
    """It looks along x from the zero and sees a right angle; of a gripper its 5 cm about the point count too."""
    axes = ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    camera = ArmCamera(
        name="front", width=100, height=100, focal_px=(50, 50), centre_px=(50, 50), place_m=(0.0, 0.0, 0.0),
        world_from_camera=axes, moves=False, pictures=True,
    )  # fmt: skip
    film = Video(path="front", fps=20, frames=9, width=100, height=100)
    scene = views[0].scene.model_copy(update={"video": film})
    places = np.array([[1, 0.94, 0], [1, 0.96, 0], [1, 0, 0.94], [1, 0, -0.96], [-1, 0, 0], [np.nan] * 3])
    for own, expected in ((camera, [1, 0, 1, 0, 0, 0]), (camera.model_copy(update={"moves": True}), [np.nan] * 6)):
        view = ArmView(scene.with_facts(cameras=(own,)))
        np.testing.assert_array_equal(view.pictured(places, 0.05), expected)
    assert ArmView(scene.with_facts(cameras=(camera,))).pictured(places[1:2]).tolist() == [1], "the point alone"


def test_an_episode_without_places_and_angles_is_not_drawn(views: list[ArmView]) -> None:
    turning = views[0].facts.model_copy(update={"gripper": None, "items": ()})
    assert drawn(views[0].scene.model_copy(update={"facts": turning})) is not None, "there are dials"
    nothing = turning.model_copy(update={"arm": None})
    bare, count = ArmView(views[0].scene.model_copy(update={"facts": nothing})), len(views[0].times_s)
    shapes = (bare.gripper_m.shape, bare.gripper_turn.shape, bare.opening.shape, bare.angle.shape, bare.item_m.shape)
    assert shapes == ((count, 3), (count, 4), (count,), (count, 0), (0, count, 3))
    assert np.isnan(bare.gripper_turn).all()
    assert drawn(views[0].scene.model_copy(update={"facts": nothing})) is None


def still(*row: float, step: float = PLACE_STEP_M) -> QuantizedSeries:
    """Of something that stays as it is at two times."""
    return pack(np.tile(np.array(row), (2, 1)), step)


def test_a_picture_by_hand(tmp_path: Path) -> None:
    """250 pixels show 2 * 0.4 * 1.3 m, so that 0.208 m are 50: the foot in the middle, a can behind, a gripper ahead.

    The can is 2 cm across for each 5 pixels. The first joint is turned to the left by a quarter, the second has no
    angle, and the third's is not known.
    """
    write_demo(tmp_path, rows(2))
    joints = (Joint(name="one", unit="rad"), Joint(name="two", unit="m"), Joint(name="three", unit="rad"))
    scene = read(tmp_path, RLBench()).with_facts(
        arm=Arm(joints=joints, position=still(np.pi / 2, 0.1, np.nan, step=JOINT_STEP), base_m=(0, 0, 0)),
        gripper=Gripper(point="tips", place_m=still(0.208, 0, 0), opening=still(0.5, step=SHARE_STEP)),
        items=(
            SceneItem(
                id="a", category="can", attributes={"colour": "red"},
                size_m=(0.0416, 0.0832, 0.0416), place_m=still(-0.208, 0, 0),
            ),
        ),
    )  # fmt: skip
    picture = next(iter(drawn(scene).frames()))
    above, beside = (8, 26, 258, 276), (266, 26, 516, 276)
    assert [bounds(picture, INK["ground"], (left, 0, left + 257, 290)) for left in (1, 262)] == [above, beside]
    assert bounds(picture, INK["edge"], above) == (133 - 4, 151 - 4, 133 + 4, 151 + 4), "the foot, within its rim"
    assert bounds(picture, INK["edge"], beside) == (391 - 4, 151 - 4, 391 + 4, 151 + 4)
    assert bounds(picture, (222, 50, 40), above) == (133 - 9, 201 - 4, 133 + 9, 201 + 4), "20 by 10, within its rim"
    assert bounds(picture, (222, 50, 40), beside) == (341 - 4, 151 - 4, 341 + 4, 151 + 4)
    assert (picture[[147, 147, 155, 155], [337, 345, 337, 345]] == (222, 50, 40)).all(), "all four corners"
    # Half open: 2 + 7 / 2 pixels to each side and half a line; fingers reach from 9 above the tips to 3 below them.
    assert bounds(picture, INK["own"], above) == (126, 101 - 10, 139, 101 + 3)
    assert bounds(picture, INK["own"], beside) == (434, 151 - 10, 447, 151 + 3)
    assert bounds(picture, INK["text"], (129, 93, 137, 104)) == (131, 99, 135, 103), "the tips"
    dials = [bounds(picture, INK["text"], (520, top, 560, top + 44)) for top in (0, 46, 92)]
    assert dials == [(542 - 14, 20 - 14, 542 + 14, 20 + 14), None, (542 - 14, 112 - 14, 542 + 14, 112 + 14)]
    assert bounds(picture, INK["red"], (520, 0, 639, 300)) == (542 - 11, 19, 542, 20), "the only hand, to the left"
    assert bounds(picture, INK["text"], (541, 7, 543, 15)) == (542, 7, 542, 10), "its zero"
    names = [bounds(picture, INK["text"], (562, top, 639, top + 44)) for top in (0, 46, 92)]
    assert [(name[0], name[3]) for name in names if name] == [(567, 26), (566, 26 + 46), (566, 26 + 92)]
    assert bounds(picture, INK["text"], (262, 280, 389, 299)) == (266, 295, 385, 297), "of 200 pixels at most: 50 cm"


@pytest.mark.parametrize(("opening", "across"), [(0.0, 2), (1.0, 9), (np.nan, 0)])
def test_fingers_are_drawn_as_far_apart_as_they_are(opening: float, across: int, views: list[ArmView]) -> None:
    gripper = Gripper(point="tips", place_m=still(0.208, 0, 0), opening=still(opening, step=SHARE_STEP))
    seconds = pack(np.array([[0.0], [1.0]]), 1e-5)
    scene = views[0].scene.with_facts(gripper=gripper, seconds=seconds, items=(), arm=None, cameras=())
    left, _, right, _ = bounds(next(iter(drawn(scene).frames())), INK["own"], (8, 26, 258, 276)) or (0, 0, 0, 0)
    assert (left, right) == (133 - across - 1, 133 + across + 1)


def test_a_thing_whose_place_is_not_known_is_nowhere(views: list[ArmView]) -> None:
    view = next(view for view in views if view.facts.items)
    item = view.facts.items[0].model_copy(update={"place_m": None})
    lost = ArmView(view.scene.with_facts(items=(item,)))
    assert lost.item_m.shape == (1, len(view.times_s), 3)
    assert np.isnan(lost.item_m).all()
    assert lost.extent[1] > 0


def test_what_there_is_on_a_map_of_an_episode(views: list[ArmView]) -> None:
    """A thing turned to the left by a quarter, one of no known size, one of no place; and where the hand went."""
    quarter = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
    items = (
        SceneItem(id="a", category="box", size_m=(0.4, 0.2, 0.1), place_m=still(1, 2, 0), turn_wxyz=still(*quarter)),
        SceneItem(id="b", category="can", place_m=pack(np.array([[np.nan] * 3, [3.0, 4, 5]]), PLACE_STEP_M)),
        SceneItem(id="c", category="cup"),
        SceneItem(id="d", category="mug", place_m=pack(np.full((2, 3), np.nan), PLACE_STEP_M)),
    )
    places = np.array([[np.nan, 0.2, 0], [0.3, 0.4, 0]])
    scene = views[0].scene.with_facts(
        items=items,
        seconds=pack(np.array([[0.0], [1.5]]), 1e-5),
        arm=Arm(joints=(Joint(name="one"),), position=still(0), base_m=(7, 8, 9)),
        gripper=Gripper(point="tips", place_m=pack(places, PLACE_STEP_M)),
    )
    found = top_down_map(scene)
    assert [thing.label for thing in found.things] == ["box", "can", ""]
    np.testing.assert_allclose(found.things[0].outline, [(0.9, 2.2), (0.9, 1.8), (1.1, 1.8), (1.1, 2.2)], atol=1e-4)
    assert [thing.outline for thing in found.things[1:]] == [((3, 4),), ((7, 8),)]
    assert found.path == ((1.5, 0.3, 0.4),)


def test_a_long_path_is_thinned_to_400_points_and_its_last(views: list[ArmView]) -> None:
    for count, points in ((400, 400), (401, 201), (1001, 335)):
        places = np.stack([np.arange(count) / 100, np.zeros(count), np.zeros(count)], axis=1)
        seconds = pack(np.arange(count)[:, None] / 10, 1e-5)
        gripper = Gripper(point="tips", place_m=pack(places, PLACE_STEP_M))
        path = top_down_map(views[0].scene.with_facts(items=(), arm=None, seconds=seconds, gripper=gripper)).path
        assert (len(path), path[-1][0]) == (points, pytest.approx((count - 1) / 10))


def test_an_arm_does_not_turn_twice_nor_hold_its_gripper_beyond_its_reach(views: list[ArmView]) -> None:
    """Degrees declared as radians, and millimetres as metres."""
    scene = views[0].scene
    arm, gripper = scene.facts.arm, scene.facts.gripper
    assert arm is not None
    assert gripper is not None
    assert gripper.place_m is not None
    free = tuple(joint.model_copy(update={"low": None, "high": None}) for joint in arm.joints)
    position = pack(arm.position.array * [180 / np.pi, 180 / np.pi, 1.0], JOINT_STEP)
    place = pack(gripper.place_m.array * 1000, PLACE_STEP_M)
    for change, item in (
        ({"arm": arm.model_copy(update={"joints": free, "position": position})}, "shoulder"),
        ({"gripper": gripper.model_copy(update={"place_m": place})}, GRIPPER),
    ):
        told = examine(scene.model_copy(update={"facts": scene.facts.model_copy(update=change)}))
        assert item in {finding.subject for finding in told if finding.name == "beyond_limit"}
    assert "beyond_limit" not in {finding.name for finding in examine(scene)}


def with_items(view: ArmView, *boxes: tuple[float, ...]) -> ArmView:
    """The view of an episode with other things: middle (3,) and sides (3,) of each, as many as it has at most."""
    items = view.facts.items
    assert len(boxes) <= len(items)
    rows = len(view.times_s)
    made = tuple(
        item.model_copy(update={"place_m": pack(np.tile(box[:3], (rows, 1)), PLACE_STEP_M), "size_m": box[3:]})
        for item, box in zip(items, boxes, strict=False)
    )
    return ArmView(view.scene.with_facts(items=made))


def test_what_lies_on_what_at_its_limits(views: list[ArmView]) -> None:
    """A plate from -0.2 to 0.2 and from 0.1 to 0.3, 0.05 high; a die upon it whose middle is above its edge."""
    plate = (0.0, 0.2, 0.025, 0.4, 0.2, 0.05)
    for middle, lies in (
        ((0.0, 0.2, 0.07), True),
        ((0.2, 0.3, 0.07), True),
        ((0.201, 0.2, 0.07), False),
        ((0.0, 0.0999, 0.07), False),
        ((0.0, 0.2, 0.0749), True),  # 4.9 mm above it
        ((0.0, 0.2, 0.0751), False),
        ((0.0, 0.2, 0.0651), True),
        ((0.0, 0.2, 0.0649), False),
    ):
        view = with_items(max(views, key=lambda view: len(view.ids)), plate, (*middle, 0.04, 0.04, 0.04))
        assert view.on_item(0).tolist() == [[False, False], [lies, False]], middle


def test_how_much_of_a_thing_others_cover_by_hand(views: list[ArmView]) -> None:
    """From above a higher one covers a quarter; from the side, from y below, one nearer by the half of it."""
    view = with_items(
        max(views, key=lambda view: len(view.ids)), (0.4, 0.0, 0.1, 0.2, 0.2, 0.1), (0.5, -0.1, 0.15, 0.2, 0.2, 0.1)
    )
    above, beside = view.hidden(0)
    assert above == pytest.approx([0.25, 0.0], abs=0.03)
    assert beside == pytest.approx([0.25, 0.0], abs=0.03)
    assert view.covered(0) == pytest.approx([0.25, 0.0], abs=0.03)
    assert view.hidden(0) is view.hidden(0)


def test_values_of_a_key_at_all_times() -> None:
    """The usual width counts; what is missing, of another width, not finite or too large is not known."""
    told = Findings()
    rows: list[dict[str, Any]] = [{"a": [1.0, 2.0]}, {}, {"a": 3.0}, {"a": np.array([[4.0], [5.0]])}, {"a": "x"}]
    assert stacked(rows, "b", told) is None
    rows[0]["a"] = np.array([1.0, LARGEST])
    found = stacked(rows, "a", told)
    assert found is not None
    assert np.nan_to_num(found, nan=-1).tolist() == [[1, LARGEST], [-1, -1], [-1, -1], [4, 5], [-1, -1]]
    assert [(one.name, one.measured, one.limit) for one in told.items] == [("unusable_values", 3, 0)]
    nothing = Findings()
    assert known(np.array([[LARGEST * 1.01, 0.0], [np.inf, 1.0]]), "a", nothing) is None
    assert nothing.items[0].measured == 2
    whole = Findings()
    assert known(np.array([[-LARGEST, 0.0]]), "a", whole) is not None
    assert not whole.items


def test_numbers_and_arrays_are_numbers() -> None:
    wide = np.zeros(WIDEST)
    numbers: list[Any] = [1, 2.5, True, wide]
    others: list[Any] = [np.zeros(WIDEST + 1), np.zeros(0), "1", None]
    assert [as_numbers(value) is None for value in (*numbers, *others)] == [False] * 4 + [True] * 4
    found = as_numbers(np.array([[1, 2], [3, 4]]))
    assert found is not None
    assert found.tolist() == [1, 2, 3, 4]


def test_turns_have_their_real_part_first_and_not_negative() -> None:
    told = Findings()
    half = float(np.sqrt(0.5))
    found = turns_wxyz(np.array([[0.0, 0, half, half], [0, half, 0, -half], [0, 0, 0, 2.0], [0, 0, 1, 0]]), told)
    assert np.nan_to_num(found, nan=9).round(6).tolist() == [
        [round(half, 6), 0, 0, round(half, 6)],
        [round(half, 6), 0, -round(half, 6), 0],
        [9, 9, 9, 9],
        [0, 0, 0, 1],
    ]
    assert [(one.name, one.measured, one.limit) for one in told.items] == [("unusable_turn", 1, 0)]


def test_the_step_of_rows_by_their_rates() -> None:
    """Two joints at 1 and -2 rad/s, then at 0.5 and 1, a fifth of a second apart; unknown rows do not count."""
    rates = np.array([[9.0, 9], [1, -2], [0.5, 1], [0.5, 1], [0.5, 1]])
    position = np.concatenate([[[3.0, 4]], [3.0, 4] + 0.2 * np.cumsum(rates[1:], axis=0)])
    step_s, off = step_of(position, rates) or pytest.fail("it moves")
    assert (step_s, off) == (pytest.approx(0.2), pytest.approx(0.0, abs=1e-9))
    position[3] = np.nan
    assert step_of(position, rates) == (pytest.approx(0.2), pytest.approx(0.0, abs=1e-9))
    assert step_of(position[:1], rates[:1]) is None
    assert step_of(np.zeros((4, 2)), rates[:4]) is None
    other = np.array([[0.0, 0], [0.3, 0.0], [0.6, 0.0]])  # 0.3 of the first joint, where both turn as fast
    step_s, off = step_of(other, np.ones((3, 2))) or pytest.fail("it moves")
    assert (step_s, off) == (pytest.approx(0.15), pytest.approx(np.sqrt(0.5)))
