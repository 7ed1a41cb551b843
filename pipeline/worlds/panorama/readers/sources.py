"""The sources of a panorama's metadata, of which the first that states a value is believed.

Where two differ, what they speak of is in doubt. A picture itself says EXIF, and GPano (Photo Sphere XMP metadata, as
Google publishes it).
"""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Origin
from pipeline.formats.picture_tags import Exif
from pipeline.geometry.geodesy import offsets_m
from pipeline.worlds.panorama.facts import SphereCrop

APART_M: Final = 25.0  # between two sources of a position: GPS among houses is off by some 10 m
TURNED_DEG: Final = 10.0  # between two sources of a heading: a compass is off by some degrees
RADIANS_DEG: Final = 1.0  # a heading that is another one in radians up to this is given in radians
NULL_ISLAND_DEG: Final = 0.001  # of 0, 0, where positions lie that were never set; no land is near


@dataclass(frozen=True)
class SourceMetadata:
    """The metadata of one source; None: not stated.

    Attributes:
        name: its name, as messages and `Panorama.source_tags` have it.
        position: WGS84; checked (`position_of`).
        accuracy_m: of the position.
        heading_deg: of the sphere's middle column, clockwise from true north; checked (`heading_of`).
        camera_pitch_deg: by which the camera looked up.
        camera_roll_deg: by which it leaned to the right.
        crop: where the picture lies in the sphere.
        captured: day.
        utc_s: moment, seconds since 1970, where the source has it in UTC or with its zone.
        author: who took it.
        licence: of the picture.
        source_url: where it is from.
    """

    name: str
    position: Origin | None = None
    accuracy_m: float | None = None
    heading_deg: float | None = None
    camera_pitch_deg: float | None = None
    camera_roll_deg: float | None = None
    crop: SphereCrop | None = None
    captured: datetime.date | None = None
    utc_s: float | None = None
    author: str | None = None
    licence: str | None = None
    source_url: str | None = None


def number_of(value: Any) -> float | None:
    """A finite number of JSON, or of a text that is one; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def positive(value: float | None) -> float | None:
    """A number above 0; a precision of 0 means that nobody knew it."""
    return value if value is not None and value > 0 else None


def position_of(lat: float | None, lon: float | None, alt_m: float | None, by: str, found: Findings) -> Origin | None:
    """A position that can be one; None with a doubt for what is none, None alone for what is not there."""
    if lat is None and lon is None:
        return None
    remedy = "give position (lat_deg, lon_deg) in pano.yaml"
    if lat is None or lon is None:
        message = f"{by}: of latitude and longitude one is missing or no number"
        found.add(doubt("half_a_position", "position", message, remedy))
        return None
    if not -90.0 <= lat <= 90.0:
        message = f"{by}: the latitude is {lat:g}, not within -90 to 90; it was not used"
        found.add(doubt("latitude_out_of_range", "position", message, remedy, lat, 90.0, "degrees"))
        return None
    if not -180.0 <= lon <= 180.0:
        message = f"{by}: the longitude is {lon:g}, not within -180 to 180; it was not used"
        found.add(doubt("longitude_out_of_range", "position", message, remedy, lon, 180.0, "degrees"))
        return None
    if max(abs(lat), abs(lon)) < NULL_ISLAND_DEG:
        message = f"{by}: the position is {lat:g}, {lon:g}: that of a receiver that had none; it was not used"
        found.add(doubt("position_zero", "position", message, remedy, max(abs(lat), abs(lon)), NULL_ISLAND_DEG, "deg"))
        return None
    return Origin(lat_deg=lat, lon_deg=lon, alt_m=alt_m)


def heading_of(raw: float | None, by: str, found: Findings) -> float | None:
    """A heading in [0, 360); one below 0 is turned once, with a note; None with a doubt for what is none."""
    if raw is None:
        return None
    if not -180.0 <= raw <= 360.0:
        message = f"{by}: the heading is {raw:g}, not within 0 to 360; it was not used"
        remedy = "give heading_deg, degrees clockwise from true north, in pano.yaml"
        found.add(doubt("heading_out_of_range", "heading", message, remedy, raw, 360.0, "degrees"))
        return None
    if raw < 0:
        message = f"{by}: the heading is {raw:g}, taken as {raw + 360.0:g}"
        found.add(note("heading_below_zero", "heading", message, "give it within 0 to 360", raw, 0.0, "degrees"))
    return raw % 360.0


def first(sources: Sequence[SourceMetadata], of: str, source_tags: dict[str, str]) -> Any:
    """The first source's word on something, and whose it is."""
    for source in sources:
        value = getattr(source, of)
        if value is not None:
            source_tags[of] = source.name
            return value
    return None


def accuracy_of(sources: Sequence[SourceMetadata], source_tags: dict[str, str]) -> float | None:
    """The accuracy that people state, else that of the source whose position is believed: no other's is about it."""
    placed = [source for source in sources if source.position is not None]
    return first([*sources[:1], *placed[:1]], "accuracy_m", source_tags)


def compare(sources: Sequence[SourceMetadata], found: Findings) -> None:
    """Says where sources differ on position or heading, and where a heading is one in radians."""
    placed = [(t.name, t.position) for t in sources if t.position is not None]
    if len(placed) > 1:
        points = np.array([(p.lat_deg, p.lon_deg) for _, p in placed])
        away = np.hypot(*offsets_m(points, points[0]).T)
        worst = int(away.argmax())
        if away[worst] > APART_M:
            message = (
                f"the positions of {placed[0][0]} and {placed[worst][0]} lie {away[worst]:.0f} m apart; the first holds"
            )
            remedy = "find out which is right, and state it in pano.yaml, with certain: [position]"
            found.add(doubt("positions_disagree", "position", message, remedy, float(away[worst]), APART_M, "m"))
    headed = [(t.name, t.heading_deg) for t in sources if t.heading_deg is not None]
    if len(headed) > 1:
        _compare_headings(headed[0], max(headed[1:], key=lambda one: _turn(one[1], headed[0][1])), found)
    elif headed:
        by, heading = headed[0]
        if 0 < heading <= math.tau and not float(heading * 10).is_integer():
            message = f"{by}: the heading is {heading:g}, and may be {math.degrees(heading):.1f} degrees in radians"
            remedy = "state heading_deg in pano.yaml, with certain: [heading], if it is in degrees"
            found.add(doubt("perhaps_radians", "heading", message, remedy, heading, math.tau, "degrees"))


def _compare_headings(one: tuple[str, float], other: tuple[str, float], found: Findings) -> None:
    apart = _turn(one[1], other[1])
    if apart <= TURNED_DEG:
        return
    for radians, degrees in ((one, other), (other, one)):
        if radians[1] <= math.tau and _turn(math.degrees(radians[1]), degrees[1]) <= RADIANS_DEG:
            message = (
                f"the heading of {radians[0]}, {radians[1]:g}, is that of {degrees[0]}, {degrees[1]:g}, in radians"
            )
            remedy = "state heading_deg, in degrees, in pano.yaml"
            found.add(doubt("heading_in_radians", "heading", message, remedy, radians[1], math.tau, "degrees"))
            return
    message = f"the headings of {one[0]} and {other[0]} differ by {apart:.0f} degrees; the first holds"
    remedy = "find out which is right, and state it in pano.yaml, with certain: [heading]"
    found.add(doubt("headings_disagree", "heading", message, remedy, apart, TURNED_DEG, "degrees"))


def _turn(a: float, b: float) -> float:
    return abs((a - b + 180.0) % 360.0 - 180.0)


EXIF: Final = "EXIF"
GPANO: Final = "XMP GPano"
_NORTH: Final = ("N", "S")
_EAST: Final = ("E", "W")
_PROJECTION: Final = "equirectangular"
_POSE: Final = ("PoseHeadingDegrees", "PosePitchDegrees", "PoseRollDegrees")
_CROP: Final = {
    "full_width": "FullPanoWidthPixels",
    "full_height": "FullPanoHeightPixels",
    "left": "CroppedAreaLeftPixels",
    "top": "CroppedAreaTopPixels",
    "width": "CroppedAreaImageWidthPixels",
    "height": "CroppedAreaImageHeightPixels",
}
SCALE_PX: Final = 2.0  # by which a picture that was scaled may differ from its crop, scaled likewise
PIXELS_MAX: Final = 1_000_000  # a side


class WrongGPano(ValueError):  # noqa: N818 - what is wrong, not an error of a program
    """The picture contradicts its GPano metadata: a name, a message, a remedy."""

    def __init__(self, finding: str, message: str, remedy: str) -> None:
        super().__init__(finding, message, remedy)
        self.finding, self.message, self.remedy = finding, message, remedy


def from_exif(exif: Exif, found: Findings) -> SourceMetadata:
    """The metadata in EXIF; a position without hemisphere letters and a magnetic heading are in doubt."""
    if exif.orientation != 1:
        message = (
            f"{EXIF}: the picture is marked as turned or mirrored (Orientation {exif.orientation}), taken as it is"
        )
        remedy = "save it upright, with Orientation 1"
        found.add(doubt("orientation", "heading", message, remedy, float(exif.orientation), 1.0, "orientation"))
    if exif.corrupt:
        message = f"{EXIF}: some of it breaks off or points beyond its end, and was not used"
        found.add(note("exif_corrupt", "picture", message, "say what it said in pano.yaml"))
    if exif.thumbnail_has_gps:
        message = f"{EXIF}: the thumbnail in the file has a position of its own"
        found.add(note("thumbnail_has_gps", "picture", message, "released pictures have neither; others may"))
    position = None
    if exif.lat_ref in _NORTH and exif.lon_ref in _EAST:
        position = position_of(exif.lat_deg, exif.lon_deg, exif.alt_m, EXIF, found)
    elif exif.lat_deg is not None or exif.lon_deg is not None:
        letters = f"{exif.lat_ref or 'none'} and {exif.lon_ref or 'none'}"
        message = f"{EXIF}: the letters of the hemispheres of {exif.lat_deg}, {exif.lon_deg} are {letters}; not used"
        remedy = "write N or S and E or W, or give position in pano.yaml"
        found.add(doubt("gps_reference_missing", "position", message, remedy))
    heading = None
    if exif.heading_deg is not None and exif.heading_ref == "M":
        message = f"{EXIF}: the heading {exif.heading_deg:g} is from magnetic north; it was not used"
        remedy = "add the declination of place and year, and give heading_deg in pano.yaml"
        found.add(doubt("magnetic_heading", "heading", message, remedy, exif.heading_deg, None, "degrees"))
    else:
        heading = heading_of(exif.heading_deg, EXIF, found)
    return SourceMetadata(
        name=EXIF,
        position=position,
        accuracy_m=positive(exif.accuracy_m) if position else None,
        heading_deg=heading,
        captured=exif.taken,
        utc_s=exif.utc_s,
        author=exif.author,
        licence=exif.copyright,
    )


def from_gpano(gpano: dict[str, str], size: tuple[int, int], found: Findings) -> SourceMetadata:
    """The GPano metadata of a picture of some width and height. Raises WrongGPano."""
    projection = gpano.get("ProjectionType", _PROJECTION)
    if projection.lower() != _PROJECTION:
        message = f"{GPANO}: the projection is {projection[:80]!r}, not {_PROJECTION}"
        raise WrongGPano("not_equirectangular", message, "export it as an equirectangular picture")
    pose = {name: value for name in _POSE if (value := number_of(gpano.get(name))) is not None}
    if len(pose) > 1 and not any(pose.values()):
        message = f"{GPANO}: {', '.join(pose)} are all 0, as cameras write that measure none; none of them was used"
        found.add(note("pose_all_zero", "heading", message, "state heading_deg in pano.yaml if it is known"))
        pose = {}
    angles = {}
    for name, most in (("PosePitchDegrees", 90.0), ("PoseRollDegrees", 180.0)):
        value = pose.get(name)
        if value is not None and abs(value) > most:
            message = f"{GPANO}: {name} is {value:g}, not within -{most:g} to {most:g}; it was not used"
            found.add(doubt("pose_out_of_range", "heading", message, "give it in pano.yaml", value, most, "degrees"))
            value = None
        angles[name] = value
    return SourceMetadata(
        name=GPANO,
        heading_deg=heading_of(pose.get("PoseHeadingDegrees"), GPANO, found),
        camera_pitch_deg=angles["PosePitchDegrees"],
        camera_roll_deg=angles["PoseRollDegrees"],
        crop=_crop(gpano, size, found),
    )


def _crop(gpano: dict[str, str], size: tuple[int, int], found: Findings) -> SphereCrop | None:
    """Where the picture lies in the sphere; None where it is the whole sphere, or nothing is said of that."""
    numbers = {key: number_of(gpano[name]) for key, name in _CROP.items() if name in gpano}
    if not numbers:
        return None
    crop = ", ".join(f"{_CROP[key]} {value}" for key, value in numbers.items())
    remedy = "mend the XMP, or give crop (full_width, full_height, left, top) in pano.yaml"
    if len(numbers) < len(_CROP) or any(n is None or not 0 <= n <= PIXELS_MAX or n % 1 for n in numbers.values()):
        raise WrongGPano("gpano_incomplete", f"{GPANO}: the crop is {crop}; some of it is missing or no pixels", remedy)
    whole = {key: int(value or 0) for key, value in numbers.items()}
    if (
        not whole["width"]
        or not whole["height"]
        or whole["left"] + whole["width"] > whole["full_width"]
        or whole["top"] + whole["height"] > whole["full_height"]
        or whole["full_width"] != 2 * whole["full_height"]
    ):
        raise WrongGPano("gpano_contradicts", f"{GPANO}: the crop does not lie within a 2:1 sphere: {crop}", remedy)
    scale = size[0] / whole["width"]
    if abs(size[1] - scale * whole["height"]) > SCALE_PX:
        message = f"{GPANO}: the crop is {whole['width']} x {whole['height']}, the picture {size[0]} x {size[1]}"
        raise WrongGPano("gpano_contradicts", message, remedy)
    if size[0] != whole["width"]:
        message = f"{GPANO}: the picture was scaled by {scale:.3f} after its crop was written, which was scaled with it"
        found.add(note("gpano_scaled", "picture", message, "write the XMP again", scale, 1.0, "times"))
    if (whole["width"], whole["height"]) == (whole["full_width"], whole["full_height"]):
        return None
    full_height = round(scale * whole["full_height"])
    return SphereCrop(
        full_width=2 * full_height,
        full_height=full_height,
        left=round(scale * whole["left"]),
        top=round(scale * whole["top"]),
    )
