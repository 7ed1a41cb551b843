"""Instances of a segmented mesh: which vertices belong to which annotated group, as ScanNet and ScanNet++ state it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.findings import Findings, fault

MAX_NUMBER: Final = 2**31 - 1  # of a group
SHARED_MAX: Final = 0.2  # share of an instance's vertices that may belong to another one too


@dataclass(frozen=True)
class Group:
    """One annotated instance: its number in the file, the dataset's label, its segments, and the whole entry."""

    number: int
    label: str
    segments: IntArray
    raw: dict[str, Any]


@dataclass(frozen=True)
class Members:
    """Vertices of each group.

    Attributes:
        vertices: per group, ascending vertex indices.
        lost: per group, number of its segments that no vertex has.
        shared: per group, share of its vertices that another group claims too.
        owner: (V,) the last group that claims each vertex, -1 for none.
    """

    vertices: tuple[IntArray, ...]
    lost: tuple[int, ...]
    shared: tuple[float, ...]
    owner: IntArray


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


def parse_groups(raw: dict[str, Any], id_key: str, findings: Findings) -> list[Group]:
    """The groups of an aggregation in file order; whatever is wrong becomes a fault."""
    entries = raw.get("segGroups")
    if not isinstance(entries, list):
        findings.add(fault("missing_key", "segGroups", "there is no list 'segGroups'", "is this an annotation file?"))
        return []
    if not entries:
        findings.add(fault("empty_annotation", "segGroups", "segGroups is empty", "annotate the scan, or leave it out"))
    groups: list[Group] = []
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
            groups.append(Group(number, label, segments, entry))
    numbers = [g.number for g in groups]
    twice = sorted({n for n in numbers if numbers.count(n) > 1}) if len(set(numbers)) < len(numbers) else []
    if twice:
        message = f"{id_key} {', '.join(map(str, twice))} is given to more than one group"
        findings.add(fault("duplicate_object_id", "segGroups", message, "number the groups apart"))
    return groups


def members(segment_of: IntArray, groups: list[Group]) -> Members:
    """The vertices of each group, without a loop over vertices or segments."""
    order = np.argsort(segment_of, kind="stable")
    known, starts, sizes = np.unique(segment_of[order], return_index=True, return_counts=True)
    lists = [np.unique(g.segments) for g in groups]
    owner = np.full(len(segment_of), -1, dtype=np.intp)
    claims = np.zeros(len(segment_of), dtype=np.intp)
    vertices, lost = [], []
    for number, segments in enumerate(lists):
        place = np.searchsorted(known, segments)
        there = place < len(known)
        there[there] = known[place[there]] == segments[there]
        lost.append(int((~there).sum()))
        mine = np.sort(order[_ranges(starts[place[there]], sizes[place[there]])])
        owner[mine] = number
        claims[mine] += 1
        vertices.append(mine)
    shared = tuple(float((claims[v] > 1).mean()) if len(v) else 0.0 for v in vertices)
    return Members(tuple(vertices), tuple(lost), shared, owner)


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
