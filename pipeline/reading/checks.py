"""Named findings about unified metadata: what is wrong, where, by how much, and what to do."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.findings import Findings, doubt, fault, note
from pipeline.core.schema import OrientedBox
from pipeline.geometry.boxes import Boxes, stack

BOX_KEYS: Final = frozenset({"centroid", "axesLengths", "normalizedAxes", "min", "max"})
OPTIONAL_BOX_KEYS: Final = frozenset({"min", "max"})
ORTHONORMAL_TOLERANCE: Final = 1e-3  # largest entry of |R Rᵀ - 1|; the released files stay below 1e-6
LENGTH_MAX_M: Final = 50.0  # no object indoors is longer; millimetres are a thousand times too long
POSITION_MAX_M: Final = 10_000.0
DEGENERATE_M: Final = 1e-6  # a side below it is no side
THIN_M: Final = 1e-3  # a side below it is doubtful
EXTENT_TOLERANCE_M: Final = 0.01  # between the stated min/max and the box
# Of what two boxes fill together, the share that both fill. In the released scenes two boxes of one category share 0.38
# at most, or are one box given twice (1.00); of two categories 0.31, but for a bed and the blanket on it (0.83).
SHARED_MAX: Final = 0.5
SHARED_BY_KINDS_MAX: Final = 0.9
SHARED_SLACK_M: Final = 1e-6
_SPREAD: Final = np.stack(np.meshgrid(*[(np.arange(12) - 5.5) / 6] * 3), axis=-1).reshape(-1, 3)
REPEATS_NAMED: Final = 20  # pairs in a message
COMPARED: Final = 256  # boxes at once: of thousands in one place each soon finds one that repeats it
# A category becomes part of a sentence and of a list separated by commas.
CATEGORY: Final = re.compile(r"[^\W_](?:[^,;?()\[\]{}<>|\\\s\x00-\x1f\x7f\ud800-\udfff]| (?! ))*(?<! )")
CATEGORY_MAX_CHARS: Final = 100
AXIS_ENTRY_MAX: Final = 2.0  # a unit axis has none above 1; beyond it the products need not be looked at


def check_keys(raw: dict[str, Any], expected: frozenset[str], what: str, findings: Findings) -> None:
    """Reports unknown and missing keys as faults."""
    for key in sorted(set(raw) - expected):
        findings.add(fault("unknown_key", key, f"{what} has the unknown key {key!r}", "remove it or update the reader"))
    for key in sorted(expected - set(raw)):
        findings.add(fault("missing_key", key, f"{what} has no {key!r}", "add it (null where it was not measured)"))


def check_name(category: str, findings: Findings) -> bool:
    """Whether a category can stand in a question; reports one that cannot."""
    if len(category) <= CATEGORY_MAX_CHARS and CATEGORY.fullmatch(category) and " the " not in category:
        return True
    why = f"blanks, commas, brackets, control characters, the word 'the', or not 1 to {CATEGORY_MAX_CHARS} characters"
    message = f"the category {category!r} cannot stand in a question ({why})"
    findings.add(fault("unusable_category", category, message, "rename the category"))
    return False


def finite_number(raw: object, what: str, findings: Findings) -> float | None:
    """A finite float, or None with a fault."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        findings.add(fault("wrong_type", what, f"{what} is {raw!r}, not a number"))
        return None
    try:
        value = float(raw)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        findings.add(fault("not_finite", what, f"{what} is {value}", "measure it again or write null"))
        return None
    return value


def number_list(raw: object, length: int, what: str, findings: Findings) -> list[float] | None:
    """A list of ``length`` finite floats, or None with a fault."""
    if not isinstance(raw, list) or len(raw) != length:
        found = f"{len(raw)} entries" if isinstance(raw, list) else type(raw).__name__
        findings.add(fault("wrong_shape", what, f"{what} needs {length} numbers, found {found}"))
        return None
    values = [finite_number(v, f"{what}[{i}]", findings) for i, v in enumerate(raw)]
    return [v for v in values if v is not None] if None not in values else None


def check_box(raw: object, what: str, category: str, findings: Findings) -> OrientedBox | None:
    """One box; None where it is at fault."""
    if not isinstance(raw, dict):
        findings.add(fault("wrong_type", category, f"box {what} is {type(raw).__name__}, not an object"))
        return None
    check_keys(raw, BOX_KEYS if OPTIONAL_BOX_KEYS & set(raw) else BOX_KEYS - OPTIONAL_BOX_KEYS, f"box {what}", findings)
    center = number_list(raw.get("centroid"), 3, f"centroid of {what}", findings)
    lengths = number_list(raw.get("axesLengths"), 3, f"axesLengths of {what}", findings)
    axes = number_list(raw.get("normalizedAxes"), 9, f"normalizedAxes of {what}", findings)
    if center is None or lengths is None or axes is None:
        return None
    rows = np.array(axes).reshape(3, 3)
    if not (_lengths_are_sound(lengths, what, category, findings) and _axes_are_sound(rows, what, category, findings)):
        return None
    if max(map(abs, center)) > POSITION_MAX_M:
        message = f"{what} lies {max(map(abs, center)):.0f} from the origin"
        findings.add(fault("implausible_position", category, message, "give metres in the scan's own frame"))
        return None
    _check_extent(raw, np.array(center), np.array(lengths), rows, (what, category), findings)
    a, b, c = (tuple(map(float, row)) for row in rows)
    return OrientedBox.model_validate({"center": center, "lengths": lengths, "axes": (a, b, c)})


def check_repeats(named: Sequence[tuple[str, OrientedBox]], findings: Findings) -> None:
    """Reports boxes that fill one place, each given with its category: two solid things cannot.

    Of two boxes that share more than half of what they fill together, each holds the other's middle.
    """
    boxes = stack([b.center for _, b in named], [b.lengths for _, b in named], [b.axes for _, b in named])
    seen, names = Counter[str](), list[str]()
    for category, _ in named:
        names.append(f"{category} #{seen[category]}")
        seen[category] += 1
    shared: dict[str, list[tuple[float, float, str]]] = {}  # share, limit and names of pairs
    x, reach = boxes.center[:, 0], np.linalg.norm(boxes.half, axis=1)
    order = np.argsort(x, kind="stable")
    begins, ends = np.searchsorted(x[order], x - reach), np.searchsorted(x[order], x + reach, side="right")
    for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        near = order[begin:end]  # those whose middles it may hold
        later = np.sort(near[near > i], kind="stable")
        for start in range(0, len(later), COMPARED):
            if (found := _first_shared(named, boxes, i, later[start : start + COMPARED])) is not None:
                j, share, limit = found
                for category in {named[i][0], named[j][0]}:
                    shared.setdefault(category, []).append((round(share, 4), limit, f"{names[i]} and {names[j]}"))
                break  # it is one too many whatever else repeats it
    for category, pairs in sorted(shared.items()):
        more = f" and {len(pairs) - REPEATS_NAMED} more" if len(pairs) > REPEATS_NAMED else ""
        listed = ", ".join(pair for _, _, pair in pairs[:REPEATS_NAMED])
        share, limit, _ = max(pairs)
        message = f"boxes fill one place: {listed}{more} share up to {share:.0%} of what they fill together"
        remedy = "remove the doubled boxes and check the count"
        findings.add(doubt("doubled_box", category, message, remedy, share, limit, "share"))


def _first_shared(
    named: Sequence[tuple[str, OrientedBox]], boxes: Boxes, i: int, among: IntArray
) -> tuple[int, float, float] | None:
    """The first of some boxes that fills the place of another one, what share both fill, and the limit."""
    others = boxes.take(among)
    off = others.center - boxes.center[i]
    own = (np.abs(off @ boxes.axes[i].T) <= boxes.half[i]).all(1)
    theirs = (np.abs((others.axes @ off[:, :, None])[:, :, 0]) <= others.half).all(1)
    for j in among[own & theirs].tolist():
        limit = SHARED_MAX if named[i][0] == named[j][0] else SHARED_BY_KINDS_MAX
        if (share := _shared(boxes, i, j)) > limit:
            return j, share, limit
    return None


def _shared(boxes: Boxes, i: int, j: int) -> float:
    """Intersection over union of two boxes, by points spread evenly over the smaller one."""
    (volume, small), (most, large) = sorted((8 * float(boxes.half[k].prod()), k) for k in (i, j))
    points = boxes.center[small] + _SPREAD * boxes.half[small] @ boxes.axes[small]
    inside = np.abs((points - boxes.center[large]) @ boxes.axes[large].T) <= boxes.half[large] + SHARED_SLACK_M
    both = float(inside.all(1).mean()) * volume
    return both / (volume + most - both)


def _lengths_are_sound(lengths: list[float], what: str, category: str, findings: Findings) -> bool:
    shortest, longest = min(lengths), max(lengths)
    if shortest < 0:
        findings.add(fault("negative_length", category, f"a side of {what} is {shortest} m", "fit the box again"))
    elif shortest < DEGENERATE_M:
        findings.add(fault("degenerate_box", category, f"a side of {what} is {shortest} m", "fit the box again"))
    elif longest > LENGTH_MAX_M:
        message = f"a side of {what} is {longest:g} m, over {LENGTH_MAX_M:g}"
        findings.add(fault("implausible_length", category, message, "are these millimetres? Give metres"))
    else:
        if shortest < THIN_M:
            message = f"a side of {what} is {shortest:g} m"
            findings.add(doubt("thin_box", category, message, "check the annotation", shortest, THIN_M, "m"))
        return True
    return False


def _axes_are_sound(rows: np.ndarray, what: str, category: str, findings: Findings) -> bool:
    largest = float(np.abs(rows).max())
    error = largest if largest > AXIS_ENTRY_MAX else float(np.abs(rows @ rows.T - np.eye(3)).max())
    if error > ORTHONORMAL_TOLERANCE:
        message = f"the axes of {what} are off orthonormal by {error:.3g} (limit {ORTHONORMAL_TOLERANCE:g})"
        findings.add(
            fault("axes_not_orthonormal", category, message, "give three unit axes at right angles, one per row")
        )
        return False
    return True


def _check_extent(
    raw: dict[str, Any],
    center: np.ndarray,
    lengths: np.ndarray,
    rows: np.ndarray,
    names: tuple[str, str],
    findings: Findings,
) -> None:
    """Compares the stated world extent, which nothing else uses, with that of the box."""
    what, category = names
    if not set(raw) >= OPTIONAL_BOX_KEYS:
        return
    low = number_list(raw["min"], 3, f"min of {what}", findings)
    high = number_list(raw["max"], 3, f"max of {what}", findings)
    if low is None or high is None:
        return
    reach = np.abs(rows.T) @ (lengths / 2)
    error = float(max(np.abs(center - reach - low).max(), np.abs(center + reach - high).max()))
    if error > EXTENT_TOLERANCE_M:
        message = f"min and max of {what} differ from its box by {error:.3f} m"
        remedy = "were centre, sides or axes changed by hand? Nothing but this check uses min and max"
        findings.add(note("extent_differs_from_box", category, message, remedy, error, EXTENT_TOLERANCE_M, "m"))
