"""Whether a log is of a flight at all: cars, boats and drones on a table are logged too."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.formats.logs.log import Log
from pipeline.geometry.tracks import Track

AIRBORNE_M: Final = 1.0  # above or below take-off; a barometer on the ground drifts by less


def never_flew(log: Log, track: Track) -> str | None:
    """Why the vehicle of a log cannot have flown, or None: it did, or it is not known.

    Args:
        log: which may say so itself, or know the height above take-off. A height that merely counts from the first
            position proves nothing: the log may begin in the air.
        track: of it.
    """
    if log.grounded is not None:
        return log.grounded
    if log.height_m is None or not np.isfinite(track.height_m).any():
        return None
    farthest_m = float(np.nanmax(np.abs(track.height_m)))
    if farthest_m > AIRBORNE_M:
        return None
    return f"its height stays within {farthest_m:.1f} m of where it was switched on (limit {AIRBORNE_M:g} m)"
