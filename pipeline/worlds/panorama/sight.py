"""What a dataset card says of panoramas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.worlds.panorama.facts import PanoramaScene

UNITS: Final = "panoramas"
BULKY: Final = ("objects",)  # long facts, which only questions are made from


def sight(scenes: Sequence[PanoramaScene]) -> list[str]:
    """How far it is known what the pictures show, in lines of Markdown."""
    deep = sum(scene.facts.depth is not None for scene in scenes)
    headed = sum(scene.facts.heading_deg is not None for scene in scenes)
    placed = sum(scene.facts.position is not None for scene in scenes)
    return [
        f"- Of {len(scenes)} panoramas {placed} have a position, {headed} a heading and {deep} measured depth.",
        "  What is said of objects rests on what people or depth say; faces and number plates were not looked for.",
    ]
