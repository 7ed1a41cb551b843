"""Polycam's raw data (developer mode): ``keyframes/`` with images, cameras and depth.

A camera is a JSON with fx fy cx cy width height and t_00 … t_23, three rows of camera-to-world in OpenGL's camera and
ARKit's world (y up, metres), as in nerfstudio's polycam_utils, which takes the rows in the order 2, 0, 1 to have z up.
Depth is a PNG of 16 bits in millimetres, confidence 0, 54 or 255.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import SceneDocument
from pipeline.worlds.indoor.converters.capture import UP_AXES, Capture, CapturedFrame, write_capture
from pipeline.worlds.indoor.converters.rgbd import depth_png, mask_confidence
from pipeline.worlds.indoor.converters.texts import (
    folders_of,
    lens_of,
    numbers_from,
    object_of,
    opencv_camera,
    size_from,
)

CAMERAS: Final = ("corrected_cameras", "cameras")  # the corrected ones, where the app optimised them
IMAGES: Final = ("corrected_images", "images")
ROWS: Final = [f"t_{row}{column}" for row in range(3) for column in range(4)]
SECONDS: Final = 0.5  # that a key frame is shown: their names are no clock
SURE: Final = 255


class Polycam:
    """Raw data of Polycam."""

    name = "polycam"
    about = "keyframes/ with images, cameras and depth (Polycam, raw data of developer mode)"
    real: str | None = None

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`."""
        return [f for f in folders_of(source) if _folder(f, CAMERAS) is not None]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        cameras, images = _folder(place, CAMERAS), _folder(place, IMAGES)
        paths = sorted(cameras.glob("*.json")) if cameras else []
        if not paths:
            raise RawDataError(place, "no_usable_frames", "there is no camera", "export the raw data again")
        shots, size = [], (0, 0)
        for i, path in enumerate(paths):
            told = object_of(path)
            pose = np.vstack(
                [numbers_from(path, [told.get(k) for k in ROWS], 12, "t_00 … t_23").reshape(3, 4), [0, 0, 0, 1]]
            )
            own = size_from(path, told.get("width"), told.get("height"))
            if i and own != size:
                raise RawDataError(path, "bad_intrinsics", f"{own} pixels, others {size}", "export one capture")
            size = own
            lens = lens_of(path, told, ("fx", "fy", "cx", "cy"))
            picture = None if images is None else images / f"{path.stem}.jpg"
            color = picture if picture is not None and picture.is_file() else None
            shots.append(CapturedFrame(i * SECONDS, opencv_camera(pose), lens, color))
        keyframes = place / "keyframes"
        capture = Capture(
            place=place,
            made_by=f"scan2qa convert {self.name}",
            shots=shots,
            size=size,
            up=np.array(UP_AXES["y"]),
            depth_m=lambda i: mask_confidence(
                depth_png(keyframes / "depth" / f"{paths[i].stem}.png", 1000.0),
                keyframes / "confidence" / f"{paths[i].stem}.png",
                SURE,
            ),
            remarks=(f"key frames without a clock: each is shown for {SECONDS:g} s",),
        )
        return write_capture(capture, folder)


def _folder(place: Path, names: Sequence[str]) -> Path | None:
    paths = (place / "keyframes" / name for name in names)
    return next((path for path in paths if path.is_dir() and any(path.iterdir())), None)
