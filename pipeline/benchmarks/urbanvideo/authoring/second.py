"""Fifth step: a second model answers what was written, with the video and without it, and examines it with the video.

What it gets wrong with the video goes; so does what it finds several right options in, and what it says does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.compose import WrittenItem
from pipeline.benchmarks.urbanvideo.authoring.step import (
    PROMPTS,
    SECOND,
    SECOND_ALL,
    Ask,
    listed,
    record,
    reply_to,
    take,
)
from pipeline.core.identity import rng_for
from pipeline.llm.base import Request, user
from pipeline.llm.prompts import load_prompt
from pipeline.llm.shown import Shown
from pipeline.metrics.letters import find_letter
from pipeline.questions.rules import Measure, rule

LETTERS: Final = "ABCDEFGH"


@dataclass(frozen=True)
class Second:
    """The second model, through its cache, and the flight as it is shown it; None: it sees nothing."""

    ask: Ask
    shown: Shown | None


def answered(item: WrittenItem, purpose: str, second: Second) -> tuple[Measure, ...]:
    """Whether the second model answers right: without the video, which is told only, and with it, which must hold.

    Of what it has right with the video it is asked for all that may be called right, and whether the question holds.

    Args:
        item: what passed all checks.
        purpose: what the order of its options is drawn for.
        second: the model. One that is shown nothing is asked without the video alone, and nothing must hold.

    Raises:
        RefusedError: `second_<kind of failure>`, `second_all_<kind of failure>`.
    """
    options = (item.answer, *item.wrong)
    order = rng_for(purpose, item.question, "second").permutation(len(options)).tolist()
    lines = [f"{LETTERS[place]}. {options[n]}" for place, n in enumerate(order)]
    right = LETTERS[order.index(0)]

    def is_right(shown: Shown | None) -> int:
        prompt = load_prompt(PROMPTS[SECOND])
        text = prompt.render(shown=shown, text=item.question, options=lines, letters=list(LETTERS[: len(lines)]))
        request = Request((user(text, *(shown.parts if shown else ())),), prompt=prompt.version)
        read = find_letter(reply_to(SECOND, second.ask, request), len(lines), [options[n] for n in order])
        return int(read.value == right)

    blind = Measure("second_model_without_video", is_right(None), "right answers", item.answer)
    if second.shown is None:
        return (blind,)
    agrees = rule("second_model_disagrees", is_right(second.shown), ">=", 1, "right answers")
    if not agrees.holds:
        return (blind, agrees)
    offered = list(LETTERS[: len(lines)])
    schema = record(right=listed({"enum": offered}, 0, len(offered)), holds={"type": "boolean"})
    found = take(SECOND_ALL, second.ask, schema, second.shown, text=item.question, options=lines, letters=offered)
    more = len({*found["right"]} - {right})
    return (
        blind,
        agrees,
        rule("second_model_finds_several_right", more, "<=", 0, "wrong options"),
        rule("second_model_doubts_question", float(found["holds"]), ">=", 1, "questions that hold"),
    )
