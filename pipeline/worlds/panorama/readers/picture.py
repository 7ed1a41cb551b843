"""A panorama's picture: whether it can be used, before a pixel is decoded; and whether its depth covers it."""

import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.picture_tags import BrokenTagsError, Exif, Header, header_of, tags_of
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import MOST_PIXELS, DepthSource, PanoramaPicture, SphereCrop
from pipeline.worlds.panorama.readers.own_files import SIDECAR, OwnFiles, Sidecar
from pipeline.worlds.panorama.readers.sources import SourceMetadata, WrongGPano, from_exif, from_gpano

MOST_BYTES: Final = 256 * 2**20
LEAST_PX: Final = 16  # high
MOST_SCANS: Final = 64  # of a progressive JPEG; each goes over the whole picture, and usual ones have ten
ASPECT_PX: Final = 2  # by which a width may differ from twice the height


class OpenedPicture(NamedTuple):
    """A picture, and what it says of itself."""

    picture: PanoramaPicture
    source_metadata: tuple[SourceMetadata, ...]
    raw: bytes


def open_picture(files: SceneFiles, own: OwnFiles, crop: SphereCrop | None, findings: Findings) -> OpenedPicture:
    """The picture of a panorama, with the crop that people stated, else the one that GPano has.

    Raises:
        RawDataError: where there is none or several, or it cannot be a panorama that is decoded within limits.
    """
    path = _path(files, own)
    raw = files.raw(path)
    header = header_of(raw)
    _check_form(files, path, raw, header)
    assert header is not None  # noqa: S101 - `_check_form` raised
    sources, size = [], (header.width, header.height)
    exif: Exif | None = None
    gpano: dict[str, str] | None = None
    try:
        exif, gpano = tags_of(raw)
    except BrokenTagsError as error:
        message = f"{path.name}: its metadata cannot be read: {error}"
        findings.add(doubt("metadata_unreadable", "picture", message, f"say what they say in {SIDECAR}"))
    if gpano is not None:
        try:
            sources.append(from_gpano(gpano, size, findings))
        except WrongGPano as wrong:
            if crop is None or wrong.finding == "not_equirectangular":
                raise files.fault(path, wrong.finding, wrong.message, wrong.remedy) from wrong
            findings.add(note(wrong.finding, "picture", f"{wrong.message}; the crop of {SIDECAR} holds", wrong.remedy))
    if exif is not None:
        sources.append(from_exif(exif, findings))
    crop = crop or next((source.crop for source in sources if source.crop is not None), None)
    _check_shape(files, path, size, crop)
    if header.progressive:
        message = f"{path.name}: it is progressive, and takes several times the memory to decode"
        remedy = "save it as a baseline JPEG if memory is short"
        findings.add(note("progressive", "picture", message, remedy, float(header.scans), None, "scans"))
    if crop is not None:
        _say_crop(crop, size, path.name, findings)
    name = files.relative(path)
    picture = PanoramaPicture(
        path=name, width=size[0], height=size[1], crop=crop, sha256=hashlib.sha256(raw).hexdigest()
    )  # fmt: skip
    return OpenedPicture(picture, tuple(sources), raw)


def _path(files: SceneFiles, own: OwnFiles) -> Path:
    if not own.pictures:
        message = "there is no picture"
        raise files.fault(files.path, "missing_picture", message, f"add pano.jpg, or name one in {SIDECAR}")
    if len(own.pictures) > 1:
        names = ", ".join(path.name for path in own.pictures[:5])
        message = f"there are {names}, and which one is the panorama is not known"
        raise files.fault(files.path, "several_pictures", message, f"name one as picture in {SIDECAR}, or keep one")
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
    if not header.is_complete:
        message = f"its end is missing; what is there has {len(raw):,} bytes"
        raise files.fault(path, "truncated_picture", message, "fetch the picture again")


def _check_shape(files: SceneFiles, path: Path, size: tuple[int, int], crop: SphereCrop | None) -> None:
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


def _say_crop(crop: SphereCrop, size: tuple[int, int], name: str, findings: Findings) -> None:
    share = size[0] * size[1] / (crop.full_width * crop.full_height)
    if size[0] < crop.full_width:
        across = 360.0 * size[0] / crop.full_width
        message = f"{name}: it shows {across:.0f} of 360 degrees; nothing beyond is known"
        findings.add(doubt("not_all_around", "picture", message, "stitch all around", across, 360.0, "degrees"))
    message = f"{name}: it is {share:.0%} of the picture of a whole sphere"
    findings.add(
        note("cropped", "picture", message, "nothing above and below is asked about", share, 1.0, "of the rows")
    )


MOST_DEPTH_PIXELS: Final = 8192 * 4096  # eight bytes each, where it is read
FAR_M: Final = 10_000.0  # what the largest number of 16 bits may mean at most
_UNITS: Final = 65_535


def find_depth(
    files: SceneFiles, own: OwnFiles, sidecar: Sidecar, picture: PanoramaPicture, found: Findings
) -> DepthSource | None:
    """The depth that goes with a picture; None where there is none, or with a doubt none that can be used.

    Raises:
        RawDataError: where the sidecar names one that is not there.
    """
    stated = sidecar.depth
    path = files.path / stated.path if stated is not None and stated.path is not None else own.depth
    if stated is None:
        if path.is_file():
            message = f"{path.name}: how many metres a unit is was not said; it was not used"
            remedy = f"give depth (metres_per_unit) in {SIDECAR}"
            found.add(doubt("depth_without_scale", "depth", message, remedy))
        return None
    raw = files.raw(path)
    header = header_of(raw)
    fault = _fault_of(header, stated.metres_per_unit, picture)
    if fault is not None:
        found.add(fault.model_copy(update={"message": f"{path.name}: {fault.message}; it was not used"}))
    if fault is not None or header is None:
        return None
    return DepthSource(
        path=files.relative(path), metres_per_unit=stated.metres_per_unit, width=header.width, height=header.height
    )


def _fault_of(header: Header | None, metres_per_unit: float, picture: PanoramaPicture) -> Finding | None:
    """Why a depth cannot be used, or None."""
    if header is None:
        return doubt("unusable_depth", "depth", "it is no PNG", "write a grey PNG of 16 bits")
    if header.kind != "PNG" or header.channels != 1 or header.bits != 16 or not header.is_complete:
        cut = "" if header.is_complete else ", and its end is missing"
        message = f"it is a {header.kind} with channels of {header.bits} bits, {header.channels} of them{cut}"
        return doubt("unusable_depth", "depth", message, "write a grey PNG of 16 bits")
    size = header.width * header.height
    if size > MOST_DEPTH_PIXELS:
        message = f"it has {size:,} pixels"
        return doubt(
            "depth_too_large", "depth", message, "scale it down", float(size), float(MOST_DEPTH_PIXELS), "pixels"
        )
    if abs(header.width / picture.width - header.height / picture.height) > 2 / min(picture.height, header.height):
        message = f"it is {header.width} x {header.height}, the picture {picture.width} x {picture.height}"
        ratio = (header.width / header.height) / (picture.width / picture.height)
        remedy = "write one that covers what the picture covers"
        return doubt("depth_of_another_shape", "depth", message, remedy, ratio, 1.0, "times as wide")
    farthest = metres_per_unit * _UNITS
    if farthest > FAR_M:
        message = f"its largest number would be {farthest:,.0f} m"
        remedy = f"give metres_per_unit in metres in {SIDECAR}: 0.001 for millimetres"
        return doubt("depth_scale_implausible", "depth", message, remedy, farthest, FAR_M, "m")
    return None
