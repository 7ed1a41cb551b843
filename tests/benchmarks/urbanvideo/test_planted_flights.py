"""A build of the sample flights finds what was planted in them, and asks what their planted truth alone answers."""

import math
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS, Assisted
from pipeline.core.parquet import read_table
from pipeline.core.tables import selected_questions
from pipeline.core.templates import load_template
from pipeline.core.video_spec import video_file
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.manifest import Outcome
from pipeline.questions.balance import TOO_COMMON
from pipeline.questions.selection import SAME_FACT, select
from pipeline.samples.flight.pilot import PLANS
from pipeline.samples.flight.write import DATASET, FlightTruth
from pipeline.stages.builder import Builder
from pipeline.worlds.flight.facts import FlightMotion, FlightScene, Segment
from pipeline.worlds.flight.observe.flight import COMPASS
from tests.bench.leaks import CAP
from tests.builds import UNASKED, results_of, rows_of
from tests.options import option_faults
from tests.oracles.flight_answers import JUDGES, Fields, called, judge, named_move, until
from tests.oracles.sample_flights import (
    OracleSegment,
    oracle_bearing,
    oracle_distance,
    oracle_intervals,
    oracle_segments,
)

IDS = tuple(plan.id for plan in PLANS)
NOISY, GAP, NO_HEADING = "water_tower", "old_quarter", "market_hall"
PLANNING, UNCAPPED = "High-level Planning", 1000
FACTS = tuple(name for name, task in URBAN_TASKS.items() if not isinstance(task, Assisted))
TOLD_WITHOUT_HEADING = {"ascend", "descend", "fly horizontally", "stay in place"}
MOVEMENTS = ("Trajectory Captioning", "Sequence Recall", "Duration", "Action Generation")
LEAST_S = 2.0  # a shorter rest, at a border of the video, is no hovering


@dataclass
class Built:
    folder: Path
    truths: dict[str, FlightTruth]
    outcome: Outcome
    scenes: dict[str, FlightScene]
    capped: Counter[str]  # questions per task under the cap of the build file
    questions: list[dict[str, Any]]  # every candidate that may be asked, with its text; `wrong` has all wrong options
    planning: list[dict[str, Any]]  # those that would be asked without Association, of which a flight asks one or other


@pytest.fixture(scope="module")
def built(flights: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("planted_flights") / "out"
    outcome = Builder(uncapped(flights), folder).build()
    results = results_of(folder, outcome)
    scenes = {
        unit.removeprefix(f"{DATASET}/"): FlightScene.model_validate_json(raw)
        for (stage, unit), raw in results.items()
        if stage == "observe"
    }
    rows: dict[str, list[dict[str, Any]]] = {
        name: [row for (stage, _), raw in results.items() if stage == name for row in read_table(raw).to_pylist()]
        for name in ("generate", "select")
    }
    accepted = {row["id"]: row for row in rows["generate"] if row["reason"] is None}
    worded = [row for row in rows["select"] if row["reason"] is None]
    told = {row["id"] for row in rows["select"] if row["reason"] in {SAME_FACT, TOO_COMMON}}
    assert {row["id"] for row in worded} == set(accepted) - told
    questions = [{**accepted[row["id"]], **row} for row in worded]
    planning: list[dict[str, Any]] = []
    capped: Counter[str] = Counter()
    for (stage, _), raw in results.items():
        if stage == "generate":
            candidates = read_table(raw)
            chosen = select(candidates, URBAN_TASKS, CAP, URBANVIDEO.shares)
            capped.update(selected_questions(chosen)["task"].to_pylist())
            alone = candidates.filter(pc.equal(candidates["task"], PLANNING))
            planning += selected_questions(select(alone, URBAN_TASKS, UNCAPPED, URBANVIDEO.shares)).to_pylist()
    planning = [{**accepted[row["id"]], **row} for row in planning]
    truths = {n: FlightTruth.model_validate_json((flights / "truth" / f"{n}.json").read_bytes()) for n in IDS}
    return Built(folder, truths, outcome, scenes, capped, questions, planning)


def uncapped(flights: Path) -> BuildConfig:
    """Everything that may be asked."""
    return build_config(
        {
            "build": "urbanvideo",
            "benchmark": "urbanvideo",
            "roots": {"flights": flights},
            "author": {"model": None},
            "select": {"per_scene_and_task": UNCAPPED},
            "video": False,
        }
        | UNASKED
    )


def test_the_tasks_have_about_the_shares_of_the_paper(built: Built) -> None:
    """None is starved or three times over, in whole questions: a third of 6.2 is 2, and a flight may have one."""
    for task in FACTS:
        fair = built.capped.total() * URBAN_TASKS[task].share / sum(URBAN_TASKS[name].share for name in FACTS)
        assert fair // 3 <= built.capped[task] <= max(math.ceil(3 * fair), len(IDS)), (task, built.capped)


def test_options_are_possible_and_name_what_the_video_has_shown(built: Built) -> None:
    assert not option_faults(built.questions)
    for question in built.questions:
        flight = question["scene"].removeprefix(f"{DATASET}/")
        marks, end_s = built.scenes[flight].facts.landmarks, question["until_s"] or math.inf
        since = {view.landmark: view.intervals for view in motion_of(built, flight).views or ()}
        labels = {mark.label: i for i, mark in enumerate(marks) if mark.label}
        naming = re.compile("|".join(map(re.escape, sorted(labels, key=lambda label: (-len(label), label)))))
        for option in question["options"] if since else ():
            for label in naming.findall(option):
                said = label in question["text"]  # as that of a route's step
                assert said or any(start <= end_s for start, _ in since.get(labels[label], ())), (
                    option,
                    question["text"],
                )


def motion_of(built: Built, flight: str) -> FlightMotion:
    observed = built.scenes[flight].facts
    assert observed.motion is not None
    return observed.motion


def truth_of(built: Built, question: dict[str, Any]) -> FlightTruth:
    return built.truths[question["scene"].removeprefix(f"{DATASET}/")]


def fields_of(question: dict[str, Any]) -> Fields:
    """What the words of a question ask about, and when it ends."""
    fields = load_template(URBAN_TASKS[question["task"]].template).parse(question["text"])
    times = {name: "" if question[f"{name}_s"] is None else str(question[f"{name}_s"]) for name in ("from", "until")}
    return {name: str(value) for name, value in fields.items()} | times


def planted(truth: FlightTruth) -> list[OracleSegment]:
    """The movements as far as video and log tell of them, in the video's time; a gap of the log cuts one in two."""
    known = [(0.0, truth.frames / truth.fps)]
    if truth.gap_s is not None:
        known = [(0.0, truth.gap_s[0]), (truth.gap_s[1], known[0][1])]
    if truth.id == NOISY:
        known = [(truth.no_fix_s, known[0][1])]  # its log is the receiver's alone
    spans = [
        move._replace(start_s=max(move.start_s, start), end_s=min(move.end_s, end))
        for move in oracle_segments(truth)
        for start, end in known
    ]
    return [span for span in spans if span.end_s - span.start_s >= LEAST_S]


def overlap_share(a: OracleSegment | Segment, b: OracleSegment | Segment) -> float:
    """Time in both over time in either."""
    both = min(a.end_s, b.end_s) - max(a.start_s, b.start_s)
    return max(0.0, both) / (max(a.end_s, b.end_s) - min(a.start_s, b.start_s))


def alike(a: OracleSegment | Segment, b: OracleSegment | Segment) -> bool:
    return set(a.actions) == set(b.actions) and overlap_share(a, b) >= 0.5


def test_every_flight_is_built_and_every_task_of_facts_asks(built: Built) -> None:
    assert built.outcome.quarantine == []
    assert set(built.scenes) == set(IDS)
    assert {*built.outcome.released.questions, PLANNING} == set(FACTS)
    assert len(FACTS) == 13


@pytest.mark.parametrize("flight", [name for name in IDS if name not in {NOISY, NO_HEADING}])
def test_every_planted_movement_is_found_once(built: Built, flight: str) -> None:
    expected, found = planted(built.truths[flight]), motion_of(built, flight).segments
    assert [set(s.actions) for s in found] == [set(m.actions) for m in expected]
    for segment, move in zip(found, expected, strict=True):
        assert segment.start_s == pytest.approx(move.start_s, abs=0.5)
        assert segment.end_s == pytest.approx(move.end_s, abs=0.5)
        assert segment.turn_deg == pytest.approx(move.turn_deg, abs=5.0)
        assert segment.climb_m == pytest.approx(move.climb_m, abs=0.2)


def test_a_noisy_log_with_lost_samples_gives_the_movements(built: Built) -> None:
    expected, found = planted(built.truths[NOISY]), motion_of(built, NOISY).segments
    hits = sum(any(alike(move, segment) for segment in found) for move in expected)
    right = sum(any(alike(move, segment) for move in expected) for segment in found)
    assert 2 * min(hits, right) / (len(expected) + len(found)) >= 0.95


def test_nothing_is_told_of_a_gap(built: Built) -> None:
    truth, motion = built.truths[GAP], motion_of(built, GAP)
    start, end = truth.gap_s
    assert not [t for t in motion.t_s if start < t < end]
    assert not [s for s in motion.segments if s.start_s < end and s.end_s > start]


def test_without_a_heading_no_turn_or_direction_is_claimed(built: Built) -> None:
    truth, motion = built.truths[NO_HEADING], motion_of(built, NO_HEADING)
    assert set(motion.heading_deg) == {None}
    assert all(s.turn_deg is None and set(s.actions) <= TOLD_WITHOUT_HEADING for s in motion.segments)
    told = [move for move in planted(truth) if set(move.actions) <= TOLD_WITHOUT_HEADING]
    for move in told:
        (segment,) = (s for s in motion.segments if alike(s, move))
        assert segment.start_s == pytest.approx(move.start_s, abs=0.5)
        assert segment.end_s == pytest.approx(move.end_s, abs=0.5)
        assert segment.climb_m == pytest.approx(move.climb_m, abs=0.2)
    for question in built.questions:
        if question["scene"] == f"{DATASET}/{NO_HEADING}" and question["task"] in MOVEMENTS:
            said = " ".join((question["answer"], *question["wrong"]))
            assert not re.search(r"turn|hover|ward|\bleft|\bright", said)


def test_landmarks_are_where_they_were_planted(built: Built) -> None:
    for name, scene in built.scenes.items():
        truth = built.truths[name]
        planted, others = scene.facts.landmarks[: len(truth.landmarks)], scene.facts.landmarks[len(truth.landmarks) :]
        assert [mark.name for mark in planted] == [mark.name for mark in truth.landmarks]
        assert {(mark.name, mark.label) for mark in others} <= {(None, None)}, "grey houses, one like the other"
        assert len(others) == (len(truth.buildings) - len(truth.landmarks) + 1 if truth.has_buildings else 0)
        for mark, thing in zip(planted, truth.landmarks, strict=True):
            assert math.dist(mark.center, thing.solid.center) < 0.05, (name, mark.name)
            assert (mark.outline is None) == thing.is_point
            for corner in thing.solid.corners:
                assert mark.outline is None or min(math.dist(corner, p) for p in mark.outline) < 0.05
            if thing.kind != "park":
                # The ground is where the first fix puts the take-off.
                assert mark.base_m == pytest.approx(thing.solid.base_m, abs=0.2 + 3 * truth.noise_m)
                assert mark.top_m == pytest.approx(thing.solid.top_m, abs=0.2 + 3 * truth.noise_m)
            assert mark.label == thing.said
            assert (mark.unnameable_reason is None) == (thing.said is not None)


@pytest.mark.parametrize("task", FACTS)
def test_the_answer_is_the_one_right_option_by_the_planted_truth(built: Built, task: str) -> None:
    """Of every candidate, with all of its wrong options: none is even arguable."""
    asked = [q for q in built.questions + built.planning if q["task"] == task]
    assert asked
    for question in asked:
        verdicts = judge(truth_of(built, question), task, fields_of(question), [question["answer"], *question["wrong"]])
        assert verdicts == ["right", *["wrong"] * len(question["wrong"])], (question["text"], question["answer"])


def test_every_task_of_facts_has_a_judge() -> None:
    assert set(JUDGES) == set(FACTS)


def test_what_was_not_shown_yet_is_not_asked_about(built: Built) -> None:
    """Where it is known what the video shows; the goal is given."""
    for question in built.questions:
        truth = truth_of(built, question)
        flight = built.scenes[truth.id].facts
        labels = {str(mark.label) for mark in flight.landmarks} & {question["answer"], *question["operands"]}
        if motion_of(built, truth.id).views is None:
            continue
        end = until(truth, fields_of(question))
        for label in labels - {flight.goal}:
            shown = oracle_intervals(truth, called(truth, label))
            assert shown, question
            assert shown[0][0] <= end + 0.5, question


def test_questions_speak_of_what_is_seen(built: Built) -> None:
    """No name of a place, and no point of the compass."""
    names = {place.name for truth in built.truths.values() for place in truth.landmarks}
    for question in built.questions:
        text = " ".join([question["text"], question["answer"], *question["wrong"]])
        assert not [name for name in names if name.casefold() in text.casefold()], text
        assert not COMPASS.search(text), text


def test_the_release_has_the_released_columns(built: Built) -> None:
    table = built.folder / "release" / "data" / "test-00000-of-00001.parquet"
    rows = rows_of(table)
    assert list(read_table(table.read_bytes()).column_names) == [
        "Question_id",
        "video_id",
        "question_category",
        "question",
        "answer",
    ]
    by_id = {question["id"]: question for question in built.questions}
    assert len(rows) == len(by_id) == len({row["Question_id"] for row in rows})
    for row in rows:
        question = by_id[row["Question_id"]]
        text, *options = row["question"].split("\n")
        assert text == question["text"]
        assert [option[:3] for option in options] == [f"{letter}. " for letter in "ABCDE"[: len(options)]]
        assert 3 <= len(options) == min(5, 1 + len(question["wrong"]))
        assert options["ABCDE".index(row["answer"])][3:] == question["answer"]
        assert {option[3:] for option in options} <= {question["answer"], *question["wrong"]}
        assert row["video_id"] == video_file(question["scene"], question["until_s"], question["from_s"])
        assert row["question_category"] == question["task"]


def test_letters_are_even(built: Built) -> None:
    """Within flight, task and number of options no letter is the answer two times more often than another."""
    letters: dict[tuple[str, str, int], Counter[str]] = {}
    for question in built.questions:
        key = (question["scene"], question["task"], len(question["options"]))
        letters.setdefault(key, Counter(dict.fromkeys("ABCDE"[: key[2]], 0))).update(question["ground_truth"])
    assert all(max(count.values()) - min(count.values()) <= 1 for count in letters.values())
    total = Counter(question["ground_truth"] for question in built.questions)
    assert all(0.15 < total[letter] / total.total() < 0.35 for letter in "ABC")


def test_provenance_says_where_an_answer_comes_from(built: Built) -> None:
    rows = {row["id"]: row for row in rows_of(built.folder / "release" / "provenance" / "test-00000-of-00001.parquet")}
    assert set(rows) == {question["id"] for question in built.questions}
    for question in built.questions:
        row = rows[question["id"]]
        truth = truth_of(built, question)
        assert (row["scene"], row["task"], row["operands"]) == (
            question["scene"],
            question["task"],
            question["operands"],
        )
        assert row["answer"] == question["answer"]
        assert row["evidence"]
        assert any(name.endswith(truth.log) for name in row["source_files"])


def test_the_evidence_is_of_the_planted_flight(built: Built) -> None:
    """Distances, bearings and durations behind the answers, within what a fifth of a second and the noise allow."""
    checked: Counter[str] = Counter()
    for question in built.questions:
        truth, facts = truth_of(built, question), {e["name"]: e["value"] for e in question["evidence"]}
        if question["task"] == "Proximity":
            place, end = called(truth, question["operands"][0]), int(question["until_s"])
            if question["operands"][1] != "over the whole video":
                continue
            start = int(question["from_s"])
            far = [oracle_distance(truth, start + k / 5, place) for k in range(5 * (end - start) + 1)]
            expected = {"start": far[0], "end": far[-1], "least": min(far), "most": max(far)}
            for name, distance in expected.items():
                assert facts[f"distance_{name}"] == pytest.approx(distance, abs=2.5), (name, question["text"])
        elif question["task"] == "Landmark Position":
            place, t = called(truth, question["operands"][0]), int(question["until_s"])
            assert facts["distance"] == pytest.approx(oracle_distance(truth, t, place, "center"), abs=2.5)
            assert abs((facts["bearing"] - oracle_bearing(truth, t, place) + 180) % 360 - 180) < 5.0
        elif question["task"] == "Duration":
            told = {e["subject"]: e["value"] for e in question["evidence"] if e["name"] == "duration"}
            for words in question["operands"]:
                move = named_move(truth, words)
                assert told[words] == pytest.approx(move.end_s - move.start_s, abs=1.2)
        else:
            continue
        checked[question["task"]] += 1
    assert len(checked) == 3


def test_a_flight_gives_the_same_bytes_again_without_the_others(built: Built, flights: Path, tmp_path: Path) -> None:
    shutil.copytree(flights / "central_station", tmp_path / "alone" / "central_station")
    outcome = Builder(uncapped(tmp_path / "alone"), tmp_path / "again").build()
    again = results_of(tmp_path / "again", outcome)
    before = results_of(built.folder, built.outcome)
    of_scene = [key for key in again if key[1] == f"{DATASET}/central_station"]
    assert {stage for stage, _ in of_scene} >= {"unify", "observe", "generate"}
    same = {stage for stage, unit in of_scene if again[stage, unit] == before[stage, unit]}
    assert same >= {"unify", "observe", "generate"}
