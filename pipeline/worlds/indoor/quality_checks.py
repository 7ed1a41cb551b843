"""Doubts about counts that differ from the boxes, about objects of no plausible size, and about which way is up.

The longest side of an object may not be one of its kind: a ceiling light of 7 cm, a cup of 3 m. Such a box is that of
a part, of something else or of several things, and every answer that rests on it is in doubt. What is plausible is
known of each category from the quantiles of the boxes of all scenes at hand, and of some from a published table. The
table is fixed: a scene is judged alike whatever else is built.

A reader that takes another axis for the vertical gives beds on end, one that takes feet for metres beds of 6 m.
Whatever the reader, objects must stand about as high and be about as tall as their kind is, all together about as long
as usual, and the lowest faces of furniture must lie near one level plane.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.geometry.boxes import stack
from pipeline.worlds.indoor.facts import SCALE, SIGHT, UPRIGHT, IndoorScene, SceneObject
from pipeline.worlds.indoor.sizes import PUBLISHED_M, TYPICAL

# Limits, measured on the 1,415 boxes of 122 released scenes: beyond them lie 13, one in a hundred (doors and chairs of
# which the scan has a part, chairs and tables with a box around several, …). Scans cut things off more often than they
# add to them, so what is rarely larger is trusted farther than what is rarely smaller.
FENCE: Final = 1.5  # quartiles' distances beyond the quartiles, of logarithms (Tukey, "Exploratory Data Analysis")
BELOW_RARE: Final = 1.3  # below the size that one in twenty falls short of
ABOVE_RARE: Final = 1.5  # above the size that one in twenty exceeds, and from a published mean
FEW: Final = 2.0  # of one box that is known; the root of it for two, …


def implausible(scene: IndoorScene) -> tuple[Finding, ...]:
    """A doubt for each category with an object of no plausible size: the one that is farthest off."""
    if any(finding.subject == SCALE for finding in scene.findings):
        return ()  # its lengths are in no known unit
    worst: dict[str, tuple[float, Finding]] = {}
    for item in scene.facts.objects:
        if item.category in TYPICAL:
            excess = _excess(item)
            if excess > max(1.0, worst.get(item.category, (0.0, None))[0]):
                worst[item.category] = (excess, _implausible(item))
    return tuple(finding for _, (_, finding) in sorted(worst.items()))


def plausible_m(category: str) -> tuple[float, float]:
    """The least and the largest plausible longest side of a known category."""
    typical, published = TYPICAL[category], PUBLISHED_M.get(category, ())
    fence, few = (typical.quarter_above_m / typical.quarter_below_m) ** FENCE, FEW ** (1 / typical.boxes)
    low = min(
        typical.rarely_below_m / BELOW_RARE, typical.quarter_below_m / fence, *(m / ABOVE_RARE for m in published)
    )
    high = max(
        typical.rarely_above_m * ABOVE_RARE, typical.quarter_above_m * fence, *(m * ABOVE_RARE for m in published)
    )
    return low / few, high * few


def _excess(item: SceneObject) -> float:
    """How far beyond its limits an object is: 1 at the limit, less within."""
    size_m, (low, high) = max(item.box.lengths), plausible_m(item.category)
    return max(size_m / high, low / size_m) if size_m > 0 else math.inf


def _implausible(item: SceneObject) -> Finding:
    size_m, (low, high) = max(item.box.lengths), plausible_m(item.category)
    name = f"{item.category} #{item.instance}"
    message = f"the longest side of {name} is {size_m:.2f} m: {low:.2f} to {high:.2f} m are plausible"
    remedy = "look at the object in the scan, and correct its box or its label"
    bound_m = high if size_m > high else low
    return doubt("implausible_size", item.category, message, remedy, round(size_m, 3), round(bound_m, 3), "m")


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
    """Doubts about the boxes of a scene of any reader: which way is up, the unit, and sizes."""
    upright = upright_doubts(scene)
    sizes = scale_doubts(scene) or (() if upright else extent_doubts(scene))
    turned = any(one.name == "another_axis_is_up" for one in upright)
    labels = () if turned or sizes else label_doubts(scene)
    return (*upright, *labels, *(sizes or implausible(scene)))


# Of 107 released scenes with boxes enough the ratio is 0.54 to 1.44. Read in feet, 106 of them are beyond the limit; in
# metres where they are in feet (0.3048), in inches or in centimetres, all.
SCALE_MAX: Final = 2.0  # times as long as usual, or as short
SIZES_MIN: Final = 3  # boxes of known categories
SPREAD_LEAST: Final = 0.2  # logarithm of the ratio of quartiles: sizes of a few boxes agree by chance
SPREAD_OF_FEW: Final = 0.5  # for categories of which hardly a box is known
OF_WRONG_SIZES: Final = (SCALE, SIGHT)  # boxes around other things, or larger ones, show these in the video too


def scale_doubts(scene: IndoorScene) -> tuple[Finding, ...]:
    """A doubt where all objects together are far longer or shorter than usual: lengths are in another unit than said.

    The longest side of each as a share of the median of its category; of these the median, in which categories whose
    sizes vary little weigh more.
    """
    known = [(max(o.box.lengths), TYPICAL[o.category]) for o in scene.facts.objects if o.category in TYPICAL]
    if len(known) < SIZES_MIN or len({id(typical) for _, typical in known}) < 2:
        return ()
    ratio = np.array([size_m / typical.median_m for size_m, typical in known])
    spread = np.log([typical.quarter_above_m / typical.quarter_below_m for _, typical in known])
    few = np.array([typical.boxes < KNOWN_BOXES_MIN for _, typical in known])
    weight = 1 / np.maximum(spread, np.where(few, SPREAD_OF_FEW, SPREAD_LEAST))
    order = np.argsort(ratio, kind="stable")
    upto = np.cumsum(weight[order])
    scale = float(ratio[order][np.searchsorted(upto, upto[-1] / 2)])
    if 1 / SCALE_MAX <= scale <= SCALE_MAX:
        return ()
    message = f"{len(known)} objects of known kinds are {scale:.3g} times as long as usual, by the middle one"
    limit = SCALE_MAX if scale > 1 else 1 / SCALE_MAX
    remedy = "are lengths in metres? In feet all is 3.28 times as long, in inches 39.4; state or correct the unit"
    scale = round(scale, 3)
    return tuple(doubt("sizes_of_another_unit", of, message, remedy, scale, limit, "ratio") for of in OF_WRONG_SIZES)


def upright_doubts(scene: IndoorScene) -> tuple[Finding, ...]:
    """A doubt where objects stand as usual with another axis up, or where the floor below furniture slopes."""
    if (known := _UsualBoxes.of(scene)) is None:
        return ()
    middle, half, usual = known.middle, known.half, known.usual
    lowest = middle - half
    off = _off_m(middle, half, usual)
    best = int(off[1:].argmin()) + 1
    ratio = float(off[0] / max(off[best], NEAR_M))
    if off[0] > UP_OFF_MIN_M and ratio > UP_RATIO_MAX:
        message = (
            f"with {UP_NAMES[best]} up, {len(usual)} objects are on average {off[best]:.2f} m off the usual heights of "
            f"their kinds; with z up, {off[0]:.2f} m"
        )
        remedy = "look at the scan: z must point up; correct its alignment, or the axes given to the reader"
        return (doubt("another_axis_is_up", UPRIGHT, message, remedy, round(ratio, 3), UP_RATIO_MAX, "ratio"),)
    stands = usual[:, 0] < STANDING_MAX_M
    return _slope_doubts(np.column_stack([middle[stands][:, [2, 4]], lowest[stands, 0]]))


class _UsualBoxes(NamedTuple):
    """Boxes of categories of which it is known how high they stand and are.

    Attributes:
        middle, half: (n, 6) of their middles and half their extents along each way up, metres.
        longest: (n, 2) longest side, and its median in the category, metres.
        usual: (n, 2) lowest corner above the floor and vertical extent of the category, metres.
    """

    middle: FloatArray
    half: FloatArray
    longest: FloatArray
    usual: FloatArray

    @classmethod
    def of(cls, scene: IndoorScene) -> _UsualBoxes | None:
        """Those of a scene; None where they are too few to tell anything."""
        known = [
            (o, usual)
            for o in scene.facts.objects
            if (usual := TYPICAL.get(o.category)) and usual.boxes >= KNOWN_BOXES_MIN and usual.bottom_m is not None
        ]
        if len(known) < BOXES_MIN or len({item.category for item, _ in known}) < CATEGORIES_MIN:
            return None
        boxes = stack(*zip(*((o.box.center, o.box.lengths, o.box.axes) for o, _ in known), strict=True))
        return cls(
            boxes.center @ UPS.T,
            (np.abs(boxes.axes @ UPS.T) * boxes.half[:, :, None]).sum(1),
            np.array([(max(o.box.lengths), usual.median_m) for o, usual in known]),
            np.array([(usual.bottom_m, usual.height_m) for _, usual in known], dtype=float),
        )


def _off_m(middle: FloatArray, half: FloatArray, usual: FloatArray) -> FloatArray:
    """How far objects are on average (k,) off the usual heights of their kinds, along each of k ways up, metres."""
    off = middle - half - usual[:, :1]
    off = np.minimum(np.abs(off - np.median(off, axis=0)), OFF_MAX_M)
    return np.asarray((off + np.minimum(np.abs(2 * half - usual[:, 1:]), OFF_MAX_M)).mean(0))


# Of 81 released scenes with boxes enough the ratio is at most 1.18. Of their boxes at half their size 70 are beyond the
# limit, and at twice their size 80.
EXTENT_RATIO_MAX: Final = 1.3  # how much farther from the usual heights boxes may be than at another size
EXTENTS: Final = {2.0: "twice", 0.5: "half"}


def extent_doubts(scene: IndoorScene) -> tuple[Finding, ...]:
    """A doubt where boxes about the same middles would stand as usual at twice or half their size.

    Formats give whole lengths of boxes or half of them. Halved ones float, the higher the taller they are.
    """
    if (known := _UsualBoxes.of(scene)) is None:
        return ()
    middle, half, usual = known.middle[:, :1], known.half[:, :1], known.usual
    stated = float(_off_m(middle, half, usual)[0])
    off = {times: float(_off_m(middle, times * half, usual)[0]) for times in EXTENTS}
    times = min(off, key=off.__getitem__)
    ratio = stated / max(off[times], NEAR_M)
    if stated <= UP_OFF_MIN_M or ratio <= EXTENT_RATIO_MAX:
        return ()
    message = (
        f"at {EXTENTS[times]} their size, {len(usual)} objects are on average {off[times]:.2f} m off the usual heights "
        f"of their kinds; as they are, {stated:.2f} m"
    )
    remedy = "are sizes of boxes whole lengths, or half of them? Sizes are asked for from side to side"
    ratio, limit = round(ratio, 3), EXTENT_RATIO_MAX
    return tuple(doubt("extents_of_another_size", of, message, remedy, ratio, limit, "ratio") for of in OF_WRONG_SIZES)


# Of 81 released scenes with boxes enough 0.33 is saved at most. Of 810 random orders of their labels 84% are told, of
# labels that are each one box late, or of kinds that each have the next one's name, 79%.
LABELS_SAVED_MAX: Final = 0.4
LABELS_OFF_MIN: Final = 0.15  # saved per object: what is hardly off is no wrong label, whatever share of it is saved


def label_doubts(scene: IndoorScene) -> tuple[Finding, ...]:
    """Doubts where boxes are far more like the usual ones with their labels in another order: labels of other boxes.

    Each box is held against each label: how far longest side (its logarithm), vertical extent and lowest corner are off
    the usual ones. Counts hold whichever box has which label.
    """
    if (known := _UsualBoxes.of(scene)) is None:
        return ()
    from scipy.optimize import linear_sum_assignment  # takes half a second

    low, height, sides = known.middle[:, 0] - known.half[:, 0], 2 * known.half[:, 0], np.log(known.longest)
    low = low - np.median(low - known.usual[:, 0])
    own = np.stack([sides[:, 0], low, height])
    off = np.minimum(np.abs(own[:, :, None] - np.stack([sides[:, 1], *known.usual.T])[:, None]), OFF_MAX_M).sum(0)
    stated, best = float(off.trace()), float(off[linear_sum_assignment(off)].sum())
    saved = 1 - best / stated if stated > 0 else 0.0
    if saved <= LABELS_SAVED_MAX or stated - best <= LABELS_OFF_MIN * len(off):
        return ()
    message = f"with their labels in another order, {len(off)} boxes are {saved:.0%} less off usual sizes and heights"
    remedy = "are labels and boxes in one order, and the numbers of both those of one list?"
    name, limit = "labels_of_other_boxes", LABELS_SAVED_MAX
    return tuple(doubt(name, what, message, remedy, round(saved, 4), limit, "share") for what in (SIGHT, UPRIGHT))


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
