"""A panorama's picture: whether it is one that can be used, before any of its pixels is decoded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.core.findings import Findings, doubt, note
from pipeline.formats.picture_header import Header, header_of
from pipeline.formats.picture_tags import BrokenTagsError, Exif, tags_of
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import Crop, Picture
from pipeline.worlds.panorama.readers.embedded import WrongGPano, from_exif, from_gpano
from pipeline.worlds.panorama.readers.own_files import SIDECAR, OwnFiles
from pipeline.worlds.panorama.readers.told import Told

MOST_PIXELS: Final = 89_000_000  # 13,341 x 6,670; more is what Pillow takes for a bomb
MOST_BYTES: Final = 256 * 2**20
LEAST_PX: Final = 16  # high
MOST_SCANS: Final = 64  # of a progressive JPEG; each goes over the whole picture, and usual ones have ten
ASPECT_PX: Final = 2  # by which a width may differ from twice the height


class Opened(NamedTuple):
    """A picture, and what it says of itself."""

    picture: Picture
    told: tuple[Told, ...]
    raw: bytes


def open_picture(files: SceneFiles, own: OwnFiles, crop: Crop | None, findings: Findings) -> Opened:
    """The picture of a panorama, with the crop that people stated, else the one that GPano has.

    Raises:
        RawDataError: where there is none or several, or it cannot be a panorama that is decoded within limits.
    """
    path = _path(files, own)
    raw = files.raw(path)
    header = header_of(raw)
    _check_form(files, path, raw, header)
    assert header is not None  # noqa: S101 - `_check_form` raised
    told, size = [], (header.width, header.height)
    exif, gpano = _tags(path.name, raw, findings)
    if gpano is not None:
        try:
            told.append(from_gpano(gpano, size, findings))
        except WrongGPano as wrong:
            if crop is None or wrong.finding == "not_equirectangular":
                raise files.fault(path, wrong.finding, wrong.message, wrong.remedy) from wrong
            findings.add(note(wrong.finding, "picture", f"{wrong.message}; the crop of {SIDECAR} holds", wrong.remedy))
    if exif is not None:
        told.append(from_exif(exif, findings))
    crop = crop or next((source.crop for source in told if source.crop is not None), None)
    _check_shape(files, path, size, crop)
    if header.progressive:
        message = f"{path.name}: it is progressive, and takes several times the memory to decode"
        remedy = "save it as a baseline JPEG if memory is short"
        findings.add(note("progressive", "picture", message, remedy, float(header.scans), None, "scans"))
    if crop is not None:
        _say_crop(crop, size, path.name, findings)
    name = files.relative(path)
    picture = Picture(
        path=name, width=size[0], height=size[1], crop=crop, sha256=hashlib.sha256(raw).hexdigest()
    )  # fmt: skip
    return Opened(picture, tuple(told), raw)


def _tags(name: str, raw: bytes, findings: Findings) -> tuple[Exif | None, dict[str, str] | None]:
    try:
        return tags_of(raw)
    except BrokenTagsError as error:
        message = f"{name}: its metadata cannot be read: {error}"
        findings.add(doubt("metadata_unreadable", "picture", message, f"say what they say in {SIDECAR}"))
        return None, None


def _path(files: SceneFiles, own: OwnFiles) -> Path:
    if not own.pictures:
        message = "there is no picture"
        raise files.fault(files.folder, "missing_picture", message, f"add pano.jpg, or name one in {SIDECAR}")
    if len(own.pictures) > 1:
        names = ", ".join(path.name for path in own.pictures[:5])
        message = f"there are {names}, and which one is the panorama is not known"
        raise files.fault(files.folder, "several_pictures", message, f"name one as picture in {SIDECAR}, or keep one")
    return own.pictures[0]


def _check_form(files: SceneFiles, path: Path, raw: bytes, header: Header | None) -> None:
    """Raises RawDataError for what is no picture, or none that is decoded safely and truly."""
    if header is None:
        message = "this is no JPEG and no PNG, or it breaks off within its head"
        raise files.fault(path, "unreadable_picture", message, "fetch the picture again")
    size = f"{header.width} x {header.height}"
    if header.width * header.height > MOST_PIXELS:
        message = f"it is {size}, {header.width * header.height:,} pixels, over {MOST_PIXELS:,}"
        raise files.fault(path, "picture_too_large", message, "scale it down, to 8192 x 4096")
    if len(raw) > MOST_BYTES:
        message = f"it has {len(raw):,} bytes, over {MOST_BYTES:,}"
        raise files.fault(path, "picture_too_large", message, "save it as a JPEG")
    if header.height < LEAST_PX or header.width < LEAST_PX:
        raise files.fault(path, "picture_too_small", f"it is {size}, under {LEAST_PX}", "fetch it in full size")
    if header.bits != 8:
        message = f"a channel of a pixel has {header.bits} bits, not 8"
        raise files.fault(path, "not_8_bits", message, "save it with 8 bits a channel")
    if header.kind == "JPEG" and header.channels not in {1, 3}:
        message = f"it has {header.channels} channels (CMYK has four), not 3"
        raise files.fault(path, "not_rgb", message, "convert it to sRGB, and look whether the colours are right")
    if header.scans > MOST_SCANS:
        message = f"its decoder would go over it {header.scans} times, over {MOST_SCANS}"
        raise files.fault(path, "too_many_scans", message, "save it again as a baseline JPEG")
    if not header.whole:
        message = f"its end is missing; what is there has {len(raw):,} bytes"
        raise files.fault(path, "truncated_picture", message, "fetch the picture again")


def _check_shape(files: SceneFiles, path: Path, size: tuple[int, int], crop: Crop | None) -> None:
    """Raises RawDataError for what is not a whole sphere, and no part of one whose place in it is known."""
    width, height = size
    if crop is None:
        if abs(width - 2 * height) > ASPECT_PX:
            message = f"it is {width} x {height}, {width / height:.3f} times as wide as high, not 2"
            remedy = (
                f"give crop (full_width, full_height, left, top) in {SIDECAR} if it is a part of an equirectangular one"
            )
            raise files.fault(path, "not_two_to_one", message, remedy)
        return
    if crop.full_width != 2 * crop.full_height:
        message = f"the crop says that the whole sphere is {crop.full_width} x {crop.full_height}, which is not 2:1"
    elif crop.left + width > crop.full_width or crop.top + height > crop.full_height:
        message = f"{width} x {height} at {crop.left}, {crop.top} reaches beyond {crop.full_width} x {crop.full_height}"
    else:
        return
    raise files.fault(path, "crop_contradicts", message, f"mend crop in {SIDECAR}, in pixels of this picture")


def _say_crop(crop: Crop, size: tuple[int, int], name: str, findings: Findings) -> None:
    share = size[0] * size[1] / (crop.full_width * crop.full_height)
    if size[0] < crop.full_width:
        across = 360.0 * size[0] / crop.full_width
        message = f"{name}: it shows {across:.0f} of 360 degrees; nothing beyond is known"
        findings.add(doubt("not_all_around", "picture", message, "stitch all around", across, 360.0, "degrees"))
    message = f"{name}: it is {share:.0%} of the picture of a whole sphere"
    findings.add(
        note("cropped", "picture", message, "nothing above and below is asked about", share, 1.0, "of the rows")
    )
