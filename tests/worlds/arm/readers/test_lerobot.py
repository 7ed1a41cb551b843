"""LeRobot datasets: made ones as the format says, broken ones by name."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.findings import Findings
from pipeline.formats import parquet_rows
from pipeline.reading.doctor import inspect
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.samples.arm.plans import plan
from pipeline.worlds.arm.readers import lerobot
from pipeline.worlds.arm.readers.declared import DeclaredFacts, declared_arm, declared_gripper, undeclared_arm
from pipeline.worlds.arm.readers.lerobot import (
    DATA_PATHS,
    LeRobot,
    _columns,
    _episode_row,
    _is_one_of_two,
    cameras_of,
    instructions,
    parts_of,
)
from pipeline.worlds.arm.view import ArmView
from tests.conftest import REAL_DATA
from tests.environment import times
from tests.formats.logs.made_films import grey_film
from tests.formats.logs.made_logs import damaged
from tests.worlds.arm.episodes import found, read

DATA = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
SECOND = "table.episode000001"


@pytest.fixture
def copy(sample_episodes: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_episodes, tmp_path / "copy"))


def test_an_episode_is_its_rows_and_no_others(sample_episodes: Path, views: list[ArmView]) -> None:
    table = pq.read_table(sample_episodes / "table" / DATA).to_pandas()
    for number, view in enumerate(views):
        rows = table[table.episode_index == number]
        state = np.stack(rows["observation.state"].to_list())
        assert np.abs(view.times_s - rows.timestamp.to_numpy()).max() < 1e-5
        assert np.abs(view.angle - state[:, :3]).max() <= 0.6e-6
        assert np.abs(view.gripper_m - state[:, 3:6]).max() <= 0.6e-6
        assert np.abs(view.opening - state[:, 6] / 100).max() <= 0.6e-4
        assert view.facts.instructions == (plan(number).instruction,)
        assert view.facts.clock == "recorded"


def test_a_dataset_that_lerobot_itself_wrote(tmp_path: Path) -> None:
    """`lerobot_0_4_4.zip` is what version 0.4.4 makes of `make_lerobot.py`: two episodes in one file and one video."""
    root = tmp_path
    shutil.unpack_archive(Path(__file__).with_name("lerobot_0_4_4.zip"), tmp_path / "tiny")
    (root / "tiny" / "arm.yaml").write_text(
        "joints: [{column: observation.state.shoulder.pos, name: shoulder, unit: rad}]\n"
        "gripper:\n"
        "  place_m: [observation.state.x, observation.state.y, observation.state.z]\n"
        "  opening: {column: observation.state.gripper.pos, closed: 0, open: 100}\n"
    )
    for number, (rows, told) in enumerate(((20, "pick it up"), (24, "put it down"))):
        scene = read(root, LeRobot(), f"tiny.episode{number:06d}")
        assert not scene.findings
        assert scene.facts.instructions == (told,)
        view = ArmView(scene)
        t = np.arange(rows) / 20
        assert np.abs(view.times_s - t).max() < 1e-5
        assert np.abs(view.angle[:, 0] - np.sin(t)).max() < 1e-6
        assert np.abs(view.gripper_m - np.stack([0.3 + 0.02 * t, 0.1 * np.sin(t), 0 * t + 0.2], axis=1)).max() < 1e-6
        (ref,) = (ref for ref in LeRobot().scenes(root).scenes if ref.id == scene.id)
        footage = LeRobot().footage(SceneFiles(root, ref), scene)
        frames = list(footage.frames())
        assert len(frames) == rows
        for lost in ({"fps": None}, {"frames": None}):
            untold = scene.model_copy(update={"video": scene.video.model_copy(update=lost)})
            assert LeRobot().footage(SceneFiles(root, ref), untold) is None
        assert LeRobot().footage(SceneFiles(root, ref), scene.model_copy(update={"video": None})) is None
        # Each row of the video is as grey as four times its number; the first columns are light, more in the second.
        assert np.abs([int(frame[0, -1].mean()) - 4 * n for n, frame in enumerate(frames)]).max() <= 4
        assert [int(frames[0][0, 10 * number + at].mean()) > 100 for at in (2, 5)] == [True, False]


def test_a_gripper_turns_as_its_four_columns_say() -> None:
    """A quarter turn about z, w last as declared and first as kept; then half a quaternion, which is none."""
    told = DeclaredFacts.model_validate({"gripper": {"turn_xyzw": ["x", "y", "z", "w"], "width_m": "x"}})
    columns = {"x": np.zeros(2), "y": np.zeros(2), "z": np.array([0.5**0.5, 0]), "w": np.array([0.5**0.5, 0.5])}
    findings = Findings()
    gripper = declared_gripper(told, columns, findings)
    np.testing.assert_allclose(gripper.turn_wxyz.array, [[0.5**0.5, 0, 0, 0.5**0.5], [np.nan] * 4], atol=1e-6)
    assert [(found.name, found.measured) for found in findings.items] == [("unusable_turn", 1)]


@pytest.mark.parametrize(
    ("key", "axes", "says"),
    [
        ("turn_xyzw", "xyzw", None),
        ("turn_xyzw", "yzxw", None),
        ("turn_xyzw", "abcd", None),
        ("turn_xyzw", "wxyz", "w comes last"),
        ("turn_xyzw", "yxzw", "a mirror"),
        ("place_m", "xyz", None),
        ("place_m", "zxy", None),
        ("place_m", "123", None),
        ("place_m", "yxz", "a mirror"),
        ("place_m", "xzy", "a mirror"),
    ],
)
def test_columns_that_are_called_by_their_axes_stand_in_order(key: str, axes: str, says: str | None) -> None:
    told = {"gripper": {key: [f"observation.state.q{axis}" for axis in axes]}}
    if says is None:
        DeclaredFacts.model_validate(told)
        return
    with pytest.raises(ValidationError, match=says):
        DeclaredFacts.model_validate(told)


@pytest.mark.parametrize(("turn", "off"), [((0, 0, 0, 1.009), None), ((1, 1, 0, 0), 2**0.5 - 1)])
def test_a_thing_is_turned_by_quaternions_of_length_1(turn: tuple[float, ...], off: float | None, copy: Path) -> None:
    changed(copy / "table", lambda things: things[1].update(turn_wxyz=[turn], id="it"))
    scene = read(copy, LeRobot(), SECOND)
    (item,) = (item for item in scene.facts.items if item.id == "it")
    assert (item.turn_wxyz is None) == (off is not None)
    assert [f.measured for f in scene.findings if f.name == "unusable_turn"] == ([pytest.approx(off)] if off else [])


def test_declared_joints_are_in_radians_or_metres() -> None:
    """180 degrees, then 90, beside a slide of 10 and 20 cm; a row that no joint can be at is unknown, and told."""
    told = DeclaredFacts.model_validate(
        {
            "model": "made",
            "base_m": [1, 2, 3],
            "joints": [
                {"column": "observation.state.a", "unit": "deg", "low": -90, "high": 360, "rate_max": 18},
                {"column": "b", "name": "lift", "kind": "prismatic", "unit": "m", "low": 0, "rate_max": 0.5},
            ],
        }
    )
    findings = Findings()
    columns = {"observation.state.a": np.array([180.0, 90, 0]), "b": np.array([0.1, 0.2, 1001])}
    arm = declared_arm(told, columns, findings)
    np.testing.assert_allclose(arm.position.array, [[np.pi, 0.1], [np.pi / 2, 0.2], [np.nan] * 2], atol=1e-6)
    turn, lift = arm.joints
    assert (turn.name, turn.kind, turn.unit) == ("a", "revolute", "rad")
    assert (turn.low, turn.high, turn.rate_max) == pytest.approx((-np.pi / 2, 2 * np.pi, np.pi / 10))
    assert (lift.name, lift.kind, lift.unit, lift.low, lift.high, lift.rate_max) == (
        "lift", "prismatic", "m", 0, None, 0.5,
    )  # fmt: skip
    assert (arm.model, arm.base_m, arm.base_from, arm.reach_m) == ("made", (1, 2, 3), "declared", None)
    assert [(found.name, found.measured) for found in findings.items] == [("unusable_values", 1)]
    assert declared_arm(DeclaredFacts(), columns, findings) is None
    gone = told.model_copy(update={"base_m": None, "joints": told.joints[1:]})
    assert declared_arm(gone, columns, findings).base_from is None
    assert declared_arm(gone, {"b": np.full(3, 1001.0)}, findings) is None


def test_an_opening_may_be_a_twentieth_beyond_its_ends() -> None:
    """Closed at 60 and open at 10: 62.5 and 7.5 are the ends, more is none; the width is as the column says."""
    told = DeclaredFacts.model_validate(
        {"gripper": {"opening": {"column": "o", "closed": 60, "open": 10}, "width_m": "w", "width_max_m": 0.08}}
    )
    columns = {"o": np.array([62.6, 62.5, 60, 35, 10, 7.5, 7.4]), "w": np.arange(7) / 100}
    assert told.columns() == {"o", "w"}
    findings = Findings()
    gripper = declared_gripper(told, columns, findings)
    np.testing.assert_allclose(gripper.opening.array[:, 0], [np.nan, 0, 0, 0.5, 1, 1, np.nan])
    np.testing.assert_allclose(gripper.width_m.array[:, 0], columns["w"])
    assert (gripper.point, gripper.place_m, gripper.width_max_m) == ("the point between the finger tips", None, 0.08)
    assert [found.measured for found in findings.items] == [2]


def test_columns_of_the_state_that_nobody_declared_are_joints_of_no_unit() -> None:
    findings = Findings()
    columns = {
        "observation.state.a": np.array([0.5, np.nan]), "observation.state.raw": np.array([0.0, 1001]),
        "observation.state.b": np.array([1000.0, -2]), "action.a": np.ones(2),
    }  # fmt: skip
    arm = undeclared_arm(columns, findings)
    assert [(joint.name, joint.unit, joint.kind) for joint in arm.joints] == [("a", None, None), ("b", None, None)]
    np.testing.assert_allclose(arm.position.array, [[0.5, 1000], [np.nan, np.nan]])
    assert {found.name: found.message for found in findings.items}["undeclared_columns"].startswith("2 columns")
    assert undeclared_arm({"action.a": np.ones(2)}, findings) is None


@pytest.mark.parametrize(
    ("names", "width", "parts"),
    [
        (["x", "y"], 2, ["x", "y"]),
        ([["x", "y"]], 2, ["x", "y"]),
        ({"motors": ["x", "y"]}, 2, ["x", "y"]),
        ({"motors": ["x"], "other": ["y"]}, 2, ["0", "1"]),
        ([["x"], ["y"]], 2, ["['x']", "['y']"]),
        (["x"], 1, ["x"]),
        (["x", "x"], 2, ["0", "1"]),
        (["x", "y"], 3, ["0", "1", "2"]),
        (["x" * 101, "y"], 2, ["x" * 100, "y"]),
        (None, 1, ["0"]),
    ],
)
def test_parts_of_a_feature_have_names_or_numbers(names: Any, width: int, parts: list[str]) -> None:
    assert parts_of(names, width) == parts


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"place_m": [[1000.0, 0, 0]]}, None),
        ({"place_m": [[-1000.1, 0, 0]]}, "implausible_value"),
        ({"slide": {"unit": "m", "low": 0, "high": 0.1, "position": [0.05]}}, None),
        ({"slide": {"unit": "m", "low": 0.1, "high": 0.1, "position": [0.05]}}, "bad_things"),
        ({"slide": {"unit": "m", "low": 0.1, "high": 0, "position": [0.05]}}, "bad_things"),
        ({"place_m": [[0, 0, 0]] * 2}, "wrong_length"),
    ],
)
def test_a_declared_thing_is_one_that_can_be(change: dict[str, Any], finding: str | None, copy: Path) -> None:
    changed(copy / "table", lambda things: things[1].update(change | {"id": "it"}))
    if finding is not None:
        with pytest.raises(RawDataError) as told:
            read(copy, LeRobot(), SECOND)
        assert told.value.finding == finding
        return
    scene = read(copy, LeRobot(), SECOND)
    (item,) = (item for item in scene.facts.items if item.id == "it")
    if "slide" in change:
        assert (item.slide.unit, item.slide.low, item.slide.high) == ("m", 0, 0.1)
        assert item.slide.position.array.tolist() == [[0.05]] * len(scene.facts.times_s)
    else:
        assert item.place_m.array.tolist() == [[1000, 0, 0]] * len(scene.facts.times_s)


def test_without_declarations_columns_have_no_units_and_there_is_no_gripper(copy: Path) -> None:
    (copy / "table" / "arm.yaml").unlink()
    scene = read(copy, LeRobot(), SECOND)
    assert scene.facts.gripper is None
    assert {joint.unit for joint in scene.facts.arm.joints} == {None}
    assert {"undeclared_columns", "no_gripper"} <= found(scene).keys()


FRONT, SIDE = "observation.images.front", "observation.images.side"


@pytest.mark.parametrize(
    ("part_s", "film", "rows", "frames", "told"),
    [
        ((1.2, 6.2), (20, 200), 50, 100, []),
        ((0.0, 5.0), (20, 100), 50, 100, []),
        ((1.2, 6.2), (20, 115), 50, 91, []),  # 0.45 s less
        ((1.2, 6.2), (20, 113), 50, 89, [("film_at_other_times", 0.55, 0.5)]),
        ((1.2, 6.8), (20, 200), 50, 112, [("film_at_other_times", 0.6, 0.5)]),
        ((1.2, 52.1), (10, 900), 500, 509, []),  # a fiftieth of 50 s
        ((1.2, 52.3), (10, 900), 500, 511, [("film_at_other_times", 1.1, 1.0)]),
        ((0.1, 0.2), (10, 9), 2, 1, []),
        ((0.1, 0.14), (10, 9), 2, None, [("rows_missing", 0, 1)]),
        ((4.0, 5.0), (10, 39), 10, None, [("rows_missing", -1, 1)]),
        ((-0.1, 5.0), (10, 200), 50, None, [("rows_missing", 0, 1)]),
        ((1.2, 6.2), (None, 200), 50, None, [("rows_missing", 0, 1)]),
        ((1, 6.2), (20, 200), 50, None, []),  # no number of seconds
        ((1.2, 6), (20, 200), 50, None, []),
    ],
)
def test_an_episode_has_its_part_of_a_film(
    part_s: tuple[float, float], film: tuple[int | None, int], rows: int, frames: int | None, told: list[Any],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of the first camera that has one; rows are a tenth of a second apart, the last lasts as long as the others."""
    shown = SimpleNamespace(fps=film[0], frames=film[1], width=64, height=48)
    monkeypatch.setattr(lerobot, "movie_facts", lambda *_: SimpleNamespace(as_shown=lambda _: shown))
    kept: list[tuple[str, bytes]] = []
    files: Any = SimpleNamespace(
        path=tmp_path, relative=lambda p: p.relative_to(tmp_path).as_posix(), add=lambda *a: kept.append(a)
    )
    row: dict[str, Any] = {}
    for key, chunk in ((FRONT, 3), (SIDE, 4), ("odd", True)):
        own = {"chunk_index": chunk, "file_index": 12, "from_timestamp": part_s[0], "to_timestamp": part_s[1]}
        row |= {f"videos/{key}/{name}": value for name, value in own.items()}
        path = tmp_path / f"videos/{key}/chunk-{chunk:03d}/file-012.mp4"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"seven b")
    kinds = {"gone": "video", "a still": "image", "odd": "video", "words": "string", "../up": "video"}
    kinds |= {FRONT: "video", SIDE: "video"}
    features = {key: {"dtype": kind} for key, kind in kinds.items()}
    findings, times_s = Findings(), np.arange(rows) / 10
    cameras, video = cameras_of(files, features, row, times_s, findings)
    there = [("gone", False), ("odd", False), ("front", True), ("side", True)]
    assert [(camera.name, camera.pictures) for camera in cameras if camera.name != "a still"] == there
    name = "videos/observation.images.front/chunk-003/file-012.mp4"
    shown_as = video and (video.path, video.fps, video.frames, video.width, video.height)
    assert shown_as == (frames and (name, film[0], frames, 64, 48))
    assert kept == ([(f"{name}#{part_s[0]:g}-{part_s[1]:g}", b"7")] if frames else [])
    doubts = [(one.name, one.measured, one.limit) for one in findings.items if one.severity == "doubt"]
    if frames is None:  # the side camera's is no better
        told = told * 2
    assert doubts == [(name, pytest.approx(measured), pytest.approx(limit)) for name, measured, limit in told]
    assert [one.name for one in findings.items if one.severity == "note"] == ["missing_video"] * 2


@pytest.mark.parametrize(
    ("times_s", "numbers", "said", "told"),
    [
        ((5, 5.1, 5.2, 5.309), (3, 4, 6, 9), {"fps": 10}, []),
        ((5, 5.1, 5.2, 5.312), (3, 4, 6, 9), {"fps": 10}, [("note", "uneven_times", 0.12, 0.1)]),
        ((5, 5.1, 5.2, 5.3), (3, 4, 6, 9), {"fps": 10.9}, []),
        ((5, 5.1, 5.2, 5.3), (3, 4, 6, 9), {"fps": 11.1}, [("doubt", "uneven_times", 0.11, 0.1)]),
        ((5, 5.1, 5.2, 5.3), (3, 4, 6, 9), {"fps": 8.9}, [("doubt", "uneven_times", 0.11, 0.1)]),
        *(((5, 5.1, 5.2), (3, 4, 6), {"fps": fps}, []) for fps in (0, -1, float("inf"), "10", None)),
        ((5, 5.1, 5.2), (3, 4, 6), {"fps": 0.5}, [("doubt", "uneven_times", 0.95, 0.1)]),
        ((5, 5.1), (3, 4), {"length": 2}, []),
        ((5, 5.1), (3, 4), {"length": 3}, [("doubt", "rows_missing", 2, 3)]),
        ((5, 5.1), (3, 4), {"length": "3"}, []),
        ((0, 0.00012), (3, 4), {}, []),
        ((0, 0.00008), (3, 4), {}, "times_backwards: .* at 1 of 2 rows"),
        ((0, 2, 1, 1), (3, 4, 4, np.nan), {}, "times_backwards: .* at 4 of 4 rows"),
        ((7, 20_007), (3, 4), {}, []),
        ((7, 20_007.1), (3, 4), {}, "no_movement"),
        ((7, np.inf), (3, 4), {}, "no_movement"),
        ((7,), (3,), {}, "no_movement"),
    ],
)  # fmt: skip
def test_what_rows_tell_of_times_and_columns(
    times_s: tuple[float, ...], numbers: tuple[float, ...], said: dict[str, Any], told: Any,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Seconds from the first row on; steps to a tenth those of the rate, of which it is doubted if all are others."""
    count = len(times_s)
    state, task = np.arange(2.0 * count).reshape(count, 2), np.full((count, 1), 6.0)
    tables = {"timestamp": np.array(times_s, dtype=np.float64)[:, None], "frame_index": np.array(numbers)[:, None]}
    tables |= {"episode_index": task, "task_index": task, "index": task, "state": state, "done": task}
    asked: list[Any] = []
    monkeypatch.setattr(lerobot, "read_tables", lambda *args: asked.append(args) or tables)
    files: Any = SimpleNamespace(
        root=tmp_path, scene="s", ref=SimpleNamespace(files=("", "data")), relative=str, add=lambda *_: None,
        fault=RawDataError,
    )  # fmt: skip
    kinds = {"state": "float32", "done": "bool", "task_index": "int64", "index": "uint8", "picture": "video"}
    features: dict[str, Any] = {name: {"dtype": kind} for name, kind in kinds.items()}
    features["state"]["names"] = {"motors": ["a", "b"]}
    findings = Findings()
    if isinstance(told, str):
        with pytest.raises(RawDataError, match=told):
            _columns(files, 4, features, said, said, findings)
        return
    seconds, columns, tasks = _columns(files, 4, features, said, said, findings)
    wanted = ["timestamp", "frame_index", "episode_index", "state", "done", "task_index", "index"]
    assert asked == [(tmp_path / "data", wanted, ("episode_index", 4))]
    assert seconds == pytest.approx([at - times_s[0] for at in times_s])
    assert {name: column.tolist() for name, column in columns.items()} == {
        "state.a": state[:, 0].tolist(), "state.b": state[:, 1].tolist(), "done.0": [6.0] * count,
    }  # fmt: skip
    assert tasks.tolist() == task.tolist()
    found = [(one.severity, one.name, one.measured, one.limit) for one in findings.items]
    assert found == [(severity, name, pytest.approx(value), limit) for severity, name, value, limit in told]


def test_of_two_grippers_a_film_may_show_both(copy: Path) -> None:
    """The lift's column is renamed to that of a right gripper; there is a film, and then none."""
    table, key = copy / "table", "observation.images.front"
    film = table / "videos" / key / "chunk-000" / "file-000.mp4"
    film.parent.mkdir(parents=True)
    film.write_bytes(grey_film([0] * 20, 20))
    rows = pq.read_table(table / EPISODES).to_pydict()
    own = {"chunk_index": 0, "file_index": 0, "from_timestamp": 0.0, "to_timestamp": 1.0}
    rows |= {f"videos/{key}/{name}": [value] * len(rows["episode_index"]) for name, value in own.items()}
    pq.write_table(pa.table(rows), table / EPISODES)
    said = json.loads((table / "meta" / "info.json").read_text())
    said["features"][key] = {"dtype": "video", "shape": [48, 64, 3], "names": ["height", "width", "channels"]}
    text = json.dumps(said).replace('"gripper"', '"left_gripper"').replace('"lift"', '"right_gripper"')
    (table / "meta" / "info.json").write_text(text)
    arm = (table / "arm.yaml").read_text().replace("state.gripper", "state.left_gripper")
    (table / "arm.yaml").write_text(arm.replace("state.lift", "state.right_gripper"))
    scene = read(copy, LeRobot(), SECOND)
    assert (found(scene)["two_grippers"].severity, scene.facts.gripper) == ("note", None)
    film.unlink()
    assert read(copy, LeRobot(), SECOND).facts.gripper is not None, "a film that is drawn shows one"


def test_what_an_arm_was_told_is_not_where_it_was(copy: Path) -> None:
    path = copy / "table" / "arm.yaml"
    path.write_text(path.read_text().replace("observation.state.lift", "action.lift"))
    told = found(read(copy, LeRobot(), SECOND))["commanded_columns"]
    assert (told.severity, told.subject, told.message.partition(":")[0]) == ("doubt", "log", "action.lift")


@pytest.mark.parametrize(
    ("own", "other", "is_one"),
    [
        ("left_gripper.pos", "right_gripper.pos", True),
        ("kRightHandIndex", "kLeftHandIndex", True),
        ("gripper", "left_wheel", False),
        ("left_gripper.pos", "right_wheel", False),
    ],
)
def test_a_gripper_is_one_of_two_where_there_are_columns_of_the_other(own: str, other: str, is_one: bool) -> None:
    assert _is_one_of_two({own}, {own, other}) == is_one


@pytest.mark.parametrize("name", [DATA, EPISODES, "meta/tasks.parquet"])
def test_a_pipe_in_the_place_of_a_table_is_told_at_once(copy: Path, name: str) -> None:
    (copy / "table" / name).unlink()
    os.mkfifo(copy / "table" / name)
    try:
        listing = LeRobot().scenes(copy)
        assert name == EPISODES or not listing.broken
        told = [error.finding for error in listing.broken]
        told += [found for ref in listing.scenes[1:2] for found in _finding(copy, ref)]
    except ConfigError:
        told = ["no scenes"]
    assert told == (["not_parquet"] if name != "meta/tasks.parquet" else [])


def _finding(root: Path, ref: SceneRef) -> list[str]:
    try:
        LeRobot().read(SceneFiles(root, ref))
    except RawDataError as error:
        return [error.finding]
    return []


def test_doctor_names_missing_parts_and_what_they_cost(copy: Path) -> None:
    shutil.rmtree(copy / "table" / "things")
    (copy / "table" / "arm.yaml").unlink()
    found = inspect(LeRobot(), copy)
    assert len(found.scenes) == 7
    assert [want.part for want, ids in found.missing.items() if ids] == ["videos", "columns", "things"]
    assert read(copy, LeRobot(), SECOND).facts.items == ()


def test_without_tasks_the_episodes_own_are_the_instructions(copy: Path) -> None:
    (copy / "table" / "meta" / "tasks.parquet").unlink()
    assert read(copy, LeRobot(), SECOND).facts.instructions == (plan(1).instruction,)


def test_tasks_may_have_a_column_of_their_own(copy: Path) -> None:
    path = copy / "table" / "meta" / "tasks.parquet"
    pq.write_table(pq.read_table(path).rename_columns(["task_index", "task"]).replace_schema_metadata(), path)
    table = pq.read_table(copy / "table" / EPISODES)
    pq.write_table(table.drop_columns(["tasks"]), copy / "table" / EPISODES)
    assert read(copy, LeRobot(), SECOND).facts.instructions == (plan(1).instruction,)


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    table = pq.read_table(path)
    rows = table.to_pydict()
    change(rows)
    pq.write_table(pa.table(rows), path)


def no_state(rows: dict[str, Any]) -> None:
    del rows["observation.state"]


def words(rows: dict[str, Any]) -> None:
    rows["observation.state"] = ["x"] * len(rows["timestamp"])


def ragged(rows: dict[str, Any]) -> None:
    at = rows["episode_index"].index(1)
    rows["observation.state"][at] = rows["observation.state"][at][:3]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (no_state, "wrong_columns"),
        (words, "wrong_column_type"),
        (ragged, "wrong_column_type"),
    ],
)
def test_broken_rows_cost_their_episode(copy: Path, change: Callable[[dict[str, Any]], None], finding: str) -> None:
    rewritten(copy / "table" / DATA, change)
    with pytest.raises(RawDataError) as told:
        read(copy, LeRobot(), SECOND)
    assert told.value.finding == finding


@pytest.mark.parametrize(
    ("column", "number", "is_one"),
    [
        ("episode_index", 999_999, True),
        ("episode_index", 1_000_000, False),
        ("episode_index", -1, False),
        ("data/chunk_index", 1_000_000, False),
        ("data/file_index", True, False),
    ],
)
def test_numbers_of_episodes_have_six_digits(tmp_path: Path, column: str, number: int, is_one: bool) -> None:
    def renumber(rows: dict[str, Any]) -> None:
        for name in rows:
            rows[name] = [number if name == column else rows[name][0]]

    shutil.unpack_archive(Path(__file__).with_name("lerobot_0_4_4.zip"), tmp_path / "tiny")
    rewritten(tmp_path / "tiny" / EPISODES, renumber)
    listing = LeRobot().scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == ["lerobot/tiny.episode999999"] * is_one
    assert [broken.finding for broken in listing.broken] == ["wrong_columns"] * (not is_one)


def test_a_table_that_no_memory_holds_is_not_read(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "ROWS_MAX", 9)
    rows = pq.read_metadata(copy / "table" / DATA).num_rows
    ref = LeRobot().scenes(copy).scenes[0]
    with pytest.raises(RawDataError, match=rf"{rows:,} rows and .* values, over 9 and") as caught:
        LeRobot().read(SceneFiles(copy, ref))
    assert caught.value.finding == "table_too_large"


def info(change: dict[str, Any]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        path = folder / "meta" / "info.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))

    return write


def text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        path = folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return write


THINGS = "things/episode_000001.json"


def two_of_one_id(folder: Path) -> None:
    changed(folder, lambda things: things[1].update(id=things[0]["id"]))


def of_no_size(folder: Path) -> None:
    changed(folder, lambda things: things[1].update(size_m=[0, 0.1, 0.1]))


def changed(folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    told = json.loads((folder / THINGS).read_text())
    change(told["things"])
    (folder / THINGS).write_text(json.dumps(told))


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "data missing": (lambda folder: (folder / DATA).unlink(), "missing_file"),
    "data cut": (lambda folder: (folder / DATA).write_bytes((folder / DATA).read_bytes()[:-300]), "not_parquet"),
    "version 2": (info({"codebase_version": "v2.1"}), "other_version"),
    "no version": (info({"codebase_version": None}), "other_version"),
    "paths of its own": (info({"data_path": "{chunk_index.__class__}/../../x"}), "other_layout"),
    "no features": (info({"features": [1]}), "missing_key"),
    "info cut": (lambda folder: (folder / "meta" / "info.json").write_text('{"a": '), "truncated_json"),
    "unknown column": (text("arm.yaml", "observation.state.elbow", "observation.state.knee"), "unknown_column"),
    "a quaternion with w first": (
        text(
            "arm.yaml",
            "[observation.state.qx, observation.state.qy, observation.state.qz, observation.state.qw]",
            "[observation.state.qw, observation.state.qx, observation.state.qy, observation.state.qz]",
        ),
        "bad_setting",
    ),
    "a gripper that cannot open": (text("arm.yaml", "open: 100", "open: 0"), "bad_setting"),
    "unknown unit": (text("arm.yaml", "unit: rad", "unit: turns"), "bad_setting"),
    "two things of one id": (two_of_one_id, "duplicate_thing"),
    "thing of no size": (of_no_size, "bad_things"),
    "things no list": (text(THINGS, '"things": [', '"things": 3, "x": ['), "bad_things"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_datasets_are_told_by_name(copy: Path, name: str) -> None:
    change, finding = BROKEN[name]
    change(copy / "table")
    with pytest.raises(RawDataError) as told:
        read(copy, LeRobot(), SECOND)
    assert told.value.finding == finding
    assert told.value.remedy


def test_without_the_table_of_episodes_a_dataset_is_broken_and_others_are_not(copy: Path) -> None:
    shutil.copytree(copy / "table", copy / "other")
    shutil.rmtree(copy / "other" / "meta" / "episodes")
    listing = LeRobot().scenes(copy)
    assert len(listing.scenes) == 7
    assert [error.finding for error in listing.broken] == ["missing_episodes"]


def test_folders_without_a_dataset_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no meta/info\.json here"):
        LeRobot().scenes(tmp_path)
    with pytest.raises(ConfigError, match="no such folder"):
        LeRobot().scenes(tmp_path / "gone")


def test_a_changed_declaration_changes_the_stamps(copy: Path) -> None:
    before = {ref.id: ref.stamp for ref in LeRobot().scenes(copy).scenes}
    (copy / "table" / THINGS).write_text("{}")
    after = {ref.id: ref.stamp for ref in LeRobot().scenes(copy).scenes}
    assert [name for name in before if before[name] != after[name]] == [f"lerobot/{SECOND}"]


def test_places_in_millimetres_are_refused(copy: Path) -> None:
    path = copy / "table" / THINGS
    said = json.loads(path.read_text())
    said["things"][1]["place_m"] = [[1e9, 0.0, 0.0]]
    path.write_text(json.dumps(said))
    with pytest.raises(RawDataError, match="implausible_value"):
        read(copy, LeRobot(), SECOND)


def test_an_episode_that_stands_twice_in_the_table_is_refused(copy: Path) -> None:
    (ref,) = (ref for ref in LeRobot().scenes(copy).scenes if ref.id.endswith(f"/{SECOND}"))
    (path,) = (copy / "table" / "meta" / "episodes").rglob("*.parquet")
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table]), path)
    with pytest.raises(RawDataError, match="duplicate_episode"):
        LeRobot().read(SceneFiles(copy, ref))


# ---- version 2: a file and a video for each episode

CAPTURES = REAL_DATA / "captures"
LINES = "meta/episodes.jsonl"


def as_version_2(folder: Path) -> None:
    """Lays a dataset of version 3 out as version 2 does, without its videos."""
    data, rows = pq.read_table(folder / DATA), pq.read_table(folder / EPISODES).to_pylist()
    lines = []
    for row in rows:
        index = row["episode_index"]
        own = data.filter(pa.compute.equal(data["episode_index"], index))
        pq.write_table(own, folder / f"data/chunk-000/episode_{index:06d}.parquet")
        lines.append(json.dumps({key: row[key] for key in ("episode_index", "tasks", "length")}))
    (folder / LINES).write_text("\n".join(lines) + "\n")
    (folder / DATA).unlink()
    shutil.rmtree(folder / "meta" / "episodes")
    path = folder / "meta" / "info.json"
    told = json.loads(path.read_text()) | {"codebase_version": "v2.1"}
    path.write_text(json.dumps(told | {"data_path": DATA_PATHS[2]}))


def test_a_dataset_of_version_2_tells_the_same_episodes(sample_episodes: Path, copy: Path) -> None:
    as_version_2(copy / "table")
    assert len(LeRobot().scenes(copy).scenes) == 7
    ours, theirs = read(copy, LeRobot(), SECOND).facts, read(sample_episodes, LeRobot(), SECOND).facts
    for field in ("seconds", "arm", "gripper", "items", "instructions"):
        assert getattr(ours, field) == getattr(theirs, field)


def test_a_thousand_episodes_of_version_2_lie_in_a_folder(copy: Path) -> None:
    """Where the files of some are missing, they are looked for where LeRobot would have written them."""
    as_version_2(copy / "table")
    line = json.loads((copy / "table" / LINES).read_text().splitlines()[0])
    more = "\n".join(json.dumps(line | {"episode_index": index}) for index in (999, 1000))
    (copy / "table" / LINES).write_text(more)
    files = [ref.files[1] for ref in LeRobot().scenes(copy).scenes]
    assert files == ["table/data/chunk-000/episode_000999.parquet", "table/data/chunk-001/episode_001000.parquet"]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda text: text.replace('"length"', '"length'), "bad_json.*line 2: "),
        (lambda text: text + text, "duplicate_episode"),
    ],
)
def test_broken_lines_of_episodes_are_told(copy: Path, change: Callable[[str], str], finding: str) -> None:
    as_version_2(copy / "table")
    path = copy / "table" / LINES
    path.write_text(change(path.read_text()))
    with pytest.raises(RawDataError, match=finding):
        read(copy, LeRobot(), SECOND)


@pytest.mark.slow
def test_no_damage_to_lines_of_episodes_is_too_much(copy: Path) -> None:
    as_version_2(copy / "table")
    path, told = copy / "table" / LINES, 0
    whole = path.read_bytes()
    for _, raw in damaged(whole, "lerobot 2", times(25, 200)):
        path.write_bytes(raw)
        listing = LeRobot().scenes(copy)
        told += bool(listing.broken)
        for ref in listing.scenes:
            try:
                LeRobot().read(SceneFiles(copy, ref))
            except RawDataError as error:
                told += bool(error.finding and error.remedy)
    assert told > times(6, 50)


@pytest.mark.slow
@pytest.mark.real_data
def test_real_episodes_of_version_2_have_their_own_video(tmp_path: Path) -> None:
    """A Unitree G1: rows are the pictures of an AV1 film, which nothing but PyAV decodes here."""
    root = CAPTURES / "lerobot_v21_g1"
    listing = LeRobot().scenes(root)
    assert len(listing.scenes) == 100
    for index, rows in ((29, 221), (30, 277)):
        files = SceneFiles(root, listing.scenes[index])
        scene = LeRobot().read(files)
        assert scene.facts.instructions == ("Pick up the yellow bottle on the table.",)
        assert scene.video.frames == rows
        assert len(scene.facts.seconds.array) == rows
        assert float(scene.facts.seconds.array[-1, 0]) == pytest.approx((rows - 1) / 30, abs=1e-4)
        assert {found.name for found in scene.findings} == {"undeclared_columns", "no_gripper"}
        pictures = list(LeRobot().footage(files, scene).frames())
        assert len(pictures) == rows
        assert np.abs(pictures[0].astype(int) - pictures[-1]).mean() > 1.0
    with pytest.raises(RawDataError, match="missing_file"):
        LeRobot().read(SceneFiles(root, listing.scenes[0]))


@pytest.mark.real_data
def test_a_real_dataset_of_version_3_tells_where_its_episodes_lie_in_their_video() -> None:
    root = CAPTURES / "lerobot_v30_meta"
    files = SceneFiles(root, LeRobot().scenes(root).scenes[1])
    key = "videos/observation.images.top_phone"
    row = _episode_row(files, 1, {})
    assert (row["dataset_from_index"], row["dataset_to_index"], row["length"]) == (448, 897, 449)
    assert row[f"{key}/from_timestamp"] * 30 == pytest.approx(448)  # film time of a row: this and its own
    assert (row[f"{key}/to_timestamp"] - row[f"{key}/from_timestamp"]) * 30 == pytest.approx(449)
    assert instructions(files, row, np.zeros(1), Findings()) == ("Pick the tiger and place near elephant",)


@pytest.mark.real_data
def test_a_film_that_players_turn_is_handed_on_upright(tmp_path: Path) -> None:
    copy = tmp_path / "root"
    shutil.copytree(REAL_DATA / "captures" / "lerobot_v21_g1", copy / "g1")
    listing = [ref for ref in LeRobot().scenes(copy).scenes if (copy / ref.files[1]).is_file()]

    def first() -> tuple[tuple[int | None, int | None], npt.NDArray[np.uint8]]:
        files = SceneFiles(copy, listing[0])
        scene = LeRobot().read(files)
        footage = LeRobot().footage(files, scene)
        assert scene.video is not None
        assert footage is not None
        return (scene.video.width, scene.video.height), next(iter(footage.frames()))

    (width, height), stored = first()
    for path in copy.glob("*/videos/*/*/*.mp4"):
        film = bytearray(path.read_bytes())
        at = film.index(b"tkhd") + 44  # of version 0; a quarter turn clockwise
        film[at : at + 36] = struct.pack(">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
        path.write_bytes(film)
    size, shown = first()
    assert size == (height, width)
    assert np.array_equal(shown, np.rot90(stored, -1))


def test_without_which_files_nothing_is_read() -> None:
    assert [want.part for want in LeRobot.expected_files if want.needed] == ["info", "episodes", "data"]
