"""What annotations of datasets share: labelled boxes by the arrays, as a neutral scene, and which were left out."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import MAX_OBJECTS, SceneDocument
from pipeline.reading.checks import CATEGORY, CATEGORY_MAX_CHARS
from pipeline.worlds.indoor.readers.categories import normal

SIDE_MIN: Final = 1e-3  # in the unit of the boxes; what has no thickness is no box
RIGID_MAX: Final = 0.01  # largest entry of |R Rᵀ - 1|; the rotation next to a sound one is taken
SHOWN: Final = 12  # labels that one remark names
# What is no thing, or names none: surfaces of the room, and what annotators write where they know no word.
STRUCTURE: Final = frozenset({"wall", "floor", "ceiling", "beam", "room", "shelter"})  # the last: ADT's apartment
NAMELESS: Final = frozenset(
    {"", "undefined", "unknown", "object", "objects", "other", "misc", "remove", "void", "item"}
)
SOME: Final = "whether every object of a label is annotated is not known: look, and add labels to complete"
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class AnnotatedBoxes(NamedTuple):
    """Labelled boxes in the file's frame.

    Attributes:
        labels: one per box, as annotated.
        center: (N, 3).
        size: (N, 3) full sides along the box's own axes.
        axes: (N, 3, 3), one axis per row.
    """

    labels: Sequence[str]
    center: FloatArray
    size: FloatArray
    axes: FloatArray


def annotated_scene(
    place: Path,
    boxes: AnnotatedBoxes,
    *,
    complete: bool,
    incomplete: Collection[str] = (),
    remarks: Sequence[str] = (),
    up: str = "z",
    handedness: str = "right",
    **parts: Any,
) -> SceneDocument:
    """The boxes as a neutral scene in metres.

    Surfaces of the room and nameless things are left out. So are boxes that are none; their labels are not complete.

    Args:
        place: what to name in messages.
        boxes: in metres.
        complete: whether the dataset annotates every object of the labels that it uses.
        incomplete: labels of which it does not.
        remarks: for people.
        up: axis of the file's frame.
        handedness: of it.
        parts: other keys of the document.

    Raises:
        RawDataError: no box is left, or most are none (``unusable_boxes``).
    """
    labels = np.array([normal(label) for label in boxes.labels], dtype=object)
    named = np.array([_is_thing(label) for label in labels], dtype=bool)
    axes, sound = _nearest_axes(boxes)
    if named.any() and not sound[named].any():
        message = f"none of {int(named.sum())} boxes has sides, a place and axes at right angles"
        raise RawDataError(place, "unusable_boxes", message, "fetch the annotation again")
    kept = np.flatnonzero(named & sound)
    if not len(kept) or len(kept) > MAX_OBJECTS:
        message = f"{len(labels)} boxes, {len(kept)} of them of things with a name"
        raise RawDataError(place, "unusable_boxes", message, f"give 1 to {MAX_OBJECTS} boxes")
    lost, notes = sorted({*labels[named & ~sound]}), list(remarks)
    if lost:
        bad = int((named & ~sound).sum())
        notes.append(f"{bad} boxes have no sides or axes and were left out: {shown(lost)}; look for these in the scene")
    left = Counter(labels[~named].tolist())
    if left:
        notes.append(f"left out, as surfaces or without a name: {shown(f'{k} ({n})' for k, n in sorted(left.items()))}")
    open_ended = {*lost, *map(normal, incomplete)}
    document = {
        "format": "scan2qa-scene",
        "version": 1,
        "unit": "m",
        "up": up,
        "handedness": handedness,
        "complete": sorted({*labels[kept]} - open_ended) if complete and open_ended else complete,
        "objects": [
            {"label": label, "center": center, "size": size, "axes": rows}
            for label, center, size, rows in zip(
                labels[kept],
                boxes.center[kept].round(6).tolist(),
                boxes.size[kept].round(6).tolist(),
                axes[kept].round(9).tolist(),
                strict=True,
            )
        ],
        "remarks": notes,
    }
    return SceneDocument.model_validate(document | parts)


def shown(names: Iterable[str]) -> str:
    """Names for a message, not too many."""
    listed = list(names)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


def split_words(name: str) -> str:
    """A class name as words: ``TVStand`` is "TV stand"."""
    words = _WORDS.sub(" ", name).split()
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)


def placed(turn: FloatArray, local: FloatArray, shift: FloatArray) -> FloatArray:
    """Places (N, 3) of an own frame each, turned by (N, 3, 3) and shifted; what is not finite stays so."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.einsum("nij,nj->ni", turn, local) + shift)


def _is_thing(label: str) -> bool:
    fits = CATEGORY.fullmatch(label) is not None and len(label) <= CATEGORY_MAX_CHARS and " the " not in label
    return fits and label not in STRUCTURE | NAMELESS and not label.startswith("part of ")


def _nearest_axes(boxes: AnnotatedBoxes) -> tuple[FloatArray, BoolArray]:
    """Right-handed orthonormal axes (N, 3, 3), and which boxes (N,) are sound; an axis may be turned about."""
    axes = np.asarray(boxes.axes, dtype=float).reshape(-1, 3, 3)
    numbers = np.concatenate([boxes.center, boxes.size, axes.reshape(-1, 9)], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        sound = np.isfinite(numbers).all(axis=1) & (boxes.size >= SIDE_MIN).all(axis=1)
        off = np.abs(np.einsum("nij,nkj->nik", axes, axes) - np.eye(3)).max(axis=(1, 2))
        sound &= off <= RIGID_MAX
    result = np.tile(np.eye(3), (len(axes), 1, 1))
    u, _, v = np.linalg.svd(axes[sound])
    turned = np.einsum("nij,njk->nik", u, v)
    turned[:, 2] *= np.sign(np.linalg.det(turned))[:, None]
    result[sound] = turned
    return result, sound
