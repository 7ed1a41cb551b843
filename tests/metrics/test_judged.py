"""260 replies judged by hand: ours never reads another answer than the judge, and reads nearly all that there are."""

from __future__ import annotations

import pytest

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
