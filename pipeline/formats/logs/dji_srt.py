"""DJI subtitle files `.SRT`: one cue per frame or per second, with the drone's state as text.

Times are those of the cues, so those of the video; `dji_clock` says what the wall clock in their text is for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.dji_clock import TIMING, WALL, Cues, clock_findings, cues, interrupted
from pipeline.formats.logs.dji_dialects import FIELDS, NEEDED_SATELLITES, Order, field, metres, order_of
from pipeline.formats.logs.log import Log, Series
from pipeline.formats.logs.ned import flu_to_enu, quaternion
from pipeline.formats.logs.records import file_bytes
from pipeline.formats.logs.text import decoded

NONE, BRACKETED, SATELLITES, ALTITUDE, PAIR = range(5)  # what a cue's position is written in
_NAMES: Final = {
    BRACKETED: "bracketed",
    SATELLITES: "GPS(…, satellites)",
    ALTITUDE: "GPS(…, altitude)",
    PAIR: "GPS(…)",
}


class DjiSrt:
    """Reads subtitles of DJI drones in all dialects of `dji_dialects`."""

    name = "dji_srt"
    version = 1
    suffixes: tuple[str, ...] = (".srt",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether there is a cue, or without cue times a wall clock and a position."""
        text = decoded(head).lower()
        placed = any(FIELDS[name].search(text) for name in ("latitude", "gps"))
        return TIMING.search(text) is not None or (placed and WALL.search(text) is not None)

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a file. Raises RawDataError: `unreadable`, `empty`, `no_cues`, `no_positions`."""
        text = decoded(file_bytes(path)).lower()
        found = cues(text)
        if found is None:
            raise RawDataError(path, "no_cues", "there is no subtitle in it", "give the .SRT beside the video")
        fields = {name: field(text, found.starts, name) for name in FIELDS}
        place, dialect, orders = _places(fields)
        if not np.isfinite(place[:, 0]).any():
            message = f"none of {len(found.t_s)} subtitles holds a position, only camera settings"
            remedy = "switch on GPS in captions, or give the flight record of the app (Airdata CSV)"
            raise RawDataError(path, "no_positions", message, remedy)
        return (_log(found, fields, place, dialect, orders),)


def _log(
    found: Cues,
    fields: dict[str, FloatArray],
    place: FloatArray,
    dialect: IntArray,
    orders: dict[int, Order],
) -> Log:
    t_s, kinds = found.t_s, [kind for kind in _NAMES if (dialect == kind).any()]
    paused = interrupted(found)
    height, heights = _heights(fields)
    pitch, roll, yaw = np.radians(fields["flight"]).T
    attitude = flu_to_enu(quaternion(roll, pitch, yaw))
    gimbal = np.where(np.isnan(fields["gb_pitch"][:, 0]), fields["gimbal"][:, 0], fields["gb_pitch"][:, 0])
    camera_yaw = fields["gb_yaw"][:, 0]
    flown = np.isfinite(attitude).any()
    from_camera = not flown and bool(np.isfinite(camera_yaw).any())
    satellites = fields["gps"][:, 2]
    return Log(
        name="",
        dialect=", ".join([*(_NAMES[kind] for kind in kinds), *heights]),
        clock=found.clock,
        t_s=t_s,
        lat_lon_alt=place,
        height_m=height if heights else None,
        usable=None if np.isnan(satellites).all() else ~((dialect == SATELLITES) & (satellites < NEEDED_SATELLITES)),
        begins=_begins(dialect) | paused,
        attitude=Series(t_s, attitude) if flown else None,
        heading=Series(t_s, camera_yaw % 360.0) if from_camera else None,
        gimbal_pitch=Series(t_s, gimbal) if np.isfinite(gimbal).any() else None,
        findings=(*_findings(t_s, kinds, heights, orders, from_camera), *clock_findings(found, paused)),
    )


def _heights(fields: dict[str, FloatArray]) -> tuple[FloatArray, list[str]]:
    """Height above take-off (N,) by the first field that has it, and the names of those that occur."""
    found = {name: fields[name][:, 0] for name in ("rel_alt", "altitude")}
    found |= {name: metres(fields[name]) for name in ("height", "barometer")}
    found = {name: values for name, values in found.items() if np.isfinite(values).any()}
    height = np.full(len(fields["rel_alt"]), np.nan)
    for values in found.values():
        height = np.where(np.isnan(height), values, height)
    return height, list(found)


def _places(fields: dict[str, FloatArray]) -> tuple[FloatArray, IntArray, dict[int, Order]]:
    """WGS84 (N, 3) of each cue, the dialect it is in, and the order of GPS() in each of its dialects."""
    place = np.column_stack([fields["latitude"][:, 0], fields["longitude"][:, 0], fields["abs_alt"][:, 0]])
    gps, known = fields["gps"], np.isfinite(fields["gps"])
    bracketed = np.isfinite(place[:, :2]).any(1)
    kinds = [BRACKETED, ALTITUDE, SATELLITES, PAIR]
    dialect = np.select([bracketed, known[:, 3], known[:, 2], known[:, 0]], kinds, NONE).astype(np.intp)
    orders = {}
    for kind in kinds[1:]:
        here = (dialect == kind) & (gps[:, :2] != 0).any(1)
        if here.any():
            distance = metres(fields["distance"][here])
            orders[kind] = order_of(gps[here, :2], fields["home"][here], distance, kind == ALTITUDE)
            columns = [0, 1] if orders[kind].latitude_first else [1, 0]
            place[here] = np.column_stack([gps[here][:, columns], gps[here, 3]])
    return place, dialect, orders


def _begins(dialect: IntArray) -> BoolArray:
    """Where (N,) another dialect begins than that of the cue with a position before."""
    spoken = np.flatnonzero(dialect)
    other = spoken[1:][np.diff(dialect[spoken]) != 0]
    begins = np.zeros(len(dialect), dtype=bool)
    begins[other] = True
    return begins


def _findings(
    t_s: FloatArray, kinds: list[int], heights: list[str], orders: dict[int, Order], from_camera: bool
) -> list[Finding]:
    found = []
    if len(kinds) > 1:
        message = f"positions are written in {len(kinds)} ways: {', '.join(_NAMES[kind] for kind in kinds)}; a new "
        remedy = "if several flights were joined, give each its own file"
        found.append(
            doubt("mixed_dialects", "log", message + "part begins where another one does", remedy, len(kinds), 1)
        )
    for kind, order in orders.items():
        how = "latitude, longitude" if order.latitude_first else "longitude, latitude"
        message = f"{_NAMES[kind]} is read as ({how}), known by its {order.known_by}"
        usual = order.latitude_first == (kind == ALTITUDE) and (kind != PAIR or order.known_by != "form")
        found.append((note if usual else doubt)("gps_order", "log", message, "compare one position with a map"))
    if "altitude" in heights:
        message = "the subtitles do not say what [altitude] is measured from; it is taken as height above take-off"
        found.append(doubt("altitude_reference", "log", message, "compare it with the height on the controller"))
    if from_camera:
        message = "the heading is that of the camera (gb_yaw), which follows the nose unless the gimbal was turned"
        found.append(doubt("heading_of_gimbal", "log", message, "none needed if the gimbal was in follow mode"))
    if t_s[0] > 0:
        message = f"the first subtitle stands at {t_s[0]:.3f} s of the video"
        remedy = f"set video_offset_s: {-t_s[0]:.3f} in flight.yaml"
        found.append(note("starts_late", "log", message, remedy, float(t_s[0]), 0.0, "s"))
    return found
