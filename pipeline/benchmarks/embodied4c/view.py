"""A log of any embodiment as its tasks see it."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.core.schema import AnyScene


def exam(scene: AnyScene, rules: ExamRules) -> Exam:
    """The view of a scene, by its world."""
    views: dict[str, Callable[[AnyScene, ExamRules], Exam]] = {"drive": DriveExam, "flight": FlightExam, "arm": ArmExam}
    return views[scene.facts.world](scene, rules)
