"""The files of a panorama's folder, and what ``pano.yaml`` may say of it."""

from __future__ import annotations

import datetime
from typing import Annotated, Final

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Model, Name, Origin
from pipeline.reading.files import SceneFiles
from pipeline.reading.settings import File, SafeName, read_model
from pipeline.worlds.panorama.facts import Compass, Crop, DeclaredView, Pitch, Slot

SIDECAR: Final = "pano.yaml"
OBJECTS_FILE: Final = "objects.json"
DEPTH_FILE: Final = "depth.png"
PICTURES: Final = ("pano.jpg", "pano.jpeg", "pano.png")
DEFAULT_DATASET: Final = "panoramas"


class DepthSettings(Model):
    """What ``pano.yaml`` says of the depth."""

    path: File = DEPTH_FILE
    metres_per_unit: Annotated[FiniteFloat, Field(gt=0)] = Field(description="metres of one unit; 0 units: not known")


class Sidecar(Model):
    """What ``pano.yaml`` may say; all of it may be missing, and what the picture or its JSON say holds then."""

    dataset: SafeName = Field(
        default=DEFAULT_DATASET, description="letters, digits, dots, dashes and underscores: first part of ids"
    )
    picture: File | None = Field(default=None, description="name of the picture; else pano.jpg or the only one")
    position: Origin | None = Field(default=None, description="lat_deg, lon_deg, alt_m (null: not known), WGS84")
    accuracy_m: Annotated[FiniteFloat, Field(gt=0, le=10_000)] | None = Field(
        default=None, description="metres within which the position is right"
    )
    heading_deg: Compass | None = Field(
        default=None, description="degrees clockwise from true north of the middle column, 0 to 360"
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


def read_sidecar(files: SceneFiles) -> Sidecar:
    """The folder's ``pano.yaml``, or what holds without one. Raises RawDataError where it is wrong."""
    path = files.folder / SIDECAR
    return read_model(files, path, Sidecar) if path.is_file() else Sidecar()
