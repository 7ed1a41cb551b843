"""Logs as trials of VLN tasks: what a log of any simulator, or of a real vehicle, says of what the agent did.

The road as a driving task needs it: lanes over time, the vehicle ahead, red lights, lanes invaded. A recording tells
places. Which lane one is in is read from a map; which vehicle is the leader, and where the line of a light is, nobody
knows but who declares it (`KnownRoads`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.benchmarks.embodied4c.drive.view import ALIGNED_DEG, Lanes
from pipeline.benchmarks.embodied4c.rules import AERIAL, DRIVING, MANIPULATION
from pipeline.core.arrays import BoolArray, FloatArray, StrArray
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.quantized_series import QuantizedSeries
from pipeline.core.schema import AnyScene
from pipeline.geometry.angles import turned_about_z, wrapped_deg
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

NEAREST: Final = "nearest"  # as a leader: whoever is the nearest ahead in our lane when the trial begins
RED: Final = "red"
NO_LANE: Final = ""
AGAINST_DEG: Final = 180.0 - ALIGNED_DEG  # at least, between a lane and who drives against it


@dataclass(frozen=True)
class KnownRoads:
    """Facts that people declare of a drive.

    Attributes:
        leader: id of the actor that the tasks call the vehicle ahead, or `NEAREST`.
        lanes: task -> id of the lane that its target is in, "" for all.
        map_file: a map in Argoverse 2's form, in the log's frame; None: that of the log.
        stop_lines: id of a traffic light -> its line on the ground, (2, 2).
    """

    leader: str | None = None
    lanes: Mapping[str, str] = field(default_factory=dict)
    map_file: Path | None = None
    stop_lines: Mapping[str, FloatArray] = field(default_factory=dict)


class LaneSequence(NamedTuple):
    """Lanes over time, (N,) each: numbered to the left of the first one ("0"), and by the map's ids; "" for none."""

    lane: StrArray
    lane_id: StrArray
    invaded_s: FloatArray


def middles_m(view: DriveView) -> FloatArray:
    """(T, 3) the middle of our car, where its size is known; else the point that the log follows."""
    box = view.facts.ego.box if view.facts.ego is not None else None
    if box is None:
        return view.ego_m
    return np.asarray(view.ego_m + turned_about_z(np.array(box.middle_m), view.ego_yaw_deg))


class DriveLanes:
    """The lanes of a drive."""

    def __init__(self, view: DriveView) -> None:
        self.view, self.lanes = view, Lanes(view)

    def ways(self, place_m: FloatArray, yaw_deg: FloatArray, times_s: FloatArray) -> LaneSequence:
        """In which lanes something was at times (N,).

        It stays in its lane as long as lanes follow on one another, also across a junction where several overlap. It
        invades where it crosses a solid line to the lane beside its own, and where it comes into one against it.
        """
        offset, own = 0, None
        labels, ids, invaded = [], [], []
        against_before = False
        for rows, place, yaw, time_s in zip(
            self.view.lanes_at(place_m[:, :2]), place_m, yaw_deg.tolist(), times_s.tolist(), strict=True
        ):
            turns = [abs(float(wrapped_deg(np.array(self.lanes.direction_deg(row, place) - yaw)))) for row in rows]
            found = [self.lanes.at(row) for row, turn in zip(rows, turns, strict=True) if turn <= ALIGNED_DEG]
            against = not found and any(turn >= AGAINST_DEG for turn in turns)
            if against and not against_before:
                invaded.append(time_s)
            against_before = against
            now = self._goes_on(own, found)
            if now is None and len(found) == 1:
                now = found[0]
                step = 0 if own is None else self._lanes_left(own, now)
                offset += step
                if own is not None and _is_solid(own.left_mark if step > 0 else own.right_mark if step < 0 else None):
                    invaded.append(time_s)
            own = now if now is not None else own
            labels.append(str(offset) if found else NO_LANE)
            ids.append(now.id if now is not None else NO_LANE)
        return LaneSequence(np.array(labels, dtype=object), np.array(ids, dtype=object), np.array(invaded))

    def _goes_on(self, own: Lane | None, found: Sequence[Lane]) -> Lane | None:
        """Of lanes the one that ours is, or goes on into."""
        if own is None:
            return None
        row = self.lanes.row(own)
        return next((lane for lane in found if lane.id == own.id), next((n for n in found if n.id in row), None))

    def _lanes_left(self, own: Lane, other: Lane) -> int:
        """How many lanes to the left another one is, among those next to ours; 0: what joins the two is not known."""
        row = self.lanes.row(own)
        if other.id in self.lanes.neighbours(row, "left"):
            return 1
        return -1 if other.id in self.lanes.neighbours(row, "right") else 0

    def against(self, ours: LaneSequence, place_m: FloatArray, yaw_deg: FloatArray) -> StrArray:
        """(N,) the numbers of the lanes of another, counted as ours; "" where it is in none next to ours."""
        labels = []
        for lane, number, rows, place, yaw in zip(
            ours.lane_id, ours.lane, self.view.lanes_at(place_m[:, :2]), place_m, yaw_deg.tolist(), strict=True
        ):
            own = self.lanes.by_id.get(lane)
            found = {
                self.lanes.at(row).id
                for row in rows
                if abs(float(wrapped_deg(np.array(self.lanes.direction_deg(row, place) - yaw)))) <= ALIGNED_DEG
            }
            labels.append(NO_LANE if own is None else self._number(own, number, found))
        return np.array(labels, dtype=object)

    def _number(self, own: Lane, number: str, found: set[str]) -> str:
        row = self.lanes.row(own)
        for step, lanes in (
            (0, row),
            (1, self.lanes.neighbours(row, "left")),
            (-1, self.lanes.neighbours(row, "right")),
        ):
            if found & lanes:
                return str(int(number) + step) if number else NO_LANE
        return NO_LANE

    def at(self, place: FloatArray) -> list[str]:
        """Ids of the lanes that hold a place, and of those that they go on into."""
        (rows,) = self.view.lanes_at(place[None, :2])
        return sorted({name for row in rows for name in self.lanes.row(self.lanes.at(row))})


def leader_row(view: DriveView, leader: str, ours: LaneSequence | None, index: int) -> int:
    """The row of the actor that is followed. Raises ConfigError where there is none.

    Args:
        view: the drive.
        leader: its id, or `NEAREST`.
        ours: our lanes at one time, that of the trial's begin.
        index: of this time.
    """
    if leader != NEAREST:
        if leader not in view.ids.tolist():
            raise ConfigError(f"--leader {leader}: there is no such actor; there are {', '.join(view.ids.tolist())}")
        return view.row(leader)
    if ours is None or ours.lane[0] == NO_LANE:
        raise ConfigError("--leader nearest: it is not known which lane is ours; name the actor, or give --map")
    roads = DriveLanes(view)
    with np.errstate(invalid="ignore"):
        ahead = view.relative_m[:, index, 0] > 0
    for row in np.argsort(view.distance_m[:, index]).tolist():
        place, yaw = view.place_m[row, index : index + 1], view.yaw_deg[row, index : index + 1]
        if ahead[row] and roads.against(ours, place, yaw)[0] == ours.lane[0]:
            return int(row)
    raise ConfigError("--leader nearest: no vehicle is ahead in our lane when the trial begins")


def red_lights_s(view: DriveView, lines: Mapping[str, FloatArray]) -> FloatArray:
    """Times at which our point crossed the line of a light that was red. Raises ConfigError for an unknown light."""
    lights = {light.id: light for light in view.facts.lights}
    crossed = []
    way = view.ego_m[:, :2]
    steps = shapely.linestrings(np.stack([way[:-1], way[1:]], axis=1)) if len(way) > 1 else np.empty(0, dtype=object)
    for name, line in lines.items():
        if name not in lights:
            raise ConfigError(f"--stop-line {name}: there is no such light; there are {', '.join(lights) or 'none'}")
        known = np.isfinite(way[:-1]).all(1) & np.isfinite(way[1:]).all(1)
        hits = np.flatnonzero(known & shapely.intersects(steps, shapely.LineString(line))) + 1
        indices = np.array([colour.index for colour in lights[name].colours], dtype=np.intp)
        shown = np.searchsorted(indices, hits, side="right") - 1
        red = [
            n for n, state in zip(hits, shown, strict=True) if state >= 0 and lights[name].colours[state].colour == RED
        ]
        crossed += view.times_s[red].tolist()
    return np.array(sorted(crossed))


def _is_solid(mark: str | None) -> bool:
    """Whether a line must not be crossed; one that is dashed on one side is not told to be so."""
    return mark is not None and "solid" in mark and "dash" not in mark


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
