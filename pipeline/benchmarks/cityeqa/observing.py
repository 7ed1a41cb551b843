"""From where the answer of a raw task is seen: a free pose near the target that shows whole all that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.benchmarks.cityeqa.raw import Raw
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.core.arrays import FloatArray
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.solids import FACING

AROUND: Final = 12  # directions from which a thing is looked at
FRONT_DEG: Final = (0.0, -20.0, 20.0, -40.0, 40.0)  # from straight before what faces somewhere
_SEARCH: Final = 16  # pixels between the rays of the search
_TRIED: Final = 3  # poses that are looked through exactly, the best of the search
_YAW_DEG: Final = 5.0  # poses have yaws in such steps
_FRONTAL_M: Final = 30.0  # how far a long thing is stepped back from at most


@dataclass(frozen=True)
class Observed:
    """What a pose shows of the things that an answer rests on.

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
        self._found: dict[tuple[tuple[int, ...], int, float], Observed] = {}

    def of_raw(self, raw: Raw) -> Observed:
        """A pose for a raw task: that of the people who wrote it, or one that is looked for."""
        if raw.pose is None:
            return self.observe(raw.shown, raw.pixels_min, raw.z_min_m)
        pose, things = np.array([raw.pose], dtype=np.float64), np.array(raw.shown, dtype=np.intp)
        exact = self.view.sight.shown(np.repeat(pose, len(things), axis=0), things)
        rules = (
            rule("pose_not_free", float(self.view.free.free(pose[:, :3])[0]), ">=", 1, "free poses"),
            rule("not_visible", float(exact.pixels.min()), ">=", raw.pixels_min, "pixels"),
        )
        return Observed(pose[0] if all(r.holds for r in rules) else None, rules)

    def observe(self, shown: tuple[int, ...], pixels_min: int, z_min_m: float) -> Observed:
        """A pose that shows all of some things; the first of them is the one it stands before."""
        key = (shown, pixels_min, z_min_m)
        if key not in self._found:
            self._found[key] = self._observe(*key)
        return self._found[key]

    def _observe(self, shown: tuple[int, ...], pixels_min: int, z_min_m: float) -> Observed:
        view = self.view
        poses = self._poses(shown)
        poses = poses[poses[:, 2] >= z_min_m]
        poses = poses[view.free.free(poses[:, :3])] if len(poses) else poses
        if not len(poses):
            return Observed(None, (rule("no_free_pose", 0, ">=", 1, "poses"),))
        things = np.array(shown, dtype=np.intp)
        seen = view.sight.seen(poses, things, step=_SEARCH)
        least, cut = seen.pixels.min(1), seen.touches_border.any(1)
        order = np.lexsort((np.arange(len(poses)), -least, cut))[:_TRIED]
        exact = [view.sight.shown(np.repeat(poses[i : i + 1], len(things), axis=0), things) for i in order.tolist()]
        found = [
            (float(e.pixels.min()), int(e.touches_border.sum()), poses[i]) for e, i in zip(exact, order, strict=True)
        ]
        best = min(found, key=lambda one: (one[1], -one[0]))
        rules = (
            rule("not_visible", best[0], ">=", pixels_min, "pixels"),
            rule("cut_by_the_border", best[1], "<=", 0, "things"),
        )
        return Observed(best[2] if all(r.holds for r in rules) else None, rules)

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
