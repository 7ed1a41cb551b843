"""Houses of ProcTHOR (and of AI2-THOR's ``House`` specification): one per JSON file, or one per line of JSON lines.

Unity's frame: metres, y up, left-handed. ``position`` is the middle of the asset's box and ``rotation`` is in degrees
about z, then x, then y. Sizes are not in the house: they are of the asset, in ``asset-database.json`` of
allenai/procthor. Objects nest in ``children``. Doors and windows stand in their walls' own frames and are left out.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import SceneDocument
from pipeline.reading.checks import POSITION_MAX_M
from pipeline.worlds.indoor.converters.annotated import AnnotatedBoxes, annotated_scene, shown, split_words
from pipeline.worlds.indoor.converters.capture import Converter
from pipeline.worlds.indoor.converters.texts import (
    entries_of,
    euler_rotations,
    json_of,
    kept_until_changed,
    numbers_from,
    places_in,
)

ASSETS: Final = "asset-database.json"
NO_ASSETS: Final = f"put {ASSETS} of allenai/procthor (procthor/databases) beside the houses, or a folder above"
KEYS: Final = ("objects", "rooms", "walls", "proceduralParameters")
LINES: Final = (".jsonl", ".jsonl.gz")
UNPACKED_MAX: Final = 2**29  # bytes of JSON lines
SPLIT_UP: Final = "cut it: zcat train.jsonl.gz | head -1000 > part.jsonl"
NESTED_MAX: Final = 8  # children of children
GRID_M: Final = 1e-3  # corners of rooms are rounded to it
NO_OPENINGS: Final = "doors and windows are left out: from which end of a wall they are measured is not documented"

NO_OUTLINE: Final = "walls stand between its rooms, so that it has an area and no outline: routes would lead through"


class ProcThor(Converter):
    """Houses of ProcTHOR."""

    name = "procthor"
    about = "houses as .json or .jsonl(.gz) with asset-database.json beside them (ProcTHOR): boxes and floors"
    real = "two generated houses (2 and 6 rooms)"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`: a house of JSON lines is the file's path with its number below it."""
        files = [source] if source.is_file() else sorted(source.iterdir()) if source.is_dir() else []
        found: list[Path] = []
        for path in files:
            if path.name.endswith(LINES):
                found += places_in(path, _houses)
            elif path.suffix == ".json" and path.name != ASSETS and _looks_so(path):
                found.append(path)
        return found

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place if place.is_file() else place.parent
        house = json_of(path) if path.suffix == ".json" else _line(place)
        if not isinstance(house, dict) or any(key not in house for key in KEYS):
            raise RawDataError(place, "missing_key", f"a house has {', '.join(KEYS)}", "fetch the house again")
        sizes = _sizes(path)
        items = list(_nested(place, house, 0))
        unknown = sorted({str(item.get("assetId")) for item in items if item.get("assetId") not in sizes})
        if unknown:
            message = f"{ASSETS} does not have {shown(unknown)}"
            raise RawDataError(place, "unknown_asset", message, "fetch the database of the houses' own version")
        kinds = [sizes[item["assetId"]] for item in items]
        boxes = AnnotatedBoxes(
            labels=[kind for kind, _ in kinds],
            center=np.array([_xyz(place, item, "position") for item in items]).reshape(-1, 3),
            size=np.array([size for _, size in kinds]).reshape(-1, 3),
            axes=_turns(np.array([_xyz(place, item, "rotation") for item in items]).reshape(-1, 3)).transpose(0, 2, 1),
        )
        floor = _floor(place, house)
        parts: dict[str, Any] = {"area": floor.area, "remarks": (NO_OPENINGS, NO_OUTLINE)}
        if len(house["rooms"]) == 1:
            parts = {"outline": [(x, 0.0, z) for x, z in floor.exterior.coords[:-1]], "remarks": (NO_OPENINGS,)}
        return annotated_scene(place, boxes, complete=True, up="y", handedness="left", **parts)


def _looks_so(path: Path) -> bool:
    try:
        document = json_of(path)
    except RawDataError:
        return False
    return isinstance(document, dict) and all(key in document for key in KEYS)


def _houses(path: Path) -> list[str]:
    return [f"{path.name.partition('.')[0]}-{number:06d}" for number in range(len(_lines(path)))]


@kept_until_changed
def _lines(path: Path) -> tuple[bytes, ...]:
    """The lines of JSON lines, be they packed or not. Raises RawDataError."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            raw = stream.read(UNPACKED_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise RawDataError(path, "unreadable_file", str(error)[:200], "fetch the file again") from error
    if len(raw) > UNPACKED_MAX:
        raise RawDataError(path, "file_too_large", f"over {UNPACKED_MAX} bytes of JSON", SPLIT_UP)
    return tuple(line for line in raw.splitlines() if line.strip())


def _line(place: Path) -> Any:
    if place.is_file():
        _lines(place)
        raise RawDataError(place, "empty_file", "there is no line in it", "fetch the file again")
    try:
        return json.loads(_lines(place.parent)[int(place.name.rpartition("-")[2])])
    except (ValueError, RecursionError) as error:
        raise RawDataError(place, "bad_json", str(error)[:200], "fetch the file again") from error


def _sizes(path: Path) -> dict[str, tuple[str, list[float]]]:
    """Asset -> its kind as words, and the sides (x, y, z) of its box in metres. Raises RawDataError."""
    at = next((p for top in (path.parent, *path.parent.parents[:2]) if (p := top / ASSETS).is_file()), None)
    if at is None:
        raise RawDataError(path.parent / ASSETS, "missing_file", "the houses do not say sizes", NO_ASSETS)
    return _database(at)


@kept_until_changed
def _database(path: Path) -> dict[str, tuple[str, list[float]]]:
    document = json_of(path)
    if not isinstance(document, dict):
        raise RawDataError(path, "not_an_object", f"the JSON is {type(document).__name__}", NO_ASSETS)
    return {
        str(asset.get("assetId")): (split_words(kind), list(_xyz(path, asset, "boundingBox")))
        for kind in document
        for asset in entries_of(path, document, kind)
    }


def _xyz(path: Path, entry: dict[str, Any], key: str) -> FloatArray:
    value = entry.get(key)
    values = [value.get(axis) for axis in "xyz"] if isinstance(value, dict) else None
    return numbers_from(path, values, 3, f"{key} of {entry.get('id', entry.get('assetId'))}"[:80])


def _nested(place: Path, parent: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    if depth > NESTED_MAX:
        raise RawDataError(place, "too_deep", f"children of children, over {NESTED_MAX} deep", "fetch the house again")
    for item in entries_of(place, parent, "objects" if depth == 0 else "children"):
        yield item
        if item.get("children"):
            yield from _nested(place, item, depth + 1)


def _turns(degrees: FloatArray) -> FloatArray:
    """Unity's rotations (N, 3, 3) of angles (N, 3) about x, y, z: about z first, then x, then y, world's axes."""
    return euler_rotations("zxy", np.radians(degrees[:, [2, 0, 1]]))


def _floor(place: Path, house: dict[str, Any]) -> Any:
    """All rooms' floors together, in x and z."""
    polygons = []
    for room in entries_of(place, house, "rooms"):
        corners = [_xyz(place, corner, "corner") for corner in _corners(place, room)]
        ring = np.array([(x, z) for x, _, z in corners])
        polygon = shapely.Polygon(ring if np.abs(ring).max() <= POSITION_MAX_M else ())
        if not polygon.is_valid or polygon.area <= 0:
            message = f"the floor of {room.get('id')!r} crosses itself, has no area, or lies far away"[:200]
            raise RawDataError(place, "unusable_outline", message, "fetch the house again")
        polygons.append(polygon)
    if not polygons:
        raise RawDataError(place, "missing_key", "the house has no rooms", "fetch the house again")
    return shapely.union_all(polygons, grid_size=GRID_M)


def _corners(place: Path, room: dict[str, Any]) -> list[dict[str, Any]]:
    corners = [{"corner": corner} for corner in room.get("floorPolygon") or ()]
    if len(corners) < 3:
        raise RawDataError(place, "unusable_outline", "a room has no floorPolygon", "fetch the house again")
    return corners
