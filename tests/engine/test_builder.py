"""A build runs what must run and says why; what it writes depends on nothing but its inputs."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pipeline.engine.plan
from pipeline.core.errors import ConfigError, Scan2qaError, TemplateError
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_table
from pipeline.engine.job import Job, JobResult, batches_of, run_job
from pipeline.engine.manifest import MANIFEST, Outcome, read_manifest, read_quarantine
from pipeline.engine.plan import WHOLE, Planner, source_of
from pipeline.engine.rerun import _stages_after
from pipeline.engine.stage import Stage, StageContext
from pipeline.engine.store import hash_bits
from pipeline.llm.failures import ModelError
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder, units_due
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import READERS
from tests.builds import RUN_STAGES, build, config_of, perturbed, release_of, results_of, rows_of, whys
from tests.environment import times
from tests.worlds.indoor.readers.broken_metadata import write_scenes

FILE = "samples_meta_info.json"
SCENES = {plan.name: sample_scene(plan) for plan in PLANS if plan.name in ("kitchen", "office", "studio")}
UNITS = [f"samples/{name}" for name in sorted(SCENES)]
REPOSITORY = Path(__file__).resolve().parents[2]
EXPORT = "export"
ORDER = list(STAGES)
BUILD_STAGES = ("balance", "review", EXPORT)
WANTED = (*RUN_STAGES, *BUILD_STAGES)  # the stages of a build that asks no model and prunes nothing
ALL_REUSED = {stage: {"reused"} for stage in WANTED}
# For builds in rounds: a task that is balanced, one that changes with the room's size, and one that does neither.
THREE_TASKS: dict[str, Any] = {
    "generate": {"tasks": ["object_abs_distance", "object_rel_direction_hard", "room_size_estimation"]}
}
AGAIN = """
import sys
from pathlib import Path
from tests.builds import build
build(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    """A folder with three sample scenes."""
    return written(tmp_path / "meta", SCENES)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="module")
def first_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the three sample scenes; not to be changed."""
    folder = tmp_path_factory.mktemp("first")
    build(written(folder / "meta", SCENES), folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def without_office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the other two; not to be changed."""
    folder = tmp_path_factory.mktemp("without")
    build(written(folder / "meta", {n: s for n, s in SCENES.items() if n != "office"}), folder / "out")
    return folder / "out"


@pytest.fixture
def built(first_build: Path, out: Path) -> Path:
    """What the first build of ``meta`` leaves."""
    return Path(shutil.copytree(first_build, out, symlinks=True))


def written(folder: Path, scenes: dict[str, Any]) -> Path:
    return write_scenes(folder / FILE, scenes)


def edited(**changes: dict[str, Any]) -> dict[str, Any]:
    """The sample scenes with some keys of some scenes changed."""
    return {name: scene | changes.get(name, {}) for name, scene in SCENES.items()}


def ran(outcome: Outcome) -> set[tuple[str, str, str]]:
    """Stage, unit and why of everything that was not reused."""
    return {(e.stage, e.unit, e.why) for e in outcome.manifest if e.why != "reused"}


def files_below(folder: Path) -> dict[Path, int]:
    return {p: p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file() and p.name != ".lock"}


# ---- what runs, and why


@pytest.mark.slow
def test_a_first_build_runs_everything(meta: Path, out: Path) -> None:
    outcome = build(meta, out)
    assert whys(outcome) == {stage: {"new"} for stage in WANTED}
    assert not outcome.quarantine
    assert rows_of(out / "quarantine.parquet") == []


@pytest.mark.slow
def test_a_second_build_runs_and_writes_nothing(meta: Path, built: Path) -> None:
    before = files_below(built / "store") | files_below(built / "release")
    outcome = build(meta, built)
    assert whys(outcome) == ALL_REUSED
    assert files_below(built / "store") | files_below(built / "release") == before
    assert outcome.released is not None, "the final table is shown again"


@pytest.mark.slow
def test_the_manifest_has_one_row_per_stage_and_unit_and_names_what_is_there(meta: Path, built: Path) -> None:
    table = read_table((built / "manifest.parquet").read_bytes())
    assert table.schema.equals(MANIFEST)
    rows = table.to_pylist()
    wanted = (stage for stage in ORDER if stage in WANTED)
    expected = [(stage, unit) for stage in wanted for unit in ([WHOLE] if stage in BUILD_STAGES else UNITS)]
    assert [(r["stage"], r["unit"]) for r in rows] == expected
    assert {str(built / r["path"]) for r in rows} == {str(p) for p in files_below(built / "store")}
    for row in rows:
        assert row["output"] == digest_of([row["stage"], row["unit"], digest_of((built / row["path"]).read_bytes())])
        assert row["seconds"] >= 0
        assert all(row[name] for name in ("key", "inputs", "config", "code"))


@pytest.mark.slow
@pytest.mark.parametrize("most", [4096, 3])
def test_three_changed_scenes_are_computed_and_no_others(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """In one round, or in several of which few packs are in memory."""
    if most < 12:
        monkeypatch.setattr("pipeline.engine.run.ROUND_UNITS", most)
        monkeypatch.setattr("pipeline.engine.store.PACK_RESULTS", 2)
        monkeypatch.setattr("pipeline.engine.manifest.OPEN_PACKS", 1)
    scenes = perturbed(SCENES, 16)
    meta = written(tmp_path / "meta", scenes)
    build(meta, out, **THREE_TASKS)
    changed = sorted(scenes)[1:16:6]
    units = {f"samples/{name}" for name in changed}
    for name in changed:
        scenes[name]["room_size"] += 1.5  # tallies change, the balance of the other tasks does not
    written(meta, scenes)
    builder, planned = Builder(config_of(meta, **THREE_TASKS), out), list[str]()
    with monkeypatch.context() as watched:
        plan = Planner.plan_group
        watched.setattr(Planner, "plan_group", lambda *a: planned.extend(a[2] or ()) or plan(*a))
        builder.dry_run()
        assert {*planned} == units, "the rows of others stay as they are"
        planned.clear()
        outcome = builder.build()
    assert {*planned[:3]} == units, "others are as the plan says"
    assert json.loads(results_of(out, outcome)["balance", WHOLE])["limits"]
    for stage in RUN_STAGES:
        reasons = {e.unit: e.why for e in outcome.manifest if e.stage == stage}
        assert len(reasons) == 16
        computed = {unit for unit, why in reasons.items() if why != "reused"}
        # The film of a scene without video stays what it was.
        assert computed <= units
        assert computed == units or stage == "video"
        assert {reasons[unit] for unit in computed} <= {"input"}
    assert [e.why for e in outcome.manifest if e.stage == EXPORT] == ["input"]
    packs = {hash_bits(f"samples/{name}")[:3] for name in scenes} if most < 12 else set()
    assert {path.name.partition(".")[0] for path in (out / "store" / "select" / "packs").glob("*.zip")} == packs
    if most < 12:
        place, planned = out / "manifest.parquet", build(meta, out, **THREE_TASKS).counts()
        raw = bytearray(place.read_bytes())
        raw[pq.read_metadata(place).row_group(1).column(2).dictionary_page_offset + 100] ^= 1
        place.write_bytes(raw)
        assert Builder(config_of(meta, **THREE_TASKS), out).dry_run().counts() == planned, (
            "rows that are lost are planned again"
        )
        monkeypatch.undo()
        assert results_of(tmp_path / "other", build(meta, tmp_path / "other", **THREE_TASKS)) == results_of(
            out, outcome
        )


@pytest.mark.slow
@pytest.mark.parametrize("done", [3, 8])
def test_a_build_that_is_stopped_amid_its_rounds_loses_no_scene_that_is_done(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """In the midst of a round, when those before it are in packs already, or at its end."""
    for name, most in (("run.ROUND_UNITS", 3), ("store.PACK_RESULTS", 2), ("manifest.OPEN_PACKS", 1)):
        monkeypatch.setattr(f"pipeline.engine.{name}", most)
    meta = written(tmp_path / "meta", perturbed(SCENES, 8))

    def stop(label: str, ended: int, total: int) -> None:
        if label.startswith("unify") and ended == done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Builder(config_of(meta, **THREE_TASKS), out, progress=stop).build()
    assert not (out / "manifest.parquet").exists()
    assert [*(out / "store" / "generate" / "packs").glob("*.zip")]
    told: list[tuple[str, int, int]] = []
    outcome = Builder(config_of(meta, **THREE_TASKS), out, progress=lambda *one: told.append(one)).build()
    checked = [(n, of) for label, n, of in told if label == "checked" and of]
    assert checked[: 3 if done == 8 else 2] == {3: [(2, 8), (4, 4)], 8: [(2, 8), (4, 8), (8, 8)]}[done]
    assert all(label for label, _, of in told if of)
    assert outcome.counts()["generate"] == {"reused": done} | ({"new": 8 - done} if done < 8 else {})
    monkeypatch.undo()
    assert results_of(tmp_path / "other", build(meta, tmp_path / "other", **THREE_TASKS)) == results_of(out, outcome)


@pytest.mark.slow
def test_a_change_that_alters_no_result_stops_there(meta: Path, built: Path) -> None:
    data = release_of(built)["data/test-00000-of-00001.parquet"]
    path = meta / FILE
    path.write_text(path.read_text().replace('"room_size": ', '"room_size":  '))
    assert not ran(build(meta, built)), "blanks between words of JSON are no change"
    path.write_text(re.sub(r'("room_size":  \d+\.\d+)', r"\g<1>0", path.read_text(), count=1))  # of the first scene
    outcome = build(meta, built)
    first = f"samples/{next(iter(SCENES))}"
    assert ("unify", first, "input") in ran(outcome)
    assert ("generate", first, "input") in ran(outcome)
    assert {unit for stage, unit, _ in ran(outcome) if stage not in BUILD_STAGES} == {first}
    assert whys(outcome)["select"] == {"reused"}, "the candidates are the same"
    assert release_of(built)["data/test-00000-of-00001.parquet"] == data


@pytest.mark.slow
def test_text_between_the_scenes_and_where_the_data_lie_are_no_input(meta: Path, built: Path, tmp_path: Path) -> None:
    path = meta / FILE
    path.write_text("\n\n" + path.read_text() + "\n")
    assert whys(build(meta.rename(tmp_path / "elsewhere"), built)) == ALL_REUSED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sections", "stage", "export"),
    [
        ({"generate": {"profile": "official"}}, "generate", "input"),
        ({"generate": {"rules": {"margin_min_deg": 15}}}, "generate", "input"),
        ({"generate": {"rules": {"large_room_m2": 1e6, "gap_min_large_room_m": 0.3}}}, "generate", "input"),
        ({"select": {"per_scene_and_task": 2}}, "select", "input"),
        ({"export": {"split": "val"}}, EXPORT, "config"),
        ({"export": {"pretty_name": "Mine"}}, EXPORT, "config"),
    ],
)
def test_a_changed_configuration_runs_its_own_stage(
    sections: dict[str, Any], stage: str, export: str, meta: Path, built: Path
) -> None:
    reasons = whys(build(meta, built, **sections))
    assert reasons[stage] == {"config"}
    assert all(reasons[s] == {"reused"} for s in ("unify", "observe"))
    assert reasons[EXPORT] == {export}
    if stage == "select":
        assert reasons["generate"] == {"reused"}
    assert release_of(built)


def test_the_order_of_tasks_is_no_change(meta: Path, out: Path) -> None:
    tasks = ["object_counting", "object_abs_distance", "room_size_estimation"]
    build(meta, out, generate={"tasks": tasks})
    assert whys(build(meta, out, generate={"tasks": tasks[::-1]})) == ALL_REUSED


@pytest.mark.slow
def test_going_back_to_an_older_configuration_gives_its_bytes_again(meta: Path, built: Path) -> None:
    released = release_of(built)
    build(meta, built, export={"split": "val"}, select={"per_scene_and_task": 2})
    assert "data/test-00000-of-00001.parquet" not in release_of(built), "files of the other release are gone"
    build(meta, built)
    assert release_of(built) == released


@pytest.mark.slow
def test_changed_code_runs_its_stage(meta: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pipeline.engine.plan.code_digest
    reader = READERS["vsi_meta"].__module__
    monkeypatch.setattr(pipeline.engine.plan, "code_digest", lambda roots: real(roots) + "!" * (reader in roots))
    reasons = whys(build(meta, built))
    readers = {name for name, stage in RUN_STAGES.items() if stage.reads_raw}
    assert all(reasons[name] == ({"code"} if name in readers else {"reused"}) for name in (*RUN_STAGES, EXPORT))


@pytest.mark.slow
def test_a_new_scene_runs_alone_and_displaces_nothing(tmp_path: Path, out: Path) -> None:
    meta = written(tmp_path / "meta", {name: s for name, s in SCENES.items() if name != "studio"})
    build(meta, out)
    before = rows_of(out / "release/data/test-00000-of-00001.parquet")
    written(meta, SCENES)
    outcome = build(meta, out)
    assert {unit for stage, unit, _ in ran(outcome) if stage not in BUILD_STAGES} == {"samples/studio"}
    assert {why for _, unit, why in ran(outcome) if unit == "samples/studio"} == {"new"}
    after = rows_of(out / "release/data/test-00000-of-00001.parquet")
    assert [row for row in after if row["scene_name"] != "studio"] == before
    assert any(row["scene_name"] == "studio" for row in after)


@pytest.mark.slow
def test_a_scene_that_is_gone_leaves_nothing(meta: Path, built: Path, tmp_path: Path) -> None:
    rest = {name: s for name, s in SCENES.items() if name != "studio"}
    build(written(meta, rest), built)
    build(meta, tmp_path / "fresh")
    assert release_of(built) == release_of(tmp_path / "fresh")
    assert "samples/studio" not in {row["unit"] for row in rows_of(built / "manifest.parquet")}
    assert not [p for p in files_below(built / "store") if "studio" in p.name]


# ---- dry run


def dry(meta: Path, out: Path, **sections: Any) -> set[tuple[str, str, str]]:
    """What a dry run says would run. It writes nothing."""
    before = files_below(out)
    outcome = Builder(config_of(meta, **sections), out).dry_run()
    assert files_below(out) == before
    return ran(outcome)


@pytest.mark.slow
def test_a_dry_run_of_nothing_yet_says_all_and_leaves_no_folder(meta: Path, out: Path) -> None:
    said = dry(meta, out)
    assert not out.exists()
    assert said == ran(build(meta, out))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sections",
    [
        {"generate": {"profile": "official"}},
        {"select": {"per_scene_and_task": 2}},
        {"export": {"split": "val"}},
        {"generate": {"rules": {"large_room_m2": 1e6, "gap_min_large_room_m": 0.3}}},
    ],
)
def test_a_dry_run_says_at_least_what_runs(sections: dict[str, Any], meta: Path, built: Path) -> None:
    said = dry(meta, built, **sections)
    done = ran(build(meta, built, **sections))
    told = {(stage, unit): why for stage, unit, why in said}
    assert all(told[stage, unit] in (why, "input") for stage, unit, why in done)  # what lies behind is "input"
    # Units behind a stage that runs are said to run too: whether its result changes is not known before.
    first = min(ORDER.index(stage) for stage, _, _ in done)
    assert {entry for entry in said - done if ORDER.index(entry[0]) <= first} == set()


@pytest.mark.slow
def test_a_dry_run_names_a_changed_scene_and_what_lies_behind_it(meta: Path, built: Path) -> None:
    written(meta, edited(office={"room_size": 99.0}))
    behind = {(stage, WHOLE, "input") for stage in BUILD_STAGES}
    assert dry(meta, built) == {(stage, "samples/office", "input") for stage in RUN_STAGES} | behind


@pytest.mark.slow
def test_a_dry_run_leaves_damage_for_the_build(meta: Path, out: Path) -> None:
    first = build(meta, out)
    victim = next(e for e in first.manifest if e.stage == "select")
    victim.output.path.write_bytes(b"damaged")
    assert ("select", victim.unit, "missing") in dry(meta, out)
    assert victim.output.path.read_bytes() == b"damaged"
    assert ran(build(meta, out)) == {("select", victim.unit, "missing")}


@pytest.mark.slow
def test_a_dry_run_expects_a_broken_scene_to_fail_again(meta: Path, out: Path) -> None:
    written(meta, edited(office={"room_size": -1}))
    build(meta, out)
    said = dry(meta, out)
    done = build(meta, out)
    assert said == ran(done) == {("unify", "samples/office", "missing")}


# ---- what is left out


@pytest.mark.slow
def test_a_broken_scene_is_tried_again_and_comes_back_when_mended(meta: Path, out: Path) -> None:
    written(meta, edited(office={"room_size": -1}))
    for _ in range(2):
        outcome = build(meta, out)
        assert [(q.unit, q.stage, q.finding) for q in outcome.quarantine] == [
            ("samples/office", "unify", "negative_area")
        ]
        assert rows_of(out / "quarantine.parquet") == [q.model_dump() for q in outcome.quarantine]
        row = next(
            r for r in rows_of(out / "manifest.parquet") if (r["stage"], r["unit"]) == ("unify", "samples/office")
        )
        assert (row["output"], row["path"]) == (None, None)
    written(meta, SCENES)
    assert not build(meta, out).quarantine
    assert rows_of(out / "quarantine.parquet") == []
    assert any(row["scene_name"] == "office" for row in rows_of(out / "release/data/test-00000-of-00001.parquet"))


@pytest.mark.slow
def test_what_people_wrote_of_a_scene_that_is_not_there_is_told(meta: Path, out: Path, tmp_path: Path) -> None:
    steps = '["Go forward until the sofa", "Turn left", "Go forward until the lamp"]'
    routes = tmp_path / "routes.jsonl"
    routes.write_text(
        f'{{"scene": "samples/attic", "start": "bed", "facing": "sofa", "steps": {steps}, "destination": "lamp"}}\n'
    )
    (left_out,) = build(meta, out, written={"indoor": str(routes)}).quarantine
    assert (left_out.unit, left_out.finding) == ("samples/attic", "written_without_scene")
    assert left_out.remedy == "correct the scene, or give its data root"
    assert len(release_of(out)) > 1, "the others are built"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["scenes", "file"])
def test_with_no_scene_left_the_last_release_stays(broken: str, meta: Path, built: Path) -> None:
    released = release_of(built)
    if broken == "scenes":
        written(meta, edited(**{name: {"room_size": -1} for name in SCENES}))
    else:
        (meta / FILE).write_bytes(b"")
    outcome = build(meta, built)
    assert len(outcome.quarantine) == (len(SCENES) if broken == "scenes" else 1)
    assert len(rows_of(built / "quarantine.parquet")) == len(outcome.quarantine)
    assert outcome.released is None
    assert not [e for e in outcome.manifest if e.stage == EXPORT]
    assert release_of(built) == released


@pytest.mark.slow
@pytest.mark.parametrize("error", [TemplateError("no such field"), ModelError("server_error", "down")])
def test_an_error_of_ours_that_is_not_the_builds_costs_one_scene(
    error: Scan2qaError, meta: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(context: StageContext) -> bytes:
        if context.unit == "samples/office":
            raise error
        return RUN_STAGES["generate"].run(context)

    monkeypatch.setitem(STAGES, "generate", replace(RUN_STAGES["generate"], run=run))
    (left_out,) = build(meta, out).quarantine
    assert (left_out.unit, left_out.stage, left_out.finding) == ("samples/office", "generate", "unexpected_error")


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["unify", "generate", "answer_counts", "select"])
def test_a_fault_of_the_program_costs_one_scene(
    stage: str, meta: Path, out: Path, first_build: Path, without_office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RUN_STAGES[stage]

    def run(context: StageContext) -> bytes:
        if context.unit == "samples/office":
            raise ZeroDivisionError("nothing to\ndivide by")
        return real.run(context)

    monkeypatch.setitem(STAGES, stage, replace(real, run=run))
    (left_out,) = build(meta, out).quarantine
    assert (left_out.unit, left_out.stage, left_out.finding) == ("samples/office", stage, "unexpected_error")
    assert "ZeroDivisionError: nothing to" in left_out.message
    assert "(test_builder.py:" in left_out.message
    assert left_out.remedy == "this is a fault in the code, at that line: report it with the file"
    if stage != "select":  # by then the balance has counted it
        assert release_of(out) == release_of(without_office)
    monkeypatch.undo()
    assert not build(meta, out).quarantine
    assert release_of(out) == release_of(first_build)


@pytest.mark.parametrize(
    ("roots", "said"),
    [
        ({}, "no data root: give --root reader=folder"),
        ({"waymo": "."}, "unknown reader 'waymo'; there are vsi_meta"),
        ({"vsi_meta": "none"}, "none: no such folder"),
    ],
)
def test_a_root_that_is_not_there_is_refused_at_once(roots: dict[str, str], said: str, out: Path) -> None:
    config = config_of(out).model_copy(update={"roots": {k: Path(v) for k, v in roots.items()}})
    for attempt in (Builder.check, Builder.build, Builder.dry_run):
        with pytest.raises(ConfigError) as error:
            attempt(Builder(config, out))
        assert str(error.value).startswith(said.partition(";")[0])
    assert release_of(out) == {}


# ---- one stage alone


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "pattern"),
    [
        *((stage, "office") for stage in RUN_STAGES),
        *(("generate", p) for p in ("samples/office", "off*", "*/offic?")),
    ],
)
def test_a_stage_alone_runs_for_the_scenes_asked_for(stage: str, pattern: str, meta: Path, built: Path) -> None:
    before = {(r["stage"], r["unit"]): r for r in rows_of(built / "manifest.parquet")}
    outcome = Builder(config_of(meta), built).stage(stage, [pattern])
    assert [(e.stage, e.unit, e.why) for e in outcome.manifest] == [(stage, "samples/office", "asked")]
    after = {(r["stage"], r["unit"]): r for r in rows_of(built / "manifest.parquet")}
    assert {key: row["output"] for key, row in after.items()} == {key: row["output"] for key, row in before.items()}
    assert {key for key, row in after.items() if row != before[key]} == {(stage, "samples/office")}


@pytest.mark.slow
def test_a_stage_alone_takes_the_new_configuration_and_the_next_build_goes_on_from_there(
    meta: Path, built: Path, tmp_path: Path
) -> None:
    sections = {"select": {"per_scene_and_task": 2}}
    Builder(config_of(meta, **sections), built).stage("select", ["office", "kitchen"])
    reasons = {e.unit: e.why for e in build(meta, built, **sections).manifest if e.stage == "select"}
    assert {unit for unit, why in reasons.items() if why == "reused"} == {"samples/office", "samples/kitchen"}
    build(meta, tmp_path / "fresh", **sections)
    assert release_of(built) == release_of(tmp_path / "fresh")


@pytest.mark.slow
def test_export_alone_writes_the_release_again(meta: Path, built: Path) -> None:
    released = release_of(built)
    (built / "release" / "README.md").unlink()
    outcome = Builder(config_of(meta), built).stage(EXPORT)
    assert [(e.stage, e.why) for e in outcome.manifest] == [(EXPORT, "asked")]
    assert release_of(built) == released
    assert len(rows_of(built / "manifest.parquet")) == len(RUN_STAGES) * len(SCENES) + len(BUILD_STAGES)


@pytest.mark.long
def test_export_brings_nothing_of_different_ages_together(meta: Path, built: Path, tmp_path: Path) -> None:
    released, fewer = release_of(built), {"select": {"per_scene_and_task": 2}}

    def refused(said: str, **sections: Any) -> None:
        with pytest.raises(ConfigError, match=said):
            Builder(config_of(meta, **sections), built).stage(EXPORT)
        assert release_of(built) == released

    refused(
        r"3 of 3 of answer_counts are out of date \(settings changed\): run stage answer_counts and those after it",
        **fewer,
    )
    for stage in ("answer_counts", "balance"):
        Builder(config_of(meta, **fewer), built).stage(stage)
    refused(r"3 of 3 of select are out of date \(settings changed\): run stage select and those after it", **fewer)
    Builder(config_of(meta, **fewer), built).stage("select", ["office"])
    refused(r"2 of 3 of select are out of date \(settings changed\)", **fewer)
    refused(r"3 of 3 of answer_counts are out of date \(made under other settings\)")
    for stage in ("select", "frames", "twins", *BUILD_STAGES):
        Builder(config_of(meta, **fewer), built).stage(stage)
    build(meta, tmp_path / "fresh", **fewer)
    released = release_of(built)
    assert released == release_of(tmp_path / "fresh")
    written(meta, {name: scene for name, scene in SCENES.items() if name != "office"})
    refused(r"1 of 3 of unify are out of date \(their raw data are gone\)", **fewer)
    written(meta, edited(office={"room_size": 33.0}))
    refused(r"1 of 3 of unify are out of date \(what they are made from changed\)", **fewer)


@pytest.mark.slow
def test_the_manifest_keeps_what_making_a_result_took(meta: Path, out: Path) -> None:
    seconds = {(e.stage, e.unit): e.seconds for e in build(meta, out).manifest}
    again = build(meta, out)
    assert {(e.stage, e.unit): round(e.seconds, 4) for e in again.manifest} == {
        key: round(value, 4) for key, value in seconds.items()
    }
    assert all(value > 0 for value in seconds.values())


@pytest.mark.slow
def test_what_was_left_out_stays_listed_after_a_stage_alone(meta: Path, out: Path) -> None:
    written(meta, edited(office={"room_size": -1}))
    (meta / "cut.json").write_text('{"hall": {')
    build(meta, out)
    listed = rows_of(out / "quarantine.parquet")
    assert [row["unit"] for row in listed] == ["cut/hall", "samples/office"]
    for stage in WANTED:
        Builder(config_of(meta), out).stage(stage, [] if stage in BUILD_STAGES else ["kitchen"])
        assert rows_of(out / "quarantine.parquet") == listed, stage
    written(meta, SCENES)
    (meta / "cut.json").unlink()
    Builder(config_of(meta), out).stage("unify", ["office"])
    assert rows_of(out / "quarantine.parquet") == []


@pytest.mark.slow
def test_a_scene_that_fails_in_a_stage_alone_is_out_of_the_next_release(
    meta: Path, built: Path, without_office: Path
) -> None:
    written(meta, edited(office={"room_size": -1}))
    assert len(Builder(config_of(meta), built).stage("unify", ["office"]).quarantine) == 1
    for stage in BUILD_STAGES:
        Builder(config_of(meta), built).stage(stage)
    assert release_of(built) == release_of(without_office)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "scenes", "said"),
    [
        ("blend", [], r"unknown stage 'blend'; did you mean blind\? There are unify, .*export"),
        ("generate", ["attic"], r"no scene matches 'attic'; scenes are named like samples/kitchen"),
        ("generate", ["office", "att*"], r"no scene matches 'att\*'"),
    ],
)
def test_a_stage_or_scene_that_is_not_known_is_refused(
    stage: str, scenes: list[str], said: str, meta: Path, built: Path
) -> None:
    before = files_below(built)
    with pytest.raises(ConfigError, match=said):
        Builder(config_of(meta), built).stage(stage, scenes)
    assert files_below(built) == before


@pytest.mark.parametrize("stage", RUN_STAGES)
def test_a_stage_alone_needs_a_build_before_it(stage: str, meta: Path, out: Path) -> None:
    with pytest.raises(ConfigError, match="run the whole build first"):
        Builder(config_of(meta), out).stage(stage)


@pytest.mark.slow
@pytest.mark.parametrize("stage", [name for name, stage in RUN_STAGES.items() if stage.reads_raw])
@pytest.mark.parametrize("scenes", [[], ["office"]])
def test_a_stage_alone_takes_in_no_scene_of_another_build(
    stage: str, scenes: list[str], meta: Path, built: Path, tmp_path: Path
) -> None:
    before = files_below(built)
    other = written(tmp_path / "other", {name: s | {"dataset": "other"} for name, s in SCENES.items()})
    with pytest.raises(ConfigError, match="none of its scenes are in these roots; give those that it was built from"):
        Builder(config_of(other), built).stage(stage, scenes)
    assert files_below(built) == before


@pytest.mark.slow
def test_a_stage_alone_that_reads_no_raw_data_needs_no_root(meta: Path, built: Path) -> None:
    config = config_of(meta).model_copy(update={"roots": {}})
    for stage in (name for name, stage in RUN_STAGES.items() if not stage.needs_roots):
        Builder(config, built).check(stage)
        outcome = Builder(config, built).stage(stage)
        assert {(e.stage, e.why) for e in outcome.manifest if e.output} == {(stage, "asked")}
        assert [e.unit for e in outcome.manifest] == UNITS
        assert outcome.quarantine == []


# ---- what the result depends on


@pytest.mark.slow
def test_two_processes_give_the_bytes_of_one(tmp_path: Path, out: Path) -> None:
    meta = written(tmp_path / "meta", perturbed(SCENES, 4))
    build(meta, out)

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:

        def in_pool(stage: str, batches: list[list[Job]]) -> Iterator[JobResult]:
            for batch in batches:
                yield from pool.map(run_job, batch)

        Builder(config_of(meta), tmp_path / "two", in_pool).build()
    assert release_of(tmp_path / "two") == release_of(out)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(times(1, 3)))
def test_the_order_of_work_changes_nothing(seed: int, meta: Path, built: Path, tmp_path: Path) -> None:
    def shuffled(stage: str, batches: list[list[Job]]) -> Iterable[JobResult]:
        jobs = [job for batch in batches for job in batch]
        random.Random(seed).shuffle(jobs)  # noqa: S311
        return map(run_job, jobs)

    Builder(config_of(meta), tmp_path / "other", shuffled).build()
    assert release_of(tmp_path / "other") == release_of(built)
    drop_seconds = [{k: v for k, v in row.items() if k != "seconds"} for row in rows_of(built / "manifest.parquet")]
    assert drop_seconds == [
        {k: v for k, v in row.items() if k != "seconds"} for row in rows_of(tmp_path / "other" / "manifest.parquet")
    ]


@pytest.mark.slow
def test_the_order_of_categories_changes_nothing(built: Path, tmp_path: Path) -> None:
    """Only the provenance, which has the digest of a scene's bytes, tells that its categories were turned round."""
    turned = {
        n: s | {k: dict(reversed(s[k].items())) for k in ("object_counts", "object_bbox")} for n, s in SCENES.items()
    }
    build(written(tmp_path / "categories", turned), tmp_path / "b")
    for name in ("data", "rejected"):
        file = f"{name}/test-00000-of-00001.parquet"
        assert release_of(tmp_path / "b")[file] == release_of(built)[file]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(times(1, 3)))
def test_another_process_order_of_scenes_and_hashes_give_the_same_bytes(seed: int, built: Path, tmp_path: Path) -> None:
    names = list(SCENES)
    random.Random(seed).shuffle(names)  # noqa: S311
    meta = written(tmp_path / "scenes", {name: SCENES[name] for name in names})
    folder = tmp_path / "other"
    folder.mkdir()
    own = {"PYTHONHASHSEED": "1", "PYTHONPATH": str(REPOSITORY), "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    subprocess.run([sys.executable, "-c", AGAIN, str(meta), "out"], check=True, cwd=folder, env=os.environ | own)
    assert release_of(folder / "out") == release_of(built)


@pytest.mark.slow
def test_progress_counts_every_unit(meta: Path, out: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    Builder(config_of(meta), out, progress=lambda *call: calls.append(call)).build()
    names = list(RUN_STAGES)
    for together in (f"{names[0]} to answer_counts", f"select to {names[-1]}"):
        assert [call[1:] for call in calls if call[0] == together] == [(i, len(SCENES)) for i in range(len(SCENES) + 1)]
    assert [call for call in calls if call[0] == EXPORT] == [(EXPORT, 0, 1), (EXPORT, 1, 1)]


def test_batches_hold_every_job_once_one_dataset_each_and_about_64(tmp_path: Path) -> None:
    units = [f"{dataset}/scene{i:04}" for dataset, n in (("a", 1000), ("b", 64), ("c", 1)) for i in range(n)]
    jobs = [Job(unit, (), {}, None, tmp_path) for unit in units]
    batches = batches_of(jobs)
    assert sorted(job.unit for batch in batches for job in batch) == sorted(units)
    assert all(len({job.unit.partition("/")[0] for job in batch}) == 1 for batch in batches)
    assert max(map(len, batches)) < 110
    backwards = batches_of(jobs[::-1])
    assert {frozenset(j.unit for j in b) for b in backwards} == {frozenset(j.unit for j in b) for b in batches}, (
        "the order of jobs decides no batch"
    )
    without = batches_of([job for job in jobs if job.unit != "a/scene0500"])
    kept = sum({j.unit for j in batch} - {"a/scene0500"} in [{j.unit for j in w} for w in without] for batch in batches)
    assert kept == len(batches), "one scene less moves no other to another batch"


def test_a_plan_by_which_nothing_runs_is_confirmed_as_a_build_would(meta: Path, built: Path) -> None:
    again = build(meta, built)
    builder = Builder(config_of(meta), built)
    plan = builder.dry_run()
    assert not units_due(plan)
    assert builder.confirm(plan)
    assert plan.released == again.released
    assert {entry.why for entry in read_manifest(built).values()} == {"reused"}
    assert builder.confirm(plan)
    build(meta, built)
    assert not builder.confirm(plan), "the manifest is another one by now"
    changed = Builder(config_of(meta, select={"per_scene_and_task": 1}), built)
    assert not changed.confirm(changed.dry_run())
    assert not Builder(config_of(meta), built).confirm(Outcome()), "a scene less is something else than nothing"
    (meta / "broken.json").write_bytes(b"")
    also = Builder(config_of(meta), built)
    assert also.confirm(also.dry_run())
    assert [row.finding for row in read_quarantine(built)] == ["empty_file"]
    nothing = Builder(config_of(meta), built / "new")
    assert not nothing.confirm(Outcome(quarantine=also.dry_run().quarantine)), "there is no build to confirm"
    unchanged = Builder(config_of(meta), built)
    assert unchanged.dry_run().counts() == unchanged.build().counts(), "what is reused is not planned again"
    entry = read_manifest(built)["generate", UNITS[0]]
    entry.output.path.write_bytes(b"damaged")
    assert ("generate", UNITS[0], "missing") in ran(Builder(config_of(meta), built).dry_run())


@pytest.mark.slow
def test_what_changes_while_a_build_runs_is_seen_by_the_next_one(meta: Path, out: Path) -> None:
    """What a stage reads beside its results, once it has run."""

    def beside(folder: Path) -> dict[str, str]:
        return {"notes": str((folder / "notes").exists())}

    def progress(label: str, done: int, total: int) -> None:
        if label == EXPORT:
            (out / "notes").touch()

    stages = STAGES | {"review": replace(STAGES["review"], other_files=beside)}
    Builder(config_of(meta), out, progress=progress, stages=stages).build()
    assert ("review", WHOLE, "input") in ran(Builder(config_of(meta), out, stages=stages).dry_run())


def test_a_stage_that_replaces_another_stands_for_it_behind_it(meta: Path) -> None:
    own = [
        Stage(name, ".zst", __name__, lambda _: b"", requires=("author",), replaces="author") for name in ("one", "two")
    ]
    off = replace(own[0], name="off", is_wanted=lambda _: False)
    at = [stage.name for stage in STAGES.values()].index("author") + 1
    stages = {stage.name: stage for stage in (*[*STAGES.values()][:at], *own, off, *[*STAGES.values()][at:])}
    config = config_of(meta)
    takers = ("author", "one", "two", "off", "answer_counts", "select")
    assert [source_of("author", stages[name], stages, config) for name in takers] == [
        "generate", "generate", "one", "two", "two", "two",
    ]  # fmt: skip
    assert source_of("generate", stages["select"], stages, config) == "generate"
    assert {"two", "select"} <= _stages_after(own[0], stages.values()) - {"author", "generate", "one"}
    assert "one" not in _stages_after(own[1], stages.values())
    behind = _stages_after(stages["video"], stages.values())
    assert {"observe", "describe", "figures"} & behind == {"describe", "figures"}, "what is observed takes no video"
