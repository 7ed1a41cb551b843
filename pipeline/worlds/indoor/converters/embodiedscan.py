"""EmbodiedScan's ``embodiedscan_infos_*.pkl``: boxes over ScanNet, 3RScan and Matterport3D, read without unpickling.

``data_list`` holds a scene each: ``axis_align_matrix`` (aligned <- scan), ``instances`` whose ``bbox_3d`` is x y z,
three sides and Euler angles about Z, X, Y (intrinsic, radians) in the aligned frame, and ``images`` with ``cam2global``
(camera-to-world of the scan's frame, OpenCV's axes). ``metainfo.categories`` names the labels. Metres, z up. Pictures
and depth lie where the datasets put them, below the folder of the file; without them there are boxes alone.
Wang et al., "EmbodiedScan" (CVPR 2024); conventions as in its own loader and ``euler_angles_to_matrix(…, "ZXY")``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import FormatError, RawDataError
from pipeline.formats.images import size_of
from pipeline.formats.pickles import read_pickle
from pipeline.formats.scene_folder import SceneDocument
from pipeline.worlds.indoor.converters.annotated import SOME, AnnotatedBoxes, annotated_scene
from pipeline.worlds.indoor.converters.capture import UP_AXES, Capture, CapturedFrame, Converter, write_capture
from pipeline.worlds.indoor.converters.rgbd import depth_png, orthonormal
from pipeline.worlds.indoor.converters.scanned_houses import depth_pgm
from pipeline.worlds.indoor.converters.texts import (
    bytes_of,
    entries_of,
    euler_rotations,
    kept_until_changed,
    numbers_from,
    one_file,
    pinhole_of,
    places_in,
)

PICKLE: Final = "embodiedscan_infos_*.pkl"
MOST_BYTES: Final = 2**30
STEPS_MAX, PARTS_MAX = 150_000_000, 12_000_000  # 50 scenes of 220 frames take 1 s, 27 MiB and 0.1 of a million parts
PER_M: Final = {"matterport3d": 4000.0}  # of depth pictures; of the others 1000
SECONDS: Final = 0.5  # that a picture is shown: of films every tenth or so was kept, photographs have no clock
BOX: Final = 9
AGAIN: Final = "fetch the file again; is it one of EmbodiedScan's?"
SMALLER: Final = "take scenes out of data_list where you trust the file, and pickle these"
NO_PICTURES: Final = "none of the pictures is here: put scannet/, 3rscan/ or matterport3d/ beside the file"


class EmbodiedScan(Converter):
    """Annotations of EmbodiedScan."""

    name = "embodiedscan"
    about = "embodiedscan_infos_*.pkl (EmbodiedScan; never unpickled): boxes, film and depth where its datasets are"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`: a scene is the file's path with its name below it."""
        if source.is_file():
            return places_in(source, _names) if source.suffix == ".pkl" else []
        return [place for path in sorted(source.glob(PICKLE)) for place in places_in(path, _names)]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place if place.is_file() else place.parent
        scenes, labels = _infos(path)
        if place.is_file():
            raise RawDataError(path, "empty_annotation", "data_list is empty", AGAIN)
        info = scenes[place.name]
        align = _matrix(place, info.get("axis_align_matrix"), "axis_align_matrix")
        items = entries_of(place, info, "instances")
        rows = [numbers_from(place, item.get("bbox_3d"), BOX, "bbox_3d").tolist() for item in items]
        numbers = np.array(rows).reshape(-1, BOX)
        boxes = AnnotatedBoxes(
            labels=[_label(place, labels, item.get("bbox_label_3d")) for item in items],
            center=numbers[:, :3],
            size=numbers[:, 3:6],
            axes=euler_rotations("ZXY", numbers[:, 6:]).transpose(0, 2, 1),
        )
        document = annotated_scene(place, boxes, complete=False, remarks=(SOME,))
        capture = _capture(path.parent, place, info, align, document)
        if capture is None:
            return document.model_copy(update={"remarks": (*document.remarks, NO_PICTURES)})
        return write_capture(capture, folder)


def _names(path: Path) -> Iterable[str]:
    return _infos(path)[0]


@kept_until_changed
def _infos(path: Path) -> tuple[dict[str, dict[str, Any]], dict[int, str]]:
    """The scenes by name, and the names of labels. Raises RawDataError."""
    try:
        document = read_pickle(bytes_of(path, MOST_BYTES), (), STEPS_MAX, PARTS_MAX)
    except FormatError as error:
        remedy = SMALLER if error.finding == "pickle_too_large" else AGAIN
        raise RawDataError(path, error.finding, error.message, remedy) from error
    meta = document.get("metainfo") if isinstance(document, dict) else None
    categories = meta.get("categories") if isinstance(meta, dict) else None
    if not isinstance(categories, dict):
        raise RawDataError(path, "missing_key", "there is no metainfo with categories", AGAIN)
    labels = {number: str(name) for name, number in categories.items() if isinstance(number, int)}
    scenes: dict[str, dict[str, Any]] = {}
    for number, info in enumerate(entries_of(path, document, "data_list")):
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(info.get("sample_idx", number))).strip("-") or str(number)
        if name in scenes:
            raise RawDataError(path, "duplicate_scene", f"{name} is there twice", AGAIN)
        scenes[name] = info
    return scenes, labels


def _label(place: Path, labels: dict[int, str], number: Any) -> str:
    key = numbers_from(place, [number], 1, "bbox_label_3d")[0]
    if not np.isfinite(key) or int(key) not in labels:
        raise RawDataError(place, "unknown_label", f"metainfo names no category {number!r}"[:200], AGAIN)
    return labels[int(key)]


def _matrix(place: Path, value: Any, what: str) -> FloatArray:
    return numbers_from(place, value, 16, what).reshape(4, 4)


def _capture(
    root: Path, place: Path, info: dict[str, Any], align: FloatArray, document: SceneDocument
) -> Capture | None:
    """The pictures that are there, posed in the aligned frame; None without one."""
    frames = []
    for image in entries_of(place, info, "images"):
        paths = [image.get(key) for key in ("img_path", "depth_path")]
        color, depth = (one_file(root, name) if isinstance(name, str) else None for name in paths)
        if color is not None:
            frames.append((image, color, depth))
    size = next((s for _, color, _ in frames if (s := size_of(color)) is not None), None)
    if size is None:
        return None
    dataset = place.name.partition("-")[0]
    shots = []
    for number, (image, color, _) in enumerate(frames):
        lens = _matrix(place, image.get("cam2img", info.get("cam2img")), "cam2img")
        with np.errstate(over="ignore", invalid="ignore"):
            pose = align @ _matrix(place, image.get("cam2global"), "cam2global")
        shots.append(orthonormal(CapturedFrame(number * SECONDS, pose, pinhole_of(lens), color)))
    per_m = PER_M.get(dataset, 1000.0)

    def depth_m(number: int) -> FloatArray | None:
        path = frames[number][2]
        if path is None:
            return None
        return depth_pgm(path, per_m) if path.suffix == ".pgm" else depth_png(path, per_m)

    clock = f"pictures without a clock: each is shown for {SECONDS:g} s"
    return Capture(
        place,
        shots,
        size,
        up=np.array(UP_AXES["z"]),
        depth_m=depth_m,
        objects=document.objects,
        complete=document.complete,
        remarks=(*document.remarks, clock),
    )
