"""The shared schema: what every reader produces and every later stage reads.

Frames and units: metres, z up, right-handed world frame of the scan. Angles in degrees. ``None`` means "not
measured" and never zero. JSON Schemas of these models are generated into ``meta_schemas/`` (`scan2qa schemas`).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

SCHEMA_VERSION: Final = 1

Vec3 = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
Mat3 = tuple[Vec3, Vec3, Vec3]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Model(BaseModel):
    """Base of all schema models: immutable, and unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OrientedBox(Model):
    """A box in any orientation, in the sense of Open3D's OrientedBoundingBox.

    ``axes`` has one unit axis per row (world coordinates); ``lengths[i]`` is the full side along ``axes[i]``, metres.
    """

    center: Vec3
    lengths: tuple[
        Annotated[FiniteFloat, Field(ge=0)], Annotated[FiniteFloat, Field(ge=0)], Annotated[FiniteFloat, Field(ge=0)]
    ]
    axes: Mat3


class Visibility(Model):
    """What the delivered video shows of one object (stage `observe`)."""

    frames_seen: int = Field(ge=0, description="examined frames in which it passes the pixel threshold")
    largest_pixels: int = Field(ge=0, description="most pixels in any examined frame, of the reduced image")
    first_seen_s: FiniteFloat | None = Field(description="time of the first such frame from the video's start")
    budgets: dict[int, int] = Field(description="number of evenly spaced frames -> most pixels in any of them")


class SceneObject(Model):
    """One annotated object instance."""

    category: Name
    instance: int = Field(ge=0, description="index among the scene's objects of this category")
    raw_label: str | None = Field(default=None, description="the dataset's own label before remapping")
    box: OrientedBox
    visibility: Visibility | None = Field(default=None, description="None: not examined")


class Observation(Model):
    """How the visibility of a scene's objects was found."""

    frames_examined: int = Field(ge=0)
    frames_skipped: dict[str, int] = Field(description="reason -> frames of the video that could not be examined")
    frames_per_second: FiniteFloat
    min_pixels: int
    budgets: tuple[int, ...]
    image: tuple[int, int] = Field(description="width and height of the reduced image")
    depth_agreement: FiniteFloat | None = Field(description="share of rays not behind the measured depth")
    unscanned_m2: FiniteFloat | None = Field(default=None, description="below the camera's path, where the mesh lacks")
    unscanned_share: FiniteFloat | None = Field(default=None, description="of the floor's area")


class Room(Model):
    """The scanned space as a whole; what a source does not measure is None."""

    area_m2: Annotated[FiniteFloat, Field(gt=0)] | None = None
    area_method: str | None = Field(default=None, description='how, for example "alpha_shape alpha=5 voxel=0.05"')
    area_failure: str | None = Field(default=None, description="why there is no area")
    center: Vec3 | None = None
    floor: tuple[tuple[tuple[FiniteFloat, FiniteFloat], ...], ...] | None = Field(
        default=None, description="closed outlines of the floor, outer ones counter-clockwise, holes clockwise"
    )


class Video(Model):
    """The video of a scene; what is not known is None."""

    path: str = Field(description="relative to the scene's root, or the bare name where the source has no videos")
    fps: Annotated[FiniteFloat, Field(gt=0)] | None = None
    frames: Annotated[int, Field(gt=0)] | None = None
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None
    turn_deg: Literal[0, 90, 180, 270] = Field(default=0, description="clockwise turn that makes it upright")


class Finding(Model):
    """Something in the raw data that is not as it should be, with the numbers that show it.

    A ``fault`` quarantines its scene. A ``doubt`` stays with the scene: profile `strict` refuses what it touches. A
    ``note`` is about something that no answer depends on.
    """

    name: str
    severity: Literal["fault", "doubt", "note"]
    subject: str = Field(description="the category, key or line it is about")
    message: str
    measured: float | None = None
    limit: float | None = None
    unit: str | None = None
    stretches: tuple[tuple[FiniteFloat, FiniteFloat], ...] | None = Field(
        default=None,
        description="start and end, seconds of a flight's log, of all that it is about; None: the whole scene",
    )
    remedy: str


class Source(Model):
    """Where a scene was read from. Paths are relative to the reader's root."""

    reader: str
    reader_version: int
    files: tuple[str, ...]
    sha256: str = Field(description="digest over the raw bytes of this scene's annotation, geometry and poses")
    box_method: str = Field(default="annotated", description="how the boxes came about")


class Route(Model):
    """A route written by a person: objects passed in order, the destination last, and the turns before them."""

    start: Name
    facing: Name
    passed: tuple[Name, ...] = Field(min_length=1)
    turns: tuple[Literal["Turn Left", "Turn Right", "Turn Back"], ...] = Field(min_length=1)


class Origin(Model):
    """Where the ENU frame of a flight has its zero, WGS84."""

    lat_deg: Annotated[FiniteFloat, Field(ge=-90, le=90)]
    lon_deg: Annotated[FiniteFloat, Field(ge=-180, le=180)]
    alt_m: FiniteFloat | None = Field(description="above mean sea level; None: the log has none")


class Camera(Model):
    """The camera of a flight."""

    horizontal_fov_deg: Annotated[FiniteFloat, Field(gt=0, lt=180)]
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]
    pitch_deg: Annotated[FiniteFloat, Field(ge=-90, le=90)] | None = Field(
        default=None, description="of a camera that does not tilt: 0 level, -90 down; None: the log says it"
    )


class Landmark(Model):
    """Something with a place that a flight may pass. ENU metres about the flight's origin."""

    name: Name = Field(description="as in the source; may occur twice")
    kind: str | None = Field(default=None, description='for example "building", "park"')
    label: Name | None = Field(
        default=None, description="how to speak of it: its name, or its relation to a unique one; None: not nameable"
    )
    center: tuple[FiniteFloat, FiniteFloat]
    radius_m: Annotated[FiniteFloat, Field(ge=0)] = Field(description="of the smallest circle about it; 0 for a point")
    outline: tuple[tuple[FiniteFloat, FiniteFloat], ...] | None = Field(default=None, description="its footprint")
    base_m: FiniteFloat | None = Field(default=None, description="height of its foot, ENU; None: not known")
    top_m: FiniteFloat | None = Field(default=None, description="height of its top, ENU; None: not known")


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
    "gimbal up",
    "gimbal down",
]


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


class View(Model):
    """When the camera has a landmark in its picture, nothing known standing before it."""

    landmark: int = Field(ge=0, description="index among the flight's landmarks")
    intervals: tuple[tuple[FiniteFloat, FiniteFloat], ...] = Field(description="surely: start and end, seconds")
    possible: tuple[tuple[FiniteFloat, FiniteFloat], ...] = Field(
        description="when any part of it may be in the picture, at any distance and whatever stands before it"
    )


class Motion(Model):
    """What a flight does and sees (stage `observe`). Times are seconds from the start of the video.

    The path is resampled evenly within each part; lists are of one length.
    """

    rate_hz: FiniteFloat
    t_s: tuple[FiniteFloat, ...]
    enu_m: tuple[Vec3, ...]
    height_m: tuple[FiniteFloat | None, ...]
    heading_deg: tuple[FiniteFloat | None, ...] = Field(description="of the nose, clockwise from north")
    course_deg: tuple[FiniteFloat | None, ...] = Field(description="of the movement; None where it hardly moves")
    pitch_deg: tuple[FiniteFloat | None, ...] = Field(description="of the camera: 0 level, -90 down")
    part: tuple[int, ...]
    segments: tuple[Segment, ...]
    views: tuple[View, ...] | None = Field(description="None: no camera, heading or landmark to tell by")


class Flight(Model):
    """What a drone flight has and a scan has not."""

    log: str = Field(description="format of the flight log, as the reader calls it")
    origin: Origin | None = Field(description="None: local positions alone")
    camera: Camera | None = None
    goal: Name | None = Field(default=None, description="where the pilot was sent; the label of a landmark, or words")
    route: tuple[Name, ...] = Field(default=(), description="the steps that the pilot was given, in order")
    video_offset_s: FiniteFloat = Field(default=0.0, description="time of the log at the start of the video")
    landmarks: tuple[Landmark, ...] = ()
    motion: Motion | None = Field(default=None, description="None: not observed yet")


class Scene(Model):
    """One unit of a build, a scan or a flight, in the shared schema."""

    id: Name = Field(description='"dataset/name", stable')
    dataset: Name
    name: Name
    kind: Literal["scan", "flight"] = "scan"
    source: Source
    video: Video | None = None
    objects: tuple[SceneObject, ...] = ()
    counts: dict[Name, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict,
        description="instances per category as the source states them; may differ from the boxes (see findings)",
    )
    room: Room = Room()
    flight: Flight | None = Field(default=None, description="set for a flight alone")
    findings: tuple[Finding, ...] = ()
    routes: tuple[Route, ...] = Field(default=(), description="routes written by people")
    observation: Observation | None = Field(default=None, description="None: visibility was not examined")


class Evidence(Model):
    """One number behind an answer; where a rule bounds it, the limit too."""

    name: str
    subject: str
    value: float
    relation: Literal[">=", ">", "<=", "<"] | None = None
    limit: float | None = None
    unit: str


class Rejection(Model):
    """Why a candidate question is not asked: a named reason with the measured value and its limit."""

    reason: str
    measured: float | None
    limit: float | None
    unit: str | None


class Question(Model):
    """A released question with everything that proves its answer."""

    id: int = Field(ge=0, lt=2**53)
    scene: str
    task: str
    template: str
    template_version: int
    operands: tuple[str, ...]
    text: str
    options: tuple[str, ...] | None = Field(description='"A. …" in order; None for numeric questions')
    ground_truth: str = Field(description="a bare letter where there are options, else the number")
    answer: str = Field(description="the answer in words or as a number, whatever its letter")
    choices: tuple[str, ...] | None = Field(description="four options of a numeric question")
    choice: str | None = Field(description="letter of the right one among ``choices``")
    visible_in: tuple[int, ...] | None = Field(
        description="frame budgets that show all it speaks of; None: not examined"
    )
    evidence: tuple[Evidence, ...]
    flags: tuple[str, ...] = ()


class Quarantine(Model):
    """A unit that was left out of a build, and why."""

    unit: str
    stage: str
    file: str
    finding: str
    message: str
    remedy: str


MODELS: Final[dict[str, type[Model]]] = {
    "scene": Scene,
    "question": Question,
    "rejection": Rejection,
    "quarantine": Quarantine,
}
