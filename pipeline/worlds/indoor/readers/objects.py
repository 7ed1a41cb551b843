"""From annotated instances to the objects of a scene, and back: which vertices show which object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import OrientedBox
from pipeline.reading.checks import check_repeats
from pipeline.worlds.indoor.facts import SceneObject
from pipeline.worlds.indoor.readers.categories import Curation, normal
from pipeline.worlds.indoor.readers.segments import owners

GROWN_M: Final = 0.05  # how far outside an annotated box its vertices may lie
INSIDE_MIN: Final = 0.8  # share of an instance's vertices that its annotated box must hold
SPANNED_MIN: Final = 0.5  # share of each side of an annotated box that the mesh within it must reach over
SAME_BOX_M: Final = 1e-3  # two boxes that agree to this are the same one
SLACK_M: Final = 1e-3  # a vertex this far outside a box counts as in it: meshes are rounded to float32
FLOOR_SLAB_M: Final = 0.03  # above the bottom of a box; vertices there are the floor's, not the object's
FLAT_BOX_M: Final = 0.15  # a box lower than this has no such slab: it would be a good part of the object
NAMED_LABELS: Final = 20  # labels that one message names


@dataclass(frozen=True)
class Instance:
    """One annotated instance of a curated category.

    Attributes:
        number: its number in the annotation (objectId, id, or place).
        label: the dataset's own label.
        category: the category it becomes.
        box: its box, world frame.
        vertices: indices of its vertices; None where the annotation does not tell.
    """

    number: int
    label: str
    category: str
    box: OrientedBox
    vertices: IntArray | None


def curated(
    labels: Iterable[str], curation: Curation, findings: Findings, mapped: Mapping[str, str | None] | None = None
) -> list[str | None]:
    """The category of each label, None for those left out; reports doubtful and unknown ones.

    ``mapped`` tells of labels that no list names which listed one they stand for; None leaves a label out.
    """
    named = [_stand_in(label, curation, mapped or {}) for label in labels]
    listed = [label for label in named if label is not None]
    doubtful = Counter(normal(label) for label in listed if normal(label) in curation.doubtful)
    for label, count in sorted(doubtful.items()):
        category = curation.doubtful[label]
        message = f"{count} annotated as {label!r} may or may not count as {category}, or stand for several"
        remedy = f"settle it in meta_schemas/categories/{curation.dataset}.yaml, or give the count as a fix"
        findings.add(doubt("doubtful_label", category, message, remedy, count, 0, "objects"))
    hinted = Counter((label, hint) for label in listed if (hint := curation.hinted(label)) is not None)
    for (label, hint), count in sorted(hinted.items()):
        message = f"{count} annotated as {label!r}, which no list names, may or may not count as {hint}"
        remedy = f"settle it in meta_schemas/categories/{curation.dataset}.yaml, under left_out if it is none"
        findings.add(doubt("unlisted_label", hint, message, remedy, count, 0, "objects"))
    unknown = Counter(label for label in listed if not curation.knows(label))
    if unknown:
        names = [f"{label!r} ({count})" for label, count in sorted(unknown.items())]
        more = f" and {len(names) - NAMED_LABELS} more" if len(names) > NAMED_LABELS else ""
        message = f"labels that no list of categories names: {', '.join(names[:NAMED_LABELS])}{more}"
        remedy = (
            f"add them to meta_schemas/categories/{curation.dataset}.yaml, under left_out if nothing is to be asked"
        )
        findings.add(note("unknown_label", "labels", message, remedy, sum(unknown.values()), 0, "objects"))
    return [None if label is None else curation.category.get(normal(label)) for label in named]


def _stand_in(label: str, curation: Curation, mapped: Mapping[str, str | None]) -> str | None:
    """The label that is looked up for a label: itself, unless no list has it and the dataset's table knows better."""
    key = normal(label)
    return label if curation.knows(label) or key not in mapped else mapped[key]


def assemble(instances: Sequence[Instance], findings: Findings) -> tuple[tuple[SceneObject, ...], dict[str, int]]:
    """Objects in order of category, numbered within it in the order of the annotation, and their counts."""
    objects = []
    counts: dict[str, int] = {}
    for item in sorted(instances, key=lambda i: i.category):  # stable
        number = counts.get(item.category, 0)
        counts[item.category] = number + 1
        objects.append(SceneObject(category=item.category, instance=number, raw_label=item.label, box=item.box))
    for category in counts:
        check_repeats(category, [o.box for o in objects if o.category == category], findings)
    return tuple(objects), counts


def in_box(points: FloatArray, box: OrientedBox, grown_m: float = 0.0) -> BoolArray:
    """Whether each point (N, 3) lies in a box that is grown on all sides."""
    reach = np.abs(np.array(box.axes)).T @ np.array(box.lengths) / 2 + grown_m * np.sqrt(3.0)
    offset = points - np.array(box.center)
    inside: BoolArray = (np.abs(offset) <= reach).all(axis=1)  # most points are far off: their extent rules them out
    near = np.flatnonzero(inside)
    inside[near] = (np.abs(_local(offset[near], box)) <= np.array(box.lengths) / 2 + grown_m).all(axis=1)
    return inside


def check_against_own(item: Instance, vertices: FloatArray, findings: Findings) -> None:
    """Compares an annotated box with the vertices that the annotation gives to the instance."""
    if item.vertices is None or not len(item.vertices):
        return
    share = float(in_box(vertices[item.vertices], item.box, GROWN_M).mean())
    if share < INSIDE_MIN:
        message = (
            f"the box of {item.label} {item.number} holds {share:.0%} of the instance's {len(item.vertices)} vertices"
        )
        remedy = "look at the box in the mesh and correct it, or fetch mesh and annotation of one release"
        findings.add(doubt("box_misses_mesh", item.category, message, remedy, share, INSIDE_MIN, "share"))


def check_against_mesh(item: Instance, vertices: FloatArray, findings: Findings) -> None:
    """Compares an annotated box with a mesh that has no labels: what is in the box should reach over all its sides."""
    inside = vertices[in_box(vertices, item.box, GROWN_M)]
    share = 0.0
    if len(inside):
        half = np.array(item.box.lengths) / 2
        local = np.clip(_local(inside - np.array(item.box.center), item.box), -half, half)
        share = float((np.ptp(local, axis=0) / np.array(item.box.lengths)).min())
    if share < SPANNED_MIN:
        message = (
            f"the mesh in the box of {item.label} {item.number} ({len(inside)} vertices) reaches over {share:.0%} "
        )
        message += "of one of its sides"
        remedy = "look at the box in the mesh and correct it, or fetch mesh and annotation of one release"
        findings.add(doubt("box_misses_mesh", item.category, message, remedy, share, SPANNED_MIN, "share"))


def label_vertices(
    vertices: FloatArray, objects: Sequence[SceneObject], instances: Sequence[Instance]
) -> npt.NDArray[np.int32]:
    """Index (V,) into ``objects`` of what each vertex shows, -1 for none.

    An object takes the vertices of the instance that has its box; of instances that share a vertex, the smallest has it
    (see `segments`). Objects without such an instance, be it that the
    annotation gives no vertices or that a fix changed or added them, take the unclaimed vertices in their box, and
    where boxes overlap the smallest box wins; the floor under an object is not part of it.
    """
    mine_of = [item.vertices for item in instances if item.vertices is not None and len(item.vertices)]
    boxes = [item.box for item in instances if item.vertices is not None and len(item.vertices)]
    object_of = np.full(len(boxes) + 1, -1, dtype=np.int32)  # the last entry: no instance
    by_box: list[int] = []
    for number, wanted in enumerate(objects):
        match = next((i for i, box in enumerate(boxes) if object_of[i] < 0 and _same(box, wanted.box)), None)
        if match is None:
            by_box.append(number)
        else:
            object_of[match] = number
    kept = np.flatnonzero(object_of[:-1] >= 0)
    place, _ = owners([mine_of[i] for i in kept], len(vertices))
    owner = object_of[np.append(kept, len(boxes))[place]]  # -1 takes the last entry
    unclaimed = np.flatnonzero(owner < 0)
    for number in sorted(by_box, key=lambda n: -float(np.prod(objects[n].box.lengths))):
        box = objects[number].box
        mine = in_box(vertices[unclaimed], box, SLACK_M)
        height = float(np.abs(np.array(box.axes)[:, 2]) @ np.array(box.lengths))
        if height >= FLAT_BOX_M:
            mine &= vertices[unclaimed, 2] > box.center[2] - height / 2 + FLOOR_SLAB_M
        owner[unclaimed[mine]] = number
    return owner


def _same(a: OrientedBox, b: OrientedBox) -> bool:
    return max(abs(x - y) for x, y in zip((*a.center, *a.lengths), (*b.center, *b.lengths), strict=True)) < SAME_BOX_M


def _local(offset: FloatArray, box: OrientedBox) -> FloatArray:
    rows = np.array(box.axes)
    return np.stack([offset[:, 0] * r[0] + offset[:, 1] * r[1] + offset[:, 2] * r[2] for r in rows], axis=1)
