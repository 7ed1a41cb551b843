"""Builds as Prefect flows: what they may be given, how they end, what they show; and builds by the clock."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
import yaml

from flows.orchestration.build import BuildRequest
from flows.orchestration.folders import configuration
from flows.orchestration.saved_build import SAVED_FILE
from pipeline.blind.ask import REPLIES
from pipeline.core.errors import NoSpaceError, StoreError
from pipeline.core.identity import DIGEST_CHARS
from pipeline.core.parquet import table_bytes
from pipeline.core.schema import Quarantine
from pipeline.engine.job import JobResult
from pipeline.engine.lease import leased
from pipeline.engine.manifest import Entry, Manifest, Outcome, Why
from pipeline.engine.plan import WHOLE
from pipeline.engine.stage import STORE
from pipeline.engine.store import Store
from pipeline.release.gates import GateResult
from pipeline.release.history import PublishedRelease
from pipeline.release.released import Released
from tests.builds import REPOSITORY, Cli, config_of
from tests.engine.test_kill import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes

LEFT_OUT = Quarantine(unit="a/b", stage="unify", file="f", finding="unreadable_file", message="m", remedy="r")
RELEASED = Released(
    files={},
    questions={"counting": 3, "size": 1},
    rejections={"counting": {"over_cap": 2, "doubled_box": 1}, "size": {"over_cap": 4}, "route": {"no_floor": 1}},
    answers={"counting": {"2": 2, "3": 1}},
    letters={},
    flags={},
    findings=[],
    blind=[],
    models=[],
)


@pytest.fixture(scope="module")
def prefect_flows() -> ModuleType:
    """The module, which imports Prefect: seconds that not every process that collects tests need spend."""
    from flows.orchestration import prefect_flows

    return prefect_flows


def outcome(*whys: Why, left_out: bool = False) -> Outcome:
    entries = Manifest()
    entries.add(Entry("unify", f"a/{number}", "k", "i", "c", "d", why) for number, why in enumerate(whys))
    return Outcome(entries, [LEFT_OUT] if left_out else [], RELEASED)


@pytest.mark.parametrize(
    ("done", "name", "told"),
    [
        (outcome("new", "reused"), None, "1 results of 1 units made; 4 questions are released"),
        (outcome("reused"), "UP_TO_DATE", "nothing has changed since the last time; 4 questions are released"),
        (outcome("new", left_out=True), "WITH_QUARANTINE", "1 left out"),
        (outcome("reused", left_out=True), "WITH_QUARANTINE", "1 left out"),
    ],
)
def test_the_state_says_how_a_build_ended(
    done: Outcome, name: str | None, told: str, prefect_flows: ModuleType
) -> None:
    state = prefect_flows._state(done)
    assert state.is_completed()
    assert state.name == (vars(prefect_flows)[name] if name else "Completed")
    assert state.message is not None
    assert told in state.message


def test_the_state_names_a_candidate_and_what_it_failed(prefect_flows: ModuleType) -> None:
    gates = (GateResult("scenes", 0.5, 0.02, "1 of 2 scenes are gone"),)
    state = prefect_flows._state(outcome("new"), PublishedRelease("abc", "", gates, waits=True))
    assert (state.name, state.is_completed()) == (prefect_flows.WITH_CANDIDATE, True)
    assert state.message == "candidate abc is not released: scenes: 1 of 2 scenes are gone (0.5, limit 0.02)"


def test_what_is_shown_of_a_release_adds_up() -> None:
    from flows.orchestration.prefect_run import _funnel, _questions

    counting, route, size = _questions(RELEASED)
    assert counting == {"task": "counting", "questions": 3, "rejected": 3, "most frequent answer": "2"}
    assert (route["questions"], size["rejected"]) == (0, 4)
    assert _funnel(RELEASED).splitlines()[2:] == [
        "| **all** | 12 |",
        "| over cap | −6 |",
        "| doubled box | −1 |",
        "| no floor | −1 |",
        "| **questions** | 4 |",
    ]


def test_the_flow_of_the_deployments_is_there_and_takes_their_parameters(prefect_flows: ModuleType) -> None:
    build_flow = prefect_flows.build_flow
    deployed = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text())["deployments"]
    assert {one["name"] for one in deployed} == {p.stem for p in (REPOSITORY / "flows" / "builds").glob("*.yaml")}
    for one in deployed:
        path, _, name = one["entrypoint"].partition(":")
        assert (REPOSITORY / path).is_file()
        assert name == build_flow.fn.__name__
        inspect.signature(build_flow.fn).bind(**one["parameters"])


def test_only_what_can_heal_is_tried_again(prefect_flows: ModuleType) -> None:
    from prefect.states import Failed

    assert prefect_flows._may_heal(None, None, Failed(data=NoSpaceError("full")))
    assert not prefect_flows._may_heal(None, None, Failed(data=StoreError("no right to write")))


@pytest.mark.parametrize(("failure", "again"), [(None, False), ("no_options", False), ("timeout", True)])
def test_requests_that_failed_are_tried_again(
    failure: str | None, again: bool, tmp_path: Path, prefect_flows: ModuleType
) -> None:
    lacks_replies = prefect_flows._lacks_replies
    replies = pa.Table.from_pylist([{"id": 1, "model": "a", "failure": failure}], REPLIES)
    result = Store(tmp_path / STORE).put("blind", WHOLE, "0" * DIGEST_CHARS, table_bytes(replies), ".parquet")
    done = JobResult(WHOLE, (Entry("blind", WHOLE, "k", "i", "c", "d", "new", result),), ())
    config = config_of(tmp_path, blind={"models": [{"provider": "openai", "model": "a"}]})
    assert lacks_replies(config, tmp_path, done) == again
    assert not lacks_replies(config_of(tmp_path), tmp_path, done), "nobody is asked"


def test_a_schedule_needs_a_server_that_is_kept(scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    run = scan2qa("schedule", "vsi", "--out", tmp_path / "out")
    assert run.code == 2
    assert "a schedule needs a Prefect server that is kept running: run `prefect server start`" in run.err
    run = scan2qa("schedule", "vsi", "--out", tmp_path / "out", "--cron", "0 3 * *")
    assert (run.code, "--cron '0 3 * *' in" in run.err) == (2, True)


def test_a_run_by_the_clock_that_meets_a_build_by_hand_says_so_and_changes_nothing(
    tmp_path: Path, prefect_flows: ModuleType
) -> None:
    from prefect.logging import disable_run_logger

    meta, out = tmp_path / "meta", tmp_path / "out"
    write_scenes(meta / "meta.json", {"bedroom": SCENES["bedroom"]})
    asked: dict[str, Any] = {
        "roots": {"vsi_meta": str(meta)},
        "settings": {"prune": None, "blind.models": []},
        "out": str(out),
    }
    with leased(out), disable_run_logger(), pytest.raises(StoreError, match=r"another build is running .*process"):
        prefect_flows.build_flow.fn("vsi", **asked)
    assert {path.name for path in out.iterdir()} == {".lock"}


def test_a_schedule_takes_what_is_saved_at_the_time_of_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefect_flows: ModuleType
) -> None:
    from flows.orchestration import prefect_run

    write_scenes(tmp_path / "meta" / "meta.json", {"bedroom": SCENES["bedroom"]})
    saved = {
        "at": "2026-11-30 03:00",
        "roots": {"vsi_meta": str(tmp_path / "meta")},
        "set": {"blind.models": "[]", "select.per_scene_and_task": "3"},
        "configured": {},
    }
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / SAVED_FILE).write_text(yaml.safe_dump(saved))
    served: list[dict[str, Any]] = []
    monkeypatch.setattr(prefect_flows.build_flow, "serve", lambda **said: served.append(said["parameters"]))
    monkeypatch.setattr(prefect_run, "is_kept", lambda: True)
    monkeypatch.setattr(prefect_run, "trouble", lambda: None)
    for roots, settings in ([], []), ([f"vsi_meta={tmp_path / 'meta'}"], ["keep=7"]):
        asked = BuildRequest(configuration("vsi"), roots, settings, tmp_path / "out", False, 1, True)
        prefect_run.schedule(asked, "0 3 * * *", "UTC")
    assert [(said["roots"], said["settings"]) for said in served] == [
        ({}, {}),
        ({"vsi_meta": str(tmp_path / "meta")}, {"keep": "7"}),
    ]


def test_a_schedule_is_refused_for_what_is_wrong_before_it_is_served(
    scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    wrong = scan2qa("schedule", "vsi", "--root", f"vsi_meta={tmp_path / 'gone'}", "--out", tmp_path / "out")
    assert wrong.code == 2
    assert "no such folder" in wrong.err
    (tmp_path / "meta").mkdir()
    asked = ("schedule", "vsi", "--root", f"vsi_meta={tmp_path / 'meta'}", "--out", tmp_path / "out")
    wrong = scan2qa(*asked)
    assert (wrong.code, "no *.json file here" in wrong.err) == (2, True)
    write_scenes(tmp_path / "meta" / "meta.json", {"bedroom": SCENES["bedroom"]})
    wrong = scan2qa(*asked, "--cron", "at night")
    assert (wrong.code, "--cron 'at night' in UTC" in wrong.err) == (2, True)
    wrong = scan2qa(*asked, "--zone", "Europe/Berln")
    assert (wrong.code, "--zone 'Europe/Berln' is no time zone" in wrong.err, "Europe/Berlin" in wrong.err) == (
        2,
        True,
        True,
    )
    assert not (tmp_path / "out" / SAVED_FILE).exists()
