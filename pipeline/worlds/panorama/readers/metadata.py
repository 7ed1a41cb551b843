"""What a panorama's sources say, in the order in which they are believed: people, services, the picture itself."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Final

from pipeline.core.errors import RawDataError
from pipeline.core.files import open_file
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Origin
from pipeline.formats.picture_header import header_of
from pipeline.formats.picture_tags import BrokenTagsError, tags_of
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.readers.embedded import from_exif
from pipeline.worlds.panorama.readers.own_files import SIDECAR, OwnFiles, refuse_large
from pipeline.worlds.panorama.readers.picture import MOST_PIXELS
from pipeline.worlds.panorama.readers.services import (
    NoPanorama,
    from_mapillary,
    from_panoramax,
    is_mapillary,
    is_panoramax,
)
from pipeline.worlds.panorama.readers.sidecar import Sidecar
from pipeline.worlds.panorama.readers.told import Told, first, heading_of, position_of

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


def stated(sidecar: Sidecar, found: Findings) -> Told:
    """What people say."""
    at = sidecar.position
    return Told(
        by=SIDECAR,
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


def of_services(files: SceneFiles, own: OwnFiles, found: Findings) -> list[Told]:
    """What services of street pictures say.

    Raises:
        RawDataError: for JSON that cannot be read, or of a picture that is none in all directions.
    """
    told = []
    for path in own.services:
        refuse_large(files, path, _JSON_BYTES)
        value = files.json(path)
        try:
            if is_panoramax(value):
                told += from_panoramax(value, found)
            elif is_mapillary(value):
                told += from_mapillary(value, found)
            else:
                message = f"{path.name}: it is neither an image of Mapillary's nor a STAC item of Panoramax's; not used"
                remedy = f"say what it says in {SIDECAR}, or take the file away"
                found.add(note("unknown_json", "picture", message, remedy))
        except NoPanorama as error:
            message = f"the picture is no panorama: {error}"
            raise files.fault(path, "not_equirectangular", message, "take a picture in all directions") from error
    return told


def whereabouts(files: SceneFiles, own: OwnFiles, sidecar: Sidecar) -> Origin | None:
    """The position that a panorama will have, from as few bytes as tell it; None where none is known."""
    found = Findings()
    told = [stated(sidecar, found)]
    if told[0].position is None:
        try:
            told += of_services(files, own, found)
        except RawDataError:  # said when the panorama is read
            return None
    if not any(one.position for one in told) and own.pictures:
        try:
            with open_file(own.pictures[0]) as file:
                head = file.read(_HEAD_BYTES)
        except OSError:
            return None
        header = header_of(head)
        if header is not None and header.width * header.height <= MOST_PIXELS:
            with suppress(BrokenTagsError):
                exif, _ = tags_of(head)
                told += [from_exif(exif, found)] if exif is not None else []
    position: Origin | None = first(told, "position", {})
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
