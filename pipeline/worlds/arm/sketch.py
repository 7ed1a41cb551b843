"""An episode from above: the foot of the arm, the way of its gripper, and the things around it."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.sketch import Point, Sketch, Thing
from pipeline.geometry.turns import matrices, rotated
from pipeline.worlds.arm.facts import EpisodeScene, Item

PATH_POINTS: Final = 400  # of a long episode, evenly spaced: more would not be seen
_DIGITS: Final = 4


def sketch(scene: EpisodeScene) -> Sketch:
    """The episode as a map, in the world's frame; things stand where they were first."""
    facts = scene.facts
    things = [thing for item in facts.items if (thing := _thing(item)) is not None]
    if facts.arm is not None and facts.arm.base_m is not None:
        things.append(Thing(label="", outline=(_point(np.array(facts.arm.base_m)),)))
    if facts.gripper is None or facts.gripper.place_m is None:
        return Sketch(things=tuple(things))
    path = np.column_stack([facts.times_s, facts.gripper.place_m.array[:, :2]])
    path = path[~np.isnan(path).any(1)]
    step = max(1, -(-len(path) // PATH_POINTS))
    points = [*path[:-1:step].round(_DIGITS).tolist(), *path[-1:].round(_DIGITS).tolist()]
    return Sketch(things=tuple(things), path=tuple((t, x, y) for t, x, y in points))


def _thing(item: Item) -> Thing | None:
    """Its footprint where size and turn are known, else a point; None where its place is not."""
    if item.place_m is None:
        return None
    place = item.place_m.array
    known = np.flatnonzero(~np.isnan(place).any(1))
    if not len(known):
        return None
    at = known[0]
    turn = None if item.turn_wxyz is None else item.turn_wxyz.array[at]
    if item.size_m is None or turn is None or np.isnan(turn).any():
        return Thing(label=item.category, outline=(_point(place[at]),))
    half = np.array(item.size_m) / 2
    corners = np.array([(1, 1, 0), (-1, 1, 0), (-1, -1, 0), (1, -1, 0)]) * half
    outline = place[at] + rotated(np.broadcast_to(matrices(turn), (4, 3, 3)), corners)
    return Thing(label=item.category, outline=tuple(_point(corner) for corner in outline))


def _point(place: FloatArray) -> Point:
    x, y = place[:2].round(_DIGITS).tolist()
    return x, y
