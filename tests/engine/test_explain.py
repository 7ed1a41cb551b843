"""Why a stage runs is told by name."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.engine.change_causes import (
    UNKNOWN_INPUTS,
    Difference,
    ReleaseLineage,
    _of_scene,
    _relevant,
    differences,
    explained,
    with_causes,
)
from pipeline.engine.manifest import Entry, Lineage, read_lineage, read_manifest
from pipeline.engine.plan import WHOLE
from pipeline.engine.store import Result
from pipeline.release.comparison import LoadedRelease, QuestionChange, ReleasedQuestion
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from tests.builds import build, config_of
from tests.worlds.indoor.readers.broken_metadata import write_scenes

BEFORE = Entry("generate", "a/b", "k1", "i1", "c1", "d1", "new", parts={"results of observe": "1", "fix x-1": "1"})
THEN = Lineage({"c1": {"rules": {"margin": 10}, "tasks": ["a"]}}, {"d1": {"pipeline/a.py": "1", "numpy": "2.1"}})
NOW = Lineage(
    {"c2": {"rules": {"margin": 15}, "tasks": ["a"]}},
    {
        "d2": {"pipeline/a.py": "2", "numpy": "2.2", "pipeline/b.py": "1"},
        "d4": {"pipeline/a.py": "1", "pipeline/b.py": "1"},
    },
)


@pytest.mark.parametrize(
    ("changed", "reasons"),
    [
        ({"parts": {"results of observe": "2", "fix x-1": "1"}}, ("input: results of observe changed",)),
        ({"parts": {"results of observe": "1"}}, ("input: fix x-1 removed",)),
        ({"parts": BEFORE.parts | {"fix x-2": "1"}}, ("input: fix x-2 added",)),
        ({"key": ""}, (UNKNOWN_INPUTS,)),
        ({"config": "c2", "inputs": "i1"}, ("config: generate.rules.margin 10 -> 15",)),
        ({"code": "d2", "inputs": "i1"}, ("code: numpy 2.1 -> 2.2", "code: pipeline/a.py changed")),
        ({"code": "d4", "inputs": "i1"}, ("code: numpy is no longer used", "code: pipeline/b.py is new")),
        (
            {"code": "d4", "config": "c2", "inputs": "i1"},
            ("config: generate.rules.margin 10 -> 15",),
        ),
        ({"code": "d3", "inputs": "i1"}, ("code: changed, which modules is not known",)),
        ({"inputs": "i1", "why": "missing"}, ("missing: its result, or what it wrote beside it, is not whole",)),
    ],
)
def test_each_difference_has_a_name(changed: dict[str, object], reasons: tuple[str, ...]) -> None:
    before = replace(BEFORE, output=object())
    after = replace(BEFORE, **({"key": "k2", "inputs": "i2", "why": "input"} | changed))
    assert explained(after, before, NOW, THEN).reasons == reasons


def test_a_setting_is_one_cause_under_the_key_that_one_types() -> None:
    before = {"select": {"cap": 6}, "generate": {"rules": {}}, "form": {"size": (640, 480)}, "rules": {"margin": 10.0}}
    after = {"select": {"cap": 2}, "generate": {"rules": {"margin": 15}}, "form": {"size": [640, 480]}}
    lineages = (Lineage({"c1": before}, {}), Lineage({"c2": after | {"rules": {"margin": 15.0}, "own": 1}}, {}))
    asked = replace(BEFORE, stage="export", key="k2", why="config")
    assert differences(asked, replace(asked, config="c2"), *lineages) == (
        "config: select.cap 6 -> 2",
        "config: generate.rules.margin 10.0 -> 15.0",
        "config: export.own not set -> 1",
    )


def test_what_never_ran_and_what_is_there() -> None:
    assert explained(BEFORE, None, NOW, THEN).reasons == ("never run before",)
    assert explained(replace(BEFORE, why="reused"), BEFORE, NOW, THEN).reasons == ()


@pytest.mark.parametrize(("part", "causes"), [("2", ("other scenes, by stage balance",)), ("1", ("not known",))])
def test_a_question_that_other_scenes_have_changed_names_the_stage_that_looks_at_all(
    part: str, causes: tuple[str, ...]
) -> None:
    def lineage(part: str, digest: str) -> ReleaseLineage:
        rows = [
            replace(BEFORE, stage="select", parts={"results of balance": part}, output=Result(digest, Path(), "")),
            replace(BEFORE, stage="balance", unit=WHOLE, output=Result("b", Path(), "")),
        ]
        return ReleaseLineage({(row.stage, row.unit): row for row in rows}, THEN)

    release = LoadedRelease(Path(), "", {}, 0, 0, None)
    change = QuestionChange(1, "added", None, ReleasedQuestion("a/b", "task", (), "?", (), "1", (), {}))
    before, after = (release, lineage("1", "s1")), (release, lineage(part, "s2"))
    assert [c.causes for c in with_causes([change], before, after, ["balance", "select"])] == [causes]


@pytest.mark.parametrize(
    ("about", "fixes"),
    [
        ("chair", ("fix f1 (taken back)",)),
        ("tv", ("fix f2",)),
        ("lamp", ("fix f1 (taken back)", "fix f2")),  # which none of them names
    ],
)
def test_without_a_lineage_the_fixes_of_the_scene_and_what_it_is_made_from_are_the_causes(
    about: str, fixes: tuple[str, ...]
) -> None:
    def release(name: str, **fixed: tuple[str, str]) -> tuple[LoadedRelease, ReleaseLineage]:
        told = {fix: {"scene": scene, "subjects": [subject]} for fix, (scene, subject) in fixed.items()}
        return LoadedRelease(Path(), name, {}, 0, 0, None, told), ReleaseLineage({}, THEN)

    asked = ReleasedQuestion("a/b", "task", (about,), "?", (), "1", (), {"raw data": "1", "code": "1"})
    change = QuestionChange(1, "answer changed", asked, replace(asked, made_from={"raw data": "2", "code": "1"}))
    before = release("one", f1=("a/b", "chair"), f3=("a/b", about))
    after = release("two", f2=("a/b", "tv"), f3=("a/b", about), f4=("c/d", about))
    assert with_causes([change], before, after, [])[0].causes == (*fixes, "raw data changed")
    elsewhere, beside = replace(asked, scene="c/d"), replace(asked, task="other", made_from={"raw data": "2"})
    for there, cause in (({5: elsewhere}, "the scene is new"), ({5: elsewhere, 6: beside}, "raw data changed")):
        one = (replace(before[0], questions=there), before[1])
        assert with_causes([replace(change, before=None, after=asked)], one, after, [])[0].causes == (*fixes, cause)


def test_of_changed_templates_a_question_names_its_own_alone() -> None:
    asked = ReleasedQuestion("a/b", "task", (), "?", (), "1", (), {})
    found = [Difference("generate", f"config: generate.templates.{name} 1 -> 2") for name in ("task", "other")]
    assert _relevant(asked, found, {}) == ["template of task"]


def test_a_scene_that_is_new_or_gone_is_told_once() -> None:
    there = ReleaseLineage({(stage, "a/b"): replace(BEFORE, stage=stage) for stage in ("unify", "select")}, THEN)
    for then, now, told in ((there, ReleaseLineage(), "gone"), (ReleaseLineage(), there, "new")):
        found = [*_of_scene("a/b", then, now, ["unify", "select"])]
        assert found == [Difference("unify", f"input: the scene is {told}")]


@pytest.mark.slow
def test_a_build_and_a_stage_say_what_would_run_and_run_nothing(tmp_path: Path) -> None:
    meta, out = tmp_path / "meta", tmp_path / "out"
    meta.mkdir()
    scenes = {plan.name: sample_scene(plan) for plan in PLANS[:2]}
    write_scenes(meta / "rooms.json", scenes)
    build(meta, out)
    manifest = (out / "manifest.parquet").read_bytes()
    assert {reasons for _, reasons in Builder(config_of(meta), out).explain()} == {()}
    scenes["kitchen"]["object_bbox"]["stove"][0]["centroid"][0] += 0.5
    write_scenes(meta / "rooms.json", scenes)
    told = {(e.stage, e.unit): reasons for e, reasons in Builder(config_of(meta), out).explain() if reasons}
    assert told["unify", "samples/kitchen"] == ("input: raw data changed",)
    assert told["fix", "samples/kitchen"] == (UNKNOWN_INPUTS,)
    assert not [unit for _, unit in told if unit == "samples/bedroom"]
    config = config_of(meta, select={"per_scene_and_task": 10})
    for stage in ("answer_counts", "select"):
        (one,) = Builder(config, out).explain(stage, ["kitchen"])
        assert "config: select.per_scene_and_task 6 -> 10" in one.reasons
    (same,) = Builder(config_of(meta), out).explain("generate", ["kitchen"])
    assert same.reasons == ()
    assert (out / "manifest.parquet").read_bytes() == manifest


@pytest.mark.slow
def test_a_build_that_goes_on_after_a_stop_keeps_what_all_its_results_were_made_from(tmp_path: Path) -> None:
    meta, out = tmp_path / "meta", tmp_path / "out"
    write_scenes(meta / "rooms.json", {plan.name: sample_scene(plan) for plan in PLANS[:2]})
    build(meta, out)
    (out / "manifest.parquet").unlink()  # a stop comes before it is written
    builder = Builder(config_of(meta), out)
    builder.dry_run()
    builder.build()
    entries, made_of = read_manifest(out).values(), read_lineage(out)
    assert {entry.code for entry in entries} == set(made_of.code)
    assert {entry.config for entry in entries} == set(made_of.config)
