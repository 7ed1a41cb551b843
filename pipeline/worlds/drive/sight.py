"""What a dataset card says of drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.worlds.drive.facts import DriveScene

UNITS: Final = "drives"
BULKY: Final = ("actors", "lanes", "drivable")  # long facts, which only questions are made from


def sight(scenes: Sequence[DriveScene]) -> list[str]:
    """How far it is known what the pictures show, in lines of Markdown."""
    mapped = sum(bool(scene.facts.lanes) for scene in scenes)
    moved = sum(scene.facts.ego is not None for scene in scenes)
    return [
        f"- Of {len(scenes)} drives {mapped} have a map of lanes, {moved} know how our car moved. What moves around it",
        "  comes from annotated or recorded tracks, not from pictures; sizes that a log does not record are not known.",
    ]
