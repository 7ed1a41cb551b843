"""The film of a ScanNet++ scene: the phone's video or its extracted pictures, or else those of the DSLR camera.

Poses are the phone's, from ``pose_intrinsic_imu.json`` or COLMAP, or the DSLR camera's, from COLMAP.

``iphone/depth.bin``: depth images of 256 x 192 pixels behind one another, packed in one of two ways. Either the whole
file is one deflate stream of float32 metres, or every image is a little-endian uint32 of its packed size, followed by
LZ4 (uint16 millimetres) or deflate (float32 metres). Which one, the file itself tells.
"""

from __future__ import annotations

import re
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import faults_of
from pipeline.core.files import open_file, size_of_file
from pipeline.core.findings import Findings, note
from pipeline.core.schema import Video
from pipeline.formats.colmap import ColmapViews, parse_views
from pipeline.formats.images import color_file, depth_file, size_of
from pipeline.formats.videos import VideoPictures
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import movie_facts
from pipeline.worlds.indoor.readers.frames import (
    OPENCV_FROM_OPENGL,
    Load,
    RawFrameTable,
    Recording,
    Size,
    camera_size,
    check_clock,
    frame_rate,
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
class _ShownFrames:
    """The poses' frames (N,) in the video: number in it, picture, and whether it is there."""

    path: Path
    size: Size
    fps: float
    frames: int
    number: np.ndarray
    has_color: BoolArray
    load_color: Load
    is_movie: bool = False


def open_film(files: SceneFiles, findings: Findings) -> Recording | None:
    """The film of a scene; None, with a note, where no camera's poses are here. Raises RawDataError."""
    rows = phone_poses(files, findings)
    if rows is not None:
        movie = next((p for name in VIDEOS if (p := files.path / name).is_file()), None)
        shown = _movie(files, rows, movie, findings) if movie else _pictures(files, rows, findings)
        return _film(files, rows, shown, _depth(files, rows), (NATIVE,), findings)
    dslr = dslr_poses(files)
    if dslr is not None:
        rows, names = dslr
        nothing: tuple[BoolArray, Load] = np.zeros(len(names), dtype=bool), lambda _: None
        return _film(files, rows, _photographs(files, rows, names), nothing, (), findings)
    fisheye = (files.path / DSLR_COLMAP / "images.txt").is_file()
    message = f"neither {POSES} nor {COLMAP}/images.txt is here"
    message += ", and of the DSLR camera only fisheye pictures" if fisheye else ""
    remedy = "fetch the folder iphone/, or undistort the DSLR pictures; without frames nothing is known to be seen"
    findings.add(note("no_frames", "video", message, remedy, 0, 1, "frames"))
    return None


def _film(
    files: SceneFiles,
    rows: PoseRows,
    shown: _ShownFrames,
    depth: tuple[BoolArray, Load],
    stated: tuple[Size, ...],
    findings: Findings,
) -> Recording:
    size = shown.size
    if rows.usable.any():
        middle = np.median(rows.intrinsics[rows.usable], axis=0)
        size = camera_size(files, rows.path, middle, shown.size, stated, findings)
    beyond = rows.usable & (shown.number >= shown.frames)
    table = RawFrameTable(
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
    return Recording(table, video, shown.path, rows.path, shown.is_movie)


def _movie(files: SceneFiles, rows: PoseRows, movie: Path, findings: Findings) -> _ShownFrames:
    """The video; a frame's number is its place in it."""
    facts = movie_facts(files, movie)
    fps = facts.fps or frame_rate(rows.clock_s) or FPS
    check_clock(files.relative(rows.path), rows.clock_s, rows.number, fps, findings)
    decode, number, size = VideoPictures(movie), rows.number, (facts.width, facts.height)
    there = number < facts.frames
    return _ShownFrames(movie, size, fps, facts.frames, number, there, lambda i: decode(int(number[i])), is_movie=True)


def _pictures(files: SceneFiles, rows: PoseRows, findings: Findings) -> _ShownFrames:
    """Extracted pictures: the video is what was extracted, and that may be every tenth frame."""
    folder, number = files.path / PICTURES, rows.number
    pictures = _numbered(folder)
    known = frame_rate(rows.clock_s) is not None
    clock_s: FloatArray = rows.clock_s - rows.clock_s[0] if known else (number - number[0]) / FPS
    fps, place = frame_rate(clock_s) or FPS, np.arange(len(number))
    check_clock(files.relative(rows.path), clock_s, place, fps, findings)
    size = next((s for p in pictures.values() if (s := size_of(p)) is not None), None) or _size_by_lens(files, rows)
    there = np.isin(number, list(pictures))
    return _ShownFrames(folder, size, fps, len(number), place, there, lambda i: color_file(pictures[int(number[i])]))


def _photographs(files: SceneFiles, rows: PoseRows, names: tuple[str, ...]) -> _ShownFrames:
    """The undistorted pictures of the DSLR camera, in order of their names."""
    folders = [files.path / name for name in DSLR_PICTURES]
    folder = next((f for f in folders if f.is_dir()), folders[0])
    paths = [folder / Path(name).name for name in names]
    size = next((s for p in paths if p.is_file() and (s := size_of(p)) is not None), None)
    there = np.array([p.is_file() for p in paths])
    place = np.arange(len(names))
    load: Load = lambda i: color_file(paths[i])  # noqa: E731  (a reader's own loader, as everywhere else)
    return _ShownFrames(folder, size or _size_by_lens(files, rows), DSLR_FPS, len(names), place, there, load)


def _depth(files: SceneFiles, rows: PoseRows) -> tuple[BoolArray, Load]:
    """Which frames (N,) have depth, and how to load it: single images, else the packed file."""
    depths, packed, number = _numbered(files.path / DEPTH_IMAGES), files.path / DEPTH, rows.number
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
    path = files.path / POSES
    if path.is_file():
        return _from_json(files, path, findings)
    path = files.path / COLMAP / "images.txt"
    return _rows(files, path, _views(files, path)) if path.is_file() else None


def dslr_poses(files: SceneFiles) -> tuple[PoseRows, tuple[str, ...]] | None:
    """The poses of the undistorted pictures of the DSLR camera, and their names; None where there are none.

    Its lens is a fisheye: only pictures that the dataset's toolbox undistorted, with the lens that it then wrote to
    ``transforms_undistorted.json``, fit the pinhole camera that visibility is found with.
    """
    path, lens = files.path / DSLR_COLMAP / "images.txt", files.path / DSLR_LENS
    if not (path.is_file() and lens.is_file()):
        return None
    views = _views(files, path)
    facts = files.json(lens)
    remedy = "make the undistorted pictures again with the dataset's toolbox"
    try:
        pinhole = np.array([float(facts[key]) for key in ("fl_x", "fl_y", "cx", "cy")])
        curved = [key for key in ("k1", "k2", "k3", "k4", "p1", "p2") if float(facts.get(key, 0))]
    except (KeyError, TypeError, ValueError) as error:
        raise files.fault(lens, "bad_intrinsics", f"fl_x, fl_y, cx, cy are needed: {error!r}", remedy) from error
    if curved:
        message = f"{', '.join(curved)} are not 0, so its pictures are no pinhole's"
        raise files.fault(lens, "bad_intrinsics", message, remedy)
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


def _views(files: SceneFiles, path: Path) -> ColmapViews:
    cameras = path.with_name("cameras.txt")
    with faults_of(path, "fetch the folder colmap/ again", files.scene):
        return parse_views(files.text(cameras), files.text(path))


def _rows(files: SceneFiles, path: Path, views: ColmapViews) -> PoseRows:
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


WIDTH, HEIGHT = 256, 192
PIXELS: Final = WIDTH * HEIGHT
DEPTH_MAX_M: Final = 100.0  # lidar of a phone reaches 5 m
_CHUNK: Final = 1 << 20
_RAW, _ZLIB = -zlib.MAX_WBITS, zlib.MAX_WBITS


@dataclass
class DepthStream:
    """Depth images by number. In a single stream going forward is cheap and going back starts from the beginning.

    Attributes:
        path: the file.
        offsets: place and packed size of each image; empty for a single stream.
    """

    path: Path
    offsets: tuple[tuple[int, int], ...]
    _unpacker: Any = field(default=None, init=False)
    _read: int = field(default=0, init=False)
    _held: bytes = field(default=b"", init=False)
    _at: int = field(default=0, init=False)

    def __call__(self, number: int) -> FloatArray | None:
        """Depth (192, 256) in metres, NaN where not measured; None where it is not there or cannot be unpacked."""
        try:
            return self._packed(number) if self.offsets else self._streamed(number)
        except (zlib.error, OSError, pa.ArrowException):
            self._unpacker = None
            return None

    def _packed(self, number: int) -> FloatArray | None:
        if not 0 <= number < len(self.offsets):
            return None
        offset, size = self.offsets[number]
        with open_file(self.path) as file:
            file.seek(offset)
            raw = file.read(size)
        unpacked = _of_lz4(raw)
        return _image(_inflater(raw[:2]).decompress(raw, 4 * PIXELS + 1) if unpacked is None else unpacked)

    def _streamed(self, number: int) -> FloatArray | None:
        start, end = 4 * PIXELS * number, 4 * PIXELS * (number + 1)
        with open_file(self.path) as file:
            if self._unpacker is None or start < self._at:
                self._unpacker, self._read, self._held, self._at = _inflater(file.read(2)), 0, b"", 0
            file.seek(self._read)
            while self._at + len(self._held) < end:
                waiting = self._unpacker.unconsumed_tail
                fresh = b"" if waiting else file.read(_CHUNK)
                if not waiting and not fresh:
                    return None
                self._read += len(fresh)
                self._held += self._unpacker.decompress(waiting or fresh, _CHUNK)
                gone = min(max(start - self._at, 0), len(self._held))
                self._held, self._at = self._held[gone:], self._at + gone
        gone = start - self._at
        self._held, self._at = self._held[gone:], start
        return _image(self._held[: 4 * PIXELS])


def open_depth(path: Path) -> DepthStream:
    """Steps over the images, if the file has them one by one. Raises OSError."""
    size = size_of_file(path)
    offsets = []
    at = 0
    with open_file(path) as file:
        while at + 4 <= size:
            file.seek(at)
            packed = struct.unpack("<I", file.read(4))[0]
            if not 0 < packed <= 8 * PIXELS or at + 4 + packed > size:
                break
            offsets.append((at + 4, packed))
            at += 4 + packed
    # The first four bytes of a deflate stream hardly ever lead from size to size: a file cut in its last image does.
    return DepthStream(path, tuple(offsets) if at == size or len(offsets) > 1 else ())


def _of_lz4(raw: bytes) -> bytes | None:
    """The image in a block of LZ4; None for anything else."""
    # Arrow does not say how much it unpacked, and leaves the rest as memory was: what fits into a byte less is shorter.
    with suppress(pa.ArrowException, OSError):
        pa.decompress(raw, decompressed_size=2 * PIXELS - 1, codec="lz4_raw")
        return None
    with suppress(pa.ArrowException, OSError):
        return bytes(pa.decompress(raw, decompressed_size=2 * PIXELS, codec="lz4_raw"))
    return None


def _inflater(start: bytes) -> Any:
    """Datasets have bare deflate; a zlib header is understood too."""
    headed = len(start) == 2 and start[0] & 0x0F == 8 and int.from_bytes(start, "big") % 31 == 0
    return zlib.decompressobj(_ZLIB if headed else _RAW)


def _image(raw: bytes) -> FloatArray | None:
    if len(raw) == 2 * PIXELS:
        depth = np.frombuffer(raw, "<u2").astype(np.float64) / 1000.0
    elif len(raw) == 4 * PIXELS:
        depth = np.frombuffer(raw, "<f4").astype(np.float64)
    else:
        return None
    with np.errstate(invalid="ignore"):
        good = (depth > 0) & (depth <= DEPTH_MAX_M)
    return np.where(good, depth, np.nan).reshape(HEIGHT, WIDTH)
