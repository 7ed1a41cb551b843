"""A scan in space: its boxes, its mesh and the way of the camera."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pipeline.core.spatial import Boxes, Spatial, flat
from pipeline.geometry.scans import SceneGeometry
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.sketch import sketch


def spatial(scene: IndoorScene, geometry: SceneGeometry | None) -> Spatial:
    """The scan; without its raw data there is no mesh, and the camera's way lies on the ground."""
    things = scene.facts.objects
    boxes = Boxes(
        tuple(item.category for item in things),
        np.array([item.box.center for item in things], dtype=np.float64).reshape(-1, 3),
        np.array([item.box.lengths for item in things], dtype=np.float64).reshape(-1, 3),
        np.array([item.box.axes for item in things], dtype=np.float64).reshape(-1, 3, 3),
    )
    below = flat(sketch(scene))
    floor = below.lines[: len(scene.facts.room.floor or ())]
    if geometry is None:
        return replace(below, boxes=boxes, lines=floor)
    frames = geometry.frames
    path = np.column_stack([frames.time_s, frames.world_T_camera[:, :3, 3]])
    return Spatial(boxes, floor, path, geometry.vertices, geometry.faces.astype(np.intp))
