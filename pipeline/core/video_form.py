"""What delivered videos look like, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VideoForm:
    """What the delivered videos of a benchmark look like.

    Attributes:
        size: width and height, pixels.
        bars: whether black bars fill the picture up to the size; else it is as large as fits.
        clips: whether a question is about the video up to a second: then a video that ends there is delivered too.
    """

    size: tuple[int, int] = (640, 480)
    bars: bool = True
    clips: bool = False


def video_file(scene: str, until_s: float | None = None) -> str:
    """Path below a build's folder of videos: "flights/one.mp4", and of the part up to a second "flights/one/25.mp4"."""
    return f"{scene}.mp4" if until_s is None else f"{scene}/{until_s:.10g}.mp4"
