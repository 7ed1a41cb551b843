"""Which options are right, worked out from the flight by other means than the tasks': no arrays, no rules, wide limits.

`right` takes a scene, a candidate and the text of an option, and reads the option's words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pipeline.core.schema import Landmark, Motion, Scene, Segment

Row = Mapping[str, Any]
_STEMS = {
    "ascend": "ascend", "descend": "descend", "hover": "hover", "camera up": "gimbal up", "camera down": "gimbal down",
}  # fmt: skip


def right(scene: Scene, row: Row, option: str) -> bool:
    return _ORACLES[row["task"]](scene, row, option)


def _motion(scene: Scene) -> Motion:
    assert scene.flight is not None
    assert scene.flight.motion is not None
    return scene.flight.motion


def _marks(scene: Scene) -> list[Landmark]:
    assert scene.flight is not None
    return list(scene.flight.landmarks)


def _called(scene: Scene, label: str) -> Landmark:
    (found,) = (m for m in _marks(scene) if m.label == label)
    return found


def _seconds(clock: str) -> int:
    minutes, seconds = clock.split(":")
    return 60 * int(minutes) + int(seconds)


def _moment(scene: Scene, clock: str) -> int:
    motion = _motion(scene)
    return min(range(len(motion.t_s)), key=lambda i: abs(motion.t_s[i] - _seconds(clock)))


def _apart(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return math.hypot(a[0] - b[0], a[1] - b[1])


def _actions(words: str) -> set[str]:
    """The actions of "Flies forward while descending", in any form of the verbs."""
    found = set()
    for part in re.split(r" while | and ", words.lower()):
        way = part.rsplit(" ", 1)[-1]
        if part.startswith("fl"):
            found.add(f"fly {way}")
        elif part.startswith("turn"):
            found.add(f"turn {way}")
        else:
            (stem,) = (action for stem, action in _STEMS.items() if stem in part)
            found.add(stem)
    return found


def _alike(a: set[str], b: set[str]) -> bool:
    return a <= b or b <= a


def _caption(scene: Scene, row: Row, option: str) -> bool:
    start, end = map(_seconds, row["operands"])
    flown = [s for s in _motion(scene).segments if s.start_s > start - 0.7 and s.end_s < end + 0.7]
    legs = option.removeprefix("It ").removesuffix(".").split(", then ")
    told = [_actions(leg.split(" towards ")[0]) for leg in legs]
    if len(told) != len(flown) or not all(_alike(a, set(s.actions)) for a, s in zip(told, flown, strict=True)):
        return False
    for leg, segment in zip(legs, flown, strict=True):
        if " towards " in leg:
            place, motion = _called(scene, leg.split(" towards ")[1]), _motion(scene)
            a, b = (motion.enu_m[round(t * motion.rate_hz)] for t in (segment.start_s, segment.end_s))
            if _apart(b, place.center) > 0.95 * _apart(a, place.center):
                return False
    return True


def _after(scene: Scene, segment: Segment) -> Segment:
    segments = _motion(scene).segments
    return segments[segments.index(segment) + 1]


def _sequence(scene: Scene, row: Row, option: str) -> bool:
    wanted = _actions(row["operands"][0])
    (before,) = (s for s in _motion(scene).segments if wanted <= set(s.actions))
    return _alike(_actions(option), set(_after(scene, before).actions))


def _action(scene: Scene, row: Row, option: str) -> bool:
    cut = _seconds(row["operands"][0])
    segments = _motion(scene).segments
    (after,) = (s for s in segments[1:] if abs(s.start_s - cut) <= 0.5)
    before = segments[segments.index(after) - 1]
    return any(_alike(_actions(option), set(s.actions)) for s in (before, after))


def _duration(scene: Scene, row: Row, option: str) -> bool:
    seconds = []
    for words in row["operands"]:
        (found,) = (s for s in _motion(scene).segments if _actions(words) <= set(s.actions))
        seconds.append(found.end_s - found.start_s)
    name, how = option.split(", ")
    this = 0 if _actions(name) == _actions(row["operands"][0]) else 1
    ratio = seconds[this] / seconds[1 - this]
    return ratio > 1.9 if how == "more than twice as long" else 1.1 < ratio < 2.1


def _proximity(scene: Scene, row: Row, option: str) -> bool:
    label, *ends = row["operands"]
    start, end = map(_seconds, ends)
    motion, place = _motion(scene), _called(scene, label)
    d = [_apart(p, place.center) for t, p in zip(motion.t_s, motion.enu_m, strict=True) if start <= t <= end]
    low, high = d.index(min(d)), d.index(max(d))
    return {
        "It comes closer throughout": d[-1] < 0.9 * d[0] and d[-1] < 1.1 * min(d) and max(d) < 1.1 * d[0],
        "It moves farther away throughout": d[-1] > d[0] / 0.9 and d[-1] > 0.9 * max(d) and d[0] < 1.1 * min(d),
        "It first comes closer, then moves farther away": d[low] < 0.9 * min(d[0], d[-1]),
        "It first moves farther away, then comes closer": d[high] > max(d[0], d[-1]) / 0.9,
        "The distance stays about the same": max(d) < 1.1 * min(d),
    }[option]


def _position(scene: Scene, row: Row, option: str) -> bool:
    place, i = _called(scene, row["operands"][0]), _moment(scene, row["operands"][1])
    x, y, z = _motion(scene).enu_m[i]
    nose = math.radians(_motion(scene).heading_deg[i] or 0.0)
    east, north = place.center[0] - x, place.center[1] - y
    ahead = east * math.sin(nose) + north * math.cos(nose)
    aside = east * math.cos(nose) - north * math.sin(nose)
    sector = {
        "Ahead of the drone": ahead > abs(aside),
        "Behind the drone": -ahead > abs(aside),
        "To the right of the drone": aside > abs(ahead),
        "To the left of the drone": -aside > abs(ahead),
    }[option.split(" and ", maxsplit=1)[0]]
    if option.endswith(" it"):
        assert place.top_m is not None
        return sector and (place.top_m < z) == option.endswith("below it")
    return sector


def _shown(scene: Scene, place: Landmark, clock: str) -> bool:
    index = _marks(scene).index(place)
    spans = [span for view in _motion(scene).views or () if view.landmark == index for span in view.intervals]
    return any(a <= _seconds(clock) <= b for a, b in spans)


def _detection(scene: Scene, row: Row, option: str) -> bool:
    place, clock = _called(scene, row["operands"][0]), row["operands"][1]
    if option == "No, it is not in view":
        return not _shown(scene, place, clock)
    i = _moment(scene, clock)
    motion = _motion(scene)
    x, y, z = motion.enu_m[i]
    nose, pitch = math.radians(motion.heading_deg[i] or 0.0), math.radians(motion.pitch_deg[i] or 0.0)
    to = (place.center[0] - x, place.center[1] - y, (place.top_m or 0.0) / 2 - z)
    axis = (math.sin(nose) * math.cos(pitch), math.cos(nose) * math.cos(pitch), math.sin(pitch))
    depth = sum(a * b for a, b in zip(to, axis, strict=True))
    aside = (to[0] * math.cos(nose) - to[1] * math.sin(nose)) / depth  # 1 at the edge of 90 degrees
    third = {"left": aside < -1 / 3, "middle": abs(aside) <= 1 / 3, "right": aside > 1 / 3}
    return _shown(scene, place, clock) and third[option.split()[3]] if option.split()[3] in third else False


def _association(scene: Scene, row: Row, option: str) -> bool:
    goal, clock = _called(scene, row["operands"][0]), row["operands"][1]
    shown = [m for m in _marks(scene) if m is not goal and _shown(scene, m, clock)]
    nearest = min(shown, key=lambda m: _apart(m.center, goal.center) - m.radius_m)
    if option == "Nothing in view is near the goal":
        return _apart(nearest.center, goal.center) > 150
    return option == nearest.label


def _beside(scene: Scene, row: Row, option: str) -> bool:
    place = _called(scene, row["operands"][0])
    others = [m for m in _marks(scene) if m is not place and _apart(m.center, place.center) > place.radius_m]
    return option == min(others, key=lambda m: _apart(m.center, place.center)).label


def _ends(scene: Scene, row: Row, option: str) -> bool:
    path = _motion(scene).enu_m
    nearest = [
        min(_marks(scene), key=lambda m, p=p: _apart(p, m.center) - m.radius_m).label for p in (path[0], path[-1])
    ]
    match = re.fullmatch(r"It starts near (.+) and ends near (.+)", option)
    named = list(match.groups()) if match else [option.removeprefix("It starts and ends near ")] * 2
    return named == nearest


def _map(scene: Scene, row: Row, option: str) -> bool:
    """Every sign within a cell of where it should be, about the middle of all that is drawn."""
    path = _motion(scene).enu_m
    extent = math.hypot(*(max(p[k] for p in path) - min(p[k] for p in path) for k in (0, 1)))
    first = next(p for p in path if _apart(p, path[0]) >= 0.1 * extent - 1e-6)
    up = math.atan2(first[0] - path[0][0], first[1] - path[0][1])

    def turned(p: tuple[float, ...]) -> tuple[float, float]:
        return p[0] * math.cos(up) - p[1] * math.sin(up), p[0] * math.sin(up) + p[1] * math.cos(up)

    places = {str(i): turned(_called(scene, label).center) for i, label in enumerate(row["operands"], start=1)}
    drawn = [*places.values(), *map(turned, path)]
    middle = [(max(p[k] for p in drawn) + min(p[k] for p in drawn)) / 2 for k in (0, 1)]
    side = max(max(p[k] for p in drawn) - min(p[k] for p in drawn) for k in (0, 1)) / 7
    lines = option.split(" / ")
    for sign, (x, y) in (places | {"S": turned(path[0]), "E": turned(path[-1])}).items():
        ((line, column),) = ((r, text.index(sign)) for r, text in enumerate(lines) if sign in text)
        if max(abs((x - middle[0]) / side - (column - 3)), abs((middle[1] - y) / side - (line - 3))) > 0.6:
            return False
    return True


def _progress(scene: Scene, row: Row, option: str) -> bool:
    clock, *route = row["operands"]
    flown = _motion(scene).segments  # the routes of random flights name every movement
    now = [i for i, s in enumerate(flown) if s.start_s <= _seconds(clock) <= s.end_s]
    return [route[i] for i in now] == [option]


def _planning(scene: Scene, row: Row, option: str) -> bool:
    goal, i = _called(scene, row["operands"][0]), _moment(scene, row["operands"][1])
    here = _motion(scene).enu_m[i]
    place, straight = _called(scene, option), _apart(here, goal.center)
    return _apart(here, place.center) + _apart(place.center, goal.center) < 1.1 * straight


_ORACLES: dict[str, Callable[[Scene, Row, str], bool]] = {
    "Trajectory Captioning": _caption,
    "Sequence Recall": _sequence,
    "Object Recall": _beside,
    "Start/End Position": _ends,
    "Proximity": _proximity,
    "Duration": _duration,
    "Landmark Position": _position,
    "Goal Detection": _detection,
    "Cognitive Map": _map,
    "Association": _association,
    "Progress Evaluation": _progress,
    "High-level Planning": _planning,
    "Action Generation": _action,
}
