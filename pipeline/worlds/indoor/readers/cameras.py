"""Which size of picture a camera's intrinsics belong to: pictures get resized, and files go on stating the old size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, note
from pipeline.reading.files import SceneFiles

OFF_CENTRE_MAX: Final = 0.1  # of width or height, from the principal point to the middle; phones stay below 0.02
SHAPE_TOLERANCE: Final = 0.02  # between widths over heights; ScanNet's 1296x968 and its 640x480 differ by 0.004

Size = tuple[int, int]


def check_pinhole(files: SceneFiles, path: Path, pinhole: FloatArray, size: Size) -> None:
    """Raises RawDataError where fx, fy, cx, cy (4,) are no camera of pictures of this size."""
    fx, fy, cx, cy = pinhole
    if not (np.isfinite(pinhole).all() and min(fx, fy) > 0 and 0 < cx < size[0] and 0 < cy < size[1]):
        message = f"fx {fx:g}, fy {fy:g}, cx {cx:g}, cy {cy:g} do not fit an image of {size[0]}x{size[1]} pixels"
        raise files.fault(path, "bad_intrinsics", message, "fetch the file again")


def camera_size(
    files: SceneFiles, path: Path, pinhole: FloatArray, pictures: Size, stated: Sequence[Size], findings: Findings
) -> Size:
    """The size of picture, (width, height), that fx, fy, cx, cy (4,) belong to.

    The principal point tells, since it lies near the middle: of the pictures' own size and the stated ones the best
    fit; where none fits, the pictures' own, scaled until it does. A note tells where it is not the pictures' own.

    Raises:
        RawDataError: no scale of the pictures fits, or they have another shape, so that they were cut.
    """
    cx, cy = float(pinhole[2]), float(pinhole[3])
    size = min((pictures, *stated), key=lambda s: _off_centre(s, cx, cy))
    if not _off_centre(size, cx, cy) <= OFF_CENTRE_MAX:
        scale = (cx / pictures[0] + cy / pictures[1]) if np.isfinite(cx + cy) else 0.0
        size = max(1, round(pictures[0] * scale)), max(1, round(pictures[1] * scale))
    shape = (size[0] * pictures[1]) / (size[1] * pictures[0])
    if not _off_centre(size, cx, cy) <= OFF_CENTRE_MAX or abs(shape - 1) > SHAPE_TOLERANCE:
        message = f"cx {cx:g}, cy {cy:g} do not fit pictures of {pictures[0]}x{pictures[1]} pixels, nor scaled ones"
        raise files.fault(path, "bad_intrinsics", message, "fetch intrinsics and pictures of one export")
    if size != pictures:
        message = (
            f"the pictures have {pictures[0]}x{pictures[1]} pixels, {files.relative(path)} belongs to "
            f"{size[0]}x{size[1]} (cx {cx:g}, cy {cy:g})"
        )
        remedy = "none is needed: the camera is scaled to the pictures; see the depth agreement of the scene"
        findings.add(note("pictures_resized", "video", message, remedy, pictures[0] / size[0], 1, "scale"))
    return size


def _off_centre(size: Size, cx: float, cy: float) -> float:
    return max(abs(cx / size[0] - 0.5), abs(cy / size[1] - 0.5))
