"""Logs of Argoverse 2: the real one against SciPy's rotations, made ones by hand, broken ones by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from pipeline.core.errors import FormatError, RawDataError
from pipeline.core.findings import Findings
from pipeline.formats.feather import read_feather
from pipeline.reading.files import SceneFiles
from pipeline.worlds.drive.facts import ARGOVERSE2, CATEGORIES, KITTI, DriveScene
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.argoverse2_parts import _Point, _same_way, midline
from pipeline.worlds.drive.readers.tracking import Pictures, repeated, steady_box, steady_words, stretches, within
from pipeline.worlds.registry import read_scene
from tests.conftest import REAL_DATA
from tests.worlds.drive.drives import START_NS, box, found, lane, pose, read, write_feather, write_log

AV2 = REAL_DATA / "driving" / "av2"


@pytest.fixture(scope="module")
def real() -> DriveScene:
    return read(AV2, Argoverse2())


@pytest.mark.real_data
def test_every_box_of_a_real_log_stands_where_scipy_puts_it(real: DriveScene) -> None:
    (folder,) = AV2.iterdir()
    boxes = pd.read_feather(folder / "annotations.feather")
    poses = pd.read_feather(folder / "city_SE3_egovehicle.feather").set_index("timestamp_ns").loc[boxes.timestamp_ns]
    turn = Rotation.from_quat(poses[["qx", "qy", "qz", "qw"]].to_numpy())
    center = (
        turn.apply(boxes[["tx_m", "ty_m", "tz_m"]].to_numpy(copy=True)) + poses[["tx_m", "ty_m", "tz_m"]].to_numpy()
    )
    ahead = (turn * Rotation.from_quat(boxes[["qx", "qy", "qz", "qw"]].to_numpy())).apply([1.0, 0.0, 0.0])
    time = np.searchsorted(np.unique(boxes.timestamp_ns), boxes.timestamp_ns)
    assert len(boxes) == 12_078
    seen = 0
    for actor in real.facts.actors:
        mine = (boxes.track_uuid == actor.id).to_numpy()
        rows = time[mine] - actor.track.first
        assert np.abs(actor.track.place_m.array[rows] - center[mine]).max() < 1e-4
        yaw = np.radians(actor.track.yaw_deg.array[rows, 0])
        level = ahead[mine, :2] / np.linalg.norm(ahead[mine, :2], axis=1, keepdims=True)
        assert np.abs(np.stack([np.cos(yaw), np.sin(yaw)], axis=-1) - level).max() < 1e-6
        assert actor.box.size_m == tuple(boxes[mine][["length_m", "width_m", "height_m"]].iloc[0])
        assert actor.points.array[rows, 0].tolist() == boxes[mine].num_interior_pts.tolist()
        seen += len(rows)
    assert seen == len(boxes)


@pytest.mark.real_data
def test_a_real_log_has_its_map_and_comes_back_from_its_json(real: DriveScene) -> None:
    facts = real.facts
    assert (len(facts.actors), len(facts.times_s), len(facts.lanes), len(facts.crossings)) == (146, 156, 199, 11)
    assert facts.map_name == "PIT"
    assert facts.times_s[-1] == 15.49987
    assert real.findings == ()
    assert read_scene(real.model_dump_json().encode()) == real
    speed = np.linalg.norm(np.diff(facts.ego.track.place_m.array, axis=0), axis=1) / np.diff(facts.times_s)
    assert 0 <= speed.min() <= speed.max() < 20  # m/s, in a city


def test_a_box_ahead_of_us_is_to_the_north_where_we_look_north(tmp_path: Path) -> None:
    boxes = [box(0), box(2, ty_m=3.0, qw=np.sqrt(0.5), qz=np.sqrt(0.5)), box(1, track="b", category="BOLLARD")]
    scene = read(write_log(tmp_path, boxes, [pose(2), pose(0), pose(1), pose(9)], [lane(1)]), Argoverse2())
    ego, (a, b) = scene.facts.ego, scene.facts.actors
    assert ego.track.place_m.array.tolist() == [[100.0, 200.0, 5.0], [100.0, 201.0, 5.0], [100.0, 202.0, 5.0]]
    assert ego.track.yaw_deg.array.tolist() == [[90.0], [90.0], [90.0]]
    places, yaw = a.track.place_m.array, a.track.yaw_deg.array[:, 0]
    assert places[[0, 2]].tolist() == [[100.0, 210.0, 5.75], [97.0, 212.0, 5.75]]
    assert np.isnan(places[1]).all()  # seen before and after it, not at it
    assert yaw[[0, 2]].tolist() == [90.0, -180.0]
    assert (b.category, b.source_category, b.track.first, len(b.track)) == ("bollard", "BOLLARD", 1, 1)
    assert scene.facts.times_s.tolist() == [0.0, 0.1, 0.2]
    assert scene.findings == ()


def test_lanes_run_between_their_boundaries_and_crossings_do_not_cross_themselves(tmp_path: Path) -> None:
    facts = read(write_log(tmp_path, [box(0)], [pose(0)], [lane(1)]), Argoverse2()).facts
    (only,) = facts.lanes
    assert {x for x, _, _ in only.centre} == {100.0}
    assert [y for _, y, _ in only.centre][::9] == [200.0, 220.0]
    assert (only.left_mark, only.right_mark, only.kind) == ("double solid yellow", None, "vehicle")
    assert (only.successors, only.left_neighbour, only.right_neighbour) == (("2",), "3", None)
    (crossing,) = facts.crossings
    assert [p[:2] for p in crossing.outline] == [(96, 210), (104, 210), (104, 213), (96, 213)]
    assert len(facts.drivable[0]) == 3  # closed in the file, not here


@pytest.mark.parametrize(
    ("other", "turned"),
    [
        ([(0, 5), (4, 0)], False),  # 25 + 0 between the ends as they are, 16 + 41 the other way
        ([(4, 5), (0, 0)], True),  # 41 + 16 and 0 + 25
        ([(0, 3), (4, 3)], False),
        ([(4, 0), (0, 0)], True),
        ([(2, -1), (2, 1)], False),  # as far either way
    ],
)
@pytest.mark.parametrize("between", [[], [(-10, 0)], [(14, 0)]])
def test_edges_of_a_crossing_run_the_way_in_which_their_ends_are_nearer(
    other: list[Any], turned: bool, between: list[Any]
) -> None:
    """Wherever the first goes between its ends."""
    first, second = (tuple(_Point(x=x, y=y, z=0) for x, y in edge) for edge in ([(0, 0), *between, (4, 0)], other))
    assert _same_way(first, second) == (second[::-1] if turned else second)


@pytest.mark.parametrize(
    ("boxes", "finding", "subject"),
    [
        ([box(0), box(0, tx_m=20.0), box(1)], "two_places_at_once", "a"),
        ([box(0, height_m=0.0), box(1)], "box_without_size", "a"),
        ([box(0, qw=2.0), box(1)], "unusable_box", "a"),
        ([box(0, tx_m=float("nan")), box(1)], "unusable_box", "a"),
        ([box(0, tx_m=10_000.0), box(1)], "unusable_box", "a"),
        ([box(0), box(1, category="BUS")], "category_changes", "a"),
        ([box(0), box(1, length_m=9.0)], "size_varies", "a"),
        ([box(0, category="UFO"), box(1, category="UFO")], "unknown_category", "a"),
        ([box(0), box(1), box(5)], "no_ego_pose", "log"),
        ([box(0), *(box(s, track=t, category="EGO_VEHICLE") for s in (0, 1) for t in "yz")], "two_egos", "ego"),
    ],
)
def test_what_is_wrong_with_boxes_is_a_doubt_about_them(
    tmp_path: Path, boxes: list[dict[str, Any]], finding: str, subject: str
) -> None:
    scene = read(write_log(tmp_path, boxes, [pose(0), pose(1)]), Argoverse2())
    assert [(f.name, f.subject, f.severity) for f in scene.findings] == [(finding, subject, "doubt")]
    assert [actor.id for actor in scene.facts.actors] == ["a"]


def test_our_own_car_among_the_tracks_tells_its_size(tmp_path: Path) -> None:
    own = [box(s, track="e", category="EGO_VEHICLE", tx_m=1.4, length_m=4.9) for s in (0, 1)]
    scene = read(write_log(tmp_path, [box(0), *own], [pose(0), pose(1)]), Argoverse2())
    ego = scene.facts.ego
    assert (ego.box.size_m, ego.box.middle_m) == ((4.9, 2.0, 1.5), (1.4, 0.0, 0.75))
    assert [actor.id for actor in scene.facts.actors] == ["a"]


@pytest.mark.parametrize(
    ("poses", "finding"),
    [
        ([pose(7)], "no_ego_pose"),
        ([pose(0, qw=0.0, qz=0.0)], "no_ego_pose"),
        ([pose(0), pose(0, tx_m=0.0)], "two_ego_poses"),
        ([{"timestamp_ns": 3}], "wrong_columns"),
        ([pose(0, timestamp_ns="3")], "wrong_column_type"),
        ([pose(0, timestamp_ns=0.5)], "wrong_column_type"),
        ([pose(0), pose(1, tx_m=None)], "null_values"),
    ],
)
def test_poses_that_cannot_be_used_cost_the_log(tmp_path: Path, poses: list[dict[str, Any]], finding: str) -> None:
    write_log(tmp_path, [box(0)], poses)
    with pytest.raises(RawDataError, match=finding) as caught:
        read(tmp_path, Argoverse2())
    assert caught.value.path.name == "city_SE3_egovehicle.feather"
    assert caught.value.remedy


def test_other_tables_and_other_bytes_are_named(tmp_path: Path) -> None:
    write_log(tmp_path, [box(0)], [pose(0)], [lane(1, left_lane_boundary=[])])
    with pytest.raises(RawDataError, match=r"bad_map: lane_segments\.1\.left_lane_boundary"):
        read(tmp_path, Argoverse2())
    write_log(tmp_path / "other", [box(0)], [pose(0)], [lane(1, lane_type="")])
    with pytest.raises(RawDataError, match=r"bad_map: lane_segments\.1\.lane_type"):
        read(tmp_path / "other", Argoverse2())
    write_feather(tmp_path / "l1" / "annotations.feather", [{"x": 1}])
    with pytest.raises(RawDataError, match=r"wrong_columns: without the columns timestamp_ns, qw.*there are x"):
        read(tmp_path, Argoverse2())
    (tmp_path / "l1" / "annotations.feather").write_bytes(b"no table at all")
    with pytest.raises(RawDataError, match="not_feather"):
        read(tmp_path, Argoverse2())


def test_damaged_offsets_of_texts_do_not_end_the_process(tmp_path: Path) -> None:
    """Arrow reads such a file, and then whatever lies in memory where the offsets point."""
    table = pa.table({"track_uuid": pa.array(["a", "b"], pa.string())})
    pyarrow.feather.write_feather(table, tmp_path / "x", compression="uncompressed")
    raw = (tmp_path / "x").read_bytes()
    offsets = np.array([0, 1, 2], dtype="<i4").tobytes()  # of two names of a letter each
    assert offsets in raw
    hostile = raw.replace(offsets, np.array([0, 2**30, 2**31 - 1], dtype="<i4").tobytes())
    with pytest.raises(FormatError, match="not_feather"):
        read_feather(hostile, {"track_uuid": None})


def test_a_column_given_twice_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    pyarrow.feather.write_feather(table, tmp_path / "x")
    with pytest.raises(FormatError, match="several columns of the names x"):
        read_feather((tmp_path / "x").read_bytes(), {"x": np.float64})


def test_a_log_that_lasts_longer_than_anybody_drives_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match="implausible_times: the log lasts 30000 s"):
        read(write_log(tmp_path / "long", [box(0), box(300_000)], [pose(0), pose(300_000, ty_m=0.0)]), Argoverse2())


def test_every_category_has_a_common_word() -> None:
    assert set(ARGOVERSE2.values()) | set(KITTI.values()) <= CATEGORIES
    assert len(ARGOVERSE2) == 30  # annotation categories of the sensor dataset


def test_the_camera_ahead_films_from_the_first_sweep_to_the_last(tmp_path: Path) -> None:
    write_log(tmp_path, [box(0), box(10)], [pose(0), pose(10)])  # a second
    for camera, stamps in {"ring_front_center": (-50, 20, 330, 700, 1400), "ring_side_left": (0,)}.items():
        folder = tmp_path / "l1" / "sensors" / "cameras" / camera
        folder.mkdir(parents=True)
        for shade, stamp in enumerate(stamps):
            picture = Image.new("RGB", (40, 30), (40 * shade,) * 3)
            picture.save(folder / f"{START_NS + stamp * 1_000_000}.jpg")
    (tmp_path / "l1" / "sensors" / "cameras" / "ring_front_center" / "notes.jpg").write_bytes(b"")
    lens = {"sensor_name": "ring_front_center", "fx_px": 50.0, "fy_px": 51.0, "cx_px": 20.0, "cy_px": 15.0}
    turn = {"qw": 0.5, "qx": -0.5, "qy": 0.5, "qz": -0.5}  # ahead is the camera's z, left is -x, up is -y
    mount = {"sensor_name": "ring_front_center", **turn, "tx_m": 1.6, "ty_m": 0.0, "tz_m": 1.4}
    calibration = tmp_path / "l1" / "calibration"
    lens |= {"height_px": 30.0, "width_px": 40.0}
    wrong = {f"no {name}": lens | {"sensor_name": f"no {name}", name: 0.0} for name in [*lens][1:3] + [*lens][5:]}
    wrong |= {"astray": lens | {"sensor_name": "astray", "cy_px": np.nan}, "turned": lens | {"sensor_name": "turned"}}
    mounts = [mount, *(mount | {"sensor_name": name, "qw": 0.5 + (name == "turned")} for name in wrong)]
    write_feather(calibration / "egovehicle_SE3_sensor.feather", mounts)
    wrong["unmounted"] = lens | {"sensor_name": "unmounted"}
    write_feather(calibration / "intrinsics.feather", [lens, *wrong.values()])
    (ref,) = Argoverse2().scenes(tmp_path).scenes
    files = SceneFiles(tmp_path, ref)
    scene = Argoverse2().read(files)
    assert (scene.video.frames, scene.video.fps, scene.video.width, scene.video.height) == (11, 10, 40, 30)
    assert Argoverse2().footage(files, scene.model_copy(update={"video": None})) is None
    footage = Argoverse2().footage(files, scene)
    shades = [round(int(frame[15, 20, 0]) / 40) for frame in footage.frames()]
    assert shades == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3]  # the last picture taken by each tenth of a second
    (camera,) = scene.facts.cameras
    assert (camera.name, camera.focal_px, camera.place_m) == ("ring_front_center", (50.0, 51.0), (1.6, 0.0, 1.4))
    assert camera.ego_from_camera == ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    assert [(f.name, f.subject, f.severity) for f in scene.findings] == [
        ("bad_calibration", name, "note")
        for name in ("no fx_px", "no fy_px", "no height_px", "no width_px", "astray", "turned", "unmounted")
    ]
    assert (camera.width, camera.height, camera.centre_px) == (40, 30, (20.0, 15.0))


def test_a_log_without_a_usable_box_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RawDataError) as told:
        read(write_log(tmp_path, [box(0, qw=2.0)], [pose(0)]), Argoverse2())
    assert told.value.finding == "no_boxes"


def test_poses_given_twice_alike_are_noted(tmp_path: Path) -> None:
    boxes = [box(sweep) for sweep in range(3)]
    scene = read(write_log(tmp_path, boxes, [pose(0), pose(1), pose(1), pose(2)]), Argoverse2())
    assert (found(scene)["repeated_pose"].measured, found(scene)["repeated_pose"].severity) == (1, "note")


# ---- rows made into tracks


def test_rows_become_one_table_for_each_thing() -> None:
    """Thing 7 from time 2 to 5 without a row at 3; thing 3 at 4 alone."""
    thing, time = np.array([7, 3, 7, 7]), np.array([5, 4, 2, 4])
    values = np.array([[50.0, 5], [40, 4], [20, 2], [41, 4]])
    found = stretches(thing, time, {"place_m": values})
    assert sorted(found) == [3, 7]
    assert (found[7].first, found[3].first) == (2, 4)
    assert found[3].tables["place_m"].tolist() == [[40, 4]]
    assert np.nan_to_num(found[7].tables["place_m"], nan=-1).tolist() == [[20, 2], [-1, -1], [41, 4], [50, 5]]
    assert stretches(thing[:0], time[:0], {}) == {}


def test_rows_of_one_thing_at_one_time_are_repeated() -> None:
    thing, time = np.array([0, 1, 0, 1, 2, 0]), np.array([3, 0, 3, 1, 3, 0])
    assert repeated(thing, time).tolist() == [True, False, True, False, False, False]
    assert repeated(thing[:0], time[:0]).tolist() == []


def test_values_larger_than_anything_are_not_known() -> None:
    found = within(np.array([5.0, -5.0, 5.1, -5.1, np.inf, np.nan]), 5.0)
    assert np.nan_to_num(found, nan=99).tolist() == [5, -5, 99, 99, 99, 99]


@pytest.mark.parametrize(("wide", "told"), [(1.04, []), (1.06, ["size_varies"]), (0.0, ["box_without_size"])])
def test_boxes_are_medians_of_what_is_given(wide: float, told: list[str]) -> None:
    findings = Findings()
    box = steady_box(np.array([[4.0, 1, 2], [4.0, wide, 2], [np.nan] * 3, [4.01, 1.01, 2]]), "a", findings)
    assert [one.name for one in findings.items] == told
    assert (box and box.size_m) == (None if not wide else pytest.approx((4.0, 1.01, 2.0)))
    known = {"size_varies": (pytest.approx(0.06), 0.05), "box_without_size": (0.0, 0)}
    assert [(one.measured, one.limit) for one in findings.items] == [known[name] for name in told]


def test_words_that_change_and_words_that_are_not_known() -> None:
    findings = Findings()
    names, words = np.array(["b", "a", "b", "c"]), np.array(["van", "car", "bus", "ufo"], dtype=object)
    told = steady_words(names, words, {word: word for word in ("car", "bus", "van")}, findings)
    assert told == {"b": "bus", "a": "car", "c": "ufo"}
    assert [(one.name, one.subject, one.measured, one.limit) for one in findings.items] == [
        ("category_changes", "b", 2, 1),
        ("unknown_category", "c", None, None),
    ]


def test_each_tick_shows_the_last_picture_taken_by_then() -> None:
    shown = Pictures(Path(), (), np.array([0.1, 0.5, 0.75]))
    assert shown.on_screen(1.0, 4).tolist() == [0, 0, 1, 2, 2]
    assert shown.on_screen(0.99, 4).tolist() == [0, 0, 1, 2]
    assert shown.on_screen(0.3, 10).tolist() == [0, 0, 0, 0]


def test_boxes_and_poses_at_their_limits(tmp_path: Path) -> None:
    """A kilometre about us, 100 km in a city, 1e8 points, a thousandth of a quaternion's length."""
    turned = {"qw": 1.0011, "qz": 0.0}
    bad = {"far": {"tx_m": -1001.0}, "off": turned, "low": {"tz_m": 1000.1}}
    fine = {"near": {"tx_m": -999.0}, "on": {"qw": 1.0009}, "many": {"num_interior_pts": 100_000_000}}
    fine |= {"more": {"num_interior_pts": 110_000_000}}
    rows = [box(s, name, **change) for name, change in (bad | fine).items() for s in (0, 1, 2)]
    poses = [pose(0, tx_m=99_999.0), pose(1, ty_m=-100_001.0), pose(2, qw=0.0, qz=1.0009), pose(3)]
    scene = read(write_log(tmp_path, rows, poses), Argoverse2())
    told = {(one.name, one.subject): (one.measured, one.limit) for one in scene.findings}
    assert told == {
        **{("unusable_box", name): (3, 0) for name in bad},
        ("unusable_pose", "log"): (1, 0),
        ("no_ego_pose", "log"): (1, 0),
    }
    actors = {actor.id: actor for actor in scene.facts.actors}
    assert set(actors) == set(fine)
    assert actors["more"].points is None
    assert actors["many"].points.array.tolist() == [[1e8]] * 2
    assert scene.facts.times_s.tolist() == [0.0, 0.2]
    assert scene.facts.ego.track.place_m.array[:, 0].tolist() == [99_999.0, 100.0]
    assert scene.facts.ego.track.yaw_deg.array[1].tolist() == [-180.0]


@pytest.mark.parametrize(("leaning", "refused"), [(1, False), (2, True)])
def test_a_twentieth_of_the_turns_may_lean(tmp_path: Path, leaning: int, refused: bool) -> None:
    """Of 21 of length 1; those of another length have no say."""
    side = {"qw": 0.8, "qx": 0.6}
    rows = [box(s, **(side if s < leaning else {})) for s in range(21)]
    rows += [box(s, "short", qw=0.5, qx=0.1) for s in range(21)]
    root = write_log(tmp_path, rows, [pose(s) for s in range(21)])
    if refused:
        with pytest.raises(RawDataError, match="turns_lean: 2 of 21 turns"):
            read(root, Argoverse2())
        return
    (finding,) = read(root, Argoverse2()).findings
    assert (finding.name, finding.subject, finding.measured) == ("unusable_box", "short", 21)


def test_a_line_between_two_is_walked_at_even_shares() -> None:
    """Lengths of 5 and 9 by hand: of eleven points each, and of the ten that two short ones have."""
    left = np.array([[0.0, 0, 0], [3, 0, 4], [3, 0, 4]])
    right = np.array([[0.0, 2, 0], [0, 4, 1], [2, 8, 5]])
    for count, (a, b) in ((10, (left, right)), (12, (left, np.concatenate([right[:1]] * 9 + [right])))):
        share = np.arange(count) / (count - 1)
        one = share[:, None] * [3, 0, 4]
        gone, first = share * (5**0.5 + 6), 5**0.5
        other = [
            [0, 2, 0] + d / first * np.array([0, 2, 1])
            if d <= first
            else [0, 4, 1] + (d - first) / 6 * np.array([2, 4, 4])
            for d in gone
        ]
        np.testing.assert_allclose(midline(a, b), (one + other) / 2, atol=1e-9)
