"""What is foreseen of a build, against what comes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.cli.output.forecast_tables import lasting
from flows.orchestration.forecast import StageRate, bounds_of, build_forecast, rates, seconds_for
from pipeline.benchmarks.prospects import Cost, Terms, prospects
from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.core.errors import RawDataError
from pipeline.engine.inputs import list_inputs
from pipeline.engine.manifest import read_manifest
from pipeline.reading.files import SceneRef
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.registry import READERS
from tests.benchmarks.urbanvideo.flights import flight, motion
from tests.builds import Cli, config_of
from tests.worlds.indoor.readers.tiny_scans import put


@pytest.mark.slow
def test_no_build_has_more_questions_than_were_foreseen(meta: Path, tmp_path: Path) -> None:
    config = config_of(meta, generate={"rules": {"words": "official"}})  # what is usual is asked, too
    inputs = list_inputs(config).inputs
    before = bounds_of(config, inputs)
    released = Builder(config, tmp_path / "out").build().released
    assert all(released.questions[task] <= before.by_task[task] for task in released.questions)
    assert released.questions["object_counting"] == before.by_task["object_counting"] > 0
    assert before.by_task["obj_appearance_order"] == before.by_task["route_planning"] == 0
    lack = {cost.reason: cost for cost in before.costs}
    assert lack["video_not_examined"].tasks == ("obj_appearance_order",)
    assert len(lack["video_not_examined"].scenes) == len(inputs)
    builder = Builder(config, tmp_path / "out")
    after = build_forecast(config, tmp_path / "out", builder.dry_run(), inputs, 2)
    assert {task: n for task, n in after.bounds.by_task.items() if n} == {
        task: n for task, n in released.questions.items() if n
    }
    assert after.efforts == [], "nothing is due"
    hosted = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9"}
    panel = config_of(meta, blind={"models": [hosted | {"price": {"input": 1, "output": 1}}]})
    known = build_forecast(panel, tmp_path / "out", Builder(panel, tmp_path / "out").dry_run(), inputs, 2)
    assert known.models[0].requests >= sum(released.questions.values()) - 5, "those that read the same are asked once"
    assert known.models[0].most_usd is not None


@pytest.mark.slow
def test_doctor_says_whether_published_answers_lie_beside_the_metadata(
    scan2qa: Cli, meta: Path, tmp_path: Path
) -> None:
    alone = scan2qa("doctor", "--root", f"vsi_meta={meta}")
    assert "No published answers beside the data (test.jsonl or " in alone.out
    assert "give it with --set known=FILE" in alone.out
    question = {"id": 1, "dataset": "scannet", "scene_name": "elsewhere", "question_type": "object_counting"}
    question |= {"question": "How many chair(s) are in this room?", "ground_truth": "2", "options": None}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n")
    beside = scan2qa("doctor", "--root", f"vsi_meta={meta}")
    assert "No published answers" not in beside.out
    assert f"Published answers: {tmp_path / 'questions.jsonl'}." in beside.out


def test_of_scans_that_take_long_to_read_the_caps_are_known(tmp_path: Path) -> None:
    (tmp_path / "scene0000_00").mkdir()
    (tmp_path / "scene0000_00" / "scene0000_00_vh_clean_2.ply").write_bytes(b"ply")
    config = config_of(tmp_path).model_copy(update={"roots": {"scannet": tmp_path}})
    found = bounds_of(config, list_inputs(config).inputs)
    assert set(found.by_task.values()) == {config.select.per_scene_and_task * found.unread}
    assert found.unread == 1


def test_what_a_scene_lacks_is_not_counted(tmp_path: Path) -> None:
    """Nothing is asked of things whose names nobody ticked, nor for an order without a film."""

    def at_most(complete: object, **rules: object) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
        bed = {"label": "bed", "center": [1, 1, 0.3], "size": [2, 1, 0.6]}
        told = {"format": "scan2qa-scene", "version": 1, "unit": "m", "up": "z", "handedness": "right"}
        put(tmp_path / "room" / "scene.json", json.dumps(told | {"complete": complete, "objects": [bed]}).encode())
        config = config_of(tmp_path, **rules).model_copy(update={"roots": {"scene": tmp_path}})
        found = bounds_of(config, list_inputs(config).inputs)
        return dict(found.by_task), {cost.reason: cost.tasks for cost in found.costs}

    counts, lack = at_most(complete=False)
    assert set(counts.values()) == {0}
    assert len(lack["complete labels"]) == len(counts) - 1
    assert lack["area"] == ("room_size_estimation",)
    counts, lack = at_most(complete=["bed"])
    assert {task for task, n in counts.items() if not n} == {"room_size_estimation", "obj_appearance_order"}
    assert "complete labels" not in lack
    assert at_most(complete=False, generate={"profile": "official"})[0]["object_counting"] > 0  # which heeds no doubt


@pytest.mark.slow
def test_rates_are_those_of_builds_on_this_machine_where_there_are_any(meta: Path, tmp_path: Path) -> None:
    table = rates("vsi", {"vsi_meta": {"samples"}}, tmp_path / "outputs" / "mine")
    assert not table.scenes["generate", "vsi_meta"].is_measured
    out = tmp_path / "outputs" / "mine"
    Builder(config_of(meta), out).build()
    found = rates("vsi", {"vsi_meta": {"samples"}}, out)
    entries = [e for (stage, _), e in read_manifest(out).items() if stage == "generate"]
    size = sum(e.output.path.stat().st_size for e in entries if e.output) / len(entries)
    seconds = sum(e.seconds for e in entries) / len(entries)
    assert found.scenes["generate", "vsi_meta"] == StageRate(pytest.approx(seconds), size, is_measured=True)  # type: ignore[arg-type]
    assert found.questions["export"].is_measured


def test_the_table_has_a_rate_for_every_stage_and_reader(tmp_path: Path) -> None:
    known = {reader: rates("vsi", {reader: set()}, tmp_path / "x").scenes for reader in READERS}
    of_scenes = {name for name, stage in STAGES.items() if stage.unit == "scene"} - {
        "author",
        "clip",
        "frames",
        "twins",
        "bev_video",
        "author_views",
        "describe",
        "verify",
    }
    assert {(reader, stage) for reader, found in known.items() for stage, _ in found} >= {
        (reader, stage) for reader in READERS for stage in of_scenes
    }


def test_a_dry_run_tells_models_time_and_disk_as_json(
    scan2qa: Cli, meta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.builds.UNASKED_SETTINGS", ())
    model = (
        "{provider: openai, model: m, base_url: 'http://127.0.0.1:9', price: {input: 1, output: 10}, max_tokens: 100}"
    )
    asked = ("--set", f"blind={{models: [{model}], orders: 2}}", "--limit-cost", "0.001")
    arguments = ("build", "vsi", "--root", f"vsi_meta={meta}", "--out", tmp_path / "out", "--dry-run", *asked)
    run, every = scan2qa(*arguments), scan2qa(*arguments, "--verbose")
    assert (run.code, run.err) == (0, "")
    for part in ("Questions at most (dry run)", "Models asked (dry run", "The limit of 0.001 USD may be reached"):
        assert part in every.out
        assert (part in run.out) == (not part.startswith("Questions"))
    as_json = scan2qa(*arguments, "--json")
    told: dict[str, Any] = json.loads(as_json.out)
    assert f"Dry run: at most {sum(told['questions_at_most'].values())} questions; " in as_json.err
    (row,) = told["models"]
    lettered = ("_rel_", "comparison")
    numbers = sum(n for task, n in told["questions_at_most"].items() if not any(word in task for word in lettered))
    choices = sum(told["questions_at_most"].values()) - numbers
    assert row["requests"] == numbers + 2 * choices
    assert row["most_usd"] == pytest.approx((row["input_tokens"] + 10 * 100 * row["requests"]) / 1e6)
    assert told["time_and_disk"][0]["stage"] == "unify"
    assert told["dry_run"] is True
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.01, "1 s"), (59, "59 s"), (60, "1 min"), (3599, "60 min"), (5400, "1.5 h"), (172_800, "2.0 days")],
)
def test_durations_in_words(seconds: float, said: str) -> None:
    assert lasting(seconds) == said


# ---- what scenes will give, counted before a build


MOVES = [("ascend", 5, 20), ("turn left", 6, 90), ("fly forward", 9, 90), ("descend", 5, 15)]


class Made:
    """Gives scenes that are observed already; those of no name cannot be read."""

    def __init__(self, *scenes: FlightScene) -> None:
        self.scenes = {scene.id: scene for scene in scenes}

    def read(self, files: Any) -> FlightScene:
        if files.scene not in self.scenes:
            raise RawDataError(Path("log.bin"), "empty", "the file has no bytes", "copy it again")
        return self.scenes[files.scene]

    def geometry(self, files: Any, scene: FlightScene) -> None:
        return None


def test_each_missing_thing_has_its_cost(tmp_path: Path) -> None:
    reader = Made(flight(motion(MOVES), name="filmed"), flight(motion(MOVES), name="blind", filmed=False))
    refs = [SceneRef(f"made/{name}", (".",), "") for name in ("filmed", "blind", "broken")]
    tasks = ("Trajectory Captioning", "Sequence Recall", "Goal Detection")
    terms = Terms(MotionConfig(), URBANVIDEO.rules(), tasks, 6)
    found = prospects(URBANVIDEO, reader, tmp_path, refs, terms)  # type: ignore[arg-type]
    assert found.questions == 1  # of the first: one caption; a lot leaves out what comes next
    goal_cap = 2  # 6 * 317 / 1171, rounded up
    assert found.costs == (
        Cost("empty", ("made/broken",), (), None, False),
        Cost("no_landmark", ("made/filmed", "made/blind"), ("Goal Detection",), 2 * goal_cap, False),
        Cost("missing_video", ("made/blind",), tasks, 1, True),
    )


def test_doctor_fits_a_screen_and_verbose_lists_all(scan2qa: Cli, meta: Path) -> None:
    short = scan2qa("doctor", "--root", f"vsi_meta={meta}")
    whole = scan2qa("doctor", "--root", f"vsi_meta={meta}", "--verbose")
    assert short.code == whole.code == 0
    assert len(short.out.splitlines()) <= 30 < len(whole.out.splitlines())
    assert "VSI-Bench: at most " in short.out
    assert "questions lost: obj_appearance_order" in " ".join(short.out.split())
    assert "--verbose lists every part" in short.out
    assert "time and disk" in whole.out


def test_a_reader_with_a_fault_costs_doctor_and_dry_run_one_scene(
    scan2qa: Cli, meta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = type(READERS["vsi_meta"])
    read, failed = reader.read, []

    def faulty(self: Any, files: Any) -> Any:
        failed[:] = failed or [files.ref.id]
        return float("x") if files.ref.id == failed[0] else read(self, files)

    monkeypatch.setattr(reader, "read", faulty)
    run = scan2qa("doctor", "--root", f"vsi_meta={meta}")
    told = " ".join(run.out.split())
    assert (run.code, failed[0] in told, "unexpected_error" in told) == (3, True, True)
    assert "could not convert string to float: 'x' (test_forecast.py:" in told
    dry = scan2qa("build", "vsi", "--root", f"vsi_meta={meta}", "--out", tmp_path / "new", "--dry-run")
    assert (dry.code, "  unexpected error (1 of 3 scenes): left out\n" in dry.out) == (0, True)


def test_a_reader_without_rates_takes_a_second_for_each_stage() -> None:
    assert seconds_for("of_a_package", ["unify", "fix"]) == 2
