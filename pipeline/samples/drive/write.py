"""Writes the sample drives in the formats of several sources, the same bytes every time.

What was planted is in ``<root>/truth/<drive>.json``, beside the logs: where everybody is at every tenth of a second,
how fast, and what happens when.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.samples.drive import argoverse2, carla, kitti
from pipeline.samples.drive.plan import PLANS, DrivePlan, Mover

# Lanes are in logs of Argoverse 2 alone; lights, lamps and collisions in recordings of CARLA alone.
WRITERS: Final[dict[str, tuple[Callable[[Path, DrivePlan], None], tuple[str, ...]]]] = {
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


_RATE_HZ: Final = 10
_DIGITS: Final = 6


def truth_of(plan: DrivePlan) -> dict[str, Any]:
    """The facts of a drive in closed form, as JSON: middles of boxes, metres; yaw in degrees; speeds in m/s.

    ``lit``: the indices of times at which each lamp is.
    """
    times_s = np.arange(round(plan.lasts_s * _RATE_HZ) + 1) / _RATE_HZ
    return {
        "times_s": times_s.round(_DIGITS).tolist(),
        "ego": _mover(plan.ego, times_s),
        "actors": {mover.id: _mover(mover, times_s) for mover in plan.others},
        "lights": {str(light.id): [list(change) for change in light.colours] for light in plan.lights},
        "events": [vars(event) for event in plan.events],
        "hits": [list(hit) for hit in plan.hits],
    }


def _mover(mover: Mover, times_s: FloatArray) -> dict[str, Any]:
    motion = mover.at(times_s)
    speed = np.hypot(motion.velocity_mps[:, 0], motion.velocity_mps[:, 1])
    columns = {
        "x_m": motion.place_m[:, 0],
        "y_m": motion.place_m[:, 1],
        "yaw_deg": motion.yaw_deg,
        "speed_mps": speed,
        "acceleration_mps2": motion.acceleration_mps2,
    }
    table = {name: (column.round(_DIGITS) + 0.0).tolist() for name, column in columns.items()}
    lit = {lamp: np.flatnonzero(on).tolist() for lamp, on in mover.lit(times_s).items()}
    return {"category": mover.category, "size_m": list(mover.size_m), "colour": mover.colour, "lit": lit, **table}
