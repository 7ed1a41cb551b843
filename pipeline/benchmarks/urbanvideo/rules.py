"""Limits of the flight tasks. The paper (UrbanVideo-Bench, section 3.1) gives none: where no source is named, ours."""

from typing import Final

from pydantic import Field

from pipeline.core.schema import Degrees, Metres, Ratio, Seconds, Share
from pipeline.worlds.flight.view import FlightRules, FlightView


class UrbanRules(FlightRules):
    """When a question about a flight is asked. Any of them can be set in a build's configuration."""

    # Movements
    step_margin_min: Ratio = Field(default=1.2, description="times what a movement needs at least to be one")
    told_min_s: Seconds = Field(default=2.0, description="of the video, of a movement that a caption tells")
    step_gap_max_s: Seconds = Field(
        default=1.0, description="between a movement and the next: longer, the next is unknown"
    )
    untracked_max_s: Seconds = Field(
        default=2.0, description="of the video without a track: longer, it may hide a movement like one that is named"
    )
    cut_off_max_s: Seconds = Field(default=0.5, description="of a movement or of the track, beyond the video's ends")
    cut_inside_min_s: Seconds = Field(
        default=1.0, description="from the end of a question to either end of the movement that it is asked in"
    )
    cuts_max: int = Field(
        default=12, ge=1, description="ends of questions about a flight so far, in a minute of it, evenly thinned"
    )
    clip_share: float | None = Field(
        default=0.25,
        gt=0,
        lt=1,
        description="of the video that a clip shows where the time since its start would tell the answer; null: from "
        "the start on",
    )
    clip_min_s: int = Field(default=8, ge=1, description="shortest of these clips")
    clip_max_s: int = Field(default=40, le=86_400, ge=1, description="longest of these clips")
    routes_told: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="share of the flights with a route in which questions print it; of the others movements are asked "
        "that it would tell",
    )
    captioned: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="share of the flights whose route is not printed in which captions are asked; of the others what "
        "comes next is asked (Sequence Recall)",
    )
    ground_max_m: Metres = Field(default=2.0, description="above take-off: lower, a drone can do nothing but ascend")
    caption_steps: int = Field(default=4, ge=2, description="movements in a caption of a stretch")
    caption_steps_max: int = Field(default=6, ge=2, description="movements of a flight captioned as a whole")
    toward_max_deg: Degrees = Field(
        default=15.0, description="between a movement and the landmark that it goes towards"
    )
    duration_ratio_min: Ratio = Field(
        default=1.4,
        description="longer movement over shorter; from 1.3 on, two in three are below twice as long",
    )
    duration_gap_min_s: Seconds = Field(default=2.0, description="the longer movement less the shorter")
    duration_twice_margin: Ratio = Field(default=1.15, description="factor between the ratio and 2, on either side")
    # A movement's ends are known within 0.4 s: its length within 0.8 s, twice the shorter within 1.6 s.
    duration_twice_gap_min_s: Seconds = Field(default=2.4, description="between the longer and twice the shorter")
    # Landmarks
    near_max_m: Metres = Field(default=60.0, description="of an end of the path to the landmark it is said to be near")
    beside_max_m: Metres = Field(default=30.0, description="from a landmark to the one next to it: about a street")
    second_ratio_min: float = Field(
        default=1.5, ge=1, le=4.0, description="the second nearest is at least this many times as far"
    )
    nearest_ratio_min: Ratio = Field(
        default=1.2, description="the second nearest is at least this many times as far, where it is not offered"
    )
    inside_max: Share = Field(
        default=0.75, description="from a landmark's middle to one that lies in it, in radii: farther out, is it in it?"
    )
    there_m: float = Field(
        default=5.0, le=100_000, ge=1, description="nearer than this one is there, and how near is of no matter"
    )
    change_min: float = Field(default=0.2, gt=0, lt=1, description="proximity: share by which a distance changes")
    still_max: float = Field(default=0.05, gt=0, lt=1, description="proximity: share within which it stays the same")
    still_share_max: Share = Field(
        default=1 / 3,
        gt=0,
        description="proximity: share of a stretch in which a distance that changes may be constant",
    )
    window_min_s: Seconds = Field(default=3.0, description="proximity: shortest stretch asked about")
    # Directions and views
    direction_margin_min_deg: Degrees = Field(
        default=15.0, lt=45, description="to the sectors' edges at 45 and 135 degrees"
    )
    half_width_max_deg: Degrees = Field(default=30.0, description="half the angle under which a landmark is seen")
    elevation_min_deg: Degrees = Field(default=15.0, lt=90, description="above or below: of its top, from the horizon")
    depression_max_deg: float = Field(
        default=60.0, ge=0, le=90, description="lower, it is under the drone rather than beside it"
    )
    heading_steady_max_deg: Degrees = Field(default=10.0, description="turn within a second of the time asked about")
    view_margin_min_s: Seconds = Field(default=1.0, description="since the goal came into view or left it")
    third_margin_min: float = Field(
        default=0.1, ge=0, lt=1 / 3, description="to the edge of a third, in half widths of the picture"
    )
    view_width_max: float = Field(
        default=0.667, gt=0, le=2, description="of the goal in the picture, in its half widths: a third"
    )
    # Maps and plans
    map_cells: int = Field(default=7, ge=5, le=15, description="side of a map")
    map_extent_min_m: Metres = Field(default=30.0, description="longer side of what the path covers")
    map_landmarks: int = Field(default=4, ge=2, le=9, description="on a map, at most")
    map_shift_min: float = Field(
        default=2.0,
        le=15,
        ge=0.5,
        description="cells by which something on a wrong map is off, however the map is shifted",
    )
    related_max_m: Metres = Field(default=100.0, description="from the goal to what is related to it")
    unrelated_min_m: Metres = Field(
        default=60.0, gt=0, description="from the goal to all in view, where nothing in view is related to it"
    )
    detour_max: Ratio = Field(default=1.1, description="way by a landmark on the straight way, over that way")
    wrong_detour_min: Ratio = Field(default=1.3, description="the same by a landmark that is offered as wrong")
    way_max_deg: Degrees = Field(
        default=15.0, description="from the direction of the goal to the edge of what lies on the way"
    )
    plan_min_m: Metres = Field(default=10.0, description="to a landmark's outline, and between two on the way")


UrbanView = FlightView[UrbanRules]  # as the tasks see a flight
PROFILES: Final[dict[str, UrbanRules]] = {"strict": UrbanRules()}
