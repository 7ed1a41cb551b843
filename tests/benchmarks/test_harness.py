"""The files in a release with which lmms-eval and VLMEvalKit ask it, tried with both of them."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image as Picture

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.benchmarks.urbanvideo.columns import COLUMNS as URBANVIDEO
from pipeline.benchmarks.vsi.card import COLUMNS as VSI
from pipeline.benchmarks.vsi.card import REVSI_COLUMNS
from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.questions.asking import AskedOf
from pipeline.rendering.sampled import sampled_rows, write_sampled
from pipeline.rendering.video import encode
from pipeline.scoring.score import scored
from tests.benchmarks.urbanvideo.test_score import question
from tests.scoring.made import all_tasks

pytestmark = pytest.mark.slow  # each starts a harness
FILE = "data/test-00000-of-00001.parquet"
RED = (255, 0, 0)
LETTERS = "Answer with the option's letter from the given choices directly."


def release(folder: Path, name: str, table: pa.Table) -> Path:
    files = {FILE: table_bytes(table)} | BENCHMARKS[name].harness("test", FILE, table)
    for path, raw in files.items():
        write_atomically(folder / path, raw)
    return folder


def film(path: Path) -> None:
    """Twenty frames, each brighter than the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        for shade in range(0, 200, 10):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((64, 64, 3), shade, np.uint8))))
        container.mux(stream.encode())


def mixed(truths: Sequence[str]) -> list[str]:
    return random.Random(2).sample(list(truths), len(truths))  # noqa: S311


class Asked:
    """A release with its videos, and what is made of it."""

    def __init__(self, folder: Path, name: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
        self.folder, self.name = folder, name
        self.truths = [str(row.get("ground_truth", row.get("answer"))) for row in rows]
        self.release = release(folder / "release", name, pa.Table.from_pylist(list(rows), schema))
        for video in {row.get("video_id") or f"{row['dataset']}/{row['scene_name']}.mp4" for row in rows}:
            film(folder / "videos" / video)

    def _run(self, script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        cache = self.folder / "cache"
        cache.mkdir(exist_ok=True)
        env = os.environ | {
            "SCAN2QA_VIDEOS": str(self.folder / "videos"),
            "LMUData": str(cache),
            "HF_HOME": str(cache),
            "HF_HUB_OFFLINE": "1",
        }
        command = [sys.executable, "-m", f"tests.harness.{script}", *map(str, arguments)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    def by_lmms_eval(self, *runs: Sequence[str]) -> tuple[list[dict[str, Any]], list[Any]]:
        """What it marks of each run, and what its model was shown."""
        replies, shown = self.folder / "replies.json", self.folder / "shown.jsonl"
        replies.write_text(json.dumps(runs))
        at = self.release / "eval" / "lmms_eval"
        done = self._run("ask_lmms_eval", at, f"scan2qa_{self.name}_test", replies, shown, self.folder / "lmms")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout.splitlines()[-1])
        return told, [json.loads(line) for line in shown.read_text().splitlines()]

    def by_vlmevalkit(self, **models: Sequence[str]) -> list[Any]:
        """What its models were shown; what it marks lies below ``vlm/MODEL/``."""
        replies, shown = self.folder / "models.json", self.folder / "messages.jsonl"
        replies.write_text(json.dumps(models))
        done = self._run(
            "ask_vlmevalkit",
            self.release / "eval" / "vlmevalkit" / "scan2qa_run.py",
            replies,
            shown,
            *("--data", f"scan2qa_{self.name}_test_16frame", "--model", *models),
            *("--judge", "exact_matching", "--work-dir", self.folder / "vlm"),
        )
        assert done.returncode == 0, done.stderr
        assert shown.exists(), done.stdout
        return [json.loads(line) for line in shown.read_text().splitlines()]

    def prompts(self) -> list[str]:
        """What `scan2qa ask` tells a model of an open server of each question."""
        benchmark = BENCHMARKS[self.name]
        assert benchmark.asking
        assert benchmark.score
        of = AskedOf("test", False, "", self.release, lambda question, make: None)
        return [benchmark.asking.prompt(question, of).text for question in benchmark.score.read(self.release / FILE)]

    def ours(self, results: Path) -> dict[str, float | None]:
        """What `scan2qa score` makes of a file that a harness wrote."""
        score = BENCHMARKS[self.name].score
        assert score
        as_published = {"parse": "released"} if self.name == "vsi" else {}
        found = scored(score, self.release / FILE, [results], score.settings(**as_published))
        assert not found.left_out
        return {r.figure.name: r.value for r in found.rows}


@pytest.fixture(scope="module")
def vsi(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return Asked(tmp_path_factory.mktemp("vsi"), "vsi", all_tasks(), VSI.schema)


@pytest.fixture(scope="module")
def urban(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    rows = [question(n, ("Causal", "Proximity")[n % 2], "ABCDE"[n % 5], f"flights/v{n}.mp4") for n in range(1, 11)]
    asked = Asked(tmp_path_factory.mktemp("urban"), "urbanvideo", rows, URBANVIDEO.schema)
    raw = io.BytesIO()
    Picture.new("RGB", (3, 2), RED).save(raw, "PNG")
    write_atomically(asked.release / "legends" / "1.png", raw.getvalue())
    return asked


def test_lmms_eval_marks_gold_with_1_and_shuffled_as_scan2qa_does(vsi: Asked) -> None:
    told, shown = vsi.by_lmms_eval(vsi.truths, mixed(vsi.truths))
    for run, marks in enumerate(told):
        theirs = {k.removesuffix(",none"): v for k, v in marks.items() if k.endswith(",none") and "_stderr" not in k}
        (samples,) = (vsi.folder / "lmms" / str(run)).rglob("*_samples_scan2qa_vsi_test.jsonl")
        found = vsi.ours(samples)
        # lmms-eval rounds to six digits
        assert found["mean of 8"] == pytest.approx(theirs.pop("vsibench_overall"), abs=5.1e-7)
        assert len(theirs) == 8
        for metric, value in theirs.items():
            assert found[metric.removesuffix("_accuracy").removesuffix("_mra")] == pytest.approx(value, abs=5.1e-7)
        assert (set(theirs.values()) == {1.0}) == (run == 0)
    assert [text for text, _ in shown] == vsi.prompts()
    text, seen = shown[4]
    assert text.endswith(f"Options:\nA. left\nB. right\nC. back\n{LETTERS}")
    assert seen == [str(vsi.folder / "videos" / "made" / "room0.mp4")]


def test_vlmevalkit_marks_gold_with_100_and_shuffled_as_scan2qa_does(vsi: Asked) -> None:
    shown = vsi.by_vlmevalkit(gold=vsi.truths, mixed=mixed(vsi.truths))
    for model in ("gold", "mixed"):
        written = vsi.folder / "vlm" / model
        (results,) = written.glob(f"{model}_scan2qa_vsi_test_16frame.xlsx")
        with next(written.glob("*_acc.csv")).open(newline="") as file:
            (row,) = csv.DictReader(file, delimiter="\t")
        theirs, found = {name: float(value) for name, value in row.items()}, vsi.ours(results)
        assert found["mean of 8"] == pytest.approx(theirs.pop("overall") / 100, abs=1e-9)
        assert len(theirs) == 8
        for metric, value in theirs.items():
            assert found[metric.removesuffix("_accuracy").removesuffix("_MRA:.5:.95:.05")] == pytest.approx(
                value / 100, abs=1e-9
            )
        assert (set(theirs.values()) == {100.0}) == (model == "gold")
    assert len(shown) == 2 * len(vsi.truths)
    *frames, text = shown[4]
    assert len(frames) == 16
    shades = [np.asarray(Picture.open(frame["value"]).convert("L")).mean() for frame in frames]
    assert shades == sorted(shades)
    assert text["value"].endswith(f"A. left\nB. right\nC. back\n{LETTERS}")


def test_both_ask_and_mark_flights_alike(urban: Asked) -> None:
    told, asked = urban.by_lmms_eval(urban.truths, mixed(urban.truths))
    shown = urban.by_vlmevalkit(gold=urban.truths, mixed=mixed(urban.truths))
    for run, model in enumerate(("gold", "mixed")):
        (samples,) = (urban.folder / "lmms" / str(run)).rglob("*.jsonl")
        (results,) = (urban.folder / "vlm" / model).glob(f"{model}_scan2qa_urbanvideo_test_16frame.xlsx")
        (marks,) = (urban.folder / "vlm" / model).glob("*_marks.tsv")
        with marks.open(newline="") as file:
            hits = [float(row["hit"]) for row in csv.DictReader(file, delimiter="\t")]
        ours = urban.ours(samples)
        assert ours == urban.ours(results)
        assert told[run]["accuracy,none"] == pytest.approx(sum(hits) / 10) == pytest.approx(ours["all"])
        assert (hits == [1.0] * 10) == (model == "gold")
    assert [text for text, _ in asked] == urban.prompts()
    for (text, (video, *legend)), message in zip(asked, shown[:10], strict=True):
        assert message[-1]["value"] == text
        pictures = [part["value"] for part in message[16:-1]]
        assert bool(legend) == bool(pictures) == (video == str(urban.folder / "videos" / "flights" / "v1.mp4"))
        assert [tuple(pixel) for pixel in legend] == [Picture.open(p).getpixel((0, 0)) for p in pictures]


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("(B)", 1.0),
        ("B. x", 1.0),
        ("b", 0.0),
        ("", 0.0),
        ("BAD", 0.0),
        ("It is B", 1.0),
        ("I think it's B", 1.0),
        ("A left turn, so B", 1.0),
        ("B, as A is far", 1.0),
        ("A because B", 0.0),
    ],
)
def test_letters_in_replies(reply: str, right: float, urban: Asked) -> None:
    names: dict[str, Any] = {"__file__": "x"}
    exec((urban.release / "eval" / "lmms_eval" / "scan2qa_utils.py").read_text(), names)  # noqa: S102
    assert names["process_results"]({"answer": "B"}, [reply]) == {"accuracy": right}


@pytest.mark.parametrize("harness", ["ask_lmms_eval", "ask_vlmevalkit"])
def test_videos_that_are_not_there_are_named(harness: str, tmp_path: Path) -> None:
    asked = Asked(tmp_path, "vsi", all_tasks(1), VSI.schema)
    (tmp_path / "videos" / "made" / "room0.mp4").unlink()
    if harness == "ask_lmms_eval":
        with pytest.raises(AssertionError, match=r"made/room0\.mp4 is missing: is SCAN2QA_VIDEOS the folder"):
            asked.by_lmms_eval(asked.truths)
    else:
        with pytest.raises(AssertionError, match=r"made/room0\.mp4 is missing \(1 in all\)"):
            asked.by_vlmevalkit(gold=asked.truths)


REVSI_KINDS = {
    "object_counting_single": 0, "object_counting_multiple": 0, "object_size_estimation": 0, "object_abs_distance": 0,
    "room_size_estimation_single": 0, "object_rel_distance_closest": 4, "object_rel_direction_forward_easy": 2,
    "route_planning": 3,
}  # fmt: skip


def test_revsi_is_loaded_shown_and_marked_by_its_own_task_in_lmms_eval(tmp_path: Path) -> None:
    common = {"dataset": "made", "scene_name": "room", "scene_id": "room", "num_frames": "all", "pruned": False}
    rows = [
        common
        | {"id": n, "question_type": kind, "question": f"Question {n}?", "ground_truth": "B" if options else "4"}
        | {"options": [f"{letter}. {letter.lower()}" for letter in "ABCD"[:options]] or None, "video_examined": True}
        for n, (kind, options) in enumerate(REVSI_KINDS.items())
    ]
    made = Asked(tmp_path, "vsi", rows, REVSI_COLUMNS.schema)
    made.name = "revsi"
    wrong = ["A" if row["options"] else "400" for row in rows]
    (best, worst), shown = made.by_lmms_eval(made.truths, wrong)
    named = [name for name in best if name.endswith("_acc,none")]
    assert len(named) == 8
    assert [(best[name], worst[name]) for name in named] == [(1.0, 0.0)] * 8
    for (text, videos), row in zip(shown[: len(rows)], rows, strict=True):
        assert row["question"] in text
        assert videos == [str(tmp_path / "videos" / "made" / "room.mp4")]


def test_four_loaders_take_the_frames_of_the_release_from_both_videos(tmp_path: Path) -> None:
    """Of the delivered video, and of that of 16 frames alone, to the bit; the release says which these are."""
    rng = np.random.default_rng(0)
    shapes = [rng.integers(0, 256, (6, 8, 3), np.uint8).repeat(80, 0).repeat(80, 1) for _ in range(5)]
    pictures = [shapes[n // 9] // 2 + np.uint8(2 * n) for n in range(45)]
    encoded = encode(iter(pictures), 10, 0, BENCHMARKS["vsi"].video)
    write_atomically(tmp_path / "made" / "room.mp4", encoded.raw)
    rows = sampled_rows(tmp_path / "made" / "room.mp4", "made/room", 10, [16], encoded.frames)
    assert [row["index"] for row in rows] == [int(x) for x in np.linspace(0, 44, 16)]
    assert [row["time_s"] for row in rows] == [row["index"] / 10 for row in rows]
    assert all(found.is_same for found in write_sampled(tmp_path, tmp_path, rows))
    videos = ["made/room", "16_frame/made/room"]
    command = [sys.executable, "-m", "tests.harness.load_frames", str(tmp_path), "16", *videos]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    expected = [row["sha256"] for row in rows]
    assert len(set(expected)) == 16
    assert {(video, loader): found for video, own in told.items() for loader, found in own.items()} == {
        (video, loader): expected
        for video in videos
        for loader in ("lmms-eval, PyAV", "lmms-eval, decord", "lmms-eval, pictures", "VLMEvalKit")
    }


def test_a_frame_budget_is_asked_of_its_own_videos_and_of_no_other_number_of_frames(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(all_tasks(1), VSI.schema)
    for path, raw in BENCHMARKS["vsi"].harness("16_frame", "16_frame/t.parquet", table).items():
        write_atomically(tmp_path / path, raw)
    for path, raw in BENCHMARKS["vsi"].harness("twins", "twins/t.parquet", table).items():
        write_atomically(tmp_path / path, raw)
    at = tmp_path / "eval"
    number = all_tasks(1)[0]["id"]
    twins = (at / "vlmevalkit" / "scan2qa_vsi_twins_16_frame.tsv").read_text()
    assert f"\ttwins/made/room0/{number}.mp4\t" in twins
    assert "\t16_frame/made/room0.mp4\t" in (at / "vlmevalkit" / "scan2qa_vsi_16_frame.tsv").read_text()
    names: dict[str, Any] = {"__file__": "x"}
    exec((at / "lmms_eval" / "scan2qa_utils_16_frame.py").read_text(), names)  # noqa: S102
    assert names["video_of"](all_tasks(1)[0]) == "16_frame/made/room0.mp4"
    film(tmp_path / "videos" / "16_frame" / "made" / "room0.mp4")
    env = os.environ | {"SCAN2QA_VIDEOS": str(tmp_path / "videos"), "LMUData": str(tmp_path)}
    run = [str(at / "vlmevalkit" / "scan2qa_run.py"), str(tmp_path / "r.json"), str(tmp_path / "s.jsonl")]
    (tmp_path / "r.json").write_text(json.dumps({"gold": []}))
    data = ["--data", "scan2qa_vsi_16_frame_32frame", "--model", "gold", "--work-dir", str(tmp_path / "vlm")]
    command = [sys.executable, "-m", "tests.harness.ask_vlmevalkit", *run, *data]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert "scan2qa_vsi_16_frame is of 16 frames; ask it with --data" in done.stdout + done.stderr
