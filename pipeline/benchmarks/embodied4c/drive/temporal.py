"""TEM and PHY of drives.

Speeds and ways (M/T), the last seconds (S/M), and all of the log so far (L/M); the state of driving and what follows
from it (MD), and what a car can do (CS).
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.case import ExamCase, begins_s, common, number, part_of_log, steady_speed, words
from pipeline.benchmarks.embodied4c.drive.refs import (
    LONG,
    MOTOR_VEHICLE,
    RADII_M,
    case,
    cases_about,
    kinds_of,
    mark,
    mark_all,
    needs_gap,
    of_kind,
    plural,
    radii_counted,
)
from pipeline.benchmarks.embodied4c.drive.view import KMH, DriveExam
from pipeline.questions.gate import READ_SHARE
from pipeline.worlds.drive.facts import VEHICLES

HALF_TURN_DEG: Final = 180.0  # no car turns by more within seconds: what blind models choose from ends there
STANDS_AHEAD: Final = VEHICLES | {MOTOR_VEHICLE, "bollard", "traffic cone", "sign"}  # of what one may drive into


def own_speed(view: DriveExam) -> Iterator[ExamCase]:
    """M/T: our speed."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        kmh = float(view.ego_speed_mps[index]) * KMH
        one = case(view, "mt_own_speed", moment)
        one.require("too_slow", kmh, ">=", view.rules.speed_min_kmh, "km/h")
        steady_speed(one, kmh, float(view.ego_short_mps[index]) * KMH, view.rules.speed_off_max)
        yield number(one, kmh, "km/h")


def speed(view: DriveExam) -> Iterator[ExamCase]:
    """M/T: the speed of another over ground."""
    for one, ref, moment in cases_about(view, "mt_speed", LONG):
        kmh = float(view.moving_mps[ref.actor, moment]) * KMH
        one.require("too_slow", kmh, ">=", view.rules.speed_min_kmh, "km/h")
        steady_speed(one, kmh, float(view.short_mps[ref.actor, moment]) * KMH, view.rules.speed_off_max)
        mark_all(view, one, ref)
        yield number(one, kmh, "km/h")


def driven_lately(view: DriveExam) -> Iterator[ExamCase]:
    """S/M: how far we drove in the last seconds."""
    for moment, index, before in _windows(view):
        driven = float(view.driven_m[index] - view.driven_m[before])
        seconds = f"{view.rules.window_s:g}"
        one = case(view, "sm_driven", moment, (seconds,), seconds=seconds)
        mark(view, one, "then", view.ego_m[before])
        one.base = driven / view.rules.window_s * KMH
        one.require("too_slow", one.base, ">=", view.rules.speed_min_kmh, "km/h")  # as of all of one fact
        yield number(one, driven, "m")


def turned_lately(view: DriveExam) -> Iterator[ExamCase]:
    """S/M: by how much we turned in the last seconds, and to which side."""
    for moment, index, before in _windows(view):
        yaw = np.degrees(np.unwrap(np.radians(view.ego_yaw_deg[before : index + 1])))
        turn = float(yaw[-1] - yaw[0])
        side = "left" if turn > 0 else "right"
        seconds = f"{view.rules.window_s:g}"
        one = case(view, "sm_turned", moment, (seconds,), seconds=seconds, side=side)
        one.require("angle_too_small", abs(turn), ">=", view.rules.turn_min_deg * 2, "deg")
        yield number(one, abs(turn), "°", HALF_TURN_DEG)


def _windows(view: DriveExam) -> Iterator[tuple[int, int, int]]:
    """Moments with the index of the time a window before them, where our way is known all along."""
    if not view.ego_moves:
        return
    for moment, index in enumerate(view.moments.tolist()):
        before = view.index(float(view.times_s[index]) - view.rules.window_s)
        lasted = float(view.times_s[index] - view.times_s[before])
        if abs(lasted - view.rules.window_s) <= 0.02 * view.rules.window_s and np.isfinite(view.driven_m[index]):
            yield moment, index, before


def driven_in_all(view: DriveExam) -> Iterator[ExamCase]:
    """L/M: how far we drove since the video began, which is of one length: of a longer one anybody guesses more."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        one = case(view, "lm_driven", moment)
        before = view.index(one.from_s or 0.0)
        driven = float(view.driven_m[index] - view.driven_m[before])
        one.require("clip_too_short", view.second(moment), ">=", view.rules.drive_long_s, "s")
        one.require("too_slow", driven / view.rules.drive_long_s * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        mark(view, one, "then", view.ego_m[before])
        yield number(one, driven, "m")


def seen_lately(view: DriveExam) -> Iterator[ExamCase]:
    """L/M: how many different ones of a kind came within a radius of us since the video began, which is of one length.

    Of a longer one anybody guesses more.
    """
    if not view.ego_moves or view.scope:
        return
    firsts = np.array([view.index(begins_s("lm_seen", t_s, view.rules) or 0.0) for t_s in view.asked_s], dtype=np.intp)
    nearest = view.nearest_since_m(firsts, max(RADII_M) + view.rules.radius_margin_m)
    boxless = view.unsure | (view.present & ~np.isfinite(view.size_m[:, :1]))
    for kind in kinds_of(view):
        members = of_kind(view, kind)
        radii, beyond = radii_counted(view, nearest[members]), view.rules.radius_margin_m
        for moment in range(len(view.moments) if radii else 0):
            first, index, gap = int(firsts[moment]), int(view.moments[moment]), nearest[:, moment]
            unsure = int(boxless[members, first : index + 1].any(1).sum())
            then = (view.moments >= first) & (view.moments <= index)
            hidden = np.nan_to_num(view.hidden[:, then], nan=1.0).min(1)
            for radius in radii:
                counted = members & (gap <= radius)
                count = int(counted.sum())
                if not count:
                    continue
                one = case(view, "lm_seen", moment, (kind, str(radius)), things=plural(kind), radius=str(radius))
                one.require("clip_too_short", view.second(moment), ">=", view.rules.drive_long_s, "s")
                one.require("another_in_doubt", unsure, "<=", 0, "things")
                one.require("near_radius", int((members & (np.abs(gap - radius) < beyond)).sum()), "<=", 0, "things")
                one.require("too_many", count, "<=", view.rules.count_max, "things")
                one.require("hidden_in_picture", float(hidden[counted].max()), "<=", view.rules.hidden_max, "share")
                yield number(one, float(count), "")


GRAVITY: Final = 9.81  # m/s2, as the wordings say
# One value each, since who reads others in the text knows better what to guess.
FRICTION: Final = "0.7"  # dry asphalt
REACTION_S: Final = "1.0"
TIME_GAP_MAX_S: Final = 8.0


def state(view: DriveExam) -> Iterator[ExamCase]:
    """MD: our present dynamic state: standing, or accelerating, braking or steady, and straight, left or right."""
    rules = view.rules
    moves = ("accelerating", "braking", "driving at constant speed")
    ways = ("straight ahead", "while turning left", "while turning right")
    every = ["standing still", *(f"{move} {way}" for move in moves for way in ways)]
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        speed = float(view.ego_speed_mps[index])
        gain, gain_shown = float(view.ego_acceleration_mps2[index]), float(view.ego_gain_shown_mps2[index])
        turn, turn_shown = float(view.ego_turn_dps[index]), float(view.ego_turn_shown_dps[index])
        one = case(view, "md_state", moment)
        one.traits = (part_of_log(index, len(view.times_s)),)
        known = np.isfinite([speed, gain, gain_shown, turn, turn_shown])
        one.require("speed_unknown", float(known.all()), ">=", 1, "speeds")
        one.fact("speed", "ego vehicle", speed, "m/s")
        one.fact("acceleration", "ego vehicle", gain, "m/s2")
        one.fact("turn", "ego vehicle", turn, "deg/s")
        steady = max(abs(gain), abs(gain_shown)) <= rules.steady_mps2
        still_straight = max(abs(turn), abs(turn_shown)) <= rules.straight_dps
        if speed <= rules.still_mps and steady:
            yield words(one, "standing still", every, ("stationary", "standing", "stopped", "not moving", "parked"))
            continue
        one.require("between_standing_and_moving", speed, ">=", rules.moving_mps, "m/s")
        if not steady:
            one.require("between_states", common(gain, gain_shown), ">=", rules.accelerating_mps2, "m/s2")
        if not still_straight:
            one.require("between_states", common(turn, turn_shown), ">=", rules.turning_dps, "deg/s")
        move = moves[2] if steady else moves[0 if gain > 0 else 1]
        way = ways[0] if still_straight else ways[1 if turn > 0 else 2]
        accepted = (
            (move, f"{move} and going straight") if still_straight else (f"{move}, {way.removeprefix('while ')}",)
        )
        yield words(one, f"{move} {way}", every, accepted)


def acceleration(view: DriveExam) -> Iterator[ExamCase]:
    """MD: how strongly our speed changes."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        gain = abs(float(view.ego_acceleration_mps2[index]))
        one = case(view, "md_acceleration", moment)
        one.require("changes_too_little", gain, ">=", 1.0, "m/s2")
        steady_speed(one, gain, abs(float(view.ego_gain_shown_mps2[index])), READ_SHARE)
        yield number(one, gain, "m/s²")


def sideways(view: DriveExam) -> Iterator[ExamCase]:
    """MD: the centripetal acceleration of our bend: speed times rate of turn."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        turn, speed = abs(float(view.ego_turn_dps[index])), float(view.ego_speed_mps[index])
        one = case(view, "md_sideways", moment)
        one.require("angle_too_small", turn, ">=", view.rules.turning_dps, "deg/s")
        one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
        steady_speed(one, turn, abs(float(view.ego_turn_shown_dps[index])), READ_SHARE)
        yield number(one, speed * float(np.radians(turn)), "m/s²")


def stopping(view: DriveExam) -> Iterator[ExamCase]:
    """CS: how far we still roll: reaction and braking, v t + v^2 / (2 mu g), on a level road."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        speed = float(view.ego_speed_mps[index])
        one = case(view, "cs_stopping", moment, (FRICTION, REACTION_S), friction=FRICTION, reaction=REACTION_S)
        one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        one.fact("speed", "ego vehicle", speed, "m/s")
        steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
        one.base = speed * KMH
        one.reads("speed", None, one.base)
        yield number(one, speed * float(REACTION_S) + speed**2 / (2 * float(FRICTION) * GRAVITY), "m")


def time_to(view: DriveExam) -> Iterator[ExamCase]:
    """CS: how long we would need to what stands ahead at our present speed, if both went on as now."""
    for one, ref, moment in cases_about(view, "cs_time_to", STANDS_AHEAD):
        if not ref.side.startswith("ahead"):
            continue
        index = int(view.moments[moment])
        speed = float(view.ego_speed_mps[index])
        one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        one.require("too_near", ref.gap_m, ">=", view.rules.distance_min_m, "m")
        needs_gap(view, one, moment, ref.gap_m, ref)
        value = ref.gap_m / max(speed, 0.01)
        one.require("too_long", value, "<=", TIME_GAP_MAX_S, "s")
        one.fact("distance", ref.words, ref.gap_m, "m")
        one.fact("speed", "ego vehicle", speed, "m/s")
        one.reads("distance", None, ref.gap_m)
        one.base = ref.gap_m
        one.reads("speed", None, speed * KMH)
        steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
        mark_all(view, one, ref)
        yield number(one, value, "s")
