"""What a dataset card says of cities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.worlds.city.facts import CityScene

UNITS: Final = "cities"
BULKY: Final = ("things", "streets")  # long facts, which only questions are made from


def sight(scenes: Sequence[CityScene]) -> list[str]:
    """How far it is known what poses show, in lines of Markdown."""
    return [
        f"- What can be seen from where in the {len(scenes)} cities comes from their maps, not from pictures:",
        "  what a map lacks hides nothing here. A building of unknown height hides all behind it.",
    ]
