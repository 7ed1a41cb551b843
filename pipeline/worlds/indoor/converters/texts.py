"""Small files of captures: numbers, tables, JSON; what is wrong with them is named."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file

MOST_BYTES: Final = 256 * 2**20
SIDE_MAX: Final = 20_000  # pixels


def folders_of(source: Path) -> list[Path]:
    """A folder and those in it, in order; none where it is no folder."""
    return [source, *sorted(path for path in source.iterdir() if path.is_dir())] if source.is_dir() else []


def text_of(path: Path) -> str:
    """A whole file as UTF-8 text. Raises RawDataError."""
    try:
        return read_file(path, MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise RawDataError(path, "missing_file", "there is no such file", "export the capture again") from error
    except OSError as error:
        raise RawDataError(path, "unreadable_file", str(error.strerror), "make the file readable") from error
    except UnicodeDecodeError as error:
        raise RawDataError(path, "not_utf8", f"byte {error.start} is not UTF-8", "export the capture again") from error


def numbers_of(path: Path, count: int) -> FloatArray:
    """The numbers (count,) of a small text file. Raises RawDataError."""
    return numbers_from(path, text_of(path).replace(",", " ").split(), count)


def numbers_from(path: Path, words: Any, count: int, what: str = "the file") -> FloatArray:
    """So many numbers of a list; NaN and infinite ones stay. Raises RawDataError."""
    try:
        numbers = np.array(words, dtype=np.float64).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise RawDataError(path, "wrong_type", f"{what}: {error}"[:200], "export the capture again") from error
    if numbers.shape != (count,):
        message = f"{what} needs {count} numbers, found {numbers.size}"
        raise RawDataError(path, "wrong_shape", message, "export the capture again")
    return numbers


def json_of(path: Path) -> Any:
    """A whole file as JSON. Raises RawDataError."""
    try:
        return json.loads(text_of(path))
    except json.JSONDecodeError as error:
        message = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise RawDataError(path, "bad_json", message, "export the capture again") from error
    except (RecursionError, ValueError) as error:
        raise RawDataError(path, "bad_json", "the JSON is no data", "export the capture again") from error


def object_of(path: Path) -> dict[str, Any]:
    """A whole file as a JSON object. Raises RawDataError."""
    value = json_of(path)
    if not isinstance(value, dict):
        raise RawDataError(path, "not_an_object", f"the JSON is {type(value).__name__}", "export the capture again")
    return value


def table_of(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV, blanks around entries taken off. Raises RawDataError."""
    try:
        rows = [[entry.strip() for entry in row] for row in csv.reader(text_of(path).splitlines()) if row]
    except csv.Error as error:
        raise RawDataError(path, "wrong_columns", str(error), "export the capture again") from error
    if not rows:
        raise RawDataError(path, "empty_file", "the table has no rows", "export the capture again")
    return rows[0], rows[1:]


def one_file(place: Path, name: str) -> Path | None:
    """The file that a capture names below its folder; None where it is not there. Raises RawDataError outside of it."""
    path = place / name
    try:
        if not path.resolve().is_relative_to(place.resolve()):
            message = f"{name[:100]!r} is not below the capture's folder"
            raise RawDataError(place, "path_outside", message, "put the file into the folder of the capture")
        return path if path.is_file() else None
    except (OSError, ValueError, RuntimeError) as error:
        raise RawDataError(place, "path_outside", f"{name[:100]!r} is no path", "export the capture again") from error


def quaternion_poses(position: FloatArray, quat_xyzw: FloatArray, path: Path) -> FloatArray:
    """Poses (N, 4, 4) of places (N, 3) and quaternions (N, 4), scalar last; NaN where one is none."""
    from scipy.spatial.transform import Rotation  # takes half a second

    length = np.linalg.norm(quat_xyzw, axis=1)
    with np.errstate(invalid="ignore"):
        sound = np.isfinite(length) & (np.abs(length - 1) < 0.05)
    if len(sound) and not sound.any():
        message = "no quaternion has length 1"
        raise RawDataError(path, "unusable_pose", message, "are the columns in the order of the format?")
    result = np.full((len(position), 4, 4), np.nan)
    if sound.any():
        result[sound, :3, :3] = Rotation.from_quat(quat_xyzw[sound]).as_matrix()
        result[sound, :3, 3], result[sound, 3] = position[sound], (0.0, 0.0, 0.0, 1.0)
    return result


def opencv_camera(pose: FloatArray) -> FloatArray:
    """Poses (..., 4, 4) of OpenGL's camera (y up, z backward) as those of OpenCV's; what is not finite stays so."""
    return pose * np.array([1.0, -1.0, -1.0, 1.0])


def lens_of(path: Path, told: dict[str, Any], keys: tuple[str, str, str, str]) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy by their keys. Raises RawDataError where they are no lens."""
    fx, fy, cx, cy = numbers_from(path, [told.get(key) for key in keys], 4, f"the lens ({', '.join(keys)})").tolist()
    if not (np.isfinite([fx, fy, cx, cy]).all() and min(fx, fy, cx, cy) > 0):
        raise RawDataError(path, "bad_intrinsics", f"the lens is {fx:g}, {fy:g}, {cx:g}, {cy:g}", "export it again")
    return fx, fy, cx, cy


def size_from(path: Path, width: Any, height: Any) -> tuple[int, int]:
    """Width and height of pictures. Raises RawDataError."""
    size = numbers_from(path, [width, height], 2, "the size of the pictures")
    if not (np.isfinite(size).all() and (size >= 1).all() and (size <= SIDE_MAX).all()):
        message = f"the pictures have {width!r} x {height!r} pixels"[:200]
        raise RawDataError(path, "no_image_size", message, "export the capture again")
    return int(size[0]), int(size[1])


def entries_of(path: Path, told: Any, key: str) -> list[dict[str, Any]]:
    """A list of objects under a key. Raises RawDataError."""
    entries = told.get(key) if isinstance(told, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RawDataError(path, "missing_key", f"there is no list {key!r} of objects", "is this the right file?")
    return entries
