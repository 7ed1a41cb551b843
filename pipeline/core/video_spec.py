"""The format of delivered videos, and their file names."""

import math
from dataclasses import dataclass
from typing import Final

from pipeline.core.identity import digest

VIDEOS: Final = "videos"  # folder of a build
_NAME_CHARS: Final = 16  # hex; 64 bits


@dataclass(frozen=True)
class VideoSpec:
    """The format of a benchmark's delivered videos.

    Attributes:
        size: width and height, pixels.
        bars: whether black bars fill the picture up to the size; else it is as large as fits.
        enlarged: whether what was filmed smaller is made as large as fits; else it stays as filmed.
        clips: whether a question is about a part of the video: then a video of that part is delivered too.
        cut_s: seconds between the pictures at which a clip may begin.
        drawn: whether a film is drawn of a log that no camera took pictures of (`World.bev_video`).
    """

    size: tuple[int, int] = (640, 480)
    bars: bool = True
    enlarged: bool = True
    clips: bool = False
    cut_s: float = 1.0
    drawn: bool = False

    def fitted(self, columns: int, rows: int) -> tuple[int, int, int, int]:
        """The rectangle of an upright picture of ``columns`` x ``rows`` pixels in the frame: left, top, width, height.

        With bars the video's pictures have the form's size, else the one given.
        """
        scale = min(self.size[0] / columns, self.size[1] / rows, math.inf if self.enlarged else 1.0)
        step = 1 if self.bars else 2  # the encoder takes even sizes only
        width, height = (max(2, step * round(side * scale / step)) for side in (columns, rows))
        if not self.bars:
            return 0, 0, width, height
        return (self.size[0] - width) // 2, (self.size[1] - height) // 2, width, height


def video_file(scene: str, until_s: float | None = None, from_s: float | None = None) -> str:
    """Path below a build's folder of videos: "flights/one.mp4", and of a part of it "flights/one/3f0c….mp4".

    The name of a part does not say which: it would tell how far a flight has got.

    Args:
        scene: its id.
        until_s: second of the video at which the part ends; None: the whole.
        from_s: second at which it begins; None: with the video.
    """
    if until_s is None:
        return f"{scene}.mp4"
    name = digest("clip", scene, f"{from_s or 0:.10g}", f"{until_s:.10g}").hex()[:_NAME_CHARS]
    return f"{scene}/{name}.mp4"
