"""The smallest scans in the three raw layouts: a floor, a few boxes, a camera that goes along a wall.

Made independently of `pipeline.samples.indoor`, in milliseconds, to be broken in every way by `broken_scans`.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image
from scipy.spatial.transform import Rotation

COLOR_SIZE, DEPTH_SIZE = (48, 36), (32, 24)  # width, height
FPS = 10
SCANNET, SCANNETPP, ARKIT = "scene0000_00", "0a1b2c3d4e", "40000001"


@dataclass(frozen=True)
class Thing:
    """One box-shaped object: labels in the order ScanNet, ScanNet++, ARKitScenes."""

    labels: tuple[str, str, str]
    center: tuple[float, float, float]
    lengths: tuple[float, float, float]
    yaw_deg: float

    @property
    def axes(self) -> np.ndarray:
        c, s = np.cos(np.radians(self.yaw_deg)), np.sin(np.radians(self.yaw_deg))
        return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


THINGS = (
    Thing(("desk", "table", "table"), (1.2, 1.0, 0.375), (1.4, 0.7, 0.75), 10.0),
    Thing(("chair", "office chair", "chair"), (1.3, 2.0, 0.45), (0.5, 0.45, 0.9), 35.0),
    Thing(("chair", "chair", "chair"), (3.1, 0.8, 0.45), (0.5, 0.45, 0.9), -20.0),
    Thing(("couch", "sofa", "sofa"), (3.0, 2.4, 0.4), (1.5, 0.8, 0.8), 90.0),
)
ROOM = (4.0, 3.0)


@dataclass(frozen=True)
class Room:
    """Mesh in the world frame; ``owner`` is the thing of each vertex, -1 for the floor."""

    vertices: np.ndarray
    faces: np.ndarray
    owner: np.ndarray


def make_room(step: float = 0.1) -> Room:
    """Floor and boxes as grids of points about ``step`` apart."""
    parts, faces, owner = [], [], []
    count = 0

    def add(points: np.ndarray, rows: int, columns: int, who: int) -> None:
        nonlocal count
        index = count + np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1])
        faces.append(np.stack([a, b, c], -1).reshape(-1, 3))
        faces.append(np.stack([a, c, d], -1).reshape(-1, 3))
        parts.append(points)
        owner.append(np.full(len(points), who))
        count += len(points)

    def grid(length: float) -> np.ndarray:
        return np.linspace(0.0, length, int(np.ceil(length / step)) + 1)

    xs, ys = grid(ROOM[0]), grid(ROOM[1])
    x, y = np.meshgrid(xs, ys)
    add(np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], 1), *x.shape, -1)
    for number, thing in enumerate(THINGS):
        for axis in range(3):
            i, j = [k for k in range(3) if k != axis]
            u, v = np.meshgrid(grid(thing.lengths[i]), grid(thing.lengths[j]))
            for side in (-0.5, 0.5):
                local = np.zeros((u.size, 3))
                local[:, i], local[:, j] = u.ravel() - thing.lengths[i] / 2, v.ravel() - thing.lengths[j] / 2
                local[:, axis] = side * thing.lengths[axis]
                add(local @ thing.axes + thing.center, *u.shape, number)
    return Room(np.concatenate(parts), np.concatenate(faces), np.concatenate(owner))


def poses(count: int, turn_deg: float = 0.0) -> np.ndarray:
    """world_T_camera (N, 4, 4), OpenCV axes: along the wall y = 0.2, looking at the middle of the room.

    Pictures need a clockwise turn of ``turn_deg`` to be upright.
    """
    result = np.tile(np.eye(4), (count, 1, 1))
    for i, share in enumerate(np.linspace(0.0, 1.0, count)):
        position = np.array([0.3 + 3.4 * share, 0.2, 1.5])
        forward = np.array([2.0, 1.8, 0.6]) - position
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        upright = np.stack([right, np.cross(forward, right), forward], axis=1)
        result[i, :3, :3] = upright @ Rotation.from_euler("z", turn_deg, degrees=True).as_matrix()
        result[i, :3, 3] = position
    return result


def picture(number: int, size: tuple[int, int] = COLOR_SIZE) -> np.ndarray:
    """An image (h, w, 3) that tells its number by its brightness."""
    return np.full((size[1], size[0], 3), 20 + 5 * number % 200, dtype=np.uint8)


def encoded(image: np.ndarray, kind: str) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).save(out, kind)
    return out.getvalue()


def depth_mm(number: int, size: tuple[int, int] = DEPTH_SIZE) -> np.ndarray:
    """Depth (h, w) of one value, the first pixel not measured."""
    depth = np.full((size[1], size[0]), 1000 + 10 * number, dtype=np.uint16)
    depth[0, 0] = 0
    return depth


def ply(vertices: np.ndarray, faces: np.ndarray, kind: str = "binary_little_endian") -> bytes:
    """A mesh with vertex colours."""
    header = (
        f"ply\nformat {kind} 1.0\ncomment made by the tests\nelement vertex {len(vertices)}\nproperty float x\n"
        "property float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
        f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    ).encode()
    if kind == "ascii":
        lines = [f"{x:.9g} {y:.9g} {z:.9g} 1 2 3" for x, y, z in vertices.tolist()]
        return header + "\n".join([*lines, *(f"3 {a} {b} {c}" for a, b, c in faces.tolist())]).encode() + b"\n"
    order = "<" if kind == "binary_little_endian" else ">"
    table = np.zeros(len(vertices), [("p", order + "f4", 3), ("c", "u1", 3)])
    table["p"] = vertices
    corners = np.zeros(len(faces), [("n", "u1"), ("i", order + "i4", 3)])
    corners["n"], corners["i"] = 3, faces
    return header + table.tobytes() + corners.tobytes()


def sens(count: int, camera: np.ndarray, version: int = 4, times: bool = True) -> bytes:
    """A .sens file of small pictures."""
    out = [struct.pack("<IQ", version, 4), b"test"]
    for width, height in (COLOR_SIZE, DEPTH_SIZE):
        matrix = np.eye(4)
        matrix[0, 0] = matrix[1, 1] = width
        matrix[:2, 2] = (width / 2, height / 2)
        out += [matrix.astype("<f4").tobytes(), np.eye(4).astype("<f4").tobytes()]
    out.append(struct.pack("<iiIIIIfQ", 2, 1, *COLOR_SIZE, *DEPTH_SIZE, 1000.0, count))
    for i in range(count):
        color, depth = encoded(picture(i), "JPEG"), zlib.compress(depth_mm(i).tobytes())
        stamp = 5_000_000 + i * 1_000_000 // FPS if times else 0
        out.append(camera[i].astype("<f4").tobytes())
        out.append(struct.pack("<QQQQ", stamp, stamp, len(color), len(depth)) + color + depth)
    return b"".join(out)


def movie(
    count: int, size: tuple[int, int] = COLOR_SIZE, fps: int = FPS, dropped: Collection[int] = frozenset()
) -> bytes:
    """A film of so many pictures, less those that the camera dropped: time goes on without them."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=fps, options={"g": "5"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for i in sorted({*range(count)} - {*dropped}):
            frame = av.VideoFrame.from_ndarray(picture(i, size), format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def put(path: Path, raw: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())


def put_json(path: Path, value: Any) -> None:
    put(path, json.dumps(value))


def world_T_scan() -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("z", 30.0, degrees=True).as_matrix()
    matrix[:3, 3] = (1.0, -2.0, 0.05)
    return matrix.round(6)


def _segments(room: Room) -> np.ndarray:
    """Segment numbers with gaps: the floor has one segment, every thing two."""
    half = np.arange(len(room.owner)) % 2
    return np.where(room.owner < 0, 7, 100 + 10 * room.owner + half)


def write_scannet(root: Path, name: str = SCANNET, frames: int = 6, exported: bool = False, step: float = 0.1) -> Path:
    """A ScanNet scan below ``root/scans``."""
    folder, room = root / "scans" / name, make_room(step)
    align = world_T_scan()
    scan_T_world = np.linalg.inv(align)
    vertices = room.vertices @ scan_T_world[:3, :3].T + scan_T_world[:3, 3]
    camera = scan_T_world @ poses(frames)
    put(folder / f"{name}_vh_clean_2.ply", ply(vertices, room.faces))
    put_json(folder / f"{name}_vh_clean_2.0.010000.segs.json", {"segIndices": _segments(room).tolist()})
    groups = [
        {"id": i, "objectId": i, "segments": [100 + 10 * i, 101 + 10 * i], "label": thing.labels[0]}
        for i, thing in enumerate(THINGS)
    ]
    groups.append({"id": len(THINGS), "objectId": len(THINGS), "segments": [7], "label": "floor"})
    put_json(folder / f"{name}.aggregation.json", {"sceneId": f"scannet.{name}", "segGroups": groups})
    numbers = " ".join(f"{v:.6f}" for v in align.ravel())
    put(
        folder / f"{name}.txt",
        f"axisAlignment = {numbers} \ncolorHeight = {COLOR_SIZE[1]}\ncolorWidth = {COLOR_SIZE[0]}\nfx_color = 48.0\n"
        "fy_color = 48.0\nmx_color = 24.0\nmy_color = 18.0\nsceneType = Office\n",
    )
    if not exported:
        put(folder / f"{name}.sens", sens(frames, camera))
    for i in range(frames if exported else 0):
        put(folder / "color" / f"{3 * i}.jpg", encoded(picture(i), "JPEG"))
        put(folder / "depth" / f"{3 * i}.png", encoded(depth_mm(i), "PNG"))
        rows = "\n".join(" ".join(f"{v:.6f}" for v in row) for row in camera[i])
        put(folder / "pose" / f"{3 * i}.txt", rows + "\n")
    if exported:
        matrix = "48.0 0 24.0 0\n0 48.0 18.0 0\n0 0 1 0\n0 0 0 1\n"
        put(folder / "intrinsic" / "intrinsic_color.txt", matrix)
    ids = np.zeros((COLOR_SIZE[1], COLOR_SIZE[0]), dtype=np.uint8)
    ids[:, :10], ids[:, 10:20], ids[:, 20:30] = 1, 3, 5  # the desk, the second chair, the floor
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(frames):
            archive.writestr(f"instance-filt/{3 * i if exported else i}.png", encoded(ids, "PNG"))
    put(folder / f"{name}_2d-instance-filt.zip", out.getvalue())
    return folder


def write_scannetpp(root: Path, name: str = SCANNETPP, frames: int = 6, step: float = 0.1) -> Path:
    """A ScanNet++ scene below ``root/data``."""
    folder, room, camera = root / "data" / name, make_room(step), poses(frames)
    put(folder / "scans" / "mesh_aligned_0.05.ply", ply(room.vertices, room.faces))
    put_json(folder / "scans" / "segments.json", {"segIndices": _segments(room).tolist()})
    groups = [
        {
            "id": 11 + i,
            "objectId": 0,
            "label": thing.labels[1],
            "segments": [100 + 10 * i, 101 + 10 * i],
            "obb": _obb(thing) | _extent(thing),
        }
        for i, thing in enumerate(THINGS)
    ]
    put_json(folder / "scans" / "segments_anno.json", {"sceneId": name, "segGroups": groups})
    put(folder / "iphone" / "rgb.mp4", movie(frames))
    entries = {
        f"frame_{i:06d}": {
            "timestamp": 100.0 + i / FPS,
            "pose": np.eye(4).tolist(),
            "aligned_pose": camera[i].tolist(),
            "intrinsic": [[48.0, 0.0, 24.0], [0.0, 48.0, 18.0], [0.0, 0.0, 1.0]],
        }
        for i in range(frames)
    }
    put_json(folder / "iphone" / "pose_intrinsic_imu.json", entries)
    depth = np.stack([np.full((192, 256), 1.0 + 0.01 * i, dtype=np.float32) for i in range(frames)])
    depth[:, 0, 0] = 0.0
    packer = zlib.compressobj(level=1, wbits=-zlib.MAX_WBITS)
    put(folder / "iphone" / "depth.bin", packer.compress(depth.tobytes()) + packer.flush())
    return folder


def write_arkitscenes(
    root: Path, name: str = ARKIT, frames: int = 6, sky: str = "Up", turn_deg: float = 0.0, step: float = 0.1
) -> Path:
    """An ARKitScenes video below ``root/3dod/Validation``."""
    folder, room, camera = root / "3dod" / "Validation" / name, make_room(step), poses(frames, turn_deg)
    put(folder / f"{name}_3dod_mesh.ply", ply(room.vertices, room.faces))
    data = [
        {"uid": f"uid-{i}", "label": thing.labels[2], "segments": {"obbAligned": _obb(thing)}}
        for i, thing in enumerate(THINGS)
    ]
    put_json(folder / f"{name}_3dod_annotation.json", {"data": data, "skipped": False})
    images = folder / f"{name}_frames"
    lines = []
    for i, pose in enumerate(camera):
        stamp = 2000.0 + i / FPS
        file = f"{name}_{stamp:.3f}"
        put(images / "lowres_wide" / f"{file}.png", encoded(picture(i), "PNG"))
        put(images / "lowres_depth" / f"{file}.png", encoded(depth_mm(i, COLOR_SIZE), "PNG"))
        put(images / "lowres_wide_intrinsics" / f"{file}.pincam", f"{COLOR_SIZE[0]} {COLOR_SIZE[1]} 48 48 24 18")
        inverse = np.linalg.inv(pose)
        turn = Rotation.from_matrix(inverse[:3, :3]).as_rotvec()
        lines.append(" ".join(f"{v:.9f}" for v in (stamp + 0.0002, *turn, *inverse[:3, 3])))
    put(images / "lowres_wide.traj", "\n".join(lines) + "\n")
    put(root / "metadata.csv", f"video_id,visit_id,sky_direction,fold\n{name},1,{sky},Validation\n")
    return folder


def _obb(thing: Thing) -> dict[str, list[float]]:
    return {
        "centroid": list(thing.center),
        "axesLengths": list(thing.lengths),
        "normalizedAxes": thing.axes.ravel().tolist(),
    }


def _extent(thing: Thing) -> dict[str, list[float]]:
    reach = np.abs(thing.axes.T) @ np.array(thing.lengths) / 2
    return {"min": (thing.center - reach).tolist(), "max": (thing.center + reach).tolist()}


WRITERS = {"scannet": write_scannet, "scannetpp": write_scannetpp, "arkitscenes": write_arkitscenes}
NAMES = {"scannet": SCANNET, "scannetpp": SCANNETPP, "arkitscenes": ARKIT}
