"""What a model is shown, from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import RawDataError
from pipeline.llm.visual_inputs import picture_inputs


def test_a_picture_that_is_gone_is_told_by_its_file(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match=r"view-1\.jpg: picture_unreadable"):
        picture_inputs([tmp_path / "view-1.jpg"])
