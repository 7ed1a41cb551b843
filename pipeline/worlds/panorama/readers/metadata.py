"""Metadata of a panorama's sources, in order of trust: people, services, the picture itself.

Services of street pictures: the JSON of Mapillary (API 4) and of Panoramax (a STAC item). Positions and headings that
Mapillary computed from many pictures come before those of the device.
"""

import datetime
import math
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.core.files import open_file
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Origin
from pipeline.formats.picture_tags import BrokenTagsError, tags_of
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.readers.own_files import SIDECAR, OwnFiles, Sidecar, refuse_large
from pipeline.worlds.panorama.readers.sources import (
    SourceMetadata,
    first,
    from_exif,
    heading_of,
    number_of,
    position_of,
    positive,
)

# Doubts about values of single sources that were not used.
NOT_USED: Final = frozenset(
    {
        "half_a_position",
        "latitude_out_of_range",
        "longitude_out_of_range",
        "position_zero",
        "gps_reference_missing",
        "magnetic_heading",
        "heading_out_of_range",
    }
)
_JSON_BYTES: Final = 16 << 20
_HEAD_BYTES: Final = 1 << 18  # of a picture, in which its metadata stand


def stated(sidecar: Sidecar, found: Findings) -> SourceMetadata:
    """The metadata that people state."""
    at = sidecar.position
    return SourceMetadata(
        name=SIDECAR,
        position=None if at is None else position_of(at.lat_deg, at.lon_deg, at.alt_m, SIDECAR, found),
        accuracy_m=sidecar.accuracy_m,
        heading_deg=heading_of(sidecar.heading_deg, SIDECAR, found),
        camera_pitch_deg=sidecar.camera_pitch_deg,
        camera_roll_deg=sidecar.camera_roll_deg,
        captured=sidecar.captured,
        author=sidecar.author,
        licence=sidecar.licence,
        source_url=sidecar.source_url,
    )


def of_services(files: SceneFiles, own: OwnFiles, found: Findings) -> list[SourceMetadata]:
    """The metadata of services of street pictures.

    Raises:
        RawDataError: for JSON that cannot be read, or of a picture that is none in all directions.
    """
    sources = []
    for path in own.services:
        refuse_large(files, path, _JSON_BYTES)
        value = files.json(path)
        try:
            if is_panoramax(value):
                sources += from_panoramax(value, found)
            elif is_mapillary(value):
                sources += from_mapillary(value, found)
            else:
                message = f"{path.name}: it is neither an image of Mapillary's nor a STAC item of Panoramax's; not used"
                remedy = f"say what it says in {SIDECAR}, or take the file away"
                found.add(note("unknown_json", "picture", message, remedy))
        except NoPanorama as error:
            message = f"the picture is no panorama: {error}"
            raise files.fault(path, "not_equirectangular", message, "take a picture in all directions") from error
    return sources


def whereabouts(files: SceneFiles, own: OwnFiles, sidecar: Sidecar) -> Origin | None:
    """The position that a panorama will have, from as few bytes as tell it; None where none is known."""
    found = Findings()
    sources = [stated(sidecar, found)]
    if sources[0].position is None:
        try:
            sources += of_services(files, own, found)
        except RawDataError:  # said when the panorama is read
            return None
    if not any(one.position for one in sources) and own.pictures:
        try:
            with open_file(own.pictures[0]) as file:
                head = file.read(_HEAD_BYTES)
        except OSError:
            return None
        with suppress(BrokenTagsError):
            exif, _ = tags_of(head)
            sources += [from_exif(exif, found)] if exif is not None else []
    position: Origin | None = first(sources, "position", {})
    return position


def settle(found: Findings, known: Collection[str], certain: Collection[str]) -> None:
    """Turns doubts into notes that nothing depends on: about what was not used while another source knows better.

    And all about what people say that they are certain of.
    """
    for i, finding in enumerate(found.items):
        settled = finding.subject in certain or (finding.name in NOT_USED and finding.subject in known)
        if finding.severity == "doubt" and settled:
            found.items[i] = finding.model_copy(update={"severity": "note"})


def say_what_is_missing(position: Origin | None, heading_deg: float | None, found: Findings) -> None:
    """That position or heading is not known, where nothing said why."""
    doubted = {finding.subject for finding in found.items if finding.severity == "doubt"}
    if position is None and "position" not in doubted:
        message = "no source says where it was taken"
        found.add(doubt("no_position", "position", message, f"give position in {SIDECAR}, to ask where it is"))
    if heading_deg is None and "heading" not in doubted:
        message = "no source says which way its middle column looks"
        remedy = f"give heading_deg in {SIDECAR}, to ask what needs north"
        found.add(doubt("no_heading", "heading", message, remedy))


MAPILLARY: Final = "Mapillary"
PANORAMAX: Final = "Panoramax"
_SPHERICAL: Final = frozenset({"spherical", "equirectangular"})
_LICENCE: Final = "CC BY-SA 4.0"  # of all pictures of Mapillary, by its terms
_WORDS_MAX: Final = 200
_URL: Final = "https://www.mapillary.com/app/?pKey="
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class NoPanorama(ValueError):  # noqa: N818 - what is wrong, not an error of a program
    """The service says that the picture is none in all directions."""


def is_mapillary(value: dict[str, Any]) -> bool:
    """Whether a JSON object is an image of Mapillary's."""
    return ("geometry" in value or "computed_geometry" in value) and value.get("type") != "Feature"


def is_panoramax(value: dict[str, Any]) -> bool:
    """Whether a JSON object is a STAC item."""
    return value.get("type") == "Feature" and isinstance(value.get("properties"), dict)


def from_mapillary(value: dict[str, Any], found: Findings) -> list[SourceMetadata]:
    """The metadata of Mapillary, computed before measured. Raises NoPanorama."""
    kind = value.get("camera_type")
    if value.get("is_pano") is False or (isinstance(kind, str) and kind.lower() not in _SPHERICAL):
        raise NoPanorama(f"camera_type is {str(kind)[:40]!r}, is_pano {value.get('is_pano')!r}")
    creator = value.get("creator")
    shared = {
        "captured": _day(value.get("captured_at")),
        "utc_s": _moment_s(value.get("captured_at")),
        "author": _words(creator.get("username")) if isinstance(creator, dict) else None,
        "licence": _LICENCE,
        "source_url": f"{_URL}{value['id']}" if str(value.get("id", "")).isalnum() else None,
    }
    sources = []
    for prefix in ("computed_", ""):
        by = f"{MAPILLARY} {prefix}".replace("_", "").strip()
        lat, lon = _point(value.get(f"{prefix}geometry"))
        position = position_of(lat, lon, number_of(value.get(f"{prefix}altitude")), by, found)
        heading = heading_of(number_of(value.get(f"{prefix}compass_angle")), by, found)
        pitch, roll = _tilt(value.get("computed_rotation")) if prefix else (None, None)
        sources.append(
            SourceMetadata(
                name=by,
                position=position,
                heading_deg=heading,
                camera_pitch_deg=pitch,
                camera_roll_deg=roll,
                **shared,  # type: ignore[arg-type]
            )
        )
    return sources


def from_panoramax(value: dict[str, Any], found: Findings) -> list[SourceMetadata]:
    """The metadata of Panoramax. Raises NoPanorama."""
    properties = value["properties"]
    optics = properties.get("pers:interior_orientation")
    across = number_of(optics.get("field_of_view")) if isinstance(optics, dict) else None
    if across is not None and across != 360:
        raise NoPanorama(f"field_of_view is {across:g}, not 360 degrees")
    lat, lon = _point(value.get("geometry"))
    pitch, roll = (number_of(properties.get(f"pers:{name}")) for name in ("pitch", "roll"))
    for name, angle in (("pitch", pitch), ("roll", roll)):
        if angle is not None and abs(angle) > 90:
            message = f"{PANORAMAX}: pers:{name} is {angle:g}, not within -90 to 90; it was not used"
            found.add(doubt("pose_out_of_range", "heading", message, "give it in pano.yaml", angle, 90.0, "degrees"))
    links = [link for link in _dicts(value.get("links")) if link.get("rel") == "self"]
    providers = [p for p in _dicts(value.get("providers")) if "producer" in (p.get("roles") or ())]
    return [
        SourceMetadata(
            name=PANORAMAX,
            position=position_of(lat, lon, None, PANORAMAX, found),
            accuracy_m=positive(number_of(properties.get("quality:horizontal_accuracy"))),
            heading_deg=heading_of(number_of(properties.get("view:azimuth")), PANORAMAX, found),
            camera_pitch_deg=pitch if pitch is not None and abs(pitch) <= 90 else None,
            camera_roll_deg=roll if roll is not None and abs(roll) <= 90 else None,
            captured=_day(properties.get("datetime")),
            utc_s=_moment_s(properties.get("datetime")),
            author=_words(providers[0].get("name") if providers else properties.get("geovisio:producer")),
            licence=_words(properties.get("license")),
            source_url=_words(links[0].get("href")) if links else None,
        )
    ]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _point(geometry: Any) -> tuple[float | None, float | None]:
    """Latitude and longitude of a GeoJSON point, which has the longitude first."""
    if not isinstance(geometry, dict) or geometry.get("type") != "Point":
        return None, None
    at = geometry.get("coordinates")
    if not isinstance(at, list) or len(at) < 2:
        return None, None
    return number_of(at[1]), number_of(at[0])


def _tilt(rotation: Any) -> tuple[float | None, float | None]:
    """Pitch and roll, degrees, of an axis-angle vector from ENU to camera axes (x right, y down, z forward).

    OpenSfM, "Rotation": the vector's length is the angle. Row i of the matrix is axis i of the camera in ENU.
    """
    parts = [number_of(part) for part in rotation] if isinstance(rotation, list) and len(rotation) == 3 else []
    if not parts or None in parts:
        return None, None
    vector = np.array(parts, dtype=np.float64)
    angle = float(np.linalg.norm(vector))
    x, y, z = vector / angle if angle else np.array([1.0, 0.0, 0.0])
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    axes = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    pitch = math.degrees(math.asin(float(np.clip(axes[2, 2], -1.0, 1.0))))
    return pitch, math.degrees(math.atan2(-axes[0, 2], -axes[1, 2]))


def _words(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())[:_WORDS_MAX] or None


def _day(value: Any) -> datetime.date | None:
    """The day, UTC, of milliseconds since 1970 or of an ISO 8601 time."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return (_EPOCH + datetime.timedelta(milliseconds=value)).date()
        return datetime.datetime.fromisoformat(value).date() if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def _moment_s(value: Any) -> float | None:
    """Seconds since 1970, UTC, of milliseconds since then, or of an ISO 8601 time that states its zone."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_of(value / 1000.0)
    try:
        time = datetime.datetime.fromisoformat(value) if isinstance(value, str) else None
        return time.timestamp() if time is not None and time.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
