"""Camera poses: which are usable, how they turn, and which way is up in the picture.

Camera axes are OpenCV's (x right, y down, z forward). All functions take whole batches.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray

RIGID_TOLERANCE: Final = 0.02  # largest entry of |R Rᵀ - 1|; float32 poses of the datasets stay below 1e-3
POSITION_MAX_M: Final = 1000.0
STEEP: Final = 0.87  # a camera that looks up or down by more than 60 degrees has no clear up in its picture
# OpenGL and ARKit cameras have y up and look along -z.
OPENCV_FROM_OPENGL: Final = np.diag([1.0, -1.0, -1.0, 1.0])

Turn = Literal[0, 90, 180, 270]
TURNS: Final[tuple[Turn, ...]] = (0, 90, 180, 270)


class Usable(NamedTuple):
    """Which of N poses can be used, and how many cannot, by reason."""

    good: BoolArray
    skipped: dict[str, int]


def check_poses(world_T_camera: FloatArray) -> Usable:
    """Tells rigid poses (N, 4, 4) from the rest: not finite, not rigid, or far outside any building."""
    finite: BoolArray = np.asarray(np.isfinite(world_T_camera).all(axis=(1, 2)))
    safe = np.where(finite[:, None, None], world_T_camera, np.eye(4))
    turn = safe[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(np.einsum("nij,nkj->nik", turn, turn) - np.eye(3)).max(axis=(1, 2))
        mirrored = np.einsum("ni,ni->n", np.cross(turn[:, 0], turn[:, 1]), turn[:, 2]) < 0
        last_row = np.abs(safe[:, 3] - [0, 0, 0, 1]).max(axis=1)
    rigid = (off <= RIGID_TOLERANCE) & ~mirrored & (last_row <= RIGID_TOLERANCE)
    near = np.abs(safe[:, :3, 3]).max(axis=1) <= POSITION_MAX_M
    counts = {
        "pose_not_finite": int((~finite).sum()),
        "pose_not_rigid": int((finite & ~rigid).sum()),
        "pose_far_away": int((finite & rigid & ~near).sum()),
    }
    return Usable(finite & rigid & near, {reason: n for reason, n in counts.items() if n})


def from_axis_angle(axis_angle: FloatArray, translation: FloatArray) -> FloatArray:
    """Transforms (N, 4, 4) from rotation vectors (N, 3), radians, and translations (N, 3)."""
    from scipy.spatial.transform import Rotation  # takes half a second

    pose = np.zeros((len(axis_angle), 4, 4))
    pose[:, :3, :3] = Rotation.from_rotvec(axis_angle).as_matrix() if len(axis_angle) else np.empty((0, 3, 3))
    pose[:, :3, 3] = translation
    pose[:, 3, 3] = 1.0
    return pose


def invert(pose: FloatArray) -> FloatArray:
    """The inverse of rigid transforms (N, 4, 4)."""
    result = np.zeros_like(pose)
    result[:, :3, :3] = pose[:, :3, :3].transpose(0, 2, 1)
    result[:, :3, 3] = -np.einsum("nji,nj->ni", pose[:, :3, :3], pose[:, :3, 3])
    result[:, 3, 3] = 1.0
    return result


def interpolate(pose: FloatArray, first: IntArray, second: IntArray, share: FloatArray) -> FloatArray:
    """Transforms (M, 4, 4) that lie at ``share`` of the way from ``pose[first]`` to ``pose[second]``.

    Positions along the straight line, rotations about the one axis between the two.
    """
    from scipy.spatial.transform import Rotation  # takes half a second

    a, b = pose[first], pose[second]
    step = Rotation.from_matrix(np.einsum("nij,nkj->nik", b[:, :3, :3], a[:, :3, :3])).as_rotvec()
    result = a.copy()
    turn = Rotation.from_rotvec(step * share[:, None]).as_matrix()
    result[:, :3, :3] = np.einsum("nij,njk->nik", turn, a[:, :3, :3])
    result[:, :3, 3] = a[:, :3, 3] + (b[:, :3, 3] - a[:, :3, 3]) * share[:, None]
    return result


def upright_turn(world_T_camera: FloatArray) -> tuple[Turn, float] | None:
    """The clockwise turn in degrees that brings the world's up to the top of most pictures, and the share of these.

    Frames of a camera that looks steeply up or down have no say. None if there are no others.
    """
    up = world_T_camera[:, 2, :3]  # the world's z in camera axes: the third row of world_R_camera
    clear = np.abs(up[:, 2]) < STEEP
    if not clear.any():
        return None
    # 0 at the top of the picture, 90 at its left: there a turn of 90 degrees clockwise brings it to the top.
    left_of_top_deg = np.degrees(np.arctan2(-up[clear, 0], -up[clear, 1]))
    votes = np.bincount(np.round(left_of_top_deg / 90).astype(np.intp) % 4, minlength=4)
    winner = int(votes.argmax())
    return TURNS[winner], float(votes[winner] / votes.sum())
