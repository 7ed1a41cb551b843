"""The files of a root that belong to a panorama, and the declarations of people in ``pano.yaml``.

A panorama is a folder, ``id/{pano.jpg, pano.yaml, depth.png, objects.json, mapillary.json …}``; or a picture in the
root itself, ``id.jpg``, with ``id.yaml``, ``id.depth.png``, ``id.objects.json`` and ``id.mapillary.json`` or
``id.panoramax.json`` beside it.
"""

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, FiniteFloat, field_validator

from pipeline.core.schema import Model, Name
from pipeline.core.templates import load_table
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.areas import fit_name
from pipeline.reading.settings import File, SafeName, read_model
from pipeline.worlds.panorama.facts import Compass, DeclaredView, Pitch, SphereCrop

SIDECAR: Final = "pano.yaml"
OBJECTS_FILE: Final = "objects.json"
DEPTH_FILE: Final = "depth.png"
PICTURES: Final = ("pano.jpg", "pano.jpeg", "pano.png")
SUFFIXES: Final = (".jpg", ".jpeg", ".png")
MAPS: Final = "maps"  # a folder of the root, of all panoramas
SERVICES: Final = ("mapillary", "panoramax")
_DEPTH: Final = ".depth.png"


@dataclass(frozen=True)
class OwnFiles:
    """The files of one panorama; those that are looked for by a name of their own need not be there.

    Attributes:
        pictures: what may be its picture, the likeliest first.
        sidecar: what people say of it.
        objects: what can be seen in it.
        depth: its depth, where the sidecar names no other.
        services: JSON of services of street pictures.
    """

    pictures: tuple[Path, ...]
    sidecar: Path
    objects: Path
    depth: Path
    services: tuple[Path, ...]


def refuse_large(files: SceneFiles, path: Path, most_bytes: int) -> None:
    """Raises RawDataError for a file that is longer than anybody would write: to parse it would take for ever."""
    size = path.stat().st_size
    if size > most_bytes:
        message = f"it has {size:,} bytes, over {most_bytes:,}"
        raise files.fault(path, "file_too_large", message, "is this the right file?")


def own_files(files: SceneFiles, named: str | None = None) -> OwnFiles:
    """Those of a panorama, with the picture that is ``named``, if one is."""
    if is_alone(files):
        picture = files.root / files.ref.files[1]
        stem = picture.stem
        own = (picture.with_name(f"{stem}.{name}.json") for name in SERVICES)
        return OwnFiles(
            (picture,),
            picture.with_name(f"{stem}.yaml"),
            picture.with_name(f"{stem}.{OBJECTS_FILE}"),
            picture.with_name(f"{stem}{_DEPTH}"),
            tuple(path for path in own if path.is_file()),
        )
    folder = files.path
    usual = [path for name in PICTURES if (path := folder / name).is_file()]
    pictures = (folder / named,) if named is not None else tuple(usual[:1]) or pictures_in(folder)
    services = sorted(p for p in folder.glob("*.json") if p.is_file() and p.name != OBJECTS_FILE)
    return OwnFiles(
        pictures,
        folder / SIDECAR,
        folder / OBJECTS_FILE,
        folder / DEPTH_FILE,
        tuple(path for path in services if not path.name.startswith(".")),
    )


def is_alone(files: SceneFiles) -> bool:
    """Whether a panorama is a picture in the root, without a folder."""
    return files.ref.files[0] == "."


def pictures_in(folder: Path) -> tuple[Path, ...]:
    """The files of a folder that have the ending of a picture, and are neither hidden nor depth; by name."""
    return tuple(path for path in sorted(folder.iterdir()) if is_picture(path))


def is_picture(path: Path) -> bool:
    """Whether a file has the ending of a picture, and is neither hidden nor depth."""
    name = path.name.lower()
    return (
        name.endswith(SUFFIXES)
        and not name.startswith(".")
        and not name.endswith(_DEPTH)
        and name != DEPTH_FILE
        and path.is_file()
    )


def beside(picture: Path) -> tuple[Path, ...]:
    """The files beside a picture in the root that are its own, by name."""
    stem = picture.stem
    names = (f"{stem}.yaml", f"{stem}.{OBJECTS_FILE}", f"{stem}{_DEPTH}", *(f"{stem}.{name}.json" for name in SERVICES))
    return tuple(path for name in sorted(names) if (path := picture.with_name(name)).is_file())


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
    """The depth settings of ``pano.yaml``."""

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
    """The contents of ``pano.yaml``, all optional; what is missing comes from the picture or its JSON."""

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
        default=(), description="position, heading: facts made sure of, which override other sources"
    )
    camera_pitch_deg: Pitch | None = Field(default=None, description="degrees by which the camera looked up")
    camera_roll_deg: Annotated[FiniteFloat, Field(ge=-180, le=180)] | None = Field(
        default=None, description="degrees by which the camera leaned to the right"
    )
    camera_height_m: Annotated[FiniteFloat, Field(gt=0, le=100)] | None = Field(
        default=None, description="metres above the ground, of over 0 to 100"
    )
    crop: SphereCrop | None = Field(
        default=None, description="full_width, full_height, left, top in pixels of the sphere"
    )
    depth: DepthSettings | None = Field(default=None, description="path, metres_per_unit")
    place: DeclaredPlace | None = Field(
        default=None, description="country, country_code, city, street; they come before what maps say"
    )
    cues: dict[Name, Name] = Field(
        default_factory=dict, description="density, age, driving side, script, slope, climate: see the table of cues"
    )
    views: tuple[DeclaredView, ...] = Field(default=(), description="views, each name, yaw_deg, pitch_deg, fov_deg")
    indoor: bool | None = Field(default=None, description="true or false; null if not known")
    captured: datetime.date | None = Field(default=None, description="a date, as 2024-05-17")
    licence: Name | None = Field(default=None, description="of the picture, as CC BY-SA 4.0")
    author: Name | None = Field(default=None, description="who is to be named")
    source_url: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="where the picture is from"
    )
    tags: tuple[Name, ...] = Field(default=(), description="words of your own, such as wilderness")

    @field_validator("cues")
    @classmethod
    def _known_cues(cls, cues: dict[str, str]) -> dict[str, str]:
        known = {name: cue["values"] for name, cue in load_table("panorama/cues")["cues"].items()}
        for name, value in cues.items():
            if value not in known.get(name, ()):
                told = (
                    ", ".join(known[name]) if name in known else f"no cue has this name; there are {', '.join(known)}"
                )
                raise ValueError(f"{name}: {value!r}: {told}")
        return cues


def read_sidecar(files: SceneFiles, path: Path) -> Sidecar:
    """A panorama's ``pano.yaml``, or what holds without one. Raises RawDataError where it is wrong."""
    if not path.is_file():
        return Sidecar()
    refuse_large(files, path, _MOST_BYTES)
    return read_model(files, path, Sidecar)
