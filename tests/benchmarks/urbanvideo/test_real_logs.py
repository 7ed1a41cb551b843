"""Real logs without any settings give questions about their movements."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.real_flights import MOVEMENT, observed, write
from tests.benchmarks.urbanvideo.flights import rows
from tests.environment import REAL_DATA


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("log", "least"),
    [
        ("airsim/airsim_rec.txt", 4),
        ("dji_srt/mavic3_first_60s.srt", 8),  # no heading
        ("dji_srt/mavic_pro.SRT", 5),  # no heading, positions in steps of 11 m
        ("dji_srt/p4_rtk.SRT", 1),  # one movement alone
        ("ulog/sample_px4_events.ulg", 1),  # two
    ],
)
def test_a_log_alone_gives_questions_of_its_movements(log: str, least: int, tmp_path: Path) -> None:
    path = REAL_DATA / "flights" / log
    asked = [row for row in rows(observed(tmp_path, write(tmp_path, path, False)), *MOVEMENT) if row["reason"] is None]
    assert len(asked) >= least
    if log.startswith("dji_srt/mavic"):
        said = " ".join(text for row in asked for text in (row["answer"], *row["wrong"])).lower()
        assert "flies horizontally" in said
        assert not any(word in said for word in ("forward", "left", "turn", "hover"))
