"""Flight actions of simulators: what each should move, and how often the positions say that it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.formats.logs.log import Log

MOVE_AGREES_M: Final = 0.5  # a sixth of the smallest move, a quarter of AirVLN's 2 m
TURN_AGREES_DEG: Final = 3.0  # a fifth of the smallest turn
_ROUND: Final = np.array([1, 1, 1, 0])  # decimals at which two motions count as the same


class Action(NamedTuple):
    """What one step does to a drone: metres ahead, to its left and up, degrees counter-clockwise."""

    label: str
    forward_m: float = 0.0
    left_m: float = 0.0
    up_m: float = 0.0
    turn_deg: float = 0.0


# OpenFly's evaluation script. It has no -1 and -2: in the released episodes they are the climb before the first and
# the descent after the last action, 3 m a step (104 of 111 and 105 of 105 steps of the first 40 episodes).
OPENFLY: Final = {
    -2: Action("land, 3 m", up_m=-3.0),
    -1: Action("take off, 3 m", up_m=3.0),
    0: Action("stop"),
    1: Action("forward 3 m", forward_m=3.0),
    2: Action("turn left 30°", turn_deg=30.0),
    3: Action("turn right 30°", turn_deg=-30.0),
    4: Action("up 3 m", up_m=3.0),
    5: Action("down 3 m", up_m=-3.0),
    6: Action("left 3 m", left_m=3.0),
    7: Action("right 3 m", left_m=-3.0),
    8: Action("forward 6 m", forward_m=6.0),
    9: Action("forward 9 m", forward_m=9.0),
}
# AirVLN's simulator.
AERIALVLN: Final = {
    0: Action("stop"),
    1: Action("forward 5 m", forward_m=5.0),
    2: Action("turn left 15°", turn_deg=15.0),
    3: Action("turn right 15°", turn_deg=-15.0),
    4: Action("up 2 m", up_m=2.0),
    5: Action("down 2 m", up_m=-2.0),
    6: Action("left 5 m", left_m=5.0),
    7: Action("right 5 m", left_m=-5.0),
}
_BY_LABEL: Final = {action.label: action for action in (*OPENFLY.values(), *AERIALVLN.values())}


class Agreement(NamedTuple):
    """How the steps of one label moved.

    Attributes:
        label: of the action.
        steps: with this label, and with a sample after them.
        agreeing: of these, steps that moved as the label says; 0 for a label of no known action.
        usual: the motion that was measured most often, to 0.1 m and 1°.
        usual_steps: how often that was.
    """

    label: str
    steps: int
    agreeing: int
    usual: Action
    usual_steps: int


def agreement(logs: Sequence[Log]) -> tuple[Agreement, ...]:
    """Labels against motion, over all logs that have labels, by label."""
    labels, motions = [], []
    for log in logs:
        if log.label is not None and log.enu_m is not None and log.heading is not None:
            labels += log.label[:-1].tolist()
            motions.append(_motion(log.enu_m, log.heading.value))
    if not labels:
        return ()
    motion, label_of = np.concatenate(motions), np.array(labels, dtype=object)
    expected = np.array([_BY_LABEL.get(label, _UNKNOWN)[1:] for label in labels])
    off = np.abs(motion - expected)
    off[:, 3] = np.minimum(off[:, 3], 360.0 - off[:, 3])
    agrees = (off <= (MOVE_AGREES_M, MOVE_AGREES_M, MOVE_AGREES_M, TURN_AGREES_DEG)).all(1)
    found = []
    for label in sorted(set(labels)):
        own = label_of == label
        kinds, counts = np.unique(_rounded(motion[own]), axis=0, return_counts=True)
        most = int(counts.argmax())
        usual = Action(label, *kinds[most].tolist())
        found.append(Agreement(label, int(own.sum()), int(agrees[own].sum()), usual, int(counts[most])))
    return tuple(found)


def _motion(enu_m: FloatArray, heading_deg: FloatArray) -> FloatArray:
    """From each sample to the next (N - 1, 4): metres ahead, left and up as it stood, degrees counter-clockwise."""
    east, north, up = np.diff(enu_m, axis=0).T
    heading = np.radians(heading_deg[:-1])
    ahead = east * np.sin(heading) + north * np.cos(heading)
    left = north * np.sin(heading) - east * np.cos(heading)
    turn = 180.0 - (np.diff(heading_deg) + 180.0) % 360.0  # in (-180, 180]
    return np.stack([ahead, left, up, turn], axis=-1)


def _rounded(motion: FloatArray) -> FloatArray:
    scale = 10.0**_ROUND
    return np.round(motion * scale) / scale + 0.0  # no -0


_UNKNOWN: Final = Action("", np.nan, np.nan, np.nan, np.nan)
