"""Doubts about drives of any format: made logs at their limits, logs in wrong conventions, samples and real ones."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
import shapely
from scipy.spatial.transform import Rotation

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Video
from pipeline.geometry.angles import turned_about_z
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader
from pipeline.worlds.drive import quality_checks
from pipeline.worlds.drive.facts import Actor, ActorTrack, Controls, DriveCamera, DriveScene, Ego, Lane, VehicleBox
from pipeline.worlds.drive.quality_checks import beyond, examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from pipeline.worlds.drive.readers.kitti_tracking import KittiTracking
from pipeline.worlds.drive.view import DriveView
from pipeline.worlds.registry import examined
from tests.conftest import REAL_DATA
from tests.worlds.drive.drives import box, drive_of, pose, read, track, write_log

LOGGED = range(31)
TIMES_S = np.arange(10) / 10


def straight(speed_mps: float = 10.0) -> np.ndarray:
    return np.stack([speed_mps * TIMES_S, 0 * TIMES_S, 0 * TIMES_S], axis=-1)


def test_steps_are_longer_than_the_speed_about_them_explains() -> None:
    assert np.abs(beyond(TIMES_S, straight())).max() < 1e-9
    moved = straight()
    moved[5:, 1] += 5.0  # from one lane to beyond the next
    assert beyond(TIMES_S, moved).round(3).tolist() == [0, 0, 0, 0, round(26**0.5 - 1, 3), 0, 0, 0, 0]
    there_and_back = straight()
    there_and_back[5, 1] += 5.0
    assert np.flatnonzero(beyond(TIMES_S, there_and_back) > 2).tolist() == [4, 5]
    assert beyond(np.array([0.0, 5.0]), np.array([[0.0, 0, 0], [499.0, 0, 0]])).max() < 0  # long ago
    assert beyond(np.array([0.0, 5.0]), np.array([[0.0, 0, 0], [510.0, 0, 0]])).tolist() == [10.0]
    assert beyond(np.array([0.0, 1.0]), np.array([[0.0, 0, 0], [30.0, 0, 0]])).tolist() == [0.0]  # not long ago
    assert len(beyond(TIMES_S[:1], moved[:1])) == 0


def test_who_brakes_as_hard_as_can_be_does_not_jump() -> None:
    speed = np.maximum(20 - 10 * TIMES_S, 0)
    place = np.stack([np.cumsum(speed) / 10, 0 * speed, 0 * speed], axis=-1)
    assert beyond(TIMES_S, place).max() < 0.5


def scene_of(folder: Path, *tracks: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [row for track in tracks for row in track]
    scene = read(write_log(folder, rows, [pose(s) for s in LOGGED]), Argoverse2())
    return {"scene": scene, "found": {(f.name, f.subject): f for f in examine(scene)}}


def test_a_track_that_jumps_is_left_out_where_it_does(tmp_path: Path) -> None:
    jumper = [box(s, ty_m=8.0 if s >= 15 else 0.0) for s in LOGGED]
    made = scene_of(tmp_path, jumper, [box(s, track="b", tx_m=30.0) for s in LOGGED])
    (jump,) = made["found"].values()
    assert (jump.name, jump.subject, jump.stretches) == ("track_jumps", "a", ((1.4, 1.5),))
    assert jump.measured == 7.062, "8 m to the side and 1 m ahead, of which its speed explains 1 m"
    view = DriveView(examined(made["scene"]))
    assert np.flatnonzero(~view.present[view.row("a")]).tolist() == [14, 15]


def test_our_own_pose_may_jump_too(tmp_path: Path) -> None:
    poses = [pose(s, tx_m=100.0 if s < 10 else 150.0) for s in LOGGED]
    scene = read(write_log(tmp_path, [box(s) for s in LOGGED], poses), Argoverse2())
    assert {f.subject for f in examine(scene)} == {"ego", "a"}  # whose place rests on it
    assert np.flatnonzero(np.isnan(DriveView(examined(scene)).ego_m[:, 0])).tolist() == [9, 10]


def test_vehicles_in_one_another_are_doubted_while_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality_checks, "_PAIRS", 4 * 3**2)  # four times at once
    through = [box(s, track="b", tx_m=25.9 - s) for s in LOGGED]  # comes towards us, through the car ahead
    made = scene_of(tmp_path, [box(s) for s in LOGGED], through, [box(s, track="c", tz_m=9.0) for s in LOGGED])
    assert set(made["found"]) == {("boxes_overlap", "a"), ("boxes_overlap", "b")}
    overlap = made["found"]["boxes_overlap", "a"]
    assert overlap.measured == 2, "the middles are 1.9 m apart at 1.4 s and 0.1 at 1.6, but 2.1 at 1.8"
    assert overlap.stretches == ((1.2, 1.8),)
    assert "b" in overlap.message
    pair = [box(s, track="p", category="PEDESTRIAN") for s in LOGGED]
    assert scene_of(tmp_path / "2", [box(s) for s in LOGGED], pair)["found"] == {}  # one within a car


def test_a_track_of_our_own_car_is_no_other_car(tmp_path: Path) -> None:
    made = scene_of(
        tmp_path, [box(s, tx_m=0.2) for s in LOGGED], [box(s, track="b", tx_m=-0.9 + s / 10) for s in LOGGED]
    )
    assert made["found"]["second_ego", "a"].measured == 1.0
    assert made["found"]["second_ego", "a"].stretches is None
    assert ("second_ego", "a") in made["found"]
    view = DriveView(examined(made["scene"]))
    assert not view.present[view.row("a")].any()


READERS = (("av2", Argoverse2()), ("carla", Carla()), ("kitti", KittiTracking()))


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_samples_are_beyond_doubt(name: str, reader: Reader, sample_drives: Path) -> None:
    beyond_doubt(sample_drives / reader.name, reader)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("name", "reader"), READERS)
def test_real_logs_are_beyond_doubt(name: str, reader: Reader) -> None:
    beyond_doubt(REAL_DATA / "driving" / name, reader)


def beyond_doubt(root: Path, reader: Reader) -> None:
    for ref in reader.scenes(root).scenes:
        assert examine(read(root, reader, ref.id.partition("/")[2])) == (), ref.id


# ---- what a log states twice: mirrored and shifted boxes, velocities and steering against places

PARKED = ((30.0, 12.0), (45.0, -9.0), (20.0, 40.0), (55.0, 25.0), (10.0, -15.0))


def doubts(scene: DriveScene) -> set[str]:
    return {f.name for f in (*scene.findings, *examine(scene)) if f.severity == "doubt"}


Frame = dict[str, np.ndarray]


def scaled(rows: Frame, by: float, *names: str) -> Frame:
    return rows | {name: rows[name] * by for name in names or ("tx_m", "ty_m", "tz_m")}


def later(rows: Frame, by: float) -> Frame:
    start = rows["timestamp_ns"].min() // 10**12 * 10**12  # of boxes and poses alike
    return rows | {"timestamp_ns": start + ((rows["timestamp_ns"] - start) * by).astype(np.int64)}


def lagging(poses: Frame, lag_s: float) -> Frame:
    at = poses["timestamp_ns"]
    return poses | {n: np.interp(at + lag_s * 1e9, at, poses[n]) for n in poses if n != "timestamp_ns"}


def mirrored(rows: Frame) -> Frame:
    return scaled(rows, -1, "ty_m", "qx", "qz")


# What a reader of other conventions makes of a log's boxes and poses, and the doubts of which one tells.
ATTACKS: dict[str, tuple[Callable[[Frame, Frame], tuple[Frame, Frame]], set[str]]] = {
    "as it is": (lambda boxes, poses: (boxes, poses), set()),
    "our way in feet": (lambda boxes, poses: (boxes, scaled(poses, 3.2808)), {"static_things_drift"}),
    "our way in tens": (lambda boxes, poses: (boxes, scaled(poses, 0.1)), {"static_things_drift"}),
    "boxes in feet": (lambda boxes, poses: (scaled(boxes, 3.2808), poses), {"static_things_drift"}),
    "poses 1 s late": (lambda boxes, poses: (boxes, lagging(poses, 1.0)), {"static_things_drift"}),
    "our car turned": (lambda boxes, poses: (boxes, turned_poses(poses, 15.0)), {"static_things_drift"}),
    "ten times as fast": (lambda boxes, poses: (later(boxes, 0.1), later(poses, 0.1)), {"other_pace", "two_ego_poses"}),
    "ten times as slow": (lambda boxes, poses: (later(boxes, 10), later(poses, 10)), {"other_pace"}),
    "turns conjugate": (lambda boxes, poses: (scaled(boxes, -1, "qx", "qy", "qz"), poses), {"moves_sideways"}),
    "mirrored": (lambda boxes, poses: (mirrored(boxes), mirrored(poses)), {"against_the_road"}),
    "w last": (lambda boxes, poses: (w_last(boxes), w_last(poses)), {"turns_lean", "moves_sideways"}),
}  # fmt: skip
QUAT = ["qw", "qx", "qy", "qz"]


def w_last(rows: Frame) -> Frame:
    return rows | dict(zip(QUAT, [rows[n] for n in QUAT[1:] + QUAT[:1]], strict=True))


def turned_poses(poses: Frame, by_deg: float) -> Frame:
    turn = Rotation.from_quat(np.column_stack([poses[n] for n in QUAT]), scalar_first=True)
    quat = (turn * Rotation.from_euler("z", by_deg, degrees=True)).as_quat(scalar_first=True)
    return poses | dict(zip(QUAT, quat.T, strict=True))


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", ["junction", pytest.param("real", marks=pytest.mark.real_data)])
def test_no_convention_is_taken_for_another_in_silence(
    tmp_path: Path, sample_drives: Path, name: str, attack: str
) -> None:
    """A log whose boxes or poses are read otherwise than they were written is refused, or all of it is in doubt."""
    folder = sample_drives / "argoverse2" / name
    if name == "real":
        (folder,) = (REAL_DATA / "driving" / "av2").iterdir()
    change, told = ATTACKS[attack]
    made = tmp_path / "l1"
    made.mkdir()
    (made / "map").symlink_to(folder / "map")
    (boxes_file,) = folder.glob("annotations*.feather")
    tables = [pyarrow.feather.read_table(f) for f in (boxes_file, folder / "city_SE3_egovehicle.feather")]
    frames = [{n: table[n].to_numpy().copy() for n in table.column_names} for table in tables]
    for file, frame in zip((boxes_file.name, "city_SE3_egovehicle.feather"), change(*frames), strict=True):
        pyarrow.feather.write_feather(pa.table(frame), made / file)
    (ref,) = Argoverse2().scenes(tmp_path).scenes
    if "turns_lean" in told:
        with pytest.raises(RawDataError, match="turns_lean"):
            Argoverse2().read(SceneFiles(tmp_path, ref))
        return
    if "two_ego_poses" in told and name == "real":  # rounded to times that differ by less than their pairs
        with pytest.raises(RawDataError, match="two_ego_poses"):
            Argoverse2().read(SceneFiles(tmp_path, ref))
        return
    scene = read(tmp_path, Argoverse2())
    found = examine(scene)
    about = {f.name: {g.subject for g in found if g.name == f.name} for f in found if f.stretches is None}
    everyone = {actor.id for actor in scene.facts.actors}
    assert {n for n, subjects in about.items() if subjects >= everyone} & told if told else not found


@pytest.mark.parametrize("theirs_mps", [20.0, -20.0, -30.0])
def test_traffic_of_one_speed_is_no_standing_thing(tmp_path: Path, theirs_mps: float) -> None:
    """Cars that all keep a speed would stand if our way were another one; what moves where it heads has no say."""
    turned = {"qw": 1.0, "qz": 0.0} if theirs_mps > 0 else {"qw": 0.0, "qz": 1.0}
    rows = [
        box(s, track=f"car-{n}", tx_m=20.0 * n + (theirs_mps - 10) * s / 10, ty_m=4.0, **turned)
        for n in range(5)
        for s in range(41)
    ]
    scene = read(write_log(tmp_path, rows, [pose(s) for s in range(41)]), Argoverse2())
    assert examine(scene) == ()


@pytest.mark.real_data
@pytest.mark.parametrize("change", ["none", "mirror", "aside", "ahead"])
def test_real_boxes_in_space_lie_where_they_are_marked_in_the_picture(tmp_path: Path, change: str) -> None:
    shutil.copytree(REAL_DATA / "driving" / "kitti", tmp_path / "kitti")
    path = tmp_path / "kitti" / "label_02" / "0012.txt"
    lines = [line.split() for line in path.read_text().splitlines()]
    for words in lines:
        x, y, z, turn = map(float, words[13:17])
        x, turn = (-x, np.pi - turn) if change == "mirror" else (x, turn)
        x, z = x + 2 * (change == "aside"), z + 3 * (change == "ahead")
        if words[2] != "DontCare":
            words[13:17] = map(str, (x, y, z, turn))
    path.write_text("\n".join(map(" ".join, lines)) + "\n")
    scene = read(tmp_path / "kitti", KittiTracking(), "0012")
    assert ("boxes_off_the_picture" in doubts(scene)) == (change != "none")


@pytest.mark.parametrize(
    ("column", "mark", "told"),
    [
        (0, "664.2 191.7 853.8 328.8", False),
        (0, "346.2 191.7 535.8 328.8", True),
        (700, "722.5 191.7 941.2 328.8", False),
    ],
)
def test_a_box_is_marked_where_its_corners_are_seen(tmp_path: Path, column: int, mark: str, told: bool) -> None:
    """A car of 4 x 1.8 x 1.5 m, 10 m ahead and 2 m to the right, heading away; or its mirror image in the picture.

    Or, by the fourth column of its projection, of a camera 1 m to the left. And two cars that are marked and nowhere in
    space, which tell nothing of the others.
    """
    line = f"{{}} {{}} Car 0 0 0 {mark} 1.5 1.8 4.0 {{}} 1.7 10.0 {-np.pi / 2}\n"
    for part, text in (
        ("label_02", "".join(line.format(n, *of) for n in range(10) for of in ((1, 2.0), (2, -1200.0), (3, 1200.0)))),
        ("calib", f"P2: 700 0 600 {column} 0 700 180 0 0 0 1 0\n"),
    ):
        (tmp_path / part).mkdir()
        (tmp_path / part / "0000.txt").write_text(text)
    assert doubts(read(tmp_path, KittiTracking())) == {"unusable_box", *(["boxes_off_the_picture"] if told else [])}


REAL_KITTI = REAL_DATA / "driving" / "kitti" / "label_02"


@pytest.mark.real_data
@pytest.mark.parametrize(("change", "told"), [("none", False), ("negated", True), ("by 9.5", False), ("by 10.5", True)])
@pytest.mark.parametrize("name", ["0003", "0012"])
def test_real_boxes_turn_as_their_own_lines_say_of_the_camera(
    tmp_path: Path, name: str, change: str, told: bool
) -> None:
    """Without calibration, so that no picture tells."""
    (tmp_path / "label_02").mkdir()
    lines = [line.split() for line in (REAL_KITTI / f"{name}.txt").read_text().splitlines()]
    for words in lines:
        turn = float(words[16])
        degrees = {"none": 0.0, "negated": np.degrees(-2 * turn), "by 9.5": 9.5, "by 10.5": -10.5}[change]
        words[16] = str(turn + np.radians(degrees))
    (tmp_path / "label_02" / f"{name}.txt").write_text("\n".join(map(" ".join, lines)) + "\n")
    assert ("turns_disagree" in doubts(read(tmp_path, KittiTracking(), name))) == told


@pytest.mark.parametrize(("count", "told"), [(9, False), (10, True)])
@pytest.mark.parametrize("constant", [False, True])
def test_angles_to_the_camera_that_nobody_measured_tell_nothing(
    tmp_path: Path, count: int, constant: bool, told: bool
) -> None:
    """Converters write one number on all lines."""
    (tmp_path / "label_02").mkdir()
    alpha = [0.0 if constant else 0.001 * n for n in range(count)]
    line = "{} 1 Car 0 0 {} 0 0 9 9 1.5 1.8 4.0 2.0 1.7 10.0 -1.57"
    text = "\n".join(line.format(n, a) for n, a in enumerate(alpha))
    (tmp_path / "label_02" / "0000.txt").write_text(text + "\n")
    assert ("turns_disagree" in doubts(read(tmp_path, KittiTracking()))) == (told and not constant)


AHEAD = ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))


def leaning(up: float) -> tuple[tuple[float, float, float], ...]:
    """A camera whose axis has a part upwards, turned about the axis to the right."""
    level = float(np.sqrt(1 - up**2))
    return (0.0, up, level), (-1.0, 0.0, 0.0), (0.0, -level, up)


def rolled(cosine: float) -> tuple[tuple[float, float, float], ...]:
    """A level camera of whose picture down is down by a cosine."""
    sine = float(np.sqrt(1 - cosine**2))
    return (0.0, 0.0, 1.0), (-cosine, sine, 0.0), (-sine, -cosine, 0.0)


@pytest.mark.parametrize(
    ("change", "measured", "limit"),
    [
        ({}, None, None),
        ({"centre_px": (74.9, 40.0)}, None, None),
        ({"centre_px": (75.1, 40.0)}, 0.251, 0.25),
        ({"centre_px": (50.0, 19.9)}, 0.251, 0.25),
        ({"focal_px": (990.0, 990.0)}, None, None),
        ({"focal_px": (1010.0, 1010.0)}, 10.1, 10.0),
        ({"focal_px": (9.9, 9.9)}, 10.101, 10.0),
        ({"focal_px": (59.0, 50.0)}, None, None),
        ({"focal_px": (61.0, 50.0)}, 1.22, 1.2),
        ({"focal_px": (50.0, 61.0)}, 1.22, 1.2),
        ({"place_m": (12.0, -15.9, 1.0)}, None, None),
        ({"place_m": (12.0, -16.0, 1.0)}, 20.025, 20.0),
        ({"place_m": None}, None, None),
        ({"ego_from_camera": None}, None, None),
        ({"ego_from_camera": leaning(0.69)}, None, None),
        ({"ego_from_camera": leaning(0.71)}, 0.71, 0.7),
        ({"ego_from_camera": leaning(-0.9)}, None, None),  # looking down it has no upright picture
        ({"ego_from_camera": rolled(0.51)}, None, None),
        ({"ego_from_camera": rolled(0.49)}, -0.49, -0.5),
        ({"video": (204, 160)}, None, None),  # 2% wider than the picture
        ({"video": (205, 160)}, 1.025, 1.02),
        ({"video": (100, 82)}, 1.025, 1.02),
    ],
)
def test_calibrations_at_their_limits(change: dict[str, Any], measured: float | None, limit: float | None) -> None:
    """Of a picture of 100 by 80 pixels, the first of what is wrong."""
    width, height = change.pop("video", (100, 80))
    known = {"focal_px": (50, 50), "centre_px": (50, 40), "ego_from_camera": AHEAD, "place_m": (1.5, 0.0, 1.2)}
    camera = DriveCamera(name="front", width=100, height=80, **(known | change))
    video = Video(path="front.mp4", fps=10, frames=21, width=width, height=height)
    view: Any = SimpleNamespace(camera=camera, scene=SimpleNamespace(video=video))
    told = list(quality_checks._calibration(view))
    assert [(one.measured, one.limit) for one in told] == ([] if measured is None else [(measured, limit)])
    nothing: Any = SimpleNamespace(camera=None)
    assert list(quality_checks._calibration(nothing)) == []


def test_what_strays_is_what_a_plain_search_finds() -> None:
    """Roots of mean squares about the middle of the moments that count, as written and with all boxes shifted."""
    rng = np.random.default_rng(2)
    yaw, ego = np.cumsum(rng.uniform(0, 0.3, 9)), rng.normal(0, 20, (9, 2))
    local, known = rng.normal(0, 10, (4, 9, 2)), rng.random((4, 9)) < 0.7
    known[:, :2] = True
    axes = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in yaw])
    about = np.where(known[..., None], local, np.nan)

    def strays(about_us: np.ndarray, turns: np.ndarray) -> quality_checks._Strays:
        place = np.einsum("tij,ntj->nti", turns, about_us) + ego
        return quality_checks._Strays.of(place, known, np.broadcast_to(turns, (4, 9, 2, 2)))

    for shift in (np.zeros(2), np.array([3.0, -1.5])):
        plain = []
        for thing in range(4):
            places = np.array([ego[t] + axes[t] @ (local[thing, t] + shift) for t in np.flatnonzero(known[thing])])
            plain.append(np.sqrt(((places - places.mean(0)) ** 2).sum(1).mean()))
        assert strays(about, axes).after(shift) == pytest.approx(plain)
    place = rng.normal(0, 30, (4, 1, 2))
    about = np.einsum("tji,ntj->nti", axes, place - ego) - [2.5, -0.75]
    assert quality_checks._fitted(strays(about, axes)) == pytest.approx([2.5, -0.75], abs=1e-3)
    straight = np.repeat(np.eye(2)[None], 9, axis=0)
    assert quality_checks._fitted(strays(about, straight)).tolist() == [0, 0]


def test_who_is_within_whom_is_what_shapely_says() -> None:
    """Thirty vehicles of other sizes and turns at three times, some on other levels."""
    rng = np.random.default_rng(8)
    place = np.concatenate([rng.uniform(0, 16, (30, 5, 2)), rng.choice([0.0, 1.4, 1.6, 4.0], (30, 5, 1))], axis=2)
    size = np.column_stack([rng.uniform(3, 9, 30), rng.uniform(1.5, 3, 30), np.full(30, 1.5)])
    yaw = rng.uniform(-180, 180, (30, 5))
    view: Any = SimpleNamespace(place_m=place, size_m=size, yaw_deg=yaw)
    rows, times = np.arange(2, 29), np.array([0, 2, 4])
    found = {tuple(int(n) for n in one) for one in zip(*quality_checks._in_boxes(view, rows, times), strict=True)}
    plain = set()
    for t, time in enumerate(times):
        for b, outer in enumerate(rows):
            turn = np.radians(yaw[outer, time])
            axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            half = size[outer, :2] / 2
            ring = [place[outer, time, :2] + axes @ (half * sign) for sign in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
            for a, inner in enumerate(rows):
                level = abs(place[inner, time, 2] - place[outer, time, 2]) <= 1.5
                if a != b and level and shapely.Polygon(ring).covers(shapely.Point(place[inner, time, :2])):
                    plain.add((t, a, b))
    assert found == plain
    assert len(found) > 20


@pytest.mark.parametrize(
    ("box_m", "inside"),
    [
        (None, [True, False, True, False, False]),  # a metre about its point
        (((1.0, 0.5, 0.7), (4.0, 2.0, 1.5)), [True, True, True, True, False]),
    ],
)
def test_who_is_where_our_own_car_is(box_m: Any, inside: list[bool]) -> None:
    relative = np.array([[0.9, 0.4], [2.9, 1.4], [-0.9, -0.4], [-0.9, -0.4], [3.1, 0.5]])
    relative[3] = -0.9, 1.5
    box = None if box_m is None else VehicleBox(middle_m=box_m[0], size_m=box_m[1])
    about = np.concatenate([relative, np.zeros((5, 1))], axis=1)[:, None]
    view: Any = SimpleNamespace(relative_m=about, facts=SimpleNamespace(ego=SimpleNamespace(box=box)))
    rows, times = np.arange(5), np.array([0])
    assert quality_checks._in_ego_box(view, rows, times)[:, 0].tolist() == inside
    view.facts.ego = None
    assert not quality_checks._in_ego_box(view, rows, times).any()


@pytest.mark.parametrize(
    ("times_s", "step_s", "first"),
    [
        ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], 0.2, [0, 2, 4]),
        ([0.3, 0.55, 0.9, 1.0, 1.7], 0.5, [0, 1, 3, 4]),
        ([0.19999999, 0.2, 0.39], 0.2, [0]),  # sums of steps
        ([2.0], 0.5, [0]),
    ],
)
def test_the_first_of_each_step(times_s: list[float], step_s: float, first: list[int]) -> None:
    assert quality_checks._first_of_each(np.array(times_s), step_s).tolist() == first


@pytest.mark.parametrize(
    ("inside", "runs"),
    [
        ("......", []),
        ("..##..", [(1.5, 4.0)]),
        ("##....", [(1.0, 3.0)]),
        (".....#", [(4.0, 5.5)]),
        ("#.##.#", [(1.0, 1.5), (1.5, 4.0), (4.0, 5.5)]),
        ("######", [(1.0, 5.5)]),
    ],
)
def test_stretches_reach_to_the_times_beside_them(inside: str, runs: list[tuple[float, float]]) -> None:
    times = np.array([1.0, 1.5, 3.0, 3.5, 4.0, 5.5])
    assert list(quality_checks._stretches(times, np.array([c == "#" for c in inside]))) == runs


@pytest.mark.parametrize(
    ("heading", "path", "found"),
    [
        (30.0, [2.0] * 6, 30.0),  # eastwards
        (-30.0, [2.0] * 6, 30.0),
        (180.0, [2.0] * 6, 180.0),
        (30.0, [2.0] * 5, 30.0),  # 10 m
        (30.0, [1.9] * 5, None),
        (30.0, [0.49] * 40, None),  # boxes that waver
        (30.0, [0.5] * 20, 30.0),
    ],
)
def test_angles_between_heading_and_path(heading: float, path: list[float], found: float | None) -> None:
    place = np.zeros((len(path) + 1, 3))
    place[:, 0] = np.cumsum([7.0, *path])
    off = quality_checks._off_path_deg(place, np.full(len(place), heading))
    assert off == (None if found is None else pytest.approx(found))
    place[2], lost = np.nan, quality_checks._off_path_deg(place, np.full(len(place), heading))
    assert lost is None or lost == pytest.approx(found)


def test_a_leap_counts_no_more_than_the_middle_step() -> None:
    """Six steps of 2 m along, one of 40 m across, which counts as one of 2 m: 2 m across beside 12 m along."""
    place = np.zeros((8, 3))
    place[:, 0] = [0, 2, 4, 6, 6, 8, 10, 12]
    place[4:, 1] = 40.0
    assert quality_checks._off_path_deg(place, np.zeros(8)) == pytest.approx(np.degrees(np.arctan2(2, 12)))
    turning = np.array([0.0, 20, 40, 60])  # a step is held against the middle of the headings at its ends
    steps = 5 * np.column_stack([np.cos(np.radians([10, 30, 50])), np.sin(np.radians([10, 30, 50])), np.zeros(3)])
    assert quality_checks._off_path_deg(np.vstack([np.zeros(3), np.cumsum(steps, axis=0)]), turning) == pytest.approx(
        0, abs=1e-6
    )


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([(3.0, 1.8), (3.0, 1.8), (9.0, 1.8)], None),
        ([(2.9, 1.8), (2.9, 1.8), (9.0, 1.8)], (2.9, 3.0)),
        ([(7.0, 1.8)] * 3, None),
        ([(7.1, 1.8)] * 3, (7.1, 7.0)),
        ([(4.0, 4.0)] * 3, (4.0, 7.0)),
        ([(4.0, 4.5)] * 3, (4.0, 7.0)),
        ([(2.0, 1.8)] * 2, None),  # too few
    ],
)
def test_sizes_of_cars(sizes: list[tuple[float, float]], told: tuple[float, float] | None) -> None:
    size = np.array([(*one, 1.5) for one in [*sizes, (np.nan, np.nan)]])
    names = np.array([f"t{n}" for n in range(len(size))], dtype=object)
    view: Any = SimpleNamespace(categories=np.array(["car"] * len(size), dtype=object), size_m=size, ids=names)
    found = list(quality_checks._sizes(view))
    assert [one.subject for one in found] == ([] if told is None else names.tolist())
    assert {(one.measured, one.limit) for one in found} <= {told}


@pytest.mark.parametrize(
    ("times", "ratio"), [(1.0, None), (0.52, None), (0.51, 0.494), (2.06, None), (2.07, 2.003), (-1.0, -0.968)]
)
def test_velocities_are_held_against_the_places_of_what_moves(times: float, ratio: float | None) -> None:
    """Twenty seconds at rest, with 1.9 m/s written, tell nothing; nor does a place that is not known.

    Of 13 steps at 6 m/s, and one at rest at (1.9 + 6) / 2: 468 / (468 + 15.6) of what the places change by.
    """
    said = np.repeat([[1.9, 0.0, 0.0], [6.0, 0.0, 0.0]], [200, 14], axis=0)
    place = np.zeros((214, 3))
    place[201:, 0] = 0.1 * np.cumsum(times * said[201:, 0])
    place[50] = np.nan
    tables = {name: SimpleNamespace(array=table) for name, table in (("place_m", place), ("velocity_mps", said))}

    class Track(SimpleNamespace):
        def __len__(self) -> int:
            return 214

    actor = SimpleNamespace(id="a", track=Track(first=0, stop=214, **tables))
    view: Any = SimpleNamespace(
        facts=SimpleNamespace(actors=(actor,), ego=None), ids=np.array(["a"]), times_s=np.arange(214) / 10
    )
    told = [(one.subject, one.measured, one.limit) for one in quality_checks._velocities(view)]
    assert told == ([] if ratio is None else [(name, ratio, 0.5) for name in ("a", "ego")])


# ---- against plain loops, and at limits


def beside_the_road(view: DriveView, keeps: int) -> list[tuple[int, int]]:
    """Moments that count, and those that are wrong: others and ours beside the roads, in lanes against them, and who
    comes towards us on the other side; of moments half a second apart."""
    facts = view.facts
    halves = [int(t / 0.5 + 1e-6) for t in view.times_s]
    times = [n for n, half in enumerate(halves) if half not in halves[:n]]
    roads = [shapely.Polygon([p[:2] for p in line]) for line in facts.drivable]
    lanes = [shapely.Polygon([p[:2] for p in [*lane.left, *lane.right[::-1]]]) for lane in facts.lanes]
    others, ours, held, sides = [], [], [], []
    for row, name in enumerate([*view.categories, "ego"]):
        lefts = []
        for n in times if name in {"car", "truck", "motorcyclist", "ego"} else []:
            own = name == "ego"
            place, yaw = (view.ego_m[n], view.ego_yaw_deg[n]) if own else (view.place_m[row, n], view.yaw_deg[row, n])
            speed = view.ego_speed_mps[n] if own else view.speed_mps[row, n]
            if not (speed > 2 and (own or view.distance_m[row, n] < 50)):
                continue
            point = shapely.Point(place[:2])
            if roads or lanes:
                (ours if own else others).append(not any(road.contains_properly(point) for road in roads or lanes))
            within = [lane for lane, shape in zip(facts.lanes, lanes, strict=True) if shape.intersects(point)]
            if len(within) == 1:
                along = np.subtract(within[0].centre[-1], within[0].centre[0])
                held.append(bool(along[:2] @ [np.cos(np.radians(yaw)), np.sin(np.radians(yaw))] < 0))
            left = 99.0 if own else view.relative_m[row, n, 1]
            if abs(left) < 12 and view.ego_speed_mps[n] > 2 and abs(view.heading_deg[row, n]) > 160:
                lefts.append(left)
        sides += [keeps * np.median(lefts) < 0] if lefts and keeps else []
    return [(len(one), sum(one)) for one in (others, ours, held, sides)]


def traffic(seed: int, count: int, moments: int, **facts: Any) -> DriveScene:
    """We go along x at 1 to 4 m/s, others beside us this way and that way; four times a second."""
    rng, times_s = np.random.default_rng(seed), np.arange(4 * moments // 2) / 4
    kinds = rng.choice(["car", "truck", "motorcyclist", "pedestrian"], count)

    def way(x: float, y: float, toward_deg: float) -> ActorTrack:
        gone = np.cumsum(rng.uniform(0, 5, len(times_s)).repeat(4)[: len(times_s)] / 4)[:, None]
        ahead = np.array([np.cos(np.radians(toward_deg)), np.sin(np.radians(toward_deg)), 0])
        return track(0, np.array([x, y, 0]) + gone * ahead, toward_deg + rng.uniform(-9, 9, len(times_s)))

    actors = tuple(
        Actor(
            id=f"v{n}", category=kind, source_category="x",
            track=way(*rng.uniform((-40, -16), (110, 16)), rng.choice([0, 180]) + rng.uniform(-25, 25)),
        )
        for n, kind in enumerate(kinds.tolist())
    )  # fmt: skip
    return drive_of(times_s, actors=actors, ego=Ego(track=way(0, 0, 4.0), point="rear"), **facts)


def strip(low: float, high: float, *, back: bool = False) -> Lane:
    left, right = ([(x, y, 0.0) for x in (-300.0, 300.0)] for y in (high, low))
    left, right = (right[::-1], left[::-1]) if back else (left, right)
    return Lane(id=f"{low}", kind="vehicle", centre=left, left=left, right=right)


ROAD = ((-300.0, -6.0, 0.0), (300.0, -6.0, 0.0), (300.0, 2.0, 0.0), (-300.0, 2.0, 0.0))
ROADS: dict[str, dict[str, Any]] = {
    "others beside": {"drivable": (ROAD,)},
    "others beside lanes": {"lanes": (strip(-6, 2), strip(1, 4, back=True))},
    "we beside": {"drivable": tuple(tuple((x, 40 * y + c, z) for x, y, z in ROAD) for c in (246, -80.5))},
    "against lanes": {"lanes": (strip(-60, -1), strip(-2, 60, back=True))},
    "on the right": {"map_name": "PIT"},
    "in Boston": {"map_name": "boston-seaport"},
    "on the left": {"map_name": "singapore-onenorth"},
    "nowhere": {"map_name": "Town01"},
}


@pytest.mark.parametrize("seed", [4, 6])
@pytest.mark.parametrize("name", ROADS)
def test_traffic_against_its_roads_is_what_plain_loops_count(name: str, seed: int) -> None:
    keeps = {"on the right": 1, "in Boston": 1, "on the left": -1}.get(name, 0)
    view = DriveView(traffic(seed, 22, 60, **ROADS[name]))
    counted = beside_the_road(view, keeps)
    least = zip(("others", "our own", "against", "towards"), counted, (20, 20, 20, 3), strict=True)
    wrong = [(word, n, bad) for word, (n, bad), most in least if n >= most and bad > n / 2]
    told = list(quality_checks._against_the_road(view))
    assert {one.subject for one in told} == ({*view.ids, "ego"} if wrong else set())
    if wrong:
        word, count, bad = wrong[0]
        assert {(one.measured, one.limit) for one in told} == {(round(bad / count, 3), 0.5)}
        numbers = [int(number) for number in re.findall(r"\d+", told[0].message)]
        assert (word in told[0].message, numbers) == (True, [count, bad])


@pytest.mark.parametrize(
    ("ours", "moments", "vehicles"),
    [(True, 20, 0), (True, 19, 0), (False, 20, 0), (False, 19, 0), (True, 9, 3), (True, 9, 2)],
)
def test_roads_are_judged_by_twenty_moments_or_three_who_come(ours: bool, moments: int, vehicles: int) -> None:
    """Of our car or one other at 3 m/s, beside a road far away; of who comes towards us in Pittsburgh, on the right."""
    times_s = np.arange(moments) / 2
    along = np.stack([3 * times_s, 0 * times_s, 0 * times_s], axis=-1)
    moving = track(0, along if ours else 0 * along, 0.0)
    ways = [(along + np.array([5, 3, 0]), 0.0)] * (not ours) + [
        ([40, -4 - n, 0] - along, 179.0) for n in range(vehicles)
    ]
    actors = tuple(
        Actor(id=f"v{n}", category="car", source_category="x", track=track(0, *way)) for n, way in enumerate(ways)
    )
    far = {"map_name": "pit"} if vehicles else {"drivable": (tuple((x, y + 500, z) for x, y, z in ROAD),)}
    scene = drive_of(times_s, actors=actors, ego=Ego(track=moving, point="p"), **far)
    told = list(quality_checks._against_the_road(DriveView(scene)))
    assert bool(told) == (moments == 20 or vehicles == 3)


def thing(name: str, way: FloatArray, yaw_deg: Any = 0.0, kind: str = "car", **facts: Any) -> Actor:
    return Actor(id=name, category=kind, source_category="x", track=track(0, way, yaw_deg), **facts)


def parked(
    shift_m: tuple[float, float] = (0, 0), longer: float = 1.0, off_deg: float = 0.0, late_s: float = 0.0,
    sense: float = 1.0, slower: float = 1.0,
) -> DriveScene:  # fmt: skip
    """We wind past five parked cars; of boxes and poses of another shift, length, heading or time, or mirrored."""
    fine_s = np.arange(-400, 1300) / 100
    fine_deg = 50 * np.sin(0.7 * fine_s + 0.3)
    going = slower * (4 + 3 * np.sin(0.9 * fine_s)) * np.exp(1j * np.radians(fine_deg)) / 100
    x, y, times_s = *np.cumsum([going.real, going.imag], axis=1), np.arange(91) / 10

    def pose_at(at_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.stack([np.interp(at_s, fine_s, axis) for axis in (x, y)], axis=-1), np.interp(at_s, fine_s, fine_deg)

    (true_m, true_deg), (said_m, said_deg) = pose_at(times_s - late_s), pose_at(times_s)
    said_m, said_deg = longer * said_m, said_deg + off_deg
    actors = []
    for n, place in enumerate(PARKED):
        about = turned_about_z(place - true_m, -true_deg) * (1, sense) + shift_m
        rows = np.column_stack([turned_about_z(about, said_deg) + said_m, np.full(len(times_s), 0.7)])
        actors.append(Actor(id=f"p{n}", category="car", source_category="x", track=track(0, rows, 0.0)))
    ego = Ego(track=track(0, np.column_stack([said_m, 0 * times_s]), said_deg), point="rear")
    return drive_of(times_s, actors=tuple(actors), ego=ego)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, None),
        ({"shift_m": (0.9, 0)}, None),
        ({"shift_m": (1.1, 0)}, ("m", 1.1, 1.0, "-1.1 m ahead and -0.0 m")),
        ({"shift_m": (0.8, -0.7)}, ("m", 1.063, 1.0, "-0.8 m ahead and 0.7 m to the left")),
        ({"shift_m": (29, 2)}, ("m", 29.069, 1.0, "-29.0 m")),
        ({"shift_m": (30, 5)}, None),
        ({"longer": 1 / 0.86}, None),
        ({"longer": 1 / 0.84}, ("share", 0.16, 0.15, "0.84 times as long")),
        ({"longer": 1 / 1.14}, None),
        ({"longer": 1 / 1.16}, ("share", 0.16, 0.15, "1.16 times as long")),
        ({"off_deg": 3.8}, None),
        ({"off_deg": 4.2}, ("deg", 4.2, 4.0, "-4.2 degrees")),
        ({"off_deg": -4.2}, ("deg", 4.2, 4.0, "head 4.2 degrees")),
        ({"late_s": 0.14}, None),
        ({"late_s": 0.17}, ("s", 0.175, 0.15, "-0.17 s")),
        ({"late_s": -1.1}, ("s", 1.097, 0.15, "1.10 s")),
        ({"late_s": 1.6}, ("s", 1.6, 0.15, "-1.60 s")),
        ({"late_s": -2.1}, ("s", 2.1, 0.15, "2.10 s")),
        ({"late_s": 2.9}, None),
        ({"sense": -1}, ("tracks", 5, 0, "left and right swapped")),
        ({"slower": 0.07, "shift_m": (9, 0)}, None),  # within 3 m
        ({"slower": 0.11, "shift_m": (9, 0)}, ("m", 9.0, 1.0, "-9.0 m ahead")),
    ],
)
def test_what_else_would_let_things_stand_is_told_to_its_limits(change: dict[str, Any], told: Any) -> None:
    """A metre, 15%, 4 degrees, 0.15 s; no point of a car is 30 m away, and nobody's clock 2.5 s late."""
    view = DriveView(parked(**change))
    found = list(quality_checks._drifts(view))
    subjects = {*view.ids, *([] if told and told[0] in {"m", "tracks"} else ["ego"])}
    assert {one.subject for one in found} == (subjects if told else set())
    if told:
        unit, measured, limit, words = told
        assert {(one.unit, one.limit) for one in found} == {(unit, limit)}
        assert found[0].measured == pytest.approx(measured, abs=0.006)
        assert found[0].message.startswith("5 tracks stand still only ")
        assert f"{words}" in found[0].message
        assert found[0].message.endswith(", 0 only as they are written")


def going(kind: str, speeds: list[float], lasts_s: float = 8.0, waits: float = 0.0, **facts: Any) -> DriveScene:
    """Things that go along x at their speeds, four times a second, after a share of the time at which they stand."""
    times_s = np.arange(int(4 * lasts_s) + 1) / 4
    ways = [v * np.maximum(times_s - waits * lasts_s, 0) for v in speeds]
    actors = [thing(f"v{n}", np.stack([way, 0 * way, 0 * way], -1), kind=kind) for n, way in enumerate(ways)]
    return drive_of(times_s, actors=tuple(actors), **facts)


def halting(step_m: float) -> DriveScene:
    """Pedestrians who go every other second, of a log that tells each second."""
    way = step_m * np.ceil(np.arange(13) / 2)
    actors = [thing(name, np.stack([way, 0 * way, 0 * way], -1), kind="pedestrian") for name in "abc"]
    return drive_of(np.arange(13.0), actors=tuple(actors))


def driver(speed_mps: float, grip_mps2: float = 0.0, jump_m: float = 0.0) -> DriveScene:
    """Our car alone, whose velocity is recorded, for 8 s."""
    times_s = np.arange(33) / 4
    speed = speed_mps + grip_mps2 * times_s
    way = np.cumsum(speed) / 4 + jump_m * (times_s > 4)
    place, velocity = (np.stack([axis, 0 * axis, 0 * axis], -1) for axis in (way, speed))
    return drive_of(times_s, ego=Ego(track=track(0, place, 0.0, velocity), point="rear"))


@pytest.mark.parametrize(
    ("scene", "told"),
    [
        (going("pedestrian", [0.375] * 3), (0.375, 0.5)),  # 3 m
        (going("pedestrian", [0.51, 0.51, 0.1, 0.1, 0.1]), None),  # who goes no farther than 3 m does not walk
        (going("pedestrian", [0.4, 0.4, 0.49, 0.51, 0.51]), (0.49, 0.5)),
        (going("pedestrian", [0.36] * 3), None),
        (going("pedestrian", [2.59] * 3), None),
        (going("wheelchair user", [2.61] * 3), (2.61, 2.6)),
        (going("pedestrian", [9.0] * 2), None),
        (going("pedestrian", [2.0] * 3, waits=0.6), None),
        (going("pedestrian", [4.0] * 3, waits=0.9), (0.0, 0.5)),
        (halting(0.98), (0.49, 0.5)),  # over two steps, of a log whose steps are long
        (going("bicycle", [9.0] * 3), None),
        (going("car", [0.39] * 3, 30.0), (0.39, 0.4)),
        (going("car", [0.41] * 3, 30.0), None),
        (going("car", [0.3125] * 3, 31.75), None),
        (going("car", [0.3125] * 3, 32.0), (0.312, 0.4)),  # 10 m
        (going("truck", [69.0] * 3), None),
        (going("truck", [71.0] * 3), (71.0, 70.0)),
        (going("car", [99.0] * 3, frame="ego"), None),
        (driver(69), None),
        (driver(0.5), None),
        (driver(71.2346), (71.235, 70.0)),
        (driver(5, 11.9), None),
        (driver(5, 12.1), (12.1, 12.0)),
        (driver(5, 12.1, 30.0), None),  # which `_jumps` tells
    ],
)  # fmt: skip
def test_paces_at_their_limits(scene: DriveScene, told: tuple[float, float] | None) -> None:
    found = list(quality_checks._paces(DriveView(scene)))
    assert {(one.measured, one.limit) for one in found} == ({told} if told else set())
    assert {one.subject for one in found} == ({"ego", *(actor.id for actor in scene.facts.actors)} if told else set())


@pytest.mark.parametrize(("up_m", "told"), [(3.0, False), (3.01, True), (-3.0, False), (-3.01, True)])
def test_things_stand_on_our_ground_or_near_it(up_m: float, told: bool) -> None:
    """By their feet, in the middle of all."""
    box = VehicleBox(size_m=(4, 2, 1.5))
    cars = [thing(f"v{n}", np.full((3, 3), 5 + up_m + 0.75 + 9 * (n - 1)), box=box) for n in range(3)]
    ego = Ego(track=track(0, np.full((3, 3), 5.0), 0.0), point="rear")
    view = DriveView(drive_of(np.arange(3.0), actors=tuple(cars), ego=ego))
    found = [(one.subject, one.measured, one.limit) for one in quality_checks._heights(view)]
    assert found == ([(car.id, 3.01, 3.0) for car in cars] if told else [])


def test_boxes_hold_the_point_of_their_tracks_to_half_a_metre() -> None:
    middles = [(2.49, 1.49, 9.0), (2.6, 0.0, 0.0), (-2.6, 0, 0), (0, 1.7, 0), (0, -1.51, 0)]
    boxes = [VehicleBox(size_m=(4, 2, 1), middle_m=middle) for middle in middles]
    actors = [thing(f"v{n}", np.zeros((2, 3)), box=box) for n, box in enumerate(boxes)]
    ego = Ego(track=track(0, np.zeros((2, 3)), 0.0), point="rear", box=boxes[3])
    scene = drive_of(np.arange(2.0), actors=(*actors, thing("bare", np.zeros((2, 3)))), ego=ego)
    found = [(one.subject, one.measured, one.limit) for one in quality_checks._off_middle(scene)]
    assert found == [
        (name, off, 0.5) for name, off in (("v1", 0.6), ("v2", 0.6), ("v3", 0.7), ("v4", 0.51), ("ego", 0.7))
    ]


@pytest.mark.parametrize(("times", "told"), [([299, 300, 301], False), ([299, 300.5, 301], True), ([1, 1, 901], False)])
def test_something_is_nearer_than_300_m_half_of_the_time(times: list[float], told: bool) -> None:
    """Of two, the nearer; the other is farther by 50 m."""
    ways = {name: np.array([[0, x + off, 0.0] for x in times]) for name, off in (("a", 0), ("b", 50))}
    ego = Ego(track=track(0, np.zeros((3, 3)), 0.0), point="rear")
    scene = drive_of(np.arange(3.0), actors=tuple(thing(*way) for way in ways.items()), ego=ego)
    found = [(one.subject, one.measured, one.limit) for one in quality_checks._heights(DriveView(scene))]
    assert found == ([("a", 300.5, 300), ("b", 300.5, 300)] if told else [])


@pytest.mark.parametrize(
    ("turned_deg", "against", "changes", "told"),
    [
        (20.1, 1.0, {}, 1.0),
        (19.9, 1.0, {}, None),
        (200.0, 0.8, {}, 0.8),
        (200.0, 0.7, {}, None),
        (200.0, 1.0, {"speed": 1.9}, None),
        (200.0, 1.0, {"speed": 2.1}, 1.0),
        (200.0, 1.0, {"gear": -1}, None),
        (200.0, 1.0, {"gear": 0}, 1.0),
        (200.0, 1.0, {"wheel": 0.0}, None),
        (200.0, 0.1, {"wheel": -0.3}, 0.9),
    ],
)
@pytest.mark.parametrize("ours", [True, False])
def test_turning_against_the_wheel_at_its_limits(
    turned_deg: float, against: float, changes: dict[str, float], told: float | None, ours: bool
) -> None:
    """Of ten turns in ten seconds some are to the other side than the wheel; over the half turn, too."""
    said = {"speed": 3.0, "gear": 1.0, "wheel": 0.3} | changes
    senses = np.where(np.arange(10) < round(10 * against), -1, 1)
    yaw = (np.cumsum([175.0, *senses * turned_deg / 10]) + 180) % 360 - 180
    along = np.stack([said["speed"] * np.arange(11), np.zeros(11), np.zeros(11)], -1)
    values = {"throttle": 0.0, "brake": 0.0, "steering": said["wheel"], "gear": said["gear"]}
    controls = Controls(**{name: pack(np.full(11, value), 1e-4) for name, value in values.items()})
    way = track(0, along, yaw)
    facts: dict[str, Any] = {"ego": Ego(track=way, point="rear", controls=controls)}
    if not ours:
        facts = {"actors": (thing("a", along, yaw, controls=controls),)}
    found = {
        (one.measured, one.limit) for one in quality_checks._steering(DriveView(drive_of(np.arange(11.0), **facts)))
    }
    assert found == ({(told, 0.75)} if told else set())


@pytest.mark.parametrize(
    ("apart_m", "times", "told"),
    [(0.1, 11, 6), (0.101, 11, None), (0.0, 3, 2), (0.0, 2, None)],
)
def test_doubles_stand_within_a_tenth_of_a_metre_at_two_times(apart_m: float, times: int, told: int | None) -> None:
    """A fifth of a second apart, of a log that has ten times a second."""
    place = np.tile([0.0, 4.0, 0.0], (11, 1))
    other = place + apart_m * np.array([0.6, 0, 0.8])
    other[times:] += 5
    dogs = (thing("a", place, kind="dog"), thing("b", other, kind="dog"), thing("c", place, kind="bollard"))
    view = DriveView(drive_of(np.arange(11) / 10, actors=dogs))
    found = [(one.subject, one.measured, one.limit) for one in quality_checks._doubles(view)]
    assert found == ([("a", told, 1), ("b", told, 1)] if told else [])


@pytest.mark.parametrize(
    ("times", "told"),
    [(10, ("second_ego", 0.5, 0.5)), (8, ("boxes_overlap", 4, 1)), (4, ("boxes_overlap", 2, 1)), (2, None)],
)
def test_who_is_where_we_are_half_of_the_time_is_our_own_car(times: int, told: Any) -> None:
    """Of twenty times, of which every second counts."""
    place = np.array([[0.5 if n < times else 30.0, 0.3, 0] for n in range(20)])
    actor = thing("a", place)
    ego = Ego(track=track(0, np.zeros((20, 3)), 0.0), point="rear")
    found = list(quality_checks._overlaps(DriveView(drive_of(np.arange(20) / 10, actors=(actor,), ego=ego))))
    assert [(one.name, one.measured, one.limit) for one in found] == ([told] if told else [])
    assert all("our own car" in one.message for one in found)


def test_shares_of_values_and_ways_are_what_plain_loops_find() -> None:
    """Quantiles of rows, last places, how far a way reaches, and how far it is from even movement."""
    rng = np.random.default_rng(6)
    values, known = rng.normal(size=(6, 9)), rng.random((6, 9)) < 0.6
    known[:, 4] = True
    values[~known], values[5] = np.nan, np.nan
    for share in (0.2, 0.75, 1.0):
        plain = [
            sorted(row[known[n]])[max(int(np.ceil(share * known[n].sum())) - 1, 0)] for n, row in enumerate(values[:5])
        ]
        assert quality_checks._quantile(values, share).tolist()[:5] == plain
    assert np.isnan(quality_checks._quantile(values, 0.5)[5])
    place = np.where(known[..., None], rng.normal(0, 5, (6, 9, 3)), np.nan)
    last = [way[max(np.flatnonzero(row))].tolist() for way, row in zip(place, known, strict=True)]
    assert quality_checks._last(place).tolist() == last
    for way, row in zip(place, known, strict=True):
        corners = [[end(way[row, axis]) for axis in (0, 1)] for end in (min, max)]
        assert quality_checks._extent_m(way) == pytest.approx(np.hypot(*np.subtract(*corners)))
    assert quality_checks._extent_m(np.full((3, 3), np.nan)) == 0
    known[:, :3], times_s, ego_m = True, np.cumsum(rng.uniform(0.3, 0.8, 9)), rng.normal(0, 9, (9, 2))
    plain = []
    for row in known:
        off = [axis[row] - np.polyval(np.polyfit(times_s[row], axis[row], 1), times_s[row]) for axis in ego_m.T]
        plain.append(np.sqrt((np.square(off[0]) + np.square(off[1])).mean()))
    assert quality_checks._unevenness(times_s, ego_m, known) == pytest.approx(plain)


MIRRORED = [(70.0, -60.0), (90.0, -100.0), (100.0, -120.0)]  # about our heading of 40 degrees: yaw 10, -10, -20


@pytest.mark.parametrize(
    ("others", "ours", "told"),
    [
        ([(10, 29), (70, 0)], 0, []),
        ([(10, 31), (70, 0)], 0, [("v0", 31, 30)]),
        ([(10, -31), (70, 0)], 0, [("v0", 31, 30)]),
        ([(10, 149), (70, 0)], 0, [("v0", 149, 30)]),
        ([(10, 151), (70, 0)], 0, []),  # backs up
        ([(10, 0), (70, 0)], 151, [("ego", 151, 30)]),
        ([(10, 31), (70, 35)], 0, [("ego", 0.667, 0.5), ("v0", 0.667, 0.5), ("v1", 0.667, 0.5)]),
        ([(10, 151), (70, 35)], 0, [("ego", 0.667, 0.5), ("v0", 0.667, 0.5), ("v1", 0.667, 0.5)]),
        ([(10, 31), (70, 35), (9, 0)], 0, [("v0", 31, 30), ("v1", 35, 30)]),
        ([(10, 31)], 33, [("ego", 33, 30), ("v0", 31, 30)]),
        ([*MIRRORED, *[(5, 0)] * 3], 0, [(f"v{n}", 3, 2) for n in range(6)]),
        ([*MIRRORED, (5, -60), (5, -80), *[(5, 0)] * 5], 0, [(f"v{n}", 3, 2) for n in range(10)]),
        ([*MIRRORED[1:], *[(5, 0)] * 3], 0, [("v0", 100, 30), ("v1", 120, 30)]),
    ],
)
def test_what_does_not_move_where_it_heads(others: list[tuple[float, float]], ours: float, told: list[Any]) -> None:
    """Each by the direction of its way and how far its heading is off; one that is slow has no say."""
    times_s = np.arange(11.0)

    def way(toward_deg: float, step_m: float = 2.0) -> FloatArray:
        steps = step_m * times_s[:, None]
        return steps * [np.cos(np.radians(toward_deg)), np.sin(np.radians(toward_deg)), 0]

    actors = [thing(f"v{n}", way(toward), toward + off) for n, (toward, off) in enumerate(others)]
    ego = Ego(track=track(0, way(40.0 - ours), 40.0), point="rear")
    slow = [thing("w", way(0, 0.9), 90.0), thing("x", way(0), 90.0, kind="pedestrian")] if len(told) < 3 else []
    scene = drive_of(times_s, actors=(*actors, *slow), ego=ego)
    found = [(one.subject, one.measured, one.limit) for one in quality_checks._sideways(DriveView(scene))]
    assert found == [(name, pytest.approx(measured), limit) for name, measured, limit in told]
    alone = scene.with_facts(frame="ego")
    assert list(quality_checks._sideways(DriveView(alone))) == []
