"""A scan from above: its floor, the footprints of its boxes, and where the camera went.

Also a scan in space: its boxes, its mesh and the way of the camera.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import shapely

from pipeline.core.schema import OrientedBox
from pipeline.core.spatial import MappedThing, Point, Spatial, SpatialBoxes, TopDownMap, flat
from pipeline.geometry.scans import SceneGeometry
from pipeline.worlds.indoor.facts import IndoorScene

_CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
_DIGITS = 3  # millimetres


def top_down_map(scene: IndoorScene) -> TopDownMap:
    """The scan as a map."""
    facts = scene.facts
    things = [
        MappedThing(
            label=item.category,
            outline=_footprint(item.box),
            seen_s=item.visibility.first_seen_s if item.visibility else None,
        )
        for item in facts.objects
    ]
    path = facts.observation.camera_path if facts.observation else ()
    return TopDownMap(ground=facts.room.floor or (), things=tuple(things), path=path)


def _footprint(box: OrientedBox) -> tuple[Point, ...]:
    """The outline of a box from above, counter-clockwise; its middle where it has no area."""
    corners = (np.array(box.center) + _CORNERS * box.lengths @ np.array(box.axes))[:, :2]
    outline = shapely.convex_hull(shapely.MultiPoint(corners.round(_DIGITS)))
    if not isinstance(outline, shapely.Polygon):
        return ((round(box.center[0], _DIGITS), round(box.center[1], _DIGITS)),)
    return tuple(outline.exterior.coords[:0:-1])


def spatial(scene: IndoorScene, geometry: SceneGeometry | None) -> Spatial:
    """The scan; without its raw data there is no mesh, and the camera's way lies on the ground."""
    things = scene.facts.objects
    boxes = SpatialBoxes(
        tuple(item.category for item in things),
        np.array([item.box.center for item in things], dtype=np.float64).reshape(-1, 3),
        np.array([item.box.lengths for item in things], dtype=np.float64).reshape(-1, 3),
        np.array([item.box.axes for item in things], dtype=np.float64).reshape(-1, 3, 3),
    )
    below = flat(top_down_map(scene))
    floor = below.lines[: len(scene.facts.room.floor or ())]
    if geometry is None:
        return replace(below, boxes=boxes, lines=floor)
    frames = geometry.frames
    path = np.column_stack([frames.time_s, frames.world_T_camera[:, :3, 3]])
    return Spatial(boxes, floor, path, geometry.vertices, geometry.faces.astype(np.intp))
