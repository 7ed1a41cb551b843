"""The plan of a sample episode: things on a table, and a gripper that reaches, pushes or opens and shuts a drawer.

What is there, of which kind, size and colour, how many things and how fast the arm is differ from episode to episode,
so that nothing of one is known from others. Nor does its length or time tell how fast it is: before and after what it
was told to do it goes here and there for a time that is drawn, each movement at a pace of its own, and hesitates; it
slips off, and tries again. A recording ends in the midst of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for

UPPER_M: Final = 0.36
FORE_M: Final = 0.32
REACH_M: Final = UPPER_M + FORE_M
LOW: Final = (-2.8, -0.1, 0.0)  # shoulder and elbow in radians, lift in metres
HIGH: Final = (2.8, 2.9, 0.45)
RATE_MAX: Final = (2.0, 2.5, 0.5)


def tip_m(joints: FloatArray) -> FloatArray:
    """The gripper's point (N, 3) of shoulder, elbow and lift (N, 3); the foot of the arm is at (0, 0, 0)."""
    shoulder, both = joints[:, 0], joints[:, 0] + joints[:, 1]
    x = UPPER_M * np.cos(shoulder) + FORE_M * np.cos(both)
    y = UPPER_M * np.sin(shoulder) + FORE_M * np.sin(both)
    return np.stack([x, y, joints[:, 2]], axis=-1)


def joints_at(point_m: FloatArray) -> FloatArray:
    """Shoulder, elbow and lift (N, 3) for points (N, 3), the elbow bent to the left. NaN out of reach."""
    x, y, z = point_m.T
    with np.errstate(invalid="ignore"):
        elbow = np.arccos((x * x + y * y - UPPER_M**2 - FORE_M**2) / (2 * UPPER_M * FORE_M))
    shoulder = np.arctan2(y, x) - np.arctan2(FORE_M * np.sin(elbow), UPPER_M + FORE_M * np.cos(elbow))
    return np.stack([shoulder, elbow, z], axis=-1)


def turn_xyzw(joints: FloatArray) -> FloatArray:
    """How the gripper is turned (N, 4): it points down, its first axis along the second link."""
    half = (joints[:, 0] + joints[:, 1]) / 2
    zero = np.zeros(len(joints))
    return np.stack([np.cos(half), np.sin(half), zero, zero], axis=-1)


Kind = Literal["reach", "push", "open"]
FPS: Final = 20
KINDS: Final[tuple[Kind, ...]] = ("reach", "push", "open")
COLOURS: Final = ("red", "green", "blue", "yellow", "purple", "orange", "white", "black")
SHAPES: Final = {
    "cube": (0.05, 0.05, 0.05),
    "can": (0.06, 0.06, 0.11),
    "book": (0.13, 0.18, 0.03),
    "box": (0.1, 0.07, 0.08),
}
STRETCH: Final = (0.7, 1.5)  # of what is usual, along each axis
BELOW: Final = ("book", "box", "book")  # what something lies on
DRAWER: Final = (0.16, 0.24, 0.12)
TRAVEL_M: Final = 0.16  # of a drawer
REST: Final = ((0.26, 0.36), (-0.24, 0.1), (0.27, 0.36))  # where the gripper is at first: from and to along each axis
OVER_M: Final = 0.26  # height over the target, to which it goes first
HOVER_M: Final = (0.3, 0.4)  # heights at which nothing is in the way
SPEED_MPS: Final = (0.14, 0.32)  # usual in an episode
VARIES: Final = (0.55, 1.3)  # share of it, from movement to movement
CAREFUL: Final = 0.7  # share of it, near things
RATE_SHARE: Final = 0.9  # of what a joint can do, at most
LASTS_S: Final = (14.0, 26.0)  # an episode, unless it takes longer to do what it was told
AGAIN: Final = 0.5  # share of that, after which it tries nothing again
BEGINS: Final = (0.0, 0.3)  # share of that, before it begins to
WAITS_S: Final = (0.1, 1.2)
AWAY_RAD: Final = 0.9  # to either side of straight ahead, between other things
AWAY_M: Final = (0.3, 0.58)
TRIES: Final = 2000
CLEAR_M: Final = 0.14  # between the middles of two things
GAP_M: Final = 0.02  # between any two
GRASP_ROWS: Final = (6, 16)
THINGS: Final = (3, 6)  # beside the target and what lies on another


@dataclass
class PlannedThing:
    """Something on the table, with its places over time."""

    id: str
    category: str
    colour: str
    size_m: tuple[float, float, float]
    place_m: FloatArray  # (3,) at first, (N, 3) in the end
    role: str | None = None
    slide_m: FloatArray | None = None  # (N,)


@dataclass
class EpisodePlan:
    """An episode with its truth.

    Attributes:
        joints: (N, 3) shoulder, elbow, lift.
        tip_m: (N, 3).
        opening: (N,) share.
    """

    number: int
    kind: Kind
    instruction: str
    success: bool
    things: list[PlannedThing] = field(default_factory=list)
    tip_m: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    opening: FloatArray = field(default_factory=lambda: np.zeros(0))
    joints: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))


class _Pen:
    """Writes the gripper's way, row by row, of which there are to be ``lasts``."""

    lasts = 0

    def __init__(self, rng: np.random.Generator) -> None:
        self.tip: list[FloatArray] = [np.array([[float(rng.uniform(*span)) for span in REST]])]
        self.rng, self._speed = rng, _log_uniform(rng, SPEED_MPS)
        self.opening: list[FloatArray] = [np.ones(1)]

    @property
    def rows(self) -> int:
        return sum(map(len, self.tip))

    @property
    def is_late(self) -> bool:
        """Whether nothing is tried again: else one could tell by an episode's length how slow the arm is."""
        return self.rows > AGAIN * self.lasts

    def to(self, *point: float, share: float = 1.0) -> slice:
        """A straight way at a share of about the usual speed, slow at both ends (minimum jerk); the rows that it took.

        It takes longer where a joint could not follow.
        """
        start, end, before = self.tip[-1][-1], np.array(point), self.rows
        speed = share * self._speed * _log_uniform(self.rng, VARIES)
        count = max(4, round(float(np.sqrt(((end - start) ** 2).sum())) / speed * FPS * 1.5))
        way = _straight(start, end, count)
        rates = np.abs(np.diff(joints_at(np.vstack([start, way])), axis=0)) * FPS / RATE_MAX
        if (most := float(rates.max())) > RATE_SHARE:
            way = _straight(start, end, count := int(np.ceil(count * most / RATE_SHARE)))
        self.tip.append(way)
        self.opening.append(np.full(count, self.opening[-1][-1]))
        return slice(before, before + count)

    def grip(self, opening: float) -> None:
        """Opens or closes in place."""
        rows = int(self.rng.integers(*GRASP_ROWS))
        self.tip.append(np.repeat(self.tip[-1][-1:], rows, axis=0))
        self.opening.append(np.linspace(self.opening[-1][-1], opening, rows))

    def wait(self) -> None:
        """Stands still for a while."""
        rows = round(_log_uniform(self.rng, WAITS_S) * FPS)
        self.tip.append(np.repeat(self.tip[-1][-1:], rows, axis=0))
        self.opening.append(np.full(rows, self.opening[-1][-1]))

    def wander(self, until: int, things: Sequence[PlannedThing]) -> None:
        """Goes here and there until so many rows are written: over the table, and down to some things and up again."""
        while self.rows < until:
            height = float(self.rng.uniform(*HOVER_M))
            angle, radius = self.rng.uniform(-AWAY_RAD, AWAY_RAD), self.rng.uniform(*AWAY_M)
            x, y = float(radius * np.cos(angle)), float(radius * np.sin(angle))
            thing = things[int(self.rng.integers(len(things)))]
            goes_down = self.rng.random() < 0.4 and abs(np.arctan2(*thing.place_m[1::-1])) < AWAY_RAD
            if goes_down:
                x, y = thing.place_m[:2].tolist()
            self.to(x, y, height)
            if goes_down:
                self.to(x, y, float(thing.place_m[2] + thing.size_m[2] / 2 + self.rng.uniform(0.02, 0.08)))
                self.wait()
                self.to(x, y, height)
            elif self.rng.random() < 0.4:
                self.wait()


def _straight(start: FloatArray, end: FloatArray, count: int) -> FloatArray:
    t = np.arange(1, count + 1) / count
    done = t**3 * (10 - 15 * t + 6 * t * t)
    return np.asarray(start + done[:, None] * (end - start))


def _log_uniform(rng: np.random.Generator, span: tuple[float, float]) -> float:
    return float(np.exp(rng.uniform(*np.log(span))))


def plan(number: int) -> EpisodePlan:
    """The episode of a number: each kind in turn; every seventh stops short of what it was told to do."""
    kind, rng = KINDS[number % len(KINDS)], rng_for("sample arm", number)
    things = _laid(kind, rng)
    target = things[0]
    target.role = "target"
    short = number % 7 == 6
    shuts = kind == "open" and number // len(KINDS) % 3 == 2
    done = EpisodePlan(number, kind, _instructions_for("shut" if shuts else kind, target, number), not short, things)
    pen = _Pen(rng)
    pen.wait()
    pen.lasts = round(float(rng.uniform(*LASTS_S)) * FPS)
    pen.wander(round(float(rng.uniform(*BEGINS)) * pen.lasts), things[2:])
    moved: list[slice] = []
    times = int(rng.integers(1, 4))
    if kind == "reach":
        _reach(pen, target, times, short)
    elif kind == "push":
        moved = _push(pen, target, times, short)
    else:
        moved = _open(pen, target, times, short, shuts)
    at = pen.tip[-1][-1]
    pen.to(float(at[0]) - 0.02, float(at[1]), OVER_M)
    rows = max(pen.lasts, pen.rows)
    pen.wander(rows, things[2:])
    done.tip_m, done.opening = np.concatenate(pen.tip)[:rows], np.concatenate(pen.opening)[:rows]
    done.joints = joints_at(done.tip_m)
    _move(done, moved)
    return done


def _reach(pen: _Pen, target: PlannedThing, times: int, short: bool) -> None:
    """Reaches the top of the target once, and again if it is not late; or stops above it."""
    x, y, z = target.place_m.tolist()
    for n in range(times):
        if n and pen.is_late:
            break
        pen.to(x, y, OVER_M)
        pen.to(x, y, z + target.size_m[2] / 2 + (0.1 if short else 0.004), share=CAREFUL)
        pen.wait()


def _push(pen: _Pen, target: PlannedThing, times: int, short: bool) -> list[slice]:
    """Pushes the target away in some strokes, or in one if it is late; or stops before it. When the target moves."""
    x, y, z = target.place_m.tolist()
    front, moved = x - target.size_m[0] / 2, []
    pen.grip(0.0)
    pen.to(front - 0.06, y, OVER_M)
    pen.to(front - 0.06, y, z)
    times = 0 if short else 1 if pen.is_late else times
    for part in [float(pen.rng.uniform(0.06, 0.12)) / max(times, 1)] * times:
        pen.to(front, y, z, share=CAREFUL)
        moved.append(pen.to(front + part, y, z, share=CAREFUL))
        front += part
        pen.to(front - 0.05, y, z)
        pen.wait()
    return moved


def _open(pen: _Pen, target: PlannedThing, times: int, short: bool, shuts: bool) -> list[slice]:
    """Pulls the drawer open, or a little, in some pulls or in one, after it slipped off; may shut it. When it moves."""
    x, y, z = target.place_m.tolist()
    front, moved = x - target.size_m[0] / 2, []
    pen.to(front - 0.05, y, OVER_M)
    pen.to(front - 0.05, y, z)
    for _ in range(int(pen.rng.integers(3))):
        if pen.is_late:
            break
        pen.to(front - 0.02, y, z, share=CAREFUL)
        pen.grip(0.1)
        pen.to(front - 0.035, y, z, share=CAREFUL)
        pen.grip(1.0)
        pen.wait()
    pen.to(front - 0.02, y, z, share=CAREFUL)
    times = 1 if pen.is_late else times
    for part in [(0.03 if short else float(pen.rng.uniform(0.13, 0.158))) / times] * times:
        pen.grip(0.1)
        front -= part
        moved.append(pen.to(front - 0.02, y, z, share=CAREFUL))
        pen.wait()
        if not shuts:
            pen.grip(1.0)
    if shuts:
        moved.append(pen.to(x - target.size_m[0] / 2 - 0.02, y, z, share=CAREFUL))
        pen.grip(1.0)
    return moved


def _move(done: EpisodePlan, moved: Sequence[slice]) -> None:
    """Lays the things' places out over all rows; the target goes with the gripper in some of them."""
    count = len(done.tip_m)
    for thing in done.things:
        thing.place_m = np.repeat(thing.place_m[None], count, axis=0)
    way = np.zeros(count)
    x = done.tip_m[:, 0]
    for part in moved:
        way[part.start :] += x[part.stop - 1] - x[part.start - 1]
        way[part] += x[part] - x[part.stop - 1]
    target = done.things[0]
    if done.kind == "open":
        target.slide_m = -way
    else:
        target.place_m[:, 0] += way


def _laid(kind: Kind, rng: np.random.Generator) -> list[PlannedThing]:
    """Things that touch nothing, the first to be acted on; on the second, and on nothing else, lies something."""
    first = "drawer" if kind == "open" else str(rng.choice(sorted(SHAPES)))
    more = rng.choice([*SHAPES, "cube"], int(rng.integers(*THINGS)))
    names = [first, str(rng.choice(BELOW)), *map(str, more)]
    sizes = [_size(name, rng) for name in names]
    places = [np.array([0.5 if kind == "open" else rng.uniform(0.36, 0.44), rng.uniform(-0.12, 0.2)])]
    tries = 0
    while len(places) < len(names):
        angle, radius = rng.uniform(-1.2, 1.2), rng.uniform(0.26, 0.6)
        spot = radius * np.array([np.cos(angle), np.sin(angle)])
        ahead = (places[0] + [0.08 if kind == "push" else -0.12 if kind == "open" else 0.0, 0.0], places[0])
        side = np.array(sizes[len(places)][:2])
        apart = [np.abs(spot - other) - (side + own[:2]) / 2 for other, own in zip(places, sizes, strict=False)]
        free = all(float(np.hypot(*(spot - other))) > CLEAR_M + 0.06 for other in (*ahead, places[-1]))
        if free and min(float(gap.max()) for gap in apart) > GAP_M:
            places.append(spot)
        elif (tries := tries + 1) > TRIES:
            names, sizes = names[: len(places)], sizes[: len(places)]  # no room is left
    own, *rest = rng.permutation(COLOURS).tolist()
    colours = [own, *map(str, rng.choice(rest, len(names)))]  # nothing else has the target's
    things = []
    for number, (category, size, spot) in enumerate(zip(names, sizes, places, strict=True)):
        place = np.array([*spot, size[2] / 2])
        things.append(PlannedThing(f"{category} {number + 1}", category, colours[number], size, place))
    below, category = things[1], str(rng.choice(sorted(SHAPES)))
    size = _size(category, rng)
    on = np.array([below.place_m[0], below.place_m[1], below.size_m[2] + size[2] / 2])
    return [*things, PlannedThing(f"{category} {len(names) + 1}", category, colours[-1], size, on)]


def _size(category: str, rng: np.random.Generator) -> tuple[float, float, float]:
    """As usual for a drawer; of other things longer or shorter, to the millimetre."""
    if category == "drawer":
        return DRAWER
    x, y, z = (round(float(side * rng.uniform(*STRETCH)), 3) for side in SHAPES[category])
    return x, y, z


def _instructions_for(kind: str, target: PlannedThing, number: int) -> str:
    name = f"the {target.colour} {target.category}"
    words = {
        "reach": (f"Reach {name}.", f"Move the gripper to {name}."),
        "push": (f"Push {name} away from the robot.", f"Shove {name} forward with the closed gripper."),
        "shut": (f"Open {name} and shut it again.", f"Pull {name} open, then push it shut."),
        "open": (f"Open {name}.", f"Pull {name} open by its handle."),
    }
    return words[kind][number % 2]
