"""Sample cities that were spoilt: everything that has been seen to be wrong with folders of cities, by what it is."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pipeline.core.schema import Origin
from pipeline.samples.city.write import write_cities
from pipeline.samples.common.city_plan import CityPlan
from tests.worlds.city.cities import block, feature, lon_lat, spot
from tests.worlds.kinds import kinds_of

# That of `tests.worlds.city.cities`, so that its blocks and spots lie in the city's own metres.
PLAN = CityPlan("sound", 3, 2, Origin(lat_deg=50.0, lon_deg=8.0, alt_m=100.0), busy=True)

MAP = "map.geojson"
Spoil = Callable[[Path], None]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        spoil: makes it so in the folder of a sound city.
        file: that is to be named.
        finding: its name.
        says: of what was found.
        remedy: a piece of it.
        costs: whether the city is left out.
    """

    spoil: Spoil
    file: str
    finding: str
    says: str
    remedy: str
    costs: bool = False


def _added(file: str, *features: dict[str, Any]) -> Spoil:
    """Features more."""

    def spoil(folder: Path) -> None:
        path = folder / file
        whole = json.loads(path.read_text(encoding="utf-8"))
        whole["features"] += features
        path.write_text(json.dumps(whole), encoding="utf-8")

    return spoil


def _each(*spoils: Spoil) -> Spoil:
    """One after the other."""

    def spoil(folder: Path) -> None:
        for one in spoils:
            one(folder)

    return spoil


def task(name: str, **changed: Any) -> dict[str, Any]:
    """A task that is well, but for what is changed; what is changed to None is left out."""
    entry = {
        "id": name,
        "question": "What is the colour of the car?",
        "answer": "red",
        "category": "Attribute Recognition",
        "observation_pose": [2.0, 2.0, 5.0, 0.0, 0.0, 90.0],
        "target_pose": [4.0, 2.0, 0.0, 0.0, 0.0, 0.0],
    } | changed
    return {key: value for key, value in entry.items() if value is not None}


def _asked(*entries: dict[str, Any]) -> Spoil:
    """Tasks more."""

    def spoil(folder: Path) -> None:
        path = folder / "tasks.json"
        there = json.loads(path.read_text(encoding="utf-8"))["tasks"] if path.is_file() else []
        path.write_text(json.dumps({"tasks": [*there, *entries]}), encoding="utf-8")

    return spoil


def _other_map(folder: Path) -> None:
    shutil.copy(folder / "map.geojson", folder / "other.geojson")
    settings = (folder / "city.yaml").read_text(encoding="utf-8")
    (folder / "city.yaml").write_text(settings.replace("map: map.geojson\n", ""), encoding="utf-8")


def _unbounded(*features: dict[str, Any]) -> Spoil:
    """Features more, in a city that does not say what its map covers."""

    def spoil(folder: Path) -> None:
        _added(MAP, *features)(folder)
        settings = yaml.safe_load((folder / "city.yaml").read_text(encoding="utf-8"))
        del settings["bounds"]
        (folder / "city.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    return spoil


def _metres(folder: Path) -> None:
    square = [[0, 0], [200, 0], [200, 200], [0, 200], [0, 0]]
    house = feature({"type": "Polygon", "coordinates": [square]}, {"kind": "building"})
    (folder / "map.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [house]}))


def _feature(told: dict[str, Any]) -> dict[str, Any]:
    """A feature of a row: a block, a spot, a ring in metres, or as GeoJSON has it."""
    if "block" in told:
        return block(*told.pop("block"), **told)
    if "spot" in told:
        return spot(*told.pop("spot"), **told)
    if "ring" in told:
        return feature({"type": "Polygon", "coordinates": [lon_lat(*told.pop("ring"))]}, told)
    return feature(**told)


WAYS: dict[str, Callable[..., Spoil]] = {
    "added": lambda file, *features: _added(file, *map(_feature, features)),
    "asked": lambda *tasks: _asked(*(task(**told) for told in tasks)),
    "each": lambda *ways: _each(*(WAYS[way](*arguments) for way, *arguments in ways)),
    "metres": lambda: _metres,
    "other_map": lambda: _other_map,
    "unbounded": lambda *features: _unbounded(*map(_feature, features)),
}
FAULTS: dict[str, Fault] = kinds_of(__file__, "faults", Fault, WAYS)


def sound(root: Path) -> Path:
    """A small procedural city with nothing wrong, below the root; returns its folder."""
    write_cities(root, (PLAN,))
    shutil.rmtree(root / "truth")
    return root / PLAN.id


def spoilt(root: Path, name: str) -> Path:
    """A city of a fault's name with that fault."""
    folder = sound(root).rename(root / name.replace(" ", "-"))
    FAULTS[name].spoil(folder)
    return folder
