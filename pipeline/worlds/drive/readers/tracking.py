"""Rows of a log, one for each thing and time, made into one table per thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.packed import pack
from pipeline.worlds.drive.facts import PLACE_STEP_M, SPEED_STEP_MPS, YAW_STEP_DEG, Track


@dataclass(frozen=True)
class Stretch:
    """One thing from the first to the last time at which it has a row.

    Attributes:
        first: index of its first time.
        tables: (N, k) by name, NaN at times without a row.
    """

    first: int
    tables: Mapping[str, FloatArray]

    def track(self) -> Track:
        """From the tables ``place_m`` (N, 3), ``yaw_deg`` (N, 1) and, if there, ``velocity_mps`` (N, 3)."""
        velocity = self.tables.get("velocity_mps")
        return Track(
            first=self.first,
            place_m=pack(self.tables["place_m"], PLACE_STEP_M),
            yaw_deg=pack(self.tables["yaw_deg"], YAW_STEP_DEG),
            velocity_mps=None if velocity is None or np.isnan(velocity).all() else pack(velocity, SPEED_STEP_MPS),
        )


def stretches(thing: IntArray, time: IntArray, tables: Mapping[str, FloatArray]) -> dict[int, Stretch]:
    """The rows of each thing, in order of time.

    Args:
        thing: (R,) number of the thing that a row is about.
        time: (R,) index of its time; no thing has two rows at one (`repeated` finds those).
        tables: (R, k) by name.
    """
    order = np.lexsort((time, thing))
    starts = np.flatnonzero(np.diff(thing[order], prepend=-1))
    found = {}
    for rows in np.split(order, starts[1:]) if len(order) else []:
        first, stop = int(time[rows[0]]), int(time[rows[-1]]) + 1
        at = time[rows] - first
        whole = {}
        for name, values in tables.items():
            whole[name] = np.full((stop - first, values.shape[1]), np.nan)
            whole[name][at] = values[rows]
        found[int(thing[rows[0]])] = Stretch(first, whole)
    return found


def repeated(thing: IntArray, time: IntArray) -> BoolArray:
    """Which rows (R,) are of a thing that has another one at the same time."""
    if not len(thing):
        return np.zeros(0, dtype=bool)
    key = thing.astype(np.int64) * (int(time.max()) + 1) + time
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse] > 1)
