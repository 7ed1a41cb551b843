"""Alignment of a video with its flight log: the time offset, found from the turns that both show.

When the drone turns, everything in the picture moves sideways. The log's turning rate and the sideways movement from
picture to picture are therefore one curve, up to a factor (the field of view) and a shift in time: the offset. To find
``video_offset_s`` of a ``flight.yaml``:

1. `find_offset` takes pictures about ten times a second, reduces them to grey ones 160 pixels wide, and finds by phase
   correlation by how much each is shifted against the one before.
2. It shifts the curve along the log's turning rate and takes the correlation wherever they overlap long enough.
3. It gives the offset of the highest correlation, that correlation, and the runner-up: the highest one elsewhere.

Take the offset where the correlation is well above that of the runner-up (`Offset.clear`). A flight with few turns, or
with the same turn again and again, has no clear offset; then find an event that both show, such as the moment of
take-off, and write its time in the log minus its time in the video.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Final

import av.error
import numpy as np
import numpy.typing as npt
from scipy.fft import irfft2, rfft2
from scipy.signal import correlate

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import RawDataError
from pipeline.formats.videos import VideoError, main_stream, open_video, quarter_turns
from pipeline.geometry.tracks import FlightTrack

RATE_HZ: Final = 10.0  # of both curves
SIZE: Final = (160, 90)  # width and height of the reduced pictures
MIN_OVERLAP_S: Final = 5.0
MIN_OVERLAP: Final = 0.5  # of the shorter of video and log
ELSEWHERE_S: Final = 1.0  # a runner-up is a peak farther away than this
CLEAR_PEAK: Final = 0.5  # correlation that an offset worth taking has at least
CLEAR_LEAD: Final = 0.15  # and its lead over the runner-up
MIN_TURN_DEG: Final = 20.0  # of the log in all; less cannot be told from sway
APART_MAX_S: Final = 0.51  # between pictures: two a second tell the sample flights' offsets, one a second does not
STILL_PX: Final = 0.05  # a video whose pictures move sideways by less, in the root mean square, shows no turn


@dataclass(frozen=True)
class Offset:
    """Where a video begins on its log.

    Attributes:
        offset_s: time of the log at the start of the video; negative where the video began first.
        correlation: of the two curves there, at most 1.
        runner_up_s: the next best offset; None: there is no other.
        runner_up: the correlation there; None likewise.
        reversed_s: the best offset of a video that turns the other way round; None: it was not looked for.
        reversed: the correlation there.
    """

    offset_s: float
    correlation: float
    runner_up_s: float | None
    runner_up: float | None
    reversed_s: float | None = None
    reversed: float = 0.0

    @property
    def clear(self) -> bool:
        """Whether the offset can be relied on."""
        return self.correlation >= CLEAR_PEAK and self.correlation - (self.runner_up or 0.0) >= CLEAR_LEAD


def find_offset(video: Path, track: FlightTrack, most_s: float = np.inf) -> Offset:
    """The offset of a video on the track of its log, to about a tenth of a second, by its first ``most_s`` seconds.

    Raises:
        RawDataError: where the video cannot be read, has too few pictures or shows no movement, or the log has no
            heading or no turns.
    """
    turning = _turning_rate(video, track)
    shift = picture_shifts(video, most_s)
    if len(shift) / RATE_HZ < MIN_OVERLAP_S or float(np.sqrt(np.mean(shift**2))) < STILL_PX:
        message = f"{len(shift) / RATE_HZ:.1f} s of video hardly move sideways"
        raise RawDataError(video, "no_turn_in_video", message, "set video_offset_s by an event that log and video show")
    # The picture moves left, to smaller x, when the drone turns right, clockwise.
    log, known = np.nan_to_num(turning), np.isfinite(turning)
    other = _best(shift, log, known, video)
    return replace(_best(-shift, log, known, video), reversed_s=other.offset_s, reversed=other.correlation)


def picture_shifts(video: Path, most_s: float = np.inf) -> FloatArray:
    """How fast the picture moves to the right, pixels of 160 across in 0.1 s: (N,) at `RATE_HZ` from 0."""
    window = np.outer(np.hanning(SIZE[1]), np.hanning(SIZE[0]))
    before: npt.NDArray[np.complex128] | None = None
    times, shifts = [], []
    for time, grey in takewhile(lambda picture: picture[0] <= most_s, _grey_pictures(video)):
        now = rfft2((grey - grey.mean()) * window)
        if before is not None:
            shifts.append(_sideways(before, now))
        times.append(time)
        before = now
    if not shifts:
        return np.empty(0)
    t_s = np.array(times)
    # A shift belongs to the middle between its two pictures, which may lie more than a tenth of a second apart.
    middle, wait = (t_s[1:] + t_s[:-1]) / 2, np.diff(t_s)
    if (apart := float(np.median(wait))) > APART_MAX_S:
        message = f"its pictures lie {apart:.2f} s apart, more than {APART_MAX_S:g} s: turns between them are not seen"
        remedy = "set video_offset_s by an event that log and video show"
        raise RawDataError(video, "pictures_too_far_apart", message, remedy)
    return np.interp(np.arange(0.0, t_s[-1], 1.0 / RATE_HZ), middle, np.array(shifts) / (wait * RATE_HZ))


def _sideways(before: npt.NDArray[np.complex128], now: npt.NDArray[np.complex128]) -> float:
    """Sideways shift between two transformed pictures: the peak of their phase correlation, between pixels too."""
    cross = now * np.conj(before)
    peaks = irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=(SIZE[1], SIZE[0]))
    row, column = np.unravel_index(int(np.argmax(peaks)), peaks.shape)
    line = peaks[row]
    fraction = _vertex(line[column - 1], line[column], line[(column + 1) % SIZE[0]])
    return float((column + fraction + SIZE[0] / 2) % SIZE[0] - SIZE[0] / 2)


def _grey_pictures(video: Path) -> Iterator[tuple[float, FloatArray]]:
    """Reduced pictures (90, 160), one per tick of `RATE_HZ` at most, with their times from the first."""
    start: float | None = None
    due = 0.0
    try:
        with open_video(video) as container:
            stream = main_stream(container)
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                if frame.pts is None:
                    continue
                start = frame.time if start is None else start
                if frame.time - start >= due - 1e-6:
                    due = max(due + 1.0 / RATE_HZ, frame.time - start)
                    turns = quarter_turns(frame)
                    width, height = (SIZE[1], SIZE[0]) if turns % 2 else SIZE
                    grey = frame.reformat(width, height, "gray").to_ndarray()
                    yield frame.time - start, np.rot90(np.asarray(grey, dtype=np.float64), -turns)
    except (av.error.FFmpegError, OSError, ValueError, IndexError, AttributeError, VideoError) as error:
        message = f"the video cannot be read: {error}"
        raise RawDataError(video, "unreadable_video", message, "fetch the video again") from error


def _turning_rate(video: Path, track: FlightTrack) -> FloatArray:
    """Turning rate of the nose, degrees per second clockwise, (N,) at `RATE_HZ` from 0; NaN where not known."""
    remedy = "set video_offset_s by an event that log and video show"
    known = np.isfinite(track.heading_deg)
    if known.sum() < 2:
        raise RawDataError(video, "no_heading", "the flight's log has no heading to compare with", remedy)
    t_s, part = track.t_s[known], track.part[known]
    nose = np.unwrap(track.heading_deg[known], period=360.0)
    if np.ptp(nose) < MIN_TURN_DEG:
        message = f"the log turns by {np.ptp(nose):.1f}° in all, less than {MIN_TURN_DEG:g}°"
        raise RawDataError(video, "no_turn_in_log", message, remedy)
    grid = np.arange(0.0, track.t_s[-1], 1.0 / RATE_HZ)
    rate = (np.interp(grid + 0.5 / RATE_HZ, t_s, nose) - np.interp(grid - 0.5 / RATE_HZ, t_s, nose)) * RATE_HZ
    after = np.clip(np.searchsorted(t_s, grid), 1, len(t_s) - 1)
    return np.where(part[after] == part[after - 1], rate, np.nan)


def _best(video: FloatArray, log: FloatArray, known: BoolArray, path: Path) -> Offset:
    """The lag of the highest correlation of two curves at one rate, over those that overlap long enough."""
    overlap = _sums(known.astype(float), np.ones(len(video)))
    least = max(MIN_OVERLAP_S * RATE_HZ, MIN_OVERLAP * min(len(video), float(known.sum())))
    enough = overlap > least - 0.5
    if not enough.any():
        message = f"video and log overlap by less than {least / RATE_HZ:.1f} s however they are laid"
        raise RawDataError(path, "too_short", message, "set video_offset_s by an event that log and video show")
    correlation = np.where(enough, _correlations(video, log, known, overlap), -1.0)
    best = int(np.argmax(correlation))
    lag_s = (np.arange(len(correlation)) - (len(video) - 1)) / RATE_HZ
    inside = 0 < best < len(correlation) - 1 and enough[best - 1] and enough[best + 1]
    fraction = _vertex(*correlation[best - 1 : best + 2]) if inside else 0.0
    edged = np.concatenate([[-np.inf], correlation, [-np.inf]])
    is_peak = (correlation >= edged[:-2]) & (correlation >= edged[2:])  # not the flank of the best one
    other = np.where(enough & is_peak & (np.abs(lag_s - lag_s[best]) > ELSEWHERE_S), correlation, -np.inf)
    second = int(np.argmax(other))
    has_other = bool(np.isfinite(other[second]))
    return Offset(
        offset_s=float(lag_s[best] + fraction / RATE_HZ),
        correlation=float(correlation[best]),
        runner_up_s=float(lag_s[second]) if has_other else None,
        runner_up=float(correlation[second]) if has_other else None,
    )


def _correlations(video: FloatArray, log: FloatArray, known: BoolArray, overlap: FloatArray) -> FloatArray:
    """Correlation of the two curves at every lag, over the ``overlap`` samples that they share there."""
    there, ones, n = known.astype(float), np.ones(len(video)), np.maximum(overlap, 1.0)
    mean_video, mean_log = _sums(there, video) / n, _sums(log, ones) / n
    spread_video = np.maximum(_sums(there, video**2) / n - mean_video**2, 0.0)
    spread_log = np.maximum(_sums(log**2, ones) / n - mean_log**2, 0.0)
    # Where one of the curves is flat there is nothing to compare.
    spread = np.sqrt(np.maximum(spread_video, 1e-3 * np.var(video)) * np.maximum(spread_log, 1e-3 * np.var(log[known])))
    return (_sums(log, video) / n - mean_video * mean_log) / spread


def _sums(a: FloatArray, b: FloatArray) -> FloatArray:
    """Sum of products of two curves at every lag."""
    return np.asarray(correlate(a, b, mode="full", method="fft"))


def _vertex(left: float, middle: float, right: float) -> float:
    """Where the parabola through three neighbours has its vertex, from the middle one; between -0.5 and 0.5."""
    bend = left - 2.0 * middle + right
    return float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend < 0 else 0.0
