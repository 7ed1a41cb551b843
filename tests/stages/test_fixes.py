"""Corrections in builds: whom they touch, what they cost where they do not fit, and who is told."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import ConfigError
from pipeline.engine.manifest import Outcome, read_lineage, read_manifest
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from tests.builds import build, config_of, release_of, rows_of
from tests.worlds.indoor.readers.broken_metadata import write_scenes

ENTRY = (
    "- {{id: {id}, scene: {scene}, target: count, of: chair, expect: {expect}, set: {set},"
    " why: 'two | hide <b>', who: me, date: 2026-01-31}}\n"
)
SCENES = {plan.name: sample_scene(plan) for plan in PLANS if plan.name in ("bedroom", "kitchen", "office")}
CHAIRS = SCENES["kitchen"]["object_counts"]["chair"]
PROVENANCE = "release/provenance/test-00000-of-00001.parquet"


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    return write_scenes(tmp_path / "meta" / "rooms.json", SCENES)


def entry(number: int = 1, scene: str = "kitchen", expect: int = CHAIRS, now: int = 7) -> str:
    return ENTRY.format(id=f"samples-{number:04}", scene=scene, expect=expect, set=now)


def built(meta: Path, out: Path, *entries: str, **sections: Any) -> Outcome:
    folder = meta.parent / "fixes"
    folder.mkdir(exist_ok=True)
    (folder / "samples.yaml").write_text("".join(entries), encoding="utf-8")
    return build(meta, out, fixes={"folder": str(folder)}, **sections)


def ran(outcome: Outcome) -> set[str]:
    return {e.unit for e in outcome.manifest if e.why != "reused" and e.unit != "build/all"}


@pytest.mark.slow
def test_a_fix_computes_its_scene_alone_and_is_named_by_all_that_rests_on_it(meta: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    built(meta, out)
    assert ran(built(meta, out)) == set()
    outcome = built(meta, out, entry())
    assert ran(outcome) == {"samples/kitchen"}
    assert not [e for e in outcome.manifest if e.stage == "unify" and e.why != "reused"]
    rows = rows_of(out / PROVENANCE)
    named = {(r["scene"], r["task"]) for r in rows if r["fixes"]}
    assert named == {("samples/kitchen", "object_counting")}, "boxes of two of them are missing"
    (chairs,) = [r for r in rows if r["fixes"]]
    assert (chairs["answer"], chairs["fixes"]) == ("7", ["samples-0001"])
    card = (out / "release" / "README.md").read_text(encoding="utf-8")
    assert (
        "| samples-0001 | samples/kitchen | count of chair 3 -\\> 7 | two \\| hide \\<b\\> | me, 2026-01-31 |" in card
    )
    parts = read_manifest(out)["fix", "samples/kitchen"].parts
    assert set(parts) == {"results of unify", "fix samples-0001"}
    assert ran(built(meta, out)) == {"samples/kitchen"}, "and back"


@pytest.mark.slow
def test_a_fix_that_does_not_fit_costs_its_scene(meta: Path, tmp_path: Path) -> None:
    outcome = built(meta, tmp_path / "out", entry(expect=9), entry(2, "bedroom", 1, 2), entry(3, "attic"))
    told = {q.unit: (q.stage, q.finding, q.message) for q in outcome.quarantine}
    assert told == {
        "samples/kitchen": (
            "fix",
            "fix_does_not_fit",
            f"fix samples-0001 (line 1): count of chair: expected 9, found {CHAIRS}",
        ),
        "samples/attic": ("unify", "fix_without_scene", "fix samples-0003 (line 3): no such scene in this build"),
    }
    assert all(q.file.endswith("fixes/samples.yaml") for q in outcome.quarantine)
    scenes = {r["scene"] for r in rows_of(tmp_path / "out" / PROVENANCE)}
    assert "samples/kitchen" not in scenes
    assert len(scenes) == len(SCENES) - 1


@pytest.mark.slow
def test_a_scene_can_be_left_out(meta: Path, tmp_path: Path) -> None:
    drop = "- {id: samples-0001, scene: office, target: drop_scene, why: blurred, who: me, date: 2026-01-31}\n"
    outcome = built(meta, tmp_path / "out", drop)
    (left,) = outcome.quarantine
    assert (left.unit, left.finding) == ("samples/office", "dropped_by_fix")
    assert "blurred" in left.message


@pytest.mark.slow
def test_the_profile_that_repeats_a_release_takes_no_fixes(meta: Path, tmp_path: Path) -> None:
    official = {"generate": {"profile": "official"}}
    built(meta, tmp_path / "one", **official)
    built(meta, tmp_path / "two", entry(expect=9), **official)
    assert release_of(tmp_path / "one") == release_of(tmp_path / "two")
    assert (
        b"None: profile `official` takes the metadata as they are published"
        in release_of(tmp_path / "one")["README.md"]
    )
    folder = {"folder": str(meta.parent / "fixes"), "apply": True}
    assert len(build(meta, tmp_path / "three", fixes=folder, **official).quarantine) == 1


def test_a_file_that_is_wrong_stops_a_build_before_it_starts(meta: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"samples\.yaml: line 1: fix samples-0001: no set"):
        built(meta, tmp_path / "out", entry().replace("set:", "sat:"))
    with pytest.raises(ConfigError, match="no such folder of fixes"):
        build(meta, tmp_path / "out", fixes={"folder": str(tmp_path / "none")})


@pytest.mark.slow
def test_published_answers_put_no_fixed_value_in_doubt(meta: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.jsonl"
    text = "How many chair(s) are in this room?"
    known.write_text(
        '{"id": 1, "dataset": "samples", "scene_name": "kitchen", "question_type": "object_counting",'
        f' "question": "{text}", "options": null, "ground_truth": "5"}}\n',
        encoding="utf-8",
    )

    def asked(*entries: str) -> list[str]:
        built(meta, tmp_path / "out", *entries, known=str(known))
        rows = rows_of(tmp_path / "out" / PROVENANCE)
        return [r["answer"] for r in rows if r["scene"] == "samples/kitchen" and r["operands"] == ["chair"]]

    assert asked() == []
    assert asked(entry()) == ["7"]


@pytest.mark.slow
def test_a_doubt_that_somebody_looked_at_is_none(tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    scene = sample_scene(PLANS[1])
    scene["object_bbox"]["refrigerator"][0]["axesLengths"] = [9.0, 0.6, 0.6]
    for key in ("min", "max"):
        del scene["object_bbox"]["refrigerator"][0][key]
    write_scenes(tmp_path / "meta" / "rooms.json", {"kitchen": scene})
    settle = (
        "- {id: samples-0001, scene: kitchen, target: doubt, of: refrigerator, expect: implausible_size, set: null,"
        " why: a row of refrigerators in a canteen, who: me, date: 2026-01-31}\n"
    )

    def sizes(*entries: str) -> list[str]:
        assert built(tmp_path / "meta", tmp_path / "out", *entries).quarantine == []
        rows = rows_of(tmp_path / "out" / PROVENANCE)
        return [r["answer"] for r in rows if (r["task"], r["operands"]) == ("object_size_estimation", ["refrigerator"])]

    assert sizes() == []
    assert sizes(settle) == ["900"]
    outcome = built(tmp_path / "meta", tmp_path / "out", settle.replace("of: refrigerator", "of: door"))
    assert "doubt about door: expected implausible_size, found none" in outcome.quarantine[0].message


@pytest.mark.slow
def test_the_manifest_knows_what_is_behind_its_digests(meta: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    built(meta, out)
    entries, made_of = read_manifest(out), read_lineage(out)
    assert {e.config for e in entries.values()} == set(made_of.config)
    assert {e.code for e in entries.values()} == set(made_of.code)
    select = entries["select", "samples/kitchen"]
    assert made_of.config[select.config]["per_scene_and_task"] == 6
    assert "pipeline/questions/selection.py" in made_of.code[select.code]
    Builder(config_of(meta, fixes={"folder": str(meta.parent / "fixes")}), out).stage("generate", ["kitchen"])
    assert read_lineage(out) == made_of, "what was not run again is kept"
