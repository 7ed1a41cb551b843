"""What UrbanVideo-Bench says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card

CARD: Final = Card(
    module=__name__,
    about="Questions about drone flights through cities, after UrbanVideo-Bench, built with scan2qa.",
    media="`video_id` names them, `#t=0,25` is the part (here the first 25 seconds) that a question is about",
    parts={"maps": "`maps/<id>.png`: the options of a Cognitive Map question, drawn."},
)
