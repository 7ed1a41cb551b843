"""What sizes objects of a category have: longest sides of boxes, in metres.

`TYPICAL` is made from the metadata of the 122 released scenes at hand (`python -m tests.worlds.indoor.size_table`).
`PUBLISHED_M` are mean sizes of categories in other scans, the longest side each: of SUN RGB-D (Qi et al., "Deep Hough
Voting", ICCV 2019) and of ScanNet, as given in the configurations of VoteNet in mmdetection3d 1.4.0.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Typical(NamedTuple):
    """Number of boxes, median of their longest sides, and the spread of the logarithms of these."""

    boxes: int
    median_m: float
    spread: float


PUBLISHED_M: Final[dict[str, tuple[float, ...]]] = {
    "bathtub": (1.4, 1.15),
    "bed": (2.11, 1.88),
    "bookshelf": (1.07, 1.69),
    "chair": (0.83, 0.72),
    "counter": (1.9,),
    "curtain": (1.68,),
    "door": (1.75,),
    "nightstand": (0.68,),
    "refrigerator": (1.3,),
    "sofa": (1.87, 1.51),
    "table": (1.28, 1.07),
    "toilet": (0.76, 0.74),
    "trash bin": (0.58,),
    "window": (1.15,),
}
TYPICAL: Final[dict[str, Typical]] = {
    "backpack": Typical(25, 0.49, 0.14),
    "basket": Typical(5, 0.36, 0.05),
    "bathtub": Typical(14, 1.62, 0.08),
    "bed": Typical(38, 2.15, 0.07),
    "blanket": Typical(3, 2.14, 0.16),
    "bookshelf": Typical(6, 1.73, 0.28),
    "bowl": Typical(1, 0.29, 0.0),
    "ceiling light": Typical(56, 0.62, 0.85),
    "chair": Typical(388, 0.83, 0.25),
    "clock": Typical(3, 0.31, 0.19),
    "closet": Typical(3, 1.84, 0.25),
    "coat hanger": Typical(2, 1.07, 1.31),
    "computer mouse": Typical(14, 0.12, 0.1),
    "computer tower": Typical(12, 0.38, 0.1),
    "counter": Typical(8, 2.72, 0.23),
    "crate": Typical(1, 0.4, 0.0),
    "cup": Typical(3, 0.14, 0.19),
    "cutting board": Typical(1, 0.45, 0.0),
    "dishwasher": Typical(4, 0.91, 0.0),
    "door": Typical(67, 1.96, 0.17),
    "exhaust fan": Typical(4, 0.14, 0.15),
    "fan": Typical(4, 1.06, 0.19),
    "fireplace": Typical(8, 1.59, 0.15),
    "headphones": Typical(1, 0.31, 0.0),
    "heater": Typical(7, 1.18, 0.29),
    "kettle": Typical(3, 0.24, 0.02),
    "keyboard": Typical(23, 0.45, 0.05),
    "lamp": Typical(13, 0.62, 0.39),
    "laptop": Typical(3, 0.39, 0.17),
    "microwave": Typical(4, 0.6, 0.16),
    "mirror": Typical(13, 1.03, 0.25),
    "monitor": Typical(66, 0.58, 0.1),
    "nightstand": Typical(7, 0.73, 0.09),
    "pan": Typical(1, 0.41, 0.0),
    "paper bag": Typical(1, 0.29, 0.0),
    "pillow": Typical(59, 0.62, 0.25),
    "plant": Typical(7, 0.41, 0.53),
    "printer": Typical(18, 0.61, 0.13),
    "radiator": Typical(6, 0.96, 0.54),
    "refrigerator": Typical(20, 1.58, 0.25),
    "shoe rack": Typical(1, 0.7, 0.0),
    "shoes": Typical(10, 0.29, 0.05),
    "sofa": Typical(56, 1.87, 0.3),
    "stool": Typical(12, 0.47, 0.07),
    "stove": Typical(9, 0.6, 0.05),
    "suitcase": Typical(1, 0.69, 0.0),
    "table": Typical(193, 1.21, 0.39),
    "table lamp": Typical(2, 0.86, 0.3),
    "telephone": Typical(12, 0.29, 0.18),
    "toilet": Typical(19, 0.63, 0.26),
    "towel": Typical(7, 0.73, 0.51),
    "trash bin": Typical(48, 0.45, 0.27),
    "trash can": Typical(10, 0.35, 0.11),
    "tv": Typical(38, 0.96, 0.27),
    "washer": Typical(12, 0.87, 0.05),
    "whiteboard": Typical(16, 1.62, 0.43),
    "window": Typical(47, 1.34, 0.43),
}
