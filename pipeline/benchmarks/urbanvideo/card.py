"""What UrbanVideo-Bench says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card
from pipeline.questions.harness import ABOUT, FOLDER

CARD: Final = Card(
    module=__name__,
    about="Questions about drone flights through cities, after UrbanVideo-Bench, built with scan2qa.",
    media="`video_id` names them; below `one/` lie parts of `one.mp4` that end where their questions do",
    parts={
        "maps": "`maps/<id>.png`: the options of a Cognitive Map question, drawn.",
        "legends": "`legends/<id>.png`: where landmarks have their names, what those of a question look like.",
        FOLDER: ABOUT,
    },
)
