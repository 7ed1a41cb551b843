"""Boxes in pictures, as a detector gives them, lifted onto the surface of a scene: proposals for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings
from pipeline.core.schema import Model, Name, Share
from pipeline.geometry.scans import CameraFrames
from pipeline.reading.checks import check_name
from pipeline.reading.footage import evenly_spaced
from pipeline.worlds.indoor.labels.boxes import PlacedBox, upright_axes
from pipeline.worlds.indoor.labels.surface import SampledSurface, picture_T_world, turn_of, unhidden
from pipeline.worlds.indoor.readers.categories import normal

FRAMES_ASKED: Final = 16
SCORE_MIN: Final = 0.3
DETECTIONS_MAX: Final = 500  # of one picture
_POINTS_MIN: Final = 30  # of the surface, that a detection shows
_DEEP_M: Final = 0.15  # what a thing reaches at least behind its nearest point; else as far as it is wide
_FLOOR_M: Final = 0.04
_EDGES_PCT: Final = (2.0, 98.0)
_SAME_MIN: Final = 0.2  # of the volume of both together: two detections of one thing
_LEAST_M: Final = 0.03


class Detection(Model):
    """One thing in one picture: label, corners x0, y0, x1, y1 in pixels of that picture, score."""

    label: Name
    box: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]
    score: Share = 1.0

    @model_validator(mode="after")
    def _in_order(self) -> Detection:
        if not (self.box[0] < self.box[2] and self.box[1] < self.box[3]):
            raise ValueError("box is x0, y0, x1, y1 with x0 < x1 and y0 < y1")
        return self


class Detections(Model):
    """What a detector answers about one picture."""

    detections: Annotated[tuple[Detection, ...], Field(max_length=DETECTIONS_MAX)]


class Proposals(NamedTuple):
    """Boxes, those that most frames show first; detections left out by reason; by how many frames each box is shown."""

    boxes: list[PlacedBox]
    frames: list[int]
    left_out: dict[str, int]


class _Lifted(NamedTuple):
    label: str
    low: FloatArray  # (3,) in the room's own axes
    high: FloatArray


def asked_frames(frames: CameraFrames) -> list[int]:
    """The numbers of the frames that a detector is asked about, evenly spaced."""
    return evenly_spaced(len(frames.time_s), FRAMES_ASKED).tolist()


def lifted(
    found: Sequence[tuple[int, Detections, tuple[int, int]]], surface: SampledSurface, frames: CameraFrames
) -> Proposals:
    """Detections as upright boxes along the walls; those of one label that overlap are one thing.

    Args:
        found: frame, what was detected in its upright picture, width and height of that picture in pixels.
        surface: of the scene.
        frames: its frames.
    """
    axes, left_out = upright_axes(surface.turn_deg), defaultdict[str, int](int)
    points = surface.points.astype(float)
    things: list[_Lifted] = []
    for i, label, size in found:
        rows = points @ (matrix := picture_T_world(frames, i))[:, :3].T + matrix[:, 3]
        depth_m = rows[:, 2]
        place = np.where((depth_m > 0.1)[:, None], rows[:, :2] / np.where(depth_m > 0.1, depth_m, 1.0)[:, None], -1.0)
        seen = np.flatnonzero(unhidden(place, depth_m))
        side = turn_of(frames) // 90 % 2  # which of the stored picture's sides runs across the upright one
        focal = frames.intrinsics[i, side] / frames.size[side]
        for one in label.detections:
            reason = _reason(one)
            if reason is None:
                corners = np.array(one.box).reshape(2, 2) / size
                thing = _lift(points[seen], place[seen], depth_m[seen], corners, focal, surface.floor)
                if thing is None:
                    reason = "too few points of the surface"
                else:
                    local = thing @ axes.T
                    low, high = np.percentile(local, _EDGES_PCT, axis=0)
                    things.append(_Lifted(normal(one.label), low, np.maximum(high, low + _LEAST_M)))
            if reason is not None:
                left_out[reason] += 1
    groups = sorted(_grouped(things), key=lambda group: (-len(group), group[0].label, tuple(group[0].low.tolist())))
    return Proposals([_box(group, axes, surface.turn_deg) for group in groups], list(map(len, groups)), dict(left_out))


def _reason(one: Detection) -> str | None:
    if one.score < SCORE_MIN:
        return f"score below {SCORE_MIN:g}"
    return None if check_name(normal(one.label), Findings()) else "a label that cannot stand in a question"


def _lift(
    points: FloatArray, place: FloatArray, depth_m: FloatArray, corners: FloatArray, focal: float, floor: float
) -> FloatArray | None:
    """The points of the nearest thing in a rectangle of a picture; None where there are too few."""
    within = ((place >= corners[0]) & (place <= corners[1])).all(axis=1) & (points[:, 2] > floor + _FLOOR_M)
    middle = within & (np.abs(place - corners.mean(axis=0)) <= (corners[1] - corners[0]) / 4).all(axis=1)
    if within.sum() < _POINTS_MIN or not middle.any():
        return None
    near = float(np.percentile(depth_m[middle], 20))
    deep = max(_DEEP_M, float(corners[1, 0] - corners[0, 0]) / focal * near)
    part = points[within & (np.abs(depth_m - near) <= deep)]
    return part if len(part) >= _POINTS_MIN else None


def _grouped(things: Sequence[_Lifted]) -> list[list[_Lifted]]:
    groups: list[list[_Lifted]] = []
    for thing in things:
        for group in groups:
            if group[0].label == thing.label and max(_overlap(thing, other) for other in group) >= _SAME_MIN:
                group.append(thing)
                break
        else:
            groups.append([thing])
    return groups


def _overlap(a: _Lifted, b: _Lifted) -> float:
    shared = np.maximum(np.minimum(a.high, b.high) - np.maximum(a.low, b.low), 0.0).prod()
    return float(shared / ((a.high - a.low).prod() + (b.high - b.low).prod() - shared))


def _box(group: Sequence[_Lifted], axes: FloatArray, turn_deg: float) -> PlacedBox:
    low, high = (np.median([getattr(thing, end) for thing in group], axis=0) for end in ("low", "high"))
    record: dict[str, Any] = {
        "label": group[0].label,
        "center": ((low + high) / 2 @ axes).round(4).tolist(),
        "size": np.maximum(high - low, _LEAST_M).round(4).tolist(),
        "turn_deg": round(turn_deg, 1),
    }
    return PlacedBox.model_validate(record)
