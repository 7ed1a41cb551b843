"""Sample scans in ScanNet's layout (v2): ``scans/<id>/`` and the label table and split that go with them.

What the public tools expect (SensorData.py, mmdetection3d's load_scannet_data) is kept to the letter: the mesh and
the poses lie in the scan's own frame, ``axisAlignment`` maps it to the world, camera axes are OpenCV's, objectId
counts from 0 and the instance images hold objectId + 1. The ceiling is segmented but belongs to no object.
"""

import io
import math
import struct
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.core.templates import load_table
from pipeline.samples.common.camera import Lens, inverse, product
from pipeline.samples.common.encode import jpeg_bytes, json_bytes, lines_bytes, png_bytes, zip_bytes
from pipeline.samples.common.shapes import SampleMesh
from pipeline.samples.indoor.render import SampleScan, scan
from pipeline.samples.indoor.rooms import STRUCTURE, RoomPlan
from pipeline.samples.indoor.truth import SceneTruth, truth_of

# The real ones at a quarter of the size: colour 1296x968, depth 640x480, of different focal lengths.
COLOR: Final = Lens(324, 242, 292.546997, 292.546997, 161.5625, 120.5625)
DEPTH: Final = Lens(160, 120, 142.90593, 142.90593, 79.5, 59.5)
CAPTURE_HZ: Final = 30  # frames are numbered as if the sensor had delivered this many, and most had been skipped
DEPTH_RANGE_M: Final = 6.0  # farther than this the sensor measures nothing: 0
DEPTH_SHIFT: Final = 1000.0
SENSOR: Final = b"StructureSensor"
LOST_FRAMES: Final = (3, 4, 31)  # tracking was lost here: the pose is -inf
_FIRST_TIMESTAMP_US: Final = 1_700_000
_DEPTH_DELAY_US: Final = 4_000

# ScanNet's scan frame against the world: turned about z and shifted. Six decimals, as the files have them.
_ALIGNMENT: Final = {
    "scene9001_00": (23.0, (-3.81, 2.47, -0.064)),
    "scene9002_00": (-131.0, (1.26, -4.93, 0.038)),
}

_LABEL_COLUMNS: Final = (
    *("id", "raw_category", "category", "count", "nyu40id", "eigen13id", "nyuClass", "nyu40class", "eigen13class"),
    *("ModelNet40", "ModelNet10", "ShapeNetCore55", "synsetoffset", "wnsynsetid", "wnsynsetkey"),
    *("mpcat40", "mpcat40index"),
)
_LABELS: Final = load_table("samples/scannet_labels")


def write_tables(root: Path, plans: tuple[RoomPlan, ...]) -> None:
    """Writes the label table and the validation split."""
    rows = ["\t".join(_LABEL_COLUMNS)]  # the public columns; those that nothing here depends on are empty
    for raw, (number, category, nyu40, eigen13, nyu, nyu_name, eigen, mpcat, mpcat_index) in _LABELS.items():
        filled = [number, raw, category, 0, nyu40, eigen13, nyu, nyu_name, eigen, *[""] * 6, mpcat, mpcat_index]
        rows.append("\t".join(map(str, filled)))
    write_atomically(root / "scannetv2-labels.combined.tsv", lines_bytes(rows))
    write_atomically(root / "scannetv2_val.txt", lines_bytes(sorted(plan.name for plan in plans)))


def write_scan(root: Path, plan: RoomPlan) -> SceneTruth:
    """Writes one scan; returns what was planted in it."""
    folder = root / "scans" / plan.name
    made = scan(plan)
    alignment = axis_alignment(plan.name)
    scan_T_world = inverse(alignment)
    mesh = made.room.mesh.moved(scan_T_world)
    name = plan.name
    frames = len(made.world_T_camera)
    write_atomically(folder / f"{name}_vh_clean_2.ply", mesh.as_ply(alpha=True))
    write_atomically(folder / f"{name}_vh_clean_2.0.010000.segs.json", json_bytes(_segments(name, mesh)))
    write_atomically(folder / f"{name}.aggregation.json", json_bytes(_aggregation(name, made)))
    write_atomically(folder / f"{name}.txt", lines_bytes(_facts(alignment, frames, plan.room_type)))
    poses = product(scan_T_world, made.world_T_camera)
    poses[list(LOST_FRAMES)] = -np.inf

    pixels = made.no_pixels()
    instances: dict[str, bytes] = {}
    images: list[tuple[bytes, npt.NDArray[np.uint16]]] = []
    numbers = [i if plan.stored == "sens" else i * CAPTURE_HZ // plan.fps for i in range(frames)]
    for i, shot in made.shots(COLOR, pixels):
        ids = np.where((shot.owner < 0) | (shot.owner > len(plan.pieces) + 1), 0, shot.owner + 1)
        instances[f"instance-filt/{numbers[i]}.png"] = png_bytes(ids.astype(np.uint8))
        images.append((jpeg_bytes(shot.color), _depth_mm(made, i)))
    write_atomically(folder / f"{name}_2d-instance-filt.zip", zip_bytes(instances))
    if plan.stored == "sens":
        write_atomically(folder / f"{name}.sens", _sens(images, poses, plan.fps))
    else:
        _write_tree(folder, numbers, images, poses)
    times = [i / plan.fps for i in range(frames)]
    return truth_of(made, pixels, COLOR.width * COLOR.height, times, [str(n) for n in numbers], LOST_FRAMES)


def axis_alignment(name: str) -> FloatArray:
    """The matrix (4, 4) world_T_scan of a sample scan, with six decimals."""
    turn_deg, shift = _ALIGNMENT[name]
    c, s = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    matrix = np.eye(4)
    matrix[:2, :2] = [[c, -s], [s, c]]
    matrix[:3, 3] = shift
    return matrix.round(6)


def _segments(name: str, mesh: SampleMesh) -> dict[str, Any]:
    parameters = {"kThresh": "0.0100000", "segMinVerts": "20", "minPoints": "750", "maxPoints": "30000"}
    return {"params": parameters, "sceneId": name, "segIndices": mesh.segment.tolist()}


def _aggregation(name: str, made: SampleScan) -> dict[str, Any]:
    labels, mesh = (*made.room.labels, *STRUCTURE[:2]), made.room.mesh
    groups = [
        {"id": i, "objectId": i, "segments": np.unique(mesh.segment[mesh.owner == i]).tolist(), "label": label}
        for i, label in enumerate(labels)
    ]
    return {
        "sceneId": f"scannet.{name}",
        "appId": "Aggregator.v2",
        "segGroups": groups,
        "segmentsFile": f"scannet.{name}_vh_clean_2.0.010000.segs.json",
    }


def _facts(alignment: FloatArray, frames: int, room_type: str) -> list[str]:
    values = {
        "axisAlignment": _numbers(alignment),
        "colorHeight": COLOR.height,
        "colorToDepthExtrinsics": _numbers(np.eye(4)),
        "colorWidth": COLOR.width,
        "depthHeight": DEPTH.height,
        "depthWidth": DEPTH.width,
        "fx_color": f"{COLOR.fx:.6f}",
        "fx_depth": f"{DEPTH.fx:.6f}",
        "fy_color": f"{COLOR.fy:.6f}",
        "fy_depth": f"{DEPTH.fy:.6f}",
        "mx_color": f"{COLOR.cx:.6f}",
        "mx_depth": f"{DEPTH.cx:.6f}",
        "my_color": f"{COLOR.cy:.6f}",
        "my_depth": f"{DEPTH.cy:.6f}",
        "numColorFrames": frames,
        "numDepthFrames": frames,
        "numIMUmeasurements": 0,
        "sceneType": room_type,
    }
    return [f"{key} = {value}" for key, value in values.items()]


def _numbers(matrix: FloatArray) -> str:
    return " ".join(f"{value:.6f}" for value in matrix.ravel())


def _depth_mm(made: SampleScan, i: int) -> npt.NDArray[np.uint16]:
    depth = made.renderer.depth_m(made.world_T_camera[i], DEPTH)
    return np.where(depth <= DEPTH_RANGE_M, np.rint(depth * DEPTH_SHIFT), 0).astype(np.uint16)


def _sens(images: list[tuple[bytes, npt.NDArray[np.uint16]]], poses: FloatArray, fps: int) -> bytes:
    """A .sens stream of version 4, as SensorData.py reads it."""
    out = io.BytesIO()
    out.write(struct.pack("<IQ", 4, len(SENSOR)) + SENSOR)
    for matrix in (_padded(COLOR), np.eye(4), _padded(DEPTH), np.eye(4)):
        out.write(matrix.astype("<f4").tobytes())
    out.write(struct.pack("<ii", 2, 1))  # jpeg, zlib_ushort
    out.write(struct.pack("<IIII", COLOR.width, COLOR.height, DEPTH.width, DEPTH.height))
    out.write(struct.pack("<fQ", DEPTH_SHIFT, len(images)))
    for i, ((color, depth), pose) in enumerate(zip(images, poses, strict=True)):
        packed = zlib.compress(depth.astype("<u2").tobytes())
        stamp = _FIRST_TIMESTAMP_US + i * 1_000_000 // fps
        out.write(pose.astype("<f4").tobytes())
        out.write(struct.pack("<QQQQ", stamp, stamp + _DEPTH_DELAY_US, len(color), len(packed)))
        out.write(color + packed)
    out.write(struct.pack("<Q", 0))  # IMU frames
    return out.getvalue()


def _write_tree(
    folder: Path, numbers: list[int], images: list[tuple[bytes, npt.NDArray[np.uint16]]], poses: FloatArray
) -> None:
    """The files that SensorData.py exports from a .sens, frames skipped."""
    for number, (color, depth), pose in zip(numbers, images, poses, strict=True):
        write_atomically(folder / "color" / f"{number}.jpg", color)
        write_atomically(folder / "depth" / f"{number}.png", png_bytes(depth))
        write_atomically(folder / "pose" / f"{number}.txt", _matrix_bytes(pose))
    for kind, lens in (("color", COLOR), ("depth", DEPTH)):
        write_atomically(folder / "intrinsic" / f"intrinsic_{kind}.txt", _matrix_bytes(_padded(lens)))
        write_atomically(folder / "intrinsic" / f"extrinsic_{kind}.txt", _matrix_bytes(np.eye(4)))


def _matrix_bytes(matrix: FloatArray) -> bytes:
    return lines_bytes(" ".join(f"{value:.6f}" for value in row) for row in matrix)


def _padded(lens: Lens) -> FloatArray:
    out = np.eye(4)
    out[:3, :3] = lens.matrix()
    return out
