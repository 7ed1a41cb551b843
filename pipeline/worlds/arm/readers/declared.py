"""Declarations about a dataset: its columns in ``arm.yaml``, the things of an episode in a JSON file beside it.

LeRobot's files name columns and give neither units nor meanings. A column is called FEATURE.PART, for example
``observation.state.shoulder_pan.pos``, or FEATURE.0 where its parts have no names. Things: ``{"complete": true,
"success": null, "things": [{"id": "cube 1", "category": "cube", "attributes": {"colour": "red"}, "role": "target",
"size_m": [x, y, z], "place_m": [[x, y, z], …], "turn_wxyz": [[w, x, y, z], …], "slide": {"unit": "m", "low": 0,
"high": 0.2, "position": [0.0, …]}}]}``: one row for each time, or one for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import QuantizedSeries, pack
from pipeline.core.schema import Model, Name, Vec3
from pipeline.reading.files import SceneFiles
from pipeline.worlds.arm.facts import (
    JOINT_STEP,
    PLACE_STEP_M,
    SHARE_STEP,
    TURN_STEP,
    Arm,
    Gripper,
    Joint,
    Metres,
    SceneItem,
    Slide,
)

UNIT_TOLERANCE: Final = 1e-2  # of a quaternion's length; float32 is off by 1e-7
LARGEST: Final = 1e3  # of joints, places, rates: beyond it are other units, or none
STATE: Final = "observation.state."
POINT: Final = "the point between the finger tips"
_OVER: Final = 0.05  # by how much of its range an opening may be beyond its ends: sensors are


class JointColumn(Model):
    """One joint of the arm."""

    column: Name
    name: Name | None = Field(default=None, description="how questions call it; as the column where it is not given")
    kind: Literal["revolute", "prismatic"] = "revolute"
    unit: Literal["rad", "deg", "m"]
    low: FiniteFloat | None = Field(default=None, description="limit, in the unit")
    high: FiniteFloat | None = None
    rate_max: Annotated[FiniteFloat, Field(gt=0)] | None = Field(default=None, description="units per second")


class OpeningColumn(Model):
    """How far the gripper is open."""

    column: Name
    closed: FiniteFloat = Field(description="its value where the gripper is closed")
    open: FiniteFloat = Field(description="and where it is open")

    @model_validator(mode="after")
    def _check_differ(self) -> OpeningColumn:
        if self.open == self.closed:
            raise ValueError("open and closed are one value")
        return self


class GripperColumns(Model):
    """The gripper."""

    point: Name = POINT
    place_m: tuple[Name, Name, Name] | None = Field(default=None, description="three columns: x, y, z in metres")
    turn_xyzw: tuple[Name, Name, Name, Name] | None = Field(default=None, description="four columns")
    opening: OpeningColumn | None = Field(default=None, description="a column, and its values closed and open")
    width_m: Name | None = None
    width_max_m: Metres | None = None

    @model_validator(mode="after")
    def _in_order(self) -> GripperColumns:
        """Of columns that are called by their axes; a cyclic order is a turn of all axes, any other a mirror."""
        for key, names in (("place_m", self.place_m), ("turn_xyzw", self.turn_xyzw)):
            axes = "".join(name[-1].lower() for name in names or ())
            if sorted(axes[:3]) == ["x", "y", "z"] and axes[:3] not in "xyzxy":
                raise ValueError(f"{key} names columns of {', '.join(axes)}: that is a mirror, not x, y, z")
            if sorted(axes) == ["w", "x", "y", "z"] and axes[3] != "w":
                raise ValueError(f"{key} names columns of {', '.join(axes)}: w comes last")
        return self


class DeclaredFacts(Model):
    """``arm.yaml``."""

    model: Name | None = None
    joints: tuple[JointColumn, ...] = Field(default=(), description="a list of joints, from the base on")
    base_m: Vec3 | None = Field(default=None, description="foot of the arm: x, y, z in metres")
    reach_m: Metres | None = None
    gripper: GripperColumns | None = Field(default=None, description="columns of the gripper")

    def columns(self) -> set[str]:
        """All that it names."""
        return {joint.column for joint in self.joints} | self.of_gripper()

    def of_gripper(self) -> set[str]:
        """All columns of the gripper that it names."""
        own = self.gripper
        if own is None:
            return set()
        single = (own.opening and own.opening.column, own.width_m)
        return {*(own.place_m or ()), *(own.turn_xyzw or ()), *(name for name in single if name)}


def declared_arm(declared: DeclaredFacts, columns: Mapping[str, FloatArray], findings: Findings) -> Arm | None:
    """The arm as it is declared; degrees become radians. Columns (N,) by name, all there."""
    if not declared.joints:
        return None
    scale = [np.pi / 180 if joint.unit == "deg" else 1.0 for joint in declared.joints]
    table = np.stack([columns[joint.column] for joint in declared.joints], axis=-1) * scale
    position = usable_rows(table, "joints", findings)
    if position is None:
        return None
    joints = tuple(
        Joint(
            name=joint.name or joint.column.removeprefix(STATE),
            kind=joint.kind,
            unit="m" if joint.unit == "m" else "rad",
            low=None if joint.low is None else joint.low * times,
            high=None if joint.high is None else joint.high * times,
            rate_max=None if joint.rate_max is None else joint.rate_max * times,
        )
        for joint, times in zip(declared.joints, scale, strict=True)
    )
    return Arm(
        model=declared.model,
        joints=joints,
        position=pack(position, JOINT_STEP),
        base_m=declared.base_m,
        base_from=None if declared.base_m is None else "declared",
        reach_m=declared.reach_m,
    )


def undeclared_arm(columns: Mapping[str, FloatArray], findings: Findings) -> Arm | None:
    """The columns of the robot's state as joints of unknown kind and unit."""
    names = [
        name for name in columns if name.startswith(STATE) and np.abs(np.nan_to_num(columns[name])).max() <= LARGEST
    ]
    position = usable_rows(np.stack([columns[name] for name in names], axis=-1), "joints", findings) if names else None
    if position is None:
        return None
    message = f"{len(names)} columns of the robot's state have neither a stated meaning nor a unit"
    findings.add(note("undeclared_columns", "arm", message, "declare them in arm.yaml (docs/build/robot-arms.md)"))
    joints = tuple(Joint(name=name.removeprefix(STATE)) for name in names)
    return Arm(joints=joints, position=pack(position, JOINT_STEP))


def declared_gripper(declared: DeclaredFacts, columns: Mapping[str, FloatArray], findings: Findings) -> Gripper | None:
    """The gripper as it is declared."""
    if declared.gripper is None:
        findings.add(note("no_gripper", "gripper", "no gripper is declared", "declare it in arm.yaml"))
        return None
    own = declared.gripper
    place = turn = opening = width = None
    if own.place_m is not None:
        place = usable_rows(np.stack([columns[name] for name in own.place_m], axis=-1), "gripper", findings)
    if own.turn_xyzw is not None:
        turn = turns_wxyz(np.stack([columns[name] for name in own.turn_xyzw], axis=-1), findings)
    if own.opening is not None:
        share = (columns[own.opening.column] - own.opening.closed) / (own.opening.open - own.opening.closed)
        with np.errstate(invalid="ignore"):
            within = (share >= -_OVER) & (share <= 1 + _OVER)
        opening = usable_rows(np.where(within, share.clip(0, 1), np.nan)[:, None], "gripper", findings)
    if own.width_m is not None:
        width = usable_rows(columns[own.width_m][:, None], "gripper", findings)
    return Gripper(
        point=own.point,
        place_m=None if place is None else pack(place, PLACE_STEP_M),
        turn_wxyz=None if turn is None else pack(turn, TURN_STEP),
        opening=None if opening is None else pack(opening, SHARE_STEP),
        width_m=None if width is None else pack(width, PLACE_STEP_M),
        width_max_m=own.width_max_m,
    )


def usable_rows(table: FloatArray, key: str, findings: Findings) -> FloatArray | None:
    """A table (N, k) with NaN in rows that hold what cannot be, which it says; None where all do."""
    with np.errstate(invalid="ignore"):
        usable = np.asarray((np.abs(table) <= LARGEST).all(1))
    bad = int((~usable).sum())
    if bad:
        message = f"{key} is missing, not finite or over {LARGEST:g} at {bad} of {len(table)} times"
        findings.add(doubt("unusable_values", key, message, "record it again", bad, 0, "times"))
    return np.where(usable[:, None], table, np.nan) if usable.any() else None


def turns_wxyz(quat_xyzw: FloatArray, findings: Findings) -> FloatArray:
    """Unit quaternions (N, 4), w first and not negative, of those with w last; NaN with a doubt where they are none."""
    length = np.sqrt((quat_xyzw**2).sum(1))
    bad = np.abs(length - 1) > UNIT_TOLERANCE
    if bad.any():
        message = f"{int(bad.sum())} of {len(bad)} quaternions of the gripper are not of length 1"
        findings.add(doubt("unusable_turn", "gripper", message, "record them again", int(bad.sum()), 0, "times"))
    turns = np.where(bad[:, None], np.nan, quat_xyzw[:, [3, 0, 1, 2]] / np.where(bad, 1, length)[:, None])
    return np.asarray(turns * np.where(turns[:, :1] < 0, -1.0, 1.0))


Quaternion = tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]
_SHOWN: Final = 80


class SlideRow(Model):
    """A drawer's, door's or button's own joint."""

    unit: Literal["m", "rad"]
    low: FiniteFloat
    high: FiniteFloat
    position: Annotated[tuple[FiniteFloat, ...], Field(min_length=1)]


class ThingRow(Model):
    """One thing as it stands in the file."""

    id: Name
    category: Name
    attributes: dict[Name, Name] = Field(default_factory=dict)
    role: Name | None = None
    size_m: tuple[Metres, Metres, Metres] | None = None
    place_m: Annotated[tuple[Vec3, ...], Field(min_length=1)] | None = None
    turn_wxyz: Annotated[tuple[Quaternion, ...], Field(min_length=1)] | None = None
    slide: SlideRow | None = None


class DeclaredThings(Model):
    """The file."""

    complete: bool = False
    success: bool | None = None
    things: tuple[ThingRow, ...] = ()


def read_things(
    files: SceneFiles, path: Path, count: int, findings: Findings
) -> tuple[tuple[SceneItem, ...], bool, bool | None]:
    """Items by id, whether they are all, and whether the episode succeeded; of ``count`` times."""
    try:
        document = DeclaredThings.model_validate(files.json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{where} is {str(first['input'])[:_SHOWN]!r}: {first['msg']}"
        raise files.fault(path, "bad_things", message, "follow docs/build/robot-arms.md") from error
    ids = [row.id for row in document.things]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise files.fault(path, "duplicate_thing", f"{', '.join(twice)} given more than once", "keep one")
    rows = sorted(document.things, key=lambda row: row.id)
    return tuple(_item(files, path, row, count, findings) for row in rows), document.complete, document.success


def _item(files: SceneFiles, path: Path, row: ThingRow, count: int, findings: Findings) -> SceneItem:
    def table(values: object, what: str, step: float) -> QuantizedSeries:
        numbers = np.array(values, dtype=np.float64)
        if len(numbers) not in {1, count}:
            message = f"{what} of {row.id} has {len(numbers)} rows, not 1 or {count}, one for each time"
            raise files.fault(path, "wrong_length", message, "give one row for each time, or one for all")
        if np.abs(numbers).max() > LARGEST:
            message = f"{what} of {row.id} is up to {np.abs(numbers).max():g}, over {LARGEST:g}"
            raise files.fault(path, "implausible_value", message, "are these millimetres or degrees?")
        return pack(np.broadcast_to(numbers.reshape(len(numbers), -1), (count, numbers[0].size)), step)

    turns = None if row.turn_wxyz is None else np.array(row.turn_wxyz, dtype=np.float64)
    if turns is not None and _off_unit(turns) > UNIT_TOLERANCE:
        message = f"turn_wxyz of {row.id} is off length 1 by {_off_unit(turns):.3g}"
        findings.add(doubt("unusable_turn", row.id, message, "give quaternions", _off_unit(turns), UNIT_TOLERANCE))
        turns = None
    slide = None
    if row.slide is not None:
        if row.slide.high <= row.slide.low:
            message = f"slide of {row.id} ends at {row.slide.high:g}, not above {row.slide.low:g}, where it begins"
            raise files.fault(path, "bad_things", message, "give low and high")
        position = table(row.slide.position, "slide.position", JOINT_STEP)
        slide = Slide(position=position, unit=row.slide.unit, low=row.slide.low, high=row.slide.high)
    return SceneItem(
        **row.model_dump(exclude={"place_m", "turn_wxyz", "slide"}),
        place_m=None if row.place_m is None else table(row.place_m, "place_m", PLACE_STEP_M),
        turn_wxyz=None if turns is None else table(turns, "turn_wxyz", TURN_STEP),
        slide=slide,
    )


def _off_unit(turns: FloatArray) -> float:
    return float(np.abs(np.sqrt((turns**2).sum(1)) - 1).max())
