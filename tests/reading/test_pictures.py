"""Pictures in files as a video: frames that cannot be read show the one before them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.footage import held_footage


def shown(folder: Path, *readable: int) -> list[int]:
    """What each of five frames shows, by the number that its picture is painted with."""
    files = SceneFiles(folder, SceneRef("made/one", (".",), ""))
    pictures = {n: np.full((2, 3, 3), n, dtype=np.uint8) for n in readable}
    return [int(frame[0, 0, 0]) for frame in held_footage(files, folder / "color", 10.0, 5, pictures.get).frames()]


def test_time_goes_on_where_a_picture_is_missing(tmp_path: Path) -> None:
    assert shown(tmp_path, 0, 1, 2, 3, 4) == [0, 1, 2, 3, 4]
    assert shown(tmp_path, 0, 2) == [0, 0, 2, 2, 2]
    assert shown(tmp_path, 3) == [3, 3, 3, 3, 3], "nothing came before the first"


def test_without_any_picture_there_is_no_video(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match="none of 5 can be read") as caught:
        shown(tmp_path)
    assert (caught.value.finding, caught.value.path) == ("no_readable_picture", tmp_path / "color")
