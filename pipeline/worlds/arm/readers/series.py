"""Shared parts of the readers of arms: values over time as tables, clocks, turns, names of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings, doubt
from pipeline.reading.folders import SAFE, SAFE_NAME

UNIT_TOLERANCE: Final = 1e-2  # of a quaternion's length; float32 is off by 1e-7
LARGEST: Final = 1e3  # of joints, places, rates: beyond it are other units, or none
FINGERS: Final = 2
WIDEST: Final = 256  # numbers of one value: a picture is no row of joints


def stacked(rows: Sequence[Mapping[str, Any]], key: str, findings: Findings) -> FloatArray | None:
    """The values of a key at all times, (N, k), NaN where there is none or one of another shape; None: at no time.

    What is not finite or beyond `LARGEST` is in doubt and becomes NaN too.
    """
    values = [as_numbers(row.get(key)) for row in rows]
    widths = [len(value) for value in values if value is not None]
    if not widths:
        return None
    width = max(set(widths), key=widths.count)
    table = np.full((len(rows), width), np.nan)
    for at, value in enumerate(values):
        if value is not None and len(value) == width:
            table[at] = value
    return known(table, key, findings)


def known(table: FloatArray, key: str, findings: Findings) -> FloatArray | None:
    """A table (N, k) with NaN in rows that hold what cannot be, which it says; None where all do."""
    with np.errstate(invalid="ignore"):
        usable = np.asarray((np.abs(table) <= LARGEST).all(1))
    bad = int((~usable).sum())
    if bad:
        message = f"{key} is missing, not finite or over {LARGEST:g} at {bad} of {len(table)} times"
        findings.add(doubt("unusable_values", key, message, "record it again", bad, 0, "times"))
    return np.where(usable[:, None], table, np.nan) if usable.any() else None


def as_numbers(value: Any) -> FloatArray | None:
    """A number or an array of numbers as (k,); None for all else."""
    if isinstance(value, bool | int | float | np.ndarray):
        numbers = np.asarray(value, dtype=np.float64).ravel()
        return numbers if 0 < numbers.size <= WIDEST else None
    return None


def turns_wxyz(quat_xyzw: FloatArray, findings: Findings) -> FloatArray:
    """Unit quaternions (N, 4), w first and not negative, of those with w last; NaN with a doubt where they are none."""
    length = np.sqrt((quat_xyzw**2).sum(1))
    bad = np.abs(length - 1) > UNIT_TOLERANCE
    if bad.any():
        message = f"{int(bad.sum())} of {len(bad)} quaternions of the gripper are not of length 1"
        findings.add(doubt("unusable_turn", "gripper", message, "record them again", int(bad.sum()), 0, "times"))
    turns = np.where(bad[:, None], np.nan, quat_xyzw[:, [3, 0, 1, 2]] / np.where(bad, 1, length)[:, None])
    return np.asarray(turns * np.where(turns[:, :1] < 0, -1.0, 1.0))


def step_of(position: FloatArray, velocity: FloatArray) -> tuple[float, float] | None:
    """Seconds between two rows of joints (N, J), from their rates, and how far the two disagree, as a share.

    A simulator that integrates moves each joint by its rate of the new row. None where nothing moves.
    """
    change, rate = np.diff(position, axis=0), velocity[1:]
    usable = ~(np.isnan(change) | np.isnan(rate)).any(1)
    change, rate = change[usable], rate[usable]
    power = float((rate**2).sum())
    moved = float(np.sqrt((change**2).sum()))
    if power <= 0 or moved < _MOVED_RAD:
        return None
    step_s = float((change * rate).sum()) / power
    return step_s, float(np.sqrt(((change - step_s * rate) ** 2).sum())) / moved


_MOVED_RAD: Final = 0.05  # root of all squares: less is a tremble


def check_name(folder: Path, name: str, what: str, *, example: str = "") -> None:
    """Raises RawDataError where a name, with what will follow on it, is none that a scene may have."""
    if not SAFE_NAME.fullmatch(name + example):
        message = f"the name {name!r} of the {what}, from its folders, is not {SAFE}"
        raise RawDataError(folder, "unsafe_scene_name", message, "rename the folders")
