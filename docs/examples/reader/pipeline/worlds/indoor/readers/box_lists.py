"""Reader of box lists: a folder of ``NAME.json``, one per scene, with upright boxes in metres, z up.

``{"area_m2": 12.5, "boxes": [{"label": "table", "center_m": [x, y, z], "size_m": [x, y, z], "turn_deg": 30}]}``;
``turn_deg`` is about z, counter-clockwise seen from above; ``area_m2`` may be null.
"""

import hashlib
import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.findings import Findings, fault
from pipeline.reading.checks import check_box, check_keys, check_name, finite_number
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.folders import SAFE, SAFE_NAME
from pipeline.reading.reader import Reader
from pipeline.worlds.indoor.facts import IndoorScene, Room, Scan, SceneObject

SCENE_KEYS: Final = frozenset({"area_m2", "boxes"})
BOX_KEYS: Final = frozenset({"label", "center_m", "size_m", "turn_deg"})


class BoxLists(Reader):
    """Lists of boxes: no mesh, no camera, no video."""

    name = "box_lists"
    version = 1

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        paths = sorted(root.glob("*.json"))
        if not paths:
            raise ConfigError(f"{root}: no *.json file here. Give the folder with one file per scene")
        refs, broken = [], []
        for path in paths:
            if SAFE_NAME.fullmatch(path.stem):
                stamp = hashlib.sha256(path.read_bytes()).hexdigest()
                refs.append(SceneRef(f"{self.name}/{path.stem}", (path.name,), stamp))
            else:
                message = f"the name {path.stem!r} is not {SAFE}"
                broken.append(RawDataError(path, "unsafe_scene_name", message, "rename the file"))
        return Listing(tuple(refs), tuple(broken))

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`. All faults of a scene are told at once."""
        findings = Findings()
        raw = files.json(files.path)
        check_keys(raw, SCENE_KEYS, "scene", findings)
        area = None if raw.get("area_m2") is None else finite_number(raw["area_m2"], "area_m2", findings)
        if area is not None and area <= 0:
            findings.add(fault("implausible_area", "area_m2", f"area_m2 is {area}", "measure it or write null"))
        objects = _objects(raw.get("boxes"), findings)
        files.raise_faults(files.path, findings)
        counts = Counter(item.category for item in objects)
        facts = Scan(objects=tuple(objects), counts=dict(sorted(counts.items())), room=Room(area_m2=area))
        return files.scene_of(IndoorScene, self, "annotated", facts, findings)


def _objects(raw: object, findings: Findings) -> list[SceneObject]:
    if not isinstance(raw, list):
        findings.add(fault("wrong_type", "boxes", f"boxes is {type(raw).__name__}, not a list"))
        return []
    objects: list[SceneObject] = []
    seen: Counter[str] = Counter()
    for number, box in enumerate(raw):
        what = f"box #{number}"
        if not isinstance(box, dict):
            findings.add(fault("wrong_type", what, f"{what} is {type(box).__name__}, not an object"))
            continue
        check_keys(box, BOX_KEYS, what, findings)
        label = str(box.get("label"))
        turn_deg = finite_number(box.get("turn_deg"), f"turn_deg of {what}", findings)
        if check_name(label, findings) and turn_deg is not None:
            oriented = check_box(_upright(box, turn_deg), what, label, findings)
            if oriented is not None:
                objects.append(SceneObject(category=label, instance=seen[label], box=oriented))
                seen[label] += 1
    return objects


def _upright(box: dict[str, Any], turn_deg: float) -> dict[str, Any]:
    """The box as `check_box` takes it: its axes one per row, world coordinates."""
    cos, sin = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    axes = [cos, sin, 0.0, -sin, cos, 0.0, 0.0, 0.0, 1.0]
    return {"centroid": box.get("center_m"), "axesLengths": box.get("size_m"), "normalizedAxes": axes}
