"""Record3D exports: ``metadata.json`` beside the pictures in ``rgb/`` or ``rgbd/``.

``K`` is nine numbers column by column for pictures of ``w`` x ``h``; ``poses`` are rows qx qy qz qw tx ty tz,
camera-to-world in OpenGL's camera, in ARKit's world (y up, metres); ``frameTimestamps`` are seconds. Depth lies there
compressed with LZFSE (``.depth``) and is not read; unpacked to ``depth/N.png`` (16 bits, millimetres) it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import SceneDocument
from pipeline.worlds.indoor.converters.capture import UP_AXES, Capture, CapturedFrame, write_capture
from pipeline.worlds.indoor.converters.rgbd import depth_png
from pipeline.worlds.indoor.converters.texts import (
    folders_of,
    numbers_from,
    object_of,
    opencv_camera,
    quaternion_poses,
    size_from,
)

FILE: Final = "metadata.json"
PICTURES: Final = ("rgb", "rgbd", "EXR_RGBD/rgb", "images")
NO_DEPTH: Final = "depth of Record3D (LZFSE) is not read: unpack it to depth/N.png (docs/build/converters.md)"


class Record3D:
    """Exports of Record3D."""

    name = "record3d"
    about = "metadata.json with K and poses, and rgb/ or rgbd/ (Record3D; unzip a .r3d first); depth unpacked"
    real: str | None = None

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`."""
        return [f for f in folders_of(source) if (f / FILE).is_file() and _pictures(f) is not None]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place / FILE
        told = object_of(path)
        size = size_from(path, told.get("w"), told.get("h"))
        matrix = numbers_from(path, told.get("K"), 9, "K").reshape(3, 3).T
        rows = told.get("poses")
        count = len(rows) if isinstance(rows, list) else 0
        if not isinstance(rows, list) or not rows:
            raise RawDataError(path, "missing_key", "there is no list 'poses'", "export the recording again")
        table = numbers_from(path, rows, 7 * count, "poses").reshape(-1, 7)
        pose = opencv_camera(quaternion_poses(table[:, 4:], table[:, :4], path))
        clock = numbers_from(
            path, told.get("frameTimestamps") or (np.arange(count) / _fps(told)).tolist(), count, "times"
        )
        lens = (float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2]))
        if abs(matrix[2, 2] - 1) > 1e-6 or abs(matrix[2, 0]) + abs(matrix[2, 1]) > 1e-6:
            message = "K does not end in 0 0 1, column by column"
            raise RawDataError(path, "bad_intrinsics", message, "export the recording again")
        pictures = _pictures(place) or {}
        order = np.argsort(clock, kind="stable").tolist()
        shots = [CapturedFrame(float(clock[i] - clock[order[0]]), pose[i], lens, pictures.get(i)) for i in order]
        made_by, up = f"scan2qa convert {self.name}", np.array(UP_AXES["y"])
        depths = place / "depth"
        if not depths.is_dir():
            return write_capture(Capture(place, made_by, shots, size, up=up, remarks=(NO_DEPTH,)), folder)
        capture = Capture(
            place, made_by, shots, size, up=up, depth_m=lambda i: depth_png(depths / f"{order[i]}.png", 1000.0)
        )
        return write_capture(capture, folder)


def _fps(told: dict[str, object]) -> float:
    fps = told.get("fps")
    return float(fps) if isinstance(fps, int | float) and 0 < fps <= 240 else 60.0


def _pictures(place: Path) -> dict[int, Path] | None:
    """Pictures by their number; None where there is no folder of them."""
    for folder in (place / name for name in PICTURES):
        if folder.is_dir():
            paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in {".jpg", ".jpeg", ".png"})
            return {int(p.stem): p for p in paths if p.stem.isdecimal() and len(p.stem) < 10}
    return None
