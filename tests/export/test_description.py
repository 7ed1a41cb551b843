"""What a release says of itself to people and to machines: its card, its configurations, its terms, croissant.json."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard

from flows.build import Asked, prepare
from flows.options import BUILDS
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.blind.ask import REPLIES
from pipeline.core.tables import REJECTIONS
from pipeline.export.columns import SAID, said_of
from pipeline.export.croissant import CROISSANT_FILE
from pipeline.export.header import Part, header
from pipeline.export.release import TINY_PER_TASK, _tiny
from pipeline.export.review_section import REVIEW
from pipeline.export.tables import CORRECTIONS
from pipeline.export.terms import ALL_SAMPLES, NOT_STATED, PROCEDURAL, TERMS_FILE
from pipeline.worlds.indoor.samples.metadata import PLANS, sample_scene, write_sample_metadata
from tests.builds import build, rows_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its dependencies
    import mlcroissant

TEST = "test-00000-of-00001.parquet"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("described")
    write_sample_metadata(folder / "meta")
    stated = {"terms": {"samples": "CC0"}, "contact": "someone@example.org"}
    build(folder / "meta", folder / "out", export=stated)
    return (folder / "out" / "release").resolve()


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_every_public_column_is_said(benchmark: object) -> None:
    columns = benchmark.columns  # type: ignore[attr-defined]
    assert list(columns.said) == columns.schema.names
    assert said_of(benchmark, "data") == columns.said  # type: ignore[arg-type]
    assert benchmark.card.citation.startswith("@")  # type: ignore[attr-defined]


@pytest.mark.parametrize("schema", [REJECTIONS, REPLIES, REVIEW, CORRECTIONS])
def test_every_column_of_the_other_tables_is_said(schema: pa.Schema) -> None:
    assert set(schema.names) - {"message"} <= set(SAID)  # a server's words are not released


def test_full_and_debiased_are_configurations_as_the_public_benchmark_has_them() -> None:
    schema = pa.schema([pa.field("id", pa.int64())])
    parts = [Part("data", split, schema, n, 8 * n) for split, n in (("test", 20_000), ("debiased", 90), ("tiny", 5))]
    settings = {"export": {"pretty_name": "x"}}
    said = header([*parts, Part("rejected", "test", schema, 7, 56)], settings, BENCHMARKS["vsi"], was_reviewed=True)
    files = {c["config_name"]: {f["split"]: f["path"] for f in c["data_files"]} for c in said["configs"]}
    assert files["full"] == {"test": "data/test-*.parquet"}
    assert files["debiased"] == {"test": "data/debiased-*.parquet"}
    assert list(files["default"]) == ["test", "debiased", "tiny"]
    assert [info["splits"] for info in said["dataset_info"] if info["config_name"] == "debiased"] == [
        [{"name": "test", "num_bytes": 720, "num_examples": 90}]
    ]
    assert said["size_categories"] == ["10K<n<100K"]
    assert said["annotations_creators"] == ["machine-generated", "expert-generated"]


def test_the_card_is_one_that_the_hub_reads(release: Path) -> None:
    card = DatasetCard.load(release / "README.md")
    data = card.data.to_dict()
    assert data["license_link"] == TERMS_FILE
    assert data["size_categories"] == ["n<1K"]
    assert data["annotations_creators"] == ["machine-generated"]
    assert [config["config_name"] for config in data["configs"]][:2] == ["default", "full"]
    for config in data["configs"]:
        for part in config["data_files"]:
            assert list(release.glob(part["path"])), part
    for said in ("load_dataset(", "@article{yang2024think", "someone@example.org", "CC0", "No human review took place"):
        assert said in card.text
    for table in release.glob("*/*.parquet"):
        for name in pq.read_schema(table).names:
            assert f"| `{name}` |" in card.text


def test_samples_are_said_to_be_procedural_and_free(tmp_path: Path) -> None:
    """Though they have the form of datasets with terms of their own: a scene of the samples is called scannet/…"""
    scenes = json.dumps({"scene9001_00": sample_scene(PLANS[0]) | {"dataset": "scannet"}})
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "rooms.json").write_text(scenes, encoding="utf-8")
    build(tmp_path / "meta", tmp_path / "real")
    build(tmp_path / "meta", tmp_path / "out", samples=True)
    for name in ("README.md", TERMS_FILE):
        assert "ScanNet Terms of Use" in (tmp_path / "real" / "release" / name).read_text()
        text = (tmp_path / "out" / "release" / name).read_text()
        assert "ScanNet Terms of Use" not in text
        assert PROCEDURAL in text
        assert ALL_SAMPLES in text


def test_a_build_knows_its_own_samples(tmp_path: Path) -> None:
    write_sample_metadata(tmp_path / "out" / "samples" / "vsi_meta")
    write_sample_metadata(tmp_path / "elsewhere")

    def is_of_samples(*roots: Path, said: tuple[str, ...] = ()) -> bool:
        given = [f"vsi_meta={root}" for root in roots]
        return prepare(
            Asked(BUILDS / "vsi.yaml", given, said, tmp_path / "out", True, 1, False), write=False
        ).config.samples

    assert is_of_samples(tmp_path / "out" / "samples" / "vsi_meta")
    assert not is_of_samples(tmp_path / "elsewhere")
    assert is_of_samples(tmp_path / "elsewhere", said=("samples=true",))


def test_terms_that_nobody_stated_are_asked_for(release: Path, tmp_path: Path) -> None:
    assert "| CC0 |" in (release / TERMS_FILE).read_text()
    meta = tmp_path / "meta"
    write_sample_metadata(meta)
    (file,) = meta.glob("*.json")
    file.write_text(file.read_text().replace('"samples"', '"mine"'))
    build(meta, tmp_path / "out")
    assert NOT_STATED in (tmp_path / "out" / "release" / TERMS_FILE).read_text()
    assert "Contact: not stated yet" in (tmp_path / "out" / "release" / "README.md").read_text()


@pytest.mark.filterwarnings("ignore")  # of mlcroissant's own packages
def test_croissant_says_what_is_there(release: Path) -> None:
    dataset = mlcroissant.Dataset(jsonld=str(release / CROISSANT_FILE))
    assert not dataset.metadata.ctx.issues.errors
    described = json.loads((release / CROISSANT_FILE).read_bytes())
    sums = dict(reversed(line.split("  ")) for line in (release / "checksums.sha256").read_text().splitlines())
    assert {one["@id"]: one["sha256"] for one in described["distribution"]} == {
        name: digest for name, digest in sums.items() if name.endswith(".parquet")
    }
    records = list(dataset.records("data/test"))
    rows = rows_of(release / "data" / TEST)
    assert [record["data/test/id"] for record in records] == [row["id"] for row in rows]
    assert records[0]["data/test/question"].decode() == rows[0]["question"]


def test_tiny_has_the_lowest_ids_of_each_task(release: Path) -> None:
    ids = list(range(200))
    asked = pa.table({"id": ids, "task": ["a" if i % 4 else "b" for i in ids]})
    tiny = _tiny(asked).to_pylist()
    assert [row["id"] for row in tiny if row["task"] == "a"] == [i for i in ids if i % 4][:TINY_PER_TASK]
    assert [row["id"] for row in tiny if row["task"] == "b"] == [i for i in ids if not i % 4]
    assert [row["id"] for row in tiny] == sorted(row["id"] for row in tiny)
    whole, few = (rows_of(release / "data" / name) for name in (TEST, TEST.replace("test", "tiny")))
    assert all(row in whole for row in few)
    header = yaml.safe_load((release / "README.md").read_text().split("---\n")[1])
    assert header["configs"][0]["data_files"][-1] == {"split": "tiny", "path": "data/tiny-*.parquet"}
