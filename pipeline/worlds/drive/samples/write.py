"""Writes the sample drives in the formats of several sources, the same bytes every time.

What was planted is in ``<root>/truth/<drive>.json``, beside the logs.
"""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.core.files import write_atomically
from pipeline.worlds.drive.samples import argoverse2
from pipeline.worlds.drive.samples.plans import PLANS
from pipeline.worlds.drive.samples.truth import truth_of


def write_drives(folder: Path) -> None:
    """Logs below ``folder/argoverse2``, each of the same name as its truth."""
    for name, plan in PLANS.items():
        argoverse2.write_log(folder / "argoverse2", plan)
        raw = json.dumps(truth_of(plan), separators=(",", ":")).encode()
        write_atomically(folder / "argoverse2" / "truth" / f"{name}.json", raw)
