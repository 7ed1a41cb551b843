"""Questions about flying itself: states (ST), places and headings (DT, OR), the way (TEM), what follows (PHY)."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.case import ExamCase, choose, common, number, sector, steady_speed, words
from pipeline.benchmarks.embodied4c.flight.view import KMH, FlightExam, case, steady
from pipeline.core.identity import digest
from pipeline.worlds.flight.steps import SEVEN, phrase

LAST_STEPS: Final = (2, 3)
_WAYS: Final = ("without turning", "while turning left", "while turning right")


def vertical_state(view: FlightExam) -> Iterator[ExamCase]:
    """ST: whether the drone climbs, descends or keeps its height."""
    for second, index in view.moments:
        up, up_shown = float(view.velocity_mps[index, 2]), float(view.climb_shown_mps[index])
        one = case(view, "air_st_height", second)
        one.fact("climb", "drone", up, "m/s")
        if max(abs(up), abs(up_shown)) <= view.rules.level_mps:
            answer = "keeping its height"
        else:
            one.require("between_states", common(up, up_shown), ">=", view.rules.climbing_mps, "m/s")
            _seen_on_gauge(view, one, index)
            answer = "climbing" if up > 0 else "descending"
        yield choose(one, answer)


def camera_state(view: FlightExam) -> Iterator[ExamCase]:
    """ST: where the camera looks: level, down at an angle, or straight down."""
    for second, index in view.moments:
        pitch = float(view.flight.pitch_deg[index])
        one = case(view, "air_st_camera", second)
        one.require("not_measured", float(np.isfinite(pitch)), ">=", 1, "numbers")
        one.fact("pitch", "camera", pitch, "deg")
        margin = min(abs(pitch + border) for border in (15, 75))
        one.require("between_states", margin, ">=", 5.0, "deg")
        one.require("looks_up", pitch, "<=", 10.0, "deg")
        yield choose(one, 0 if pitch > -15 else 1 if pitch > -75 else 2)


def distance_home(view: FlightExam) -> Iterator[ExamCase]:
    """DT: over ground, to where the video begins, which is of one length; and the height above the take-off."""
    for second, index in view.moments:
        one = case(view, "air_dt_home", second)
        away = _from_begin_m(view, one, index)
        one.require("too_near", away, ">=", 5.0, "m")
        yield number(one, away, "m")
        height = float(view.flight.height_m[index])
        one = case(view, "air_dt_height", second)
        # A log that begins in the air does not say how high the place of take-off is.
        one.require("takeoff_unknown", float(view.flight.heights_from_start), "<=", 0, "logs")
        one.require("too_near", height, ">=", 5.0, "m")
        yield number(one, height, "m")


def heading(view: FlightExam) -> Iterator[ExamCase]:
    """OR: the compass angle of the nose."""
    for second, index in view.moments:
        angle = float(view.flight.heading_deg[index])
        one = case(view, "air_or", second)
        steady(view, one, index)
        one.require("angle_too_small", min(angle, 360 - angle), ">=", 4 * view.rules.turn_min_deg, "deg")
        yield number(one, angle, "°", 360)


def compass(view: FlightExam) -> Iterator[ExamCase]:
    """OR: the point of the compass that the nose is turned to."""
    for second, index in view.moments:
        angle = float(view.flight.heading_deg[index])
        one = case(view, "air_or_compass", second)
        steady(view, one, index)
        one.fact("heading", "drone", angle, "deg")
        one.base = angle
        eighth, border = sector(angle, 8)
        one.require("near_heading_border", border, ">=", view.rules.heading_margin_deg / 2, "deg")
        yield choose(one, eighth)


def speed(view: FlightExam) -> Iterator[ExamCase]:
    """M/T: speed over ground now, and the mean so far."""
    for second, index in view.moments:
        kmh = float(view.speed_mps[index]) * KMH
        one = case(view, "air_mt", second)
        one.require("too_slow", kmh, ">=", view.rules.speed_min_kmh, "km/h")
        steady_speed(one, kmh, float(view.short_mps[index]) * KMH, view.rules.speed_off_max)
        _as_stated(view, one, index)
        yield number(one, kmh, "km/h")


def flown_lately(view: FlightExam) -> Iterator[ExamCase]:
    """S/M: the way in the last seconds."""
    for second, _ in view.moments:
        before = second - view.rules.window_s
        seconds = f"{view.rules.window_s:g}"
        one = case(view, "air_sm", second, (seconds,), seconds=seconds)
        one.require("window_too_long", before, ">=", 0.0, "s")
        one.require("track_with_gaps", view.whole_since(second, max(before, 0.0)), "<=", 0, "s")
        way = view.way_m(second, before)
        one.base = way / view.rules.window_s * KMH
        one.require("too_near", way, ">=", 5.0, "m")
        yield number(one, way, "m")


def climbed_lately(view: FlightExam) -> Iterator[ExamCase]:
    """S/M: what the height did in the last seconds."""
    for second, index in view.moments:
        before = view.flight.index(second - view.rules.window_s)
        seconds = f"{view.rules.window_s:g}"
        one = case(view, "air_sm_height", second, (seconds,), seconds=seconds)
        one.require("window_too_long", float(before is not None), ">=", 1, "samples")
        part = view.flight.enu_m[before or 0 : index + 1, 2]
        change, spread = float(part[-1] - part[0]), float(part.max() - part.min())
        one.fact("climb", "drone", change, "m")
        if spread <= 0.5:
            answer = "it stayed the same"
        else:
            one.require("changes_too_little", abs(change), ">=", 2.0, "m")
            one.require("up_and_down", spread, "<=", 1.15 * abs(change), "m")
            _seen_on_gauge(view, one, index)
            answer = "it climbed" if change > 0 else "it descended"
        yield choose(one, answer)


def flown_in_all(view: FlightExam) -> Iterator[ExamCase]:
    """L/M: the way since the video began, which is of one length: of a longer one anybody guesses more."""
    for second, _ in view.moments:
        one = case(view, "air_lm", second)
        from_s = one.from_s or 0.0
        one.require("track_with_gaps", view.whole_since(second, from_s), "<=", 0, "s")
        way = view.way_m(second, from_s)
        one.require("too_near", way, ">=", 10.0, "m")
        yield number(one, way, "m")


def sequence(view: FlightExam) -> Iterator[ExamCase]:
    """L/M: the last movements in order, ended or well under way."""
    flight = view.flight
    for second, _ in view.moments:
        begun = [step for step in flight.steps if step.start_s <= second - 1.0]
        for n in LAST_STEPS:
            if len(begun) < n:
                continue
            last = begun[-n:]
            one = case(view, "air_lm_steps", second, (str(n),), count={2: "two", 3: "three"}[n])
            one.facts = tuple(f"order {k}" for k in range(len(begun) - n, len(begun) - 1))
            one.require("movements_unknown", sum(not step.known for step in last), "<=", 0, "movements")
            one.require("track_with_gaps", view.whole_since(second, max(0.0, last[0].start_s)), "<=", 0, "s")
            one.require("barely_a_movement", min(step.margin for step in last), ">=", 1.3, "ratio")
            soon = [step for step in flight.steps if second - 1.0 < step.start_s <= second + 0.5]
            one.require("a_movement_begins", len(soon), "<=", 0, "movements")
            answers = ["; ".join(step.says("ing") for step in last)]
            known = sorted({step.says("ing") for step in begun})
            known += [phrase((action,), "ing") for action in SEVEN][: max(0, 3 - len(known))]
            orders = [order for order in product(known, repeat=n) if all(a != b for a, b in pairwise(order))]
            orders.sort(key=lambda order: digest(view.scene.id, f"{second:.2f}", *order))
            others = ["; ".join(order) for order in orders]
            spoken = (", then ".join(step.says("ing") for step in last), ", ".join(step.says("ing") for step in last))
            yield words(one, answers[0], others[:9], spoken)


def state(view: FlightExam) -> Iterator[ExamCase]:
    """MD: the present state of flight: hovering, or how it moves over ground, up or down, and turns."""
    rules = view.rules
    every = ["hovering", *(f"{move} {way}" for move in ("flying level", "climbing", "descending") for way in _WAYS)]
    for second, index in view.moments:
        up, up_shown = float(view.velocity_mps[index, 2]), float(view.climb_shown_mps[index])
        turn, turn_shown = float(view.turn_dps[index]), float(view.turn_shown_dps[index])
        speed_now = float(view.speed_mps[index])
        one = case(view, "air_md", second)
        known = np.isfinite([up, up_shown, speed_now, turn, turn_shown])
        one.require("speed_unknown", float(known.all()), ">=", 1, "speeds")
        one.fact("climb", "drone", up, "m/s")
        one.fact("speed", "drone", speed_now, "m/s")
        one.fact("turn", "drone", turn, "deg/s")
        level = max(abs(up), abs(up_shown)) <= rules.level_mps
        straight = max(abs(turn), abs(turn_shown)) <= rules.straight_dps
        if level and straight and speed_now <= rules.still_mps:
            yield words(one, "hovering", every, ("hover", "hovering in place", "stationary"))
            continue
        if level:  # straight up or down it moves, too
            one.require("between_standing_and_moving", speed_now, ">=", rules.moving_mps, "m/s")
        else:
            one.require("between_states", common(up, up_shown), ">=", rules.climbing_mps, "m/s")
            _seen_on_gauge(view, one, index)
        if not straight:
            one.require("between_states", common(turn, turn_shown), ">=", rules.turning_dps, "deg/s")
        move = "flying level" if level else "climbing" if up > 0 else "descending"
        way = _WAYS[0 if straight else 2 if turn > 0 else 1]
        yield words(one, f"{move} {way}", every, (f"{move}, {way}",))


def _seen_on_gauge(view: FlightExam, one: ExamCase, index: int) -> None:
    """That the height changes in a drawn film by what its gauge shows; a camera's film shows it by what it films."""
    if view.scene.video is None:
        before = view.flight.index(one.from_s or 0.0)
        change = np.nan if before is None else float(view.flight.enu_m[index, 2] - view.flight.enu_m[before, 2])
        one.reads("height", None, change)


def _from_begin_m(view: FlightExam, one: ExamCase, index: int) -> float:
    """Over ground, from where the drone was when the case's video begins; NaN where that is not known."""
    before = view.flight.index(one.from_s or 0.0)
    return np.nan if before is None else float(np.hypot(*(view.flight.enu_m[index] - view.flight.enu_m[before])[:2]))


def _as_stated(view: FlightExam, one: ExamCase, index: int) -> None:
    """That the log, where it states speeds, states that of its positions: else nobody knows which of them is right."""
    if view.flight.stated_mps is None:
        return
    stated, placed = float(view.flight.stated_mps[index]), float(view.speed_mps[index])
    one.fact("speed stated by the log", "drone", stated, "m/s")
    apart = abs(placed / stated - 1) if stated > 0 else np.nan
    one.require("speeds_disagree", apart, "<=", view.rules.speeds_apart_max, "share")
