"""Photographs with poses, whose scale nobody measured: nerfstudio and COLMAP."""

import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.errors import RawDataError, faults_of
from pipeline.formats.colmap import ColmapViews, parse_binary_views, parse_views
from pipeline.worlds.indoor.converters.capture import UP_AXES, Capture, CapturedFrame, Converter, Distortion
from pipeline.worlds.indoor.converters.texts import (
    bytes_of,
    entries_of,
    lens_of,
    numbers_from,
    object_of,
    one_file,
    opencv_camera,
    size_from,
    text_of,
)

TRANSFORMS: Final = "transforms.json"
LENS: Final = ("fl_x", "fl_y", "cx", "cy")
CURVED: Final = ("k1", "k2", "p1", "p2")
HIGHER: Final = ("k3", "k4")
PINHOLES: Final = (None, "OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL")
SECONDS: Final = 0.5  # that a photograph is shown
UNMEASURED: Final = "nothing says how long a metre is: measure one length, scale the numbers and set unit to m"


class Nerfstudio(Converter):
    """nerfstudio's (and instant-ngp's) ``transforms.json``: photographs with poses, whose scale nobody measured.

    ``transform_matrix`` is camera-to-world in OpenGL's camera (y up, looks along -z), the world's z is up. Lens and
    size stand at the top or in each frame. Nothing says metres: the scene is written in an unknown unit.
    """

    name = "nerfstudio"
    needs = (TRANSFORMS,)
    about = "transforms.json with its pictures (nerfstudio, instant-ngp), in an unknown unit"
    real = "instant-ngp's fox (50 pictures)"

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        path = place / TRANSFORMS
        document = object_of(path)
        model = document.get("camera_model")
        if model not in PINHOLES:
            message = f"camera_model is {model!r}; read are pinhole cameras"
            raise RawDataError(path, "bad_intrinsics", message, "undistort the pictures: ns-process-data does it")
        frames = sorted(entries_of(path, document, "frames"), key=lambda frame: str(frame.get("file_path")))
        shots: list[CapturedFrame] = []
        missing = 0
        for frame in frames:
            picture = _picture(place, frame)
            if picture is None:
                missing += 1
                continue
            pose = numbers_from(path, frame.get("transform_matrix"), 16, "transform_matrix").reshape(4, 4)
            time_s = len(shots) * SECONDS
            own = document | frame
            shots.append(
                CapturedFrame(time_s, opencv_camera(pose), _lens(path, own), picture, distortion=_distortion(path, own))
            )
        if not shots:
            message = f"none of the pictures of {len(frames)} frames is here"
            raise RawDataError(path, "no_readable_picture", message, "put the pictures beside the file")
        remarks = [UNMEASURED, f"photographs without times: each is shown for {SECONDS:g} s, in order of their names"]
        if missing:
            remarks.append(f"{missing} of {len(frames)} frames have no picture here, and were left out")
        first = document | frames[0]
        size = size_from(path, first.get("w"), first.get("h"))
        up = np.array(UP_AXES["z"])
        return Capture(place, shots, size, "unknown", up, remarks=tuple(remarks))


def _distortion(path: Path, document: dict[str, Any]) -> Distortion:
    """k1, k2, p1, p2. Raises RawDataError where there is more than these."""
    k1, k2, p1, p2, k3, k4 = numbers_from(
        path, [document.get(key, 0.0) for key in (*CURVED, *HIGHER)], 6, "the distortion (k1 …)"
    ).tolist()
    if k3 or k4:
        message = f"the lens is curved by k3 {k3:g}, k4 {k4:g}; read are k1, k2, p1, p2"
        raise RawDataError(path, "bad_intrinsics", message, "undistort the pictures: ns-process-data does it")
    return k1, k2, p1, p2


def _picture(place: Path, frame: dict[str, Any]) -> Path | None:
    name = frame.get("file_path")
    if not isinstance(name, str):
        raise RawDataError(place / TRANSFORMS, "wrong_type", f"file_path is {name!r}"[:200], "export the capture again")
    names = (name, f"{name}.png", f"{name}.jpg")  # of synthetic scenes without a suffix
    return next((path for n in names if (path := one_file(place, n)) is not None), None)


def _lens(path: Path, document: dict[str, Any]) -> tuple[float, float, float, float]:
    """The lens, or what the angle of view makes of it."""
    width, height = size_from(path, document.get("w"), document.get("h"))
    angle = document.get("camera_angle_x")
    if "fl_x" not in document and isinstance(angle, int | float) and 0 < angle < math.pi:
        focal = width / 2 / math.tan(angle / 2)
        document = {"fl_x": focal, "fl_y": focal, "cx": width / 2, "cy": height / 2} | document
    return lens_of(path, {"fl_y": document.get("fl_x"), "cx": width / 2, "cy": height / 2} | document, LENS)


MODEL_FOLDERS: Final = ("sparse/0", "sparse", ".")  # of a project, where the model lies
FISHEYE: Final = "fisheye pictures: colmap image_undistorter makes straight ones"


class Colmap(Converter):
    """COLMAP models as text or binary: photographs with poses, whose scale and axes nobody measured.

    ``images`` has world-to-camera, the quaternion's scalar first, two lines per image in the text. The unit of a
    model is never metres by itself; which way is up, the photographs tell.
    """

    name = "colmap"
    about = "cameras, images (.txt or .bin) of a COLMAP model with its pictures, in an unknown unit"
    real = "kapture's maupertuis (4 pictures)"

    def is_scene(self, folder: Path) -> bool:
        """See `Converter.is_scene`."""
        return _model(folder) is not None and folder.name != "sparse"

    def capture(self, place: Path) -> Capture:
        """See `Converter.capture`."""
        model = _model(place)
        if model is None:
            raise RawDataError(place, "missing_file", "there is no cameras and images", "export the model again")
        views = _views(model)
        order = sorted(range(len(views.names)), key=lambda i: views.names[i])
        found = {i: path for i in order if (path := _found_picture(place, model.parent, views.names[i])) is not None}
        if not found:
            message = f"none of the pictures of {len(order)} images is here"
            raise RawDataError(model, "no_readable_picture", message, "put them into the folder images/")
        sizes = {tuple(views.sizes[i].astype(int).tolist()) for i in found}
        if len(sizes) > 1:
            message = f"the pictures have {len(sizes)} sizes; a film has one"
            raise RawDataError(model, "bad_intrinsics", message, "keep those of one camera")
        shots = [
            CapturedFrame(
                k * SECONDS,
                views.world_T_camera[i],
                _unpack_pinhole(views.intrinsics[i].tolist()),
                found[i],
                distortion=_unpack_pinhole(views.distortion[i].tolist()),
            )
            for k, i in enumerate(found)
        ]
        remarks = [UNMEASURED, f"photographs without times: each is shown for {SECONDS:g} s, in order of their names"]
        if len(found) < len(order):
            remarks.append(f"{len(order) - len(found)} of {len(order)} images have no picture here, and were left out")
        size = sizes.pop()
        return Capture(place, shots, (size[0], size[1]), "unknown", remarks=tuple(remarks))


def _unpack_pinhole(lens: list[float]) -> tuple[float, float, float, float]:
    fx, fy, cx, cy = lens
    return fx, fy, cx, cy


def _model(place: Path) -> Path | None:
    """``images.txt`` or ``images.bin`` of a project whose cameras are beside it."""
    paths = (place / model / f"images.{kind}" for model in MODEL_FOLDERS for kind in ("txt", "bin"))
    return next((p for p in paths if p.is_file() and p.with_name(f"cameras{p.suffix}").is_file()), None)


def _views(images: Path) -> ColmapViews:
    cameras = images.with_name(f"cameras{images.suffix}")
    with faults_of(images, "export the model again"):
        if images.suffix == ".bin":
            views = parse_binary_views(bytes_of(cameras), bytes_of(images))
        else:
            views = parse_views(text_of(cameras), text_of(images))
    if views.is_fisheye:
        raise RawDataError(images, "bad_colmap", "the camera is a fisheye", FISHEYE)
    if not views.names:
        raise RawDataError(images, "bad_colmap", "the model has no images", "export the model again")
    return views


def _found_picture(place: Path, model: Path, name: str) -> Path | None:
    roots = (place / "images", place, model, model.parent)
    return next((path for root in roots if root.is_dir() and (path := one_file(root, name)) is not None), None)
