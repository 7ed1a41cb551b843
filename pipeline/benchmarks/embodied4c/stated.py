"""Questions about what is stated of a log (`ExamRules.conditions`): materials (M/P) and the environment (E/E).

No log tells them, and only a film shows them: of one that is drawn from a log they are not asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.benchmarks.embodied4c.case import Exam, ExamCase, choose, pose, stated_of


def surface(view: Exam) -> Iterator[ExamCase]:
    """M/P: what the ground that we drive on, or fly over, is made of."""
    yield from _stated(view, "mp_surface", stated_of(view.scene, view.rules).surface)


def environment(view: Exam) -> Iterator[ExamCase]:
    """E/E: whether the ground is wet, and how strong the wind is."""
    told = stated_of(view.scene, view.rules)
    yield from _stated(view, "ee_wet", None if told.wet is None else "wet" if told.wet else "dry")
    yield from _stated(view, "ee_wind", told.wind)


def _stated(view: Exam, kind: str, answer: str | None) -> Iterator[ExamCase]:
    """One question at the last moment: it holds all along."""
    if answer is not None and len(view.asked_s):
        yield choose(pose(view, kind, float(view.asked_s[-1]), (), {}), answer)
