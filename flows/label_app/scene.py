"""One scene folder as the page shows it: its boxes, its surface, its frames, and the names that labels may have.

A scene of a build is shown likewise: what is drawn over its boxes becomes fixes that the build takes.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from PIL import Image

from flows.cli.trace import fix_entry
from pipeline.core.errors import ConfigError, RawDataError, require_extra
from pipeline.core.files import read_file, write_atomically
from pipeline.core.findings import Findings
from pipeline.core.fixes import FixEntry, UnexpectedError
from pipeline.core.identity import digest_of
from pipeline.engine.stage import Progress, no_progress
from pipeline.formats.images import jpeg_bytes, size_of
from pipeline.formats.ply import PlyMesh
from pipeline.formats.scene_folder import FILE, DocumentAxes, LabelledBox, SceneDocument
from pipeline.geometry.scans import CameraFrames, SceneGeometry
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.fix_files import BYTES_MAX, read_fixes
from pipeline.worlds.indoor.converters.capture import MESH
from pipeline.worlds.indoor.facts import IndoorScene, SceneObject
from pipeline.worlds.indoor.fixes import AddObject, BoxFix, CategoryFix, CountFix, DropObject, RenameFix, fix_scan
from pipeline.worlds.indoor.labels.boxes import (
    ChangedError,
    DrawnBoxes,
    Labels,
    PlacedBox,
    check_label,
    file_digest,
    outline_of,
    placed_box,
)
from pipeline.worlds.indoor.labels.proposals import Detections, Proposals, asked_frames, lifted
from pipeline.worlds.indoor.labels.surface import (
    BoxView,
    fitted,
    fused_mesh,
    picture_T_world,
    surface_of,
    turn_of,
    views_of,
)
from pipeline.worlds.indoor.readers.categories import load_curation, normal
from pipeline.worlds.indoor.readers.frames import no_frames
from pipeline.worlds.indoor.readers.scene_document import document_of, film_of
from pipeline.worlds.indoor.readers.scene_folders import CURATED, mesh_of
from pipeline.worlds.indoor.sizes import PUBLISHED_M, TYPICAL
from pipeline.worlds.registry import FIXES

PICTURE_WIDTH: Final = 960  # pixels of a frame on the page, at most
PICTURES_KEPT: Final = 64


class BoxStore(Protocol):
    """Where the boxes of a scene are read from and written to."""

    path: Path

    def read(self) -> tuple[str, SceneDocument, list[PlacedBox]]:
        """Digest of the file, what it states, and the boxes in the world frame. Raises RawDataError."""

    def write(self, drawn: DrawnBoxes) -> str:
        """Writes all boxes; the digest of what is there now. Raises ChangedError, UnusableError, StoreError."""


class LabelledScene:
    """A scene folder that is being labelled.

    Args:
        folder: with its ``scene.json``. Where it has depth and neither mesh nor points, the depth is fused into a mesh
            beside it, which ``scene.json`` then names.
        progress: of the fusion.

    Raises ConfigError, RawDataError, StoreError.
    """

    labels: BoxStore

    def __init__(self, folder: Path, progress: Progress = no_progress) -> None:
        folder = folder.resolve()
        require_extra("scans", "label")
        if (folder / FILE).is_symlink():
            raise ConfigError(f"{folder / FILE} is a link: give the folder that has the file itself")
        if not (folder / FILE).is_file():
            inner = sorted(path.parent.name for path in folder.glob(f"*/{FILE}"))
            other = ": see scan2qa converters, or name a scan of a build with --scene"
            hint = f"; give one of the scenes in it: {', '.join(inner[:8])}" if inner else other
            raise ConfigError(f"{folder} has no {FILE}{hint}")
        self.folder, self.name = folder, folder.name
        self.labels = Labels(folder / FILE)
        self._files = SceneFiles(folder.parent, SceneRef(f"scene/{folder.name}", (folder.name,), ""))
        film = film_of(self._files, Findings())
        frames = film.frames() if film is not None else no_frames()
        mesh = mesh_of(self._files, Findings()) or self._fused(frames, progress)
        if mesh is None and not len(frames.time_s):
            raise ConfigError(f"{folder / FILE} names neither mesh, points nor frames with poses: nothing to draw on")
        self._set_surface(mesh, frames)

    def _set_surface(self, mesh: PlyMesh | SceneGeometry | None, frames: CameraFrames) -> None:
        self.frames, self.surface = frames, surface_of(mesh, frames)
        self.proposals = Proposals([], [], {})
        self.picture = lru_cache(PICTURES_KEPT)(self._picture)

    def state(self) -> dict[str, Any]:
        """What the page needs to begin with, as JSON. Raises RawDataError."""
        digest, document, boxes = self.labels.read()
        points = self.surface.points
        around = points if len(points) else self.frames.world_T_camera[:, :3, 3]
        return {
            "name": self.name,
            "place": f"{self.labels.path} {self.name}",
            "file": self.labels.path.name,
            "fixes": not isinstance(self.labels, Labels),
            "digest": digest,
            "unit": "" if document.unit == "unknown" else "m",
            "objects": [box.model_dump(mode="json") for box in boxes],
            "complete": document.complete,
            "outline": outline_of(document),
            "names": names(),
            "proposals": [box.model_dump(mode="json") for box in self.proposals.boxes],
            "low": np.percentile(around, 0.2, axis=0).tolist(),
            "high": np.percentile(around, 99.8, axis=0).tolist(),
            "floor": self.surface.floor,
            "turn_deg": self.surface.turn_deg,
            "spacing": self.surface.spacing_m,
            "points": len(points),
            "frames": len(self.frames.time_s),
        }

    def propose(
        self, detect: Callable[[bytes, list[str]], Detections | None], progress: Progress = no_progress
    ) -> Proposals:
        """Asks a detector about some frames; what it finds and no box of the scene has is proposed from now on."""
        found, labelled, unanswered = [], self.labels.read()[2], 0
        asked = asked_frames(self.frames)
        for number, i in enumerate(asked):
            progress("frames", number, len(asked))
            jpeg = self.picture(i)
            if jpeg is not None and (size := size_of(jpeg)) is not None:
                told = detect(jpeg, names())
                unanswered += told is None
                if told is not None:
                    found.append((i, told, size))
        progress("frames", len(asked), len(asked))
        made = lifted(found, self.surface, self.frames)
        new = [n for n, box in enumerate(made.boxes) if not any(_is_same(box, other) for other in labelled)]
        more = {"has a box already": len(made.boxes) - len(new), "frames without a usable answer": unanswered}
        left_out = made.left_out | {reason: count for reason, count in more.items() if count}
        self.proposals = Proposals([made.boxes[n] for n in new], [made.frames[n] for n in new], left_out)
        return self.proposals

    def points(self) -> bytes:
        """The surface: x, y, z of all points as little-endian float32, then their red, green and blue as bytes."""
        return self.surface.points.astype("<f4").tobytes() + self.surface.colors.tobytes()

    def fit(self, box: PlacedBox, low: float, high: float, tighten: bool) -> PlacedBox | None:
        """See `fitted`."""
        return fitted(box, self.surface, low, high, tighten)

    def views(self, box: PlacedBox) -> list[BoxView]:
        """See `views_of`."""
        return views_of(box, self.surface, self.frames)

    def view(self, i: int) -> BoxView | None:
        """A frame as a view of nothing in particular; None where there is no such frame."""
        if not 0 <= i < len(self.frames.time_s):
            return None
        return BoxView(i, float(self.frames.time_s[i]), 0.0, picture_T_world(self.frames, i).tolist())

    def save(self, drawn: DrawnBoxes) -> str:
        """See `Labels.write`."""
        return self.labels.write(drawn)

    def _picture(self, i: int) -> bytes | None:
        """A frame upright, as JPEG; None where there is no such frame, or its picture cannot be read."""
        color = self.frames.color(i) if 0 <= i < len(self.frames.time_s) else None
        if color is None:
            return None
        picture = np.rot90(color, -turn_of(self.frames) // 90)
        scale = min(1.0, PICTURE_WIDTH / picture.shape[1])
        size = round(picture.shape[1] * scale), max(1, round(picture.shape[0] * scale))
        return jpeg_bytes(np.asarray(Image.fromarray(picture).resize(size)), 85)

    def _fused(self, frames: CameraFrames, progress: Progress) -> PlyMesh | None:
        document = document_of(self._files)
        fused = None if document.unit == "unknown" else fused_mesh(frames, progress)
        if fused is None:
            return None
        path = self.folder / MESH
        if path.exists():
            message = f"{FILE} does not name it, and the fused depth would overwrite it"
            raise RawDataError(path, "duplicate_file", message, f"name it in {FILE} as mesh, or move it away")
        write_atomically(path, fused._replace(**_in_file(fused.vertices, fused.faces, document)).as_ply())
        Labels(self.folder / FILE).name_mesh(MESH)
        return PlyMesh(fused.vertices, fused.faces)


def _is_same(box: PlacedBox, other: PlacedBox) -> bool:
    """Whether two boxes have one label, and the middle of one is in the other."""
    local = other.rows @ (np.array(box.center) - np.array(other.center))
    return normal(box.label) == normal(other.label) and bool((np.abs(local) <= np.array(other.size) / 2).all())


def _in_file(vertices: Any, faces: Any, document: SceneDocument) -> dict[str, Any]:
    """Corners and triangles of the world in the frame and unit of a document."""
    axes = document.axes
    mirrored = np.linalg.det(axes.turn) < 0
    return {"vertices": vertices @ axes.turn / axes.scale, "faces": faces[:, ::-1] if mirrored else faces}


@lru_cache(1)
def names() -> list[str]:
    """The categories that questions are known to ask about: those of the datasets' lists and of the usual sizes."""
    listed = (set(load_curation(name).category.values()) for name in CURATED)
    return sorted({*TYPICAL, *PUBLISHED_M}.union(*listed))


PREFIX: Final = "label-"  # of the ids of the page's fixes
WORLD: Final = DocumentAxes("m", "z", "right")
UNLABELLED: Final = SceneDocument(
    format="scan2qa-scene", version=1, unit="m", up="z", handedness="right", complete=True
)
_OWN: Final = (BoxFix, CategoryFix, DropObject, AddObject)
_ABOUT_BOXES: Final = (*_OWN, CountFix, RenameFix)
_ENTRY: Final = re.compile(r"^- ", re.MULTILINE)


class FixLabels:
    """The boxes of a scene of a build, and their corrections in ``<folder>/<dataset>.yaml``.

    Args:
        scene: as it was read, without any fix.
        folder: of the build's own fixes; it is made.

    Raises ConfigError, StoreError.
    """

    def __init__(self, scene: IndoorScene, folder: Path) -> None:
        self.path = folder / f"{scene.id.partition('/')[0]}.yaml"
        self._scene, self._name = scene, scene.id.partition("/")[2]
        folder.mkdir(parents=True, exist_ok=True)
        others = [e for e in self._entries() if isinstance(e.fix, _ABOUT_BOXES) and not e.fix.id.startswith(PREFIX)]
        if others:
            named = ", ".join(e.fix.id for e in others[:5])
            raise ConfigError(
                f"{self.path} corrects boxes or counts of {scene.id} that this page did not draw ({named}): "
                "correct the others there too, or take these out first"
            )
        for entry in self._entries():
            try:
                if isinstance(entry.fix, _OWN):
                    entry.fix.check(scene)
            except UnexpectedError as error:
                message = f"{self.path}: {entry.place} does not fit {scene.id}: {error}"
                raise ConfigError(f"{message}; take it out, and draw again") from error

    def read(self) -> tuple[str, SceneDocument, list[PlacedBox]]:
        """Digest of the file, an empty document, and the boxes as corrected. Raises RawDataError."""
        try:
            fixes = [e.fix for e in self._entries() if isinstance(e.fix, _OWN)]
        except ConfigError as error:
            raise RawDataError(self.path, "unreadable_file", str(error), "mend it") from error
        return file_digest(self._raw()), UNLABELLED, [_placed(o) for o in fix_scan(self._scene, fixes).facts.objects]

    def write(self, drawn: DrawnBoxes) -> str:
        """Writes what differs from the boxes as read; the digest of what is there now.

        Raises ChangedError, UnusableError, StoreError.
        """
        raw = self._raw()
        if file_digest(raw) != drawn.digest:
            raise ChangedError(f"{self.path.name} was changed by another program since it was read")
        blocks = _ENTRY.split(raw.decode())
        mark = f"id: {PREFIX}{digest_of(self._scene.id)[:8]}-"
        kept = {text.split("\n", 1)[0].removeprefix("id: "): text for text in blocks[1:] if text.startswith(mark)}
        others = [text for text in blocks[1:] if not text.startswith(mark)]
        made = []
        for draft in self._drafts(drawn.objects):
            name = f"{mark.removeprefix('id: ')}{digest_of(draft)[:12]}"
            about = {"why": "drawn on the label page", "who": "a person", "date": datetime.now(UTC).date().isoformat()}
            text = fix_entry({"id": name, "scene": self._name} | draft | about).removeprefix("- ") + "\n"
            made.append(kept.get(name, text))
        text = blocks[0] + "".join(f"- {block}" + ("" if block.endswith("\n") else "\n") for block in (*others, *made))
        after = text.encode()
        if after != raw:
            write_atomically(self.path, after)
        return file_digest(after)

    def _raw(self) -> bytes:
        return read_file(self.path, BYTES_MAX) if self.path.exists() else b""

    def _entries(self) -> list[FixEntry]:
        return [e for e in read_fixes([self.path.parent], FIXES) if e.scene == self._scene.id]

    def _drafts(self, drawn: Sequence[PlacedBox]) -> list[dict[str, Any]]:
        """What differs, as targets with expect and set, in order of the scene's objects; new ones last."""
        objects = self._scene.facts.objects
        counts = {o.category: sum(other.category == o.category for other in objects) for o in objects}
        known: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        for number, item in enumerate(objects):
            known[_placed(item).place].append(number)
        fate: dict[int, PlacedBox] = {}
        new: list[PlacedBox] = []
        by_label = sorted(drawn, key=lambda box: not _has(known[box.place], objects, box))  # those of their label first
        for box in by_label:
            check_label(box)
            same = known[box.place]
            own = next((n for n in same if objects[n].category == normal(box.label)), same[0] if same else None)
            if own is None:
                new.append(box)
            else:
                same.remove(own)
                fate[own] = box
        for own, at in _nearest([n for n in range(len(objects)) if n not in fate], objects, new):
            fate[own] = new[at]
        taken = {id(box) for box in fate.values()}
        drafts = []
        for number, item in enumerate(objects):
            about = {"of": item.category} | ({"instance": item.instance} if counts[item.category] > 1 else {})
            told = _part((item.box.center, item.box.lengths, item.box.axes))
            left = fate.get(number)
            if left is None:
                drafts.append({"target": "drop_object", **about, "expect": told, "set": None})
            elif normal(left.label) != item.category:
                drafts.append({"target": "category", **about, "expect": told, "set": normal(left.label)})
            elif left.place != _placed(item).place:
                drafts.append({"target": "box", **about, **_changed(item, left)})
        for box in new:
            if id(box) not in taken:
                name = normal(box.label)
                about = {"target": "add_object", "of": name, "expect": counts.get(name, 0)}
                drafts.append({**about, "set": _part(_drawn(box))})
        return drafts


class FixedScene(LabelledScene):
    """A scene of a build that is being corrected.

    Args:
        scene: as it was read.
        geometry: its surface and frames.
        folder: of fixes.
    """

    def __init__(self, scene: IndoorScene, geometry: SceneGeometry, folder: Path) -> None:
        self.labels = FixLabels(scene, folder)
        self.folder, self.name = folder.resolve(), scene.id
        self._set_surface(geometry, geometry.frames)


def _nearest(left: Sequence[int], objects: Sequence[SceneObject], new: Sequence[PlacedBox]) -> list[tuple[int, int]]:
    """Pairs of objects without a box and boxes without an object that are one thing moved: alike, and overlapping."""
    pairs = []
    for own in left:
        for at, box in enumerate(new):
            apart = np.linalg.norm(np.subtract(objects[own].box.center, box.center))
            reach = (np.linalg.norm(objects[own].box.lengths) + np.linalg.norm(box.size)) / 2
            if objects[own].category == normal(box.label) and apart < reach:
                pairs.append((float(apart), own, at))
    found: list[tuple[int, int]] = []
    for _, own, at in sorted(pairs):
        if all(own != other and at != there for other, there in found):
            found.append((own, at))
    return found


def _has(same: Iterable[int], objects: Sequence[SceneObject], box: PlacedBox) -> bool:
    return any(objects[n].category == normal(box.label) for n in same)


def _placed(item: SceneObject) -> PlacedBox:
    box = LabelledBox(label=item.category, center=item.box.center, size=item.box.lengths, axes=item.box.axes)
    return placed_box(box, WORLD, "z")


def _drawn(box: PlacedBox) -> tuple[Any, Any, Any]:
    return box.center, box.size, box.rows


def _changed(item: SceneObject, box: PlacedBox) -> dict[str, Any]:
    """What of an object's box was drawn otherwise; its own axes stay where only their order or sign differs."""
    axes = np.array(item.box.axes)
    order = np.abs(axes @ box.rows.T)
    turned = not np.allclose(order, order.round(), atol=1e-6)
    before = _part((item.box.center, item.box.lengths, axes))
    after = _part(_drawn(box) if turned else (box.center, order.round() @ box.size, axes))
    changed = [name for name in after if after[name] != before[name]]
    return {"expect": {name: before[name] for name in changed}, "set": {name: after[name] for name in changed}}


def _part(box: tuple[Any, Any, Any]) -> dict[str, Any]:
    names = (("center_m", 4), ("lengths_m", 4), ("axes", 6))
    return {name: (np.round(value, digits) + 0.0).tolist() for (name, digits), value in zip(names, box, strict=True)}
