"""The files in a release with which lmms-eval and VLMEvalKit ask it.

lmms-eval brings torch, so it is no package of the tests: its task files are loaded as its `load_yaml_config` does
(0.7.3), and VSI-Bench is marked by its own functions (`tests.oracles.lmms_vsibench`).
"""

from __future__ import annotations

import csv
import importlib.util
import io
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest
import yaml
from PIL import Image as Picture

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.benchmarks.urbanvideo.columns import SCHEMA as URBANVIDEO
from pipeline.benchmarks.vsi.columns import SCHEMA as VSI
from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.scoring.score import scored
from tests.benchmarks.urbanvideo.test_score import question
from tests.oracles import lmms_vsibench
from tests.scoring.made import all_tasks, said

FILE = "data/test-00000-of-00001.parquet"


def release(folder: Path, name: str, table: pa.Table) -> Path:
    files = {FILE: table_bytes(table)} | BENCHMARKS[name].harness("test", FILE, table)
    for path, raw in files.items():
        write_atomically(folder / path, raw)
    return folder


def load_task(path: Path) -> dict[str, Any]:
    """As lmms-eval does: functions of a module beside the task, else of one that can be imported."""

    def function(loader: yaml.Loader, node: yaml.ScalarNode) -> Callable[..., Any]:
        module_name, _, name = loader.construct_scalar(node).rpartition(".")
        beside = path.parent / f"{module_name}.py"
        if beside.exists():
            spec = importlib.util.spec_from_file_location(module_name, beside)
            assert spec
            assert spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(module_name)
        found: Callable[..., Any] = getattr(module, name)
        return found

    class Loader(yaml.FullLoader):
        pass

    Loader.add_constructor("!function", function)
    task: dict[str, Any] = yaml.load(path.read_text(), Loader)  # noqa: S506
    files = task["dataset_kwargs"]["data_files"]
    task["dataset_kwargs"]["data_files"] = {split: str(path.parent / file) for split, file in files.items()}
    return task


def docs_of(task: dict[str, Any], cache: Path) -> list[dict[str, Any]]:
    loaded = datasets.load_dataset(task["dataset_path"], cache_dir=str(cache), **task["dataset_kwargs"])
    return [dict(doc) for doc in loaded[task["test_split"]]]


@pytest.fixture
def lmms_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its VSI-Bench functions under their own name."""
    for name in ("lmms_eval", "lmms_eval.tasks", "lmms_eval.tasks.vsibench"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "lmms_eval.tasks.vsibench.utils", lmms_vsibench)


def vsi_release(folder: Path) -> tuple[Path, dict[str, Any], list[dict[str, Any]]]:
    made = release(folder / "release", "vsi", pa.Table.from_pylist(all_tasks(), VSI))
    task = load_task(made / "eval" / "lmms_eval" / "scan2qa_vsi_test.yaml")
    return made, task, docs_of(task, folder / "cache")


@pytest.mark.usefixtures("lmms_eval")
def test_lmms_eval_marks_gold_with_1_and_shuffled_as_scan2qa_does(tmp_path: Path) -> None:
    made, task, docs = vsi_release(tmp_path)
    truths = [doc["ground_truth"] for doc in docs]
    mixed = random.Random(2).sample(truths, len(truths))  # noqa: S311
    for replies in (truths, mixed):
        told = [task["process_results"](dict(doc), [reply]) for doc, reply in zip(docs, replies, strict=True)]
        theirs = {m["metric"]: m["aggregation"]([t[m["metric"]] for t in told]) for m in task["metric_list"]}
        answers = said(tmp_path / "p.jsonl", {doc["id"]: reply for doc, reply in zip(docs, replies, strict=True)})
        score = BENCHMARKS["vsi"].score
        assert score
        found = {r.figure.name: r.value for r in scored(score, made / FILE, [answers], score.settings()).rows}
        # lmms-eval rounds to six digits
        assert found["mean of 8"] == pytest.approx(theirs.pop("vsibench_overall"), abs=5.1e-7)
        for metric, value in theirs.items():
            assert found[metric.removesuffix("_accuracy").removesuffix("_mra")] == pytest.approx(value, abs=5.1e-7)
        assert replies is mixed or set(theirs.values()) == {1.0}


@pytest.mark.usefixtures("lmms_eval")
def test_lmms_eval_asks_with_the_options_and_finds_the_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, task, docs = vsi_release(tmp_path)
    text = task["doc_to_text"](docs[4], task["lmms_eval_specific_kwargs"]["default"])
    assert text.endswith(
        "Options:\nA. left\nB. right\nC. back\nAnswer with the option's letter from the given choices directly."
    )
    monkeypatch.delenv("SCAN2QA_VIDEOS", raising=False)
    with pytest.raises(RuntimeError, match="set SCAN2QA_VIDEOS"):
        task["doc_to_visual"](docs[0])
    monkeypatch.setenv("SCAN2QA_VIDEOS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"made/room0.mp4 is missing"):
        task["doc_to_visual"](docs[0])
    write_atomically(tmp_path / "made" / "room0.mp4", b"")
    assert task["doc_to_visual"](docs[0]) == [str(tmp_path / "made" / "room0.mp4")]


def urban_release(folder: Path) -> Path:
    rows = [question(n, "Causal", "ABCDE"[n % 5], f"flights/v{n}.mp4") for n in range(1, 11)]
    return release(folder / "release", "urbanvideo", pa.Table.from_pylist(rows, URBANVIDEO))


def test_lmms_eval_marks_urbanvideo(tmp_path: Path) -> None:
    made = urban_release(tmp_path)
    task = load_task(made / "eval" / "lmms_eval" / "scan2qa_urbanvideo_test.yaml")
    docs = docs_of(task, tmp_path / "cache")
    assert [task["process_results"](doc, [doc["answer"]]) for doc in docs] == [{"accuracy": 1.0}] * 10
    for reply, mark in {"(B)": 1, "B. x": 1, "b": 0, "": 0, "BAD": 0}.items():
        assert task["process_results"](docs[0], [reply]) == {"accuracy": mark}
    assert task["doc_to_text"](docs[0]).startswith(docs[0]["question"])
    assert task["metric_list"] == [{"metric": "accuracy", "aggregation": "mean", "higher_is_better": True}]


def test_tables_for_vlmevalkit(tmp_path: Path) -> None:
    made, urban = release(tmp_path / "vsi", "vsi", pa.Table.from_pylist(all_tasks(1), VSI)), urban_release(tmp_path)
    with (made / "eval" / "vlmevalkit" / "scan2qa_vsi_test.tsv").open(newline="") as file:
        first, *_, last = csv.DictReader(file, delimiter="\t")
    assert first == {
        "index": "1",
        "video": "made/room0.mp4",
        "question": "How many chair(s) are in this room?",
        "A": "",
        "B": "",
        "C": "",
        "answer": "1",
        "category": "object_counting",
    }
    assert [last[letter] for letter in "ABC"] == ["left", "right", "back"]
    with (urban / "eval" / "vlmevalkit" / "scan2qa_urbanvideo_test.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert (rows[0]["index"], rows[0]["E"], rows[0]["answer"]) == ("1", "option e", "B")
    assert rows[0]["question"] == "Question: Which?"


def test_lmms_eval_shows_the_legend_of_a_question_that_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = urban_release(tmp_path)
    docs_folder, raw = tmp_path / "videos", io.BytesIO()
    Picture.new("RGB", (3, 2), (255, 0, 0)).save(raw, "PNG")
    write_atomically(made / "legends" / "1.png", raw.getvalue())
    monkeypatch.setenv("SCAN2QA_VIDEOS", str(docs_folder))
    task = load_task(made / "eval" / "lmms_eval" / "scan2qa_urbanvideo_test.yaml")
    for number in (1, 2):
        write_atomically(docs_folder / "flights" / f"v{number}.mp4", b"")
    named, plain = docs_of(task, tmp_path / "cache")[:2]
    video, legend = task["doc_to_visual"](named)
    assert (video, legend.size, legend.getpixel((0, 0))) == (str(docs_folder / named["video_id"]), (3, 2), (255, 0, 0))
    assert task["doc_to_visual"](plain) == [str(docs_folder / plain["video_id"])]
