"""What all drawings of the exam share: colours of what is named, lines that measure, the numbers behind an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.ground import Ground

COLOURS: Final = ("a", "b", "c", "d", "e", "f")
_MOST: Final = 12  # facts of a question that are told
ARC: Final = 46.0  # units of an arc's radius


def measured(canvas: Canvas, ground: Ground, ends: FloatArray, value: float, unit: str, shown: str) -> None:
    """A line between two places (2, 2), metres, and the number that it stands for."""
    placed = ground.at(ends)
    canvas.line("measure", placed, {"measure": f"{value:.9g}", "unit": unit})
    canvas.label("value", placed.mean(0), shown)


def angle(canvas: Canvas, at: FloatArray, from_deg: float, turn_deg: float) -> None:
    """An arc about a point in units, counter-clockwise from the right of the map, and its angle."""
    canvas.arc("measure", at, ARC, from_deg, turn_deg)
    middle = np.radians(from_deg + turn_deg / 2)
    canvas.label("value", at + 1.3 * ARC * np.array([np.cos(middle), -np.sin(middle)]), f"{abs(turn_deg):.0f}°")


def notes(row: Mapping[str, Any]) -> list[str]:
    """The question, its answer, and what was measured for it."""
    facts = [fact for fact in row["evidence"] or () if fact["relation"] is None and fact["name"] not in ("x", "y")]
    told = [f"{f['name']} ({f['subject']}) {f['value']:.2f} {f['unit'] or ''}".strip() for f in facts[:_MOST]]
    return [f"{row['text']} [{row['answer']}]", *(["; ".join(told)] if told else [])]
