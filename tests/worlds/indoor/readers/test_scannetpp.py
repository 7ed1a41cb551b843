"""ScanNet++: what a tiny scene by hand must give, the ways of packing depth, and the axes of the poses."""

import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.transform import Rotation

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.findings import Findings
from pipeline.formats.videos import VideoPictures
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.facts import SceneObject
from pipeline.worlds.indoor.readers.objects import (
    AnnotatedInstance,
    AnnotationGroup,
    label_vertices,
    members,
    owners,
    parse_groups,
)
from pipeline.worlds.indoor.readers.scannetpp import ScanNetPP
from pipeline.worlds.indoor.readers.scannetpp_film import HEIGHT, PIXELS, WIDTH, open_depth
from pipeline.worlds.registry import configured
from tests.conftest import make_box
from tests.oracles.public_tools import instances_on_vertices
from tests.worlds.indoor.readers.broken_scans import desk_takes_chair, each_frame, edit_json, edit_raw, opengl, remove
from tests.worlds.indoor.readers.conftest import fault_of, geometry_of, only_scene, read_only
from tests.worlds.indoor.readers.tiny_scans import (
    SCANNETPP,
    THINGS,
    depth_mm,
    encoded,
    make_room,
    movie,
    picture,
    poses,
    put,
    put_json,
    write_scannetpp,
)

Copied = Callable[[str], Path]


def test_annotated_boxes_are_taken_as_they_are(tiny: Path) -> None:
    scene = read_only("scannetpp", tiny / "scannetpp")
    assert scene.id == f"scannetpp/{SCANNETPP}"
    assert [(o.category, o.raw_label) for o in scene.facts.objects] == [
        ("chair", "office chair"),
        ("chair", "chair"),
        ("sofa", "sofa"),
        ("table", "table"),
    ]
    for item, thing in zip(scene.facts.objects, (THINGS[1], THINGS[2], THINGS[3], THINGS[0]), strict=True):
        assert (item.box.center, item.box.lengths) == (thing.center, thing.lengths)
        np.testing.assert_array_equal(np.array(item.box.axes), thing.axes)
    assert scene.source.box_method == "annotated"


def test_video_and_frames(tiny: Path) -> None:
    root = tiny / "scannetpp"
    scene = read_only("scannetpp", root)
    video = scene.video
    assert video.path == f"data/{SCANNETPP}/iphone/rgb.mp4"
    assert (video.fps, video.frames, video.width, video.height, video.turn_deg) == (10.0, 6, 48, 36, 0)
    geometry = geometry_of(root, scene)
    frames = geometry.frames
    np.testing.assert_allclose(frames.world_T_camera, poses(6))
    np.testing.assert_allclose(frames.time_s, np.arange(6) / 10)
    np.testing.assert_array_equal(frames.number, np.arange(6))
    assert frames.size == (48, 36)
    for i in (5, 0, 3, 4, 1):
        color, depth = frames.color(i), frames.depth_m(i)
        assert color.mean() == pytest.approx(20 + 5 * i, abs=3)
        assert depth.shape == (192, 256)
        assert depth[9, 9] == pytest.approx(1 + 0.01 * i)
        assert np.isnan(depth[0, 0])
    order = np.array([3, 0, 1, 2, -1])
    np.testing.assert_array_equal(geometry.vertex_object, order[make_room().owner])


def test_axes_of_arkit_become_those_of_opencv(copied: Copied) -> None:
    root = copied("scannetpp")
    edit_json("pose_intrinsic_imu.json", each_frame(opengl))(root / "data" / SCANNETPP)
    scene = read_only("scannetpp", root)
    np.testing.assert_allclose(geometry_of(root, scene).frames.world_T_camera, poses(6), atol=1e-12)


def test_frames_without_a_video(copied: Copied) -> None:
    root = copied("scannetpp")
    folder = root / "data" / SCANNETPP / "iphone"
    (folder / "rgb.mp4").unlink()
    (folder / "depth.bin").unlink()
    for i in range(6):
        put(folder / "rgb" / f"frame_{i:06d}.jpg", encoded(picture(i, (96, 72)), "JPEG"))
        put(folder / "depth" / f"frame_{i:06d}.png", encoded(depth_mm(i), "PNG"))
    scene = read_only("scannetpp", root)
    video = scene.video
    assert (video.path, video.fps, video.frames) == (f"data/{SCANNETPP}/iphone/rgb", 10.0, 6)
    assert (video.width, video.height) == (96, 72)
    frames = geometry_of(root, scene).frames
    np.testing.assert_allclose(frames.time_s, np.arange(6) / 10)
    assert frames.size == (48, 36)  # what the intrinsics belong to; the pictures are twice as large
    assert [f.name for f in scene.findings] == ["pictures_resized"]
    color, depth = frames.color(2), frames.depth_m(2)
    assert color.shape == (72, 96, 3)
    assert depth[4, 4] == pytest.approx(1.02)
    footage = ScanNetPP().footage(SceneFiles(root, only_scene(ScanNetPP(), root)), scene)
    assert (footage.fps, sum(1 for _ in footage.frames())) == (10.0, 6)
    phone = [[1500.0, 0.0, 955.0], [0.0, 1500.0, 724.0], [0.0, 0.0, 1.0]]  # as the dataset's, for 1920 x 1440 pixels
    edit_json("pose_intrinsic_imu.json", each_frame(lambda _, frame: frame.update(intrinsic=phone)))(root)
    assert geometry_of(root, read_only("scannetpp", root)).frames.size == (1920, 1440)


def colmap_lines(camera: np.ndarray, names: list[str]) -> str:
    """images.txt: two lines an image, world-to-camera, the second line empty."""
    lines = ["# Image list with two lines of data per image:"]
    for i, (pose, name) in enumerate(zip(camera, names, strict=True), start=1):
        inverse = np.linalg.inv(pose)
        x, y, z, w = Rotation.from_matrix(inverse[:3, :3]).as_quat()
        lines += [" ".join(map(str, (i, w, x, y, z, *inverse[:3, 3], 1, name))), ""]
    return "\n".join(lines) + "\n"


def test_poses_of_colmap_stand_in_for_missing_ones(copied: Copied, tiny: Path) -> None:
    root = copied("scannetpp")
    folder = root / "data" / SCANNETPP / "iphone"
    (folder / "pose_intrinsic_imu.json").unlink()
    put(folder / "colmap" / "cameras.txt", "# lens\n1 OPENCV 48 36 48 48 24 18 0.01 0 0 0\n")
    put(folder / "colmap" / "images.txt", colmap_lines(poses(6), [f"video/frame_{i:06d}.jpg" for i in range(6)]))
    scene = read_only("scannetpp", root)
    here = geometry_of(root, scene).frames
    there = geometry_of(tiny / "scannetpp", read_only("scannetpp", tiny / "scannetpp")).frames
    np.testing.assert_allclose(here.world_T_camera, there.world_T_camera, atol=1e-9)
    np.testing.assert_array_equal(here.intrinsics, there.intrinsics)
    np.testing.assert_array_equal(here.time_s, there.time_s)
    assert scene.findings == ()
    put(folder / "colmap" / "cameras.txt", "1 OPENCV_FISHEYE 48 36 48 48 24 18 0 0 0 0\n")
    assert fault_of("scannetpp", root).finding == "bad_colmap"


def test_undistorted_pictures_of_the_dslr_camera_stand_in_for_a_missing_phone(copied: Copied) -> None:
    root = copied("scannetpp")
    folder = root / "data" / SCANNETPP
    shutil.rmtree(folder / "iphone")
    names = [f"DSC{i:05d}.JPG" for i in (7, 5, 9)]
    put(folder / "dslr" / "colmap" / "cameras.txt", "1 OPENCV_FISHEYE 1752 1168 790 790 880 580 0.1 0 0 0\n")
    put(folder / "dslr" / "colmap" / "images.txt", colmap_lines(poses(3), names))
    fisheye = read_only("scannetpp", root)
    assert fisheye.video is None
    assert ["fisheye" in f.message for f in fisheye.findings] == [True]
    lens = {"fl_x": 48, "fl_y": 48, "cx": 24, "cy": 18, "w": 48, "h": 36, "frames": []}
    put_json(folder / "dslr" / "nerfstudio" / "transforms_undistorted.json", lens)
    for i, name in enumerate(names):
        put(folder / "dslr" / "resized_undistorted_images" / name, encoded(picture(i), "JPEG"))
    scene = read_only("scannetpp", root)
    assert (scene.video.fps, scene.video.frames, scene.video.width) == (1.0, 3, 48)
    frames = geometry_of(root, scene).frames
    np.testing.assert_allclose(frames.world_T_camera, poses(3)[[1, 0, 2]], atol=1e-9)  # in order of their names
    color = frames.color(0)
    assert color.mean() == pytest.approx(25, abs=2)
    put_json(folder / "dslr" / "nerfstudio" / "transforms_undistorted.json", lens | {"k1": 0.1, "k2": 0.0})
    assert "k1 are not 0" in fault_of("scannetpp", root).message


def test_poses_alone_tell_the_size_of_the_pictures(copied: Copied) -> None:
    root = copied("scannetpp")
    remove("rgb.mp4")(root / "data" / SCANNETPP)
    scene = read_only("scannetpp", root)
    assert (scene.video.width, scene.video.height) == (48, 36)
    assert geometry_of(root, scene).frames.color(0) is None
    assert ScanNetPP().footage(SceneFiles(root, only_scene(ScanNetPP(), root)), scene) is None


def test_footage_is_the_video(tiny: Path) -> None:
    root = tiny / "scannetpp"
    footage = ScanNetPP().footage(SceneFiles(root, only_scene(ScanNetPP(), root)), read_only("scannetpp", root))
    assert [image.mean() for image in footage.frames()] == pytest.approx([20, 25, 30, 35, 40, 45], abs=3)


def test_footage_that_breaks_off_is_told(copied: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    root = copied("scannetpp")
    ref = only_scene(ScanNetPP(), root)
    footage = ScanNetPP().footage(SceneFiles(root, ref), ScanNetPP().read(SceneFiles(root, ref)))
    assert footage is not None
    edit_raw("rgb.mp4", lambda raw: raw[:300])(root / "data" / SCANNETPP)
    with pytest.raises(RawDataError, match="unreadable_video"):
        list(footage.frames())


@pytest.mark.parametrize("top", ["", "data"])
def test_the_root_may_be_either_folder(tiny: Path, top: str) -> None:
    root = tiny / "scannetpp" / top
    assert ScanNetPP().read(SceneFiles(root, only_scene(ScanNetPP(), root))).name == SCANNETPP


def test_splits(tmp_path: Path) -> None:
    write_scannetpp(tmp_path)
    write_scannetpp(tmp_path, name="1111111111")
    put(tmp_path / "splits" / "nvs_sem_val.txt", f"{SCANNETPP}\n")
    assert [r.id for r in ScanNetPP().scenes(tmp_path).scenes] == [f"scannetpp/{SCANNETPP}", "scannetpp/1111111111"]
    assert [r.id for r in configured("scannetpp", {"split": "val"}).scenes(tmp_path).scenes] == [
        f"scannetpp/{SCANNETPP}"
    ]
    with pytest.raises(ConfigError, match=r"nvs_sem_train\.txt"):
        ScanNetPP(split="train").scenes(tmp_path)


def test_a_box_without_vertices_stays_in_doubt(copied: Copied) -> None:
    root = copied("scannetpp")
    edit_json("segments_anno.json", lambda v: v["segGroups"][1].update(segments=[]))(root / "data" / SCANNETPP)
    scene = read_only("scannetpp", root)
    assert scene.facts.counts["chair"] == 2
    assert [(f.name, f.severity, f.subject) for f in scene.findings] == [("segment_out_of_range", "doubt", "chair")]
    labels = geometry_of(root, scene).vertex_object
    assert (labels[make_room().owner == 1] == 0).mean() > 0.8  # by its box instead


def test_a_shared_vertex_shows_the_smallest_instance_as_in_the_datasets_toolbox(copied: Copied) -> None:
    root = copied("scannetpp")
    edit_json("segments_anno.json", desk_takes_chair)(root / "data" / SCANNETPP)
    scene = read_only("scannetpp", root)
    shown = geometry_of(root, scene).vertex_object
    theirs = instances_on_vertices(root / "data" / SCANNETPP / "scans")
    assert (theirs[make_room().owner == 1] == 12).all(), "the chair is smaller than the table with it"
    object_of = {0: -1, 11: 3, 12: 0, 13: 1, 14: 2}  # the file's ids; objects are in order of category
    np.testing.assert_array_equal(shown, [object_of[i] for i in theirs])
    assert scene.facts.counts["chair"] == 2


@pytest.mark.parametrize(("number", "told"), [(0, 0), (2**31 - 1, 0), (-1, 1), (2**31, 1), (True, 1), ("4", 1)])
def test_numbers_of_groups_are_whole_and_have_31_bits(number: object, told: int) -> None:
    findings = Findings()
    found = parse_groups({"segGroups": [{"id": number, "label": "bed", "segments": [3, 3, 1]}]}, "id", findings)
    assert [(one.number, one.segments.tolist()) for one in found] == [(number, [1, 3])] * (1 - told)
    assert [f.name for f in findings.items] == ["wrong_type"] * told


def test_of_equally_large_instances_the_first_has_the_vertices() -> None:
    owner, claims = owners([np.array([0, 1]), np.array([1, 2]), np.array([1, 2, 3, 4])], 6)
    assert owner.tolist() == [0, 0, 1, 2, 2, -1]
    assert claims.tolist() == [1, 3, 2, 1, 1, 0]


@pytest.mark.parametrize(("lost", "contested"), [(2, False), (3, True)])
def test_a_group_that_loses_more_than_half_of_its_vertices_contests_the_taker(lost: int, contested: bool) -> None:
    taker = np.arange(lost)
    found = members(np.arange(4), [AnnotationGroup(1, "desk", np.arange(4), {}), AnnotationGroup(2, "mat", taker, {})])
    assert (found.given, found.shared) == ((lost / 4, 0.0), (lost / 4, 1.0))
    assert found.contested == (False, contested)


def test_vertices_of_an_instance_are_not_given_to_a_box_about_them() -> None:
    """The first object has its vertices of the annotation; the second, whose box holds all, gets the rest."""
    small, large = make_box((0, 0, 1), (1, 1, 0.05)), make_box((0, 0, 1), (4, 4, 0.05))
    objects = [SceneObject(category="mat", instance=0, box=small), SceneObject(category="desk", instance=0, box=large)]
    vertices = np.array([[0.0, 0, 1], [0.2, 0, 1], [1.5, 0, 1], [9, 0, 1]])
    shown = label_vertices(vertices, objects, [AnnotatedInstance(1, "mat", "mat", small, np.array([0, 1]))])
    assert shown.tolist() == [0, 0, 1, -1]


# depth.bin


def images(count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.integers(0, 5000, (count, HEIGHT, WIDTH)) / 1000).astype(np.float32)


def deflated(raw: bytes, wbits: int = -zlib.MAX_WBITS) -> bytes:
    packer = zlib.compressobj(level=1, wbits=wbits)
    return packer.compress(raw) + packer.flush()


def with_size(raw: bytes) -> bytes:
    return struct.pack("<I", len(raw)) + raw


def lz4(image: np.ndarray) -> bytes:
    raw = np.rint(image * 1000).astype("<u2").tobytes()
    return bytes(pa.compress(raw, codec="lz4_raw", asbytes=True))


PACKINGS: dict[str, Callable[[np.ndarray], bytes]] = {
    "one bare stream": lambda depth: deflated(depth.tobytes()),
    "one zlib stream": lambda depth: deflated(depth.tobytes(), zlib.MAX_WBITS),
    "lz4 one by one": lambda depth: b"".join(with_size(lz4(image)) for image in depth),
    "deflate one by one": lambda depth: b"".join(with_size(deflated(image.tobytes())) for image in depth),
}


@pytest.mark.parametrize("packing", sorted(PACKINGS))
def test_depth_in_any_order(tmp_path: Path, packing: str) -> None:
    depth = images(8)
    put(tmp_path / "depth.bin", PACKINGS[packing](depth))
    stream = open_depth(tmp_path / "depth.bin")
    for i in (0, 1, 5, 2, 7, 7, 0):
        found = stream(i)
        assert found is not None
        np.testing.assert_allclose(found, np.where(depth[i] > 0, depth[i], np.nan), atol=1e-6)
    assert stream(8) is None
    assert stream(3) is not None


@pytest.mark.parametrize("packing", sorted(PACKINGS))
def test_a_cut_file_gives_the_images_before_the_break(tmp_path: Path, packing: str) -> None:
    whole = PACKINGS[packing](images(6))
    put(tmp_path / "depth.bin", whole[: len(whole) // 2])
    stream = open_depth(tmp_path / "depth.bin")
    assert stream(0) is not None
    assert stream(5) is None


SHORT = pa.compress(b"\1\0" * (PIXELS // 2), codec="lz4_raw", asbytes=True)  # half an image; Arrow fills up the rest


@pytest.mark.parametrize(
    "raw",
    [b"", b"\0\0", b"\xff" * 1000, deflated(b"\0" * (4 * PIXELS - 1)), with_size(b"abc"), with_size(SHORT)],
)
def test_depth_that_is_none(tmp_path: Path, raw: bytes) -> None:
    put(tmp_path / "depth.bin", raw)
    assert open_depth(tmp_path / "depth.bin")(0) is None


# videos


def test_pictures_of_a_video_by_number(tmp_path: Path) -> None:
    put(tmp_path / "a.mp4", movie(20))  # a key frame every five
    pictures = VideoPictures(tmp_path / "a.mp4")
    for number in (0, 1, 7, 19, 3, 3, 12):
        image = pictures(number)
        assert image.mean() == pytest.approx(20 + 5 * number, abs=3)
    assert pictures(20) is None
    assert pictures(-1) is None
    pictures.close()
    assert pictures(4) is not None


def test_a_copy_of_the_scene_elsewhere_reads_the_same(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny / "scannetpp", tmp_path / "moved")
    assert read_only("scannetpp", tmp_path / "moved") == read_only("scannetpp", tiny / "scannetpp")
