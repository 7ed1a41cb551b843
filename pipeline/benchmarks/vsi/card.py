"""What VSI-Bench says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card

CARD: Final = Card(
    module=__name__,
    about='Spatial questions about indoor scans, after VSI-Bench ("Thinking in Space"), built with scan2qa.',
    media="`dataset` and `scene_name` name them",
    quirks={"official": "Profile `official` repeats quirks of the released benchmark (docs/audit.md of scan2qa)."},
)
