"""Every task on flights of which little is known: none of them costs the flight, and what is not asked has a reason."""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path

import pytest

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.schema import Origin
from pipeline.core.tables import selected_questions
from pipeline.questions.selection import select
from pipeline.samples.flight.write import FlightTruth, PlantedLandmark, PlantedMove, PlantedPoses, PlantedStep, Solid
from pipeline.worlds.flight.facts import FlightMotion, FlightScene, Landmark, Sighting
from pipeline.worlds.flight.view import FlightView
from tests.bench.real_flights import MOVEMENT, observed, write
from tests.benchmarks.urbanvideo.flights import Move, flight, judged, mark, motion, random_flight, rows, words_of
from tests.environment import LONG, REAL_DATA
from tests.oracles.flight_answers import JUDGES, judge
from tests.tables import candidates, digest_of_rows

# ---- what is true of a flight made by hand, in the form in which the sample flights' planted truth is judged


CORNERS = 16  # of the polygon that stands for a round landmark: within 2% of its radius
MANY_PIXELS, TALL = 1000, 100_000  # what is in view is well in view; the picture cuts nothing off above or below


def truth_of_made(scene: FlightScene) -> FlightTruth:
    """The truth of a flight whose movements, poses and views are all known, whose route names every movement.

    Raises AssertionError for a flight without one of these.
    """
    flight = scene.facts
    motion = flight.motion
    assert len(flight.route) == len(motion.segments)
    return FlightTruth(
        id=scene.name,
        log="log.bin",
        log_format=flight.log,
        origin=Origin(lat_deg=0.0, lon_deg=0.0, alt_m=None),
        camera=flight.camera.model_copy(update={"height": TALL}),
        has_heading=True,
        has_buildings=False,
        goal=flight.goal or "",
        route=tuple(
            PlantedStep(text=text, start_s=segment.start_s, end_s=segment.end_s)
            for text, segment in zip(flight.route, motion.segments, strict=True)
        ),
        duration_s=motion.t_s[-1],
        video_offset_s=0.0,
        frames=len(motion.t_s),
        fps=round(motion.rate_hz),
        noise_m=0.0,
        dropped=0.0,
        gap_s=None,
        no_fix_s=0.0,
        moves=_moves(motion),
        poses=PlantedPoses.model_validate(
            {
                "t_s": motion.t_s,
                "enu_m": motion.enu_m,
                "heading_deg": motion.heading_deg,
                "pitch_deg": motion.pitch_deg,
            }
        ),
        landmarks=tuple(_landmark(i, mark, motion) for i, mark in enumerate(flight.landmarks)),
        buildings=(),
        examined_s=motion.t_s,
    )


def _moves(motion: FlightMotion) -> tuple[PlantedMove, ...]:
    moves = []
    for segment in motion.segments:
        first, last = (bisect_right(motion.t_s, t + 1e-6) - 1 for t in (segment.start_s, segment.end_s))
        path = motion.enu_m[first : last + 1]
        moves.append(
            PlantedMove(
                start_s=segment.start_s,
                end_s=segment.end_s,
                actions=segment.actions,
                distance_m=sum(math.dist(a[:2], b[:2]) for a, b in pairwise(path)),
                climb_m=segment.climb_m,
                turn_deg=segment.turn_deg or 0.0,
                gimbal_deg=segment.gimbal_deg or 0.0,
            )
        )
    return tuple(moves)


def _landmark(index: int, mark: Landmark, motion: FlightMotion) -> PlantedLandmark:
    views: tuple[Sighting, ...] = motion.views or ()
    spans = [span for view in views if view.landmark == index for span in view.intervals]
    ways = [2 * math.pi * k / CORNERS for k in range(CORNERS)]
    x, y = mark.center
    base = mark.base_m or 0.0
    return PlantedLandmark(
        name=mark.label or mark.name,
        kind="made",
        is_point=False,
        solid=Solid(
            corners=tuple((x + mark.radius_m * math.cos(way), y + mark.radius_m * math.sin(way)) for way in ways),
            base_m=base,
            top_m=base if mark.top_m is None else mark.top_m,  # nothing is asked that hangs on a top that is not known
        ),
        color=(0, 0, 0),
        shown=tuple((t, MANY_PIXELS) for t in motion.t_s if any(a <= t <= b for a, b in spans)),
    )


MARKS = (
    mark("the red church", 0.0, 60.0, top=30.0),
    mark("the park", 60.0, 0.0),
    mark("the blue tower", 200.0, 0.0, top=80.0),
)
FLOWN: dict[str, list[Move]] = {
    "nothing": [],
    "one movement": [("fly forward", 10, 80)],
    "three": [("ascend", 5, 20), ("fly forward", 10, 80), ("hover", 6, 0)],
}


WRITTEN = {"Causal", "Counterfactual", "Scene Recall"}  # by a model alone


@pytest.mark.slow
@pytest.mark.parametrize("flown", [None, *FLOWN])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_few_landmarks_and_movements_cost_questions_and_nothing_else(n: int, flown: str | None) -> None:
    marks: tuple[Landmark, ...] = MARKS[:n]
    told: list[tuple[str | None, tuple[str, ...]]] = [(None, ()), (marks[0].label if marks else "x", ("Fly ahead",))]
    every = list(product(((None, None), (0.0, None), (0.0, -30.0)), (None, True), (True, False), told))
    for (heading, pitch), seen, filmed, (goal, route) in every if LONG else every[n::5]:
        views = None if seen is None else {i: [(0.0, 2.0)] for i in range(n)}
        moved = None if flown is None else motion(FLOWN[flown], heading=heading, pitch=pitch, views=views)
        scene = flight(moved, marks, goal, route, filmed=filmed)
        found = candidates(FlightView(scene, UrbanRules()), list(URBAN_TASKS.values()))
        assert set(found["task"].to_pylist()) == set(URBAN_TASKS) - WRITTEN
        asked = selected_questions(select(found, URBAN_TASKS, 6))
        if not filmed or flown in {None, "nothing"}:
            assert asked.num_rows == 0


FLIGHTS = range(20)


@pytest.mark.slow
def test_one_option_is_right_and_none_is_arguable() -> None:
    asked: Counter[str] = Counter()
    for seed in FLIGHTS:
        scene = random_flight(seed)
        truth = truth_of_made(scene)
        for row in rows(scene):
            if row["reason"] is None:
                options = [row["answer"], *row["wrong"]]
                # Where in the picture a goal is, depends on how high that is; else nothing is cut off.
                levelled = row["task"] == "Association" and re.search(", (at the|in the centre)", row["answer"])
                own = {"camera": scene.facts.camera} if row["task"] == "Goal Detection" or levelled else {}
                verdicts = judge(truth.model_copy(update=own), row["task"], words_of(row), options)
                assert verdicts == ["right", *["wrong"] * len(row["wrong"])], (seed, row["task"], row["operands"])
                assert len(set(options)) == len(options) >= 3
                asked[row["task"]] += 1
    assert set(asked) == set(JUDGES), "the oracle has had something to say about every task that facts answer"
    assert min(asked.values()) >= 5, asked


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("log", "least"),
    [
        ("airsim/airsim_rec.txt", 4),
        ("dji_srt/mavic3_first_60s.srt", 6),  # no heading
        ("dji_srt/mavic_pro.SRT", 4),  # no heading, positions in steps of 11 m
        ("dji_srt/p4_rtk.SRT", 1),  # one movement alone
        ("ulog/sample_px4_events.ulg", 1),  # two
    ],
)
def test_a_log_alone_gives_questions_of_its_movements(log: str, least: int, tmp_path: Path) -> None:
    path = REAL_DATA / "flights" / log
    asked = [row for row in rows(observed(tmp_path, write(tmp_path, path, "")), *MOVEMENT) if row["reason"] is None]
    assert len(asked) >= least
    if log.startswith("dji_srt/mavic"):
        said = " ".join(text for row in asked for text in (row["answer"], *row["wrong"])).lower()
        assert "flies horizontally" in said
        assert not any(word in said for word in ("forward", "left", "turn", "hover"))


# ---- all that is asked of a few flights, task by task: a change of any answer, option, proof or refusal is seen

MARKS = (
    mark("the red church", 60, 80, 8, 30),
    mark("the park", -40, 120, 30, 0.5),
    mark("the blue tower", 110, 40, 5, 70),
    mark("the tallest building", 20, 180, 12, None),
)
SEEN = (((0.0, 9.0), (22.0, 40.0)), ((3.0, 12.4),), ((10.0, 24.0), (33.0, 47.0)), ((0.0, 47.0),))
TURNING: tuple[Move, ...] = (
    ("fly forward", 8, 40.0), ("turn right", 4, 60.0), ("fly forward+ascend", 6, (30.0, 18.0)), ("hover", 3, 0),
    ("turn left", 6, 110.0), ("fly right", 5, 22.0), ("gimbal down", 3, 30.0), ("descend", 5, 20.0),
    ("fly forward", 7, 35.0),
)  # fmt: skip
ROUTE = (
    "Fly forward", "Turn right", "Fly forward while ascending", "Hover", "Turn left", "Fly right",
    "Tilt the camera down", "Descend", "Fly forward to the blue tower",
)  # fmt: skip
IN_FULL = {
    "Trajectory Captioning": (
        "17 asked",
        "160c50d6e063",
    ),
    "Sequence Recall": (
        "23 asked, 2 step_not_unique",
        "3921e8fb8ab7",
    ),
    "Object Recall": (
        "3 asked, 15 nothing_beside, 1 second_nearest",
        "2027664e4a17",
    ),
    "Start/End Position": (
        "10 never_visible, 6 not_seen_yet, 5 second_nearest, 9 start_not_near",
        "0d1e72a1d2a0",
    ),
    "Proximity": (
        "108 asked, 2 depends_on_where_measured, 38 distance_changes_irregularly, 82 "
        "distance_changes_too_little, 41 distance_constant_for_long, 40 not_seen_yet",
        "2d7ef3469935",
    ),
    "Duration": (
        "1 durations_alike, 1 near_twice, 3 nothing_to_ask_about, 1 step_not_unique",
        "37844180b3a6",
    ),
    "Landmark Position": (
        "353 asked, 69 heading_unsteady, 120 near_sector_boundary, 95 nearly_below, 126 not_seen_yet, 17 "
        "too_wide_from_here",
        "fae1dc6b950a",
    ),
    "Goal Detection": (
        "177 asked, 4 heading_unsteady, 6 near_third_boundary, 11 pose_unknown, 1 too_wide_in_view, 4 "
        "view_just_changed",
        "d06d606f35f8",
    ),
    "Cognitive Map": (
        "22 asked, 5 path_too_short, 3 too_few_landmarks",
        "5a7732a7c773",
    ),
    "Association": (
        "7 asked, 119 never_visible, 52 not_seen_yet",
        "d1a508fdf923",
    ),
    "Progress Evaluation": (
        "18 asked, 2 route_steps_unclear",
        "97ac3b56f246",
    ),
    "High-level Planning": (
        "119 never_visible, 52 not_seen_yet, 32 nothing_on_the_way",
        "5b98f6141d3c",
    ),
    "Action Generation": (
        "25 asked",
        "3cb9e06a1326",
    ),
}


def in_full(scenes: Sequence[FlightScene], task: str) -> tuple[str, str]:
    """How many candidates are asked and refused for which reason; and a digest of all that is told of each."""
    found = [row for scene in scenes for row in judged(scene, task)]
    reasons = Counter(row["reason"] or "asked" for row in found)
    counted = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return counted, digest_of_rows(found)


@pytest.mark.parametrize("task", IN_FULL)
def test_all_that_is_asked_of_five_flights(task: str) -> None:
    """To read what changed: print the rows of `judged` before and after."""
    views = tuple(Sighting(landmark=n, intervals=times, possible=times) for n, times in enumerate(SEEN))
    moved = motion(TURNING, (10.0, -20.0, 35.0), 25.0, -15.0).model_copy(update={"views": views})
    made = flight(moved, MARKS, goal="the blue tower", route=ROUTE)
    assert in_full((made, *map(random_flight, (3, 5, 8, 12))), task) == IN_FULL[task]
