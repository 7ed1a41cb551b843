"""`scan2qa vln check`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flows.cli.app import app
from pipeline.core.errors import ConfigError
from tests.builds import REPOSITORY
from tests.formats.logs.written import airdata, line
from tests.worlds.arm.episodes import rows, write_demo


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["vln", "check", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """78 m to the north."""
    path = tmp_path / "north.csv"
    path.write_text(airdata(line()), encoding="utf-8")
    return path


def test_a_flight_is_scored_and_its_trials_can_be_given_to_score(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "trials.jsonl"
    where = ["--target", "A3.2=0,78,9.8", "--target", "A3.4=0,60,9.8", "--out", out]
    result = run(log, "--task", "A3.2", "--task", "A3.4", "--task", "A3.5", *where, "--json")
    assert result.exit_code == 0
    rows = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert {i: row["answer"] for i, row in rows.items()} == {"A3.2": 100.0, "A3.4": 0.0}
    assert rows["A3.4"]["measured"]["d_agt_m"] == pytest.approx(18.0, abs=0.1)
    told = {task["id"]: task["why_not"] for task in json.loads(result.stdout)["tasks"]}
    assert told == {"A3.2": None, "A3.4": None, "A3.5": "its target's place is not given"}


def test_the_sample_flight_of_the_docs_earns_all(flights: Path) -> None:
    docs = (REPOSITORY / "docs/evaluate/instructions.md").read_text(encoding="utf-8")
    (asked,) = re.findall(r"scan2qa vln check samples/flights/(.+)", docs)
    log, *options = asked.split()
    result = run(flights / log, *options, "--json")
    assert result.exit_code == 0
    assert [row["answer"] for row in json.loads(result.stdout)["tasks"]] == [100.0]


def test_success_may_be_declared_where_the_log_does_not_say(tmp_path: Path) -> None:
    write_demo(tmp_path, rows())
    asked = [tmp_path, "--domain", "manipulation", "--task", "M3.4"]
    for option, code, earned in ((None, 3, None), ("--success", 0, 100.0), ("--failure", 0, 0.0)):
        result = run(*asked, *([option] if option else []), "--json")
        assert (result.exit_code, json.loads(result.stdout)["tasks"][0]["answer"]) == (code, earned)
    (next(tmp_path.rglob("low_dim_obs.pkl")).parent / "things.json").write_text('{"success": true}')
    with pytest.raises(ConfigError, match="the log says that it succeeded"):
        run(*asked, "--failure")


def test_wrong_calls_are_refused_with_what_to_do(log: Path) -> None:
    for arguments, told in (
        (["--task", "A9"], "there is no task A9"),
        (["--target", "1,2"], "say x,y,z in metres"),
        (["--target", "A9=1,2,3"], "say x,y,z in metres"),
        (["--domain", "sea"], "there is no embodiment 'sea'"),
        (["--name", "two"], "name one with --name"),
    ):
        with pytest.raises(ConfigError, match=told):
            run(log, *arguments)
    assert run(log, "--task", "A3.1").exit_code == 3, "nothing could be scored"
