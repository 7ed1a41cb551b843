"""The files of a city's folder: which map is its own, and its settings ``city.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, FiniteFloat

from pipeline.core.files import open_file
from pipeline.core.schema import Model, Name, Origin
from pipeline.reading.files import SceneFiles
from pipeline.reading.settings import File, SafeName, read_model

CITY_FILE: Final = "city.yaml"
OBJECTS_FILE: Final = "objects.geojson"
TASKS_FILE: Final = "tasks.json"
PHOTOS_FILE: Final = "photos.json"
MAP_SUFFIXES: Final = (".osm", ".osm.gz", ".osm.bz2", ".pbf", ".geojson", ".json")
DEFAULT_DATASET: Final = "city"
_HEAD: Final = 4096  # bytes, in which a JSON file says what it is
_MAPS: Final = (b"CityJSON", b"CityObjects", b"Overpass API", b"FeatureCollection")

Latitude = Annotated[FiniteFloat, Field(ge=-90, le=90)]
Longitude = Annotated[FiniteFloat, Field(ge=-180, le=180)]


class CitySettings(Model):
    """What the folder of a city may say in ``city.yaml``; all of it may be missing."""

    dataset: SafeName = Field(
        default=DEFAULT_DATASET, description="letters, digits, dots, dashes and underscores: first part of ids"
    )
    map: File | None = Field(default=None, description="name of the map file; else the only one in the folder")
    origin: Origin | None = Field(default=None, description="of poses; needed with tasks.json, photos.json")
    bounds: tuple[Longitude, Latitude, Longitude, Latitude] | None = Field(
        default=None, description="west, south, east, north of what the map covers"
    )
    complete: tuple[Name, ...] = Field(default=(), description="kinds of which the map has all there are")
    slabs_m: tuple[Annotated[FiniteFloat, Field(gt=0, le=300)], ...] = Field(
        default=(5.0, 9.0), min_length=1, description="heights above the ground at which agents move, metres"
    )


def maps_in(folder: Path) -> list[Path]:
    """The files of a folder that may be maps, by name."""
    others = {OBJECTS_FILE, TASKS_FILE, PHOTOS_FILE}
    return sorted(p for p in folder.iterdir() if is_map(p) and p.name not in others)


def is_map(path: Path) -> bool:
    """Whether a file has the ending of a map, and is not hidden; of other JSON, whether it says that it is one.

    Overpass's own counts: reading it says what to ask Overpass for instead.
    """
    if path.name.startswith(".") or not path.name.lower().endswith(MAP_SUFFIXES) or not path.is_file():
        return False
    if not path.name.lower().endswith(".json"):
        return True
    with open_file(path) as file:
        head = file.read(_HEAD)
    return any(word in head for word in _MAPS)


def stem(path: Path) -> str:
    """The name of a map file without its endings."""
    suffix = max((s for s in MAP_SUFFIXES if path.name.lower().endswith(s)), key=len)
    name = path.name[: -len(suffix)]
    return name.removesuffix(".osm").removesuffix(".city")


def read_settings(files: SceneFiles) -> CitySettings:
    """The folder's settings. Raises RawDataError where they are wrong."""
    path = files.path / CITY_FILE
    if not path.is_file():
        return CitySettings()
    return read_model(files, path, CitySettings)
