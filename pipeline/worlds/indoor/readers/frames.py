"""Camera frames of a scan: usable ones kept, the others counted, pictures loaded when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import Findings, note
from pipeline.formats.images import color_file
from pipeline.formats.zips import ZipMember
from pipeline.geometry.scans import Frames
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import Footage
from pipeline.reading.pictures import held_footage
from pipeline.worlds.indoor.readers.poses import check_poses, upright_turn

OFF_MESH_M: Final = 3.0  # a camera farther than this outside the mesh's extent did not film it
OFF_MESH_MAX: Final = 0.5  # share of such cameras; beyond it poses and mesh do not belong together
FPS_MIN, FPS_MAX = 0.5, 240.0
CLOCK_TOLERANCE_S: Final = 0.5  # between the length of the delivered video and what the times of its frames say

Load = Callable[[int], Any]


@dataclass(frozen=True)
class FrameTable:
    """All frames of a source in order of time, before any is left out; arrays as in `Frames`, over all N frames.

    Attributes:
        usable: (N,) False where the reader already found a frame unusable, counted in ``skipped``.
        has_color: (N,) whether there is a picture.
        has_depth: (N,) whether there is a depth image.
        load_color: frame -> picture, or None where it is broken; asked only where there is one.
        load_depth: the same for depth in metres.
    """

    time_s: FloatArray
    number: npt.NDArray[np.intp]
    world_T_camera: FloatArray
    intrinsics: FloatArray
    size: tuple[int, int]
    usable: BoolArray
    has_color: BoolArray
    has_depth: BoolArray
    load_color: Load
    load_depth: Load
    skipped: dict[str, int] = field(default_factory=dict)

    def frames(self) -> Frames:
        """The usable frames. Pictures that turn out broken are None and are counted in ``skipped`` as they are met."""
        checked = check_poses(self.world_T_camera[self.usable])
        kept = np.flatnonzero(self.usable)[checked.good]
        skipped = {reason: n for reason, n in {**self.skipped, **checked.skipped}.items() if n}
        return Frames(
            time_s=self.time_s[kept].round(6),
            number=self.number[kept],
            world_T_camera=self.world_T_camera[kept],
            intrinsics=self.intrinsics[kept],
            size=self.size,
            skipped=skipped,
            depth_m=_Pictures(kept, self.has_depth, self.load_depth, skipped, "depth_unreadable"),
            color=_Pictures(kept, self.has_color, self.load_color, skipped, "color_unreadable"),
        )

    def footage(self, files: SceneFiles, path: Path, fps: float) -> Footage | None:
        """The pictures as a video; None where there are none. ``path`` is what messages name."""
        if not self.has_color.any():
            return None
        there = self.has_color
        return held_footage(files, path, fps, len(there), lambda i: self.load_color(i) if there[i] else None)


class _Pictures:
    """Loads pictures by the number of the kept frame, and counts each broken one once."""

    def __init__(self, kept: IntArray, there: BoolArray, load: Load, skipped: dict[str, int], reason: str) -> None:
        self._kept, self._there, self._load = kept, there, load
        self._skipped, self._reason = skipped, reason
        self._broken: set[int] = set()

    def __call__(self, i: int) -> Any:
        frame = int(self._kept[i])
        if not self._there[frame]:
            return None
        picture = self._load(frame)
        if picture is None and frame not in self._broken:
            self._broken.add(frame)
            self._skipped[self._reason] = len(self._broken)
        return picture


def picture_footage(
    files: SceneFiles, folder: Path, pictures: Sequence[Path | ZipMember], fps: float
) -> Footage | None:
    """Picture files as a video; None where there are none."""
    return held_footage(files, folder, fps, len(pictures), lambda i: color_file(pictures[i])) if pictures else None


def no_frames() -> Frames:
    """The frames of a scan that was not filmed, or whose film is not here."""
    return Frames(
        time_s=np.empty(0),
        number=np.empty(0, dtype=np.intp),
        world_T_camera=np.empty((0, 4, 4)),
        intrinsics=np.empty((0, 4)),
        size=(0, 0),
    )


def check_frames(files: SceneFiles, path: Path, frames: Frames, vertices: FloatArray, findings: Findings) -> None:
    """Reports frames left out. Raises RawDataError where none is left, or where they filmed another place."""
    total = len(frames.time_s) + sum(frames.skipped.values())
    reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(frames.skipped.items()))
    if not len(frames.time_s):
        message = f"none of {total} frames can be used ({reasons or 'there are none'})"
        raise files.fault(path, "no_usable_frames", message, "fetch the poses again, or take them away to do without")
    for reason, count in sorted(frames.skipped.items()):
        message = f"{files.relative(path)}: {count} of {total} frames are left out: {reason}"
        remedy = "none is needed unless many are lost; else fetch the file again"
        findings.add(note(reason, "frames", message, remedy, count, None, "frames"))
    low, high = vertices.min(axis=0) - OFF_MESH_M, vertices.max(axis=0) + OFF_MESH_M
    position = frames.world_T_camera[:, :3, 3]
    outside = float(((position < low) | (position > high)).any(axis=1).mean())
    if outside > OFF_MESH_MAX:
        reach = float(np.abs(position).max())
        message = (
            f"{outside:.0%} of the cameras stand more than {OFF_MESH_M:g} m outside the mesh (up to {reach:.4g} m "
        )
        message += "from the origin)"
        remedy = "fetch poses and mesh of one scan; positions must be metres, in the mesh's frame"
        raise files.fault(path, "camera_off_mesh", message, remedy)


def check_clock(where: str, clock_s: FloatArray, number: IntArray, fps: float, findings: Findings) -> None:
    """Reports times (N,) of frames that do not pass as fast as the video that shows them, as where frames are missing.

    ``number`` (N,) counts the video's frames, of which ``fps`` pass in a second. Times of what is seen are those of the
    video: nobody who watches it knows of the gap.
    """
    if len(clock_s) < 2 or not np.isfinite(clock_s).all():
        return
    stated, shown = float(clock_s[-1] - clock_s[0]), float(number[-1] - number[0]) / fps
    if abs(stated - shown) > CLOCK_TOLERANCE_S:
        gap = float(np.diff(clock_s).max())
        message = (
            f"{where}: the frames' own times last {stated:.2f} s (longest gap {gap:.2f} s), the video of {fps:g} "
            f"frames per second {shown:.2f} s"
        )
        remedy = "are frames missing? Times are those of the video that is delivered"
        findings.add(note("clock_differs", "video", message, remedy, abs(stated - shown), CLOCK_TOLERANCE_S, "s"))


def check_upright(where: str, frames: Frames, findings: Findings) -> None:
    """Reports a video that has to be turned although its dataset has no such videos."""
    turn = upright_turn(frames.world_T_camera)
    if turn is not None and turn[0] != 0:
        message = f"{where}: {turn[1]:.0%} of the frames are upright only after a turn of {turn[0]} degrees clockwise"
        remedy = "look at the video; its frames are delivered as they are"
        findings.add(note("video_not_upright", "video", message, remedy, turn[0], 0, "deg"))


def frame_rate(time_s: FloatArray) -> float | None:
    """Frames per second from the median gap of times in order, to three decimals; None where they do not tell."""
    gaps = np.diff(time_s)
    if not len(gaps) or not np.isfinite(gaps).all() or (gaps < 0).any() or np.median(gaps) <= 0:
        return None
    rate = round(float(1.0 / np.median(gaps)), 3)
    return rate if FPS_MIN <= rate <= FPS_MAX else None
