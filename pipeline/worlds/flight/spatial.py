"""A flight in space: its landmarks as prisms, and its track."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.core.spatial import Boxes, Spatial, on_ground
from pipeline.worlds.flight.facts import FlightScene, Landmark


def spatial(scene: FlightScene, geometry: Any) -> Spatial:
    """The flight; boxes are those about landmarks, whose own outlines stand at foot and top. Unknown heights are 0."""
    marks = scene.facts.landmarks
    corners = [_corners(mark) for mark in marks]
    low = np.array([points.min(0) for points in corners]).reshape(-1, 3)
    high = np.array([points.max(0) for points in corners]).reshape(-1, 3)
    labels = tuple(mark.label or mark.name or "" for mark in marks)
    boxes = Boxes(labels, (low + high) / 2, high - low, np.tile(np.eye(3), (len(marks), 1, 1)))
    lines = tuple(line for mark, points in zip(marks, corners, strict=True) if mark.outline for line in _rings(points))
    motion = scene.facts.motion
    path = np.column_stack([motion.t_s, motion.enu_m]) if motion and motion.t_s else np.empty((0, 4))
    return Spatial(boxes, lines, path[path[:, 0] >= 0])


def _corners(mark: Landmark) -> Any:
    """Its outline at the foot, then at the top; (2k, 3)."""
    ring = on_ground(np.array(mark.outline or (mark.center,), dtype=np.float64))
    base = mark.base_m or 0.0
    top = base if mark.top_m is None else mark.top_m
    return np.concatenate([ring + np.array([0.0, 0.0, height]) for height in (base, top)])


def _rings(points: Any) -> tuple[Any, ...]:
    half = len(points) // 2
    return tuple(np.concatenate([ring, ring[:1]]) for ring in (points[:half], points[half:]))
