"""PHY of drives: the state of driving and what follows from it (MD), and what a car can do (CS)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.asking import number, steady_speed, words
from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.drive.asking import case, mark, named
from pipeline.benchmarks.embodied4c.drive.view import KMH, DriveExam
from pipeline.worlds.drive.facts import VEHICLES

GRAVITY: Final = 9.81  # m/s2, as the wordings say
FRICTIONS: Final = ("0.8", "0.7", "0.5", "0.3")  # dry asphalt to packed snow
REACTIONS_S: Final = ("0.5", "1.0", "1.5")
TIME_GAP_MAX_S: Final = 8.0


def state(view: DriveExam) -> Iterator[ExamCase]:
    """MD: our present dynamic state: standing, or accelerating, braking or steady, and straight, left or right."""
    rules = view.rules
    moves = ("accelerating", "braking", "driving at constant speed")
    ways = ("straight ahead", "while turning left", "while turning right")
    every = ["standing still", *(f"{move} {way}" for move in moves for way in ways)]
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        speed, gain, turn = (
            float(v[index]) for v in (view.ego_speed_mps, view.ego_acceleration_mps2, view.ego_turn_dps)
        )
        one = case(view, "md_state", moment)
        one.require("speed_unknown", float(np.isfinite([speed, gain, turn]).all()), ">=", 1, "speeds")
        one.fact("speed", "ego vehicle", speed, "m/s")
        one.fact("acceleration", "ego vehicle", gain, "m/s2")
        one.fact("turn", "ego vehicle", turn, "deg/s")
        if speed <= rules.still_mps and abs(gain) <= rules.steady_mps2:
            yield words(one, "standing still", every, ("stationary", "standing", "stopped", "not moving", "parked"))
            continue
        one.require("between_standing_and_moving", speed, ">=", rules.moving_mps, "m/s")
        steady, still_straight = abs(gain) <= rules.steady_mps2, abs(turn) <= rules.straight_dps
        if not steady:
            one.require("between_states", abs(gain), ">=", rules.accelerating_mps2, "m/s2")
        if not still_straight:
            one.require("between_states", abs(turn), ">=", rules.turning_dps, "deg/s")
        move = moves[2] if steady else moves[0 if gain > 0 else 1]
        way = ways[0] if still_straight else ways[1 if turn > 0 else 2]
        accepted = (
            (move, f"{move} and going straight") if still_straight else (f"{move}, {way.removeprefix('while ')}",)
        )
        yield words(one, f"{move} {way}", every, accepted)


def acceleration(view: DriveExam) -> Iterator[ExamCase]:
    """MD: how strongly our speed changes."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        gain = float(view.ego_acceleration_mps2[index])
        way = "acceleration" if gain > 0 else "deceleration"
        one = case(view, "md_acceleration", moment, (), way=way)
        one.require("changes_too_little", abs(gain), ">=", 1.0, "m/s2")
        yield number(one, abs(gain), "m/s²", 1)


def sideways(view: DriveExam) -> Iterator[ExamCase]:
    """MD: the centripetal acceleration of our bend: speed times rate of turn."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        turn, speed = abs(float(view.ego_turn_dps[index])), float(view.ego_speed_mps[index])
        one = case(view, "md_sideways", moment)
        one.require("angle_too_small", turn, ">=", view.rules.turning_dps, "deg/s")
        one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
        yield number(one, speed * float(np.radians(turn)), "m/s²", 1)


def kinetic(view: DriveExam) -> Iterator[ExamCase]:
    """MD: by which factor the energy of motion would grow at another speed: the square of their ratio."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        kmh = float(view.ego_speed_mps[index]) * KMH
        for target in (30, 50, 70, 100):
            one = case(view, "md_energy", moment, (str(target),), target=str(target))
            one.require("too_slow", kmh, ">=", view.rules.speed_min_kmh, "km/h")
            steady_speed(one, kmh, float(view.ego_short_mps[index]) * KMH, view.rules.speed_off_max)
            one.require("target_not_faster", target / max(kmh, 0.1), ">=", 1.3, "ratio")
            one.guess = f"{max(kmh, 0.1):.1f}"
            yield number(one, (target / max(kmh, 0.1)) ** 2, "", 1)


def stopping(view: DriveExam) -> Iterator[ExamCase]:
    """CS: how far we still roll: reaction and braking, v t + v^2 / (2 mu g), on a level road."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        speed = float(view.ego_speed_mps[index])
        for friction in FRICTIONS:
            for reaction in REACTIONS_S:
                fields = {"friction": friction, "reaction": reaction}
                one = case(view, "cs_stopping", moment, (friction, reaction), **fields)
                one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
                one.fact("speed", "ego vehicle", speed, "m/s")
                steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
                value = speed * float(reaction) + speed**2 / (2 * float(friction) * GRAVITY)
                one.guess = f"{max(speed, 0.1):.2f}"
                yield number(one, value, "m", 1)


def braking_time(view: DriveExam) -> Iterator[ExamCase]:
    """CS: in how many seconds we could stop: v / (mu g)."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        speed = float(view.ego_speed_mps[index])
        for friction in FRICTIONS:
            one = case(view, "cs_time", moment, (friction,), friction=friction)
            one.require("too_slow", speed * KMH, ">=", 2 * view.rules.speed_min_kmh, "km/h")
            one.fact("speed", "ego vehicle", speed, "m/s")
            steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
            one.guess = f"{max(speed, 0.1):.2f}"
            yield number(one, speed / (float(friction) * GRAVITY), "s", 2)


def time_to(view: DriveExam) -> Iterator[ExamCase]:
    """CS: how long we would need to what stands ahead at our present speed, if both went on as now."""
    for moment, ref in named(view):
        if not ref.side.startswith("ahead") or ref.kind not in VEHICLES | {
            "vehicle",
            "bollard",
            "traffic cone",
            "sign",
        }:
            continue
        index = int(view.moments[moment])
        speed = float(view.ego_speed_mps[index])
        one = case(view, "cs_time_to", moment, (ref.key,), ref, thing=ref.words)
        one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        one.require("too_near", ref.gap_m, ">=", view.rules.distance_min_m, "m")
        value = ref.gap_m / max(speed, 0.01)
        one.require("too_long", value, "<=", TIME_GAP_MAX_S, "s")
        one.fact("distance", ref.words, ref.gap_m, "m")
        one.fact("speed", "ego vehicle", speed, "m/s")
        steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
        mark(view, one, "asked", view.place_m[ref.actor, index])
        yield number(one, value, "s", 1)
