"""DJI subtitle files `.SRT`: one cue per frame or per second, with the drone's state as text.

Times are those of the cues, so those of the video. The wall clock in their text is local time of an unknown zone: it
shows whether the video runs at the drone's pace, and where the recording was interrupted; it is read in the place of
cue times only where there are none. The dialects:

Bracketed (Mavic Air 2, Mavic 3, Mini 3 and later): `[latitude: 41.4] [longitude: 2.2] [rel_alt: 1.0 abs_alt: 9.0]`, or
`[altitude: 27.3]`; some write `latitude :` or `longtitude`; some add `[gb_yaw: 1.0 gb_pitch: -90.0 gb_roll: 0.0]`.

GPS(longitude, latitude, satellites) (Mavic Pro, Mini, Phantom 4, Inspire) with `BAROMETER:1.9`, or with
`D 54.9m, H 19.4m` (distance from home, height), and on the Phantom 4 RTK `F.PRY` and `G.PRY` (pitch, roll, yaw of
drone and camera). GPS(latitude, longitude, altitude) (M300, Avata 2). Which of the two it is, the numbers must say.

Numbers count only with what ends them, so that a cut file yields no shortened ones.

Some drones write the same text as a subtitle track into the film (`DjiFilm`).
"""

import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.film_tracks import FILM_SUFFIXES, TrackPacket, finds, is_film, read_packets
from pipeline.formats.logs.frames import flu_to_enu, quaternion
from pipeline.formats.logs.log import Clock, Log, Series, decoded, file_bytes
from pipeline.geometry.geodesy import offsets_m

# A comma before a digit is a decimal one, a degree sign before one stands for minutes: half of a number is none.
_END: Final = r"(?=[\s\]);<|mf]|,(?!\d)|°(?!\s*\d))"
_NUM: Final = r"([-+]?\d+(?:\.\d+)?)" + _END
_SIDED: Final = r"([-+]?\d+(?:\.\d+)?)(?:[\s°]*([nsew])\b(?!\s*[:=])|" + _END + ")"  # 46.5 S
_PRY: Final = (
    r"\.pry\s*\(\s*([-+]?\d+(?:\.\d+)?)[^\d,)]*,\s*([-+]?\d+(?:\.\d+)?)[^\d,)]*,\s*([-+]?\d+(?:\.\d+)?)[^\d,)]*\)"
)

# Of text in lower case. The literal beginnings let `re` skip fast over the rest of a long file.
FIELDS: Final = {
    "latitude": re.compile(r"lat(?:itude)?\s*:\s*" + _SIDED),
    "longitude": re.compile(r"lon(?:gt?itude)?\s*:\s*" + _SIDED),
    "rel_alt": re.compile(r"rel_alt\s*:\s*" + _NUM),
    "abs_alt": re.compile(r"abs_alt\s*:\s*" + _NUM),
    "altitude": re.compile(r"\[altitude\s*:\s*" + _NUM),
    "gb_yaw": re.compile(r"gb_yaw\s*:\s*" + _NUM),
    "gb_pitch": re.compile(r"gb_pitch\s*:\s*" + _NUM),
    # Two numbers, then satellites (a whole number below 100), or an altitude, or nothing.
    "gps": re.compile(
        r"gps\s*\(\s*([-+]?\d+(?:\.\d+)?)\s*,\s*([-+]?\d+(?:\.\d+)?)\s*"
        r"(?:,\s*(?:(\d{1,2})|([-+]?\d+(?:\.\d+)?)\s*m?)\s*)?\)"
    ),
    "home": re.compile(r"home\s*\(\s*([-+]?\d+(?:\.\d+)?)\s*,\s*" + _NUM),
    "barometer": re.compile(r"barometer\s*[:=(]?\s*" + _NUM + r"\s*(ft)?"),
    "height": re.compile(r"[\s,]h\s*[\s:=]\s*" + _NUM + r"\s*(ft)?"),
    "distance": re.compile(r"[\s,](?:d|home distance)\s*[\s:=]\s*" + _NUM + r"\s*(ft)?"),
    "flight": re.compile("f" + _PRY),
    "gimbal": re.compile("g" + _PRY),
}
FEET_M: Final = 0.3048
NEEDED_SATELLITES: Final = 4  # for a position in three dimensions
_DISCERNIBLE_M: Final = 20.0  # from home; nearer, noise hides which number is the latitude
_AT_HOME_M: Final = 1.0
_AGREES: Final = 0.05  # share of the distance by which the right order may miss it
_TELLS_APART: Final = 3.0  # the wrong order misses it by so much more


def field(text: str, starts: IntArray, name: str) -> FloatArray:
    """The first values of a field in each cue: (N, groups); NaN where a cue has none.

    Args:
        text: the file, in lower case.
        starts: (N,) where each cue begins.
        name: of `FIELDS`. A group that names a unit is 1 for feet, one that names a side 1 for south
            or west, else NaN.
    """
    pattern = FIELDS[name]
    out = np.full((len(starts), pattern.groups), np.nan)
    cues, found = _firsts(pattern, text, starts)
    if found:
        values = np.array([match.groups("nan") for match in found])
        values = np.where(np.isin(values, ["ft", "s", "w"]), "1", values)
        out[cues] = np.where(np.isin(values, ["n", "e"]), "nan", values).astype(np.float64)
    return out


def _firsts(pattern: re.Pattern[str], text: str, starts: IntArray) -> tuple[IntArray, list[re.Match[str]]]:
    """The cues (n,) with a match, and the first match in each."""
    found = list(pattern.finditer(text))
    cues, first = np.unique(
        np.searchsorted(starts, [match.start() for match in found], side="right") - 1, return_index=True
    )
    return cues[cues >= 0], [found[i] for i in first[cues >= 0].tolist()]


def metres(values: FloatArray) -> FloatArray:
    """Lengths (N,) of a field with a unit (N, 2)."""
    return values[:, 0] * np.where(values[:, 1] == 1.0, FEET_M, 1.0)


class CoordinateOrder(NamedTuple):
    """Which number of GPS() is the latitude, and how that is known: by "range", "distance" or "form"."""

    latitude_first: bool
    known_by: str


def order_of(pair: FloatArray, home: FloatArray, distance_m: FloatArray, with_altitude: bool) -> CoordinateOrder:
    """Tells the order of GPS() from what only one order allows.

    Args:
        pair: (N, 2) its first two numbers.
        home: (N, 2) those of HOME(), in the same order, or NaN: then where the distance is nearly 0.
        distance_m: (N,) to home as logged, or NaN.
        with_altitude: whether the third number is an altitude. DJI writes GPS(longitude, latitude, satellites)
            and GPS(latitude, longitude, altitude).
    """
    size = np.median(np.abs(pair), axis=0)
    if size.max() > 90.0:  # no latitude
        return CoordinateOrder(bool(size[1] > 90.0), "range")
    if np.isnan(home).any(1).all() and np.nanmin(distance_m, initial=np.inf) < _AT_HOME_M:
        home = np.broadcast_to(pair[np.nanargmin(distance_m)], pair.shape)
    there = (distance_m > _DISCERNIBLE_M) & np.isfinite(home).all(1)
    if there.any():
        miss = []  # by what share of it the distance from home is missed under each order
        for order in ([1, 0], [0, 1]):
            offset = offsets_m(pair[there][:, order], np.median(home[there][:, order], axis=0))
            far = np.hypot(offset[:, 0], offset[:, 1])
            miss.append(float(np.median(np.abs(far / distance_m[there] - 1.0))))
        if min(miss) < _AGREES and max(miss) > _AGREES + _TELLS_APART * min(miss):
            return CoordinateOrder(miss[1] < miss[0], "distance")
    return CoordinateOrder(with_altitude, "form")


TIMING: Final = re.compile(r"(\d{1,3}):(\d\d):(\d\d)[,.](\d{3})\s*-->")
WALL: Final = re.compile(r"(\d{4})[-.](\d\d)[-.](\d\d) +(\d\d):(\d\d):(\d\d)(?:[.,](\d{3}))?")
PACE_TOLERANCE: Final = 0.05  # share by which the pace of video and wall clock may differ
INTERRUPTED_S: Final = 5.0  # more on the wall clock than in the video, and than usual: as long as a gap of a track
_PACE_NEEDS_S: Final = 10.0  # of video; less says nothing beside a clock of whole seconds
_BEGINNING: Final = datetime(1970, 1, 1)


class SubtitleCues(NamedTuple):
    """The subtitles of a file.

    Attributes:
        starts: (N,) where each begins in the text.
        t_s: (N,) times of the video, or where the cues have none those of the wall clock from its first.
        wall_s: (N,) seconds of the wall clock; NaN where a cue has none.
        clock: which clock ``t_s`` is of.
    """

    starts: IntArray
    t_s: FloatArray
    wall_s: FloatArray
    clock: Clock


def cues(text: str) -> SubtitleCues | None:
    """The subtitles of a text, None if there is none: neither a cue time nor a wall clock."""
    timings = list(TIMING.finditer(text))
    if timings:
        starts = np.array([match.start() for match in timings], dtype=np.intp)
        t_s = np.round(np.array([m.groups() for m in timings]).astype(np.float64) @ [3600.0, 60.0, 1.0, 1e-3], 3)
        wall_s = _wall_clock(text, starts)
        if len(t_s) < 2 or np.ptp(t_s) > 0 or np.isnan(wall_s).any():
            return SubtitleCues(starts, t_s, wall_s, "video")
        return SubtitleCues(
            starts, np.round(wall_s - wall_s[0], 3), wall_s, "local"
        )  # all cues bear one time: they have none
    starts = np.array([match.start() for match in WALL.finditer(text)], dtype=np.intp)
    if not len(starts):
        return None
    wall_s = _wall_clock(text, starts)
    return SubtitleCues(starts, np.round(wall_s - wall_s[0], 3), wall_s, "local")


def interrupted(found: SubtitleCues) -> BoolArray:
    """Cues (N,) before which the wall clock went on for over `INTERRUPTED_S` more than the video, and than usual."""
    begins = np.zeros(len(found.t_s), dtype=bool)
    known = np.flatnonzero(np.isfinite(found.wall_s))
    if found.clock == "video" and len(known) > 2:
        more = np.diff(found.wall_s[known]) - np.diff(found.t_s[known])
        begins[known[1:]] = more > INTERRUPTED_S + max(0.0, float(np.median(more)))
    return begins


def clock_findings(found: SubtitleCues, begins: BoolArray) -> list[Finding]:
    """Interruptions of the recording, and whether the video runs as fast as the wall clock.

    Slow motion and hyperlapse do not; interruptions are not counted as slowness.
    """
    findings: list[Finding] = []
    if found.clock == "local":
        message = "the subtitles have no times of the video; the times are those of their wall clock"
        findings.append(note("wall_clock", "log", message, "set video_offset_s in flight.yaml by what the video shows"))
        return findings
    known = np.flatnonzero(np.isfinite(found.wall_s))
    lost_s = np.diff(found.wall_s[known]) - np.diff(found.t_s[known])
    lost_s = lost_s[begins[known[1:]]]
    if len(lost_s):
        message = (
            f"the recording was interrupted {len(lost_s)} times, by up to {lost_s.max():.1f} s of the wall clock; "
            "a new part begins at each"
        )
        remedy = "none needed: parts are not joined"
        findings.append(note("interrupted", "log", message, remedy, float(lost_s.max()), INTERRUPTED_S, "s"))
    shown = found.t_s[-1] - found.t_s[0]
    if len(known) < 2 or shown < _PACE_NEEDS_S or (np.diff(found.t_s) < 0).any():
        return findings
    passed = float(found.wall_s[known[-1]] - found.wall_s[known[0]] - lost_s.sum())
    shown = float(found.t_s[known[-1]] - found.t_s[known[0]])
    if shown > 0 and abs(passed / shown - 1.0) > PACE_TOLERANCE:
        message = f"{shown:.1f} s of video show {passed:.1f} s by the wall clock; speeds and durations are the video's"
        remedy = "leave slow motion and hyperlapse out"
        findings.append(doubt("pace", "log", message, remedy, passed / shown, 1.0, "s/s"))
    return findings


def _wall_clock(text: str, starts: IntArray) -> FloatArray:
    """Seconds since 1970 of the first wall clock in each cue (N,); NaN where it has none."""
    out = np.full(len(starts), np.nan)
    cues, found = _firsts(WALL, text, starts)
    out[cues] = [_seconds(match) for match in found]
    return out


def _seconds(match: re.Match[str]) -> float:
    """Seconds since 1970, NaN for a date that there is not."""
    year, month, day, hour, minute, second, milli = (int(part or 0) for part in match.groups())
    try:
        return (datetime(year, month, day, hour, minute, second, 1000 * milli) - _BEGINNING).total_seconds()
    except ValueError:
        return float("nan")


_QUOTED: Final = 24  # words of a subtitle in which no position is found
NONE, BRACKETED, SATELLITES, ALTITUDE, PAIR = range(5)  # what a cue's position is written in
_NAMES: Final = {
    BRACKETED: "bracketed",
    SATELLITES: "GPS(…, satellites)",
    ALTITUDE: "GPS(…, altitude)",
    PAIR: "GPS(…)",
}


class DjiSrt:
    """Reads subtitles of DJI drones in all dialects."""

    name = "dji_srt"
    suffixes: tuple[str, ...] = (".srt",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether there is a cue, or without cue times a wall clock and a position."""
        text = decoded(head).lower()
        placed = any(FIELDS[name].search(text) for name in ("latitude", "gps"))
        return TIMING.search(text) is not None or (placed and WALL.search(text) is not None)

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a file. Raises RawDataError: `unreadable`, `empty`, `no_cues`, `no_positions`."""
        return (_flight(path, decoded(file_bytes(path))),)


class DjiFilm:
    """Reads the same subtitles from the track of a film that holds them (mov_text)."""

    name = "dji_film"
    suffixes = FILM_SUFFIXES

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether it is a film of which one of the first subtitles holds a position."""
        return is_film(head) and finds(path, "subtitle", _is_placed) is not None

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a film; its times are the film's.

        Raises RawDataError: `unreadable_video`, `track_too_large`, `no_cues`, `no_positions`.
        """
        track = finds(path, "subtitle", _is_placed)
        packets = () if track is None else read_packets(path, track)
        log = _flight(path, "\n".join(_cue(p) for p in packets if p.t_s >= 0 and _text(p.raw).strip()))
        message = "the log is the film's own subtitles, its times are those of the film"
        own = note("telemetry_in_film", "log", message, "none needed")
        return (replace(log, findings=(own, *(f for f in log.findings if f.name != "starts_late"))),)


def _text(raw: bytes) -> str:
    """The text of a packet: its length in two bytes, then UTF-8, then how it looks (3GPP TS 26.245)."""
    return decoded(raw[2 : 2 + int.from_bytes(raw[:2], "big")])


def _is_placed(raw: bytes) -> bool:
    text = _text(raw).lower()
    return any(FIELDS[name].search(text) for name in ("latitude", "gps"))


def _cue(packet: TrackPacket) -> str:
    """A packet as a subtitle of a file: its time, then its text, in which an arrow is none."""
    minutes, seconds = divmod(packet.t_s, 60.0)
    start = f"{int(minutes // 60):02d}:{int(minutes % 60):02d}:{int(seconds):02d},{int(seconds % 1 * 1000):03d}"
    return f"{start} --> \n{_text(packet.raw).replace('-->', '->')}\n"


def _flight(path: Path, subtitles: str) -> Log:
    """The flight that subtitles tell of. Raises RawDataError: `no_cues`, `no_positions`."""
    text = subtitles.lower()
    found = cues(text)
    if found is None:
        raise RawDataError(path, "no_cues", "there is no subtitle in it", "give the .SRT beside the video")
    fields = {name: field(text, found.starts, name) for name in FIELDS}
    place, dialect, orders = _places(fields)
    if not np.isfinite(place[:, 0]).any():
        first = " ".join(text[found.starts[0] : [*found.starts, len(text)][1]].split()[3:_QUOTED])
        message = (
            f"none of {len(found.t_s)} subtitles holds a position, or it is written in no way that is known; the first "
            f"is {first!r}"
        )
        remedy = "switch on GPS in captions, or give the flight record of the app (Airdata CSV)"
        raise RawDataError(path, "no_positions", message, remedy)
    return _log(found, fields, place, dialect, orders)


def _log(
    found: SubtitleCues,
    fields: dict[str, FloatArray],
    place: FloatArray,
    dialect: IntArray,
    orders: dict[int, CoordinateOrder],
) -> Log:
    t_s, kinds = found.t_s, [kind for kind in _NAMES if (dialect == kind).any()]
    paused = interrupted(found)
    spoken, begins = np.flatnonzero(dialect), paused.copy()
    begins[spoken[1:][np.diff(dialect[spoken]) != 0]] = True  # another dialect than that of the position before
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
        begins=begins,
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


def _places(fields: dict[str, FloatArray]) -> tuple[FloatArray, IntArray, dict[int, CoordinateOrder]]:
    """WGS84 (N, 3) of each cue, the dialect it is in, and the order of GPS() in each of its dialects."""
    sides = [np.where(fields[name][:, 1] == 1.0, -1.0, 1.0) * fields[name][:, 0] for name in ("latitude", "longitude")]
    place = np.column_stack([*sides, fields["abs_alt"][:, 0]])
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


def _findings(
    t_s: FloatArray, kinds: list[int], heights: list[str], orders: dict[int, CoordinateOrder], from_camera: bool
) -> list[Finding]:
    found = []
    if len(kinds) > 1:
        message = f"positions are written in {len(kinds)} ways: {', '.join(_NAMES[kind] for kind in kinds)}; a new "
        message += "part begins where another one does"
        remedy = "if several flights were joined, give each its own file"
        found.append(doubt("mixed_dialects", "log", message, remedy, len(kinds), 1))
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
        remedy = "none needed: what the log does not cover is not asked about"
        found.append(note("starts_late", "log", message, remedy, float(t_s[0]), 0.0, "s"))
    return found
