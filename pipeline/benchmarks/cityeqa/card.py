"""What CityEQA says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card

CARD: Final = Card(
    module=__name__,
    about="Questions that an agent answers by finding their object in a city, after CityEQA, built with scan2qa.",
    media="`city` names them: poses are metres and degrees in that city's frame, x east, y north, yaw clockwise",
    parts={
        "maps": "`maps/<question_id>.png`: the map about a task with start, landmarks, target and the oracle's way."
    },
)
