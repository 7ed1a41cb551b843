"""Readers of flight logs: one per format, chosen by content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.errors import ConfigError, RawDataError
from pipeline.readers.logs.airdata_csv import AirdataCsv
from pipeline.readers.logs.airsim import AirSim
from pipeline.readers.logs.assemble import Assembled, assemble
from pipeline.readers.logs.base import Log, LogReader
from pipeline.readers.logs.dataflash import DataFlash
from pipeline.readers.logs.dji_srt import DjiSrt
from pipeline.readers.logs.findings import note
from pipeline.readers.logs.gpx import Gpx
from pipeline.readers.logs.kml import Kml
from pipeline.readers.logs.openfly import OpenFly
from pipeline.readers.logs.px4_ulog import PX4Ulog
from pipeline.readers.logs.tlog import Tlog
from pipeline.schema import Finding

__all__ = ["LOGS", "Assembled", "Log", "LogReader", "assemble", "detect", "read_tracks"]

_READERS: Final[tuple[LogReader, ...]] = (
    PX4Ulog(),
    DataFlash(),
    Tlog(),
    DjiSrt(),
    AirdataCsv(),
    AirSim(),
    Gpx(),
    Kml(),
    OpenFly(),
)
LOGS: Final[dict[str, LogReader]] = {reader.name: reader for reader in _READERS}
_HEAD_BYTES: Final = 4096


def detect(path: Path) -> LogReader:
    """The reader of a file, by its content; its suffix decides only between readers that all know it.

    Raises RawDataError: `unreadable`, `empty` or `unknown_format`.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise RawDataError(path, "unreadable", f"cannot be read ({error.strerror})", "give a file") from error
    if not head:
        raise RawDataError(path, "empty", "the file has no bytes", "copy it from the drone again")
    own = [reader for reader in LOGS.values() if reader.is_own(path, head)]
    if not own:
        known = ", ".join(LOGS)
        message = f"no reader knows the content of this {path.suffix or 'file without a suffix'}"
        raise RawDataError(path, "unknown_format", message, f"give a log of one of these formats: {known}")
    return min(own, key=lambda reader: path.suffix.lower() not in reader.suffixes)


def read_tracks(path: Path, format: str | None = None) -> tuple[tuple[Log, Assembled], ...]:
    """Every flight of a file as logged and as a track, in the order of the file.

    A flight that cannot be used is left out, and a note of the first that can says so. Raises RawDataError if there is
    none that can; ConfigError for an unknown format.
    """
    if format is not None and format not in LOGS:
        raise ConfigError(f"there is no format {format!r}; choose one of {', '.join(LOGS)}")
    reader = detect(path) if format is None else LOGS[format]
    found: list[tuple[Log, Assembled]] = []
    lost: list[RawDataError] = []
    for log in reader.read(path):
        try:
            found.append((log, assemble(path, log)))
        except RawDataError as error:
            error.scene = error.scene or log.name or None
            lost.append(error)
    if not found:
        raise lost[0] if lost else RawDataError(path, "no_flight", "the file holds no flight", "give another log")
    left_out = [note("flight_left_out", f"{e.scene}: {e.finding}: {e.message}", e.remedy) for e in lost]
    found[0] = _with_findings(*found[0], left_out)
    if path.suffix.lower() in reader.suffixes:
        return tuple(found)
    message = f"read as {reader.name} by its content, though its name ends in {path.suffix or 'nothing'}"
    suffix = note("unexpected_suffix", message, f"name it *{reader.suffixes[0]}")
    return tuple(_with_findings(log, assembled, [suffix]) for log, assembled in found)


def _with_findings(log: Log, assembled: Assembled, more: Sequence[Finding]) -> tuple[Log, Assembled]:
    return log, Assembled(assembled.track, assembled.origin, (*more, *assembled.findings))
