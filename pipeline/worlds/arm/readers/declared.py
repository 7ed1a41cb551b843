"""What people declare of a dataset's columns, in ``arm.yaml``: which are joints, in which unit, which the gripper's.

LeRobot's files name columns and give neither units nor meanings. A column is called FEATURE.PART, for example
``observation.state.shoulder_pan.pos``, or FEATURE.0 where its parts have no names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, note
from pipeline.core.packed import pack
from pipeline.core.schema import Model, Name, Vec3
from pipeline.worlds.arm.facts import JOINT_STEP, PLACE_STEP_M, SHARE_STEP, TURN_STEP, Arm, Gripper, Joint, Metres
from pipeline.worlds.arm.readers.series import LARGEST, known, turns_wxyz

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
    def _apart(self) -> OpeningColumn:
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


class Declared(Model):
    """``arm.yaml``."""

    model: Name | None = None
    joints: tuple[JointColumn, ...] = Field(default=(), description="a list of joints, from the base on")
    base_m: Vec3 | None = Field(default=None, description="foot of the arm: x, y, z in metres")
    reach_m: Metres | None = None
    gripper: GripperColumns | None = Field(default=None, description="columns of the gripper")

    def columns(self) -> set[str]:
        """All that it names."""
        names = {joint.column for joint in self.joints}
        if self.gripper is not None:
            names |= {*(self.gripper.place_m or ()), *(self.gripper.turn_xyzw or ())}
            names |= {self.gripper.opening.column} if self.gripper.opening else set()
            names |= {self.gripper.width_m} if self.gripper.width_m else set()
        return names


def declared_arm(said: Declared, columns: Mapping[str, FloatArray], findings: Findings) -> Arm | None:
    """The arm as it is declared; degrees become radians. Columns (N,) by name, all there."""
    if not said.joints:
        return None
    scale = [np.pi / 180 if joint.unit == "deg" else 1.0 for joint in said.joints]
    table = np.stack([columns[joint.column] for joint in said.joints], axis=-1) * scale
    position = known(table, "joints", findings)
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
        for joint, times in zip(said.joints, scale, strict=True)
    )
    return Arm(
        model=said.model,
        joints=joints,
        position=pack(position, JOINT_STEP),
        base_m=said.base_m,
        base_from=None if said.base_m is None else "declared",
        reach_m=said.reach_m,
    )


def undeclared_arm(columns: Mapping[str, FloatArray], findings: Findings) -> Arm | None:
    """The columns of the robot's state as joints of unknown kind and unit."""
    names = [
        name for name in columns if name.startswith(STATE) and np.abs(np.nan_to_num(columns[name])).max() <= LARGEST
    ]
    position = known(np.stack([columns[name] for name in names], axis=-1), "joints", findings) if names else None
    if position is None:
        return None
    message = f"{len(names)} columns of the robot's state, of which nothing says what they are, nor in which unit"
    findings.add(note("undeclared_columns", "arm", message, "declare them in arm.yaml, as docs/arms.md says"))
    joints = tuple(Joint(name=name.removeprefix(STATE)) for name in names)
    return Arm(joints=joints, position=pack(position, JOINT_STEP))


def declared_gripper(said: Declared, columns: Mapping[str, FloatArray], findings: Findings) -> Gripper | None:
    """The gripper as it is declared."""
    if said.gripper is None:
        findings.add(note("no_gripper", "gripper", "no gripper is declared", "declare it in arm.yaml"))
        return None
    own = said.gripper
    place = turn = opening = width = None
    if own.place_m is not None:
        place = known(np.stack([columns[name] for name in own.place_m], axis=-1), "gripper", findings)
    if own.turn_xyzw is not None:
        turn = turns_wxyz(np.stack([columns[name] for name in own.turn_xyzw], axis=-1), findings)
    if own.opening is not None:
        share = (columns[own.opening.column] - own.opening.closed) / (own.opening.open - own.opening.closed)
        with np.errstate(invalid="ignore"):
            within = (share >= -_OVER) & (share <= 1 + _OVER)
        opening = known(np.where(within, share.clip(0, 1), np.nan)[:, None], "gripper", findings)
    if own.width_m is not None:
        width = known(columns[own.width_m][:, None], "gripper", findings)
    return Gripper(
        point=own.point,
        place_m=None if place is None else pack(place, PLACE_STEP_M),
        turn_wxyz=None if turn is None else pack(turn, TURN_STEP),
        opening=None if opening is None else pack(opening, SHARE_STEP),
        opening_kind=None if opening is None else "share",
        width_m=None if width is None else pack(width, PLACE_STEP_M),
        width_max_m=own.width_max_m,
    )
