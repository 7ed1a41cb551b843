"""An episode as its exam sees it: moments at which questions stand, and what things can be called."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.flags import DOMAIN, SENSORS, flag, modality
from pipeline.benchmarks.embodied4c.kinds import MANIPULATION
from pipeline.benchmarks.embodied4c.resting import about_log
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Rejection
from pipeline.worlds.arm.facts import EpisodeScene
from pipeline.worlds.arm.view import ArmView

STEP_S: Final = 0.5  # between moments


class ArmExam(ArmView):
    """An episode under the exam's rules.

    Attributes:
        moments: indices of the times at which questions stand.
        names: row of a thing -> what it is called, where nothing else is called so.
        flags: what each of its questions carries.
        log_doubts: about the log as a whole.
    """

    domain = MANIPULATION

    def __init__(self, scene: EpisodeScene, rules: ExamRules) -> None:
        super().__init__(scene)
        self.rules = rules
        self.log_doubts = about_log(scene.findings)
        self.flags = [flag(DOMAIN, MANIPULATION), *(flag(SENSORS, camera.name) for camera in self.facts.cameras)]
        self.flags.append(modality(scene.video is not None, self.drawable))
        last = float(self.times_s[-1]) if len(self.times_s) else 0.0
        wanted = np.arange(rules.arm_past_s, last - STEP_S / 2 + 1e-6, STEP_S)
        if len(wanted) > (most := rules.exam_moments_max):
            wanted = wanted[np.arange(1, most + 1) * len(wanted) // most - 1]
        self.moments = sorted({self.index(float(t)) for t in wanted})
        items = self.facts.items
        called = [f"{item.attributes.get('colour', '')} {item.category}".strip() for item in items]
        count = Counter(called)
        self.names = {row: f"the {name}" for row, name in enumerate(called) if count[name] == 1}

    @property
    def obstacle(self) -> Rejection | None:
        """Why nothing can be asked at all."""
        return None if self.moments else Rejection(reason="no_moment", measured=0, limit=1, unit="times")

    @property
    def point(self) -> str:
        """What of the gripper a distance is measured from."""
        return self.facts.gripper.point if self.facts.gripper is not None else "the gripper"

    def away_m(self, row: int, index: int) -> float:
        """From the gripper's point to the middle of a thing."""
        return float(np.linalg.norm(self.item_m[row, index] - self.gripper_m[index]))

    def flat_m(self, row: int, index: int) -> FloatArray:
        """(2,) from the gripper to a thing over the table: ahead and left of the robot."""
        return np.asarray((self.item_m[row, index] - self.gripper_m[index])[:2])
