"""The release: the public columns, three configurations that load, and answers that can be proved again."""

import hashlib
import json
import re
import socket
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.benchmarks.vsi.audit import audit, coverage
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.identity import ID_BITS, digest_of
from pipeline.core.schema import SCHEMA_VERSION, Scene
from pipeline.core.tables import CHECKSUMS
from pipeline.engine.config import BuildConfig
from pipeline.questions.choices import LETTERS
from pipeline.questions.task import Number
from pipeline.reading.files import SceneFiles
from pipeline.release.released import Released
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from pipeline.worlds.registry import READERS
from tests.builds import build, config_of, every, perturbed, release_of, rows_of, whys
from tests.environment import times
from tests.tables import read_questions
from tests.worlds.indoor.readers.broken_metadata import write_scenes

COLUMNS = [
    "id",
    "dataset",
    "scene_name",
    "question_type",
    "question",
    "options",
    "ground_truth",
    "pruned",
    "video_examined",
]
CAP = 4
FILE = "test-00000-of-00001.parquet"
RELATIONS = {">=": lambda a, b: a >= b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b}


@dataclass(frozen=True)
class Build:
    """A finished build and what it was made of."""

    meta: Path
    out: Path
    config: BuildConfig
    released: Released

    def rows(self, name: str) -> list[dict[str, Any]]:
        return rows_of(self.out / "release" / name / FILE)

    def file(self, name: str) -> Path:
        return self.out / "release" / name / FILE

    def scenes(self) -> list[Scene]:
        reader = READERS["vsi_meta"]
        return [reader.read(SceneFiles(self.meta, ref)) for ref in reader.scenes(self.meta).scenes]


def built(meta: Path, out: Path, **sections: Any) -> Build:
    config = config_of(meta, **sections)
    outcome = Builder(config, out).build()
    assert outcome.released is not None
    return Build(meta, out, config, outcome.released)


@pytest.fixture(scope="module", params=["strict", "official"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Twelve scenes of two datasets, under either profile."""
    folder = tmp_path_factory.mktemp("release")
    scenes = perturbed({plan.name: sample_scene(plan) for plan in PLANS}, 12)
    (folder / "meta").mkdir()
    for dataset in ("one", "two"):
        members = {
            n: s | {"dataset": dataset} for i, (n, s) in enumerate(scenes.items()) if (i % 2 == 0) == (dataset == "one")
        }
        write_scenes(folder / "meta" / f"{dataset}.json", members)
    generate = {"profile": request.param}
    return built(folder / "meta", folder / "out", generate=generate, select={"per_scene_and_task": CAP, "per_task": {}})


# ---- the public columns


@pytest.mark.slow
def test_the_columns_are_those_of_the_released_benchmark(made: Build) -> None:
    schema = pq.read_schema(made.file("data"))
    assert schema.names == COLUMNS
    assert [str(schema.field(name).type) for name in COLUMNS] == [
        "int64",
        *["string"] * 4,
        "list<element: string>",
        "string",
        "bool",
        "bool",
    ]


def test_ids_are_unique_sorted_and_exact_in_a_double(made: Build) -> None:
    ids = [row["id"] for row in made.rows("data")]
    assert ids == sorted(set(ids))
    assert ids
    assert max(ids) < 2**ID_BITS
    assert all(int(float(i)) == i for i in ids)


def test_ground_truths_are_bare_letters_or_numbers_that_are_not_zero(made: Build) -> None:
    types = set()
    for row in made.rows("data"):
        task, options, truth = TASKS[row["question_type"]], row["options"], row["ground_truth"]
        types.add(task.name)
        assert row["pruned"] is False
        if not isinstance(task.form, Number):
            assert [option[:3] for option in options] == [f"{letter}. " for letter in LETTERS[: len(options)]]
            assert len(set(options)) == len(options) > 1
            assert truth in LETTERS[: len(options)]
        else:
            assert options is None
            assert re.fullmatch(rf"\d+\.\d{{{task.form.decimals}}}" if task.form.decimals else r"\d+", truth)
            assert float(truth) > 0
    assert types >= {"object_counting", "object_abs_distance", "object_rel_distance", "object_rel_direction_hard"}


@pytest.mark.slow
def test_no_answer_is_written_as_zero(tmp_path: Path) -> None:
    stove, small_room = sample_scene(PLANS[1]), sample_scene(PLANS[0]) | {"room_size": 0.04}
    stove["object_bbox"]["stove"][0] |= {"axesLengths": [0.004, 0.003, 0.003]}
    for key in ("min", "max"):
        del stove["object_bbox"]["stove"][0][key]
    write_scenes(tmp_path / "meta.json", {"a": stove, "b": small_room})
    heedless = {"profile": "official"}  # `strict` asks nothing about a stove of 4 mm
    outcome = build(tmp_path, tmp_path / "out", generate=heedless, select={"per_scene_and_task": 100, "per_task": {}})
    assert not outcome.quarantine
    assert all(row["ground_truth"] not in ("0", "0.0") for row in rows_of(tmp_path / "out/release/data" / FILE))
    refused = [r for r in rows_of(tmp_path / "out/release/rejected" / FILE) if r["reason"] == "answer_is_zero"]
    assert [(r["scene"], r["task"]) for r in sorted(refused, key=lambda r: r["scene"])] == [
        ("samples/a", "object_size_estimation"),
        ("samples/b", "room_size_estimation"),
    ]


def test_caps_hold_and_letters_are_even(made: Build) -> None:
    groups: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    totals: Counter[tuple[str, str, str]] = Counter()
    for row in made.rows("data"):
        totals[row["dataset"], row["scene_name"], row["question_type"]] += 1
        if row["options"] is not None:
            key = (f"{row['dataset']}/{row['scene_name']}", row["question_type"], len(row["options"]))
            groups[key].append(row["ground_truth"])
    assert max(totals.values()) == CAP
    for (_, _, n_options), letters in groups.items():
        counts = [letters.count(letter) for letter in LETTERS[:n_options]]
        assert max(counts) - min(counts) <= 1


# ---- provenance and rejections


def test_provenance_joins_by_id_and_proves_the_answer(made: Build) -> None:
    data, provenance = ({row["id"]: row for row in made.rows(name)} for name in ("data", "provenance"))
    assert list(data) == list(provenance)
    sources = {scene.id: scene.source for scene in made.scenes()}
    rules = digest_of(made.config.generate.resolved_rules().model_dump())
    for key, proof in provenance.items():
        row = data[key]
        assert proof["scene"] == f"{row['dataset']}/{row['scene_name']}"
        assert proof["task"] == row["question_type"]
        assert (proof["profile"], proof["rules"]) == (made.config.generate.profile, rules)
        assert proof["source_sha256"] == sources[proof["scene"]].sha256
        assert proof["source_files"] == list(sources[proof["scene"]].files)
        assert all(operand in row["question"] for operand in proof["operands"])
        if row["options"] is None:
            assert proof["answer"] == row["ground_truth"]
            assert f"{proof['choice']}. {proof['answer']}" in proof["choices"]
            assert len({choice[3:] for choice in proof["choices"]}) == 4
        else:
            assert f"{row['ground_truth']}. {proof['answer']}" in row["options"]
            assert (proof["choice"], proof["choices"]) == (None, None)
        assert proof["evidence"]
        for fact in proof["evidence"]:
            if fact["relation"] is not None:
                assert RELATIONS[fact["relation"]](fact["value"], fact["limit"]), fact


def test_every_candidate_is_asked_or_rejected_with_a_reason(made: Build) -> None:
    candidates: Counter[tuple[int, str]] = Counter()
    for path in (made.out / "store" / "generate").rglob("*.zst"):
        candidates.update((row["id"], row["scene"]) for row in rows_of(path))
    rejected = made.rows("rejected")
    released = Counter((row["id"], row["scene"]) for row in (*made.rows("provenance"), *rejected))
    assert released == candidates
    assert all(row["reason"] for row in rejected)
    assert [(r["scene"], r["id"]) for r in rejected] == sorted((r["scene"], r["id"]) for r in rejected)
    over = [row for row in rejected if row["reason"] == "over_cap"]
    assert over
    assert all(row["measured"] > row["limit"] == CAP for row in over)


def test_the_summary_counts_what_is_there(made: Build) -> None:
    questions = Counter(row["question_type"] for row in made.rows("data"))
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for row in made.rows("rejected"):
        reasons[row["task"]][row["reason"]] += 1
    assert made.released.questions == questions
    assert made.released.rejections == reasons
    card = (made.out / "release" / "README.md").read_text()
    for task, n in questions.items():
        assert f"| {task} | {n} | {reasons[task].total()} |" in card


# ---- answered again


def assert_reproduced(made: Build) -> None:
    """Operands parsed back out of every question's text give the published answer."""
    questions, rules = read_questions(made.file("data")), made.config.generate.resolved_rules()
    findings = audit(questions, made.scenes(), rules)
    assert len(findings) == len(made.rows("data"))
    assert [(f.question.id, f.status, f.rejection) for f in findings if f.status != "reproduced"] == []
    counts, misses = coverage(questions, made.scenes(), rules)
    assert misses == []
    assert sum(count.contained for count in counts.values()) == len(questions)


@pytest.mark.slow
def test_every_question_is_reproduced_by_an_audit(made: Build) -> None:
    assert_reproduced(made)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("profile", ["strict", "official"])
def test_every_question_of_the_real_scenes_is_reproduced_by_an_audit(
    profile: str, real_vsi: Path, tmp_path: Path
) -> None:
    """Every twelfth scene under one profile, others under the other: all under both take a minute.

    Without corrections: an audit answers from the metadata as they are published.
    """
    meta = every(times(12, 2), ["strict", "official"].index(profile), real_vsi / "meta_info", tmp_path / "meta")
    real = built(meta, tmp_path / "out", generate={"profile": profile}, fixes={"apply": False})
    assert len(real.rows("data")) > {"official": 165, "strict": 75}[profile]  # strict asks of no objects twice
    assert_reproduced(real)


def test_questions_survive_the_way_through_json_lines(made: Build, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in made.rows("data")))
    assert read_questions(path) == read_questions(made.file("data"))


# ---- loading


@pytest.fixture(scope="module")
def silent() -> Iterator[None]:
    """`datasets` shows no progress."""
    import datasets

    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.mark.slow
@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    ("name", "folder"), [(None, "data"), ("full", "data"), ("provenance", "provenance"), ("rejected", "rejected")]
)
def test_a_configuration_loads_offline_with_the_features_of_the_card(
    name: str | None, folder: str, made: Build, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import datasets

    loaded = datasets.load_dataset(str(made.out / "release"), name, cache_dir=str(tmp_path))
    assert not caplog.records, "a card that it cannot read whole is only warned of"
    assert list(loaded) == ["test", "one_per_scene", "tiny"] if name is None else ["test"]
    assert loaded["test"].to_list() == made.rows(folder)
    header = yaml.safe_load((made.out / "release" / "README.md").read_text().split("---\n")[1])
    stated = next(info for info in header["dataset_info"] if info["config_name"] == (name or "default"))
    assert loaded["test"].features == datasets.Features._from_yaml_list(stated["features"])
    assert loaded["test"].features.arrow_schema.names == pq.read_schema(made.file(folder)).names
    assert stated["splits"][0]["num_examples"] == len(loaded["test"])


@pytest.mark.usefixtures("silent")
def test_another_split_is_named_everywhere(tmp_path: Path) -> None:
    import datasets

    write_scenes(tmp_path / "meta.json", {"a": sample_scene(PLANS[0])})
    build(tmp_path, tmp_path / "out", export={"split": "val_2", "pretty_name": 'Mine: "ä" — [x]'})
    loaded = datasets.load_dataset(str(tmp_path / "out" / "release"), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["val_2", "one_per_scene", "tiny"]
    header = yaml.safe_load((tmp_path / "out/release/README.md").read_text().split("---\n")[1])
    assert header["pretty_name"] == 'Mine: "ä" — [x]'


# ---- the files


def test_checksums_are_those_of_all_files(made: Build) -> None:
    files = release_of(made.out)
    sums = dict(reversed(line.split("  ")) for line in files.pop(CHECKSUMS).decode().splitlines())
    assert sums == {name: hashlib.sha256(raw).hexdigest() for name, raw in files.items()} == made.released.files
    harness = {"README.md", "scan2qa_rows.py", "lmms_eval/scan2qa_utils.py", "vlmevalkit/scan2qa_run.py"}
    harness.add("inspect_ai/scan2qa_task.py")
    for split in ("test", "one_per_scene", "tiny"):
        harness |= {f"lmms_eval/scan2qa_vsi_{split}.yaml", f"scan2qa_vsi_{split}.jsonl"}
    tables = {f"{name}/{FILE}" for name in ("data", "provenance", "rejected", "cognitive_maps")}
    tables |= {f"data/{FILE.replace('test', name)}" for name in ("one_per_scene", "tiny")}
    told = {"README.md", "LICENSES.md", "croissant.json", "overview.png", "meta_info/one.json", "meta_info/two.json"}
    assert set(files) == {*told, *tables, *(f"eval/{name}" for name in harness)}


def test_parquet_is_written_as_promised(made: Build) -> None:
    for name in ("data", "provenance", "rejected"):
        metadata = pq.ParquetFile(made.file(name)).metadata
        sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        assert max(sizes) <= 10_000
        assert len(sizes) == -(-metadata.num_rows // 10_000) or name == "rejected", "which has a few scenes in each"
        column = metadata.row_group(0).column(0)
        assert column.compression == "ZSTD"
        assert column.has_column_index
        assert pq.read_schema(made.file(name)).metadata[b"scan2qa_schema_version"] == str(SCHEMA_VERSION).encode()


def test_no_path_host_or_time_is_in_any_file(made: Build) -> None:
    """Looked for in the text of the tables too, which is compressed in the files."""
    texts = {name: raw.decode("latin-1") for name, raw in release_of(made.out).items()}
    for name in ("data", "provenance", "rejected"):
        texts[f"{name}, decoded"] = json.dumps(made.rows(name)) + repr(pq.read_schema(made.file(name)).metadata)
    host = re.compile(rf"\b{re.escape(socket.gethostname())}\b")
    for name, text in texts.items():
        for folder in (made.out, made.meta, Path(*made.out.parts[:3])):
            assert str(folder) not in text, (name, folder)
        if not name.endswith((".parquet", ".png")):  # which are compressed
            assert not host.search(text), name
            assert not re.search(r"\b20\d\d-\d\d|\b\d\d:\d\d:\d\d\b", text), name


@pytest.mark.slow
def test_a_release_file_that_is_gone_or_changed_is_written_again(tmp_path: Path) -> None:
    """Each in its turn: whoever is mended is whole again."""
    write_scenes(tmp_path / "meta.json", {"a": sample_scene(PLANS[0])})
    out = tmp_path / "out"
    build(tmp_path, out)
    whole = release_of(out)
    files = ("README.md", CHECKSUMS, *(f"{n}/{FILE}" for n in ("data", "provenance", "rejected")))
    damages = ("missing", "changed", "cut")
    for file, damage in [*product(files[:1], damages), *zip(files[1:], cycle(damages), strict=False)]:
        path = out / "release" / file
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(whole[file][:-10] + (b"" if damage == "cut" else b"0123456789"))
        reasons = whys(build(tmp_path, out))
        assert reasons.pop("export") == {"missing"}, (file, damage)
        assert set(map(str, reasons.values())) == {"{'reused'}"}, (file, damage)
        assert release_of(out) == whole, (file, damage)
