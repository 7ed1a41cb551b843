"""ARKitScenes: what a tiny video by hand must give, poses by time stamp, and which way is up."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pipeline.core.errors import ConfigError
from pipeline.core.findings import Findings
from pipeline.core.schema import OrientedBox
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.readers.arkit_film import poses_at
from pipeline.worlds.indoor.readers.arkitscenes import TURN_OF_SKY, ARKitScenes
from pipeline.worlds.indoor.readers.frames import check_poses, from_axis_angle, interpolate, invert, upright_turn
from pipeline.worlds.indoor.readers.objects import AnnotatedInstance, check_boxes, check_turns, in_box
from pipeline.worlds.registry import configured
from tests.worlds.indoor.readers.broken_scans import edit_json, edit_raw, remove, sky
from tests.worlds.indoor.readers.conftest import geometry_of, only_scene, read_only
from tests.worlds.indoor.readers.tiny_scans import (
    ARKIT,
    THINGS,
    encoded,
    make_room,
    movie,
    picture,
    poses,
    put,
    write_arkitscenes,
)

Copied = Callable[[str], Path]
REAL_SKIES = {"Up": 1607, "Left": 2334, "Down": 1125, "Right": 1}


def test_annotated_boxes_are_taken_as_they_are(tiny: Path) -> None:
    scene = read_only("arkitscenes", tiny / "arkitscenes")
    assert scene.id == f"arkitscenes/{ARKIT}"
    assert [o.category for o in scene.facts.objects] == ["chair", "chair", "sofa", "table"]
    for item, thing in zip(scene.facts.objects, (THINGS[1], THINGS[2], THINGS[3], THINGS[0]), strict=True):
        assert (item.box.center, item.box.lengths) == (thing.center, thing.lengths)
        np.testing.assert_array_equal(np.array(item.box.axes), thing.axes)


def test_frames(tiny: Path) -> None:
    root = tiny / "arkitscenes"
    scene = read_only("arkitscenes", root)
    assert scene.video.path == f"3dod/Validation/{ARKIT}/{ARKIT}_frames/lowres_wide"
    assert (scene.video.fps, scene.video.frames, scene.video.turn_deg) == (10.0, 6, 0)
    frames = geometry_of(root, scene).frames
    np.testing.assert_allclose(frames.world_T_camera, poses(6), atol=1e-6)
    np.testing.assert_allclose(frames.time_s, np.arange(6) / 10)
    np.testing.assert_array_equal(frames.intrinsics, np.tile([48.0, 48, 24, 18], (6, 1)))
    assert frames.size == (48, 36)
    color, depth = frames.color(3), frames.depth_m(3)
    assert color.mean() == 35
    assert depth[5, 5] == pytest.approx(1.03)
    assert np.isnan(depth[0, 0])


def test_vertices_in_a_box_show_its_object_but_the_floor_does_not(tiny: Path) -> None:
    root = tiny / "arkitscenes"
    labels = geometry_of(root, read_only("arkitscenes", root)).vertex_object
    room = make_room()
    order = np.array([3, 0, 1, 2, -1])
    above = room.vertices[:, 2] > 0.05
    np.testing.assert_array_equal(labels[above], order[room.owner[above]])
    assert (labels[room.owner == -1] == -1).all()


def test_the_smallest_of_overlapping_boxes_wins(copied: Copied) -> None:
    root = copied("arkitscenes")
    scene = read_only("arkitscenes", root)
    whole = OrientedBox(center=(2.0, 1.5, 1.0), lengths=(5.0, 4.0, 3.0), axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    around = scene.facts.objects[2].model_copy(update={"box": whole})
    labels = geometry_of(root, scene.with_facts(objects=(around, *scene.facts.objects))).vertex_object
    room = make_room()
    above = room.vertices[:, 2] > 0.05
    np.testing.assert_array_equal(labels[above], np.array([4, 1, 2, 3])[room.owner[above]])


@pytest.mark.parametrize("word", sorted(TURN_OF_SKY))
def test_turns(tmp_path: Path, word: str) -> None:
    """The picture's sky lies at its ``word``; turned clockwise by this it is on top."""
    turn = TURN_OF_SKY[word]
    write_arkitscenes(tmp_path, sky=word, turn_deg=turn)
    scene = read_only("arkitscenes", tmp_path)
    assert scene.findings == ()
    assert scene.video.turn_deg == turn
    up = {"Up": (0, -1), "Left": (-1, 0), "Down": (0, 1), "Right": (1, 0)}[word]
    frames = geometry_of(tmp_path, scene).frames
    in_picture = frames.world_T_camera[:, 2, :2]  # the world's up in camera axes, x right and y down
    assert (in_picture @ np.array(up) > 0.5).all()


def test_turn_is_clockwise_as_the_video_writer_turns() -> None:
    """np.rot90(image, -1), a clockwise quarter, brings the left side to the top."""
    image = np.zeros((3, 3))
    image[:, 0] = 1
    assert (np.rot90(image, -TURN_OF_SKY["Left"] // 90)[0] == 1).all()


@pytest.mark.parametrize(
    ("word", "turn_deg", "used"), [("Up", 180, 180), ("Left", 0, 0), ("NA", 90, 90), ("Down", 270, 270)]
)
def test_where_metadata_and_poses_disagree_the_poses_are_believed(
    tmp_path: Path, word: str, turn_deg: int, used: int
) -> None:
    write_arkitscenes(tmp_path, sky=word, turn_deg=turn_deg)
    scene = read_only("arkitscenes", tmp_path)
    assert scene.video.turn_deg == used
    assert [f.name for f in scene.findings] == ["no_sky_direction" if word == "NA" else "sky_direction_differs"]


def test_without_poses_the_metadata_are_believed(tmp_path: Path) -> None:
    folder = write_arkitscenes(tmp_path, sky="Left")
    remove("lowres_wide.traj")(folder)
    scene = read_only("arkitscenes", tmp_path)
    assert scene.video.turn_deg == 90
    assert len(geometry_of(tmp_path, scene).frames.time_s) == 0


def test_the_stamp_follows_the_videos_own_row(copied: Copied) -> None:
    root = copied("arkitscenes")
    before = only_scene(ARKitScenes(), root).stamp
    edit_raw("metadata.csv", lambda raw: raw + b"40000009,1,Down,Training\n")(root)
    assert only_scene(ARKitScenes(), root).stamp == before
    sky("Down")(root / "3dod" / "Validation" / ARKIT)
    assert only_scene(ARKitScenes(), root).stamp != before


@pytest.mark.parametrize("top", ["", "3dod", "3dod/Validation"])
def test_the_root_may_be_any_folder_above(tiny: Path, top: str) -> None:
    root = tiny / "arkitscenes" / top
    scene = ARKitScenes().read(SceneFiles(root, only_scene(ARKitScenes(), root)))
    assert scene.name == ARKIT
    assert [f.name for f in scene.findings] == []


def test_splits_by_folder_and_by_table(tmp_path: Path) -> None:
    write_arkitscenes(tmp_path / "a")
    reader = configured("arkitscenes", {"split": "val"})
    assert only_scene(reader, tmp_path / "a").id == f"arkitscenes/{ARKIT}"
    with pytest.raises(ConfigError, match="none of the 1 scenes"):
        ARKitScenes(split="train").scenes(tmp_path / "a")
    folder = tmp_path / "b"
    folder.mkdir()
    (tmp_path / "a" / "3dod" / "Validation" / ARKIT).rename(folder / ARKIT)
    put(folder / "metadata.csv", f"video_id,fold\n{ARKIT},Training\n")
    assert only_scene(ARKitScenes(split="train"), folder).id == f"arkitscenes/{ARKIT}"
    with pytest.raises(ConfigError, match="train, val"):
        configured("arkitscenes", {"split": "test"})


def test_a_recording_in_raw_is_the_video(copied: Copied) -> None:
    root = copied("arkitscenes")
    put(root / "raw" / "Validation" / ARKIT / f"{ARKIT}.mov", movie(15, (64, 48), fps=30))
    scene = read_only("arkitscenes", root)
    video = scene.video
    assert video.path == f"raw/Validation/{ARKIT}/{ARKIT}.mov"
    assert (video.fps, video.frames, video.width, video.height) == (30.0, 15, 64, 48)
    frames = geometry_of(root, scene).frames
    np.testing.assert_array_equal(frames.number, [0, 3, 6, 9, 12, 14])  # of the recording; the last one is its last
    footage = ARKitScenes().footage(SceneFiles(root, only_scene(ARKitScenes(), root)), scene)
    assert (footage.fps, sum(1 for _ in footage.frames())) == (30.0, 15)


@pytest.mark.parametrize("top", ["3dod", "3dod/Validation"])
def test_a_recording_beside_the_root_is_the_video(copied: Copied, top: str) -> None:
    root = copied("arkitscenes")
    put(root / "raw" / "Validation" / ARKIT / f"{ARKIT}.mov", movie(15, (64, 48), fps=30))
    ref = only_scene(ARKitScenes(), root / top)
    video = ARKitScenes().read(SceneFiles(root / top, ref)).video
    assert video.path == f"{'../' * (1 + top.count('/'))}raw/Validation/{ARKIT}/{ARKIT}.mov"
    assert (video.frames, video.width) == (15, 64)
    put(root / "raw" / "Validation" / ARKIT / f"{ARKIT}.mov", movie(16, (64, 48), fps=30))
    assert only_scene(ARKitScenes(), root / top).stamp != ref.stamp


def test_an_object_without_a_box_costs_itself_alone(copied: Copied) -> None:
    root = copied("arkitscenes")
    edit_json("*_3dod_annotation.json", lambda v: v["data"][2].pop("segments") and None)(root / "3dod")
    scene = read_only("arkitscenes", root)
    assert scene.facts.counts == {"chair": 1, "sofa": 1, "table": 1}


@pytest.mark.parametrize("label", ["tv-monitor", "TV/Monitor", "tv_monitor"])
def test_what_joins_the_words_of_a_label_makes_no_difference(copied: Copied, label: str) -> None:
    root = copied("arkitscenes")
    edit_json("*_3dod_annotation.json", lambda v: v["data"][0].update(label=label))(root / "3dod")
    assert read_only("arkitscenes", root).facts.counts["tv"] == 1


def zipped_folder(folder: Path) -> None:
    """The folder becomes a zip beside it, its files below a folder of that name."""
    with zipfile.ZipFile(folder.with_name(f"{folder.name}.zip"), "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{folder.name}/{path.name}")
    shutil.rmtree(folder)


def test_zipped_streams_are_read_as_folders_are(copied: Copied, tiny: Path) -> None:
    root = copied("arkitscenes")
    folder = root / "3dod" / "Validation" / ARKIT / f"{ARKIT}_frames"
    for name in ("lowres_wide", "lowres_depth", "lowres_wide_intrinsics"):
        zipped_folder(folder / name)
    scene, other = read_only("arkitscenes", root), read_only("arkitscenes", tiny / "arkitscenes")
    assert scene.findings == ()
    assert scene.video == other.video
    here, there = geometry_of(root, scene).frames, geometry_of(tiny / "arkitscenes", other).frames
    np.testing.assert_array_equal(here.world_T_camera, there.world_T_camera)
    np.testing.assert_array_equal(here.intrinsics, there.intrinsics)
    np.testing.assert_array_equal(here.color(3), there.color(3))
    np.testing.assert_array_equal(here.depth_m(3), there.depth_m(3))
    footage = ARKitScenes().footage(SceneFiles(root, only_scene(ARKitScenes(), root)), scene)
    assert sum(1 for _ in footage.frames()) == 6


def test_wide_pictures_and_a_trajectory_named_color(copied: Copied) -> None:
    root = copied("arkitscenes")
    folder = root / "3dod" / "Validation" / ARKIT / f"{ARKIT}_frames"
    (folder / "lowres_wide.traj").rename(folder / "color.traj")
    (folder / "lowres_wide").rename(folder / "wide")
    (folder / "lowres_wide_intrinsics").rename(folder / "wide_intrinsics")
    scene = read_only("arkitscenes", root)
    assert scene.findings == ()
    assert scene.video.path.endswith("/wide")
    np.testing.assert_allclose(geometry_of(root, scene).frames.world_T_camera, poses(6), atol=1e-6)


def test_no_message_denies_a_file_that_is_there(copied: Copied) -> None:
    root = copied("arkitscenes")
    folder = root / "3dod" / "Validation" / ARKIT
    put(folder / f"{ARKIT}.mov", movie(15, (64, 48), fps=30))
    shutil.rmtree(folder / f"{ARKIT}_frames" / "lowres_wide")
    (note,) = read_only("arkitscenes", root).findings
    assert note.message == f"3dod/Validation/{ARKIT}/{ARKIT}_frames/lowres_wide is not here"  # the .traj is


def test_times_are_those_of_the_video_where_pictures_are_missing(tmp_path: Path) -> None:
    folder = write_arkitscenes(tmp_path, frames=24)
    for path in sorted((folder / f"{ARKIT}_frames" / "lowres_wide").iterdir())[6:18]:
        path.unlink()
    scene = read_only("arkitscenes", tmp_path)
    np.testing.assert_allclose(geometry_of(tmp_path, scene).frames.time_s, np.arange(12) / 10)
    (note,) = scene.findings
    assert (note.name, note.measured) == ("clock_differs", pytest.approx(1.2))


def test_pictures_after_the_end_of_the_recording_are_left_out(tmp_path: Path) -> None:
    folder = write_arkitscenes(tmp_path, frames=24)
    put(folder / f"{ARKIT}.mov", movie(30, (64, 48), fps=30))
    scene = read_only("arkitscenes", tmp_path)
    frames = geometry_of(tmp_path, scene).frames
    assert frames.time_s[-1] <= 1.0
    assert frames.skipped["beyond_video"] == 24 - len(frames.time_s)


def test_a_recording_that_lost_pictures_shows_each_pose_at_its_own_time(tmp_path: Path) -> None:
    """Of 24 pictures at 10 a second the camera dropped nos. 4 to 11: the picture on screen at 1.2 s is the fifth."""
    folder = write_arkitscenes(tmp_path, frames=24)
    put(folder / f"{ARKIT}.mov", movie(24, (64, 48), dropped=range(4, 12)))
    scene = read_only("arkitscenes", tmp_path)
    frames = geometry_of(tmp_path, scene).frames
    number = frames.number.tolist()
    assert number[:4] == [0, 1, 2, 3]
    assert number[4:12] == sorted(number[4:12])
    assert {*number[4:12]} == {3, 4}  # the last before the gap or the first after it
    assert number[12:] == list(range(4, 16))
    color = frames.color(20)  # of the recording, not of the stream beside it
    assert color is not None
    assert color.shape == (48, 64, 3)
    assert color.mean() == pytest.approx(picture(20).mean(), abs=2)


def test_vga_pictures_are_the_video_and_lowres_ones_the_frames(copied: Copied) -> None:
    root = copied("arkitscenes")
    folder = root / "3dod" / "Validation" / ARKIT / f"{ARKIT}_frames"
    for i in range(12):
        put(folder / "vga_wide" / f"{ARKIT}_{2000 + i / 20:.3f}.png", encoded(picture(i, (64, 48)), "PNG"))
    scene = read_only("arkitscenes", root)
    video = scene.video
    assert (video.path.rsplit("/", 1)[1], video.fps, video.frames, video.width) == ("vga_wide", 20.0, 12, 64)
    frames = geometry_of(root, scene).frames
    np.testing.assert_array_equal(frames.number, [0, 2, 4, 6, 8, 10])
    assert frames.size == (48, 36)


def test_the_raw_layout_has_its_frames_beside_the_mesh(copied: Copied) -> None:
    root = copied("arkitscenes")
    folder = root / "3dod" / "Validation" / ARKIT
    for path in list((folder / f"{ARKIT}_frames").iterdir()):
        path.rename(folder / path.name)
    (folder / f"{ARKIT}_frames").rmdir()
    scene = read_only("arkitscenes", root)
    assert len(geometry_of(root, scene).frames.time_s) == 6


def test_intrinsics_may_be_named_a_millisecond_off(copied: Copied) -> None:
    root = copied("arkitscenes")
    path = sorted(root.rglob("*.pincam"))[3]
    path.rename(path.with_name(f"{ARKIT}_2000.301.pincam"))
    assert read_only("arkitscenes", root).findings == ()
    path.with_name(f"{ARKIT}_2000.301.pincam").rename(path.with_name(f"{ARKIT}_2000.310.pincam"))
    assert [f.name for f in read_only("arkitscenes", root).findings] == ["no_intrinsics"]


# poses


def some_poses(count: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return from_axis_angle(rng.normal(size=(count, 3)) * 0.3, rng.normal(size=(count, 3)))


def test_a_pose_between_two_stamps_lies_between_theirs() -> None:
    ends = np.stack([np.eye(4), np.eye(4)])
    ends[1, :3, :3] = Rotation.from_euler("z", 8, degrees=True).as_matrix()
    ends[1, :3, 3] = (1.0, 2.0, 0.0)
    found, there = poses_at(np.array([10.02]), np.array([10.0, 10.08]), ends)
    assert there.all()
    np.testing.assert_allclose(found[0, :3, 3], [0.25, 0.5, 0.0])
    np.testing.assert_allclose(found[0, :3, :3], Rotation.from_euler("z", 2, degrees=True).as_matrix(), atol=1e-12)


@pytest.mark.parametrize(
    ("time", "source"),
    [
        (9.994, None),  # 6 ms before the first: no pose is made up beyond the ends
        (9.996, 0),
        (10.0, 0),
        (10.004, 0),
        (10.096, 1),
        (10.1049, 1),
        (10.106, None),  # the gap to the next is 0.9 s: too far to go between
        (10.5, None),
        (11.0, 2),
        (11.004, 2),
        (11.006, None),
    ],
)
def test_poses_at_stamps(time: float, source: int | None) -> None:
    stamps = np.array([10.0, 10.1, 11.0])
    known = some_poses(3)
    found, there = poses_at(np.array([time]), stamps, known)
    assert there[0] == (source is not None)
    if source is not None:
        np.testing.assert_array_equal(found[0], known[source])


@given(st.integers(0, 1000), st.floats(0, 1))
def test_interpolated_poses_are_rigid(seed: int, share: float) -> None:
    known = some_poses(2, seed)
    between = interpolate(known, np.array([0]), np.array([1]), np.array([share]))
    assert check_poses(between).good.all()
    np.testing.assert_allclose(invert(between)[0] @ between[0], np.eye(4), atol=1e-12)


def test_poses_that_cannot_be_used_are_counted_once() -> None:
    found = some_poses(7)
    found[0, 0, 3] = np.nan
    found[1] = -np.inf
    found[2, :3, :3] *= 1.1
    found[3, :3, 0] *= -1  # mirrored
    found[4, 3, 0] = 1.0
    found[5, 2, 3] = 2000.0
    usable = check_poses(found)
    assert usable.good.tolist() == [False] * 6 + [True]
    assert usable.skipped == {"pose_not_finite": 2, "pose_not_rigid": 3, "pose_far_away": 1}


@pytest.mark.parametrize(("at", "stuck"), [((1, 3, 5), 3), ((1, 2, 3, 5, 7), 5), ((1, 3), 0), ((1, 2, 3), 0)])
def test_a_pose_that_stands_in_for_missing_ones_is_left_out(at: tuple[int, ...], stuck: int) -> None:
    """It comes again and again; a camera that rests, or comes back once, may have one pose several times."""
    found = some_poses(9)
    found[list(at)] = np.eye(4)
    usable = check_poses(found)
    assert usable.skipped == ({"pose_stuck": stuck} if stuck else {})
    assert usable.good.tolist() == [i not in at or not stuck for i in range(9)]


def test_a_camera_that_goes_round_three_times_has_no_stand_in() -> None:
    assert check_poses(np.tile(some_poses(5), (3, 1, 1))).good.all()


def test_a_camera_that_looks_at_the_floor_has_no_up() -> None:
    down = np.eye(4)
    down[:3, :3] = np.diag([1.0, -1.0, -1.0])
    assert upright_turn(down[None]) is None
    assert upright_turn(np.concatenate([down[None], poses(3, 90)])) == (90, 1.0)


@given(st.integers(0, 1000))
def test_in_box_against_the_plain_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = Rotation.random(rng=rng).as_matrix()
    box = OrientedBox.model_validate(
        {
            "center": tuple(rng.normal(size=3)),
            "lengths": tuple(rng.uniform(0.1, 2.0, 3)),
            "axes": tuple(tuple(row) for row in axes.tolist()),
        }
    )
    points = rng.normal(size=(200, 3)) * 1.5
    local = (points - np.array(box.center)) @ axes.T
    plain = (np.abs(local) <= np.array(box.lengths) / 2 + 0.05).all(axis=1)
    np.testing.assert_array_equal(in_box(points, box, 0.05), plain)


@pytest.mark.real_data
def test_every_sky_of_the_real_table_is_understood(real_vsi: Path) -> None:
    from pipeline.worlds.indoor.readers.arkitscenes import metadata_row

    root = real_vsi.parent / "arkitscenes"
    lines = (root / "metadata.csv").read_text().splitlines()[1:]
    skies = [metadata_row(root, line.split(",")[0]).get("sky_direction") for line in lines]
    assert {word: skies.count(word) for word in TURN_OF_SKY} == REAL_SKIES
    assert skies.count("NA") == len(skies) - sum(REAL_SKIES.values()) == 4


@pytest.mark.parametrize(("missing", "is_told"), [(2, False), (3, True), (4, True)])
def test_where_most_boxes_miss_the_mesh_none_is_believed(missing: int, is_told: bool) -> None:
    """Four cubes of a metre and their corners; some boxes are 5 m above them."""
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    boxes = [OrientedBox(center=(10.0 * n, 0, 5.0 * (n < missing)), lengths=(1, 1, 1), axes=axes) for n in range(4)]
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    vertices = np.concatenate([corners + np.array([10.0 * n, 0, 0]) for n in range(4)])
    findings = Findings()
    check_boxes([AnnotatedInstance(n, "chair", "chair", box, None) for n, box in enumerate(boxes)], vertices, findings)
    assert {f.name for f in findings.items} == {"box_misses_mesh"}
    assert [f.subject for f in findings.items] == ["chair"] * missing + ["sight", "upright"] * is_told
    assert all((f.measured, f.limit) == (missing / 4, 0.5) for f in findings.items[missing:])


@pytest.mark.parametrize(("order", "signs"), [((1, 0, 2), (1, 1)), ((2, 0, 1), (1, 1)), ((0, 1, 2), (-1, 1))])
def test_boxes_whose_numbers_are_read_in_another_way(order: tuple[int, ...], signs: tuple[int, int]) -> None:
    """Four solid blocks: as they are nothing is told."""
    axes, lengths = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), np.array([2.0, 0.6, 0.9])
    grid = np.stack(np.meshgrid(*(np.linspace(-0.5, 0.5, n) for n in (21, 7, 10)), indexing="ij"), -1).reshape(-1, 3)
    centers = np.array([[3.0 * n + 1.0, 2.0 * n, 0.45] for n in range(4)])
    vertices = np.concatenate([grid * lengths + center for center in centers])
    told = []
    for spoilt in (False, True):
        findings, x = Findings(), np.array([*signs, 1]) if spoilt else np.ones(3)
        sides = lengths[list(order)] if spoilt else lengths
        boxes = [OrientedBox(center=tuple(x * c), lengths=tuple(sides), axes=axes) for c in centers]
        check_turns([AnnotatedInstance(n, "bed", "bed", b, None) for n, b in enumerate(boxes)], vertices, findings)
        told.append([(f.name, f.subject, f.measured, f.limit) for f in findings.items])
    assert told == [[], [("box_misses_mesh", of, 4, 0) for of in ("sight", "upright")]]
