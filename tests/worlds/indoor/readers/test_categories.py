"""Curated categories: sound files, complete for ScanNet's label table, and reaching VSI-Bench's categories."""

import csv
import json
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.findings import Findings
from pipeline.worlds.indoor.readers.categories import benchmark_map, load_curation, map_bytes, normal
from pipeline.worlds.indoor.readers.objects import curated

# Categories of the whole release, 288 scenes, that none of the 122 scenes at hand has.
BEYOND = {
    "arkitscenes": set(),
    "scannet": {"guitar", "mattress", "oven", "piano", "washing machine"},
    "scannetpp": {"bucket", "clock", "cushion", "plant", "power strip"},
}
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
    assert set(load_curation(dataset).category.values()) == names | BEYOND[dataset]


@pytest.mark.real_data
def test_every_label_of_scannets_table_is_decided(real_vsi: Path) -> None:
    with (real_vsi.parent / "scannet" / "scannetv2-labels.combined.tsv").open(encoding="utf-8") as file:
        labels = {row["raw_category"] for row in csv.DictReader(file, delimiter="\t")}
    curation = load_curation("scannet")
    assert len(labels) == 607
    assert [label for label in labels if not curation.knows(label)] == []
    listed = {*curation.category, *curation.doubtful, *curation.left_out}
    assert listed == {normal(label) for label in labels}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dataset: other\ncategories: {}", "not 'made'"),
        ("dataset: made\ncategories: {chair: [chair], seat: [Chair]}", "more than one place: chair"),
        ("dataset: made\ncategories: {chair: [chair]}\nleft_out: {x: [chair]}", "more than one place: chair"),
        ("dataset: made\ncategories: {c: [a]}\ndoubtful: {c: [b]}\nleft_out: {x: [b]}", "more than one place: b"),
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
    assert curated(labels, load_curation("scannet"), findings) == ["chair", "chair", None, None, None]
    doubt, note = findings.items
    assert (doubt.name, doubt.severity, doubt.subject, doubt.measured) == ("doubtful_label", "doubt", "chair", 1)
    assert (note.name, note.severity, note.measured) == ("unknown_label", "note", 2)
    assert "'flour' (2)" in note.message


@pytest.mark.parametrize(
    ("label", "category", "in_doubt"),
    [  # by ids of ScanNet200, else nyu40, as the authors have it; and what `strict` makes of it
        ("doors", "door", True),
        ("stack of chairs", "chair", True),
        ("bookshelves", "bookshelf", True),
        ("lamp base", "lamp", True),
        ("mattress", "mattress", True),
        ("folded table", "table", True),
        ("pillows", "pillow", True),
        ("towels", "towel", True),
        ("alarm clock", None, True),
        ("potted plant", None, True),
        ("ceiling fan", None, True),
        ("desk lamp", None, True),
        ("closet door", None, True),
    ],
)
def test_scannet_labels_as_the_authors_count_them(label: str, category: str | None, in_doubt: bool) -> None:
    findings = Findings()
    assert curated([label], load_curation("scannet"), findings) == [category]
    assert [f.severity for f in findings.items] == ["doubt"] * in_doubt


def test_unlisted_labels_of_scannetpp_put_the_category_in_doubt_that_they_name() -> None:
    findings = Findings()
    labels = ["high chair", "high chair", "small ceiling light", "chairman portrait", "door handle", "office-chair"]
    assert curated(labels, load_curation("scannetpp"), findings) == [None, None, None, None, None, "chair"]
    found = [(f.name, f.severity, f.subject, f.measured) for f in findings.items]
    assert found == [
        ("unlisted_label", "doubt", "chair", 2.0),
        ("unlisted_label", "doubt", "ceiling light", 1.0),
        ("unknown_label", "note", "labels", 4.0),
    ]


def test_labels_of_no_list_go_by_the_datasets_benchmark_map(tmp_path: Path) -> None:
    rows = ("class,count,instance_map_to", "high chair,3,chair", "chair art,1,None", "table,9,None", "flour,2,")
    path = tmp_path / "metadata" / "semantic_benchmark" / "map_benchmark.csv"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(rows))
    mapped = benchmark_map(map_bytes(tmp_path / "data"))
    findings = Findings()
    labels = ["High  chair", "chair art", "table", "flour"]
    assert curated(labels, load_curation("scannetpp"), findings, mapped) == ["chair", None, "table", None]
    assert [(f.name, f.measured) for f in findings.items] == [("unknown_label", 1.0)]
    with pytest.raises(ConfigError, match="instance_map_to"):
        benchmark_map(b"class,other\nchair,1\n")
    assert benchmark_map(map_bytes(tmp_path / "data" / "elsewhere")) == {}
