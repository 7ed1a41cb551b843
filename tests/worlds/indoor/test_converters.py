"""Every converter gives the room that was captured; whatever was planted in a capture is found, and by which name."""

import json
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.core.errors import FormatError, RawDataError
from pipeline.formats.colmap import parse_views
from pipeline.formats.images import color_file, jpeg_bytes
from pipeline.formats.scene_folder import SceneDocument, write_scene
from pipeline.geometry.scans import CameraFrames
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.converters.capture import distorted
from pipeline.worlds.indoor.converters.registry import CONVERTERS, recognised
from pipeline.worlds.indoor.converters.rgbd import mask_confidence
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.readers.scene_folders import SceneFolders
from tests.environment import REAL_DATA, times
from tests.worlds.indoor.made_capture import BOXES, FPS, LENS, ROOM, SIZE, color, depth_mm, png, walk
from tests.worlds.indoor.readers.conftest import only_scene
from tests.worlds.indoor.readers.tiny_scans import movie, put, put_json

Change = Callable[[np.ndarray], np.ndarray]  # of world_T_camera (N, 4, 4) as it is written
CAPTURES = REAL_DATA / "captures"
YUP = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], dtype=float)  # file_R_world of ARKit
TILTED = Rotation.from_euler("xyz", [50, 20, 35], degrees=True).as_matrix()
OPENGL = np.diag([1.0, -1.0, -1.0, 1.0])


def moved(pose: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Poses in a frame that is turned, and begins where the camera began."""
    result = pose.copy()
    result[:, :3] = turn @ pose[:, :3]
    result[:, :3, 3] -= result[0, :3, 3]
    return result


def same(pose: np.ndarray) -> np.ndarray:
    return pose


def quaternions(pose: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(pose[:, :3, :3]).as_quat()


def seven_scenes(root: Path, change: Change = same) -> None:
    pose = change(moved(walk().pose, TILTED))
    for i in range(len(pose)):
        put(root / f"frame-{6 * i:06d}.color.jpg", color(i))
        depth = walk().depth_mm(i)
        depth[0, 0] = 65535
        put(root / f"frame-{6 * i:06d}.depth.png", png(depth))
        put(root / f"frame-{6 * i:06d}.pose.txt", "\n".join(" ".join(map(str, row)) for row in pose[i]))
    put(root / "camera-intrinsics.txt", f"{LENS[0]} 0 {LENS[2]}\n0 {LENS[1]} {LENS[3]}\n0 0 1\n")


def exported(root: Path, change: Change = same) -> None:
    pose = change(moved(walk().pose, TILTED))
    for i in range(len(pose)):
        put(root / f"color/{6 * i}.jpg", color(i))
        put(root / f"depth/{6 * i}.png", png(walk().depth_mm(i)))
        put(root / f"pose/{6 * i}.txt", "\n".join(" ".join(map(str, row)) for row in pose[i]))
    matrix = np.eye(4)
    matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2] = LENS
    put(root / "intrinsic/intrinsic_color.txt", "\n".join(" ".join(map(str, row)) for row in matrix))


def tum(root: Path, change: Change = same) -> None:
    pose = change(moved(walk().pose, TILTED))
    rgb, depth, truth = (["# made by the tests"] for _ in range(3))
    for i in range(len(pose)):
        t = 1305031102 + i / FPS
        wide = depth_mm(walk().pose[i], (80, 60), (525 / 8, 525 / 8, 319.5 / 8, 239.5 / 8))
        put(root / f"rgb/{i}.jpg", color(i))
        put(root / f"depth/{i}.png", png((wide * 5).astype(np.uint16)))
        rgb.append(f"{t:.6f} rgb/{i}.jpg")
        depth.append(f"{t + 0.004:.6f} depth/{i}.png")
        numbers = (*pose[i, :3, 3], *quaternions(pose)[i])
        truth.append(f"{t - 0.003:.4f} " + " ".join(f"{n:.6f}" for n in numbers))
    for name, rows in (("rgb", rgb), ("depth", depth), ("groundtruth", truth)):
        put(root / f"{name}.txt", "\n".join(rows))


def stray(root: Path, change: Change = same) -> None:
    pose = change(moved(walk().pose, YUP))
    rows = ["timestamp, frame, x, y, z, qx, qy, qz, qw, fx, fy, cx, cy"]
    lens = [1920 / SIZE[0] * n for n in LENS]
    for i in range(len(pose)):
        put(root / f"depth/{i:06d}.png", png(depth_mm(walk().pose[i])))
        put(root / f"confidence/{i:06d}.png", png(np.full(SIZE[::-1], 2, np.uint8)))
        numbers = (*pose[i, :3, 3], *quaternions(pose)[i], *lens)
        rows.append(f"{7.5 + i / FPS:.6f}, {i:06d}, " + ", ".join(f"{n:.7f}" for n in numbers))
    put(root / "odometry.csv", "\n".join(rows))
    put(root / "camera_matrix.csv", f"{lens[0]}, 0.0, {lens[2]}\n0.0, {lens[1]}, {lens[3]}\n0.0, 0.0, 1.0")
    put(root / "rgb.mp4", movie(len(pose), SIZE, int(FPS)))


def record3d(root: Path, change: Change = same) -> None:
    pose = change(moved(walk().pose, YUP) @ OPENGL)
    matrix = np.array([[LENS[0], 0, LENS[2]], [0, LENS[1], LENS[3]], [0, 0, 1]])
    told = {
        "w": SIZE[0],
        "h": SIZE[1],
        "fps": 60,
        "K": matrix.T.ravel().tolist(),
        "poses": np.concatenate([quaternions(pose), pose[:, :3, 3]], axis=1).tolist(),
        "frameTimestamps": walk().time_s.tolist(),
    }
    put_json(root / "metadata.json", told)
    for i in range(len(pose)):
        put(root / f"rgb/{i}.jpg", color(i))


def polycam(root: Path, change: Change = same) -> None:
    pose = change(moved(walk().pose, YUP) @ OPENGL)
    for i in range(len(pose)):
        told = {f"t_{r}{c}": pose[i, r, c] for r in range(3) for c in range(4)}
        told |= dict(zip(("fx", "fy", "cx", "cy"), LENS, strict=True)) | {"width": SIZE[0], "height": SIZE[1]}
        stem = f"{65305 + 500 * i}"
        put_json(root / f"keyframes/corrected_cameras/{stem}.json", told | {"blur_score": 1.0})
        put(root / f"keyframes/corrected_images/{stem}.jpg", color(i))
        put(root / f"keyframes/depth/{stem}.png", png(depth_mm(walk().pose[i])))


def nerfstudio(root: Path, change: Change = same) -> None:
    pose = change(moved(walk().pose, np.eye(3)) @ OPENGL)
    pose[:, :3, 3] *= 0.37
    frames = [{"file_path": f"./images/{i:04d}.jpg", "transform_matrix": p.tolist()} for i, p in enumerate(pose)]
    for i in range(len(pose) - 1):  # of the last frame there is no picture
        put(root / f"images/{i:04d}.jpg", color(i))
    lens = dict(zip(("fl_x", "fl_y", "cx", "cy"), LENS, strict=True))
    put_json(root / "transforms.json", lens | {"w": SIZE[0], "h": SIZE[1], "k1": 0.02, "frames": frames})


def colmap(root: Path, change: Change = same, binary: bool = False) -> None:
    pose = change(moved(walk().pose, TILTED))
    inverse = np.linalg.inv(pose)
    wxyz = np.roll(quaternions(inverse), 1, axis=1)
    for i in range(len(pose)):
        put(root / f"images/{i:04d}.jpg", color(i))
    if binary:
        raw = struct.pack("<QIiQQ4d", 1, 1, 1, *SIZE, *LENS)
        put(root / "sparse/0/cameras.bin", raw)
        rows = [
            struct.pack("<I7dI", i + 1, *wxyz[i], *inverse[i, :3, 3], 1) + f"{i:04d}.jpg\0".encode()
            + struct.pack("<Q", 2) + bytes(48)
            for i in range(len(pose))
        ]  # fmt: skip
        put(root / "sparse/0/images.bin", struct.pack("<Q", len(rows)) + b"".join(rows))
        return
    put(root / "sparse/0/cameras.txt", f"# cameras\n1 PINHOLE {SIZE[0]} {SIZE[1]} {' '.join(map(str, LENS))}\n")
    lines = [
        f"{i + 1} {' '.join(map(str, (*wxyz[i], *inverse[i, :3, 3])))} 1 {i:04d}.jpg\n1.0 2.0 -1\n"
        for i in range(len(pose))
    ]
    put(root / "sparse/0/images.txt", "# images\n" + "".join(lines))


def colmap_binary(root: Path, change: Change = same) -> None:
    colmap(root, change, binary=True)


def room_plan(root: Path, change: Change = same) -> None:
    def entry(label: str, low: Any, high: Any) -> dict[str, Any]:
        size = np.array(high) - low
        matrix = np.eye(4)
        matrix[:3, 3] = YUP @ ((np.array(low) + high) / 2)
        return {
            "category": {label: {}},
            "confidence": {"medium" if label == "table" else "high": {}},
            "dimensions": [size[0], size[2], size[1]],
            "transform": change(matrix[None])[0].T.ravel().tolist(),
        }

    door = entry("door", (1.0, 0.0, 0.0), (1.9, 0.0, 2.0)) | {"category": {"door": {"isOpen": False}}}
    floor = entry("floor", (0, 0, 0), (0, 0, 0))
    flat = np.eye(4)
    flat[:3, :3], flat[:3, 3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]], YUP @ [2.0, 1.5, 0.0]
    floor["transform"] = flat.T.ravel().tolist()
    floor["polygonCorners"] = [[-2, -1.5, 0], [2, -1.5, 0], [2, 1.5, 0], [-2, 1.5, 0]]
    objects = [entry(*box) for box in BOXES]
    told = {"objects": objects, "walls": [], "doors": [door], "windows": [], "floors": [floor], "version": 2}
    put(root / "room.json", json.dumps(told, default=float))


WRITERS: dict[str, Callable[..., None]] = {
    "7scenes": seven_scenes,
    "rgbd": exported,
    "tum": tum,
    "stray_scanner": stray,
    "record3d": record3d,
    "polycam": polycam,
    "nerfstudio": nerfstudio,
    "colmap": colmap,
    "roomplan": room_plan,
}
FUSED = ("7scenes", "rgbd", "tum", "stray_scanner", "polycam")


def converted(name: str, source: Path, out: Path) -> tuple[SceneDocument, IndoorScene, CameraFrames | None]:
    """The one scene of a capture, as it was written and as it is read."""
    converter = CONVERTERS[name]
    (place,) = converter.places(source)
    folder = out / "room"
    folder.mkdir(parents=True)
    document = converter.convert(place, folder)
    write_scene(folder, document)
    reader = SceneFolders()
    files = SceneFiles(out, only_scene(reader, out))
    scene = reader.read(files)
    geometry = reader.geometry(files, scene)
    return document, scene, geometry.frames if geometry else None


@pytest.mark.slow
@pytest.mark.parametrize("name", FUSED)
def test_a_capture_with_depth_becomes_the_room(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / "in")
    assert recognised(tmp_path / "in") == [name]
    document, scene, frames = converted(name, tmp_path / "in", tmp_path / "out")
    assert (document.unit, document.up) == ("m", "z")
    assert {f.name for f in scene.findings} <= {"remark", "depth_not_compared", "clock_differs"}
    assert frames is not None
    pose, truth = frames.world_T_camera, walk().pose
    np.testing.assert_allclose(pose[:, 2, 3], truth[:, 2, 3], atol=0.03)  # above the floor that was found
    np.testing.assert_allclose(pose[:, 2, :3], truth[:, 2, :3], atol=0.02)  # up, in each camera
    steps, true = (np.linalg.norm(np.diff(p[:, :3, 3], axis=0), axis=1) for p in (pose, truth))
    np.testing.assert_allclose(steps, true, atol=1e-3)
    turn = np.degrees(np.arctan2(pose[-1, 1, 2], pose[-1, 0, 2]) - np.arctan2(pose[0, 1, 2], pose[0, 0, 2]))
    asked = np.degrees(np.arctan2(truth[-1, 1, 2], truth[-1, 0, 2]) - np.arctan2(truth[0, 1, 2], truth[0, 0, 2]))
    assert (turn - asked + 180) % 360 == pytest.approx(180, abs=1)  # the same way around: not mirrored
    assert scene.facts.room.floor
    assert scene.video is not None
    assert (scene.video.frames, scene.video.fps) == (12, pytest.approx(2 if name == "polycam" else 5, abs=0.01))


@pytest.mark.parametrize("write", [nerfstudio, colmap, colmap_binary])
def test_photographs_have_no_metres(tmp_path: Path, write: Callable[..., None]) -> None:
    write(tmp_path / "in")
    name = write.__name__.partition("_")[0]
    document, scene, _ = converted(name, tmp_path / "in", tmp_path / "out")
    assert document.unit == "unknown"
    found = {f.name for f in scene.findings if f.severity == "doubt"}
    assert found == {"scale_unknown"}
    assert document.camera is not None
    pose = np.array([f.world_T_camera for f in document.camera.frames])
    truth = walk().pose[: len(pose)]
    np.testing.assert_allclose(pose[:, 2, :3], truth[:, 2, :3], atol=0.1 if name == "colmap" else 1e-6)
    steps, true = (np.linalg.norm(np.diff(p[:, :3, 3], axis=0), axis=1) for p in (pose, truth))
    np.testing.assert_allclose(steps / steps[0], true / true[0], rtol=1e-4)


def test_record3d_is_upright_and_without_a_mesh(tmp_path: Path) -> None:
    record3d(tmp_path / "in")
    document, scene, _ = converted("record3d", tmp_path / "in", tmp_path / "out")
    assert (document.unit, document.mesh) == ("m", None)
    assert {f.name for f in scene.findings} == {"remark"}
    assert document.camera is not None
    pose = np.array([f.world_T_camera for f in document.camera.frames])
    np.testing.assert_allclose(pose[:, 2, :3], walk().pose[:, 2, :3], atol=1e-6)


def test_a_room_plan_is_labelled_and_has_its_floor(tmp_path: Path) -> None:
    room_plan(tmp_path / "in")
    _, scene, _ = converted("roomplan", tmp_path / "in", tmp_path / "out")
    assert scene.facts.counts == {"door": 1, "refrigerator": 1, "sofa": 1, "table": 1}
    assert scene.facts.room.area_m2 == pytest.approx(ROOM[0] * ROOM[1])
    assert [f.subject for f in scene.findings if f.name == "label_not_complete"] == ["table"]  # of medium confidence
    for label, low, high in BOXES:
        box = next(o.box for o in scene.facts.objects if o.category == label)
        assert box.center == pytest.approx(tuple((np.array(low) + high) / 2))
        reach = np.abs(np.array(box.axes).T) @ np.array(box.lengths)
        assert reach == pytest.approx(np.array(high) - low)


@pytest.mark.parametrize(("x_m", "inner"), [(0.0, False), (0.4, False), (2.0, True)])
def test_no_route_leads_through_a_wall_within_a_room_plan(tmp_path: Path, x_m: float, inner: bool) -> None:
    room_plan(tmp_path / "in")
    path = tmp_path / "in" / "room.json"
    matrix = np.eye(4)
    matrix[:3, 3] = YUP @ [x_m, 1.5, 1.2]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"walls": [{"transform": matrix.T.ravel().tolist()}]}))
    document, scene, _ = converted("roomplan", tmp_path / "in", tmp_path / "out")
    assert (document.outline is None, bool(scene.facts.room.floor)) == (inner, not inner)
    assert scene.facts.room.area_m2 == pytest.approx(ROOM[0] * ROOM[1])
    assert any("walls stand within the floor" in remark for remark in document.remarks) == inner


def inverted(pose: np.ndarray) -> np.ndarray:
    return np.linalg.inv(pose)


def transposed(pose: np.ndarray) -> np.ndarray:
    result = pose.copy()
    result[:, :3, :3] = pose[:, :3, :3].transpose(0, 2, 1)
    return result


def other_camera(pose: np.ndarray) -> np.ndarray:
    return pose @ OPENGL


def scalar_first(pose: np.ndarray) -> np.ndarray:
    """As whoever wrote the scalar first, where it comes last."""
    result = pose.copy()
    result[:, :3, :3] = Rotation.from_quat(np.roll(quaternions(pose), 1, axis=1)).as_matrix()
    return result


def millimetres(pose: np.ndarray) -> np.ndarray:
    result = pose.copy()
    result[:, :3, 3] *= 1000
    return result


def sideways(pose: np.ndarray) -> np.ndarray:
    """In a world with another axis up than the format's."""
    return moved(pose, np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))


PLANTED = [
    *((name, change) for name in FUSED for change in (inverted, transposed, other_camera, scalar_first, millimetres)),
    *((name, sideways) for name in ("stray_scanner", "polycam", "record3d", "nerfstudio")),
    ("record3d", other_camera),
]
CAUGHT = {
    "depth_contradicts_poses",
    "no_usable_frames",
    "camera_up_unclear",
    "camera_upside_down",
    "floor_not_level",
    "implausible_eye_height",
    "implausible_pace",
    "millimetre_units",
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change"), PLANTED, ids=lambda value: getattr(value, "__name__", value))
def test_a_wrong_convention_is_caught(
    tmp_path: Path, name: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By depth and poses; transposed poses of a level camera turn as it did, and only the fused floor leans."""
    if change is not transposed:
        monkeypatch.setattr("pipeline.worlds.indoor.converters.capture.fuse", lambda views: None)
    WRITERS[name](tmp_path / "in", change)
    try:
        _, scene, _ = converted(name, tmp_path / "in", tmp_path / "out")
        found = {f.name for f in scene.findings if f.severity == "doubt"}
    except RawDataError as error:
        found = {error.finding}
    assert found & CAUGHT, found


def spoilt(raw: bytes, chance: random.Random) -> bytes:
    """A file with bytes changed, taken out, doubled, or odd values put in."""
    data = bytearray(raw)
    for _ in range(chance.randint(1, 3)):
        at, way = chance.randrange(len(data) or 1), chance.randrange(5)
        if way == 0 and data:
            data[at] = chance.randrange(256)
        elif way == 1:
            del data[at : at + chance.randint(1, 60)]
        elif way == 2:
            data[at:at] = data[at : at + chance.randint(1, 60)]
        elif way == 3:
            del data[at:]
        else:
            data[at:at] = chance.choice(
                [b"1e999", b"NaN", b"-", b"null", b'"', b"{", b"../..", b"99999999999", b"\xff"]
            )
    return bytes(data)


def try_mutations(root: Path, name: str) -> None:
    """Files below ``root/in`` are spoilt in turn: each is converted, or refused by a name of ours."""
    words = {".txt", ".csv", ".json", ".house"}
    other = [p for p in sorted((root / "in").rglob("*")) if p.is_file() and p.suffix not in words][:3]
    paths = sorted(p for p in (root / "in").rglob("*") if p.suffix in words) or other
    chance, converter = random.Random(32), CONVERTERS[name]  # noqa: S311
    for number in range(times(25, 200)):
        path = chance.choice(paths if number % 8 or not other else other)
        sound = path.read_bytes()
        path.write_bytes(spoilt(sound, chance))
        folder = root / f"out/{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(RawDataError):
            for place in converter.places(root / "in"):
                write_scene(folder, converter.convert(place, folder))
        path.write_bytes(sound)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_mutations_are_named(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The surface is not fused each time."""
    monkeypatch.setattr("pipeline.worlds.indoor.converters.capture.fuse", lambda views: None)
    WRITERS[name](tmp_path / "in")
    try_mutations(tmp_path, name)


def test_a_curved_lens_moves_places_as_opencv_says() -> None:
    """Half a focal length to the right of the middle: x = 0.5, y = 0, r² = 0.25."""
    lens, place = (100.0, 100.0, 50.0, 50.0), np.array([[100.0, 50.0]])
    told = {
        (0.1, 0.0, 0.0, 0.0): (101.25, 50.0),
        (0.0, 0.1, 0.0, 0.0): (100.3125, 50.0),
        (0.0, 0.0, 0.01, 0.0): (100.0, 50.25),
        (0.0, 0.0, 0.0, 0.01): (100.75, 50.0),
    }
    for distortion, shown in told.items():
        assert distorted(place, lens, distortion)[0] == pytest.approx(shown)


def test_pictures_of_a_curved_lens_are_straightened(tmp_path: Path) -> None:
    """A mark where the curved lens shows a place is where the straight one shows it; a slight curve changes no file."""
    place, curve = np.array([[62.5, 45.5]]), (-0.3, 0.05, 0.0, 0.0)
    u, v = np.round(distorted(place, LENS, curve)[0] - 0.5).astype(int)
    assert (u, v) != (62, 45)
    picture = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    picture[v - 1 : v + 2, u - 1 : u + 2] = 255
    nerfstudio(tmp_path / "in")
    for path in (tmp_path / "in/images").iterdir():
        put(path, jpeg_bytes(picture))
    told = json.loads((tmp_path / "in/transforms.json").read_text())
    put_json(tmp_path / "in/transforms.json", told | {"k1": curve[0], "k2": curve[1]})
    document, _, _ = converted("nerfstudio", tmp_path / "in", tmp_path / "out")
    assert any("undistorted" in remark for remark in document.remarks)
    straight = color_file(tmp_path / "out/room/color/000000.jpg")
    assert straight is not None
    weight = straight[..., 0].astype(float)
    middle = [(weight * grid).sum() / weight.sum() + 0.5 for grid in np.mgrid[: SIZE[1], : SIZE[0]][::-1]]
    assert middle == pytest.approx(place[0], abs=0.7)


@pytest.mark.parametrize(("curve", "says"), [({"k1": 9.0}, "25%"), ({"k3": 0.1}, "k3 0.1"), ({"k1": 1e300}, "inf")])
def test_lenses_that_are_no_pinhole_are_refused(tmp_path: Path, curve: dict[str, float], says: str) -> None:
    nerfstudio(tmp_path / "in")
    told = json.loads((tmp_path / "in/transforms.json").read_text())
    put_json(tmp_path / "in/transforms.json", told | curve)
    with pytest.raises(RawDataError, match="bad_intrinsics") as caught:
        converted("nerfstudio", tmp_path / "in", tmp_path / "out")
    assert says in caught.value.message


@pytest.mark.slow
def test_record3d_with_unpacked_depth_has_a_mesh(tmp_path: Path) -> None:
    record3d(tmp_path / "in")
    for i in range(len(walk().pose)):
        put(tmp_path / f"in/depth/{i}.png", png(walk().depth_mm(i)))
    document, scene, _ = converted("record3d", tmp_path / "in", tmp_path / "out")
    assert document.mesh is not None
    assert not [f for f in scene.findings if f.severity == "doubt"]


def test_links_and_names_stay_in_the_capture(tmp_path: Path) -> None:
    nerfstudio(tmp_path / "in")
    path = tmp_path / "in/transforms.json"
    told = json.loads(path.read_text())
    told["frames"][0]["file_path"] = "../../etc/passwd"
    path.write_text(json.dumps(told))
    with pytest.raises(RawDataError, match="path_outside"):
        converted("nerfstudio", tmp_path / "in", tmp_path / "out")


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "source", "frames"), [("nerfstudio", "transforms_fox", 50), ("colmap", "colmap_maupertuis", 4)]
)
def test_real_photographs(tmp_path: Path, name: str, source: str, frames: int) -> None:
    document, scene, _ = converted(name, CAPTURES / source, tmp_path / "out")
    assert document.camera is not None
    assert len(document.camera.frames) == frames or source == "transforms_fox"
    assert {f.name for f in scene.findings if f.severity == "doubt"} == {"scale_unknown"}


@pytest.mark.parametrize(
    ("camera", "distortion"),
    [
        ("SIMPLE_RADIAL 80 60 70 40 30 0.1", (0.1, 0, 0, 0)),
        ("RADIAL 80 60 70 40 30 0.1 0.2", (0.1, 0.2, 0, 0)),
        ("OPENCV 80 60 70 71 40 30 0.1 0.2 0.3 0.4", (0.1, 0.2, 0.3, 0.4)),
        ("PINHOLE 80 60 70 71 40 30", (0, 0, 0, 0)),
    ],
)
def test_colmap_says_how_a_lens_is_curved(camera: str, distortion: tuple[float, ...]) -> None:
    views = parse_views(f"1 {camera}", "1 1 0 0 0 0 0 0 1 a.jpg\n\n")
    assert views.distortion.tolist() == [list(distortion)]
    assert views.intrinsics[0, [0, 2, 3]].tolist() == [70, 40, 30]


def test_images_of_colmap_without_lines_of_points_are_refused() -> None:
    image = "1 0 0 0 0 0 0 1"
    assert parse_views("1 PINHOLE 80 60 70 71 40 30", f"1 {image} a.jpg\n5 6 -1\n2 {image} b.jpg").names == (
        "a.jpg",
        "b.jpg",
    )
    with pytest.raises(FormatError, match="empty one is needed"):
        parse_views("1 PINHOLE 80 60 70 71 40 30", f"1 {image} a.jpg\n2 {image} b.jpg\n")


def test_depth_of_which_the_sensor_is_not_sure_is_none(tmp_path: Path) -> None:
    depth_m = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    put(tmp_path / "sure.png", png(np.array([[0, 1, 2], [2, 1, 0]], np.uint8)))
    put(tmp_path / "other.png", png(np.zeros((3, 2), np.uint8)))
    found = mask_confidence(depth_m, tmp_path / "sure.png", 1)
    np.testing.assert_array_equal(found, [[np.nan, 2, 3], [4, 5, np.nan]])
    for name in ("other.png", "missing.png"):
        assert mask_confidence(depth_m, tmp_path / name, 1) is depth_m
    assert mask_confidence(None, tmp_path / "sure.png", 1) is None
