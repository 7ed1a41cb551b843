"""Reviewers at once, and a server that is killed: `tests.bench.reviewers`, short."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.reviewers import check, run


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    said = run(tmp_path, 2.0, reviewers=6, items=60)
    assert said.broken > 0, "the kill was noticed"
    assert len(said.acknowledged) > 10
    assert check(tmp_path, said) == []
