"""A question about an episode: things and the gripper's way from above and from the side, and the joints' dials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.drawings.marks import COLOURS, angle, measured
from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.ground import Ground
from pipeline.drawing.sheet import WIDTH, Part

CM: Final = 100.0
DISTANCES: Final = frozenset({"arm_dt", "arm_rd", "arm_sm_net"})
FLAT: Final = frozenset({"arm_rd"})  # measured over the table
JOINTS: Final = ("arm_md", "arm_cs")
_CORNERS: Final = np.array([[1.0, 1.0], [-1, 1], [-1, -1], [1, -1]])
LEAST_M: Final = 0.3  # shown at least
_DIAL: Final = 78.0  # units from dial to dial
_RADIUS: Final = 26.0


def parts(view: ArmExam, row: Mapping[str, Any]) -> list[Part]:
    """From above (the robot looks up), from the side, and the dials where joints are asked about."""
    kind, _, *about = row["operands"]
    index = view.index(row["until_s"])
    before = view.index(row["until_s"] - float(about[-1])) if kind == "arm_sm_net" and about else None
    found = [_map(view, row, index, before, side) for side in (False, True)]
    if kind.startswith(JOINTS) and len(view.joints):
        found.append(_dials(view, index, about[0] if about else ""))
    return [part for part in found if part is not None]


def _flat(places: FloatArray, side: bool) -> FloatArray:
    """Places (..., 3) on a map: from above the robot's left is to the left, from the side its ahead to the right."""
    return places[..., [0, 2]] if side else np.stack([-places[..., 1], places[..., 0]], axis=-1)


def _map(view: ArmExam, row: Mapping[str, Any], index: int, before: int | None, side: bool) -> Part | None:
    kind, _, *about = row["operands"]
    things = [n for n in range(len(view.ids)) if np.isfinite(view.item_m[n, index]).all()]
    way = view.gripper_m[: index + 1]
    way = _flat(way[np.isfinite(way).all(1)], side)
    middles = {n: _flat(view.item_m[n, index], side) for n in things}
    outlines = {n: _outline(view, n, middles[n], side) for n in things}
    shown = [way.reshape(-1, 2), *outlines.values()]
    if np.isfinite(view.base_m).all():
        shown.append(_flat(view.base_m, side)[None])
    points = np.concatenate(shown)
    if not len(points):
        return None
    ground = Ground(points, WIDTH, 260.0, LEAST_M)
    canvas = ground.canvas()
    named = [n for n in things if view.names.get(n) in about]
    for n in things:
        colour = COLOURS[named.index(n) % len(COLOURS)] if n in named else "thing"
        placed = ground.at(outlines[n])
        if len(placed) > 1:
            canvas.shape(colour, [placed], str(view.ids[n]))
        else:
            canvas.dot(f"{colour} dot", placed[0], 5, str(view.ids[n]))
        canvas.label(
            "name" if n in named else "small", ground.at(middles[n]), view.names.get(n, str(view.categories[n]))
        )
    if np.isfinite(view.base_m).all():
        canvas.dot("start", ground.at(_flat(view.base_m, side)), 5, "foot of the arm")
    if len(way):
        canvas.line("way", ground.at(way))
    gripper = view.gripper_m[index]
    if np.isfinite(gripper).all():
        canvas.dot("here", ground.at(_flat(gripper, side)), 5, "gripper")
        ends = [view.item_m[n, index] for n in named] if kind in DISTANCES else []
        ends += [view.gripper_m[before]] if before is not None else []
        for end in ends if not (side and kind in FLAT) else ():
            apart = (end - gripper)[:2] if kind in FLAT else end - gripper
            cm = float(np.linalg.norm(apart)) * CM
            measured(canvas, ground, _flat(np.stack([gripper, end]), side), cm, "cm", f"{cm:.1f} cm")
        if kind == "arm_lc" and named and not side:
            ahead, left = view.flat_m(named[0], index)
            angle(canvas, ground.at(_flat(gripper, side)), 90.0, float(np.degrees(np.arctan2(left, ahead))))
    canvas.text("small", (10, 16), "from the side" if side else "from above", size=11)
    return Part(canvas, {**ground.told(), "part": "side" if side else "above"})


def _outline(view: ArmExam, row: int, middle: FloatArray, side: bool) -> FloatArray:
    """Corners (4, 2), upright along the world's axes, or its middle where its size is not known."""
    half = view.size_m[row][[0, 2] if side else [1, 0]] / 2
    return middle + _CORNERS * half if np.isfinite(half).all() else middle[None]


def _dials(view: ArmExam, index: int, asked: str) -> Part:
    """Each joint that turns: its zero is up, counter-clockwise is positive."""
    canvas = Canvas(WIDTH, 2 * _RADIUS + 44)
    turning = [
        (n, joint) for n, joint in enumerate(view.facts.arm.joints if view.facts.arm else ()) if joint.unit == "rad"
    ]
    for place, (n, joint) in enumerate(turning):
        at = np.array([44 + place * _DIAL, _RADIUS + 8])
        value = float(view.angle[index, n])
        canvas.dot("cell", at, _RADIUS)
        canvas.line("tick", [at - (0, _RADIUS), at - (0, _RADIUS - 6)])
        if np.isfinite(value):
            hand = np.array([-np.sin(value), -np.cos(value)]) * _RADIUS
            told = {"measure": f"{np.degrees(value):.9g}", "unit": "deg"}
            canvas.line("measure" if joint.name == asked else "curve", [at, at + hand], told)
            canvas.text("small", (at[0], at[1] + _RADIUS + 28), f"{np.degrees(value):.0f}°", "middle", 11)
        canvas.text("name" if joint.name == asked else "small", (at[0], at[1] + _RADIUS + 14), joint.name, "middle", 11)
    return Part(canvas, {"part": "dials"})
