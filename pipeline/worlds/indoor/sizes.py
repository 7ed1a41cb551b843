"""Usual sizes of categories: of the boxes of the released scenes at hand, and of a published table."""

from typing import Final, NamedTuple

from pipeline.core.templates import load_table


class UsualSizes(NamedTuple):
    """Usual sizes of a category, in metres.

    Attributes:
        boxes: how many boxes say so.
        rarely_below_m: longest side that one in twenty falls short of.
        quarter_below_m: first quartile of the longest sides.
        median_m: their median.
        quarter_above_m: third quartile.
        rarely_above_m: longest side that one in twenty exceeds.
        bottom_m: median height of their lowest corners above the floor; None: of no scene whose floor is known.
        height_m: median of their vertical extents; None where ``bottom_m`` is.
    """

    boxes: int
    rarely_below_m: float
    quarter_below_m: float
    median_m: float
    quarter_above_m: float
    rarely_above_m: float
    bottom_m: float | None = None
    height_m: float | None = None


_TABLE: Final = load_table("indoor/sizes")
PUBLISHED_M: Final[dict[str, list[float]]] = _TABLE["published_m"]
TYPICAL: Final[dict[str, UsualSizes]] = {name: UsualSizes(*values) for name, values in _TABLE["typical"].items()}
