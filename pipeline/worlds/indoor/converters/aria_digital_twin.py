"""Aria Digital Twin: objects of a sequence (``instances.json``, ``scene_objects.csv``, ``3d_bounding_box.csv``).

Metres, y up. Of an object the box (min, max) lies in its own frame, and ``t_wo`` with ``q_wo`` (w x y z) puts that
into the scene. Rows with time -1 hold for the whole sequence, of what moves there is one at each time. The recording
(VRS) is not read.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import SceneDocument
from pipeline.reading.checks import POSITION_MAX_M
from pipeline.worlds.indoor.converters.annotated import AnnotatedBoxes, annotated_scene, placed, shown
from pipeline.worlds.indoor.converters.capture import Converter
from pipeline.worlds.indoor.converters.texts import numbers_from, object_of, rotations, table_of

FILES: Final = ("instances.json", "scene_objects.csv", "3d_bounding_box.csv")
TRAJECTORY: Final = "aria_trajectory.csv"
POSE: Final = ("t_wo_x[m]", "t_wo_y[m]", "t_wo_z[m]", "q_wo_x", "q_wo_y", "q_wo_z", "q_wo_w")
BOX: Final = tuple(f"p_local_obj_{axis}{end}[m]" for end in ("min", "max") for axis in "xyz")
GRAVITY: Final = ("gravity_x_world", "gravity_y_world", "gravity_z_world")
MOVED_M: Final = 0.05  # what is carried farther is nowhere for the whole sequence
UPRIGHT_MIN: Final = 0.7  # in the middle; of the sequence at hand 1.00
AXIS_MIN: Final = 0.95  # cosine between gravity and an axis
# Categories of which nobody could count the things that were meant.
VAGUE: Final = frozenset(
    {
        *("accessory", "decorative accessory", "freestanding accessory", "food object", "play set", "built in"),
        *("kitchen utensil", "cleaning utensil", "electronic device control", "consumer electronic device"),
        *("smart home video", "cabinets and shelves"),
    }
)
AGAIN: Final = "fetch the sequence's ground truth again"
NO_FILM: Final = "the recording (.vrs) is not read: export its RGB pictures, and give camera and poses in scene.json"


class AriaDigitalTwin(Converter):
    """Ground truth of Aria Digital Twin's sequences."""

    name = "aria_digital_twin"
    about = "instances.json, scene_objects.csv, 3d_bounding_box.csv (Aria Digital Twin): labelled boxes, no film"
    needs = FILES
    real = "projectaria_tools' test sequence (349 objects)"

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        instances = object_of(place / FILES[0])
        ids, times, poses = _rows(place / FILES[1], POSE)
        boxed, box_times, corners = _rows(place / FILES[2], BOX)
        order = np.lexsort((times, ids))
        ids, poses = ids[order], poses[order]
        names, first = np.unique(ids, return_index=True)
        way = np.maximum.reduceat(poses[:, :3], first) - np.minimum.reduceat(poses[:, :3], first)
        box_order = np.lexsort((box_times, boxed))
        own, at = np.unique(boxed[box_order], return_index=True)
        place_of = np.minimum(np.searchsorted(own, names), len(own) - 1)
        known = own[place_of] == names
        still = np.linalg.norm(way, axis=1) <= MOVED_M
        labels = [_label(place, instances, int(number)) for number in names]
        things = np.array([label is not None for label in labels]) & known
        carried = sorted({str(labels[i]) for i in np.flatnonzero(things & ~still)})
        kept = np.flatnonzero(things & still)
        pose, corner = poses[first[kept]], corners[box_order[at[place_of[kept]]]]
        turn = rotations(pose[:, 3:])
        up = _up_axis(place)
        _check_upright(place, turn, up)
        boxes = AnnotatedBoxes(
            labels=[str(labels[i]) for i in kept],
            center=placed(turn, (corner[:, :3] + corner[:, 3:]) / 2, pose[:, :3]),
            size=corner[:, 3:] - corner[:, :3],
            axes=turn.transpose(0, 2, 1),
        )
        remarks = [NO_FILM]
        if carried:
            remarks.append(f"carried over {MOVED_M:g} m during the sequence, and left out: {shown(carried)}")
        return annotated_scene(place, boxes, complete=True, incomplete=carried, remarks=remarks, up=up)


def _rows(path: Path, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Ids (N,), times (N,) and the numbers (N, columns) of a table. Raises RawDataError."""
    header, rows = table_of(path)
    wanted = ("object_uid", "timestamp[ns]", *columns)
    missing = [name for name in wanted if name not in header]
    if missing:
        raise RawDataError(path, "wrong_columns", f"there is no column {', '.join(missing)}", AGAIN)
    if not rows or any(len(row) != len(header) for row in rows):
        raise RawDataError(path, "wrong_columns", f"a row has not {len(header)} entries", AGAIN)
    places = [header.index(name) for name in wanted]
    try:
        keys = np.array([[int(row[i]) for i in places[:2]] for row in rows], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise RawDataError(path, "wrong_type", f"object_uid or time: {error}"[:200], AGAIN) from error
    words = [row[i] for row in rows for i in places[2:]]
    numbers = numbers_from(path, words, len(words), "the table").reshape(len(rows), -1)
    bad = ~(np.abs(numbers) <= POSITION_MAX_M).all(axis=1)
    if bad.any():
        message = f"numbers of object {keys[bad][0, 0]} are not finite, or over {POSITION_MAX_M:g} m"
        raise RawDataError(path, "not_finite", message, AGAIN)
    return keys[:, 0], keys[:, 1], numbers


def _label(place: Path, instances: dict[str, object], number: int) -> str | None:
    """What an instance is called, "object" where its category is vague; None for people."""
    entry = instances.get(str(number))
    if not isinstance(entry, dict) or not isinstance(entry.get("category"), str):
        message = f"there is no category of object {number}"
        raise RawDataError(place / FILES[0], "missing_key", message, AGAIN)
    label = "object" if entry["category"] in VAGUE else str(entry["category"])
    return label if entry.get("instance_type") == "object" else None


def _check_upright(place: Path, turn: FloatArray, up: str) -> None:
    """Objects are modelled with y up, and most stand so: a quaternion in another order turns them upside down."""
    risen = turn[:, "xyz".index(up[-1]), 1] * (-1 if up[0] == "-" else 1)
    if len(risen) and not np.median(risen) >= UPRIGHT_MIN:
        message = f"the objects' own y points up with a cosine of {np.median(risen):.2f} (limit {UPRIGHT_MIN:g})"
        raise RawDataError(place / FILES[1], "another_axis_is_up", message, "are q_wo_w, x, y, z in their columns?")


def _up_axis(place: Path) -> str:
    """The axis against gravity, as the trajectory states it; y where there is none. Raises RawDataError."""
    path = place / TRAJECTORY
    if not path.is_file():
        return "y"
    header, rows = table_of(path)
    if not rows or any(name not in header for name in GRAVITY) or len(rows[0]) != len(header):
        raise RawDataError(path, "wrong_columns", f"there is no {', '.join(GRAVITY)}", AGAIN)
    gravity = numbers_from(path, [rows[0][header.index(name)] for name in GRAVITY], 3, "gravity")
    axis = int(np.abs(np.nan_to_num(gravity)).argmax())
    if not np.abs(gravity[axis]) >= AXIS_MIN * np.linalg.norm(gravity) or not np.isfinite(gravity).all():
        message = f"gravity is {gravity.tolist()}: no axis is up"
        raise RawDataError(path, "another_axis_is_up", message, AGAIN)
    return ("-" if gravity[axis] > 0 else "") + "xyz"[axis]
