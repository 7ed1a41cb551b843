"""Hypersim: rendered rooms with a camera path each, distances and instance boxes (HDF5, read by h5py).

A scene is one camera of ``ai_VVV_NNN``. Lengths are in asset units, whose metres ``_detail/metadata_scene.csv`` or the
table of cameras states; of pictures ``depth_meters`` is the distance to the lens, in metres. Keyframes map camera to
world, z up, in a camera that looks along -z with y up. ``M_cam_from_uv`` of ``metadata_camera_parameters.csv`` gives
rays of pictures from -1 to 1, u right and v up; where a lens is shifted it is no diagonal, and its QR factors are the
turn of an upright pinhole and that pinhole's own matrix. Boxes have a row per instance, extents in full along axes
that the columns of ``orientations`` give. Labels are those of NYU40. Roberts et al., "Hypersim" (ICCV 2021), and the
README of apple/ml-hypersim.
"""

import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError, is_installed, missing
from pipeline.core.groups import grouped
from pipeline.formats.images import MAX_PIXELS
from pipeline.formats.scene_folder import UNTRIED, SceneDocument
from pipeline.worlds.indoor.converters.annotated import SOME, AnnotatedBoxes, annotated_scene, shown
from pipeline.worlds.indoor.converters.capture import UP_AXES, Capture, CapturedFrame, Converter, write_capture
from pipeline.worlds.indoor.converters.rgbd import orthonormal
from pipeline.worlds.indoor.converters.texts import bytes_of, folders_of, numbers_from, pinhole_of, size_from, table_of

POSITIONS: Final = "camera_keyframe_positions.hdf5"
BOXES: Final = "metadata_semantic_instance_bounding_box_object_aligned_2d_{}.hdf5"
PICTURES: Final = ("final_preview/frame.{:04d}.tonemap.jpg", "final_preview/frame.{:04d}.color.jpg")
DEPTH: Final = "geometry_hdf5/frame.{:04d}.depth_meters.hdf5"
LENS: Final = tuple(f"M_cam_from_uv_{row}{column}" for row in range(3) for column in range(3))
SIZE: Final = ("settings_output_img_width", "settings_output_img_height")
SCALE: Final = "settings_units_info_meters_scale"
SCALES_APART: Final = 0.01  # of the two files that state it
SKEW_PX: Final = 1.0  # over a picture's height: less is a pinhole
SECONDS: Final = 0.5  # that a picture is shown; paths have no clock
MOST_BYTES: Final = 64 * 2**20
AGAIN: Final = "fetch the scene again (apple/ml-hypersim)"
PARAMETERS: Final = "put metadata_camera_parameters.csv (apple/ml-hypersim, contrib/mikeroberts3000) beside the scenes"
UNSEEN: Final = f"the convention of boxes {UNTRIED}: look at the findings"
NO_BOXES: Final = "there are no boxes of instances (_detail/mesh): draw them with scan2qa label"
NO_PICTURES: Final = "none of the camera's pictures is here (images/scene_cam_*_final_preview)"
NYU40: Final = (
    *("wall", "floor", "cabinet", "bed", "chair", "sofa", "table", "door", "window", "bookshelf", "picture", "counter"),
    *("blinds", "desk", "shelves", "curtain", "dresser", "pillow", "mirror", "floor mat", "clothes", "ceiling"),
    *("books", "refrigerator", "television", "paper", "towel", "shower curtain", "box", "whiteboard", "person"),
    *("night stand", "toilet", "sink", "lamp", "bathtub", "bag", "other", "other", "other"),
)  # from 1; the last three are otherstructure, otherfurniture and otherprop
GROUPS: Final = frozenset({"books", "clothes"})  # what one instance may hold any number of


class Hypersim(Converter):
    """Scenes of Hypersim, one for each camera."""

    name = "hypersim"
    about = "ai_VVV_NNN/ with _detail/ and images/ (Hypersim; needs h5py): camera paths, depth, boxes of instances"
    real = "ai_037_002's camera path, lens and a depth image (no boxes, no pictures)"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`: a scene is its folder's path with the names of both below it."""
        cameras = [path for f in folders_of(source) for path in sorted(f.glob(f"_detail/cam_*/{POSITIONS}"))]
        return [p.parents[2] / f"{p.parents[2].resolve().name}_{p.parent.name}" for p in cameras]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        scene = place.parent
        camera = place.name.removeprefix(f"{scene.resolve().name}_")
        path, meta = _parameters(scene)
        scale = _metres_per_unit(scene, path, meta)
        size = size_from(path, *(meta.get(key) for key in SIZE))
        turn, matrix = pinhole(path, numbers_from(path, [meta.get(key) for key in LENS], 9, "M_cam_from_uv"), size)
        found = _boxes(scene / "_detail/mesh", scale)
        document = None
        if found is not None:
            boxes, remarks = found
            document = annotated_scene(scene, boxes, complete=False, remarks=(SOME, UNSEEN, *remarks))
        frames = _frames(scene, camera, scale, turn)
        if not frames:
            if document is None:
                raise RawDataError(scene, "no_readable_picture", f"{NO_PICTURES}, nor boxes", AGAIN)
            return document.model_copy(update={"remarks": (*document.remarks, NO_PICTURES)})
        inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        lens = pinhole_of(matrix)
        capture = Capture(
            place=scene,
            shots=[
                orthonormal(CapturedFrame(number * SECONDS, pose, lens, color))
                for number, (pose, color, _) in enumerate(frames)
            ],
            size=size,
            up=np.array(UP_AXES["z"]),
            depth_m=lambda number: _depth(frames[number][2], inverse, size),
            objects=document.objects if document else (),
            remarks=(
                *(document.remarks if document else (NO_BOXES,)),
                f"pictures without a clock: each is shown for {SECONDS:g} s",
            ),
        )
        return write_capture(capture, folder)


def pinhole(path: Path, cam_from_uv: FloatArray, size: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """The lens (9,) of rays by u and v as a turned pinhole: cam_R_pinhole (3, 3) in OpenCV's axes, and K (3, 3).

    Raises:
        RawDataError: it is none (``bad_intrinsics``).
    """
    uv_from_px = np.array([[2 / size[0], 0, -1], [0, -2 / size[1], 1], [0, 0, 1]])
    with np.errstate(over="ignore", invalid="ignore"):
        rays = cam_from_uv.reshape(3, 3) @ uv_from_px
        volume = np.linalg.det(rays) if np.isfinite(rays).all() else np.nan
    if not 1e-12 < volume < 1e6:  # of the default lens 1.3e-6
        message = f"M_cam_from_uv is no lens (determinant {volume:.3g})"
        raise RawDataError(path, "bad_intrinsics", message, PARAMETERS)
    turn, upper = np.linalg.qr(rays)
    signs = np.sign(np.diag(upper))
    turn, upper = turn * signs, upper * signs[:, None]
    matrix = np.linalg.inv(upper / upper[2, 2])
    skew = abs(matrix[0, 1] / matrix[1, 1]) * size[1]
    if not skew <= SKEW_PX:
        message = f"a column of pixels leans by {skew:.1f} pixels over the picture (limit {SKEW_PX:g})"
        raise RawDataError(path, "bad_intrinsics", message, "leave the scene out")
    return turn, matrix


def _parameters(scene: Path) -> tuple[Path, dict[str, str]]:
    """The scene's row of the table of cameras. Raises RawDataError."""
    name = scene.resolve().name
    paths = sorted(p for f in (scene, scene.parent) for p in f.glob("metadata_camera_parameters*.csv"))
    for path in paths:
        header, rows = table_of(path)
        for row in rows:
            fields = dict(zip(header, row, strict=False))
            if fields.get("scene_name") == name:
                return path, fields
    what = f"{shown(p.name for p in paths)} has no row {name}" if paths else "nothing states the lens and the unit"
    raise RawDataError(paths[0] if paths else scene, "missing_file", what, PARAMETERS)


def _metres_per_unit(scene: Path, path: Path, parameters: dict[str, str]) -> float:
    scale = float(numbers_from(path, [parameters.get(SCALE)], 1, SCALE)[0])
    own = scene / "_detail/metadata_scene.csv"
    if own.is_file():
        value = next((row[1] for row in table_of(own)[1] if len(row) > 1 and row[0] == "meters_per_asset_unit"), None)
        other = float(numbers_from(own, [value], 1, "meters_per_asset_unit")[0])
        if not abs(other - scale) <= SCALES_APART * abs(scale):
            message = f"a unit is {other:g} m by {own.name}, {scale:g} m by {path.name}"
            raise RawDataError(own, "scale_unknown", message, AGAIN)
    if not 1e-6 < scale < 1e3:
        raise RawDataError(path, "scale_unknown", f"{SCALE} is {scale:g} m", AGAIN)
    return scale


def _array(path: Path, shape: tuple[int | None, ...]) -> FloatArray:
    """The numbers of a file, of a shape whose None may be any. Raises RawDataError, ConfigError."""
    numbers = _dataset(path, bytes_of(path, MOST_BYTES, AGAIN))
    fits = numbers.ndim == len(shape) and all(n in {None, m} for n, m in zip(shape, numbers.shape, strict=True))
    if not (fits and numbers.size and numbers.dtype.kind in "iuf"):
        wanted = " x ".join("any" if n is None else str(n) for n in shape)
        message = f"numbers {wanted} are needed, found {numbers.dtype} {numbers.shape}"
        raise RawDataError(path, "wrong_shape", message, AGAIN)
    return np.asarray(numbers, dtype=np.float64)


def _dataset(path: Path, raw: bytes) -> npt.NDArray[Any]:
    """The array ``dataset`` of a file; what lies in other files is not followed."""
    if not is_installed("h5py"):
        raise missing("h5py", "convert hypersim")
    import h5py  # an extra

    try:
        with h5py.File(io.BytesIO(raw), "r") as file:
            hard = isinstance(file.get("dataset", getlink=True), h5py.HardLink)
            found: Any = file["dataset"] if hard else None
            own = isinstance(found, h5py.Dataset) and not found.is_virtual and not found.external
            if own and found.size and found.size <= MAX_PIXELS:
                return np.asarray(found[...])
    except Exception as error:  # h5py's are of many kinds
        raise RawDataError(path, "wrong_type", f"HDF5: {error}"[:200], AGAIN) from error
    message = f"there is no array 'dataset' of up to {MAX_PIXELS:,} numbers in the file itself"
    raise RawDataError(path, "wrong_type", message, AGAIN)


def _boxes(mesh: Path, scale: float) -> tuple[AnnotatedBoxes, list[str]] | None:
    """Boxes of the labelled instances in metres, and remarks; None where there are none."""
    if not (mesh / BOXES.format("positions")).is_file():
        return None
    instance, label = (_array(mesh / f"mesh_objects_{key}.hdf5", (None, 1))[:, 0] for key in ("sii", "si"))
    header, rows = table_of(mesh / "metadata_objects.csv")
    if not len(instance) == len(label) == len(rows) or header[:1] != ["object_name"]:
        message = f"{len(rows)} names of meshes, {len(instance)} instances, {len(label)} labels"
        raise RawDataError(mesh, "wrong_shape", message, AGAIN)
    center = _array(mesh / BOXES.format("positions"), (None, 3)) * scale
    size = _array(mesh / BOXES.format("extents"), (len(center), 3)) * scale
    columns = _array(mesh / BOXES.format("orientations"), (len(center), 3, 3))
    most = instance.max()
    if not (most < len(center) and np.isin(label, np.arange(-1, len(NYU40) + 1)).all()):
        message = f"instances up to {most:g} of {len(center)} boxes, labels up to {label.max():g} of {len(NYU40)}"
        raise RawDataError(mesh, "wrong_shape", message, AGAIN)
    meshes = grouped(np.flatnonzero(instance >= 0).tolist(), lambda number: int(instance[number]))
    labels, kept, several = [], [], Counter[str]()
    for own, parts in sorted(meshes.items()):
        classes = {int(label[i]) for i in parts}
        if len(classes) > 1 or min(classes) < 1:
            continue  # without a label, or with two
        name = NYU40[min(classes) - 1]
        stems = Counter(re.sub(r"\d+$", "", rows[i][0]) for i in parts)
        if name in GROUPS or max(stems.values()) > 1:
            several[name] += 1
            continue
        labels.append(name)
        kept.append(own)
    repeated = shown(f"{name} ({count})" for name, count in sorted(several.items()))
    remarks = [f"instances that may hold several things were left out: {repeated}"] if several else []
    return AnnotatedBoxes(labels, center[kept], size[kept], columns[kept].transpose(0, 2, 1)), remarks


def _frames(scene: Path, camera: str, scale: float, turn: FloatArray) -> list[tuple[FloatArray, Path | None, Path]]:
    """Pose (4, 4) in OpenCV's axes, picture and depth of each keyframe that has one of them."""
    path = scene / "_detail" / camera
    position = _array(path / POSITIONS, (None, 3))
    world_R_camera = _array(path / "camera_keyframe_orientations.hdf5", (len(position), 3, 3))
    named = path / "camera_keyframe_frame_indices.hdf5"
    numbers = _array(named, (len(position),)) if named.is_file() else np.arange(len(position))
    images = scene / f"images/scene_{camera}_"
    result = []
    for number, center, rotation in zip(numbers.tolist(), position, world_R_camera, strict=True):
        if not 0 <= number < 1e6:
            raise RawDataError(named, "wrong_type", f"{number:g} is no frame", AGAIN)
        paths = [Path(f"{images}{name.format(int(number))}") for name in (*PICTURES, DEPTH)]
        color = next((p for p in paths[:-1] if p.is_file()), None)
        if color is None and not paths[-1].is_file():
            continue
        pose = np.eye(4)
        with np.errstate(over="ignore", invalid="ignore"):
            pose[:3, :3], pose[:3, 3] = rotation @ turn, center * scale
        result.append((pose, color, paths[-1]))
    return result


def _depth(path: Path, inverse: FloatArray, size: tuple[int, int]) -> FloatArray | None:
    """Depth (h, w) along the axis, metres, of distances to the lens; None without a file."""
    if not path.is_file():
        return None
    distance = _array(path, (None, None))
    high, wide = distance.shape
    y, x = np.mgrid[:high, :wide] + 0.5
    middles = np.stack([x * (size[0] / wide), y * (size[1] / high), np.ones(distance.shape)], axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(distance / np.linalg.norm(middles @ inverse.T, axis=-1))
