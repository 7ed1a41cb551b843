"""The sample episodes, written and read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.samples.arm.write import write_samples
from pipeline.worlds.arm.readers.lerobot import LeRobot
from pipeline.worlds.arm.view import ArmView
from tests.worlds.arm.episodes import read


@pytest.fixture(scope="session")
def sample_episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arm")
    write_samples(folder, range(7))
    return folder


@pytest.fixture(scope="session")
def views(sample_episodes: Path) -> list[ArmView]:
    return [ArmView(read(sample_episodes, LeRobot(), f"table.episode{number:06d}")) for number in range(7)]
