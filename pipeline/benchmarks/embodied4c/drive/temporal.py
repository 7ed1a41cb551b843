"""TEM and PHY of drives.

Speeds and ways (M/T), the last seconds (S/M), and all of the log so far (L/M); the state of driving and what follows
from it (MD), and what a car can do (CS).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.case import ExamCase, choose, number, part_of_log, steady_speed, words
from pipeline.benchmarks.embodied4c.drive.refs import LONG, case, kinds_of, mark, mark_all, named, of_kind, plural
from pipeline.benchmarks.embodied4c.drive.view import KMH, DriveExam
from pipeline.core.arrays import BoolArray
from pipeline.worlds.drive.facts import VEHICLES

HALF_TURN_DEG: Final = 180.0  # no car turns by more within seconds: what blind models choose from ends there
PASS_WITHIN_M: Final = 12.0  # to a side of us, of what we pass
PASS_BEYOND_M: Final = 2.0  # ahead before and behind afterwards: then it was passed for sure
STOOD_MAX: Final = 0.75  # of the log so far: who stood all along is asked for no more than how long that is
SPEED_CHANGE_MIN: Final = 1.5  # m/s over the window, of who accelerated or braked
SPEED_CHANGE_MAX: Final = 0.5  # m/s, of who kept its speed
SEEN_WITHIN_M: Final = (10, 20, 30)
STANDS_AHEAD: Final = VEHICLES | {"vehicle", "bollard", "traffic cone", "sign"}  # of what one may drive into


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
    for moment, ref in named(view):
        if ref.kind not in LONG:
            continue
        kmh = float(view.moving_mps[ref.actor, moment]) * KMH
        one = case(view, "mt_speed", moment, (ref.key,), ref, thing=ref.said)
        one.require("too_slow", kmh, ">=", view.rules.speed_min_kmh, "km/h")
        steady_speed(one, kmh, float(view.short_mps[ref.actor, moment]) * KMH, view.rules.speed_off_max)
        mark_all(view, one, ref)
        yield number(one, kmh, "km/h")


def mean_speed(view: DriveExam) -> Iterator[ExamCase]:
    """M/T: our mean speed since the log began."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        kmh = float(view.driven_m[index] / (view.times_s[index] - view.times_s[0])) * KMH
        one = case(view, "mt_mean_speed", moment)
        one.base = float(view.driven_m[index])
        one.require("too_slow", kmh, ">=", view.rules.speed_min_kmh, "km/h")
        yield number(one, kmh, "km/h")


def time_standing(view: DriveExam) -> Iterator[ExamCase]:
    """M/T: for how long our car stood since the log began; every time that it stood, and no time in between."""
    if not view.ego_moves:
        return
    still = view.ego_speed_mps <= view.rules.still_mps
    slow = view.ego_speed_mps < view.rules.moving_mps
    steps = np.append(np.diff(view.times_s), 0.0)
    for moment, index in enumerate(view.moments.tolist()):
        least, most = (float(steps[:index][which[:index]].sum()) for which in (still, slow))
        one = case(view, "mt_standing", moment)
        one.require("stood_too_short", least, ">=", 2.0, "s")
        one.require("stood_all_along", most / float(view.times_s[index] - view.times_s[0]), "<=", STOOD_MAX, "share")
        one.fact("stood", "at least", least, "s")
        one.fact("stood", "at most", most, "s")
        one.require("between_standing_and_moving", round(most) - round(least), "<=", 0, "s")
        yield number(one, (least + most) / 2, "s", float(view.times_s[index] - view.times_s[0]))


def driven_lately(view: DriveExam) -> Iterator[ExamCase]:
    """S/M: how far we drove in the last seconds."""
    for moment, index, before in _windows(view):
        driven = float(view.driven_m[index] - view.driven_m[before])
        seconds = f"{view.rules.window_s:g}"
        one = case(view, "sm_driven", moment, (seconds,), seconds=seconds)
        one.require("too_near", driven, ">=", view.rules.distance_min_m * 2, "m")
        mark(view, one, "then", view.ego_m[before])
        one.base = driven / view.rules.window_s * KMH
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


def changed_lately(view: DriveExam) -> Iterator[ExamCase]:
    """S/M: what our speed did in the last seconds."""
    for moment, index, before in _windows(view):
        part = view.ego_speed_mps[before : index + 1]
        one = case(view, "sm_speed", moment, (f"{view.rules.window_s:g}",), seconds=f"{view.rules.window_s:g}")
        one.traits = (part_of_log(index, len(view.times_s)),)
        one.require("speed_unknown", float(np.isfinite(part).all()), ">=", 1, "speeds")
        change, spread = float(part[-1] - part[0]), float(part.max() - part.min())
        one.fact("speed", "then", float(part[0]), "m/s")
        one.fact("speed", "now", float(part[-1]), "m/s")
        if part.max() <= view.rules.still_mps:
            answer = "it stood still"
        elif spread <= SPEED_CHANGE_MAX and part.min() >= view.rules.moving_mps:
            answer = "it kept its speed"
        else:
            answer = "it accelerated" if change > 0 else "it braked"
            one.require("changes_too_little", abs(change), ">=", SPEED_CHANGE_MIN, "m/s")
            one.require("up_and_down", spread, "<=", 1.25 * abs(change), "m/s")
        yield choose(one, answer)


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
        one.require("too_near", driven, ">=", view.rules.distance_min_m * 3, "m")
        mark(view, one, "then", view.ego_m[before])
        yield number(one, driven, "m")


def passed(view: DriveExam) -> Iterator[ExamCase]:
    """L/M: how many of a kind we passed: ahead of our point before, behind it now, not far to the side between."""
    if not view.ego_moves or view.scope:
        return
    for moment, index in enumerate(view.moments.tolist()):
        surely, maybe = _passed(view, index)
        for kind in kinds_of(view):
            members = of_kind(view, kind)
            count = int((surely & members).sum())
            if not count:
                continue
            one = case(view, "lm_passed", moment, (kind,), things=plural(kind), side=f"{PASS_WITHIN_M:g}")
            one.require("another_in_doubt", _unsure_so_far(view, members, index), "<=", 0, "things")
            one.require("passing_in_doubt", int((maybe & ~surely & members).sum()), "<=", 0, "things")
            one.require("too_many", count, "<=", view.rules.count_max, "things")
            for n, actor in enumerate(np.flatnonzero(surely & members).tolist()):
                mark(view, one, f"counted {n + 1}", view.place_m[actor, _last_seen(view, actor, index)])
            yield number(one, float(count), "")


def _passed(view: DriveExam, until: int) -> tuple[BoolArray, BoolArray]:
    """Which actors (A,) were passed until a time: for sure, and perhaps."""
    ahead, left = (view.relative_m[:, : until + 1, axis] for axis in (0, 1))
    known = np.isfinite(ahead)
    first = known.argmax(1)
    last = until - known[:, ::-1].argmax(1)
    rows = np.arange(len(ahead))
    there = known.any(1)
    began, ended = ahead[rows, first], ahead[rows, last]
    beside = np.where(known & (np.abs(ahead) < 2 * PASS_BEYOND_M + 3), np.abs(left), np.inf).min(1)
    with np.errstate(invalid="ignore"):
        surely = there & (began > PASS_BEYOND_M) & (ended < -PASS_BEYOND_M) & (beside <= PASS_WITHIN_M - 1)
        maybe = there & (began > -PASS_BEYOND_M) & (ended < PASS_BEYOND_M) & (beside <= PASS_WITHIN_M + 1)
    return surely, maybe


def _unsure_so_far(view: DriveExam, members: BoolArray, until: int) -> float:
    """How many of some actors (A,) were in doubt, or had no box, at any time until then."""
    there = (view.unsure | (view.present & ~np.isfinite(view.size_m[:, :1])))[members, : until + 1]
    return float(there.any(1).sum())


def _last_seen(view: DriveExam, actor: int, until: int) -> int:
    return int(np.flatnonzero(view.present[actor, : until + 1])[-1])


def seen_so_far(view: DriveExam) -> Iterator[ExamCase]:
    """L/M: how many different ones of a kind came within a radius of us since the log began."""
    if not view.ego_moves or view.scope:
        return
    nearest = view.nearest_so_far_m(max(SEEN_WITHIN_M) + view.rules.radius_margin_m)
    for moment in range(len(view.moments)):
        for kind in kinds_of(view):
            members = of_kind(view, kind)
            for radius in SEEN_WITHIN_M:
                gap = nearest[:, moment]
                count = int((members & (gap <= radius)).sum())
                if not count:
                    continue
                one = case(view, "lm_seen", moment, (kind, str(radius)), things=plural(kind), radius=str(radius))
                index = int(view.moments[moment])
                one.require("another_in_doubt", _unsure_so_far(view, members, index), "<=", 0, "things")
                doubtful = members & (np.abs(gap - radius) < view.rules.radius_margin_m)
                one.require("near_radius", int(doubtful.sum()), "<=", 0, "things")
                one.require("too_many", count, "<=", view.rules.count_max, "things")
                yield number(one, float(count), "")


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
        one.traits = (part_of_log(index, len(view.times_s)),)
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
        yield number(one, abs(gain), "m/s²")


def sideways(view: DriveExam) -> Iterator[ExamCase]:
    """MD: the centripetal acceleration of our bend: speed times rate of turn."""
    for moment, index in enumerate(view.moments.tolist()) if view.ego_moves else ():
        turn, speed = abs(float(view.ego_turn_dps[index])), float(view.ego_speed_mps[index])
        one = case(view, "md_sideways", moment)
        one.require("angle_too_small", turn, ">=", view.rules.turning_dps, "deg/s")
        one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        steady_speed(one, speed, float(view.ego_short_mps[index]), view.rules.speed_off_max)
        yield number(one, speed * float(np.radians(turn)), "m/s²")


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
            one.reads("speed", None, kmh)
            one.base = kmh
            yield number(one, (target / max(kmh, 0.1)) ** 2, "")


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
                one.reads("speed", None, speed * KMH)
                one.base = speed * KMH
                yield number(one, value, "m")


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
            one.reads("speed", None, speed * KMH)
            one.base = speed * KMH
            yield number(one, speed / (float(friction) * GRAVITY), "s")


def time_to(view: DriveExam) -> Iterator[ExamCase]:
    """CS: how long we would need to what stands ahead at our present speed, if both went on as now."""
    for moment, ref in named(view):
        if not ref.side.startswith("ahead") or ref.kind not in STANDS_AHEAD:
            continue
        index = int(view.moments[moment])
        speed = float(view.ego_speed_mps[index])
        one = case(view, "cs_time_to", moment, (ref.key,), ref, thing=ref.said)
        one.require("too_slow", speed * KMH, ">=", view.rules.speed_min_kmh, "km/h")
        one.require("too_near", ref.gap_m, ">=", view.rules.distance_min_m, "m")
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
