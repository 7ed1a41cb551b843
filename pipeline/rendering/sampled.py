"""Evenly spaced frames of delivered videos, each with its identity: the SHA-256 of its decoded pixels.

Whoever evaluates with another decoder, another copy of a video or another rounding asks about other pictures, and gets
other scores. A release says which frames its answers are about; these functions tell whether a folder of videos has
them, and write them as videos of their own that any decoder gives back to the bit.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pipeline.core.files import write_atomically
from pipeline.core.groups import grouped
from pipeline.core.tables import TWIN, budget_folder
from pipeline.core.video_spec import video_file
from pipeline.formats.videos import VideoError, decoded_frames
from pipeline.reading.footage import evenly_spaced

if TYPE_CHECKING:
    import av

# Without loss: a decoder gives back the planes of the delivered video's frames, and so the same pixels.
_LOSSLESS: Final = {"qp": "0", "preset": "veryfast", "threads": "1"}
_PARAMETERS: Final = "threads=1:sliced-threads=0:mbtree=0:bframes=0"
_FPS: Final = 1
HASHED: Final = 16  # pictures of a video


def digest_of(frame: av.VideoFrame) -> str:
    """SHA-256 of a frame's pixels: RGB, 8 bits, row by row, at its own size."""
    return hashlib.sha256(frame.to_ndarray(format="rgb24", threads=1).tobytes()).hexdigest()


def sampled_rows(path: Path, scene: str, fps: float, budgets: Iterable[int], frames: int) -> list[dict[str, Any]]:
    """The evenly spaced frames of a delivered video in each budget (`core.tables.FRAMES`).

    Raises VideoError where the video cannot be read, or has another number of frames.
    """
    chosen = {budget: evenly_spaced(frames, budget).tolist() for budget in sorted(budgets)}
    digests, count = _digests(path, {index for own in chosen.values() for index in own})
    if count != frames:
        raise VideoError(f"it has {count} frames, and {frames} were written; make it again")
    return [
        {"scene": scene, "budget": budget, "k": k, "index": index, "frames": frames}
        | {"time_s": round(index / fps, 6), "sha256": digests[index]}
        for budget, own in chosen.items()
        for k, index in enumerate(own)
    ]


def video_identity(path: Path, frames: int) -> dict[str, Any]:
    """What a video shows, whatever its file: SHA-256 of its decoded planes, and hashes of evenly spaced pictures.

    A hash has 64 bits, as 16 hexadecimal digits: of the picture in 9 x 8 grey pixels, whether each is brighter than the
    one to its right (dHash). Raises VideoError where the video cannot be read.
    """
    planes, chosen, hashes = hashlib.sha256(), set(evenly_spaced(frames, HASHED).tolist()), []
    for number, frame in enumerate(decoded_frames(path)):
        planes.update(frame.to_ndarray().tobytes())
        if number in chosen:
            grey = frame.reformat(9, 8, "gray", interpolation="AREA", threads=1).to_ndarray()
            hashes.append(np.packbits(grey[:, :-1] > grey[:, 1:]).tobytes().hex())
    return {"frames_sha256": planes.hexdigest(), "pictures": hashes}


def _digests(path: Path, wanted: set[int]) -> tuple[dict[int, str], int]:
    """Digest of each wanted frame that a video has, and how many frames it has."""
    found, count = {}, 0
    for number, frame in enumerate(decoded_frames(path)):
        count = number + 1
        if number in wanted:
            found[number] = digest_of(frame)
    return found, count


class FrameCheck(NamedTuple):
    """One video that was held against a release.

    Attributes:
        video: below the folder.
        budget: of whose frames it is a video; None: it is the delivered one.
        same: frames that are as in the release, each once.
        differ: those that are not, by their number in this video.
        problem: why none could be compared; empty: they were.
    """

    video: str
    budget: int | None
    same: int
    differ: tuple[int, ...]
    problem: str = ""

    @property
    def is_same(self) -> bool:
        """Whether all frames are those of the release."""
        return not self.problem and not self.differ


Rows = Sequence[Mapping[str, Any]]


def check_videos(folder: Path, rows: Rows) -> Iterator[FrameCheck]:
    """Holds the videos of a folder against the frames of a release (`core.tables.FRAMES`), scene by scene.

    The delivered video of each scene, and the videos of single budgets (`write_sampled`); a scene of which none is
    there is a finding.
    """
    for scene, own in grouped(rows, itemgetter("scene")).items():
        whole = folder / video_file(str(scene))
        parts = {
            budget: folder / budget_folder(budget) / video_file(str(scene))
            for budget in grouped(own, itemgetter("budget"))
        }
        there = {budget: path for budget, path in parts.items() if path.is_file()}
        if whole.is_file() or not there:
            yield _check_whole(folder, own)
        for budget, path in there.items():
            wanted = {row["k"]: row["sha256"] for row in own if row["budget"] == budget}
            yield _check(folder, path, budget, wanted, len(wanted))


def _check(folder: Path, path: Path, budget: int | None, wanted: Mapping[int, str], frames: int) -> FrameCheck:
    name = path.relative_to(folder).as_posix()
    if not path.is_file():
        return FrameCheck(name, budget, 0, (), "is missing")
    try:
        found, count = _digests(path, set(wanted))
    except VideoError as error:
        return FrameCheck(name, budget, 0, (), str(error))
    if count != frames:
        return FrameCheck(name, budget, 0, (), f"has {count} frames, and that of the release {frames}")
    differ = tuple(index for index, digest in sorted(wanted.items()) if found[index] != digest)
    return FrameCheck(name, budget, len(wanted) - len(differ), differ)


def write_sampled(folder: Path, out: Path, rows: Rows, twins: Rows = ()) -> Iterator[FrameCheck]:
    """Writes the frames of each budget of a release as a video, ``16_frame/DATASET/SCENE.mp4``, scene by scene.

    The frames of each of its twins (id, scene, frames) too, as ``twins/DATASET/SCENE/ID.mp4``.

    A video that has other frames than the release says is a finding, and nothing is written of it.
    """
    for scene, own in grouped(rows, itemgetter("scene")).items():
        checked = _check_whole(folder, own)
        if not checked.is_same:
            yield checked
            continue
        of_scene = [twin for twin in twins if twin["scene"] == scene]
        wanted = {row["index"] for row in own} | {index for twin in of_scene for index in twin["frames"]}
        decoded = enumerate(decoded_frames(folder / video_file(str(scene))))
        kept = {number: frame for number, frame in decoded if number in wanted}
        for budget, chosen in grouped(own, itemgetter("budget")).items():
            path = out / budget_folder(budget) / video_file(str(scene))
            write_atomically(path, _encoded([kept[row["index"]] for row in chosen]))
            yield _check(out, path, budget, {row["k"]: row["sha256"] for row in chosen}, len(chosen))
        for twin in of_scene:
            path = out / TWIN / str(scene) / f"{twin['id']}.mp4"
            write_atomically(path, _encoded([kept[index] for index in twin["frames"]]))
            digests = dict(enumerate(digest_of(kept[index]) for index in twin["frames"]))
            yield _check(out, path, len(digests), digests, len(digests))


def _check_whole(folder: Path, own: Rows) -> FrameCheck:
    """Holds the delivered video of one scene against the frames of a release."""
    wanted = {row["index"]: row["sha256"] for row in own}
    return _check(folder, folder / video_file(str(own[0]["scene"])), None, wanted, own[0]["frames"])


def _encoded(frames: Sequence[av.VideoFrame]) -> bytes:
    """A video of frames as they were decoded, one a second, without loss."""
    import av

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "video.mp4"
        with av.open(path, "w", options={"movflags": "+faststart"}) as container:
            stream = container.add_stream("libx264", rate=_FPS, options=_LOSSLESS | {"x264-params": _PARAMETERS})
            stream.width, stream.height = frames[0].width, frames[0].height
            stream.pix_fmt = frames[0].format.name
            stream.time_base = Fraction(1, _FPS)
            for number, frame in enumerate(frames):
                # A frame remembers what it was in its own video; only its planes are wanted.
                bare = frame.reformat(format=frame.format.name)
                bare.pts, bare.time_base, bare.pict_type = number, Fraction(1, _FPS), 0
                container.mux(stream.encode(bare))
            container.mux(stream.encode(None))
        return path.read_bytes()
