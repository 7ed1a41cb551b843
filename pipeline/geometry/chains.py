"""Serial arms: where the hand is, from the joints' angles, by Denavit and Hartenberg's parameters (Craig's form)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.core.arrays import FloatArray


@dataclass(frozen=True)
class RatioChain:
    """An arm of revolute joints, as its maker states it.

    Attributes:
        model: maker and type.
        a_m, d_m, alpha: (J,) of each joint, metres and radians (Craig, "Introduction to Robotics", 3.4).
        tool_m: from the last joint's frame along its z to the point between the finger tips.
        low, high: (J,) limits of the angles, radians.
        rate_max: (J,) radians per second.
        reach_m: as its maker states it.
    """

    model: str
    a_m: tuple[float, ...]
    d_m: tuple[float, ...]
    alpha: tuple[float, ...]
    tool_m: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    rate_max: tuple[float, ...]
    reach_m: float

    def tip_m(self, angles: FloatArray) -> FloatArray:
        """Points between the finger tips (..., 3) from the base, of angles (..., J) in radians."""
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
        return np.asarray(place + rotation[..., 2] * self.tool_m)


# Franka Emika, "Robot and interface specifications"; the flange at 0.107 m, the hand's point at 0.1034 m from there.
PANDA = RatioChain(
    model="Franka Emika Panda",
    a_m=(0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088),
    d_m=(0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.0),
    alpha=tuple(np.radians([0, -90, 90, 90, -90, 90, 90]).tolist()),
    tool_m=0.107 + 0.1034,
    low=(-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973),
    high=(2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973),
    rate_max=(2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61),
    reach_m=0.855,
)


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


_ROUNDS = 3  # each ten times as fine: to 0.005 degrees


def fit(chain: RatioChain, angles: FloatArray, tip_m: FloatArray) -> ChainFit:
    """The base from angles (N, J) and the tips' places (N, 3) in a frame whose z and x are the base's."""
    off = tip_m - chain.tip_m(angles)
    base = off.mean(0)
    return ChainFit(base, _largest(off - base))


def fit_zero(chain: RatioChain, angles: FloatArray, tip_m: FloatArray) -> ChainFit:
    """As `fit`, with that joint's zero moved which brings the hand nearest."""
    best = fit(chain, angles, tip_m)
    for joint in range(angles.shape[1]):
        shifts = _SHIFTS
        for _ in range(_ROUNDS):
            turned = np.broadcast_to(angles, (len(shifts), *angles.shape)).copy()
            turned[..., joint] += shifts[:, None]
            off = tip_m - chain.tip_m(turned)
            base = off.mean(1)
            largest = np.sqrt(((off - base[:, None]) ** 2).sum(-1)).max(1)
            at = int(largest.argmin())
            if largest[at] < best.off_m:
                best = ChainFit(base[at], float(largest[at]), joint, float(shifts[at]))
            shifts = shifts[at] + (shifts[1] - shifts[0]) / 10 * np.arange(-10, 11)
    return best


def _largest(off: FloatArray) -> float:
    return float(np.sqrt((off**2).sum(-1)).max())
