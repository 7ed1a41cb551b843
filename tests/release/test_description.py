"""What a release says of itself to people and to machines: its card, its configurations, its terms, croissant.json."""

import io
import json
import re
from collections import Counter
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard
from PIL import Image

from flows.orchestration.build import BuildRequest, resolve_build
from flows.orchestration.folders import BUILDS
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.blind import attack
from pipeline.blind.ask import REPLIES
from pipeline.blind.totals import FINE_TUNED
from pipeline.core.files import write_atomically
from pipeline.core.identity import shard_of
from pipeline.core.parquet import table_bytes
from pipeline.core.schema import SCHEMA_VERSION
from pipeline.core.tables import QUESTIONS, REJECTIONS, TINY_PER_TASK
from pipeline.release import contents
from pipeline.release.card import (
    ATTACKERS,
    SCENES_TOLD,
    _caps,
    _finding_lines,
    _of_counts,
    _of_review,
    _of_tables,
    known_weaknesses,
    remarks,
    section,
    text_only_context,
)
from pipeline.release.contents import _one_per_group, added, tiny_questions, with_turns
from pipeline.release.media import media_table, videos_folder
from pipeline.release.metadata import CROISSANT_FILE, CroissantPart, croissant, header
from pipeline.release.tables import COLUMN_DOCS, CORRECTIONS, REVIEW, accepted, columns_of
from pipeline.release.terms import ALL_SAMPLES, NOT_STATED, PROCEDURAL, TERMS_FILE, licences, passed_on
from pipeline.release.writer import _states_of
from pipeline.review.mends import QuestionEdit
from pipeline.review.reviewed import QuestionStatus, Reviewed
from pipeline.samples.indoor.metadata import PLANS, sample_scene, write_sample_metadata
from tests.builds import build, rows_of

TEST = "test-00000-of-00001.parquet"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("described")
    write_sample_metadata(folder / "meta")
    stated = {"terms": {"samples": "CC0"}, "contact": "someone@example.org\n# <b>now</b>"}
    build(folder / "meta", folder / "out", export=stated)
    return (folder / "out" / "release").resolve()


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_every_public_column_is_said(benchmark: Any) -> None:
    columns = benchmark.columns
    assert list(columns.descriptions) == columns.schema.names
    for folder in ("data", "32_frame", *([columns.splits.folder] if columns.splits else [])):
        assert columns_of(benchmark, folder) == columns.descriptions
    assert columns_of(benchmark, "rejected") == COLUMN_DOCS
    assert benchmark.card.citation.startswith("@")


@pytest.mark.parametrize("schema", [REJECTIONS, REPLIES, REVIEW, CORRECTIONS])
def test_every_column_of_the_other_tables_is_said(schema: pa.Schema) -> None:
    assert set(schema.names) - {"message"} <= set(COLUMN_DOCS)  # a server's words are not released


def test_full_and_debiased_are_configurations_as_the_public_benchmark_has_them() -> None:
    schema = pa.schema([pa.field("id", pa.int64())])
    parts = [
        CroissantPart("data", split, schema, n, 8 * n)
        for split, n in (("test", 20_000), ("debiased", 90), ("one_per_scene", 9), ("tiny", 5))
    ]
    settings = {"export": {"pretty_name": "x"}}
    said = header(
        [*parts, CroissantPart("rejected", "test", schema, 7, 56)], settings, BENCHMARKS["vsi"], was_reviewed=True
    )
    files = {c["config_name"]: {f["split"]: f["path"] for f in c["data_files"]} for c in said["configs"]}
    assert files["full"] == {"test": "data/test-*.parquet"}
    assert files["debiased"] == {"test": "data/debiased-*.parquet"}
    assert list(files["default"]) == ["test", "debiased", "one_per_scene", "tiny"]
    assert [info["splits"] for info in said["dataset_info"] if info["config_name"] == "debiased"] == [
        [{"name": "test", "num_bytes": 720, "num_examples": 90}]
    ]
    assert said["size_categories"] == ["10K<n<100K"]
    assert said["annotations_creators"] == ["machine-generated", "expert-generated"]


def test_an_empty_split_is_no_configuration() -> None:
    """`datasets` loads nothing of a configuration one of whose splits is empty."""
    schema = pa.schema([pa.field("id", pa.int64())])
    rows = {("data", "test"): 9, ("data", "debiased"): 0, ("data", "tiny"): 9, ("rejected", "test"): 0}
    parts = [CroissantPart(folder, split, schema, n, 8 * n) for (folder, split), n in rows.items()]
    said = header(parts, {"export": {"pretty_name": "x"}}, BENCHMARKS["vsi"], was_reviewed=False)
    for key in ("configs", "dataset_info"):
        assert [one["config_name"] for one in said[key]] == ["default", "full"]
    assert [split["name"] for split in said["dataset_info"][0]["splits"]] == ["test", "tiny"]
    nothing = [CroissantPart("data", "test", schema, 0, 0)]
    said = header(nothing, {"export": {"pretty_name": "x"}}, BENCHMARKS["vsi"], was_reviewed=False)
    assert [one["config_name"] for one in said["configs"]] == ["default"]


def test_pictures_that_questions_show_are_pictures_to_datasets(tmp_path: Path) -> None:
    raw = io.BytesIO()
    Image.new("RGB", (3, 2), (255, 0, 0)).save(raw, "PNG")
    (tmp_path / "views").mkdir()
    files = ["views/b.png", "views/a.png", "maps/1.png"]
    for file in files[:2]:
        (tmp_path / file).write_bytes(raw.getvalue())
    told = media_table(tmp_path, "views", "test", files)
    assert told is not None
    assert media_table(tmp_path, "legends", "test", files) is None
    parts = [CroissantPart("data", "test", pa.schema([pa.field("id", pa.int64())]), 1, 8)]
    write_atomically(tmp_path / parts[0].files[0], table_bytes(pa.table({"id": [1]})))
    head = header(parts, {"export": {"pretty_name": "x"}}, BENCHMARKS["ergeobench"], was_reviewed=False, images=[told])
    (tmp_path / "README.md").write_text(f"---\n{yaml.safe_dump(head)}---\n")
    from datasets import load_dataset  # it takes a second

    loaded = load_dataset(str(tmp_path), "views", split="test", cache_dir=str(tmp_path / "cache"))
    assert [row["file"] for row in loaded] == ["views/a.png", "views/b.png"]
    assert all(row["image"].size == (3, 2) for row in loaded)
    assert media_table(tmp_path, "views", "test", files) == told, "the same bytes again"
    many = media_table(tmp_path, "views", "test", files, most_bytes=len(raw.getvalue()))
    assert many is not None
    assert [*many.files] == [f"views/test-{n:05d}-of-00002.parquet" for n in range(2)]
    held = [pq.read_table(tmp_path / file)["file"].to_pylist() for file in many.files]
    assert held == [[file for file in sorted(files[:2]) if shard_of(file, 2) == n] for n in range(2)]
    assert many.num_rows == told.num_rows


def test_videos_are_taken_from_beside_a_release_unless_it_alone_has_those_of_all_datasets(tmp_path: Path) -> None:
    release, beside = tmp_path / "release", tmp_path / "videos"
    assert videos_folder(release) == beside
    (release / "media" / "one").mkdir(parents=True)
    assert videos_folder(release) == release / "media", "copied without what stood beside it"
    (beside / "two").mkdir(parents=True)
    assert videos_folder(release) == release / "media"
    (beside / "one").mkdir()
    assert videos_folder(release) == beside


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
    for said in (
        "load_dataset(",
        "@article{yang2024think",
        r"someone@example.org \# \<b\>now",
        "CC0",
        "No human review took place",
    ):
        assert said in card.text
    for table in release.glob("*/*.parquet"):
        for name in pq.read_schema(table).names:
            assert f"| `{name}` |" in card.text


def _listed(name: str) -> Any:
    return json.loads((files("datasets.utils.resources") / f"{name}.json").read_text(encoding="utf-8"))


def test_the_words_of_the_header_are_those_of_the_hub(release: Path) -> None:
    """As far as its packages list them: its validator itself is asked over the network."""
    said = yaml.safe_load((release / "README.md").read_text().split("---\n")[1])
    from datasets.utils.metadata import known_task_ids

    assert [*said][:2] == ["pretty_name", "license"], "in the order of reading"
    assert set(said["task_categories"]) <= set(known_task_ids)
    assert set(said["size_categories"]) <= set(_listed("size_categories"))
    assert set(said["annotations_creators"]) <= set(_listed("creators")["annotations"])
    assert set(said["language_creators"]) <= set(_listed("creators")["language"])
    assert set(said["language"]) <= set(_listed("languages"))
    assert said["license"] == "other"


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_every_rule_is_said(benchmark: object) -> None:
    for rules in benchmark.profiles.values():  # type: ignore[attr-defined]
        assert all(field.description for field in type(rules).model_fields.values())


def test_the_card_counts_every_split(release: Path) -> None:
    card = (release / "README.md").read_text()
    for table in release.glob("*/*.parquet"):
        name = "default" if table.parent.name == "data" else table.parent.name
        rows = pq.read_metadata(table).num_rows
        assert f"| `{name}` | `{table.name.split('-')[0]}` | {rows} |" in card
    assert f"With scan2qa {version('scan2qa')}, schema version {SCHEMA_VERSION}; reader `vsi_meta` " in card
    assert "| `min_count` | 2 | counting: smaller counts are not asked (B.1) |" in card


def test_datasets_and_scan2qa_are_cited_too(tmp_path: Path) -> None:
    scenes = json.dumps({"scene9001_00": sample_scene(PLANS[0]) | {"dataset": "scannet"}})
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "rooms.json").write_text(scenes, encoding="utf-8")
    build(tmp_path / "meta", tmp_path / "out")
    text = (tmp_path / "out" / "release" / "README.md").read_text()
    (cited,) = re.findall(r"```bibtex\n(.*?)```", text, re.DOTALL)
    assert re.findall(r"^@\w+{(\w+),$", cited, re.MULTILINE) == ["yang2024think", "dai2017scannet", "scan2qa"]
    assert cited.count("{") == cited.count("}")
    assert r"Nie{\ss}ner" in cited


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_citations_are_whole(benchmark: object) -> None:
    card = benchmark.card  # type: ignore[attr-defined]
    for cited in (card.citation, *card.sources.values()):
        assert cited.startswith("@")
        assert cited.count("{") == cited.count("}")
        for field in ("title", "author", "year"):
            assert re.search(rf"^  {field} = {{", cited, re.MULTILINE)


def test_pictures_of_the_raw_data_are_not_kept_quiet() -> None:
    """The views of panoramas and the legends of flights are of the raw data, though no video is."""
    settings = {"export": {"terms": {}, "frames": []}, "pictures": True}
    for name, folder in (("ergeobench", "views"), ("urbanvideo", "legends")):
        assert f"in `{folder}/`" in licences({}, settings, BENCHMARKS[name], {"data", folder})
        assert f"in `{folder}/`" not in licences({}, settings, BENCHMARKS[name], {"data"})
    allowed = {"export": {"terms": {}, "frames": ["scannet"]}, "pictures": True}
    assert passed_on(allowed, BENCHMARKS["vsi"], {"data"}) == "single pictures of the videos of scannet in `pictures/`"
    assert passed_on(settings, BENCHMARKS["vsi"], {"data"}) == ""
    filmed = {"export": {"terms": {}, "frames": [], "videos": ["my_flights"]}}
    said = licences({}, filmed, BENCHMARKS["urbanvideo"], {"data", "media"})
    assert "no scan, no mesh; of the raw data it has the videos of my_flights in `media/`." in said
    assert "no scan, no mesh, no video." in licences({}, filmed, BENCHMARKS["urbanvideo"], {"data"})
    assert "drives, flights and episodes" in licences({}, settings, BENCHMARKS["embodied4c"], {"data"})


def test_remarks_that_say_many_things_are_counted_alone() -> None:
    """The answers that are accepted besides are remarks too: the card of an exam had 500 of them."""
    flags = {f"accepted: {n}": 2 for n in range(5)} | {"domain: aerial": 3, "domain: driving": 4, "open_plan": 1}
    assert remarks(flags) == r"10 accepted (5 different), 3 domain: aerial, 4 domain: driving, 1 open\_plan"
    assert remarks({"<b>": 1}) == r"1 \<b\>"
    assert remarks({}) == "none"


def test_what_is_guessed_and_what_is_scarce_are_known_limits() -> None:
    """Above chance and the best constant, and why: also where the split debiased is not guessed."""

    def row(task: str, released: float, debiased: float | None, frequency: float = 0.2) -> dict[str, object]:
        errors = {"by letter": 0.0412, "forest": 0.02}
        found = {"n": 300, "chance": 0.25, "frequency": frequency, "earned": {"by letter": released, "forest": 0.3}}
        left = debiased and {"n": 49, "chance": 0.25, "earned": {"forest": debiased}, "errors": {}}
        return {"task": task, "released": found | {"errors": errors}, "debiased": left}

    rows = [
        row("a", 0.9, 0.26),
        row("b", 0.32, 0.32),
        row("c", 0.32, 0.34),
        row("d", 0.9, None),
        row("e", 0.9, None, 0.83),
        row("f", 0.3, None) | {"choices": {"n": 290, "chance": 0.25, "earned": {"forest": 0.345}, "errors": {}}},
    ]
    small = row("g", 0.3, 0.26)  # all of it is in `debiased`
    small["released"]["n"] = 49  # type: ignore[index]
    guessed, few = known_weaknesses([*rows, small], {"a": 50, "b": 49})
    letter, forest = ATTACKERS["by letter"], ATTACKERS["forest"]
    assert guessed == [
        f"a: all 300 65.0 ± 4.1 (by letter: {letter}); `debiased` 49 1.0 (forest: {forest})",
        f"c: all 300 7.0 ± 4.1 (by letter: {letter}); `debiased` 49 9.0 (forest: {forest})",
        f"d: all 300 65.0 ± 4.1 (by letter: {letter})",
        f"f: all 300 5.0 ± 2.0 (forest: {forest}); among `choices` 290 9.5 (forest: {forest})",
    ]
    assert few == ["b 49", "a in `debiased` 49", "b in `debiased` 49", "c in `debiased` 49"]


def test_every_attacker_is_explained() -> None:
    assert {*attack.ATTACKERS, FINE_TUNED} == set(ATTACKERS)


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
        return resolve_build(
            BuildRequest(BUILDS / "vsi.yaml", given, said, tmp_path / "out", True, 1, False), write=False
        ).config.samples

    assert is_of_samples(tmp_path / "out" / "samples" / "vsi_meta")
    assert not is_of_samples(tmp_path / "elsewhere")
    assert is_of_samples(tmp_path / "elsewhere", said=("samples=true",))


def test_names_are_no_markup() -> None:
    dataset = "<img src=x>|\n# mine"
    text = licences({dataset: 1}, {"export": {"terms": {}}}, BENCHMARKS["vsi"], ())
    assert r"| \<img src=x\>\| \# mine | 1 | not stated" in text
    stated = {dataset: "[ours](https://x.org/a_b)\n\n<script> | all"}
    text = licences({dataset: 1}, {"export": {"terms": stated}}, BENCHMARKS["vsi"], ())
    assert r" | 1 | [ours](https://x.org/a_b) &lt;script> \| all |" in text


def test_terms_that_nobody_stated_are_asked_for(release: Path, tmp_path: Path) -> None:
    assert "| CC0 |" in (release / TERMS_FILE).read_text()
    meta = tmp_path / "meta"
    write_sample_metadata(meta)
    (file,) = meta.glob("*.json")
    file.write_text(file.read_text().replace('"samples"', '"mine"'))
    build(meta, tmp_path / "out")
    assert NOT_STATED in (tmp_path / "out" / "release" / TERMS_FILE).read_text()
    assert "Contact: not stated yet" in (tmp_path / "out" / "release" / "README.md").read_text()


def test_all_that_machines_are_told_of_tables_in_one_file_and_in_several() -> None:
    evidence = pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))
    schema = pa.schema([("id", pa.int64()), ("words", pa.list_(pa.string())), ("evidence", evidence)])
    parts = [CroissantPart("data", "test", schema, 900, 5), CroissantPart("data", "debiased", schema, 9, 4, shards=2)]
    files = ["data/test-00000-of-00001.parquet", *(f"data/debiased-0000{n}-of-00002.parquet" for n in (0, 1))]
    said, sums = dict.fromkeys(schema.names, "?"), {file: file[-15] * 64 for file in files}
    settings = {"pretty_name": "Räume", "license": "mit", "version": "1.0", "published": "2026-01-01"}
    raw = croissant(settings, VSI.card, parts, lambda folder: said, sums)
    assert "Räume".encode() in raw
    told = json.loads(raw)
    names = ["pretty_name", "@type", "license", "version", "datePublished", "citeAs", "description"]
    values = [None, "sc:Dataset", "mit", "1.0", "2026-01-01", VSI.card.citation, VSI.card.about]
    assert [told.get(name) for name in names] == values
    form = {"encodingFormat": "application/x-parquet"}
    pattern = "data/debiased-*.parquet"
    assert told["distribution"] == [
        *({"@type": "cr:FileObject", "@id": f, "name": f, "contentUrl": f, **form, "sha256": sums[f]} for f in files),
        {"@type": "cr:FileSet", "@id": pattern, "name": pattern, **form, "includes": pattern},
    ]

    def fields(table: str, source: dict[str, Any]) -> list[dict[str, Any]]:
        def field(name: str, **more: Any) -> dict[str, Any]:
            return {"@type": "cr:Field", "@id": f"{table}/{name}", "name": f"{table}/{name}"} | more

        def of(column: str) -> dict[str, Any]:
            return source | {"extract": {"column": column}}

        parts = (("name", "sc:Text"), ("value", "sc:Float"))
        inner = [
            field(f"evidence/{name}", dataType=kind, source=of("evidence") | {"transform": {"jsonPath": name}})
            for name, kind in parts
        ]
        return [
            field("id", description="?", dataType="sc:Integer", source=of("id")),
            field("words", description="?", repeated=True, dataType="sc:Text", source=of("words")),
            field("evidence", description="?", repeated=True, subField=inner),
        ]

    sources = {"data/test": {"fileObject": {"@id": files[0]}}, "data/debiased": {"fileSet": {"@id": pattern}}}
    assert told["recordSet"] == [
        {"@type": "cr:RecordSet", "@id": table, "name": table, "field": fields(table, source)}
        for table, source in sources.items()
    ]
    made = header(parts, {"export": settings}, VSI, was_reviewed=False)
    texts = {"name": "words", "list": "string"}
    pairs = {"name": "evidence", "list": [{"name": "name", "dtype": "string"}, {"name": "value", "dtype": "float64"}]}
    test, debiased = (
        {"name": name, "num_bytes": size, "num_examples": n} for name, size, n in (("test", 5, 900), ("debiased", 4, 9))
    )
    assert made["dataset_info"] == [
        {"config_name": name, "features": [{"name": "id", "dtype": "int64"}, texts, pairs], "splits": splits}
        for name, splits in (
            ("default", [test, debiased]),
            ("full", [test]),
            ("debiased", [debiased | {"name": "test"}]),
        )
    ]
    assert (made["license"], made["size_categories"], made["annotations_creators"]) == (
        "mit", ["n<1K"], ["machine-generated"],
    )  # fmt: skip
    assert [one.get("default") for one in made["configs"]] == [True, None, None]


def test_counts_of_shards_are_added_and_those_of_budgets_and_silent_scenes_are_in_order() -> None:
    one = {"count": 1, "128": {"a": 2}, "16": {"a": 1}, "sizes": [1, 2], "new": None}
    other = {"count": 4, "16": {"b": 7, "a": 1}, "32": {"c": 1}, "sizes": [3, 4], "new": {"x": 1}}
    assert added({}, other) == other
    found = added(one, other)
    assert found == {
        "128": {"a": 2}, "32": {"c": 1}, "16": {"a": 2, "b": 7}, "count": 5, "new": {"x": 1}, "sizes": [4, 6],
    }  # fmt: skip
    assert list(found) == ["128", "32", "16", "count", "new", "sizes"]
    rows = [(16, "t", None), (128, "t", "unseen"), (16, "t", None), (16, "s", "unseen"), (128, "t", None)]
    table = pa.Table.from_pylist([dict(zip(("budget", "task", "reason"), row, strict=True)) for row in rows])
    assert json.dumps(contents._in_budgets(table)) == json.dumps(
        {"128": {"t": {"": 1, "unseen": 1}}, "16": {"s": {"unseen": 1}, "t": {"": 2}}}
    )
    assert contents._in_budgets(None) == {}
    rows = [("b", "s", "far", 1), ("b", "s", "near", 1), ("a", "s", "x", 9), ("b", "t", "near", 1)]
    rows += [("c", "t", "x", 1), ("b", "t", "also", 1)]
    counted = pa.Table.from_pylist([dict(zip(contents.COUNTED.names, row, strict=True)) for row in rows])
    assert json.dumps(contents._silent(counted, pa.table({"scene": ["a"]}))) == json.dumps(
        {"b": {"near": 2, "also": 1, "far": 1}, "c": {"x": 1}}
    )


@pytest.mark.filterwarnings("ignore")  # of mlcroissant's own packages
def test_croissant_says_what_is_there(release: Path) -> None:
    import mlcroissant  # it takes a second

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


def test_tiny_has_so_many_of_each_task_and_spreads_them_over_scenes(release: Path) -> None:
    ids = list(range(200))
    # Of scene x 90 questions of task a, of y and z 30 each; task b counts as c.
    tasks = ["a"] * 150 + ["b", "c"] * 25
    scenes = ["x"] * 90 + ["y"] * 30 + ["z"] * 30 + ["x"] * 50
    asked = pa.table({"id": ids, "task": tasks, "scene": scenes})
    turns = with_turns(asked, {"b": "c"}, by_group=False)
    tiny = tiny_questions(turns)["id"].to_pylist()
    assert tiny == [*range(17), *range(90, 107), *range(120, 136), *range(150, 200)]
    assert len([i for i in tiny if i < 150]) == TINY_PER_TASK
    assert tiny_questions(with_turns(asked, {}, by_group=False))["id"].to_pylist() == tiny
    grouped = asked.append_column("group", pa.array(["one"] * 4 + ["two"] * 196))
    turns, quotas = with_turns(grouped, {}, by_group=True), {"a": 4, "b": 1, "c": 0}
    assert tiny_questions(turns, quotas)["id"].to_pylist() == [0, 4, 90, 120, 150], "each group first"
    parts = [tiny_questions(turns.filter(pc.equal(turns["scene"], scene)), quotas) for scene in "xyz"]
    assert tiny_questions(pa.concat_tables(parts), quotas)["id"].to_pylist() == [0, 4, 150, 90, 120], (
        "shards choose as all do"
    )
    whole, few = (rows_of(release / "data" / name) for name in (TEST, TEST.replace("test", "tiny")))
    assert all(row in whole for row in few)
    header = yaml.safe_load((release / "README.md").read_text().split("---\n")[1])
    assert header["configs"][0]["data_files"][-1] == {"split": "tiny", "path": "data/tiny-*.parquet"}


def test_one_of_each_group_is_drawn_by_its_group_alone() -> None:
    rows = [{"id": n, "scene": f"s{n % 40}", "group": None, "task": "abc"[n // 40 % 3]} for n in range(240)]
    rows += [{"id": 240 + n, "scene": "city", "group": f"g{n % 2}", "task": "a"} for n in range(4)]
    asked = pa.Table.from_pylist(rows)
    chosen = _one_per_group(asked).to_pylist()
    assert [(row["scene"], row["group"]) for row in chosen].count(("s7", None)) == 1
    assert len(chosen) == 42
    assert [row["id"] for row in chosen][-2:] == [240, 241], "the first of each group"
    assert min(Counter(row["task"] for row in chosen).values()) >= 6, "no task is preferred"
    assert [row for row in chosen if row["scene"] != "s7"] == _one_per_group(
        asked.filter(pc.not_equal(asked["scene"], "s7"))
    ).to_pylist()


SETTINGS: dict[str, Any] = {"blind": {"models": [], "remove": "all_correct"}, "prune": None, "prices_of": "2026"}


def guessed(**earned: float) -> dict[str, Any]:
    scores = {name.replace("_", " "): score for name, score in earned.items()}
    return {"n": 10, "chance": 0.25, "frequency": 0.3, "earned": scores, "errors": {"by name": 0.05}}


def row(task: str) -> dict[str, Any]:
    return {
        "task": task,
        "asked": guessed(by_name=0.5, by_length=0.3),
        "released": guessed(by_name=0.4, forest=0.45),
        "debiased": None,
        "voters": {},
    }


def lines_of(*arguments: Any) -> list[str]:
    return section("text_only", text_only_context(*arguments)).splitlines()


def test_each_split_has_its_best_attacker_beside_the_published_one() -> None:
    """In points above chance (0.25) or the most frequent answer (0.3)."""
    given_away = {"turns": {"forest": 0.6, "by text": 0.61}}
    lines = lines_of([row("turns"), row("news")], SETTINGS, [], given_away)
    assert "| turns | 20.0 ± 5.0 (0.500 by name) | 15.0 (0.450 forest) |  | 0.610 by text |" in lines
    assert "| news | 20.0 ± 5.0 (0.500 by name) | 15.0 (0.450 forest) |  |  |" in lines
    chosen = lines_of([row("news"), row("turns") | {"choices": guessed(forest=0.62)}], SETTINGS, [], {})
    assert "| task | best attacker, asked | released | `debiased` | among `choices` |" in chosen
    assert "| turns | 20.0 ± 5.0 (0.500 by name) | 15.0 (0.450 forest) |  | 32.0 (0.620 forest) |" in chosen
    assert "| turns | among `choices` | 10 | 0.250 | 0.300 |  |  | 0.620 |" in chosen
    assert any("Among `choices`: accuracy" in line for line in chosen)
    same = row("same") | {"released": row("same")["asked"]}
    scores = [line.split(" | ")[1] for line in lines_of([row("turns"), same], SETTINGS, [], {}) if " | 10 | " in line]
    assert scores == ["asked", "released", "asked and released"]
    alone = lines_of([row("turns")], SETTINGS, [], {})
    assert not any("choices" in line for line in alone)
    assert "| turns | 20.0 ± 5.0 (0.500 by name) | 15.0 (0.450 forest) |  |" in alone
    assert not any("published" in line for line in alone)


def test_models_that_answered_a_sample_are_told_from_those_that_answered_all() -> None:
    def voter(asked: int) -> dict[str, Any]:
        told = {"right": 0.5, "right_released": None, "luck": 0.25, "standing": "no vote"}
        return told | {"asked": asked, "unanswered": asked // 10, "unread": 0}

    votes = {"agreement": None, "answered": 0, "balanced": 0, "by_luck": 0.0}
    rows = [row("turns") | votes | {"voters": {"m1": voter(10), "m2": voter(9)}}]
    rows += [row("news") | votes | {"voters": {"m1": voter(10)}}]
    lines = lines_of(rows, SETTINGS, [], {})
    assert "1 model answered every question without its video: m1." in lines
    assert any(line.startswith("m2 answered 9 of 20 questions") for line in lines)
    assert [line for line in lines if "requests failed" in line] == [
        "- m1: 2 requests failed, 0 replies hold no answer. These count as wrong."
    ]


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"counting": None, "other": 2}, "at most 4 questions per scene and task"),
        ({"counting": 2, "other": 3}, "of a scene at most 2 of `counting`, 4 of each other task"),
        ({"counting": 2, "route": 1}, "of a scene at most 2 of `counting`, 1 of `route`"),
    ],
)
def test_the_card_has_the_caps_of_the_tasks_that_are_asked(own: dict[str, int | None], told: str) -> None:
    chosen = {"tasks": ["counting", "route"], "profile": "strict"}
    assert _caps({"select": {"per_scene_and_task": 4, "per_task": own}, "generate": chosen}, VSI) == told


def test_what_the_card_counts_by_hand() -> None:
    summary: dict[str, Any] = {
        "questions": {"b": 7, "a": 60}, "rejections": {"b": {"w": 1, "x": 4, "y": 3, "z": 2}, "c": {"x": 1}},
        "answers": {"a": dict(zip("pqrs", (9, 8, 7, 6), strict=True)), "b": dict(zip("pqrst", range(5), strict=True))},
        "letters": {"a": {"B": 1, "A": 2}}, "blind": [], "flags": {}, "splits": {"data/test": (1, 2)},
        "findings": [(f"s{n}", "blurred", 0, f"by {n}") for n in range(SCENES_TOLD)] + [("s", "dark", 0, "all")],
        "budgets": {"32": {"a": {"": 5, "unseen": 2}, "b": {"unseen": 1, "cut": 4}}},
    }  # fmt: skip
    found = _of_counts(summary)
    assert found["counts"] == [("a", 60, 0, ""), ("b", 7, 10, "x 4, y 3, z 2"), ("c", 0, 1, "x 1")]
    assert found["answers"] == [("a", "p 9, q 8, r 7, s 6", "A 2, B 1"), ("b", "t 4, s 3, r 2, q 1, …", "")]
    assert [refused for _, refused in found["budgets"]] == ["4 cut, 3 unseen"]
    assert found["questions_of_budgets"] == [("a", 60, 5), ("b", 7, 0)]
    assert (found["leaks"], found["findings"]) == ([("data/test", 1, 2)], [f"{SCENES_TOLD} blurred", "1 dark"])
    assert _finding_lines(summary, {"blurred"}) == [f"s{n}: by {n}" for n in range(SCENES_TOLD)]
    assert _finding_lines(summary, {"blurred", "dark"})[SCENES_TOLD:] == ["and 1 more"]
    stands = [("mended", ("wrong_answer",)), ("rejected", ("wrong_answer", "not_visible")), ("accepted", ())]
    reviewed = [
        QuestionStatus(id=n, state=state, answer=None, reviewers=2, reasons=given)
        for n, (state, given) in enumerate(stands)
    ]
    issues = _of_review({}, Reviewed(stands=tuple(reviewed)))["issues"]
    assert issues == [("wrong answer", 2, 1, 0, 1), ("object not visible", 1, 0, 0, 1)]
    held = _states_of(pa.table({"id": [0, 1, 7, 8, 9]}), Reviewed(stands=tuple(reviewed)))
    assert held == {"mended": 1, "rejected": 1, "waiting": 3}
    asked = [{"id": 1, "options": ["A. x", "B. y"], "text": "?"}, {"id": 2, "choices": ["x", "y"], "text": "?"}]
    edits = [QuestionEdit("Which?", ("A. p", "B. q")), QuestionEdit("Who?", ("p", "q"))]
    mended = [
        QuestionStatus(id=n, state="mended", answer=None, reviewers=2, reasons=(), mend=edit.written())
        for n, edit in enumerate(edits, start=1)
    ]
    now = accepted(pa.Table.from_pylist(asked, QUESTIONS), Reviewed(stands=tuple(mended))).to_pylist()
    expected = [("Which?", ["A. p", "B. q"], None), ("Who?", None, ["p", "q"])]
    assert [(one["text"], one["options"], one["choices"]) for one in now] == expected
    columns = (
        ("provenance", "id"),
        ("data", "Question_id"),
    )  # the public table need not have the first column of others
    parts = [CroissantPart(name, "test", pa.schema([(column, pa.int64())]), 1, 8) for name, column in columns]
    assert _of_tables(parts, BENCHMARKS["urbanvideo"])["key"] == "Question_id"


def test_every_task_has_a_published_figure() -> None:
    assert set(VSI.card.given_away) == set(VSI.asked_under("official"))
