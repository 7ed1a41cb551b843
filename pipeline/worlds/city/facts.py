"""The facts of a city: things that can be asked about or serve as landmarks, and the tasks that people wrote.

Frame: ENU metres about the city's origin (x east, y north, z up), the ground at z = 0. Yaw is a compass angle,
clockwise from north; pitch is positive upwards.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Facts, Model, Name, Origin, Scene, Vec3

Pose = tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]
"""x, y, z in metres; roll, pitch, yaw in degrees."""
Vec2 = tuple[FiniteFloat, FiniteFloat]
Ring = Annotated[tuple[Vec2, ...], Field(min_length=3)]
Levels = Annotated[FiniteFloat, Field(gt=0, le=200)]
Compass = Annotated[FiniteFloat, Field(ge=0, lt=360)]

BUILDING = "building"  # the kind of all that is a building


_GIVEN: Final[dict[frozenset[str], set[str]]] = {}  # fields that things were made with: few combinations


class CityThing(Model):
    """Something with a place. What the map does not tell is None, and is not said."""

    id: Name = Field(description='stable within its city: "way/123", "b17"')
    kind: Name = Field(description='what a query names: "building", "shop", "car", "bench", "tree", "parking" …')
    noun: Name = Field(description='what one calls it: "bakery", "church", "parking lot"')
    also: tuple[Name, ...] = Field(
        default=(), description="other kinds and nouns that its tags allow: a supermarket that is a building is a shop"
    )
    name: Name | None = Field(default=None, description="proper name, on one line; several may have it")
    sign: Name | None = Field(default=None, description="what can be read there; a name alone can not")
    colour: Name | None = Field(default=None, description="a basic word that its colour surely is; None: not known")
    roof_colour: Name | None = Field(default=None, description="likewise, of the roof")
    rgb: tuple[int, int, int] | None = Field(default=None, description="of its colour as declared, for pictures")
    roof_rgb: tuple[int, int, int] | None = None
    roof_shape: Literal["flat", "pitched", "pointed", "domed", "rounded"] | None = None
    height_m: Annotated[FiniteFloat, Field(gt=0)] | None = Field(default=None, description="from foot to top")
    base_m: FiniteFloat | None = Field(default=None, description="height of its foot above the city's ground")
    top_m: FiniteFloat | None = Field(default=None, description="height of its top above the city's ground")
    parts: Annotated[int, Field(ge=0)] = Field(
        default=0, description="of a building, each with its height: where there are any, it is not so high all over"
    )
    levels: Levels | None = Field(default=None, description="storeys: they bound a height, and tell none")
    traits: dict[str, str] = Field(
        default_factory=dict, description='what else is seen of it: {"surface": "asphalt", "shelter": "no"}'
    )
    center: Vec2 = Field(description="of the smallest circle about it")
    radius_m: Annotated[FiniteFloat, Field(ge=0)] = Field(description="of that circle; 0 for a point")
    error_m: Annotated[FiniteFloat, Field(ge=0)] = Field(
        default=0.0, description="how far from its centre a point may stand in truth (`map_quality`)"
    )
    outline: Ring | None = Field(default=None, description="counter-clockwise, not closed; None: a point")
    facing_deg: Compass | None = Field(default=None, description="of signboards, shop fronts, cars; None: not known")
    on: Name | None = Field(default=None, description="id of the building on whose facade or in which it is")
    doubt: str | None = Field(
        default=None, description="why nothing is said or asked of it, though it stands in the way; None: all is well"
    )
    source_tags: dict[str, str] = Field(
        default_factory=dict, description='for each fact, what the map has: {"colour": "building:colour=red"}'
    )

    def model_post_init(self, context: Any, /) -> None:
        """Shares the set of the fields that were given: of a city of 100,000 things these sets took 230 MB of 480."""
        given = self.__pydantic_fields_set__
        object.__setattr__(self, "__pydantic_fields_set__", _GIVEN.setdefault(frozenset(given), given))


class KindCoverage(Model):
    """Of how many things of a kind that other entries of a map tell of the map has the thing itself."""

    kind: Name
    area: tuple[int, int] | None = Field(description="south-west corner of a square, metres; None: the whole map")
    told: Annotated[int, Field(ge=1)] = Field(description="things that other entries tell of")
    found: Annotated[int, Field(ge=0)] = Field(description="of these, those that are on the map")


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
    complete: tuple[Name, ...] = Field(default=(), description="kinds of which the map has all there are, as declared")
    coverage: tuple[KindCoverage, ...] = Field(default=(), description="by kind and area; of other kinds nothing tells")
    slabs_m: tuple[FiniteFloat, ...] = Field(default=(5.0, 9.0), description="heights at which agents move")
    tasks: tuple[RawTask, ...] = ()
    photos: tuple[CityPhoto, ...] = ()


CityScene = Scene[City]
