"""Demonstrations of RLBench: the real one against a plain unpickler of the test and published parameters."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.benchmarks.embodied4c.vln.logs import trials_of
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.findings import Findings
from pipeline.reading.files import SceneFiles
from pipeline.worlds.arm.facts import EpisodeScene
from pipeline.worlds.arm.readers import rlbench
from pipeline.worlds.arm.readers.rlbench import RLBench, step_of
from pipeline.worlds.arm.readers.rlbench_robot import (
    CHAINS,
    OFF_MAX_M,
    PANDA,
    RatioChain,
    arm_of,
    fit,
    fit_zero,
    placed,
)
from pipeline.worlds.arm.view import ArmView
from pipeline.worlds.registry import read_scene
from tests.conftest import REAL_DATA
from tests.worlds.arm.episodes import demo_bytes, found, observations_of, read, rows, write_demo

ROOT = REAL_DATA / "manipulation" / "rlbench"


@pytest.fixture(scope="module")
def real() -> EpisodeScene:
    return read(ROOT, RLBench())


@pytest.mark.real_data
def test_a_real_episode_is_what_it_holds(real: EpisodeScene) -> None:
    facts = real.facts
    raw = observations_of(next(ROOT.rglob("low_dim_obs.pkl")))
    assert facts.arm.velocity is not None
    for packed, key in ((facts.arm.position, "joint_positions"), (facts.arm.velocity, "joint_velocities")):
        assert np.abs(packed.array - np.array([row[key] for row in raw])).max() <= 0.5e-6
    pose = np.array([row["gripper_pose"] for row in raw])
    assert np.abs(facts.gripper.place_m.array - pose[:, :3]).max() <= 0.5e-6
    turn = facts.gripper.turn_wxyz.array[:, [1, 2, 3, 0]]
    assert np.abs(np.abs((turn * pose[:, 3:]).sum(1)) - 1).max() < 1e-6, "the same turn"
    assert (facts.task, len(facts.times_s)) == ("reach_target", 70)
    assert (facts.clock, facts.times_s[-1]) == ("from rates", 3.45)
    (target,) = facts.items
    assert np.linalg.norm(target.place_m.array[-1] - facts.gripper.place_m.array[-1]) < 0.001, "it was reached"
    assert read_scene(real.model_dump_json().encode()) == real


@pytest.mark.real_data
def test_forward_kinematics_of_a_real_episode_differs_by_the_zero_of_one_joint(real: EpisodeScene) -> None:
    """By the chain that is held against plain matrices below; the foot of the arm is not recorded."""
    facts = real.facts

    def off_m(shift_deg: float) -> float:
        turned = facts.arm.position.array + np.radians(shift_deg) * (np.arange(7) == 3)
        return spread_m(facts.gripper.place_m.array - PANDA.tip_m(turned))

    finding = found(real)["joint_zero_differs"]
    assert finding.subject == "joint 4"
    assert finding.measured == pytest.approx(off_m(0), abs=1e-6)
    assert finding.measured > 0.01
    assert "3.81 degrees" in finding.message
    assert off_m(3.81) < 0.001, "with that zero it is within 1 cm, and better"
    joints = {joint.name: joint for joint in facts.arm.joints}
    assert joints["joint 4"].low is None
    assert joints["joint 1"].low == -2.8973
    assert facts.arm.reach_m == 0.855


@pytest.mark.real_data
def test_the_front_camera_of_a_real_episode_sees_the_red_target_where_it_is(real: EpisodeScene) -> None:
    """So pose and focal length are understood, and the pictures are those of the times."""
    camera = next(camera for camera in real.facts.cameras if camera.name == "front")
    (target,) = real.facts.items
    assert camera.world_from_camera is not None
    x, y, z = np.array(camera.world_from_camera).T @ (target.place_m.array[0] - camera.place_m)
    column, row = camera.focal_px[0] * x / z + camera.centre_px[0], camera.focal_px[1] * y / z + camera.centre_px[1]
    footage = RLBench().footage(SceneFiles(ROOT, RLBench().scenes(ROOT).scenes[0]), real)
    pictures = list(footage.frames())
    assert (len(pictures), footage.fps) == (70, pytest.approx(20))
    red, green, blue = pictures[0].astype(int).transpose(2, 0, 1)
    reddish = np.argwhere((red > 150) & (green < 80) & (blue < 80))
    assert 0 < len(reddish) < 50, "all but its top is hidden by another ball"
    assert np.abs(reddish - [row, column]).max(1).min() <= 3
    moves = {camera.name: camera.moves for camera in real.facts.cameras}
    assert moves == {name: name == "wrist" for name in moves}
    assert len(moves) == 5


# Made ones


def test_pictures_that_are_not_all_there_make_no_video(tmp_path: Path) -> None:
    folder = write_demo(tmp_path, rows(3))
    (folder / "front_rgb").mkdir()
    for number in range(2):
        Image.fromarray(np.zeros((4, 6, 3), np.uint8)).save(folder / "front_rgb" / f"{number}.png")
    scene = read(tmp_path, RLBench())
    assert scene.video is None
    assert found(scene)["pictures_missing"].measured == 2
    Image.fromarray(np.zeros((4, 6, 3), np.uint8)).save(folder / "front_rgb" / "2.png")
    whole = read(tmp_path, RLBench()).video
    assert (whole.frames, whole.width, whole.height) == (3, 6, 4)


def changed(at: slice = slice(None), **values: Any) -> list[dict[str, Any]]:
    """Observations with some fields replaced at some times."""
    made = rows()
    for row in made[at]:
        row.update(values)
    return made


def test_an_episode_without_a_gripper_has_joints_alone(tmp_path: Path) -> None:
    gone = dict.fromkeys(("gripper_open", "gripper_pose", "gripper_joint_positions", "gripper_touch_forces"))
    write_demo(tmp_path, changed(**gone))
    scene = read(tmp_path, RLBench())
    assert scene.facts.gripper is None
    assert scene.facts.arm is not None
    assert found(scene)["no_gripper"].severity == "note"


@pytest.mark.parametrize(("key", "field"), [("gripper_pose", "place_m"), ("gripper_open", "opening")])
def test_half_a_gripper_is_one(key: str, field: str, tmp_path: Path) -> None:
    write_demo(tmp_path, changed(**{key: None}))
    gripper = read(tmp_path, RLBench()).facts.gripper
    assert [name for name in ("place_m", "opening") if getattr(gripper, name) is None] == [field]


def test_without_joints_the_step_is_assumed_and_in_doubt(tmp_path: Path) -> None:
    write_demo(tmp_path, changed(joint_positions=None))
    scene = read(tmp_path, RLBench())
    assert scene.facts.arm is None
    assert scene.facts.clock == "frames per second"
    assert found(scene)["times_assumed"].severity == "doubt"


def test_all_that_a_demonstration_tells(tmp_path: Path) -> None:
    """Four observations a tenth of a second apart, by the joint that moves; the gripper is turned about y."""
    made = [
        {
            "joint_positions": np.array([0.3 + 0.08 * n, -0.7]), "joint_velocities": np.array([0.8, 0.0]),
            "joint_forces": np.array([1.5, -2.25 + n]), "gripper_open": 0.75 - 0.25 * n,
            "gripper_pose": np.array([0.4 + 0.01 * n, -0.2, 0.9, 0.0, 0.6, 0.0, 0.8]),
            "gripper_joint_positions": np.array([0.03, 0.025 - 0.005 * n]),
            "task_low_dim_state": np.array([0.3, 0.1 * n, 0.8]), "misc": None,
        }
        for n in range(4)
    ]  # fmt: skip
    folder = write_demo(tmp_path, made, "reach_target", 7)
    (folder / "front_rgb").mkdir()
    for n in range(4):
        Image.fromarray(np.full((4, 6, 3), 50 + n, np.uint8)).save(folder / "front_rgb" / f"{n}.png")
    (folder.parents[1] / "variation_descriptions.pkl").write_bytes(pickle.dumps([" reach the  BLUE target"]))
    scene = read(tmp_path, RLBench())
    facts, view = scene.facts, ArmView(scene)
    assert (scene.id, scene.findings) == ("rlbench/reach_target.variation0.episode7", ())
    assert (facts.task, facts.clock, facts.instructions, facts.success, facts.items_complete) == (
        "reach_target", "from rates", ("reach the BLUE target",), None, False,
    )  # fmt: skip
    assert (scene.video.fps, scene.video.frames, scene.video.width, scene.video.height) == (pytest.approx(10), 4, 6, 4)
    assert view.times_s.tolist() == [0.0, 0.1, 0.2, 0.3]
    known = {"joint_positions": view.angle, "joint_velocities": view.angle_rate, "joint_forces": view.effort,
             "gripper_open": view.opening, "task_low_dim_state": view.item_m[0]}  # fmt: skip
    for name, table in known.items():
        np.testing.assert_allclose(table, [row[name] for row in made], atol=1e-9)
    np.testing.assert_allclose(view.gripper_m, [row["gripper_pose"][:3] for row in made], atol=1e-9)
    np.testing.assert_allclose(view.gripper_turn, [[0.8, 0.0, 0.6, 0.0]] * 4, atol=1e-9)
    np.testing.assert_allclose(view.approach, [[0.96, 0.0, 0.28]] * 4, atol=1e-9)
    np.testing.assert_allclose(view.width_m, [0.055, 0.05, 0.045, 0.04], atol=1e-9)
    assert [(joint.name, joint.kind, joint.unit, joint.low) for joint in facts.arm.joints] == [
        ("joint 1", "revolute", "rad", None), ("joint 2", "revolute", "rad", None),
    ]  # fmt: skip
    (target,) = facts.items
    assert (target.id, target.category, target.role, target.attributes) == (
        "target",
        "ball",
        "target",
        {"colour": "blue"},
    )
    (camera,) = facts.cameras
    assert (camera.name, camera.width, camera.height, camera.pictures, camera.place_m) == ("front", 6, 4, True, None)
    files = SceneFiles(tmp_path, RLBench().scenes(tmp_path).scenes[0])
    assert [picture[0, 0, 0] for picture in RLBench().footage(files, scene).frames()] == [50, 51, 52, 53]
    for lost in (None, scene.video.model_copy(update={"fps": None}), scene.video.model_copy(update={"frames": None})):
        assert RLBench().footage(files, scene.model_copy(update={"video": lost})) is None


@pytest.mark.parametrize(("moved", "step_s"), [(0.05, 0.1), (0.0499, None), (0.0, None)])
def test_a_step_follows_from_joints_that_move_by_a_twentieth(moved: float, step_s: float | None) -> None:
    """In one step of 0.1 s; the first rate is of the step before it, and a row that is not known counts for nothing."""
    position = np.array([[1.0], [1.0 + moved], [np.nan], [7.0]]) - 1.0
    velocity = np.array([[99.0], [10 * moved], [3.0], [3.0]])
    found = step_of(position, velocity)
    assert found == (None if step_s is None else pytest.approx((step_s, 0), abs=1e-9))


@pytest.mark.parametrize(("share", "clock"), [(0.0195, "from rates"), (0.0205, "frames per second")])
def test_positions_and_rates_may_disagree_by_a_fiftieth(share: float, clock: str, tmp_path: Path) -> None:
    """A second joint is at every second time off by so much of what both move, though its rate is 0."""
    made = rows(step_s=0.02)
    across = 0.02 * share / (1 - share**2) ** 0.5
    for n, row in enumerate(made):
        row |= {"joint_positions": np.array([0.02 * n, across * (n % 2)]), "joint_velocities": np.array([1.0, 0.0])}
    write_demo(tmp_path, made)
    scene = read(tmp_path, RLBench())
    assert scene.facts.clock == clock
    told = [finding.measured for finding in scene.findings if finding.name == "times_assumed"]
    assert told == ([] if clock == "from rates" else [pytest.approx(share, abs=1e-6)])


@pytest.mark.parametrize(("moved_m", "moves"), [(0.00009, False), (0.00011, True)])
def test_a_camera_has_the_axes_of_opencv_and_moves_from_a_tenth_of_a_millimetre(
    moved_m: float, moves: bool, tmp_path: Path
) -> None:
    """The simulator's looks along z with x to the left: turned about z by a half."""
    made = rows(2)
    for n, row in enumerate(made):
        pose = np.eye(4)
        pose[:3, 3] = (1, 2 + n * moved_m, 3)
        lens = np.array([[-50.0, 0, 32], [0, -60, 24], [0, 0, 1]])
        row["misc"] = {
            "front_camera_extrinsics": pose, "front_camera_intrinsics": lens,
            "wrist_camera_extrinsics": pose * 1.001, "overhead_camera_extrinsics": pose,
            "overhead_camera_intrinsics": lens * [[0], [1], [1]], "left_shoulder_camera_extrinsics": pose * np.nan,
            "right_shoulder_camera_extrinsics": pose * [[-1], [1], [1], [1]],  # it mirrors
        }  # fmt: skip
    write_demo(tmp_path, made)
    front, overhead = read(tmp_path, RLBench()).facts.cameras
    assert (front.name, front.focal_px, front.centre_px, front.place_m) == ("front", (50, 60), (32, 24), (1, 2, 3))
    assert front.world_from_camera == ((-1, 0, 0), (0, -1, 0), (0, 0, 1))
    assert (front.moves, front.pictures, front.width) == (moves, False, None)
    assert (overhead.name, overhead.focal_px, overhead.centre_px) == ("overhead", None, None)


@pytest.mark.parametrize(
    ("task", "told", "looks"),
    [
        ("reach_target", ["reach the Red target", "touch the red ball with the hand"], {"colour": "red"}),
        ("reach_target", ["reach the red target", "reach the blue sphere"], {}),
        ("reach_target", ["go there"], {}),
        ("push_button", ["push the red target"], None),
    ],
)
def test_a_target_is_where_the_state_of_its_task_says(
    task: str, told: list[str], looks: dict[str, str] | None, tmp_path: Path
) -> None:
    folder = write_demo(tmp_path, rows(3), task)
    (folder / "variation_descriptions.pkl").write_bytes(pickle.dumps(told))
    found = read(tmp_path, RLBench()).facts.items
    assert [(item.id, item.category, item.role, item.attributes) for item in found] == (
        [] if looks is None else [("target", "ball", "target", looks)]
    )
    assert [item.place_m.array.tolist() for item in found] == [[[0.3, 0.1, 0.8]] * 3] * (looks is not None)


def test_tables_of_another_form_are_none(tmp_path: Path) -> None:
    """A pose of 6 numbers, rates of one joint of two, three fingers; an opening that is a row counts by its first."""
    odd = {"gripper_pose": np.zeros(6), "joint_velocities": np.zeros(1), "gripper_joint_positions": np.full(3, 0.02)}
    write_demo(tmp_path, changed(**odd, gripper_open=np.array([0.25, 7.0])))
    scene = read(tmp_path, RLBench())
    assert (scene.facts.arm.velocity, scene.facts.arm.effort is None) == (None, False)
    gripper = scene.facts.gripper
    assert (gripper.place_m, gripper.turn_wxyz, gripper.width_m) == (None, None, None)
    assert gripper.opening.array.tolist() == [[0.25]] * 40
    assert found(scene)["unusable_pose"].measured == 6


def test_values_that_cannot_be_are_unknown_then(tmp_path: Path) -> None:
    bad = np.array([np.nan, 0.0, 0.8, 0.0, 0.0, 0.0, 1.0])
    write_demo(tmp_path, changed(slice(3, 5), gripper_pose=bad, gripper_open=7.0))
    scene = read(tmp_path, RLBench())
    gripper = scene.facts.gripper
    assert np.flatnonzero(np.isnan(gripper.place_m.array[:, 0])).tolist() == [3, 4]
    assert np.flatnonzero(np.isnan(gripper.opening.array[:, 0])).tolist() == [3, 4]
    assert found(scene)["unusable_values"].measured == 2
    assert found(scene)["unusable_opening"].subject == "gripper"


def test_a_picture_in_the_place_of_joints_is_none(tmp_path: Path) -> None:
    write_demo(tmp_path, changed(joint_positions=np.zeros((64, 64, 3))))
    assert read(tmp_path, RLBench()).facts.arm is None


def test_quaternions_that_are_none_are_unknown(tmp_path: Path) -> None:
    write_demo(tmp_path, changed(slice(0, 1), gripper_pose=np.array([0, 0, 0.8, 0, 0, 0, 0.5])))
    scene = read(tmp_path, RLBench())
    assert found(scene)["unusable_turn"].measured == 1


def test_descriptions_are_instructions_unless_they_hold_a_demonstration(tmp_path: Path) -> None:
    folder = write_demo(tmp_path, rows())
    (folder.parent.parent / "variation_descriptions.pkl").write_bytes(
        pickle.dumps(["push the red  button", "press it"])
    )
    assert read(tmp_path, RLBench()).facts.instructions == ("push the red button", "press it")
    (folder / "variation_descriptions.pkl").write_bytes(demo_bytes(rows()))
    scene = read(tmp_path, RLBench())
    assert scene.facts.instructions == ("push the red button", "press it"), "those above"
    assert "a whole demonstration" in found(scene)["no_instructions"].message


BROKEN: dict[str, tuple[bytes, str]] = {
    "cut": (demo_bytes(rows())[:-900], "truncated_pickle"),
    "empty": (b"", "empty_file"),
    "text": (b"no pickle at all", "bad_pickle"),
    "hostile": (b"cposix\nsystem\n(Vtouch PWNED\ntR.", "foreign_pickle"),
    "a list of numbers": (pickle.dumps([1, 2]), "not_a_demo"),
    "one observation": (demo_bytes(rows(1)), "no_movement"),
    "nothing known": (demo_bytes([{"misc": None}, {"misc": None}]), "no_movement"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_files_cost_their_episode_alone(name: str, tmp_path: Path) -> None:
    raw, finding = BROKEN[name]
    folder = write_demo(tmp_path, rows())
    (folder / "low_dim_obs.pkl").write_bytes(raw)
    with pytest.raises(RawDataError) as told:
        read(tmp_path, RLBench())
    assert told.value.finding == finding
    assert not (Path.cwd() / "PWNED").exists()


def test_an_episode_has_two_observations_and_no_more_than_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_demo(tmp_path, rows(2))
    monkeypatch.setattr(rlbench, "OBSERVATIONS_MAX", 2)
    assert len(read(tmp_path, RLBench()).facts.times_s) == 2
    monkeypatch.setattr(rlbench, "OBSERVATIONS_MAX", 1)
    with pytest.raises(RawDataError, match="no_movement"):
        read(tmp_path, RLBench())


def test_a_missing_file_is_told_with_the_episode(tmp_path: Path) -> None:
    (write_demo(tmp_path, rows()) / "low_dim_obs.pkl").unlink()
    with pytest.raises(RawDataError, match="missing_file"):
        read(tmp_path, RLBench())


def test_episodes_are_named_by_task_and_variation_wherever_the_root_is(tmp_path: Path) -> None:
    write_demo(tmp_path, rows(2))
    write_demo(tmp_path, rows(2), episode=1)
    names = [ref.id for ref in RLBench().scenes(tmp_path).scenes]
    assert names == ["rlbench/push_button.variation0.episode0", "rlbench/push_button.variation0.episode1"]
    assert [ref.id for ref in RLBench().scenes(tmp_path / "push_button").scenes] == names
    with pytest.raises(ConfigError, match="no TASK"):
        RLBench().scenes(tmp_path / "push_button" / "variation0" / "episodes" / "episode0")


ANGLES: FloatArray = np.random.default_rng(5).uniform(-0.5, 0.5, (60, 7)) + np.array([0, 0, 0, -1.5, 0, 1.8, 0])
TIPS = PANDA.tip_m(ANGLES)
FOOT = np.array([-0.3, 0.1, 0.75])


def placed_of(tip_m: FloatArray, angles: FloatArray = ANGLES) -> tuple[str | None, dict[str, float]]:
    """The model that an arm is taken for, and the measured values of findings."""
    findings = Findings()
    arm, position, _ = arm_of([{"joint_positions": row} for row in angles], findings)
    assert placed(arm, position, None, findings) is arm, "nobody knows where the hand was"
    arm = placed(arm, position, tip_m, findings)
    return arm.model, {f.name: f.measured for f in findings.items if f.measured is not None}


def spread_m(off: FloatArray) -> float:
    """How far the worst of some differences is from their mean: the foot is where they put it."""
    return float(np.linalg.norm(off - off.mean(0), axis=1).max())


@pytest.mark.parametrize("chain", CHAINS)
def test_an_arm_stands_where_its_joints_put_it(chain: RatioChain) -> None:
    """Whatever the gripper: of arms with several, how long it is follows from the log."""
    angles = ANGLES[:, : len(chain.a_m)]
    place, axis = chain.hand(angles)
    assert placed_of(place + (chain.tool_m or 0.17) * axis + FOOT, angles) == (chain.model, {})


def test_what_there_is_and_whether_it_succeeded_stands_beside_a_demonstration(tmp_path: Path) -> None:
    folder = write_demo(tmp_path, rows())
    assert read(tmp_path, RLBench()).facts.success is None
    cup = {"id": "cup 1", "category": "cup", "attributes": {"material": "glass"}, "place_m": [[0.4, 0.1, 0.8]]}
    (folder / "things.json").write_text(json.dumps({"complete": True, "success": False, "things": [cup]}))
    facts = read(tmp_path, RLBench()).facts
    assert (facts.success, facts.items_complete) == (False, True)
    assert [(item.category, item.attributes) for item in facts.items] == [("cup", {"material": "glass"})]
    (trial,) = trials_of(tmp_path, "manipulation").values()
    assert trial().success is False
    (folder / "things.json").write_text('{"success": "perhaps"}')
    with pytest.raises(RawDataError, match="success is 'perhaps'"):
        read(tmp_path, RLBench())


def test_a_joint_with_another_zero_is_named() -> None:
    turned = ANGLES + np.array([0, 0, 0, 0.0665, 0, 0, 0])
    model, values = placed_of(PANDA.tip_m(turned) + FOOT)
    assert model == PANDA.model
    assert values == {"joint_zero_differs": pytest.approx(spread_m(PANDA.tip_m(turned) - TIPS), abs=1e-6)}
    assert values["joint_zero_differs"] > OFF_MAX_M


def test_an_arm_that_is_a_fifth_longer_is_another() -> None:
    """1.2 times as far from its foot in all that it does."""
    model, values = placed_of(1.2 * TIPS + FOOT)
    assert model is None
    assert values == {"other_arm": pytest.approx(spread_m(0.2 * TIPS), abs=1e-6)}


def test_a_hand_that_hardly_moves_tells_no_arm() -> None:
    """Less than 10 cm along each axis, wherever it is; a decimetre is enough to tell that it is another."""
    ways = (TIPS - TIPS[0]) / np.ptp(TIPS, axis=0).max()
    assert placed_of(0.099 * ways + FOOT) == (None, {})
    assert placed_of(0.101 * ways + FOOT)[1].keys() == {"other_arm"}
    assert placed_of((np.arange(60) % 7 == 3)[:, None] * np.array([0.1, 0, -0.07]))[1].keys() == {"other_arm"}


@pytest.mark.parametrize("chain", CHAINS)
def test_bases_and_tools_of_arms_are_those_of_plain_matrices(chain: RatioChain) -> None:
    """Of Craig's transforms, multiplied joint by joint; base and tool by least squares of all equations at once."""
    rng = np.random.default_rng(7)
    angles = rng.uniform(-1.5, 1.5, (30, len(chain.a_m)))
    places, axes = np.empty((30, 3)), np.empty((30, 3))
    for n, row in enumerate(angles + (np.array(chain.zero) if chain.zero else 0.0)):
        pose = np.eye(4)
        for theta, a, d, alpha in zip(row, chain.a_m, chain.d_m, chain.alpha, strict=True):
            (ct, st), (ca, sa) = ((np.cos(x), np.sin(x)) for x in (theta, alpha))
            pose = pose @ [
                [ct, -st, 0, a],
                [st * ca, ct * ca, -sa, -d * sa],
                [st * sa, ct * sa, ca, d * ca],
                [0, 0, 0, 1],
            ]
        places[n], axes[n] = pose[:3, 3], pose[:3, 2]
    assert chain.hand(angles) == (pytest.approx(places), pytest.approx(axes))
    tips = places + 0.17 * axes + FOOT + rng.normal(0, 0.01, (30, 3))
    if chain.tool_m is None:
        known = np.concatenate([np.tile(np.eye(3), (30, 1)), axes.reshape(-1, 1)], axis=1)
        *base, tool = np.linalg.lstsq(known, (tips - places).ravel())[0]
    else:
        tool = chain.tool_m
        base = (tips - places - tool * axes).mean(0)
    found = fit(chain, angles, tips)
    assert found.base_m == pytest.approx(np.array(base))
    assert found.off_m == pytest.approx(np.linalg.norm(tips - places - tool * axes - base, axis=1).max())
    assert chain.tip_m(angles) == pytest.approx(places + (chain.tool_m or 0.0) * axes)


def test_the_zero_of_a_joint_is_found_to_a_hundredth_of_a_degree() -> None:
    for joint, shift_deg in ((1, 7.133), (3, -19.99)):
        turned = ANGLES + np.radians(shift_deg) * (np.arange(7) == joint)
        found = fit_zero(PANDA, ANGLES, PANDA.tip_m(turned) + FOOT)
        assert (found.joint, np.degrees(found.shift)) == (joint, pytest.approx(shift_deg, abs=0.0051))
        assert found.off_m < 1e-4
        assert found.base_m == pytest.approx(FOOT, abs=1e-4)
