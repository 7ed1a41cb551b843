"""What is not as usual in an episode of any reader: grippers that jump, joints beyond their limits."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.worlds.arm.facts import EpisodeScene

SPEED_MAX_MPS: Final = 5.0  # ours: twice what the fastest arms reach at the gripper
BEYOND_MAX: Final = 0.01  # radians or metres: encoders and rounded limits


def examine(scene: EpisodeScene) -> tuple[Finding, ...]:
    """Doubts about the gripper, over the stretches in which it jumps, and about joints."""
    return (*_jumps(scene), *_beyond(scene))


def _jumps(scene: EpisodeScene) -> list[Finding]:
    facts = scene.facts
    if facts.gripper is None or facts.gripper.place_m is None:
        return []
    place, times_s = facts.gripper.place_m.array, facts.times_s
    speed = np.sqrt((np.diff(place, axis=0) ** 2).sum(1)) / np.diff(times_s)
    at = np.flatnonzero(speed > SPEED_MAX_MPS)
    if not len(at):
        return []
    fastest = float(speed[at].max())
    message = f"the gripper jumps {len(at)} times, at up to {fastest:.1f} m/s"
    finding = doubt("gripper_jumps", "gripper", message, "record it again", fastest, SPEED_MAX_MPS, "m/s")
    stretches = tuple((float(times_s[n]), float(times_s[n + 1])) for n in at.tolist())
    return [finding.model_copy(update={"stretches": stretches})]


def _beyond(scene: EpisodeScene) -> list[Finding]:
    arm = scene.facts.arm
    found = []
    for joint, position in zip(arm.joints, arm.position.array.T, strict=True) if arm else ():
        if joint.low is None or joint.high is None or np.isnan(position).all():
            continue
        over = max(joint.low - float(np.nanmin(position)), float(np.nanmax(position)) - joint.high)
        if over > BEYOND_MAX:
            message = f"{joint.name} is {over:.3f} {joint.unit} beyond its limits of {joint.low:g} and {joint.high:g}"
            remedy = "are unit and limits those of this robot?"
            found.append(doubt("beyond_limit", joint.name, message, remedy, over, BEYOND_MAX, joint.unit))
    return found
