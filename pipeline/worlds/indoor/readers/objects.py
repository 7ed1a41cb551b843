"""From annotated instances to the objects of a scene, and back: which vertices show which object.

ScanNet and ScanNet++ state which vertices of a segmented mesh belong to which annotated group. A vertex may belong to
several groups (in ScanNet++ that is common: a monitor lies within the group of its table). It then shows the group with
the fewest vertices, of equally large ones the first of the file, as in ScanNet++'s own toolbox
(semantic/transforms/mesh.py, which sorts a vertex's instances by size).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from operator import mul
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import Findings, doubt, fault, note
from pipeline.core.schema import OrientedBox
from pipeline.reading.checks import check_repeats
from pipeline.worlds.indoor.facts import SIGHT, UPRIGHT, SceneObject
from pipeline.worlds.indoor.readers.categories import Curation, normal

GROWN_M: Final = 0.05  # how far outside an annotated box its vertices may lie
INSIDE_MIN: Final = 0.8  # share of an instance's vertices that its annotated box must hold
SPANNED_MIN: Final = 0.5  # share of each side of an annotated box that the mesh within it must reach over
MISSED_MAX: Final = 0.5  # share of boxes that miss the mesh; none of the sound samples' and of the kitchen's does
SAME_BOX_M: Final = 1e-3  # two boxes that agree to this are the same one
SLACK_M: Final = 1e-3  # a vertex this far outside a box counts as in it: meshes are rounded to float32
FLOOR_SLAB_M: Final = 0.03  # above the bottom of a box; vertices there are the floor's, not the object's
FLAT_BOX_M: Final = 0.15  # a box lower than this has no such slab: it would be a good part of the object
SPANNED_FULL: Final = 0.9  # from which lengths are in order, whatever would fill others, as chairs at a table
TURNED_MORE: Final = 1.1  # as many vertices in a box that is read otherwise as in the box, and of how many boxes
TURNED_OF: Final = 3  # of five sound samples up to 3, where 18 hold fewer; read otherwise 3 to 15, where 2 at most do
TURNED_TIMES: Final = 2  # as often as less
NAMED_LABELS: Final = 20  # labels that one message names


@dataclass(frozen=True)
class AnnotatedInstance:
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


def assemble(
    instances: Sequence[AnnotatedInstance], findings: Findings
) -> tuple[tuple[SceneObject, ...], dict[str, int]]:
    """Objects in order of category, numbered within it in the order of the annotation, and their counts."""
    objects = []
    counts: dict[str, int] = {}
    for item in sorted(instances, key=lambda i: i.category):  # stable
        number = counts.get(item.category, 0)
        counts[item.category] = number + 1
        objects.append(SceneObject(category=item.category, instance=number, raw_label=item.label, box=item.box))
    check_repeats([(o.category, o.box) for o in objects], findings)
    return tuple(objects), counts


def in_box(points: FloatArray, box: OrientedBox, grown_m: float = 0.0) -> BoolArray:
    """Whether each point (N, 3) lies in a box that is grown on all sides."""
    reach = np.abs(np.array(box.axes)).T @ np.array(box.lengths) / 2 + grown_m * np.sqrt(3.0)
    offset = points - np.array(box.center)
    inside: BoolArray = (np.abs(offset) <= reach).all(axis=1)  # most points are far off: their extent rules them out
    near = np.flatnonzero(inside)
    inside[near] = (np.abs(_local(offset[near], box)) <= np.array(box.lengths) / 2 + grown_m).all(axis=1)
    return inside


def check_against_own(item: AnnotatedInstance, vertices: FloatArray, findings: Findings) -> None:
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


def check_against_mesh(
    item: AnnotatedInstance, vertices: FloatArray, findings: Findings, spanned_min: float = SPANNED_MIN
) -> None:
    """Compares an annotated box with a mesh that has no labels: what is in the box should reach over all its sides."""
    inside = vertices[in_box(vertices, item.box, GROWN_M)]
    share = 0.0
    if len(inside):
        half = np.array(item.box.lengths) / 2
        local = np.clip(_local(inside - np.array(item.box.center), item.box), -half, half)
        share = float((np.ptp(local, axis=0) / np.array(item.box.lengths)).min())
    if share < spanned_min:
        message = (
            f"the mesh in the box of {item.label} {item.number} ({len(inside)} vertices) reaches over {share:.0%} "
        )
        message += "of one of its sides"
        remedy = "look at the box in the mesh and correct it, or fetch mesh and annotation of one release"
        findings.add(doubt("box_misses_mesh", item.category, message, remedy, share, spanned_min, "share"))


def check_boxes(
    instances: Sequence[AnnotatedInstance], vertices: FloatArray, findings: Findings, spanned_min: float = SPANNED_MIN
) -> None:
    """Compares all annotated boxes with such a mesh. Where most miss it, those that meet it do so by chance."""
    before = len(findings.items)
    for item in instances:
        check_against_mesh(item, vertices, findings, spanned_min)
    missed = len(findings.items) - before
    if missed >= TURNED_OF and missed > MISSED_MAX * len(instances):
        message = f"{missed} of {len(instances)} boxes miss the mesh: the others are in doubt too"
        remedy = "fetch mesh and annotation of one scan; boxes must be in the mesh's frame and unit, and not mirrored"
        share = round(missed / len(instances), 4)
        for what in (SIGHT, UPRIGHT):
            findings.add(doubt("box_misses_mesh", what, message, remedy, share, MISSED_MAX, "share"))
    else:
        check_turns(instances, vertices, findings)


def check_turns(instances: Sequence[AnnotatedInstance], vertices: FloatArray, findings: Findings) -> None:
    """A box is filled better by the mesh as it is than with its numbers read in another way.

    Axes may be columns for rows, lengths in another order than the axes, x or y of the other sign.
    """
    better, worse = Counter[str](), Counter[str]()
    vertices = vertices[np.argsort(vertices[:, 0])]
    x = vertices[:, 0].copy()

    def near(center: Sequence[float], reach: float) -> FloatArray:  # of up to a million vertices
        block = vertices[slice(*np.searchsorted(x, (center[0] - reach, center[0] + reach)))]
        return block[(np.abs(block[:, 1:] - center[1:]) <= reach).all(axis=1)]

    for item in instances:
        reach = math.hypot(*item.box.lengths) / 2 + 2 * GROWN_M
        readings = list(_read_otherwise(item.box))
        around = {center: near(center, reach) for center in {box.center for _, box in readings}}
        own = _filled(around[item.box.center], item.box)
        for how, box in readings:
            other = _filled(around[box.center], box)
            fuller = own.vertices * TURNED_MORE < other.vertices
            spanned = box.lengths == item.box.lengths or own.reach <= min(other.reach, SPANNED_FULL)
            better[how] += fuller and spanned
            worse[how] += other.vertices * TURNED_MORE < own.vertices
    how = max(better, key=lambda one: better[one] - TURNED_TIMES * worse[one], default="")
    if better[how] >= TURNED_OF and better[how] > TURNED_TIMES * worse[how]:
        message = f"{better[how]} boxes would be filled better by the mesh with {how}, {worse[how]} less"
        remedy = "are axes rows, lengths in the order of the axes, and boxes in the mesh's frame?"
        limit = TURNED_TIMES * worse[how]
        for what in (SIGHT, UPRIGHT):
            findings.add(doubt("box_misses_mesh", what, message, remedy, better[how], limit, "boxes"))


class _Filled(NamedTuple):
    """How many vertices a box holds, those of the floor below it aside, and the least share of a side they span."""

    vertices: int
    reach: float


def _filled(vertices: FloatArray, box: OrientedBox) -> _Filled:
    height = float(np.abs(np.array(box.axes)[:, 2]) @ np.array(box.lengths))
    inside = vertices[in_box(vertices, box, GROWN_M)]
    if height >= FLAT_BOX_M:
        inside = inside[inside[:, 2] > box.center[2] - height / 2 + FLOOR_SLAB_M]
    if not len(inside):
        return _Filled(0, 0.0)
    half = np.array(box.lengths) / 2
    local = np.clip(_local(inside - np.array(box.center), box), -half, half)
    return _Filled(len(inside), float((np.ptp(local, axis=0) / np.array(box.lengths)).min()))


def _read_otherwise(box: OrientedBox) -> Iterator[tuple[str, OrientedBox]]:
    """The boxes that the numbers of a box could also mean, and how these are read then."""
    yield "their axes transposed", box.model_copy(update={"axes": tuple(zip(*box.axes, strict=True))})
    for order in tuple(permutations(range(3)))[1:]:
        lengths = tuple(box.lengths[i] for i in order)
        yield f"their lengths in the order {order}", box.model_copy(update={"lengths": lengths})
    for signs in ((-1, 1, 1), (1, -1, 1), (-1, -1, 1)):
        center, *axes = (tuple(map(mul, signs, numbers)) for numbers in (box.center, *box.axes))
        yield f"x, y, z times {signs}", box.model_copy(update={"center": center, "axes": tuple(axes)})


def label_vertices(
    vertices: FloatArray, objects: Sequence[SceneObject], instances: Sequence[AnnotatedInstance]
) -> npt.NDArray[np.int32]:
    """Index (V,) into ``objects`` of what each vertex shows, -1 for none.

    An object takes the vertices of the instance that has its box; of instances that share a vertex, the smallest has it
    (see `owners`). Objects without such an instance, be it that the
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


MAX_NUMBER: Final = 2**31 - 1  # of a group
SHARED_MAX: Final = 0.2  # share of an instance's vertices that may belong to another one too without a word
GIVEN_MAX: Final = 0.5  # share that may go to smaller instances; an instance that loses more is one of them again


@dataclass(frozen=True)
class AnnotationGroup:
    """One annotated instance: its number in the file, the dataset's label, its segments, and the whole entry."""

    number: int
    label: str
    segments: IntArray
    raw: dict[str, Any]


@dataclass(frozen=True)
class GroupVertices:
    """Vertices of each group.

    Attributes:
        vertices: per group, ascending vertex indices.
        lost: per group, number of its segments that no vertex has.
        shared: per group, share of its vertices that another group claims too.
        given: per group, share of its vertices that show another group, because that one is smaller.
        contested: per group, whether it took vertices from one that gave away more than `GIVEN_MAX`.
    """

    vertices: tuple[IntArray, ...]
    lost: tuple[int, ...]
    shared: tuple[float, ...]
    given: tuple[float, ...]
    contested: tuple[bool, ...]


def segment_indices(raw: dict[str, Any], vertices: int, findings: Findings) -> IntArray | None:
    """The segment (V,) of each vertex; None with a fault."""
    values = raw.get("segIndices")
    if not isinstance(values, list):
        findings.add(
            fault("missing_key", "segIndices", "there is no list 'segIndices'", "is this a segmentation file?")
        )
        return None
    indices = _whole_numbers(values)
    if indices is None:
        findings.add(fault("wrong_type", "segIndices", "segIndices holds something else than whole numbers"))
        return None
    if len(indices) != vertices:
        message = f"segIndices has {len(indices)} entries, the mesh {vertices} vertices"
        findings.add(
            fault("segments_differ_from_mesh", "segIndices", message, "fetch mesh and segments of one release")
        )
        return None
    return indices


def parse_groups(raw: dict[str, Any], id_key: str, findings: Findings) -> list[AnnotationGroup]:
    """The groups of an aggregation in file order; whatever is wrong becomes a fault."""
    entries = raw.get("segGroups")
    if not isinstance(entries, list):
        findings.add(fault("missing_key", "segGroups", "there is no list 'segGroups'", "is this an annotation file?"))
        return []
    if not entries:
        findings.add(fault("empty_annotation", "segGroups", "segGroups is empty", "annotate the scan, or leave it out"))
    groups: list[AnnotationGroup] = []
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            findings.add(fault("wrong_type", f"segGroups[{place}]", f"segGroups[{place}] is {type(entry).__name__}"))
            continue
        number, label = entry.get(id_key, entry.get("id")), entry.get("label")
        segments = _whole_numbers(entry.get("segments"))
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_NUMBER:
            findings.add(fault("wrong_type", f"segGroups[{place}]", f"{id_key} of segGroups[{place}] is {number!r}"))
        elif not isinstance(label, str) or not label.strip():
            findings.add(fault("wrong_type", f"segGroups[{place}]", f"the label of segGroups[{place}] is {label!r}"))
        elif segments is None:
            message = f"segments of segGroups[{place}] ({label}) is no list of whole numbers"
            findings.add(fault("wrong_type", label, message))
        else:
            groups.append(AnnotationGroup(number, label, np.unique(segments), entry))
    groups = _without_repeats(groups, findings)
    twice = sorted(number for number, times in Counter(g.number for g in groups).items() if times > 1)
    if twice:
        message = f"{id_key} {', '.join(map(str, twice))} is given to more than one group"
        findings.add(fault("duplicate_object_id", "segGroups", message, "number the groups apart"))
    return groups


def members(segment_of: IntArray, groups: list[AnnotationGroup]) -> GroupVertices:
    """The vertices of each group, without a loop over vertices or segments."""
    order = np.argsort(segment_of, kind="stable")
    known, starts, sizes = np.unique(segment_of[order], return_index=True, return_counts=True)
    vertices, lost = [], []
    for group in groups:
        place = np.searchsorted(known, group.segments)
        there = place < len(known)
        there[there] = known[place[there]] == group.segments[there]
        lost.append(int((~there).sum()))
        vertices.append(np.sort(order[_ranges(starts[place[there]], sizes[place[there]])]))
    owner, claims = owners(vertices, len(segment_of))
    shared = tuple(float((claims[v] > 1).mean()) if len(v) else 0.0 for v in vertices)
    given = tuple(float((owner[v] != g).mean()) if len(v) else 0.0 for g, v in enumerate(vertices))
    contested = np.zeros(len(groups), dtype=bool)
    for loser, mine in enumerate(vertices):
        if given[loser] > GIVEN_MAX:
            contested[owner[mine[owner[mine] != loser]]] = True
    return GroupVertices(tuple(vertices), tuple(lost), shared, given, tuple(contested.tolist()))


def owners(vertices: Sequence[IntArray], count: int) -> tuple[IntArray, IntArray]:
    """The instance that each of ``count`` vertices shows, -1 for none, and how many claim it.

    ``vertices`` holds the indices of each instance's vertices. The smallest instance wins, of equals the first.
    """
    owner = np.full(count, -1, dtype=np.intp)
    claims = np.zeros(count, dtype=np.intp)
    for number in sorted(range(len(vertices)), key=lambda n: (-len(vertices[n]), -n)):
        owner[vertices[number]] = number  # the last one to write has it
        claims[vertices[number]] += 1
    return owner, claims


def check_shared(what: str, category: str, owned: GroupVertices, place: int, findings: Findings) -> None:
    """Reports a group, at ``place``, that shares much with others; a doubt where it may be one of them."""
    shared, given = owned.shared[place], owned.given[place]
    if given > GIVEN_MAX or (owned.contested[place] and shared > SHARED_MAX):
        share, limit = (given, GIVEN_MAX) if given > GIVEN_MAX else (shared, SHARED_MAX)
        message = f"{what} shares {shared:.0%} of its vertices with another instance; one of both is nearly all shared"
        remedy = "is one thing annotated twice? Keep one"
        findings.add(doubt("shared_vertices", category, message, remedy, round(share, 6), limit, "share"))
    elif shared > SHARED_MAX:
        message = f"{what} shares {shared:.0%} of its vertices with another instance; {given:.0%} show a smaller one"
        remedy = "none is needed where a part or something upon it was annotated too"
        findings.add(note("shared_vertices", category, message, remedy, round(shared, 6), SHARED_MAX, "share"))


def _without_repeats(groups: list[AnnotationGroup], findings: Findings) -> list[AnnotationGroup]:
    """The groups without those that repeat one before with label and segments, as all of scene0217_00 do."""
    kept: list[AnnotationGroup] = []
    seen: set[tuple[str, bytes]] = set()
    for group in groups:
        key = (group.label, group.segments.tobytes())
        if key not in seen or not len(group.segments):
            kept.append(group)
        seen.add(key)
    again = len(groups) - len(kept)
    if again:
        message = f"{again} of {len(groups)} groups repeat another one, label and segments alike; each is used once"
        remedy = "none is needed; the file lists its objects twice"
        findings.add(note("doubled_annotation", "segGroups", message, remedy, again, 0, "groups"))
    return kept


def _ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """The numbers of all ranges ``start … start + size - 1`` behind one another."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - sizes, sizes) + np.repeat(starts, sizes)


def _whole_numbers(values: object) -> IntArray | None:
    if not isinstance(values, list):
        return None
    if not values:
        return np.empty(0, dtype=np.intp)
    if bool in set(map(type, values)):
        return None
    try:
        numbers = np.asarray(values)
    except (ValueError, OverflowError):
        return None
    return numbers.astype(np.intp) if numbers.ndim == 1 and numbers.dtype.kind == "i" else None
