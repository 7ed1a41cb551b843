"""Where an arm's hand is, by hand and by matrices."""

import numpy as np
import pytest

from pipeline.core.arrays import FloatArray
from pipeline.worlds.arm.readers.rlbench_robot import PANDA, SAWYER, UPRIGHT_UR5, UR5, RatioChain, fit, fit_zero


def motion(count: int = 30) -> FloatArray:
    """Angles (N, 7) in which every joint turns, within the limits."""
    t = np.linspace(0, 1, count)[:, None]
    return np.array([0.1, 0.3, -0.2, -1.8, 0.2, 2.0, 0.6]) + t * np.array([0.5, 0.4, -0.3, 0.7, 0.4, -0.6, 0.5])


@pytest.mark.parametrize(
    ("chain", "hand_m", "axis"),
    [
        # Up to the wrist at 0.333 + 0.316 + 0.384, the hand 0.088 before it and pointing down.
        (PANDA, (0.088, 0.0, 1.033), (0, 0, -1)),
        # Stretched ahead from a shoulder 0.317 high: 0.081 + 0.4 + 0.4 + 0.11, aside by 0.1925 - 0.1685 + 0.1363.
        (SAWYER, (0.991, 0.1603, 0.317), (1, 0, 0)),
        # Stretched back: 0.425 + 0.39225; aside by 0.10915 + 0.0823, the wrist 0.09465 below the shoulder.
        (UR5, (-0.81725, -0.19145, 0.089159 - 0.09465), (0, -1, 0)),
        (UPRIGHT_UR5, (0.0, -0.19145, 0.089159 + 0.425 + 0.39225 + 0.09465), (0, -1, 0)),
    ],
)
def test_arms_at_zero(chain: RatioChain, hand_m: tuple[float, ...], axis: tuple[int, ...]) -> None:
    place, along = chain.hand(np.zeros((1, len(chain.a_m))))
    assert place[0] == pytest.approx(hand_m, abs=1e-9)
    assert along[0] == pytest.approx(axis, abs=1e-9)
    assert chain.tip_m(np.zeros((1, len(chain.a_m))))[0] == pytest.approx(
        np.array(hand_m) + (chain.tool_m or 0.0) * np.array(axis), abs=1e-9
    )


def test_turning_the_first_joint_turns_the_hand_about_the_base() -> None:
    angles = np.array([[0.0, 0.4, 0.0, -2.0, 0.0, 2.2, 0.0], [np.pi / 2, 0.4, 0.0, -2.0, 0.0, 2.2, 0.0]])
    before, after = PANDA.tip_m(angles)
    assert after == pytest.approx([-before[1], before[0], before[2]])


def test_the_base_is_found_where_the_arm_stands() -> None:
    tips = PANDA.tip_m(motion()) + np.array([0.5, -0.2, 0.75])
    found = fit(PANDA, motion(), tips)
    assert found.base_m == pytest.approx([0.5, -0.2, 0.75])
    assert found.off_m < 1e-12


@pytest.mark.parametrize(("joint", "shift"), [(1, 0.06), (3, -0.1), (4, 0.15)])
def test_a_joint_of_another_zero_is_named(joint: int, shift: float) -> None:
    recorded = motion()
    recorded[:, joint] -= shift
    found = fit_zero(PANDA, recorded, PANDA.tip_m(motion()))
    assert found.joint == joint
    assert found.shift == pytest.approx(shift, abs=1e-4)
    assert found.off_m < 2e-4
    assert fit(PANDA, recorded, PANDA.tip_m(motion())).off_m > 10 * found.off_m


def test_the_limits_of_a_panda_are_those_of_its_data_sheet() -> None:
    """Degrees of the joints from the handbook; rates as the control interface allows them, in radians a second."""
    assert np.degrees(PANDA.low) == pytest.approx([-166, -101, -166, -176, -166, -1, -166], abs=0.01)
    assert np.degrees(PANDA.high) == pytest.approx([166, 101, 166, -4, 166, 215, 166], abs=0.01)
    assert PANDA.rate_max == (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
    assert PANDA.reach_m == 0.855
