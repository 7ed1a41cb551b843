"""Camera frames of a scan: usable ones kept, the others counted, pictures loaded when asked for.

Poses tell which are usable, how they turn, and which way is up in the picture; camera axes are OpenCV's (x right,
y down, z forward), and all functions take whole batches. `camera_size` tells which size of picture a camera's
intrinsics belong to: pictures get resized, and files go on stating the old size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import Findings, note
from pipeline.core.schema import Video
from pipeline.formats.images import color_file
from pipeline.formats.ply import PlyMesh
from pipeline.formats.zips import ZipMember
from pipeline.geometry.scans import CameraFrames, SceneGeometry
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import Footage, held_footage, movie_footage
from pipeline.reading.reader import Reader
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.readers.objects import AnnotatedInstance, label_vertices

OFF_MESH_M: Final = 3.0  # a camera farther than this outside the mesh's extent did not film it
OFF_MESH_MAX: Final = 0.5  # share of such cameras; beyond it poses and mesh do not belong together
FPS_MIN, FPS_MAX = 0.5, 240.0
CLOCK_TOLERANCE_S: Final = 0.5  # between the length of the delivered video and what the times of its frames say

Load = Callable[[int], Any]


@dataclass(frozen=True)
class RawFrameTable:
    """All frames of a source in order of time, before any is left out; arrays as in `CameraFrames`, over all N frames.

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

    def frames(self) -> CameraFrames:
        """The usable frames. Pictures that turn out broken are None and are counted in ``skipped`` as they are met."""
        checked = check_poses(self.world_T_camera[self.usable])
        kept = np.flatnonzero(self.usable)[checked.good]
        skipped = {reason: n for reason, n in {**self.skipped, **checked.skipped}.items() if n}
        return CameraFrames(
            time_s=self.time_s[kept].round(6),
            number=self.number[kept],
            world_T_camera=self.world_T_camera[kept],
            intrinsics=self.intrinsics[kept],
            size=self.size,
            skipped=skipped,
            depth_m=_Pictures(kept, self.has_depth, self.load_depth, skipped, "depth_unreadable"),
            color=_Pictures(kept, self.has_color, self.load_color, skipped, "color_unreadable"),
        )

    def moved(self, world_T_film: FloatArray | None) -> RawFrameTable:
        """The frames under a transform (4, 4) of their world; None: as they are. What is not finite stays so."""
        if world_T_film is None:
            return self
        pose = np.full_like(self.world_T_camera, np.nan)
        finite = np.isfinite(self.world_T_camera).all(axis=(1, 2))
        pose[finite] = np.einsum("ij,njk->nik", world_T_film, self.world_T_camera[finite])
        return replace(self, world_T_camera=pose)


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


@dataclass(frozen=True)
class Recording:
    """The film of a scan.

    Attributes:
        table: its frames, in the frame of their poses; None where there are no poses.
        video: facts of the video that they belong to; None: there are no pictures.
        path: the video, or the folder or file that tells where its pictures are.
        poses: the file or folder of the poses, for messages.
        is_movie: whether ``path`` is a video.
        pictures: of a video of picture files, where these are not those of the frames.
    """

    table: RawFrameTable | None
    video: Video | None
    path: Path
    poses: Path
    is_movie: bool = False
    pictures: Sequence[Path | ZipMember] = ()

    def frames(self, world_T_film: FloatArray | None = None) -> CameraFrames:
        """The usable frames, in another world where its transform (4, 4) is given."""
        return no_frames() if self.table is None else self.table.moved(world_T_film).frames()

    def footage(self, files: SceneFiles) -> Footage | None:
        """The video; None where there is none."""
        if self.video is None or self.video.fps is None:
            return None
        if self.is_movie:
            return movie_footage(files, self.path, self.video.fps)
        pictures, table = self.pictures, self.table
        if pictures:
            return held_footage(files, self.path, self.video.fps, len(pictures), lambda i: color_file(pictures[i]))
        if table is None or not table.has_color.any():
            return None
        there, load = table.has_color, table.load_color
        return held_footage(files, self.path, self.video.fps, len(there), lambda i: load(i) if there[i] else None)


class LabelledScan(NamedTuple):
    """The mesh of a scan, what is annotated in it, and the transform (4, 4) of its film into the mesh's frame."""

    mesh: PlyMesh
    instances: Sequence[AnnotatedInstance] = ()
    world_T_film: FloatArray | None = None


class ScanReader(Reader):
    """A reader of scans: what stage `observe` and the video need follows from a labelled mesh and a film."""

    def scan(self, files: SceneFiles, findings: Findings) -> LabelledScan | None:
        """The labelled mesh, made once; None: there is none that anything could be seen of. Raises RawDataError."""

    def film(self, files: SceneFiles, findings: Findings) -> Recording | None:
        """The film, made once; None where there is none. Raises RawDataError."""

    def geometry(self, files: SceneFiles, scene: IndoorScene) -> SceneGeometry | None:
        """See `Reader.geometry`."""
        scan = self.scan(files, Findings())
        if scan is None or not len(scan.mesh.faces):
            return None
        film, mesh = self.film(files, Findings()), scan.mesh
        owner = label_vertices(mesh.vertices, scene.facts.objects, scan.instances)
        frames = no_frames() if film is None else film.frames(scan.world_T_film)
        return SceneGeometry(mesh.vertices, mesh.faces, owner, frames, self.video_fps, mesh.colors)

    def footage(self, files: SceneFiles, scene: IndoorScene) -> Footage | None:
        """See `Reader.footage`."""
        film = self.film(files, Findings())
        return None if film is None else film.footage(files)


def no_frames() -> CameraFrames:
    """The frames of a scan that was not filmed, or whose film is not here."""
    return CameraFrames(
        time_s=np.empty(0),
        number=np.empty(0, dtype=np.intp),
        world_T_camera=np.empty((0, 4, 4)),
        intrinsics=np.empty((0, 4)),
        size=(0, 0),
    )


def check_frames(files: SceneFiles, path: Path, frames: CameraFrames, vertices: FloatArray, findings: Findings) -> None:
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


def check_upright(where: str, frames: CameraFrames, findings: Findings) -> None:
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


RIGID_TOLERANCE: Final = 0.02  # largest entry of |R Rᵀ - 1|; float32 poses of the datasets stay below 1e-3
POSITION_MAX_M: Final = 1000.0
STEEP: Final = 0.87  # a camera that looks up or down by more than 60 degrees has no clear up in its picture
# OpenGL and ARKit cameras have y up and look along -z.
OPENCV_FROM_OPENGL: Final = np.diag([1.0, -1.0, -1.0, 1.0])

Turn = Literal[0, 90, 180, 270]
TURNS: Final[tuple[Turn, ...]] = (0, 90, 180, 270)


STUCK_RUNS: Final = 3  # to one place exactly nobody returns so often, and three times as often as to any other


class UsablePoses(NamedTuple):
    """Which of N poses can be used, and how many cannot, by reason."""

    good: BoolArray
    skipped: dict[str, int]


def check_poses(world_T_camera: FloatArray) -> UsablePoses:
    """Tells rigid poses (N, 4, 4) from the rest: not finite, not rigid, far outside any building, or a stand-in.

    A stand-in is the one pose, mostly the identity, that a tracker or an exporter writes wherever it has none.
    """
    finite: BoolArray = np.asarray(np.isfinite(world_T_camera).all(axis=(1, 2)))
    safe = np.where(finite[:, None, None], world_T_camera, np.eye(4))
    turn = safe[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(np.einsum("nij,nkj->nik", turn, turn) - np.eye(3)).max(axis=(1, 2))
        mirrored = np.einsum("ni,ni->n", np.cross(turn[:, 0], turn[:, 1]), turn[:, 2]) < 0
        last_row = np.abs(safe[:, 3] - [0, 0, 0, 1]).max(axis=1)
    rigid = (off <= RIGID_TOLERANCE) & ~mirrored & (last_row <= RIGID_TOLERANCE)
    near = np.abs(safe[:, :3, 3]).max(axis=1) <= POSITION_MAX_M
    sound = finite & rigid & near
    stuck = np.zeros(len(sound), dtype=bool)
    stuck[sound] = _stands_in(safe[sound])
    counts = {
        "pose_not_finite": int((~finite).sum()),
        "pose_not_rigid": int((finite & ~rigid).sum()),
        "pose_far_away": int((finite & rigid & ~near).sum()),
        "pose_stuck": int(stuck.sum()),
    }
    return UsablePoses(sound & ~stuck, {reason: n for reason, n in counts.items() if n})


def _stands_in(pose: FloatArray) -> BoolArray:
    """Which of the poses (N, 4, 4) are the one that stands in for missing ones."""
    if len(pose) < 2:
        return np.zeros(len(pose), dtype=bool)
    of = np.unique(pose.reshape(-1, 16), axis=0, return_inverse=True)[1].ravel()
    runs = np.bincount(of[np.append(True, of[1:] != of[:-1])])
    most = int(runs.argmax())
    returns = runs[most] >= STUCK_RUNS * np.delete(runs, most).max(initial=1)
    return (of == most) & returns


def from_axis_angle(axis_angle: FloatArray, translation: FloatArray) -> FloatArray:
    """Transforms (N, 4, 4) from rotation vectors (N, 3), radians, and translations (N, 3)."""
    from scipy.spatial.transform import Rotation  # takes half a second

    pose = np.zeros((len(axis_angle), 4, 4))
    pose[:, :3, :3] = Rotation.from_rotvec(axis_angle).as_matrix() if len(axis_angle) else np.empty((0, 3, 3))
    pose[:, :3, 3] = translation
    pose[:, 3, 3] = 1.0
    return pose


def invert(pose: FloatArray) -> FloatArray:
    """The inverse of rigid transforms (N, 4, 4)."""
    result = np.zeros_like(pose)
    result[:, :3, :3] = pose[:, :3, :3].transpose(0, 2, 1)
    result[:, :3, 3] = -np.einsum("nji,nj->ni", pose[:, :3, :3], pose[:, :3, 3])
    result[:, 3, 3] = 1.0
    return result


def interpolate(pose: FloatArray, first: IntArray, second: IntArray, share: FloatArray) -> FloatArray:
    """Transforms (M, 4, 4) that lie at ``share`` of the way from ``pose[first]`` to ``pose[second]``.

    Positions along the straight line, rotations about the one axis between the two.
    """
    from scipy.spatial.transform import Rotation  # takes half a second

    a, b = pose[first], pose[second]
    step = Rotation.from_matrix(np.einsum("nij,nkj->nik", b[:, :3, :3], a[:, :3, :3])).as_rotvec()
    result = a.copy()
    turn = Rotation.from_rotvec(step * share[:, None]).as_matrix()
    result[:, :3, :3] = np.einsum("nij,njk->nik", turn, a[:, :3, :3])
    result[:, :3, 3] = a[:, :3, 3] + (b[:, :3, 3] - a[:, :3, 3]) * share[:, None]
    return result


def upright_turn(world_T_camera: FloatArray) -> tuple[Turn, float] | None:
    """The clockwise turn in degrees that brings the world's up to the top of most pictures, and the share of these.

    Frames of a camera that looks steeply up or down have no say. None if there are no others.
    """
    up = world_T_camera[:, 2, :3]  # the world's z in camera axes: the third row of world_R_camera
    clear = np.abs(up[:, 2]) < STEEP
    if not clear.any():
        return None
    # 0 at the top of the picture, 90 at its left: there a turn of 90 degrees clockwise brings it to the top.
    left_of_top_deg = np.degrees(np.arctan2(-up[clear, 0], -up[clear, 1]))
    votes = np.bincount(np.round(left_of_top_deg / 90).astype(np.intp) % 4, minlength=4)
    winner = int(votes.argmax())
    return TURNS[winner], float(votes[winner] / votes.sum())


OFF_CENTRE_MAX: Final = 0.1  # of width or height, from the principal point to the middle; phones stay below 0.02
SHAPE_TOLERANCE: Final = 0.02  # between widths over heights; ScanNet's 1296x968 and its 640x480 differ by 0.004

Size = tuple[int, int]


def check_pinhole(files: SceneFiles, path: Path, pinhole: FloatArray, size: Size) -> None:
    """Raises RawDataError where fx, fy, cx, cy (4,) are no camera of pictures of this size."""
    fx, fy, cx, cy = pinhole
    if not (np.isfinite(pinhole).all() and min(fx, fy) > 0 and 0 < cx < size[0] and 0 < cy < size[1]):
        message = f"fx {fx:g}, fy {fy:g}, cx {cx:g}, cy {cy:g} do not fit an image of {size[0]}x{size[1]} pixels"
        raise files.fault(path, "bad_intrinsics", message, "fetch the file again")


def camera_size(
    files: SceneFiles, path: Path, pinhole: FloatArray, pictures: Size, stated: Sequence[Size], findings: Findings
) -> Size:
    """The size of picture, (width, height), that fx, fy, cx, cy (4,) belong to.

    The principal point tells, since it lies near the middle: of the pictures' own size and the stated ones the best
    fit; where none fits, the pictures' own, scaled until it does. A note tells where it is not the pictures' own.

    Raises:
        RawDataError: no scale of the pictures fits, or they have another shape, so that they were cut.
    """
    cx, cy = float(pinhole[2]), float(pinhole[3])
    size = min((pictures, *stated), key=lambda s: _off_centre(s, cx, cy))
    if not _off_centre(size, cx, cy) <= OFF_CENTRE_MAX:
        scale = (cx / pictures[0] + cy / pictures[1]) if np.isfinite(cx + cy) else 0.0
        size = max(1, round(pictures[0] * scale)), max(1, round(pictures[1] * scale))
    shape = (size[0] * pictures[1]) / (size[1] * pictures[0])
    if not _off_centre(size, cx, cy) <= OFF_CENTRE_MAX or abs(shape - 1) > SHAPE_TOLERANCE:
        message = f"cx {cx:g}, cy {cy:g} do not fit pictures of {pictures[0]}x{pictures[1]} pixels, nor scaled ones"
        raise files.fault(path, "bad_intrinsics", message, "fetch intrinsics and pictures of one export")
    if size != pictures:
        message = (
            f"the pictures have {pictures[0]}x{pictures[1]} pixels, {files.relative(path)} belongs to "
            f"{size[0]}x{size[1]} (cx {cx:g}, cy {cy:g})"
        )
        remedy = "none is needed: the camera is scaled to the pictures; see the depth agreement of the scene"
        findings.add(note("pictures_resized", "video", message, remedy, pictures[0] / size[0], 1, "scale"))
    return size


def _off_centre(size: Size, cx: float, cy: float) -> float:
    return max(abs(cx / size[0] - 0.5), abs(cy / size[1] - 0.5))
