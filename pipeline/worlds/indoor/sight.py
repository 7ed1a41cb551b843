"""What a dataset card says of scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.worlds.indoor.facts import IndoorScene

UNITS: Final = "scans"
# Long facts, which only questions are made from.
BULKY: Final = ("objects", "routes", "room.floor", "observation.camera_path", "observation.cameras")


def sight(scenes: Sequence[IndoorScene]) -> list[str]:
    """How far it is known what the videos show, in lines of Markdown."""
    examined = sum(scene.facts.observation is not None for scene in scenes)
    if examined == len(scenes):
        return [f"- The videos of all {examined} scans were examined for what they show."]
    return [
        f"- The video of {examined} of {len(scenes)} scans was examined for what it shows; in the others answers",
        "  come from annotated boxes alone, whether the video shows them or not.",
    ]
