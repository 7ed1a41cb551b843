"""Every flight of a log file as a track."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.findings import note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log
from pipeline.formats.logs.registry import LOGS, detect
from pipeline.worlds.flight.tracks.assemble import Assembled, assemble


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
        raise lost[0]
    left_out = [note("flight_left_out", "log", f"{e.scene}: {e.finding}: {e.message}", e.remedy) for e in lost]
    found[0] = _with_findings(*found[0], left_out)
    if path.suffix.lower() in reader.suffixes:
        return tuple(found)
    message = f"read as {reader.name} by its content, though its name ends in {path.suffix or 'nothing'}"
    suffix = note("unexpected_suffix", "log", message, f"name it *{reader.suffixes[0]}")
    return tuple(_with_findings(log, assembled, [suffix]) for log, assembled in found)


def _with_findings(log: Log, assembled: Assembled, more: Sequence[Finding]) -> tuple[Log, Assembled]:
    return log, Assembled(assembled.track, assembled.origin, (*more, *assembled.findings))
