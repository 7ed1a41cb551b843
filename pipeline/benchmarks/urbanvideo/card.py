"""The texts of UrbanVideo-Bench for the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card
from pipeline.core.templates import load_table
from pipeline.questions.harness import ABOUT, FOLDER

_WORDS: Final = load_table("urbanvideo/card")
CARD: Final = Card(
    module=__name__,
    chosen=frozenset({"answer_too_frequent", "answer_too_rare"}),
    **_WORDS | {"parts": {**_WORDS["parts"], FOLDER: ABOUT}},
)
