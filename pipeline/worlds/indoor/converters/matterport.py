"""Matterport3D's house files (``SCAN.house``): the objects of each region, a scene per region.

Text, a line per item, told apart by its first letter: C (category), R (region), O (object). Metres, z up. Of an object
are stated the middle of its box, two of its axes, and its radii: half of its sides. The mesh of a region is
``region_segmentations/regionN.ply``, in the house's frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import SceneDocument
from pipeline.worlds.indoor.converters.annotated import AnnotatedBoxes, annotated_scene
from pipeline.worlds.indoor.converters.capture import copied
from pipeline.worlds.indoor.converters.texts import folders_of, text_of

SUFFIX: Final = ".house"
FOLDERS: Final = (".", "house_segmentations")
REGIONS: Final = "region_segmentations"
MARK: Final = "ASCII"  # of the first line, before the version
OBJECT: Final = 16  # tokens: O, object, region, category, 3 of its middle, 6 of two axes, 3 radii
CATEGORY: Final = 4  # tokens: C, category, its number in the mapping, its name
REGION: Final = 3
AGAIN: Final = "fetch the house again, or is it of another version?"
SOME: Final = "whether every object of a label is annotated is not known: look, and add labels to complete"


class House(NamedTuple):
    """Regions by number; the names of categories; and of each object its region, category and 12 numbers."""

    regions: tuple[int, ...]
    names: dict[int, str]
    region: IntArray
    category: IntArray
    numbers: FloatArray


class Matterport:
    """Houses of Matterport3D."""

    name = "matterport"
    about = "SCAN.house with region_segmentations/ (Matterport3D): labelled boxes and the mesh of each region"
    real: str | None = None

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`: a region is the house's path with its name below it."""
        folders = [top / name for top in folders_of(source) for name in FOLDERS]
        files = (
            [source] if source.is_file() else [path for folder in folders for path in sorted(folder.glob("*.house"))]
        )
        found: dict[Path, None] = {}
        for path in files:
            if path.suffix == SUFFIX:
                found |= dict.fromkeys(_places_in(path.resolve()))
        return list(found)

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place if place.is_file() else place.parent
        house = _house(path)
        if place.is_file():
            raise RawDataError(path, "empty_annotation", "no region has an object", AGAIN)
        number = int(place.name.rpartition("region")[2])
        mine = np.flatnonzero((house.region == number) & (house.category >= 0))
        numbers = house.numbers[mine]
        first, second = numbers[:, 3:6], numbers[:, 6:9]
        with np.errstate(over="ignore", invalid="ignore"):
            third = np.cross(first, second)
            size = 2 * numbers[:, 9:]
        boxes = AnnotatedBoxes(
            labels=[house.names.get(int(c), "") for c in house.category[mine]],
            center=numbers[:, :3],
            size=size,
            axes=np.stack([first, second, third], axis=1),
        )
        mesh = path.parent.parent / REGIONS / f"region{number}.ply"
        own = copied(mesh, folder, "mesh") if mesh.is_file() else None
        return annotated_scene(place, self.name, boxes, complete=False, remarks=(SOME,), mesh=own)


def _places_in(path: Path) -> list[Path]:
    try:
        house = _house(path)
    except RawDataError:
        return [path]  # which says what is wrong with it when it is converted
    filled = set(house.region[house.category >= 0].tolist())
    return [path / f"{path.stem}-region{number}" for number in house.regions if number in filled] or [path]


def _house(path: Path) -> House:
    return _parsed(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _parsed(path: Path, changed_ns: int) -> House:
    lines = text_of(path).splitlines()
    if not lines or not lines[0].startswith(MARK):
        raise RawDataError(path, "unknown_version", f"the file does not begin with {MARK}", AGAIN)
    rows = {letter: [line.split() for line in lines if line.startswith(f"{letter} ")] for letter in "CRO"}
    for letter, least in (("C", CATEGORY), ("R", REGION), ("O", OBJECT)):
        short = next((row for row in rows[letter] if len(row) < least), None)
        if short is not None:
            message = f"line {' '.join(short)[:60]!r} has {len(short)} entries, not {least} or more"
            raise RawDataError(path, "wrong_columns", message, AGAIN)
    try:
        keys = np.array([[int(n) for n in row[1:4]] for row in rows["O"]], dtype=np.int64).reshape(-1, 3)
        numbers = np.array([row[4:OBJECT] for row in rows["O"]], dtype=np.float64).reshape(-1, 12)
        # Blanks of a name are written as #.
        names = {int(row[1]): row[3].replace("#", " ") for row in rows["C"]}
        regions = tuple(sorted({int(row[1]) for row in rows["R"]}))
    except (ValueError, OverflowError) as error:
        raise RawDataError(path, "wrong_type", str(error)[:200], AGAIN) from error
    if not len(keys):
        raise RawDataError(path, "empty_annotation", "the house has no objects", AGAIN)
    return House(regions, names, keys[:, 1], keys[:, 2], numbers)
