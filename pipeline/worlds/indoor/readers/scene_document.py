"""A neutral scene folder: its ``scene.json``, checked, and the film that it names, in the world's frame.

Of the files that it names none may lie outside the folder. A film is a video or pictures, with poses, intrinsics and
depth.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import ValidationError

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.files import read_file
from pipeline.core.findings import Findings, fault, note
from pipeline.core.schema import Video
from pipeline.formats.images import color_file, decode_numbers, size_of
from pipeline.formats.scene_folder import FILE, MAX_BYTES, CaptureCamera, DocumentAxes, SceneDocument
from pipeline.formats.videos import VideoPictures
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import movie_facts
from pipeline.worlds.indoor.readers.frames import (
    SHAPE_TOLERANCE,
    Load,
    RawFrameTable,
    Recording,
    Size,
    check_clock,
    check_pinhole,
    frame_rate,
)

# What pydantic calls a fault of a document -> what it is called here.
FAULTS: Final = {"extra_forbidden": "unknown_key", "missing": "missing_key", "finite_number": "not_finite"}
FAULTS_NAMED: Final = 5
REMEDY: Final = "follow meta_schemas/scene-folder.schema.json"


def document_of(files: SceneFiles) -> SceneDocument:
    """The document of a scene. Raises RawDataError, which names what is wrong with it and where."""
    return files.once("document", lambda found: _document(files), Findings())


def _document(files: SceneFiles) -> SceneDocument:
    path = files.path / FILE
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        message = f"{path.stat().st_size} bytes, over {MAX_BYTES}"
        raise files.fault(path, "file_too_large", message, "is this the right file?")
    raw = files.json(path)
    if raw.get("format") != "scan2qa-scene" or raw.get("version") != 1:
        message = f"format is {raw.get('format')!r}, version {raw.get('version')!r}; read are scan2qa-scene, version 1"
        raise files.fault(path, "unknown_version", message, REMEDY)
    try:
        return SceneDocument.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        found = Findings()
        problems = error.errors(include_url=False)
        for one in problems[:FAULTS_NAMED]:
            where = ".".join(map(str, one["loc"])) or "scene.json"
            name = FAULTS.get(one["type"], "wrong_value")
            found.add(fault(name, where, f"{where}: {one['msg'].removeprefix('Value error, ')}", REMEDY))
        if len(problems) > FAULTS_NAMED:
            found.add(fault("wrong_value", FILE, f"and {len(problems) - FAULTS_NAMED} more", REMEDY))
        files.raise_faults(path, found)
        raise AssertionError("an invalid document has faults") from error


def file_within(files: SceneFiles, path: str) -> Path:
    """A file that the document names. Raises RawDataError where it is not in the scene's folder."""
    named = files.path / path
    if not _is_inside(files, named):
        message = f"{path} is a link to a file elsewhere"
        raise files.fault(files.path / FILE, "path_outside", message, "copy the file into the scene's folder")
    if not named.is_file():
        raise files.fault(named, "missing_file", f"{FILE} names it", f"fetch it, or take it out of {FILE}")
    return named


def paths_within(files: SceneFiles, names: list[str | None]) -> list[Path | None]:
    """The files that frames name; None where there is none. Raises RawDataError for one outside the folder."""
    paths = [None if name is None else files.path / name for name in names]
    folders = {path.parent for path in paths if path is not None}
    outside = {folder for folder in folders if not _is_inside(files, folder)}
    for path in paths:
        if path is not None and (path.parent in outside or (path.is_symlink() and not _is_inside(files, path))):
            message = f"{files.relative(path)} is a link to a file elsewhere"
            raise files.fault(files.path / FILE, "path_outside", message, "copy the file into the scene's folder")
    return [path if path is not None and path.is_file() else None for path in paths]


def _is_inside(files: SceneFiles, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(files.path.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


FPS: Final = 10.0  # of pictures whose times tell no rate


def film_of(files: SceneFiles, findings: Findings) -> Recording | None:
    """The film of a scene in its world; None, with a note, where there is none. Raises RawDataError."""
    return files.once("film", lambda found: _film(files, found), findings)


def _film(files: SceneFiles, findings: Findings) -> Recording | None:
    """The frames. Raises RawDataError where film, pictures and camera do not fit one another."""
    document = document_of(files)
    camera = document.camera
    if camera is None or (not camera.frames and camera.film is None):
        message = f"{FILE} has no camera with frames: nothing is known to be seen"
        findings.add(note("no_frames", "video", message, "none where the scene was not filmed", 0, 1, "frames"))
        return None
    where, n = files.path / FILE, len(camera.frames)
    clock_s = np.array([frame.time_s for frame in camera.frames])
    if (np.diff(clock_s) < 0).any():
        message = f"frame {int((np.diff(clock_s) < 0).argmax()) + 1} comes before the one in front of it"
        raise files.fault(where, "times_not_in_order", message, "give the frames in order of time")
    pose, posed = _poses(files, camera, document.axes)
    lens = np.array([frame.intrinsics or camera.intrinsics for frame in camera.frames], dtype=float).reshape(-1, 4)
    size = (camera.width, camera.height)
    check_pinhole(files, where, np.array(camera.intrinsics), size)
    fits = (lens[:, 2] > 0) & (lens[:, 2] < size[0]) & (lens[:, 3] > 0) & (lens[:, 3] < size[1])
    if camera.film is not None:
        path = file_within(files, camera.film)
        facts = movie_facts(files, path)
        shown, fps, frames = (facts.width, facts.height), facts.fps or frame_rate(clock_s) or FPS, facts.frames
        at = np.round((clock_s - clock_s[:1]) * fps).astype(np.intp) if n else np.empty(0, dtype=np.intp)
        number = np.array([at[i] if f.number is None else f.number for i, f in enumerate(camera.frames)], dtype=np.intp)
        decode = VideoPictures(path)
        there, load = number < frames, lambda i: decode(int(number[i]))
        if (np.diff(number) < 0).any():
            raise files.fault(where, "times_not_in_order", "numbers of frames go back", "number them in order of time")
    else:
        path, frames, number = where, n, np.arange(n)
        paths = paths_within(files, [frame.color for frame in camera.frames])
        there, load = np.array([p is not None for p in paths]), _loader(paths, color_file)
        fps = frame_rate(clock_s) or FPS
        if frame_rate(clock_s) is None and n > 1:
            message = f"the times of the frames give no rate; {FPS:g} frames per second are taken"
            findings.add(note("no_frame_times", "video", message, "give each frame's time in seconds"))
        shown = next((s for p in paths if p is not None and (s := size_of(p)) is not None), size)
    _check_shape(files, where, shown, size)
    check_clock(FILE, clock_s, number, fps, findings)
    depths = paths_within(files, [frame.depth for frame in camera.frames])
    beyond = number >= frames
    table = RawFrameTable(
        time_s=number / fps,
        number=number,
        world_T_camera=pose,
        intrinsics=lens,
        size=size,
        usable=posed & fits & ~beyond,
        has_color=there,
        has_depth=np.array([p is not None for p in depths]),
        load_color=load,
        load_depth=_loader(depths, lambda p: _depth(p, camera, document.axes.scale)),
        skipped={
            "no_pose": int((~posed).sum()),
            "no_intrinsics": int((posed & ~fits).sum()),
            "beyond_video": int((posed & fits & beyond).sum()),
        },
    )
    if not posed.any():
        message = f"none of {n} frames states a pose: nothing is known to be seen"
        findings.add(note("no_usable_frames", "video", message, "give world_T_camera of the frames", 0, 1, "frames"))
    if not there.any():
        return Recording(table, None, path, path)
    video = Video(path=files.relative(path), fps=fps, frames=frames, width=shown[0], height=shown[1])
    return Recording(table, video, path, path, camera.film is not None)


def _poses(files: SceneFiles, camera: CaptureCamera, axes: DocumentAxes) -> tuple[FloatArray, BoolArray]:
    """world_T_camera (N, 4, 4) in OpenCV axes, and which frames (N,) have one. Raises RawDataError if they mirror."""
    posed = np.array([frame.world_T_camera is not None for frame in camera.frames], dtype=bool)
    given = np.array([frame.world_T_camera or np.eye(4) for frame in camera.frames], dtype=float).reshape(-1, 4, 4)
    pose = axes.poses(given, camera.axes)
    with np.errstate(over="ignore", invalid="ignore"):
        mirrored = posed & (np.einsum("ni,ni->n", np.cross(pose[:, 0, :3], pose[:, 1, :3]), pose[:, 2, :3]) < 0)
    if mirrored.sum() > posed.sum() / 2:
        message = f"{int(mirrored.sum())} of {int(posed.sum())} poses mirror the scene"
        remedy = "handedness and camera.axes do not belong together: say 'unity' of a left-handed frame's camera"
        raise files.fault(files.path / FILE, "mirrored_poses", message, remedy)
    return pose, posed


def _check_shape(files: SceneFiles, path: Path, shown: Size, size: Size) -> None:
    if abs(shown[0] * size[1] / (shown[1] * size[0]) - 1) > SHAPE_TOLERANCE:
        message = f"the pictures have {shown[0]}x{shown[1]} pixels, camera.width and height are {size[0]}x{size[1]}"
        raise files.fault(path, "bad_intrinsics", message, "give the size of picture that the intrinsics are for")


def _loader(paths: list[Path | None], load: Callable[[Path], Any]) -> Load:
    def loaded(i: int) -> Any:
        path = paths[i]
        return None if path is None else load(path)

    return loaded


def _depth(path: Path, camera: CaptureCamera, scale: float) -> FloatArray | None:
    try:
        numbers = decode_numbers(read_file(path))
    except OSError:
        return None
    if numbers is None:
        return None
    none = np.isin(numbers, (0, *camera.depth_none))
    return np.where(none, np.nan, numbers * (scale / camera.depth_divisor))
