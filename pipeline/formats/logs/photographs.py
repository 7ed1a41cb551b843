"""A folder of photographs that a drone took, as its flight log: a position for each.

Place, altitude and time are in EXIF; height above take-off, attitude and gimbal in the XMP that DJI's drones write
(``drone-dji:``, as signed decimals: degrees, yaw clockwise from north). EXIF's altitude is the one above sea level.
XMP survives programs that rewrite a picture, so what wrote it last does not count.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file
from pipeline.core.findings import note
from pipeline.formats.logs.frames import flu_to_enu, quaternion
from pipeline.formats.logs.log import Log, Series, finite, to_numbers, unreadable
from pipeline.formats.picture_tags import DRONE_DJI, BrokenTagsError, Exif, tags_of

PICTURE_SUFFIXES: Final = (".jpg", ".jpeg")
PICTURE_BYTES_MAX: Final = 1 << 28
PICTURES_MAX: Final = 100_000
_XMP: Final = (
    "RelativeAltitude", "AbsoluteAltitude", "FlightRollDegree", "FlightPitchDegree", "FlightYawDegree",
    "GimbalPitchDegree", "GimbalYawDegree",
)  # fmt: skip


def photographs(folder: Path) -> list[Path]:
    """The pictures in a folder, by name."""
    try:
        there = [p for p in folder.iterdir() if p.suffix.lower() in PICTURE_SUFFIXES and not p.name.startswith(".")]
    except OSError as error:
        raise unreadable(folder, error) from error
    return sorted(there)[:PICTURES_MAX]


class Photographs:
    """Reads folders of a drone's photographs."""

    name = "photographs"
    suffixes: tuple[str, ...] = ("",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether it is a folder that holds a picture."""
        return path.is_dir() and bool(photographs(path))

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a folder, in the order of the pictures' times.

        Raises RawDataError: `unreadable`, `no_position`.
        """
        rows: list[tuple[float, ...]] = []
        names, broken = photographs(path), []
        for picture in names:
            try:
                rows.append(_row(*tags_of(read_file(picture, PICTURE_BYTES_MAX), DRONE_DJI)))
            except (OSError, BrokenTagsError):
                broken.append(picture.name)
        values = finite(np.array(rows, dtype=np.float64).reshape(-1, 4 + len(_XMP)))
        if not len(values) or np.isnan(values[:, 1]).all():
            message = f"none of {len(names)} pictures has a position in its EXIF"
            raise RawDataError(path, "no_position", message, "give the pictures as the drone wrote them")
        values = values[np.argsort(values[:, 0], kind="stable")]
        t_s, place = values[:, 0], values[:, 1:4]
        height, above_sea, roll, pitch, yaw, gimbal, gimbal_yaw = values[:, 4:].T
        attitude = flu_to_enu(quaternion(*np.radians([roll, pitch, yaw])))
        turned = np.isfinite(gimbal_yaw).any() and not np.isfinite(yaw).any()
        found = []
        if broken:
            message = f"{len(broken)} of {len(names)} pictures cannot be read, the first of them {broken[0]}"
            found.append(note("broken_pictures", "log", message, "none needed if the rest will do", len(broken), 0))
        return (
            Log(
                name="",
                dialect="EXIF and DJI's XMP" if np.isfinite(values[:, 4:]).any() else "EXIF",
                clock="local",
                t_s=t_s,
                lat_lon_alt=np.column_stack([place[:, :2], np.where(np.isnan(above_sea), place[:, 2], above_sea)]),
                height_m=height if np.isfinite(height).any() else None,
                attitude=Series(t_s, attitude) if np.isfinite(attitude).any() else None,
                heading=Series(t_s, gimbal_yaw % 360.0) if turned else None,
                gimbal_pitch=Series(t_s, gimbal) if np.isfinite(gimbal).any() else None,
                findings=tuple(found),
            ),
        )


def _row(exif: Exif | None, xmp: Mapping[str, str] | None) -> tuple[float, ...]:
    """Time, latitude, longitude, altitude and the values of `_XMP`; NaN for what is not told."""
    values = (None,) * 4 if exif is None else (exif.taken_s, exif.lat_deg, exif.lon_deg, exif.alt_m)
    known = [float("nan") if value is None else value for value in values]
    return (*known, *to_numbers([(xmp or {}).get(name, "") for name in _XMP]).tolist())
