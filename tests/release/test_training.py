"""Training examples: rationales that prove, scenes that no benchmark has, even answers, forms that loaders read."""

import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.benchmarks.vsi.benchmark import COLUMNS
from pipeline.core.schema import SCHEMA_VERSION
from pipeline.core.tables import EVIDENCE, VIDEOS_TABLE
from pipeline.core.templates import load_table, load_template
from pipeline.questions.asking import QuestionPrompt
from pipeline.questions.published import Published
from pipeline.release.contamination import Scenes, building_of, shared_scenes
from pipeline.release.terms import ALL_SAMPLES
from pipeline.release.training import (
    FORMS,
    NO_CHAIN,
    NOT_PROVED,
    PAST_CAP,
    TOO_COMMON,
    TrainingExample,
    chains,
    evened,
    example_of,
    line_of,
    proves,
    rationale_of,
)
from tests.builds import Cli
from tests.scoring.made import vsi

CANARY = "canary 1"


def fact(name: str, subject: str, value: float, relation: str | None = None) -> dict[str, Any]:
    return {"name": name, "subject": subject, "value": value, "relation": relation, "limit": None, "unit": "m"}


def proof(task: str, answer: str, *evidence: dict[str, Any], template: str = "vsi.object_counting") -> dict[str, Any]:
    row = {"id": 1, "scene": "made/room1", "task": task, "template": template, "group": None}
    return row | {"answer": answer, "evidence": list(evidence)}


NEAREST = proof(
    "object_rel_distance",
    "bed",
    fact("distance", "lamp - bed", 0.22547),
    fact("distance", "lamp - door", 3.521873),
    fact("nearest_too_close", "rule", 0.22547, ">="),
)


def test_the_nearest_thing_is_proved_by_its_distances_and_by_no_limit() -> None:
    assert rationale_of(NEAREST).text.split("\n") == [
        "The distance between the lamp and the bed is 0.2 m.",
        "The distance between the lamp and the door is 3.5 m.",
        "The least of these distances is the one that is asked for.",
    ]


def lasting(answer: str, first_s: float, second_s: float) -> dict[str, Any]:
    return proof("Duration", answer, fact("duration", "hovering", first_s), fact("duration", "rising", second_s))


def turned(bearing: float, answer: str) -> dict[str, Any]:
    return proof("object_rel_direction_hard", answer, fact("bearing", "sofa", bearing))


def stepped(seconds: float) -> dict[str, Any]:
    said = fact("answer", "rounded the nearest multiple of 0.5", seconds)
    return proof("DT", "4.5", said, template="embodied4c.question")


@pytest.mark.parametrize(
    ("row", "last_number"),
    [
        (turned(89.996, "front-left"), "89.996"),  # 90.0 would be to the back
        (turned(89.99996, "front-left"), "89.999960"),
        (turned(90.0, "back-left"), "90.0"),
        (turned(317.4, "front-right"), "317.4"),
        (proof("object_abs_distance", "3.5", fact("distance", "a - b", 3.486013)), "3.5"),
        (proof("object_size_estimation", "202", fact("side_1", "bed", 2.0244), fact("side_2", "bed", 1.5)), "1.50"),
        (proof("room_size_estimation", "34.1", fact("room_area", "room", 34.08)), "34.1"),
        (proof("object_counting", "3", fact("stated_count", "chair", 3.0)), "3.0"),
        (
            proof("obj_appearance_order", "b, a", fact("first_seen", "a", 2.04), fact("first_seen", "b", 2.01)),
            "2.01",
        ),
        (proof("route_planning", "Turn Right, Turn Back", fact("turn", "a", -80.0), fact("turn", "b", 140.0)), "140.0"),
        (
            lasting("Hovering, but less than twice as long", 3.0, 2.0),
            "2.0",
        ),
        (stepped(4.36), "4.4"),
        (stepped(4.25), "4.25"),  # half way to 4.0
    ],
)
def test_a_rationale_has_the_digits_that_prove_the_answer_and_no_more(row: dict[str, Any], last_number: str) -> None:
    found = rationale_of(row)
    assert not found.refused
    chain = chains().get(row["task"]) or chains()[row["template"]]
    heard = [fields for line in found.text.split("\n") if (fields := chain.sentence.parse(line))]
    assert heard[-1]["value"] == last_number
    assert proves(chain, found.text, row["answer"])


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (NEAREST | {"answer": "door"}, NOT_PROVED),
        (turned(90.0, "front-left"), NOT_PROVED),
        (turned(89.9999999, "front-left"), NOT_PROVED),  # no rationale has so many digits
        (proof("object_abs_distance", "3.6", fact("distance", "a - b", 3.486013)), NOT_PROVED),
        (proof("object_rel_distance", "a", fact("distance", "x - a", 1.0), fact("distance", "x - b", 1.0)), NOT_PROVED),
        (
            lasting("Hovering, more than twice as long", 3.0, 2.0),
            NOT_PROVED,
        ),
        (proof("Causal", "To look", fact("start", "hovering", 3.0)), NO_CHAIN),
        (proof("object_counting", "3"), NO_CHAIN),
    ],
)
def test_what_the_numbers_do_not_prove_has_no_rationale(row: dict[str, Any], why: str) -> None:
    assert rationale_of(row) == ("", why)


def test_a_rationale_whose_number_somebody_changed_proves_no_more() -> None:
    text = rationale_of(NEAREST).text
    assert not proves(chains()["object_rel_distance"], text.replace("0.2 m", "9.2 m"), "bed")


def test_chains_and_wordings_are_of_tasks_and_templates_that_there_are() -> None:
    tasks = {task for one in BENCHMARKS.values() for task in one.by_name()}
    assert set(chains()) - tasks == {"embodied4c.question"}
    for name, texts in load_table("train/wordings").items():
        own = load_template(name)
        for text in texts:
            other = own.model_copy(update={"text": text, "mended": None, "annotated": None, "also_parsed": ()})
            assert set(other.fields) == set(own.fields), text
            fields = {field: ("sofa", "tv") if field in own.lists else "sofa" for field in own.fields}
            assert other.parse(other.render(fields)) == fields


# ---- contamination


def scenes(raw: dict[str, str], **rest: Any) -> Scenes:
    return Scenes(Path("benchmark"), raw, **{"place": {}, "pictures": {}, "files": {}} | rest)


@pytest.mark.parametrize(
    ("own", "benchmark", "check", "measured"),
    [
        (scenes({"a/one": "1"}), scenes({"a/one": "2"}), "same_scene", None),
        (scenes({"a/one": "1"}), scenes({"b/two": "1"}), "same_raw_data", None),
        (scenes({"scannet/scene0011_00": "1"}), scenes({"scannet/scene0011_01": "2"}), "same_building", None),
        (
            scenes({"a/one": "1"}, place={"a/one": (50.0, 8.0)}),
            scenes({"b/two": "2"}, place={"b/two": (50.0044, 8.0), "b/far": (51.0, 8.0)}),
            "same_place",
            489.3,  # 0.0044 degrees of 111.195 km
        ),
        (
            scenes({"a/one": "1"}, files={"f": "views/a/one/x.jpg"}),
            scenes({"b/two": "2"}, files={"f": "views/b/two/y.jpg"}),
            "same_pictures",
            None,
        ),
        (
            scenes({"a/one": "1"}, pictures={"a/one": (0, 1, 2**64 - 1)}),
            scenes({"b/two": "2"}, pictures={"b/two": (0b111111,)}),  # six and five bits from two, 58 from the third
            "same_pictures",
            0.667,
        ),
    ],
)
def test_a_planted_scene_is_found_and_named(own: Scenes, benchmark: Scenes, check: str, measured: float | None) -> None:
    (found,) = shared_scenes(own, benchmark, 500.0)
    assert (found.check, found.measured) == (check, measured)
    assert found.of in {*benchmark.raw, *benchmark.files.values()}


@pytest.mark.parametrize(
    ("own", "benchmark"),
    [
        (scenes({"scannet/scene0011_00": "1"}), scenes({"scannet/scene0012_00": "2"})),
        (scenes({"a/scene0011_00": "1"}), scenes({"b/scene0011_01": "2"})),
        (
            scenes({"a/one": "1"}, place={"a/one": (50.0, 8.0)}),
            scenes({"b/two": "2"}, place={"b/two": (50.0046, 8.0)}),  # 511 m
        ),
        (
            scenes({"a/one": "1"}, pictures={"a/one": (0,)}),
            scenes({"b/two": "2"}, pictures={"b/two": (0b1111111,)}),
        ),
    ],
)
def test_other_scenes_are_not_taken_for_the_same(own: Scenes, benchmark: Scenes) -> None:
    assert shared_scenes(own, benchmark, 500.0) == []


def test_only_names_of_several_recordings_tell_a_building() -> None:
    assert building_of("hypersim/ai_001_002.cam_00") == "hypersim/ai_001_002"
    assert building_of("scannetpp/5a3f9c0e02") is None


# ---- even answers


def test_the_most_frequent_answer_is_cut_to_the_next_one_and_answers_take_turns() -> None:
    answers = {1: "left", 2: "left", 3: "left", 4: "right", 5: "right", 6: "back"}
    rows = [{"id": i, "task": "side", "answer": answer} for i, answer in answers.items()]
    rows += [{"id": 7, "task": "all", "answer": "yes"}]
    kept, dropped = evened(pa.Table.from_pylist(rows), None)
    assert kept == {1, 2, 4, 5, 6}
    assert dropped == {3: TOO_COMMON, 7: TOO_COMMON}  # of 7 there is nothing to tell it from
    kept, dropped = evened(pa.Table.from_pylist(rows), 4)
    assert kept == {1, 2, 4, 6}
    assert dropped == {3: TOO_COMMON, 5: PAST_CAP, 7: TOO_COMMON}


# ---- forms

ASKED = Published(1, "made", "room1", "object_rel_distance", "Which?", ("A. door", "B. bed"), "B")


def test_each_form_is_that_of_its_trainer() -> None:
    one = TrainingExample((("Which?", "B"),), ("v.mp4",), ("a.jpg",), {"id": "1", "canary": CANARY})
    lines = {form: json.loads(line_of(one, form)) for form in FORMS}
    said = [{"from": "human", "value": "<video>\n<image>\nWhich?"}, {"from": "gpt", "value": "B"}]
    ends = {"id": "1", "canary": CANARY}
    assert lines["sharegpt"] == {"conversations": said, "videos": ["v.mp4"], "images": ["a.jpg"]} | ends
    assert lines["llava"] == {"conversations": said, "video": "v.mp4", "image": "a.jpg"} | ends
    replied = {"role": "assistant", "content": [{"type": "text", "text": "B"}]}
    asked = {"type": "text", "text": "Which?"}
    parts = [{"type": "video", "video": "v.mp4"}, {"type": "image", "image": "a.jpg"}, asked]
    assert lines["qwen"] == {"messages": [{"role": "user", "content": parts}, replied]} | ends
    parts = [{"type": "video_url", "video_url": {"url": "v.mp4"}}, {"type": "image_url", "image_url": {"url": "a.jpg"}}]
    assert lines["openai"] == {"messages": [{"role": "user", "content": [*parts, asked]}, replied]} | ends


def test_a_reply_is_the_answer_or_what_proves_it_and_the_answer() -> None:
    shown = QuestionPrompt("", "made/room1.mp4")
    assert example_of(ASKED, NEAREST, shown, CANARY, prove=False).turns[0][1] == "B"
    asked, reply = example_of(ASKED, NEAREST, shown, CANARY, prove=True).turns[0]
    assert asked.startswith("Which?\nA. door\nB. bed\n")
    assert reply == f"{rationale_of(NEAREST).text}\nAnswer: B"


def test_the_one_thing_in_a_picture_is_asked_for_by_its_box() -> None:
    edges = {"left_edge": -0.378407, "right_edge": -0.157485, "lower_edge": -0.220417, "upper_edge": 0.122766}
    row = proof("Yaw Estimation", "x", *(fact(name, "bar 1", value) for name, value in edges.items()))
    one = example_of(ASKED, row, QuestionPrompt("", images=("a.jpg",)), CANARY, prove=False)
    assert json.loads(one.turns[1][1]) == [311, 439, 421, 610]
    assert len(example_of(ASKED, row, QuestionPrompt("", images=("a.jpg", "b.jpg")), CANARY, prove=False).turns) == 1


# ---- the command


def release_of(folder: Path, rows: list[dict[str, Any]], raw: str = "") -> Path:
    """What training reads of a release, whose scenes have videos beside it."""
    proofs = [
        {"id": row["id"], "scene": f"made/{row['scene_name']}", "task": row["question_type"]}
        | {"template": "vsi.object_counting", "group": None, "answer": row["ground_truth"]}
        | {
            "evidence": [
                fact("stated_count", "chair", float(row["ground_truth"] if row["ground_truth"].isdigit() else 0))
            ]
        }
        | {"source_sha256": raw or row["scene_name"], "latitude": None, "longitude": None}
        for row in rows
    ]
    kinds = {"evidence": pa.list_(EVIDENCE), "latitude": pa.float64(), "longitude": pa.float64(), "id": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in proofs[0]])
    release = folder / "release"
    version = {"scan2qa_schema_version": str(SCHEMA_VERSION)}
    for name, table in (
        ("data", pa.Table.from_pylist(rows, COLUMNS.schema)),
        ("provenance", pa.Table.from_pylist(proofs, schema)),
        (VIDEOS_TABLE, pa.table({"scene": [proofs[0]["scene"]], "pictures": [["00000000000000ff"]]})),
    ):
        (release / name).mkdir(parents=True)
        pq.write_table(table.replace_schema_metadata(version), release / name / "test-00000-of-00001.parquet")
    (release / "LICENSES.md").write_text(ALL_SAMPLES)
    files = [path for path in sorted(release.rglob("*")) if path.is_file()]
    sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(release)}\n" for f in files]
    (release / "checksums.sha256").write_text("".join(sums))
    for scene in {row["scene_name"] for row in rows}:
        (folder / "videos" / "made").mkdir(parents=True, exist_ok=True)
        (folder / "videos" / "made" / f"{scene}.mp4").write_bytes(scene.encode())
    return release


ROWS = [vsi(n, truth=str(3 + n % 2), scene=f"room{n % 4}") for n in range(1, 13)]


def test_an_export_has_a_canary_everywhere_and_no_scene_of_the_benchmark(scan2qa: Cli, tmp_path: Path) -> None:
    own = release_of(tmp_path / "own", ROWS)
    benchmark = release_of(tmp_path / "benchmark", [vsi(99, scene="other")], raw="room2")
    forms = [argument for form in (*FORMS, "webdataset") for argument in ("--format", form)]
    command = ("train", "vsi", own, "--against", benchmark, *forms, "--rationales", "--json", "--to")
    run = scan2qa(*command, tmp_path / "to")
    assert run.code == 0, run.err
    told = json.loads(run.out)
    assert [(one["scene"], one["check"], one["of"]) for one in told["shared_scenes"]] == [
        ("made/room1", "same_pictures", "made/other"),
        ("made/room2", "same_raw_data", "made/other"),
    ]
    assert told["examples"] == 6
    assert told["left_out"] == {"scene_in_benchmark": 6}
    assert told["rationales"] == {"proved": 6}
    for form in FORMS:
        lines = [json.loads(line) for line in (tmp_path / "to" / f"train.{form}.jsonl").read_text().splitlines()]
        assert {line["canary"] for line in lines} == {told["canary"]}
        assert {line["scene"] for line in lines} == {"made/room0", "made/room3"}
    assert (tmp_path / "to" / "media" / "made" / "room3.mp4").read_bytes() == b"room3"
    with tarfile.open(tmp_path / "to" / "webdataset" / "train-000000.tar") as tar:
        assert [Path(name).suffixes for name in tar.getnames()] == [[".json"], [".0", ".mp4"]] * 2
        first = json.load(tar.extractfile(tar.getnames()[0]))  # type: ignore[arg-type]
        assert tar.extractfile(tar.getnames()[1]).read() == b"room0"  # type: ignore[union-attr]
    assert (first["canary"], len(first["examples"]), first["has_media"]) == (told["canary"], 3, True)
    assert scan2qa(*command, tmp_path / "again").code == 0
    for file in told["files"]:
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "to" / file).read_bytes()


@pytest.mark.slow
def test_the_usual_loader_reads_every_form_with_the_keys_that_trainers_want(scan2qa: Cli, tmp_path: Path) -> None:
    from datasets import load_dataset

    own, benchmark = release_of(tmp_path / "own", ROWS), release_of(tmp_path / "b", [vsi(99, scene="other")])
    forms = [argument for form in FORMS for argument in ("--format", form)]
    assert scan2qa("train", "vsi", own, "--against", benchmark, *forms, "--to", tmp_path / "to").code == 0
    for form in FORMS:
        file = str(tmp_path / "to" / f"train.{form}.jsonl")
        read = load_dataset("json", data_files=file, split="train", cache_dir=str(tmp_path / "cache"))
        assert (
            len(read) == 6
        )  # three are of a scene of the benchmark, and three more would make one answer the usual one
        turns = read[0]["conversations" if form in {"sharegpt", "llava"} else "messages"]
        assert [turn.get("from") or turn["role"] for turn in turns] in (["human", "gpt"], ["user", "assistant"])


@pytest.mark.slow
def test_llama_factory_reads_what_is_exported(scan2qa: Cli, tmp_path: Path) -> None:
    own, benchmark = release_of(tmp_path / "own", ROWS), release_of(tmp_path / "b", [vsi(99, scene="other")])
    assert scan2qa("train", "vsi", own, "--against", benchmark, "--to", tmp_path / "to").code == 0
    command = [sys.executable, "-m", "tests.harness.load_llama_factory", str(tmp_path / "to"), str(tmp_path / "read")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads((tmp_path / "read").read_text())
    rows = [json.loads(line) for line in (tmp_path / "to" / "train.sharegpt.jsonl").read_text().splitlines()]
    told = [(one["_prompt"][0]["content"], one["_response"][0]["content"], one["_videos"]) for one in read]
    assert told == [
        (*(turn["value"] for turn in row["conversations"]), [str(tmp_path / "to" / name) for name in row["videos"]])
        for row in rows
    ]
    assert len({videos[0] for *_, videos in told}) == 3


@pytest.mark.parametrize(
    ("further", "told"),
    [
        (("--format", "alpaca"), "unknown format 'alpaca'"),
        (("--videos", "nowhere"), "is missing; say where they are with --videos"),
        (("--against", "own"), "no question is left to train on (12 scene_in_benchmark): "),
    ],
)
def test_what_cannot_be_exported_is_refused(further: tuple[str, str], told: str, scan2qa: Cli, tmp_path: Path) -> None:
    own, benchmark = release_of(tmp_path / "own", ROWS), release_of(tmp_path / "b", [vsi(99, scene="other")])
    more = [str(own) if argument == "own" else argument for argument in further]
    run = scan2qa("train", "vsi", own, "--against", benchmark, "--to", tmp_path / "to", *more)
    assert run.code == 2
    assert told in run.err
    assert not any(tmp_path.glob("to/*"))  # so that a mended call finds the folder empty
