"""The stage over the real protocols: a server whose model dresses its JSON up as models do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.core.tables import CANDIDATES
from pipeline.llm.session import Session
from tests.benchmarks.urbanvideo.authoring.made import (
    GOOD,
    LISTS,
    PASSAGES,
    MadeTask,
    author,
    question,
    questions,
    view,
)
from tests.llm.asking import KEY, hosted
from tests.llm.fake_server import running

# What each prompt says, and the answer to it.
STEPS = {
    "experienced drone pilot": json.dumps(PASSAGES),
    "two lists": json.dumps(LISTS),
    "You write the examination": questions(GOOD, question(question="Why did the drone descend before it ascended?")),
}
EXPECTED = [None, "invalid_or_ambiguous_order"]
# How models dress up a JSON text, and what becomes of the flight.
DRESSED = {
    "bare": ("{}", EXPECTED),
    "fenced": ("```json\n{}\n```", EXPECTED),
    "fenced_without_a_name": ("```\n{}\n```\n", EXPECTED),
    "never_closed": ("```json\n{}", EXPECTED),
    "with_words_around": ("Sure! Here it is:\n\n```json\n{}\n```\nLet me know if I can help.", EXPECTED),
    "after_thoughts": ('<think>\nMaybe {{"questions": []}}? No.\n</think>\n\n{}', EXPECTED),
    "fenced_after_thoughts": ("It is a flight, so…\n</think>\n```JSON\n{}\n```", EXPECTED),
    "cut": ("```json\n{:.60}", ["narrate_malformed"] * 2),
    "nothing_but_words": ("I cannot see the video.", ["narrate_malformed"] * 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "gemini"])
@pytest.mark.parametrize("dressed", DRESSED)
def test_dressed_json_is_read_or_refused_with_its_reason(provider: str, dressed: str, tmp_path: Path) -> None:
    frame, expected = DRESSED[dressed]
    replies = {part: frame.format(text) for part, text in STEPS.items()}
    with running(replies=replies) as server:
        spec = hosted(server.address, provider, attempts=1)
        with Session([spec], tmp_path / "c", {"PLANTED_KEY": KEY}) as session:
            table = author(view(), CANDIDATES.empty_table(), lambda r: session.ask(spec.name, r), [MadeTask()], None, 2)
        sent = len(server.records())
    assert table["reason"].to_pylist() == expected
    assert sent == (2 if expected == EXPECTED else 1)
