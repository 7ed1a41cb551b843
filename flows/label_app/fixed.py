"""A scene of a build as the page shows it: what is drawn over its boxes becomes fixes that the build takes."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from flows.cli.trace import fix_entry
from flows.label_app.scene import LabelledScene
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.files import read_file, write_atomically
from pipeline.core.fixes import FixEntry, UnexpectedError
from pipeline.core.identity import digest_of
from pipeline.formats.scene_folder import Axes, LabelledBox, SceneDocument
from pipeline.geometry.scans import SceneGeometry
from pipeline.reading.fix_files import BYTES_MAX, read_fixes
from pipeline.worlds.indoor.facts import IndoorScene, SceneObject
from pipeline.worlds.indoor.fixes import AddObject, BoxFix, CategoryFix, CountFix, DropObject, RenameFix, fix_scan
from pipeline.worlds.indoor.labels.boxes import ChangedError, Drawn, PlacedBox, check_label, placed_box
from pipeline.worlds.indoor.readers.categories import normal
from pipeline.worlds.registry import FIXES

PREFIX: Final = "label-"  # of the ids of the page's fixes
WORLD: Final = Axes("m", "z", "right")
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
        return _digest(self._raw()), UNLABELLED, [_placed(o) for o in fix_scan(self._scene, fixes).facts.objects]

    def write(self, drawn: Drawn) -> str:
        """Writes what differs from the boxes as read; the digest of what is there now.

        Raises ChangedError, UnusableError, StoreError.
        """
        raw = self._raw()
        if _digest(raw) != drawn.digest:
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
        return _digest(after)

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
                drafts.append({"target": "box", **about, "expect": told, "set": _part(_drawn(left))})
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
        self._show(geometry, geometry.frames)


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


def _part(box: tuple[Any, Any, Any]) -> dict[str, Any]:
    names = (("center_m", 4), ("lengths_m", 4), ("axes", 6))
    return {name: (np.round(value, digits) + 0.0).tolist() for (name, digits), value in zip(names, box, strict=True)}


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
