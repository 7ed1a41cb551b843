"""The robot and the cameras of an RLBench demonstration; the arm is held against what makers state of theirs.

CoppeliaSim's cameras look along z with x to the left and y up, and have focal lengths below 0; here they have OpenCV's
axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.formats.images import size_of
from pipeline.geometry.chains import CHAINS, fit, fit_zero
from pipeline.worlds.arm.facts import EFFORT_STEP, JOINT_STEP, RATE_STEP, Arm, ArmCamera, Joint
from pipeline.worlds.arm.readers.series import stacked

OFF_MAX_M: Final = 0.01  # ours: between the gripper as recorded and where the joints put it
SURE_M: Final = 0.002  # ours: what fits so well needs no other zero
MOVED_M: Final = 0.1  # a hand that hardly moves fits any arm


def arm_of(
    rows: Sequence[Mapping[str, Any]], findings: Findings
) -> tuple[Arm | None, FloatArray | None, FloatArray | None]:
    """Joints by number, and their positions and rates (N, J); None where they are not recorded."""
    position = stacked(rows, "joint_positions", findings)
    if position is None:
        findings.add(note("no_joints", "arm", "no joints are recorded", "record joint_positions"))
        return None, None, None
    tables = (stacked(rows, f"joint_{word}", findings) for word in ("velocities", "forces"))
    velocity, effort = (None if table is None or table.shape != position.shape else table for table in tables)
    joints = tuple(
        Joint(name=f"joint {number}", kind="revolute", unit="rad") for number in range(1, position.shape[1] + 1)
    )
    arm = Arm(
        joints=joints,
        position=pack(position, JOINT_STEP),
        velocity=None if velocity is None else pack(velocity, RATE_STEP),
        effort=None if effort is None else pack(effort, EFFORT_STEP),
    )
    return arm, position, velocity


def placed(arm: Arm | None, position: FloatArray | None, tip_m: FloatArray | None, findings: Findings) -> Arm | None:
    """The arm with model, limits, reach and foot of that of `CHAINS` whose joints put the hand where it was.

    The published parameters end between the finger tips. Where a joint's zero is another one in the simulator's model
    of the arm, that is a doubt about the joint, which then has no limits: those are published for the other zero.
    """
    chains = [chain for chain in CHAINS if position is not None and position.shape[1] == len(chain.a_m)]
    if arm is None or position is None or tip_m is None or not chains:
        return arm
    both = ~(np.isnan(position).any(1) | np.isnan(tip_m).any(1))
    if not both.any() or float(np.ptp(tip_m[both], axis=0).max()) < MOVED_M:
        return arm
    plain = [fit(chain, position[both], tip_m[both]) for chain in chains]
    best = min(range(len(chains)), key=lambda n: plain[n].off_m)
    found = plain[best]
    if found.off_m > SURE_M:  # a wrong arm that fits somewhat must not go before the right one with another zero
        zeros = [fit_zero(chain, position[both], tip_m[both]) for chain in chains]
        best = min(range(len(chains)), key=lambda n: zeros[n].off_m)
        found = plain[best] if plain[best].off_m <= OFF_MAX_M else zeros[best]
    chain, straight_m, which = chains[best], plain[best].off_m, found.joint
    if found.off_m > OFF_MAX_M:
        message = f"the joints of a {chain.model} would put the gripper {straight_m:.3f} m beside where it was"
        remedy = "nothing is to be done where this is another arm: its limits and reach are not known"
        findings.add(note("other_arm", "arm", message, remedy, straight_m, OFF_MAX_M, "m"))
        return arm
    if which is not None:
        message = (
            f"forward kinematics of a {chain.model} puts the gripper up to {straight_m:.4f} m beside where it was; "
            f"with {np.degrees(found.shift):.2f} degrees added to joint {which + 1}, {found.off_m:.4f} m: its zero is "
            "not the published one"
        )
        remedy = "no action needed: angles of this joint are kept as recorded and checked against no limit"
        findings.add(doubt("joint_zero_differs", f"joint {which + 1}", message, remedy, straight_m, OFF_MAX_M, "m"))
    joints = tuple(
        joint if number == which else joint.model_copy(update={"low": low, "high": high, "rate_max": rate})
        for number, (joint, low, high, rate) in enumerate(
            zip(arm.joints, chain.low, chain.high, chain.rate_max, strict=True)
        )
    )
    x, y, z = found.base_m.round(4).tolist()
    return arm.model_copy(
        update={
            "model": chain.model,
            "joints": joints,
            "base_m": (x, y, z),
            "base_from": "forward kinematics",
            "reach_m": chain.reach_m,
        }
    )


CAMERAS: Final = ("front", "overhead", "left_shoulder", "right_shoulder", "wrist")
_STILL_M: Final = 1e-4
_UNIT: Final = 1e-3
_FLIP: Final = np.diag([-1.0, -1.0, 1.0])


def cameras_of(rows: Sequence[Mapping[str, Any]], folder: Path) -> tuple[ArmCamera, ...]:
    """Those of which the log knows the pose or has pictures."""
    told = [row["misc"] if isinstance(row.get("misc"), dict) else {} for row in rows]
    found = []
    for name in CAMERAS:
        poses = [_matrix(misc.get(f"{name}_camera_extrinsics"), (4, 4)) for misc in told]
        sound = [pose for pose in poses if pose is not None and _is_rotation(pose[:3, :3])]
        lens = _matrix(told[0].get(f"{name}_camera_intrinsics"), (3, 3)) if told else None
        pictures = folder / f"{name}_rgb"
        size = size_of(pictures / "0.png") if (pictures / "0.png").is_file() else None
        if not sound and size is None:
            continue
        places = np.array([pose[:3, 3] for pose in sound])
        rotation = None if not sound else sound[0][:3, :3] @ _FLIP
        pinhole = lens is not None and lens[0, 0] != 0 and lens[1, 1] != 0
        found.append(
            ArmCamera(
                name=name,
                width=size[0] if size else None,
                height=size[1] if size else None,
                focal_px=(abs(float(lens[0, 0])), abs(float(lens[1, 1]))) if lens is not None and pinhole else None,
                centre_px=(float(lens[0, 2]), float(lens[1, 2])) if lens is not None and pinhole else None,
                place_m=tuple(places[0].tolist()) if sound else None,
                world_from_camera=None if rotation is None else (rotation + 0.0).tolist(),  # no -0.0
                moves=bool((np.ptp(places, axis=0) > _STILL_M).any()) if sound else None,
                pictures=size is not None,
            )
        )
    return tuple(found)


def _matrix(value: Any, shape: tuple[int, int]) -> FloatArray | None:
    if not isinstance(value, np.ndarray) or value.shape != shape or not np.isfinite(value).all():
        return None
    return value.astype(np.float64)


def _is_rotation(matrix: FloatArray) -> bool:
    return bool(np.abs(matrix).max() < 2 and np.abs(matrix @ matrix.T - np.eye(3)).max() < _UNIT)
