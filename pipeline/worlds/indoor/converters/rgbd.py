"""Folders of RGB-D frames with a pose each: 7-Scenes, ScanNet's export, and TUM's lists.

7-Scenes: ``frame-NNNNNN.color.png`` (or .jpg), ``.depth.png`` in millimetres with 65535 (and 0) for none, ``.pose.txt``
camera-to-world; ``camera-intrinsics.txt`` 3x3, else the Kinect's 585. ``gravity-direction.txt``, where there, points
down. ScanNet's export: ``color/ depth/ pose/ intrinsic/``. TUM: ``rgb.txt``, ``depth.txt`` (5000 per metre),
``groundtruth.txt`` with time, x y z, and a quaternion whose scalar comes last.
"""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, nearest_index
from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file
from pipeline.formats.images import MAX_PIXELS, decode_numbers, size_of
from pipeline.worlds.indoor.converters.capture import Capture, CapturedFrame, Converter
from pipeline.worlds.indoor.converters.texts import (
    first_file,
    numbers_of,
    one_file,
    pinhole_of,
    quaternion_poses,
    text_of,
)

FPS: Final = 30.0  # of Kinects and of ScanNet's tablets
KINECT: Final = (585.0, 585.0, 320.0, 240.0)  # 7-Scenes' own page; for 640x480
TUM_LENS: Final = (525.0, 525.0, 319.5, 239.5)  # ROS' default, which TUM's tools take
TUM_SIZE: Final = (640, 480)
TUM_PER_M: Final = 5000.0
APART_MAX_S: Final = 0.02  # between a picture and its pose or depth, as TUM's associate.py


def depth_png(path: Path, per_m: float, none: Sequence[int] = (0,)) -> FloatArray | None:
    """Depth (h, w) in metres of a 16-bit PNG, NaN where it has a number that stands for none; None: unreadable."""
    try:
        numbers = decode_numbers(read_file(path))
    except OSError:
        return None
    return None if numbers is None else np.where(np.isin(numbers, none), np.nan, numbers / per_m)


def depth_array(path: Path) -> FloatArray | None:
    """Depth (h, w) in metres of a NumPy file in millimetres; None: unreadable."""
    try:
        numbers = np.load(io.BytesIO(read_file(path, MAX_PIXELS)), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    sound = isinstance(numbers, np.ndarray) and numbers.ndim == 2 and numbers.dtype.kind in "iuf"
    return np.where(numbers > 0, numbers / 1000.0, np.nan) if sound else None


def mask_confidence(depth_m: FloatArray | None, path: Path, sure: int) -> FloatArray | None:
    """Depth, NaN where the sensor was less than sure; as it is where there is no picture of that size."""
    try:
        trust = decode_numbers(read_file(path))
    except OSError:
        return depth_m
    if depth_m is None or trust is None or trust.shape != depth_m.shape:
        return depth_m
    return np.where(trust >= sure, depth_m, np.nan)


class SevenScenes(Converter):
    """Frames of 7-Scenes and of the TSDF examples that follow it."""

    name = "7scenes"
    about = "frame-NNNNNN.color.png, .depth.png and .pose.txt in a folder (7-Scenes, and what writes so)"
    real = "the kitchen of 7-Scenes (125 frames)"

    def is_scene(self, folder: Path) -> bool:
        """See `Converter.is_scene`."""
        return any(folder.glob("frame-*.pose.txt")) and not (folder / "_info.txt").is_file()  # which 3RScan has

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        found = {p.name.split(".")[0]: p for p in sorted(place.glob("frame-*.pose.txt"))}
        numbers = np.array([_number(path) for path in found.values()])
        lens_file = first_file(place, ("camera-intrinsics.txt", "../camera-intrinsics.txt"))
        lens = KINECT if lens_file is None else pinhole_of(numbers_of(lens_file, 9).reshape(3, 3))
        gravity = place / "gravity-direction.txt"
        shots = [
            CapturedFrame(float(n - numbers[0]) / FPS, numbers_of(path, 16).reshape(4, 4), lens, _color(place / stem))
            for (stem, path), n in zip(found.items(), numbers, strict=True)
        ]
        size = next((s for shot in shots if shot.color and (s := size_of(shot.color))), (640, 480))
        depths = [place / f"{stem}.depth.png" for stem in found]
        return Capture(
            place=place,
            shots=[s if s.world_T_camera is None else orthonormal(s) for s in shots],
            size=size,
            up=-numbers_of(gravity, 3) if gravity.is_file() else None,
            depth_m=lambda i: depth_png(depths[i], 1000.0, (0, 65535)),
            remarks=(
                "colour and depth are taken as one camera's, as in 7-Scenes' tools: colours may lie 5 to 10 cm "
                "beside the surface; draw boxes by its shape, in a cut and in the side views",
            ),
        )


def _number(path: Path) -> int:
    found = re.search(r"frame-(\d{1,9})\.", path.name)
    if found is None:
        raise RawDataError(path, "unusable_name", f"{path.name} has no frame number", "name it frame-000000.pose.txt")
    return int(found[1])


def _color(stem: Path) -> Path | None:
    return first_file(stem.parent, (f"{stem.name}.color.png", f"{stem.name}.color.jpg"))


def orthonormal(shot: CapturedFrame) -> CapturedFrame:
    """The frame with the nearest rotation: 7-Scenes' poses come from an average, and are off by up to 5e-4."""
    pose = np.array(shot.world_T_camera)
    if np.isfinite(pose).all():
        u, _, v = np.linalg.svd(pose[:3, :3])
        if np.abs(u @ v - pose[:3, :3]).max() < 0.01 and np.linalg.det(u @ v) > 0:
            pose[:3, :3] = u @ v
    return CapturedFrame(shot.time_s, pose, shot.lens, shot.color, shot.number)


class ExportedFrames(Converter):
    """Frames in the folders of ScanNet's exporter."""

    name = "rgbd"
    needs = ("color/", "depth/", "pose/", "intrinsic/")
    about = (
        "color/N.jpg, depth/N.png in millimetres, pose/N.txt and intrinsic/ (ScanNet's exporter, and what writes so)"
    )

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        poses, colors, depths = (_numbered(place / name) for name in ("pose", "color", "depth"))
        numbers = sorted(poses.keys() & colors.keys())
        size = next((s for n in numbers if (s := size_of(colors[n]))), None)
        if size is None:
            message = "no frame has a pose and a picture that can be read"
            raise RawDataError(place, "no_usable_frames", message, "name them alike: color/0.jpg, pose/0.txt")
        lens = pinhole_of(numbers_of(place / "intrinsic" / "intrinsic_color.txt", 16).reshape(4, 4))
        return Capture(
            place=place,
            shots=[
                orthonormal(
                    CapturedFrame((n - numbers[0]) / FPS, numbers_of(poses[n], 16).reshape(4, 4), lens, colors[n])
                )
                for n in numbers
            ],
            size=size,
            depth_m=lambda i: depth_png(depths[numbers[i]], 1000.0) if numbers[i] in depths else None,
            remarks=("objects of ScanNet's own scans are read by reader scannet",),
        )


def _numbered(folder: Path) -> dict[int, Path]:
    return {int(p.stem): p for p in sorted(folder.iterdir()) if p.stem.isdecimal() and len(p.stem) < 10}


class Tum(Converter):
    """Sequences of TUM RGB-D."""

    name = "tum"
    needs = ("rgb.txt", "groundtruth.txt")
    about = "rgb.txt, depth.txt and groundtruth.txt with the pictures they list (TUM RGB-D, and tools that write it)"

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        clock, names = _listed(place / "rgb.txt")
        table = np.array([row.split()[:8] for row in _rows(place / "groundtruth.txt")], dtype=object)
        try:
            track = table.astype(float).reshape(-1, 8)
        except ValueError as error:
            message = "a line is no time, x y z, qx qy qz qw"
            raise RawDataError(place / "groundtruth.txt", "bad_trajectory_line", message, "fetch it again") from error
        poses = quaternion_poses(track[:, 1:4], track[:, 4:8], place / "groundtruth.txt")
        nearest = _nearest(track[:, 0], clock)
        depth_clock, depth_names = (
            _listed(place / "depth.txt") if (place / "depth.txt").is_file() else (np.empty(0), [])
        )
        own = _nearest(depth_clock, clock)
        shots = [
            CapturedFrame(
                float(t - clock[0]), None if nearest[i] < 0 else poses[nearest[i]], TUM_LENS, one_file(place, names[i])
            )
            for i, t in enumerate(clock)
        ]
        return Capture(
            place=place,
            shots=shots,
            size=TUM_SIZE,
            depth_m=lambda i: None if own[i] < 0 else depth_png(place / depth_names[own[i]], TUM_PER_M),
            remarks=("intrinsics are ROS' default of 525: give your camera's in scene.json where they are known",),
        )


def _rows(path: Path) -> list[str]:
    return [line for line in text_of(path).splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _listed(path: Path) -> tuple[FloatArray, list[str]]:
    """Times (N,) and names of a list of pictures, in order of time."""
    rows = [row.split(maxsplit=1) for row in _rows(path)]
    try:
        clock = np.array([float(row[0]) for row in rows])
        names = [row[1].strip() for row in rows]
    except (ValueError, IndexError) as error:
        raise RawDataError(path, "wrong_columns", "a line is no time and file name", "fetch it again") from error
    if not len(clock) or not np.isfinite(clock).all():
        raise RawDataError(path, "implausible_times", "it lists no picture with a time", "fetch it again")
    order = np.argsort(clock, kind="stable")
    return clock[order], [names[i] for i in order]


def _nearest(clock_s: FloatArray, asked_s: FloatArray) -> np.ndarray:
    """Index into ``clock_s`` (N,) of the time next to each asked for (M,); -1 where none is near."""
    if not len(clock_s):
        return np.full(len(asked_s), -1)
    order = np.argsort(clock_s, kind="stable")
    nearest = order[nearest_index(clock_s[order], asked_s)]
    return np.where(np.abs(clock_s[nearest] - asked_s) <= APART_MAX_S, nearest, -1)
