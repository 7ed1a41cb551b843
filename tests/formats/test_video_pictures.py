"""Pictures of a video by number: the same in any order, over key frames and between them."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.formats.videos import VideoPictures, read_video


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
