"""A drive as arrays over time: where everybody was, in the drive's frame and about our car.

Of A actors and T times. Places are the middles of boxes, or of what has no box the point that its track follows. Our
own place is the point that the log follows (`Ego.point`). NaN: not known then, or in doubt.
"""

from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.geometry.angles import rate, turn_rate_dps, turned_about_z, wrapped_deg
from pipeline.geometry.footprints import Rectangles, gap_m
from pipeline.questions.gate import ShownScene
from pipeline.worlds.drive.facts import ActorTrack, Drive, DriveCamera, DriveScene, VehicleBox

EGO: Final = "ego"  # subject of findings about our own car
SPEED_WINDOW_S: Final = 1.0  # ours: a noise of 5 cm in boxes is then 0.07 m/s


_SHOWN: Final = load_table("shown")["drive"]
FILMED: Final = ShownScene(**_SHOWN["filmed"])
DRAWN: Final = ShownScene(**_SHOWN["drawn"], complete=None)
# Corners (8, 3) of a box of one metre about its middle; columns across a box in the picture, as shares of its width.
_CORNERS: Final = np.array(list(product((-0.5, 0.5), repeat=3)))
_ACROSS: Final = (np.arange(32) + 0.5) / 32
BEFORE_CAMERA_M: Final = 0.1
# Of that film: what reaches no farther along either side of the picture is a dot, without a heading.
DOT_M: Final = 2.0
# It reaches so far ahead, behind (above the words at its foot) and to each side.
MAP_M: Final = (60.0, 52.0, 80.0)


class DrawnMarks(NamedTuple):
    """The marks of the film from above at a time.

    Attributes:
        order: actors whose place is known, in the order in which they are drawn.
        is_dot: (A,) who is drawn as a dot.
        corners_m: (A, 4, 2) of the boxes, ahead and left of our point.
    """

    order: IntArray
    is_dot: BoolArray
    corners_m: FloatArray


class DriveView:
    """A drive under no rules but its own doubts.

    Attributes:
        times_s: (T,).
        ids: (A,) of the actors, as in the facts.
        categories: (A,) common words.
        size_m: (A, 3) length, width, height.
        place_m: (A, T, 3) of the boxes' middles.
        yaw_deg: (A, T).
        ego_m: (T, 3); zeros in frame "ego".
        ego_yaw_deg: (T,); zeros in frame "ego".
        ego_moves: whether it is known how our car moved.
        shown: to whoever is asked about it: its film, or else the film that is drawn of it.
        doubts: by id of an actor, or `EGO`: the first finding that casts doubt on all of it. Its rows are NaN.
    """

    def __init__(self, scene: DriveScene) -> None:
        self.scene = scene
        self.facts: Drive = scene.facts
        self.times_s = times_s = self.facts.times_s
        actors = self.facts.actors
        self._filmed: dict[int, tuple[FloatArray, FloatArray]] = {}
        self.ids: StrArray = np.array([actor.id for actor in actors], dtype=object)
        self.categories: StrArray = np.array([actor.category for actor in actors], dtype=object)
        unknown = (np.nan, np.nan, np.nan)
        sizes = [actor.box.size_m if actor.box else unknown for actor in actors]
        self.size_m = np.array(sizes, dtype=np.float64).reshape(-1, 3)
        serious = [f for f in scene.findings if f.severity == "doubt"]
        self.doubts: dict[str, Finding] = {f.subject: f for f in reversed(serious) if f.stretches is None}
        self.place_m = np.full((len(actors), len(times_s), 3), np.nan)
        self.yaw_deg = np.full((len(actors), len(times_s)), np.nan)
        for row, actor in enumerate(actors):
            if actor.id not in self.doubts:
                self.place_m[row], self.yaw_deg[row] = _laid_out(actor.track, actor.box, len(times_s))
        ego = self.facts.ego
        self.ego_moves = ego is not None and EGO not in self.doubts
        self.ego_m = np.zeros((len(times_s), 3))
        self.ego_yaw_deg = np.zeros(len(times_s))
        if self.facts.frame == "world":
            self.ego_m[:], self.ego_yaw_deg[:] = np.nan, np.nan
        if ego is not None and self.ego_moves:
            self.ego_m, self.ego_yaw_deg = _laid_out(ego.track, None, len(times_s))
        filmed = replace(FILMED, complete=frozenset(self.facts.complete))
        self.shown: ShownScene = filmed if scene.video is not None else DRAWN
        self._rows = rows = {name: row for row, name in enumerate(self.ids.tolist())}
        for finding in serious:
            for start_s, end_s in finding.stretches or ():
                within = (times_s >= start_s) & (times_s <= end_s)
                if finding.subject == EGO:
                    self.ego_m[within], self.ego_yaw_deg[within] = np.nan, np.nan
                elif finding.subject in rows:
                    self.place_m[rows[finding.subject], within] = np.nan

    # Who and when

    @cached_property
    def unsure(self) -> BoolArray:
        """(A, T): whom the log has then, but in doubt: nobody knows where it was, or that it was not there."""
        found = np.zeros(self.present.shape, dtype=bool)
        for row, actor in enumerate(self.facts.actors):
            rows = slice(actor.track.first, actor.track.stop)
            found[row, rows] = np.isfinite(actor.track.place_m.array[:, 0]) | (actor.id in self.doubts)
        return np.asarray(found & ~self.present)

    def row(self, name: str) -> int:
        """The row of an actor. Raises KeyError."""
        return self._rows[name]

    @cached_property
    def present(self) -> BoolArray:
        """(A, T): whose place is known when."""
        return ~np.isnan(self.place_m[..., 0])

    def index(self, time_s: float) -> int:
        """The time nearest to one."""
        return int(np.abs(self.times_s - time_s).argmin())

    @property
    def drawable(self) -> bool:
        """Whether a film can be drawn of it: whether it is known at any time where our car was."""
        return bool(np.isfinite(self.ego_m[:, :2]).all(1).any())

    # About our car

    @property
    def own_point(self) -> str | None:
        """What stands for our car in distances, where its size is not known; None: its nearest surface."""
        ego = self.facts.ego
        if ego is not None and ego.box is not None:
            return None
        point = ego.point if ego is not None else self.facts.ego_point
        return f"{point} of the ego vehicle" if point else "the origin of the log's frame"

    def pictured(self, actor: int, index: int) -> float | None:
        """Whether what is shown has the middle of an actor at a time in its picture, 1 or 0; None: nobody knows."""
        ahead, left = self.relative_m[actor, index][:2].tolist()
        if self.scene.video is None:
            return float(-MAP_M[1] <= ahead <= MAP_M[0] and abs(left) <= MAP_M[2])
        shot = self.camera
        if shot is None or shot.place_m is None or shot.ego_from_camera is None:
            return None
        up = float(self.place_m[actor, index, 2] - self.ego_m[index, 2])
        x, y, z = (np.array([ahead, left, up]) - np.array(shot.place_m)) @ np.array(shot.ego_from_camera)
        if not z > 0:
            return 0.0
        (fx, fy), (cx, cy) = shot.focal_px, shot.centre_px
        return float(0 <= x / z * fx + cx <= shot.width and 0 <= y / z * fy + cy <= shot.height)

    def in_film(self, index: int) -> tuple[FloatArray, FloatArray]:
        """How large actors (A,) are in the picture of the film at a time, and how much of each is hidden there.

        The side of a square as large as the upright rectangle around the box in the picture, pixels; and the share of
        its width where a nearer box stands before its middle. NaN: no camera is known, it is not ahead, or has no box.
        In the film from above: no size, and the share of its mark that marks over it cover.
        """
        if index not in self._filmed:
            self._filmed[index] = self._in_film(index)
        return self._filmed[index]

    def _in_film(self, index: int) -> tuple[FloatArray, FloatArray]:
        size = np.full(len(self.ids), np.nan)
        if self.scene.video is None:
            return size, self._covered(index)
        hidden = size.copy()
        shot = self.camera
        if shot is None or shot.place_m is None or shot.ego_from_camera is None:
            return size, hidden
        corners = turned_about_z(_CORNERS * self.size_m[:, None], self.yaw_deg[:, index, None])
        offset = self.place_m[:, index, None] + corners - self.ego_m[index]
        about_us = turned_about_z(offset, -self.ego_yaw_deg[index, None])
        local = (about_us - np.array(shot.place_m)) @ np.array(shot.ego_from_camera)
        known = np.flatnonzero((local[..., 2] > BEFORE_CAMERA_M).all(1))  # never where one is NaN
        xy = local[known, :, :2] / local[known, :, 2:]
        low, high, depth_m = xy.min(1), xy.max(1), local[known, :, 2]
        size[known] = np.sqrt(((high - low) * np.array(shot.focal_px)).prod(1))
        at = low[:, :1] + (high - low)[:, :1] * _ACROSS  # (n, k) columns of each, left to right
        middle = (low + high)[:, 1] / 2
        nearer = depth_m.mean(1)[None, :] < depth_m.min(1)[:, None]
        before = nearer & (low[None, :, 1] <= middle[:, None]) & (high[None, :, 1] >= middle[:, None])
        covers = (low[None, :, :1] <= at[:, None, :]) & (at[:, None, :] <= high[None, :, :1]) & before[:, :, None]
        hidden[known] = covers.any(1).mean(1)
        return size, hidden

    def drawn_marks(self, index: int) -> DrawnMarks:
        """How the film from above draws all whose place is known at a time: the largest first, so that none is lost."""
        about_us = turned_about_z(self.footprints(index).corners() - self.ego_m[index, :2], -self.ego_yaw_deg[index])
        with np.errstate(invalid="ignore"):
            is_dot = ~(np.ptp(about_us, axis=1).max(1) >= DOT_M)  # NaN: without a box
        area = np.where(is_dot, np.pi * DOT_M**2 / 4, self.size_m[:, 0] * self.size_m[:, 1]).round(3)
        here = np.flatnonzero(np.isfinite(self.relative_m[:, index, 0]))
        return DrawnMarks(here[np.argsort(-area[here], kind="stable")], is_dot, about_us)

    def _covered(self, index: int) -> FloatArray:
        """(A,): how much of the mark of each actor later ones cover in the film from above."""
        share = np.full(len(self.ids), np.nan)
        order, is_dot, corners = self.drawn_marks(index)
        if not len(order):
            return share
        marks = shapely.buffer(shapely.points(self.relative_m[order, index, :2]), DOT_M / 2)
        boxes = np.flatnonzero(~is_dot[order])
        marks[boxes] = shapely.polygons(corners[order[boxes]])
        pairs = shapely.STRtree(marks).query(marks, predicate="intersects")
        below, above = pairs[:, pairs[1] > pairs[0]]
        share[order] = 0.0
        for row in np.unique(below).tolist():
            over = shapely.union_all(marks[above[below == row]])
            share[order[row]] = shapely.area(shapely.intersection(marks[row], over)) / shapely.area(marks[row])
        return share

    @cached_property
    def camera(self) -> DriveCamera | None:
        """The camera of the film; None: there is none, or its calibration is in doubt."""
        path = self.scene.video.path if self.scene.video is not None else ""
        named = (one for one in self.facts.cameras if one.name in path or one.name == self.facts.labelled_in)
        return next((one for one in named if one.name not in self.doubts), None)

    @cached_property
    def relative_m(self) -> FloatArray:
        """(A, T, 3): ahead, left and above of our point, along our axes."""
        return turned_about_z(self.place_m - self.ego_m, -self.ego_yaw_deg)

    @cached_property
    def distance_m(self) -> FloatArray:
        """(A, T): over ground, from our point to the middles."""
        return np.asarray(np.hypot(self.relative_m[..., 0], self.relative_m[..., 1]))

    @cached_property
    def bearing_deg(self) -> FloatArray:
        """(A, T): of the middles from our heading, in [-180, 180), to the left positive."""
        return wrapped_deg(np.degrees(np.arctan2(self.relative_m[..., 1], self.relative_m[..., 0])))

    @cached_property
    def heading_deg(self) -> FloatArray:
        """(A, T): of the actors against ours, in [-180, 180), to the left positive."""
        return wrapped_deg(self.yaw_deg - self.ego_yaw_deg)

    def gap_m(self, index: int) -> FloatArray:
        """(A,): over ground, between the nearest surfaces of our car and of the actors, at one time.

        NaN also where one of both has no box.
        """
        ego = self.facts.ego
        if ego is None or ego.box is None:
            return np.full(len(self.ids), np.nan)
        middle = self.ego_m[index, :2] + turned_about_z(np.array(ego.box.middle_m[:2]), self.ego_yaw_deg[index])
        half = np.array(ego.box.size_m[:2]) / 2
        return gap_m(Rectangles(middle, half, self.ego_yaw_deg[index]), self.footprints(index))

    def footprints(self, index: int) -> Rectangles:
        """Of the actors (A,) at one time."""
        return Rectangles(self.place_m[:, index, :2], self.size_m[:, :2] / 2, self.yaw_deg[:, index])

    # Movement

    @cached_property
    def velocity_mps(self) -> FloatArray:
        """(A, T, 3), drive's frame: as recorded, or else from places; NaN where our own movement is not known."""
        if not self.ego_moves and self.facts.frame == "ego":
            return np.full_like(self.place_m, np.nan)
        velocity = rate(self.times_s, self.place_m, SPEED_WINDOW_S)
        for row, actor in enumerate(self.facts.actors):
            if actor.track.velocity_mps is not None:
                velocity[row] = np.nan
                velocity[row, actor.track.first : actor.track.stop] = actor.track.velocity_mps.array
        velocity[~self.present] = np.nan
        return velocity

    @cached_property
    def speed_mps(self) -> FloatArray:
        """(A, T): over ground."""
        return np.asarray(np.hypot(self.velocity_mps[..., 0], self.velocity_mps[..., 1]))

    @cached_property
    def ego_velocity_mps(self) -> FloatArray:
        """(T, 3): as recorded, or else from places."""
        ego = self.facts.ego
        if ego is None or not self.ego_moves:
            return np.full_like(self.ego_m, np.nan)
        velocity = rate(self.times_s, self.ego_m, SPEED_WINDOW_S)
        if ego.track.velocity_mps is not None:
            velocity = np.full_like(velocity, np.nan)
            velocity[ego.track.first : ego.track.stop] = ego.track.velocity_mps.array
        velocity[np.isnan(self.ego_m[:, 0])] = np.nan
        return velocity

    @cached_property
    def ego_speed_mps(self) -> FloatArray:
        """(T,): over ground."""
        return np.asarray(np.hypot(self.ego_velocity_mps[:, 0], self.ego_velocity_mps[:, 1]))

    @cached_property
    def ego_acceleration_mps2(self) -> FloatArray:
        """(T,): change of our speed over ground."""
        return rate(self.times_s, self.ego_speed_mps[:, None], SPEED_WINDOW_S)[:, 0]

    @cached_property
    def ego_turn_dps(self) -> FloatArray:
        """(T,): degrees per second, to the left positive; NaN where our movement is not known."""
        turn = turn_rate_dps(self.times_s, self.ego_yaw_deg, SPEED_WINDOW_S)
        return turn if self.ego_moves else np.full_like(turn, np.nan)

    # Lanes

    @cached_property
    def lane_polygons(self) -> list[shapely.Polygon]:
        """Of the lanes, in their order, on the ground."""
        flat = [[*lane.left, *lane.right[::-1]] for lane in self.facts.lanes]
        return [shapely.Polygon([(x, y) for x, y, _ in outline]) for outline in flat]

    def lanes_at(self, points: FloatArray) -> list[list[int]]:
        """The lanes, by index, that hold each of some points (N, 2); several within a junction."""
        found: list[list[int]] = [[] for _ in points]
        known = np.flatnonzero(~np.isnan(points).any(1))
        at, lanes = self._lane_tree.query(shapely.points(points[known]), predicate="intersects")
        for point, lane in sorted(zip(known[at].tolist(), lanes.tolist(), strict=True)):
            found[point].append(lane)
        return found

    @cached_property
    def _lane_tree(self) -> shapely.STRtree:
        return shapely.STRtree(self.lane_polygons)

    # What changes in steps

    def lit_at(self, name: str, index: int) -> tuple[str, ...] | None:
        """The lamps that an actor, or `EGO`, has lit at a time; None: not recorded."""
        owner = self.facts.ego if name == EGO else self.facts.actors[self.row(name)]
        if owner is None or owner.lamps is None:
            return None
        states = [lamps.lit for lamps in owner.lamps if lamps.index <= index]
        return states[-1] if states else None


def _laid_out(track: ActorTrack, box: VehicleBox | None, count: int) -> tuple[FloatArray, FloatArray]:
    """A track over all times: middles (T, 3), yaw (T,)."""
    place, yaw = np.full((count, 3), np.nan), np.full(count, np.nan)
    rows = slice(track.first, track.stop)
    yaw[rows] = track.yaw_deg.array[:, 0]
    place[rows] = track.place_m.array
    if box is not None:
        x, y, z = box.middle_m
        place[rows, 2] += z
        if x or y:  # else the heading does not matter, which may not be known
            place[rows, :2] += turned_about_z(np.array([x, y]), yaw[rows])
    return place, yaw
