"""Questions that people wrote, as JSON lines: checked for form, asked at their log, scored like the rest.

One object a line: ``log`` (a scene's id, or its name), ``sub_capability``, ``question``, ``answer``, and where wanted
``accepted`` (other right answers), ``unit`` (then the answer is a number), ``from_s``, ``until_s``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from pipeline.benchmarks.embodied4c.kinds import GEN, SUBS
from pipeline.core.schema import Model

ASKED: Final = frozenset({GEN, *(sub for subs in SUBS.values() for sub in subs)})
Text = Annotated[str, Field(min_length=1, max_length=1000)]


class Written(Model):
    """One question of somebody's own."""

    log: Text
    sub_capability: str
    question: Text
    answer: Text
    accepted: tuple[Text, ...] = ()
    unit: Annotated[str, Field(max_length=20)] | None = Field(
        default=None, description='of a number, "" where it counts; None: the answer is in words'
    )
    from_s: Annotated[FiniteFloat, Field(ge=0)] | None = None
    until_s: Annotated[FiniteFloat, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _has_form(self) -> Written:
        if self.sub_capability not in ASKED:
            raise ValueError(f"sub_capability {self.sub_capability!r} is none of {', '.join(sorted(ASKED))}")
        if self.unit is not None and not _is_number(self.answer):
            raise ValueError(f"the answer {self.answer!r} has the unit {self.unit!r}, but is no number")
        if self.from_s is not None and self.until_s is not None and self.from_s >= self.until_s:
            raise ValueError(f"from_s {self.from_s:g} is not before until_s {self.until_s:g}")
        return self


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def read_written(path: Path) -> list[dict[str, Any]]:
    """The questions of a file. Raises ValueError, naming file and line, also where two are the same."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from error
    found: dict[tuple[str, str, float | None], dict[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            one = Written.model_validate(json.loads(line))
        except (ValidationError, ValueError, RecursionError) as error:
            told = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            raise ValueError(f"{path}, line {number}: {told}") from error
        key = (one.log, one.question, one.until_s)
        if key in found:
            raise ValueError(f"{path}, line {number}: {one.question!r} is asked twice of {one.log}")
        found[key] = one.model_dump(mode="json")
    return list(found.values())
