"""Questions about lengths: between two objects, from one to several, and of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.vsi.drawings.plan import KINDS, Drawn, Plan, facts, rule, told
from pipeline.benchmarks.vsi.drawings.section import section
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.sheet import WIDTH, Part

_BAR: Final = 24.0  # units from one bar to the next
_BESIDE: Final = 180.0  # units for names and values


def distance(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """The line between the closest points of two boxes, from above, and from the side in its true length."""
    drawn = plan.drawn()
    first, second = row["operands"]
    i, j, *ends = plan.view.closest_points(plan.category(first), plan.category(second))
    ((subject, metres),) = facts(row, "distance")
    words = f"{metres:.2f} m"
    plan.mark(drawn, i, "a", first)
    plan.mark(drawn, j, "b", second)
    line = plan.ground.at(np.stack(ends))
    drawn.map.line("measure", line)
    drawn.map.label("value", line.mean(0), words)
    drawn.parts.append(section(plan, [(i, "a", first), (j, "b", second)], np.stack(ends), "distance", subject, words))
    drawn.notes.append(f"Closest points of {first} and {second}: {metres:.3f} m apart.")
    return drawn


def nearest(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """Lines from an object to the nearest of each choice, and all of them as bars of one scale."""
    drawn = plan.drawn()
    primary, *choices = row["operands"]
    measured = dict(facts(row, "distance"))
    plan.mark(drawn, plan.only(primary), "f", primary)
    lines = []
    for kind, name in zip(KINDS, choices, strict=False):
        _, j, *ends = plan.view.closest_points(plan.category(primary), plan.category(name))
        plan.mark(drawn, j, kind, name)
        lines.append((plan.ground.at(np.stack(ends)), kind, name, f"{primary} - {name}"))
    for line, kind, _, _ in lines:
        drawn.map.line(f"bar {kind}", line)
    for line, _, _, subject in lines:
        drawn.map.label("value", line.mean(0), f"{measured[subject]:.2f} m")
    drawn.parts.append(_bars(plan, [(kind, name, subject, measured[subject]) for _, kind, name, subject in lines]))
    drawn.notes.append(
        f"From {primary} to the nearest of each, smallest gap between two of them: {rule(row, 'distances_too_similar')}"
    )
    return drawn


def _bars(plan: Plan, rows: list[tuple[str, str, str, float]]) -> Part:
    """Distances as bars, those of the map's scale as far as they fit."""
    longest = max(value for *_, value in rows)
    per_m = min(plan.ground.per_m, (WIDTH - 2 * _BESIDE) / max(longest, 1e-9))
    canvas = Canvas(WIDTH, 14 + _BAR * len(rows))
    for number, (kind, name, subject, value) in enumerate(sorted(rows, key=lambda one: one[-1])):
        y = 20 + number * _BAR
        canvas.text("name", (_BESIDE - 8, y + 4), name, "end")
        canvas.line(f"bar {kind}", [(_BESIDE, y), (_BESIDE + value * per_m, y)], told("distance", subject))
        canvas.text("small", (_BESIDE + value * per_m + 8, y + 4), f"{value:.3f} m")
    return Part(canvas, {"part": "bars", "per-m": f"{per_m:.9g}"})


def size(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """The longest side of a box, from above and from the side in its true length."""
    drawn = plan.drawn()
    (name,) = row["operands"]
    index, boxes = plan.only(name), plan.view.boxes
    longest = int(boxes.half[index].argmax())
    half = boxes.axes[index, longest] * boxes.half[index, longest]
    ends = np.stack([boxes.center[index] - half, boxes.center[index] + half])
    sides = [value for key in ("side_1", "side_2", "side_3") for _, value in facts(row, key)]
    plan.mark(drawn, index, "a", name)
    drawn.map.line("measure", plan.ground.at(ends))
    words = f"{sides[0] * 100:.0f} cm"
    drawn.parts.append(section(plan, [(index, "a", name)], ends, "side_1", name, words))
    drawn.notes.append(f"Sides of the box of {name}: {', '.join(f'{side * 100:.1f}' for side in sides)} cm.")
    shown = rule(row, "extent_not_shown")
    drawn.notes += [f"Of its longest side the video shows {shown}."] if shown else []
    return drawn
