"""Curated categories: sound files, complete for ScanNet's label table, and reaching VSI-Bench's categories."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.findings import Findings
from pipeline.worlds.indoor.readers.categories import load_curation
from pipeline.worlds.indoor.readers.objects import curated

DATASETS = ("arkitscenes", "scannet", "scannetpp")


@pytest.mark.parametrize(
    ("dataset", "label", "category"),
    [
        ("scannet", "trash can", "trash bin"),
        ("scannet", "recycling bin", "trash bin"),
        ("scannet", "mouse", "computer mouse"),
        ("scannet", "desk", "table"),
        ("scannet", "office chair", "chair"),
        ("scannet", "Office  Chair ", "chair"),
        ("scannet", "couch", "sofa"),
        ("scannetpp", "ceiling lamp", "ceiling light"),
        ("scannetpp", "mouse", "computer mouse"),
        ("scannetpp", "office chair", "chair"),
        ("arkitscenes", "tv_monitor", "tv"),
        ("scannet", "wall", None),
        ("scannetpp", "ceiling", None),
        ("arkitscenes", "sink", None),
        ("arkitscenes", "shelf", None),
        ("arkitscenes", "oven", None),
        ("arkitscenes", "cabinet", None),
    ],
)
def test_remapping_as_vsi_bench_has_it(dataset: str, label: str, category: str | None) -> None:
    assert curated([label], load_curation(dataset), Findings()) == [category]
    assert load_curation(dataset).knows(label)


@pytest.mark.real_data
@pytest.mark.parametrize("dataset", DATASETS)
def test_the_categories_are_those_of_the_released_metadata(real_vsi: Path, dataset: str) -> None:
    released = json.loads((real_vsi / "meta_info" / f"{dataset}_meta_info_val.json").read_text())
    names = {name for scene in released.values() for name in scene["object_counts"]}
    assert set(load_curation(dataset).category.values()) == names


@pytest.mark.real_data
def test_every_label_of_scannets_table_is_decided(real_vsi: Path) -> None:
    with (real_vsi.parent / "scannet" / "scannetv2-labels.combined.tsv").open(encoding="utf-8") as file:
        labels = {row["raw_category"] for row in csv.DictReader(file, delimiter="\t")}
    curation = load_curation("scannet")
    assert len(labels) == 607
    assert [label for label in labels if not curation.knows(label)] == []
    listed = {*curation.category, *curation.doubtful, *curation.left_out}
    assert listed == {" ".join(label.split()) for label in labels}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dataset: other\ncategories: {}", "not 'made'"),
        ("dataset: made\ncategories: {chair: [chair], seat: [Chair]}", "more than one place: chair"),
        ("dataset: made\ncategories: {chair: [chair]}\nleft_out: {x: [chair]}", "more than one place: chair"),
        ("dataset: made\ncategories: {}\ndoubtful: {chair: [stool]}", "no category"),
        ("dataset: made\ncategories: {'chair, red': [chair]}", "cannot stand in a question"),
        ("dataset: made\ncategories: {chair: chair}", "categories.chair"),
        ("dataset: made\ncategories: {}\nremap: {}", "remap"),
        ("dataset: [", "YAML"),
    ],
)
def test_files_that_contradict_themselves_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "made.yaml").write_text(text)
    with pytest.raises(ConfigError, match=says):
        load_curation("made", tmp_path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        load_curation("none", tmp_path)


def test_what_is_not_curated_is_told_and_not_silent() -> None:
    findings = Findings()
    labels = ["chair", "stack of chairs", "flour", "flour", "wall"]
    assert curated(labels, load_curation("scannet"), findings) == ["chair", None, None, None, None]
    doubt, note = findings.items
    assert (doubt.name, doubt.severity, doubt.subject, doubt.measured) == ("doubtful_label", "doubt", "chair", 1)
    assert (note.name, note.severity, note.measured) == ("unknown_label", "note", 2)
    assert "'flour' (2)" in note.message
