"""The four dimensions of ERGeoBench and their tasks, in the order of tables 2 and 3."""

from __future__ import annotations

from typing import Final

# Task of geo-localization -> the setting of table 2 in which it is asked.
SETTINGS: Final = {
    "Geo-localization, single view": "single",
    "Geo-localization, panorama": "panorama",
    "Geo-localization, embodied": "embodied",
}
GEO: Final = tuple(SETTINGS)
SLOTS: Final = ("Architecture", "Infrastructure", "Signage", "Terrain", "Vegetation")
SPATIAL: Final = (
    "Yaw Estimation",
    "2D Positioning",
    "Depth Estimation",
    "Distance",
    "Left/Right Relative",
    "Front/Back Relative",
    "Cross View",
)
COMMON_SENSE: Final = ("Single-View", "Dual-View", "Cross-View")
DIMENSIONS: Final = {
    "Foundational Perception": SLOTS,
    "Spatial Awareness": SPATIAL,
    "Common Sense": COMMON_SENSE,
}
DIMENSION_OF: Final = {task: name for name, tasks in DIMENSIONS.items() for task in tasks} | dict.fromkeys(
    GEO, "Geo-localization"
)
