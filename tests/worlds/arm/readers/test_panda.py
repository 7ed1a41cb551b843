"""Joints and hands of made-up arms: a Panda, one whose fourth joint has another zero, and another arm."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings
from pipeline.geometry.chains import PANDA
from pipeline.worlds.arm.readers.rlbench_robot import OFF_MAX_M, arm_of, placed

ANGLES: FloatArray = np.random.default_rng(5).uniform(-0.5, 0.5, (60, 7)) + np.array([0, 0, 0, -1.5, 0, 1.8, 0])
TIPS = PANDA.tip_m(ANGLES)
FOOT = np.array([-0.3, 0.1, 0.75])


def found(tip_m: FloatArray) -> tuple[str | None, dict[str, float]]:
    """The model that an arm is taken for, and the measured values of findings."""
    findings = Findings()
    arm, position, _ = arm_of([{"joint_positions": row} for row in ANGLES], findings)
    arm = placed(arm, position, tip_m, findings)
    assert arm is not None
    return arm.model, {f.name: f.measured for f in findings.items if f.measured is not None}


def spread_m(off: FloatArray) -> float:
    """How far the worst of some differences is from their mean: the foot is where they put it."""
    return float(np.linalg.norm(off - off.mean(0), axis=1).max())


def test_a_panda_stands_where_its_joints_put_it() -> None:
    assert found(TIPS + FOOT) == (PANDA.model, {})


def test_a_joint_with_another_zero_is_named() -> None:
    turned = ANGLES + np.array([0, 0, 0, 0.0665, 0, 0, 0])
    model, values = found(PANDA.tip_m(turned) + FOOT)
    assert model == PANDA.model
    assert values == {"joint_zero_differs": pytest.approx(spread_m(PANDA.tip_m(turned) - TIPS), abs=1e-6)}
    assert values["joint_zero_differs"] > OFF_MAX_M


def test_an_arm_that_is_a_fifth_longer_is_another() -> None:
    """1.2 times as far from its foot in all that it does."""
    model, values = found(1.2 * TIPS + FOOT)
    assert model is None
    assert values == {"other_arm": pytest.approx(spread_m(0.2 * TIPS), abs=1e-6)}
