"""Clips: the beginning of a standardised video up to the second at which a question ends.

What comes later may show the answer. Frames are copied, not encoded again: in the videos that clips are cut from no
frame depends on a later one (`pipeline.film.video`).
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Final

import av

from pipeline.film.video import Encoded

_INSTANT_S: Final = 1e-9


def clip(video: Path, until_s: float, fps: int) -> Encoded:
    """The video up to a second: its last frame is the one on screen then, or the video's last.

    Raises OSError and `av.error.FFmpegError` where the video cannot be read.
    """
    wanted = math.floor(until_s * fps + _INSTANT_S) + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        with av.open(video) as source, av.open(path, "w", options={"movflags": "+faststart"}) as container:
            stream = container.add_stream_from_template(source.streams.video[0])
            count = 0
            for packet in source.demux(video=0):
                if packet.dts is None or count == wanted:  # the demuxer's end, or the clip's
                    break
                packet.stream = stream
                container.mux(packet)
                count += 1
        return Encoded(path.read_bytes(), count)
