"""Doubts about counts that differ from the boxes, about objects of no plausible size, and about which way is up.

The longest side of an object may not be one of its kind: a ceiling light of 7 cm, a cup of 3 m. Such a box is that of
a part, of something else or of several things, and every answer that rests on it is in doubt. What is usual is known
of each category from the boxes of all scenes at hand, and of some from a published table; an object is doubtful where
it is far from both. The table is fixed: a scene is judged alike whatever else is built.

A reader that takes another axis for the vertical gives beds on end. Whatever the reader, objects must stand about as
high and be about as tall as their kind is, and the lowest faces of furniture must lie near one level plane.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.geometry.boxes import stack
from pipeline.worlds.indoor.facts import UPRIGHT, IndoorScene, SceneObject

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
    """Usual sizes of a category, in metres.

    Attributes:
        boxes: how many boxes say so.
        median_m: median of their longest sides.
        spread: of the logarithms of these, as a standard deviation.
        bottom_m: median height of their lowest corners above the floor; None: of no scene whose floor is known.
        height_m: median of their vertical extents; None where ``bottom_m`` is.
    """

    boxes: int
    median_m: float
    spread: float
    bottom_m: float | None = None
    height_m: float | None = None


_TABLE: Final = load_table("indoor/sizes")
PUBLISHED_M: Final[dict[str, list[float]]] = _TABLE["published_m"]
TYPICAL: Final[dict[str, Typical]] = {name: Typical(*values) for name, values in _TABLE["typical"].items()}

# Limits, measured on the 122 released scenes, of which 81 have boxes enough. Read with a horizontal axis up, 79 or 80
# of them are beyond both limits, upside down 64; as they are, none is (a ratio of at most 1.29).
UPS: Final = np.array([[0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=float)
UP_NAMES: Final = ("z", "-z", "x", "-x", "y", "-y")
UP_RATIO_MAX: Final = 1.5  # how much farther from the usual heights z may leave the objects than another axis
UP_OFF_MIN_M: Final = 0.25  # less than this is no wrong axis, however well another one fits
OFF_MAX_M: Final = 1.0  # an object that is farther off says no more than that
KNOWN_BOXES_MIN: Final = 3  # of a category in the table
BOXES_MIN: Final = 5  # of a scene
CATEGORIES_MIN: Final = 3
STANDING_MAX_M: Final = 0.1  # what has its lowest corner no higher is furniture that stands on the floor
SLOPE_MAX_DEG: Final = 12.0  # of the plane of their lowest faces: at most 9.3 in the released scenes
SPREAD_MIN_M: Final = 0.6  # of their places, in the direction in which they are closest together
FITS: Final = 20  # rounds of the robust fit
NEAR_M: Final = 0.03  # what is nearer to the plane counts no more than this


def examine(scene: IndoorScene) -> tuple[Finding, ...]:
    """Doubts about the boxes of a scene of any reader: which way is up, and sizes."""
    return (*upright_doubts(scene), *implausible(scene))


def upright_doubts(scene: IndoorScene) -> tuple[Finding, ...]:
    """A doubt where objects stand as usual with another axis up, or where the floor below furniture slopes."""
    known = [
        (item, typical)
        for item in scene.facts.objects
        if (typical := TYPICAL.get(item.category)) and typical.boxes >= KNOWN_BOXES_MIN and typical.bottom_m is not None
    ]
    if len(known) < BOXES_MIN or len({item.category for item, _ in known}) < CATEGORIES_MIN:
        return ()
    boxes = stack(*zip(*((o.box.center, o.box.lengths, o.box.axes) for o, _ in known), strict=True))
    usual = np.array([(typical.bottom_m, typical.height_m) for _, typical in known], dtype=float)
    half = (np.abs(boxes.axes @ UPS.T) * boxes.half[:, :, None]).sum(1)  # (n, 6) metres, along each way up
    lowest = boxes.center @ UPS.T - half
    off = lowest - usual[:, :1]
    off = np.minimum(np.abs(off - np.median(off, axis=0)), OFF_MAX_M)
    off = (off + np.minimum(np.abs(2 * half - usual[:, 1:]), OFF_MAX_M)).mean(0)  # (6,)
    best = int(off[1:].argmin()) + 1
    ratio = float(off[0] / max(off[best], NEAR_M))
    if off[0] > UP_OFF_MIN_M and ratio > UP_RATIO_MAX:
        message = (
            f"with {UP_NAMES[best]} up, {len(known)} objects are on average {off[best]:.2f} m off the usual heights of "
            f"their kinds; with z up, {off[0]:.2f} m"
        )
        remedy = "look at the scan: z must point up; correct its alignment, or the axes that the reader was told"
        return (doubt("another_axis_is_up", UPRIGHT, message, remedy, round(ratio, 3), UP_RATIO_MAX, "ratio"),)
    stands = usual[:, 0] < STANDING_MAX_M
    return _slope_doubts(np.column_stack([boxes.center[stands, :2], lowest[stands, 0]]))


def _slope_doubts(places: FloatArray) -> tuple[Finding, ...]:
    """``places`` (n, 3): middles and heights of the lowest faces of standing furniture, metres."""
    middle = places[:, :2] - places[:, :2].mean(0) if len(places) else places[:, :2]
    if len(places) < BOXES_MIN or np.linalg.svd(middle, compute_uv=False)[-1] < SPREAD_MIN_M * len(places) ** 0.5:
        return ()
    design, weight = np.column_stack([middle, np.ones(len(places))]), np.ones(len(places))
    for _ in range(FITS):  # reweighted least squares: the plane of least absolute distances
        plane = np.linalg.lstsq(design * weight[:, None], places[:, 2] * weight, rcond=None)[0]
        weight = np.maximum(np.abs(places[:, 2] - design @ plane), NEAR_M) ** -0.5
    slope_deg = math.degrees(math.atan(math.hypot(*plane[:2])))
    if slope_deg <= SLOPE_MAX_DEG:
        return ()
    message = (
        f"the lowest faces of {len(places)} pieces of furniture lie on a plane that slopes by {slope_deg:.1f} degrees"
    )
    remedy = "look at the scan: its floor must be level; correct its alignment to gravity"
    return (doubt("floor_slopes", UPRIGHT, message, remedy, round(slope_deg, 2), SLOPE_MAX_DEG, "deg"),)
