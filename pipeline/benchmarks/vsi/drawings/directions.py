"""Questions about directions: the two ways from where one stands, and the angle between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.vsi.drawings.plan import Drawn, Plan, facts, rule, told
from pipeline.benchmarks.vsi.tasks.rel_direction import LEVELS

_REACH: Final = 0.9  # of the shorter way, to which the arc reaches at most
_ARC: Final = 46.0
_EDGE: Final = 78.0  # units of the lines between two sectors


def direction(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """Where one stands and faces, the way to what is asked for, the angle, and the edges of the sectors."""
    drawn = plan.drawn()
    standing, facing, asked = row["operands"]
    level = LEVELS[row["task"].rpartition("_")[2]]
    ((subject, bearing),) = facts(row, "bearing")
    here, there, target = (plan.ground.at(plan.center(plan.only(name))) for name in row["operands"])
    ahead, way = there - here, target - here
    start = float(np.degrees(np.arctan2(-ahead[1], ahead[0])))  # counter-clockwise from the right, as on a map
    for edge in level.edges:
        turned = np.radians(start + edge)
        tip = here + _EDGE * np.array([np.cos(turned), -np.sin(turned)])
        drawn.map.line("aid", [here, tip])
    for name, kind in ((standing, "a"), (facing, "b"), (asked, "c")):
        plan.mark(drawn, plan.only(name), kind, name)
    radius = min(_ARC, _REACH * float(min(np.hypot(*ahead), np.hypot(*way))))
    turn = bearing if bearing <= 180 else bearing - 360
    drawn.map.line("measure faces", [here, there], told("bearing", "facing"))
    drawn.map.head("measure", there, ahead)
    drawn.map.line("measure", [here, target], told("bearing", subject))
    drawn.map.head("measure", target, way)
    drawn.map.arc("measure", here, radius, start, turn)
    middle = np.radians(start + turn / 2)
    side = "left" if turn > 0 else "right"
    drawn.map.dot("a dot", here, 4.0)
    drawn.map.label(
        "value", here + (radius + 8) * np.array([np.cos(middle), -np.sin(middle)]), f"{abs(turn):.1f}° {side}", 4.0
    )
    drawn.notes.append(
        f"Standing by {standing}, facing {facing}: {asked} lies {abs(turn):.1f}° to the {side}, which is "
        f"{row['answer']}; from the nearest edge of a sector (dashed) {rule(row, 'near_sector_boundary')}."
    )
    return drawn
