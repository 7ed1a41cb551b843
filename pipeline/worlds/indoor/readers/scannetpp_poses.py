"""Camera poses of ScanNet++: the phone's from ``pose_intrinsic_imu.json`` or COLMAP, the DSLR camera's from COLMAP."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import Findings, note
from pipeline.formats.colmap import ColmapError, Views, parse_views
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.readers.poses import OPENCV_FROM_OPENGL

POSES: Final = "iphone/pose_intrinsic_imu.json"
COLMAP: Final = "iphone/colmap"
DSLR_COLMAP: Final = "dslr/colmap"
DSLR_LENS: Final = "dslr/nerfstudio/transforms_undistorted.json"
OPENGL_UP: Final = 0.3  # mean upward part of the cameras' y axis beyond which it points up, not down
FRAME_NAME: Final = re.compile(r"frame_(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class PoseRows:
    """Poses in order of their frames.

    Attributes:
        path: the file they come from, for messages.
        number: (N,) of the frame, as pictures are named by it.
        pose: (N, 4, 4) world_T_camera, OpenCV axes; NaN where missing.
        intrinsics: (N, 4) fx, fy, cx, cy.
        usable: (N,) whether pose and intrinsics are there; rows that are not are counted in ``skipped``.
        clock_s: (N,) the camera's own times; NaN where the file has none.
        skipped: reason -> number of rows.
    """

    path: Path
    number: IntArray
    pose: FloatArray
    intrinsics: FloatArray
    usable: BoolArray
    clock_s: FloatArray
    skipped: dict[str, int]


def phone_poses(files: SceneFiles, findings: Findings) -> PoseRows | None:
    """The poses of the phone; None where there are none. Raises RawDataError."""
    path = files.folder / POSES
    if path.is_file():
        return _from_json(files, path, findings)
    path = files.folder / COLMAP / "images.txt"
    return _rows(files, path, _views(files, path)) if path.is_file() else None


def dslr_poses(files: SceneFiles) -> tuple[PoseRows, tuple[str, ...]] | None:
    """The poses of the undistorted pictures of the DSLR camera, and their names; None where there are none.

    Its lens is a fisheye: only pictures that the dataset's toolbox undistorted, with the lens that it then wrote to
    ``transforms_undistorted.json``, fit the pinhole camera that visibility is found with.
    """
    path, lens = files.folder / DSLR_COLMAP / "images.txt", files.folder / DSLR_LENS
    if not (path.is_file() and lens.is_file()):
        return None
    views = _views(files, path)
    facts = files.json(lens)
    try:
        pinhole = np.array([float(facts[key]) for key in ("fl_x", "fl_y", "cx", "cy")])
    except (KeyError, TypeError, ValueError) as error:
        remedy = "make the undistorted pictures again with the dataset's toolbox"
        raise files.fault(lens, "bad_intrinsics", f"fl_x, fl_y, cx, cy are needed: {error!r}", remedy) from error
    order = sorted(range(len(views.names)), key=lambda i: views.names[i])
    names = tuple(views.names[i] for i in order)
    return _built(path, np.arange(len(order)), views.world_T_camera[order], np.tile(pinhole, (len(order), 1))), names


def _from_json(files: SceneFiles, path: Path, findings: Findings) -> PoseRows:
    entries = files.json(path)
    numbered = sorted((int(m[1]), v) for k, v in entries.items() if (m := FRAME_NAME.fullmatch(k)))
    if not numbered:
        message = f"none of the {len(entries)} entries is named frame_<number>"
        raise files.fault(path, "no_usable_frames", message, "fetch the file again")
    rows = [v for _, v in numbered]
    pose = _opencv(path, _matrices(rows, "aligned_pose", 4), findings)
    matrix = _matrices(rows, "intrinsic", 3)
    pinhole = np.stack([matrix[:, 0, 0], matrix[:, 1, 1], matrix[:, 0, 2], matrix[:, 1, 2]], axis=1)
    posed = np.array([_is_matrix(v, "aligned_pose", 4) for v in rows])
    return _built(path, np.array([n for n, _ in numbered], dtype=np.intp), pose, pinhole, posed, _clock(rows))


def _views(files: SceneFiles, path: Path) -> Views:
    cameras = path.with_name("cameras.txt")
    try:
        return parse_views(files.text(cameras), files.text(path))
    except ColmapError as error:
        raise files.fault(path, "bad_colmap", str(error), "fetch the folder colmap/ again") from error


def _rows(files: SceneFiles, path: Path, views: Views) -> PoseRows:
    """The views whose names are ``…/frame_<number>.jpg``, by that number."""
    found = ((FRAME_NAME.fullmatch(Path(name).stem), i) for i, name in enumerate(views.names))
    numbered = dict(sorted((int(m[1]), i) for m, i in found if m))
    if not numbered:
        message = f"none of the {len(views.names)} images is named frame_<number>"
        raise files.fault(path, "no_usable_frames", message, "fetch the file again")
    if views.is_fisheye:
        message = "the phone's camera is a fisheye here; pinhole cameras are read"
        raise files.fault(path, "bad_colmap", message, "undistort the pictures, or take the poses away")
    order = list(numbered.values())
    return _built(path, np.array(list(numbered)), views.world_T_camera[order], views.intrinsics[order])


def _built(
    path: Path,
    number: IntArray,
    pose: FloatArray,
    pinhole: FloatArray,
    posed: BoolArray | None = None,
    clock_s: FloatArray | None = None,
) -> PoseRows:
    there = np.ones(len(number), dtype=bool) if posed is None else posed
    with np.errstate(invalid="ignore"):
        good = np.isfinite(pinhole).all(axis=1) & (pinhole > 0).all(axis=1)
    skipped = {"no_pose": int((~there).sum()), "no_intrinsics": int((there & ~good).sum())}
    clock = np.full(len(number), np.nan) if clock_s is None else clock_s
    return PoseRows(path, number, pose, pinhole, there & good, clock, skipped)


def _is_matrix(entry: Any, key: str, side: int) -> bool:
    try:
        return np.array(entry[key], dtype=np.float64).size == side * side
    except (KeyError, TypeError, ValueError, OverflowError):
        return False


def _matrices(entries: list[Any], key: str, side: int) -> FloatArray:
    """The square matrices (N, side, side) under a key; NaN where missing or no such matrix."""
    result = np.full((len(entries), side, side), np.nan)
    for place, entry in enumerate(entries):
        if _is_matrix(entry, key, side):
            result[place] = np.array(entry[key], dtype=np.float64).reshape(side, side)
    return result


def _clock(entries: list[Any]) -> FloatArray:
    values = [entry.get("timestamp") if isinstance(entry, dict) else None for entry in entries]
    return np.array([float(v) if isinstance(v, float) or type(v) is int else np.nan for v in values])


def _opencv(path: Path, pose: FloatArray, findings: Findings) -> FloatArray:
    """The poses with OpenCV's camera axes."""
    upward = pose[np.isfinite(pose).all(axis=(1, 2)), 2, 1]
    mean = float(upward.mean()) if len(upward) else 0.0
    if mean <= OPENGL_UP:
        return pose
    message = f"the cameras' y axes point up ({mean:.2f} on the mean): taken as axes with y up and z backward"
    findings.add(note("camera_axes_opengl", path.name, message, "none if the video is upright", mean, OPENGL_UP))
    return np.einsum("nij,jk->nik", pose, OPENCV_FROM_OPENGL)
