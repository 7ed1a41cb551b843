"""Logs as trials: what a file says of a vehicle's or an arm's way, in the terms of `Trial`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pipeline.benchmarks.embodied4c.kinds import AERIAL
from pipeline.benchmarks.embodied4c.vln.trial import Trial
from pipeline.core.errors import ConfigError
from pipeline.geometry.tracks import Track
from pipeline.worlds.flight.tracks.read import read_tracks


def trial_of_flight(track: Track) -> Trial:
    """A flight: ENU metres; headings turned from compass angles to counter-clockwise from east."""
    return Trial(
        t_s=track.t_s, place_m=track.enu_m, heading_deg=(90.0 - track.heading_deg) % 360, speed_mps=track.speed_mps
    )


def _flights(path: Path) -> dict[str, Trial]:
    found = read_tracks(path)
    return {log.name or path.stem: trial_of_flight(assembled.track) for log, assembled in found}


LOGS: Final[Mapping[str, Callable[[Path], dict[str, Trial]]]] = {AERIAL: _flights}


def read_trials(path: Path, domain: str) -> dict[str, Trial]:
    """The trials of a log of an embodiment, by name.

    Raises ConfigError where logs of the embodiment cannot be read yet, RawDataError for a file that is none.
    """
    if domain not in LOGS:
        raise ConfigError(f"logs of {domain} cannot be read as trials; those of {', '.join(LOGS)} can")
    return LOGS[domain](path)
