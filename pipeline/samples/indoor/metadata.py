"""Procedural rooms as unified metadata: rectangular rooms with furniture along the walls, known by construction."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import TypeAdapter

from pipeline.core.files import write_atomically
from pipeline.core.identity import rng_for
from pipeline.core.templates import load_table

_PLAN: Final = load_table("samples/indoor_metadata")
# Category -> sides in metres: along the wall, away from it, up; and the height of the lower face above the floor.
FURNITURE: Final = TypeAdapter(dict[str, tuple[float, float, float, float]]).validate_python(_PLAN["furniture"])
GAP_M: Final = 0.25  # between neighbours on a wall


@dataclass(frozen=True)
class BoxRoom:
    """One room: sides in metres, rotation of the whole scan in degrees, and what stands in it."""

    name: str
    width: float
    depth: float
    turn_deg: float
    furniture: tuple[str, ...]


PLANS: Final = TypeAdapter(tuple[BoxRoom, ...]).validate_python(_PLAN["rooms"])


def write_sample_metadata(folder: Path) -> None:
    """Writes ``samples_meta_info.json`` with one scene per plan; the same bytes every time."""
    scenes = {plan.name: sample_scene(plan) for plan in PLANS}
    write_atomically(folder / "samples_meta_info.json", json.dumps(scenes, indent=1).encode())


def sample_scene(plan: BoxRoom) -> dict[str, Any]:
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


def _walls(plan: BoxRoom) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
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
    plan: BoxRoom,
    center: np.ndarray,
    z: float,
    lengths: tuple[float, float, float],
    along: np.ndarray,
    inward: np.ndarray,
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
