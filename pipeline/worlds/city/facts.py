"""The facts of a city: things that can be asked about or serve as landmarks, and the tasks that people wrote.

Frame: ENU metres about the city's origin (x east, y north, z up), the ground at z = 0. Yaw is a compass angle,
clockwise from north; pitch is positive upwards.
"""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Facts, Model, Name, Origin, Scene, Vec3
from pipeline.reading.maps.city_thing import CityThing, KindCoverage, Ring, Vec2

Pose = tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]
"""x, y, z in metres; roll, pitch, yaw in degrees."""


class Street(Model):
    """A way that people drive or walk on, by its middle line. Sides and fronts of things follow from streets."""

    id: Name
    name: Name | None = None
    line: Annotated[tuple[Vec2, ...], Field(min_length=2)]
    sure: bool = Field(
        default=True, description="whether everybody calls it a street; False: a drive or a ramp, which some may"
    )


class RawTask(Model):
    """A question that people wrote, before it has a place to start from; or one recovered from a release."""

    id: Name
    question: Annotated[str, Field(min_length=1, max_length=1000)]
    answer: Annotated[str, Field(min_length=1, max_length=1000)]
    category: Name | None = None
    p_obs: Pose = Field(description="a pose that shows the answer")
    target: Name | None = Field(default=None, description="id of the thing asked about, where it is known")
    point: Vec3 = Field(description="where that is")
    p_tar: Pose | None = Field(default=None, description="as released")


class CityPhoto(Model):
    """A picture that was taken from a pose. Its path is relative to the reader's root."""

    path: str
    pose: Pose


class City(Facts):
    """The facts of a city."""

    world: Literal["city"] = "city"
    origin: Origin | None = Field(description="None: local coordinates alone, as of a released file")
    bounds: Ring | None = Field(description="what the map covers, counter-clockwise; None: there is no map")
    things: tuple[CityThing, ...] = Field(default=(), description="by id; no two have one")
    streets: tuple[Street, ...] = Field(default=(), description="by id; what faces them is only known where they are")
    complete: tuple[Name, ...] = Field(default=(), description="kinds that the map lists completely, as declared")
    coverage: tuple[KindCoverage, ...] = Field(default=(), description="by kind and area; unknown for other kinds")
    slabs_m: tuple[FiniteFloat, ...] = Field(default=(5.0, 9.0), description="heights at which agents move")
    tasks: tuple[RawTask, ...] = ()
    photos: tuple[CityPhoto, ...] = ()

    @property
    def place_on_earth(self) -> Origin | None:
        """Where its map has its zero."""
        return self.origin


CityScene = Scene[City]
