"""What people say of a panorama: ``pano.yaml``."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, FiniteFloat

from pipeline.core.schema import Model, Name
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.areas import fit_name
from pipeline.reading.settings import File, SafeName, read_model
from pipeline.worlds.panorama.facts import Compass, Crop, DeclaredView, Pitch, Slot
from pipeline.worlds.panorama.readers.own_files import refuse_large

DEFAULT_DATASET: Final = "panoramas"
_MOST_BYTES: Final = 1 << 20


def _fit(word: str) -> str:
    if not fit_name(word):
        raise ValueError("a name stands on one line, without control characters and marks that turn the writing about")
    return word


Word = Annotated[Name, AfterValidator(_fit)]


class Position(Model):
    """Where the camera was, WGS84."""

    lat_deg: Annotated[FiniteFloat, Field(ge=-90, le=90)] = Field(description="degrees, north positive, -90 to 90")
    lon_deg: Annotated[FiniteFloat, Field(ge=-180, le=180)] = Field(description="degrees, east positive, -180 to 180")
    alt_m: FiniteFloat | None = Field(default=None, description="metres above mean sea level")


class DepthSettings(Model):
    """What ``pano.yaml`` says of the depth."""

    path: File | None = Field(default=None, description="name of the file, if it is not depth.png")
    metres_per_unit: Annotated[FiniteFloat, Field(gt=0)] = Field(description="metres of one unit; 0 units: not known")


class DeclaredPlace(Model):
    """Where the panorama lies, in words, as ``pano.yaml`` says."""

    country: Word | None = Field(default=None, description="its usual English name")
    country_code: Annotated[str, Field(pattern="^[A-Z]{2}$")] | None = Field(
        default=None, description="ISO 3166-1, two capital letters"
    )
    city: Word | None = Field(default=None, description="a name on one line")
    street: Word | None = Field(default=None, description="a name on one line")


class Sidecar(Model):
    """What ``pano.yaml`` may say; all of it may be missing, and what the picture or its JSON say holds then."""

    dataset: SafeName = Field(
        default=DEFAULT_DATASET, description="letters, digits, dots, dashes and underscores: first part of ids"
    )
    picture: File | None = Field(default=None, description="name of the picture; else pano.jpg or the only one")
    position: Position | None = Field(default=None, description="lat_deg, lon_deg and, where known, alt_m, WGS84")
    accuracy_m: Annotated[FiniteFloat, Field(gt=0, le=10_000)] | None = Field(
        default=None, description="metres within which the position is right"
    )
    heading_deg: Compass | None = Field(
        default=None, description="degrees clockwise from true north of the middle column, 0 to 360"
    )
    certain: tuple[Literal["position", "heading"], ...] = Field(
        default=(), description="position, heading: what somebody made sure of, whatever other sources say"
    )
    camera_pitch_deg: Pitch | None = Field(default=None, description="degrees by which the camera looked up")
    camera_roll_deg: Annotated[FiniteFloat, Field(ge=-180, le=180)] | None = Field(
        default=None, description="degrees by which the camera leaned to the right"
    )
    camera_height_m: Annotated[FiniteFloat, Field(gt=0, le=100)] | None = Field(
        default=None, description="metres above the ground, of over 0 to 100"
    )
    crop: Crop | None = Field(default=None, description="full_width, full_height, left, top in pixels of the sphere")
    depth: DepthSettings | None = Field(default=None, description="path, metres_per_unit")
    place: DeclaredPlace | None = Field(
        default=None, description="country, country_code, city, street; they come before what maps say"
    )
    slots: dict[Slot, Annotated[str, Field(min_length=1, max_length=1000)]] = Field(
        default_factory=dict, description="words for Architecture, Signage, Vegetation, Terrain, Infrastructure"
    )
    views: tuple[DeclaredView, ...] = Field(default=(), description="views, each name, yaw_deg, pitch_deg, fov_deg")
    indoor: bool | None = Field(default=None, description="true or false; nothing where nobody looked")
    captured: datetime.date | None = Field(default=None, description="a date, as 2024-05-17")
    licence: Name | None = Field(default=None, description="of the picture, as CC BY-SA 4.0")
    author: Name | None = Field(default=None, description="who is to be named")
    source_url: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="where the picture is from"
    )
    tags: tuple[Name, ...] = Field(default=(), description="words of one's own, as wilderness")


def read_sidecar(files: SceneFiles, path: Path) -> Sidecar:
    """A panorama's ``pano.yaml``, or what holds without one. Raises RawDataError where it is wrong."""
    if not path.is_file():
        return Sidecar()
    refuse_large(files, path, _MOST_BYTES)
    return read_model(files, path, Sidecar)
