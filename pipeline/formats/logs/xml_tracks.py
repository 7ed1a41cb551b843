"""GPX and KML tracks, read element by element up to where the file breaks off. No XML entity is ever expanded.

GPX 1.0 and 1.1: each segment is a part; times are UTC, elevations above mean sea level, speeds metres per
second. KML: tracks with times, `<gx:Track>` of `<when>`, `<gx:coord>` and `<gx:angles>`; each is a part.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log, Series, decoded, file_bytes

_DECLARES: Final = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ROOT: Final = {name: re.compile(rf"<(?:[\w.-]+:)?{name}[\s>]") for name in ("gpx", "kml")}  # with or without a prefix
_CHUNK: Final = 1 << 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def elements(path: Path, found: list[Finding]) -> Iterator[tuple[str, str, Element]]:
    """Pairs of "start" or "end" and the local name, with the element, as they come in the file.

    An element is whole at its end. What follows the first fault of the XML is left out, with a finding.

    Raises RawDataError: `unreadable`, `empty`, `document_type`.
    """
    text = decoded(file_bytes(path))
    if _DECLARES.search(text):
        message = "it declares a document type or entities, which no flight log needs"
        raise RawDataError(path, "document_type", message, "take the <!DOCTYPE …> out, if you trust the file")
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    try:
        for at in range(0, len(text), _CHUNK):
            parser.feed(text[at : at + _CHUNK])
            for event, *rest in parser.read_events():
                for element in rest:
                    if isinstance(element, Element):  # "start" and "end" bring nothing else
                        yield str(event), local_name(element), element
        parser.close()
    except ParseError as error:
        message = f"the XML is broken ({error}); what follows was left out"
        found.append(note("cut", "log", message, "if the file is cut, export it again"))


def local_name(element: Element) -> str:
    """The name without its namespace."""
    return element.tag.rpartition("}")[2]


def child_text(element: Element, name: str) -> str:
    """Text of the first child of a name, "" if there is none."""
    return next((child.text or "" for child in element if local_name(child) == name), "").strip()


def to_number(text: str | None) -> float:
    """A finite number, NaN for what is none."""
    try:
        value = float(text or "nan")
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def to_seconds(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 time; one without a zone is UTC, as GPX and KML say. NaN for what is none."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return math.nan
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH).total_seconds()


@dataclass
class _Track:
    """Texts of one gx:Track; the k-th of each belong together."""

    texts: dict[str, list[str]] = field(default_factory=lambda: {"when": [], "coord": [], "angles": []})
    altitude_mode: str = "clampToGround"  # KML's default

    def __len__(self) -> int:
        return min(len(self.texts["when"]), len(self.texts["coord"]))


class Kml:
    """Reads the timed tracks of a KML file as one flight. Lines without times are no flight log."""

    name = "kml"
    suffixes: tuple[str, ...] = (".kml",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether there is an element <kml>."""
        return _ROOT["kml"].search(decoded(head)) is not None

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a file.

        Raises RawDataError: `unreadable`, `empty`, `document_type`, `no_track`, `no_times`.
        """
        found: list[Finding] = []
        tracks: list[_Track] = []
        lines = False
        for event, name, element in elements(path, found):
            if event == "start":
                lines |= name == "LineString"
                if name == "Track":
                    tracks.append(_Track())
            elif tracks and name in tracks[-1].texts:
                tracks[-1].texts[name].append(element.text or "")
                element.clear()
            elif tracks and name == "altitudeMode":
                tracks[-1].altitude_mode = (element.text or "").strip()
        tracks = [track for track in tracks if len(track)]
        if not tracks and lines:
            message = "its line has no times, and without them nothing is known of movements"
            raise RawDataError(path, "no_times", message, "export with times (gx:Track), or give the log itself")
        if not tracks:
            raise RawDataError(path, "no_track", "there is no gx:Track with points in it", "give a recorded track")
        return (_log(tracks, found),)


def _log(tracks: Sequence[_Track], found: list[Finding]) -> Log:
    t_s = np.array([to_seconds(text) for track in tracks for text in track.texts["when"][: len(track)]])
    place = np.concatenate([_numbers(track, "coord") for track in tracks])
    # A track that has not an angle for each place does not say which are missing.
    angles = np.concatenate(
        [
            _numbers(track, "angles") if len(track.texts["angles"]) >= len(track) else np.full((len(track), 3), np.nan)
            for track in tracks
        ]
    )
    mode = np.repeat([track.altitude_mode for track in tracks], [len(track) for track in tracks])
    begins = np.zeros(len(t_s), dtype=bool)
    begins[np.cumsum([0, *map(len, tracks[:-1])])] = True
    above_ground = mode == "relativeToGround"
    unpaired = sum(abs(len(track.texts["when"]) - len(track.texts["coord"])) for track in tracks)
    if unpaired:
        message = f"{unpaired} times or places have no partner; they were paired from the beginning of each track"
        found.append(doubt("unpaired", "log", message, "if the file is cut, export it again", unpaired, 0))
    if above_ground.any():
        message = "altitudes are above the ground below (relativeToGround); they are taken as above take-off"
        found.append(doubt("altitude_reference", "log", message, "take no height from flights over slopes"))
    return Log(
        name="",
        dialect=", ".join(["gx:Track", *sorted(set(mode.tolist()))]),
        clock="utc",
        t_s=t_s,
        lat_lon_alt=np.column_stack([place[:, 1], place[:, 0], np.where(mode == "absolute", place[:, 2], np.nan)]),
        height_m=np.where(above_ground, place[:, 2], np.nan) if above_ground.any() else None,
        begins=begins,
        heading=Series(t_s, angles[:, 0] % 360.0) if np.isfinite(angles[:, 0]).any() else None,
        findings=tuple(found),
    )


def _numbers(track: _Track, name: str) -> FloatArray:
    """Three numbers (N, 3) of each text; NaN for what is none."""
    rows = [(text.split() + ["nan"] * 3)[:3] for text in track.texts[name][: len(track)]]
    return np.array([[to_number(part) for part in row] for row in rows])


class Gpx:
    """Reads the tracks of a GPX file as one flight. Waypoints and routes are no flight and are passed over."""

    name = "gpx"
    suffixes: tuple[str, ...] = (".gpx",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether there is an element <gpx>."""
        return _ROOT["gpx"].search(decoded(head)) is not None

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a file.

        Raises RawDataError: `unreadable`, `empty`, `document_type`, `no_track`, `no_times`.
        """
        found: list[Finding] = []
        rows: list[list[float]] = []
        begins: list[bool] = []
        new = False
        for event, name, element in elements(path, found):
            if event == "start":
                new |= name == "trkseg"
            elif name == "trkpt":
                speed = next((one.text for one in element.iter() if local_name(one) == "speed"), None)
                texts = [element.get("lat"), element.get("lon"), child_text(element, "ele"), speed]
                rows.append([to_seconds(child_text(element, "time")), *map(to_number, texts)])
                begins.append(new)
                new = False
                element.clear()
        if not rows:
            raise RawDataError(path, "no_track", "there is no track point in it", "give a recorded track")
        values = np.array(rows)
        if np.isnan(values[:, 0]).all():
            message = "its points have no times, and without them nothing is known of movements"
            raise RawDataError(path, "no_times", message, "export the recorded track with times, not a planned route")
        log = Log("", "tracks", "utc", values[:, 0], lat_lon_alt=values[:, 1:4], begins=np.array(begins))
        speed_mps = values[:, 4] if np.isfinite(values[:, 4]).any() else None
        return (replace(log, speed_mps=speed_mps, findings=tuple(found)),)
