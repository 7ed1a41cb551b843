"""The picture of a near miss: what it would have asked about from above, and the measured value at its limit."""

from __future__ import annotations

import math

from pipeline.core.sketch import Sketch
from pipeline.export.examples import Example
from pipeline.export.reason_parts import gauge, plan
from pipeline.export.reason_pictures import sheet_of
from pipeline.export.report.refused import Near
from pipeline.review.maps import spoken_of


def near_picture(near: Near, sketch: Sketch | None) -> bytes | None:
    """SVG in the manner of a question's own drawing; None where there is nothing to be drawn of it.

    The map is left out where it would show nothing of what the candidate was about.
    """
    measured, limit = float(near.measured), float(near.limit)
    if not (math.isfinite(measured) and math.isfinite(limit)):
        return None
    example = Example(
        name=near.reason, met="", about=near.about, measured=measured, limit=limit, unit=near.unit, sketch=sketch
    )
    parts = [plan(example, sketch)] if sketch and spoken_of(sketch, near.about) else []
    title = f"Refused: {near.measured} {near.unit}, limit {near.limit}"
    return sheet_of(title, [*parts, gauge(measured, limit, near.unit, "refused")])
