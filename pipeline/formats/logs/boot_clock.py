"""Two clocks of one log: that of the ground station, which stamps what it receives, and that of the drone."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding

CLOCKS_APART_S: Final = 2.0  # a radio delays by less
RESTART_S: Final = 1.0  # messages that overtake each other on the radio lie closer


class Clocks(NamedTuple):
    """What two clocks show.

    Attributes:
        begins: (N,) True where the drone was started again.
        apart: (N,) True where the clocks disagree.
        findings: both in words; `clocks_apart` is about the samples ``apart``.
    """

    begins: BoolArray
    apart: BoolArray
    findings: tuple[Finding, ...]


def compared(t_s: FloatArray, boot_ms: FloatArray) -> Clocks:
    """Where the drone was started again, and where its clock disagrees with the ground station's.

    The drone's clock begins at 0 with every start, so each start is looked at by itself, against the smallest
    difference of the two clocks: that of the messages which the radio did not delay.

    Args:
        t_s: (N,) times of the ground station's clock, which is used.
        boot_ms: (N,) milliseconds since the drone was started.
    """
    boot_s = boot_ms / 1e3
    begins = np.concatenate([[False], np.diff(boot_s) < -RESTART_S])
    start = np.cumsum(begins)
    difference = t_s - boot_s
    smallest = np.array([difference[start == number].min() for number in range(start[-1] + 1)])
    off = difference - smallest[start]
    apart = off > CLOCKS_APART_S
    found: list[Finding] = []
    if begins.any():
        message = f"the drone was started again {int(begins.sum())} times; a new part begins at each"
        found.append(note("restarted", "log", message, "none needed: parts are not joined", int(begins.sum()), 0))
    if apart.any():
        message = (
            f"the ground station's clock, which is used, and the drone's are apart by up to {off.max():.2f} s, "
            f"at {int(apart.sum())} of {len(t_s)} positions"
        )
        remedy = "check the offset to the video at both ends of the flight"
        found.append(doubt("clocks_apart", "log", message, remedy, float(off.max()), CLOCKS_APART_S, "s"))
    return Clocks(begins, apart, tuple(found))
