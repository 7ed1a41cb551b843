"""Pictures: their heads against what Pillow wrote, JPEGs without anything besides, and those of a video by number."""

import io
import struct
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from pipeline.formats.images import decoded
from pipeline.formats.picture_tags import _degrees, header_of
from pipeline.formats.videos import VideoError, VideoPictures, paced_video, read_video, video_facts
from pipeline.worlds.panorama.pictures import bare_jpeg
from tests.oracles.picture_tags import beside_pixels, tags
from tests.worlds.panorama.panoramas import jpeg, texture


def encoded(mode: str, kind: str, size: tuple[int, int] = (40, 20), **options: Any) -> bytes:
    out = io.BytesIO()
    if mode == "I;16":
        Image.fromarray(np.full(size[::-1], 700, dtype=np.uint16)).save(out, kind)
    else:
        Image.new(mode, size).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("mode", "kind", "options", "bits", "channels", "progressive"),
    [
        ("RGB", "JPEG", {}, 8, 3, False),
        ("RGB", "JPEG", {"progressive": True}, 8, 3, True),
        ("L", "JPEG", {}, 8, 1, False),
        ("CMYK", "JPEG", {}, 8, 4, False),
        ("RGB", "PNG", {}, 8, 3, False),
        ("RGBA", "PNG", {}, 8, 4, False),
        ("I;16", "PNG", {}, 16, 1, False),
    ],
)
def test_what_was_written_is_told(
    mode: str, kind: str, options: dict[str, Any], bits: int, channels: int, progressive: bool
) -> None:
    header = header_of(encoded(mode, kind, **options))
    assert (header.kind, header.width, header.height) == (kind, 40, 20)
    assert (header.bits, header.channels, header.progressive, header.is_complete) == (bits, channels, progressive, True)
    assert header.scans == (10 if progressive else 1)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_picture_that_breaks_off(kind: str) -> None:
    raw = encoded("RGB", kind, (400, 200))
    header = header_of(raw[: len(raw) - 200])
    assert not header.is_complete
    assert header_of(raw[:20]) is None


@pytest.mark.parametrize("raw", [b"", b"GIF89a", b"\xff\xd8", b"\xff\xd8\xff\xe1\x00", b"\xff\xd8" + b"\xff" * 9000])
def test_what_is_no_picture(raw: bytes) -> None:
    assert header_of(raw) is None


def test_segments_without_end_are_not_followed() -> None:
    """A segment that says it has no length would be met again for ever."""
    assert header_of(b"\xff\xd8" + b"\xff\xe1\x00\x00" * 10_000) is None


def test_a_position_needs_its_degrees_minutes_and_seconds() -> None:
    assert [_degrees((43, 30, 36), south) for south in (False, True)] == [43.51, -43.51]
    unknown = [(np.nan, 30, 36), (43, np.nan, 36), (43, 30, np.nan), (43, 30), 43.51]
    assert [_degrees(one, negative=False) for one in unknown] == [None] * 5


def test_the_size_is_told_before_anybody_decodes() -> None:
    ihdr = struct.pack(">IIBBBBB", 60_000, 30_000, 8, 2, 0, 0, 0)
    header = header_of(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + ihdr + b"\0\0\0\0")
    assert (header.width, header.height) == (60_000, 30_000)


# ---- JPEGs without anything but the picture


XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><GPano:PoseHeadingDegrees>12</GPano:PoseHeadingDegrees></x:xmpmeta>'


def exif() -> bytes:
    """EXIF with a position."""
    tags = Image.Exif()
    tags[0x010F] = "Maker"
    gps = tags.get_ifd(0x8825)
    gps[1], gps[2], gps[3], gps[4] = "N", (43.0, 44.0, 22.5), "E", (7.0, 25.0, 38.0)
    return tags.tobytes()


def talkative(**options: Any) -> bytes:
    """A JPEG that tells where it was taken, in every way, and another picture behind its end."""
    raw = jpeg(exif=exif(), xmp=XMP, comment="Monaco", icc_profile=b"a profile", **options)
    return raw + jpeg(texture(16, 8), exif=exif())


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"restart_marker_blocks": 3}, {"quality": 100, "keep_rgb": True}], ids=str
)
def test_only_the_picture_stays(options: dict[str, Any]) -> None:
    raw = talkative(**options)
    assert "GPS GPSLatitude" in tags(raw)
    assert {"segment FE", "segment E1", "segment E2"} <= set(beside_pixels(raw))
    bare = bare_jpeg(raw)
    assert bare is not None
    assert beside_pixels(bare) == []
    assert (b"Adobe" in bare) is ("keep_rgb" in options), "what colours the numbers are"
    pixels = [np.asarray(Image.open(io.BytesIO(one))) for one in (raw, bare)]
    assert (pixels[0] == pixels[1]).all()


def test_what_is_not_understood_is_not_passed_on() -> None:
    raw = jpeg()
    png = io.BytesIO()
    Image.new("RGB", (4, 2)).save(png, "PNG")
    for broken in (b"", raw[:40], raw[: len(raw) // 2], raw[:-2], png.getvalue(), raw[:2] + b"\0" + raw[2:]):
        assert bare_jpeg(broken) is None


def test_decoding_within_limits() -> None:
    image = decoded(jpeg(), 256 * 128)
    assert (image.mode, image.size) == ("RGB", (256, 128))
    assert decoded(jpeg(), 256 * 128 - 1) is None
    assert decoded(jpeg()[:100], 10**6) is None
    grey = io.BytesIO()
    Image.new("L", (4, 2), 7).save(grey, "PNG")
    turned = decoded(grey.getvalue(), 8)
    assert turned.getpixel((0, 0)) == (7, 7, 7)


# ---- pictures of a video by number: the same in any order, over key frames and between them


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 pictures, each of another grey, a key frame every 20."""
    path = tmp_path_factory.mktemp("film") / "a.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"x264-params": "keyint=20:min-keyint=20:scenecut=0"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for n in range(60):
            picture = np.full((48, 64, 3), 4 * n, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize(
    "order", [range(60), range(59, -1, -1), [0, 59, 20, 19, 21, 40, 39, 5, 5, 28, 37, 41], [3, 23, 43, 58]]
)
def test_a_picture_is_the_same_in_any_order(film: Path, order: list[int]) -> None:
    expected = list(read_video(film))
    pictures = VideoPictures(film)
    for number in order:
        picture = pictures(number)
        np.testing.assert_array_equal(picture, expected[number])
        assert abs(int(picture[24, 32, 0]) - 4 * number) <= 3
    assert pictures(60) is None
    pictures.close()


def test_the_picture_on_screen_is_that_of_a_second_told_to_a_thousandth(film: Path) -> None:
    expected, pictures = list(read_video(film)), VideoPictures(film)
    for number, second in [*((k, round(k / 30, 3)) for k in range(60)), (0, 0.03), (58, 1.964), (59, 9.9)]:
        np.testing.assert_array_equal(pictures.on_screen(second, 30.0, 60, "a"), expected[number])
    pictures.close()


def written_film(path: Path, cut_s: int = 0, cover: bool = False, container: str | None = None) -> Path:
    """40 pictures at 10 Hz, each 5 lighter than the one before; of ``cut_s`` seconds only an edit list knows."""
    with av.open(str(path), "w", format=container) as out:
        covers = [out.add_stream("mjpeg", rate=1, width=32, height=32, pix_fmt="yuvj420p")] if cover else []
        stream: Any = out.add_stream("libx264", rate=10, width=64, height=48, pix_fmt="yuv420p")
        stream.options = {"g": "10", "bf": "0"}
        for front in covers:
            picture = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8)).reformat(format="yuvj420p")
            picture.pts = 0
            out.mux([*front.encode(picture), *front.encode(None)])
        frames = [av.VideoFrame.from_ndarray(np.full((48, 64, 3), 20 + 5 * k, np.uint8)) for k in range(40)]
        packets = [packet for frame in [*frames, None] for packet in stream.encode(frame)]
        for packet in packets:
            shift = int(cut_s / packet.time_base)
            packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
        out.mux(packets)
    return path


@pytest.mark.parametrize(("cut_s", "frames"), [(0, 40), (1, 30)])
def test_what_an_edit_list_cuts_away_is_no_part_of_a_film(cut_s: int, frames: int, tmp_path: Path) -> None:
    path = written_film(tmp_path / "a.mp4", cut_s)
    facts = video_facts(path).as_shown(path)
    assert (facts.frames, facts.fps) == (frames, pytest.approx(10.0))
    shown = [int(picture.mean()) for picture in paced_video(path, 10.0, frames)]
    assert shown == pytest.approx([20 + 5 * (k + 10 * cut_s) for k in range(frames)], abs=2)
    pictures = VideoPictures(path)
    assert pictures(frames) is None
    for number in (0, frames - 1):
        picture = pictures(number)
        assert picture is not None
        assert picture.mean() == pytest.approx(shown[number], abs=2)


def test_a_cover_is_not_the_film(tmp_path: Path) -> None:
    path = written_film(tmp_path / "a.mp4", cover=True)
    assert (video_facts(path).frames, video_facts(path).width) == (40, 64)
    assert len(list(read_video(path))) == 40


def test_pictures_without_times_are_called_that(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="no times"):
        video_facts(written_film(tmp_path / "a.mp4", container="h264"))
