"""Doubts about counts that differ from the boxes, and about objects of no plausible size.

The longest side of an object may not be one of its kind: a ceiling light of 7 cm, a cup of 3 m. Such a box is that of
a part, of something else or of several things, and every answer that rests on it is in doubt. What is usual is known
of each category from the boxes of all scenes at hand, and of some from a published table; an object is doubtful where
it is far from both. The table is fixed: a scene is judged alike whatever else is built.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.worlds.indoor.facts import IndoorScene, SceneObject

# Limits, measured on the 1,415 boxes of 122 released scenes: beyond them lie 15, one in a hundred (three doors of which
# the scan has a part, two boxes around a row of ceiling lights, a mat called blanket, …).
SPREADS: Final = 4.0
FACTOR_MIN: Final = 2.0  # what varies least has few boxes, or is made in one size and bought in two
FACTOR_MAX: Final = 4.0  # what varies most has kinds of its own, and yet a ceiling light of 7 cm is none
SPREAD_OF_ALL: Final = 0.22  # of log sizes within a category, in the middle; how much a category's own counts
BOXES_OF_ALL: Final = 10  # grows with its number of boxes, of which so many count as much as all categories do


def implausible(scene: IndoorScene) -> tuple[Finding, ...]:
    """A doubt for each category with an object of no plausible size: the one that is farthest off."""
    worst: dict[str, tuple[float, Finding]] = {}
    for item in scene.facts.objects:
        typical = TYPICAL.get(item.category)
        if typical is not None:
            excess, finding = _judged(item, typical)
            if excess > 1 and excess > worst.get(item.category, (0.0, None))[0]:
                worst[item.category] = (excess, finding)
    return tuple(finding for _, (_, finding) in sorted(worst.items()))


def factor_limit(typical: Typical) -> float:
    """By how much a longest side may differ from the usual one, up or down."""
    boxes = typical.boxes
    variance = (boxes * typical.spread**2 + BOXES_OF_ALL * SPREAD_OF_ALL**2) / (boxes + BOXES_OF_ALL)
    return min(max(math.exp(SPREADS * math.sqrt(variance * (1 + 1 / boxes))), FACTOR_MIN), FACTOR_MAX)


def _judged(item: SceneObject, typical: Typical) -> tuple[float, Finding]:
    """How far beyond its limit an object is (1: at the limit), by the usual size nearest to its own, and the doubt."""
    size_m, limit = max(item.box.lengths), factor_limit(typical)
    usual_m = min((typical.median_m, *PUBLISHED_M.get(item.category, ())), key=lambda usual: _factor(size_m, usual))
    bound_m = usual_m * limit if size_m > usual_m else usual_m / limit
    name = f"{item.category} #{item.instance}"
    usual = f"{usual_m:.2f} m is usual, up to {limit:.1f} times as much or as little"
    message = f"the longest side of {name} is {size_m:.2f} m: {usual}"
    remedy = "look at the object in the scan, and correct its box or its label"
    finding = doubt("implausible_size", item.category, message, remedy, round(size_m, 3), round(bound_m, 3), "m")
    return _factor(size_m, usual_m) / limit, finding


def _factor(size_m: float, usual_m: float) -> float:
    return max(size_m / usual_m, usual_m / size_m) if size_m > 0 else math.inf


class Typical(NamedTuple):
    """Number of boxes, median of their longest sides, and the spread of the logarithms of these."""

    boxes: int
    median_m: float
    spread: float


_SIZES: Final = load_table("indoor/sizes")
PUBLISHED_M: Final[dict[str, list[float]]] = _SIZES["published_m"]
TYPICAL: Final = {category: Typical(*values) for category, values in _SIZES["typical"].items()}


def count_doubts(
    counts: Mapping[str, int], objects: Sequence[SceneObject], categories: Iterable[str] | None = None
) -> list[Finding]:
    """A doubt for each category, of some or of all, of which another number is stated than there are boxes."""
    boxed = Counter(o.category for o in objects)
    found = []
    for category in sorted({*counts, *boxed} if categories is None else set(categories)):
        stated, boxes = counts.get(category, 0), boxed[category]
        if stated != boxes:
            message = f"{category}: {stated} stated, {boxes} boxes"
            remedy = "count in the video and correct the number or the boxes"
            found.append(doubt("count_differs_from_boxes", category, message, remedy, boxes, stated, "objects"))
    return found
