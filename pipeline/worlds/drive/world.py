"""The world of drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from pipeline.core.schema import Model
from pipeline.core.spatial import MappedThing, Point, TopDownMap
from pipeline.worlds.drive.bev_video import drawn
from pipeline.worlds.drive.facts import Drive, DriveScene
from pipeline.worlds.drive.quality_checks import examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from pipeline.worlds.drive.readers.kitti_tracking import KittiTracking
from pipeline.worlds.drive.readers.nuscenes import NuScenes
from pipeline.worlds.world import World

PATH_POINTS: Final = 400  # of a long drive, evenly spaced: more would not be seen
_DIGITS: Final = 2  # centimetres


def top_down_map(scene: DriveScene) -> TopDownMap:
    """The drive as a map, about its own origin; actors stand where they were first seen."""
    facts = scene.facts
    times_s = facts.times_s
    things = []
    for actor in facts.actors:
        place = actor.track.place_m.array
        known = np.flatnonzero(~np.isnan(place).any(1))
        if len(known):
            x, y, _ = place[known[0]].round(_DIGITS).tolist()
            seen_s = float(times_s[actor.track.first + known[0]])
            things.append(MappedThing(label=actor.category, outline=((x, y),), seen_s=seen_s))
    ground = tuple(_flat(outline) for outline in facts.drivable) or tuple(
        _flat((*lane.left, *lane.right[::-1])) for lane in facts.lanes
    )
    if facts.ego is None:
        return TopDownMap(ground=ground, things=tuple(things))
    track = facts.ego.track
    path = np.column_stack([times_s[track.first : track.stop], track.place_m.array[:, :2]])
    path = path[~np.isnan(path).any(1)]
    step = max(1, -(-len(path) // PATH_POINTS))
    points = [*path[:-1:step].round(_DIGITS).tolist(), *path[-1:].round(_DIGITS).tolist()]
    return TopDownMap(ground=ground, things=tuple(things), path=tuple((t, x, y) for t, x, y in points))


def _flat(line: tuple[tuple[float, float, float], ...]) -> tuple[Point, ...]:
    return tuple((round(x, _DIGITS), round(y, _DIGITS)) for x, y, _ in line)


def known_in(scene: DriveScene) -> dict[str, bool]:
    """What `sight` counts, and whether a drive has it."""
    return {"lanes": bool(scene.facts.lanes), "ego": scene.facts.ego is not None}


def sight(drives: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what the pictures show, in lines of Markdown."""
    return [
        f"- Of {drives} drives, {known['lanes']} have a map of lanes, and {known['ego']} record how our car moved. "
        "Other road",
        "  users come from annotated or recorded tracks, not from pictures; sizes that a log lacks are unknown.",
    ]


class DriveConfig(Model):
    """Nothing of a drive is observed ahead: its tracks say where everything was."""


DRIVE: Final = World(
    name="drive",
    units="drives",
    facts=Drive,
    readers=(Argoverse2(), Carla(), KittiTracking(), NuScenes()),
    config=DriveConfig,
    known=known_in,
    visibility=sight,
    examine=examine,
    quick=(Argoverse2.name, Carla.name, KittiTracking.name),
    bulky=("actors", "lanes", "drivable"),
    top_down_map=top_down_map,
    bev_video=drawn,
)
