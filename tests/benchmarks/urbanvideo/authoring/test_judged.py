"""Eighty items as a person and a model write them, half of them bad: the bad are refused, the good are not.

``items_judged.jsonl`` was written and judged by a person over the flights of `flights`; nothing in the checks
knows of it. ``bad`` says what is wrong with an item.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.benchmarks.urbanvideo.authoring.check import measures, relative
from pipeline.benchmarks.urbanvideo.authoring.compose import WrittenItem
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from tests.benchmarks.urbanvideo.authoring.flights import FLIGHTS

ITEMS = [json.loads(line) for line in Path(__file__).with_name("items_judged.jsonl").read_text().splitlines()]
MISTAKES_MAX = 4  # of forty, either way


def refusal(raw: dict[str, Any]) -> str | None:
    facts, known = FLIGHTS[raw["flight"]]
    written = WrittenItem(raw["question"], raw["answer"], tuple(raw["wrong"]), tuple(raw["objects"]), raw["time_s"])
    rules = measures(relative(written, facts), facts, known, URBAN_TASKS[raw["task"]].asks)
    broken = next((rule for rule in rules if not rule.holds), None)
    return f"{broken.name}: {broken.value:g} {broken.relation} {broken.limit}" if broken else None


def judged(good: bool) -> Iterator[tuple[dict[str, Any], str | None]]:
    return ((raw, refusal(raw)) for raw in ITEMS if raw["good"] is good)


def test_forty_bad_and_forty_good_items() -> None:
    passed = [f"{raw['bad']}: {raw['question']}" for raw, why in judged(good=False) if why is None]
    failed = [f"{why}: {raw['question']}" for raw, why in judged(good=True) if why is not None]
    assert [raw["good"] for raw in ITEMS].count(True) == len(ITEMS) - 40 == 40
    assert len(passed) <= MISTAKES_MAX, passed
    assert len(failed) <= MISTAKES_MAX, failed
