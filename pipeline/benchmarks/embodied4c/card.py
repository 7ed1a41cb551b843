"""The texts of Embodied4C for the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card
from pipeline.core.templates import load_table

CARD: Final = Card(module=__name__, chosen=frozenset({"answer_too_frequent"}), **load_table("embodied4c/card"))
