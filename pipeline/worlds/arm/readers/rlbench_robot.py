"""The robot and the cameras of an RLBench demonstration; the arm is held against what makers state of theirs.

CoppeliaSim's cameras look along z with x to the left and y up, and have focal lengths below 0; here they have OpenCV's
axes.

Serial arms: where the hand is follows from the joints' angles, by Denavit and Hartenberg's parameters (Craig's form).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.core.templates import load_table
from pipeline.formats.images import size_of
from pipeline.worlds.arm.facts import EFFORT_STEP, JOINT_STEP, RATE_STEP, Arm, ArmCamera, Joint
from pipeline.worlds.arm.readers.declared import usable_rows

OFF_MAX_M: Final = 0.01  # ours: between the gripper as recorded and where the joints put it
SURE_M: Final = 0.002  # ours: what fits so well needs no other zero
WIDEST: Final = 256  # numbers of one value: a picture is no row of joints
MOVED_M: Final = 0.1  # a hand that hardly moves fits any arm


def stacked(rows: Sequence[Mapping[str, Any]], key: str, findings: Findings) -> FloatArray | None:
    """The values of a key at all times, (N, k), NaN where there is none or one of another shape; None: at no time.

    What is not finite or beyond `LARGEST` is in doubt and becomes NaN too.
    """
    values = [as_numbers(row.get(key)) for row in rows]
    widths = [len(value) for value in values if value is not None]
    if not widths:
        return None
    width = max(set(widths), key=widths.count)
    table = np.full((len(rows), width), np.nan)
    for at, value in enumerate(values):
        if value is not None and len(value) == width:
            table[at] = value
    return usable_rows(table, key, findings)


def as_numbers(value: Any) -> FloatArray | None:
    """A number or an array of numbers as (k,); None for all else."""
    if isinstance(value, bool | int | float | np.ndarray):
        numbers = np.asarray(value, dtype=np.float64).ravel()
        return numbers if 0 < numbers.size <= WIDEST else None
    return None


class RecordedArm(NamedTuple):
    """An arm, and the positions and rates (N, J) of its joints before they are packed; None: no rates are recorded."""

    arm: Arm
    position: FloatArray
    velocity: FloatArray | None


def arm_of(rows: Sequence[Mapping[str, Any]], findings: Findings) -> RecordedArm | None:
    """Joints by number; None, with a note, where none are recorded."""
    position = stacked(rows, "joint_positions", findings)
    if position is None:
        findings.add(note("no_joints", "arm", "no joints are recorded", "record joint_positions"))
        return None
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
    return RecordedArm(arm, position, velocity)


def placed(arm: Arm, position: FloatArray, tip_m: FloatArray | None, findings: Findings) -> Arm:
    """The arm with model, limits, reach and foot of that of `CHAINS` whose joints put the hand where it was.

    The published parameters end between the finger tips. Where a joint's zero is another one in the simulator's model
    of the arm, that is a doubt about the joint, which then has no limits: those are published for the other zero.
    """
    chains = [chain for chain in CHAINS if position.shape[1] == len(chain.a_m)]
    if tip_m is None or not chains:
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
    miscs = [row["misc"] if isinstance(row.get("misc"), dict) else {} for row in rows]
    found = []
    for name in CAMERAS:
        poses = [_matrix(misc.get(f"{name}_camera_extrinsics"), (4, 4)) for misc in miscs]
        sound = [pose for pose in poses if pose is not None and _is_rotation(pose[:3, :3])]
        lens = _matrix(miscs[0].get(f"{name}_camera_intrinsics"), (3, 3))
        if lens is not None and not np.diag(lens)[:2].all():
            lens = None
        pictures = folder / f"{name}_rgb"
        size = size_of(pictures / "0.png") if (pictures / "0.png").is_file() else None
        if not sound and size is None:
            continue
        places = np.array([pose[:3, 3] for pose in sound])
        rotation = None if not sound else sound[0][:3, :3] @ _FLIP
        found.append(
            ArmCamera(
                name=name,
                width=size[0] if size else None,
                height=size[1] if size else None,
                focal_px=None if lens is None else (abs(float(lens[0, 0])), abs(float(lens[1, 1]))),
                centre_px=None if lens is None else (float(lens[0, 2]), float(lens[1, 2])),
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
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.abs(matrix @ matrix.T - np.eye(3)).max() < _UNIT and np.linalg.det(matrix) > 0)


@dataclass(frozen=True)
class RatioChain:
    """An arm of revolute joints, as its maker states it.

    Attributes:
        model: maker and type.
        a_m, d_m, alpha: (J,) of each joint, metres and radians (Craig, "Introduction to Robotics", 3.4).
        tool_m: from the last joint's frame along its z to the point between the finger tips; None: not known, fitted.
        low, high: (J,) limits of the angles, radians.
        rate_max: (J,) radians per second.
        reach_m: as its maker states it.
        zero: (J,) added to angles as the log has them; (): nothing.
    """

    model: str
    a_m: tuple[float, ...]
    d_m: tuple[float, ...]
    alpha: tuple[float, ...]
    tool_m: float | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    rate_max: tuple[float, ...]
    reach_m: float
    zero: tuple[float, ...] = ()

    def hand(self, angles: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Places of the last joint's frame (..., 3) from the base, and its z, of angles (..., J) in radians."""
        angles = angles + np.array(self.zero) if self.zero else angles
        rotation = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3))
        place = np.zeros((*angles.shape[:-1], 3))
        for joint, (a, d, alpha) in enumerate(zip(self.a_m, self.d_m, self.alpha, strict=True)):
            cos, sin = np.cos(angles[..., joint]), np.sin(angles[..., joint])
            ca, sa = np.cos(alpha), np.sin(alpha)
            place = place + rotation[..., 0] * a + (rotation[..., 2] * ca - rotation[..., 1] * sa) * d
            y, z = rotation[..., 1] * ca + rotation[..., 2] * sa, rotation[..., 2] * ca - rotation[..., 1] * sa
            x = rotation[..., 0]
            rotation = np.stack(
                [x * cos[..., None] + y * sin[..., None], y * cos[..., None] - x * sin[..., None], z], -1
            )
        return np.asarray(place), np.asarray(rotation[..., 2])

    def tip_m(self, angles: FloatArray) -> FloatArray:
        """Points between the finger tips (..., 3) from the base, of angles (..., J) in radians."""
        place, axis = self.hand(angles)
        return np.asarray(place + axis * (self.tool_m or 0.0))


def _chain(entry: Mapping[str, Any]) -> RatioChain:
    """A chain of the table: what stands under keys that end in ``_deg`` is in degrees."""
    record: dict[str, Any] = {}
    for key, value in entry.items():
        is_deg = key.endswith("_deg")
        values = np.radians(value).tolist() if is_deg else value
        record[key.removesuffix("_deg")] = tuple(values) if isinstance(values, list) else values
    return RatioChain(**record)


# The last is the one before it as CoppeliaSim has it.
PANDA, SAWYER, UR5, UPRIGHT_UR5 = CHAINS = tuple(map(_chain, load_table("arm/chains")))


@dataclass(frozen=True)
class ChainFit:
    """How an arm's angles go with where its hand was.

    Attributes:
        base_m: (3,) the base, were it not turned.
        off_m: the largest distance between the hand and where the angles put it.
        joint: by index the joint whose zero was moved; None: none was.
        shift: by how much, radians.
    """

    base_m: FloatArray
    off_m: float
    joint: int | None = None
    shift: float = 0.0


_SHIFTS = np.radians(np.arange(-20, 20.1, 0.5))  # of a joint's zero: models of simulators are off by a few degrees


TOOL_MAX_M = 0.4  # from the last joint to the finger tips
_LEAST = 1e-6  # of the spread of the hand's axes: who never turns it does not tell how long it is
_ROUNDS = 3  # each ten times as fine: to 0.005 degrees


def fit(chain: RatioChain, angles: FloatArray, tip_m: FloatArray) -> ChainFit:
    """The base from angles (N, J) and the tips' places (N, 3) in a frame whose z and x are the base's."""
    base, off_m = _based(chain, angles, tip_m)
    return ChainFit(base, float(off_m))


def _based(chain: RatioChain, angles: FloatArray, tip_m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The bases (..., 3) of angles (..., N, J), by least squares with the tool where that is not known; largest off."""
    place, axis = chain.hand(angles)
    off = tip_m - place
    if chain.tool_m is None:
        spread = axis - axis.mean(-2, keepdims=True)
        tool = (off * spread).sum((-2, -1)) / np.maximum((spread**2).sum((-2, -1)), _LEAST)
        off = off - axis * np.clip(tool, 0.0, TOOL_MAX_M)[..., None, None]
    else:
        off = off - axis * chain.tool_m
    base = off.mean(-2)
    return base, np.sqrt(((off - base[..., None, :]) ** 2).sum(-1)).max(-1)


def fit_zero(chain: RatioChain, angles: FloatArray, tip_m: FloatArray) -> ChainFit:
    """As `fit`, with that joint's zero moved which brings the hand nearest."""
    best = fit(chain, angles, tip_m)
    for joint in range(angles.shape[1]):
        shifts = _SHIFTS
        for _ in range(_ROUNDS):
            turned = np.broadcast_to(angles, (len(shifts), *angles.shape)).copy()
            turned[..., joint] += shifts[:, None]
            base, largest = _based(chain, turned, tip_m)
            at = int(largest.argmin())
            if largest[at] < best.off_m:
                best = ChainFit(base[at], float(largest[at]), joint, float(shifts[at]))
            shifts = shifts[at] + (shifts[1] - shifts[0]) / 10 * np.arange(-10, 11)
    return best
