"""The facts of a panorama: the picture, where and which way it was taken, and what can be seen in it.

The picture is equirectangular: of a whole sphere of W x H pixels the middle of column u lies at yaw
((u + 1/2) / W - 1/2) * 360 degrees, the middle of row v at pitch (1/2 - (v + 1/2) / H) * 180 degrees.

Angles: yaw is clockwise seen from above, 0 at the middle column, in [-180, 180), and knows no compass; a heading is a
compass angle, clockwise from true north, in [0, 360). Pitch is positive upwards. Places are ENU metres about the
camera's foot (x east, y north).
"""

import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Facts, Limits, Model, Name, Origin, Scene, Share

Vec2 = tuple[FiniteFloat, FiniteFloat]
Compass = Annotated[FiniteFloat, Field(ge=0, lt=360)]
Yaw = Annotated[FiniteFloat, Field(ge=-180, lt=180)]
Pitch = Annotated[FiniteFloat, Field(ge=-90, le=90)]
Metres = Annotated[FiniteFloat, Field(ge=0)]
Pixels = Annotated[int, Field(gt=0)]
Slot = Literal["Architecture", "Signage", "Vegetation", "Terrain", "Infrastructure"]
"""The slots of foundational perception (ERGeoBench, section 4.3)."""


MOST_PIXELS: Final = 89_000_000  # of a picture: 13,341 x 6,670; more is what Pillow takes for a bomb


class SphereCrop(Model):
    """Where a picture lies in the whole sphere, pixels (GPano: FullPano…, CroppedArea…)."""

    full_width: Pixels = Field(description="of the whole sphere")
    full_height: Pixels = Field(description="of the whole sphere: half its width")
    left: Annotated[int, Field(ge=0)] = Field(description="columns of the sphere to the left of the picture")
    top: Annotated[int, Field(ge=0)] = Field(description="rows of the sphere above the picture")


class PanoramaPicture(Model):
    """The panorama's picture. Its path is relative to the reader's root."""

    path: str
    width: Pixels
    height: Pixels
    crop: SphereCrop | None = Field(default=None, description="None: it is the whole sphere, twice as wide as high")
    sha256: str = Field(description="of the file")


class DepthSource(Model):
    """Distances from the camera's centre: a grey PNG of 16 bits, which covers what the picture covers."""

    path: str
    metres_per_unit: Annotated[FiniteFloat, Field(gt=0)] = Field(description="0 units: not known")
    width: Pixels
    height: Pixels


class PanoramaObject(Model):
    """Something that is to be seen. What is not known of it is None, and is not said.

    It lies within ``width_deg`` about ``yaw_deg``, so that one that lies across the seam is one interval all the same.
    """

    id: Name = Field(description="stable within its panorama")
    label: Name = Field(description='what one calls it: "pharmacy", "traffic light"')
    slot: Slot | None = None
    name: Name | None = Field(default=None, description="its proper name, readable or known")
    kind: Name | None = Field(default=None, description='of a point of interest, as OpenStreetMap has it: "pharmacy"')
    attributes: dict[Name, Name] = Field(default_factory=dict, description='what is seen of it: {"colour": "red"}')
    yaw_deg: Yaw = Field(description="of its middle")
    width_deg: Annotated[FiniteFloat, Field(gt=0, le=360)]
    pitch_low_deg: Pitch
    pitch_high_deg: Pitch
    distance_m: Annotated[FiniteFloat, Field(gt=0)] | None = Field(
        default=None, description="from the camera, level with the ground"
    )
    visible_share: Share | None = Field(default=None, description="of what would be seen with nothing before it")
    read_share: Share | None = Field(
        default=None, description="of its name's letters: those that OCR reads in a view; None: not tried"
    )
    agreement: Share | None = Field(
        default=None,
        description="of the boxes that two models drew, their intersection over union; None: people or maps",
    )
    place: Vec2 | None = Field(default=None, description="of its middle, where heading and distance are known")
    doubt: str | None = Field(default=None, description="why nothing is asked of it; None: all is well")
    source_tags: dict[str, str] = Field(default_factory=dict, description="for each fact, who or what says so")


class PanoramaLandmark(Model):
    """A named thing that a map has around the camera, whether or not anybody marked it in the picture."""

    id: Name = Field(description='as its map calls it: "way/123"')
    noun: Name = Field(description='what one calls it: "church"')
    name: Name
    is_premises: bool = Field(description="whether a sign tells its name: shops and the like")
    distance_m: Metres = Field(description="to the nearest part of it, level with the ground")
    error_m: Metres = Field(description="by which position and map may be wrong")
    bearing_deg: Compass = Field(description="of its middle, clockwise from north")
    width_deg: Annotated[FiniteFloat, Field(ge=0, le=360)]
    error_deg: Metres = Field(description="of its bearing, by `error_m`")
    top_deg: Pitch = Field(description="of the top of the part that certainly exists")
    visible_share: Share = Field(description="of its width that no building may hide, from all places within error_m")
    open_share: Share = Field(
        default=0.0, description="of its width before which no building has room: over streets, squares and water alone"
    )
    others: int = Field(ge=0, description="things that its noun and name may mean too")
    side: Annotated[int, Field(ge=-1, le=1)] = Field(
        description="of the street, as `street_deg` looks along it: 1 left, -1 right; 0: not sure"
    )
    doubt: str | None = Field(default=None, description="why nothing is asked of it; None: all is well")


class Place(Model):
    """Where a panorama lies, in words, and the measures that show how surely. None: not known.

    Never by the nearest point of a list of cities: that puts the Eiffel Tower in Vanves.
    """

    country: Name | None = None
    country_code: Name | None = Field(default=None, description="ISO 3166-1, two letters")
    country_border_m: Metres | None = Field(default=None, description="to the border of the polygon that holds it")
    city: Name | None = None
    city_border_m: Metres | None = Field(default=None, description="to the border of the polygon that holds it")
    street: Name | None = Field(default=None, description="the nearest road that has a name")
    street_m: Metres | None = Field(default=None, description="to its middle line")
    next_street: Name | None = Field(default=None, description="the nearest road of another name")
    next_street_m: Metres | None = None
    gap_m: Metres | None = Field(
        default=None, description="next_street_m - street_m; None: no other within the radius that was searched"
    )
    searched_m: Metres | None = Field(default=None, description="radius within which streets were looked for")
    other_names: dict[str, tuple[Name, ...]] = Field(
        default_factory=dict, description='by "country", "city", "street": in other languages, short, official'
    )
    source_tags: dict[str, str] = Field(
        default_factory=dict, description='for each name, who or what says so: {"street": "maps/monaco.osm way/12"}'
    )


class DeclaredView(Model):
    """A view that people declared: what is asked of it can be seen in it."""

    name: Name
    yaw_deg: Yaw
    pitch_deg: Pitch = 0.0
    fov_deg: Annotated[FiniteFloat, Field(gt=0, lt=180)] = Field(default=90.0, description="from left to right")


class MeasuredPicture(Model):
    """Measurements of a panorama's picture; the limits that they are held against are the build's (`observe`)."""

    pixels_per_degree: Annotated[FiniteFloat, Field(gt=0)]
    sharpness: Annotated[FiniteFloat, Field(ge=0)] | None = Field(
        description="variance of the Laplacian, grey levels²: the median of four views; None: of a part of a sphere"
    )
    nadir_share: Share | None = Field(
        description="of the lower half of the sphere: what the vehicle hides that carried the camera; None: not told"
    )


class Panorama(Facts):
    """The facts of a panorama."""

    world: Literal["panorama"] = "panorama"
    picture: PanoramaPicture
    position: Origin | None = Field(default=None, description="WGS84; None: not known, or not believed")
    accuracy_m: Annotated[FiniteFloat, Field(gt=0)] | None = Field(default=None, description="of the position")
    heading_deg: Compass | None = Field(default=None, description="of the middle column; None: nothing needs north")
    camera_pitch_deg: Pitch | None = Field(default=None, description="of the middle column's middle; None: level")
    camera_roll_deg: Annotated[FiniteFloat, Field(ge=-180, le=180)] | None = None
    camera_height_m: Annotated[FiniteFloat, Field(gt=0)] | None = Field(default=None, description="above the ground")
    depth: DepthSource | None = None
    objects: tuple[PanoramaObject, ...] = Field(default=(), description="by id; no two have one")
    cues: dict[Name, Name] = Field(
        default_factory=dict,
        description="what the whole scene tells of where it is: cue -> value, as in the table of cues",
    )
    complete: tuple[Name, ...] = Field(default=(), description="labels whose visible objects are all in `objects`")
    views: tuple[DeclaredView, ...] = ()
    indoor: bool | None = Field(default=None, description="None: not stated, and nothing shows it")
    landmarks: tuple[PanoramaLandmark, ...] = Field(default=(), description="by id, where a map has things")
    map_coverage: Share | None = Field(
        default=None, description="of the buildings around: the share that the map has at least; None: no map"
    )
    street_deg: Compass | None = Field(default=None, description="of the street, where the camera is certainly on one")
    place: Place | None = Field(default=None, description="None: not looked for, or the position is not known")
    measured: MeasuredPicture | None = None
    captured: datetime.date | None = None
    utc_s: FiniteFloat | None = Field(default=None, description="moment, seconds since 1970, where its zone is known")
    licence: Name | None = None
    author: Name | None = None
    source_url: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    tags: tuple[Name, ...] = Field(default=(), description='what users call it: "wilderness"')
    source_tags: dict[str, str] = Field(
        default_factory=dict, description='{"heading_deg": "XMP GPano:PoseHeadingDegrees"}'
    )

    @property
    def looked_at(self) -> bool:
        """Whether models, and not people, say what it shows."""
        return any(own.agreement is not None for own in self.objects)

    @property
    def place_on_earth(self) -> Origin | None:
        """Where it was taken."""
        return self.position


PanoramaScene = Scene[Panorama]


class PanoramaConfig(Limits):
    """The limits of panoramas; a picture beyond one of the first four is left out, with what was measured."""

    pixels_per_degree_min: float = Field(
        default=5.0,
        le=1000,
        ge=0,
        description="of the whole sphere's width: 5 are 1,800 pixels; a view of 90 degrees has 450",
    )
    sharpness_min: float = Field(
        default=5.0,
        le=10_000,
        ge=0,
        description="variance of the Laplacian of views of 90 degrees and 512 pixels, grey levels²",
    )
    nadir_share_max: Share = Field(
        default=0.35, description="of the lower half of the sphere: what the camera's own vehicle hides"
    )
    edge_fit_min: float = Field(
        default=1.5,
        ge=-10,
        le=10,
        description="standard deviations by which boxes of objects lie on edges of the picture more than at any turn",
    )
    duplicate_bits: int = Field(
        default=6,
        ge=-1,
        le=64,
        description="of 64 in which the hashes of two pictures from within 10 m differ, if they are one; -1: keep all",
    )
    street_search_m: Metres = Field(default=200.0, gt=0, le=2000, description="radius within which streets are sought")
    street_max_m: Metres = Field(
        default=30.0, le=100_000, gt=0, description="farther from any named road, it is in no street"
    )
    street_gap_min_m: float = Field(
        default=10.0,
        le=100_000,
        ge=0,
        description="by which the next street is farther, and twice what the position may be off",
    )
    border_min_m: float = Field(
        default=100.0, le=100_000, ge=0, description="to the border of its country, and of its city"
    )
    landmark_reach_m: Metres = Field(default=150.0, gt=0, le=400, description="within which a map's named things count")
    ocr: bool = Field(default=False, description="whether RapidOCR tries to read the names of places (extra [ocr])")
    position_error_m: Metres = Field(
        default=4.0, gt=0, le=100, description="of the camera against the map, and what accuracy_m has over it"
    )
