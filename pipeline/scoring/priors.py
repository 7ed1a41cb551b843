"""What guessing without the scene earns, from the blind table of a release."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from pipeline.blind.text_only import TextOnly
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.questions.published import Published

_TABLE = TypeAdapter(list[TextOnly])


def best_priors(file: Path, split_is_debiased: bool) -> dict[str, float]:
    """Task -> what the best attacker earns on the split. Raises ConfigError for a file that is no such table."""
    try:
        rows = _TABLE.validate_python(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        told = " ".join(str(error).split())[:200]
        raise ConfigError(f"{file}: cannot be read as a blind table: {told}; build the release again") from error
    splits = {row.task: row.debiased if split_is_debiased else row.released for row in rows}
    return {task: max(found.earned.values()) for task, found in splits.items() if found and found.earned}


def per_question(priors: dict[str, float], questions: Sequence[Published]) -> FloatArray:
    """What guessing earns on each question (n,), the mean of its task; NaN where that is not known."""
    return np.array([priors.get(question.question_type, np.nan) for question in questions])
