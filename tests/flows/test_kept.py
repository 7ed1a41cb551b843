"""The arguments of a build that succeeded are kept with it, and used again."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from flows.orchestration.saved_build import SAVED_FILE, UNFINISHED_FILE, SavedBuild
from pipeline.engine.change_causes import changes
from tests.builds import REPOSITORY, TWO_TASKS_SETTINGS, Cli, perturbed, prefect_environment, rows_of
from tests.engine.test_kill import SCENES, n_files
from tests.worlds.indoor.readers.broken_metadata import write_scenes, write_sound

HERE = Path.cwd()
COUNTING = ("--set", "generate.tasks=[object_counting]")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"vsi_meta={write_sound(tmp_path_factory.mktemp('kept') / 'meta').parent}"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def built(scan2qa: Cli, root: str, out: Path) -> None:
    """A build is in ``out``, made with nothing but its root; the first test that needs it makes it."""
    first = Path(root.partition("=")[2]).with_name("out")
    if not first.exists():
        assert scan2qa("build", "vsi", "--root", root, "--out", first).code == 0
    shutil.copytree(first, out, symlinks=True)


def released(out: Path) -> list[dict[str, object]]:
    return rows_of(out / "release" / "data" / "test-00000-of-00001.parquet")


def tasks_of(out: Path) -> set[object]:
    return {row["question_type"] for row in released(out)}


def test_a_build_needs_not_be_told_twice(scan2qa: Cli, root: str, out: Path) -> None:
    scan2qa("build", "vsi", "--root", root, "--out", out, *COUNTING)
    again = scan2qa("build", "vsi", "--out", out)
    assert (again.code, again.err) == (0, "")
    assert f"--root {root} --set 'generate.tasks=[object_counting]'" in again.out
    assert "Changed" not in again.out
    assert "new" not in again.out.split()
    assert tasks_of(out) == {"object_counting"}
    assert scan2qa("stage", "vsi", "generate", "--out", out).code == 0, "it knows the root too"


def test_what_changes_is_said(scan2qa: Cli, root: str, out: Path) -> None:
    scan2qa("build", "vsi", "--root", root, "--out", out, *COUNTING)
    run = scan2qa("build", "vsi", "--out", out, "--set", "generate.profile=official")
    assert "Changed since last time: generate.profile strict -> official\n" in run.out
    assert "Changed since last time: generate.tasks" not in run.out
    kept = yaml.safe_load((out / SAVED_FILE).read_text())
    assert kept["set"]["generate.profile"] == "official"
    assert kept["set"]["generate.tasks"] == "[object_counting]"
    assert list(kept["roots"]) == ["vsi_meta"]
    assert kept["configured"]["generate"]["profile"] == "official"
    assert kept["versions"].keys() == {"scan2qa", "python"}
    assert not list((out / "release").rglob(SAVED_FILE)), "a release has no date"


@pytest.mark.usefixtures("built")
def test_a_root_of_the_configuration_that_a_saved_one_replaces_is_named(
    scan2qa: Cli, root: str, out: Path, tmp_path: Path
) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(f"benchmark: vsi\nbuild: vsi\nroots: {{vsi_meta: {tmp_path}}}\n")
    run = scan2qa("build", own, "--out", out, "--dry-run")
    assert f"{own}: its root vsi_meta={tmp_path} is not used: " in run.out
    assert "is not used" not in scan2qa("build", own, "--root", root, "--out", out, "--dry-run").out


def test_forgetting_starts_from_the_configuration(scan2qa: Cli, root: str, out: Path) -> None:
    scan2qa("build", "vsi", "--root", root, "--out", out, *COUNTING)
    run = scan2qa("build", "vsi", "--root", root, "--out", out, "--forget")
    assert run.code == 0
    assert "last time" not in run.out
    assert len(tasks_of(out)) > 5


@pytest.mark.usefixtures("built")
def test_samples_never_replace_real_data(scan2qa: Cli, root: str, out: Path) -> None:
    (out / "samples").mkdir()  # of an earlier build
    before = (out / "release" / "README.md").read_bytes()
    run = scan2qa("build", "vsi", "--out", out, "--forget")
    assert run.code == 2
    assert "holds a build of real data, and sample scenes would replace it: give its --root again" in run.err
    assert (out / "release" / "README.md").read_bytes() == before


@pytest.mark.usefixtures("built")
def test_a_run_that_builds_no_scene_saves_nothing(scan2qa: Cli, root: str, out: Path, tmp_path: Path) -> None:
    kept = (out / SAVED_FILE).read_bytes()
    for name, broken in (("cut", '{"x": {"dataset": "a"'), ("empty", '{"x": {"dataset": "a"}}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text(broken)
        bad = f"vsi_meta={tmp_path / name}"
        assert scan2qa("build", "vsi", "--root", bad, "--out", out).code == 3
        assert (out / SAVED_FILE).read_bytes() == kept
        assert (out / UNFINISHED_FILE).exists()
    run = scan2qa("build", "vsi", "--out", out)
    assert run.code == 0
    assert f"its arguments are not saved: --root {bad}" in run.out
    assert f"As last time: --root {root}" in run.out
    assert not (out / UNFINISHED_FILE).exists()


@pytest.mark.usefixtures("built")
def test_another_build_is_not_laid_over_it(scan2qa: Cli, root: str, out: Path) -> None:
    run = scan2qa("build", "vsi", "--root", root, "--out", out, "--set", "build=other")
    assert run.code == 2
    assert "holds the build vsi; give other another --out" in run.err


def test_another_benchmark_is_not_laid_over_it(scan2qa: Cli, root: str, out: Path) -> None:
    scan2qa("build", "vsi", "--root", root, "--out", out, *COUNTING)
    run = scan2qa("build", "urbanvideo", "--out", out)
    assert run.code == 2
    assert "holds the benchmark vsi; give urbanvideo another --out" in run.err


def test_a_name_of_its_own_is_kept_too(scan2qa: Cli, root: str, out: Path) -> None:
    scan2qa("build", "vsi", "--root", root, "--out", out, "--set", "build=mine")
    assert scan2qa("build", "vsi", "--out", out).code == 0


@pytest.mark.usefixtures("built")
def test_a_setting_that_somebody_wrote_into_the_file_holds(scan2qa: Cli, root: str, out: Path) -> None:
    kept = yaml.safe_load((out / SAVED_FILE).read_text())
    kept["set"] = {"generate.tasks": ["object_counting"], "known": None}
    (out / SAVED_FILE).write_text(yaml.safe_dump(kept))
    assert scan2qa("build", "vsi", "--out", out).code == 0
    assert tasks_of(out) == {"object_counting"}


@pytest.mark.usefixtures("built")
def test_a_stage_that_is_refused_keeps_nothing(scan2qa: Cli, root: str, out: Path) -> None:
    before = (out / SAVED_FILE).read_bytes(), released(out)
    run = scan2qa("stage", "vsi", "export", "--out", out, "--set", "generate.profile=official")
    assert (run.code, run.started) == (2, False)
    message = "scan2qa: stage export needs up-to-date results of the stages before it, but 3 of 3 of generate "
    assert re.fullmatch(message + r".+\n", run.err)
    assert ((out / SAVED_FILE).read_bytes(), released(out)) == before


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("argument", ["empty", "nowhere", "generate.tasks=[]"])
@pytest.mark.usefixtures("built")
def test_a_refused_build_changes_nothing(argument: str, scan2qa: Cli, root: str, out: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    wrong = ("--set", argument) if "=" in argument else ("--root", f"vsi_meta={tmp_path / argument}")
    assert scan2qa("build", "vsi", "--root", root, *wrong, "--out", tmp_path / "new").code == 2
    assert not (tmp_path / "new").exists()
    before = everything(out)
    assert scan2qa("build", "vsi", *wrong, "--out", out).code == 2
    assert everything(out) == before


@pytest.mark.long
@pytest.mark.usefixtures("built")
def test_a_run_that_is_killed_keeps_its_arguments_apart(scan2qa: Cli, root: str, out: Path, tmp_path: Path) -> None:
    kept = (out / SAVED_FILE).read_bytes()
    write_scenes(tmp_path / "more" / "rooms.json", perturbed(SCENES, 12))
    other = ("--root", f"vsi_meta={tmp_path / 'more'}", "--set", "generate.profile=official")
    for folder in (out, tmp_path / "new"):
        command = ["build", "vsi", *other, "--out", str(folder), "--workers", "1", "--no-prefect", *TWO_TASKS_SETTINGS]
        already = n_files(folder)
        with subprocess.Popen(
            [sys.executable, "-m", "scan2qa", *command], cwd=REPOSITORY, env=prefect_environment()
        ) as process:
            while process.poll() is None and n_files(folder) < already + 5:
                time.sleep(0.01)
            process.kill()
        assert (folder / UNFINISHED_FILE).exists()
    assert (out / SAVED_FILE).read_bytes() == kept
    assert scan2qa("builds", tmp_path).out.count("last run not finished") == 1
    run = scan2qa("build", "vsi", "--out", out)
    told = re.search(r"The run started at .+ UTC has not finished .+ its arguments are not saved: (.+)", run.out)
    assert told
    assert told[1].startswith(" ".join(other))
    assert f"As last time: --root {root}" in run.out
    assert {row["scene_name"] for row in released(out)} <= {"kitchen", "bedroom", "office"}
    assert not (out / UNFINISHED_FILE).exists()
    # Where nothing has succeeded yet there is nothing else to go on from.
    assert f"As last time: {' '.join(other[:2])}" in scan2qa("build", "vsi", "--out", tmp_path / "new", "--dry-run").out


@pytest.mark.usefixtures("built")
def test_an_old_key_of_a_kept_build_is_told_with_its_file(scan2qa: Cli, root: str, out: Path) -> None:
    text = (out / SAVED_FILE).read_text()
    (out / SAVED_FILE).write_text(text.replace("set:\n", "set:\n  film: 'false'\n"))
    run = scan2qa("build", "vsi", "--out", out)
    assert (run.code, run.err) == (
        2,
        f"scan2qa: {out / SAVED_FILE}: configuration key film is now called video; correct it there, or start without "
        "it: --forget\n",
    )


def test_a_dry_run_keeps_nothing(scan2qa: Cli, root: str, out: Path) -> None:
    assert scan2qa("build", "vsi", "--root", root, "--out", out, "--dry-run").code == 0
    assert not out.exists()


@pytest.mark.parametrize("text", ["roots: [", "[]", "roots: 3", "", "roots: {}\nset: {}\n", "{a: " * 20_000])
def test_a_damaged_file_is_said(text: str, scan2qa: Cli, root: str, out: Path) -> None:
    out.mkdir()
    (out / SAVED_FILE).write_text(text)
    run = scan2qa("build", "vsi", "--root", root, "--out", out)
    assert run.code == 2
    assert f"{out / SAVED_FILE}: cannot be read" in run.err
    assert "correct it, or delete it" in run.err


def test_builds_are_listed(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    assert "No builds in" in scan2qa("builds", tmp_path).out
    assert scan2qa("builds", tmp_path / "none").code == 2
    scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "mine")
    (line,) = [line for line in scan2qa("builds", tmp_path).out.splitlines() if "mine" in line]
    assert line.split()[-3:] == ["3", str(len(released(tmp_path / "mine"))), "complete"]
    scan2qa("stage", "vsi", "generate", "--out", tmp_path / "mine")
    assert "stages behind generate not run" in scan2qa("builds", tmp_path).out
    scan2qa("stage", "vsi", "export", "--out", tmp_path / "mine")
    assert "stages behind generate not run" in scan2qa("builds", tmp_path).out, "select has not seen them"


@pytest.mark.parametrize(
    ("kept", "said", "result"),
    [
        ({}, ["a.b=1"], ["a.b=1"]),
        ({"a.b": "1", "c": "2"}, ["a.b=3"], ["c=2", "a.b=3"]),
        ({"a.b": "1", "a.c": "2"}, ["a={b: 5}"], ["a={b: 5}"]),
        ({"a": "{b: 1}"}, ["a.b=2"], ["a={b: 1}", "a.b=2"]),
        ({"a.bc": "1"}, ["a.b=2"], ["a.bc=1", "a.b=2"]),
        ({"a": "x=y"}, [], ["a=x=y"]),
        (
            {},
            ["fixes.folder=own", "known=none", "videos=null"],
            [f"fixes.folder={HERE}/own", "known=none", "videos=null"],
        ),
        ({}, ["fixes.folder='a #1'"], [f"fixes.folder='{HERE}/a #1'"]),
    ],
)
def test_new_settings_lie_over_the_kept_ones(kept: dict[str, str], said: list[str], result: list[str]) -> None:
    assert SavedBuild({}, kept).with_settings(said) == result
    assert SavedBuild({}, dict(one.split("=", 1) for one in result)).unsaid(settings=[*result, *said]) == ""


def test_changes_name_the_key_and_both_values() -> None:
    before = {"a": {"b": 1, "c": [1, 2]}, "d": "x"}
    after = {"a": {"b": 2, "c": [1, 2]}, "d": "x", "e": None, "f": {}}
    assert list(changes(before, after)) == ["a.b 1 -> 2", "f not set -> {}"]
    assert list(changes({"f": None, "g": 1}, {"f": 2})) == ["f null -> 2", "g 1 -> not set"]
    assert list(changes({"m": [{"x": 1}, 2]}, {"m": [{"x": 3}, 2]}, "y.")) == ["y.m.0.x 1 -> 3"]
    assert list(changes({"m": [1]}, {"m": [1, 2]})) == ["m [1] -> [1, 2]"]
