"""What a model is shown, from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import RawDataError
from pipeline.llm.base import Text
from pipeline.llm.visual_inputs import picture_inputs, visual_inputs
from tests.worlds.flight.readers.tiny_flights import FPS, write_video


def test_a_picture_that_is_gone_is_told_by_its_file(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match=r"view-1\.jpg: picture_unreadable"):
        picture_inputs([tmp_path / "view-1.jpg"])


@pytest.mark.parametrize(("fps", "seconds"), [(None, [4.0, 8.0]), (0.5, [2.0, 4.0, 6.0, 8.0]), (0.01, [8.0])])
def test_pictures_are_so_many_in_all_or_in_each_second(fps: float | None, seconds: list[float], tmp_path: Path) -> None:
    write_video(tmp_path / "video.mp4", 8.0)
    shown = visual_inputs(tmp_path / "video.mp4", ("text", "image"), 2, fps, last=True)
    assert shown is not None
    told = [float(part.text.split()[1].rstrip(":")) for part in shown.parts if isinstance(part, Text)]
    assert told == pytest.approx([second - 1 / FPS for second in seconds], abs=0.051)
