"""Cities with something wrong: what `scan2qa doctor` and a build say of each, and that the rest is built."""

import json
import re
import shutil
from pathlib import Path

import pytest

from flows.cli.output.console import console
from pipeline.core.errors import RawDataError
from tests.builds import Cli, command_line, rows_of
from tests.worlds.city.cities import read
from tests.worlds.city.faulty import FAULTS, PLAN, sound, spoilt

# Few tasks of each category, nobody asked: these tests are about cities.
QUICK = (
    *("--set", "generate.rules.raw_tasks_per_category=2", "--set", "generate.tasks=[Object Recognition]"),
    *("--set", "blind={models: []}", "--set", "prune=null", "--set", "figures=false", "--no-prefect"),
)


@pytest.fixture
def scan2qa(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setattr(console, "width", 1000)  # so that no cell is on two lines
    return command_line(monkeypatch, capsys)


def flat(text: str) -> str:
    """What was printed, whatever its tables' lines and line breaks."""
    return re.sub(r"[\s\u2500-\u257f]+", "", text)


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named_with_file_and_remedy(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    folder = spoilt(tmp_path, name)
    if fault.costs:
        with pytest.raises(RawDataError) as caught:
            read(tmp_path, folder.name)
        error = caught.value
        assert error.finding == fault.finding
        assert (fault.file in error.path.as_posix(), fault.says in error.message) == (True, True)
        assert fault.remedy in error.remedy
        return
    found = [finding for finding in read(tmp_path, folder.name).findings if finding.name == fault.finding]
    assert [(fault.file in one.message, fault.says in one.message) for one in found] == [(True, True)]
    assert fault.remedy in found[0].remedy


def test_a_sound_city_has_no_findings(tmp_path: Path) -> None:
    sound(tmp_path)
    assert read(tmp_path, PLAN.id).findings == ()


def all_spoilt(root: Path) -> dict[str, str]:
    """Writes a sound city, one with all that costs no city, and one of each fault that does; the city of each fault.

    Left out are angles in radians and places of null island, which hide other faults of their city.
    """
    folder = sound(root).rename(root / "spoilt")
    told = {}
    for name, fault in FAULTS.items():
        if fault.costs:
            told[name] = spoilt(root, name).name
        elif name not in ("radians", "null island"):
            fault.spoil(folder)
            told[name] = folder.name
    sound(root)
    return told


def test_doctor_says_all_of_it(scan2qa: Cli, tmp_path: Path) -> None:
    told = all_spoilt(tmp_path)
    run = scan2qa("doctor", "--root", f"city={tmp_path}", "--verbose")
    assert (run.code, run.err) == (3, "")
    said = flat(run.out)
    for name, folder in told.items():
        fault = FAULTS[name]
        for part in (f"sample_cities/{folder}", fault.file, fault.finding, fault.says, fault.remedy):
            assert flat(part) in said, (name, part)
    assert "sample_cities/sound:" not in said


@pytest.mark.long
def test_a_build_says_all_of_it_and_builds_the_rest(scan2qa: Cli, tmp_path: Path) -> None:
    root = tmp_path / "root"
    told = all_spoilt(root)
    run = scan2qa("build", "cityeqa", "--root", f"city={root}", "--out", tmp_path / "out", *QUICK, "--verbose")
    assert (run.code, run.err) == (3, "")
    said = flat(run.out)
    for name in told:
        fault = FAULTS[name]
        for part in (fault.file, fault.finding, fault.says, fault.remedy):
            assert flat(part) in said, (name, part)
    left_out = {row["unit"] for row in rows_of(tmp_path / "out" / "quarantine.parquet")}
    assert left_out == {"sample_cities/two-maps", "sample_cities/a-map-in-metres"}
    rows = rows_of(tmp_path / "out" / "release" / "data" / "tasks-00000-of-00001.parquet")
    assert {row["city"] for row in rows} == {"sound", "spoilt"}


@pytest.mark.slow
def test_a_changed_object_rebuilds_its_city_and_the_build_says_which_tasks_changed(
    scan2qa: Cli, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    shutil.copytree(sound(root), root / "other")
    arguments = ("build", "cityeqa", "--root", f"city={root}", "--out", tmp_path / "out", *QUICK)
    assert scan2qa(*arguments).code == 0
    before = rows_of(tmp_path / "out" / "release" / "data" / "tasks-00000-of-00001.parquet")
    asked = {row["group"] for row in before if row["city"] == "other"}
    path = root / "other" / "objects.geojson"
    whole = json.loads(path.read_text(encoding="utf-8"))
    signs = [f for f in whole["features"] if f["properties"]["kind"] == "signboard"]
    changed = next(f for f in signs if f"other/{f['id']}" in asked)
    changed["properties"]["sign"] = "OTHER WORDS"
    path.write_text(json.dumps(whole), encoding="utf-8")
    run = scan2qa(*arguments, "--verbose")
    assert run.code == 0
    manifest = rows_of(tmp_path / "out" / "manifest.parquet")
    ran = {row["unit"] for row in manifest if row["why"] != "reused" and row["stage"] in ("unify", "generate")}
    assert ran == {"sample_cities/other"}
    after = rows_of(tmp_path / "out" / "release" / "data" / "tasks-00000-of-00001.parquet")
    one, other = (
        {(r["city"], r["question"], r["answer"], str(r["initial_pose"])) for r in rows} for rows in (before, after)
    )
    assert {city for city, *_ in one ^ other} == {"other"}
    said = flat(run.out)
    for _, question, answer, _ in other - one:
        assert flat(answer) in said
        assert flat(question)[:40] in said
    for kind in ("Since the last release", "answers changed"):
        assert flat(kind) in said
