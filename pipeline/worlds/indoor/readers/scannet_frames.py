"""Frames of a ScanNet scan: from its .sens file, or from the folders that ScanNet's SensReader exports.

Also ScanNet's ``<scene>.txt``: entries ``key = value``, among them the transform that aligns the scan.
"""

import re
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import faults_of
from pipeline.core.findings import Findings, note
from pipeline.core.schema import Video
from pipeline.formats.images import color_file, depth_file, size_of
from pipeline.formats.ply import PlyMesh
from pipeline.formats.sens import open_sens
from pipeline.formats.zips import bytes_of
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.readers.frames import (
    POSITION_MAX_M,
    RIGID_TOLERANCE,
    RawFrameTable,
    Recording,
    camera_size,
    check_clock,
    check_pinhole,
    frame_rate,
)
from pipeline.worlds.indoor.readers.meshes import tilt_deg

FPS: Final = 30.0  # of ScanNet's tablets
COLOR_SUFFIXES: Final = (".jpg", ".jpeg", ".png")


def sens_film(files: SceneFiles, path: Path, findings: Findings) -> Recording:
    """The film of a .sens file, in the scan's frame; of one cut in mid-frame what is before. Raises RawDataError."""
    try:
        with faults_of(path, "fetch the file again", files.scene):
            sens = open_sens(path)
    except OSError as error:
        raise files.fault(path, "unreadable_file", str(error.strerror), "make the file readable") from error
    where = files.relative(path)
    if len(sens) < sens.declared:
        message = f"{where}: the file breaks off after {len(sens)} of {sens.declared} frames"
        remedy = "fetch the file again; the frames before the break are used"
        findings.add(note("truncated_sens", "video", message, remedy, len(sens), sens.declared, "frames"))
    # What was read of it goes into the digest of the sources; the pictures are too many.
    files.add(where, sens.world_T_camera.tobytes() + sens.time_us.tobytes() + sens.table.tobytes())
    has_color = (sens.table[:, 1] > 0) & (sens.color_size[0] * sens.color_size[1] > 0)
    colored = bool(has_color.any())
    size, pinhole = (sens.color_size, sens.color_intrinsics) if colored else (sens.depth_size, sens.depth_intrinsics)
    pictures = (sens.picture_size() if colored else None) or size
    size = camera_size(files, path, pinhole, pictures, (size,), findings)
    check_pinhole(files, path, pinhole, size)
    micros = sens.time_us[:, 0] if (sens.time_us[:, 0] > 0).any() else sens.time_us[:, 1]
    clock_s = (micros - micros[:1]).astype(np.int64) / 1e6  # unsigned first: the clock counts from the device's start
    rate, number = frame_rate(clock_s), np.arange(len(sens))
    if rate is None:
        message = f"{where}: the times of the frames are missing or run backwards; {FPS:g} frames per second are taken"
        findings.add(note("no_frame_times", "video", message, "none: ScanNet was filmed at this rate"))
    else:
        check_clock(where, clock_s, number, rate, findings)
    fps = rate or FPS
    table = RawFrameTable(
        time_s=number / fps,
        number=number,
        world_T_camera=sens.world_T_camera,
        intrinsics=np.tile(pinhole, (len(sens), 1)),
        size=size,
        usable=np.ones(len(sens), dtype=bool),
        has_color=has_color,
        has_depth=sens.table[:, 2] > 0,
        load_color=sens.color,
        load_depth=sens.depth_m,
    )
    video = Video(path=where, fps=fps, frames=len(number), width=pictures[0], height=pictures[1])
    return Recording(table, video, path, path)


def exported_film(files: SceneFiles, folder: Path, info: dict[str, str], findings: Findings) -> Recording:
    """The film of exported folders, in the scan's frame: ``pose/<n>.txt`` with ``color/<n>.jpg`` and ``depth/<n>.png``.

    ``info`` has the entries of the scan's .txt.
    """
    colors, depths = _numbered(folder / "color", COLOR_SUFFIXES), _numbered(folder / "depth", (".png",))
    poses = _numbered(folder / "pose", (".txt",))
    numbers = sorted({*colors, *depths, *poses})
    if not numbers:
        raise files.fault(folder / "pose", "no_usable_frames", "the folders are empty", "export the .sens again")
    matrices, missing, unreadable = _read_poses(files, numbers, poses)
    kind, images = ("color", colors) if colors else ("depth", depths)
    pictures = next((found for p in images.values() if (found := size_of(p)) is not None), None)
    pinhole, size = _intrinsics(files, folder, info, kind, pictures, findings)
    clock_s, number = (np.array(numbers) - numbers[0]) / FPS, np.arange(len(numbers))
    fps = frame_rate(clock_s) or FPS  # the video is what was exported, and that may be every tenth frame
    where = files.relative(folder / kind)
    check_clock(where, clock_s, number, fps, findings)
    table = RawFrameTable(
        time_s=number / fps,
        number=number,
        world_T_camera=matrices,
        intrinsics=np.tile(pinhole, (len(numbers), 1)),
        size=size,
        usable=~(missing | unreadable),
        has_color=np.array([n in colors for n in numbers]),
        has_depth=np.array([n in depths for n in numbers]),
        load_color=lambda i: color_file(colors[numbers[i]]),
        load_depth=lambda i: depth_file(depths[numbers[i]]),
        skipped={"no_pose": int(missing.sum()), "pose_unreadable": int(unreadable.sum())},
    )
    width, height = pictures or size
    video = Video(path=where, fps=fps, frames=len(number), width=width, height=height)
    return Recording(table, video, folder / kind, folder / "pose")


def _numbered(folder: Path, suffixes: tuple[str, ...]) -> dict[int, Path]:
    """Files named by a frame number, by that number."""
    if not folder.is_dir():
        return {}
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in suffixes and p.stem.isdecimal())
    return {int(p.stem): p for p in paths if len(p.stem) < 10}


def _read_poses(
    files: SceneFiles, numbers: list[int], poses: dict[int, Path]
) -> tuple[FloatArray, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """scan_T_camera (N, 4, 4), and which frames (N,) have no pose file, or one that is not 16 numbers."""
    matrices = np.full((len(numbers), 16), np.nan)
    missing, unreadable = np.zeros(len(numbers), dtype=bool), np.zeros(len(numbers), dtype=bool)
    everything = []
    for place, number in enumerate(numbers):
        if number not in poses:
            missing[place] = True
            continue
        try:
            raw = bytes_of(poses[number])
            matrices[place] = np.array(raw.split(), dtype=np.float64).reshape(16)
        except (OSError, ValueError):
            unreadable[place] = True
        else:
            everything.append(b"%d " % number + raw)
    if poses:
        files.add(files.relative(next(iter(poses.values())).parent), b"\n".join(everything))
    return matrices.reshape(-1, 4, 4), missing, unreadable


def _intrinsics(
    files: SceneFiles,
    folder: Path,
    info: dict[str, str],
    kind: str,
    pictures: tuple[int, int] | None,
    findings: Findings,
) -> tuple[FloatArray, tuple[int, int]]:
    """fx, fy, cx, cy and the size of the image they belong to, from ``intrinsic/`` or else the scan's .txt."""
    path = folder / "intrinsic" / f"intrinsic_{kind}.txt"
    if not path.is_file():
        path = files.path / INFO.format(files.name)
        try:
            pinhole = np.array([float(info[f"{key}_{kind}"]) for key in ("fx", "fy", "mx", "my")])
        except KeyError as error:
            message = f"there is no {kind} intrinsics file, nor {error} in the scan's .txt"
            raise files.fault(path, "missing_file", message, "export the .sens again, or fetch the .txt") from error
        except ValueError as error:
            raise files.fault(path, "bad_intrinsics", str(error), "fetch the file again") from error
    else:
        try:
            matrix = np.array(files.text(path).split(), dtype=np.float64).reshape(4, 4)
        except ValueError as error:
            message = f"16 numbers are needed: {error}"
            raise files.fault(path, "bad_intrinsics", message, "export the .sens again") from error
        pinhole = np.array([matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]])
    try:
        stated: tuple[tuple[int, int], ...] = ((int(info[f"{kind}Width"]), int(info[f"{kind}Height"])),)
    except (KeyError, ValueError):
        stated = ()
    own = pictures or next(iter(stated), None)
    if own is None or min(min(size) for size in (own, *stated)) < 1:
        raise files.fault(folder / kind, "no_image_size", "no picture can be read", "export the .sens again")
    size = camera_size(files, path, pinhole, own, stated, findings)
    check_pinhole(files, path, pinhole, size)
    return pinhole, size


INFO: Final = "{}.txt"
TILT_MAX_DEG: Final = 1.0  # of floors and table tops in a scan without alignment; a box leans by as much
_LINE: Final = re.compile(r"^\s*(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


def scan_info(files: SceneFiles) -> dict[str, str]:
    """The entries of the scan's .txt; none where there is no such file."""
    path = files.path / INFO.format(files.name)
    if not path.exists():
        return {}
    return dict(_LINE.findall(files.text(path, "fetch the scan's .txt, which holds its alignment")))


def alignment(files: SceneFiles, info: dict[str, str], mesh: PlyMesh, findings: Findings) -> FloatArray:
    """world_T_scan (4, 4); raises RawDataError where it is no rigid transform.

    Without the line the scan's own frame is the world, if its floors are level: turning about the vertical and
    shifting change no answer.
    """
    path = files.path / INFO.format(files.name)
    if "axisAlignment" not in info:
        tilt = tilt_deg(mesh)
        found = "nothing in the scan is level" if tilt is None else f"the scan leans by {tilt:.2f} degrees"
        remedy = f"fetch {path.name} of a train or validation scan; test scans have no alignment"
        if tilt is None or tilt > TILT_MAX_DEG:
            raise files.fault(
                path, "missing_alignment", f"there is no axisAlignment, and {found} (limit {TILT_MAX_DEG:g})", remedy
            )
        message = f"there is no axisAlignment in {path.name}; the scan's own frame is used ({found})"
        findings.add(note("missing_alignment", "axisAlignment", message, remedy, tilt, TILT_MAX_DEG, "deg"))
        return np.eye(4)
    words = info["axisAlignment"].split()
    try:
        matrix = np.array(words, dtype=np.float64)
    except ValueError as error:
        raise files.fault(path, "bad_alignment", f"axisAlignment: {error}", "fetch the file again") from error
    problem = None
    if matrix.shape != (16,):
        problem = f"it has {len(words)} numbers, not 16"
    elif not np.isfinite(matrix).all():
        problem = "it is not finite"
    elif np.abs(matrix).max() > POSITION_MAX_M:
        problem = f"it moves the scan by {np.abs(matrix).max():.3g} m"
    else:
        matrix = matrix.reshape(4, 4)
        off = float(np.abs(matrix[:3, :3] @ matrix[:3, :3].T - np.eye(3)).max())
        if np.abs(matrix[3] - [0, 0, 0, 1]).max() > RIGID_TOLERANCE:
            problem = f"its last row is {matrix[3].tolist()}, not 0 0 0 1: is it transposed?"
        elif off > RIGID_TOLERANCE:
            problem = f"it is no rigid transform (off orthonormal by {off:.3g}, limit {RIGID_TOLERANCE:g})"
        elif np.linalg.det(matrix[:3, :3]) < 0:
            problem = "it mirrors the scan"
    if problem:
        raise files.fault(path, "bad_alignment", f"axisAlignment cannot be used: {problem}", "fetch the file again")
    return matrix
