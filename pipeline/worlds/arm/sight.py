"""What a dataset card says of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.worlds.arm.facts import EpisodeScene

UNITS: Final = "episodes"
BULKY: Final = ("signals",)  # long facts, which only questions are made from


def sight(scenes: Sequence[EpisodeScene]) -> list[str]:
    """How far it is known what the pictures show, in lines of Markdown."""
    placed = sum(any(item.place_m for item in scene.facts.items) for scene in scenes)
    told = sum(bool(scene.facts.instructions) for scene in scenes)
    return [
        f"- Of {len(scenes)} episodes {placed} know where things beside the robot were, {told} have an instruction.",
        "  What the arm did comes from its recorded joints and gripper, not from pictures.",
    ]
