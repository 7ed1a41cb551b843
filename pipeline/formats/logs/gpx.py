"""GPX tracks, 1.0 and 1.1: each segment is a part; times are UTC, elevations above mean sea level."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log
from pipeline.formats.logs.text import decoded
from pipeline.formats.logs.xml import child_text, elements, to_number, to_seconds


class Gpx:
    """Reads the tracks of a GPX file as one flight. Waypoints and routes are no flight and are passed over."""

    name = "gpx"
    version = 1
    suffixes: tuple[str, ...] = (".gpx",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether there is an element <gpx>."""
        return "<gpx" in decoded(head)

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
                texts = [element.get("lat"), element.get("lon"), child_text(element, "ele")]
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
        return (
            Log(
                name="",
                dialect="tracks",
                clock="utc",
                t_s=values[:, 0],
                lat_lon_alt=values[:, 1:],
                begins=np.array(begins),
                findings=tuple(found),
            ),
        )
