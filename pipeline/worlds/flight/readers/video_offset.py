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
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

import av.error
import numpy as np
from scipy.fft import irfft2, rfft2
from scipy.ndimage import median_filter, minimum_filter1d
from scipy.signal import correlate

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
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
CERTAIN: Final = 0.1  # least height of the peak
TILE: Final = (40, 44)  # width and height
TILES: Final = tuple(
    (slice(y, y + TILE[1]), slice(x, x + TILE[0])) for y in (0, SIZE[1] - TILE[1]) for x in (0, 40, 80, 120)
)
TILE_MIDDLES: Final = np.array(
    [(x.start + TILE[0] / 2 - SIZE[0] / 2, y.start + TILE[1] / 2 - SIZE[1] / 2) for y, x in TILES]
)
USUAL_FOV_DEG: Final = 80.0
LAG_S: Final = 1.0  # as much as questions leave about the moments at which what is asked changes
SLOW_MPS: Final = 1.0  # flown across the picture: what is near hardly moves
NEAR_M: Final = 5.0  # hardly anything that a drone films is nearer
TURNS_RPS: Final = np.radians(5.0)  # slower, it is sway
STILL_RPS: Final = np.radians(0.5)
TURNED_DEG: Final = 40.0  # by the log or the video in all, from which on both can be compared
TURNS_ALIKE: Final = 0.2  # of the flights at hand at least 0.4
STEEP_RAD: Final = np.radians(60.0)  # of a camera that looks down more than ahead
LOOKS_ALIKE: Final = 0.8  # how steady the direction is that a piece of video shows; over meadows at hand 0.6
LOOKS_OFF_DEG: Final = 60.0  # of the flights at hand at most 23
PACES: Final = (0.5, 0.8, 25 / 30, 24 / 25, 25 / 24, 1.2, 1.25, 2.0)  # of usual frame rates that are taken for others
STILL_PX: Final = 0.05  # a video whose pictures move sideways by less, in the root mean square, shows no turn


@dataclass(frozen=True)
class Offset:
    """Where a video begins on its log.

    Attributes:
        offset_s: time of the log at the start of the video; negative where the video began first.
        correlation: of the two curves there, at most 1.
        runner_up_s: the next best offset; None: there is no other.
        runner_up: the correlation there; None likewise.
    """

    offset_s: float
    correlation: float
    runner_up_s: float | None
    runner_up: float | None

    @property
    def clear(self) -> bool:
        """Whether the offset can be relied on."""
        return self.correlation >= CLEAR_PEAK and self.correlation - (self.runner_up or 0.0) >= CLEAR_LEAD


class PictureMotion(NamedTuple):
    """How the picture moves in each tenth of a second from the start of a video, (N,) each.

    Attributes:
        right_px, down_px: of pictures reduced to `SIZE`, as most of it moves.
        middle_px: to the right, as the middle does.
        growth: by which share of its distance from the middle everything moves outwards.
        certain: height of the peak that gives the first two; noise alone gives a few hundredths, equal pictures 1.
    """

    right_px: FloatArray
    down_px: FloatArray
    middle_px: FloatArray
    growth: FloatArray
    certain: FloatArray


def find_offset(video: Path, track: FlightTrack, motion: PictureMotion | None = None) -> Offset:
    """The offset of a video on the track of its log, to about a tenth of a second, by how its picture moves.

    Raises:
        RawDataError: where the video cannot be read, has too few pictures or shows no movement, or the log has no
            heading or no turns.
    """
    turning = _turning_rate(video, track)
    shift = (motion or picture_motion(video)).right_px
    if len(shift) / RATE_HZ < MIN_OVERLAP_S or float(np.sqrt(np.mean(shift**2))) < STILL_PX:
        message = f"{len(shift) / RATE_HZ:.1f} s of video hardly move sideways"
        raise RawDataError(video, "no_turn_in_video", message, "set video_offset_s by an event that log and video show")
    # The picture moves left, to smaller x, when the drone turns right, clockwise.
    return _best(-shift, np.nan_to_num(turning), np.isfinite(turning), video)


def other_pace(video: Path, track: FlightTrack, motion: PictureMotion, as_it_is: Offset) -> tuple[float, Offset] | None:
    """By how many times as long a video clearly fits its log better than ``as_it_is``, and there; None: by none."""
    best, least = None, as_it_is.correlation + CLEAR_LEAD
    for times in PACES:
        ticks = np.arange(0.0, (len(motion.right_px) - 1) * times) / times
        longer = PictureMotion(*(np.interp(ticks, np.arange(len(column)), column) for column in motion))
        try:
            found = find_offset(video, track, longer)
        except RawDataError:  # too short at this pace
            continue
        if found.clear and found.correlation >= least:
            best, least = (times, found), found.correlation
    return best


def contradictions(
    motion: PictureMotion, track: FlightTrack, offset_s: float, pitch_deg: float | None, fov_deg: float | None
) -> Iterator[Finding]:
    """Doubts where a video moves otherwise than the camera of its log: turns otherwise, or looks elsewhere.

    How the nose and the camera turn moves the whole picture by known angles. Flight moves it by what the distance of
    things makes of it, which is not known; but the picture grows about the point that is flown to, and moves away from
    where it is flown sideways, whatever the distance.

    Args:
        motion: of the video.
        track: of its log.
        offset_s: time of the log at the start of the video.
        pitch_deg: of a camera that does not tilt; None: the log says it.
        fov_deg: across the picture; None: as of most cameras.
    """
    focal_px = SIZE[0] / 2 / np.tan(np.radians(fov_deg or USUAL_FOV_DEG) / 2)
    right, down, middle = (_smooth(px) * RATE_HZ / focal_px for px in motion[:3])  # radians per second
    growth = _smooth(motion.growth) * RATE_HZ
    lags = np.arange(-round(LAG_S * RATE_HZ), round(LAG_S * RATE_HZ) + 1) / RATE_HZ
    posed = [_Flown.at(track, np.arange(len(right)) / RATE_HZ + offset_s + lag, pitch_deg) for lag in lags]
    yield from _turns_otherwise({"sideways": right, "up or down": down}, motion.certain, posed)
    yield from _looks_elsewhere(middle, growth, motion.certain >= CERTAIN, posed[len(lags) // 2])


class _Flown(NamedTuple):
    """What a camera does by its log, (N,) each; NaN where unknown. Radians and metres per second.

    Attributes:
        turn: of the nose, clockwise. tilt: of the camera, upwards. pitch: of the camera, radians above the horizon.
        ahead, right, up: of the drone, by where its nose points.
        high: whether it is above the ground by so much that what it flies past moves little.
    """

    turn: FloatArray
    tilt: FloatArray
    pitch: FloatArray
    ahead: FloatArray
    right: FloatArray
    up: FloatArray
    high: BoolArray

    @classmethod
    def at(cls, track: FlightTrack, at_s: FloatArray, pitch_deg: float | None) -> _Flown:
        """At times (N,) of a log."""
        after = np.clip(np.searchsorted(track.t_s, at_s), 1, len(track.t_s) - 1)
        inside = (np.abs(at_s - np.clip(at_s, track.t_s[0] + 0.5, track.t_s[-1] - 0.5)) == 0) & (
            track.part[after] == track.part[after - 1]
        )

        def value(column: FloatArray, at: FloatArray) -> FloatArray:
            known = np.isfinite(column)
            if known.sum() < 2:
                return np.full(len(at), np.nan)
            return np.where(inside, np.interp(at, track.t_s[known], column[known]), np.nan)

        def rate(column: FloatArray) -> FloatArray:
            return value(column, at_s + 0.5) - value(column, at_s - 0.5)

        nose = np.full(len(track), np.nan)
        known = np.isfinite(track.heading_deg)
        nose[known] = np.unwrap(np.radians(track.heading_deg[known]))
        toward, (east, north, up) = value(nose, at_s), map(rate, track.enu_m.T)
        tilts = np.radians(track.gimbal_pitch_deg if pitch_deg is None else np.full(len(track), pitch_deg))
        ahead, right = east * np.sin(toward) + north * np.cos(toward), east * np.cos(toward) - north * np.sin(toward)
        with np.errstate(invalid="ignore"):
            high = value(track.height_m, at_s) >= NEAR_M
        return cls(rate(nose), rate(tilts), value(tilts, at_s), ahead, right, up, high)

    def sideways(self) -> tuple[FloatArray, BoolArray]:
        """By how much its turn moves the picture to the right, and when the flight hardly does."""
        with np.errstate(invalid="ignore"):
            slow = (np.abs(self.ahead) <= 2 * SLOW_MPS) | (np.abs(self.turn) >= TURNS_RPS)
            slow &= np.abs(self.right) <= np.maximum(SLOW_MPS, NEAR_M * np.abs(self.turn))
        return -self.turn * np.cos(np.nan_to_num(self.pitch)), slow & np.isfinite(self.turn)

    def upwards(self) -> tuple[FloatArray, BoolArray]:
        """By how much its tilt moves the picture down, and when the flight hardly does."""
        with np.errstate(invalid="ignore"):
            slow = np.abs(self.up * np.cos(self.pitch) - self.ahead * np.sin(self.pitch)) <= SLOW_MPS
        return self.tilt, slow & np.isfinite(self.tilt)


def _turns_otherwise(shown: dict[str, FloatArray], certain: FloatArray, posed: list[_Flown]) -> Iterator[Finding]:
    """Doubts where a picture that moves by (N,) radians a second along an axis does not move as the camera turns.

    What the camera flies past moves too: only moments count at which it hardly flies along that axis. A picture that
    stands counts if it always does: words over a video stand, too, and meadows and the sky look alike everywhere.
    """
    for axis, moved in shown.items():
        stands = np.abs(moved) < STILL_RPS
        sure = (certain >= CERTAIN) & (~stands | bool(stands.all()))
        best: tuple[float, float] | None = None
        for flown in posed:
            stated, counted = flown.sideways() if axis == "sideways" else flown.upwards()
            # Rates are taken over a second, so it counts as a whole; what lies outside the video does not count.
            lasts = minimum_filter1d(counted & flown.high, round(RATE_HZ) + 1, mode="constant")
            counted = sure & lasts
            stated, seen = stated[counted], moved[counted]
            most = np.maximum(np.abs(stated), np.abs(seen))
            turned = float(most[most >= TURNS_RPS].sum()) / RATE_HZ
            if turned < np.radians(TURNED_DEG):
                best = None
                break
            alike = float(stated @ seen) / max(float(np.sqrt((stated @ stated) * (seen @ seen))), 1e-9)
            best = max(best or (-2.0, 0.0), (alike, turned))
        if best is not None and best[0] < TURNS_ALIKE:
            message = (
                f"of {np.degrees(best[1]):.0f} degrees by which the video or the log turns {axis}, both agree to "
                f"{best[0]:.2f} (1: always, -1: the other way round)"
            )
            remedy = "is it the video of this log, unmirrored, at its pace, and are headings and gimbal as written?"
            yield doubt("video_turns_otherwise", "video", message, remedy, round(best[0], 3), TURNS_ALIKE, "cosine")


def _looks_elsewhere(middle: FloatArray, growth: FloatArray, sure: BoolArray, flown: _Flown) -> Iterator[Finding]:
    """A doubt where the picture grows about another point than the log flies to, as of its nose."""
    level, tilt = np.nan_to_num(flown.pitch), np.nan_to_num(flown.tilt)
    way = flown.ahead + 1j * flown.right
    with np.errstate(invalid="ignore"):
        calm = sure & (np.abs(flown.turn) < TURNS_RPS) & (np.abs(tilt) < TURNS_RPS) & (np.abs(level) < STEEP_RAD)
        calm &= (np.abs(way) >= 2 * SLOW_MPS) & (np.abs(flown.up) < SLOW_MPS)
    if calm.sum() < MIN_OVERLAP_S * RATE_HZ:
        return
    level, way = level[calm], way[calm] / np.abs(way[calm])
    seen = growth[calm] / np.cos(level) - 1j * (middle[calm] + flown.turn[calm] * np.cos(level))
    length = np.abs(seen)
    seen = seen * np.minimum(1.0, 3.0 * np.median(length) / np.maximum(length, 1e-9))
    # Piece by piece: headings of another frame, as of the camera against the nose, are off otherwise on each leg.
    pieces = [piece.sum() for piece in np.array_split(seen * way.conj(), len(seen) // round(MIN_OVERLAP_S * RATE_HZ))]
    lengths = [piece.sum() for piece in np.array_split(np.abs(seen), len(pieces))]
    off_deg = [
        abs(float(np.degrees(np.angle(towards))))
        for towards, length in zip(pieces, lengths, strict=True)
        if abs(towards) >= LOOKS_ALIKE * max(length, 1e-9)
    ]
    if 2 * len(off_deg) > len(pieces) and (middle_deg := float(np.median(off_deg))) > LOOKS_OFF_DEG:
        message = (
            f"in {calm.sum() / RATE_HZ:.0f} s of even flight the video is flown {middle_deg:.0f} degrees beside where "
            f"the log's headings have it flown, in the middle of {len(off_deg)} pieces"
        )
        remedy = "are headings counted from north, clockwise, and does the camera look ahead? correct the log"
        yield doubt("video_looks_elsewhere", "video", message, remedy, round(middle_deg, 1), LOOKS_OFF_DEG, "deg")


def _smooth(values: FloatArray) -> FloatArray:
    """Medians of the values (N,) over a second about each: where nothing can be followed, shifts jump to and fro."""
    return np.asarray(median_filter(values, round(RATE_HZ) + 1, mode="nearest"))


def picture_motion(video: Path, most_s: float = np.inf) -> PictureMotion:
    """How the picture moves in the first ``most_s`` seconds, at `RATE_HZ`. Raises RawDataError."""
    before: FloatArray | None = None
    times, moves = [], []
    for time, grey in takewhile(lambda picture: picture[0] <= most_s, _grey_pictures(video)):
        if before is not None:
            moves.append(_motion(before, grey))
        times.append(time)
        before = grey
    if not moves:
        return PictureMotion(*np.empty((5, 0)))
    t_s = np.array(times)
    # A shift belongs to the middle between its two pictures, which may lie more than a tenth of a second apart.
    middle, wait = (t_s[1:] + t_s[:-1]) / 2, np.diff(t_s)
    if (apart := float(np.median(wait))) > APART_MAX_S:
        message = f"its pictures lie {apart:.2f} s apart, more than {APART_MAX_S:g} s: turns between them are not seen"
        remedy = "set video_offset_s by an event that log and video show"
        raise RawDataError(video, "pictures_too_far_apart", message, remedy)
    *rates, certain = np.array(moves).T
    ticks = np.arange(0.0, t_s[-1], 1.0 / RATE_HZ)
    return PictureMotion(
        *(np.interp(ticks, middle, column) for column in (*(r / (wait * RATE_HZ) for r in rates), certain))
    )


def _motion(before: FloatArray, now: FloatArray) -> tuple[float, float, float, float, float]:
    """Shift to the right and down, of the middle to the right, growth and certainty between two pictures (90, 160).

    The middle and the growth are those of `TILES`, each against the picture before as it is shifted as a whole, fitted
    with a turn about the middle.
    """
    (right,), (down,), (certain,) = _shifts(before[None], now[None])
    moved = np.roll(before, (round(down), round(right)), (0, 1))
    across, along, sure = _shifts(*(np.stack([grey[tile] for tile in TILES]) for grey in (moved, now)))
    weight = sure * (np.maximum(np.abs(across), np.abs(along)) <= TILE[0] / 4)
    if (weight > 0).sum() < 2:
        return float(right), float(down), float(right), 0.0, float(certain)
    weight /= weight.sum()
    (x, y), (out_x, out_y) = weight @ TILE_MIDDLES, (TILE_MIDDLES - weight @ TILE_MIDDLES).T
    spread = float(weight @ (out_x**2 + out_y**2))
    grows, turns = (float(weight @ (across * i + along * j)) / spread for i, j in ((out_x, out_y), (-out_y, out_x)))
    middle = round(right) + float(weight @ across) - grows * x + turns * y
    return float(right), float(down), middle, grows, float(certain)


def _shifts(before: FloatArray, now: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shifts to the right and down between pictures (k, h, w): peaks of their phase correlation, and their heights."""
    height, width = before.shape[1:]
    window = np.outer(np.hanning(height), np.hanning(width))
    first, second = (rfft2((grey - grey.mean((1, 2), keepdims=True)) * window) for grey in (before, now))
    cross = second * np.conj(first)
    peaks = irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=(height, width))
    every = np.arange(len(peaks))
    row, column = np.unravel_index(peaks.reshape(len(peaks), -1).argmax(1), (height, width))
    middle = peaks[every, row, column]
    across = _vertices(peaks[every, row, column - 1], middle, peaks[every, row, (column + 1) % width])
    along = _vertices(peaks[every, row - 1, column], middle, peaks[every, (row + 1) % height, column])
    right, down = (column + across + width / 2) % width, (row + along + height / 2) % height
    return right - width / 2, down - height / 2, middle


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
                    grey = frame.reformat(width, height, "gray", threads=1).to_ndarray()
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
    fraction = float(_vertices(*correlation[best - 1 : best + 2])) if inside else 0.0
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


def _vertices(left: FloatArray, middle: FloatArray, right: FloatArray) -> FloatArray:
    """Where parabolas through three neighbours have their vertex, from the middle ones (k,); between -0.5 and 0.5."""
    bend = left - 2.0 * middle + right
    return np.where(bend < 0, np.clip(0.5 * (left - right) / np.where(bend < 0, bend, -1.0), -0.5, 0.5), 0.0)
