"""Serial arms: where the hand is, from the joints' angles, by Denavit and Hartenberg's parameters (Craig's form)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.templates import load_table


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
    told: dict[str, Any] = {}
    for key, value in entry.items():
        is_deg = key.endswith("_deg")
        values = np.radians(value).tolist() if is_deg else value
        told[key.removesuffix("_deg")] = tuple(values) if isinstance(values, list) else values
    return RatioChain(**told)


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
