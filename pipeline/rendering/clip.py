"""Clips: the part of a standardised video that a question is about, up to the second at which it ends.

What comes later may show the answer. Frames are copied, not encoded again: in the videos that clips are cut from no
frame depends on a later one, and where a clip may begin on none before (`pipeline.rendering.video`).
"""

import math
import tempfile
from pathlib import Path
from typing import Final

from pipeline.rendering.video import Encoded

_INSTANT_S: Final = 1e-9


def clip(video: Path, until_s: float, fps: int, from_s: float) -> Encoded:
    """The video between two seconds: its last frame is the one on screen at the later one, or the video's last.

    Args:
        video: made by `pipeline.rendering.video.encode` in a form with clips.
        until_s: where it ends.
        fps: frames a second of the video.
        from_s: where it begins.

    Raises OSError and `av.error.FFmpegError` where the video cannot be read, ValueError where it has no key frame at
    ``from_s``.
    """
    import av  # takes a while to start

    first, last = (math.floor(second * fps + _INSTANT_S) for second in (from_s, until_s))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        with av.open(video) as source, av.open(path, "w", options={"movflags": "+faststart"}) as container:
            stream = container.add_stream_from_template(source.streams.video[0])
            begin = None
            count = 0
            for number, packet in enumerate(source.demux(video=0)):
                if packet.dts is None or packet.pts is None or number > last:  # the demuxer's end, or the clip's
                    break
                if number < first:
                    continue
                if begin is None:
                    if not packet.is_keyframe:
                        raise ValueError(f"{video} has no key frame at {from_s:g} s; film it again")
                    begin = packet.pts
                packet.pts, packet.dts = packet.pts - begin, packet.dts - begin
                packet.stream = stream
                container.mux(packet)
                count += 1
        return Encoded(path.read_bytes(), count)
