"""Where the things of a panorama are seen, exactly: from the pixels that show them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, IntArray


class Shown(NamedTuple):
    """Where a thing is seen, degrees, at the outer edges of its pixels: its left and right yaw and its pitches.

    Yaw is clockwise from the middle column, in [-180, 180); the left one is the greater where the thing lies across the
    seam.
    """

    left_deg: float
    right_deg: float
    low_deg: float
    high_deg: float
    pixels: int


def shown(owners: IntArray, groups: tuple[tuple[int, ...], ...]) -> dict[int, Shown]:
    """By thing, where it is seen; only those that are.

    Args:
        owners: (H, W) of each pixel the index of a group.
        groups: the things of each group.
    """
    height, width = owners.shape
    columns = _counts(owners, np.arange(width)[None, :], width, len(groups))
    rows = _counts(owners, np.arange(height)[:, None], height, len(groups))
    things = sorted({thing for group in groups for thing in group})
    found = {}
    for thing in things:
        own = [k for k, group in enumerate(groups) if thing in group]
        across = columns[own].sum(0)
        if across.any():
            first, count = _arc(across > 0)
            down = np.flatnonzero(rows[own].sum(0))
            found[thing] = Shown(
                _yaw(first, width),
                _yaw(first + count, width),
                90.0 - (int(down[-1]) + 1) * 180.0 / height,
                90.0 - int(down[0]) * 180.0 / height,
                int(across.sum()),
            )
    return found


def _counts(owners: IntArray, place: IntArray, places: int, groups: int) -> IntArray:
    """(groups, places) number of pixels."""
    return np.bincount((owners * places + place).ravel(), minlength=groups * places).reshape(groups, places)


def _arc(filled: BoolArray) -> tuple[int, int]:
    """First column and number of columns of the least arc that holds all filled ones."""
    at = np.flatnonzero(filled)
    gaps = np.diff(np.append(at, at[0] + len(filled)))
    widest = int(gaps.argmax())
    first = int(at[(widest + 1) % len(at)])
    return first, len(filled) - int(gaps[widest]) + 1


def _yaw(edge: int, width: int) -> float:
    return (edge * 360.0 / width) % 360.0 - 180.0
