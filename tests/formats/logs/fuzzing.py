"""Damage to log files, and what every reader must make of it: an error of ours, or a track that can be true."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.geometry.tracks import FlightTrack
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.environment import times

MUTATIONS = times(25, 500)
_LONGEST_M = 400_000.0  # across, after all that is 100 km from the middle was refused


def mutations(raw: bytes, seed: int, count: int = MUTATIONS) -> Iterator[bytes]:
    """Cut, flipped, and with lines deleted, repeated and swapped."""
    rng = np.random.default_rng(seed)
    lines = raw.split(b"\n")
    for number in range(count):
        kind = number % 5
        if kind == 0:
            yield raw[: int(rng.integers(len(raw)))]
        elif kind == 1:
            broken = bytearray(raw)
            for at in rng.integers(len(raw), size=int(rng.integers(1, 30))).tolist():
                broken[at] = int(rng.integers(256))
            yield bytes(broken)
        elif kind == 2:
            broken = bytearray(raw)
            for at in rng.integers(len(raw), size=int(rng.integers(1, 200))).tolist():
                if chr(broken[at]).isdigit():
                    broken[at] = int(rng.integers(48, 58))
            yield bytes(broken)
        elif kind == 3:
            kept = rng.random(len(lines)) > rng.random() * 0.5
            yield b"\n".join(line for line, keep in zip(lines, kept, strict=True) if keep)
        else:
            order = np.sort(rng.integers(len(lines), size=len(lines)))
            swaps = rng.integers(len(lines), size=(int(rng.integers(4)), 2))
            for one, other in swaps.tolist():
                order[[one, other]] = order[[other, one]]
            yield b"\n".join(lines[at] for at in order.tolist())


def check_damaged(path: Path, raw: bytes, log_format: str, seed: int, longest_s: float) -> float:
    """Reads every mutation of a file; returns the share of them that still gave a track."""
    tracks = 0
    for damaged in mutations(raw, seed):
        path.write_bytes(damaged)
        try:
            flights = read_tracks(path, log_format)
        except RawDataError:
            continue
        for _, assembled in flights:
            check_track(assembled.track, longest_s)
        tracks += 1
    return tracks / MUTATIONS


def check_track(track: FlightTrack, longest_s: float) -> None:
    """What holds for any track."""
    n = len(track)
    assert n > 0
    assert (np.diff(track.t_s) > 0).all()
    assert track.t_s[0] >= 0
    assert track.t_s[-1] <= longest_s
    assert np.isfinite(track.enu_m).all()
    assert np.hypot(*track.enu_m[:, :2].T).max() < _LONGEST_M
    placed = np.isfinite(track.lat_lon_deg).all(1)
    assert not (np.abs(track.lat_lon_deg[placed]) < 1e-3).all(1).any()
    assert (np.abs(track.lat_lon_deg[placed]) <= [90, 180]).all()
    assert track.part[0] == 0
    assert set(np.diff(track.part)) <= {0, 1}
    speed = track.speed_mps[np.isfinite(track.speed_mps)]
    assert (speed >= 0).all()
    heading = track.heading_deg[np.isfinite(track.heading_deg)]
    assert ((heading >= 0) & (heading < 360)).all()
    quat = track.quat_wxyz[np.isfinite(track.quat_wxyz).all(1)]
    assert np.allclose(np.linalg.norm(quat, axis=1), 1.0)
    for values in (track.height_m, track.speed_mps, track.heading_deg, track.gimbal_pitch_deg, track.part):
        assert len(values) == n
