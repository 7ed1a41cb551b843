"""Questions about routes: the legs, where each ends, and the turns between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.vsi.drawings.plan import KINDS, Drawn, Plan, facts, told
from pipeline.core.arrays import FloatArray
from pipeline.geometry.floors import footprints

_ARC: Final = 20.0


def route(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """The way from object to object, each leg in its length, and the degrees of every turn."""
    drawn = plan.drawn()
    start, facing, *passed = row["operands"]
    for kind, name in zip(KINDS, dict.fromkeys((start, facing, *passed)), strict=False):
        plan.mark(drawn, plan.only(name), kind, name)
    legs, turns = dict(facts(row, "leg")), dict(facts(row, "turn"))
    centers = {name: plan.center(plan.only(name))[:2] for name in (start, facing, *passed)}
    heading = _unit(centers[facing] - centers[start])
    here = centers[start] + heading * _leaves(plan, start, heading)
    drawn.map.line("aid", plan.ground.at([centers[start], here]))
    drawn.map.arrow("aid", plan.ground.at(here), plan.ground.at(here) + 28 * heading * [1, -1])
    for name in passed:
        way = _unit(centers[name] - here)
        there = here + way * legs[name]
        at = plan.ground.at(np.stack([here, there]))
        drawn.map.line("way", at, told("leg", name))
        drawn.map.head("way", at[1], at[1] - at[0])
        if name in turns:
            degrees = float(np.degrees(np.arctan2(heading[1], heading[0])))
            drawn.map.line("aid", [at[0], at[0] + 34 * heading * [1, -1]])
            drawn.map.arc("measure", at[0], _ARC, degrees, turns[name])
            side = "left" if turns[name] > 0 else "right"
            drawn.map.label("value", at[0], f"{abs(turns[name]):.0f}° {side}", 12.0)
        drawn.map.dot("here", at[0], 4.0)
        here, heading = there, way
    told_turns = ", ".join(f"{turns[name]:+.1f}°" for name in passed if name in turns)
    drawn.notes.append(
        f"From {start}, facing {facing}, by way of {', '.join(passed)}; turns (left is positive): {told_turns}."
    )
    return drawn


def _leaves(plan: Plan, start: str, heading: FloatArray) -> float:
    """How far from the middle of the start one stands: beside it, as a body does."""
    grown = footprints(plan.view.boxes, plan.view.rules.body_radius_m)
    index = np.array([plan.only(start)])
    return float(grown.crossings_m(grown.center[index], heading[None], index)[1][0])


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / max(float(np.hypot(*vector)), 1e-12))
