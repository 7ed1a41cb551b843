"""Every planted movement of the sample flights is found in their logs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.samples.flight.logs import recording, subtitles, with_estimator, with_receiver
from pipeline.samples.flight.pilot import PLANS, FlightPlan, fly
from pipeline.samples.flight.write import planted_moves
from pipeline.worlds.flight.observe.motion import MotionConfig, paths
from pipeline.worlds.flight.observe.movements import segments
from pipeline.worlds.flight.tracks.read import read_tracks

LOGS = {
    "px4": ("log.ulg", with_estimator),
    "px4_gps": ("log.ulg", with_receiver),
    "airsim": ("log.txt", recording),
}
NAMED_WITHOUT_HEADING = {"ascend", "descend", "gimbal up", "gimbal down"}


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.id)
def test_planted_movements(plan: FlightPlan, tmp_path: Path):
    pose = fly(plan.moves, plan.start_xy, plan.heading_deg, plan.camera.pitch_deg or 0.0)
    name, write = LOGS.get(plan.log, ("log.SRT", subtitles))
    (tmp_path / name).write_bytes(write(plan, pose)[0])
    ((_, assembled),) = read_tracks(tmp_path / name)
    config = MotionConfig()
    parts, fits = paths(assembled.track, config)
    found = [s for part in parts for s in segments(part, fits, config)]
    # A receiver with noise of 0.5 m leaves changes in doubt for half a window.
    slack_s, slack_m = (0.5, 0.2) if fits.move.error < 0.25 else (0.8, 0.8)
    headed = all(s.turn_deg is not None for s in found)
    for move in planted_moves(plan, pose):
        if not headed and not set(move.actions) <= NAMED_WITHOUT_HEADING:
            continue
        if any(move.start_s < b.t_s[0] and a.t_s[-1] < move.end_s for a, b in pairwise(parts)):
            continue  # it goes on through a gap of the log
        same = [s for s in found if set(s.actions) == set(move.actions)]
        best = min(same, key=lambda s: abs(s.start_s - move.start_s) + abs(s.end_s - move.end_s))
        if move.start_s > parts[0].t_s[0] + 0.2:
            assert best.start_s == pytest.approx(move.start_s, abs=slack_s)
        assert best.end_s == pytest.approx(move.end_s, abs=slack_s)
        assert best.climb_m == pytest.approx(move.climb_m, abs=slack_m)
        assert not headed or best.turn_deg == pytest.approx(move.turn_deg, abs=5)
