"""The part of the card about guessing: the best attacker of each split beside the best on the published benchmark."""

from __future__ import annotations

from typing import Any

from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.release.card import section, text_only_context

SETTINGS: dict[str, Any] = {"blind": {"models": [], "remove": "all_correct"}, "prune": None, "prices_of": "2026"}


def guessed(**earned: float) -> dict[str, Any]:
    return {"n": 10, "chance": 0.25, "error": None, "earned": {k.replace("_", " "): v for k, v in earned.items()}}


def row(task: str) -> dict[str, Any]:
    return {
        "task": task,
        "asked": guessed(by_name=0.5, by_length=0.3),
        "released": guessed(by_name=0.4, forest=0.45),
        "debiased": None,
        "voters": {},
    }


def lines_of(*arguments: Any) -> list[str]:
    return section("text_only", text_only_context(*arguments)).splitlines()


def test_each_split_has_its_best_attacker_beside_the_published_one() -> None:
    given_away = {"turns": {"forest": 0.6, "by text": 0.61}}
    lines = lines_of([row("turns"), row("news")], SETTINGS, [], given_away)
    assert "| turns | 0.500 by name | 0.450 forest |  | 0.610 by text |" in lines
    assert "| news | 0.500 by name | 0.450 forest |  |  |" in lines
    assert not any("published benchmark" in line for line in lines_of([row("turns")], SETTINGS, [], {}))


def test_every_task_has_a_published_figure() -> None:
    assert set(VSI.card.given_away) == set(VSI.by_name())
