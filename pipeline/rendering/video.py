"""The standardised video of a scene: H.264 MP4, upright, 24 or 30 frames a second.

The same frames give the same bytes: one encoding thread, no clock in the file, and none of the encoder's propagation of
costs between macroblocks (mbtree), which divides by approximate reciprocals: on a busy machine five videos of
3,109 came out a few bytes different with it, and none without it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.video_spec import VideoSpec
from pipeline.reading.footage import ticks_until
from pipeline.rendering.media_files import write_media

if TYPE_CHECKING:
    from av.video.reformatter import VideoReformatter

Image = npt.NDArray[np.uint8]
_OPTIONS: Final = {"crf": "23", "preset": "veryfast", "threads": "1"}
_ENCODER: Final = "threads=1:sliced-threads=0:mbtree=0"
# No frame depends on a later one, and one where a clip may begin on none before it: so videos are cut without encoding
# them again.
_CUTTABLE: Final = ":bframes=0:keyint={every}:min-keyint={every}:scenecut=0"


class Encoded(NamedTuple):
    """A finished video."""

    raw: bytes
    frames: int


def encode(frames: Iterable[Image], fps: int, turn_deg: int, form: VideoSpec) -> Encoded:
    """Encodes RGB frames (h, w, 3), turned clockwise by ``turn_deg``, in the form of a benchmark.

    An array that is given several times in a row is the same picture, and converted once.
    """
    import av  # takes a while to start, and most runs encode nothing
    from av.video.reformatter import VideoReformatter

    count, last, scaler = 0, None, VideoReformatter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "video.mp4"  # a file, since putting the index first needs to read it again
        with av.open(path, "w", options={"movflags": "+faststart"}) as container:
            options = _OPTIONS | {
                "x264-params": _ENCODER + (_CUTTABLE.format(every=round(fps * form.cut_s)) if form.clips else "")
            }
            stream = container.add_stream("libx264", rate=fps, options=options)
            stream.width, stream.height = form.size
            stream.pix_fmt = "yuv420p"
            stream.time_base = Fraction(1, fps)
            for image in frames:
                if image is not last:
                    picture = fit(np.rot90(image, -turn_deg // 90 % 4), form, scaler)
                    frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p", threads=1)
                    last = image
                if count == 0:
                    stream.width, stream.height = frame.width, frame.height
                frame.pts, frame.time_base = count, Fraction(1, fps)
                container.mux(stream.encode(frame))
                count += 1
            container.mux(stream.encode(None))
        return Encoded(path.read_bytes(), count)


def fit(image: Image, form: VideoSpec, scaler: VideoReformatter | None = None) -> Image:
    """An image (h, w, 3) scaled to fit into the form's size, aspect kept to a pixel; with bars, centred on black.

    A scaler that is given again saves the making of its filters.
    """
    import av
    from av.video.reformatter import VideoReformatter

    rows, columns = image.shape[:2]
    left, top, wide, high = form.fitted(columns, rows)
    shrinks = min(form.size[0] / columns, form.size[1] / rows) < 1
    source = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    how = "AREA" if shrinks else "BICUBIC"
    scaled = (scaler or VideoReformatter()).reformat(source, wide, high, interpolation=how, threads=1)
    if not form.bars:
        return scaled.to_ndarray().astype(np.uint8, copy=False)
    canvas = np.zeros((form.size[1], form.size[0], 3), dtype=np.uint8)
    canvas[top : top + high, left : left + wide] = scaled.to_ndarray()
    return canvas


def at_pace(frames: Iterator[Image], source_fps: float, fps: int) -> Iterator[Image]:
    """The frame on screen at each tick of ``fps``: a faster video is thinned, a slower one repeats frames."""
    tick = 0
    for number, image in enumerate(frames, start=1):
        end = int(ticks_until(number, source_fps, fps))
        yield from repeat(image, end - tick)
        tick = max(tick, end)


def write_video(folder: Path, name: str, video: Encoded) -> dict[str, Any]:
    """Writes a video below a folder; its number of frames, size and digest, for a stage's result."""
    return {"frames": video.frames} | write_media(folder, name, video.raw)
