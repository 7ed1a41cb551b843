"""Where an ink is in a drawn picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Box = tuple[int, int, int, int]


def bounds(picture: npt.NDArray[np.uint8], ink: tuple[int, int, int], within: Box = (0, 0, 640, 360)) -> Box | None:
    """First column and row, last column and row of the pixels of an ink, of those within; None where there are none."""
    left, top, right, bottom = within
    rows, columns = np.nonzero((picture[top : bottom + 1, left : right + 1] == ink).all(2))
    if not len(rows):
        return None
    return int(columns.min()) + left, int(rows.min()) + top, int(columns.max()) + left, int(rows.max()) + top
