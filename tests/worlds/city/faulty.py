"""Sample cities that were spoilt: everything that has been seen to be wrong with folders of cities, by what it is."""

from __future__ import annotations

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

# That of `tests.worlds.city.cities`, so that its blocks and spots lie in the city's own metres.
PLAN = CityPlan("sound", 3, 2, Origin(lat_deg=50.0, lon_deg=8.0, alt_m=100.0), busy=True)

MAP, OBJECTS, TASKS = "map.geojson", "objects.geojson", "tasks.json"
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


def _pose(x: float = 2.0, y: float = 2.0, z: float = 5.0, yaw: float = 90.0) -> list[float]:
    return [x, y, z, 0.0, 0.0, yaw]


HOUSE = block(1, 1, 8, 6, id="x-house", height_m=9)
_BOW = lon_lat((1, 1), (5, 5), (5, 1), (1, 5), (1, 1))

FAULTS: dict[str, Fault] = {
    "overlapping footprints": Fault(
        _added(MAP, block(1, 1, 6, 6, id="x-large", height_m=9), block(5, 3, 3, 3, id="x-into", height_m=9)),
        MAP, "overlapping_footprints", "x-into (in x-large)", "draw one around the other",
    ),
    "self-crossing polygon": Fault(
        _added(MAP, feature({"type": "Polygon", "coordinates": [_BOW]}, {"kind": "building", "id": "x-bow"})),
        MAP, "unusable_outline", "x-bow", "draw the outlines again",
    ),
    "building without a height": Fault(
        _added(MAP, block(1, 9, 3, 3, id="x-bare")), MAP, "heights_unknown", "x-bare", "add height or height_m",
    ),
    "height in feet": Fault(
        _added(MAP, block(1, 14, 3, 3, id="x-feet", height_m=98.4, levels=10)),
        MAP, "implausible_height", "x-feet", "not in feet",
    ),
    "car in centimetres": Fault(
        _added(OBJECTS, spot("car", 2, 20, id="x-car", height_m=150)),
        OBJECTS, "implausible_height", "x-car", "not in centimetres",
    ),
    "null island": Fault(
        _unbounded(feature({"type": "Point", "coordinates": [0.0, 0.0]}, {"kind": "tree", "id": "x-null"})),
        MAP, "far_from_the_map", "x-null", "mend their coordinates",
    ),
    "latitude first": Fault(
        _added(OBJECTS, feature({"type": "Point", "coordinates": [50.0, 8.0]}, {"kind": "bench", "id": "x-swapped"})),
        OBJECTS, "off_the_map", "x-swapped", "longitude first",
    ),
    "an object id with two contents": Fault(
        _added(OBJECTS, spot("car", 2, 22, id="x-twice"), spot("bench", 2, 24, id="x-twice")),
        OBJECTS, "duplicate_id", "x-twice", "an id of its own",
    ),
    "a name with markup": Fault(
        _added(OBJECTS, spot("bakery", 2, 26, id="x-markup", name="<b>Crumb</b>[red]")),
        OBJECTS, "unspeakable_name", "<b>Crumb</b>[red]", "give plain names",
    ),
    "a name of two lines": Fault(
        _added(OBJECTS, spot("bakery", 2, 28, id="x-lines", name="Crumb\nand Sons")),
        OBJECTS, "name_of_several_lines", "Crumb\\nand Sons", "in one line",
    ),
    "a target in a wall": Fault(
        _each(_added(MAP, HOUSE), _asked(task("x-wall", target_pose=[4, 4, 3, 0, 0, 0], observation_pose=_pose(y=20)))),
        TASKS, "target_in_a_wall", "x-wall", "or mend target_pose",
    ),
    "a target outside": Fault(
        _asked(task("x-outside", target_pose=[-400, 2, 0, 0, 0, 0])),
        TASKS, "task_off_the_map", "x-outside", "give metres about the city's origin",
    ),
    "poses in centimetres": Fault(
        _asked(task("x-unreal", target_pose=[2000, 3000, 0, 0, 0, 0], observation_pose=[2500, 3000, 500, 0, 0, 0])),
        TASKS, "task_off_the_map", "x-unreal", "are these centimetres?",
    ),
    "observed from a wall": Fault(
        _each(_added(MAP, HOUSE), _asked(task("x-within", observation_pose=_pose(4, 4, 3)))),
        TASKS, "pose_in_a_wall", "x-within", "in the open",
    ),
    "five numbers": Fault(
        _asked(task("x-five", observation_pose=[1, 2, 3, 4, 5])), TASKS, "bad_pose", "x-five", "six numbers",
    ),
    "seven numbers": Fault(
        _asked(task("x-seven", observation_pose=[1, 2, 3, 4, 5, 6, 7])), TASKS, "bad_pose", "x-seven", "six numbers",
    ),
    "yaw of 450": Fault(
        _asked(task("x-450", observation_pose=_pose(yaw=450))),
        TASKS, "bad_pose", "beyond 360 degrees", "between -360 and 360",
    ),
    "NaN": Fault(
        _asked(task("x-nan", observation_pose=_pose(x=float("nan")))),
        TASKS, "bad_pose", "no finite number as its x", "six numbers",
    ),
    "an empty answer": Fault(
        _asked(task("x-empty", answer=" ")), TASKS, "bad_answer", "x-empty", "give one answer",
    ),
    "a list as answer": Fault(
        _asked(task("x-list", answer=["red", "blue"])), TASKS, "bad_answer", "x-list", "give one answer",
    ),
    "a task id with two contents": Fault(
        _asked(task("x-same", answer="red"), task("x-same", answer="blue")),
        TASKS, "duplicate_id", "x-same", "an id of its own",
    ),
    "two maps": Fault(_other_map, "two-maps", "several_maps", "map.geojson, other.geojson", "name one as map", True),
    "a map in metres": Fault(_metres, MAP, "not_wgs84", "", "longitude", True),
    "radians": Fault(
        _asked(*(task(f"x-{i}", observation_pose=_pose(yaw=1.5708 * i)) for i in range(4))),
        TASKS, "angles_in_radians", "4 poses", "give degrees",
    ),
}  # fmt: skip


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
