"""The array types of the whole project, and the pieces in which long arrays are worked on."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
StrArray = npt.NDArray[np.object_]


def runs(marked: BoolArray) -> IntArray:
    """First and one past the last index (k, 2) of each run of True in (n,)."""
    return np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8))).reshape(-1, 2)


def nearest_index(ascending: npt.ArrayLike, wanted: npt.ArrayLike) -> IntArray:
    """Index (N,) of the value of (T,) nearest to each wanted one (N,); the earlier of two equally near."""
    values, targets = np.asarray(ascending, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    right = np.clip(np.searchsorted(values, targets), min(1, len(values) - 1), len(values) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(np.abs(values[left] - targets) <= np.abs(values[right] - targets), left, right)


def chunks(rows: int, width: int, most: int) -> Iterator[slice]:
    """Slices of so many rows, each of at most ``most`` numbers where a row has ``width``, but of one row at least."""
    step = max(1, most // width) if width else rows
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step or 1))
