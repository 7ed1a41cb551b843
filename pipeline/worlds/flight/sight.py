"""What a dataset card says of flights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.worlds.flight.facts import FlightScene

UNITS: Final = "flights"
BULKY: Final = ("motion",)  # long facts, which only questions are made from


def sight(scenes: Sequence[FlightScene]) -> list[str]:
    """How far it is known what the videos show, in lines of Markdown."""
    return [
        f"- What the {len(scenes)} flights do and see comes from their logs and maps, not from their pictures. Where",
        "  these do not tell what is in view, questions carry the remark `sight_unknown`. What a model wrote",
        "  carries `model_assisted`; where it looked at landmarks in pictures of the video, `look_from_pictures`.",
    ]
