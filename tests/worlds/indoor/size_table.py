"""Usual sizes and heights in the released metadata: ``python -m tests.worlds.indoor.size_table`` prints them."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Final

import numpy as np

from pipeline.core.templates import TEMPLATES_DIR
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.sizes import PUBLISHED_M, UsualSizes
from pipeline.worlds.registry import READERS

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
# What stands on the floor; two of them tell where it is.
STANDING: Final = frozenset(
    ("bathtub", "bed", "chair", "dishwasher", "door", "refrigerator", "sofa", "table", "toilet", "trash bin", "washer")
)


def typical_sizes(scenes: Iterable[IndoorScene]) -> dict[str, UsualSizes]:
    """By category, of every box."""
    sides: dict[str, list[float]] = defaultdict(list)
    upright: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for scene in scenes:
        found = []
        for item in scene.facts.objects:
            sides[item.category].append(max(item.box.lengths))
            height = float(np.abs(np.array(item.box.axes)[:, 2]) @ item.box.lengths)
            found.append((item.category, item.box.center[2] - height / 2, height))
        floors = [bottom for category, bottom, _ in found if category in STANDING]
        for category, bottom, height in found if len(floors) > 1 else ():
            upright[category].append((bottom - median(floors), height))
    table = {}
    for category, own in sorted(sides.items()):
        sizes = [round(float(side), 2) for side in np.quantile(own, QUANTILES)]
        heights = [round(median(values), 2) + 0.0 for values in zip(*upright[category], strict=True)] or [None, None]
        table[category] = UsualSizes(len(own), *sizes, *heights)
    return table


if __name__ == "__main__":
    from tests.conftest import REAL_DATA

    reader, root = READERS["vsi_meta"], REAL_DATA / "vsi" / "meta_info"
    real = [reader.read(SceneFiles(root, ref)) for ref in reader.scenes(root).scenes]
    head, _, _ = (TEMPLATES_DIR / "tables" / "indoor" / "sizes.yaml").read_text("utf-8").partition("typical:\n")
    print(f"{head}typical:")
    for name, values in typical_sizes(real).items():
        print(f"  {name}: [{', '.join('null' if value is None else str(value) for value in values)}]")
    print("published_m:")
    for name, sizes in PUBLISHED_M.items():
        print(f"  {name}: {list(sizes)}")
