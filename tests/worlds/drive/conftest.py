"""The sample drives, written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.samples.drive.write import write_drives


@pytest.fixture(scope="session")
def sample_drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drives")
    write_drives(root)
    return root
