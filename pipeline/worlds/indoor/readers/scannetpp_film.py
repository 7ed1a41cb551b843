"""The film of a ScanNet++ scene: the phone's video or its extracted pictures, or else those of the DSLR camera."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.findings import Findings, note
from pipeline.core.schema import Video
from pipeline.formats.depth_stream import open_depth
from pipeline.formats.images import color_file, depth_file, size_of
from pipeline.formats.videos import VideoPictures
from pipeline.reading.files import SceneFiles
from pipeline.reading.movies import movie_facts
from pipeline.worlds.indoor.readers.cameras import Size, camera_size
from pipeline.worlds.indoor.readers.frames import FrameTable, Load, check_clock, frame_rate
from pipeline.worlds.indoor.readers.scannetpp_poses import (
    COLMAP,
    DSLR_COLMAP,
    FRAME_NAME,
    POSES,
    PoseRows,
    dslr_poses,
    phone_poses,
)

VIDEOS: Final = ("iphone/rgb.mp4", "iphone/rgb.mkv")
PICTURES: Final = "iphone/rgb"
DSLR_PICTURES: Final = ("dslr/resized_undistorted_images", "dslr/undistorted_images")
DEPTH: Final = "iphone/depth.bin"
DEPTH_IMAGES: Final = "iphone/depth"
FPS: Final = 60.0  # of the dataset's app
DSLR_FPS: Final = 1.0  # the pictures were taken one by one and have no rate: each stands for a second
NATIVE: Final[Size] = (1920, 1440)  # of the phone's video, which its intrinsics belong to


@dataclass(frozen=True)
class Film:
    """The frames of a scene, the facts of the video that they belong to, the pictures' folder or the video, the poses.

    ``is_movie`` tells whether ``path`` is a video file.
    """

    table: FrameTable
    video: Video
    path: Path
    is_movie: bool
    poses: Path


@dataclass(frozen=True)
class _Shown:
    """What of the poses' frames (N,) the video shows: number in it, picture, and whether it is there."""

    path: Path
    size: Size
    fps: float
    frames: int
    number: np.ndarray
    has_color: BoolArray
    load_color: Load
    is_movie: bool = False


def open_film(files: SceneFiles, findings: Findings) -> Film | None:
    """The film of a scene; None, with a note, where no camera's poses are here. Raises RawDataError."""
    rows = phone_poses(files, findings)
    if rows is not None:
        movie = next((p for name in VIDEOS if (p := files.folder / name).is_file()), None)
        shown = _movie(files, rows, movie, findings) if movie else _pictures(files, rows, findings)
        return _film(files, rows, shown, _depth(files, rows), (NATIVE,), findings)
    dslr = dslr_poses(files)
    if dslr is not None:
        rows, names = dslr
        nothing: tuple[BoolArray, Load] = np.zeros(len(names), dtype=bool), lambda _: None
        return _film(files, rows, _photographs(files, rows, names), nothing, (), findings)
    fisheye = (files.folder / DSLR_COLMAP / "images.txt").is_file()
    message = f"neither {POSES} nor {COLMAP}/images.txt is here"
    message += ", and of the DSLR camera only fisheye pictures" if fisheye else ""
    remedy = "fetch the folder iphone/, or undistort the DSLR pictures; without frames nothing is known to be seen"
    findings.add(note("no_frames", "video", message, remedy, 0, 1, "frames"))
    return None


def _film(
    files: SceneFiles,
    rows: PoseRows,
    shown: _Shown,
    depth: tuple[BoolArray, Load],
    stated: tuple[Size, ...],
    findings: Findings,
) -> Film:
    size = shown.size
    if rows.usable.any():
        middle = np.median(rows.intrinsics[rows.usable], axis=0)
        size = camera_size(files, rows.path, middle, shown.size, stated, findings)
    beyond = rows.usable & (shown.number >= shown.frames)
    table = FrameTable(
        time_s=shown.number / shown.fps,
        number=shown.number,
        world_T_camera=rows.pose,
        intrinsics=rows.intrinsics,
        size=size,
        usable=rows.usable & ~beyond,
        has_color=shown.has_color,
        has_depth=depth[0],
        load_color=shown.load_color,
        load_depth=depth[1],
        skipped=rows.skipped | {"beyond_video": int(beyond.sum())},
    )
    width, height = shown.size
    video = Video(path=files.relative(shown.path), fps=shown.fps, frames=shown.frames, width=width, height=height)
    return Film(table, video, shown.path, shown.is_movie, rows.path)


def _movie(files: SceneFiles, rows: PoseRows, movie: Path, findings: Findings) -> _Shown:
    """The video; a frame's number is its place in it."""
    facts = movie_facts(files, movie)
    fps = facts.fps or frame_rate(rows.clock_s) or FPS
    check_clock(files.relative(rows.path), rows.clock_s, rows.number, fps, findings)
    decode, number, size = VideoPictures(movie), rows.number, (facts.width, facts.height)
    there = number < facts.frames
    return _Shown(movie, size, fps, facts.frames, number, there, lambda i: decode(int(number[i])), is_movie=True)


def _pictures(files: SceneFiles, rows: PoseRows, findings: Findings) -> _Shown:
    """Extracted pictures: the video is what was extracted, and that may be every tenth frame."""
    folder, number = files.folder / PICTURES, rows.number
    pictures = _numbered(folder)
    known = frame_rate(rows.clock_s) is not None
    clock_s: FloatArray = rows.clock_s - rows.clock_s[0] if known else (number - number[0]) / FPS
    fps, place = frame_rate(clock_s) or FPS, np.arange(len(number))
    check_clock(files.relative(rows.path), clock_s, place, fps, findings)
    size = next((s for p in pictures.values() if (s := size_of(p)) is not None), None) or _size_by_lens(files, rows)
    there = np.isin(number, list(pictures))
    return _Shown(folder, size, fps, len(number), place, there, lambda i: color_file(pictures[int(number[i])]))


def _photographs(files: SceneFiles, rows: PoseRows, names: tuple[str, ...]) -> _Shown:
    """The undistorted pictures of the DSLR camera, in order of their names."""
    folders = [files.folder / name for name in DSLR_PICTURES]
    folder = next((f for f in folders if f.is_dir()), folders[0])
    paths = [folder / Path(name).name for name in names]
    size = next((s for p in paths if p.is_file() and (s := size_of(p)) is not None), None)
    there = np.array([p.is_file() for p in paths])
    place = np.arange(len(names))
    load: Load = lambda i: color_file(paths[i])  # noqa: E731  (a reader's own loader, as everywhere else)
    return _Shown(folder, size or _size_by_lens(files, rows), DSLR_FPS, len(names), place, there, load)


def _depth(files: SceneFiles, rows: PoseRows) -> tuple[BoolArray, Load]:
    """Which frames (N,) have depth, and how to load it: single images, else the packed file."""
    depths, packed, number = _numbered(files.folder / DEPTH_IMAGES), files.folder / DEPTH, rows.number
    if depths or not packed.is_file():
        return np.isin(number, list(depths)), lambda i: depth_file(depths[int(number[i])])
    stream = open_depth(packed)
    return np.ones(len(number), dtype=bool), lambda i: stream(int(number[i]))


def _numbered(folder: Path) -> dict[int, Path]:
    """Files named ``frame_<number>``, by that number."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {int(m[1]): p for p in paths if (m := FRAME_NAME.fullmatch(p.stem))}


def _size_by_lens(files: SceneFiles, rows: PoseRows) -> Size:
    """Size of pictures that are not here: twice the principal point."""
    if not rows.usable.any():
        raise files.fault(rows.path, "no_usable_frames", "no frame has intrinsics", "fetch the file again")
    cx, cy = np.median(rows.intrinsics[rows.usable], axis=0)[2:]
    return round(2 * float(cx)), round(2 * float(cy))
