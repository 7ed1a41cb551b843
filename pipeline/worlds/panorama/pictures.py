"""Pictures that questions show of a panorama: views, or all of it. Their files hold nothing but the picture.

A panorama is decoded once for all of them. Also its map, and what a dataset card says of panoramas.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from PIL import Image

from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.formats.images import decoded, jpeg_bytes
from pipeline.geometry.equirect import Sphere, whole_sphere
from pipeline.geometry.views import PinholeView, WholeSphere
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import PanoramaScene

QUALITY: Final = 92  # of JPEG (ERGeoBench, appendix F.1)
SOURCE_QUALITY: Final = 95  # of a picture in full size that cannot be passed on as it is


def rendered(files: SceneFiles, scene: PanoramaScene, wanted: Sequence[PinholeView | WholeSphere]) -> Iterator[bytes]:
    """JPEG of each of the wanted pictures, in order.

    Raises RawDataError where the panorama's picture is gone, or is another one than was read.
    """
    picture = scene.facts.picture
    path = files.root / picture.path
    raw = files.raw(path)
    image: Image.Image | None = None
    sphere: Sphere | None = None
    for one in wanted:
        if isinstance(one, WholeSphere) and one.long_side is None:
            bare = bare_jpeg(raw) if picture.crop is None else None
            if bare is not None:
                yield bare
                continue
        if image is None:
            image, crop = decoded(raw, picture.width * picture.height), picture.crop
            if image is None:
                raise files.fault(path, "unreadable_picture", "it cannot be decoded", "fetch the picture again")
            if crop is not None:  # what it leaves out is black
                image = whole_sphere(image, crop.full_width, crop.full_height, crop.left, crop.top)
        if isinstance(one, WholeSphere):
            yield _scaled(image, one.long_side)
        else:
            sphere = sphere or Sphere(image)
            yield jpeg_bytes(sphere.render(one), QUALITY)


def _scaled(image: Image.Image, long_side: int | None) -> bytes:
    size, quality = image.size, SOURCE_QUALITY
    if long_side is not None:
        share, quality = min(1.0, long_side / max(size)), QUALITY
        size = max(1, round(size[0] * share)), max(1, round(size[1] * share))
    if size != image.size:
        image = image.resize(size, Image.Resampling.BOX)
    out = io.BytesIO()
    # Built anew: what a decoder noted of a picture (`info`) may be written out again.
    Image.frombytes("RGB", image.size, image.tobytes()).save(out, "JPEG", quality=quality, subsampling=2)
    return out.getvalue()


def top_down_map(scene: PanoramaScene) -> TopDownMap:
    """The objects whose place is known, about the camera: east to the right, north up."""
    things = tuple(MappedThing(label=o.name or o.label, outline=(o.place,)) for o in scene.facts.objects if o.place)
    return TopDownMap(things=things, path=((0.0, 0.0, 0.0),) if things else ())


def known_in(scene: PanoramaScene) -> dict[str, bool]:
    """What `sight` counts, and whether a panorama has it."""
    return {name: getattr(scene.facts, name) is not None for name in ("position", "heading_deg", "depth")}


def sight(panoramas: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what the pictures show, in lines of Markdown."""
    return [
        f"- Of {panoramas} panoramas {known['position']} have a position, {known['heading_deg']} a heading and "
        f"{known['depth']} measured depth.",
        "  Statements about objects rest on annotations or depth; faces and number plates were not looked for.",
    ]


_SOI: Final = 0xD8
_EOI: Final = 0xD9
_SOS: Final = 0xDA
_ADOBE: Final = 0xEE  # says whether the colours are RGB or YCbCr: without it they may be wrong
_RESTARTS: Final = range(0xD0, 0xD8)
_METADATA: Final = frozenset({*range(0xE0, 0xF0), 0xFE}) - {_ADOBE}  # application segments and comments


def bare_jpeg(raw: bytes) -> bytes | None:
    """A JPEG with the same pixels and nothing else: no EXIF, XMP, profile, thumbnail, comment or data behind its end.

    None for what is no JPEG or breaks off: bytes that are not understood are not passed on.
    """
    if raw[:2] != bytes((0xFF, _SOI)):
        return None
    kept, at = [raw[:2]], 2
    while at + 2 <= len(raw):
        if raw[at] != 0xFF:
            return None
        marker = raw[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        if marker == _EOI:
            return b"".join([*kept, raw[at : at + 2]])
        end = at + 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
        if marker == _SOS:
            end = _end_of_scan(raw, end)
        if end > len(raw):
            return None
        if marker not in _METADATA:
            kept.append(raw[at:end])
        at = end
    return None


def _end_of_scan(raw: bytes, at: int) -> int:
    """Where coded data end that begin somewhere: in them 0xFF is followed by 0x00 or a restart marker."""
    while True:
        at = raw.find(b"\xff", at)
        if at < 0 or at + 1 >= len(raw):
            return len(raw) + 1
        if raw[at + 1] not in {0x00, *_RESTARTS}:
            return at
        at += 2
