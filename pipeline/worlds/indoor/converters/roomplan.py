"""Apple RoomPlan's ``CapturedRoom`` as JSON: boxes with categories, walls, and the floor's outline; no mesh, no film.

Metres, y up. ``transform`` is 16 numbers column by column; ``dimensions`` are width, height and depth along its axes,
of which depth is 0 for windows and most doors. Enumerations are objects of one key. A floor's ``polygonCorners`` lie in
its own plane.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import LabelledBox, SceneDocument
from pipeline.worlds.indoor.converters.capture import Converter
from pipeline.worlds.indoor.converters.texts import entries_of, numbers_from, object_of

THICK_M: Final = 0.06  # of doors and windows whose depth is 0
NAMES: Final = {"storage": "cabinet", "washerDryer": "washing machine"}  # what people call it
SURFACES: Final = ("doors", "windows")
RIGID: Final = 0.01
ALONG_M: Final = 0.5  # from the outline to the middle of a wall that stands along it


class AppleRoomPlan(Converter):
    """Exports of RoomPlan."""

    name = "roomplan"
    about = "CapturedRoom as JSON (Apple RoomPlan): labelled boxes and the floor's outline; no labelling needed"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`."""
        files = [source] if source.is_file() else sorted(source.glob("*.json")) if source.is_dir() else []
        return [path for path in files if path.suffix.lower() == ".json" and _looks_so(path)]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        document = object_of(place)
        items = [(_name(place, entry.get("category")), entry) for entry in entries_of(place, document, "objects")]
        for kind in SURFACES:
            items += [(kind[:-1], entry) for entry in (entries_of(place, document, kind) if kind in document else ())]
        boxes = tuple(_box(place, label, entry) for label, entry in items)
        unsure = {label for label, entry in items if _one_key(entry.get("confidence")) != "high"}
        floors = entries_of(place, document, "floors") if "floors" in document else []
        remarks = [] if len(floors) <= 1 else [f"of {len(floors)} floors the largest is the outline"]
        if unsure:
            remarks.append(f"RoomPlan is not sure of every {', '.join(sorted(unsure))}: look, and add them to complete")
        outlines = [outline for floor in floors if (outline := _outline(place, floor)) is not None]
        outline = max(outlines, key=lambda ring: float(np.ptp(ring, axis=0).prod()), default=None) if outlines else None
        area = None
        if outline is not None and (inner := _inner_walls(place, document, outline)):
            remarks.append(f"{inner} walls stand within the floor: it has no outline, as routes would lead through")
            area, outline = float(shapely.Polygon(outline[:, [0, 2]]).area), None
        return SceneDocument(
            format="scan2qa-scene",
            version=1,
            unit="m",
            up="y",
            handedness="right",
            complete=tuple(sorted({label for label, _ in items} - unsure)),
            objects=boxes,
            area=area,
            outline=None if outline is None else tuple(tuple(row) for row in outline.tolist()),
            remarks=tuple(remarks),
        )


def _inner_walls(path: Path, document: dict[str, Any], outline: FloatArray) -> int:
    """How many walls stand on the floor within its outline (N, 3), and not along it."""
    floor = shapely.Polygon(outline[:, [0, 2]])
    middles = [shapely.Point(_transform(path, wall)[[0, 2], 3]) for wall in entries_of(path, document, "walls")]
    return sum(floor.is_valid and floor.contains(m) and floor.exterior.distance(m) > ALONG_M for m in middles)


def _looks_so(path: Path) -> bool:
    try:
        document = object_of(path)
    except RawDataError:
        return False
    lists = (document.get("objects"), document.get("walls"))
    return all(isinstance(entries, list) and all("assetId" not in e for e in entries) for entries in lists)


def _one_key(value: Any) -> str | None:
    """The name of an enumeration: an object of one key, or a word in older exports."""
    return (
        next(iter(value)) if isinstance(value, dict) and len(value) == 1 else value if isinstance(value, str) else None
    )


def _name(path: Path, category: Any) -> str:
    name = _one_key(category)
    if name is None:
        raise RawDataError(path, "wrong_type", f"a category is {category!r}"[:200], "export the room again")
    return NAMES.get(name, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def _transform(path: Path, entry: dict[str, Any]) -> FloatArray:
    matrix = numbers_from(path, entry.get("transform"), 16, "transform").reshape(4, 4).T
    turn = matrix[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        off = float(np.abs(turn @ turn.T - np.eye(3)).max()) if np.isfinite(matrix).all() else np.inf
    if not off <= RIGID or np.linalg.det(turn) < 0 or np.abs(matrix[3] - [0, 0, 0, 1]).max() > RIGID:
        message = "a transform is no rotation and shift, column by column"
        raise RawDataError(path, "unusable_pose", message, "export the room again")
    u, _, v = np.linalg.svd(turn)
    matrix[:3, :3] = u @ v
    return np.asarray(matrix)


def _box(path: Path, label: str, entry: dict[str, Any]) -> LabelledBox:
    matrix = _transform(path, entry)
    size = numbers_from(path, entry.get("dimensions"), 3, f"dimensions of a {label}")
    if not (np.isfinite(size).all() and (size >= 0).all() and (size > 0).sum() >= 2):
        raise RawDataError(path, "degenerate_box", f"a {label} measures {size.tolist()}", "export the room again")
    size = np.where(size == 0, THICK_M, size)
    axes = [row.tolist() for row in matrix[:3, :3].T]
    return LabelledBox.model_validate(
        {"label": label, "center": matrix[:3, 3].tolist(), "size": size.tolist(), "axes": axes}
    )


def _outline(path: Path, floor: dict[str, Any]) -> FloatArray | None:
    """Corners (N, 3) of a floor; None where it has no polygon."""
    corners = floor.get("polygonCorners")
    if not isinstance(corners, list) or len(corners) < 3:
        return None
    own = numbers_from(path, corners, 3 * len(corners), "polygonCorners").reshape(-1, 3)
    if not np.isfinite(own).all():
        raise RawDataError(path, "not_finite", "a corner of the floor is no number", "export the room again")
    matrix = _transform(path, floor)
    return np.asarray(own @ matrix[:3, :3].T + matrix[:3, 3])
