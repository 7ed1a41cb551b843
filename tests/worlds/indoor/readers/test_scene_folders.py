"""The neutral scene format: what it states is what is read, whatever unit and axes; what is wrong is named."""

import json
import random
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.benchmarks.vsi.rules import PROFILES, ScanView
from pipeline.core.errors import ConfigError, FormatError, RawDataError
from pipeline.formats.nearest import nearest_format
from pipeline.formats.scene_folder import SceneDocument, scene_text
from pipeline.reading.doctor import inspect
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.readers.scene_folders import SceneFolders, read_mesh
from tests.environment import times
from tests.formats.logs.made_films import grey_film
from tests.worlds.indoor.made_capture import BOXES, LENS, ROOM, SIZE, color, png, room_mesh, walk
from tests.worlds.indoor.readers.conftest import fault_of, only_scene, read_only
from tests.worlds.indoor.readers.tiny_scans import ply, put

Spoil = Callable[[dict[str, Any], Path], object]


def write(
    root: Path, change: Spoil = lambda told, folder: None, turn: np.ndarray | None = None, name: str = "room"
) -> Path:
    """A sound scene below ``root``, or one that is not; ``turn``: file_R_world, where the file has other axes."""
    folder, track = root / name, walk()
    file_R_world = np.eye(3) if turn is None else turn
    vertices, faces = room_mesh()
    put(folder / "mesh.ply", ply(vertices @ file_R_world.T, faces))
    frames = []
    for i, pose in enumerate(track.pose):
        put(folder / f"color/{i}.jpg", color(i))
        put(folder / f"depth/{i}.png", png(track.depth_mm(i)))
        own = pose.copy()
        own[:3] = file_R_world @ pose[:3]
        frames.append(
            {
                "time_s": float(track.time_s[i]),
                "color": f"color/{i}.jpg",
                "depth": f"depth/{i}.png",
                "world_T_camera": own.tolist(),
            }
        )
    objects = [
        {
            "label": label,
            "center": (file_R_world @ (np.array(low) + high) / 2).tolist(),
            "size": (np.abs(file_R_world) @ (np.array(high) - low)).tolist(),
        }
        for label, low, high in BOXES
    ]
    told: dict[str, Any] = {
        "format": "scan2qa-scene",
        "version": 1,
        "unit": "m",
        "up": "z",
        "handedness": "right",
        "complete": True,
        "objects": objects,
        "mesh": "mesh.ply",
        "whole_floor": True,
        "camera": {"axes": "opencv", "width": SIZE[0], "height": SIZE[1], "intrinsics": list(LENS), "frames": frames},
    }
    change(told, folder)
    put(folder / "scene.json", json.dumps(told))
    return root


def found(scene: IndoorScene) -> dict[str, str]:
    return {f.name: f.severity for f in scene.findings}


def test_a_sound_scene_is_read_whole(tmp_path: Path) -> None:
    root = write(tmp_path)
    scene = read_only("scene", root)
    assert scene.id == "scene/room"
    assert scene.findings == ()
    assert scene.facts.counts == {"refrigerator": 1, "sofa": 1, "table": 1}
    assert scene.facts.room.area_m2 == pytest.approx(ROOM[0] * ROOM[1], rel=0.01)
    assert scene.video is not None
    assert (scene.video.fps, scene.video.frames, scene.video.turn_deg) == (5.0, 12, 0)
    reader = SceneFolders()
    files = SceneFiles(root, only_scene(reader, root))
    geometry = reader.geometry(files, scene)
    assert geometry is not None
    np.testing.assert_allclose(geometry.frames.world_T_camera, walk().pose, atol=1e-12)
    depth = geometry.frames.depth_m(3)
    assert depth is not None
    assert np.abs(depth - walk().depth_mm(3) / 1000).max() < 1e-9
    footage = reader.footage(files, scene)
    assert footage is not None
    assert len(list(footage.frames())) == 12
    assert all(not scenes for scenes in inspect(reader, root).missing.values())


TURNS = {  # up and handedness of a file -> file_R_world
    ("y", "right"): [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    ("-y", "right"): [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
    ("x", "right"): [[0, 0, 1], [1, 0, 0], [0, 1, 0]],
    ("-x", "right"): [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
    ("-z", "right"): [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
    ("y", "left"): [[1, 0, 0], [0, 0, 1], [0, 1, 0]],  # Unity: x right, y up, z ahead
    ("z", "left"): [[1, 0, 0], [0, -1, 0], [0, 0, 1]],
}


@pytest.mark.parametrize(("up", "hand"), TURNS)
def test_the_frame_of_a_file_changes_nothing(tmp_path: Path, up: str, hand: str) -> None:
    """Distances, heights and which way is left are those of the room, whatever axes the file has."""

    def change(told: dict[str, Any], folder: Path) -> None:
        told.update(up=up, handedness=hand)

    scene = read_only("scene", write(tmp_path, change, np.array(TURNS[up, hand], dtype=float)))
    assert scene.findings == ()
    centers = {o.category: np.array(o.box.center) for o in scene.facts.objects}
    true = {label: (np.array(low) + high) / 2 for label, low, high in BOXES}
    for label, low, high in BOXES:
        assert centers[label][2] == pytest.approx(true[label][2])
        box = next(o.box for o in scene.facts.objects if o.category == label)
        height = np.abs(np.array(box.axes)[:, 2]) @ np.array(box.lengths)
        assert height == pytest.approx(high[2] - low[2])
    first, second = (centers[n] - centers["table"] for n in ("refrigerator", "sofa"))
    theirs, others = (true[n] - true["table"] for n in ("refrigerator", "sofa"))
    turning = first[0] * second[1] - first[1] * second[0]
    assert turning == pytest.approx(theirs[0] * others[1] - theirs[1] * others[0])  # a mirror changes its sign


@pytest.mark.parametrize(("unit", "metres"), [("cm", 0.01), ("mm", 0.001), ("in", 0.0254), ("ft", 0.3048)])
def test_lengths_become_metres(tmp_path: Path, unit: str, metres: float) -> None:
    def change(told: dict[str, Any], folder: Path) -> None:
        told.update(
            unit=unit,
            mesh=None,
            outline=[[0, 0, 0], [0, 3 / metres, 0], [4 / metres, 3 / metres, 0], [4 / metres, 0, 0]],
        )
        told["camera"] = None
        for item in told["objects"]:
            item["center"], item["size"] = (np.divide(item[k], metres).tolist() for k in ("center", "size"))

    scene = read_only("scene", write(tmp_path, change))
    assert scene.facts.room.area_m2 == pytest.approx(12.0)
    (ring,) = scene.facts.room.floor or ()
    assert sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring)) / 2 == pytest.approx(12.0)
    table = next(o.box for o in scene.facts.objects if o.category == "table")
    assert table.lengths == pytest.approx((1.2, 0.8, 0.75))


def test_a_turn_is_counter_clockwise_about_up(tmp_path: Path) -> None:
    def change(told: dict[str, Any], folder: Path) -> None:
        told.update(up="y", mesh=None, camera=None, objects=[{**told["objects"][0], "turn_deg": 30}])

    scene = read_only("scene", write(tmp_path, change))
    rows = np.array(scene.facts.objects[0].box.axes)
    assert np.degrees(np.arctan2(rows[0, 1], rows[0, 0])) == pytest.approx(30)


def test_opengl_and_unity_cameras_are_turned(tmp_path: Path) -> None:
    def opengl(told: dict[str, Any], folder: Path) -> None:
        told["camera"]["axes"] = "opengl"
        for frame in told["camera"]["frames"]:
            frame["world_T_camera"] = (np.array(frame["world_T_camera"]) @ np.diag([1, -1, -1, 1])).tolist()

    assert read_only("scene", write(tmp_path / "gl", opengl)).findings == ()

    def unity(told: dict[str, Any], folder: Path) -> None:
        told.update(up="y", handedness="left")
        told["camera"]["axes"] = "unity"
        for frame in told["camera"]["frames"]:
            frame["world_T_camera"] = (np.array(frame["world_T_camera"]) @ np.diag([1, -1, 1, 1])).tolist()

    turn = np.array(TURNS["y", "left"], dtype=float)
    assert read_only("scene", write(tmp_path / "unity", unity, turn)).findings == ()


@pytest.mark.parametrize("suffix", ["glb", "obj", "off", "stl"])
def test_meshes_of_other_kinds_are_the_same_room(tmp_path: Path, suffix: str) -> None:
    def change(told: dict[str, Any], folder: Path) -> None:
        trimesh.Trimesh(*room_mesh(), process=False).export(folder / f"m.{suffix}")
        told["mesh"] = f"m.{suffix}"

    scene = read_only("scene", write(tmp_path, change))
    assert scene.findings == ()
    assert scene.facts.room.area_m2 == pytest.approx(12.0, rel=0.01)


def poses(change: Callable[[np.ndarray], np.ndarray]) -> Spoil:
    def spoil(told: dict[str, Any], folder: Path) -> None:
        for frame in told["camera"]["frames"]:
            frame["world_T_camera"] = change(np.array(frame["world_T_camera"])).tolist()

    return spoil


def transposed(pose: np.ndarray) -> np.ndarray:
    pose[:3, :3] = pose[:3, :3].T
    return pose


def scalar_first(pose: np.ndarray) -> np.ndarray:
    """As read by who takes w x y z for x y z w."""
    pose[:3, :3] = Rotation.from_quat(np.roll(Rotation.from_matrix(pose[:3, :3]).as_quat(), 1)).as_matrix()
    return pose


def scaled(factor: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(pose: np.ndarray) -> np.ndarray:
        pose[:3, 3] *= factor
        return pose

    return change


def put_in(*keys: Any, value: Any) -> Spoil:
    """Sets what stands under some keys."""

    def spoil(told: Any, folder: Path) -> None:
        for key in keys[:-1]:
            told = told[key]
        told[keys[-1]] = value

    return spoil


def both(*spoils: Spoil) -> Spoil:
    """One after the other."""

    def spoil(told: dict[str, Any], folder: Path) -> None:
        for one in spoils:
            one(told, folder)

    return spoil


def linked(name: str, target: str) -> Spoil:
    """A link in the scene's folder."""
    return lambda told, folder: (folder / name).symlink_to(target)


def lowered(metres: float) -> Spoil:
    """Mesh and boxes far below the camera."""

    def spoil(told: dict[str, Any], folder: Path) -> None:
        vertices, faces = room_mesh()
        put(folder / "mesh.ply", ply(vertices - [0, 0, metres], faces))
        for item in told["objects"]:
            item["center"][2] -= metres

    return spoil


FRAME = ("camera", "frames", 2)
ROTATED = [[0.9, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
FAULTS: dict[str, tuple[Spoil, str]] = {
    "poses inverted": (poses(np.linalg.inv), "depth_contradicts_poses"),
    "rotations transposed": (poses(transposed), "depth_contradicts_poses"),
    "quaternions with the scalar elsewhere": (poses(scalar_first), "depth_contradicts_poses"),
    "opengl called opencv": (poses(lambda p: p @ np.diag([1, -1, -1, 1])), "depth_contradicts_poses"),
    "depth of another divisor": (put_in("camera", "depth_divisor", value=5000), "depth_contradicts_poses"),
    "positions twice as long": (poses(scaled(2)), "depth_contradicts_poses"),
    "positions half as long": (poses(scaled(0.5)), "depth_contradicts_poses"),
    "unity called opencv": (poses(lambda p: p @ np.diag([1, -1, 1, 1])), "mirrored_poses"),
    "poses that scale": (poses(lambda p: p * 2), "no_usable_frames"),
    "millimetres": (poses(scaled(1000)), "no_usable_frames"),
    "another format": (put_in("format", value="gltf"), "unknown_version"),
    "a later version": (put_in("version", value=2), "unknown_version"),
    "unknown key": (put_in("objetcs", value=[]), "unknown_key"),
    "no unit": (lambda told, folder: told.pop("unit"), "missing_key"),
    "unit of no kind": (put_in("unit", value="parsec"), "wrong_value"),
    "center not finite": (put_in("objects", 0, "center", value=[float("nan"), 0, 0]), "not_finite"),
    "size below zero": (put_in("objects", 0, "size", value=[1, -1, 1]), "wrong_value"),
    "size in millimetres": (put_in("objects", 0, "size", value=[1200, 800, 750]), "implausible_length"),
    "axes askew": (put_in("objects", 0, "axes", value=[[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]), "axes_not_orthonormal"),
    "axes left-handed": (put_in("objects", 0, "axes", value=[[1, 0, 0], [0, 1, 0], [0, 0, -1]]), "left_handed_axes"),
    "two turns": (
        lambda told, folder: told["objects"][0].update(turn_deg=3, axes=[[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        "wrong_value",
    ),
    "label of a list": (put_in("objects", 0, "label", value="table, chair"), "unusable_category"),
    "path upwards": (put_in("mesh", value="../room/mesh.ply"), "wrong_value"),
    "path from the root": (put_in("mesh", value="/etc/passwd"), "wrong_value"),
    "picture upwards": (put_in(*FRAME, "color", value="../../a.jpg"), "wrong_value"),
    "link out of the folder": (both(put_in("mesh", value="a.ply"), linked("a.ply", "/etc/passwd")), "path_outside"),
    "folder that is a link": (both(put_in(*FRAME, "depth", value="other/a"), linked("other", "/etc")), "path_outside"),
    "mesh not there": (put_in("mesh", value="no.ply"), "missing_file"),
    "mesh of no kind": (put_in("mesh", value="color/0.jpg"), "unsupported_mesh"),
    "mesh that is none": (
        both(put_in("mesh", value="m.glb"), lambda told, folder: put(folder / "m.glb", b"glTF" + bytes(90))),
        "unreadable_mesh",
    ),
    "lens of other pictures": (put_in("camera", "intrinsics", value=[700, 700, 400, 300]), "bad_intrinsics"),
    "pictures of another shape": (put_in("camera", "height", value=80), "bad_intrinsics"),
    "times that go back": (put_in(*FRAME, "time_s", value=-1.0), "times_not_in_order"),
    "pose of three rows": (put_in(*FRAME, "world_T_camera", value=ROTATED[:3]), "missing_key"),
    "outline that crosses itself": (
        put_in("outline", value=[[0, 0, 0], [4, 3, 0], [4, 0, 0], [0, 3, 0]]),
        "unusable_outline",
    ),
    "film that is none": (put_in("camera", "film", value="mesh.ply"), "unreadable_video"),
    "all in millimetres": (put_in("unit", value="mm"), "implausible_extent"),
    "list": (lambda told, folder: told.update(camera=[]), "wrong_value"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_cost_the_scene_by_name(tmp_path: Path, kind: str) -> None:
    spoil, finding = FAULTS[kind]
    error = fault_of("scene", write(tmp_path, spoil))
    assert error.finding == finding, str(error)
    assert error.remedy


FINDINGS: dict[str, tuple[Spoil, str, str]] = {
    "y up called z up": (put_in("up", value="y"), "camera_up_unclear", "doubt"),
    "upside down": (put_in("up", value="-z"), "camera_upside_down", "doubt"),
    "not all listed": (put_in("complete", value=["sofa"]), "label_not_complete", "doubt"),
    "metres called feet": (put_in("unit", value="ft"), "implausible_eye_height", "doubt"),
    "nobody measured": (put_in("unit", value="unknown"), "scale_unknown", "doubt"),
    "label of no list": (put_in("objects", 0, "label", value="Theremin_stand"), "no_usual_size", "note"),
    "two names of one thing": (put_in("objects", 0, "label", value="couch"), "labels_of_one_kind", "doubt"),
    "a remark": (put_in("remarks", value=["the scale is from a tape measure"]), "remark", "note"),
    "stated area of another room": (
        lambda told, folder: told.update(area=20, outline=[[0, 0, 0], [4, 0, 0], [4, 3, 0], [0, 3, 0]]),
        "area_differs",
        "doubt",
    ),
    "no pose": (poses(lambda p: np.array(None)), "no_usable_frames", "note"),
    "no camera": (put_in("camera", value=None), "no_frames", "note"),
    "camera above the roof": (lowered(3.0), "implausible_eye_height", "doubt"),
    "a camera that flies": (
        lambda told, folder: [f.update(time_s=f["time_s"] / 20) for f in told["camera"]["frames"]],
        "implausible_pace",
        "doubt",
    ),
    "leaning mesh": (
        lambda told, folder: put(
            folder / "mesh.ply",
            ply(Rotation.from_euler("x", 8, degrees=True).apply(room_mesh()[0]), room_mesh()[1]),
        ),
        "floor_not_level",
        "doubt",
    ),
    "one place": (
        poses(lambda p: walk().pose[0]),
        "depth_not_compared",
        "note",
    ),
}


@pytest.mark.parametrize("kind", FINDINGS)
def test_findings_stay_with_the_scene(tmp_path: Path, kind: str) -> None:
    spoil, finding, severity = FINDINGS[kind]
    assert found(read_only("scene", write(tmp_path, spoil))).get(finding) == severity


@pytest.mark.parametrize(("quarters", "refused"), [(0, False), (1, True), (2, True), (3, True)])
def test_a_film_whose_container_turns_it_and_poses_that_do_not(tmp_path: Path, quarters: int, refused: bool) -> None:
    """The poses have up at the top of the pictures as stored; a player would turn them by the tag first."""

    def filmed(told: dict[str, Any], folder: Path) -> None:
        film = bytearray(grey_film((20 + 10 * i for i in range(len(told["camera"]["frames"]))), 10, SIZE))
        turn = Rotation.from_euler("z", -90 * quarters, degrees=True).as_matrix().round().astype(int) << 16
        at = film.index(b"tkhd") + 44
        film[at : at + 20] = struct.pack(">5i", *turn[0], *turn[1, :2])
        put(folder / "film.mp4", bytes(film))
        told["camera"]["film"] = "film.mp4"

    root = write(tmp_path, filmed)
    if refused:
        assert fault_of("scene", root).finding == "film_turned"
    else:
        read_only("scene", root)


def test_labels_of_no_list_are_asked_about_as_they_stand(tmp_path: Path) -> None:
    scene = read_only("scene", write(tmp_path, put_in("objects", 0, "label", value=" Theremin_stand ")))
    view = ScanView(scene, PROFILES["strict"])
    assert set(view.categories[view.usable("unique")]) == {"refrigerator", "sofa", "theremin stand"}


@pytest.mark.parametrize("kind", ["nobody measured", "upside down", "camera above the roof"])
def test_without_scale_or_up_counts_alone_are_asked(tmp_path: Path, kind: str) -> None:
    scene = read_only("scene", write(tmp_path, FINDINGS[kind][0]))
    for profile in PROFILES.values():
        view = ScanView(scene, profile)
        assert len(view.usable("counted")) == 3
        assert not len(view.usable("unique"))
        assert not len(view.usable("boxed"))


def test_the_area_of_a_floor_that_was_scanned_in_part_is_not_known(tmp_path: Path) -> None:
    room = read_only("scene", write(tmp_path, put_in("whole_floor", value=False))).facts.room
    assert room.area_m2 is None
    assert room.floor


def test_the_folder_of_one_scene_is_not_the_root(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is one scene: give the folder above it"):
        SceneFolders().scenes(write(tmp_path) / "room")


def test_another_format_is_named_with_what_helps(tmp_path: Path) -> None:
    (tmp_path / "fox").mkdir()
    (tmp_path / "fox/transforms.json").write_text("{}")
    with pytest.raises(ConfigError, match="looks like nerfstudio or instant-ngp: scan2qa convert nerfstudio"):
        SceneFolders().scenes(tmp_path)
    (tmp_path / "cloud.e57").write_bytes(b"ASTM-E57")
    assert "PLY" in str(nearest_format(tmp_path / "cloud.e57"))


def test_doctor_says_what_each_missing_part_costs(tmp_path: Path) -> None:
    root = write(tmp_path, lambda told, folder: told.update(camera=None, mesh=None, complete=False, unit="unknown"))
    missing = {want.part for want, scenes in inspect(SceneFolders(), root).missing.items() if scenes}
    assert missing == {"complete labels", "a unit of length", "mesh", "area", "poses", "film or pictures", "depth"}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    text = (write(tmp_path) / "room/scene.json").read_text()
    document = SceneDocument.model_validate_json(text)
    assert SceneDocument.model_validate_json(scene_text(document)) == document
    assert len(scene_text(document).splitlines()) < 60


@pytest.mark.slow
def test_mutations_are_named(tmp_path: Path) -> None:
    """Files with bytes changed, cut or doubled: each is read, or refused by a name of ours."""
    root = write(tmp_path)
    path = root / "room/scene.json"
    sound, chance = path.read_bytes(), random.Random(32)  # noqa: S311
    for _ in range(times(25, 200)):
        raw = bytearray(sound)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(raw))
            way = chance.randrange(4)
            if way == 0:
                raw[at] = chance.randrange(256)
            elif way == 1:
                del raw[at : at + chance.randint(1, 40)]
            elif way == 2:
                raw[at:at] = raw[at : at + chance.randint(1, 40)]
            else:
                raw[at:at] = chance.choice([b"1e999", b"NaN", b"-", b"null", b'"', b"{", b"]", b"\\ud800"])
        path.write_bytes(bytes(raw))
        with suppress(RawDataError):  # anything else is a fault of ours
            read_only("scene", root)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["glb", "obj", "off", "stl"])
def test_mutated_meshes_are_named(suffix: str) -> None:
    """Files of each kind: each is a mesh, or refused; none hangs or asks for more memory than it has bytes."""
    sound = trimesh.creation.box().subdivide().export(file_type=suffix)
    raw, chance = sound.encode() if isinstance(sound, str) else bytes(sound), random.Random(32)  # noqa: S311
    for _ in range(times(25, 200)):
        data = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 4)] = chance.randbytes(chance.randint(0, 4))
        with suppress(FormatError):
            mesh = read_mesh(bytes(data), f".{suffix}")
            assert np.isfinite(mesh.vertices).all()
            assert 0 <= mesh.faces.min() <= mesh.faces.max() < len(mesh.vertices)


def test_a_root_that_is_a_file_names_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "GX010001.MP4"
    path.touch()
    with pytest.raises(ConfigError, match=re.escape(f"is a file: give the folder that it lies in, {tmp_path}")):
        SceneFolders().scenes(path)
    archive = tmp_path / "scans.zip"
    archive.touch()
    with pytest.raises(ConfigError, match=r"scans.zip is a file: this looks like an archive: unzip it"):
        SceneFolders().scenes(archive)


def test_of_a_document_that_is_not_valid_nothing_else_is_told_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "den").mkdir()
    (tmp_path / "den/scene.json").write_text("{}")
    assert [part.part for part, ids in inspect(SceneFolders(), tmp_path).missing.items() if ids] == [
        "scene.json that is valid"
    ]
