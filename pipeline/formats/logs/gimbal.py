"""Which frame a gimbal's pitch is reported in: against the horizon, or against the drone's body.

MAVLink's MOUNT_STATUS does not say. ArduPilot's servo mounts report the angle between body and camera: a camera that
is held level then seems to pitch up whenever the body pitches down. So the two are compared while the body pitches.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Series

OPPOSED: Final = -0.9  # correlation with the body's pitch from which the angle is one against the body
SLOPE: Final = (-1.3, -0.7)  # degrees per degree of the body's pitch, likewise
BODY_MOVES_DEG: Final = 1.0  # standard deviation of the body's pitch; less shows nothing
BODY_LEVEL_DEG: Final = 5.0  # as far as the body pitches the two frames differ: less is below every margin
LEVEL_SHARE: Final = 0.95  # of the samples that keep within it
ENOUGH: Final = 20  # samples


class Gimbal(NamedTuple):
    """Pitch of the camera against the horizon, degrees, and what was found out about its frame."""

    pitch: Series
    findings: tuple[Finding, ...]


def against_horizon(t_s: FloatArray, angle_deg: FloatArray, body_t_s: FloatArray, body_deg: FloatArray) -> Gimbal:
    """The pitch of the camera against the horizon, from an angle in a frame that the log does not name.

    Where the angle opposes the pitch of the body, the body's pitch is added to it. Where it does not, but the body
    pitches so far that the frame matters, the angles are left out (NaN) and a doubt says so.

    Args:
        t_s: (M,) times of the angles.
        angle_deg: (M,) as logged, up positive; NaN where unknown.
        body_t_s: (K,) times of the body's pitch, on the same clock; may be empty.
        body_deg: (K,) pitch of the body, degrees, nose up positive.
    """
    as_logged, unknown = Series(t_s, angle_deg), Series(t_s, np.full(len(t_s), np.nan))
    known = np.isfinite(body_deg) & np.isfinite(body_t_s)
    order = np.argsort(body_t_s[known], kind="stable")
    if not known.any():
        message = "the log has no attitude, and does not say whether its gimbal angle is one against the horizon"
        return Gimbal(unknown, (_frame_doubt(message, None, None, None),))
    body = np.interp(t_s, body_t_s[known][order], body_deg[known][order])
    both = np.isfinite(angle_deg) & np.isfinite(t_s)
    reach_deg = float(np.quantile(np.abs(body[both]), LEVEL_SHARE)) if both.any() else 0.0
    if reach_deg <= BODY_LEVEL_DEG:
        return Gimbal(as_logged, ())
    correlation, slope = _fit(body[both], angle_deg[both])
    if correlation <= OPPOSED and SLOPE[0] <= slope <= SLOPE[1]:
        message = (
            f"the gimbal's angle opposes the body's pitch (correlation {correlation:.3f}): it is one against the body, "
            "and the body's pitch was added to it"
        )
        return Gimbal(
            Series(t_s, angle_deg + body),
            (note("gimbal_in_body", "log", message, "none needed", correlation, OPPOSED),),
        )
    message = (
        f"the body pitches by {reach_deg:.0f}° and the gimbal's angle does not show whether it is one against the "
        f"body or the horizon (correlation {correlation:.3f})"
    )
    return Gimbal(unknown, (_frame_doubt(message, reach_deg, BODY_LEVEL_DEG, "deg"),))


def _frame_doubt(message: str, measured: float | None, limit: float | None, unit: str | None) -> Finding:
    remedy = "log GIMBAL_DEVICE_ATTITUDE_STATUS, or give the pitch of a fixed camera in flight.yaml"
    return doubt("gimbal_frame", "log", message, remedy, measured, limit, unit)


def _fit(body_deg: FloatArray, angle_deg: FloatArray) -> tuple[float, float]:
    """Correlation of two angles (M,), and the slope of the second on the first; 0 where they show none."""
    spread = float(np.std(body_deg))
    if len(body_deg) < ENOUGH or spread < BODY_MOVES_DEG or float(np.std(angle_deg)) == 0.0:
        return 0.0, 0.0
    shared = float(np.mean((body_deg - body_deg.mean()) * (angle_deg - angle_deg.mean())))
    return round(shared / (spread * float(np.std(angle_deg))), 6), shared / spread**2
