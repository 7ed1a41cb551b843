"""Questions about what appears first: along the camera's way, and along the video."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.vsi.drawings.plan import KINDS, Drawn, Plan, facts, rule, told
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.sheet import WIDTH, Part

_EDGE: Final = 30.0
_HIGH: Final = 84.0


def order(plan: Plan, row: Mapping[str, Any]) -> Drawn:
    """Where the camera is when each first appears, and when that is."""
    drawn = plan.drawn()
    first = sorted(facts(row, "first_seen"), key=lambda one: one[1])
    path = np.array(plan.sketch.path, dtype=np.float64).reshape(-1, 3)
    for number, (kind, (name, _)) in enumerate(zip(KINDS, first, strict=False), start=1):
        plan.mark(drawn, _shown_first(plan, name), kind, f"{number} {name}", first=True)
    for number, (kind, (name, second)) in enumerate(zip(KINDS, first, strict=False), start=1):
        if len(path):
            at = plan.ground.at([np.interp(second, path[:, 0], column) for column in path[:, 1:].T])
            drawn.map.line("aid", [at, plan.ground.at(plan.center(_shown_first(plan, name)))])
            drawn.map.dot(f"{kind} dot", at, 8.0, f"{second:.1f} s")
            drawn.map.text("digit", at + np.array([0, 4.5]), str(number), "middle", 12)
    end = max([*path[-1:, 0].tolist(), *(second for _, second in first)])
    drawn.parts.append(_line(first, end))
    drawn.notes.append(
        f"Numbers: where the camera is as each first appears. Smallest gap: {rule(row, 'first_times_too_close')}."
    )
    return drawn


def _shown_first(plan: Plan, name: str) -> int:
    """Of a category's boxes the one that the video shows first."""
    seen = {
        int(index): sight.first_seen_s
        for index in plan.view.instances(plan.category(name))
        if (sight := plan.view.objects[index].visibility) is not None and sight.first_seen_s is not None
    }
    return min(seen, key=lambda index: seen[index])


def _line(first: list[tuple[str, float]], end: float) -> Part:
    """The video from its begin to its end, with the second of each."""
    per_s = (WIDTH - 2 * _EDGE) / max(end, 1e-9)
    canvas = Canvas(WIDTH, _HIGH)
    y = _HIGH - 26
    canvas.line("curve", [(_EDGE, y), (WIDTH - _EDGE, y)])
    canvas.text("small", (_EDGE, y + 18), "0 s", "middle", 11)
    canvas.text("small", (WIDTH - _EDGE, y + 18), f"{end:.0f} s", "middle", 11)
    for kind, (name, second) in zip(KINDS, first, strict=False):
        x = _EDGE + second * per_s
        canvas.line(f"bar {kind}", [(_EDGE, y), (x, y)], told("first_seen", name))
        canvas.dot(f"{kind} dot", (x, y), 5.0)
        canvas.label("name", (x, y), f"{name} {second:.1f} s", 8.0)
    return Part(canvas, {"part": "times", "per-s": f"{per_s:.9g}"})
