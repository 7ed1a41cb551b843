"""Readers of flight logs: one per format, chosen by content."""

from pathlib import Path
from typing import Final

from pipeline.core.errors import RawDataError
from pipeline.core.files import open_file
from pipeline.core.plugins import lacking, load_plugins
from pipeline.formats.logs.airdata_csv import AirdataCsv
from pipeline.formats.logs.airsim import AirSim
from pipeline.formats.logs.dataflash import DataFlash
from pipeline.formats.logs.dji_srt import DjiFilm, DjiSrt
from pipeline.formats.logs.film_tracks import is_film, no_telemetry
from pipeline.formats.logs.gpmf import Gpmf
from pipeline.formats.logs.log import LogReader
from pipeline.formats.logs.openfly import OpenFly
from pipeline.formats.logs.photographs import Photographs
from pipeline.formats.logs.px4_ulog import PX4Ulog
from pipeline.formats.logs.tlog import Tlog
from pipeline.formats.logs.xml_tracks import Gpx, Kml
from pipeline.formats.nearest import nearest_format

_OWN: Final[tuple[LogReader, ...]] = (
    PX4Ulog(),
    DataFlash(),
    Tlog(),
    DjiSrt(),
    AirdataCsv(),
    AirSim(),
    Gpx(),
    Kml(),
    OpenFly(),
    Gpmf(),
    DjiFilm(),
    Photographs(),
)
_READERS: Final[tuple[LogReader, ...]] = (
    *_OWN,
    *load_plugins(
        "scan2qa.log_formats",
        [reader.name for reader in _OWN],
        lambda reader: lacking(reader, ("suffixes", "is_own", "read")),
    ),
)
LOGS: Final[dict[str, LogReader]] = {reader.name: reader for reader in _READERS}
_HEAD_BYTES: Final = 4096
_PACKED: Final = (b"PK\x03\x04", b"\x1f\x8b")  # ZIP, gzip: what is stored in one may look like a log


def detect(path: Path) -> LogReader:
    """The reader of a file, by its content; its suffix decides only between readers that all know it.

    Raises RawDataError: `unreadable`, `empty` or `unknown_format`, or of a film `unreadable_video` or `no_telemetry`.
    """
    if path.is_dir() and LOGS[Photographs.name].is_own(path, b""):
        return LOGS[Photographs.name]
    try:
        with open_file(path) as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise RawDataError(path, "unreadable", f"cannot be read ({error.strerror})", "give a file") from error
    if not head:
        raise RawDataError(path, "empty", "the file has no bytes", "copy it from the drone again")
    own = [reader for reader in LOGS.values() if not head.startswith(_PACKED) and reader.is_own(path, head)]
    if not own:
        if is_film(head):
            raise no_telemetry(path)
        known = ", ".join(LOGS)
        message = f"no reader knows the content of this {path.suffix or 'file without a suffix'}"
        near = nearest_format(path)
        remedy = f"give a log of one of these formats: {known}" + (f"; {near}" if near else "")
        raise RawDataError(path, "unknown_format", message, remedy)
    return min(own, key=lambda reader: path.suffix.lower() not in reader.suffixes)
