"""Whether the number of objects that a source states is that of its boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.worlds.indoor.facts import SceneObject


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
