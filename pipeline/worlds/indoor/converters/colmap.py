"""COLMAP models as text or binary: photographs with poses, whose scale and axes nobody measured.

``images`` has world-to-camera, the quaternion's scalar first, two lines per image in the text. The unit of a model is
never metres by itself; which way is up, the photographs tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file
from pipeline.formats.colmap import ColmapError, ColmapViews, parse_binary_views, parse_views
from pipeline.formats.scene_folder import SceneDocument
from pipeline.worlds.indoor.converters.capture import Capture, CapturedFrame, write_capture
from pipeline.worlds.indoor.converters.nerfstudio import SECONDS, UNMEASURED
from pipeline.worlds.indoor.converters.texts import MOST_BYTES, folders_of, one_file, text_of

MODELS: Final = ("sparse/0", "sparse", ".")  # of a project, where the model lies
PICTURES: Final = ("images", ".", "../images", "../../images")
FISHEYE: Final = "fisheye pictures: colmap image_undistorter makes straight ones"


class Colmap:
    """A model with its pictures."""

    name = "colmap"
    about = "cameras, images (.txt or .bin) of a COLMAP model with its pictures, in an unknown unit"
    real: str | None = "kapture's maupertuis (4 pictures)"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`."""
        return [folder for folder in folders_of(source) if _model(folder) is not None and folder.name != "sparse"]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        model = _model(place)
        if model is None:
            raise RawDataError(place, "missing_file", "there is no cameras and images", "export the model again")
        views = _views(model)
        order = sorted(range(len(views.names)), key=lambda i: views.names[i])
        found = {i: path for i in order if (path := _picture(place, model.parent, views.names[i])) is not None}
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
                _four(views.intrinsics[i].tolist()),
                found[i],
                distortion=_four(views.distortion[i].tolist()),
            )
            for k, i in enumerate(found)
        ]
        remarks = [UNMEASURED, f"photographs without times: each is shown for {SECONDS:g} s, in order of their names"]
        if len(found) < len(order):
            remarks.append(f"{len(order) - len(found)} of {len(order)} images have no picture here, and were left out")
        size = sizes.pop()
        made_by = f"scan2qa convert {self.name}"
        capture = Capture(place, made_by, shots, (size[0], size[1]), "unknown", remarks=tuple(remarks))
        return write_capture(capture, folder)


def _four(lens: list[float]) -> tuple[float, float, float, float]:
    fx, fy, cx, cy = lens
    return fx, fy, cx, cy


def _model(place: Path) -> Path | None:
    """``images.txt`` or ``images.bin`` of a project whose cameras are beside it."""
    paths = (place / model / f"images.{kind}" for model in MODELS for kind in ("txt", "bin"))
    return next((p for p in paths if p.is_file() and p.with_name(f"cameras{p.suffix}").is_file()), None)


def _views(images: Path) -> ColmapViews:
    cameras = images.with_name(f"cameras{images.suffix}")
    try:
        if images.suffix == ".bin":
            views = parse_binary_views(read_file(cameras, MOST_BYTES), read_file(images, MOST_BYTES))
        else:
            views = parse_views(text_of(cameras), text_of(images))
    except ColmapError as error:
        raise RawDataError(images, "bad_colmap", str(error), "export the model again") from error
    except OSError as error:
        raise RawDataError(images, "unreadable_file", str(error.strerror), "make the file readable") from error
    if views.is_fisheye:
        raise RawDataError(images, "bad_colmap", "the camera is a fisheye", FISHEYE)
    if not views.names:
        raise RawDataError(images, "bad_colmap", "the model has no images", "export the model again")
    return views


def _picture(place: Path, model: Path, name: str) -> Path | None:
    roots = (place / "images", place, model, model.parent)
    return next((path for root in roots if root.is_dir() and (path := one_file(root, name)) is not None), None)
