"""In which lane things are, and rows of lanes that go on into one another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.worlds.drive.facts import Lane
from pipeline.worlds.drive.view import DriveView

ALIGNED_DEG: Final = 30.0  # at most, between a vehicle and the lane that it is in
LINKS: Final = 4  # lanes before and after ours that are still called ours


class Lanes:
    """The map of a drive."""

    def __init__(self, view: DriveView) -> None:
        self.view = view
        self.by_id = {lane.id: lane for lane in view.facts.lanes}

    def of(self, place: FloatArray, yaw_deg: float) -> tuple[list[Lane], float]:
        """The lanes that a vehicle is in and heads along, and how far (m) its middle is from the border of the one.

        Within junctions there are several, and beside the road there is none: the distance is then NaN.
        """
        (rows,) = self.view.lanes_at(place[None, :2])
        found = [
            row for row in rows if abs((self.direction_deg(row, place) - yaw_deg + 180) % 360 - 180) <= ALIGNED_DEG
        ]
        lanes = [self.view.facts.lanes[row] for row in found]
        if len(found) != 1:
            return lanes, np.nan
        border = self.view.lane_polygons[found[0]].boundary
        return lanes, float(shapely.distance(border, shapely.Point(place[:2])))

    def at(self, row: int) -> Lane:
        """The lane of a row of `DriveView.lanes_at`."""
        return self.view.facts.lanes[row]

    def direction_deg(self, row: int, place: FloatArray) -> float:
        """Where a lane leads at the part of its centre line nearest to a place."""
        line = np.array(self.view.facts.lanes[row].centre)[:, :2]
        start, step = line[:-1], np.diff(line, axis=0)
        length = (step**2).sum(1)
        along = np.clip(((place[:2] - start) * step).sum(1) / np.where(length > 0, length, 1), 0, 1)
        nearest = int(np.linalg.norm(start + along[:, None] * step - place[:2], axis=1).argmin())
        return float(np.degrees(np.arctan2(step[nearest, 1], step[nearest, 0])))

    def row(self, lane: Lane) -> set[str]:
        """Ids of a lane, and of those before and after it."""
        found = {lane.id}
        for onward in ("successors", "predecessors"):
            edge = {lane.id}
            for _ in range(LINKS):
                edge = {i for name in edge if name in self.by_id for i in getattr(self.by_id[name], onward)} - found
                found |= edge
        return found

    def beside(self, lanes: Iterable[str], side: str) -> set[str]:
        """Ids of the neighbours of lanes on a side, "left" or "right", that lead the same way."""
        found = set()
        for name in lanes:
            own = self.by_id.get(name)
            other = self.by_id.get(getattr(own, f"{side}_neighbour") or "") if own else None
            if own is not None and other is not None and _same_way(own, other):
                found.add(other.id)
        return found


def _same_way(one: Lane, other: Lane) -> bool:
    first, second = (np.array(lane.centre)[[0, -1], :2] for lane in (one, other))
    return bool(np.dot(first[1] - first[0], second[1] - second[0]) > 0)
