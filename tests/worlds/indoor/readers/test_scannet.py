"""ScanNet: what a tiny scan by hand must give, in all its ways of being stored."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.geometry.boxes import stack
from pipeline.reading.files import Findings, SceneFiles, SceneRef
from pipeline.worlds.indoor.readers.frames import camera_size
from pipeline.worlds.indoor.readers.scannet import ScanNet
from pipeline.worlds.indoor.readers.scannet_frames import _numbered
from pipeline.worlds.registry import configured
from tests.worlds.indoor.readers.broken_scans import edit_json, export, info
from tests.worlds.indoor.readers.conftest import fault_of, geometry_of, only_scene, read_only
from tests.worlds.indoor.readers.tiny_scans import (
    ROOM,
    SCANNET,
    THINGS,
    encoded,
    make_room,
    picture,
    poses,
    put,
    write_scannet,
)

ID = f"scannet/{SCANNET}"
Copied = Callable[[str], Path]


def test_objects_are_fitted_in_the_world_frame(tiny: Path) -> None:
    scene = read_only("scannet", tiny / "scannet")
    assert scene.id == ID
    assert [(o.category, o.instance, o.raw_label) for o in scene.facts.objects] == [
        ("chair", 0, "chair"),
        ("chair", 1, "chair"),
        ("sofa", 0, "couch"),
        ("table", 0, "desk"),
    ]
    for item, thing in zip(scene.facts.objects, (THINGS[1], THINGS[2], THINGS[3], THINGS[0]), strict=True):
        assert item.box.center == pytest.approx(thing.center, abs=1e-5)
        assert item.box.lengths == pytest.approx(thing.lengths, abs=1e-5)
        np.testing.assert_allclose(np.abs(np.array(item.box.axes) @ thing.axes.T), np.eye(3), atol=1e-4)
    assert scene.facts.counts == {"chair": 2, "sofa": 1, "table": 1}


def test_room_and_video(tiny: Path) -> None:
    scene = read_only("scannet", tiny / "scannet")
    vertices = make_room().vertices
    # The sofa stands out of the floor by 15 cm of its length, being turned: a strip of 0.8 m x 0.15 m and no more.
    assert ROOM[0] * ROOM[1] <= (scene.facts.room.area_m2 or 0) <= ROOM[0] * ROOM[1] + 0.8 * 0.2
    assert scene.facts.room.area_method == "alpha_shape alpha=5 all vertices"
    assert scene.facts.room.center == pytest.approx((vertices.min(0) + vertices.max(0)) / 2, abs=1e-5)
    assert scene.facts.room.floor
    assert scene.facts.room.floor[0][0] == scene.facts.room.floor[0][-1]
    video = scene.video
    assert video.path == f"scans/{SCANNET}/{SCANNET}.sens"
    assert (video.fps, video.frames, video.width, video.height, video.turn_deg) == (10.0, 6, 48, 36, 0)


def test_source_names_what_was_read(tiny: Path) -> None:
    source = read_only("scannet", tiny / "scannet").source
    suffixes = (".aggregation.json", ".sens", ".txt", "_vh_clean_2.0.010000.segs.json", "_vh_clean_2.ply")
    assert source.files == tuple(f"scans/{SCANNET}/{SCANNET}{suffix}" for suffix in suffixes)
    assert (source.reader, source.box_method) == ("scannet", "fitted: upright, least area on the floor plane")


@pytest.mark.parametrize("changed", ["aggregation.json", "txt", "segs.json", "ply"])
def test_the_digest_follows_every_file_and_nothing_else(copied: Copied, changed: str) -> None:
    root = copied("scannet")
    before = read_only("scannet", root).source.sha256
    (root / "scans" / SCANNET / "notes.md").write_text("nothing")
    assert read_only("scannet", root).source.sha256 == before
    (path,) = root.rglob(f"*.{changed}")
    path.write_bytes(path.read_bytes() + b" \n")
    assert read_only("scannet", root).source.sha256 != before


def test_frames_in_the_world_frame(tiny: Path) -> None:
    root = tiny / "scannet"
    geometry = geometry_of(root, read_only("scannet", root))
    frames = geometry.frames
    np.testing.assert_allclose(frames.world_T_camera, poses(6), atol=1e-5)
    np.testing.assert_allclose(frames.time_s, np.arange(6) / 10)
    np.testing.assert_array_equal(frames.number, np.arange(6))
    np.testing.assert_array_equal(frames.intrinsics, np.tile([48.0, 48, 24, 18], (6, 1)))
    assert frames.size == (48, 36)
    color, depth = frames.color(4), frames.depth_m(4)
    assert color.mean() == pytest.approx(40, abs=2)
    assert depth.shape == (24, 32)
    assert depth[3, 3] == pytest.approx(1.04)
    np.testing.assert_allclose(geometry.vertices, make_room().vertices, atol=1e-5)


def test_vertices_know_their_object(tiny: Path) -> None:
    root = tiny / "scannet"
    scene = read_only("scannet", root)
    geometry = geometry_of(root, scene)
    order = np.array([3, 0, 1, 2, -1])  # of the things among the objects; the last one is the floor
    np.testing.assert_array_equal(geometry.vertex_object, order[make_room().owner])
    assert geometry.vertex_object.dtype == np.int32


def test_an_object_that_a_fix_added_is_labelled_by_its_box(tiny: Path) -> None:
    root = tiny / "scannet"
    scene = read_only("scannet", root)
    _, second, sofa, table = scene.facts.objects
    moved = second.model_copy(update={"box": second.box.model_copy(update={"lengths": (0.6, 0.6, 0.9)})})
    fixed = scene.with_facts(objects=(sofa, moved, table))  # one gone, one corrected, another order
    labels = geometry_of(root, fixed).vertex_object
    owner = make_room().owner
    assert (labels[owner == 3] == 0).all()
    assert (labels[owner == 0] == 2).all()
    assert (labels[owner == 1] == -1).all()
    above = owner == 2
    assert (labels[above & (make_room().vertices[:, 2] > 0.1)] == 1).all()
    assert set(labels[owner == -1]) <= {-1}  # the floor under the corrected box is no chair


def test_exported_folders_give_the_same_as_the_sens(copied: Copied, tiny: Path) -> None:
    root = copied("scannet")
    export(root / "scans" / SCANNET)
    here, there = read_only("scannet", root), read_only("scannet", tiny / "scannet")
    assert here.facts.objects == there.facts.objects
    assert here.video.path == f"scans/{SCANNET}/color"
    # Every third frame was exported, which makes ten of the thirty in a second; the video is what was exported.
    assert (here.video.fps, here.video.frames) == (10.0, 6)
    a, b = geometry_of(root, here).frames, geometry_of(tiny / "scannet", there).frames
    np.testing.assert_allclose(a.world_T_camera, b.world_T_camera, atol=1e-5)
    np.testing.assert_allclose(a.time_s, b.time_s)
    np.testing.assert_array_equal(a.number, b.number)
    np.testing.assert_array_equal(a.intrinsics, b.intrinsics)
    first, second = a.depth_m(2), b.depth_m(2)
    assert first is not None
    assert second is not None
    np.testing.assert_allclose(first, second)


def test_exported_folders_stand_in_for_a_broken_sens(copied: Copied) -> None:
    root = copied("scannet")
    folder = root / "scans" / SCANNET
    export(folder)
    put(folder / f"{SCANNET}.sens", b"\x03\0\0\0")
    scene = read_only("scannet", root)
    assert scene.video.path.endswith("/color")
    assert [f.name for f in scene.findings] == ["sens_version"]


def test_intrinsics_come_from_the_facts_where_they_were_not_exported(copied: Copied) -> None:
    root = copied("scannet")
    folder = root / "scans" / SCANNET
    export(folder)
    shutil.rmtree(folder / "intrinsic")
    geometry = geometry_of(root, read_only("scannet", root))
    np.testing.assert_array_equal(geometry.frames.intrinsics[0], [48, 48, 24, 18])


def test_footage_has_every_frame_poses_or_not(copied: Copied) -> None:
    root = copied("scannet")
    reader = ScanNet()
    ref = only_scene(reader, root)
    footage = reader.footage(SceneFiles(root, ref), reader.read(SceneFiles(root, ref)))
    assert footage.fps == 10.0
    brightness = [image.mean() for image in footage.frames()]
    assert brightness == pytest.approx([20, 25, 30, 35, 40, 45], abs=2)


def test_a_slowed_video_has_every_frame_at_four_fifths_of_the_rate(tiny: Path) -> None:
    reader = ScanNet(pace="slowed")
    files = SceneFiles(tiny / "scannet", only_scene(reader, tiny / "scannet"))
    scene = reader.read(files)
    footage, frames = reader.footage(files, scene), reader.geometry(files, scene).frames
    assert scene.video is not None
    assert footage is not None
    assert (scene.video.fps, footage.fps, sum(1 for _ in footage.frames())) == (8.0, 8.0, 6)
    np.testing.assert_allclose(frames.time_s, np.arange(6) / 8)
    with pytest.raises(ValueError, match="'fast'; there are clock, slowed"):
        ScanNet(pace="fast")  # type: ignore[arg-type]


def test_times_are_those_of_the_video_where_frames_are_missing(copied: Copied) -> None:
    """The clock of the .sens jumps by ten seconds amid six frames; the video shows them at ten frames a second."""
    root = copied("scannet")
    path = root / "scans" / SCANNET / f"{SCANNET}.sens"
    stamps = [5_000_000 + i * 100_000 + (10_000_000 if i > 2 else 0) for i in range(6)]
    raw = path.read_bytes()
    for i, stamp in enumerate(stamps):
        raw = raw.replace(struct.pack("<QQ", *[5_000_000 + i * 100_000] * 2), struct.pack("<QQ", stamp, stamp))
    path.write_bytes(raw)
    scene = read_only("scannet", root)
    frames = geometry_of(root, scene).frames
    footage = ScanNet().footage(SceneFiles(root, only_scene(ScanNet(), root)), scene)
    delivered_s = sum(1 for _ in footage.frames()) / footage.fps
    assert frames.time_s[-1] == pytest.approx(0.5)
    assert delivered_s == pytest.approx(0.6)
    (note,) = scene.findings
    assert (note.name, note.severity, note.measured) == ("clock_differs", "note", pytest.approx(10.0))


def test_missing_exported_frames_shorten_the_video_and_its_times(tmp_path: Path) -> None:
    write_scannet(tmp_path, frames=12, exported=True)  # numbered by threes: ten a second
    for number in (12, 15, 18, 21, 24, 27):
        for folder, suffix in (("color", "jpg"), ("depth", "png"), ("pose", "txt")):
            (tmp_path / "scans" / SCANNET / folder / f"{number}.{suffix}").unlink()
    scene = read_only("scannet", tmp_path)
    np.testing.assert_allclose(geometry_of(tmp_path, scene).frames.time_s, np.arange(6) / 10)
    assert [f.name for f in scene.findings] == ["clock_differs"]


def exported_with(root: Path, stated: str, matrix: str, size: tuple[int, int]) -> None:
    folder = write_scannet(root, exported=True)
    info(lambda t: t.replace("colorHeight = 36\ncolorWidth = 48", stated))(folder)
    put(folder / "intrinsic" / "intrinsic_color.txt", matrix)
    for i in range(6):
        put(folder / "color" / f"{3 * i}.jpg", encoded(picture(i, size), "JPEG"))


@pytest.mark.parametrize(
    ("stated", "focal", "pictures", "belongs", "told"),
    [
        ("colorHeight = 72\ncolorWidth = 96", 48, (48, 36), (48, 36), False),  # rescaled, beside the old .txt
        ("colorHeight = 72\ncolorWidth = 96", 96, (48, 36), (96, 72), True),  # not rescaled: they follow the .txt
        ("", 96, (48, 36), (96, 72), True),  # not rescaled, and no .txt to tell
        ("", 48, (48, 36), (48, 36), False),
    ],
)
def test_intrinsics_of_resized_pictures(
    tmp_path: Path, stated: str, focal: int, pictures: tuple[int, int], belongs: tuple[int, int], told: bool
) -> None:
    matrix = f"{focal} 0 {focal / 2} 0\n0 {focal} {focal * 3 / 8} 0\n0 0 1 0\n0 0 0 1\n"
    exported_with(tmp_path, stated, matrix, pictures)
    scene = read_only("scannet", tmp_path)
    assert (scene.video.width, scene.video.height) == pictures
    assert geometry_of(tmp_path, scene).frames.size == belongs
    assert [f.name for f in scene.findings] == (["pictures_resized"] if told else [])


def test_pictures_that_were_cut_have_no_camera(tmp_path: Path) -> None:
    exported_with(tmp_path, "", "96 0 48 0\n0 96 36 0\n0 0 1 0\n0 0 0 1\n", (48, 20))
    assert fault_of("scannet", tmp_path).finding == "bad_intrinsics"


def test_minimal_boxes_are_an_option(tiny: Path) -> None:
    root = tiny / "scannet"
    reader = configured("scannet", {"box_fit": "minimal"})
    scene = reader.read(SceneFiles(root, only_scene(reader, root)))
    assert scene.source.box_method == "fitted: minimal over the triangles of the convex hull (Open3D up to 0.18)"
    assert sorted(scene.facts.objects[3].box.lengths) == pytest.approx(sorted(THINGS[0].lengths), abs=1e-4)
    labels = geometry_of(root, scene, reader).vertex_object
    assert (labels >= 0).sum() == (make_room().owner >= 0).sum()
    assert reader.settings() != ScanNet().settings()


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="gravity, minimal, minimal_jylanki"):
        configured("scannet", {"box_fit": "smallest"})


def test_an_unaligned_level_scan_gives_the_same_sizes(copied: Copied, tiny: Path) -> None:
    root = copied("scannet")
    info(lambda text: text.replace("axisAlignment", "formerAlignment"))(root / "scans" / SCANNET)
    here, there = read_only("scannet", root), read_only("scannet", tiny / "scannet")
    assert [f.name for f in here.findings] == ["missing_alignment"]
    assert here.facts.room.area_m2 == pytest.approx(there.facts.room.area_m2)
    for a, b in zip(here.facts.objects, there.facts.objects, strict=True):
        assert a.box.lengths == pytest.approx(b.box.lengths, abs=1e-5)


@pytest.mark.parametrize("top", ["", "scans"])
def test_the_root_may_be_either_folder(tiny: Path, top: str) -> None:
    root = tiny / "scannet" / top
    ref = only_scene(ScanNet(), root)
    assert ref.id == ID
    assert ScanNet().read(SceneFiles(root, ref)).id == ID


def test_scenes_are_sorted_and_split(tmp_path: Path) -> None:
    names = ["scene0011_01", "scene0011_00", "scene0002_00"]
    for name in names:
        (tmp_path / "scans" / name).mkdir(parents=True)
    assert [ref.id for ref in ScanNet().scenes(tmp_path).scenes] == [f"scannet/{n}" for n in sorted(names)]
    put(tmp_path / "scannetv2_val.txt", "scene0011_00\nscene0568_00\n")
    reader = configured("scannet", {"split": "val"})
    assert [ref.id for ref in reader.scenes(tmp_path).scenes] == ["scannet/scene0011_00"]
    with pytest.raises(ConfigError, match=r"scannetv2_train\.txt"):
        ScanNet(split="train").scenes(tmp_path)
    put(tmp_path / "scannetv2_val.txt", "scene0568_00\n")
    with pytest.raises(ConfigError, match="none of the 3 scenes"):
        reader.scenes(tmp_path)


def test_roots_that_hold_nothing_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        ScanNet().scenes(tmp_path / "none")
    with pytest.raises(ConfigError, match="no scene of scannet"):
        ScanNet().scenes(tmp_path)


def test_two_folders_of_one_scan_are_told(tmp_path: Path) -> None:
    write_scannet(tmp_path)
    shutil.copytree(tmp_path / "scans" / SCANNET, tmp_path / SCANNET)
    (error,) = ScanNet().scenes(tmp_path).broken
    assert (error.finding, error.scene) == ("duplicate_scene", ID)


def test_names_that_cannot_be_file_names_are_told(tmp_path: Path) -> None:
    folder = write_scannet(tmp_path)
    folder.rename(folder.with_name("scene 1"))
    put(folder.with_name("scene 1") / "scene 1.sens", b"x")
    (error,) = ScanNet().scenes(tmp_path).broken
    assert error.finding == "unsafe_scene_name"


def test_the_stamp_follows_names_sizes_and_times_alone(copied: Copied) -> None:
    root = copied("scannet")
    (path,) = root.rglob("*.sens")
    stat = path.stat()

    def stamp() -> str:
        return only_scene(ScanNet(), root).stamp

    before = stamp()
    raw = path.read_bytes()
    path.write_bytes(raw[:-1] + b"\0")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert stamp() == before  # nothing big is read to find out whether anything changed
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    touched = stamp()
    assert touched != before
    path.write_bytes(raw + b"\0")
    assert stamp() not in {before, touched}


def test_reading_twice_gives_the_same_bytes(tiny: Path) -> None:
    first, second = (read_only("scannet", tiny / "scannet").model_dump_json() for _ in range(2))
    assert first == second


def test_reading_decodes_no_picture(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.formats.images.decoded", lambda *_: pytest.fail("a picture was decoded"))
    assert read_only("scannet", tiny / "scannet").video is not None


def test_labels_are_compared_without_case_and_blanks(copied: Copied) -> None:
    root = copied("scannet")
    edit_json("*.aggregation.json", lambda v: v["segGroups"][0].update(label=" Coffee  Table "))(
        root / "scans" / SCANNET
    )
    scene = read_only("scannet", root)
    assert [(o.category, o.raw_label) for o in scene.facts.objects][-1] == ("table", " Coffee  Table ")


def test_a_change_of_another_instance_keeps_the_boxes(copied: Copied, tiny: Path) -> None:
    root = copied("scannet")
    path = root / "scans" / SCANNET / f"{SCANNET}.aggregation.json"
    value = json.loads(path.read_text())
    value["segGroups"] = value["segGroups"][1:]
    path.write_text(json.dumps(value))
    here, there = read_only("scannet", root), read_only("scannet", tiny / "scannet")
    assert here.facts.objects == there.facts.objects[:3]
    assert stack(
        [o.box.center for o in here.facts.objects],
        [o.box.lengths for o in here.facts.objects],
        [o.box.axes for o in here.facts.objects],
    ).half.shape == (3, 3)
    assert replace(ScanNet(), split="val") != ScanNet()


@pytest.mark.parametrize(("width", "fits"), [(1305, True), (1308, False), (1255, True), (1252, False)])
def test_a_stated_size_may_differ_in_shape_by_two_percent(tmp_path: Path, width: int, fits: bool) -> None:
    """Pictures of 640x480 pixels, and a camera of ``width`` x 960."""
    files = SceneFiles(tmp_path, SceneRef("scannet/a", ("a",), ""))
    pinhole, findings = np.array([1000.0, 1000.0, width / 2, 480.0]), Findings()
    if fits:
        assert camera_size(files, tmp_path / "a", pinhole, (640, 480), [(width, 960)], findings) == (width, 960)
        assert [(f.name, f.measured) for f in findings.items] == [("pictures_resized", pytest.approx(640 / width))]
        return
    with pytest.raises(RawDataError, match="nor scaled ones"):
        camera_size(files, tmp_path / "a", pinhole, (640, 480), [(width, 960)], findings)


def test_frame_numbers_have_at_most_nine_digits(tmp_path: Path) -> None:
    for name in ("7.jpg", "123456789.JPG", "1234567890.jpg", "8.png", "nine.jpg"):
        (tmp_path / name).touch()
    assert {number: path.name for number, path in _numbered(tmp_path, (".jpg",)).items()} == {
        7: "7.jpg",
        123456789: "123456789.JPG",
    }
