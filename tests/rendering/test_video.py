"""The standardised video: size, pace, orientation, and the same bytes every time."""

import hashlib
import io
import math
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.core.files import write_atomically
from pipeline.core.video_spec import VideoSpec
from pipeline.formats.videos import VideoError, read_video
from pipeline.release.contamination import NEAR_BITS
from pipeline.rendering.clip import clip
from pipeline.rendering.sampled import FrameCheck, check_videos, sampled_rows, video_identity, write_sampled
from pipeline.rendering.video import at_pace, encode, fit

BARS = VideoSpec(size=(640, 480))
CLIPS = VideoSpec(size=(640, 360), bars=False, clips=True)


def picture(number: int, width: int = 320, height: int = 240) -> np.ndarray:
    """Grey, with a white upper left corner, and brighter from frame to frame."""
    image = np.full((height, width, 3), 40 + 4 * number, dtype=np.uint8)
    image[: height // 4, : width // 4] = 255
    return image


def decode(raw: bytes) -> tuple[av.container.InputContainer, list[np.ndarray]]:
    container = av.open(io.BytesIO(raw))
    return container, [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_size_pace_and_codec() -> None:
    encoded = encode((picture(i) for i in range(12)), 24, 0, BARS)
    container, images = decode(encoded.raw)
    stream = container.streams.video[0]
    assert encoded.frames == len(images) == 12
    assert (stream.codec_context.name, stream.width, stream.height, stream.average_rate) == ("h264", 640, 480, 24)
    assert [int(image[400, 500, 0]) for image in images] == pytest.approx([40 + 4 * i for i in range(12)], abs=4)


def test_the_same_frames_give_the_same_bytes() -> None:
    assert encode((picture(i) for i in range(6)), 30, 90, BARS) == encode((picture(i) for i in range(6)), 30, 90, BARS)


def test_pictures_are_known_again_in_another_encoding_and_size_and_others_are_not(tmp_path: Path) -> None:
    def hashes(name: str, film: Iterator[np.ndarray], form: VideoSpec) -> list[int]:
        (tmp_path / name).write_bytes(encode(film, 24, 0, form).raw)
        return [int(one, 16) for one in video_identity(tmp_path / name, 4)["pictures"]]

    noise = np.random.default_rng(1).integers(0, 255, (2, 4, 6, 8, 3)).astype(np.uint8)
    own, other = ([image.repeat(20, 0).repeat(20, 1) for image in film] for film in noise)
    first = hashes("a.mp4", iter(own), VideoSpec(size=(160, 120)))
    again = hashes("b.mp4", iter(own), VideoSpec(size=(320, 240)))
    assert max((a ^ b).bit_count() for a, b in zip(first, again, strict=True)) <= NEAR_BITS
    assert (
        min((a ^ b).bit_count() for a in first for b in hashes("c.mp4", iter(other), VideoSpec(size=(160, 120))))
        > NEAR_BITS
    )
    half = np.repeat(np.array([200] * 80 + [40] * 80, np.uint8)[None], 120, axis=0)[..., None].repeat(3, axis=2)
    assert hashes("d.mp4", iter([half] * 4), VideoSpec(size=(160, 120))) == [0x1818181818181818] * 4, (
        "darker to its right"
    )


@pytest.mark.parametrize(
    ("turn", "corner"), [(0, "upper left"), (90, "upper right"), (180, "lower right"), (270, "lower left")]
)
def test_turned_clockwise(turn: int, corner: str) -> None:
    _, images = decode(encode([picture(0)], 30, turn, BARS).raw)
    image = images[0]
    rows, columns = np.nonzero(image.max(2) > 20)  # without the margins
    top, bottom, left, right = rows.min(), rows.max(), columns.min(), columns.max()
    brightest = {
        "upper left": image[top + 20, left + 20],
        "upper right": image[top + 20, right - 20],
        "lower left": image[bottom - 20, left + 20],
        "lower right": image[bottom - 20, right - 20],
    }
    assert max(brightest, key=lambda name: int(brightest[name].sum())) == corner


def test_a_portrait_keeps_its_shape() -> None:
    fitted = fit(np.full((400, 300, 3), 200, dtype=np.uint8), BARS)
    assert fitted.shape == (480, 640, 3)
    lit = np.flatnonzero(fitted[240, :, 0] > 100)
    assert (lit.min(), len(lit)) == (140, 360)  # 300 / 400 * 480


@pytest.mark.parametrize(
    ("source", "fps", "kept"),
    [(60.0, 30, [0, 2, 4, 6]), (30.0, 30, list(range(8))), (24.0, 30, [0, 0, 1, 2, 3, 4, 4, 5, 6, 7])],
)
def test_pace_follows_the_clock(source: float, fps: int, kept: list[int]) -> None:
    def numbers() -> Iterator[np.ndarray]:
        yield from (np.full((2, 2, 3), i, dtype=np.uint8) for i in range(8))

    assert [int(image[0, 0, 0]) for image in at_pace(numbers(), source, fps)] == kept


@pytest.mark.parametrize("source", [3.0, 29.97, 50.0])
def test_every_pace_keeps_the_duration(source: float) -> None:
    kept = list(at_pace(iter([np.zeros((2, 2, 3), dtype=np.uint8)] * 500), source, 30))
    assert len(kept) == math.ceil(500 / source * 30)


@pytest.mark.parametrize(
    ("source", "expected"),
    [((1920, 1080), (640, 360)), ((640, 480), (480, 360)), ((1, 9), (40, 360))],
)
def test_without_bars_the_picture_is_as_large_as_fits(source: tuple[int, int], expected: tuple[int, int]) -> None:
    container, images = decode(encode([picture(0, *source)], 30, 0, CLIPS).raw)
    stream = container.streams.video[0]
    assert (stream.width, stream.height) == expected
    assert images[0].shape[:2] == expected[::-1]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[np.ndarray]]:
    """A video of three seconds from which clips are cut, and its pictures."""
    video = tmp_path_factory.mktemp("clips") / "one.mp4"
    video.write_bytes(encode((np.roll(picture(i // 2), 4 * i, axis=1) for i in range(90)), 30, 0, CLIPS).raw)
    return video, decode(video.read_bytes())[1]


@pytest.mark.parametrize(
    ("from_s", "until_s", "shown"),
    [(0, 0.0, 1), (0, 0.1, 4), (0, 1.0, 31), (0, 2.99, 90), (0, 60.0, 90), (1, 2.5, 46), (2, 2.5, 16)],
)
def test_a_clip_has_the_frames_on_screen_from_one_second_to_another(
    from_s: int, until_s: float, shown: int, clips: tuple[Path, list[np.ndarray]]
) -> None:
    """Unchanged, and none before or behind them: none needs another."""
    video, whole = clips
    cut = clip(video, until_s, 30, from_s)
    container, images = decode(cut.raw)
    stream = container.streams.video[0]
    assert cut.frames == len(images) == shown
    assert all(np.array_equal(a, b) for a, b in zip(images, whole[30 * from_s :], strict=False))
    assert (stream.average_rate, stream.start_time) == (30, 0)
    assert clip(video, until_s, 30, from_s) == cut


# ---- the identity of sampled frames: what is written, and what a folder of other videos differs in


FORM = VideoSpec(size=(64, 48))


def film(folder: Path, scene: str, frames: int = 20, brighter: int = 0) -> Path:
    pictures = [np.full((48, 64, 3), 10 * n + brighter, np.uint8) for n in range(frames)]
    path = folder / f"{scene}.mp4"
    write_atomically(path, encode(iter(pictures), 10, 0, FORM).raw)
    return path


def found(folder: Path, rows: list[dict[str, object]]) -> list[FrameCheck]:
    return list(check_videos(folder, rows))


def test_digests_are_those_of_the_decoded_pixels(tmp_path: Path) -> None:
    path = film(tmp_path, "made/a")
    pictures = [hashlib.sha256(picture.tobytes()).hexdigest() for picture in read_video(path)]
    rows = sampled_rows(path, "made/a", 10, [4, 32], 20)
    assert [(r["budget"], r["k"], r["index"], r["time_s"]) for r in rows[:4]] == [
        (4, 0, 0, 0.0),
        (4, 1, 6, 0.6),
        (4, 2, 12, 1.2),
        (4, 3, 19, 1.9),
    ]
    assert [r["index"] for r in rows[4:]] == list(range(20))  # a shorter video has no more
    assert [r["sha256"] for r in rows] == [pictures[r["index"]] for r in rows]
    with pytest.raises(VideoError, match="it has 20 frames, and 21 were written"):
        sampled_rows(path, "made/a", 10, [4], 21)


def test_a_folder_is_told_from_that_of_the_release(tmp_path: Path) -> None:
    rows = [
        r for s in ("made/a", "made/b", "made/c", "made/d") for r in sampled_rows(film(tmp_path, s), s, 10, [4], 20)
    ]
    assert all(one.is_same and one.same == 4 for one in found(tmp_path, rows))
    film(tmp_path, "made/a", brighter=3)
    film(tmp_path, "made/b", frames=21)
    (tmp_path / "made/c.mp4").unlink()
    (tmp_path / "made/d.mp4").write_bytes(b"no video")
    one, two, three, four = found(tmp_path, rows)
    assert (one.same, one.differ) == (0, (0, 6, 12, 19))
    assert [one.same for one in (two, three, four)] == [0, 0, 0]
    assert two.problem == "has 21 frames, and that of the release 20"
    assert three.problem == "is missing"
    assert four.problem.startswith("not a readable video") or "cannot be read" in four.problem


def test_sampled_videos_have_the_very_frames_and_are_enough(tmp_path: Path) -> None:
    rows = sampled_rows(film(tmp_path, "made/a"), "made/a", 10, [1, 8], 20)
    twins = [{"id": 5, "scene": "made/a", "frames": [3, 7]}, {"id": 6, "scene": "made/b", "frames": [1]}]
    written = list(write_sampled(tmp_path, tmp_path / "out", rows, twins))
    assert [(one.video, one.same, one.differ) for one in written] == [
        ("1_frame/made/a.mp4", 1, ()),
        ("8_frame/made/a.mp4", 8, ()),
        ("twins/made/a/5.mp4", 2, ()),
    ]
    assert all(one.is_same for one in found(tmp_path / "out", rows))  # without the delivered video beside them
    film(tmp_path, "made/a", brighter=3)
    (refused,) = write_sampled(tmp_path, tmp_path / "other", rows)
    assert refused.differ
    assert not (tmp_path / "other").exists()
