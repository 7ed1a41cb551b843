"""Captures of phones, as their apps export them: Stray Scanner, Record3D, Polycam."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.worlds.indoor.converters.capture import UP_AXES, Capture, CapturedFrame, Converter
from pipeline.worlds.indoor.converters.rgbd import depth_array, depth_png, mask_confidence
from pipeline.worlds.indoor.converters.texts import (
    lens_of,
    numbers_from,
    numbers_of,
    object_of,
    opencv_camera,
    pinhole_of,
    quaternion_poses,
    size_from,
    table_of,
)

NATIVE: Final = (1920, 1440)  # of the colour picture that the matrix is for
POSE: Final = ("x", "y", "z", "qx", "qy", "qz", "qw")
OLD: Final = ("timestamp", "frame", *POSE)
FPS: Final = 60.0  # where there are no times
STRAY_SURE: Final = 2  # of 0, 1, 2


class StrayScanner(Converter):
    """Recordings of Stray Scanner (iPhone with LiDAR): film, ``depth/``, ``confidence/``, ``odometry.csv``.

    After the app's own docs/format.md and StrayVisualizer: depth in millimetres at 256 x 192, the matrix for the
    colour picture of 1920 x 1440, poses camera-to-world with OpenCV's camera axes in ARKit's world (y up, metres),
    quaternions with the scalar last. Columns are found by their names: newer apps append some, the oldest had no
    time and frame.
    """

    name = "stray_scanner"
    about = "rgb.mp4, depth/, confidence/, camera_matrix.csv, odometry.csv (Stray Scanner on a phone with LiDAR)"
    needs = ("odometry.csv", "camera_matrix.csv")

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        clock, number, pose = _odometry(place / "odometry.csv")
        lens = pinhole_of(numbers_of(place / "camera_matrix.csv", 9).reshape(3, 3))
        film = place / "rgb.mp4"
        if not film.is_file():
            raise RawDataError(film, "missing_file", "there is no such file", "copy the whole recording")

        def depth(i: int) -> FloatArray | None:
            name = f"{number[i]:06d}"
            found = depth_png(place / "depth" / f"{name}.png", 1000.0)
            found = depth_array(place / "depth" / f"{name}.npy") if found is None else found
            return mask_confidence(found, place / "confidence" / f"{name}.png", STRAY_SURE)

        shots = [CapturedFrame(float(t - clock[0]), pose[i], lens, number=int(number[i])) for i, t in enumerate(clock)]
        return Capture(place, shots, NATIVE, up=np.array(UP_AXES["y"]), film=film, depth_m=depth)


def _odometry(path: Path) -> tuple[FloatArray, np.ndarray, FloatArray]:
    """Times, numbers of frames and poses (N, 4, 4), in the order of the frames. Raises RawDataError."""
    header, rows = table_of(path)
    if not set(POSE) <= set(header):
        if len(header) == len(POSE):  # the oldest app: no header, no time, no frame
            header, rows = list(POSE), [header, *rows]
        else:
            message = f"its columns are {', '.join(header)[:200]}; needed are {', '.join(POSE)}"
            raise RawDataError(path, "wrong_columns", message, "copy the whole recording again")
    ragged = next((n for n, row in enumerate(rows, start=2) if len(row) < len(header)), None)
    if ragged is not None or not rows:
        message = f"line {ragged} is cut" if rows else "there are no rows"
        raise RawDataError(path, "wrong_shape", message, "copy the whole recording again")
    columns = {
        name: numbers_from(path, [row[header.index(name)] for row in rows], len(rows), name)
        for name in OLD
        if name in header
    }
    count = np.arange(len(rows), dtype=float)
    number = columns.get("frame", count)
    clock = columns.get("timestamp", count / FPS)
    if not np.isfinite([number, clock]).all() or (number < 0).any() or (number > 1e7).any():
        raise RawDataError(path, "not_finite", "a time or number of a frame is none", "copy the recording again")
    position = np.stack([columns[n] for n in POSE[:3]], axis=1)
    quaternion = np.stack([columns[n] for n in POSE[3:]], axis=1)
    pose = quaternion_poses(position, quaternion, path)
    order = np.argsort(number, kind="stable")
    return clock[order], number[order].astype(int), pose[order]


METADATA: Final = "metadata.json"
PICTURES: Final = ("rgb", "rgbd", "EXR_RGBD/rgb", "images")
NO_DEPTH: Final = "depth of Record3D (LZFSE) is not read: unpack it to depth/N.png (docs/build/converters.md)"


class Record3D(Converter):
    """Record3D exports: ``metadata.json`` beside the pictures in ``rgb/`` or ``rgbd/``.

    ``K`` is nine numbers column by column for pictures of ``w`` x ``h``; ``poses`` are rows qx qy qz qw tx ty tz,
    camera-to-world in OpenGL's camera, in ARKit's world (y up, metres); ``frameTimestamps`` are seconds. Depth lies
    there compressed with LZFSE (``.depth``) and is not read; unpacked to ``depth/N.png`` (16 bits, millimetres) it
    is.
    """

    name = "record3d"
    about = "metadata.json with K and poses, and rgb/ or rgbd/ (Record3D; unzip a .r3d first); depth unpacked"

    def is_scene(self, folder: Path) -> bool:
        """See `Converter.is_scene`."""
        return (folder / METADATA).is_file() and _pictures(folder) is not None

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        path = place / METADATA
        document = object_of(path)
        size = size_from(path, document.get("w"), document.get("h"))
        matrix = numbers_from(path, document.get("K"), 9, "K").reshape(3, 3).T
        rows = document.get("poses")
        count = len(rows) if isinstance(rows, list) else 0
        if not isinstance(rows, list) or not rows:
            raise RawDataError(path, "missing_key", "there is no list 'poses'", "export the recording again")
        table = numbers_from(path, rows, 7 * count, "poses").reshape(-1, 7)
        pose = opencv_camera(quaternion_poses(table[:, 4:], table[:, :4], path))
        clock = numbers_from(
            path, document.get("frameTimestamps") or (np.arange(count) / _fps(document)).tolist(), count, "times"
        )
        lens = pinhole_of(matrix)
        if abs(matrix[2, 2] - 1) > 1e-6 or abs(matrix[2, 0]) + abs(matrix[2, 1]) > 1e-6:
            message = "K does not end in 0 0 1, column by column"
            raise RawDataError(path, "bad_intrinsics", message, "export the recording again")
        pictures = _pictures(place) or {}
        order = np.argsort(clock, kind="stable").tolist()
        shots = [CapturedFrame(float(clock[i] - clock[order[0]]), pose[i], lens, pictures.get(i)) for i in order]
        up, depths = np.array(UP_AXES["y"]), place / "depth"
        if not depths.is_dir():
            return Capture(place, shots, size, up=up, remarks=(NO_DEPTH,))
        return Capture(place, shots, size, up=up, depth_m=lambda i: depth_png(depths / f"{order[i]}.png", 1000.0))


def _fps(document: dict[str, object]) -> float:
    fps = document.get("fps")
    return float(fps) if isinstance(fps, int | float) and 0 < fps <= 240 else 60.0


def _pictures(place: Path) -> dict[int, Path] | None:
    """Pictures by their number; None where there is no folder of them."""
    for folder in (place / name for name in PICTURES):
        if folder.is_dir():
            paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in {".jpg", ".jpeg", ".png"})
            return {int(p.stem): p for p in paths if p.stem.isdecimal() and len(p.stem) < 10}
    return None


CAMERAS: Final = ("corrected_cameras", "cameras")  # the corrected ones, where the app optimised them
IMAGES: Final = ("corrected_images", "images")
ROWS: Final = [f"t_{row}{column}" for row in range(3) for column in range(4)]
SECONDS: Final = 0.5  # that a key frame is shown: their names are no clock
POLYCAM_SURE: Final = 255


class Polycam(Converter):
    """Polycam's raw data (developer mode): ``keyframes/`` with images, cameras and depth.

    A camera is a JSON with fx fy cx cy width height and t_00 … t_23, three rows of camera-to-world in OpenGL's
    camera and ARKit's world (y up, metres), as in nerfstudio's polycam_utils, which takes the rows in the order 2,
    0, 1 to have z up. Depth is a PNG of 16 bits in millimetres, confidence 0, 54 or 255.
    """

    name = "polycam"
    about = "keyframes/ with images, cameras and depth (Polycam, raw data of developer mode)"

    def is_scene(self, folder: Path) -> bool:
        """See `Converter.is_scene`."""
        return _folder(folder, CAMERAS) is not None

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        cameras, images = _folder(place, CAMERAS), _folder(place, IMAGES)
        paths = sorted(cameras.glob("*.json")) if cameras else []
        if not paths:
            raise RawDataError(place, "no_usable_frames", "there is no camera", "export the raw data again")
        shots, size = [], (0, 0)
        for i, path in enumerate(paths):
            document = object_of(path)
            pose = np.vstack(
                [numbers_from(path, [document.get(k) for k in ROWS], 12, "t_00 … t_23").reshape(3, 4), [0, 0, 0, 1]]
            )
            own = size_from(path, document.get("width"), document.get("height"))
            if i and own != size:
                raise RawDataError(path, "bad_intrinsics", f"{own} pixels, others {size}", "export one capture")
            size = own
            lens = lens_of(path, document, ("fx", "fy", "cx", "cy"))
            picture = None if images is None else images / f"{path.stem}.jpg"
            color = picture if picture is not None and picture.is_file() else None
            shots.append(CapturedFrame(i * SECONDS, opencv_camera(pose), lens, color))
        keyframes = place / "keyframes"
        return Capture(
            place=place,
            shots=shots,
            size=size,
            up=np.array(UP_AXES["y"]),
            depth_m=lambda i: mask_confidence(
                depth_png(keyframes / "depth" / f"{paths[i].stem}.png", 1000.0),
                keyframes / "confidence" / f"{paths[i].stem}.png",
                POLYCAM_SURE,
            ),
            remarks=(f"key frames without a clock: each is shown for {SECONDS:g} s",),
        )


def _folder(place: Path, names: Sequence[str]) -> Path | None:
    paths = (place / "keyframes" / name for name in names)
    return next((path for path in paths if path.is_dir() and any(path.iterdir())), None)
