"""Every flight of a log file as a track, and the track as a table (`store.table_bytes` makes Parquet of it)."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.findings import note
from pipeline.core.templates import load_table
from pipeline.formats.logs.log import Log
from pipeline.formats.logs.registry import LOGS, detect
from pipeline.geometry.tracks import FlightTrack
from pipeline.worlds.flight.tracks.assemble import AIRBORNE_M, AssembledTrack, assemble


def read_tracks(path: Path, format: str | None = None) -> tuple[tuple[Log, AssembledTrack], ...]:
    """Every flight of a file as logged and as a track, in the order of the file.

    A flight that cannot be used is left out, and a note of the first that can says so. Raises RawDataError if there is
    none that can; ConfigError for an unknown format.
    """
    if format is not None and format not in LOGS:
        raise ConfigError(f"there is no format {format!r}; choose one of {', '.join(LOGS)}")
    reader = detect(path) if format is None else LOGS[format]
    found: list[tuple[Log, AssembledTrack]] = []
    lost: list[RawDataError] = []
    for log in reader.read(path):
        try:
            found.append((log, assemble(path, log)))
        except RawDataError as error:
            error.scene = error.scene or log.name or None
            lost.append(error)
    if not found:
        raise lost[0]
    first = [note("flight_left_out", "log", f"{e.scene}: {e.finding}: {e.message}", e.remedy) for e in lost]
    every = []
    if path.suffix.lower() not in reader.suffixes:
        message = f"read as {reader.name} by its content, though its name ends in {path.suffix or 'nothing'}"
        every.append(note("unexpected_suffix", "log", message, f"name it *{reader.suffixes[0]}"))
    return tuple(
        (log, replace(one, findings=(*every, *(() if number else first), *one.findings)))
        for number, (log, one) in enumerate(found)
    )


def never_flew(log: Log, track: FlightTrack) -> str | None:
    """Why the vehicle of a log cannot have flown, or None: it did, or it is not known.

    Args:
        log: which may say so itself, or know the height above take-off. A height that merely counts from the first
            position proves nothing: the log may begin in the air.
        track: of it.
    """
    if log.grounded is not None:
        return log.grounded
    if log.height_m is None or not np.isfinite(track.height_m).any():
        return None
    farthest_m = float(np.nanmax(np.abs(track.height_m)))
    if farthest_m > AIRBORNE_M:
        return None
    return f"its height stays within {farthest_m:.1f} m of where it was switched on (limit {AIRBORNE_M:g} m)"


# What each column holds; written into the file as the field's metadata.
COLUMNS: Final = load_table("logs/track")  # unit, and what it is


def track_table(track: FlightTrack) -> pa.Table:
    """One row per sample, times from 0; what is not known is null. `label` is there where the track has labels."""
    flat = pa.array(np.nan_to_num(track.quat_wxyz).ravel(), pa.float64())
    columns = {
        "t_s": _numbers(np.round(track.t_s - track.t_s[:1], 6)),
        "east_m": _numbers(track.enu_m[:, 0]),
        "north_m": _numbers(track.enu_m[:, 1]),
        "up_m": _numbers(track.enu_m[:, 2]),
        "lat_deg": _numbers(track.lat_lon_deg[:, 0]),
        "lon_deg": _numbers(track.lat_lon_deg[:, 1]),
        "height_m": _numbers(track.height_m),
        "speed": _numbers(track.speed_mps),
        "quat_wxyz": pa.FixedSizeListArray.from_arrays(flat, 4, mask=pa.array(np.isnan(track.quat_wxyz).any(1))),
        "heading_deg": _numbers(track.heading_deg),
        "gimbal_pitch_deg": _numbers(track.gimbal_pitch_deg),
        "part": pa.array(track.part, pa.int32()),
    }
    if track.label is not None:
        columns["label"] = pa.array(track.label, pa.string())
    documented = ((name, array, *COLUMNS[name]) for name, array in columns.items())
    schema = pa.schema([pa.field(n, a.type, metadata={"unit": unit, "what": what}) for n, a, unit, what in documented])
    return pa.table(list(columns.values()), schema=schema)


def _numbers(values: FloatArray) -> pa.Array:
    return pa.array(values, pa.float64(), mask=np.isnan(values))
