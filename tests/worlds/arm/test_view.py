"""Views of episodes: doubts of any reader, and films drawn to scale in which nothing comes before its time."""

from colorsys import rgb_to_hsv
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import QuantizedSeries, pack
from pipeline.core.schema import Video
from pipeline.drawing.raster import INK
from pipeline.worlds.arm.bev_video import ABOVE, BESIDE, _spoken, drawn, top_down_map
from pipeline.worlds.arm.facts import (
    JOINT_STEP,
    PLACE_STEP_M,
    SHARE_STEP,
    Arm,
    ArmCamera,
    EpisodeScene,
    Gripper,
    Joint,
    SceneItem,
    Slide,
)
from pipeline.worlds.arm.quality_checks import examine, held_against_film
from pipeline.worlds.arm.readers.declared import LARGEST, turns_wxyz, usable_rows
from pipeline.worlds.arm.readers.rlbench import RLBench, step_of
from pipeline.worlds.arm.readers.rlbench_robot import WIDEST, as_numbers, stacked
from pipeline.worlds.arm.view import EDGE_PX, GRIPPER, MAP_PX, ArmView
from tests.drawing.reading import bounds
from tests.worlds.arm.episodes import episode, read, rows, write_demo


def test_sound_episodes_have_none(views: list[ArmView]) -> None:
    assert [finding for view in views for finding in examine(view.scene)] == []


def revolute(name: str, *angles: float, **known: Any) -> tuple[Joint, tuple[float, ...]]:
    return Joint(name=name, **({"kind": "revolute", "unit": "rad"} | known)), angles


@pytest.mark.parametrize(
    ("steps_m", "reach_m", "joint", "told"),
    [
        ([(0.3, 0.39, 0.08), (0, 0, 0.9)], None, None, []),  # 4.986 and 4.5 m/s
        ([(0.3, 0.41, 0.0), (0.6, 0.78, 0.1)], None, None, [(GRIPPER, 5.08, 5.0, "m/s", ((0, 0.1),))]),
        ([(0.3, 0.41, 0.0), (0.6, 0.8, -0.3)], None, None, [(GRIPPER, 5.22, 5.0, "m/s", ((0, 0.1), (0.1, 0.3)))]),
        ([(0.1, 0.02, 0.04), (np.nan, 0, 0)], 0.73, None, []),  # 1.0817 m away
        ([(0.1, 0.02, 0.04), (np.nan, 0, 0)], 0.72, None, [(GRIPPER, 1.0817, 1.08, "m", ((0, 0.3),))]),
        (None, 0.1, revolute("a", 0.71, -0.509, low=-0.5, high=0.7001), []),
        (None, 0.1, revolute("a", 0.71, np.nan, low=-0.5, high=0.699), [("a", 0.011, 0.01, "rad", None)]),
        (None, 0.1, revolute("b", -0.52, 0.71, low=-0.5, high=0.7, unit="m"), [("b", 0.02, 0.01, "m", None)]),
        (None, 0.1, revolute("a", 9.0, -9.0, low=-0.5), []),
        (None, 0.1, revolute("a", 9.0, -9.0, high=-0.5), []),
        (None, 0.1, revolute("a", np.nan, np.nan, low=-0.5, high=0.7), []),
        (None, 0.1, revolute("a", 12.56, np.nan), []),
        (None, 0.1, revolute("a", 1.0, -12.57), [("a", 12.57, 4 * np.pi, "rad", None)]),
        (None, 0.1, revolute("a", 1.0, -12.57, kind="prismatic"), []),
        (None, 0.1, revolute("a", 1.0, -12.57, unit="m"), []),
    ],
)  # fmt: skip
def test_doubts_at_their_limits(steps_m: Any, reach_m: Any, joint: Any, told: list[Any]) -> None:
    """Five metres a second; one and a half times the reach; two turns to a side; a hundredth beyond limits of a joint.

    The foot is a metre from where the gripper begins. Limits count where both are known.
    """
    joint, angles = joint or revolute("a", 0.1, 0.2)
    position = pack(np.array([angles[:1], angles[1:], angles[:1]]), JOINT_STEP)
    gripper = None
    if steps_m is not None:
        gripper = Gripper(point="tips", place_m=pack(np.cumsum([(3, 4, 5.0), *steps_m], axis=0), PLACE_STEP_M))
    arm = Arm(joints=(joint,), position=position, base_m=(2.36, 3.232, 5.0), reach_m=reach_m)
    scene = episode(np.array([0, 0.1, 0.3]), gripper=gripper, arm=arm)
    found = [(one.subject, one.measured, one.limit, one.unit, one.stretches) for one in examine(scene)]
    off = 1e-2 if gripper and reach_m is None else 1e-4
    assert found == [
        (subject, pytest.approx(value, abs=off), pytest.approx(limit), unit, spans)
        for subject, value, limit, unit, spans in told
    ]
    assert {one.name for one in examine(scene)} <= {"gripper_jumps" if told and told[0][3] == "m/s" else "beyond_limit"}
    assert examine(scene.with_facts(arm=None, gripper=None)) == ()


TIMES_S = np.cumsum([0, *np.random.default_rng(3).uniform(0.03, 0.12, 29)]).round(3)
SIZES = ((0.3, 0.2, 0.1), (0.11, 0.13, 0.05), (0.2, 0.4, 0.3), None, (0.1, 0.1, 0.1), (0.1, 0.2, 0.3))
FOOT = (-0.1, 0.2, 0.3)


def uneven() -> tuple[EpisodeScene, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Thirty uneven times; a plate, a thing that lies on it, one whose place is known late, one of no size, two that
    are nowhere, and a gripper that jumps a while. Places (6, 30, 3), those of the gripper, angles, shares of opening.
    """
    rng = np.random.default_rng(4)
    place = (rng.normal(0, 0.02, (6, 30, 3)).cumsum(1) + rng.uniform(-0.6, 1.2, (6, 1, 3))).round(6)
    place[1] = (place[0] + [0.043, -0.052, 0.0785]).round(6)  # 3.5 mm above it
    place[2, :20] = np.nan
    slide = Slide(position=pack(rng.uniform(0.1, 0.35, (30, 1)), JOINT_STEP), unit="m", low=0.1, high=0.35)
    items = tuple(
        SceneItem(
            id=f"thing {n}", category="box", size_m=size, place_m=None if n == 5 else pack(walk, PLACE_STEP_M),
            role={1: "target", 3: "obstacle"}.get(n), slide=slide if n in {1, 4} else None,
        )
        for n, (walk, size) in enumerate(zip(place, SIZES, strict=True))
    )  # fmt: skip
    angle, tip = rng.uniform(-2, 2, (30, 2)).round(6), (rng.normal(0.01, 0.03, (30, 3)).cumsum(0) + 0.2).round(6)
    opening = np.linspace(0, 1, 30).round(2)
    opening[[4, 5, 6, 7]] = [0.2, 0.2001, 0.7999, 0.8]
    joints = (Joint(name="a", low=-2.5), Joint(name="b"))
    scene = episode(
        TIMES_S,
        items=items,
        arm=Arm(joints=joints, position=pack(angle, JOINT_STEP), base_m=FOOT),
        gripper=Gripper(point="tips", place_m=pack(tip, PLACE_STEP_M), opening=pack(opening, SHARE_STEP)),
    )
    jumps = {"stretches": (tuple(TIMES_S[[11, 13]].tolist()),)}
    findings = [note("odd", "thing 0", "", ""), *(doubt(name, "thing 4", "", "") for name in ("one", "two"))]
    findings += [doubt("jumps", subject, "", "").model_copy(update=jumps) for subject in (GRIPPER, "log")]
    place[4:], tip[11:14] = np.nan, np.nan
    return scene.model_copy(update={"findings": tuple(findings)}), place, tip, angle, opening


def nearest(time_s: float) -> int:
    return min(range(30), key=lambda n: (abs(TIMES_S[n] - time_s), n))


def test_a_view_over_time_is_what_plain_loops_make_of_it() -> None:
    """Rates are those of a fifth of a second; a gripper is open from four fifths on, and closed to one fifth."""
    scene, place, tip, angle, opening = uneven()
    view = ArmView(scene)
    assert {name: finding.name for name, finding in view.doubts.items()} == {"thing 4": "one"}
    np.testing.assert_allclose(view.item_m, place, atol=1e-9)
    np.testing.assert_allclose(view.gripper_m, tip, atol=1e-9)
    np.testing.assert_allclose(view.slide_share[1], (view.slide[1] - 0.1) / 0.25)
    assert np.isfinite(view.slide).all(1).tolist() == [False, True, False, False, False, False]
    assert (view.targets, view.row("thing 3"), view.low[0]) == ([1], 3, -2.5)
    assert np.isnan([view.low[1], *view.high, *view.effort.ravel()]).all()
    states = [None if 0.2 < share < 0.8 else "open" if share > 0.5 else "closed" for share in opening.tolist()]
    assert [view.state_at(n) for n in range(30)] == states
    assert [view.index(t) for t in np.arange(-0.1, 3, 0.07)] == [nearest(t) for t in np.arange(-0.1, 3, 0.07)]
    for values, rates in ((tip, view.gripper_mps), (angle, view.angle_rate)):
        for n, t in enumerate(TIMES_S):
            a, b = nearest(t - 0.1), nearest(t + 0.1)
            np.testing.assert_allclose(rates[n], (values[b] - values[a]) / (TIMES_S[b] - TIMES_S[a]), atol=1e-9)
    for n in range(30):
        assert view.gripper_speed_mps[n] == pytest.approx(np.linalg.norm(view.gripper_mps[n]), nan_ok=True)
        np.testing.assert_allclose(view.distance_m[:, n], np.linalg.norm(place[:, n] - tip[n], axis=1))
        np.testing.assert_allclose(view.item_from_base_m[:, n], place[:, n] - FOOT)


def test_a_view_of_maps_is_what_plain_loops_make_of_it() -> None:
    """Maps have 250 pixels, of which the outer 4 show nothing, and show 1.3 times what is somewhere at the beginning.

    What has no size is a dot of 4 pixels. On a thing lies what is within 5 mm of its top, its middle above it.
    """
    scene, place, tip, _, _ = uneven()
    view = ArmView(scene)
    known = [FOOT, tip[0], place[0, 0], place[1, 0], place[2, 20], place[3, 0]]
    low, high = (np.array([end(p[k] for p in known) for k in range(3)]) for end in (min, max))
    pixel_m = 1.3 * max(high - low) / 250
    assert view.extent == (pytest.approx((low + high) / 2), pytest.approx(max(high - low) / 2))
    assert view.pixel_m == pytest.approx(pixel_m)
    steps = [view.shown.readable[name] for name in ("distance", "way", "speed")]
    assert steps == pytest.approx([100 * pixel_m, 100 * pixel_m, 200 * pixel_m], abs=2e-6)
    half = [None if size is None else np.array(size) / 2 for size in SIZES]
    for n, (number, axes) in product((0, 9, 25), enumerate(([1, 0], [0, 2]))):
        at = place[:, n, axes]
        there = [k for k in range(6) if all(abs(at[k] - (low + high)[axes] / 2) <= 121 * pixel_m)]
        assert np.flatnonzero(view.in_maps(place[:, n])[number]).tolist() == there
        over = [(place[k, n, 2] + (0 if half[k] is None else half[k][2]), -place[k, n, 1])[number] for k in range(6)]
        order = sorted(there, key=lambda k: over[k])
        assert [k for k in view.drawing_order(n)[number] if k in there] == order
        mark = [np.full(2, 4 * pixel_m) if own is None else own[axes] for own in half]
        share = np.full(6, np.nan)
        for k in there:
            cells = [at[k] + mark[k] * cell for cell in product(np.arange(-9, 10, 2) / 10, repeat=2)]
            later = order[order.index(k) + 1 :]
            share[k] = np.mean([any(all(abs(cell - at[j]) <= mark[j]) for j in later) for cell in cells])
        np.testing.assert_allclose(view.hidden(n)[number], share)
        np.testing.assert_array_equal(view.covered(n), np.fmin(*view.hidden(n)))
        assert view.hidden(n) is view.hidden(n)
        lies = np.zeros((6, 6), dtype=bool)
        for a, b in ((a, b) for a, b in product(range(5), repeat=2) if a != b and 3 not in {a, b}):
            gap = place[a, n, 2] - half[a][2] - place[b, n, 2] - half[b][2]
            lies[a, b] = abs(gap) <= 0.005 and all(abs(place[a, n] - place[b, n])[:2] <= half[b][:2])
        assert view.on_item(n).tolist() == lies.tolist()
        assert lies[1, 0]
    filmed = scene.model_copy(update={"video": Video(path="f", fps=20, frames=9, width=1, height=1)})
    assert [ArmView(s).shown.complete for s in (filmed, filmed.with_facts(items_complete=True))] == [set(), {"box"}]
    assert np.isnan(ArmView(filmed).hidden(0)).all()


@pytest.mark.parametrize("around_m", [0.0, 0.05])
def test_a_camera_has_in_its_picture_what_a_plain_projection_puts_there(around_m: float) -> None:
    """Of a camera that looks aslant; what lies on the edge of a picture is in it, what is behind the camera is not."""
    turn = Rotation.from_euler("zyx", [70, -25, -110], degrees=True).as_matrix()
    camera = ArmCamera(
        name="front", width=320, height=200, focal_px=(260, 240), centre_px=(150, 110), place_m=(0.1, -0.2, 0.6),
        world_from_camera=turn.tolist(), moves=False, pictures=True,
    )  # fmt: skip
    film = Video(path="front", fps=20, frames=9, width=320, height=200)
    scene = episode(np.array([0.0, 1.0])).model_copy(update={"video": film})
    cameras = (camera.model_copy(update={"pictures": False, "moves": None}), camera)
    view, places = ArmView(scene.with_facts(cameras=cameras)), np.random.default_rng(0).normal(0, 1.5, (400, 3))
    plain = []
    for place in places:
        x, y, z = turn.T @ (place - camera.place_m)
        across, down, beside = 260 * x / z + 150, 240 * y / z + 110, (260 * around_m / z, 240 * around_m / z)
        plain.append(z > 0 and beside[0] <= across <= 320 - beside[0] and beside[1] <= down <= 200 - beside[1])
    assert view.pictured(places, around_m).tolist() == plain
    assert 30 < sum(plain) < 300
    assert np.isnan(view.pictured(np.full((1, 3), np.nan))).tolist() == [False], "it is nowhere"
    for lost in ({"moves": True}, {"moves": None}, {"place_m": None}, {"focal_px": None}, {"width": None}):
        unknown = ArmView(scene.with_facts(cameras=(camera.model_copy(update=lost),)))
        assert np.isnan(unknown.pictured(places[:2], around_m)).tolist() == [True, True]
    ahead = camera.model_copy(update={"world_from_camera": np.eye(3).tolist(), "place_m": (0, 0, 0)})
    corners = np.array([[-150, -110, 1], [170, 90, 1]]) / [[260, 240, 1]]
    assert ArmView(scene.with_facts(cameras=(ahead,))).pictured(corners).tolist() == [1, 1]


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


def test_an_episode_without_places_and_angles_is_not_drawn(views: list[ArmView]) -> None:
    turning = views[0].facts.model_copy(update={"gripper": None, "items": ()})
    assert drawn(views[0].scene.model_copy(update={"facts": turning})) is not None, "there are dials"
    nothing = turning.model_copy(update={"arm": None})
    bare, count = ArmView(views[0].scene.model_copy(update={"facts": nothing})), len(views[0].times_s)
    shapes = (bare.gripper_m.shape, bare.gripper_turn.shape, bare.opening.shape, bare.angle.shape, bare.item_m.shape)
    assert shapes == ((count, 3), (count, 4), (count,), (count, 0), (0, count, 3))
    assert np.isnan(bare.gripper_turn).all()
    assert bare.extent == (pytest.approx([0, 0, 0]), 0.4)
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


def test_colours_have_the_hues_of_their_words() -> None:
    """Degrees on the wheel, to 25; those of RLBench and of CSS are theirs."""
    hues = {"red": 0, "green": 120, "blue": 240, "yellow": 60, "orange": 39, "purple": 300, "pink": 350, "cyan": 180}
    for word, hue in hues.items():
        share, saturation, value = rgb_to_hsv(*(part / 255 for part in _spoken(word)))
        assert abs((360 * share - hue + 180) % 360 - 180) < 25, word
        assert (saturation > 0.3, value > 0.6) == (True, True), word
    dark, grey, light = (_spoken(word) for word in ("black", "grey", "white"))
    assert [min(one) == max(one) for one in (dark, grey, light)] == [True] * 3
    assert dark < (60,) < grey < (240,) < light
    assert [_spoken(word) for word in ("Azure", "violet", "ro se")] == [(0, 127, 255), (127, 0, 255), (255, 0, 127)]
    known = [_spoken(word) for word in ("maroon", "light blue", "nothing")]
    assert known == [(128, 0, 0), (173, 216, 230), INK["thing"]]


@pytest.mark.parametrize(
    ("reach_m", "bar_m"), [(0.2, 0.5), (0.6, 1.0), (1.2, 2.0), (2.7, 5.0), (4.4, 5.0), (5.1, 10.0)]
)
def test_the_scale_is_the_longest_of_1_2_and_5_that_has_room(reach_m: float, bar_m: float) -> None:
    """A map of 250 pixels shows 1.3 times the reach, 40 cm at least, to each side."""
    items = tuple(
        SceneItem(id=name, category="can", place_m=still(x, 0, 0)) for name, x in (("a", 0), ("b", 2 * reach_m))
    )
    footage = drawn(episode(np.array([0.0, 1.0]), items=items))
    bar = (next(iter(footage.frames()))[296, 266:] == INK["text"]).all(1).argmin()
    assert (footage.fps, bar) == (20, pytest.approx(bar_m * 250 / (2 * 1.3 * max(reach_m, 0.4)), abs=0.5))


@pytest.mark.parametrize(("opening", "across"), [(0.0, 2), (1.0, 9), (np.nan, 0)])
def test_fingers_are_drawn_as_far_apart_as_they_are(opening: float, across: int, views: list[ArmView]) -> None:
    gripper = Gripper(point="tips", place_m=still(0.208, 0, 0), opening=still(opening, step=SHARE_STEP))
    seconds = pack(np.array([[0.0], [1.0]]), 1e-5)
    scene = views[0].scene.with_facts(gripper=gripper, seconds=seconds, items=(), arm=None, cameras=())
    left, _, right, _ = bounds(next(iter(drawn(scene).frames())), INK["own"], (8, 26, 258, 276)) or (0, 0, 0, 0)
    assert (left, right) == (133 - across - 1, 133 + across + 1)


def test_what_there_is_on_a_map_of_an_episode(views: list[ArmView]) -> None:
    """A thing turned to the left by a quarter, one of no known size, one of no place; and where the hand went."""
    quarter = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
    items = (
        SceneItem(id="a", category="box", size_m=(0.4, 0.2, 0.1), place_m=still(1, 2, 0), turn_wxyz=still(*quarter)),
        SceneItem(id="b", category="can", place_m=pack(np.array([[np.nan] * 3, [3.0, 4, 5]]), PLACE_STEP_M)),
        SceneItem(id="c", category="cup"),
        SceneItem(id="d", category="mug", place_m=pack(np.full((2, 3), np.nan), PLACE_STEP_M)),
    )
    places = np.array([[np.nan, 0.2, 0], [0.30004, 0.40006, 0]])
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
    assert found.path == ((1.5, 0.3, 0.4001),)


def test_a_long_path_is_thinned_to_400_points_and_its_last(views: list[ArmView]) -> None:
    for count, points in ((400, 400), (401, 201), (1001, 335)):
        places = np.stack([np.arange(count) / 100, np.zeros(count), np.zeros(count)], axis=1)
        seconds = pack(np.arange(count)[:, None] / 10, 1e-5)
        gripper = Gripper(point="tips", place_m=pack(places, PLACE_STEP_M))
        path = top_down_map(views[0].scene.with_facts(items=(), arm=None, seconds=seconds, gripper=gripper)).path
        assert (len(path), path[-1][0]) == (points, pytest.approx((count - 1) / 10))


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
    assert usable_rows(np.array([[LARGEST * 1.01, 0.0], [np.inf, 1.0]]), "a", nothing) is None
    assert nothing.items[0].measured == 2
    whole = Findings()
    assert usable_rows(np.array([[-LARGEST, 0.0]]), "a", whole) is not None
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


def straight(places: np.ndarray, angles: np.ndarray | None = None, **more: Any) -> dict[str, Any]:
    """Facts of a gripper at places (N, 3), ten a second, of an arm of one joint that reaches 1 m from the zero."""
    arm = None
    if angles is not None:
        arm = Arm(joints=(Joint(name="one", kind="revolute", unit="rad"),), position=pack(angles[:, None], JOINT_STEP),
                  base_m=(0, 0, 0), reach_m=1.0)  # fmt: skip
    gripper = Gripper(point="tips", place_m=pack(places, PLACE_STEP_M))
    return {"seconds": pack(np.arange(len(places))[:, None] / 10, 1e-5), "gripper": gripper, "arm": arm, "items": (),
            "cameras": (), **more}  # fmt: skip


@pytest.mark.parametrize(("off_m", "is_told"), [(0.179, False), (0.181, True)])
def test_a_gripper_goes_no_farther_than_its_joints_carry_it(off_m: float, is_told: bool, views: list[ArmView]) -> None:
    """A tenth of a radian at a reach of 1 m and half as much again for the tool carry it 15 cm; 3 are slack."""
    places, late = np.tile([0.5, 0.0, 0.0], (42, 1)), np.arange(42) >= 20
    places[late, 1] = off_m
    told = examine(views[0].scene.with_facts(**straight(places, np.where(late, 0.1, 0.0))))
    # A row is held against those that are not near by: all but four about the change, 38 of 42.
    assert [(one.name, one.measured) for one in told] == ([("gripper_off_joints", 0.905)] if is_told else [])


@pytest.mark.parametrize(("bearing", "is_told"), [(74.0, False), (-74.0, False), (76.0, True), (-100.0, True)])
def test_a_robot_looks_where_its_gripper_works(bearing: float, is_told: bool, views: list[ArmView]) -> None:
    way = np.radians(bearing)
    places = np.tile([0.5 * np.cos(way), 0.5 * np.sin(way), 0.1], (40, 1))
    told = examine(views[0].scene.with_facts(**straight(places, np.zeros(40))))
    assert [(one.name, one.measured) for one in told] == ([("works_aside", abs(bearing))] if is_told else [])


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize(("gap_m", "is_told"), [(0.119, False), (0.121, True)])
def test_what_is_moved_or_reached_has_the_gripper_near(
    gap_m: float, is_moved: bool, is_told: bool, views: list[ArmView]
) -> None:
    """A cube of 10 cm that begins to move after two seconds, or stays; the gripper stands to its left."""
    places = np.tile([0.4, 0.0, 0.05], (40, 1))
    places[20:, 0] += np.arange(20) * 0.01 * is_moved
    cube = SceneItem(id="a", category="cube", role="target", size_m=(0.1, 0.1, 0.1), place_m=pack(places, PLACE_STEP_M))
    hand = np.tile([0.4, 0.05 + gap_m, 0.05], (40, 1))
    facts = straight(hand, items=(cube,), success=True)
    told = examine(views[0].scene.with_facts(**facts))
    assert [(one.name, one.measured) for one in told] == ([("moves_alone", gap_m)] if is_told else [])
    assert not examine(views[0].scene.with_facts(**facts | {"success": False})) or is_moved


def test_records_read_wrongly_are_told_in_whole_episodes(views: list[ArmView]) -> None:
    """Of seven: how often each finding is made of places, joints, things and openings that are not as they were."""

    def told(change: Any) -> dict[str, int]:
        scenes = [view.scene.with_facts(**change(view.facts)) for view in views]
        names = [{one.name for one in examine(scene) if one.severity == "doubt"} for scene in scenes]
        return {name: sum(name in found for found in names) for name in sorted(set().union(*names))}

    def places(change: Any) -> Any:
        return lambda facts: {"gripper": facts.gripper.model_copy(
            update={"place_m": pack(change(facts.gripper.place_m.array), PLACE_STEP_M)})}  # fmt: skip

    def late(table: np.ndarray) -> np.ndarray:
        return table[np.maximum(np.arange(len(table)) - 20, 0)]

    def exchanged(facts: Any) -> dict[str, Any]:
        opening = pack(1 - facts.gripper.opening.array, SHARE_STEP)
        return {"gripper": facts.gripper.model_copy(update={"opening": opening})}

    def in_degrees(facts: Any) -> dict[str, Any]:
        joints = tuple(one.model_copy(update={"low": None, "high": None}) for one in facts.arm.joints)
        position = pack(facts.arm.position.array * [np.pi / 180, np.pi / 180, 1], JOINT_STEP)
        return {"arm": facts.arm.model_copy(update={"joints": joints, "position": position})}

    def things(change: Any) -> Any:
        return lambda facts: {"items": tuple(one.model_copy(update={
            "place_m": pack(change(one.place_m.array), PLACE_STEP_M)}) for one in facts.items)}  # fmt: skip

    assert told(lambda facts: {}) == {}
    assert told(places(late)) == {"gripper_off_joints": 7}
    assert told(in_degrees) == {"gripper_off_joints": 7}
    assert told(things(lambda place: place + np.array([0, 0.3, 0])))["moves_alone"] >= 5
    assert told(exchanged) == {"opening_reversed": 2}
    assert told(places(lambda place: place / 100))["gripper_off_joints"] == 7, (
        "centimetres taken for metres, and no nearer"
    )
    assert told(things(lambda place: place * 100))["moves_alone"] == 7
    assert told(places(lambda place: place[:, [1, 0, 2]] * [-1, 1, 1]))["works_aside"] == 7


@pytest.mark.parametrize(("lag_s", "told"), [(0.0, None), (0.3, None), (1.0, 1.0), (-1.5, 1.5), (None, "correlation")])
def test_a_film_changes_when_the_arm_moves(lag_s: float | None, told: float | str | None, views: list[ArmView]) -> None:
    """Waves that go as far as a joint turns, late by so much; or there are none, and only noise."""
    times_s = np.arange(0, 20, 0.05)
    rng = np.random.default_rng(1)
    paces = np.interp(times_s, np.arange(21), rng.uniform(0, 1, 21) ** 3)
    angles = np.cumsum(paces) * 0.05
    facts = views[0].facts.model_copy(update=straight(np.zeros((400, 3)), angles) | {
        "seconds": pack(times_s[:, None], 1e-5)})  # fmt: skip
    noise = rng.integers(0, 6, (200, 48, 64, 3)).astype(np.uint8)

    def picture(number: int) -> np.ndarray:
        shown = noise[number].copy()
        if lag_s is not None:
            waves = np.sin(np.arange(20) / 2 + 3 * np.interp(number / 10 - lag_s, times_s, angles))
            shown[10:30, 20:40] += (100 + 100 * waves).astype(np.uint8)[:, None]
        return shown

    found = [one.measured if one.unit == "s" else one.unit for one in held_against_film(facts, 10, 200, picture)]
    assert found == ([] if told is None else [told if isinstance(told, str) else pytest.approx(told, abs=0.11)])
    assert not list(held_against_film(facts, 10, 50, picture)), "too short"
    assert not list(held_against_film(facts, 10, 200, lambda number: None)), "a film that cannot be read"
    still = facts.model_copy(update=straight(np.zeros((400, 3)), np.full(400, 0.3)))
    assert not list(held_against_film(still, 10, 200, picture)), "an arm that stands"
