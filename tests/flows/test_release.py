"""A build that fails a gate waits beside the release, until `scan2qa release` lets it take its place."""

import json
from pathlib import Path

import pytest

from flows.cli.builds import questions_in
from pipeline.engine.lease import leased
from pipeline.release.history import candidate, history
from tests.builds import Cli, release_of
from tests.engine.test_kill import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes

ALL = {name: SCENES[name] for name in ("bedroom", "kitchen", "office")}
FEWER = {name: SCENES[name] for name in ("bedroom", "kitchen")}
GATES = ("--set", "gates.scenes=0.3")  # of three scenes one is more
ACCEPTED = ("--accept", "scenes", "--accept", "questions")


@pytest.fixture
def out(scan2qa: Cli, tmp_path: Path) -> Path:
    """A build whose candidate lost a scene and waits."""
    write_scenes(tmp_path / "meta" / "meta.json", ALL)
    folder = tmp_path / "builds" / "vsi"
    assert scan2qa("build", "vsi", "--root", f"vsi_meta={tmp_path / 'meta'}", "--out", folder, *GATES).code == 0
    before = release_of(folder)
    write_scenes(tmp_path / "meta" / "meta.json", FEWER)
    run = scan2qa("build", "vsi", "--out", folder, *GATES)
    assert (run.code, release_of(folder)) == (3, before)
    (said,) = [line for line in run.out.splitlines() if line.startswith("Not released:")]
    assert "Not released: scenes: 1 of 3 scenes are gone (0.333, limit 0.3); questions: " in said
    assert f"Release {history(folder)[-1].name} stays. To release the candidate" in said
    assert f"anyway: scan2qa release {folder} --accept scenes --accept questions" in said
    return folder


@pytest.mark.slow
def test_a_candidate_waits_and_all_commands_work_on_the_release(scan2qa: Cli, out: Path) -> None:
    before, waiting = release_of(out), candidate(out)
    assert waiting is not None
    manifest = (out / "manifest.parquet").stat().st_mtime_ns
    again = scan2qa("build", "vsi", "--out", out, *GATES)
    assert again.code == 3
    assert "Nothing changed, and the candidate still waits. Not released: scenes: " in " ".join(again.out.split())
    told = json.loads(scan2qa("build", "vsi", "--out", out, *GATES, "--json").out)
    assert {why for row in told["stages"].values() for why in row} == {"reused"}
    assert (told["complete"], told["release_name"]) == (False, history(out)[-1].name)
    assert [found["gate"] for found in told["candidate"]["failed"]] == ["scenes", "questions"]
    assert (out / "manifest.parquet").stat().st_mtime_ns >= manifest
    for command in ("report", "gallery"):
        assert scan2qa(command, out).code == 0
    assert "office" in (out / "report.html").read_text()
    assert "Scene samples/office" in scan2qa("show", "samples/office", out, "--no-page").out
    pack = scan2qa("review", "vsi", "--out", out, "--pack-only", "--without-video")
    questions = questions_in(out)
    assert pack.out.startswith(f"{questions} questions: ")
    diff = scan2qa("diff", out, "--candidate")
    assert (diff.code, f"-> {waiting.name}: {questions} -> " in diff.out) == (0, True)
    assert scan2qa("diff", out, "--candidate", "--since", "0").code == 2
    assert "candidate waits" in scan2qa("builds", out.parent).out
    assert release_of(out) == before


@pytest.mark.slow
def test_a_candidate_is_released_by_a_decision(scan2qa: Cli, out: Path, tmp_path: Path) -> None:
    waiting = candidate(out)
    assert waiting is not None
    shown = scan2qa("release", out)
    assert shown.code == 3
    assert f"{waiting.name}: candidate, waits since" in shown.out
    assert [line.split()[0] for line in shown.out.splitlines() if " failed " in line] == ["scenes", "questions"]
    part = scan2qa("release", out, "--accept", "scenes")
    assert (part.code, "failed questions too: --accept questions" in part.err) == (2, True)
    with leased(out):
        busy = scan2qa("release", out, *ACCEPTED)
    assert (busy.code, "another build is running" in busy.err) == (1, True)
    done = scan2qa("release", out, *ACCEPTED)
    assert (done.code, done.out.split()[:2]) == (0, ["Released", f"{waiting.name}:"])
    assert history(out)[-1].name == waiting.name
    after = scan2qa("build", "vsi", "--out", out, *GATES)
    assert (after.code, "Nothing changed: " in after.out) == (0, True)
    assert "accepted 20" in scan2qa("release", out).out
    write_scenes(tmp_path / "meta" / "meta.json", ALL)
    assert scan2qa("build", "vsi", "--out", out, *GATES).code == 0, "more is no loss"


@pytest.mark.slow
def test_other_limits_or_the_old_data_end_the_waiting(scan2qa: Cli, out: Path, tmp_path: Path) -> None:
    before = release_of(out)
    write_scenes(tmp_path / "meta" / "meta.json", ALL)
    assert scan2qa("build", "vsi", "--out", out, *GATES).code == 0
    assert (candidate(out), release_of(out)) == (None, before)
    write_scenes(tmp_path / "meta" / "meta.json", FEWER)
    assert scan2qa("build", "vsi", "--out", out, *GATES).code == 3
    waiting = candidate(out)
    wider = scan2qa("build", "vsi", "--out", out, "--set", "gates={scenes: 1, questions: 1}")
    assert (wider.code, candidate(out)) == (0, None)
    assert waiting is not None
    assert history(out)[-1].name == waiting.name, "limits are no part of what is released"
    assert history(out)[-1].accepted == {}


@pytest.mark.slow
def test_an_object_store_has_candidate_and_decision(scan2qa: Cli, own_bucket: str, out: Path, tmp_path: Path) -> None:
    url, other = f"{own_bucket}/vsi", tmp_path / "other"
    assert scan2qa("build", "vsi", "--out", out, "--store", url, *GATES).code == 3
    elsewhere = ("build", "vsi", "--root", f"vsi_meta={tmp_path / 'meta'}", "--out", other, "--store", url, *GATES)
    assert scan2qa(*elsewhere).code == 3
    assert candidate(other) == candidate(out)
    assert scan2qa("release", other, *ACCEPTED).code == 0
    assert scan2qa("build", "vsi", "--out", out, *GATES).code == 0
    assert history(out) == history(other)
    assert release_of(out) == release_of(other)
