"""Sample scenes in the layout of ARKitScenes: ``3dod`` with annotation, mesh and frames, ``raw`` with the video.

Frames and video are stored as the sensor delivers them, in landscape; ``sky_direction`` says which side of the stored
image is up when the phone was held otherwise. The trajectory holds world-to-camera (axis-angle, translation), camera
axes OpenCV's. ``normalizedAxes`` has the axes as rows: box_utils.compute_box_3d multiplies by the transpose.
"""

from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.core.identity import digest
from pipeline.samples.common.camera import Lens, inverse
from pipeline.samples.common.encode import VideoWriter, json_bytes, lines_bytes, png_bytes
from pipeline.samples.indoor.render import SampleScan, scan
from pipeline.samples.indoor.rooms import FurnishedRoom, RoomPlan
from pipeline.samples.indoor.truth import SceneTruth, truth_of

# The video; lowres_wide, depth and confidence keep every second pixel of it: 256x192, as in the dataset.
COLOR: Final = Lens(512, 384, 424.0, 424.0, 255.8, 191.8)
LOWRES: Final = COLOR.halved()
DEPTH_RANGE_M: Final = 5.0
CONFIDENT_UP_TO_M: Final = (4.0, 2.5)  # confidence 1 and 2
FIRST_TIMESTAMP_S: Final = 4473.599
_CLOCK_OFFSET_S: Final = 0.00021  # trajectory stamps have more digits than file names
_COLUMNS: Final = "video_id,visit_id,sky_direction,fold,has_laser_scanner_point_clouds,is_in_upsampling,is_in_threedod"


def write_tables(root: Path, plans: tuple[RoomPlan, ...]) -> None:
    """Writes the tables of videos."""
    rows = [(plan.name, f"{int(plan.name) // 100}", plan.sky) for plan in plans]
    table = [_COLUMNS, *(f"{video},{visit},{sky},Validation,False,False,True" for video, visit, sky in rows)]
    splits = ["video_id,visit_id,fold", *(f"{video},{visit},Validation" for video, visit, _ in rows)]
    write_atomically(root / "metadata.csv", lines_bytes(table))
    write_atomically(root / "3dod" / "metadata.csv", lines_bytes(table))
    write_atomically(root / "3dod" / "3dod_train_val_splits.csv", lines_bytes(splits))


def write_scan(root: Path, plan: RoomPlan) -> SceneTruth:
    """Writes one scene; returns what was planted in it."""
    made = scan(plan)
    name = plan.name
    folder = root / "3dod" / "Validation" / name
    write_atomically(folder / f"{name}_3dod_annotation.json", json_bytes(_annotation(name, made.room)))
    write_atomically(folder / f"{name}_3dod_mesh.ply", made.room.mesh.as_ply(alpha=True))
    times = [FIRST_TIMESTAMP_S + i / plan.fps for i in range(len(made.world_T_camera))]
    stamps = [f"{time:.3f}" for time in times]
    pixels = _write_frames(folder / f"{name}_frames", root / "raw" / "Validation" / name, made, stamps)
    write_atomically(folder / f"{name}_frames" / "lowres_wide.traj", lines_bytes(_trajectory(made, stamps)))
    seconds = [round(float(stamp) - float(stamps[0]), 3) for stamp in stamps]
    return truth_of(made, pixels, COLOR.width * COLOR.height, seconds, stamps)


def _write_frames(folder: Path, raw: Path, made: SampleScan, stamps: list[str]) -> npt.NDArray[np.int64]:
    """Images of all frames, and the video; returns the pixels (frames, pieces)."""
    name = made.plan.name
    pixels = made.no_pixels()
    video = VideoWriter("mov", made.plan.fps, COLOR.width, COLOR.height)
    lens = (LOWRES.width, LOWRES.height, LOWRES.fx, LOWRES.fy, LOWRES.cx, LOWRES.cy)
    pincam = lines_bytes([" ".join(map(str, lens))])
    for i, shot in made.shots(COLOR, pixels):
        video.add(shot.color)
        file = f"{name}_{stamps[i]}"
        depth = shot.depth_m[::2, ::2]
        confidence = sum((depth <= limit).astype(np.uint8) for limit in CONFIDENT_UP_TO_M)
        millimetres = np.where(depth <= DEPTH_RANGE_M, np.rint(depth * 1000), 0).astype(np.uint16)
        write_atomically(folder / "lowres_wide" / f"{file}.png", png_bytes(shot.color[::2, ::2]))
        write_atomically(folder / "lowres_depth" / f"{file}.png", png_bytes(millimetres))
        write_atomically(folder / "confidence" / f"{file}.png", png_bytes(np.asarray(confidence)))
        write_atomically(folder / "lowres_wide_intrinsics" / f"{file}.pincam", pincam)
    write_atomically(raw / f"{name}.mov", video.finish())
    return pixels


def _trajectory(made: SampleScan, stamps: list[str]) -> list[str]:
    """Lines of the trajectory: timestamp, axis-angle, translation; world to camera."""
    camera_T_world = inverse(made.world_T_camera)
    turns = Rotation.from_matrix(camera_T_world[:, :3, :3]).as_rotvec()
    lines = []
    for stamp, turn, shift in zip(stamps, turns, camera_T_world[:, :3, 3], strict=True):
        numbers = " ".join(f"{value:.8f}" for value in (*turn, *shift))
        lines.append(f"{float(stamp) + _CLOCK_OFFSET_S:.8f} {numbers}")
    return lines


def _annotation(name: str, room: FurnishedRoom) -> dict[str, Any]:
    data: list[dict[str, Any]] = []
    for i, label in enumerate(room.labels):
        box = _box(room.boxes.center[i], 2 * room.boxes.half[i], room.boxes.axes[i])
        data.append(
            {
                "uid": str(UUID(bytes=digest("sample uid", name, str(i))[:16])),
                "label": label,
                "modelId": None,
                "children": [],
                "objectId": i + 1,
                "segments": {"obb": box, "obbAligned": box},
            }
        )
    return {"data": data, "skipped": False, "stats": {"objects": len(data)}, "templateInfo": None}


def _box(center: FloatArray, lengths: FloatArray, axes: FloatArray) -> dict[str, list[float]]:
    named = {"centroid": center, "axesLengths": lengths, "normalizedAxes": axes.ravel()}
    return {key: (value.round(9) + 0.0).tolist() for key, value in named.items()}
