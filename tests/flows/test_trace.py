"""From a question back to its source, and to a correction of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.cli.trace import find, trace
from flows.orchestration.saved_build import save_if_successful
from pipeline.core.errors import ConfigError
from pipeline.core.fixes import DRAFTED
from pipeline.reading.fix_files import read_fixes
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import FIXES
from tests.builds import Cli, build, config_of, rows_of
from tests.worlds.indoor.readers.broken_metadata import write_scenes

FIX = (
    "- {id: samples-0007, scene: kitchen, target: count, of: chair, expect: 3, set: 5, why: counted, who: me,"
    " date: 2026-01-31}\n"
)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A build of one kitchen with a corrected count of chairs."""
    for name in ("meta", "fixes"):
        (tmp_path / name).mkdir()
    write_scenes(tmp_path / "meta" / "rooms.json", {"kitchen": sample_scene(PLANS[1])})
    (tmp_path / "fixes" / "samples.yaml").write_text(FIX, encoding="utf-8")
    build(tmp_path / "meta", tmp_path / "out", fixes={"folder": str(tmp_path / "fixes")})
    return tmp_path / "out"


def released(out: Path, task: str, *operands: str) -> dict[str, Any]:
    rows = rows_of(out / "release" / "provenance" / "test-00000-of-00001.parquet")
    return next(r for r in rows if r["task"] == task and set(operands) <= set(r["operands"]))


@pytest.mark.slow
def test_a_question_leads_back_to_all_it_came_from(made: Path) -> None:
    row = released(made, "object_counting", "chair")
    found = trace(row["id"], made)
    assert (found.row["answer"], found.refused) == ("5", None)
    assert [fix.id for fix in found.fixes] == ["samples-0007"]
    stages = [entry.stage for entry in found.entries]
    assert stages == [name for name in STAGES if name in stages]
    assert {"unify", "fix", "observe", "generate", "select", "export"} <= set(stages)
    assert found.read.facts.counts["chair"] == 3, "as it was read"
    stove = trace(released(made, "object_abs_distance", "stove")["id"], made)
    others = rows_of(made / "release" / "provenance" / "test-00000-of-00001.parquet")
    expected = {r["id"] for r in others if "stove" in r["operands"]} - {stove.row["id"]}
    assert {r["id"] for r in stove.siblings["stove"]} == expected != set()


@pytest.mark.slow
def test_entries_to_paste_are_sound_fit_and_change_nothing(made: Path, tmp_path: Path, scan2qa: Cli) -> None:
    found = trace(released(made, "object_abs_distance", "stove")["id"], made)
    drafts = found.drafts(["samples-0009", "samples-own-0007", "other-own-0100"], "2026-02-01")
    entries = drafts.replace(DRAFTED["why"], "it is so").replace(DRAFTED["who"], "someone").split("\n- ")
    assert len(entries) >= 4
    for number, text in enumerate(entries):
        folder = tmp_path / f"one{number}"
        folder.mkdir()
        (folder / "samples.yaml").write_text("- " + text.removeprefix("- ") + "\n", encoding="utf-8")
        (entry,) = read_fixes([folder], FIXES)
        assert entry.fix.id == f"samples-own-{8 + number:04}"
        run = scan2qa("fix", "check", "--root", f"vsi_meta={tmp_path / 'meta'}", "--folder", str(folder))
        assert (run.code, "1 fits" in run.out) == (0, True), run.out


@pytest.mark.slow
def test_what_is_not_asked_can_be_traced_too(made: Path) -> None:
    rejected = rows_of(made / "release" / "rejected" / "test-00000-of-00001.parquet")
    row = next(r for r in rejected if r["reason"] == "boxes_missing")
    found = trace(row["id"], made)
    assert found.refused == "boxes_missing (chair): 3 boxes, limit 5 boxes"
    assert find(1, made) is None
    with pytest.raises(ConfigError, match="no question 1, neither asked nor rejected"):
        trace(1, made)


@pytest.mark.slow
def test_on_the_terminal(made: Path, scan2qa: Cli) -> None:
    number = str(released(made, "object_counting", "chair")["id"])
    run, every = scan2qa("trace", number, str(made)), scan2qa("trace", number, str(made), "--verbose")
    assert run.code == 0
    for part in ("samples-0007", "count of chair 3 -> 5", "Raw data:", "vsi.object_counting"):
        assert part in run.out
    assert ("made from" in run.out, "made from" in every.out) == (False, True)
    own = Path("fixes").resolve()
    said = " ".join(run.out.split())
    assert f"scan2qa trace {number} {made} --fixes prints entries" in said
    assert f"into {own / 'samples.yaml'} (docs" in said
    assert f"build again with --set fixes.folder={own}, which is saved." in said
    entries = scan2qa("trace", number, str(made), "--fixes")
    assert entries.out.startswith("- id: samples-own-0001\n")
    assert {"count", "drop_scene"} <= {entry["target"] for entry in yaml.safe_load(entries.out)}
    with save_if_successful(made, config_of(made, fixes={"folder": made.parent / "fixes"}), [], {}):
        pass
    (made / "samples" / "vsi_meta").mkdir(parents=True)  # as of a build without --root, which saves none
    run = scan2qa("trace", number, str(made))
    assert f"into {made.parent / 'fixes' / 'samples.yaml'} (docs" in " ".join(run.out.split())
    assert f"Raw data: {made / 'samples' / 'vsi_meta'}/" in " ".join(run.out.split())
    assert "fixes.folder" not in run.out
    wrong = scan2qa("trace", "12", str(made))
    assert (wrong.code, "No question or rejected candidate with id 12 in" in wrong.err) == (2, True)


@pytest.mark.slow
def test_fixes_are_held_against_the_data(made: Path, tmp_path: Path, scan2qa: Cli) -> None:
    root, folder = f"vsi_meta={tmp_path / 'meta'}", tmp_path / "fixes"
    run = scan2qa("fix", "check", "--root", root, "--folder", str(folder))
    assert (run.code, "23 fixes: 1 fits, 22 no data given" in run.out) == (0, True), run.out
    assert run.out.index("samples-0007") < run.out.index("scannet-0001"), "one's own come first"
    (folder / "samples.yaml").write_text(
        FIX.replace("expect: 3", "expect: 4") + FIX.replace("kitchen", "attic").replace("0007", "0008"),
        encoding="utf-8",
    )
    run = scan2qa("fix", "check", "--root", root, "--folder", str(folder))
    assert run.code == 3
    assert f"{folder}/samples.yaml:1: fix samples-0007: count of chair: expected 4, found 3" in run.out
    assert f"{folder}/samples.yaml:2: fix samples-0008: no such scene" in run.out
    (folder / "samples.yaml").write_text("- {}\n", encoding="utf-8")
    run = scan2qa("fix", "check", "--folder", str(folder))
    assert (run.code, "fix without id: no target" in run.err) == (2, True)


@pytest.mark.real_data
def test_the_shipped_fixes_fit_the_released_metadata(real_vsi: Path, scan2qa: Cli) -> None:
    run = scan2qa("fix", "check", "--root", f"vsi_meta={real_vsi / 'meta_info'}")
    assert (run.code, "22 fixes: 8 no such scene, 14 fits" in run.out) == (0, True), run.out
