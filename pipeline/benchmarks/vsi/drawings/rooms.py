"""Questions about how many there are and how large the room is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.benchmarks.vsi.drawings.plan import Drawn, Plan, facts


def counts(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """Every box of the category, numbered."""
    drawn = plan.drawn()
    (name,) = row["operands"]
    found = plan.view.instances(plan.category(name)).tolist() if name in plan.view.index else []
    for number, index in enumerate(found, start=1):
        plan.mark(drawn, index, "a", str(number))
    ((_, count),) = facts(row, "stated_count")
    drawn.notes.append(f"{name}: {count:.0f} as the source counts them, {len(found)} boxes, numbered.")
    return drawn


def area(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """The outline of the floor."""
    drawn = plan.drawn()
    ((_, square_m),) = facts(row, "room_area")
    room = plan.view.scene.facts.room
    if room.floor:
        drawn.map.shape("measure outline", [plan.ground.at(outline) for outline in room.floor])
        drawn.map.label("value", plan.ground.at(room.floor[0]).mean(0), f"{square_m:.1f} m²", 0.0)
        drawn.notes.append(f"The outline holds {square_m:.2f} m².")
    else:
        drawn.notes.append(f"The source states {square_m:.2f} m² and no outline of the floor.")
    return drawn
