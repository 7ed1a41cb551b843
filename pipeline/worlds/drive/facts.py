"""The facts of a drive: our car and all others over time, lanes, lights and cameras. What is not known is None.

Frame "world": right-handed metres, z up, the log's own origin. Frame "ego", of a log that does not know how our car
moved: x forward, y left, z up from a point of our car, which moves; no speed over ground follows from it. Yaw is
counter-clockwise seen from above, 0 along x, degrees in [-180, 180). Body axes are x forward, y left, z up; boxes stand
upright, so that the tilt of a slope is not in them.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, FiniteFloat

from pipeline.core.arrays import FloatArray
from pipeline.core.quantized_series import QuantizedSeries
from pipeline.core.schema import Facts, Model, Name, Scene, Vec3
from pipeline.core.templates import load_table

# Multiples of these are kept of what is measured: below the noise of every source.
PLACE_STEP_M: Final = 1e-4
YAW_STEP_DEG: Final = 1e-5
SPEED_STEP_MPS: Final = 1e-4
TIME_STEP_S: Final = 1e-5
SHARE_STEP: Final = 1e-4

Metres = Annotated[FiniteFloat, Field(gt=0)]
Size = tuple[Metres, Metres, Metres]
Line = tuple[Vec3, ...]
# Both in the order of CARLA, whose numbers the reader of its recordings goes by.
LightColour = Literal["red", "yellow", "green", "off", "unknown"]
Lamp = Literal[
    "position", "low beam", "high beam", "brake", "right blinker", "left blinker", "reverse", "fog", "interior",
    "special 1", "special 2",
]  # fmt: skip


class ActorTrack(Model):
    """Where something was, for each of the drive's times from ``first`` on; NaN where the log does not say.

    Tables of one length N. They hold multiples of the steps above.
    """

    first: Annotated[int, Field(ge=0)] = Field(description="index among the drive's times")
    place_m: QuantizedSeries = Field(description="(N, 3)")
    yaw_deg: QuantizedSeries = Field(description="(N, 1); NaN also where only the heading is not known")
    velocity_mps: QuantizedSeries | None = Field(default=None, description="(N, 3), drive's frame; None: not recorded")

    def __len__(self) -> int:
        return self.place_m.rows

    @property
    def stop(self) -> int:
        """Index of the first of the drive's times after it."""
        return self.first + len(self)


class Lamps(Model):
    """Which lamps of a vehicle are lit, from one of the drive's times until the next entry."""

    index: Annotated[int, Field(ge=0)]
    lit: tuple[Lamp, ...]


class Colour(Model):
    """The colour of a traffic light, from one of the drive's times until the next entry."""

    index: Annotated[int, Field(ge=0)]
    colour: LightColour


class VehicleBox(Model):
    """How large something is, and where its box lies about the point that its track follows."""

    size_m: Size = Field(description="length, width, height")
    middle_m: Vec3 = Field(default=(0.0, 0.0, 0.0), description="of the box from that point, along the body axes")


class Controls(Model):
    """The controls of a driver, (N, 1) each, at the times of the track."""

    throttle: QuantizedSeries = Field(description="0 to 1")
    brake: QuantizedSeries = Field(description="0 to 1")
    steering: QuantizedSeries = Field(description="-1 to 1, positive to the left")
    gear: QuantizedSeries = Field(description="negative: reverse")
    handbrake: QuantizedSeries | None = Field(default=None, description="1: set, 0: released; None: not recorded")


class Ego(Model):
    """Our car, from which the log was recorded."""

    track: ActorTrack
    point: str = Field(description='what of the car its track follows: "the middle of the rear axle"')
    box: VehicleBox | None = Field(default=None, description="None: the log does not say how large it is")
    lamps: tuple[Lamps, ...] | None = Field(default=None, description="None: not recorded")
    controls: Controls | None = None
    attributes: dict[Name, Name] = Field(default_factory=dict, description="as an actor's")


class Actor(Model):
    """Somebody or something with a track, our own car apart."""

    id: Name = Field(description="as in the source; no two have one")
    category: Name = Field(description="common word, one of `CATEGORIES`")
    source_category: Name = Field(description="the source's own word")
    box: VehicleBox | None = Field(default=None, description="None: not recorded; never guessed from the category")
    track: ActorTrack
    attributes: dict[Name, Name] = Field(
        default_factory=dict, description='what the log declares of it: {"colour": "16,16,16", "model": "…"}'
    )
    lamps: tuple[Lamps, ...] | None = Field(default=None, description="None: not recorded")
    controls: Controls | None = None
    points: QuantizedSeries | None = Field(default=None, description="(N, 1) lidar points within its box")
    occluded: QuantizedSeries | None = Field(
        default=None, description="(N, 1) KITTI's levels: 0 whole, 1 partly, 2 largely hidden, 3 unknown"
    )
    truncated: QuantizedSeries | None = Field(
        default=None, description="(N, 1) share or level outside the picture, as declared"
    )


class Lane(Model):
    """A stretch of one lane. Lines run in the direction of driving."""

    id: Name
    kind: Name = Field(description='"vehicle", "bus", "bicycle" …')
    centre: Line = Field(min_length=2)
    left: Line = Field(min_length=2)
    right: Line = Field(min_length=2)
    left_mark: Name | None = Field(default=None, description='as the map calls it in lower case: "dashed white"')
    right_mark: Name | None = None
    intersection: bool | None = None
    successors: tuple[Name, ...] = Field(default=(), description="ids, some of lanes beyond the map")
    predecessors: tuple[Name, ...] = ()
    left_neighbour: Name | None = None
    right_neighbour: Name | None = None


class Crossing(Model):
    """A pedestrian crossing."""

    id: Name
    outline: Line = Field(min_length=3, description="not closed")


class TrafficLight(Model):
    """A traffic light and what it showed."""

    id: Name
    place_m: Vec3
    yaw_deg: FiniteFloat | None = None
    colours: tuple[Colour, ...] = ()


class Collision(Model):
    """Two that hit one another. ``first`` and ``second`` are ids of actors, or "ego"; None: no actor of the log."""

    index: Annotated[int, Field(ge=0)] = Field(description="among the drive's times")
    first: Name | None
    second: Name | None


class DriveCamera(Model):
    """A camera on our car."""

    name: Name
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]
    focal_px: tuple[Metres, Metres] = Field(description="fx, fy, pixels")
    centre_px: tuple[FiniteFloat, FiniteFloat] = Field(description="cx, cy, pixels")
    ego_from_camera: tuple[Vec3, Vec3, Vec3] | None = Field(
        default=None, description="rotation, one row each: OpenCV's axes (x right, y down, z forward) into the body's"
    )
    place_m: Vec3 | None = Field(default=None, description="from the point that our track follows, body axes")


class Drive(Facts):
    """The facts of a drive."""

    world: Literal["drive"] = "drive"
    frame: Literal["world", "ego"] = Field(default="world", description="of all places; see above")
    map_name: Name | None = Field(default=None, description="of the town or city")
    start_ns: int | None = Field(default=None, description="Unix time or the source's clock at time 0; None: no date")
    seconds: QuantizedSeries = Field(description="(N, 1) times from 0 on, strictly increasing")
    ego: Ego | None = Field(default=None, description="None: how our car moved is not known")
    ego_point: str | None = Field(default=None, description='where frame "ego" has its zero: "the left grey camera"')
    actors: tuple[Actor, ...] = Field(default=(), description="by id")
    complete: tuple[Name, ...] = Field(
        default=(),
        description="categories whose objects in the film are all in the log, as far as questions name them",
    )
    labelled_in: Name | None = Field(
        default=None, description='camera in whose picture alone things were labelled: "the left colour camera"'
    )
    lanes: tuple[Lane, ...] = Field(default=(), description="empty: no map")
    crossings: tuple[Crossing, ...] = ()
    drivable: tuple[Line, ...] = Field(default=(), description="outlines, not closed")
    lights: tuple[TrafficLight, ...] = ()
    collisions: tuple[Collision, ...] | None = Field(default=None, description="None: not recorded")
    cameras: tuple[DriveCamera, ...] = ()

    @property
    def times_s(self) -> FloatArray:
        """(N,) seconds from the start of the log."""
        return self.seconds.array[:, 0]


DriveScene = Scene[Drive]


CARS: Final = frozenset({"car", "van"})
HEAVY: Final = frozenset({"truck", "bus", "trailer", "tram", "large vehicle"})
TWO_WHEELED: Final = frozenset({"bicycle", "motorcycle", "scooter"})
RIDERS: Final = frozenset({"cyclist", "motorcyclist"})  # whoever rides, with what is ridden where the source joins them
PEOPLE: Final = frozenset({"pedestrian", "wheelchair user"})
VEHICLES: Final = CARS | HEAVY | frozenset({"motorcycle", "motorcyclist", "vehicle"})
ROAD_USERS: Final = VEHICLES | RIDERS | PEOPLE  # what every source labels; not all label cones or parked bicycles
FURNITURE: Final = frozenset({"bollard", "traffic cone", "construction barrel", "sign", "stop sign", "message board"})
ALONGSIDE: Final = frozenset({"stroller", "wheelchair", "animal", "wheeled device", "object"})
CATEGORIES: Final = CARS | HEAVY | TWO_WHEELED | RIDERS | PEOPLE | VEHICLES | FURNITURE | ALONGSIDE

# Words of the sources -> common words (templates/tables/drive/categories.yaml).
_TABLES: Final[dict[str, dict[str, str]]] = load_table("drive/categories")
ARGOVERSE2, KITTI, NUSCENES = (_TABLES[name] for name in ("argoverse2", "kitti", "nuscenes"))
CARLA_TYPES, CARLA_VEHICLES, CARLA_PROPS = (_TABLES[f"carla_{name}"] for name in ("types", "vehicles", "props"))
