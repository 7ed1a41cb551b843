"""Logs as trials of VLN tasks: what a log of any simulator, or of a real vehicle, says of what the agent did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.rules import AERIAL, DRIVING, MANIPULATION
from pipeline.benchmarks.embodied4c.vln.roads import (
    DriveLanes,
    KnownRoads,
    LaneSequence,
    leader_row,
    middles_m,
    red_lights_s,
)
from pipeline.core.arrays import BoolArray, FloatArray, StrArray
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.quantized_series import QuantizedSeries
from pipeline.core.schema import AnyScene
from pipeline.geometry.tracks import FlightTrack
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.reader import Reader
from pipeline.worlds.arm.view import ArmView
from pipeline.worlds.arm.world import ARM
from pipeline.worlds.drive.facts import Crossing, Lane, Line
from pipeline.worlds.drive.readers.argoverse2_parts import read_map
from pipeline.worlds.drive.view import DriveView
from pipeline.worlds.drive.world import DRIVE
from pipeline.worlds.flight.tracks.read import read_tracks
from pipeline.worlds.world import World

SAFETY: Final = ("collision", "red_light", "lane_invasion")  # each ends a graded driving task (section 8.1)


@dataclass(frozen=True)
class Trial:
    """A trajectory. Frame: metres, z up, right-handed; what a log does not tell is None.

    Attributes:
        t_s: (N,) seconds, strictly increasing, of simulated or real time: thinking of an agent does not count.
        place_m: (N, 3) of the vehicle's centre or of the gripper.
        heading_deg: (N,) of the nose, counter-clockwise from x; NaN where it is not known.
        speed_mps: (N,).
        lane: (N,) of the lane, "" for none: the same as long as it is not left.
        lane_id: (N,) the map's own names, of which one lane has many along the way; None: `lane` has them.
        steering: (N,) -1 full right to 1 full left.
        handbrake: (N,).
        low_beam: (N,).
        leader_m: (N, 3) of the vehicle ahead.
        leader_lane: (N,).
        joints_deg: (N, J).
        gripper_open: (N,).
        lanes_at: ids of the lanes that a place (3,) lies in, and of those that they go on into; None: without a map.
        success: whether the simulator says that the task was done.
        events: name in `SAFETY` -> times; a name that is missing was not recorded.
    """

    t_s: FloatArray
    place_m: FloatArray
    heading_deg: FloatArray | None = None
    speed_mps: FloatArray | None = None
    lane: StrArray | None = None
    lane_id: StrArray | None = None
    steering: FloatArray | None = None
    handbrake: BoolArray | None = None
    low_beam: BoolArray | None = None
    leader_m: FloatArray | None = None
    leader_lane: StrArray | None = None
    joints_deg: FloatArray | None = None
    gripper_open: BoolArray | None = None
    lanes_at: Callable[[FloatArray], list[str]] | None = None
    success: bool | None = None
    events: Mapping[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.t_s)

    def between(self, from_s: float, until_s: float) -> Trial:
        """The part within two times, both included."""
        kept = (self.t_s >= from_s) & (self.t_s <= until_s)
        cut: dict[str, Any] = {
            f.name: value[kept] for f in fields(self) if isinstance(value := getattr(self, f.name), np.ndarray)
        }
        events = {name: t[(t >= from_s) & (t <= until_s)] for name, t in self.events.items()}
        return replace(self, **cut, events=events)

    def known(self, name: str) -> Any:
        """An attribute. Raises ValueError where the log does not tell it, which `rules.missing` finds before."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"the log does not tell {name}")
        return value

    def driven_m(self) -> FloatArray:
        """(N,) length of the way so far."""
        steps = np.linalg.norm(np.diff(self.place_m, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    def ends(self) -> tuple[str, float] | None:
        """The first event that ends a task, and when."""
        found = sorted((float(t.min()), name) for name, t in self.events.items() if name in SAFETY and len(t))
        return (found[0][1], found[0][0]) if found else None


EGO: Final = "ego"


def trial_of_flight(track: FlightTrack) -> Trial:
    """A flight: ENU metres; headings turned from compass angles to counter-clockwise from east."""
    return Trial(
        t_s=track.t_s, place_m=track.enu_m, heading_deg=(90.0 - track.heading_deg) % 360, speed_mps=track.speed_mps
    )


def trial_of_drive(scene: AnyScene, known_roads: KnownRoads, from_s: float) -> Trial:
    """A drive: our own car's way, its controls, lamps and collisions where they are recorded.

    Lanes are those of a map; leaders and the lines of lights are known where they are declared, and only there.

    Args:
        scene: the log.
        known_roads: what people declare of it.
        from_s: when the trial begins, at which "the nearest ahead" is looked for.
    """
    if known_roads.map_file is not None:
        lanes, crossings, drivable = map_of(known_roads.map_file)
        mapped = {"lanes": lanes, "crossings": crossings, "drivable": drivable}
        scene = scene.model_copy(update={"facts": scene.facts.model_copy(update=mapped)})
    view = DriveView(scene)
    known = np.isfinite(view.ego_m).all(1)
    times = view.times_s[known]
    ego = view.facts.ego
    controls = ego.controls if ego else None
    steering = _column(controls.steering, ego.track.first, len(view.times_s))[known] if ego and controls else None
    handbrake = None
    if ego and controls and controls.handbrake:
        handbrake = _column(controls.handbrake, ego.track.first, len(view.times_s))[known] == 1
    lit = [view.lit_at(EGO, index) for index in np.flatnonzero(known).tolist()]
    hits = view.facts.collisions
    events = {}
    if hits is not None:
        own = [hit.index for hit in hits if EGO in (hit.first, hit.second)]
        events["collision"] = view.times_s[np.array(own, dtype=np.intp)]
    if known_roads.stop_lines:
        events["red_light"] = red_lights_s(view, known_roads.stop_lines)
    place_m = middles_m(view)
    ways = leader_m = leader_lane = None
    if view.facts.lanes and view.ego_moves:
        ways = DriveLanes(view).ways(place_m[known], view.ego_yaw_deg[known], times)
        events["lane_invasion"] = ways.invaded_s
    if known_roads.leader is not None:
        first = int(np.abs(times - from_s).argmin())
        now = slice(first, first + 1)
        ours = None if ways is None else LaneSequence(ways.lane[now], ways.lane_id[now], ways.invaded_s)
        row = leader_row(view, known_roads.leader, ours, int(np.flatnonzero(known)[first]))
        leader_m = view.place_m[row][known]
        if ways is not None:
            leader_lane = DriveLanes(view).against(ways, leader_m, view.yaw_deg[row][known])
    return Trial(
        t_s=times,
        place_m=place_m[known],
        heading_deg=view.ego_yaw_deg[known],
        speed_mps=view.ego_speed_mps[known],
        steering=steering,
        handbrake=handbrake,
        lane=None if ways is None else ways.lane,
        lane_id=None if ways is None else ways.lane_id,
        lanes_at=DriveLanes(view).at if view.facts.lanes else None,
        leader_m=leader_m,
        leader_lane=leader_lane,
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


def map_of(path: Path) -> tuple[tuple[Lane, ...], tuple[Crossing, ...], tuple[Line, ...]]:
    """The lanes, crossings and drivable areas of a map that people give. Raises RawDataError."""
    files = SceneFiles(path.parent, SceneRef(f"map/{path.stem}", (".", path.name), ""))
    return read_map(files, path)


def _column(table: QuantizedSeries, first: int, n: int) -> Any:
    found = np.full(n, np.nan)
    found[first : first + table.rows] = table.array[:, 0]
    return found


def _flights(path: Path, known_roads: KnownRoads, from_s: float) -> dict[str, Callable[[], Trial]]:
    return {log.name or path.stem: partial(trial_of_flight, assembled.track) for log, assembled in read_tracks(path)}


def _of_world(world: World[Any], trial: Callable[[AnyScene], Trial], path: Path) -> dict[str, Callable[[], Trial]]:
    """The trials of a folder of logs, or of one file, by the first reader of a world that knows it."""
    root = path if path.is_dir() else path.parent
    for reader in world.readers:
        try:
            found = reader.scenes(root).scenes
        except ConfigError:
            continue
        own = [ref for ref in found if path.is_dir() or any((root / file) == path for file in ref.files)]
        if own:
            return {ref.id.partition("/")[2]: partial(_read, reader, root, ref, trial) for ref in own}
    names = ", ".join(reader.name for reader in world.readers)
    raise RawDataError(path, "no_log", f"none of the readers {names} knows it", "give a root folder, or a file of one")


def _read(reader: Reader, root: Path, ref: SceneRef, trial: Callable[[AnyScene], Trial]) -> Trial:
    return trial(reader.read(SceneFiles(root, ref)))


LOGS: Final[Mapping[str, Callable[[Path, KnownRoads, float], dict[str, Callable[[], Trial]]]]] = {
    AERIAL: _flights,
    DRIVING: lambda path, told, from_s: _of_world(DRIVE, lambda scene: trial_of_drive(scene, told, from_s), path),
    MANIPULATION: lambda path, told, from_s: _of_world(ARM, trial_of_episode, path),
}


def trials_of(
    path: Path, domain: str, known_roads: KnownRoads | None = None, from_s: float = 0.0
) -> dict[str, Callable[[], Trial]]:
    """Readers of each trial of a log of an embodiment, by name. Raises RawDataError for a file that is no log.

    ``known_roads`` and when the trial begins (``from_s``) are those of a drive.
    """
    return LOGS[domain](path, known_roads or KnownRoads(), from_s)
