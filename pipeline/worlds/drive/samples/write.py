"""Writes the sample drives in the formats of several sources, the same bytes every time.

What was planted is in ``<root>/truth/<drive>.json``, beside the logs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pipeline.core.files import write_atomically
from pipeline.worlds.drive.samples import argoverse2, carla, kitti
from pipeline.worlds.drive.samples.plan import Plan
from pipeline.worlds.drive.samples.plans import PLANS
from pipeline.worlds.drive.samples.truth import truth_of

# Lanes are in logs of Argoverse 2 alone; lights, lamps and collisions in recordings of CARLA alone.
WRITERS: Final[dict[str, tuple[Callable[[Path, Plan], None], tuple[str, ...]]]] = {
    "argoverse2": (argoverse2.write_log, ("overtaking", "junction", "braking")),
    "carla": (carla.write_log, ("junction", "braking")),
    "kitti_tracking": (kitti.write_log, ("overtaking",)),
}


def write_drives(folder: Path) -> None:
    """Logs below ``folder/READER``, each of the same name as its truth."""
    for reader, (write, names) in WRITERS.items():
        for name in names:
            write(folder / reader, PLANS[name])
            raw = json.dumps(truth_of(PLANS[name]), separators=(",", ":")).encode()
            write_atomically(folder / reader / "truth" / f"{name}.json", raw)
