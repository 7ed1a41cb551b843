"""The command `scan2qa score`."""

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.vsi.card import COLUMNS
from pipeline.core.schema import SCHEMA_VERSION
from tests.benchmarks.cityeqa.cities import task
from tests.builds import Cli, rows_of
from tests.llm.fake_server import running
from tests.scoring.made import all_tasks, file_of, said, vsi


def release_of(
    folder: Path, rows: list[dict[str, Any]], earned: dict[str, float], version: Any = SCHEMA_VERSION
) -> Path:
    """What a score reads of a release: two splits, the blind table, checksums."""
    (folder / "data").mkdir(parents=True)
    schema = COLUMNS.schema.with_metadata({"scan2qa_schema_version": str(version)})
    for split, part in (("test", rows), ("debiased", rows[:1])):
        pq.write_table(pa.Table.from_pylist(part, schema), folder / "data" / f"{split}-00000-of-00001.parquet")
    guessed = [
        {"n": 1, "chance": 0.2, "earned": {"median": value - 0.1, "by name": value}, "errors": {}}
        for value in earned.values()
    ]
    table = [
        {"task": name, "asked": own, "released": own, "debiased": own | {"earned": {"forest": 0.0}}, "voters": {}}
        | {"agreement": None, "answered": 0, "balanced": 0, "by_luck": 0.0}
        for name, own in zip(earned, guessed, strict=True)
    ]
    (folder / "without_video.json").write_text(json.dumps(table))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(folder)}\n" for f in files]
    (folder / "checksums.sha256").write_text("".join(lines))
    return folder


def test_a_release_and_what_guessing_earns(scan2qa: Cli, tmp_path: Path) -> None:
    rows = [vsi(1, "route_planning", "B"), vsi(2, "route_planning", "A", "room2"), vsi(3, "object_counting", "4")]
    release = release_of(tmp_path / "release", rows, {"route_planning": 0.4, "object_counting": 0.6})
    answers = said(tmp_path / "p.jsonl", {1: "B", 2: "C", 3: "4", 9: "[red]B"})
    where = ["score", "vsi", answers, "--release", release]
    run = scan2qa(*where, "--out", tmp_path / "s.csv", "--rows", tmp_path / "r.parquet")
    assert (run.code, run.err) == (3, "")
    assert "read as table of id and answer" in run.out
    assert "unknown_id" in run.out
    with (tmp_path / "s.csv").open() as file:
        found = {row["name"]: row for row in csv.DictReader(file)}
    assert found["route_planning"]["value"] == "0.5"
    assert float(found["route_planning"]["above_prior"]) == pytest.approx(0.1)
    assert float(found["mean of 2 of 8"]["above_prior"]) == pytest.approx(0.75 - 0.5)
    assert [row["score"] for row in rows_of(tmp_path / "r.parquet")] == [1, 0, 1]
    part = scan2qa("score", "vsi", said(tmp_path / "part.jsonl", {1: "B"}), "--release", release)
    assert part.code == 2
    assert part.err.endswith("part.jsonl: its 1 replies are to the split debiased alone; add --split debiased\n")
    debiased = scan2qa(*where, "--split", "debiased", "--json")
    told = json.loads(debiased.out)
    assert told["found"]["unknown_id"] == ["9"], "2 and 3 are in the full split"
    assert told["figures"][0] | {"low": None} == {
        "metric": "score",
        "section": "task",
        "name": "route_planning",
        "n": 1,
        "value": 1.0,
        "low": None,
        "high": None,
        "standard_deviation": None,
        "best_prior": 0.0,
        "above_prior": 1.0,
    }


def test_the_same_score_again_is_the_same_to_the_byte(scan2qa: Cli, tmp_path: Path) -> None:
    rows = all_tasks()
    questions = file_of(tmp_path / "q.jsonl", rows)
    for name in ("a.json", "b.json"):
        answers = said(tmp_path / f"{name}l", {row["id"]: "2" for row in (rows if name == "a.json" else rows[::-1])})
        run = scan2qa("score", "vsi", answers, "--questions", questions, "--out", tmp_path / name)
        assert (run.code, run.err) == (0, "")
        assert "No blind table" in run.out
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def spoil(name: str, release: Path) -> None:
    file = release / "data" / "test-00000-of-00001.parquet"
    {
        "edited": lambda: pq.write_table(pq.read_table(file).slice(1), file),
        "half-copied": file.unlink,
        "unfinished": (release / "checksums.sha256").unlink,
        "blind": lambda: (release / "without_video.json").write_text(" "),
    }[name]()


@pytest.mark.parametrize(
    ("fault", "said_of_it"),
    [
        ("edited", "data/test-00000-of-00001.parquet: is not as it was released"),
        (
            "half-copied",
            "data/test-00000-of-00001.parquet: cannot be read (No such file or directory); copy the release",
        ),
        ("unfinished", "not a complete release: checksums.sha256 is missing"),
        ("blind", "without_video.json: is not as it was released"),
    ],
)
def test_releases_that_are_not_whole(fault: str, said_of_it: str, scan2qa: Cli, tmp_path: Path) -> None:
    release = release_of(tmp_path / "release", [vsi(1)], {})
    spoil(fault, release)
    run = scan2qa("score", "vsi", said(tmp_path / "p.jsonl", {1: "4"}), "--release", release)
    assert run.code == 2
    assert said_of_it in run.err


def test_a_release_of_another_version(scan2qa: Cli, tmp_path: Path) -> None:
    release = release_of(tmp_path / "release", [vsi(1)], {}, version=999)
    run = scan2qa("score", "vsi", said(tmp_path / "p.jsonl", {1: "4"}), "--release", release)
    assert run.code == 2
    assert f"is of schema version 999, and this scan2qa knows {SCHEMA_VERSION}" in run.err


@pytest.mark.parametrize(
    ("arguments", "said_of_it"),
    [
        (["--questions", "q.json", "--release", "r"], "say what was asked"),
        ([], "say what was asked"),
        (["--questions", "q.json", "--split", "tiny"], "--split names a split of --release"),
        (["--questions", "q.json", "--out", "s.xlsx"], "scores are written as .json or .csv"),
        (["--questions", "q.json", "--rows", "s.json"], "tables are written as .parquet or .csv"),
        (["--questions", "q.json", "--set", "parse=fast"], "configuration parse: 'fast' should be 'released'"),
        (
            ["--questions", "q.json", "--set", "pars=fast"],
            "unknown configuration key pars; did you mean parse? Known here: parse",
        ),
    ],
)
def test_wrong_calls(
    arguments: list[str], said_of_it: str, scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file_of(tmp_path / "q.json", [vsi(1)])
    run = scan2qa("score", "vsi", said(tmp_path / "p.jsonl", {1: "4"}), *arguments)
    assert run.code == 2
    assert said_of_it in run.err


def test_a_benchmark_that_is_none(scan2qa: Cli, tmp_path: Path) -> None:
    run = scan2qa("score", "nope", tmp_path / "p", "--questions", tmp_path / "q")
    assert run.code == 2
    assert "unknown benchmark 'nope'; replies to vsi, urbanvideo, cityeqa, " in run.err


# ---- a judge


def test_a_judge_is_asked_once_and_its_replies_go_with_the_score(
    scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-PLANTED-0123456789abcdef")
    questions = file_of(
        tmp_path / "q.json", [task(n, hop) for n, hop in enumerate(("north", "south", "east"), start=1)]
    )
    answers = said(tmp_path / "p.jsonl", {1: "said 8", 2: "said 7"})
    marks = {"Response: said 8": '{"mark": 5}', "Response: said 7": '```json\n{"mark": 2}\n```'}
    out = tmp_path / "score.json"
    where = ["score", "cityeqa", answers, "--questions", questions, "--out", out]
    with running(replies=marks) as server:
        judge = {"provider": "openai", "model": "plain", "base_url": f"{server.address}/v1", "key_env": "JUDGE_KEY"}
        settings = [word for key, value in judge.items() for word in ("--set", f"judge.{key}={value}")]
        run = scan2qa(*where, *settings, "--rows", tmp_path / "r.parquet")
        assert (run.code, run.err) == (0, "")
        assert len(server.records()) == 2
        first = out.read_bytes()
        assert scan2qa(*where, *settings).code == 0
        assert len(server.records()) == 2, "its replies are kept"
    assert out.read_bytes() == first
    whole = next(f for f in json.loads(first)["figures"] if (f["metric"], f["name"]) == ("qaa", "all"))
    assert whole["value"] == pytest.approx((5 + 2 + 1) / 3), "who says nothing has the lowest mark"
    assert [row["qaa"] for row in rows_of(tmp_path / "r.parquet")] == [5, 2, 1]
    # What goes with the score makes it again, without the judge.
    recording = tmp_path / "score.judge.jsonl"
    again = [f"judge.{k}={v}" for k, v in {"provider": "replay", "model": "plain", "recording": recording}.items()]
    run = scan2qa(*where[:-1], tmp_path / "again.json", *(word for s in again for word in ("--set", s)))
    assert (run.code, run.err) == (0, "")
    assert json.loads((tmp_path / "again.json").read_bytes())["figures"] == json.loads(first)["figures"]
    assert "PLANTED" not in first.decode() + recording.read_text()


def test_what_was_not_judged_is_in_no_mean(scan2qa: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    questions, answers = file_of(tmp_path / "q.json", [task(1)]), said(tmp_path / "p.jsonl", {1: "8"})
    judge = ["judge.provider=replay", "judge.model=m", f"judge.recording={tmp_path / 'none.jsonl'}"]
    settings = [word for s in judge for word in ("--set", s)]
    run = scan2qa("score", "cityeqa", answers, "--questions", questions, *settings)
    assert run.code == 2
    assert "a judge's replies are kept beside the score: name it with --out" in run.err
    run = scan2qa("score", "cityeqa", answers, "--questions", questions, *settings, "--out", tmp_path / "s.json")
    assert run.code == 3
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["found"] == {"not_judged": ["1 (not_recorded)"]}
    assert {figure["metric"] for figure in told["figures"]} == {"match"}


@pytest.mark.parametrize("other", ["urbanvideo", "ergeobench", "embodied4c", "cityeqa"])
def test_questions_of_another_benchmark_are_refused(other: str, scan2qa: Cli, tmp_path: Path) -> None:
    release = release_of(tmp_path / "release", all_tasks(1), {"route_planning": 0.4})
    run = scan2qa("score", other, said(tmp_path / "p.jsonl", {1: "B"}), "--release", release)
    assert run.code == 2
    assert f"holds questions of vsi, not of {other}: write vsi in place of {other}" in run.err
    file = sorted((release / "data").glob("*.parquet"))[0]
    run = scan2qa("score", other, said(tmp_path / "p.jsonl", {1: "B"}), "--questions", file)
    assert f"{file} holds questions of vsi, not of {other}: write vsi in place of {other}" in run.err


@pytest.mark.parametrize(
    "line", ["no digest", "0" * 64 + "  /etc/passwd", "0" * 64 + "  data/../../x-0.parquet", "0" * 64 + "  "]
)
def test_checksums_name_files_of_the_release_alone(line: str, scan2qa: Cli, tmp_path: Path) -> None:
    release = release_of(tmp_path / "release", all_tasks(1), {"route_planning": 0.4})
    with (release / "checksums.sha256").open("a") as file:
        file.write(f"{line}\n")
    run = scan2qa("score", "vsi", said(tmp_path / "p.jsonl", {1: "B"}), "--release", release)
    assert run.code == 2
    assert "checksums.sha256, line 4: is no digest of a file of a release; copy the release again" in run.err


def test_the_folder_of_a_build_is_told_from_its_release(scan2qa: Cli, tmp_path: Path) -> None:
    release_of(tmp_path / "release", all_tasks(1), {"route_planning": 0.4})
    run = scan2qa("score", "vsi", said(tmp_path / "p.jsonl", {1: "B"}), "--release", tmp_path)
    assert (run.code, f"is it {tmp_path / 'release'}?" in run.err) == (2, True)
