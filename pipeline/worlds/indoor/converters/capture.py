"""What all captures of a phone or a camera share: poses, pictures and depth, made upright, fused and written.

Pictures of a curved lens are written as a straight one would have taken them (OpenCV's model: k1, k2, p1, p2).
"""

import io
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import MAX_FILE_BYTES, size_of_file, write_atomically
from pipeline.formats.images import color_file, jpeg_bytes
from pipeline.formats.scene_folder import CaptureCamera, LabelledBox, PosedFrame, SceneDocument, Unit
from pipeline.worlds.indoor.converters.fusion import DepthView, FusedMesh, find_floor, find_up, fuse
from pipeline.worlds.indoor.converters.texts import folders_of
from pipeline.worlds.indoor.readers.frames import check_poses

Distortion = tuple[float, float, float, float]  # k1, k2, p1, p2
STRAIGHT: Final[Distortion] = (0.0, 0.0, 0.0, 0.0)
BORDER: Final = 65  # places along each side of a picture that are looked at


def distorted(places: FloatArray, lens: tuple[float, float, float, float], distortion: Distortion) -> FloatArray:
    """Where a curved lens shows what a straight one shows at places (N, 2), in pixels.

    OpenCV, "Camera Calibration and 3D Reconstruction": radial by r² and r⁴, tangential by p1 and p2.
    """
    (fx, fy, cx, cy), (k1, k2, p1, p2) = lens, distortion
    x, y = (places[:, 0] - cx) / fx, (places[:, 1] - cy) / fy
    square = x**2 + y**2
    radial = 1 + k1 * square + k2 * square**2
    across = x * radial + 2 * p1 * x * y + p2 * (square + 2 * x**2)
    down = y * radial + p1 * (square + 2 * y**2) + 2 * p2 * x * y
    return np.stack([across * fx + cx, down * fy + cy], axis=1)


def border_px(size: tuple[int, int], lens: tuple[float, float, float, float], distortion: Distortion) -> float:
    """The farthest that a curved lens moves anything on the border of a picture, in pixels."""
    if distortion == STRAIGHT:
        return 0.0
    across, down = (np.linspace(0.0, side, BORDER) for side in size)
    sides = [np.column_stack([across, np.full(BORDER, y)]) for y in (0.0, size[1])]
    sides += [np.column_stack([np.full(BORDER, x), down]) for x in (0.0, size[0])]
    border = np.concatenate(sides)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.linalg.norm(distorted(border, lens, distortion) - border, axis=1)
    return float(np.where(np.isfinite(moved), moved, np.inf).max())


def straightened(
    color: npt.NDArray[np.uint8], lens: tuple[float, float, float, float], distortion: Distortion
) -> npt.NDArray[np.uint8]:
    """A picture (h, w, 3) of the same size and lens without distortion; black where the curved one shows nothing."""
    from scipy.ndimage import map_coordinates  # takes a fifth of a second

    high, wide = color.shape[:2]
    v, u = np.mgrid[:high, :wide]
    middles = np.column_stack([u.ravel(), v.ravel()]) + 0.5
    at = distorted(middles, lens, distortion) - 0.5
    places = [at[:, 1].reshape(high, wide), at[:, 0].reshape(high, wide)]
    layers = [map_coordinates(color[..., i], places, order=1, mode="constant") for i in range(color.shape[2])]
    return np.stack(layers, axis=-1)


MESH: Final = "mesh.ply"
FUSED_MAX: Final = 1500  # frames; of longer captures every second, third, … one is fused
STRAIGHT_PX: Final = 1.0  # on the border; poses are no better
CURVED_MAX: Final = 0.25  # of the longer side; a wide lens of 100 degrees has a tenth
QUALITY: Final = 95
DEPTH_MAX_MM: Final = 65535
UP_AXES: Final = {"y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class CapturedFrame:
    """One frame: its time, its pose (4, 4) in OpenCV's axes (None: not known), its lens, and its picture's file.

    A picture of a curved lens is written as a straight one would have taken it (`distortion`, k1 k2 p1 p2).
    """

    time_s: float
    world_T_camera: FloatArray | None
    lens: tuple[float, float, float, float]
    color: Path | None = None
    number: int | None = None
    distortion: Distortion = STRAIGHT


@dataclass(frozen=True)
class Capture:
    """A capture as its app left it, in a right-handed frame of whatever axes.

    Attributes:
        place: what to name in messages.
        shots: in order of time.
        size: of the pictures that lenses are for.
        unit: of poses and objects.
        up: of the frame, (3,); None: found from the cameras and the fused floor.
        film: a video, whose frames the shots number.
        depth_m: number of a shot -> depth (h, w), metres, NaN where unknown; None: there is none.
        objects: boxes in the frame, ``turn_deg`` unset; ``complete`` is of them.
        remarks: for people.
    """

    place: Path
    shots: Sequence[CapturedFrame]
    size: tuple[int, int]
    unit: Unit = "m"
    up: FloatArray | None = None
    film: Path | None = None
    depth_m: Callable[[int], FloatArray | None] | None = None
    objects: tuple[LabelledBox, ...] = ()
    complete: bool | tuple[str, ...] = False
    remarks: tuple[str, ...] = field(default=())


class Converter:
    """One format of captures or annotations: a class, and a line in `registry`.

    Attributes:
        name: by which it is called.
        about: what it reads, in one line.
        real: the real files that it was tried on; None: made files alone, which follow the published conventions.
        needs: the files, and the folders (with a slash at the end), that show a folder to be a scene.
    """

    name: str
    about: str
    real: str | None = None
    needs: tuple[str, ...] = ()

    def places(self, source: Path) -> Sequence[Path]:
        """The folders or files, ``source`` among them or below it, that hold one scene each; none: another format."""
        return [folder for folder in folders_of(source) if self.is_scene(folder)]

    def is_scene(self, folder: Path) -> bool:
        """Whether a folder holds a scene."""
        return all((folder / n).is_dir() if n.endswith("/") else (folder / n).is_file() for n in self.needs)

    def capture(self, place: Path) -> Capture:
        """What a scene's files hold, of a format of captures. Raises RawDataError."""
        raise NotImplementedError

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """Writes a scene's files into an empty folder, and gives its document. Raises RawDataError."""
        return write_capture(self.capture(place), folder)


def write_capture(capture: Capture, folder: Path) -> SceneDocument:
    """Writes pictures, depth and the fused mesh of a capture into a folder, upright; gives the document.

    The floor is at z = 0 where it was found. Raises RawDataError where no pose is one.
    """
    remarks = list(capture.remarks)
    numbers, pose = usable_poses(capture, remarks)
    up = capture.up if capture.up is not None else _up_of_cameras(pose)
    world_T_file, raw = _upright(up), pose
    pose = world_T_file @ raw
    fused = _fused(capture, numbers, pose)
    if fused is not None:
        if capture.up is None:
            more = _upright(find_up(fused.vertices, fused.faces, np.array([0.0, 0.0, 1.0])))
            world_T_file, fused = more @ world_T_file, fused._replace(vertices=fused.vertices @ more[:3, :3].T)
        pose = world_T_file @ raw
        floor = find_floor(fused.vertices, fused.faces, float(np.median(pose[:, 2, 3])))
        if floor is None:
            remarks.append("no floor was found below the camera: heights begin where the capture did")
        else:
            world_T_file[2, 3] -= floor
            pose[:, 2, 3] -= floor
            fused = fused._replace(vertices=fused.vertices - [0, 0, floor])
        write_atomically(folder / MESH, fused.as_ply())
    return SceneDocument(
        format="scan2qa-scene",
        version=1,
        unit=capture.unit,
        up="z",
        handedness="right",
        complete=capture.complete,
        objects=tuple(moved(item, world_T_file) for item in capture.objects),
        mesh=None if fused is None else MESH,
        camera=written_camera(capture, numbers, pose, folder),
        remarks=tuple(remarks),
    )


def usable_poses(capture: Capture, remarks: list[str]) -> tuple[list[int], FloatArray]:
    """The numbers of the frames with a pose, and these (N, 4, 4). Adds a remark of those without.

    Raises:
        RawDataError: no pose is one, or a lens does not fit its pictures.
    """
    posed = [i for i, shot in enumerate(capture.shots) if shot.world_T_camera is not None]
    pose = np.array([capture.shots[i].world_T_camera for i in posed], dtype=float).reshape(-1, 4, 4)
    good = check_poses(pose).good
    if not good.any():
        message = f"none of {len(capture.shots)} frames has a pose that is a rotation and a shift"
        raise RawDataError(capture.place, "no_usable_frames", message, "capture it again, or export it with poses")
    for shot in capture.shots:
        _check_lens(capture, shot)
    curved = max(border_px(capture.size, shot.lens, shot.distortion) for shot in capture.shots)
    if curved > CURVED_MAX * max(capture.size):
        message = f"the lens moves the border of its pictures by {curved:.0f} of {max(capture.size)} pixels (limit "
        message += f"{CURVED_MAX:.0%}): that is a fisheye, or the numbers are none"
        raise RawDataError(capture.place, "bad_intrinsics", message, "undistort the pictures first (COLMAP does)")
    if curved > STRAIGHT_PX:
        remarks.append(f"the lens moves the border by up to {curved:.1f} pixels: pictures are written undistorted")
    lost = len(capture.shots) - int(good.sum())
    if lost:
        remarks.append(f"{lost} of {len(capture.shots)} frames have no usable pose: they are shown, and not examined")
    return [i for i, g in zip(posed, good, strict=True) if g], pose[good]


def written_camera(capture: Capture, numbers: Sequence[int], pose: FloatArray, folder: Path) -> CaptureCamera:
    """Copies film or pictures and depth into a folder; the camera with a pose (N, 4, 4) of each frame numbered."""
    poses = dict(zip(numbers, pose.round(9).tolist(), strict=True))
    frames = [
        PosedFrame(
            time_s=round(shot.time_s, 6),
            number=shot.number,
            color=None if shot.color is None else _picture(capture, shot, folder, f"color/{i:06d}"),
            depth=_write_depth(capture, i, folder),
            world_T_camera=poses.get(i),
            intrinsics=shot.lens if shot.lens != capture.shots[0].lens else None,
        )
        for i, shot in enumerate(capture.shots)
    ]
    return CaptureCamera(
        axes="opencv",
        width=capture.size[0],
        height=capture.size[1],
        intrinsics=capture.shots[0].lens,
        film=None if capture.film is None else copied(capture.film, folder, "film"),
        frames=tuple(frames),
    )


def _check_lens(capture: Capture, shot: CapturedFrame) -> None:
    fx, fy, cx, cy = shot.lens
    sound = np.isfinite(shot.lens).all() and np.isfinite(shot.time_s) and min(fx, fy) > 0
    if not (sound and 0 < cx < capture.size[0] and 0 < cy < capture.size[1]):
        message = f"fx {fx:g}, fy {fy:g}, cx {cx:g}, cy {cy:g} at {shot.time_s:g} s do not fit {capture.size} pixels"
        raise RawDataError(capture.place, "bad_intrinsics", message, "export the capture again")


def moved(item: LabelledBox, world_T_file: FloatArray) -> LabelledBox:
    """A box in another right-handed frame."""
    rows = np.array(item.axes or np.eye(3)) @ world_T_file[:3, :3].T
    center = world_T_file[:3, :3] @ np.array(item.center) + world_T_file[:3, 3]
    fields = item.model_dump() | {"center": center.round(6).tolist(), "axes": rows.round(9).tolist()}
    return LabelledBox.model_validate(fields)


def copied(path: Path, folder: Path, name: str) -> str:
    """Copies a file below a folder under a new name with its own suffix; that name. Raises RawDataError."""
    target = folder / f"{name}{path.suffix.lower()}"
    try:
        if size_of_file(path) > MAX_FILE_BYTES:
            raise RawDataError(path, "file_too_large", f"over {MAX_FILE_BYTES} bytes", "is this the right file?")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    except OSError as error:
        raise RawDataError(path, "unreadable_file", str(error.strerror), "make the file readable") from error
    return target.relative_to(folder).as_posix()


def _fused(capture: Capture, usable: list[int], pose: FloatArray) -> FusedMesh | None:
    depth_m, step = capture.depth_m, -(-len(usable) // FUSED_MAX)
    if depth_m is None or capture.unit != "m":
        return None

    def views() -> Any:
        for place in range(0, len(usable), step):
            shot, depth = capture.shots[usable[place]], depth_m(usable[place])
            if depth is not None:
                color = None if shot.color is None else color_file(shot.color)
                yield DepthView.of(depth, color, shot.lens, capture.size, pose[place])

    return fuse(views())


def _up_of_cameras(pose: FloatArray) -> FloatArray:
    """The direction in which most cameras' pictures have their top, or their left or right where they were held so."""
    means = np.stack([-pose[:, :3, 1].mean(axis=0), pose[:, :3, 0].mean(axis=0), -pose[:, :3, 0].mean(axis=0)])
    return np.asarray(means[int(np.linalg.norm(means, axis=1).round(6).argmax())])


def _upright(up: FloatArray) -> FloatArray:
    """The smallest turn (4, 4) that takes a direction to z."""
    from scipy.spatial.transform import Rotation  # takes half a second

    result = np.eye(4)
    up = up / np.linalg.norm(up)
    axis = np.cross(up, [0.0, 0.0, 1.0])
    length = float(np.linalg.norm(axis))
    if length > 1e-9:
        result[:3, :3] = Rotation.from_rotvec(axis / length * np.arctan2(length, up[2])).as_matrix()
    elif up[2] < 0:
        result[:3, :3] = np.diag([1.0, -1.0, -1.0])
    return result


def _picture(capture: Capture, shot: CapturedFrame, folder: Path, name: str) -> str | None:
    """A frame's picture below a folder: its file, or what a straight lens makes of it; None where it is unreadable."""
    if shot.color is None or border_px(capture.size, shot.lens, shot.distortion) <= STRAIGHT_PX:
        return None if shot.color is None else copied(shot.color, folder, name)
    color = color_file(shot.color)
    if color is None:
        return None
    fx, fy, cx, cy = shot.lens
    across, down = color.shape[1] / capture.size[0], color.shape[0] / capture.size[1]
    straight = straightened(color, (fx * across, fy * down, cx * across, cy * down), shot.distortion)
    write_atomically(folder / f"{name}.jpg", jpeg_bytes(straight, QUALITY))
    return f"{name}.jpg"


def _write_depth(capture: Capture, i: int, folder: Path) -> str | None:
    depth = None if capture.depth_m is None else capture.depth_m(i)
    if depth is None:
        return None
    millimetres = np.nan_to_num(depth * 1000, nan=0.0, posinf=0.0)
    numbers = np.where((millimetres > 0) & (millimetres < DEPTH_MAX_MM), np.round(millimetres), 0).astype(np.uint16)
    out = io.BytesIO()
    Image.fromarray(numbers).save(out, "PNG", compress_level=1)
    name = f"depth/{i:06d}.png"
    write_atomically(folder / name, out.getvalue())
    return name
