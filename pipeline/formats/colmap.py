"""COLMAP's text files of a reconstruction: cameras and the poses of images."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import FormatError

BAD: Final = "bad_colmap"
FISHEYE: Final = "OPENCV_FISHEYE"
# How many parameters stand before cx and cy: one focal length, or fx and fy.
_FOCAL_LENGTHS: Final = {"SIMPLE_PINHOLE": 1, "PINHOLE": 2, "SIMPLE_RADIAL": 1, "RADIAL": 1, "OPENCV": 2, FISHEYE: 2}


@dataclass(frozen=True)
class ColmapViews:
    """Images with poses: ``names``, world_T_camera (N, 4, 4) in OpenCV axes, fx fy cx cy (N, 4), and sizes (N, 2).

    ``distortion`` (N, 4) is k1 k2 p1 p2 of OpenCV's model; of a fisheye it means nothing.
    ``is_fisheye`` tells whether any camera is one: its pictures are no pinhole's before they are undistorted.
    """

    names: tuple[str, ...]
    world_T_camera: FloatArray
    intrinsics: FloatArray
    sizes: FloatArray
    distortion: FloatArray
    is_fisheye: bool


def parse_views(cameras: str, images: str) -> ColmapViews:
    """Reads the texts of ``cameras.txt`` and ``images.txt``. Raises FormatError.

    A line of an image is ``id qw qx qy qz tx ty tz camera name``, world-to-camera; the line after it holds its points.
    """
    from scipy.spatial.transform import Rotation  # takes half a second

    known = dict(_camera(line.split()) for line in cameras.splitlines() if line.strip() and not line.startswith("#"))
    lines = [line for line in images.splitlines() if not line.startswith("#")]
    rows = lines[::2]
    if any(len(points.split()) % 3 for points in lines[1::2]):
        raise FormatError(BAD, "the line after an image's is not of points, three numbers each: an empty one is needed")
    names, numbers, lenses = [], [], []
    for row in rows:
        words = row.split(maxsplit=9)
        if not words:
            continue
        try:
            numbers.append([float(word) for word in words[1:8]])
            lenses.append(known[int(words[8])])
            names.append(words[9].strip())
        except (ValueError, IndexError, KeyError) as error:
            raise FormatError(BAD, f"the image line {row[:60]!r} cannot be read: {error!r}") from error
    table = np.array(numbers, dtype=np.float64).reshape(-1, 7)
    length = np.sqrt((table[:, :4] ** 2).sum(axis=1))
    if not np.isfinite(table).all() or (length < 0.5).any():
        raise FormatError(BAD, "an image's pose is no rotation and shift")
    pose = np.tile(np.eye(4), (len(table), 1, 1))
    if len(table):
        camera_R_world = Rotation.from_quat(table[:, [1, 2, 3, 0]]).as_matrix()
        pose[:, :3, :3] = camera_R_world.transpose(0, 2, 1)
        pose[:, :3, 3] = -np.einsum("nji,nj->ni", camera_R_world, table[:, 4:7])
    lens = np.array(lenses, dtype=np.float64).reshape(-1, 10)
    is_fisheye = f" {FISHEYE} " in cameras
    return ColmapViews(tuple(names), pose, lens[:, 2:6], lens[:, :2], lens[:, 6:], is_fisheye)


# Of cameras.bin, in the order of their numbers: COLMAP's src/colmap/sensor/models.h.
_MODELS: Final = (
    ("SIMPLE_PINHOLE", 3),
    ("PINHOLE", 4),
    ("SIMPLE_RADIAL", 4),
    ("RADIAL", 5),
    ("OPENCV", 8),
    (FISHEYE, 8),
    ("FULL_OPENCV", 12),
    ("FOV", 5),
    ("SIMPLE_RADIAL_FISHEYE", 4),
    ("RADIAL_FISHEYE", 5),
    ("THIN_PRISM_FISHEYE", 12),
)


def parse_binary_views(cameras: bytes, images: bytes) -> ColmapViews:
    """Reads ``cameras.bin`` and ``images.bin``, as `parse_views` reads the texts. Raises FormatError."""
    try:
        return parse_views("\n".join(_camera_lines(cameras)), "\n".join(_image_lines(images)))
    except struct.error as error:
        raise FormatError(BAD, "the binary model breaks off") from error


def _camera_lines(raw: bytes) -> Iterator[str]:
    (count,), at = struct.unpack_from("<Q", raw), 8
    for _ in range(min(count, len(raw))):
        number, model, width, height = struct.unpack_from("<IiQQ", raw, at)
        if not 0 <= model < len(_MODELS):
            raise FormatError(BAD, f"camera {number} has the unknown model {model}")
        name, parameters = _MODELS[model]
        lens = struct.unpack_from(f"<{parameters}d", raw, at + 24)
        at += 24 + 8 * parameters
        yield " ".join(map(str, (number, name, width, height, *lens)))


def _image_lines(raw: bytes) -> Iterator[str]:
    (count,), at = struct.unpack_from("<Q", raw), 8
    for _ in range(min(count, len(raw))):
        number, *pose, camera = struct.unpack_from("<I7dI", raw, at)
        end = raw.find(b"\0", at + 64)
        if end < 0:
            raise FormatError(BAD, f"the name of image {number} breaks off")
        name = raw[at + 64 : end].decode("utf-8", "replace").replace("\n", " ")
        (points,) = struct.unpack_from("<Q", raw, end + 1)
        at = end + 9 + 24 * points
        yield " ".join(map(str, (number, *pose, camera, name)))
        yield ""


def _camera(words: list[str]) -> tuple[int, tuple[float, ...]]:
    """Number of a camera, and its width, height, fx, fy, cx, cy, k1, k2, p1, p2."""
    try:
        number, model = int(words[0]), words[1]
        width, height, *lens = (float(word) for word in words[2:])
    except (ValueError, IndexError) as error:
        raise FormatError(BAD, f"the camera line {' '.join(words)[:60]!r} cannot be read") from error
    focal = _FOCAL_LENGTHS.get(model)
    if focal is None or len(lens) < focal + 2:
        raise FormatError(
            BAD, f"camera {number} is {model} with {len(lens)} parameters; read are {', '.join(_FOCAL_LENGTHS)}"
        )
    k1, k2, p1, p2 = (*lens[focal + 2 :], 0.0, 0.0, 0.0, 0.0)[:4]
    return number, (width, height, lens[0], lens[focal - 1], lens[focal], lens[focal + 1], k1, k2, p1, p2)
