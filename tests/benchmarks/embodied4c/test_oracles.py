"""Questions over planted and real logs of all embodiments, answered again by oracles: the same but for rounding."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS
from pipeline.core.schema import AnyScene
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.appearance import Appearance
from pipeline.samples.drive import argoverse2
from pipeline.samples.drive.plan import PLANS
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.registry import READERS
from tests.benchmarks.embodied4c import logs
from tests.benchmarks.embodied4c.planted import limits_of, limits_stated
from tests.benchmarks.urbanvideo.flights import finding, flight, mark, motion, random_flight
from tests.conftest import REAL_DATA
from tests.oracles.exam_answers import Log
from tests.oracles.exam_arms import Episode
from tests.oracles.exam_check import SLACK as EXACT
from tests.oracles.exam_check import answered_again, every_question, open_exam
from tests.oracles.exam_flights import SLACK, Poses

WORDLESS = {"air_lm_steps", "air_md", "air_st_camera"}  # of flights: held against hand-written answers elsewhere


def scenes(reader: str, root: Path) -> Iterator[tuple[Path, AnyScene]]:
    """All of a root, each with its own folder or file."""
    for ref in READERS[reader].scenes(root).scenes:
        yield root / ref.files[0], READERS[reader].read(SceneFiles(root, ref))


def held(scene: AnyScene, rows: list[dict[str, Any]], answer: Callable[..., Any], slack: float = EXACT) -> int:
    """How many of the questions the oracle answers, all of them as they are."""
    asked, wrong = answered_again(rows, answer, slack)
    assert not wrong, f"{scene.id}: {len(wrong)} of {asked}: {wrong[:10]}"
    return asked


@pytest.mark.long
def test_drives_of_plans(tmp_path: Path) -> None:
    for plan in (*PLANS.values(), logs.random_plan(1)):
        argoverse2.write_log(tmp_path, plan)
    checked = 0
    for folder, scene in scenes("argoverse2", tmp_path):
        rows = every_question(scene)
        asked = held(scene, rows, Log(folder).answer)
        assert asked == len(rows), "the oracle knows all kinds"
        checked += asked
    assert checked >= 5000


@pytest.mark.slow
@pytest.mark.real_data
def test_a_real_log_of_argoverse_2() -> None:
    ((folder, scene),) = scenes("argoverse2", REAL_DATA / "driving" / "av2")
    rows = every_question(scene)
    assert held(scene, rows, Log(folder).answer) == len(rows) >= 2567
    shown = every_question(scene, gated=True)
    assert 0.8 * len(rows) <= held(scene, shown, Log(folder).answer) == len(shown) < len(rows)
    assert not {"at_marking", "cl_lane"} & {row["operands"][0] for row in shown}, "no marking is drawn"


@pytest.mark.slow
@pytest.mark.real_data
def test_real_labels_of_kitti() -> None:
    checked = 0
    for _, scene in scenes("kitti_tracking", REAL_DATA / "driving" / "kitti"):
        log = Log.of_labels(REAL_DATA / "driving" / "kitti" / "label_02" / f"{scene.name}.txt")
        rows = every_question(scene)
        asked = held(scene, rows, log.answer)
        assert asked == len(rows)
        checked += asked
        # Behind the car and beside it nobody labelled anything.
        about = [row["wording"] for row in rows if row["task"] in ("DT", "CT", "LC", "OR words", "CL")]
        assert all("in the picture" in text for text in about)
        assert not [row for row in rows if "behind the ego" in row["wording"] or "to the left of" in row["wording"]]
    assert checked >= 210


# What a film of an arm shows: its way, its speed, and whether its fingers are open.
SEEN_OF_ARMS = {"arm_lm_net", "arm_mt", "arm_sm_net", "arm_st"}


@pytest.mark.real_data
def test_a_real_episode_of_rlbench() -> None:
    ((_, scene),) = scenes("rlbench", REAL_DATA / "manipulation" / "rlbench")
    rows = every_question(scene.model_copy(update={"video": None}))  # its film has the gripper for a part of the time
    assert held(scene, rows, Episode(scene).answer) == len(rows) >= 55
    shown = every_question(scene, gated=True)
    held(scene, shown, Episode(scene).answer)
    assert {row["operands"][0] for row in shown} <= SEEN_OF_ARMS
    assert not [row for row in shown if "ball" in row["wording"]], "three balls lie there, of which the log knows one"
    assert not [row for row in shown if row["answer"].isdigit() and int(row["answer"]) % 5], "told to five centimetres"


@pytest.fixture(scope="module")
def of_arms() -> list[tuple[AnyScene, list[dict[str, Any]]]]:
    """Sample episodes of arms, and all that can be asked of each; of things that a drawn film hides nothing."""
    return [(scene, every_question(scene, hidden_max=0.5)) for scene in logs.episodes(range(5))]


@pytest.mark.slow
def test_sample_episodes_of_arms(of_arms: list[tuple[AnyScene, list[dict[str, Any]]]]) -> None:
    checked = 0
    for scene, rows in of_arms:
        asked = held(scene, rows, Episode(scene).answer)
        assert asked == len(rows)
        checked += asked
    assert checked >= 4000


@pytest.mark.slow
def test_random_flights() -> None:
    checked = 0
    for seed in range(6):
        scene = logs.flight(seed)
        rows = every_question(scene)
        checked += held(scene, rows, Poses(scene).answer, SLACK)
        assert {row["operands"][0] for row in rows} - WORDLESS <= {kind for kind in dir(Poses) if kind[:4] == "air_"}
    assert checked >= 1200


def test_in_films_of_random_flights_one_landmark_lies_beside_another() -> None:
    checked = 0
    for seed in range(6):
        scene = logs.flight(seed).model_copy(update={"video": random_flight(seed).video})
        view = open_exam(scene, ExamRules(even_answers=False))
        rows = [row for row in EXAM_TASKS["R/P"].candidates(view).to_pylist() if row["reason"] is None]
        checked += held(scene, rows, Poses(scene).answer)
    assert checked > 50


@pytest.mark.slow
def test_questions_of_arms(of_arms: list[tuple[AnyScene, list[dict[str, Any]]]]) -> None:
    """Their kinds, their wording, and which limits of the table they are held against."""
    asked = [row for _, rows in of_arms for row in rows]
    assert limits_of(asked) == limits_stated("arm_")
    kinds = {row["operands"][0] for row in asked}
    wanted = "arm_st arm_st_slide arm_tp arm_lm_moved arm_md arm_md_rate arm_mt arm_ct"
    assert {*wanted.split(), "arm_or_between", "arm_sm_net", "arm_sm_nearest"} <= kinds
    assert {"arm_cs_reach", "arm_lm_net", "arm_or_turned"} <= kinds
    assert "arm_or" not in kinds, "this gripper points straight down"
    assert not [row for row in asked if "joint joint" in row["wording"] or "{" in row["wording"]]
    assert all("domain: manipulation" in row["flags"] for row in asked)


MOVES = [
    ("ascend", 8.0, 24.0),
    ("fly forward", 10.0, 80.0),
    ("turn left", 6.0, 90.0),
    ("fly forward", 9.0, 54.0),
    ("hover", 5.0, 0.0),
    ("fly forward+descend", 8.0, (48.0, 16.0)),
    ("turn right", 5.0, 45.0),
    ("fly right", 8.0, 40.0),
    ("hover", 4.0, 0.0),
]


def marks() -> list[Any]:
    church = Appearance(noun="church")
    found = [
        mark("the red church", 60.0, 140.0, 12.0, 38.0, appearance=church),
        mark("the brown house", -90.0, 60.0, 8.0, 14.0),
    ]
    return [*found, mark("the white tower", 30.0, -50.0, 5.0, 70.0), mark("the park", -40.0, 150.0, 30.0)]


def flight_rows(scene: FlightScene, *tasks: str) -> list[dict[str, Any]]:
    """All candidates of a flight, or those of some tasks."""
    view = open_exam(scene, ExamRules(far_per_log=0, exam_moments_max=80, moments_max=80, even_answers=False))
    return pa.concat_tables([EXAM_TASKS[name].candidates(view) for name in tasks or EXAM_TASKS]).to_pylist()


@cache
def rows_over(start: tuple[float, float, float], heading: float) -> list[dict[str, Any]]:
    return [row for row in flight_rows(scene(start, heading)) if row["reason"] is None]


def scene(start: tuple[float, float, float] = (0.0, 0.0, 30.0), heading: float = 20.0) -> FlightScene:
    views = {n: [(0.0, 70.0)] for n in range(4)}
    return flight(motion(MOVES, start, heading, views=views), marks())


@pytest.mark.parametrize(
    ("start", "heading"), [((0.0, 0.0, 30.0), 20.0), ((35, -20, 12), 200.0), ((-60, 90, 55), 300.0)]
)
def test_answers_of_flights_follow_from_their_poses(start: tuple[float, float, float], heading: float) -> None:
    made = scene(start, heading)
    assert held(made, rows_over(start, heading), Poses(made).answer, 0.002) > 350


def test_states_and_sequences_by_hand() -> None:
    found = {tuple(row["operands"]): row for row in rows_over((0.0, 0.0, 30.0), 20.0)}
    assert found["air_md", "13.00"]["answer"] == "flying level without turning"
    assert found["air_md", "42.00"]["answer"] == "descending without turning"
    assert found["air_md", "35.00"]["answer"] == "hovering"
    assert found["air_lm_steps", "9.00", "2"]["answer"] == "ascending; flying forward"
    assert found["air_lm_steps", "19.00", "3"]["answer"] == "ascending; flying forward; turning left"
    assert found["air_sm", "14.00", "5"]["answer"] == "40.0"
    assert ("air_md", "21.00") not in found, "it turns on the spot: neither hovering nor flying"
    assert len([key for key in found if key[0] == "air_at_height"]) == 3, "at one time each; the park has no height"
    assert len({row["until_s"] for row in found.values()}) > 40


def stating(times: float) -> FlightScene:
    """The flight of a log that states so many times the speed of its positions."""
    made = scene()
    velocity = np.gradient(np.array(made.facts.motion.enu_m)[:, :2], made.facts.motion.t_s, axis=0)
    stated = tuple((times * np.hypot(*velocity.T)).tolist())
    told = made.facts.motion.model_copy(update={"stated_mps": stated})
    return made.model_copy(update={"facts": made.facts.model_copy(update={"motion": told})})


def test_candidates_of_flights_are_held_against_the_limits_of_the_table() -> None:
    filmed = stating(1.0)
    drawn = filmed.model_copy(update={"video": None})
    assert limits_of([*flight_rows(filmed), *flight_rows(drawn)]) == limits_stated("air_")


@pytest.mark.parametrize(("times", "asked"), [(0.97, True), (1.04, True), (0.94, False), (1.07, False)])
def test_a_speed_is_asked_where_the_log_states_that_of_its_positions(times: float, asked: bool) -> None:
    every = flight_rows(stating(times), "M/T", "DT", "L/M whole", "S/M")
    rows = [row for row in every if row["operands"][0] == "air_mt"]
    apart = [row for row in rows if row["reason"] == "speeds_disagree"]
    assert bool(apart) != asked
    assert any(row["reason"] is None for row in rows) == asked
    for row in apart:
        assert (row["measured"], row["limit"]) == (pytest.approx(abs(1 / times - 1), abs=0.01), 0.05)
    others = {row["operands"][0] for row in every if row["reason"] is None}
    assert {"air_dt_home", "air_lm", "air_sm"} <= others


def test_doubts_gaps_and_unknown_noses() -> None:
    doubted = scene().model_copy(update={"findings": (finding("heading_drifts"),)})
    assert not [row for row in flight_rows(doubted, "OR") if row["reason"] is None and row["operands"][0] == "air_or"]
    blind = flight(motion(MOVES, heading=None), marks())
    asked = {row["operands"][0] for row in flight_rows(blind) if row["reason"] is None}
    assert not asked & {"air_or", "air_or_compass", "air_lc"}
    assert {"air_dt_home", "air_mt", "air_lm"} <= asked
    unfilmed = flight(motion(MOVES), marks(), filmed=False)
    questions = [row for row in flight_rows(unfilmed) if row["reason"] is None]
    assert len(questions) > 100
    assert all("modality: drawn" in row["flags"] for row in questions)
    (unobserved,) = {row["reason"] for row in flight_rows(flight(None), "DT")}
    assert unobserved == "motion_not_observed"
