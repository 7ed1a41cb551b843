"""Speed of stage observe for a flight: one hour logged at 50 Hz, to segments, and the views of 50 landmarks."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from scipy.signal import savgol_filter

from pipeline.geometry.tracks import Buildings, Track
from pipeline.worlds.flight.facts import FlightCamera, Landmark
from pipeline.worlds.flight.observe.motion import MotionConfig, paths
from pipeline.worlds.flight.observe.movements import segments
from pipeline.worlds.flight.observe.views import PosesAt, Setting, views
from tests.worlds.flight.observe.planted import fly, logged, random_phases

Row = tuple[str, float, str, float | None, float | None]
SAMPLES = 180_000
SQUARE = np.array([[-8.0, -8], [8, -8], [8, 8], [-8, 8]])


def hour_of_flight(seed: int = 0) -> Track:
    """180,000 samples at 50 Hz of some 550 movements, with noise."""
    rng = np.random.default_rng(seed)
    phases = random_phases(rng, 700)
    track, _ = fly(phases, list(rng.uniform(0.5, 1, len(phases) - 1)))
    log = logged(track, 50.0, rng, over_ground_m=0.3, height_m=0.2)
    arrays = {name: value[:SAMPLES] for name, value in vars(log).items() if value is not None}
    return replace(log, **arrays)


def rows() -> list[Row]:
    """Name, value, unit, target and ratio to one smoothing of all its samples."""
    track, config = hour_of_flight(), MotionConfig()
    assert len(track) == SAMPLES
    start = time.process_time()
    found, fits = paths(track, config)
    moved = [s for path in found for s in segments(path, fits, config)]
    seconds = time.process_time() - start
    start = time.process_time()
    savgol_filter(track.enu_m, 51, 2, axis=0)
    baseline = time.process_time() - start
    rng = np.random.default_rng(1)
    path = found[0]
    spread = path.enu_m[rng.integers(0, len(path), 500), :2] + rng.uniform(-150, 150, (500, 2))
    city = Buildings(tuple(SQUARE + c for c in spread), np.full(500, -20.0), rng.uniform(0, 40, 500))
    landmarks = [
        Landmark(name=f"place {i}", center=(float(x), float(y)), radius_m=11.3, base_m=-20.0, top_m=float(top))
        for i, ((x, y), top) in enumerate(zip(spread[:50], city.top_m[:50], strict=True))
    ]
    camera = FlightCamera(horizontal_fov_deg=80, width=1280, height=720)
    start = time.process_time()
    tilt, part = np.full(len(path), -20.0), np.zeros(len(path), dtype=np.intp)
    poses = PosesAt(path.t_s, path.enu_m, path.heading_deg, tilt, part)
    seen = views(poses, landmarks, Setting(camera, 0.0, city, config))
    viewing = time.process_time() - start
    return [
        (f"one hour at 50 Hz to {len(moved)} segments", seconds, "s", 2.0, seconds / baseline),
        (f"views of {len(landmarks)} landmarks among 500 buildings, {len(seen)} seen", viewing, "s", 2.0, None),
    ]


if __name__ == "__main__":
    for row in rows():
        print(*row)
