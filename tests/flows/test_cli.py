"""The command `scan2qa`: what it ends with, and the one clear line it says when it cannot."""

import errno
import json
import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import pipeline.core.files
from flows.cli import app as cli
from flows.cli.app import json_schemas
from pipeline.engine.plan import WHOLE
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.samples.registry import SAMPLES
from pipeline.stages.builder import Builder, units_due
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import READERS
from tests.builds import (
    COMMAND,
    REPOSITORY,
    UNASKED_SETTINGS,
    Cli,
    Run,
    build,
    config_of,
    prefect_environment,
    release_of,
    rows_of,
    scene_texts,
)
from tests.engine.test_store import lock_elsewhere
from tests.worlds.indoor.readers.broken_metadata import BROKEN, VICTIM, write_scenes, write_sound

HEAVY = frozenset({"numpy", "pandas", "pyarrow", "scipy", "sklearn", "open3d", "trimesh", "prefect"})
COMMANDS = sorted(
    c.name or c.callback.__name__.replace("_", "-") for c in cli.commands.registered_commands if c.callback
)
AUDIT, COVERAGE = ("audit", "vsi"), ("coverage", "vsi")


@pytest.fixture
def root(meta: Path) -> str:
    return f"vsi_meta={meta}"


def in_a_process(*arguments: object, code: str = COMMAND, **environment: str) -> Run:
    """The real command."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env=prefect_environment() | environment,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def assert_one_line(run: Run, code: int, *said: str) -> None:
    assert run.code == code, run
    assert run.out == ""
    assert re.fullmatch(r"scan2qa: .+\n", run.err), run.err
    assert all(part in run.err for part in said), run.err


# ---- in this process, without Prefect


def test_a_build_shows_what_ran_and_what_came_of_it(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    run = scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out", gallery=True)
    assert (run.code, run.err) == (0, "")
    released = rows_of(tmp_path / "out" / "release" / "data" / "test-00000-of-00001.parquet")
    page = tmp_path / "out" / "gallery" / "index.html"
    first, *rest = run.out.splitlines()
    assert re.fullmatch(r"This takes about \d+ s \(3 scenes in (one process|\d+ processes).*\)", first)
    screen = rest[next(n for n, line in enumerate(rest) if line.startswith("Ran ")) :]
    assert len(screen) <= 23
    for part in (" for 3 of 3 scenes: new, ", f"\n{len(released)} questions\n", "object_rel_distance", "\nRejected "):
        assert part in run.out
    assert screen[-3].startswith("First release in this folder (")
    assert screen[-2:] == [f"Look: {page}", f"Next: scan2qa report {tmp_path / 'out'}"]
    assert page.is_file()
    again = scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out")
    assert (again.code, again.err) == (0, "")
    (line,) = again.out.splitlines()
    assert line.startswith(
        f"Nothing changed: {len(released)} questions of 3 scenes in {tmp_path / 'out' / 'release'} ("
    )
    tables = scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out", "--verbose").out
    for part in ("Stages that ran, and why", "reused", "Questions and rejected candidates", "Rejected by reason"):
        assert part in tables


def test_what_is_left_out_is_listed_word_for_word(scan2qa: Cli, root: str, meta: Path, tmp_path: Path) -> None:
    """Also where it looks like markup."""
    BROKEN["category with a bracket"].spoil(meta / "samples_meta_info.json")
    run = scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out")
    assert (run.code, run.err) == (3, "")
    flat = re.sub(r"[\s│┃]+", "", run.out)
    for part in (f"samples/{VICTIM}", "unusable_category", "'stove[/b]'", "renamethecategory", "Leftout"):
        assert part in flat, part
    assert (tmp_path / "out" / "release" / "README.md").exists()


def test_a_long_list_of_what_is_left_out_is_cut_and_counted(scan2qa: Cli, tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    broken = {f"room{i}": sample_scene(PLANS[0]) | {"room_size": -1} for i in range(30)}
    write_scenes(tmp_path / "meta" / "a.json", broken)
    run = scan2qa("build", "vsi", "--root", f"vsi_meta={tmp_path / 'meta'}", "--out", tmp_path / "out")
    assert run.code == 3
    assert "Left out 30 (see quarantine.parquet): negative_area 30" in run.out
    verbose = scan2qa("build", "vsi", "--out", tmp_path / "out", "--verbose")
    assert "and 10 more in quarantine.parquet" in verbose.out
    assert len(rows_of(tmp_path / "out" / "quarantine.parquet")) == 30
    assert not (tmp_path / "out" / "release").exists()
    assert "Nothing was released" in run.out
    assert "Look: " not in run.out


def test_settings_reach_the_build(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    settings = ["--set", "generate.tasks=[object_counting]", "--set", "export.split=val"]
    assert scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out", *settings).code == 0
    rows = rows_of(tmp_path / "out" / "release" / "data" / "val-00000-of-00001.parquet")
    assert {row["question_type"] for row in rows} == {"object_counting"}


def test_a_configuration_of_ones_own_is_found_by_path(scan2qa: Cli, meta: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"build: mine\nbenchmark: vsi\nroots: {{vsi_meta: {meta}}}\nexport: {{pretty_name: Mine}}\n")
    assert scan2qa("build", path, "--out", tmp_path / "out").code == 0
    assert "# Mine" in (tmp_path / "out" / "release" / "README.md").read_text()


def test_the_output_goes_to_a_folder_of_the_builds_name(
    scan2qa: Cli, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = scan2qa("build", "vsi", "--root", root, "--set", "build=mine")
    assert (run.code, run.out.splitlines()[-1]) == (0, "Next: scan2qa report mine")
    assert (tmp_path / "outputs" / "mine" / "release" / "README.md").exists()


def test_a_dry_run_writes_nothing(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    run = scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out", "--dry-run")
    assert (run.code, run.err) == (0, "")
    assert re.match(r"Would run \d+ stages \(unify to export\) for 3 of 3 scenes: new\n", run.out), run.out
    assert len(run.out.splitlines()) < 24
    every = scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out", "--dry-run", "--verbose")
    assert f"would run unify samples/{VICTIM} (new)" in every.out
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_outcome_as_json_and_nothing_else(scan2qa: Cli, root: str, meta: Path, tmp_path: Path) -> None:
    BROKEN["category with a bracket"].spoil(meta / "samples_meta_info.json")
    run = scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out", "--json")
    assert run.code == 3
    told = json.loads(run.out)
    assert " for 3 of 3 scenes: new" in run.err
    assert told["stages"]["generate"] == {"new": 2}
    assert told["complete"] is False
    (left_out,) = told["left_out"]
    assert left_out["finding"] == "unusable_category"
    assert Path(told["release"], "README.md").is_file()
    (release,) = {path.name for path in (tmp_path / "out" / "releases").iterdir() if path.is_dir()}
    assert (told["release_name"], told["since_last"]["release"]) == (release, None)
    fewer = scan2qa("build", "vsi", "--out", tmp_path / "out", "--json", "--set", "select.per_scene_and_task=1")
    since = json.loads(fewer.out)["since_last"]
    assert since["release"] == release
    assert since["changes"]["removed"] > 0
    assert since["causes"] == ["config: select.per_scene_and_task 6 -> 1"]
    assert fewer.err.splitlines()[-1] == f"Next: scan2qa diff {tmp_path / 'out'}"
    again = scan2qa("build", "vsi", "--out", tmp_path / "out", "--quiet")
    assert (again.code, again.out, again.err) == (3, "", "")
    named = scan2qa("build", "vsi", "--out", tmp_path / "out", "--verbose")
    assert "generate samples/office (reused)" in named.out


def test_the_version_is_said(scan2qa: Cli) -> None:
    run = scan2qa("--version")
    assert (run.code, run.err) == (0, "")
    assert re.fullmatch(r"scan2qa \d+\.\d+\.\d+\n", run.out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "offered"), [("build vs", {"vsi"}), ("stage vsi gen", {"generate"}), ("doc", {"doctor"})]
)
def test_shells_complete_commands_builds_and_stages(typed: str, offered: set[str]) -> None:
    code = "import sys; sys.argv = ['scan2qa']; " + COMMAND
    words = f"scan2qa {typed}"
    run = in_a_process(
        code=code, _SCAN2QA_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    assert set(run.out.split()) == offered


def test_a_stage_alone(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    scan2qa("build", "vsi", "--root", root, "--out", out)
    run = scan2qa("stage", "vsi", "generate", "--scenes", "off*, samples/kitchen", "--root", root, "--out", out)
    assert (run.code, run.err) == (0, "")
    assert f"Later stages were not run; scan2qa build vsi --out {out} brings them up to date." in run.out
    asked = [row["unit"] for row in rows_of(out / "manifest.parquet") if row["why"] == "asked"]
    assert asked == ["samples/kitchen", "samples/office"]
    assert scan2qa("stage", "vsi", "export", "--out", out).code == 0, "the stages that read no raw data need no root"


def test_an_audit_of_ones_own_release(scan2qa: Cli, root: str, meta: Path, tmp_path: Path) -> None:
    scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out")
    questions = tmp_path / "out" / "release" / "data" / "test-00000-of-00001.parquet"
    where = ["--meta", meta, "--questions", questions, "--profile", "strict"]
    run = scan2qa(*AUDIT, *where, "--out", tmp_path / "audit.parquet")
    assert (run.code, run.err) == (0, "")
    assert "Audit, profile strict" in run.out
    rows = rows_of(tmp_path / "audit.parquet")
    columns = "id question_type scene status published recomputed reason measured limit unit"
    assert list(rows[0]) == columns.split()
    assert {row["status"] for row in rows} == {"reproduced"}
    assert len(rows) == len(rows_of(questions))
    run = scan2qa(*COVERAGE, *where)
    assert (run.code, run.err) == (0, "")
    assert "lacking" not in run.out
    assert "100.0%" in run.out


def test_an_audit_that_finds_differences_has_run(scan2qa: Cli, meta: Path, tmp_path: Path) -> None:
    question = {
        "id": 7,
        "dataset": "samples",
        "scene_name": VICTIM,
        "question_type": "object_counting",
        "question": "How many chair(s) are in this room?",
        "options": None,
        "ground_truth": "4",
    }
    (tmp_path / "q.jsonl").write_text(json.dumps(question))
    run = scan2qa(*AUDIT, "--meta", meta, "--questions", tmp_path / "q.jsonl", "--out", tmp_path / "audit.parquet")
    assert run.code == 0
    (row,) = rows_of(tmp_path / "audit.parquet")
    assert (row["status"], row["published"], row["recomputed"]) == ("differs", "4", "3")
    assert "7 (4 / 3)" in run.out


def test_a_published_file_may_hold_what_looks_like_markup(scan2qa: Cli, meta: Path, tmp_path: Path) -> None:
    question = {"scene_name": "[/a]", "question": "[/b]", "ground_truth": "[/c]", "dataset": "[/d]"}
    rows = [
        question | {"id": "[/x]", "question_type": "[/y]"},
        question
        | {"id": "[/z]", "question_type": "object_counting", "question": "How many chair(s) are in this room?"},
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    where = ["--meta", meta, "--questions", tmp_path / "q.jsonl"]
    run = scan2qa(*AUDIT, *where, "--out", tmp_path / "audit.parquet")
    assert (run.code, run.err) == (0, "")
    assert "[/y]" in run.out
    assert "[/z]" in run.out
    run = scan2qa(*COVERAGE, *where)
    assert (run.code, run.err) == (0, "")
    assert "[/z]" in run.out


def _make_folders(readers: tuple[str, ...], folder: Path) -> None:
    for reader in readers:
        (folder / reader).mkdir(parents=True)


def test_samples_say_how_to_build_them(scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, samples in SAMPLES.items():
        monkeypatch.setitem(SAMPLES, name, replace(samples, write=partial(_make_folders, samples.readers)))
    run = scan2qa("samples", tmp_path / "samples")
    assert (run.code, run.err) == (0, "")
    (line,) = [line for line in run.out.splitlines() if line.startswith("Try: scan2qa build vsi --root ")]
    *roots, setting = (word.partition("=") for word in line.split() if "=" in word)
    assert roots
    assert setting == ("samples", "=", "true"), "the release says so"
    assert all(name in READERS and Path(folder).is_dir() for name, _, folder in roots)


def test_every_reader_is_listed(scan2qa: Cli) -> None:
    run = scan2qa("readers")
    assert (run.code, run.err) == (0, "")
    lines = [line for line in run.out.splitlines()[1:] if not line.startswith("  ")]  # those that go on are indented
    assert [line.split()[0] for line in lines] == list(READERS)


def test_prefect_is_started_for_many_scenes_only(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    assert scan2qa("build", "vsi", "--root", root, "--out", tmp_path / "out").code == 0
    (fresh, known) = (Builder(config_of(Path(root.partition("=")[2])), tmp_path / name) for name in ("new", "out"))
    assert len(units_due(fresh.dry_run()) - {WHOLE}) == 3
    assert not units_due(known.dry_run())
    assert known.num_due("unify", ["*kitchen"]) == 1
    assert known.num_due("generate") == 3
    assert known.num_due("export") == 0


def test_schemas_are_written(scan2qa: Cli, tmp_path: Path) -> None:
    assert scan2qa("schemas", tmp_path / "new").code == 0
    assert {path.name: path.read_text() for path in (tmp_path / "new").iterdir()} == json_schemas()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, scan2qa: Cli) -> None:
    run = scan2qa(command, "--help")
    assert run.code == 0
    assert re.search(rf"Usage: .*scan2qa {command} ", run.out)


def test_the_help_has_every_command(scan2qa: Cli) -> None:
    said = scan2qa("--help").out
    assert [command for command in COMMANDS if command not in said] == []


def test_the_help_says_the_exit_codes(scan2qa: Cli) -> None:
    assert "Exit codes: 0 done" in " ".join(scan2qa("--help").out.split())


# ---- one clear line, at once


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["vln", "check", "nope.ulg"], 2, ["nope.ulg: unreadable: cannot be read (No such file"]),
        (["build", "nope"], 2, ["unknown build 'nope'; there are ", "vsi"]),
        (["build", "nope.yaml"], 2, ["nope.yaml: no such file", "the path of a build's YAML file"]),
        (["report", "vsl"], 2, ["'vsl' is no build and no folder; did you mean vsi?"]),
        (["review", "tests"], 2, ["tests holds no build: build first"]),
        (["trace", "1", "tests"], 2, ["tests holds no build: build first, or give the folder of a build"]),
        (["trace", "vsi", "1"], 2, ["'vsi' is no id of a question, a whole number; it stands before the build"]),
        (["gallery", "outputs/vsl"], 2, ["'outputs/vsl' is no build and no folder; did you mean vsi?"]),
        (["diff", "vsl"], 2, ["'vsl' is no build and no folder; did you mean vsi?"]),
        (["fix", "check", "--folder", "tests"], 2, ["tests: no fix here; give the folder that holds"]),
        (["build", "vsi", "--root", "vsi_meta=/no/such"], 2, ["/no/such: no such folder", "--root"]),
        (["build", "vsi", "--root", "vsi_meta=/no/[/b]"], 2, ["/no/[/b]: no such folder"]),
        (["build", "vsi", "--root", "/data"], 2, ["--root /data: write it as reader=folder", "vsi_meta"]),
        (["build", "vsi", "--root", "vsi_meta="], 2, ["--root vsi_meta=: write it as reader=folder"]),
        (["build", "vsi", "--root", "waymo=."], 2, ["unknown reader 'waymo'; there are ", "vsi_meta"]),
        (["doctor", "--root", "replica=."], 2, ["unknown reader 'replica'; scan2qa convert replica IN OUT"]),
        (["build", "vsi", "ROOT", "--set", "select.cap=3"], 2, ["key select.cap; known here: per_scene_and_task"]),
        (["build", "vsi", "ROOT", "--set", "generate.rules.x=3"], 2, ["unknown rule x; there are abs_distance_min_m"]),
        (
            ["build", "vsi", "ROOT", "--set", "generate.profile=lax"],
            2,
            ["unknown profile 'lax'; there are strict"],
        ),
        (
            ["build", "vsi", "ROOT", "--set", "select=3"],
            2,
            ["select has keys below it: give select.KEY=VALUE"],
        ),
        (["build", "vsi", "ROOT", "--set", "cap"], 2, ["--set cap: write it as key=value"]),
        (
            ["build", "vsi", "ROOT", "--out", "FILE"],
            1,
            ["cannot write (", "give a folder that can be written"],
        ),
        (["build", "vsi", "ROOT", "--out", "FILE/below"], 1, ["cannot write (Not a directory)"]),
        (["stage", "vsi", "unify"], 2, ["no --root was given"]),
        (["stage", "vsi", "blend", "ROOT"], 2, ["unknown stage 'blend'; did you mean blind? There are unify, "]),
        (["build", "vsi", "--dry-run", "--root", "vsi_meta=/no/such"], 2, ["/no/such: no such folder"]),
        ([*AUDIT, "--meta", "/no", "--questions", "/no", "--out", "x"], 2, ["/no: no such folder"]),
        (
            [*AUDIT, "META", "--questions", "/no.jsonl", "--out", "x"],
            2,
            ["/no.jsonl: no such file"],
        ),
        (
            [*AUDIT, "META", "--questions", "FILE", "--out", "x"],
            2,
            ["cannot be read as .jsonl, .json or .parquet"],
        ),
        ([*AUDIT, "META", "--questions", "EMPTY", "--out", "FILE/x"], 1, ["cannot write ("]),
        (
            [*AUDIT, "META", "--questions", "EMPTY", "--out", "x", "--profile", "lax"],
            2,
            ["unknown profile 'lax'"],
        ),
        ([*AUDIT, "META", "--questions", "EMPTY", "--out", "x.xlsx"], 2, ["x.xlsx: tables are written as"]),
        ([*COVERAGE, "META", "--questions", "/no.parquet"], 2, ["/no.parquet: no such file"]),
        (["samples", "FILE"], 1, ["cannot write (File exists): give another folder"]),
        (["samples", "FILE/below"], 1, ["cannot write (Not a directory): give another folder"]),
        (["build", "vsi", "--out", "FILE"], 1, ["cannot write (Not a directory): give another folder"]),
        (["schemas", "FILE"], 1, ["cannot write ("]),
        (["release", "a" * 5000], 2, [f"{'a' * 80}… (5,000 characters): File name too long"]),
    ],
)
def test_a_wrong_call_ends_at_once_with_one_line(
    arguments: list[str], code: int, said: list[str], scan2qa: Cli, meta: Path, root: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no json\n")
    (tmp_path / "empty.jsonl").write_text("")
    words: list[str] = []
    for word in arguments:
        known = {"ROOT": ["--root", root], "META": ["--meta", str(meta)], "EMPTY": [str(tmp_path / "empty.jsonl")]}
        words += known.get(word, [word.replace("FILE", str(tmp_path / "file"))])
    if words[0] in ("build", "stage") and "--out" not in words:
        words += ["--out", str(tmp_path / "out")]
    run = scan2qa(*words)
    assert_one_line(run, code, *said)
    assert not run.started, "it was known before anything was run"


@pytest.mark.parametrize(
    "arguments", [["build"], ["build", "vsi", "--speed", "3"], ["build", "vsi", "--workers", "0"], ["x"]]
)
def test_a_call_that_cannot_be_parsed_shows_the_usage(arguments: list[str], scan2qa: Cli) -> None:
    run = scan2qa(*arguments)
    assert (run.code, run.out) == (2, "")
    assert re.match(r"Usage: .*scan2qa", run.err)


def test_a_second_build_into_the_same_folder_is_told_at_once(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with lock_elsewhere(out / ".lock"):
        assert_one_line(
            scan2qa("build", "vsi", "--root", root, "--out", out), 1, "another build is running in this folder"
        )


@pytest.mark.parametrize("command", ["build", "audit", "schemas"])
def test_a_full_disk_is_one_line(
    command: str, scan2qa: Cli, root: str, meta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty.jsonl").write_text("")

    def write(descriptor: int, raw: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pipeline.core.files, "write_all", write)
    arguments = {
        "build": ["vsi", "--root", root, "--out", tmp_path / "out"],
        "audit": [
            "vsi",
            "--meta",
            meta,
            "--questions",
            tmp_path / "empty.jsonl",
            "--out",
            tmp_path / "out" / "a.parquet",
        ],
        "schemas": [tmp_path / "out"],
    }[command]
    assert_one_line(scan2qa(command, *arguments), 1, str(tmp_path / "out"), "No space left on device): free some space")


# ---- at once


def imported(*arguments: object) -> set[str]:
    """The packages that a command had imported at its end."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('imported', *sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    run = in_a_process(*arguments, code=code + COMMAND)
    return set(run.out.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("arguments", [["build", "--help"], ["build", "nope"], ["biuld"]])
def test_help_and_typing_mistakes_import_nothing_heavy(arguments: list[str]) -> None:
    packages = imported(*arguments)
    assert {"typer", "pipeline"} <= packages
    assert packages.isdisjoint(HEAVY)


@pytest.mark.slow
def test_a_build_of_metadata_imports_what_it_needs(scan2qa: Cli, root: str, tmp_path: Path) -> None:
    arguments = ["build", "vsi", "--root", root, "--out", tmp_path / "out", *UNASKED_SETTINGS]
    assert imported(*arguments).isdisjoint(HEAVY - {"numpy", "pandas", "pyarrow"})
    assert scan2qa(*arguments).code == 0  # writes into the manifest that all is reused
    unchanged = imported(*arguments)
    assert unchanged >= {"numpy", "pyarrow"}
    assert unchanged.isdisjoint({"jinja2", *HEAVY} - {"numpy", "pyarrow"})


# ---- the real command


@pytest.mark.slow
def test_the_real_command_builds_around_what_is_broken(tmp_path: Path, scan2qa: Cli) -> None:
    meta = tmp_path / "meta"
    write_sound(meta)
    build(meta, tmp_path / "sound")
    kitchen = sample_scene(PLANS[1])
    write_scenes(meta / "a.json", {"../x": kitchen})
    write_scenes(meta / "b.json", {"b": kitchen | {"room_size": -1}, "c": kitchen | {"room_height": 2.5}})
    (meta / "c.json").write_bytes(b"")
    (meta / "d.json").write_text('{"d": {"dataset": "samp')
    arguments = ["build", "vsi", "--root", f"vsi_meta={meta}", "--out", tmp_path / "out", *UNASKED_SETTINGS]
    run = in_a_process(*arguments)
    assert run.code == 3, run.err
    assert run.err == "", "no progress bar where there is no terminal"
    listed = [(row["unit"], row["finding"]) for row in rows_of(tmp_path / "out" / "quarantine.parquet")]
    assert listed == [
        ("'../x'", "unsafe_scene_name"),
        ("c/(file)", "empty_file"),
        ("d/d", "truncated_json"),
        ("samples/b", "negative_area"),
        ("samples/c", "unknown_key"),
    ]
    assert "Left out 5 (see quarantine.parquet): " in run.out
    verbose = scan2qa(*arguments, "--verbose")
    said = re.sub(r"[\s│┃]+", "", verbose.out)
    assert all(finding in said for _, finding in listed)
    assert release_of(tmp_path / "out") == release_of(tmp_path / "sound")


@pytest.mark.slow
@pytest.mark.real_data
def test_the_real_command_gives_the_same_bytes_whatever_the_workers_and_the_order(
    real_vsi: Path, tmp_path: Path
) -> None:
    in_order, shuffled = tmp_path / "in_order", tmp_path / "shuffled"
    for folder in (in_order, shuffled):
        folder.mkdir()
    n_scenes = 0
    for number, file in enumerate(sorted((real_vsi / "meta_info").glob("*.json"))):
        scenes = scene_texts(file.read_text(encoding="utf-8"))[::22]  # all of them would take a minute and show no more
        (in_order / file.name).write_text("{" + ", ".join(scenes) + "}", encoding="utf-8")
        n_scenes += len(scenes)
        random.Random(number).shuffle(scenes)  # noqa: S311
        (shuffled / file.name).write_text("{" + ", ".join(scenes) + "}", encoding="utf-8")
    asked = ("--set", "generate.profile=strict", "--set", "blind={models: []}")  # tests/llm has the model itself
    asked += ("--set", "select.per_scene_and_task=2")  # a figure each
    asked += ("--set", "generate.tasks=[object_counting, object_rel_distance, object_rel_direction_hard]")
    common = ["build", "vsi", *asked, "--set", "prune=null", "--root"]
    one = in_a_process(
        *common, f"vsi_meta={in_order}", "--out", tmp_path / "one", "--workers", "1", "--no-prefect", PYTHONHASHSEED="1"
    )
    two = in_a_process(
        *common,
        f"vsi_meta={shuffled}",
        "--out",
        tmp_path / "two",
        "--workers",
        "2",
        "--prefect",
        PYTHONHASHSEED="2",
        TZ="Asia/Tokyo",
    )
    assert (one.code, one.err) == (two.code, two.err) == (0, ""), "nothing of the orchestrator's is said"
    assert release_of(tmp_path / "one") == release_of(tmp_path / "two")
    without_seconds = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in rows_of(tmp_path / name / "manifest.parquet")]
        for name in ("one", "two")
    ]
    assert without_seconds[0] == without_seconds[1]
    assert len({row["unit"] for row in without_seconds[0] if row["stage"] == next(iter(STAGES))}) == n_scenes > 6


def test_code_that_changes_under_a_command_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where a checkout replaces modules that are imported late."""

    def lacking() -> None:
        raise ImportError("no name x")

    changed: list[Path] = []
    monkeypatch.setattr(cli, "app", lacking)
    monkeypatch.setattr("pipeline.engine.code.changed_since", lambda *_: changed)
    with pytest.raises(ImportError, match="no name x"):
        cli.main()
    changed.append(Path("a.py"))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "scan2qa: a.py: changed while the command ran (no name x); run it again\n"


@pytest.mark.parametrize(
    ("raised", "encoding", "code", "said"),
    [
        (MemoryError(), "utf-8", 1, "there is not enough memory: raise the limit (ulimit -v, the container's)"),
        (UnicodeEncodeError("utf-8", "\udcc3", 0, 1, "surrogate"), "ascii", 2, "not ascii, the encoding here: export"),
    ],
)
def test_limits_of_the_machine_are_named_in_one_line(
    raised: Exception,
    encoding: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise raised

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: encoding)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n")) == (code, 1)
    assert said in told


@pytest.mark.slow
def test_a_folder_name_that_is_not_utf8_costs_its_scene(scan2qa: Cli, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/scans/sc\xe9ne"))
    folder.mkdir(parents=True)
    (folder / "scene.json").write_text("{}")
    root, out = f"scene={tmp_path / 'scans'}", tmp_path / "out"
    run = scan2qa("build", "vsi", "--root", root, "--out", out, *UNASKED_SETTINGS)
    assert (run.code, "Left out sc\\udce9ne" in run.out) == (3, True), run.err
    assert [row["finding"] for row in rows_of(out / "quarantine.parquet")] == ["unsafe_scene_name"]
    assert "Complete" not in scan2qa("doctor", "--root", root).out, "there is no scene"
