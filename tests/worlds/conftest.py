"""The sample drives and episodes, written once, and read."""

from pathlib import Path

import pytest

from pipeline.samples.arm.write import write_samples
from pipeline.samples.drive.write import write_drives
from pipeline.worlds.arm.readers.lerobot import LeRobot
from pipeline.worlds.arm.view import ArmView
from tests.worlds.arm.episodes import read


@pytest.fixture(scope="session")
def sample_drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drives")
    write_drives(root)
    return root


@pytest.fixture(scope="session")
def sample_episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arm")
    write_samples(folder, range(7))
    return folder


@pytest.fixture(scope="session")
def views(sample_episodes: Path) -> list[ArmView]:
    return [ArmView(read(sample_episodes, LeRobot(), f"table.episode{number:06d}")) for number in range(7)]
