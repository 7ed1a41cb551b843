"""Embodied4C."""

from typing import Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.benchmarks.embodied4c.author import ExamAuthor
from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.columns import ASKING, CARD, COLUMNS
from pipeline.benchmarks.embodied4c.drawings import DRAWINGS
from pipeline.benchmarks.embodied4c.rules import PROFILES, ExamRules
from pipeline.benchmarks.embodied4c.score import HARNESS, SCORE
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS, exam
from pipeline.core.video_spec import VideoSpec
from pipeline.worlds.arm.world import ARM
from pipeline.worlds.drive.world import DRIVE
from pipeline.worlds.flight.world import FLIGHT

EMBODIED4C: Final = Benchmark[Exam, ExamRules](
    name="embodied4c",
    title="Embodied4C",
    worlds=(DRIVE, FLIGHT, ARM),
    tasks=tuple(EXAM_TASKS.values()),
    profiles=PROFILES,
    view=exam,
    columns=COLUMNS,
    card=CARD,
    video=VideoSpec(size=(640, 360), bars=False, clips=True, cut_s=0.5, drawn=True),
    author=ExamAuthor(),
    drawings=DRAWINGS,
    score=SCORE,
    harness=HARNESS,
    asking=ASKING,
)
