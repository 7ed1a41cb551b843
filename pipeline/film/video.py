"""The standardised video of a scene: H.264 MP4, 640 x 480, upright, 24 or 30 frames a second.

The same frames give the same bytes: one encoding thread, no clock in the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

import av
import av.video
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
SIZE: Final = (640, 480)  # width, height (VSI-Bench, appendix B.1)
_INSTANT_S: Final = 1e-9
_OPTIONS: Final = {"crf": "23", "preset": "veryfast", "threads": "1", "x264-params": "threads=1:sliced-threads=0"}


class Encoded(NamedTuple):
    """A finished video."""

    raw: bytes
    frames: int


def encode(frames: Iterable[Image], fps: int, turn_deg: int) -> Encoded:
    """Encodes RGB frames (h, w, 3), turned clockwise by ``turn_deg`` and fitted into `SIZE` with black margins."""
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "video.mp4"  # a file, since putting the index first needs to read it again
        with av.open(path, "w", options={"movflags": "+faststart"}) as container:
            stream = container.add_stream("libx264", rate=fps, options=dict(_OPTIONS))
            stream.width, stream.height = SIZE
            stream.pix_fmt = "yuv420p"
            stream.time_base = Fraction(1, fps)
            for image in frames:
                frame = av.VideoFrame.from_ndarray(fit(np.rot90(image, -turn_deg // 90 % 4)), format="rgb24")
                frame.pts, frame.time_base = count, Fraction(1, fps)
                container.mux(stream.encode(frame))
                count += 1
            container.mux(stream.encode(None))
        return Encoded(path.read_bytes(), count)


def fit(image: Image) -> Image:
    """An image (h, w, 3) scaled to fit into `SIZE`, aspect kept, centred on black."""
    width, height = SIZE
    rows, columns = image.shape[:2]
    scale = min(width / columns, height / rows)
    target = max(2, round(columns * scale)), max(2, round(rows * scale))
    source = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    scaled = source.reformat(width=target[0], height=target[1], interpolation="AREA" if scale < 1 else "BICUBIC")
    canvas = np.zeros((height, width, 3), dtype=np.uint8)
    top, left = (height - target[1]) // 2, (width - target[0]) // 2
    canvas[top : top + target[1], left : left + target[0]] = scaled.to_ndarray()
    return canvas


def at_pace(frames: Iterator[Image], source_fps: float, fps: int) -> Iterator[Image]:
    """The frame on screen at each tick of ``fps``: a faster video is thinned, a slower one repeats frames."""
    tick = 0
    for number, image in enumerate(frames):
        # The frame is on screen from number / source_fps until the next one.
        while tick / fps < (number + 1) / source_fps - _INSTANT_S:
            yield image
            tick += 1
