"""Sample scenes in ScanNet++'s layout: ``data/<scene>/scans`` and ``iphone``, splits and class list.

Assumed of the released files, where no real one is at hand:
- ``aligned_pose`` is camera-to-world in the mesh's frame with OpenCV axes (x right, y down, z forward): the public
  toolkit back-projects the iPhone's depth with ``x = (u - cx) z / fx, y = (v - cy) z / fy`` and multiplies by it
  without flipping an axis.
- ``pose`` is the same camera in ARKit's own world, y up, origin at the first frame.
- ``intrinsic`` belongs to the full image of ``rgb.mp4``; the depth image is a reduction of it.
- Every vertex is a segment of its own, numbered as the vertex: the toolbox takes a group's segments for vertices.
- ``normalizedAxes`` lists the three axes one after the other, as in the released VSI-Bench metadata.
"""

import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.samples.common.camera import Lens, inverse, product, rigid
from pipeline.samples.common.encode import VideoWriter, json_bytes, lines_bytes
from pipeline.samples.common.shapes import SampleMesh
from pipeline.samples.indoor.render import scan
from pipeline.samples.indoor.rooms import STRUCTURE, FurnishedRoom, RoomPlan
from pipeline.samples.indoor.truth import SceneTruth, truth_of

# An iPhone's video is 1920x1440; depth is 256x192, as here.
COLOR: Final = Lens(512, 384, 384.0, 384.0, 255.5, 191.5)
DEPTH_STEP_M: Final = 1 / 1024  # depth is rounded to this: float32 with empty low bits packs to a third
DEPTH_RANGE_M: Final = 5.0
FIRST_TIMESTAMP_S: Final = 81234.5
_ARKIT_T_UPRIGHT: Final = rigid(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))  # z up -> y up
_GRAVITY_M_S2: Final = 9.81
_STRUCTURE_BOX_M: Final = 0.01  # sheets of floor and wall are given boxes at least this thick


def write_tables(root: Path, plans: tuple[RoomPlan, ...]) -> None:
    """Writes the validation split and the class list."""
    labels = sorted({piece.label for plan in plans for piece in plan.pieces} | set(STRUCTURE))
    write_atomically(root / "splits" / "nvs_sem_val.txt", lines_bytes(sorted(plan.name for plan in plans)))
    write_atomically(root / "metadata" / "semantic_classes.txt", lines_bytes(labels))


def write_scan(root: Path, plan: RoomPlan) -> SceneTruth:
    """Writes one scene; returns what was planted in it."""
    folder = root / "data" / plan.name
    made = scan(plan)
    mesh, frames = made.room.mesh, len(made.world_T_camera)
    write_atomically(folder / "scans" / "mesh_aligned_0.05.ply", mesh.as_ply(alpha=False))
    segments = {"sceneId": plan.name, "segIndices": list(range(len(mesh.vertices)))}
    write_atomically(folder / "scans" / "segments.json", json_bytes(segments))
    write_atomically(folder / "scans" / "segments_anno.json", json_bytes(_annotation(plan.name, made.room)))

    pixels = made.no_pixels()
    video = VideoWriter("mp4", plan.fps, COLOR.width, COLOR.height)
    depth = np.zeros((frames, COLOR.height // 2, COLOR.width // 2), dtype=np.float32)
    for i, shot in made.shots(COLOR, pixels):
        video.add(shot.color)
        depth[i] = _measured(shot.depth_m[::2, ::2])
    names = [f"frame_{i:06d}" for i in range(frames)]
    times = [i / plan.fps for i in range(frames)]
    write_atomically(folder / "iphone" / "rgb.mp4", video.finish())
    # One raw deflate stream, which prepare_iphone_data.py tries first.
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    write_atomically(folder / "iphone" / "depth.bin", packer.compress(depth.astype("<f4").tobytes()) + packer.flush())
    records = dict(zip(names, _records(made.world_T_camera, times), strict=True))
    write_atomically(folder / "iphone" / "pose_intrinsic_imu.json", json_bytes(records))
    return truth_of(made, pixels, COLOR.width * COLOR.height, times, names)


def _measured(depth_m: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Depth as the phone stores it: rounded, 0 where too far."""
    rounded = np.rint(depth_m / DEPTH_STEP_M) * DEPTH_STEP_M
    return np.where(depth_m <= DEPTH_RANGE_M, rounded, 0.0).astype(np.float32)


def _annotation(name: str, room: FurnishedRoom) -> dict[str, Any]:
    groups = []
    for owner, label in enumerate((*room.labels, *STRUCTURE)):
        used = np.flatnonzero(room.mesh.owner == owner)
        groups.append(
            {
                "id": owner + 1,
                "objectId": owner + 1,
                "label": label,
                "segments": [int(s) for s in used],
                "obb": _box(room, owner) if owner < len(room.labels) else _bounds(room.mesh, owner),
            }
        )
    return {"sceneId": name, "appId": "Aligner.v2", "segGroups": groups}


def _box(room: FurnishedRoom, index: int) -> dict[str, list[float]]:
    corners = room.boxes.corners()[index]
    return _obb(
        room.boxes.center[index], 2 * room.boxes.half[index], room.boxes.axes[index], corners.min(0), corners.max(0)
    )


def _bounds(mesh: SampleMesh, owner: int) -> dict[str, list[float]]:
    """The axis-parallel box of floor, walls or ceiling."""
    vertices = mesh.vertices[mesh.owner == owner]
    low, high = vertices.min(0), vertices.max(0)
    return _obb((low + high) / 2, np.maximum(high - low, _STRUCTURE_BOX_M), np.eye(3), low, high)


def _obb(
    center: FloatArray, lengths: FloatArray, axes: FloatArray, low: FloatArray, high: FloatArray
) -> dict[str, list[float]]:
    named = {"centroid": center, "axesLengths": lengths, "normalizedAxes": axes.ravel(), "min": low, "max": high}
    return {key: (value.round(9) + 0.0).tolist() for key, value in named.items()}


def _records(world_T_camera: FloatArray, times_s: list[float]) -> list[dict[str, Any]]:
    first = inverse(world_T_camera[0])
    gravity = rigid(np.eye(3), tuple(-world_T_camera[0][:3, 3]))
    records = []
    for pose, time_s in zip(world_T_camera, times_s, strict=True):
        arkit = product(_ARKIT_T_UPRIGHT, product(gravity, pose))
        down = -product(first, pose)[:3, 1]
        records.append(
            {
                "timestamp": round(FIRST_TIMESTAMP_S + time_s, 6),
                "pose": arkit.round(8).tolist(),
                "intrinsic": COLOR.matrix().tolist(),
                "aligned_pose": pose.round(8).tolist(),
                "imu": {"gravity": down.round(6).tolist(), "acceleration": [0.0, 0.0, -_GRAVITY_M_S2]},
            }
        )
    return records
