"""What a picture says of itself: EXIF, and GPano (Photo Sphere XMP metadata, as Google publishes it)."""

from __future__ import annotations

from typing import Final

from pipeline.core.findings import Findings, doubt, note
from pipeline.formats.picture_tags import Exif
from pipeline.worlds.panorama.facts import Crop
from pipeline.worlds.panorama.readers.told import Told, heading_of, number_of, position_of, positive

EXIF: Final = "EXIF"
GPANO: Final = "XMP GPano"
_NORTH: Final = ("N", "S")
_EAST: Final = ("E", "W")
_PROJECTION: Final = "equirectangular"
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
    """What GPano says does not fit the picture: a name, a message, a remedy."""

    def __init__(self, finding: str, message: str, remedy: str) -> None:
        super().__init__(finding, message, remedy)
        self.finding, self.message, self.remedy = finding, message, remedy


def from_exif(exif: Exif, found: Findings) -> Told:
    """What EXIF says; a position without the letters for its hemispheres, and a magnetic heading, are in doubt."""
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
    return Told(
        by=EXIF,
        position=position,
        accuracy_m=positive(exif.accuracy_m) if position else None,
        heading_deg=heading,
        captured=exif.taken,
        author=exif.author,
        licence=exif.copyright,
    )


def from_gpano(gpano: dict[str, str], size: tuple[int, int], found: Findings) -> Told:
    """What GPano says of a picture of some width and height. Raises WrongGPano."""
    projection = gpano.get("ProjectionType", _PROJECTION)
    if projection.lower() != _PROJECTION:
        message = f"{GPANO}: the projection is {projection[:80]!r}, not {_PROJECTION}"
        raise WrongGPano("not_equirectangular", message, "export it as an equirectangular picture")
    angles = {}
    for name, most in (("PosePitchDegrees", 90.0), ("PoseRollDegrees", 180.0)):
        value = number_of(gpano.get(name))
        if value is not None and abs(value) > most:
            message = f"{GPANO}: {name} is {value:g}, not within -{most:g} to {most:g}; it was not used"
            found.add(doubt("pose_out_of_range", "heading", message, "give it in pano.yaml", value, most, "degrees"))
            value = None
        angles[name] = value
    return Told(
        by=GPANO,
        heading_deg=heading_of(number_of(gpano.get("PoseHeadingDegrees")), GPANO, found),
        camera_pitch_deg=angles["PosePitchDegrees"],
        camera_roll_deg=angles["PoseRollDegrees"],
        crop=_crop(gpano, size, found),
    )


def _crop(gpano: dict[str, str], size: tuple[int, int], found: Findings) -> Crop | None:
    """Where the picture lies in the sphere; None where it is the whole sphere, or nothing is said of that."""
    numbers = {key: number_of(gpano[name]) for key, name in _CROP.items() if name in gpano}
    if not numbers:
        return None
    told = ", ".join(f"{_CROP[key]} {value}" for key, value in numbers.items())
    remedy = "mend the XMP, or give crop (full_width, full_height, left, top) in pano.yaml"
    if len(numbers) < len(_CROP) or any(n is None or not 0 <= n <= PIXELS_MAX or n % 1 for n in numbers.values()):
        raise WrongGPano("gpano_incomplete", f"{GPANO}: the crop is {told}; some of it is missing or no pixels", remedy)
    whole = {key: int(value or 0) for key, value in numbers.items()}
    if (
        not whole["width"]
        or not whole["height"]
        or whole["left"] + whole["width"] > whole["full_width"]
        or whole["top"] + whole["height"] > whole["full_height"]
        or whole["full_width"] != 2 * whole["full_height"]
    ):
        raise WrongGPano("gpano_contradicts", f"{GPANO}: the crop does not lie within a 2:1 sphere: {told}", remedy)
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
    return Crop(
        full_width=2 * full_height,
        full_height=full_height,
        left=round(scale * whole["left"]),
        top=round(scale * whole["top"]),
    )
