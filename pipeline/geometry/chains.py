"""Serial arms: where the hand is, from the joints' angles, by Denavit and Hartenberg's parameters (Craig's form)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pipeline.core.arrays import FloatArray


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


def _degrees(*angles: float) -> tuple[float, ...]:
    return tuple(np.radians(angles).tolist())


# Franka Emika, "Robot and interface specifications"; the flange at 0.107 m, the hand's point at 0.1034 m from there.
PANDA = RatioChain(
    model="Franka Emika Panda",
    a_m=(0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088),
    d_m=(0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.0),
    alpha=_degrees(0, -90, 90, 90, -90, 90, 90),
    tool_m=0.107 + 0.1034,
    low=(-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973),
    high=(2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973),
    rate_max=(2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61),
    reach_m=0.855,
)
# Rethink Robotics, "sawyer_description" (URDF), which has the second joint's zero a quarter turn aside.
SAWYER = RatioChain(
    model="Sawyer",
    a_m=(0.0, 0.081, 0.0, 0.0, 0.0, 0.0, 0.0),
    d_m=(0.317, 0.1925, 0.4, -0.1685, 0.4, 0.1363, 0.11),
    alpha=_degrees(0, -90, -90, 90, -90, 90, -90),
    tool_m=None,
    low=(-3.0503, -3.8095, -3.0426, -3.0439, -2.9761, -2.9761, -4.7124),
    high=(3.0503, 2.2736, 3.0426, 3.0439, 2.9761, 2.9761, 4.7124),
    rate_max=(1.74, 1.328, 1.957, 1.957, 3.485, 3.485, 4.545),
    reach_m=1.26,
    zero=_degrees(0, -90, 0, 0, 0, 0, 0),
)
# Universal Robots, "DH parameters for calculations of kinematics and dynamics" and the UR5's technical specifications.
UR5 = RatioChain(
    model="UR5",
    a_m=(0.0, 0.0, -0.425, -0.39225, 0.0, 0.0),
    d_m=(0.089159, 0.0, 0.0, 0.10915, 0.09465, 0.0823),
    alpha=_degrees(0, 90, 0, 0, 90, -90),
    tool_m=None,
    low=_degrees(*[-360] * 6),
    high=_degrees(*[360] * 6),
    rate_max=_degrees(*[180] * 6),
    reach_m=0.85,
)
# CoppeliaSim's model of it stands upright at zero.
UPRIGHT_UR5 = replace(
    UR5,
    zero=_degrees(0, -90, 0, -90, 0, 0),
    low=_degrees(-360, -270, -360, -270, -360, -360),
    high=_degrees(360, 450, 360, 450, 360, 360),
)
CHAINS = (PANDA, SAWYER, UR5, UPRIGHT_UR5)


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
