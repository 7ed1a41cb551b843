"""The files in a release with which lmms-eval, VLMEvalKit and inspect_ai ask it, tried with all of them."""

import csv
import json
import os
import random
import runpy
import subprocess
import sys
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image as Picture

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.benchmarks.vsi.card import COLUMNS as VSI
from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.core.templates import TEMPLATES_DIR
from pipeline.rendering.sampled import sampled_rows, write_sampled
from pipeline.rendering.video import encode
from pipeline.scoring.score import scored
from tests.benchmarks.cityeqa.cities import task
from tests.benchmarks.embodied4c.planted import question as exam
from tests.benchmarks.ergeobench.test_score import choice, geo
from tests.benchmarks.urbanvideo.test_score import question
from tests.formats.logs.made_films import grey_film
from tests.scoring.made import all_tasks
from tests.scoring.made import vsi as vsi_row

pytestmark = pytest.mark.slow  # each starts a harness
FILE = "data/test-00000-of-00001.parquet"
Row = dict[str, Any]
WHITE = (255, 255, 255)  # to which JPEG does nothing
LETTERS = "Answer with the option's letter from the given choices directly."


def film(path: Path) -> None:
    """Twenty frames, each brighter than the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(grey_film(range(0, 200, 10), 10, (64, 64)))


def flights() -> list[Row]:
    return [question(n, ("Causal", "Proximity")[n % 2], "ABCDE"[n % 5], f"flights/v{n}.mp4") for n in range(1, 11)]


def logs() -> list[Row]:
    """Numbers, one of them negative and one 0, and words with further forms."""
    numbers = [("12.5", 12.5), ("-40", -40.0), ("0", 0.0), ("3", 3.0)]
    rows = [exam(n, "DT", answer, value=value, video=f"d{n}.mp4") for n, (answer, value) in enumerate(numbers)]
    words = [("to the left", ["left"]), ("a red car", []), ("yes", []), ("two", ["2"])]
    return [*rows, *(exam(10 + n, "OR", answer, accepted=more) for n, (answer, more) in enumerate(words))]


def places() -> list[Row]:
    """Places that were looked at in a picture, one of an agent, and letters."""
    towns = [{"lat": 43.7, "lon": 7.4}, {"lat": -33.9, "lon": 151.2}, {"lat": 10.0, "lon": 0.0}]
    shown = {"setting": "single", "images": ["views/p.jpg"]}
    rows = [geo(n, "Geo-localization, single view", **place) | shown for n, place in enumerate(towns)]
    rows.append(
        geo(3) | {"setting": "embodied", "images": ["a", "b"], "views": [{"yaw_deg": 0.0, "pitch_deg": 0.0}] * 2}
    )
    return [*rows, *(choice(n, "Signage", "AB"[n % 2]) | shown for n in range(4, 8))]


def streets() -> list[Row]:
    answers = ("8", "Yes", "A bakery", "no", "Blue", "12")
    return [task(n, answer=answer) for n, answer in enumerate(answers)]


def of_some_levels() -> list[Row]:
    """VSI-Bench without one level of direction and without counts, and with a task that no harness knows."""
    left = {"object_counting", "object_rel_direction_hard"}
    rows = [row for row in all_tasks(2) if row["question_type"] not in left]
    further = [vsi_row(900 + n, "object_wider", "AB"[n % 2]) | {"options": ["A. left", "B. right"]} for n in range(3)]
    return [*rows, *further]


REVSI_KINDS = {
    "object_counting_single": 0, "object_counting_multiple": 0, "object_size_estimation": 0, "object_abs_distance": 0,
    "room_size_estimation_single": 0, "object_rel_distance_closest": 4, "object_rel_direction_forward_easy": 2,
    "route_planning": 3,
}  # fmt: skip


def revsi() -> list[Row]:
    common = {"dataset": "made", "scene_name": "room", "scene_id": "room", "num_frames": "all", "pruned": False}
    return [
        common
        | {"id": n, "question_type": kind, "question": f"Question {n}?", "ground_truth": "B" if options else "4"}
        | {"options": [f"{letter}. {letter.lower()}" for letter in "ABCD"[:options]] or None, "video_examined": True}
        for n, (kind, options) in enumerate(REVSI_KINDS.items())
    ]


# table -> benchmark, split and rows
TABLES: dict[str, tuple[str, str, list[Row]]] = {
    "scan2qa_vsi_test": ("vsi", "test", all_tasks()),
    "scan2qa_vsi_debiased": ("vsi", "debiased", of_some_levels()),
    "scan2qa_vsi_16_frame": ("vsi", "16_frame", all_tasks(1)),
    "scan2qa_vsi_revsi": ("vsi", "revsi", revsi()),
    "scan2qa_urbanvideo_test": ("urbanvideo", "test", flights()),
    "scan2qa_embodied4c_test": ("embodied4c", "test", logs()),
    "scan2qa_ergeobench_test": ("ergeobench", "test", places()),
    "scan2qa_cityeqa_test": ("cityeqa", "test", streets()),
}
RUNS = ("gold", "mixed", "chatty")


class Asked:
    """A release with the tables of all benchmarks and their videos, and what the harnesses make of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.release = folder, folder / "release"
        self.rows: dict[str, list[Row]] = {}
        for table, (name, split, rows) in TABLES.items():
            benchmark = BENCHMARKS[name].under("revsi" if split == "revsi" else "")
            public = pa.Table.from_pylist(rows, benchmark.columns.schema)
            files = benchmark.harness_files(split, public, {"legends/01/1.png"}) | {
                f"{table}.parquet": table_bytes(public)
            }
            for path, raw in files.items():
                write_atomically(self.release / path, raw)
            lines = (self.release / "eval" / f"{table}.jsonl").read_text().splitlines()
            self.rows[table] = [json.loads(line) for line in lines]
        for video in {row["video"] for rows in self.rows.values() for row in rows if row["video"]}:
            film(folder / "videos" / video)
        for picture in ("legends/01/1.png", "views/p.jpg"):
            (self.release / picture).parent.mkdir(parents=True, exist_ok=True)
            Picture.new("RGB", (3, 2), WHITE).save(self.release / picture)

    def pictures(self, row: Row) -> int:
        """How many pictures a question shows."""
        return len(row["images"]) + (row["legend"] == "legends/01/1.png")

    def replies(self) -> dict[str, dict[str, list[str]]]:
        """Table -> run -> replies: the truths, those of other questions, and the truths as chatty models put them."""
        told = {table: [row["answer"] for row in rows] for table, rows in self.rows.items()}
        said = "<think>A or B? 17 of them.</think>Let me see.\nThe answer is "
        return {
            table: {
                "gold": own,
                "mixed": random.Random(2).sample(own, len(own)),  # noqa: S311
                "chatty": [truth if truth.startswith("{") else f"{said}{truth}." for truth in own],
            }
            for table, own in told.items()
        }

    def run(self, script: str, *arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        cache = self.folder / "cache"
        cache.mkdir(exist_ok=True)
        env = os.environ | {
            "SCAN2QA_VIDEOS": str(self.folder / "videos"),
            "LMUData": str(cache),
            "HF_HOME": str(cache),
            "XDG_DATA_HOME": str(cache),
        }
        command = [sys.executable, "-m", f"tests.harness.{script}", *map(str, arguments)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not check, done.stderr
        return done

    def written(self, name: str, content: Any) -> Path:
        path = self.folder / name
        path.write_text(json.dumps(content))
        return path

    def ours(self, table: str, results: Path, **settings: str) -> dict[str, float | None]:
        """What `scan2qa score` makes of a file that a harness wrote."""
        name = TABLES[table][0]
        score = BENCHMARKS[name].score
        assert score
        found = scored(score, self.release / f"{table}.parquet", [results], score.settings(**settings))
        assert not found.left_out
        scale = {"match": 100.0} if name == "embodied4c" else {}
        own = {"cityeqa": "match", "embodied4c": "match", "ergeobench": "accuracy"}.get(name)
        return {
            r.figure.name: r.value if r.value is None else r.value / scale.get(r.metric, 1.0)
            for r in found.rows
            if own in (None, r.metric)
        }


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return Asked(tmp_path_factory.mktemp("harness"))


def hold(table: str, run: str, theirs: Mapping[str, float], ours: Mapping[str, float | None]) -> None:
    """A harness's own figures, "score" and those of tasks, against what `scan2qa score` makes of the same replies."""
    own = {f"SPA {name}" if "embodied4c" in table else name: value for name, value in theirs.items()}
    whole = own.pop("SPA score" if "embodied4c" in table else "score")
    compared = {name: value for name, value in own.items() if name in ours}
    assert own.keys() - ours.keys() <= {"Geo-localization, single view"}  # GLS is one of all replies
    assert compared == {name: pytest.approx(ours[name], abs=1e-9) for name in compared}
    if "ergeobench" not in table:
        names = {"mean of 8", "mean of 7 of 8", "mean of 7", "all", "all questions but GEN"}
        assert [pytest.approx(value, abs=1e-9) for name, value in ours.items() if name in names] == [whole]
    assert run != "gold" or whole == pytest.approx(1.0)
    assert run != "gold" or set(own.values()) <= {1.0}


def parse(table: str, value: str) -> dict[str, str]:
    return {"parse": value} if "_vsi_" in table else {}


def test_lmms_eval_marks_all_five_as_scan2qa_does(asked: Asked) -> None:
    """VSI-Bench and ReVSI by its own functions, which take the first word; all else also where models are chatty."""
    folder, replies = asked.release / "eval" / "lmms_eval", asked.written("lmms.json", asked.replies())
    done = asked.run("ask_lmms_eval", folder, replies, asked.folder / "lmms")
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.keys() == TABLES.keys()
    for table, own in told.items():
        rows, shown = asked.rows[table], own.pop("shown")
        assert [text for text, _ in shown] == [row["prompt"] for row in rows]
        for row, (_, seen) in zip(rows, shown, strict=True):
            videos = [str(asked.folder / "videos" / row["video"])] if row["video"] else []
            assert seen == [*videos, *[list(WHITE)] * asked.pictures(row)]
        for run, marks in own.items():
            theirs = {
                k.removesuffix(",none"): v for k, v in marks.items() if k.endswith(",none") and "_stderr" not in k
            }
            (samples,) = (asked.folder / "lmms" / table / run).rglob(f"*_samples_{table}.jsonl")
            if run != "chatty" or "_vsi_" not in table:
                hold(table, run, theirs, asked.ours(table, samples, **parse(table, "released")))


@pytest.mark.long
def test_vlmevalkit_marks_all_five_as_scan2qa_does(asked: Asked) -> None:
    """All but ReVSI, which it does not know. What no frames are taken of meets a message before a model is asked."""
    shown = asked.folder / "messages.jsonl"
    data = {table: f"{table}{'_16frame' * ('ergeo' not in table)}" for table in TABLES if "revsi" not in table}
    models = {run: {table: own[run] for table, own in asked.replies().items()} for run in RUNS}
    done = asked.run(
        "ask_vlmevalkit",
        asked.release / "eval" / "vlmevalkit" / "scan2qa_run.py",
        asked.written("models.json", models),
        shown,
        *("--data", *data.values(), "scan2qa_urbanvideo_test", "scan2qa_vsi_16_frame_32frame", "--model", *RUNS),
        *("--judge", "exact_matching", "--work-dir", asked.folder / "vlm"),
    )
    told = " ".join((done.stdout + done.stderr).split())
    assert "takes no video (VIDEO_LLM is not set): ask it of frames, such as --data scan2qa_urbanvideo_test_32f" in told
    assert "scan2qa_vsi_16_frame is of 16 frames; ask it with --data scan2qa_vsi_16_frame_16frame" in told
    for table, name in data.items():
        for run in RUNS:
            written = asked.folder / "vlm" / run
            (results,) = written.glob(f"{run}_{name}.xlsx")
            ours = asked.ours(table, results, **parse(table, "careful" if run == "chatty" else "released"))
            if "_vsi_" in table:
                with next(written.glob(f"{run}_{name}*_acc.csv")).open(newline="") as file:
                    (row,) = csv.DictReader(file, delimiter="\t")
                theirs = {metric.partition("_MRA")[0].removesuffix("_accuracy"): float(v) for metric, v in row.items()}
                theirs["score"] = theirs.pop("overall")
                hold(table, run, {name: value / 100 for name, value in theirs.items()}, ours)
            else:
                with next(written.glob(f"{run}_{name}_marks.tsv")).open(newline="") as file:
                    marks = [float(row["hit"]) for row in csv.DictReader(file, delimiter="\t")]
                hold(table, run, {"score": sum(marks) / len(marks)}, ours)
    messages = {(model, table): [] for model in RUNS for table in TABLES}
    for model, table, message in map(json.loads, shown.read_text().splitlines()):
        messages[model, table].append(message)
    flown = "scan2qa_urbanvideo_test"
    for row, (*seen, text) in zip(asked.rows[flown], messages["gold", flown], strict=True):
        assert text["value"] == row["prompt"]
        assert len(seen) == 16 + asked.pictures(row)
        shades = [np.asarray(Picture.open(frame["value"]).convert("L")).mean() for frame in seen]
        assert shades == sorted(shades)
    *_, text = messages["gold", "scan2qa_vsi_test"][4]
    assert text["value"].endswith(f"A. left\nB. right\nC. back\n{LETTERS}")


@pytest.mark.long
def test_inspect_marks_all_five_as_scan2qa_does(asked: Asked) -> None:
    file = asked.release / "eval" / "inspect_ai" / "scan2qa_task.py"
    runs = zip(asked.replies().items(), cycle(("chatty", "mixed")))
    prepared = {table: {run: own[run]} for (table, own), run in runs if table != "scan2qa_vsi_test"}
    done = asked.run("ask_inspect", file, asked.written("inspect.json", prepared), asked.folder / "inspect")
    for table, own in json.loads(done.stdout.splitlines()[-1]).items():
        for row, seen in zip(asked.rows[table], own.pop("shown"), strict=True):
            pictures = (row["frames"] or 4) * bool(row["video"]) + asked.pictures(row)
            assert seen == [["image", ""]] * pictures + [["text", row["prompt"]]]
        ((run, metrics),) = own.items()
        (log,) = (asked.folder / "inspect" / table / run).glob("*.json")
        ours = asked.ours(table, log, **parse(table, "careful"))
        metrics["score"] = metrics.pop("overall")
        if "_vsi_" in table:  # whose types it shows one by one
            metrics = {name: v for name, v in metrics.items() if name in ours or name == "score"}
        hold(table, run, metrics, ours)


def rows_module() -> dict[str, Any]:
    return runpy.run_path(str(TEMPLATES_DIR / "tables" / "harness" / "scan2qa_rows.py"))


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
        ("<think>A?</think>B", 1.0),
    ],
)
def test_letters_in_replies(reply: str, right: float) -> None:
    assert rows_module()["mark"]({"mark": "letter", "answer": "B"}, reply) == right


@pytest.mark.parametrize(
    ("kind", "answer", "reply", "earned"),
    [
        ("number", "40", "about 42 m", 0.5),
        ("number", "-40", "-42", 0.5),
        ("number", "-40", "42", 0.0),
        ("number", "0", "0.0", 1.0),
        ("number", "1200", "1,200 m", 1.0),
        ("number", "3", "From A1 to B2:\n3", 1.0),
        ("mra", "4", "5", 0.6),
        ("mra", "4", "none", 0.0),
        ("words", "Red", "The answer is the red one", 0.0),
        ("words", "Red", "It is:\na red.", 1.0),
        ("place", '{"lat": 0, "lon": 0}', '{"latitude": 0, "longitude": "180"}', 0.0),
        ("place", '{"lat": 0, "lon": 0}', "Monaco", 0.0),
        ("twin", "B", "A", 1.0),
        ("twin", "B", "B", 0.0),
        ("twin", "4", "It cannot be told.", 0.0),
        ("twin", "4", "4", 1.0),
        ("twin", "4", "0", 0.0),
    ],
)
def test_what_other_replies_earn(kind: str, answer: str, reply: str, earned: float) -> None:
    row = {"mark": kind, "answer": answer, "accepted": []}
    assert rows_module()["mark"](row, reply) == pytest.approx(earned, abs=2e-4)


def test_the_map_of_marks_is_what_the_benchmarks_name(asked: Asked) -> None:
    kinds = {row["mark"] for rows in asked.rows.values() for row in rows}
    assert kinds | {"twin"} == set(rows_module()["MARKS"])


def test_a_frame_budget_and_twins_are_asked_of_their_own_videos(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.Table.from_pylist(all_tasks(1), VSI.schema)
    found: dict[str, Row] = {}
    for split in ("16_frame", "twins"):
        files = BENCHMARKS["vsi"].harness_files(split, table)
        found[split] = json.loads(files[f"eval/scan2qa_vsi_{split}.jsonl"].splitlines()[0])
        assert f"eval/lmms_eval/scan2qa_vsi_{split}.yaml" in files
        assert b"scan2qa score vsi RESULTS --release RELEASE" in files["eval/README.md"]
    number = all_tasks(1)[0]["id"]
    assert found["16_frame"]["video"] == "16_frame/made/room0.mp4"
    assert found["twins"]["video"] == f"twins/made/room0/{number}.mp4"
    assert [row["frames"] for row in found.values()] == [16, 16]
    video_of = rows_module()["video_of"]
    with pytest.raises(RuntimeError, match="set SCAN2QA_VIDEOS to the folder with the videos"):
        video_of(found["twins"])
    monkeypatch.setenv("SCAN2QA_VIDEOS", str(asked.folder / "videos"))
    for split, more in (("16_frame", ""), ("twins", " --twins")):
        with pytest.raises(FileNotFoundError, match=f"is missing: .* frames write VIDEOS --release RELEASE{more}$"):
            video_of(found[split] | {"video": f"{split}/nowhere.mp4"})


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
