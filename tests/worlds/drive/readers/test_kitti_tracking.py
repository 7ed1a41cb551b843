"""Sequences of KITTI: real ones line by line, the sample against what was planted, broken ones by name."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.findings import Findings
from pipeline.reading.doctor import inspect
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.plan import PLANS
from pipeline.worlds.drive.readers.kitti_poses import Calibration, _imu_from_camera, read_oxts
from pipeline.worlds.drive.readers.kitti_tracking import KittiTracking, _pictures
from pipeline.worlds.drive.view import DriveView
from tests.conftest import REAL_DATA
from tests.worlds.drive.drives import found, read

# Frame, track, type, truncated, occluded, alpha, box in the picture, height, width, length, x, y, z, rotation.
LINE = "{frame} {track} {word} {cut} {hidden} -1.5 100 100 200 200 1.5 {width} 4.0 {x} 1.7 {z} {turn}"


def label(frame: int, track: object = 1, **changes: object) -> str:
    said = {"word": "Car", "hidden": 0, "cut": 0, "width": 1.8, "x": 2.0, "z": 10.0, "turn": -np.pi / 2} | changes
    return LINE.format(frame=frame, track=track, **said)


def write(root: Path, *lines: str) -> Path:
    (root / "label_02").mkdir(parents=True, exist_ok=True)
    (root / "label_02" / "0000.txt").write_text("\n".join(lines) + "\n")
    return root


REAL_KITTI = REAL_DATA / "driving" / "kitti"


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "tracks"), [("0003", 9), ("0012", 4)])
def test_every_label_of_a_real_sequence_is_where_its_line_says(name: str, tracks: int) -> None:
    scene = read(REAL_KITTI, KittiTracking(), name)
    view = DriveView(scene)
    lines = [line.split() for line in (REAL_KITTI / "label_02" / f"{name}.txt").read_text().splitlines()]
    labels = [line for line in lines if line[2] != "DontCare"]
    assert scene.findings == ()
    assert len(view.ids) == tracks
    assert view.present.sum() == len(labels)
    assert (scene.facts.frame, scene.facts.ego, scene.facts.ego_point) == ("ego", None, "the left grey camera")
    assert np.isnan(view.speed_mps).all()  # how our car moved is not known
    for frame, track, word, truncated, occluded, *rest in labels:
        row, at = view.row(track), int(frame)
        height, width, length, x, y, z, turn = map(float, rest[5:12])
        assert np.abs(view.relative_m[row, at] - (z, -x, height / 2 - y)).max() < 2e-4
        # A corner of the box at its front, turned about the camera's y as in devkit_object/matlab/computeBox3D.m
        front_x, front_z = x + np.cos(turn) * length / 2, z - np.sin(turn) * length / 2
        yaw = np.radians(view.yaw_deg[row, at])
        middle = view.place_m[row, at, :2]
        assert np.abs(middle + length / 2 * np.array([np.cos(yaw), np.sin(yaw)]) - (front_z, -front_x)).max() < 2e-4
        assert view.size_m[row].tolist() == pytest.approx([length, width, height])
        actor = scene.facts.actors[row]
        assert actor.occluded.array[at - actor.track.first, 0] == float(occluded)
        assert actor.truncated.array[at - actor.track.first, 0] == float(truncated)
        assert actor.source_category == word


def test_a_sample_sequence_holds_what_was_planted(sample_drives: Path) -> None:
    scene = read(sample_drives / "kitti_tracking", KittiTracking())
    truth = json.loads((sample_drives / "kitti_tracking" / "truth" / "overtaking.json").read_text())
    view, ids = DriveView(scene), [mover.id for mover in PLANS["overtaking"].others]
    assert scene.findings == ()
    ego = truth["ego"]
    yaw = np.radians(ego["yaw_deg"])
    camera = np.array([ego["x_m"], ego["y_m"]]).T + 0.3 * np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
    start = camera[0]  # the sequence's own zero
    assert np.abs(view.ego_m[:, :2] - (camera - start)).max() < 1e-3  # of the Mercator projection over 400 m
    assert np.abs(view.ego_speed_mps - ego["speed_mps"]).max() < 1e-4
    assert view.present.sum() > 500
    for row, number in enumerate(view.ids):
        mover = truth["actors"][ids[int(number)]]
        seen = view.present[row]
        planted = np.array([mover["x_m"], mover["y_m"]]).T - start
        assert np.abs(view.place_m[row, seen, :2] - planted[seen]).max() < 2e-3
        assert view.size_m[row].tolist() == pytest.approx(mover["size_m"])
        assert np.abs((view.yaw_deg[row, seen] - np.array(mover["yaw_deg"])[seen] + 180) % 360 - 180).max() < 1e-3


def test_what_is_to_the_right_of_the_camera_is_to_the_right(tmp_path: Path) -> None:
    scene = read(write(tmp_path, label(0, hidden=2), label(2, turn=0.0, cut=0.25)), KittiTracking())
    (car,) = scene.facts.actors
    assert np.nan_to_num(car.occluded.array, nan=-1).tolist() == [[2], [-1], [0]]
    assert np.nan_to_num(car.truncated.array, nan=-1).tolist() == [[0], [-1], [0.25]]
    assert car.track.place_m.array[0].tolist() == [10.0, -2.0, -1.7]
    assert car.track.yaw_deg.array[[0, 2], 0].tolist() == [0.0, -90.0]
    assert np.isnan(car.track.place_m.array[1]).all()
    assert (car.box.size_m, car.box.middle_m) == ((4.0, 1.8, 1.5), (0.0, 0.0, 0.75))
    assert scene.facts.times_s.tolist() == [0.0, 0.1, 0.2]
    assert scene.facts.cameras == ()


@pytest.mark.parametrize(
    ("lines", "finding", "measured"),
    [
        ([label(0).rpartition(" ")[0]], "bad_line", 1),
        ([f"{label(0)} 0.9 1"], "bad_line", 1),
        ([label(0, x="left"), label(0, z="nan"), label(-1)], "bad_line", 3),
        ([label(0, track=-1)], "bad_line", 1),
        ([label(200_000, 2)], "bad_line", 1),
        ([label(1, 2), label(0, 2)], "frames_out_of_order", 1),
        ([label(0, 2), label(0, 2, x=3.0), label(1, 2)], "two_places_at_once", 2),
        ([label(0, 2, x=-1000.0, z=-1000.0)], "unusable_box", 1),
        ([label(0, 2, width=0.0)], "box_without_size", 0),
        ([label(0, 2), label(1, 2, width=3.0)], "size_varies", 1.2),
        ([label(0, 2), label(1, 2, word="Van")], "category_changes", 2),
        ([label(0, 2, word="Boat")], "unknown_category", None),
    ],
)
def test_what_is_wrong_with_labels_is_told(
    tmp_path: Path, lines: list[str], finding: str, measured: float | None
) -> None:
    passed = "0 -1 DontCare -1 -1 -10 1 1 1 1 -1 -1 -1 -1 -1 -1 -1"
    scene = read(write(tmp_path, *lines, f"{label(2)} 0.9", passed), KittiTracking())  # a tracker adds its score
    (only,) = scene.findings
    assert only.name == finding
    assert only.measured == pytest.approx(measured)
    assert "1" in {actor.id for actor in scene.facts.actors}


def test_of_a_cut_file_the_last_frame_is_left_out(tmp_path: Path) -> None:
    """Of the labels of frame 2 nobody knows how many there were."""
    root = write(tmp_path, label(0), label(1), label(2))
    (path,) = (root / "label_02").glob("*.txt")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    scene = read(root, KittiTracking())
    assert [found.name for found in scene.findings] == ["cut"]
    assert scene.facts.times_s.tolist() == [0.0, 0.1]


def test_a_file_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no labels of KITTI"):
        KittiTracking().scenes(tmp_path)
    for lines, told in (
        (("0 -1 DontCare",), "there are no labels but DontCare"),
        (("hello",), "no line is a label"),
    ):
        with pytest.raises(RawDataError, match=f"no_labels: {told}"):
            read(write(tmp_path, *lines), KittiTracking())


def test_tables_too_large_for_memory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match="too_large: 101 tracks at 199999 times"):
        read(write(tmp_path, *(label(0, track) for track in range(100)), label(199_998, 100)), KittiTracking())


def test_without_calibration_oxts_say_nothing_and_less_oxts_say_less(sample_drives: Path, tmp_path: Path) -> None:
    root = tmp_path / "k"
    shutil.copytree(sample_drives / "kitti_tracking", root)
    assert not any(inspect(KittiTracking(), root).missing[want] for want in KittiTracking.expected_files[:3])
    oxts = root / "oxts" / "overtaking.txt"
    lines = oxts.read_text().splitlines()
    lat, lon, *rest = lines[101].split()
    broken = ["x y z", " ".join(["nan", lon, *rest]), " ".join([lat, "181", *rest])]
    oxts.write_text("\n".join([*lines[:100], *broken, *lines[103:200]]))
    scene = read(root, KittiTracking())
    assert (found(scene)["unusable_pose"].measured, found(scene)["no_ego_pose"].measured) == (3, len(lines) - 200)
    view = DriveView(scene)
    assert np.flatnonzero(np.isnan(view.ego_m[:200, 0])).tolist() == [100, 101, 102]
    assert not view.present[:, 200:].any()
    oxts.write_text(lines[0])
    assert found(read(root, KittiTracking()))["no_ego_pose"].measured == len(lines) - 1
    (root / "calib" / "overtaking.txt").write_text("P0: 1 2 3\nR_rect x\n\n")
    scene = read(root, KittiTracking())
    assert [f.name for f in scene.findings] == ["bad_calibration", "bad_calibration", "no_calibration"]
    assert scene.facts.frame == "ego"
    (root / "calib" / "overtaking.txt").unlink()
    assert [f.name for f in read(root, KittiTracking()).findings] == ["no_calibration"]


def test_a_camera_is_known_where_it_has_pictures(sample_drives: Path, tmp_path: Path) -> None:
    root = tmp_path / "k"
    shutil.copytree(sample_drives / "kitti_tracking", root)
    (root / "image_02" / "overtaking").mkdir(parents=True)
    Image.new("L", (1242, 375)).save(root / "image_02" / "overtaking" / "000000.png")
    scene = read(root, KittiTracking())
    assert (scene.video.path, scene.video.frames) == ("image_02/overtaking", len(scene.facts.times_s))
    (root / "image_02" / "overtaking" / "000005.png").write_bytes(b"no picture, but there")
    pictures = _pictures(SimpleNamespace(path=root, name="overtaking"))
    assert pictures.times_s.tolist() == [0, 0.5], "ten a second"
    assert pictures.on_screen(0.6, 10).tolist() == [0, 0, 0, 0, 0, 1, 1]
    (ref,) = KittiTracking().scenes(root).scenes
    (before,) = KittiTracking().scenes(sample_drives / "kitti_tracking").scenes
    assert ref.stamp != before.stamp
    footage = KittiTracking().footage(SceneFiles(root, ref), scene)
    assert next(iter(footage.frames())).shape == (375, 1242, 3)


def test_what_the_camera_sees_is_led_back_to_the_imu() -> None:
    """From the IMU to the lidar, to the camera, and rectified; a matrix that is no rotation leads nowhere."""
    rng = np.random.default_rng(1)
    rectify, camera, lidar = Rotation.random(3, rng).as_matrix()
    a, b, point = rng.normal(size=(3, 3))
    told = {"rectify": rectify, "camera_from_lidar": np.c_[camera, a], "lidar_from_imu": np.c_[lidar, b]}
    back = _imu_from_camera(told)
    np.testing.assert_allclose(back @ [*(rectify @ (camera @ (lidar @ point + b) + a)), 1], point)
    assert _imu_from_camera(told | {"rectify": 1.01 * rectify}) is None
    assert _imu_from_camera(told | {"rectify": -rectify}) is None, "it mirrors"


def test_marks_and_turns_that_disagree_are_measured_as_a_plain_projection_does(tmp_path: Path) -> None:
    """Corners turned about the axis downwards, seen by a camera whose pixels are no squares; marks are off by a third.

    What is cut off, behind the camera or nowhere has no say, nor have angles beyond a half turn.
    """
    rng = np.random.default_rng(9)
    projection = np.array([[700, 0, 600, 45], [0, 650, 180, -20], [0, 0, 1, 0.1]])
    lines, shares, off = [], [], []
    for n in range(32):
        height, width, length = rng.uniform((1.2, 1.5, 3), (2, 2.5, 6))
        x, y, z, turn = rng.uniform((-5, 1.2, 9, -3), (5, 2, 30, 3)).tolist()
        x, z = 1500.0 if n == 31 else x, 2.9 if n == 29 else z
        truncated = 0.1 if n == 30 else 0
        about_y = Rotation.from_euler("y", turn).as_matrix()
        corners = [
            about_y @ (length * a, -height * c, width * b) + (x, y, z)
            for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (0, 1)
        ]  # fmt: skip
        seen = np.array([projection @ [*corner, 1] for corner in corners])
        seen = seen[:, :2] / seen[:, 2:]
        low, high = seen.min(0), seen.max(0)
        beside = (high - low) * (rng.uniform(0.05, 0.3, 2) if n < 29 else 0.01)  # what has no say is off the middle
        both = (high - low - beside).prod()
        shares.append(both / (2 * (high - low).prod() - both))
        bearing, error = np.arctan2(x, z), 0.5 if n in {0, 29, 31} else rng.uniform(0.15, 0.4)
        alpha = (turn - bearing - error + np.pi) % (2 * np.pi) + (-np.pi if n else np.pi)
        off.append(error)
        marks = " ".join(f"{v:.6f}" for v in (*low + beside, *high + beside))
        numbers = f"{height:.9f} {width:.9f} {length:.9f} {x:.9f} {y:.9f} {z:.9f} {turn:.9f}"
        lines.append(f"{n} {n % 4} Car {truncated} 0 {alpha:.9f} {marks} {numbers}")
    write(tmp_path, *lines)
    (tmp_path / "calib").mkdir()
    (tmp_path / "calib" / "0000.txt").write_text("P2: " + " ".join(map(str, projection.ravel())) + "\n")
    findings = read(tmp_path, KittiTracking()).findings
    told = {
        "turns_disagree": (round(float(np.degrees(np.median([*off[1:29], off[30]]))), 1), 10.0),
        "boxes_off_the_picture": (round(float(np.median(shares[:29])), 3), 0.7),
    }
    for name, known in told.items():
        found_of = {one.subject: (one.measured, one.limit) for one in findings if one.name == name}
        assert found_of == dict.fromkeys("0123", known)


def test_poses_are_those_of_the_devkit_written_out_plainly() -> None:
    """Mercator at the first latitude, matrices multiplied frame by frame; an IMU, a camera on it, at any turn."""
    rng = np.random.default_rng(12)
    rows = rng.uniform(-1, 1, (8, 30)) * [0.001, 0.001, 30, *[1.5] * 3, *[20] * 5, *[1] * 19] + [49.01, 8.43, *[0] * 28]
    rows[[5, 6, 7], [0, 1, 2]] = 89.1, -180.1, 9001
    mounted = np.c_[Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)]
    text = "\n".join(" ".join(f"{v:.12f}" for v in row) for row in rows) + "\n1 2 3\nno number\n"
    files: Any = SimpleNamespace(text=lambda _: text)
    findings = Findings()
    poses = read_oxts(files, Path("oxts.txt"), Calibration({}, mounted), findings)
    assert [(one.name, one.measured, one.limit) for one in findings.items] == [("unusable_pose", 5, 0)]
    scale = np.cos(rows[0, 0] * np.pi / 180)
    places = []
    for lat, lon, alt, roll, pitch, yaw, north, east, _, _, up, *_ in rows[:5].tolist():
        imu = np.eye(4)
        about = [
            Rotation.from_euler(axis, angle).as_matrix() for axis, angle in zip("zyx", (yaw, pitch, roll), strict=True)
        ]
        imu[:3, :3] = about[0] @ about[1] @ about[2]
        imu[0, 3] = scale * lon * np.pi * 6378137 / 180
        imu[1, 3] = scale * 6378137 * np.log(np.tan((90 + lat) * np.pi / 360))
        imu[2, 3] = alt
        camera = imu @ [*mounted, [0, 0, 0, 1]]
        n = len(places)
        places.append(camera[:3, 3])
        np.testing.assert_allclose(poses.place_m[n], camera[:3, 3] - places[0], atol=1e-6)
        np.testing.assert_allclose(
            poses.axes[n], np.stack([camera[:3, 2], -camera[:3, 0], -camera[:3, 1]], 1), atol=1e-9
        )
        np.testing.assert_allclose(poses.velocity_mps[n], [east, north, up])
    assert np.isnan(poses.place_m[5:]).all()
    text = "no number\n"
    assert read_oxts(files, Path("oxts.txt"), Calibration({}, mounted), Findings()) is None


@pytest.mark.parametrize(
    ("lat", "lon", "alt", "sound"), [(89, -180, 9000, 1), (-89, 180, -9000, 1), (89.1, 0, 0, 0), (0, 0, -9001, 0)]
)
def test_latitudes_and_heights_of_roads(lat: float, lon: float, alt: float, sound: bool) -> None:
    files: Any = SimpleNamespace(text=lambda _: f"{lat} {lon} {alt} 0 0 0 0 0 0 0 0\n")
    poses = read_oxts(files, Path("x"), Calibration({}, np.eye(4)[:3]), Findings())
    assert (poses is not None) == sound


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({}, True),
        ({(0, 0): -700}, False),
        ({(1, 1): 0}, False),
        ({(2, 2): 0}, False),
        ({(0, 0): 1, (1, 1): 1}, False),
    ],
)
def test_a_camera_stands_where_its_projection_is_nothing(
    tmp_path: Path, changes: dict[Any, float], known: bool
) -> None:
    """0.3 m to the right, 0.2 m up and 0.1234567 m ahead of the grey camera; of rotation matrices 9 numbers will do."""
    lens = np.array([[700.0, 0, 30], [0, 650, 18], [0, 0, 1]])
    projection = np.c_[lens, -lens @ [0.3, -0.2, 0.1234567]]
    for at, value in changes.items():
        projection[at] = value
    root = write(tmp_path, label(0), label(9))
    (root / "calib").mkdir()
    text = "\n".join(
        [
            "P2 " + " ".join(map(str, projection.ravel().tolist())),
            "R_rect 1 0 0 0 1 0 0 0 1",
            "P1: 1e6 2",
            "P3: 1e6" + " 2" * 11,
        ]
    )
    (root / "calib" / "0000.txt").write_text(text)
    (root / "image_02" / "0000").mkdir(parents=True)
    Image.new("L", (62, 37)).save(root / "image_02" / "0000" / "000003.png")
    scene = read(root, KittiTracking())
    assert [(one.name, one.measured, one.limit) for one in scene.findings] == [
        ("bad_calibration", n, 12) for n in (2, 12)
    ]
    assert [camera.model_dump() for camera in scene.facts.cameras] == [
        {
            "name": "image_02", "width": 62, "height": 37, "focal_px": (700, 650), "centre_px": (30, 18),
            "ego_from_camera": ((0, 0, 1), (-1, 0, 0), (0, -1, 0)), "place_m": (0.123457, -0.3, 0.2),
        }
    ] * known  # fmt: skip
    assert (scene.video.fps, scene.video.frames) == (10, 10)
