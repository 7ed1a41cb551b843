"""How often an object of a category is the nearest of four, whatever it is near to.

`NEAREST` is made from the askable candidates of the 122 released scenes at hand, every scene alike
(`python -m tests.benchmarks.vsi.nearness_table`): what someone without the video would go by.
"""

from __future__ import annotations

from typing import Final

OF_ANY: Final = 0.25  # of a category that is not known
NEAREST: Final[dict[str, float]] = {
    "backpack": 0.26,
    "basket": 0.31,
    "bed": 0.4,
    "blanket": 0.3,
    "bookshelf": 0.18,
    "bowl": 0.28,
    "ceiling light": 0.23,
    "chair": 0.38,
    "clock": 0.17,
    "closet": 0.09,
    "coat hanger": 0.19,
    "computer mouse": 0.13,
    "computer tower": 0.23,
    "counter": 0.39,
    "cup": 0.08,
    "cutting board": 0.34,
    "dishwasher": 0.07,
    "door": 0.24,
    "exhaust fan": 0.09,
    "fan": 0.12,
    "fireplace": 0.55,
    "headphones": 0.15,
    "heater": 0.29,
    "kettle": 0.12,
    "keyboard": 0.13,
    "lamp": 0.15,
    "laptop": 0.15,
    "microwave": 0.04,
    "mirror": 0.3,
    "monitor": 0.36,
    "nightstand": 0.16,
    "pan": 0.35,
    "paper bag": 0.08,
    "pillow": 0.14,
    "plant": 0.14,
    "printer": 0.13,
    "radiator": 0.1,
    "refrigerator": 0.2,
    "shoe rack": 0.21,
    "shoes": 0.24,
    "sofa": 0.19,
    "stool": 0.25,
    "stove": 0.25,
    "suitcase": 0.15,
    "table": 0.37,
    "table lamp": 0.15,
    "telephone": 0.09,
    "toilet": 0.19,
    "towel": 0.43,
    "trash bin": 0.32,
    "trash can": 0.35,
    "tv": 0.19,
    "washer": 0.45,
    "whiteboard": 0.32,
    "window": 0.11,
}
