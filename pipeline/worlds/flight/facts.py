"""The facts of a drone flight: landmarks, and what the flight does and sees. ENU metres about the flight's origin."""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Evidence, Facts, Model, Name, Origin, Rejection, Scene, Vec3
from pipeline.reading.maps.appearance import Appearance

Action = Literal[
    "ascend",
    "descend",
    "fly forward",
    "fly backward",
    "fly left",
    "fly right",
    "turn left",
    "turn right",
    "hover",
    "fly horizontally",  # somewhere: the heading is not known
    "stay in place",  # turning or not: the heading is not known
    "gimbal up",
    "gimbal down",
]


class FlightCamera(Model):
    """The camera of a flight."""

    horizontal_fov_deg: Annotated[FiniteFloat, Field(gt=0, lt=180)]
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]
    pitch_deg: Annotated[FiniteFloat, Field(ge=-90, le=90)] | None = Field(
        default=None, description="of a camera that does not tilt: 0 level, -90 down; None: the log says it"
    )


class DescribedLandmark(Model):
    """A model's description of a landmark's pictures (stage `describe`), as far as pixels and map bear it out."""

    seconds: tuple[FiniteFloat, ...] = Field(description="of the video, at which the pictures were taken")
    words: dict[str, str] = Field(default_factory=dict, description='fact of the look -> the word: {"walls": "red"}')
    evidence: tuple[Evidence, ...] = Field(default=(), description="the numbers that bear the words out")
    refused: tuple[Rejection, ...] = Field(default=(), description="why other words are not believed")


class Landmark(Model):
    """Something with a place that a flight may pass. ENU metres about the flight's origin."""

    name: Name | None = Field(default=None, description="as in the source; may occur twice; None: it has none")
    kind: str | None = Field(default=None, description='for example "building", "park"')
    appearance: Appearance | None = Field(default=None, description="None: the map states nothing visible")
    label: Name | None = Field(
        default=None, description="its name in questions: features that nothing else near by has; None: it is not"
    )
    doubt: str | None = Field(
        default=None, description="why it may not be there as the map has it, so that it has no label; None: it is"
    )
    proof: tuple[Evidence, ...] = Field(default=(), description="by how much its label fits it and nothing else")
    unnameable_reason: Rejection | None = Field(default=None, description="why it has no label")
    pictured: DescribedLandmark | None = Field(
        default=None, description="None: no model was asked about pictures of it"
    )
    center: tuple[FiniteFloat, FiniteFloat]
    radius_m: Annotated[FiniteFloat, Field(ge=0)] = Field(description="of the smallest circle about it; 0 for a point")
    outline: tuple[tuple[FiniteFloat, FiniteFloat], ...] | None = Field(default=None, description="its footprint")
    base_m: FiniteFloat | None = Field(default=None, description="height of its foot, ENU; None: not known")
    top_m: FiniteFloat | None = Field(default=None, description="height of its top, ENU; None: not known")
    rise_m: tuple[FiniteFloat, FiniteFloat] | None = Field(
        default=None,
        description="from foot to top, at least and at most, where no top is known: by storeys, kind and neighbours",
    )

    @property
    def sort(self) -> str | None:
        """The sort of thing: its noun as seen, or else its kind, where that is known."""
        return self.appearance.noun if self.appearance else self.kind


class Segment(Model):
    """A stretch of a flight with one movement, or several at once."""

    start_s: FiniteFloat
    end_s: FiniteFloat
    actions: tuple[Action, ...] = Field(min_length=1, description="all that happens in it, the main one first")
    distance_m: FiniteFloat = Field(description="over ground, along the path")
    climb_m: FiniteFloat = Field(description="end above start")
    turn_deg: FiniteFloat | None = Field(description="of the nose, clockwise positive; None: no heading in the log")
    gimbal_deg: FiniteFloat | None = Field(description="upwards positive; None: no gimbal in the log")
    margin: FiniteFloat = Field(description="least ratio of what was measured to what its movements need; >= 1")


class Shot(Model):
    """A picture of the video that shows a landmark well."""

    second: FiniteFloat
    box: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] = Field(
        description="left, top, right and bottom, as shares of the picture from its upper left corner"
    )

    @property
    def share(self) -> float:
        """Of the picture's width that the landmark takes, or of its height if that is more."""
        left, top, right, bottom = self.box
        return max(right - left, bottom - top)


class Sighting(Model):
    """When the camera has a landmark in its picture, nothing known standing before it."""

    landmark: int = Field(ge=0, description="index among the flight's landmarks")
    intervals: tuple[tuple[FiniteFloat, FiniteFloat], ...] = Field(description="certainly: start and end, seconds")
    possible: tuple[tuple[FiniteFloat, FiniteFloat], ...] = Field(
        description="when any part of it may be in the picture, at any distance and whatever stands before it"
    )
    shot: Shot | None = Field(default=None, description="that shows it best, of what has a name; None: none does well")


class FlightMotion(Model):
    """Movements and sightings of a flight (stage `observe`). Times are seconds from the start of the video.

    The path is resampled evenly within each part; lists are of one length.
    """

    rate_hz: FiniteFloat
    t_s: tuple[FiniteFloat, ...]
    enu_m: tuple[Vec3, ...]
    height_m: tuple[FiniteFloat | None, ...]
    heading_deg: tuple[FiniteFloat | None, ...] = Field(description="of the nose, clockwise from north")
    heading_error_deg: FiniteFloat = Field(
        default=0.0, ge=0, description="by which it may be off: 0 for that of the log, more where it is the course"
    )
    stated_mps: tuple[FiniteFloat | None, ...] = Field(
        default=(), description="speed over ground that the log itself states; empty: it states none"
    )
    course_deg: tuple[FiniteFloat | None, ...] = Field(description="of the movement; None where it hardly moves")
    pitch_deg: tuple[FiniteFloat | None, ...] = Field(description="of the camera: 0 level, -90 down")
    part: tuple[int, ...]
    segments: tuple[Segment, ...]
    views: tuple[Sighting, ...] | None = Field(
        description="of the landmarks with a label; None: no camera, heading or landmark to tell by"
    )


class Flight(Facts):
    """The facts of a drone flight."""

    world: Literal["flight"] = "flight"
    log: str = Field(description="format of the flight log, as the reader calls it; none: there is no log")
    origin: Origin | None = Field(description="None: local positions alone")
    camera: FlightCamera | None = None
    goal: Name | None = Field(default=None, description="where the pilot was sent; the label of a landmark, or words")
    route: tuple[Name, ...] = Field(default=(), description="the steps that the pilot was given, in order")
    video_offset_s: FiniteFloat = Field(default=0.0, description="time of the log at the start of the video")
    heading_offset_deg: FiniteFloat = Field(
        default=0.0, ge=-180, le=180, description="added to every heading of the log: its compass was off by that"
    )
    nose_first: bool = Field(default=False, description="the pilot states that it flew nose first")
    landmarks: tuple[Landmark, ...] = ()
    complete: tuple[Name, ...] | None = Field(
        default=(),
        description="nouns whose objects around the flight are all in `landmarks`; None: every noun",
    )
    motion: FlightMotion | None = Field(default=None, description="None: not observed yet")

    @property
    def place_on_earth(self) -> Origin | None:
        """Where the log has its zero."""
        return self.origin

    @property
    def drawable(self) -> bool:
        """Whether a film can be drawn of it: whether it is known how it moved."""
        return self.motion is not None and bool(self.motion.t_s) and self.motion.t_s[-1] > 0


FlightScene = Scene[Flight]
