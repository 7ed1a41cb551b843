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


# Mean sizes of categories in other scans, the longest side each, in metres: of SUN RGB-D (Qi et al., "Deep Hough
# Voting", ICCV 2019) and of ScanNet, as given in the configurations of VoteNet in mmdetection3d 1.4.0.
PUBLISHED_M: Final[dict[str, tuple[float, ...]]] = {
    "bathtub": (1.4, 1.15),
    "bed": (2.11, 1.88),
    "bookshelf": (1.07, 1.69),
    "chair": (0.83, 0.72),
    "counter": (1.9,),
    "curtain": (1.68,),
    "door": (1.75,),
    "nightstand": (0.68,),
    "refrigerator": (1.3,),
    "sofa": (1.87, 1.51),
    "table": (1.28, 1.07),
    "toilet": (0.76, 0.74),
    "trash bin": (0.58,),
    "window": (1.15,),
}
# Longest sides in the metadata of the 122 released scenes at hand (`python -m tests.worlds.indoor.size_table`).
TYPICAL: Final[dict[str, Typical]] = {
    "backpack": Typical(25, 0.49, 0.14),
    "basket": Typical(5, 0.36, 0.05),
    "bathtub": Typical(14, 1.62, 0.08),
    "bed": Typical(38, 2.15, 0.07),
    "blanket": Typical(3, 2.14, 0.16),
    "bookshelf": Typical(6, 1.73, 0.28),
    "bowl": Typical(1, 0.29, 0.0),
    "ceiling light": Typical(56, 0.62, 0.85),
    "chair": Typical(388, 0.83, 0.25),
    "clock": Typical(3, 0.31, 0.19),
    "closet": Typical(3, 1.84, 0.25),
    "coat hanger": Typical(2, 1.07, 1.31),
    "computer mouse": Typical(14, 0.12, 0.1),
    "computer tower": Typical(12, 0.38, 0.1),
    "counter": Typical(8, 2.72, 0.23),
    "crate": Typical(1, 0.4, 0.0),
    "cup": Typical(3, 0.14, 0.19),
    "cutting board": Typical(1, 0.45, 0.0),
    "dishwasher": Typical(4, 0.91, 0.0),
    "door": Typical(67, 1.96, 0.17),
    "exhaust fan": Typical(4, 0.14, 0.15),
    "fan": Typical(4, 1.06, 0.19),
    "fireplace": Typical(8, 1.59, 0.15),
    "headphones": Typical(1, 0.31, 0.0),
    "heater": Typical(7, 1.18, 0.29),
    "kettle": Typical(3, 0.24, 0.02),
    "keyboard": Typical(23, 0.45, 0.05),
    "lamp": Typical(13, 0.62, 0.39),
    "laptop": Typical(3, 0.39, 0.17),
    "microwave": Typical(4, 0.6, 0.16),
    "mirror": Typical(13, 1.03, 0.25),
    "monitor": Typical(66, 0.58, 0.1),
    "nightstand": Typical(7, 0.73, 0.09),
    "pan": Typical(1, 0.41, 0.0),
    "paper bag": Typical(1, 0.29, 0.0),
    "pillow": Typical(59, 0.62, 0.25),
    "plant": Typical(7, 0.41, 0.53),
    "printer": Typical(18, 0.61, 0.13),
    "radiator": Typical(6, 0.96, 0.54),
    "refrigerator": Typical(20, 1.58, 0.25),
    "shoe rack": Typical(1, 0.7, 0.0),
    "shoes": Typical(10, 0.29, 0.05),
    "sofa": Typical(56, 1.87, 0.3),
    "stool": Typical(12, 0.47, 0.07),
    "stove": Typical(9, 0.6, 0.05),
    "suitcase": Typical(1, 0.69, 0.0),
    "table": Typical(193, 1.21, 0.39),
    "table lamp": Typical(2, 0.86, 0.3),
    "telephone": Typical(12, 0.29, 0.18),
    "toilet": Typical(19, 0.63, 0.26),
    "towel": Typical(7, 0.73, 0.51),
    "trash bin": Typical(48, 0.45, 0.27),
    "trash can": Typical(10, 0.35, 0.11),
    "tv": Typical(38, 0.96, 0.27),
    "washer": Typical(12, 0.87, 0.05),
    "whiteboard": Typical(16, 1.62, 0.43),
    "window": Typical(47, 1.34, 0.43),
}


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
