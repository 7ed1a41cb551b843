"""The appearance of a thing according to its map: only the colour, shape, height or sign that the map states."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Model, Name
from pipeline.core.templates import load_table
from pipeline.reading.maps.feature import Feature

BUILDING: Final = "building"
TOWER: Final = "tower"

_TABLE: Final = load_table("maps/nouns")
NOUN_OF: Final[dict[str, str]] = {kind: noun for noun, kinds in _TABLE["kinds"].items() for kind in kinds}
CHRISTIAN: Final = "church"  # what a building of this religion looks like
POINTS: Final = frozenset(_TABLE["points"])
BUILT: Final = frozenset(_TABLE["built"])
COLOURED: Final = BUILT | frozenset(_TABLE["coloured_too"])
SLIM: Final = 1.2  # height over width from which on a building may be called a tower


def may_be(noun: str) -> frozenset[str]:
    """The nouns of all that somebody might call so."""
    return frozenset(_TABLE["also"].get(noun, ())) | {noun}


Channel = Annotated[int, Field(ge=0, le=255)]
Rgb = tuple[Channel, Channel, Channel]  # sRGB
RoofShape = Literal["flat", "pitched", "pointed", "domed", "rounded"]


class Appearance(Model):
    """The visible traits of a landmark that its map states. The others are None and appear in no text."""

    noun: Name = Field(description='what it looks like: "building", "church", "park"')
    walls: Rgb | None = None
    roof: Rgb | None = None
    roof_shape: RoofShape | None = None
    height_m: tuple[FiniteFloat, FiniteFloat] | None = Field(
        default=None, description="from foot to top, at least and at most: storeys tell it less well than metres"
    )
    area_m2: Annotated[FiniteFloat, Field(gt=0)] | None = Field(
        default=None, description="of its outline; None: a point"
    )
    sign: Name | None = Field(default=None, description="what can be read on it")
    source_tags: dict[str, str] = Field(
        default_factory=dict, description='for each of these, what the map has: {"walls": "building:colour=red"}'
    )
    unlike: tuple[str, ...] = Field(
        default=(), description="words for colours that no picture of the video shows where it stands"
    )


# A storey of a building with what lies above and below it, metres: of few and high ones, of many and low ones.
STOREY_M: Final = (2.5, 5.0)
LEVELS_MAX: Final = 200  # the highest building has 163
_KIND_KEYS: Final = (
    "kind", "building", "man_made", "leisure", "natural", "amenity", "historic", "tourism", "type", "landuse",
    "aeroway", "junction",
)  # fmt: skip
# Tags of what lies underground or indoors, where no camera sees it: how a map says that of a car park, and of the rest.
UNSEEN: Final[dict[str, frozenset[str]]] = {key: frozenset(values) for key, values in _TABLE["unseen"].items()}
_HOUSES: Final = ("building", "Building")  # keys and values that say that a thing is a building of whatever kind
_WALLS: Final = ("building:colour", "colour")
_ROOF: Final = ("roof:colour", "roof_colour", "colour")
_SHAPE: Final = ("roof:shape", "roof_shape")
LEVELS: Final = ("building:levels", "levels")
_HEIGHT: Final = ("height_m", "height", "height of geometry")
_HEX: Final = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE | re.ASCII)
# Roof shapes as Simple 3D Buildings has them, by what they look like.
_SHAPES: Final[dict[str, RoofShape]] = {
    "flat": "flat",
    **dict.fromkeys(("gabled", "hipped", "half-hipped", "gambrel", "mansard", "saltbox", "pitched"), "pitched"),
    **dict.fromkeys(("pyramidal", "cone", "spire", "pointed"), "pointed"),
    **dict.fromkeys(("dome", "onion", "domed"), "domed"),
    **dict.fromkeys(("round", "barrel", "rounded"), "rounded"),
}  # fmt: skip
T = TypeVar("T")
_SIGN_MAX: Final = 60  # characters: nobody reads more from the air


def look_of(feature: Feature, *, of_unknown_extent: bool = False) -> Appearance | None:
    """The look of a map's feature; None where nothing tells what it looks like, as of a shop within a house.

    ``of_unknown_extent``: also of a point that stands for something large, as a park, which is none of `POINTS`.
    """
    found = _noun(feature, of_unknown_extent)
    if found is None or any(feature.tags.get(key) in values for key, values in UNSEEN.items()):
        return None
    noun, source = found
    used, tags = {"noun": source}, feature.tags
    walls = _first(tags, _WALLS, rgb_of, used, "walls")
    roof = _first(tags, _ROOF, rgb_of, used, "roof")
    shape: RoofShape | None = _first(tags, _SHAPE, _shape, used, "roof_shape")
    height: tuple[float, float] | None = None
    if math.isfinite(feature.height_m):
        height = feature.height_m, feature.height_m
        used["height_m"] = next((f"{key}={tags[key]}" for key in _HEIGHT if key in tags), "the map's height")
    else:
        height = _first(tags, LEVELS, _storeys, used, "height_m")
    sign = _first(tags, ("sign",), _readable, used, "sign")
    return Appearance(noun=noun, walls=walls, roof=roof, roof_shape=shape, height_m=height, sign=sign, source_tags=used)


_RISES: Final[dict[str, tuple[float, float]]] = {noun: tuple(rise) for noun, rise in _TABLE["rises"].items()}
_RISES_OF_KIND: Final[dict[str, tuple[float, float]]] = {
    kind: tuple(group["rise"]) for group in _TABLE["kinds_of_building"] for kind in group["of"]
}


def rise_of(feature: Feature, look: Appearance | None) -> tuple[float, float]:
    """Least and greatest height that a map's thing may have, metres: by its storeys, or else by its kind."""
    if look is not None and look.height_m is not None:
        return look.height_m
    kind = feature.tags.get("building", "").casefold().replace("_", " ")
    noun = look.noun if look is not None else BUILDING
    return (_RISES_OF_KIND.get(kind) if noun == BUILDING else None) or _RISES[noun]


def rgb_of(text: str) -> Rgb | None:
    """A colour as maps write them: "#b22222", "#B22" or a name of CSS; None for anything else."""
    from PIL import ImageColor  # here, since what only asks for heights needs no pictures

    text = text.strip().casefold().replace(" ", "").replace("_", "")
    if not _HEX.fullmatch(text) and text not in ImageColor.colormap:
        return None
    red, green, blue, *_ = ImageColor.getrgb(text)
    return red, green, blue


def _noun(feature: Feature, of_unknown_extent: bool) -> tuple[str, str] | None:
    """The noun, and what of the map says it."""
    tags = feature.tags
    is_point = len(feature.outlines[0]) < 3
    for key in _KIND_KEYS:
        noun = NOUN_OF.get(tags.get(key, "").casefold().replace("_", " "), "")
        houses_only = "building" in tags and noun not in BUILT  # a car park that is a building looks like one
        if noun and not houses_only and (not is_point or noun in POINTS or of_unknown_extent):
            return noun, f"{key}={tags[key]}"
    if is_point:
        return None
    if feature.solid and tags.get("amenity") == "place_of_worship" and tags.get("religion") == "christian":
        return CHRISTIAN, "amenity=place_of_worship, religion=christian"
    if feature.solid or tags.get("kind") in _HOUSES:
        tag = next((f"{key}={tags[key]}" for key in ("building", "kind", "type") if key in tags), None)
        return BUILDING, tag or "an outline of a building"
    return None


def _first(
    tags: Mapping[str, str], keys: Sequence[str], read: Callable[[str], T | None], used: dict[str, str], fact: str
) -> T | None:
    """The value of the first key that can be parsed; its tag is recorded in ``used``."""
    for key in keys:
        value = read(tags[key]) if key in tags else None
        if value is not None:
            used[fact] = f"{key}={tags[key]}"
            return value
    return None


def _shape(text: str) -> RoofShape | None:
    return _SHAPES.get(text.casefold())


def _storeys(text: str) -> tuple[float, float] | None:
    """Least and greatest height of a building of so many storeys."""
    if not re.fullmatch(r"\d{1,3}(?:\.\d)?", text.strip(), re.ASCII) or not 0 < float(text) <= LEVELS_MAX:
        return None
    return STOREY_M[0] * float(text), STOREY_M[1] * (float(text) + 1)  # and a roof


def _readable(text: str) -> str | None:
    """Words on a sign, on one line, without what would end a quotation."""
    words = " ".join(text.split())
    return words if 0 < len(words) <= _SIGN_MAX and '"' not in words else None
