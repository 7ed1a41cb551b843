"""Things of a map that can be asked about or serve as landmarks, and of which kinds a map knows how many it has.

Frame: ENU metres about an origin (x east, y north, z up), the ground at z = 0; bearings are compass angles.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Model, Name
from pipeline.core.templates import load_table

Vec2 = tuple[FiniteFloat, FiniteFloat]
Ring = Annotated[tuple[Vec2, ...], Field(min_length=3)]
Levels = Annotated[FiniteFloat, Field(gt=0, le=200)]
Compass = Annotated[FiniteFloat, Field(ge=0, lt=360)]

BUILDING = "building"  # the kind of all that is a building
SHOP: Final = "shop"  # all premises that a passer-by would enter for what they sell or serve
SHOWN_BY_NAME: Final = frozenset({SHOP, "bus stop"})


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
    colour: Name | None = Field(default=None, description="the basic word that its colour clearly is; None: not known")
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
        default=0.0, description="largest error of the position of a point (`map_quality`)"
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

    @property
    def text(self) -> str | None:
        """What can be read on it: its sign, or the name of what shows its name."""
        return self.sign or (self.name if self.kind in SHOWN_BY_NAME else None)

    @property
    def type_shown(self) -> str | None:
        """What a shop shows in its window: the type that the map states."""
        return self.noun if self.kind == SHOP and self.noun != SHOP else None

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


class PointThingSize(NamedTuple):
    """How large things of a kind are that a map has as points: width across and depth along their facing, metres.

    ``base_m`` is the height of the foot where the map tells none.
    """

    width_m: float
    depth_m: float
    height_m: float
    base_m: float = 0.0


_TABLE: Final = load_table("city/looks")
SIZES: Final[Mapping[str, PointThingSize]] = {kind: PointThingSize(*size) for kind, size in _TABLE["sizes"].items()}
FLAT: Final = frozenset(_TABLE["flat"])
PLAIN: Final = frozenset(_TABLE["plain"])  # kinds that no shape tells
SHAPES: Final[Mapping[str, Sequence[Sequence[Any]]]] = _TABLE["shapes"]  # of vehicles, by noun or kind
VEHICLES: Final = ("car", "van", "truck", "bus")  # kinds
USUAL_RGB: Final[Mapping[str, tuple[int, int, int]]] = {kind: tuple(rgb) for kind, rgb in _TABLE["colours"].items()}
SURFACES: Final[Mapping[str, Sequence[Any]]] = _TABLE["surfaces"]  # colour and pattern
FACING: Final = frozenset({"signboard", "shop"})  # without a facing it is not known where they can be seen
