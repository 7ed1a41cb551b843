"""The dimensions of ERGeoBench and their tasks, in the order of tables 2 and 3, and the limits of the tasks.

The paper gives the field of view; where no source is named, limits are ours.
"""

from typing import Final

from pydantic import Field

from pipeline.core.schema import Degrees, Limits, Metres, Ratio, Share

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
OPEN: Final = "Dual-View, open"  # counts as Dual-View: the answer is the place's name
SURROUNDINGS: Final = ("Nearest Landmark", "Side of the Street")  # ours: not in table 3
DIMENSIONS: Final = {
    "Foundational Perception": SLOTS,
    "Spatial Awareness": SPATIAL,
    "Common Sense": COMMON_SENSE,
    "Surroundings": SURROUNDINGS,
}
DIMENSION_OF: Final = {task: name for name, tasks in DIMENSIONS.items() for task in tasks} | {
    OPEN: "Common Sense",
    **dict.fromkeys(GEO, "Geo-localization"),
}


class ErgeoRules(Limits):
    """When a question is asked. Any of them can be set in a build's configuration."""

    # Where a panorama was taken
    accuracy_max_m: Metres = Field(default=100.0, gt=0, description="of a position that is the truth; a known one")
    border_min_m: Metres = Field(default=50.0, description="from the position to the border of country and city")
    street_max_m: Metres = Field(default=30.0, gt=0, description="from the position to the street's middle line")
    street_gap_min_m: Metres = Field(default=8.0, description="by which a street of another name is farther")
    location_precision_m: float | None = Field(
        default=None,
        le=100_000,
        gt=0,
        description="published positions are rounded to so many metres; null: as they were read",
    )
    street_withheld_m: Metres = Field(
        default=250.0, gt=0, description="a location_precision_m beyond which no street is published either"
    )
    ood_tag: str = Field(
        default="wilderness", description="of the out-of-distribution set, which is asked about geo-localization only"
    )
    # What a view shows
    level_max_deg: float = Field(
        default=5.0, le=90, gt=0, description="by which the camera may have looked up or leaned"
    )
    edge_margin: float = Field(
        default=0.04, ge=0, lt=0.5, description="between an object and the edge of a view, as a share of its half"
    )
    apparent_min_deg: Degrees = Field(default=2.5, gt=0, description="of an object's width and height")
    apparent_max_deg: float = Field(default=40.0, gt=0, le=80, description="of an object's width")
    letter_min_deg: Degrees = Field(
        default=0.7, gt=0, description="width per letter of a name that must be read to tell what a place is: 5 pixels"
    )
    roof_letter_min_deg: Degrees = Field(
        default=1.0, gt=0, description="the same of a sign above level views, which is seen aslant from below"
    )
    read_share_min: Share = Field(
        default=0.7,
        gt=0,
        description="of a name's letters that OCR reads (observe.panorama.ocr), in place of the width",
    )
    agreement_min: Share = Field(
        default=0.5, description="of the boxes that two models drew around an object, their intersection over union"
    )
    visible_share_min: Share = Field(default=0.6, gt=0, description="of an object; unmeasured: people saw it")
    front_share_min: float = Field(
        default=0.8, ge=0, le=2, description="of the usual width over height of what one knows by its front: a bus stop"
    )
    apart_deg: Degrees = Field(default=3.0, description="between a view and another object of the same label")
    # Of landmarks of the map
    map_coverage_min: Share = Field(
        default=0.9, gt=0, description="share of the buildings around that the map has at least; 95% confidence"
    )
    heading_error_deg: Degrees = Field(default=3.0, description="of the heading that panorama or service tell")
    bearing_error_max_deg: float = Field(
        default=15.0, gt=0, lt=20, description="of a landmark, by position, map and heading"
    )
    # Spatial awareness
    yaw_margin_deg: Degrees = Field(default=4.0, gt=0, lt=10, description="from an object's middle to the next yaw bin")
    cell_margin: float = Field(
        default=0.08, gt=0, lt=0.3, description="from an object's middle to the next cell, in halves of the picture"
    )
    tilt_max_deg: float = Field(default=30.0, gt=0, le=60, description="by which a view is tilted for 2D positions")
    side_margin_deg: Degrees = Field(
        default=4.0, lt=90, gt=0, description="between two objects that lie left and right"
    )
    facing_margin_deg: Degrees = Field(default=20.0, gt=0, lt=80, description="from an object to what is neither side")
    sector_margin_deg: Degrees = Field(
        default=5.0, gt=0, lt=15, description="from an object's middle to the next sector"
    )
    depth_bins_m: tuple[Metres, Metres] = Field(
        default=(10.0, 25.0), description="borders between near, middle and far"
    )
    depth_margin: float = Field(default=0.15, gt=0, lt=0.5, description="from a distance to a border, as its share")
    distance_ratio_min: Ratio = Field(default=1.35, gt=1, description="of the farther distance to the nearer one")
    # Common sense
    poi_reach_m: Metres = Field(default=60.0, gt=0, description="of a place that serves a need")
    poi_visible_share_min: Share = Field(
        default=0.75, gt=0, description="of a place: it takes more of a place than of an object to recognise it"
    )
    poi_min_deg: Degrees = Field(default=4.0, gt=0, description="of its width: a smaller one cannot be recognised")


PROFILES: Final[dict[str, ErgeoRules]] = {"strict": ErgeoRules()}
