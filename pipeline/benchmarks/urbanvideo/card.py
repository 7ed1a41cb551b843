"""What UrbanVideo-Bench says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card
from pipeline.questions.harness import ABOUT, FOLDER

CITATION: Final = """\
@article{zhao2025urbanvideo,
  title = {UrbanVideo-Bench: Benchmarking Vision-Language Models on Embodied Intelligence with Video Data
           in Urban Spaces},
  author = {Zhao, Baining and others},
  journal = {arXiv preprint arXiv:2503.06157},
  year = {2025}
}"""

CARD: Final = Card(
    module=__name__,
    about="Questions about drone flights through cities, after UrbanVideo-Bench, built with scan2qa.",
    media="`video_id` names them; below `one/` lie parts of `one.mp4` that end where their questions do",
    citation=CITATION,
    chosen=frozenset({"answer_too_frequent", "answer_too_rare"}),
    pixels={"legends": "parts of pictures of the videos"},
    terms={"sample_city": "procedural flights, made by scan2qa: none"},
    parts={
        "maps": "`maps/<id>.png`: the options of a Cognitive Map question, drawn.",
        "legends": "`legends/<id>.png`: where landmarks have their names, what those of a question look like.",
        FOLDER: ABOUT,
    },
)
