"""The facts of an episode: joints, gripper and things over time, cameras and instructions. What is not known is None.

Frame "world": right-handed metres, z up, the log's own origin; of most logs the robot stands on a table and looks along
x, so that y is to its left. Turns are unit quaternions, w first, from the body's axes into the world's.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, FiniteFloat

from pipeline.core.arrays import FloatArray
from pipeline.core.quantized_series import QuantizedSeries
from pipeline.core.schema import Facts, Mat3, Model, Name, Scene, Vec3

# Multiples of these are kept of what is measured: below the noise of every source.
PLACE_STEP_M: Final = 1e-6
JOINT_STEP: Final = 1e-6  # radians, metres, or the unit of the source
RATE_STEP: Final = 1e-6
EFFORT_STEP: Final = 1e-4
TURN_STEP: Final = 1e-7  # of a quaternion's parts
SHARE_STEP: Final = 1e-4
TIME_STEP_S: Final = 1e-5
EPISODE_MAX_S: Final = 20_000.0  # what that step can hold

Metres = Annotated[FiniteFloat, Field(gt=0)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Clock = Literal["recorded", "from rates", "frames per second"]


class Joint(Model):
    """One joint of an arm. Limits are those of its maker or of the log, never read off the movement."""

    name: Name
    kind: Literal["revolute", "prismatic"] | None = None
    unit: Literal["rad", "m"] | None = Field(default=None, description="of its positions; None: not declared")
    low: FiniteFloat | None = Field(default=None, description="limit of its position")
    high: FiniteFloat | None = None
    rate_max: Annotated[FiniteFloat, Field(gt=0)] | None = Field(default=None, description="units per second")


class Arm(Model):
    """The arm: tables (N, J), a row for each time and a column for each joint."""

    model: Name | None = Field(default=None, description='maker and type: "Franka Emika Panda"')
    joints: tuple[Joint, ...] = Field(min_length=1, description="from the base on")
    position: QuantizedSeries = Field(description="(N, J)")
    velocity: QuantizedSeries | None = Field(default=None, description="(N, J), units per second, as recorded")
    effort: QuantizedSeries | None = Field(default=None, description="(N, J), N m or N, as recorded")
    base_m: Vec3 | None = Field(default=None, description="foot of the arm in the world's frame")
    base_from: Name | None = Field(default=None, description='"declared", or "forward kinematics": fitted to the log')
    reach_m: Metres | None = Field(default=None, description="as its maker states it; None: not known")


class Gripper(Model):
    """The gripper, over all times."""

    point: Name = Field(description='what of it the track follows: "the point between the finger tips"')
    place_m: QuantizedSeries | None = Field(default=None, description="(N, 3)")
    turn_wxyz: QuantizedSeries | None = Field(default=None, description="(N, 4)")
    opening: QuantizedSeries | None = Field(default=None, description="(N, 1) share: 0 closed, 1 open")
    width_m: QuantizedSeries | None = Field(default=None, description="(N, 1) between the fingers")
    width_max_m: Metres | None = None


class Slide(Model):
    """How far a drawer, door or button was moved along its own joint."""

    position: QuantizedSeries = Field(description="(N, 1)")
    unit: Literal["m", "rad"]
    low: FiniteFloat
    high: FiniteFloat


class SceneItem(Model):
    """Something beside the robot."""

    id: Name
    category: Name = Field(description='common word: "cube", "drawer"')
    attributes: dict[Name, Name] = Field(default_factory=dict, description='as declared: {"colour": "red"}')
    role: Name | None = Field(default=None, description='what it is to the task: "target"')
    size_m: tuple[Metres, Metres, Metres] | None = Field(default=None, description="along its own x, y, z")
    place_m: QuantizedSeries | None = Field(default=None, description="(N, 3) of its middle")
    turn_wxyz: QuantizedSeries | None = Field(default=None, description="(N, 4)")
    slide: Slide | None = Field(default=None, description="None: it has no joint, or none is recorded")


class ArmCamera(Model):
    """A camera. Of one that moves with the gripper the pose is that of the first time."""

    name: Name
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None
    focal_px: tuple[Metres, Metres] | None = Field(default=None, description="fx, fy, pixels")
    centre_px: tuple[FiniteFloat, FiniteFloat] | None = Field(default=None, description="cx, cy, pixels")
    place_m: Vec3 | None = None
    world_from_camera: Mat3 | None = Field(
        default=None, description="rotation, one row each: OpenCV's axes (x right, y down, z forward) into the world's"
    )
    moves: bool | None = None
    pictures: bool = Field(default=False, description="whether the log holds what it saw")


class Episode(Facts):
    """The facts of an episode."""

    world: Literal["arm"] = "arm"
    seconds: QuantizedSeries = Field(description="(N, 1) times from 0 on, strictly increasing")
    clock: Clock = Field(description="how the times are known")
    task: Name | None = Field(default=None, description='as the source calls it: "reach_target"')
    instructions: tuple[Text, ...] = Field(default=(), description="several: wordings of one task")
    success: bool | None = Field(default=None, description="None: not declared")
    arm: Arm | None = None
    gripper: Gripper | None = Field(default=None, description="None: there is none, or nothing of it is recorded")
    items: tuple[SceneItem, ...] = Field(default=(), description="by id; those about which something is known")
    items_complete: bool = Field(default=False, description="whether these are all: else nothing can be counted")
    cameras: tuple[ArmCamera, ...] = ()

    @property
    def times_s(self) -> FloatArray:
        """(N,) seconds from the start of the episode."""
        return self.seconds.array[:, 0]


EpisodeScene = Scene[Episode]
