"""Agents that know nothing of how tasks are made: one looks everywhere, one goes by the words alone."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import shapely
from scipy import ndimage

from pipeline.worlds.city.facts import City
from pipeline.worlds.city.paths import FreeSpace, Slab
from pipeline.worlds.city.visibility import CitySight
from tests.oracles.city_answers import shape, targets

LOOK_EVERY_M = 10  # as the paper's Explorer
SEEN_PIXELS = 100
AT_ONCE = 32  # places that are looked about from together


class Agent:
    """Stands on the cells that can be reached from a task's start, and looks in four directions.

    Args:
        city: with a map.
    """

    def __init__(self, city: City) -> None:
        self.city, self.free, self.sight = city, FreeSpace(city), CitySight(city)
        self.index = {thing.id: i for i, thing in enumerate(city.things)}

    def everywhere(self, row: dict[str, Any]) -> bool:
        """Whether it sees the target when it goes over all that it can reach, lane by lane."""
        target = self.index[row["group"].partition("/")[2]]
        cells = self._reached(row)
        lanes = cells[(cells % LOOK_EVERY_M == LOOK_EVERY_M // 2).all(1)]
        back = np.where(lanes[:, 0] // LOOK_EVERY_M % 2, -lanes[:, 1], lanes[:, 1])
        return self._sees(self._slab(row).middles(lanes[np.lexsort((back, lanes[:, 0]))]), target)

    def by_words(self, row: dict[str, Any]) -> bool:
        """Whether the text leads it to one thing, which it sees from where it can go about there, the nearest first."""
        found = targets(self.city, row["question"], tuple(row["initial_pose"][:2]))
        if len(found) != 1:
            return False
        cells = self._reached(row)
        places = self._slab(row).middles(cells[(cells % 4 == 0).all(1)])
        away = shapely.distance(shapely.points(places[:, :2]), shape(found[0]))
        near = np.argsort(away, kind="stable")
        return self._sees(places[near[: np.searchsorted(away[near], 60.0)]], self.index[found[0].id])

    def fewest_moves(self, row: dict[str, Any]) -> int:
        """The fewest moves of 10 m from the start to where the answer is seen, breadth first over free cells.

        A move may cut corners here that no agent could: there is no way with fewer.
        """
        slab = self._slab(row)
        start, goal = slab.cells(np.array([row["initial_pose"][:3], row["observation_pose"][:3]]))
        reach = LOOK_EVERY_M + 1  # an agent stands anywhere in its cell
        seen = np.zeros_like(slab.free)
        seen[tuple(start)] = True
        count = 0
        while not seen[tuple(goal)]:
            after = (ndimage.distance_transform_edt(~seen) <= reach) & slab.free
            assert (after != seen).any(), "no way"
            seen, count = after, count + 1
        return count

    def _slab(self, row: dict[str, Any]) -> Slab:
        return self.free.slab(row["initial_pose"][2])

    def _reached(self, row: dict[str, Any]) -> np.ndarray:
        """Cells (n, 2) with a way from the start."""
        slab = self._slab(row)
        areas, _ = ndimage.label(slab.free)
        (start,) = slab.cells(np.array([row["initial_pose"][:3]]))
        return np.argwhere(areas == areas[tuple(start)])

    def _sees(self, places: np.ndarray, target: int) -> bool:
        return any(self._look(part, target) for part in _parts(places))

    def _look(self, places: np.ndarray, target: int) -> bool:
        looks = np.zeros((4 * len(places), 6))
        looks[:, :3], looks[:, 5] = np.repeat(places, 4, axis=0), np.tile(np.arange(4) * 90.0, len(places))
        shown = self.sight.shown(looks, np.full(len(looks), target, dtype=np.intp))
        return bool((shown.pixels >= SEEN_PIXELS).any())


def _parts(places: np.ndarray) -> Iterable[np.ndarray]:
    return (places[i : i + AT_ONCE] for i in range(0, len(places), AT_ONCE))
