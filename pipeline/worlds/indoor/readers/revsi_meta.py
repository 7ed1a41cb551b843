"""Reader of ReVSI's annotation, ``3d_annotation.json``: a list of scenes of five datasets of scans. Metres, z up.

A scene has ``dataset``, ``scene_id``, ``objects`` (``id``, ``name``, ``obb``: ``center``, ``extent``, ``rotation``,
3 x 3 with one axis per column) and, where people drew one, ``scene_area_2d_polygon`` with ``scene_area_type``.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.core.findings import Findings, doubt, fault, note, printable
from pipeline.core.groups import grouped
from pipeline.core.schema import OrientedBox, Source
from pipeline.formats.json_scenes import JsonEntry, split_scenes
from pipeline.reading.checks import check_box, check_name, check_repeats, number_list
from pipeline.reading.files import SceneRef
from pipeline.worlds.indoor.facts import Extent, IndoorScene, Room, Scan, SceneObject, count_doubts
from pipeline.worlds.indoor.readers.vsi_meta import ROOM_MAX_M2, VsiMeta

FILE: Final = "3d_annotation.json"
NEEDED: Final = frozenset({"dataset", "scene_id", "objects"})
KNOWN: Final = NEEDED | {"scene_area_2d_polygon", "scene_area_type"}
ROUNDED: Final = 0.01  # largest entry of |R Rᵀ - 1| of a rotation that is written with three decimals, and more
EXTENTS: Final[dict[str, Extent]] = {"all_room": "all rooms", "all_rooms": "all rooms", "main_room": "main room"}
AREA_METHOD: Final = "polygon drawn by people"


@dataclass(frozen=True)
class RevsiMeta(VsiMeta):
    """ReVSI's annotation; it holds neither mesh nor camera.

    An object without a usable name or box costs its own category, and one at fault its scene.

    Args:
        videos: as `VsiMeta` has them.
    """

    name = "revsi_meta"

    def _metadata_files(self, root: Path) -> list[Path]:
        if not (root / FILE).is_file():
            raise ConfigError(f"{root}: no {FILE} here. Give the folder that holds ReVSI's {FILE}")
        return [root / FILE]

    def _entries(self, raw: bytes) -> Iterator[JsonEntry]:
        return split_scenes(raw, lambda scene: str(scene.get("scene_id", "")) if isinstance(scene, dict) else "")

    def _built(self, raw: dict[str, Any], ref: SceneRef, sha256: str, findings: Findings) -> IndoorScene | None:
        for key in sorted(NEEDED - set(raw)):
            findings.add(fault("missing_key", key, f"scene has no {key!r}", "add it"))
        for key in sorted(set(raw) - KNOWN):
            findings.add(note("unknown_key", key, f"scene has the unknown key {printable(key)}", "nothing uses it"))
        objects, counts = _objects(raw.get("objects", []), findings)
        room = _room(raw, findings)
        if findings.faults:
            return None
        dataset, name = ref.id.split("/")
        return IndoorScene(
            id=ref.id,
            dataset=dataset,
            name=name,
            source=Source(reader=self.name, reader_version=self.version, files=ref.files, sha256=sha256),
            facts=Scan(objects=objects, counts=counts, room=room),
            findings=tuple(findings.items),
        )


def _objects(raw: object, findings: Findings) -> tuple[tuple[SceneObject, ...], dict[str, int]]:
    """The objects that have a box, and how many there are of each category."""
    if not isinstance(raw, list):
        findings.add(fault("wrong_type", "objects", f"objects is {type(raw).__name__}, not a list"))
        return (), {}
    boxes: dict[str, list[OrientedBox]] = defaultdict(list)
    counts: Counter[str] = Counter()
    named: dict[object, list[str]] = defaultdict(list)
    for number, item in enumerate(raw):
        if not isinstance(item, dict):
            findings.add(fault("wrong_type", "objects", f"object {number} is {type(item).__name__}, not an object"))
            continue
        name = " ".join(item["name"].split()) if isinstance(item.get("name"), str) else None
        if name is None or not check_name(name, unusable := Findings()):
            why = f"its name is {item.get('name')!r}" if name is None else unusable.items[0].message
            message = f"object {number}: {why}; it is left out"
            findings.add(doubt("unusable_category", printable(str(name)), message, "rename the object", None, None))
            continue
        counts[name] += 1
        named[str(item.get("id", f"#{number}"))].append(name)
        box = _box(item.get("obb"), f"{name} #{counts[name] - 1}", name, findings)
        if box is not None:
            boxes[name].append(box)
    _check_names(named, counts, findings)
    objects = tuple(
        SceneObject(category=name, instance=i, box=box) for name in sorted(boxes) for i, box in enumerate(boxes[name])
    )
    findings.add(*count_doubts(counts, objects))
    check_repeats([(o.category, o.box) for o in objects], findings)
    return objects, dict(sorted(counts.items()))


def _check_names(named: dict[object, list[str]], counts: Counter[str], findings: Findings) -> None:
    """Doubts about ids that several objects have, and about names that differ in nothing but their case."""
    for number, names in sorted(named.items(), key=str):
        for name in sorted(set(names)) if len(names) > 1 else ():
            message = f"{len(names)} objects have the id {printable(str(number))}: {', '.join(sorted(names))}"
            findings.add(doubt("duplicate_object_id", name, message, "give each its own id", len(names), 1, "objects"))
    for names in grouped(sorted(counts), str.casefold).values():
        for name in names if len(names) > 1 else ():
            message = f"{' and '.join(names)} are one name in different cases"
            findings.add(doubt("names_differ_in_case", name, message, "write it in one way", len(names), 1, "names"))


def _box(raw: object, what: str, category: str, findings: Findings) -> OrientedBox | None:
    """The box of an object; None where it has none, or where that is at fault."""
    if raw is None:
        message = f"{what} has no obb: it has no place"
        findings.add(doubt("object_without_box", category, message, "annotate its box", 0, 1, "boxes"))
        return None
    if not isinstance(raw, dict):
        findings.add(fault("wrong_type", category, f"obb of {what} is {type(raw).__name__}, not an object"))
        return None
    rows, rotation = [], raw.get("rotation")
    if isinstance(rotation, list) and len(rotation) == 3:
        rows = [number_list(row, 3, f"rotation of {what}", findings) for row in rotation]
    else:
        findings.add(fault("wrong_shape", category, f"rotation of {what} is not 3 x 3 numbers"))
    if len(rows) < 3 or any(row is None for row in rows):
        return None
    axes = _orthonormal(np.array(rows, dtype=np.float64).T)
    own = {"centroid": raw.get("center"), "axesLengths": raw.get("extent"), "normalizedAxes": axes.ravel().tolist()}
    return check_box(own, what, category, findings)


def _orthonormal(axes: FloatArray) -> FloatArray:
    """Rounded axes (3, 3), one per row, made orthonormal, the most upright one first; others as they are."""
    if not (np.abs(axes).max() <= 1 + ROUNDED and np.abs(axes @ axes.T - np.eye(3)).max() <= ROUNDED):
        return axes
    first = int(np.abs(axes[:, 2]).argmax())
    found = axes.copy()
    for number, row in enumerate(np.roll(np.arange(3), -first)):
        for before in np.roll(np.arange(3), -first)[:number]:
            found[row] -= (found[row] @ found[before]) * found[before]
        found[row] /= np.sqrt(found[row] @ found[row])
    return found


def _room(raw: dict[str, Any], findings: Findings) -> Room:
    """The floor that people outlined; nothing where they did not, or where the outline is none."""
    drawn, kind = raw.get("scene_area_2d_polygon"), raw.get("scene_area_type")
    if not drawn:
        return Room(extent=None)
    rings = drawn if isinstance(drawn, list) and isinstance(drawn[0], list) and _is_ring(drawn[0]) else [drawn]
    shapes = [_polygon(ring) for ring in rings] if all(map(_is_ring, rings)) else [None]
    sound = [shape for shape in shapes if shape is not None]
    area = float(shapely.union_all(sound).area) if len(sound) == len(shapes) else np.nan
    if not 0 < area <= ROOM_MAX_M2:
        message = "scene_area_2d_polygon is no simple polygon of at least three points in metres"
        remedy = "draw it again, one [x, y] per corner; until then nothing is asked about the room's size"
        findings.add(doubt("unusable_outline", "room", message, remedy, None, None))
        return Room(extent=None)
    extent = EXTENTS.get(str(kind).lower().replace(" ", "_").replace("-", "_"))
    if extent is None:
        message = f"scene_area_type is {printable(str(kind))}: whether the outline is of all rooms is not known"
        findings.add(note("unknown_extent", "room", message, f"write one of {', '.join(EXTENTS)}"))
    outlines = tuple(tuple(map(tuple, np.asarray(s.exterior.coords)[:-1].tolist())) for s in sound)
    return Room(area_m2=area, area_method=AREA_METHOD, extent=extent, floor=outlines)


def _is_ring(raw: object) -> bool:
    """Whether something looks like a list of points."""
    return (
        isinstance(raw, list)
        and len(raw) > 0
        and all(isinstance(point, list) and len(point) in {2, 3} for point in raw)
        and all(isinstance(value, int | float) and not isinstance(value, bool) for point in raw for value in point)
    )


def _polygon(ring: list[list[float]]) -> shapely.Polygon | None:
    """A ring of points as a counter-clockwise polygon; None where it is none."""
    try:
        points = np.array([point[:2] for point in ring], dtype=np.float64)
    except OverflowError:
        return None
    if len(points) < 3 or not np.isfinite(points).all():
        return None
    polygon = shapely.Polygon(points)
    return shapely.orient_polygons(polygon) if polygon.is_valid and polygon.area > 0 else None
