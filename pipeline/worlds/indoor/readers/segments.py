"""Instances of a segmented mesh: which vertices belong to which annotated group, as ScanNet and ScanNet++ state it.

A vertex may belong to several groups (in ScanNet++ that is common: a monitor lies within the group of its table). It
then shows the group with the fewest vertices, of equally large ones the first of the file, as in ScanNet++'s own
toolbox (semantic/transforms/mesh.py, which sorts a vertex's instances by size).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.findings import Findings, doubt, fault, note

MAX_NUMBER: Final = 2**31 - 1  # of a group
SHARED_MAX: Final = 0.2  # share of an instance's vertices that may belong to another one too without a word
GIVEN_MAX: Final = 0.5  # share that may go to smaller instances; an instance that loses more is one of them again


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
            groups.append(Group(number, label, np.unique(segments), entry))
    groups = _once(groups, findings)
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
    return Members(tuple(vertices), tuple(lost), shared, given, tuple(contested.tolist()))


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


def check_shared(what: str, category: str, owned: Members, place: int, findings: Findings) -> None:
    """Reports a group, at ``place`` of `Members`, that shares much with others; a doubt where it may be one of them."""
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


def _once(groups: list[Group], findings: Findings) -> list[Group]:
    """The groups without those that repeat one before with label and segments, as all of scene0217_00 do."""
    kept: list[Group] = []
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
