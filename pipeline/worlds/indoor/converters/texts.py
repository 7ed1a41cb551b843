"""Small files of captures: numbers, tables, JSON; what is wrong with them is named."""

import csv
import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file

MOST_BYTES: Final = 256 * 2**20
SIDE_MAX: Final = 20_000  # pixels
LENGTH_OFF_MAX: Final = 0.01  # of a quaternion from 1
T = TypeVar("T")


def folders_of(source: Path) -> list[Path]:
    """A folder and those in it, in order; none where it is no folder."""
    return [source, *sorted(path for path in source.iterdir() if path.is_dir())] if source.is_dir() else []


def first_file(place: Path, names: Iterable[str]) -> Path | None:
    """The first of some files of a folder that is there; None where none is."""
    return next((path for name in names if (path := place / name).is_file()), None)


def places_in(path: Path, names: Callable[[Path], Iterable[str]]) -> list[Path]:
    """The scenes of a file that holds several: its path with the name of each below it.

    The file alone where it holds none or cannot be read: converting it says what is wrong with it.
    """
    try:
        return [path / name for name in names(path)] or [path]
    except RawDataError:
        return [path]


def kept_until_changed(read: Callable[[Path], T]) -> Callable[[Path], T]:
    """What ``read`` makes of a file, kept for the next scene of that file as long as it does not change."""
    kept = lru_cache(maxsize=1)(lambda path, changed_ns: read(path))
    return lambda path: kept(path, path.stat().st_mtime_ns)


def bytes_of(path: Path, most: int = MOST_BYTES, again: str = "export the capture again") -> bytes:
    """A whole file. Raises RawDataError."""
    try:
        return read_file(path, most)
    except FileNotFoundError as error:
        raise RawDataError(path, "missing_file", "there is no such file", again) from error
    except OSError as error:
        raise RawDataError(path, "unreadable_file", str(error)[:200], "make the file readable") from error


def text_of(path: Path) -> str:
    """A whole file as UTF-8 text. Raises RawDataError."""
    try:
        return bytes_of(path).decode("utf-8-sig")
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


def rotations(quat_xyzw: FloatArray, off_max: float = LENGTH_OFF_MAX) -> FloatArray:
    """Matrices (N, 3, 3) of quaternions (N, 4), scalar last; NaN where one has not length 1."""
    from scipy.spatial.transform import Rotation  # takes half a second

    with np.errstate(over="ignore", invalid="ignore"):
        sound: BoolArray = np.asarray(np.abs(np.linalg.norm(quat_xyzw, axis=1) - 1) < off_max)
    return _where_sound(sound, lambda: Rotation.from_quat(quat_xyzw[sound]))


def euler_rotations(order: str, angles: FloatArray) -> FloatArray:
    """Matrices (N, 3, 3) of angles (N, 3) in radians, in SciPy's order of axes; NaN where one is not finite."""
    from scipy.spatial.transform import Rotation  # takes half a second

    sound: BoolArray = np.asarray(np.isfinite(angles).all(axis=1))
    return _where_sound(sound, lambda: Rotation.from_euler(order, angles[sound]))


def _where_sound(sound: BoolArray, turns: Callable[[], Any]) -> FloatArray:
    result = np.full((len(sound), 3, 3), np.nan)
    if sound.any():
        result[sound] = turns().as_matrix()
    return result


def quaternion_poses(position: FloatArray, quat_xyzw: FloatArray, path: Path) -> FloatArray:
    """Poses (N, 4, 4) of places (N, 3) and quaternions (N, 4), scalar last; NaN where one is none."""
    turn = rotations(quat_xyzw, 0.05)
    sound: BoolArray = np.asarray(np.isfinite(turn).all(axis=(1, 2)))
    if len(sound) and not sound.any():
        message = "no quaternion has length 1"
        raise RawDataError(path, "unusable_pose", message, "are the columns in the order of the format?")
    result = np.full((len(position), 4, 4), np.nan)
    result[sound, :3, :3], result[sound, :3, 3] = turn[sound], position[sound]
    result[sound, 3] = (0.0, 0.0, 0.0, 1.0)
    return result


def opencv_camera(pose: FloatArray) -> FloatArray:
    """Poses (..., 4, 4) of OpenGL's camera (y up, z backward) as those of OpenCV's; what is not finite stays so."""
    return pose * np.array([1.0, -1.0, -1.0, 1.0])


def pinhole_of(matrix: FloatArray) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy of a matrix (3, 3) or (4, 4)."""
    return float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2])


def lens_of(path: Path, data: dict[str, Any], keys: tuple[str, str, str, str]) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy by their keys. Raises RawDataError where they are no lens."""
    fx, fy, cx, cy = numbers_from(path, [data.get(key) for key in keys], 4, f"the lens ({', '.join(keys)})").tolist()
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


def entries_of(path: Path, value: Any, key: str) -> list[dict[str, Any]]:
    """A list of objects under a key. Raises RawDataError."""
    entries = value.get(key) if isinstance(value, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RawDataError(path, "missing_key", f"there is no list {key!r} of objects", "is this the right file?")
    return entries
