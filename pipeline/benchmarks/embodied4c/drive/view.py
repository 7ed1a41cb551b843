"""A drive as its exam sees it: the moments at which questions stand, and how all lies about our car then."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import shapely

from pipeline.benchmarks.embodied4c.case import ToldFacts, about_log, log_flags
from pipeline.benchmarks.embodied4c.rules import DRIVING, ExamRules
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.quantized_series import QuantizedSeries
from pipeline.core.schema import Rejection
from pipeline.geometry.angles import rate, turn_rate_dps, turned_about_z
from pipeline.geometry.footprints import Rectangles, gap_m
from pipeline.questions.selection import times_held
from pipeline.worlds.drive.facts import DriveScene, Lane
from pipeline.worlds.drive.view import SPEED_WINDOW_S, DriveView

KMH: Final = 3.6
_EPS_S: Final = 1e-6
_TIMES_AT_ONCE: Final = 1000  # of a long log, so that memory does not grow with it


class DriveExam(DriveView):
    """A drive under the exam's rules.

    Attributes:
        moments: (M,) indices of the times at which questions stand.
        flags: what each of its questions carries.
        log_doubts: about the log as a whole.
        told: facts that questions ask for.
    """

    domain = DRIVING

    def __init__(self, scene: DriveScene, rules: ExamRules) -> None:
        super().__init__(scene)
        self.rules, self.asked_facts = rules, ToldFacts()
        camera = self.camera.name if self.camera is not None else None
        self.flags = log_flags(DRIVING, scene, rules, self.drawable, camera)
        self.log_doubts = about_log(scene.findings)
        self.refs: dict[int, list[Any]] = {}  # by moment: things that can be spoken of, once they were looked for
        self.moments = self._moments()

    @property
    def asked_s(self) -> list[float]:
        """The times at which questions stand."""
        return self.times_s[self.moments].tolist()

    @property
    def obstacle(self) -> Rejection | None:
        """Why nothing can be asked at all."""
        return None if len(self.moments) else Rejection(reason="no_moment", measured=0, limit=1, unit="times")

    def _moments(self) -> IntArray:
        """Samples nearest to whole seconds at which our place is known, evenly thinned, not at the log's very ends."""
        known = np.flatnonzero(np.isfinite(self.ego_m[:, :2]).all(1) & np.isfinite(self.ego_yaw_deg))
        if not len(known):
            return known
        first, last = self.times_s[0] + self.rules.past_min_s, self.times_s[-1] - self.rules.future_min_s
        wanted = np.arange(np.ceil(first - _EPS_S), last + _EPS_S)
        most = round(self.rules.exam_moments_max * times_held(last - first))
        if len(wanted) > most:
            wanted = wanted[np.arange(1, most + 1) * len(wanted) // most - 1]
        if not len(wanted):
            return known[:0]
        return np.unique(known[np.abs(self.times_s[known][None, :] - wanted[:, None]).argmin(1)])

    @property
    def scope(self) -> str:
        """Where alone it is known what there was, in words; "" all around. A film from above shows just that."""
        camera = self.facts.labelled_in
        return "" if not camera else f" in the picture of {camera}" if self.scene.video else " in the picture"

    @property
    def us(self) -> str:
        """The part of our car from which distances are measured."""
        return self.own_point or "the nearest surface of the ego vehicle"

    # At the moments: (A, M)

    @cached_property
    def there(self) -> BoolArray:
        """Which actors are there, with a box and a heading."""
        return self.present[:, self.moments] & np.isfinite(self.near_m)

    @cached_property
    def unsure_near(self) -> BoolArray:
        """(A, M) who is there, but in doubt or without a box: which is the nearest, or how many, may hang on it."""
        boxless = self.present & ~np.isfinite(self.size_m[:, :1])
        return (self.unsure | boxless)[:, self.moments]

    @cached_property
    def off_deg(self) -> FloatArray:
        """Bearings of the middles, counter-clockwise from straight ahead, in [-180, 180)."""
        return self.bearing_deg[:, self.moments]

    @cached_property
    def near_m(self) -> FloatArray:
        """On the ground, from us (`us`) to the nearest surface of an actor's box."""
        return np.stack([self.away_m(index) for index in self.moments.tolist()], axis=1)

    def away_m(self, index: int) -> FloatArray:
        """(A,) the same at any time of the log."""
        return gap_m(self.own_outline(index), self.footprints(index))

    def nearest_since_m(self, firsts: IntArray, most_m: float) -> FloatArray:
        """(A, M) the least of these distances from a time (M,) to each moment; infinite where it is over ``most_m``.

        Circles around the boxes tell who may have come so near when: only there boxes are measured.
        """
        reach = np.hypot(*(self.size_m[:, :2] / 2).T)
        box = self.facts.ego.box if self.facts.ego is not None else None
        own = 0.0 if box is None else float(np.hypot(*box.middle_m[:2]) + np.hypot(*box.size_m[:2]) / 2)
        starts = range(int(firsts.min()), int(self.moments[-1]) + 1, _TIMES_AT_ONCE)
        stops = np.unique([*starts, *firsts.tolist(), *(self.moments + 1).tolist()])
        found = np.full((len(self.ids), len(stops)), np.inf)
        for part, (first, last) in enumerate(pairwise(stops.tolist())):
            actors, times = np.nonzero(self.distance_m[:, first:last] <= (reach + own + most_m)[:, None])
            times += first
            theirs = Rectangles(
                self.place_m[actors, times, :2], self.size_m[actors, :2] / 2, self.yaw_deg[actors, times]
            )
            gap = gap_m(self.own_outline(times), theirs)
            near = gap <= most_m
            np.minimum.at(found[:, part], actors[near], gap[near])
        spans = np.searchsorted(stops, [firsts, self.moments + 1]).T.tolist()
        return np.stack([found[:, first:last].min(1) for first, last in spans], axis=1)

    def own_outline(self, index: int | IntArray) -> Rectangles:
        """Our footprint at a time, or at several; where our size is not known, the point that our track follows."""
        box = self.facts.ego.box if self.facts.ego is not None else None
        yaw = self.ego_yaw_deg[index]
        middle, half = self.ego_m[index, :2], np.zeros(2)
        if box is not None:
            middle, half = middle + turned_about_z(np.array(box.middle_m[:2]), yaw), np.array(box.size_m[:2]) / 2
        return Rectangles(middle, half, yaw)

    @cached_property
    def moving_mps(self) -> FloatArray:
        """Speeds over ground."""
        return self.speed_mps[:, self.moments]

    @cached_property
    def hidden(self) -> FloatArray:
        """Shares that are hidden in the film (`DriveView.in_film`); NaN where it is not known."""
        return np.stack([self.in_film(index)[1] for index in self.moments.tolist()], axis=1)

    @cached_property
    def points(self) -> FloatArray:
        """Lidar points; NaN where they are not recorded, or the film is drawn, which shows all alike."""
        return self._declared([actor.points if self.scene.video else None for actor in self.facts.actors])

    @cached_property
    def occluded(self) -> FloatArray:
        """Levels; NaN where they are not declared."""
        return self._declared([actor.occluded for actor in self.facts.actors])

    @cached_property
    def truncated(self) -> FloatArray:
        """Shares; NaN where they are not declared."""
        return self._declared([actor.truncated for actor in self.facts.actors])

    def _declared(self, tables: Sequence[QuantizedSeries | None]) -> FloatArray:
        found = np.full((len(self.ids), len(self.times_s)), np.nan)
        for row, (actor, table) in enumerate(zip(self.facts.actors, tables, strict=True)):
            if table is not None:
                found[row, actor.track.first : actor.track.stop] = table.array[:, 0]
        return found[:, self.moments]

    # Our own way

    @cached_property
    def ego_short_mps(self) -> FloatArray:
        """(T,) our speed over ground from places over half the time, up to each: what a film that ends there shows."""
        velocity = rate(self.times_s, self.ego_m[:, :2], SPEED_WINDOW_S / 2, until=True)
        return np.asarray(np.hypot(velocity[:, 0], velocity[:, 1]))

    @cached_property
    def short_velocity_mps(self) -> FloatArray:
        """(A, M, 2), drive's frame: that of the others, over the same time."""
        return rate(self.times_s, self.place_m[..., :2], SPEED_WINDOW_S / 2, until=True)[:, self.moments]

    @cached_property
    def short_mps(self) -> FloatArray:
        """(A, M) the speed of the others."""
        return np.asarray(np.hypot(*np.moveaxis(self.short_velocity_mps, -1, 0)))

    @cached_property
    def ego_gain_shown_mps2(self) -> FloatArray:
        """(T,) change of our speed over the time up to each."""
        return rate(self.times_s, self.ego_short_mps[:, None], SPEED_WINDOW_S, until=True)[:, 0]

    @cached_property
    def ego_turn_shown_dps(self) -> FloatArray:
        """(T,) as `ego_turn_dps`, over the time up to each."""
        return turn_rate_dps(self.times_s, self.ego_yaw_deg, SPEED_WINDOW_S, until=True)

    @cached_property
    def driven_m(self) -> FloatArray:
        """(T,) length of our way since the log began; NaN from where our place is not known."""
        steps = np.linalg.norm(np.diff(self.ego_m[:, :2], axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    def second(self, moment: int) -> float:
        """The time of a moment."""
        return float(self.times_s[self.moments[moment]])


ALIGNED_DEG: Final = 30.0  # at most, between a vehicle and the lane that it is in
LINKS: Final = 4  # lanes before and after ours that are still called ours


class Lanes:
    """The map of a drive."""

    def __init__(self, view: DriveView) -> None:
        self.view = view
        self.by_id = {lane.id: lane for lane in view.facts.lanes}
        self._surfaces: dict[frozenset[str], shapely.Geometry] = {}

    def of(self, place: FloatArray, yaw_deg: float) -> tuple[list[Lane], float]:
        """The lanes that a vehicle is in and heads along, and how far (m) its middle is from the sides of the one.

        Within junctions there are several, and beside the road there is none: the distance is then NaN.
        """
        (rows,) = self.view.lanes_at(place[None, :2])
        found = [
            row for row in rows if abs((self.direction_deg(row, place) - yaw_deg + 180) % 360 - 180) <= ALIGNED_DEG
        ]
        lanes = [self.view.facts.lanes[row] for row in found]
        if len(found) != 1:
            return lanes, np.nan
        border = self.surface(self.row(lanes[0])).boundary  # not where its next part begins
        return lanes, float(shapely.distance(border, shapely.Point(place[:2])))

    def surface(self, names: Iterable[str]) -> shapely.Geometry:
        """The ground of lanes, by their ids."""
        key = frozenset(names)
        if key not in self._surfaces:
            polygons = zip(self.view.facts.lanes, self.view.lane_polygons, strict=True)
            self._surfaces[key] = shapely.union_all([polygon.buffer(0) for lane, polygon in polygons if lane.id in key])
        return self._surfaces[key]

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

    def neighbours(self, lanes: Iterable[str], side: str) -> set[str]:
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
