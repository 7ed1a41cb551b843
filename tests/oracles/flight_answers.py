"""Which options are right about a flight, worked out from its planted truth and the question's words alone.

Nothing of the pipeline's observers, rules or tasks is used. An option that is not right, but that a careful
viewer might defend, is "arguable": a question that offers one has no single answer.
"""

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from pipeline.samples.flight.write import FlightTruth
from tests.oracles.sample_flights import (
    SEEN_PIXELS,
    OracleSegment,
    _wrapped,
    landmarks_named,
    oracle_bearing,
    oracle_covers,
    oracle_distance,
    oracle_intervals,
    oracle_next,
    oracle_pixel,
    oracle_pixels,
    oracle_pose,
    oracle_segments,
    oracle_side,
    oracle_step,
)

Verdict = Literal["right", "arguable", "wrong"]
# Of the question's wording; "from" and "until": the seconds at which it begins and ends, "" for the video's ends.
Fields = dict[str, str]

ROUNDED_S = 1.1  # boundaries are found within half a second, and asked about in whole seconds
_VERBS = {"ascend": "ascend", "descend": "descend", "hover": "hover", "in place": "stay in place",
          "camera up": "gimbal up", "camera down": "gimbal down"}  # fmt: skip


def judge(truth: FlightTruth, task: str, fields: Fields, options: Sequence[str]) -> list[Verdict]:
    """What each option is worth, for a question of these fields."""
    option_of = JUDGES[task](truth, fields)
    return [option_of(option) for option in options]


def until(truth: FlightTruth, fields: Fields) -> float:
    """Second at which a question ends."""
    return float(fields["until"]) if fields["until"] else truth.frames / truth.fps


def called(truth: FlightTruth, label: str) -> int:
    """The landmark that these words were planted for; in flights made by hand names are what is said."""
    (found,) = [i for i, mark in enumerate(truth.landmarks) if mark.said == label] or landmarks_named(truth, label)
    return found


def actions(words: str) -> frozenset[str]:
    """The actions of "Flies forward while descending", in any form of the verbs."""
    found = set()
    for part in re.split(r" while | and ", words.lower()):
        way = part.rsplit(" ", 1)[-1]
        if part.startswith("fl"):
            found.add(f"fly {way}")
        elif part.startswith("turn"):
            found.add(f"turn {way}")
        else:
            (action,) = (action for words, action in _VERBS.items() if words in part)
            found.add(action)
    return frozenset(found)


def filmed(truth: FlightTruth) -> list[OracleSegment]:
    """The planted movements as far as the video shows them."""
    length = min(truth.frames / truth.fps, truth.poses.t_s[-1] - truth.video_offset_s)
    moves = (m._replace(start_s=max(0.0, m.start_s), end_s=min(length, m.end_s)) for m in oracle_segments(truth))
    return [m for m in moves if m.end_s - m.start_s > 1.0 and not _stands(truth, m)]


def _stands(truth: FlightTruth, move: OracleSegment) -> bool:
    """Whether the drone stands on the ground, which is level: nothing is asked about that."""
    ground_m = min(thing.solid.base_m for thing in truth.landmarks)
    up_m = oracle_pose(truth, (move.start_s + move.end_s) / 2).up_m - ground_m
    return {"hover", "stay in place"} & set(move.actions) != set() and up_m < 0.5


def _verdict(right: bool, arguable: bool = False) -> Verdict:
    return "right" if right else "arguable" if arguable else "wrong"


# Movements


def _caption(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    flown = _moves_of(truth, fields)

    def option_of(option: str) -> Verdict:
        legs = [leg.split(" towards ") for leg in option.removeprefix("It ").removesuffix(".").split(", then ")]
        told = [actions(leg[0]) for leg in legs]
        same = len(told) == len(flown) and all(a == set(m.actions) for a, m in zip(told, flown, strict=True))
        part = len(told) == len(flown) and all(a <= set(m.actions) for a, m in zip(told, flown, strict=True))
        if not same:
            return _verdict(False, part)
        leads = all(_leads_to(truth, m, leg[1]) for leg, m in zip(legs, flown, strict=True) if len(leg) > 1)
        return _verdict(leads, True)

    return option_of


def _moves_of(truth: FlightTruth, fields: Fields) -> list[OracleSegment]:
    """The movements of "over the flight so far" or "during the latest four movements"; the last one is shown whole."""
    end = until(truth, fields)
    shown = [m for m in filmed(truth) if min(m.end_s, end) - m.start_s >= min(ROUNDED_S, (m.end_s - m.start_s) / 2)]
    if fields["when"] == "over the flight so far":
        return shown
    assert abs(shown[-1].end_s - end) <= ROUNDED_S + 0.5
    told = re.fullmatch(r"during the latest (?:(\w+) movements|movement)", fields["when"])
    return shown[-("two", "three", "four", "five", "six").index(told[1]) - 2 :] if told[1] else shown[-1:]


def _leads_to(truth: FlightTruth, move: OracleSegment, label: str) -> bool:
    """Whether a movement goes to a landmark: it lies ahead, becomes nearer by a sixth, and is seen by then."""
    place = called(truth, label)
    a, b = oracle_pose(truth, move.start_s), oracle_pose(truth, move.end_s - 0.05)
    off = _wrapped(_compass(a[:2], b[:2]) - _compass(a[:2], _middle(truth, place)))
    nearer = oracle_distance(truth, move.end_s - 0.05, place) < oracle_distance(truth, move.start_s, place) * 5 / 6
    seen = oracle_intervals(truth, place)
    return abs(off) < 20.0 and nearer and bool(seen) and seen[0][0] <= move.end_s


def named_move(truth: FlightTruth, words: str) -> OracleSegment:
    """The one movement that "turning left", "… for the second time", "… towards" or "… beside the tower" may mean."""
    flown = filmed(truth)
    told = re.fullmatch(r"(.+?)(?: for the (first|second|third) time|( towards | beside )(.+))?", words)
    step = actions(told[1])
    same = [m for m in flown if step <= set(m.actions)]
    if told[3] == " towards ":
        same = [m for m in same if _leads_to(truth, m, told[4])]
    elif told[3]:
        place = called(truth, told[4])
        same = [m for m in same if min(oracle_distance(truth, t, place) for t in _moments(m)) < 40.0]
    place = ("first", "second", "third").index(told[2]) if told[2] else 0
    alike = same[: place + 1]
    assert told[2] or len(same) == 1, (words, same)
    assert all(set(m.actions) == step for m in alike)
    assert all(a.end_s < b.start_s - 1.0 for a, b in pairwise(alike))
    return same[place]


def _moments(move: OracleSegment) -> list[float]:
    return [move.start_s + k * (move.end_s - move.start_s) / 8 for k in range(9)]


def _sequence(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    flown = filmed(truth)
    before = flown.index(named_move(truth, fields["step"]))
    after = set(flown[before + 1].actions)
    return lambda option: _verdict(actions(option) == after, actions(option) < after)


def _action(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    _check_task(truth, fields)
    cut = until(truth, fields)
    (before,) = (m for m in filmed(truth) if m.start_s < cut < m.end_s)
    after = oracle_next(truth, before.end_s - 0.1)
    assert after is not None

    def option_of(option: str) -> Verdict:
        told = actions(option)
        if fields["kind"] == "Navigation goal":
            nearer = _brings_nearer(truth, told, after)
            return _verdict(told == set(after.actions) and nearer, nearer)
        return _verdict(told == set(after.actions), told < set(after.actions))

    return option_of


def _brings_nearer(truth: FlightTruth, told: frozenset[str], made: OracleSegment) -> bool:
    """Whether a movement, begun where another one was, leads to the goal or turns the nose to it."""
    goal, start, end = called(truth, truth.goal), made.start_s + 0.05, made.end_s - 0.05
    here, off = oracle_pose(truth, start), oracle_bearing(truth, start, goal)
    ways = {"fly forward": 0.0, "fly right": 90.0, "fly backward": 180.0, "fly left": -90.0}
    if told == set(made.actions) and {*ways, "fly horizontally"} & told:
        there = oracle_pose(truth, end)
        return math.dist(there[:2], _middle(truth, goal)) < 0.85 * math.dist(here[:2], _middle(truth, goal))
    if told == set(made.actions):
        return abs(oracle_bearing(truth, end, goal)) < abs(off) - 20.0
    turned = {"turn right": off > 10.0, "turn left": off < -10.0}
    return any(abs(_wrapped(off - ways[a])) < 90.0 for a in told if a in ways) or any(
        turned.get(a, False) for a in told
    )


def _check_task(truth: FlightTruth, fields: Fields) -> None:
    """The goal or route of a question is the pilot's."""
    expected = {
        "Navigation goal": truth.goal,
        "Navigation route": "; ".join(step.text for step in truth.route),
    }
    assert fields["task"] == expected[fields["kind"]]


def _duration(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    lasted: dict[str, float] = {}
    for words in (fields["first"], fields["second"]):
        move = named_move(truth, words)
        lasted[words] = move.end_s - move.start_s
    ratio = max(lasted.values()) / min(lasted.values())

    def option_of(option: str) -> Verdict:
        words, how = option.split(", ")
        words = words[0].lower() + words[1:]
        if lasted[words] < max(lasted.values()):
            return _verdict(False, ratio < 1.1)
        twice = {"more than twice as long": ratio > 2, "but less than twice as long": ratio < 2}[how]
        return _verdict(twice, 1.9 < ratio < 2.1)

    return option_of


def _progress(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    steps, t = [step.text for step in truth.route], until(truth, fields)
    assert fields["route"] == "; ".join(steps)
    now, near = oracle_step(truth, t), {oracle_step(truth, t - 0.5), oracle_step(truth, t + 0.5)}
    return lambda option: _verdict(
        now is not None and option == steps[now], option in {steps[i] for i in near if i is not None}
    )


# Places


def _proximity(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    """Right by every way to measure the distance; arguable by any of them, with half of the margin."""
    place, end = called(truth, fields["landmark"]), until(truth, fields)
    whole = fields["when"] == "over the whole video"
    start = float(fields["from"]) if whole else max(0.0, _moves_of(truth, fields)[0].start_s)
    end = min(end, truth.poses.t_s[-1] - truth.video_offset_s)
    n = max(2, round(2 * (end - start)))
    times = [start + (end - start) * k / n for k in range(n + 1)]
    center = [oracle_distance(truth, t, place, "center") for t in times]
    height = [oracle_pose(truth, t).up_m - truth.landmarks[place].solid.base_m for t in times]
    ways = (
        [max(1.0, oracle_distance(truth, t, place)) for t in times],
        [max(1.0, d) for d in center],
        [max(1.0, math.hypot(d, z)) for d, z in zip(center, height, strict=True)],
    )
    return lambda option: _verdict(
        all(_course_holds(option, way, 0.18, 0.07) for way in ways),
        any(_course_holds(option, way, 0.1, 0.1) for way in ways),
    )


def _course_holds(option: str, far: list[float], change: float, still: float) -> bool:
    """Whether distances follow a course: by a share ``change`` at least, against it by ``still`` at most."""
    first, last, low, high = far[0], far[-1], far.index(min(far)), far.index(max(far))

    def falls(part: list[float]) -> bool:
        return all(later <= min(part[: i + 1]) / (1 - still) for i, later in enumerate(part))

    def drops(a: float, b: float) -> bool:
        return b <= a * (1 - change)

    courses = {
        "It comes closer throughout": drops(first, last) and falls(far),
        "It moves farther away throughout": drops(last, first) and falls(far[::-1]),
        "It first comes closer, then moves farther away": drops(first, far[low])
        and drops(last, far[low])
        and falls(far[: low + 1])
        and falls(far[low:][::-1]),
        "It first moves farther away, then comes closer": drops(far[high], first)
        and drops(far[high], last)
        and falls(far[: high + 1][::-1])
        and falls(far[high:]),
        "The distance stays about the same": min(far) >= max(far) * (1 - still),
    }
    return courses[option]


def _beside(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    place = called(truth, fields["landmark"])
    others = [i for i in range(len(truth.landmarks)) if i != place]
    within = {i for i in others if _inside(_middle(truth, i), truth, place)}
    assert not any(_inside(_middle(truth, place), truth, i) for i in others if i not in within)
    return _nearest_of(truth, place, [i for i in others if i not in within])


def _nearest_of(truth: FlightTruth, place: int, others: Sequence[int]) -> Callable[[str], Verdict]:
    """The one of some landmarks that is nearest to a place; arguable those not a third farther, or whose middle is."""
    gap = {i: max(1.0, _gap(truth, place, i)) for i in others if i != place}
    middle = {i: math.dist(_middle(truth, place), _middle(truth, i)) for i in gap}
    nearest = min(gap, key=lambda i: gap[i])

    def option_of(option: str) -> Verdict:
        i = called(truth, option)
        if i not in gap:
            return "wrong"
        return _verdict(i == nearest, gap[i] < 4 / 3 * gap[nearest] or middle[i] == min(middle.values()))

    return option_of


def _ends(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    end = min(until(truth, fields), truth.frames / truth.fps - 0.2)
    far = [[max(1.0, oracle_distance(truth, t, i)) for i in range(len(truth.landmarks))] for t in (0.0, end)]

    def option_of(option: str) -> Verdict:
        both = re.fullmatch(r"It starts near (.+) and ends near (.+)", option)
        chosen = [distance[called(truth, label)] for distance, label in zip(far, both.groups(), strict=True)]
        return _verdict(
            all(d == min(distance) for d, distance in zip(chosen, far, strict=True)),
            all(d < 4 / 3 * min(distance) for d, distance in zip(chosen, far, strict=True)),
        )

    return option_of


def _position(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    place, t = called(truth, fields["landmark"]), until(truth, fields)
    side, margin = oracle_side(truth, t, place)
    solid, up = truth.landmarks[place].solid, oracle_pose(truth, t).up_m
    words = {"ahead": "Ahead of", "right": "To the right of", "behind": "Behind", "left": "To the left of"}

    def option_of(option: str) -> Verdict:
        sector, _, vertical = option.partition(" and ")
        holds = {"": True, "below it": solid.top_m < up, "reaching higher than it": solid.top_m > up}[vertical]
        same = sector == f"{words[side]} the drone"
        return _verdict(same and holds and margin > 10.0, holds and margin < 10.0)

    return option_of


def _planning(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    """On the straight way, which it makes hardly longer, and none is before it that hardly makes it longer at all."""
    t, goal = until(truth, fields), called(truth, fields["goal"])
    here, there = oracle_pose(truth, t)[:2], _middle(truth, goal)
    straight = math.dist(here, there)
    middles = {i: _middle(truth, i) for i in range(len(truth.landmarks)) if i != goal}
    legs = {i: math.dist(here, middle) for i, middle in middles.items()}
    longer = {i: (legs[i] + math.dist(middle, there)) / straight for i, middle in middles.items()}
    seen = [i for i in middles if any(start <= t for start, _ in oracle_intervals(truth, i))]
    off = {
        i: min(_between_deg(here, point, there) for point in (middle, *truth.landmarks[i].solid.corners))
        for i, middle in middles.items()
    }
    on_way = [legs[i] for i in seen if longer[i] <= 1.03 and off[i] <= 10]

    def option_of(option: str) -> Verdict:
        i = called(truth, option)
        right = i in seen and longer[i] <= 1.12 and off[i] <= 17 and all(away >= legs[i] for away in on_way)
        return _verdict(right, longer[i] < 1.25)

    return option_of


def _between_deg(here: Sequence[float], one: Sequence[float], other: Sequence[float]) -> float:
    """Angle at which two points are seen from one another."""
    ways = [math.atan2(point[1] - here[1], point[0] - here[0]) for point in (one, other)]
    return abs((math.degrees(ways[0] - ways[1]) + 180) % 360 - 180)


# Views


def _detection(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    t, goal = until(truth, fields), called(truth, fields["goal"])
    pixels, solid = oracle_pixels(truth, t, goal), truth.landmarks[goal].solid
    pixel = oracle_pixel(truth, t, (*solid.center, (solid.base_m + solid.top_m) / 2))

    def option_of(option: str) -> Verdict:
        if option == "No, it is not in view":
            return _verdict(pixels < SEEN_PIXELS, pixels < 3 * SEEN_PIXELS)
        if pixel is None:
            return _verdict(False, False)
        across, down = (
            next((i for i, word in enumerate(words) if word in option), 1)
            for words in (("left", "...", "right"), ("top", "...", "bottom"))
        )
        off = [(pixel.x / truth.camera.width, across), (pixel.y / truth.camera.height, down)]
        if "third" in option or "middle" in option:  # says nothing of how high
            off = off[:1]
        beyond = max(max(third / 3 - share, share - (third + 1) / 3) for share, third in off)
        return _verdict(pixels >= SEEN_PIXELS and beyond <= 0, pixels > 0 and beyond < 0.03)

    return option_of


def _association(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    t, goal = until(truth, fields), called(truth, fields["goal"])
    assert oracle_pixels(truth, t, goal) < SEEN_PIXELS
    seen = [i for i in range(len(truth.landmarks)) if i != goal and oracle_pixels(truth, t, i) >= SEEN_PIXELS]
    nearest_of = _nearest_of(truth, goal, seen)
    near = min((_gap(truth, goal, i) for i in seen), default=math.inf)

    def option_of(option: str) -> Verdict:
        if option.startswith("No related element"):
            return _verdict(near > 60.0, near > 50.0)
        element, _, part = option.partition(", ")
        found = nearest_of(element)
        return found if not part or found == "wrong" else _detection(truth, fields | {"goal": element})(part)

    return option_of


# Maps


def _map(truth: FlightTruth, fields: Fields) -> Callable[[str], Verdict]:
    """A map is right where some scale and shift bring all of its signs and its path within a cell of the truth."""
    legend = dict(entry.split(" = ") for entry in fields["legend"].split("; "))
    length = min(until(truth, fields), truth.frames / truth.fps - 0.2)
    flown = [oracle_pose(truth, t / 5)[:2] for t in range(int(length * 5) + 1)]
    extent = math.dist(*([pick(p[k] for p in flown) for k in (0, 1)] for pick in (min, max)))
    up = _compass(flown[0], next(p for p in flown if math.dist(flown[0], p) >= 0.1 * extent))

    def drawn(point: tuple[float, float]) -> tuple[float, float]:
        """To the right and up on the map, metres."""
        turn, (x, y) = math.radians(up), point
        return x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)

    path = [drawn(p) for p in flown]
    spots = {sign: drawn(_middle(truth, called(truth, label))) for sign, label in legend.items()}
    spots |= {"S": path[0], "E": path[-1]}

    def option_of(option: str) -> Verdict:
        rows = option.split(" / ")
        cells = {s: (float(x), -float(y)) for y, row in enumerate(rows) for x, s in enumerate(row) if s not in ".*"}
        track = [(float(x), -float(y)) for y, row in enumerate(rows) for x, s in enumerate(row) if s in "*SE"]
        assert set(cells) == set(spots)
        scale, shift = _fitted([spots[s] for s in cells], [cells[s] for s in cells])

        def placed(point: tuple[float, float]) -> tuple[float, float]:
            return scale * point[0] + shift[0], scale * point[1] + shift[1]

        off = max(_steps(placed(spots[s]), cells[s]) for s in cells)
        way = [placed(p) for p in path]
        drawn_over = [*track, *cells.values()]  # a landmark's sign hides the path below it
        off_path = max(min(_steps(p, c) for c in drawn_over) for p in way)
        off_path = max(off_path, *(min(_steps(p, c) for p in way) for c in track))
        return _verdict(scale > 0 and off <= 0.85 and off_path <= 1.0, scale > 0 and off <= 1.0 and off_path <= 1.5)

    return option_of


def _fitted(points: list[tuple[float, float]], cells: list[tuple[float, float]]) -> tuple[float, tuple[float, float]]:
    """Scale and shift that bring points nearest to cells, in the sense of least squares."""
    n = len(points)
    a, b = ([sum(p[k] for p in some) / n for k in (0, 1)] for some in (points, cells))
    both = sum((p[k] - a[k]) * (c[k] - b[k]) for p, c in zip(points, cells, strict=True) for k in (0, 1))
    scale = both / sum((p[k] - a[k]) ** 2 for p in points for k in (0, 1))
    return scale, (b[0] - scale * a[0], b[1] - scale * a[1])


def _steps(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Cells between two points, along the axis on which they are farther apart."""
    return max(abs(a[0] - b[0]), abs(a[1] - b[1]))


def _middle(truth: FlightTruth, landmark: int) -> tuple[float, float]:
    return truth.landmarks[landmark].solid.center


def _gap(truth: FlightTruth, a: int, b: int) -> float:
    """Distance between two footprints, from points along their sides; 0 where one lies on the other."""
    rims = [_rim(truth, i) for i in (a, b)]
    if any(_inside(rims[i][0], truth, other) for i, other in ((0, b), (1, a))):
        return 0.0
    return min(math.dist(p, q) for p in rims[0] for q in rims[1])


def _rim(truth: FlightTruth, landmark: int) -> list[tuple[float, float]]:
    """Points along a footprint's sides, 96 at most; the middle of what is listed as a point."""
    thing = truth.landmarks[landmark]
    if thing.is_point:
        return [thing.solid.center]
    corners = thing.solid.corners
    n = 96 // len(corners)
    return [
        (ax + (bx - ax) * k / n, ay + (by - ay) * k / n)
        for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True)
        for k in range(n)
    ]


def _inside(point: tuple[float, float], truth: FlightTruth, landmark: int) -> bool:
    """Whether a point lies in a footprint."""
    thing = truth.landmarks[landmark]
    return not thing.is_point and oracle_covers(thing.solid, point)


def _compass(a: Sequence[float], b: Sequence[float]) -> float:
    """Direction from a to b, clockwise from north."""
    return math.degrees(math.atan2(b[0] - a[0], b[1] - a[1])) % 360.0


JUDGES: dict[str, Callable[[FlightTruth, Fields], Callable[[str], Verdict]]] = {
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
