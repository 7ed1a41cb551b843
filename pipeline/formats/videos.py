"""Video files: their facts from the container's header, and single pictures by number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import size_of_file

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

MAX_PIXELS: Final = 8192 * 4320  # of a picture: 100 MB as RGB
_JUMP: Final = 8  # frames: a jump to the key frame before a picture takes as long as decoding so many


class VideoError(Exception):
    """The file is no readable video."""


@dataclass(frozen=True)
class VideoFacts:
    """The header of a video; ``frames`` is counted without decoding where it does not say.

    Width and height are those of pictures as stored.
    """

    fps: float | None
    frames: int
    width: int
    height: int

    def as_shown(self, path: Path) -> VideoFacts:
        """The same as players show it: turned as the container asks, ``fps`` the mean of its pictures' own times."""
        try:
            turns = quarter_turns(next(decoded_frames(path)))
        except _faults(VideoError, StopIteration):  # who reads it is told
            return self
        times_s = picture_times_s(path)
        facts = replace(self, width=self.height, height=self.width) if turns % 2 else self
        facts = replace(facts, frames=len(times_s) or self.frames)  # an edit list leaves out what was cut away
        steps = max(facts.frames - 1, 1)
        lasts_s = float(np.ptp(times_s)) if len(times_s) else 0.0
        even = not lasts_s or (self.fps and abs(lasts_s * self.fps - steps) <= 1.0)
        return facts if even else replace(facts, fps=steps / lasts_s)


def open_video(path: Path, **options: str) -> InputContainer:
    """A video for reading, with options of its demuxer.

    Raises what PyAV raises, OSError for what is no file, VideoError for huge pictures.
    """
    import av  # takes a while to start

    size_of_file(path)
    container = av.open(f"file:{path}", container_options=options)  # a bare path may look like a protocol
    for stream in container.streams.video:
        if stream.width * stream.height > MAX_PIXELS:
            container.close()
            raise VideoError(f"its pictures have {stream.width}x{stream.height} pixels, over {MAX_PIXELS}")
    return container


def main_stream(container: InputContainer) -> VideoStream:
    """The first video that is no cover, which has one picture. Raises VideoError where there is none."""
    from av.stream import Disposition

    streams = container.streams.video
    if not streams:
        raise VideoError("the file holds no video stream")
    films = [s for s in streams if s.frames != 1 and not s.disposition & Disposition.attached_pic]
    return (films or list(streams))[0]


def _faults(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """The errors that a broken video raises; AttributeError: a stream without a codec has no width."""
    from av.error import FFmpegError

    return FFmpegError, OSError, ValueError, AttributeError, *more


def video_facts(path: Path) -> VideoFacts:
    """Facts of the first video stream. Raises VideoError."""
    try:
        with open_video(path) as container:
            stream = main_stream(container)
            rate = stream.average_rate or stream.base_rate
            width, height, frames = stream.width, stream.height, stream.frames
            if not frames:
                timed = [packet.pts is not None for packet in container.demux(stream) if packet.size]
                frames = sum(timed)
                if timed and not frames:
                    raise VideoError("its pictures have no times: put it into a container (ffmpeg -i … -c copy a.mp4)")
    except _faults() as error:
        raise VideoError(f"not a readable video: {getattr(error, 'strerror', None) or error}") from error
    if not frames or not width or not height:
        raise VideoError(f"the video has {frames} frames of {width}x{height} pixels")
    return VideoFacts(float(rate) if rate else None, frames, width, height)


def picture_times_s(path: Path) -> FloatArray:
    """The pictures' own times in order, seconds, without decoding any; none where the file is broken."""
    try:
        with open_video(path) as container:
            packets = _shown_packets(container)
            return np.array(sorted(float(p.pts * p.time_base) for p in packets if p.pts is not None and p.time_base))
    except _faults(VideoError):
        return np.zeros(0)


def _shown_packets(container: InputContainer) -> Iterator[av.Packet[VideoStream]]:
    """The packets of the pictures that players show, with their times: an edit list may leave some out."""
    packets = container.demux(main_stream(container))
    return (packet for packet in packets if packet.pts is not None and not packet.is_discard)


class VideoPictures:
    """Pictures of a video by number, from the key frame before each where that is nearer than the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._times: list[int] = []
        self._keys: list[int] = []
        self._container: InputContainer | None = None
        self._following: Iterator[av.VideoFrame] = iter(())
        self._next = 0

    def __call__(self, number: int) -> npt.NDArray[np.uint8] | None:
        """Picture (h, w, 3) RGB as stored, whatever turn the container asks for; None where it cannot be decoded."""
        try:
            return self._picture(number)
        except _faults(VideoError):
            self.close()
            return None

    def on_screen(self, second: float, fps: float, frames: int, scene: str) -> npt.NDArray[np.uint8]:
        """The picture at a second of a video that has so many, the last one after its end. Raises as `at`."""
        # Seconds are told to a thousandth, which may lie before the picture that is meant.
        return self.at(second, min(int((second + 1e-3) * fps), frames - 1), scene)

    def at(self, second: float, number: int, scene: str) -> npt.NDArray[np.uint8]:
        """The picture of that number, on screen at a second. Raises RawDataError where it cannot be decoded."""
        picture = self(number)
        if picture is None:
            message = f"the picture at {second:.1f} s cannot be read"
            raise RawDataError(self._path, "video_unreadable", message, "make the video again", scene)
        return picture

    def close(self) -> None:
        """Lets go of the file; the next picture opens it again."""
        if self._container is not None:
            self._container.close()
        self._container = None

    def _picture(self, number: int) -> npt.NDArray[np.uint8] | None:
        if not self._times:
            with open_video(self._path) as container:
                shown = [(packet.pts or 0, packet.is_keyframe) for packet in _shown_packets(container)]
            self._times = sorted(time for time, _ in shown)
            keys = {time for time, is_key in shown if is_key}
            self._keys = [n for n, time in enumerate(self._times) if time in keys]
        if not 0 <= number < len(self._times):
            return None
        time = self._times[number]
        key = self._keys[before - 1] if (before := bisect_right(self._keys, number)) else 0
        if self._container is None or number < self._next or key > self._next + _JUMP:
            if self._container is None:
                self._container = open_video(self._path)
            stream = main_stream(self._container)
            self._container.seek(time, stream=stream)
            self._following = self._container.decode(stream)
        for frame in self._following:
            if frame.pts is not None and frame.pts >= time:
                self._next = number + 1
                return np.asarray(frame.to_ndarray(format="rgb24", threads=1), dtype=np.uint8)
        self.close()
        return None


def read_video(path: Path) -> Iterator[npt.NDArray[np.uint8]]:
    """All pictures (h, w, 3) RGB in order, as stored. Raises VideoError where the file breaks off."""
    for frame in decoded_frames(path):
        yield np.asarray(frame.to_ndarray(format="rgb24", threads=1), dtype=np.uint8)


def quarter_turns(frame: av.VideoFrame) -> int:
    """How many clockwise quarter turns of a frame as stored the container asks of players."""
    return round(-frame.rotation / 90) % 4


def paced_video(path: Path, fps: float, count: int) -> Iterator[npt.NDArray[np.uint8]]:
    """The picture (h, w, 3) RGB on screen at each tick, by the pictures' own times, upright; all where these are even.

    Args:
        path: of the video.
        fps: ticks per second from its first picture.
        count: of its pictures, which is about that of the ticks where ``fps`` is its mean rate.

    Raises VideoError where the file breaks off.
    """
    start, tick = 0.0, 0
    shown: av.VideoFrame | None = None
    for number, frame in enumerate(decoded_frames(path)):
        if shown is None:
            start = frame.time or 0.0
        elif (due := min(number if frame.pts is None else round((frame.time - start) * fps), count - 1)) > tick:
            yield from repeat(_upright(shown), due - tick)
            tick = due
        shown = frame
    if shown is not None:
        yield _upright(shown)


def _upright(frame: av.VideoFrame) -> npt.NDArray[np.uint8]:
    picture = np.asarray(frame.to_ndarray(format="rgb24", threads=1), dtype=np.uint8)
    return np.rot90(picture, -quarter_turns(frame))


def decoded_frames(path: Path) -> Iterator[av.VideoFrame]:
    """All frames in order, in the video's own colours. Raises VideoError where the file breaks off."""
    count = 0
    try:
        with open_video(path) as container:
            for frame in container.decode(main_stream(container)):
                count += 1
                yield frame
    except _faults(IndexError) as error:
        raise VideoError(f"the video cannot be read beyond frame {count}: {error}") from error
