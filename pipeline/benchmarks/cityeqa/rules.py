"""Limits of the city tasks. CityEQA gives the 200 m and the four starts; where no source is named, ours."""

from typing import Annotated, Final

from pydantic import Field

from pipeline.core.schema import Degrees, Limits, Metres, Ratio


class CityRules(Limits):
    """When a task is asked. Any of them can be set in a build's configuration."""

    # Relations
    margin_deg: Degrees = Field(default=10.0, gt=0, lt=45, description="between a bearing and the diagonals")
    first_reach_m: Metres = Field(default=120.0, gt=0, description="from the start to the first landmark's footprint")
    next_reach_m: Metres = Field(default=60.0, gt=0, description="from a landmark's footprint to the next thing's")
    # Starts
    start_min_m: Metres = Field(default=30.0, description="from the start to the target")
    start_max_m: Metres = Field(default=200.0, gt=0, description="the same at most (CityEQA, section 2.2)")
    starts_min: int = Field(default=4, ge=1, description="of a question: with fewer it is not asked (section 2.2)")
    starts_max: int = Field(default=6, ge=1, description="of a question: more are not asked")
    sides_min: int = Field(default=3, ge=1, le=8, description="eighths of the compass that the starts of one lie in")
    start_looks_ahead: bool = Field(
        default=False, description="whether starts look towards the first landmark of the text, as all 200 released do"
    )
    hidden_at_start: bool = Field(default=True, description="whether no look from the start may show the target")
    body_m: Metres = Field(default=0.5, gt=0, description="radius of the agent: it keeps so far from all that is solid")
    path_max_m: Metres = Field(
        default=300.0, gt=0, description="shortest way from the start to where the answer is seen"
    )
    steps_min: int = Field(default=0, ge=0, description="moves and turns of the oracle's way, at least")
    steps_max: int = Field(
        default=50, ge=1, description="moves and turns of the oracle's way: agents have no more (CityEQA, table 2)"
    )
    # What a pose shows
    look_m: tuple[Metres, ...] = Field(
        default=(6.0, 9.0, 13.0, 18.0, 25.0), description="from the target, where it is observed"
    )
    pixels_min: int = Field(default=400, ge=1, description="of 640 x 480, of each thing that an answer rests on")
    read_pixels_min: int = Field(default=1500, ge=1, description="of a sign that is read")
    drawn_only: bool = Field(
        default=True,
        description="answers are seen in pictures drawn from the map; false: in photographs or a simulator",
    )
    board_contrast_min: float = Field(
        default=40,
        ge=0,
        le=255,
        description="from its wall, in any channel, of a signboard whose colour a text names or asks for",
    )
    letter_pixels_min: float = Field(
        default=5.0, gt=0, le=100, description="width of each letter of a sign that is read"
    )
    # Facts
    near_m: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field(
        default=(10, 15, 20), description="'within so many metres of'"
    )
    near_margin_m: Metres = Field(default=1.5, gt=0, description="between what is counted and that distance")
    count_max: int = Field(default=8, ge=1, description="of things that are counted")
    side_gap_max_m: Metres = Field(default=25.0, gt=0, description="to what is left or right of something")
    nearer_ratio_min: Ratio = Field(default=1.4, gt=1, description="of two things, how much farther the other is")
    bearing_gap_m: tuple[Metres, Metres] = Field(default=(5.0, 60.0), description="to what lies in a direction")
    things_per_kind: int = Field(
        default=1000, ge=1, description="that questions are made about: of a kind with more things so many are drawn"
    )
    raw_tasks_per_category: int = Field(
        default=22, ge=1, description="that succeed, in the mean of the categories; of each by table 4 of the paper"
    )


PROFILES: Final[dict[str, CityRules]] = {"strict": CityRules()}
