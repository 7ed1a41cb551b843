"""Logs as trials: what a log says of a vehicle's or an arm's way, in the terms of `Trial`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.kinds import AERIAL, DRIVING, MANIPULATION
from pipeline.benchmarks.embodied4c.vln.trial import Trial
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.packed import Packed
from pipeline.core.schema import AnyScene
from pipeline.geometry.tracks import Track
from pipeline.reading.files import SceneFiles
from pipeline.worlds.arm.view import ArmView
from pipeline.worlds.arm.world import ARM
from pipeline.worlds.drive.view import DriveView
from pipeline.worlds.drive.world import DRIVE
from pipeline.worlds.flight.tracks.read import read_tracks
from pipeline.worlds.world import World

EGO: Final = "ego"


def trial_of_flight(track: Track) -> Trial:
    """A flight: ENU metres; headings turned from compass angles to counter-clockwise from east."""
    return Trial(
        t_s=track.t_s, place_m=track.enu_m, heading_deg=(90.0 - track.heading_deg) % 360, speed_mps=track.speed_mps
    )


def trial_of_drive(scene: AnyScene) -> Trial:
    """A drive: our own car's way, its controls, lamps and collisions where they are recorded.

    Lanes, leaders, red lights and lane invasions are not told: a recording does not say which vehicle is the leader.
    """
    view = DriveView(scene)
    known = np.isfinite(view.ego_m).all(1)
    times = view.times_s[known]
    ego = view.facts.ego
    steering = (
        _column(ego.controls.steering, ego.track.first, len(view.times_s))[known] if ego and ego.controls else None
    )
    lit = [view.lit_at(EGO, index) for index in np.flatnonzero(known).tolist()]
    hits = view.facts.collisions
    events = {}
    if hits is not None:
        own = [hit.index for hit in hits if EGO in (hit.first, hit.second)]
        events["collision"] = view.times_s[np.array(own, dtype=np.intp)]
    return Trial(
        t_s=times,
        place_m=view.ego_m[known],
        heading_deg=view.ego_yaw_deg[known],
        speed_mps=view.ego_speed_mps[known],
        steering=steering,
        low_beam=None if not lit or lit[0] is None else np.array(["low beam" in (lamps or ()) for lamps in lit]),
        events=events,
    )


def trial_of_episode(scene: AnyScene) -> Trial:
    """An episode: the gripper's way, joints and state, and whether the log calls it a success."""
    view = ArmView(scene)
    known = np.isfinite(view.gripper_m).all(1)
    turning = [joint.unit == "rad" for joint in view.facts.arm.joints] if view.facts.arm else []
    whole = bool(turning) and all(turning)
    return Trial(
        t_s=view.times_s[known],
        place_m=view.gripper_m[known],
        joints_deg=np.degrees(view.angle[known]) if whole else None,
        gripper_open=view.opening[known] > 0.5 if np.isfinite(view.opening).all() else None,
        success=view.facts.success,
    )


def _column(table: Packed, first: int, n: int) -> Any:
    found = np.full(n, np.nan)
    found[first : first + table.rows] = table.array[:, 0]
    return found


def _flights(path: Path) -> dict[str, Trial]:
    return {log.name or path.stem: trial_of_flight(assembled.track) for log, assembled in read_tracks(path)}


def _of_world(world: World[Any], trial: Callable[[AnyScene], Trial], path: Path) -> dict[str, Trial]:
    """The trials of a folder of logs, or of one file, by the first reader of a world that knows it."""
    root = path if path.is_dir() else path.parent
    for reader in world.readers:
        try:
            found = reader.scenes(root).scenes
        except ConfigError:
            continue
        own = [ref for ref in found if path.is_dir() or any((root / file) == path for file in ref.files)]
        if own:
            return {ref.id.partition("/")[2]: trial(reader.read(SceneFiles(root, ref))) for ref in own}
    names = ", ".join(reader.name for reader in world.readers)
    raise RawDataError(path, "no_log", f"none of the readers {names} knows it", "give a root folder, or a file of one")


LOGS: Final[Mapping[str, Callable[[Path], dict[str, Trial]]]] = {
    AERIAL: _flights,
    DRIVING: lambda path: _of_world(DRIVE, trial_of_drive, path),
    MANIPULATION: lambda path: _of_world(ARM, trial_of_episode, path),
}


def read_trials(path: Path, domain: str) -> dict[str, Trial]:
    """The trials of a log of an embodiment, by name. Raises RawDataError for what is none."""
    return LOGS[domain](path)
