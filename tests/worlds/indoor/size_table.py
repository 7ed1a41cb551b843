"""The table of usual sizes, made from the released metadata: ``python -m tests.worlds.indoor.size_table`` prints it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.doubts import Typical
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.registry import READERS

OF_NORMAL = 1.4826  # a median absolute deviation as a standard deviation


def typical_sizes(scenes: Iterable[IndoorScene]) -> dict[str, Typical]:
    """By category, of the longest side of every box."""
    sides: dict[str, list[float]] = defaultdict(list)
    for scene in scenes:
        for item in scene.facts.objects:
            sides[item.category].append(max(item.box.lengths))
    found = {}
    for category, own in sorted(sides.items()):
        middle = median(own)
        spread = OF_NORMAL * median(abs(math.log(side / middle)) for side in own)
        found[category] = Typical(len(own), round(middle, 2), round(spread, 2))
    return found


if __name__ == "__main__":
    from tests.conftest import REAL_DATA

    reader, root = READERS["vsi_meta"], REAL_DATA / "vsi" / "meta_info"
    real = [reader.read(SceneFiles(root, ref)) for ref in reader.scenes(root).scenes]
    for name, (boxes, median_m, spread) in typical_sizes(real).items():
        print(f"  {name}: [{boxes}, {median_m}, {spread}]")
