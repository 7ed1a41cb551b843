"""The examples of docs/extend: copied into a copy of the project, entered in the registry, and run there."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.samples.indoor.metadata import FURNITURE, PLANS, write_sample_metadata
from tests.builds import REPOSITORY, UNASKED_SETTINGS, rows_of

EXAMPLES = REPOSITORY / "docs" / "examples"
ENTRIES = "registry.diff"
KINDS = sorted(folder.name for folder in EXAMPLES.iterdir())
# What is added per kind: one file, and for questions their wording; a benchmark is one folder, wording, a build file.
PLACES = {
    "benchmark": ("pipeline/benchmarks/toy/", "templates/toy/", "flows/builds/toy.yaml"),
    "log_format": ("pipeline/formats/logs/plain_csv.py",),
    "reader": ("pipeline/worlds/indoor/readers/box_lists.py",),
    "stage": ("pipeline/stages/tally.py",),
    "task": ("pipeline/benchmarks/vsi/tasks/taller.py", "templates/vsi/object_taller.yaml"),
}
# Takes a line of commands at a time: to start it takes seconds.
SCAN2QA = """
import json, sys
from flows.cli.app import app
for line in sys.stdin:
    codes = []
    for command in json.loads(line):
        try:
            app(command)
        except SystemExit as ended:
            codes.append(ended.code)
    print("\\nexit codes", json.dumps(codes), flush=True)
"""
Commands = Callable[..., list[int]]
BUILD = ("--no-video", *UNASKED_SETTINGS)
USUAL = ("--set", "generate.rules.words=official")  # what is usual is asked, too


def files_of(kind: str) -> dict[str, Path]:
    """Where each file of an example goes, below the project's folder."""
    folder = EXAMPLES / kind
    files = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}
    return {name: path for name, path in files.items() if "__pycache__" not in name and name != ENTRIES}


def enter(project: Path, text: str) -> None:
    """Adds the lines with a plus, each behind the line before it, to the file that the first line names."""
    first, *lines = text.splitlines()
    path = project / first.removeprefix("--- ")
    entered = path.read_text()
    for before, line in pairwise(lines):
        if line.startswith("+"):
            assert entered.count(f"{before[1:]}\n") == 1, f"{path} has no single line {before[1:]!r}"
            entered = entered.replace(f"{before[1:]}\n", f"{before[1:]}\n{line[1:]}\n")
    path.write_text(entered)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with all examples in it."""
    folder = tmp_path_factory.mktemp("project")
    being_written = shutil.ignore_patterns("tmp*", "*.pyc.*")  # by a test beside this one
    for name in ("pipeline", "flows", "templates", "meta_schemas"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=being_written)  # with what Python has compiled
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    for kind in KINDS:
        for name, path in files_of(kind).items():
            assert not (folder / name).exists(), f"{name} is there without the example"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
        enter(folder, (EXAMPLES / kind / ENTRIES).read_text())
    return folder


def run(project: Path, *command: object) -> str:
    """A command in a project, which must end well; its output."""
    environment = os.environ | {"PYTHONPATH": str(project)}
    done = subprocess.run(
        [*map(str, command)], cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def scan2qa(project: Path) -> Iterator[Commands]:
    """Runs commands of the project one after the other, all in one process; their exit codes."""
    environment = os.environ | {"PYTHONPATH": str(project)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(
        [sys.executable, "-c", SCAN2QA], cwd=project, env=environment, text=True, bufsize=1, **pipes
    ) as process:

        def run(*commands: tuple[object, ...]) -> list[int]:
            process.stdin.write(json.dumps([list(map(str, command)) for command in commands]) + "\n")
            said = []
            while (line := process.stdout.readline()) and not line.startswith("exit codes "):
                said.append(line)
            assert line, "".join(said)
            return list(json.loads(line.removeprefix("exit codes ")))

        yield run
        process.stdin.close()


def build_of(name: str, folder: Path, *settings: str) -> tuple[object, ...]:
    """A build in a folder, of sample metadata beside it, in which no cap displaces a question."""
    write_sample_metadata(folder / "meta")
    every = ("select.per_scene_and_task=1000", *settings)
    where = ("--root", f"vsi_meta={folder / 'meta'}", "--out", folder / "out")
    return ("build", name, *where, *BUILD, *(part for s in every for part in ("--set", s)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_shows_each_example_as_it_is_run(kind: str) -> None:
    page = (REPOSITORY / "docs/extend" / f"{kind.replace('_', '-')}.md").read_text()
    shown = (*files_of(kind).values(), EXAMPLES / kind / ENTRIES)
    assert [path for path in shown if f"\n{path.read_text()}```\n" not in page] == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_example_is_as_many_files_as_promised_and_one_entry_in_one_file(kind: str) -> None:
    assert [name for name in files_of(kind) if not name.startswith(PLACES[kind])] == []
    added = [line for line in (EXAMPLES / kind / ENTRIES).read_text().splitlines() if line.startswith("+")]
    assert [line for line in added if not line.startswith("+from pipeline.")] == added[-1:]  # after its import, if any


@pytest.mark.slow
def test_reader(scan2qa: Commands, tmp_path: Path) -> None:
    boxes = [("table", [0, 0, 0.4], [1.5, 0.8, 0.8], 30), ("sofa", [3, 0, 0.45], [2.1, 0.9, 0.9], -90)]
    scene = {
        "area_m2": 12.5,
        "boxes": [dict(zip(("label", "center_m", "size_m", "turn_deg"), b, strict=True)) for b in boxes],
    }
    wrong = {"area_m2": None, "boxes": [scene["boxes"][0] | {"size_m": [1500, 800, 800], "colour": "red"}]}
    root = tmp_path / "boxes"
    root.mkdir()
    for name, content in {"den": scene, "millimetres": wrong}.items():
        (root / f"{name}.json").write_text(json.dumps(content))
    codes = scan2qa(
        ("build", "vsi", "--root", f"box_lists={root}", "--out", tmp_path / "out", *BUILD, *USUAL),
        ("doctor", "--root", f"box_lists={root}"),
    )
    assert 3 in codes  # one scene is left out
    (left_out,) = rows_of(tmp_path / "out/quarantine.parquet")
    assert left_out["unit"] == "box_lists/millimetres"
    assert "'colour'" in left_out["message"]
    assert "1500" in left_out["message"]
    (data,) = (tmp_path / "out/release/data").glob("test-*.parquet")
    answers = {row["question"]: row["ground_truth"] for row in rows_of(data)}
    # Hand-computed: the longest sides, the area, and the gap between the closest points of the two.
    corner_m = 0.75 * math.cos(math.radians(30)) + 0.4 * math.sin(math.radians(30))  # of the table, next to the sofa
    distances = {truth for question, truth in answers.items() if "distance between" in question}
    assert distances == {f"{3 - 0.45 - corner_m:.1f}"} == {"1.7"}
    sizes = {truth for question, truth in answers.items() if "longest dimension" in question}
    assert sizes == {"B", "210"}, "of the table: more than is usual for one"
    assert {truth for question, truth in answers.items() if "floor area" in question} == {"12.5"}


@pytest.mark.slow
def test_log_format(scan2qa: Commands, tmp_path: Path) -> None:
    rows = [
        "time_s,lat_deg,lon_deg,alt_m",
        *(f"{t},{52 + t * 1e-5:.6f},4.36,{10 + t}" for t in range(11)),
        "11,?,4.36,21",
    ]
    log, broken = tmp_path / "up.csv", tmp_path / "broken.csv"
    log.write_text("\n".join(rows) + "\n")
    broken.write_text("\n".join([*rows[:3], "3,52.0"]) + "\n")
    assert scan2qa(("track", log, broken, "--out", tmp_path / "tracks")) == [3]  # one file could not be read
    told = json.loads((tmp_path / "tracks/up.json").read_text())
    assert (told["format"], told["samples"], told["samples_in_log"]) == ("plain_csv", 11, 12)
    assert told["findings"]
    east, north, up = told["extent_m"]
    assert (east, up) == (0, 10)
    assert north == pytest.approx(11.126, abs=0.01)  # 1e-4 degrees of latitude at 52 degrees
    assert told["height_m"] == [0, 10]
    assert not (tmp_path / "tracks/broken.json").exists()


@pytest.mark.slow
def test_task(scan2qa: Commands, tmp_path: Path) -> None:
    assert scan2qa(build_of("vsi", tmp_path, "generate.tasks=[object_taller]")) == [0]
    (data,) = (tmp_path / "out/release/data").glob("test-*.parquet")
    questions = rows_of(data)
    unique = {plan.name: [n for n in plan.furniture if plan.furniture.count(n) == 1] for plan in PLANS}
    expected = {
        (scene, a, b): FURNITURE[a][2] > FURNITURE[b][2]
        for scene, names in unique.items()
        for a in names
        for b in names
        if a < b and round(abs(FURNITURE[a][2] - FURNITURE[b][2]), 9) >= 0.12
    }
    found = {}
    for row in questions:
        first, second = (
            row["question"].removeprefix("Which of these two objects is taller, the ")[:-1].split(" or the ")
        )
        options = dict(option.split(". ") for option in row["options"])
        assert set(options.values()) == {first, second}
        found[row["scene_name"], first, second] = options[row["ground_truth"]] == first
    assert found.items() <= expected.items()
    assert len(found) >= 0.9 * len(expected)  # of more than 40 the commonest answers are balanced
    (rejected,) = (tmp_path / "out/release/rejected").glob("test-*.parquet")
    reasons = {row["reason"]: row for row in rows_of(rejected)}
    assert reasons["heights_too_similar"]["measured"] < reasons["heights_too_similar"]["limit"] == 0.12


@pytest.mark.slow
def test_stage(scan2qa: Commands, tmp_path: Path) -> None:
    tally = ("stage", "vsi", "tally", "--out", tmp_path / "out")
    assert scan2qa(build_of("vsi", tmp_path, "generate.tasks=[object_counting]"), tally) == [0, 0]
    manifest = [row for row in rows_of(tmp_path / "out/manifest.parquet") if row["stage"] == "tally"]
    assert [(row["unit"], row["why"]) for row in manifest] == [(f"samples/{plan.name}", "asked") for plan in PLANS]
    stored = (tmp_path / "out/store/tally").rglob("*.json")
    tallies = [list(json.loads(path.read_text())["object_counting"].items()) for path in stored]
    counts = [Counter(plan.furniture).values() for plan in PLANS]
    asked = [sum(n > 1 for n in of_scene) for of_scene in counts]
    assert sorted(tallies) == sorted(
        [("asked", n), ("too_few_instances", len(c) - n)] for n, c in zip(asked, counts, strict=True)
    )


@pytest.mark.slow
def test_benchmark(project: Path, scan2qa: Commands, tmp_path: Path) -> None:
    assert scan2qa(build_of("toy", tmp_path), ("schemas",)) == [0, 0]
    (data,) = (tmp_path / "out/release/data").glob("test-*.parquet")
    questions: list[dict[str, Any]] = rows_of(data)
    tops = {name: lift + height for name, (_, _, height, lift) in FURNITURE.items()}
    unique = {plan.name: [n for n in plan.furniture if plan.furniture.count(n) == 1] for plan in PLANS}
    expected = {
        (scene, f"Which of these two objects reaches higher, the {a} or the {b}?"): max(a, b, key=tops.__getitem__)
        for scene, names in unique.items()
        for a in names
        for b in names
        if a < b and round(abs(tops[a] - tops[b]), 9) >= 0.12
    }
    # In the lounge there are two chairs and two plants.
    counted = {"bedroom": "nightstand", "kitchen": "chair", "office": "chair", "studio": "chair"}
    expected |= {
        (scene, "Of which kind of object are there most in this room?"): most for scene, most in counted.items()
    }
    answers = {
        (r["scene_name"], r["question"]): dict(o.split(". ") for o in r["options"])[r["ground_truth"]]
        for r in questions
    }
    assert answers.items() <= expected.items()
    assert len(answers) >= 0.9 * len(expected)  # of more than 40 the commonest answers are balanced
    assert "Toy" in (tmp_path / "out/release/README.md").read_text()
    assert (project / "meta_schemas/build-toy.schema.json").exists()
    # The house's rules notice where the new folder breaks them, and that it breaks no other.
    rules = project / "pipeline/benchmarks/toy/rules.py"
    sound = rules.read_text()
    rules.write_text(sound + "import pipeline.benchmarks.vsi.rules\n")
    with pytest.raises(AssertionError) as told:
        run(project, Path(sys.executable).parent / "lint-imports")
    rules.write_text(sound)
    assert " 1 broken" in str(told.value)
    assert str(told.value).count(" is not allowed to import ") == 1
    assert "pipeline.benchmarks.toy is not allowed to import" in str(told.value)
