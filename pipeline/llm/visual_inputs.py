"""The visual inputs of a model: the video file, or frames of it where the model takes pictures but no video."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.core.errors import RawDataError
from pipeline.llm.base import Image, Part, Text, video_part


@dataclass(frozen=True)
class VisualInputs:
    """The visual parts of a message, which precede its words.

    Attributes:
        parts: the video; or pictures, each after its second in the video.
        pictures: how many pictures; 0: the video itself.
    """

    parts: tuple[Part, ...]
    pictures: int = 0


def takes_visuals(inputs: Collection[str]) -> bool:
    """Returns whether a model that takes such inputs is shown videos in any way."""
    return not {"video", "image"}.isdisjoint(inputs)


FRAMES_MAX: Final = 512  # pictures of one video, at however many in a second


def visual_inputs(
    path: Path, inputs: Collection[str], pictures: int, fps: float | None = None, *, last: bool = False
) -> VisualInputs | None:
    """A video for a model that takes such inputs; None for one that takes text alone.

    Args:
        path: of the video.
        inputs: `ModelSpec.inputs`.
        pictures: how many of them, in the middles of as many even stretches of the video; fewer if it has fewer.
        fps: how many of them in a second of the video instead, one at least; None: as many as ``pictures``.
        last: whether they are at the ends of the stretches instead, so that the video's last picture is among them.

    Raises:
        RawDataError: `video_unreadable`.
    """
    try:
        if "video" in inputs:
            mime = "video/quicktime" if path.suffix.lower() == ".mov" else "video/mp4"
            return VisualInputs((video_part(path, mime),))
        return _pictures(path, pictures, fps, last) if "image" in inputs else None
    except OSError as error:
        message = f"it cannot be shown to a model ({error.strerror})"
        raise RawDataError(path, "video_unreadable", message, "give a file that opens") from error


def picture_inputs(paths: Sequence[Path]) -> VisualInputs | None:
    """Pictures (JPEG) of different views for a model that takes such, each after its number; None: there are none.

    Raises RawDataError: `picture_unreadable`.
    """
    parts: list[Part] = []
    for number, path in enumerate(paths, start=1):
        try:
            parts += [Text(f"Picture {number}:"), Image(path.read_bytes(), "image/jpeg")]
        except OSError as error:
            message = f"it cannot be shown to a model ({error.strerror})"
            raise RawDataError(path, "picture_unreadable", message, "build it again") from error
    return VisualInputs(tuple(parts), len(paths)) if paths else None


def _pictures(path: Path, count: int, fps: float | None, last: bool) -> VisualInputs:
    from pipeline.formats.images import jpeg_bytes
    from pipeline.formats.videos import VideoError, VideoPictures, video_facts

    path.open("rb").close()  # an OSError says why
    try:
        facts = video_facts(path)
    except VideoError as error:
        raise _unreadable(path, str(error)) from error
    if facts.fps is None:
        raise _unreadable(path, "the video does not say how fast it runs")
    wanted = count if fps is None else max(1, min(round(facts.frames / facts.fps * fps), FRAMES_MAX))
    count = min(wanted, facts.frames)
    video = VideoPictures(path)
    parts: list[Part] = []
    middles = ((2 * k + 1) * facts.frames // (2 * count) for k in range(count))
    ends = ((k + 1) * facts.frames // count - 1 for k in range(count))
    for number in ends if last else middles:
        picture = video(number)
        if picture is None:
            raise _unreadable(path, f"frame {number} cannot be read")
        parts += [Text(f"Second {number / facts.fps:.1f}:"), Image(jpeg_bytes(picture), "image/jpeg")]
    video.close()
    return VisualInputs(tuple(parts), count)


def _unreadable(path: Path, why: str) -> RawDataError:
    return RawDataError(path, "video_unreadable", f"it cannot be shown to a model: {why}", "make the video again")
