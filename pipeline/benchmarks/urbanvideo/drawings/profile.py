"""What changes in the course of a flight, over the seconds of its video: height, and distance to a landmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.benchmarks.urbanvideo.drawings.plan import KINDS, Flown, Plan
from pipeline.drawing.ground import BOTTOM, HIGH, TOP, Chart
from pipeline.drawing.sheet import Part


def heights(plan: Plan, row: Mapping[str, Any], flown: Sequence[Flown]) -> Part:
    """Height above take-off, with the stretch that is asked about and its movements."""
    view = plan.view
    chart = Chart("height above take-off", view.t_s, view.height_m, view.end_s, None)
    begin, end = row["from_s"] or 0.0, view.end_s if row["until_s"] is None else row["until_s"]
    if not flown:
        chart.stretch("stretch", begin, end, "stretch")
    else:
        for number, step in enumerate(flown):
            start, stop = max(step.start_s, 0.0), min(step.end_s, view.end_s)
            chart.stretch(f"{KINDS[number % len(KINDS)]} band", start, stop, "movement")
            chart.canvas.text("name", (chart.at((start + stop) / 2, 0)[0], TOP + 12), str(number + 1), "middle", 11)
    if row["until_s"] is not None:
        x = chart.at(end, 0)[0]
        chart.canvas.line("measure", [(x, TOP), (x, HIGH - BOTTOM)])
        chart.canvas.text("small", (x, HIGH - BOTTOM + 16), f"{end:.0f} s", "middle", 11)
    return chart.part("heights")
