"""An agent with perfect perception that follows a task's chain: its way proves that the task can be solved.

It goes the shortest way to the side of each landmark where the text says to go on (CityEQA's Navigator), from the last
one to where the answer is seen, in moves of 10 m, and turns in steps of 30 degrees. From the last landmark on it looks
in four directions at every stop (the Explorer); the first stop at which the target is seen is where it was found.

The `Observer` finds the pose that it goes to: a free one near the target that shows whole all that an answer rests on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.extra_starts import TURN_DEG, Start, StartChain
from pipeline.benchmarks.cityeqa.raw import RawQuestion
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import ACROSS, BEHIND, DIRECTIONS, RELATIONS
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.questions.rules import Measure, rule
from pipeline.reading.maps.city_thing import FACING, SIZES
from pipeline.worlds.city.paths import CELL_M, Slab
from pipeline.worlds.city.visibility import WIDTH

AROUND: Final = 12  # directions from which a thing is looked at
FRONT_DEG: Final = (0.0, -20.0, 20.0, -40.0, 40.0)  # from straight before what faces somewhere
_SEARCH: Final = 16  # pixels between the rays of the search
_TRIED: Final = 3  # poses that are looked through exactly, the best of the search
_YAW_DEG: Final = 5.0  # poses have yaws in such steps
EDGE_ON_DEG: Final = 60.0  # from a sign's facing to the camera: seen more from the side, its words cannot be read
_FRONTAL_M: Final = 30.0  # how far a long thing is stepped back from at most


@dataclass(frozen=True)
class ObservedTarget:
    """The pose that shows the things an answer rests on.

    Attributes:
        pose: (6,); None: none shows enough.
        rules: what was measured: the least pixels of any of the things, and how many the border cuts.
    """

    pose: FloatArray | None
    rules: tuple[Measure, ...]


class Observer:
    """Finds poses, for each set of things once."""

    def __init__(self, view: CityView) -> None:
        self.view = view
        self._poses_found: dict[tuple[tuple[int, ...], int, float], ObservedTarget] = {}

    def of_raw(self, raw: RawQuestion) -> ObservedTarget:
        """A pose for a raw task: that of the people who wrote it, or one that is looked for."""
        if raw.pose is None:
            return self.observe(raw.shown, raw.pixels_min, raw.z_min_m)
        pose, things = np.array([raw.pose], dtype=np.float64), np.array(raw.shown, dtype=np.intp)
        exact = self.view.sight.shown(np.repeat(pose, len(things), axis=0), things)
        rules = (
            rule("pose_not_free", float(self.view.free.free(pose[:, :3])[0]), ">=", 1, "free poses"),
            rule("not_visible", float(exact.pixels.min()), ">=", raw.pixels_min, "pixels"),
        )
        return ObservedTarget(pose[0] if all(r.holds for r in rules) else None, rules)

    def observe(self, shown: tuple[int, ...], pixels_min: int, z_min_m: float) -> ObservedTarget:
        """A pose that shows all of some things; the first of them is the one it stands before."""
        key = (shown, pixels_min, z_min_m)
        if key not in self._poses_found:
            self._poses_found[key] = self._observe(*key)
        return self._poses_found[key]

    def _observe(self, shown: tuple[int, ...], pixels_min: int, z_min_m: float) -> ObservedTarget:
        view = self.view
        poses = self._poses(shown)
        poses = poses[poses[:, 2] >= z_min_m]
        poses = poses[view.free.free(poses[:, :3])] if len(poses) else poses
        if not len(poses):
            return ObservedTarget(None, (rule("no_free_pose", 0, ">=", 1, "poses"),))
        things = np.array(shown, dtype=np.intp)
        seen = view.sight.seen(poses, things, step=_SEARCH)
        least, cut = seen.pixels.min(1), seen.touches_border.any(1)
        signs = [i for i in shown if pixels_min >= view.rules.read_pixels_min and view.read(i) is not None]
        legible = self._legible(poses, signs)
        unread = np.array([not all(r.holds for r in own) for own in legible], dtype=bool)
        order = np.lexsort((np.arange(len(poses)), -least, unread, cut))[:_TRIED].tolist()
        exact = [view.sight.shown(np.repeat(poses[i : i + 1], len(things), axis=0), things) for i in order]
        found = [(int(e.touches_border.sum()), bool(unread[i]), -float(e.pixels.min()), i)
                 for e, i in zip(exact, order, strict=True)]  # fmt: skip
        cuts, _, pixels, best = min(found)
        rules = (
            rule("not_visible", -pixels, ">=", pixels_min, "pixels"),
            rule("cut_by_the_border", cuts, "<=", 0, "things"),
            *legible[best],
        )
        return ObservedTarget(poses[best] if all(r.holds for r in rules) else None, rules)

    def _legible(self, poses: FloatArray, signs: Sequence[int]) -> list[tuple[Measure, ...]]:
        """Per pose (n, 6) whether the words of some things can be read: the view's angle, and the width of a letter."""
        view = self.view
        if not signs:
            return [()] * len(poses)
        own = [view.things[i] for i in signs]
        middle = [[*t.center, (SIZES[t.kind].base_m if t.base_m is None else t.base_m) + (t.height_m or
                   SIZES[t.kind].height_m) / 2] for t in own]  # fmt: skip
        off = poses[:, None, :3] - np.array(middle)
        away = np.linalg.norm(off, axis=2)
        front = np.radians([np.nan if t.facing_deg is None else t.facing_deg for t in own])
        ahead = off[..., 0] * np.sin(front) + off[..., 1] * np.cos(front)
        aside_deg = np.degrees(np.arccos(np.clip(ahead / away, -1, 1)))
        narrowed = np.where(np.isnan(front), 1.0, np.maximum(ahead, 0.0) / np.hypot(off[..., 0], off[..., 1]))
        letter_m = np.array([SIZES[t.kind].width_m / max(len(t.text or ""), len(t.type_shown or "")) for t in own])
        pixels = letter_m * narrowed / away * WIDTH / 2
        return [
            (
                rule("seen_edge_on", float(np.nanmax(turn, initial=0.0)), "<=", EDGE_ON_DEG, "deg"),
                rule("letters_too_small", float(letter.min()), ">=", view.rules.letter_pixels_min, "pixels"),
            )
            for turn, letter in zip(aside_deg, pixels, strict=True)
        ]

    def _poses(self, shown: tuple[int, ...]) -> FloatArray:
        """Poses (n, 6) about the first thing that look at the middle of all of them."""
        view = self.view
        first = view.things[shown[0]]
        middle = view.centers[list(shown)].mean(0)
        spread = float(np.hypot(*(view.centers[list(shown)] - middle).T).max()) if len(shown) > 1 else 0.0
        if first.kind in FACING and first.facing_deg is not None:
            bearings = [first.facing_deg + turn for turn in FRONT_DEG]
            about, body = np.array(first.center), 0.0
        else:
            bearings = [k * 360.0 / AROUND for k in range(AROUND)]
            about = middle if len(shown) > 1 else np.array(first.center)
            body = min(max(view.things[i].radius_m for i in shown), _FRONTAL_M)
        poses = []
        for z in view.city.slabs_m:
            for away in view.rules.look_m:
                for bearing in bearings:
                    toward = np.array([np.sin(np.radians(bearing)), np.cos(np.radians(bearing))])
                    at = about + (body + spread + away) * toward
                    look = middle - at
                    yaw = np.round(np.degrees(np.arctan2(look[0], look[1])) / _YAW_DEG) * _YAW_DEG % 360
                    x, y = np.round(at, 1)
                    poses.append([x, y, z, 0.0, 0.0, yaw])
        return np.array(poses, dtype=np.float64).reshape(-1, 6) + 0.0


MOVE_M: Final = 10.0  # of a step (CityEQA, appendix A.3)
BESIDE_M: Final = 12.0  # from a landmark's footprint: so near it is gone to
_TOWARDS: Final = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]])  # north, east, south, west


@dataclass(frozen=True)
class SolvedPath:
    """The path of an agent that solved a task.

    Attributes:
        stops: (k, 3) where it stood, from the start to where the answer is seen.
        steps: moves and turns together.
        length_m: of its way.
        found_after: moves and turns until the target was seen.
    """

    stops: FloatArray
    steps: int
    length_m: float
    found_after: int


def steps_rules(rules: CityRules, solved: SolvedPath | None) -> tuple[Measure, ...]:
    """Whether an agent that does as the oracle has steps enough; nothing where there is no way."""
    if solved is None:
        return ()
    return (
        rule("too_few_steps", solved.steps, ">=", rules.steps_min, "steps"),
        rule("too_many_steps", solved.steps, "<=", rules.steps_max, "steps"),
    )


class Oracle:
    """Solves the tasks of a city. Places beside landmarks are looked up once."""

    def __init__(self, view: CityView) -> None:
        self.view = view
        self._beside: dict[tuple[int, int, float], FloatArray | None] = {}
        self._pixels: dict[tuple[float, float, float, int], int] = {}

    def solve(self, start: Start, chain: StartChain, pose: FloatArray, pixels_min: int) -> SolvedPath | None:
        """The agent's path from a start with its yaw set; None where a landmark or the target cannot be reached.

        Args:
            start: where it begins.
            chain: what it follows.
            pose: where the answer is seen.
            pixels_min: of the target, for it to be found.
        """
        view, z = self.view, float(pose[2])
        via = []
        for landmark, leg in zip(chain.landmarks, chain.way.legs[1:], strict=False):
            place = self.place_beside(landmark, leg.direction, z)
            if place is None:
                return None
            via.append(place)
        # Each leg is looked up from the end that other tasks share.
        points = [start.pose[:3], *via, pose[:3]]
        legs, lengths = [], []
        for a, b in pairwise(points):
            way = view.ways(z).path(b, a)
            if way is None:
                return None
            lengths.append(float(np.hypot(*np.diff(way[:, :2], axis=0).T).sum()))
            legs.append(np.concatenate([a[None], way[::-1][1:]]))  # from where it stands, not the middle of the cell
        stops = [start.pose[:3]]
        last = 0
        for number, way in enumerate(legs):
            if number == len(legs) - 1:
                last = len(stops) - 1
            stops += list(_stops_along(view.free.slab(z), way))
        stood = np.array(stops)
        after = _steps(stood, float(start.pose[5]), float(pose[5]))
        found = self._first_sighting(stood[last:-1], chain.landmarks[-1], pixels_min)
        seen = int(after[-1]) if found is None else int(after[last + found])
        return SolvedPath(stood, int(after[-1]), sum(lengths), seen)

    def place_beside(self, landmark: int, direction: int, z: float) -> FloatArray | None:
        """The free place (3,) nearest to the middle of where a landmark's relation leads; None: there is none."""
        key = (landmark, direction, z)
        if key not in self._beside:
            self._beside[key] = self._look_up(landmark, direction, z)
        return self._beside[key]

    def _look_up(self, landmark: int, direction: int, z: float) -> FloatArray | None:
        view = self.view
        toward, beyond_m = self._direction_from(landmark, direction)
        if toward is None:
            return None
        west, south, east, north = view.query.shapes[landmark].bounds
        middle = np.array([(west + east) / 2, (south + north) / 2])
        corners = shapely.get_coordinates(view.query.shapes[landmark])
        edge = middle + (float(((corners - middle) @ toward).max()) + beyond_m) * toward
        slab = view.free.slab(z)
        reach = np.arange(-BESIDE_M, BESIDE_M + CELL_M, CELL_M)
        out, across = np.meshgrid(np.arange(CELL_M, 2 * BESIDE_M, CELL_M), reach, indexing="ij")
        side = np.array([toward[1], -toward[0]])
        points = edge + out.reshape(-1, 1) * toward + across.reshape(-1, 1) * side
        points = points[slab.is_free(points)]
        if not len(points):
            return None
        cells = np.unique(slab.cells(points), axis=0)
        middles = slab.middles(cells)
        away = np.hypot(*(middles[:, :2] - edge).T)
        return np.asarray(middles[int(np.lexsort((cells[:, 1], cells[:, 0], away))[0])])

    def _direction_from(self, landmark: int, direction: int) -> tuple[FloatArray | None, float]:
        """Where to go from a landmark (2,), and how far beyond its edge; None: it has no sure front.

        What is across the street is looked for from beyond its middle, what is on the same side from before the house.
        """
        if direction < len(DIRECTIONS):
            return _TOWARDS[direction], 0.0
        relation, fronts = RELATIONS[direction], self.view.query.fronts
        yaw = np.radians(fronts.front_deg[landmark])
        if not np.isfinite(yaw):
            return None, 0.0
        ahead = np.array([np.sin(yaw), np.cos(yaw)])
        beyond = float(fronts.distance_m[landmark]) if relation == ACROSS else 0.0
        return (-ahead if relation == BEHIND else ahead), beyond

    def _first_sighting(self, stops: FloatArray, target: int, pixels_min: int) -> int | None:
        """The first of some stops from which the target is seen."""
        return next((number for number, stop in enumerate(stops) if self._most(stop, target) >= pixels_min), None)

    def _most(self, stop: FloatArray, target: int) -> int:
        """Pixels of the target in that of the four views from a stop that shows most; many ways lead over one stop."""
        x, y, z = stop.tolist()
        key = (x, y, z, target)
        if key not in self._pixels:
            looks = np.zeros((4, 6))
            looks[:, :3], looks[:, 5] = stop, np.arange(4) * 90.0
            shown = self.view.sight.shown(looks, np.full(4, target, dtype=np.intp))
            self._pixels[key] = int(shown.pixels.max())
        return self._pixels[key]


def _stops_along(slab: Slab, way: FloatArray) -> FloatArray:
    """Stops (m, 3) on a way (k, 3) of neighbouring cells: each as far along it as one straight free move leads.

    Without the way's first place, with its last.
    """
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way[:, :2], axis=0).T))])
    at, stops = 0, []
    while at < len(way) - 1:
        after = int(np.searchsorted(along, along[at] + MOVE_M + 1e-6, side="right")) - 1
        while after > at + 1 and not _is_free(slab, way[at], way[after]):
            after -= 1
        stops.append(way[after])
        at = after
    return np.array(stops).reshape(-1, 3)


def _is_free(slab: Slab, one: FloatArray, other: FloatArray) -> bool:
    """Whether all cells under a straight move are free, looked at every decimetre."""
    shares = np.linspace(0.0, 1.0, int(np.hypot(*(other - one)[:2]) / 0.1) + 2)[:, None]
    return bool(slab.is_free(one + shares * (other - one)).all())


def _steps(stops: FloatArray, yaw_deg: float, last_deg: float) -> IntArray:
    """Moves and turns (k,) until each stop is reached; with the last, until the agent looks where the answer is."""
    moves = np.diff(stops[:, :2], axis=0)
    heading = np.concatenate([[yaw_deg], np.degrees(np.arctan2(moves[:, 0], moves[:, 1])), [last_deg]])
    turns = np.round(np.abs((np.diff(heading) + 180) % 360 - 180) / TURN_DEG).astype(np.intp)
    after = np.concatenate([[0], np.cumsum(1 + turns[:-1])])
    after[-1] += turns[-1]
    return after
