"""Replica's ``habitat/info_semantic.json``: boxes of all instances, beside the room's mesh.

Metres, z up (``gravity_dir`` says so). Of a box ``orientation.rotation`` is a quaternion x y z w, and ``abb.center``
lies in the box's turned frame: the centre is R ``abb.center`` + ``translation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import SceneDocument
from pipeline.worlds.indoor.converters.annotated import AnnotatedBoxes, annotated_scene, placed, rotations
from pipeline.worlds.indoor.converters.capture import copied
from pipeline.worlds.indoor.converters.texts import entries_of, folders_of, numbers_from, object_of

FILE: Final = "info_semantic.json"
MESHES: Final = ("mesh.ply", "habitat/mesh_semantic.ply", "mesh_semantic.ply")
UPRIGHT_MIN: Final = 0.98  # cosine between gravity and -z


class Replica:
    """Rooms of Replica."""

    name = "replica"
    about = "habitat/info_semantic.json beside mesh.ply (Replica): labelled boxes and the mesh"
    real: str | None = "Replica's room_1 (its boxes; no mesh)"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`."""
        return [folder for folder in folders_of(source) if _file(folder) is not None and folder.name != "habitat"]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = _file(place) or place / FILE
        told = object_of(path)
        gravity = numbers_from(path, told.get("gravity_dir", [0, 0, -1]), 3, "gravity_dir")
        if not -gravity[2] >= UPRIGHT_MIN * np.linalg.norm(gravity):
            message = f"gravity_dir is {gravity.round(3).tolist()}: z does not point up"
            raise RawDataError(path, "another_axis_is_up", message, "fetch Replica's own file")
        entries = entries_of(path, told, "objects")
        numbers = [_numbers(path, entry) for entry in entries]
        center, size, quat, shift = np.split(np.array(numbers).reshape(-1, 13), [3, 6, 10], axis=1)
        turn = rotations(quat)
        boxes = AnnotatedBoxes(
            labels=[str(entry.get("class_name", "")) for entry in entries],
            center=placed(turn, center, shift),
            size=size,
            axes=turn.transpose(0, 2, 1),
        )
        mesh = next((p for name in MESHES if (p := place / name).is_file()), None)
        own = None if mesh is None else copied(mesh, folder, "mesh")
        return annotated_scene(path, self.name, boxes, complete=True, mesh=own)


def _file(folder: Path) -> Path | None:
    return next((p for name in (f"habitat/{FILE}", FILE) if (p := folder / name).is_file()), None)


def _numbers(path: Path, entry: dict[str, Any]) -> list[float]:
    """Centre, sides, quaternion and shift of one object."""
    what = f"the box of object {entry.get('id')}"
    box = entry.get("oriented_bbox")
    parts = [box.get(key) if isinstance(box, dict) else None for key in ("abb", "orientation")]
    abb, turned = (part if isinstance(part, dict) else {} for part in parts)
    lists = ((abb, "center", 3), (abb, "sizes", 3), (turned, "rotation", 4), (turned, "translation", 3))
    return [n for told, key, count in lists for n in numbers_from(path, told.get(key), count, what).tolist()]
