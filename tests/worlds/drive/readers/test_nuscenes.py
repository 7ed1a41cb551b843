"""nuScenes: tables made of logs known otherwise, a real keyframe and Lyft's real tables; wrong conventions by name."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings
from pipeline.formats.pickles import read_pickle
from pipeline.geometry.angles import turned_about_z
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.argoverse2 import write_log
from pipeline.samples.drive.write import PLANS
from pipeline.worlds.drive.facts import CATEGORIES, NUSCENES, DriveScene
from pipeline.worlds.drive.quality_checks import examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.nuscenes import POINT, NuScenes, _camera
from pipeline.worlds.drive.readers.nuscenes_tables import MountedCamera, SensorMount, _shaped, _word
from pipeline.worlds.drive.readers.tracking import upright
from pipeline.worlds.registry import READERS
from tests.conftest import REAL_DATA
from tests.environment import times
from tests.worlds.drive.drives import TABLES, Table, found, read, tables_of, write_tables, yaw_quat
from tests.worlds.indoor.test_converters import spoilt

KEYFRAME = REAL_DATA / "captures" / "nuscenes_frame"
LYFT = REAL_DATA / "captures" / "lyft_tables"
Box = dict[str, Any]


def _wxyz(rotation: np.ndarray) -> list[float]:
    x, y, z, w = Rotation.from_matrix(rotation).as_quat().tolist()
    return [w, x, y, z]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> DriveScene:
    """The junction of the sample drives, as the reader of Argoverse 2 has it."""
    root = tmp_path_factory.mktemp("planned")
    write_log(root, PLANS["junction"])
    return read(root, Argoverse2())


@pytest.fixture(scope="module")
def tables(planned: DriveScene) -> dict[str, Table]:
    """The junction as tables, a sample every half a second."""
    return tables_of({"scene-0061": planned.facts}, every=5)


def test_tables_give_the_drive_that_they_were_made_of(
    tmp_path: Path, planned: DriveScene, tables: dict[str, Table]
) -> None:
    scene = read(write_tables(tmp_path, tables), NuScenes())
    assert (scene.id, scene.findings, examine(scene)) == ("nuscenes/scene-0061", (), ())
    facts, known = scene.facts, planned.facts
    assert np.abs(facts.times_s - known.times_s[::5]).max() < 1e-5
    assert np.abs(facts.ego.track.place_m.array - known.ego.track.place_m.array[::5]).max() < 1e-4
    assert np.abs(facts.ego.track.yaw_deg.array - known.ego.track.yaw_deg.array[::5]).max() < 1e-4
    assert [a.id for a in facts.actors] == [f"scene-0061 {a.id}" for a in known.actors]
    for actor, other in zip(facts.actors, known.actors, strict=True):
        assert actor.box.size_m == other.box.size_m
        assert actor.category == other.category
        at = actor.track.first * 5 - other.track.first
        assert np.abs(actor.track.place_m.array - other.track.place_m.array[at::5]).max() < 1e-4
        assert actor.points.array.tolist() == other.points.array[at::5].tolist()


def _keyframe_tables(frame: dict[str, Any], words: dict[int, str]) -> dict[str, Table]:
    """A real keyframe, as mmdetection3d stores it, in nuScenes' tables: its boxes are in the lidar's frame."""
    ours, lidar = np.array(frame["ego2global"]), np.array(frame["lidar_points"]["lidar2ego"])
    mounts = {"lidar": ("LIDAR_TOP", lidar, [], 0)}
    mounts |= {n: (n, np.array(i["cam2ego"]), i["cam2img"], 1600) for n, i in frame["images"].items()}
    kinds = {"traffic_cone": "movable_object.trafficcone", "barrier": "movable_object.barrier"}
    kinds |= {"pedestrian": "human.pedestrian.adult", "bus": "vehicle.bus.rigid"}
    kinds |= {"construction_vehicle": "vehicle.construction"}
    boxes = [(str(n), b) for n, b in enumerate(frame["instances"]) if b["bbox_label"] in words]
    rows: dict[str, Table] = {
        "scene": [{"token": "s", "name": "scene-0061", "log_token": "", "nbr_samples": 1}],
        "sample": [{"token": "k", "scene_token": "s", "timestamp": frame["timestamp"] * 1e6}],
        "ego_pose": [{"token": "p", "translation": ours[:3, 3].tolist(), "rotation": _wxyz(ours[:3, :3])}],
        "sensor": [
            {"token": n, "channel": m[0], "modality": "camera" if m[3] else "lidar"} for n, m in mounts.items()
        ],
        "calibrated_sensor": [
            {"token": n, "sensor_token": n, "translation": m[1][:3, 3].tolist(), "rotation": _wxyz(m[1][:3, :3]),
             "camera_intrinsic": m[2]} for n, m in mounts.items()
        ],
        "sample_data": [
            {"token": n, "sample_token": "k", "ego_pose_token": "p", "calibrated_sensor_token": n,
             "timestamp": frame["timestamp"] * 1e6, "filename": "", "is_key_frame": True, "width": m[3],
             "height": 900} for n, m in mounts.items()
        ],
        "instance": [
            {"token": n, "category_token": "kind " + kinds.get(w := words[b["bbox_label"]], f"vehicle.{w}")}
            for n, b in boxes
        ],
        "sample_annotation": [],
    }  # fmt: skip
    for number, one in boxes:
        *place, length, width, height, yaw = one["bbox_3d"]
        turn = (ours @ lidar)[:3, :3] @ Rotation.from_euler("z", yaw).as_matrix()
        rows["sample_annotation"].append(
            {"sample_token": "k", "instance_token": number, "attribute_tokens": [],
             "translation": (ours @ lidar @ [*place, 1])[:3].tolist(), "size": [width, length, height],
             "rotation": _wxyz(turn), "num_lidar_pts": one["num_lidar_pts"]}
        )  # fmt: skip
    return tables_of({}) | rows


@pytest.mark.real_data
def test_boxes_of_a_real_keyframe_fall_on_what_was_marked_in_its_pictures(tmp_path: Path) -> None:
    (path,) = KEYFRAME.glob("*.pkl")
    told = read_pickle(path.read_bytes(), ())
    frame, words = told["data_list"][0], {v: k for k, v in told["metainfo"]["categories"].items()}
    scene = read(write_tables(tmp_path, _keyframe_tables(frame, words)), NuScenes())
    assert {f.name for f in scene.findings} == {"unknown_category"}  # of a bicycle, whose rider nobody tells
    facts, off_px = scene.facts, []
    body = turned_about_z(
        np.array([a.track.place_m.array[0] for a in facts.actors]) - facts.ego.track.place_m.array[0],
        -facts.ego.track.yaw_deg.array[0, 0],
    )
    sizes = np.array([a.box.size_m for a in facts.actors])
    for camera in facts.cameras:
        there = (body - camera.place_m) @ np.array(camera.ego_from_camera)
        for marked in frame["cam_instances"][camera.name]:
            if marked["bbox_label"] not in words:
                continue
            # The same thing: as far away, and as large (their boxes are height, then the two others, about the camera).
            same = np.abs(there[:, 2] - marked["depth"]) < 0.03 * marked["depth"] + 1
            same &= np.abs(np.sort(sizes) - np.sort(marked["bbox_3d"][3:6])).max(axis=1) < 0.01
            assert same.any(), (camera.name, marked)
            pixel = there[same, :2] / there[same, 2:] * camera.focal_px + camera.centre_px
            off_px.append(np.linalg.norm(pixel - marked["center_2d"], axis=1).min())
    assert len(off_px) > 30
    assert np.median(off_px) < 20  # of 1600; a track leaves out our tilt, and a camera's time differs from the lidar's
    assert max(off_px) < 60


@pytest.mark.real_data
def test_real_tables_of_lyft_are_read_as_far_as_they_go() -> None:
    scene = read(LYFT, NuScenes())
    assert [(f.name, f.measured, f.limit) for f in scene.findings] == [("truncated", 1, 126)]
    assert {a.category for a in scene.facts.actors} == {"car"}
    assert all(4.4 < a.box.size_m[0] < 4.6 and 2.0 < a.box.size_m[1] < 2.3 for a in scene.facts.actors)
    assert all(a.points is None for a in scene.facts.actors)  # told as -1
    assert (scene.facts.map_name, len(scene.facts.cameras)) == ("Palo Alto", 7)


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize(("tilt_deg", "stands"), [(25.8, True), (25.9, False), (90.0, False), (180.0, False)])
def test_what_leans_by_26_degrees_to_any_side_is_not_upright(tilt_deg: float, way: int, stands: bool) -> None:
    """Its cosine is 0.9 at 25.84 degrees; whichever way it heads (a half turn about z swaps what x and y are for)."""
    half = np.radians(tilt_deg) / 2
    sides = way * np.array([[1, 0], [0, 1], [0.6, 0.8], [-0.6, 0.8]])
    leans = np.column_stack([np.full(4, np.cos(half)), np.sin(half) * sides, np.zeros(4)])
    assert upright(leans).tolist() == [stands] * 4
    assert upright(np.sqrt([[0.95, 0.05, 0.0, 0.0]])).all(), "just 0.9"
    assert not upright(leans * 1.1).any(), "no unit quaternions"
    assert not upright(leans * np.nan).any()


def test_all_that_the_tables_of_a_small_scene_tell(tmp_path: Path) -> None:
    """Two samples half a second apart, given in the other order; our car goes north, and a truck stands 10 m ahead."""
    north = yaw_quat(90.0)
    made: dict[str, Table] = tables_of({}) | {
        "log": [{"token": "l", "location": "made"}],
        "scene": [{"token": "s", "name": "one", "log_token": "l", "nbr_samples": 2}],
        "sample": [{"token": name, "timestamp": time, "scene_token": "s"} for name, time in (("b", 2.5e6), ("a", 2e6))],
        "ego_pose": [
            {"token": name, "translation": [10.0, y, 0.5], "rotation": north} for name, y in (("a", 20.0), ("b", 25.0))
        ],
        "instance": [{"token": "t", "category_token": "kind vehicle.truck"}],
        "sample_annotation": [
            {"sample_token": name, "instance_token": "t", "attribute_tokens": [], "translation": [9.0, 35.0, 2.0],
             "size": [2.5, 8.0, 3.0], "rotation": yaw_quat(180.0), "num_lidar_pts": points}
            for name, points in (("a", 7), ("b", -1))
        ],
        "sample_data": [
            {"token": f"{name} {mount}", "sample_token": name, "ego_pose_token": name, "calibrated_sensor_token": mount,
             "timestamp": 0, "filename": "f", "is_key_frame": True, "width": 1600, "height": 900}
            for name in "ab" for mount in ("lidar-1", "ahead-1")
        ],
    }  # fmt: skip
    scene = read(write_tables(tmp_path, made), NuScenes())
    facts = scene.facts
    assert (scene.id, scene.findings, scene.video, facts.map_name) == ("nuscenes/one", (), None, "made")
    assert (facts.start_ns, facts.times_s.tolist()) == (2_000_000_000, [0.0, 0.5])
    assert (facts.frame, facts.ego.point, facts.ego.box, facts.ego.track.first) == ("world", POINT, None, 0)
    assert facts.ego.track.place_m.array.tolist() == [[10.0, 20.0, 0.5], [10.0, 25.0, 0.5]]
    assert facts.ego.track.yaw_deg.array.tolist() == [[90.0], [90.0]]
    (truck,) = facts.actors
    assert (truck.id, truck.category, truck.source_category) == ("t", "truck", "vehicle.truck")
    assert (truck.box.size_m, truck.box.middle_m) == ((8.0, 2.5, 3.0), (0.0, 0.0, 0.0))
    assert (truck.track.first, truck.track.place_m.array.tolist()) == (0, [[9.0, 35.0, 2.0]] * 2)
    assert np.abs(truck.track.yaw_deg.array).tolist() == [[180.0]] * 2
    assert np.nan_to_num(truck.points.array, nan=-9).tolist() == [[7.0], [-9.0]]
    (camera,) = facts.cameras
    assert camera.model_dump() == {
        "name": "CAM_FRONT", "width": 1600, "height": 900, "focal_px": (1260.0, 1260.0), "centre_px": (800.0, 450.0),
        "ego_from_camera": ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)), "place_m": (1.7, 0.0, 1.5),
    }  # fmt: skip
    assert "truck" in facts.complete
    assert "object" not in facts.complete


def _turned(order: list[int], signs: list[int]) -> Callable[[Box], Box]:
    return lambda row: row | {"rotation": [row["rotation"][i] * sign for i, sign in zip(order, signs, strict=True)]}


WRONG: dict[str, tuple[Callable[[Box], Box], str]] = {
    "scalar last": (_turned([1, 2, 3, 0], [1, 1, 1, 1]), "turns_lean"),
    "the other way round": (_turned([0, 1, 2, 3], [1, -1, -1, -1]), "moves_sideways"),
    "y up": (lambda row: row | {"rotation": [row["rotation"][0], 0.0, row["rotation"][3], 0.0]}, "turns_lean"),
    "length first": (lambda row: row | {"size": [row["size"][i] for i in (1, 0, 2)]}, "no_size_of_a_car"),
    "feet": (lambda row: row | {"size": [side / 0.3048 for side in row["size"]]}, "no_size_of_a_car"),
    "y for z": (lambda row: row | {"translation": [row["translation"][i] for i in (0, 2, 1)]}, "off_the_ground"),
}


@pytest.mark.parametrize("how", WRONG)
def test_wrong_conventions_of_boxes_are_noticed(tmp_path: Path, tables: dict[str, Table], how: str) -> None:
    change, finding = WRONG[how]
    root = write_tables(tmp_path, tables, change)
    if finding == "turns_lean":
        with pytest.raises(RawDataError, match=finding):
            read(root, NuScenes())
        return
    scene = read(root, NuScenes())
    doubted = {f.subject for f in examine(scene) if f.name == finding}
    assert doubted >= {actor.id for actor in scene.facts.actors}  # of none anything is asked


def test_wrong_turns_of_our_car_are_noticed(tmp_path: Path, tables: dict[str, Table]) -> None:
    def turned(order: list[int], signs: list[int]) -> dict[str, Table]:
        return tables | {"ego_pose": [_turned(order, signs)(row) for row in tables["ego_pose"]]}

    with pytest.raises(RawDataError, match="turns_lean"):
        read(write_tables(tmp_path / "last", turned([1, 2, 3, 0], [1, 1, 1, 1])), NuScenes())
    for name, poses in {
        "inverse": turned([0, 1, 2, 3], [1, 1, 1, -1]),
        "half a turn": turned([3, 1, 2, 0], [-1, 1, 1, 1]),
    }.items():
        scene = read(write_tables(tmp_path / name, poses), NuScenes())
        assert ("moves_sideways", "ego") in {(f.name, f.subject) for f in examine(scene)}


def _first(tables: dict[str, Table], table: str, **changes: Any) -> dict[str, Table]:
    first, *others = tables[table]
    return tables | {table: [first | changes, *others]}


@pytest.mark.parametrize(
    ("table", "changes", "findings"),
    [
        ("sample_annotation", {"rotation": [2.0, 0, 0, 0]}, {"unusable_box": 1}),
        ("sample_annotation", {"translation": [1e300, 0, 0]}, {"unusable_box": 1}),
        ("sample_annotation", {"size": "large"}, {"unusable_box": 1}),
        ("sample_annotation", {"size": [0, 0, 0]}, {"box_without_size": 0}),
        ("sample_annotation", {"sample_token": "none"}, {"unlinked_rows": 1}),
        ("sample_annotation", {"instance_token": None}, {"unusable_box": 1}),
        ("category", {"name": 7}, {}),
        ("instance", {"category_token": "none"}, {"unknown_category": None}),
        ("ego_pose", {"translation": None}, {"unusable_pose": 1}),
        ("ego_pose", {"token": "none"}, {"no_ego_pose": 1}),
        ("sample", {"timestamp": None}, {"unusable_pose": 1}),
        ("sample", {"timestamp": 1e16}, {"unusable_pose": 1}),
        ("scene", {"nbr_samples": 40}, {"truncated": None}),
        ("log", {"location": "\ud800"}, {}),
        ("log", {"location": "a" * 100_000}, {}),
    ],
)
def test_what_is_wrong_with_rows_is_named(
    tmp_path: Path, tables: dict[str, Table], table: str, changes: dict[str, Any], findings: dict[str, float | None]
) -> None:
    scene = read(write_tables(tmp_path, _first(tables, table, **changes)), NuScenes())
    told = found(scene)
    assert told.keys() == findings.keys()
    assert all(told[name].measured == number for name, number in findings.items() if number is not None)
    assert all(told[name].limit == 0 for name, number in findings.items() if number == 1)


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("sample", "{}", "not_a_list"),
        ("sample_annotation", '[{"token": "a"}', "truncated_json"),
        ("ego_pose", "[" * 100_000, "too_deep"),
        ("sample_data", None, "missing_file"),
        ("sample", "[]", "no_boxes"),
        ("sample_annotation", "[]", "no_boxes"),
        ("ego_pose", "[]", "no_ego_pose"),
    ],
)
def test_tables_that_are_none_cost_their_scenes(
    tmp_path: Path, tables: dict[str, Table], name: str, text: str | None, finding: str
) -> None:
    path = write_tables(tmp_path, tables) / TABLES / f"{name}.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(RawDataError, match=finding) as caught:
        read(tmp_path, NuScenes())
    assert caught.value.remedy


@pytest.mark.parametrize(("later_us", "is_one"), [(0, True), (4, True), (11, False)])
def test_two_samples_at_one_time_are_refused(
    tmp_path: Path, tables: dict[str, Table], later_us: float, is_one: bool
) -> None:
    """To ten microseconds, in which facts state times: our car would be in two places at one."""
    first, second, *rest = tables["sample"]
    close = [first, second | {"timestamp": first["timestamp"] + later_us}, *rest]
    write_tables(tmp_path, tables | {"sample": close})
    if is_one:
        with pytest.raises(RawDataError, match="two_ego_poses: two times lie less than 1e-05 s apart"):
            read(tmp_path, NuScenes())
    else:
        assert (np.diff(read(tmp_path, NuScenes()).facts.times_s) > 0).all()


def test_two_rows_of_one_token_and_scenes_of_one_name_are_refused(tmp_path: Path, tables: dict[str, Table]) -> None:
    write_tables(tmp_path / "a", tables | {"sample": [*tables["sample"], tables["sample"][0]]})
    with pytest.raises(RawDataError, match="duplicate_key"):
        read(tmp_path / "a", NuScenes())
    write_tables(tmp_path / "b", tables | {"scene": [tables["scene"][0], tables["scene"][0] | {"token": "t"}]})
    listing = NuScenes().scenes(tmp_path / "b")
    assert (listing.scenes, [error.finding for error in listing.broken]) == ((), ["duplicate_scene"])


def test_the_film_is_that_of_the_camera_ahead_and_lies_below_the_root(tmp_path: Path, planned: DriveScene) -> None:
    tables = tables_of({"s": planned.facts}, every=25, pictures=True)
    outside = [row | {"filename": f"../{row['filename']}"} for row in tables["sample_data"]]
    write_tables(tmp_path / "in" / "r", tables | {"sample_data": outside})  # pictures are there, beside the root
    assert read(tmp_path / "in" / "r", NuScenes()).video is None
    root = write_tables(tmp_path / "r", tables)
    (ref,) = NuScenes().scenes(root).scenes
    files = SceneFiles(root, ref)
    scene = NuScenes().read(files)
    seconds = scene.facts.times_s[-1]
    assert (scene.video.path, scene.video.fps) == ("samples/CAM_FRONT", 12)
    assert scene.video.frames == int(seconds * 12 + 1e-6) + 1
    assert len(list(NuScenes().footage(files, scene).frames())) == scene.video.frames
    (root / scene.video.path / "s_0.jpg").unlink()
    (root / scene.video.path / "s_0.jpg").symlink_to("s_0.jpg")
    assert NuScenes().scenes(root).scenes[0].stamp != ref.stamp


@pytest.mark.parametrize(
    ("whole", "change"),
    [
        (True, {}),
        (True, {"width": 1, "height": 20_000}),
        (False, {"width": 0}),
        (False, {"height": 0}),
        (False, {"width": 10**9}),
        (False, {"height": 10**9}),
        (False, {"intrinsics": ((50.0, 0, 32), (0, 50, np.nan), (0, 0, 1))}),
        (False, {"intrinsics": ((50.0, 0, 32), (0, 50, 24))}),
        (False, {"place_m": (0, np.inf, 0)}),
        (False, {"quat_wxyz": (1.1, 0, 0, 0)}),
    ],
)
def test_a_camera_is_known_where_its_calibration_is_whole(whole: bool, change: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "intrinsics": ((50.0, 0, 32), (0, 60, 24), (0, 0, 1)), "place_m": (1, 2, 3), "quat_wxyz": (1, 0, 0, 0),
        "width": 64, "height": 48,
    } | change  # fmt: skip
    mount = SensorMount("CAM_FRONT", "camera", given["place_m"], given["quat_wxyz"], given["intrinsics"])
    findings = Findings()
    camera = _camera(MountedCamera(mount, given["width"], given["height"]), findings)
    assert [finding.name for finding in findings.items] == ([] if whole else ["bad_calibration"])
    assert (camera is not None) == whole
    if camera is not None:
        assert (camera.focal_px, camera.centre_px, camera.place_m) == ((50, 60), (32, 24), (1, 2, 3))


def test_who_rides_is_told_by_the_attribute_and_sections_of_buses_are_not_counted(
    tmp_path: Path, tables: dict[str, Table]
) -> None:
    assert set(NUSCENES.values()) <= CATEGORIES
    scene = read(write_tables(tmp_path / "a", tables), NuScenes())
    assert "cyclist" in {a.category for a in scene.facts.actors}
    assert "bus" in scene.facts.complete
    bare = [row | {"attribute_tokens": []} for row in tables["sample_annotation"]]
    bendy_bus = "vehicle.bus.bendy"
    bendy = [row | {"name": row["name"].replace("bus.rigid", "bus.bendy")} for row in tables["category"]]
    bendy = [row for row in bendy if row["token"] != f"kind {bendy_bus}"]
    scene = read(write_tables(tmp_path / "b", tables | {"sample_annotation": bare, "category": bendy}), NuScenes())
    assert {f.name for f in scene.findings} == {"unknown_category"}
    assert "cyclist" not in {a.category for a in scene.facts.actors}
    assert "bus" not in scene.facts.complete


def test_a_scene_is_remembered_by_its_own_rows_alone(tmp_path: Path, planned: DriveScene) -> None:
    both = tables_of({"one": planned.facts, "two": planned.facts}, every=10)
    before = {name: read(write_tables(tmp_path / "a", both), NuScenes(), name) for name in ("one", "two")}
    last = both["sample_annotation"][-1]
    assert json.dumps(last).count('"two') > 0
    moved = [*both["sample_annotation"][:-1], last | {"translation": [p + 1 for p in last["translation"]]}]
    root = write_tables(tmp_path / "b", both | {"sample_annotation": moved})
    after = {name: read(root, NuScenes(), name) for name in ("one", "two")}
    assert after["one"] == before["one"]
    assert after["two"].source.sha256 != before["two"].source.sha256


@pytest.mark.slow
def test_mutated_tables_are_named(tmp_path: Path, tables: dict[str, Table]) -> None:
    """Each of one table: bytes changed, or a value put in place of a row's; read, or refused by a name of ours."""
    odd = (None, -1, 1e308, float("nan"), "x", [], {}, True, 10**30, "\ud800")
    paths = sorted((write_tables(tmp_path, tables) / TABLES).glob("*.json"))
    chance = random.Random(32)  # noqa: S311
    for number in range(times(25, 200)):
        path = chance.choice(paths)
        sound = path.read_bytes()
        if number % 2:
            rows = json.loads(sound)
            row = chance.choice(rows)
            row[chance.choice(list(row))] = chance.choice(odd)
            path.write_text(json.dumps(rows))
        else:
            path.write_bytes(spoilt(sound, chance))
        with suppress(RawDataError):
            for ref in NuScenes().scenes(tmp_path).scenes:
                NuScenes().read(SceneFiles(tmp_path, ref)).model_dump_json()
        path.write_bytes(sound)


def test_words_of_tables_have_a_length_at_most_and_are_ones_that_can_be_written() -> None:
    longest = "x" * 190
    assert [_word(value) for value in (longest, longest + "x", 3, None, "a\ud800")] == [longest, "", "", "", ""]
    assert np.isnan([*_shaped([1, 2], 3), *_shaped("12", 2), *_shaped([True, None], 2)]).all()
    assert (_shaped(1, 0), _shaped([1, 2.5], 2), _shaped([[1], [2]], (2, 1))) == (1, (1, 2.5), ((1,), (2,)))
    assert _shaped([[1]], (2, 1)) == ()


def test_readers_of_drives_and_the_pace_of_their_films() -> None:
    """Whoever changes what a reader makes of the same files counts its version on: kept scenes are then read anew."""
    readers = {"argoverse2": (1, 10), "carla": (1, 20), "kitti_tracking": (2, 10), "nuscenes": (1, 12)}
    found = {name: (READERS[name].version, getattr(READERS[name], "video_fps", None)) for name in readers}
    assert found == readers
