"""Properties of the world: turned or moved it has the same answers, mirrored left and right change places."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS, Assisted
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import random_flight, rows
from tests.environment import times
from tests.tables import candidates

SEEDS = st.integers(0, 10_000)


def changed(scene: FlightScene, place: Any, heading: Any, action: Any = lambda a: a) -> FlightScene:
    """The flight with every (east, north), heading, and action changed; route steps as their actions."""
    flight = scene.facts
    assert flight.motion is not None
    motion = flight.motion
    segments = [s.model_copy(update={"actions": tuple(map(action, s.actions))}) for s in motion.segments]
    moved = motion.model_copy(
        update={
            "enu_m": tuple((*place(x, y), z) for x, y, z in motion.enu_m),
            "heading_deg": tuple(None if h is None else heading(h) % 360 for h in motion.heading_deg),
            "segments": tuple(segments),
        }
    )
    marks = tuple(m.model_copy(update={"center": place(*m.center)}) for m in flight.landmarks)
    update = {"motion": moved, "landmarks": marks, "route": tuple(map(action, flight.route))}
    return scene.with_facts(**update)


def answers(scene: FlightScene, kept: tuple[str, ...] = ("operands", "answer", "wrong", "reason")) -> list[Any]:
    return [(r["task"], *(r[k] for k in kept)) for r in rows(scene)]


@pytest.mark.slow
@given(SEEDS, st.floats(0, 360), st.floats(-500, 500))
@settings(max_examples=times(3, 12))
def test_turning_and_moving_the_world_changes_nothing(seed: int, turn: float, shift: float) -> None:
    way = np.radians(turn)

    def place(x: float, y: float) -> tuple[float, float]:
        east, north = x * np.cos(way) + y * np.sin(way), y * np.cos(way) - x * np.sin(way)
        return float(east) + shift, float(north) - 2 * shift

    scene = random_flight(seed)
    assert answers(changed(scene, place, lambda h: h + turn)) == answers(scene)


def swapped(text: str) -> str:
    return re.sub(r"\b(left|right)\b", lambda m: "right" if m[1] == "left" else "left", text)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=times(3, 12))
def test_mirroring_the_world_swaps_left_and_right(seed: int) -> None:
    scene = random_flight(seed)
    mirrored = changed(scene, lambda x, y: (-x, y), lambda h: -h, swapped)
    expected = []
    for task, operands, answer, reason in answers(scene, ("operands", "answer", "reason")):
        if task == "Cognitive Map" and answer:
            image = " / ".join(line[::-1] for line in answer.split(" / "))
        else:
            image = answer and swapped(answer)
        expected.append((task, [swapped(word) for word in operands], image, reason))
    assert answers(mirrored, ("operands", "answer", "reason")) == expected


@pytest.mark.long
@given(SEEDS, st.integers(0, 1000))
@settings(max_examples=8)
def test_the_order_of_landmarks_is_of_no_matter(seed: int, shuffle: int) -> None:
    scene = random_flight(seed)
    flight = scene.facts
    order = np.random.default_rng(shuffle).permutation(len(flight.landmarks)).tolist()
    views = [v.model_copy(update={"landmark": order.index(v.landmark)}) for v in flight.motion.views]
    motion = flight.motion.model_copy(update={"views": tuple(views[::-1])})
    update = {"landmarks": tuple(flight.landmarks[i] for i in order), "motion": motion}
    other = scene.with_facts(**update)
    tasks = list(URBAN_TASKS.values())
    assert candidates(FlightView(other, UrbanRules()), tasks).equals(candidates(FlightView(scene, UrbanRules()), tasks))


@pytest.mark.parametrize("seed", range(10))
def test_every_candidate_is_proved_or_refused(seed: int) -> None:
    found = rows(random_flight(seed))
    assert len({r["id"] for r in found}) == len(found)
    for r in found:
        if r["reason"] is None:
            assert r["answer"] not in r["wrong"]
            assert len({option.casefold() for option in r["wrong"]}) == len(r["wrong"]) >= 2
            assert r["evidence"]
            for e in r["evidence"]:
                assert (e["relation"] is None) == (e["limit"] is None)
                value, limit = e["value"], e["limit"] or 0
                holds = {">=": value >= limit, ">": value > limit, "<=": value <= limit, "<": value < limit, None: True}
                assert holds[e["relation"]], e
        else:
            assert r["answer"] is None
            assert r["wrong"] is None
            assert r["evidence"] is None


@pytest.mark.slow
@given(SEEDS, st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_broken_flights_are_refused_and_never_fail(seed: int, damage: int) -> None:
    rng = np.random.default_rng(damage)
    scene = random_flight(seed)
    flight = scene.facts
    motion = flight.motion
    n = len(motion.t_s)
    kept = np.sort(rng.permutation(n)[: int(rng.integers(0, n))]) if rng.random() < 0.5 else np.arange(n)
    lost = rng.random(n) < rng.choice([0.0, 0.2, 1.0], 1)
    shift = float(rng.choice([0.0, -10.0, 10.0]))
    update: dict[str, Any] = {
        "t_s": tuple(motion.t_s[i] + shift for i in kept),
        "enu_m": tuple(motion.enu_m[i] for i in kept),
        "part": tuple(int(3 * i / n) for i in kept),
        "course_deg": tuple(None for _ in kept),
        "segments": tuple(
            s.model_copy(update={"start_s": s.start_s + shift, "end_s": s.end_s + shift, "margin": rng.uniform(1, 3)})
            for s in motion.segments
            if rng.random() < 0.8
        ),
        "views": None if rng.random() < 0.3 else motion.views,
    }
    for name in ("height_m", "heading_deg", "pitch_deg"):
        hidden = lost if rng.random() < 0.5 else np.zeros(n, dtype=bool)
        update[name] = tuple(None if hidden[i] else getattr(motion, name)[i] for i in kept)
    marks = list(flight.landmarks)
    marks[0] = marks[0].model_copy(update={"center": motion.enu_m[0][:2], "radius_m": 0.0})
    marks[1] = marks[1].model_copy(update={"center": marks[2].center, "base_m": None, "top_m": None})
    broken = {"motion": motion.model_copy(update=update), "landmarks": tuple(marks[: int(rng.integers(0, 9))])}
    if rng.random() < 0.3:
        broken["camera"] = None
    found = rows(scene.with_facts(**broken))
    assert {r["task"] for r in found} == {name for name, task in URBAN_TASKS.items() if not isinstance(task, Assisted)}
    for r in found:
        assert (r["reason"] is None) == (r["answer"] is not None)
        assert r["reason"] is not None or len(r["wrong"]) >= 2
