"""The datasets' public tools, written again from how they behave: what they can read, the samples must be.

Nothing here imports the product.
"""

import csv
import io
import json
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

PLY_TYPES = {"float": "<f4", "double": "<f8", "uchar": "u1", "uint8": "u1", "int": "<i4", "uint": "<u4"}


def read_ply(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (structured) and triangles of a binary little-endian PLY, as plyfile gives them."""
    raw = path.read_bytes()
    header, _, body = raw.partition(b"end_header\n")
    lines = header.decode("ascii").split("\n")
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    counts: dict[str, int] = {}
    fields: list[tuple[str, str]] = []
    for line in lines[2:]:
        words = line.split()
        if words[:1] == ["element"]:
            counts[words[1]] = int(words[2])
        elif words[:2] == ["property", "list"]:
            assert words[2:] == ["uchar", "int", "vertex_indices"]
        elif words[:1] == ["property"]:
            fields.append((words[2], PLY_TYPES[words[1]]))
    vertices = np.frombuffer(body, fields, counts["vertex"])
    rest = body[vertices.nbytes :]
    faces = np.frombuffer(rest, [("n", "u1"), ("v", "<i4", 3)], counts["face"])
    assert len(rest) == faces.nbytes, "bytes are left over"
    assert (faces["n"] == 3).all()
    return vertices, faces["v"]


def xyz(vertices: np.ndarray) -> np.ndarray:
    return np.stack([vertices[name] for name in "xyz"], axis=1).astype(np.float64)


@dataclass
class RGBDFrame:
    """ScanNet, SensorData.py."""

    camera_to_world: np.ndarray
    timestamp_color: int
    timestamp_depth: int
    color_data: bytes
    depth_data: bytes

    def color(self) -> np.ndarray:
        return np.asarray(Image.open(io.BytesIO(self.color_data)))


class SensorData:
    """ScanNet, SensorData.py: reads the stream from its beginning to its end, field by field."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as f:

            def take(format_: str) -> Any:
                return struct.unpack(format_, f.read(struct.calcsize(format_)))

            assert take("I")[0] == 4
            self.sensor_name = f.read(take("Q")[0]).decode()
            self.intrinsic_color, self.extrinsic_color, self.intrinsic_depth, self.extrinsic_depth = (
                np.array(take("f" * 16), dtype=np.float32).reshape(4, 4) for _ in range(4)
            )
            self.color_compression = {-1: "unknown", 0: "raw", 1: "png", 2: "jpeg"}[take("i")[0]]
            self.depth_compression = {-1: "unknown", 0: "raw_ushort", 1: "zlib_ushort", 2: "occi_ushort"}[take("i")[0]]
            self.color_width, self.color_height, self.depth_width, self.depth_height = take("IIII")
            self.depth_shift = take("f")[0]
            frames = take("Q")[0]
            self.frames = []
            for _ in range(frames):
                pose = np.array(take("f" * 16), dtype=np.float32).reshape(4, 4)
                times = take("QQ")
                color_bytes, depth_bytes = take("QQ")
                self.frames.append(RGBDFrame(pose, *times, f.read(color_bytes), f.read(depth_bytes)))
            assert take("Q")[0] == 0  # IMU frames
            assert f.read() == b""

    def depth(self, i: int) -> np.ndarray:
        raw = zlib.decompress(self.frames[i].depth_data)
        return np.frombuffer(raw, dtype=np.uint16).reshape(self.depth_height, self.depth_width)


def load_scannet_data(folder: Path, scan: str, label_map_file: Path) -> dict[str, Any]:
    """mmdetection3d, load_scannet_data.export: aligned vertices, their labels and instances, boxes of instances."""
    with label_map_file.open() as file:
        label_map = {row["raw_category"]: int(row["nyu40id"]) for row in csv.DictReader(file, delimiter="\t")}
    vertices, _ = read_ply(folder / f"{scan}_vh_clean_2.ply")
    matrix = np.eye(4)
    for line in (folder / f"{scan}.txt").read_text().splitlines():
        if "axisAlignment" in line:
            matrix = np.array([float(x) for x in line.rstrip().strip("axisAlignment = ").split(" ")])  # noqa: B005
            break
    matrix = matrix.reshape(4, 4)
    points = np.ones((len(vertices), 4))
    points[:, :3] = xyz(vertices)
    points = points @ matrix.T
    groups = json.loads((folder / f"{scan}.aggregation.json").read_text())["segGroups"]
    segments = json.loads((folder / f"{scan}_vh_clean_2.0.010000.segs.json").read_text())["segIndices"]
    assert len(segments) == len(vertices)
    seg_to_verts: dict[int, list[int]] = {}
    for vertex, segment in enumerate(segments):
        seg_to_verts.setdefault(segment, []).append(vertex)
    label_ids = np.zeros(len(vertices), dtype=np.uint32)
    instance_ids = np.zeros(len(vertices), dtype=np.uint32)
    boxes = {}
    for group in groups:
        object_id = group["objectId"] + 1
        members = [vertex for segment in group["segments"] for vertex in seg_to_verts[segment]]
        assert (instance_ids[members] == 0).all(), "a segment belongs to two objects"
        label_ids[members], instance_ids[members] = label_map[group["label"]], object_id
        low, high = points[members, :3].min(0), points[members, :3].max(0)
        boxes[object_id] = np.concatenate([(low + high) / 2, high - low])
    return {
        "points": points[:, :3],
        "rgb": np.stack([vertices[c] for c in ("red", "green", "blue")], axis=1),
        "labels": label_ids,
        "instances": instance_ids,
        "boxes": boxes,
        "groups": groups,
        "axis_align_matrix": matrix,
    }


def axis_angle_to_matrix(turn: np.ndarray) -> np.ndarray:
    """ARKitScenes, convert_angle_axis_to_matrix3 (Rodrigues)."""
    angle = float(np.linalg.norm(turn))
    if angle == 0:
        return np.eye(3)
    x, y, z = turn / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def traj_string_to_matrix(line: str) -> tuple[str, np.ndarray]:
    """ARKitScenes, TrajStringToMatrix: timestamp and camera-to-world."""
    tokens = line.split()
    assert len(tokens) == 7
    world_to_camera = np.eye(4)
    world_to_camera[:3, :3] = axis_angle_to_matrix(np.array([float(t) for t in tokens[1:4]]))
    world_to_camera[:3, 3] = [float(t) for t in tokens[4:7]]
    return tokens[0], np.linalg.inv(world_to_camera)


class TenFpsDataLoader:
    """ARKitScenes, threedod: frames of one video by their timestamps."""

    def __init__(self, root: Path, video: str) -> None:
        self.frames_folder, self.video = root / f"{video}_frames", video
        lines = (self.frames_folder / "lowres_wide.traj").read_text().splitlines()
        self.poses = {
            f"{round(float(stamp), 3):.3f}": pose for stamp, pose in (traj_string_to_matrix(line) for line in lines)
        }
        depth = (self.frames_folder / "lowres_depth").iterdir()
        self.frame_ids = sorted(path.name.split(".png")[0].split("_")[1] for path in depth)

    def __len__(self) -> int:
        return len(self.frame_ids)

    def __getitem__(self, i: int) -> dict[str, Any]:
        name = f"{self.video}_{self.frame_ids[i]}"
        w, h, fx, fy, cx, cy = np.loadtxt(self.frames_folder / "lowres_wide_intrinsics" / f"{name}.pincam")
        image = np.asarray(Image.open(self.frames_folder / "lowres_wide" / f"{name}.png"))
        depth = np.asarray(Image.open(self.frames_folder / "lowres_depth" / f"{name}.png"))
        assert image.shape == (h, w, 3)
        assert depth.shape == (h, w)
        assert depth.dtype == np.uint16
        return {
            "image": image,
            "depth": depth / 1000.0,
            "confidence": np.asarray(Image.open(self.frames_folder / "confidence" / f"{name}.png")),
            "intrinsics": np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]),
            "pose": self.poses[self.frame_ids[i]],
        }


def compute_box_3d(size: list[float], center: np.ndarray, rotmat: np.ndarray) -> np.ndarray:
    """ARKitScenes, box_utils: corners (8, 3)."""
    l, h, w = (side / 2 for side in size)  # noqa: E741
    x = [l, l, -l, -l, l, l, -l, -l]
    y = [h, -h, -h, h, h, -h, -h, h]
    z = [w, w, w, w, -w, -w, -w, -w]
    return np.transpose(np.dot(np.transpose(rotmat), np.vstack([x, y, z]))) + center


def instances_on_vertices(scans: Path) -> np.ndarray:
    """ScanNet++ toolbox, semantic/transforms/mesh.py: the id of each vertex's smallest instance, 0 for none."""
    segments = json.loads((scans / "segments.json").read_text())["segIndices"]
    groups = json.loads((scans / "segments_anno.json").read_text())["segGroups"]
    instances: list[list[tuple[int, int]]] = [[] for _ in segments]
    for group in groups:
        members = np.flatnonzero(np.isin(segments, group["segments"]))
        for vertex in members:
            instances[vertex].append((len(members), group["id"]))
    result = np.zeros(len(segments), dtype=int)
    for vertex, found in enumerate(instances):
        if found:
            result[vertex] = found[int(np.argsort([size for size, _ in found], kind="stable")[0])][1]
    return result


def iphone_depth(path: Path, height: int = 192, width: int = 256) -> np.ndarray:
    """ScanNet++, prepare_iphone_data.extract_depth, its first way: one raw deflate stream of float32 metres."""
    data = zlib.decompress(path.read_bytes(), wbits=-zlib.MAX_WBITS)
    return np.frombuffer(data, dtype=np.float32).reshape(-1, height, width)


def backproject(depth_m: np.ndarray, intrinsics: np.ndarray, camera_to_world: np.ndarray) -> np.ndarray:
    """World points (h, w, 3) of a depth image; NaN where there is no depth."""
    v, u = np.indices(depth_m.shape)
    z = np.where(depth_m > 0, depth_m, np.nan)
    x, y = (u - intrinsics[0, 2]) * z / intrinsics[0, 0], (v - intrinsics[1, 2]) * z / intrinsics[1, 1]
    return np.stack([x, y, z], axis=-1) @ camera_to_world[:3, :3].T + camera_to_world[:3, 3]


def turned_upright(image: np.ndarray, sky_direction: str) -> np.ndarray:
    """The image with the sky on top."""
    return np.rot90(image, {"Up": 0, "Left": 3, "Down": 2, "Right": 1}[sky_direction])
