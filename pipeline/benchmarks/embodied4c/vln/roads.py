"""The road as a driving task needs it: lanes over time, the vehicle ahead, red lights, lanes invaded.

A recording tells places. Which lane one is in is read from a map; which vehicle is the leader, and where the line of a
light is, nobody knows but who declares it (`KnownRoads`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.benchmarks.embodied4c.drive.view import ALIGNED_DEG, Lanes
from pipeline.core.arrays import FloatArray, StrArray
from pipeline.core.errors import ConfigError
from pipeline.geometry.angles import turned_about_z, wrapped_deg
from pipeline.worlds.drive.facts import Lane
from pipeline.worlds.drive.view import DriveView

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
