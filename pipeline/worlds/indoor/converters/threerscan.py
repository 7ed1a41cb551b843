"""3RScan: ``semseg.v2.json`` with a box per instance, the scan's mesh, and its frames where they are unpacked.

Metres, z up. Of an ``obb`` nine ``normalizedAxes`` are three axes one after another, ``axesLengths`` full sides, as in
ScanNet++ and ARKitScenes, which the same tool made. Frames: ``frame-NNNNNN.color.jpg``, ``.depth.pgm`` (16 bits,
millimetres), ``.pose.txt`` camera-to-world, and ``_info.txt`` with the lens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file
from pipeline.formats.images import MAX_PIXELS
from pipeline.formats.scene_folder import CaptureCamera, SceneDocument
from pipeline.worlds.indoor.converters.annotated import AnnotatedBoxes, annotated_scene
from pipeline.worlds.indoor.converters.capture import (
    Capture,
    CapturedFrame,
    copied,
    usable_poses,
    written_camera,
)
from pipeline.worlds.indoor.converters.rgbd import orthonormal
from pipeline.worlds.indoor.converters.texts import entries_of, folders_of, numbers_from, numbers_of, object_of, text_of

FILE: Final = "semseg.v2.json"
MESHES: Final = ("labels.instances.annotated.v2.ply", "mesh.refined.v2.obj", "mesh.refined.obj")
FRAMES: Final = ("sequence", ".")
INFO: Final = "_info.txt"
FPS: Final = 10.0  # no clock is in the files
NO_CLOCK: Final = f"frames without a clock: they are shown at {FPS:g} per second"
AGAIN: Final = "fetch the scan again (3RScan's download.py)"
PACKED: Final = "sequence.zip is not read: unzip it into the folder sequence/, and convert again"
_PGM: Final = re.compile(rb"P5\s+(?:#[^\n]*\s+)*(\d{1,5})\s+(\d{1,5})\s+(\d{1,5})\s")


class ThreeRScan:
    """Scans of 3RScan."""

    name = "3rscan"
    about = "semseg.v2.json with labels.instances.annotated.v2.ply and sequence/ (3RScan): boxes, mesh, frames"
    real: str | None = None

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`."""
        return [folder for folder in folders_of(source) if (folder / FILE).is_file()]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place / FILE
        entries = [(entry, _box(path, entry)) for entry in entries_of(path, object_of(path), "segGroups")]
        numbers = np.array([box for _, box in entries]).reshape(-1, 15)
        boxes = AnnotatedBoxes(
            labels=[str(entry.get("label", "")) for entry, _ in entries],
            center=numbers[:, :3],
            size=numbers[:, 3:6],
            axes=numbers[:, 6:].reshape(-1, 3, 3),
        )
        mesh = next((p for name in MESHES if (p := place / name).is_file()), None)
        remarks: list[str] = []
        frames = next((place / name for name in FRAMES if (place / name / INFO).is_file()), None)
        if frames is None and (place / "sequence.zip").is_file():
            remarks.append(PACKED)
        camera = None if frames is None else _camera(frames, folder, remarks)
        own = None if mesh is None else copied(mesh, folder, "mesh")
        return annotated_scene(path, self.name, boxes, complete=True, remarks=remarks, mesh=own, camera=camera)


def _box(path: Path, entry: dict[str, Any]) -> list[float]:
    """Centre, sides and axes of one instance."""
    obb = entry.get("obb")
    told = obb if isinstance(obb, dict) else {}
    what = f"the obb of {entry.get('label')} {entry.get('objectId')}"[:80]
    parts = (("centroid", 3), ("axesLengths", 3), ("normalizedAxes", 9))
    return [n for key, count in parts for n in numbers_from(path, told.get(key), count, f"{what}: {key}").tolist()]


def _camera(frames: Path, folder: Path, remarks: list[str]) -> CaptureCamera:
    """The frames of a sequence, in the scan's frame. Raises RawDataError."""
    info = _info(frames / INFO)
    matrix = numbers_from(frames / INFO, info["m_calibrationColorIntrinsic"].split(), 16, "the lens").reshape(4, 4)
    lens = (float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2]))
    wide, high = numbers_from(frames / INFO, [info["m_colorWidth"], info["m_colorHeight"]], 2, "the size").tolist()
    per_m = float(numbers_from(frames / INFO, [info["m_depthShift"]], 1, "m_depthShift")[0])
    if not (min(wide, high) >= 1 and max(wide, high) <= 20_000 and per_m > 0):
        message = f"pictures of {wide:g} x {high:g} pixels, {per_m:g} numbers of depth per metre"
        raise RawDataError(frames / INFO, "bad_intrinsics", message, AGAIN)
    poses = sorted(frames.glob("frame-*.pose.txt"))
    depths, pictures = (
        [path.with_name(path.name.replace(".pose.txt", suffix)) for path in poses]
        for suffix in (".depth.pgm", ".color.jpg")
    )
    colors = [path if path.is_file() else None for path in pictures]
    shots = [
        orthonormal(CapturedFrame(i / FPS, numbers_of(path, 16).reshape(4, 4), lens, color))
        for i, (path, color) in enumerate(zip(poses, colors, strict=True))
    ]
    size = (int(wide), int(high))
    remarks.append(NO_CLOCK)
    capture = Capture(frames, "", shots, size, depth_m=lambda i: depth_pgm(depths[i], per_m))
    return written_camera(capture, *usable_poses(capture, remarks), folder)


def _info(path: Path) -> dict[str, str]:
    """The values of ``key = value`` lines. Raises RawDataError."""
    told = dict(re.findall(r"^[ \t]*(\S+)[ \t]*=[ \t]*(.*)$", text_of(path), re.MULTILINE))
    wanted = ("m_calibrationColorIntrinsic", "m_colorWidth", "m_colorHeight", "m_depthShift")
    missing = [key for key in wanted if key not in told]
    if missing:
        raise RawDataError(path, "missing_key", f"there is no {', '.join(missing)}", AGAIN)
    return told


def depth_pgm(path: Path, per_m: float) -> FloatArray | None:
    """Depth (h, w) in metres of a 16-bit PGM, NaN where it is 0; None: unreadable."""
    try:
        raw = read_file(path, 2 * MAX_PIXELS)
    except OSError:
        return None
    head = _PGM.match(raw)
    if head is None:
        return None
    wide, high, most = map(int, head.groups())
    if most <= 255 or len(raw) - head.end() != 2 * wide * high or not wide * high:
        return None
    numbers = np.frombuffer(raw, ">u2", wide * high, head.end()).reshape(high, wide)
    return np.where(numbers > 0, numbers / per_m, np.nan)
