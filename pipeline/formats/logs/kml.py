"""KML: tracks with times, `<gx:Track>` of `<when>`, `<gx:coord>` and `<gx:angles>`; each is a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log, Series
from pipeline.formats.logs.text import decoded
from pipeline.formats.logs.xml import elements, to_number, to_seconds


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
    version = 1
    suffixes: tuple[str, ...] = (".kml",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether there is an element <kml>."""
        return "<kml" in decoded(head)

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
