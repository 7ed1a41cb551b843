"""Pictures on a terminal: two pixels per character, the upper half block in the upper one's colour."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.segment import Segment, Segments
from rich.style import Style


def half_blocks(picture: npt.NDArray[np.uint8], columns: int) -> Segments:
    """A picture (height, width, 3) so many characters wide, each as high as two of its pixels are wide."""
    height, width = picture.shape[:2]
    rows = max(1, round(columns * height / width / 2))
    small = np.asarray(Image.fromarray(picture).resize((columns, 2 * rows), Image.Resampling.BOX)) & 0xF8
    segments = []
    for upper, lower in zip(small[::2].tolist(), small[1::2].tolist(), strict=True):
        for a, b in zip(upper, lower, strict=True):
            style = Style.parse(f"rgb({a[0]},{a[1]},{a[2]}) on rgb({b[0]},{b[1]},{b[2]})")
            segments.append(Segment("▀", style))
        segments.append(Segment.line())
    return Segments(segments)
