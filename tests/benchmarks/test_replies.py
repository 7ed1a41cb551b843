"""Replies judged by hand, in nine forms; those to VSI-Bench are in tests/metrics. None earns more than it deserves."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.templates import TEMPLATES_DIR
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import Answer

JUDGED: Final = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))
HARNESS: Final = runpy.run_path(str(TEMPLATES_DIR / "tables" / "harness" / "scan2qa_rows.py"))["mark"]
NEAR: Final = 0.9  # of S_err in a harness: it is 0.93 at 1 km


def earned(name: str, told: dict[str, Any], replies: list[str]) -> list[tuple[float, float]]:
    """What replies earn by our score and in a harness, 0 to 1."""
    options = [f"{letter}. {text}" for letter, text in zip("ABCDE", told.get("options", ()), strict=False)] or None
    is_place = told["truth"].startswith("{")
    kind = "Geo-localization, single view" if is_place else "any"
    question = Published(1, None, "s", kind, told["question"], options, told["truth"], rest=told | {"domain": "D"})
    score: Any = BENCHMARKS[name].score
    marks = score.mark([Answer(question, reply, None) for reply in replies], score.settings())
    metric = "within_1_km" if is_place else "accuracy" if options else "match"
    mark = "place" if is_place else "letter" if options else "number" if "value" in told else "words"
    row = {"answer": told["truth"], "accepted": told.get("accepted", []), "mark": mark}
    theirs = [float(HARNESS(row, reply) >= NEAR) if is_place else HARNESS(row, reply) for reply in replies]
    most = 100 if is_place or name == "embodied4c" else 1
    return list(zip((marks.values[metric] / most).tolist(), theirs, strict=True))


@pytest.mark.parametrize(("name", "missed"), [("urbanvideo", 2), ("cityeqa", 5), ("embodied4c", 5), ("ergeobench", 1)])
def test_no_reply_earns_more_than_it_deserves(name: str, missed: float) -> None:
    rows = []
    for one in JUDGED[name]:
        told = one["question"]
        judged = [reply for form, replies in one.items() if form != "question" for reply in replies]
        rows += [(*own, *pair) for own, pair in zip(judged, earned(name, told, [r for _, r in judged]), strict=True)]
    assert len(rows) >= 60
    assert [reply for due, reply, ours, _ in rows if not ours <= due + 1e-6] == []
    lost = {reply: due - ours for due, reply, ours, _ in rows if ours < due - 1e-6}
    assert sum(lost.values()) == pytest.approx(missed), lost
    off = [sum(abs(due - found) for due, _, *both in rows for found in both[n : n + 1]) for n in (0, 1)]
    assert off[0] < off[1], "the harness's own reading"
