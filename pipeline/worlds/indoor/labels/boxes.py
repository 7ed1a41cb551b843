"""The boxes of a ``scene.json`` as a person draws them, and back into the file, of which all else stays as it is.

A person draws in the world frame: metres (the file's own lengths where their unit is not known), z up, right-handed.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import Field, FiniteFloat
from shapely.geometry import Polygon

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file, write_atomically
from pipeline.core.findings import Findings
from pipeline.core.schema import Mat3, Model, Name, Vec3
from pipeline.formats.scene_folder import (
    MAX_BYTES,
    MAX_OBJECTS,
    DocumentAxes,
    LabelledBox,
    Positive,
    SceneDocument,
    entries_of,
    with_members,
)
from pipeline.reading.checks import check_name
from pipeline.worlds.indoor.readers.categories import normal
from pipeline.worlds.indoor.readers.scene_folders import rows_of

UPRIGHT: Final = 0.999  # cosine: a box within 2.6 degrees of upright is shown, and written when changed, as upright
DECIMALS: Final = 5  # of lengths in the file
_BOM: Final = "\ufeff".encode()
CORNERS_MAX: Final = 1000
SIDE_MAX: Final = 1000.0  # of a box, and of its place; no scene is larger


class PlacedBox(Model):
    """A labelled box in the world frame.

    Attributes:
        label: what it is called.
        center: of the box.
        size: full sides along its first, its second and its third axis; the third of an upright box is up.
        turn_deg: of the first axis from +x, counter-clockwise seen from above; of a tilted box 0.
        axes: of a tilted box its unit axes, one per row; None: the box stands upright.
    """

    label: Name
    center: Vec3
    size: tuple[Positive, Positive, Positive]
    turn_deg: FiniteFloat = 0.0
    axes: Mat3 | None = None

    @property
    def rows(self) -> FloatArray:
        """Its unit axes (3, 3), one per row."""
        return np.array(self.axes, dtype=float) if self.axes is not None else upright_axes(self.turn_deg)

    @property
    def place(self) -> tuple[object, ...]:
        """All but the label: equal for boxes that are the same."""
        return self.center, self.size, self.turn_deg, self.axes


class DrawnBoxes(Model):
    """All boxes of a scene as a person left them, and the state of the file that they were drawn over.

    Attributes:
        digest: of the file, as `Labels` gave it.
        objects: all of them, in order.
        complete: as in `SceneDocument`.
        outline: corners of the floor in the world frame, none to take it away; None: as it is.
    """

    digest: str
    objects: Annotated[tuple[PlacedBox, ...], Field(max_length=MAX_OBJECTS)]
    complete: bool | tuple[Name, ...]
    outline: Annotated[tuple[tuple[FiniteFloat, FiniteFloat], ...], Field(max_length=CORNERS_MAX)] | None = None


class ChangedError(Exception):
    """The file is not the one that was drawn over."""


class UnusableError(Exception):
    """What was drawn cannot be written; the text gives the reason and the remedy."""


class Labels:
    """The boxes of one ``scene.json``. Every call reads the file, which others may change.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[str, SceneDocument, list[PlacedBox]]:
        """Digest of the file, document and boxes. Raises RawDataError where the file is no longer sound."""
        raw, document = self._read()
        return file_digest(raw), document, placed(document)

    def write(self, drawn: DrawnBoxes) -> str:
        """Writes boxes that have changed over those of the file; the digest of what is there now.

        A box that is as it was keeps its text, and all that is no box does. Raises ChangedError, UnusableError,
        RawDataError, StoreError.
        """
        raw, document = self._read()
        if file_digest(raw) != drawn.digest:
            raise ChangedError(f"{self.path.name} was changed by another program since it was read")
        before = entries_of(raw, "objects")
        known: defaultdict[tuple[object, ...], list[tuple[str, LabelledBox]]] = defaultdict(list)
        for entry, item, box in zip(before, document.objects, placed(document), strict=True):
            known[box.place].append((entry, item))
        after = [_entry(box, known[box.place], document) for box in drawn.objects]
        members = {}
        if after != before:
            members["objects"] = "[\n    " + ",\n    ".join(after) + "\n  ]" if after else "[]"
        if _listed(drawn.complete) != _listed(document.complete):
            members["complete"] = json.dumps(drawn.complete, ensure_ascii=False)
        if drawn.outline is not None and list(drawn.outline) != outline_of(document):
            members["outline"] = json.dumps(_outline_in_file(drawn.outline, document))
        if not members:
            return drawn.digest
        return self._replace(with_members(raw, members))

    def name_mesh(self, mesh: str) -> None:
        """Adds the name of a mesh beside the file. Raises RawDataError, StoreError."""
        raw, _ = self._read()
        self._replace(with_members(raw, {"mesh": json.dumps(mesh)}))

    def _read(self) -> tuple[bytes, SceneDocument]:
        try:
            raw = read_file(self.path, MAX_BYTES)
            document = SceneDocument.model_validate_json(raw.removeprefix(_BOM))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no sound scene any more"
            message, remedy = f"it was changed by another program: {why}", "see scan2qa doctor, and mend it"
            raise RawDataError(self.path, "unreadable_file", message, remedy) from error
        return raw, document

    def _replace(self, raw: bytes) -> str:
        SceneDocument.model_validate_json(raw.removeprefix(_BOM))
        write_atomically(self.path, raw, self.path.stat().st_mode & 0o777)
        return file_digest(raw)


def placed(document: SceneDocument) -> list[PlacedBox]:
    """The boxes of a document in the world frame."""
    axes = document.axes
    return [placed_box(item, axes, document.up) for item in document.objects]


def outline_of(document: SceneDocument) -> list[tuple[float, float]]:
    """Corners of the floor in the world frame, to a tenth of a millimetre; none where none are stated."""
    if document.outline is None:
        return []
    corners = document.axes.points(np.array(document.outline))
    return [(float(x), float(y)) for x, y in corners[:, :2].round(4) + 0.0]


def _outline_in_file(corners: Sequence[tuple[float, float]], document: SceneDocument) -> list[list[float]] | None:
    """Corners as the file states them, at the height of those that it has; None without any. Raises UnusableError."""
    if not corners:
        return None
    shape = Polygon(corners) if len(corners) > 2 else None
    if shape is None or not shape.is_valid or shape.area <= 0:
        raise UnusableError("the floor's outline crosses itself or has no area: move its corners")
    if np.abs(corners).max() > SIDE_MAX:
        raise UnusableError(f"a corner of the floor is over {SIDE_MAX:g} m away: draw it again")
    axes = document.axes
    height = axes.points(np.array(document.outline))[:, 2].mean() if document.outline else 0.0
    places = np.column_stack([np.array(corners), np.full(len(corners), height)]) @ axes.turn / axes.scale
    return [[float(v) for v in place] for place in places.round(DECIMALS) + 0.0]


def upright_axes(turn_deg: float) -> FloatArray:
    """Unit axes (3, 3), one per row, of an upright box whose first axis is turned from +x, counter-clockwise."""
    cos, sin = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
    return np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])


def in_file(box: PlacedBox, document: SceneDocument) -> LabelledBox:
    """A box as the file states it, in its frame and unit."""
    axes = document.axes
    record: dict[str, object] = {
        "label": box.label,
        "center": (np.array(box.center) @ axes.turn / axes.scale).round(DECIMALS).tolist(),
        "size": (np.array(box.size) / axes.scale).round(DECIMALS).tolist(),
    }
    if box.axes is None and document.up == "z" and document.handedness == "right":
        return LabelledBox.model_validate(record | {"turn_deg": box.turn_deg})
    rows = box.rows @ axes.turn
    rows[2] *= np.sign(np.linalg.det(rows))
    return LabelledBox.model_validate(record | {"axes": rows.round(9).tolist()})


def placed_box(item: LabelledBox, axes: DocumentAxes, up: str) -> PlacedBox:
    """A box of a file with such axes in the world frame."""
    rows = rows_of(item, up) @ axes.turn.T
    size = np.array(item.size) * axes.scale
    record = {"label": item.label, "center": axes.points(np.array([item.center]))[0].tolist()}
    upright = int(np.abs(rows[:, 2]).argmax())
    if abs(rows[upright, 2]) < UPRIGHT:
        return PlacedBox.model_validate(record | {"size": size.tolist(), "axes": rows.tolist()})
    first, second = (k for k in range(3) if k != upright)
    turn_deg = float(np.degrees(np.arctan2(rows[first, 1], rows[first, 0])))
    return PlacedBox.model_validate(record | {"size": size[[first, second, upright]].tolist(), "turn_deg": turn_deg})


def _entry(box: PlacedBox, same: Sequence[tuple[str, LabelledBox]], document: SceneDocument) -> str:
    """The text of a box: as it was where nothing changed, with its place as it was where only its label did."""
    for text, item in same:
        if item.label == box.label:
            return text
    check_label(box)
    item = same[0][1].model_copy(update={"label": box.label}) if same else in_file(box, document)
    return json.dumps(item.model_dump(mode="json", exclude_none=True), ensure_ascii=False, allow_nan=False)


def check_label(box: PlacedBox) -> None:
    """Raises UnusableError where a box cannot be asked about."""
    findings = Findings()
    if not check_name(normal(box.label), findings):
        raise UnusableError(f"{findings.faults[0].message}: {findings.faults[0].remedy}")
    if max(map(abs, (*box.center, *box.size))) > SIDE_MAX:
        raise UnusableError(f"a box of {box.label!r} is over {SIDE_MAX:g} m long or away: draw it again")


def _listed(complete: bool | tuple[str, ...]) -> object:
    return complete if isinstance(complete, bool) else sorted(set(complete))


def file_digest(raw: bytes) -> str:
    """The state of a file that boxes are drawn over."""
    return hashlib.sha256(raw).hexdigest()
