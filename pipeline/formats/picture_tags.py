"""Metadata of pictures of untrusted origin: EXIF (CIPA DC-008), GPano (Photo Sphere XMP), and the file's header.

Tags are plain numbers and words; unreadable ones are left out, never guessed. `header_of` reads size and kind from the
head of a JPEG (ITU-T T.81, annex B) or PNG (third edition, sections 5 and 11) without decoding it, before any memory is
given to its pixels.
"""

import datetime
import io
import math
import re
import struct
import warnings
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from xml.etree import ElementTree

from PIL import ExifTags, Image

GPANO: Final = "http://ns.google.com/photos/1.0/panorama/"
DRONE_DJI: Final = "http://www.dji.com/drone-dji/1.0/"
_DECLARES: Final = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_XMP_MAX: Final = 1 << 20  # bytes; a packet in a JPEG has 64 KiB at most
_WORDS_MAX: Final = 200
_GPS: Final = 0x8825
_EXIF: Final = 0x8769
_THUMBNAIL: Final = (0x0201, 0x0202)  # offset and length, in the second directory
_BROKEN: Final = (OSError, SyntaxError, ValueError, IndexError, OverflowError, EOFError, KeyError, TypeError)


@dataclass(frozen=True)
class Exif:
    """The value of a tag of EXIF. None: it is not there, or is no number.

    Attributes:
        lat_deg: as its numbers say, degrees, signed where it has a letter for north or south.
        lat_ref: that letter, as it stands there; empty where it has none.
        lon_deg: likewise.
        lon_ref: likewise, for east or west.
        alt_m: above sea level; below 0 where it says so.
        accuracy_m: of the position (GPSHPositioningError).
        heading_deg: of the picture's middle (GPSImgDirection).
        heading_ref: "T" true north, "M" magnetic north; empty where it does not say.
        taken: day of the exposure.
        taken_s: its moment on the camera's clock, which says no zone, as seconds since 1970.
        utc_s: the moment of the position's fix (GPSDateStamp, GPSTimeStamp), seconds since 1970, UTC.
        author: Artist.
        copyright: Copyright.
        orientation: 1 upright; the others are turned or mirrored.
        thumbnail_has_gps: whether the small picture within has a position of its own.
        corrupt: whether some of it breaks off or points beyond its end, and so is not here.
    """

    lat_deg: float | None = None
    lat_ref: str = ""
    lon_deg: float | None = None
    lon_ref: str = ""
    alt_m: float | None = None
    accuracy_m: float | None = None
    heading_deg: float | None = None
    heading_ref: str = ""
    taken: datetime.date | None = None
    taken_s: float | None = None
    utc_s: float | None = None
    author: str | None = None
    copyright: str | None = None
    orientation: int = 1
    thumbnail_has_gps: bool = False
    corrupt: bool = False


class BrokenTagsError(Exception):
    """The metadata of a picture cannot be read; its pixels may be sound."""


def tags_of(raw: bytes, namespace: str = GPANO) -> tuple[Exif | None, dict[str, str] | None]:
    """EXIF and a namespace of XMP of an encoded picture whose size was looked at; each None where it is not there.

    Raises:
        BrokenTagsError: where the picture's head cannot be read for them.
    """
    try:
        with (
            warnings.catch_warnings(record=True, action="always") as warned,
            Image.open(io.BytesIO(raw), formats=("JPEG", "PNG")) as image,
        ):
            packet = image.info.get("xmp", image.info.get("XML:com.adobe.xmp"))
            exif = image.getexif()
            found = _exif(exif, image.info.get("exif", b"")) if exif or warned else None
            return (found and replace(found, corrupt=bool(warned))), xmp_of(packet, namespace)
    except (*_BROKEN, Image.DecompressionBombError) as error:
        raise BrokenTagsError(" ".join(str(error).split())[:_WORDS_MAX] or type(error).__name__) from error


def xmp_of(packet: bytes | str | None, namespace: str) -> dict[str, str] | None:
    """The properties of an XMP packet in a namespace, by their names without it; None where it has none."""
    try:
        text = packet.decode("utf-8-sig") if isinstance(packet, bytes) else packet or ""
        text = text.strip("\0 \r\n\t")
        if not text or len(text) > _XMP_MAX or _DECLARES.search(text):
            return None
        root = ElementTree.fromstring(text)  # noqa: S314 - a document that declares entities is refused above
    except (UnicodeDecodeError, ElementTree.ParseError, RecursionError):
        return None
    found: dict[str, str] = {}
    prefix = f"{{{namespace}}}"
    for element in root.iter():
        if element.tag.startswith(prefix):
            found.setdefault(element.tag.removeprefix(prefix), (element.text or "").strip()[:_WORDS_MAX])
        for name, value in element.attrib.items():
            if name.startswith(prefix):
                found.setdefault(name.removeprefix(prefix), value.strip()[:_WORDS_MAX])
    return found or None


def _exif(exif: Image.Exif, packet: Any) -> Exif:
    gps, more = _directory(exif, _GPS), _directory(exif, _EXIF)
    lat_ref, lon_ref = _letter(gps.get(1)), _letter(gps.get(3))
    alt, below = _number(gps.get(6)), gps.get(5) in {b"\x01", 1}
    orientation = exif.get(0x0112, 1)
    return Exif(
        lat_deg=_degrees(gps.get(2), lat_ref == "S"),
        lat_ref=lat_ref,
        lon_deg=_degrees(gps.get(4), lon_ref == "W"),
        lon_ref=lon_ref,
        alt_m=None if alt is None else -alt if below else alt,
        accuracy_m=_number(gps.get(31)),
        heading_deg=_number(gps.get(17)),
        heading_ref=_letter(gps.get(16)),
        taken=_day(more.get(0x9003) or exif.get(0x0132)),
        taken_s=_moment_s(more.get(0x9003), more.get(0x9291)),
        utc_s=_fix_s(gps.get(29), gps.get(7)),
        author=_words(exif.get(0x013B)),
        copyright=_words(exif.get(0x8298)),
        orientation=orientation if isinstance(orientation, int) else 1,
        thumbnail_has_gps=_thumbnail_has_gps(exif, packet),
    )


def _directory(exif: Image.Exif, tag: int) -> dict[int, Any]:
    try:
        return dict(exif.get_ifd(tag))
    except _BROKEN:
        return {}


def _number(value: Any) -> float | None:
    """A finite number; EXIF has fractions, of which some are over zero."""
    try:
        number = float(value)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _degrees(value: Any, negative: bool) -> float | None:
    """Degrees, minutes and seconds as degrees."""
    if not isinstance(value, tuple) or len(value) != 3:
        return None
    parts = [_number(part) for part in value]
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    degrees = parts[0] + parts[1] / 60.0 + parts[2] / 3600.0
    return -degrees if negative else degrees


def _letter(value: Any) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    return text.strip("\0 ").upper()[:1] if isinstance(text, str) else ""


def _words(value: Any) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return None
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_WORDS_MAX]
    return text or None


def _day(value: Any) -> datetime.date | None:
    """The day of "2024:05:17 10:11:12"."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return None
    try:
        return datetime.date(*map(int, text.strip("\0 ")[:10].split(":")))
    except (ValueError, TypeError):
        return None


def _moment_s(value: Any, fraction: Any) -> float | None:
    """Seconds since 1970 of "2024:05:17 10:11:12" and the digits of its fraction."""
    text, digits = (v.decode("latin-1") if isinstance(v, bytes) else v for v in (value, fraction))
    if not isinstance(text, str):
        return None
    try:
        whole = datetime.datetime.strptime(text.strip("\0 "), "%Y:%m:%d %H:%M:%S").replace(tzinfo=datetime.UTC)
    except ValueError:
        return None
    part = digits.strip("\0 ") if isinstance(digits, str) else ""
    return whole.timestamp() + (float(f"0.{part}") if re.fullmatch("[0-9]{1,6}", part, re.ASCII) else 0.0)


def _fix_s(day: Any, clock: Any) -> float | None:
    """Seconds since 1970 of "2024:05:17" and hours, minutes and seconds since its midnight, UTC."""
    date, hours = _day(day), _degrees(clock, negative=False)
    if date is None or hours is None or not 0.0 <= hours < 24.0:
        return None
    return datetime.datetime.combine(date, datetime.time(), datetime.UTC).timestamp() + 3600.0 * hours


def _thumbnail_has_gps(exif: Image.Exif, packet: Any) -> bool:
    """Whether the thumbnail, a JPEG within the EXIF block, has a position in its own EXIF."""
    second = _directory(exif, ExifTags.IFD.IFD1)
    start, length = second.get(_THUMBNAIL[0]), second.get(_THUMBNAIL[1])
    if not (isinstance(start, int) and isinstance(length, int) and isinstance(packet, bytes)):
        return False
    block = packet.removeprefix(b"Exif\0\0")
    inner = block[start : start + length]
    if not inner.startswith(b"\xff\xd8"):
        return False
    try:
        with Image.open(io.BytesIO(inner), formats=("JPEG",)) as image:
            return bool(_directory(image.getexif(), _GPS))
    except (*_BROKEN, Image.DecompressionBombError):
        return False


_JPEG: Final = b"\xff\xd8"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_END_OF_IMAGE: Final = b"\xff\xd9"
_START_OF_SCAN: Final = 0xDA
_STANDALONE: Final = frozenset({0x01, *range(0xD0, 0xD8)})
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE: Final = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_SEGMENTS_MAX: Final = 4096  # before the picture: a colour profile in pieces has 255, metadata in pieces some hundred
_PNG_CHANNELS: Final = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}


@dataclass(frozen=True)
class Header:
    """The head of a picture.

    Attributes:
        kind: its format.
        width: pixels.
        height: pixels.
        bits: of one channel of one pixel.
        channels: 1 grey, 3 colour (a palette is), 4 CMYK of a JPEG, and with transparency of a PNG.
        progressive: whether it is sent coarse to fine; then a decoder holds all coefficients at once.
        scans: how often its decoder goes over it; 1 for most.
        is_complete: whether its end is there.
    """

    kind: Literal["JPEG", "PNG"]
    width: int
    height: int
    bits: int
    channels: int
    progressive: bool
    scans: int
    is_complete: bool


def header_of(raw: bytes) -> Header | None:
    """The head of an encoded picture; None where it is no JPEG and no PNG, or breaks off within its head."""
    if raw.startswith(_JPEG):
        return _jpeg(raw)
    return _png(raw) if raw.startswith(_PNG) else None


def _jpeg(raw: bytes) -> Header | None:
    at, frame = 2, None
    for _ in range(_SEGMENTS_MAX):
        while raw[at : at + 2] == b"\xff\xff":  # fill bytes
            at += 1
        if at + 4 > len(raw) or raw[at] != 0xFF:
            return None
        marker = raw[at + 1]
        if marker in _STANDALONE:
            at += 2
            continue
        (length,) = struct.unpack_from(">H", raw, at + 2)
        if marker in _FRAMES and length >= 8 and at + 10 <= len(raw):
            bits, height, width, channels = struct.unpack_from(">BHHB", raw, at + 4)
            frame = (marker, bits, height, width, channels)
        if marker == _START_OF_SCAN:
            break
        at += 2 + length
    if frame is None or raw[at + 1] != _START_OF_SCAN:
        return None
    marker, bits, height, width, channels = frame
    return Header(
        kind="JPEG",
        width=width,
        height=height,
        bits=bits,
        channels=channels,
        progressive=marker in _PROGRESSIVE,
        scans=raw.count(b"\xff\xda", at),  # in coded data 0xFF is followed by 0x00
        is_complete=raw.rfind(_END_OF_IMAGE) > at,
    )


def _png(raw: bytes) -> Header | None:
    if len(raw) < 29 or raw[12:16] != b"IHDR":
        return None
    width, height, bits, colours, _, _, interlaced = struct.unpack_from(">IIBBBBB", raw, 16)
    if colours not in _PNG_CHANNELS:
        return None
    return Header(
        kind="PNG",
        width=width,
        height=height,
        bits=bits,
        channels=_PNG_CHANNELS[colours],
        progressive=bool(interlaced),
        scans=7 if interlaced else 1,
        is_complete=b"IEND" in raw[-64:],
    )
