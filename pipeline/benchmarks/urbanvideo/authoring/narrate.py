"""First step: the flight told in order, from its video or, for models that see none, from the measured facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.observed import Observed
from pipeline.core.schema import Rejection
from pipeline.llm.shown import Shown
from pipeline.questions.asking import Ask, RefusedError, listed, quoted, record, take

MAX_PASSAGES: Final = 60
_SPARE: Final = 2  # passages beyond the movements: before the first and after the last


@dataclass(frozen=True)
class Passage:
    """A stretch of the flight in words."""

    start_s: float
    end_s: float
    text: str


def narrate(facts: Observed, ask: Ask, shown: Shown | None) -> tuple[Passage, ...]:
    """The flight in passages, in order. Raises RefusedError, also where there is neither video nor movement to tell."""
    if shown is None and not facts.segments:
        raise RefusedError(Rejection(reason="narrate_without_facts", measured=0, limit=1, unit="movements"))
    most = min(MAX_PASSAGES, len(facts.segments) + _SPARE if facts.segments else MAX_PASSAGES)
    passage = record(start_s={"type": "number"}, end_s={"type": "number"}, text={"type": "string"})
    answer = take("narrate", ask, record(passages=listed(passage, 1, most)), shown, facts=facts.text(), most=most)
    return tuple(Passage(**p) for p in sorted(answer["passages"], key=lambda p: (p["start_s"], p["end_s"])))


def as_lines(passages: Sequence[Passage]) -> str:
    """A narration as lines for a model."""
    return "\n".join(f"- {p.start_s:.0f} to {p.end_s:.0f} s: {quoted(p.text)}" for p in passages)
