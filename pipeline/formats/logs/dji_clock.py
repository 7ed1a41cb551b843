"""The two clocks of DJI subtitles: the times of the cues, those of the video, and the wall clock in their text.

The wall clock is local time of an unknown zone. It shows whether the video runs at the drone's pace, and where the
recording was interrupted; it is read in the place of cue times only where there are none.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Clock

TIMING: Final = re.compile(r"(\d{1,3}):(\d\d):(\d\d)[,.](\d{3})\s*-->")
WALL: Final = re.compile(r"(\d{4})[-.](\d\d)[-.](\d\d) +(\d\d):(\d\d):(\d\d)(?:[.,](\d{3}))?")
PACE_TOLERANCE: Final = 0.05  # share by which the pace of video and wall clock may differ
INTERRUPTED_S: Final = 5.0  # more on the wall clock than in the video, and than usual: as long as a gap of a track
_PACE_NEEDS_S: Final = 10.0  # of video; less says nothing beside a clock of whole seconds
_BEGINNING: Final = datetime(1970, 1, 1)


class Cues(NamedTuple):
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


def cues(text: str) -> Cues | None:
    """The subtitles of a text, None if there is none: neither a cue time nor a wall clock."""
    timings = list(TIMING.finditer(text))
    if timings:
        starts = np.array([match.start() for match in timings], dtype=np.intp)
        t_s = np.round(np.array([m.groups() for m in timings]).astype(np.float64) @ [3600.0, 60.0, 1.0, 1e-3], 3)
        wall_s = _wall_clock(text, starts)
        if len(t_s) < 2 or np.ptp(t_s) > 0 or np.isnan(wall_s).any():
            return Cues(starts, t_s, wall_s, "video")
        return Cues(starts, np.round(wall_s - wall_s[0], 3), wall_s, "local")  # all cues bear one time: they have none
    starts = np.array([match.start() for match in WALL.finditer(text)], dtype=np.intp)
    if not len(starts):
        return None
    wall_s = _wall_clock(text, starts)
    return Cues(starts, np.round(wall_s - wall_s[0], 3), wall_s, "local")


def interrupted(found: Cues) -> BoolArray:
    """Cues (N,) before which the wall clock went on for over `INTERRUPTED_S` more than the video, and than usual."""
    begins = np.zeros(len(found.t_s), dtype=bool)
    known = np.flatnonzero(np.isfinite(found.wall_s))
    if found.clock == "video" and len(known) > 2:
        more = np.diff(found.wall_s[known]) - np.diff(found.t_s[known])
        begins[known[1:]] = more > INTERRUPTED_S + max(0.0, float(np.median(more)))
    return begins


def clock_findings(found: Cues, begins: BoolArray) -> list[Finding]:
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
    found = list(WALL.finditer(text))
    if not found:
        return out
    cue = np.searchsorted(starts, [match.start() for match in found], side="right") - 1
    cue, first = np.unique(cue, return_index=True)
    seconds = np.array([_seconds(found[i]) for i in first.tolist()])
    out[cue[cue >= 0]] = seconds[cue >= 0]
    return out


def _seconds(match: re.Match[str]) -> float:
    """Seconds since 1970, NaN for a date that there is not."""
    year, month, day, hour, minute, second, milli = (int(part or 0) for part in match.groups())
    try:
        return (datetime(year, month, day, hour, minute, second, 1000 * milli) - _BEGINNING).total_seconds()
    except ValueError:
        return float("nan")
