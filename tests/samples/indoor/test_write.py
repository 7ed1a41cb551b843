"""Writing the samples: the same bytes again, no clock in them, and small."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pipeline.samples.indoor.rooms import PLANS
from pipeline.samples.indoor.write import read_truth, write_samples
from tests.conftest import Samples

MEGABYTE = 2**20


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_second_writing_gives_the_same_bytes(samples: Samples, tmp_path: Path) -> None:
    """In another order and company."""
    again = (PLANS[3], PLANS[1])
    truth = write_samples(tmp_path, again)
    first = files(samples.folder)
    written = {path: raw for path, raw in files(tmp_path).items() if any(plan.name in path for plan in again)}
    assert len(written) > 200
    assert {path for path in first if any(plan.name in path for plan in again)} == set(written)
    assert [path for path, raw in written.items() if raw != first[path]] == []
    assert truth == read_truth(tmp_path)
    assert truth.scenes == {scene: samples.truth.scenes[scene] for scene in truth.scenes}


def test_samples_are_small(samples: Samples) -> None:
    assert sum(len(raw) for raw in files(samples.folder).values()) < 40 * MEGABYTE


@pytest.mark.parametrize("pattern", ["**/*.mp4", "**/*.mov"])
def test_videos_carry_no_time_of_day(samples: Samples, pattern: str) -> None:
    paths = list(samples.folder.glob(pattern))
    assert paths
    for path in paths:
        raw = path.read_bytes()
        head = raw.index(b"mvhd") + 4
        assert struct.unpack(">III", raw[head : head + 12]) == (0, 0, 0)  # version and flags, created, modified
        assert b"creation_time" not in raw


def test_no_temporary_file_is_left(samples: Samples) -> None:
    assert not [path for path in samples.folder.rglob(".*") if path.is_file()]
