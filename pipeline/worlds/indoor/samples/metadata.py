"""Procedural rooms as unified metadata: rectangular rooms with furniture along the walls, known by construction."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.files import write_atomically
from pipeline.core.identity import rng_for

# Category -> sides in metres: along the wall, away from it, up; and the height of the lower face above the floor.
FURNITURE: Final[dict[str, tuple[float, float, float, float]]] = {
    "bed": (2.05, 1.6, 0.55, 0.0),
    "bookshelf": (0.9, 0.32, 1.9, 0.0),
    "chair": (0.5, 0.52, 0.9, 0.0),
    "door": (0.9, 0.08, 2.05, 0.0),
    "lamp": (0.3, 0.3, 1.5, 0.0),
    "microwave": (0.5, 0.4, 0.3, 0.9),
    "monitor": (0.62, 0.2, 0.45, 0.75),
    "nightstand": (0.45, 0.4, 0.55, 0.0),
    "plant": (0.35, 0.35, 0.8, 0.0),
    "refrigerator": (0.7, 0.68, 1.75, 0.0),
    "sofa": (2.1, 0.95, 0.85, 0.0),
    "stove": (0.6, 0.6, 0.9, 0.0),
    "table": (1.4, 0.8, 0.75, 0.0),
    "trash bin": (0.3, 0.3, 0.4, 0.0),
    "tv": (1.2, 0.12, 0.7, 0.6),
    "whiteboard": (1.5, 0.06, 1.0, 0.9),
}
GAP_M: Final = 0.25  # between neighbours on a wall


@dataclass(frozen=True)
class Plan:
    """One room: sides in metres, rotation of the whole scan in degrees, and what stands in it."""

    name: str
    width: float
    depth: float
    turn_deg: float
    furniture: tuple[str, ...]


PLANS: Final = (
    Plan("bedroom", 4.6, 3.8, 0.0, ("bed", "nightstand", "nightstand", "lamp", "door", "bookshelf", "chair", "tv")),
    Plan(
        "kitchen", 4.2, 3.4, 20.0, ("refrigerator", "stove", "microwave", "table", *["chair"] * 3, "door", "trash bin")
    ),
    Plan(
        "lounge",
        6.4,
        5.2,
        65.0,
        ("sofa", "tv", "plant", "plant", "lamp", "bookshelf", "table", "door", "chair", "chair"),
    ),
    Plan(
        "office",
        5.4,
        4.6,
        -35.0,
        ("table", "table", *["chair"] * 4, *["monitor"] * 3, "whiteboard", "door", "trash bin"),
    ),
    Plan(
        "studio",
        8.2,
        6.2,
        10.0,
        ("bed", "sofa", "tv", "stove", "refrigerator", "table", *["chair"] * 4, "door", "lamp", "plant"),
    ),
)


def write_sample_metadata(folder: Path) -> None:
    """Writes ``samples_meta_info.json`` with one scene per plan; the same bytes every time."""
    scenes = {plan.name: sample_scene(plan) for plan in PLANS}
    write_atomically(folder / "samples_meta_info.json", json.dumps(scenes, indent=1).encode())


def sample_scene(plan: Plan) -> dict[str, Any]:
    """One room in the released layout: objects go round the walls, none overlapping, in an order of its own."""
    order = rng_for("sample", plan.name).permutation(len(plan.furniture))
    boxes: dict[str, list[dict[str, Any]]] = {}
    walls = _walls(plan)
    wall, along = 0, GAP_M
    for name in (plan.furniture[i] for i in order):
        length, away, height, lift = FURNITURE[name]
        while wall < len(walls) and along + length + GAP_M > walls[wall][3]:
            wall, along = wall + 1, _corner_clearance(boxes)
        if wall == len(walls):
            raise ValueError(f"{plan.name} is too small for its furniture")
        start, direction, inward, _ = walls[wall]
        center = start + direction * (along + length / 2) + inward * (away / 2 + 0.02)
        boxes.setdefault(name, []).append(
            _box(plan, center, lift + height / 2, (length, away, height), direction, inward)
        )
        along += length + GAP_M
    return {
        "dataset": "samples",
        "video_path": f"{plan.name}.mp4",
        "room_size": plan.width * plan.depth,
        "room_center": [0.0, 0.0, 1.3],
        "object_counts": {name: len(members) for name, members in sorted(boxes.items())},
        "object_bbox": dict(sorted(boxes.items())),
    }


def _walls(plan: Plan) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    """Start corner, direction, inward normal and length of the four walls, counter-clockwise."""
    w, d = plan.width / 2, plan.depth / 2
    corners = [np.array(c) for c in ((-w, -d), (w, -d), (w, d), (-w, d))]
    walls = []
    for here, there in zip(corners, [*corners[1:], corners[0]], strict=True):
        length = float(np.linalg.norm(there - here))
        direction = (there - here) / length
        walls.append((here, direction, np.array([-direction[1], direction[0]]), length))
    return walls


def _corner_clearance(boxes: dict[str, list[dict[str, Any]]]) -> float:
    """Room left free at a corner, so that furniture on two walls does not overlap: the deepest piece so far."""
    return max((FURNITURE[name][1] for name in boxes), default=0.0) + GAP_M


def _box(
    plan: Plan, center: np.ndarray, z: float, lengths: tuple[float, float, float], along: np.ndarray, inward: np.ndarray
) -> dict[str, Any]:
    turn = math.radians(plan.turn_deg)
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    x, y = rotation @ along, rotation @ inward
    middle = np.array([*(rotation @ center), z])
    axes = np.array([[*x, 0.0], [*y, 0.0], [0.0, 0.0, 1.0]])
    reach = np.abs(axes.T) @ (np.array(lengths) / 2)
    return {
        "centroid": middle.round(6).tolist(),
        "axesLengths": list(lengths),
        "normalizedAxes": axes.ravel().tolist(),
        "min": (middle - reach).round(6).tolist(),
        "max": (middle + reach).round(6).tolist(),
    }
