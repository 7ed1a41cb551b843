"""260 replies judged by hand: ours never reads another answer than the judge, and reads nearly all that there are."""

import runpy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.templates import TEMPLATES_DIR
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import Answer
from tests.metrics.judged import PARSERS, parsed, read, verdicts

ROWS = read()


def test_the_file_says_what_the_parsers_make_of_each_reply() -> None:
    assert len(ROWS) >= 200
    assert len({(row.get("question"), row["reply"]) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert {name: row[name] for name in PARSERS} == parsed(row), row["reply"]


@pytest.mark.parametrize("kind", ["letter", "number"])
def test_no_reply_is_taken_for_another_answer(kind: str) -> None:
    rows = [row for row in ROWS if row["kind"] == kind]
    ours = verdicts(rows, "ours")
    assert ours["wrong"] == 0, [row["reply"] for row in rows if row["ours"] not in {None, row["judged"]}]
    assert ours["unread"] <= 1


@pytest.mark.parametrize("parser", ["vlmevalkit", "lmms_eval"])
@pytest.mark.parametrize("kind", ["letter", "number"])
def test_ours_reads_more_rightly_than_the_evaluation_kits(kind: str, parser: str) -> None:
    rows = [row for row in ROWS if row["kind"] == kind]
    assert verdicts(rows, "ours")["right"] > verdicts(rows, parser)["right"]
    assert verdicts(rows, parser)["wrong"] > 0


# ---- replies to the other benchmarks, in nine forms: none earns more than a person gave it


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
