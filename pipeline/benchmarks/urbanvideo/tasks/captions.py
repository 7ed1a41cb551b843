"""Trajectory Captioning: the movements of a stretch, in order and by landmarks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, product
from typing import Final, Generic, NamedTuple, TypeVar

from pipeline.benchmarks.urbanvideo.cases import (
    SO_FAR,
    TIME,
    FlightCase,
    UrbanTask,
    clock,
    last_second,
    latest,
    led_to,
    orders,
)
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.sequence import ask_of_order, revealed_by_route
from pipeline.core.schema import Rejection
from pipeline.worlds.flight.facts import Action
from pipeline.worlds.flight.steps import (
    RESTS,
    TILTS,
    Actions,
    CaptionStep,
    flipped,
    mirrored,
    opposed,
    overlap,
    phrase,
    quartered,
    stilled,
)

WAYS: Final = 3  # eight readings, of which five are offered

Reading = TypeVar("Reading")


@dataclass(frozen=True)
class Misreading(Generic[Reading]):
    """One way to misread.

    Attributes:
        misread: applied twice it gives what it was given; ways that touch nothing in common may come in any order.
        touches: what it changes that another way may change as well.
    """

    misread: Callable[[Reading], Reading]
    touches: frozenset[int] = frozenset()


def misreadings(
    right: Reading,
    ways: Iterable[Misreading[Reading]],
    possible: Callable[[Reading], bool],
    alike: Callable[[Reading, Reading], bool],
) -> list[Reading]:
    """The readings from the first `WAYS` ways, each alone and together, that are possible and never alike.

    Each reading has all the others for its misreadings. So nothing about the options, such as what most of them say
    at a place, tells which of them is right; single changes of the right one would all agree with it in the rest.
    """
    readings, found, touched = [right], 0, frozenset[int]()
    for way in ways:
        if found == WAYS or touched & way.touches:
            continue
        more = [way.misread(reading) for reading in readings]
        if not all(map(possible, more)):
            continue
        if not any(alike(a, b) for a, b in (*product(readings, more), *combinations(more, 2))):
            readings, found, touched = readings + more, found + 1, touched | way.touches
    return readings[1:]


class CaptionPassage(NamedTuple):
    """A movement in a caption, with the landmark that it goes towards, if any."""

    actions: Actions
    toward: str | None

    def words(self) -> str:
        """For example "flies forward towards the Town Hall"."""
        return phrase(self.actions, "third") + (f" towards {self.toward}" if self.toward else "")


Told = tuple[tuple[int, CaptionPassage], ...]  # movements as told, each with its place among those flown
Change = Callable[[Actions], Actions]

_AT_REST: Final[Actions] = TILTS | RESTS  # what a drone on the ground can do too


class TrajectoryCaptioning(UrbanTask):
    """Operands: which movements, in words: the latest few, or all so far; and the second at which the last one ends."""

    reads = "movement"
    name = "Trajectory Captioning"
    share = 411
    category = "Recall"
    template = "urbanvideo/questions/trajectory_captioning"
    slots = ("when", TIME)
    needs = frozenset(("steps",))

    def obstacle(self, view: UrbanView) -> Rejection | None:
        """Where other questions print the route, they tell the answer."""
        return super().obstacle(view) or revealed_by_route(view)

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every run of `caption_steps` movements, every shorter one that hangs together, and a flight of few."""
        n, length = len(view.steps), view.rules.caption_steps
        runs = [(i, i + length) for i in range(n - length + 1)]
        runs += [(first, last) for first, last in _chains(view) if 1 < last - first < length]
        if n <= view.rules.caption_steps_max:
            runs.append((0, n))
        for first, last in dict.fromkeys(runs):
            yield self._case(view, view.steps[first:last])

    def _case(self, view: UrbanView, steps: Sequence[CaptionStep]) -> FlightCase:
        last, whole = last_second(view, steps[-1]), len(steps) == len(view.steps)
        case = FlightCase(SO_FAR if whole else latest(len(steps)), clock(last), until_s=last)
        if whole:
            case.require("movements_unknown", view.untracked_s, "<=", view.rules.untracked_max_s, "s")
        case.follows_from(*orders(view, steps))
        for step in steps:
            case.step(view, step)
            if view.doubt(frozenset(("seconds",))) is None:  # a step of an episode is seen however long it is shown
                seconds = step.within_s(0.0, view.end_s)
                case.require("step_too_short", seconds, ">=", view.rules.told_min_s, "s", step.says("ing"))
        for before, after in pairwise(steps):
            case.follows(view, before, after)
        repeated = sum(a.actions == b.actions for a, b in pairwise(steps))
        case.require("movement_split", repeated, "<=", 0, "times")
        legs = tuple(CaptionPassage(step.actions, _led_to(view, step, case)) for step in steps)
        grounded = _on_ground(view, steps[0].start_s) and _begins_upwards([step.actions for step in steps])
        case.ask(_caption(legs), map(_caption, misread(legs, view.known_actions, grounded)))
        ask_of_order(view, case, captions=True)
        return case


def _led_to(view: UrbanView, step: CaptionStep, case: FlightCase) -> str | None:
    place = led_to(view, step, case)
    return None if place is None else view.places[place].label


def _caption(legs: Sequence[CaptionPassage]) -> str:
    return f"It {', then '.join(leg.words() for leg in legs)}."


def _on_ground(view: UrbanView, t_s: float) -> bool:
    at = view.index(max(0.0, t_s))
    return at is not None and bool(view.height_m[at] <= view.rules.ground_max_m)


def misread(legs: Sequence[CaptionPassage], known: Actions, grounded: bool) -> list[tuple[CaptionPassage, ...]]:
    """The wrong captions: as `misreadings` has them.

    Args:
        legs: the movements flown.
        known: actions that the log can tell.
        grounded: whether the drone stands on the ground at first.
    """
    right: Told = tuple(enumerate(legs))
    wrong = misreadings(right, _ways(legs), partial(_possible, known, grounded), _overlap)
    return [tuple(leg for _, leg in passages) for passages in wrong]


def _ways(legs: Sequence[CaptionPassage]) -> list[Misreading[Told]]:
    """Movements as their opposites, and such in a row exchanged; two of those and one of these before all others.

    A single flight over ground may have gone any of four ways. Their order is the same for every caption that comes of
    them.
    """
    if len(legs) == 1 and len(legs[0].actions) == 1 and opposed(legs[0].actions) != legs[0].actions:
        return [Misreading(partial(_opposite, 0, opposed)), Misreading(partial(_opposite, 0, quartered))]
    opposites = [
        Misreading(partial(_opposite, i, change))
        for i in sorted(range(len(legs)), key=lambda i: _kind(legs[i]))
        for change in _CHANGES
        if change(legs[i].actions) != legs[i].actions
    ]
    exchanges = [Misreading(partial(_exchanged, i), frozenset((i, i + 1))) for i in range(len(legs) - 1)]
    return [*opposites[:2], *exchanges, *opposites[2:]]


def _kind(leg: CaptionPassage) -> tuple[list[Action], str]:
    """The common part of a movement and its opposites."""
    return sorted(leg.actions.union(*(change(leg.actions) for change in _CHANGES))), leg.toward or ""


def _opposite(movement: int, change: Change, passages: Told) -> Told:
    return tuple((i, leg._replace(actions=change(leg.actions)) if i == movement else leg) for i, leg in passages)


def _exchanged(place: int, passages: Told) -> Told:
    return (*passages[:place], passages[place + 1], passages[place], *passages[place + 2 :])


def _possible(known: Actions, grounded: bool, passages: Told) -> bool:
    """Whether the log can tell all of it, no movement is split in two, and a drone on the ground first ascends."""
    actions = [leg.actions for _, leg in passages]
    if any(a == b for a, b in pairwise(actions)) or not all(a <= known for a in actions):
        return False
    return not grounded or _begins_upwards(actions)


def _begins_upwards(actions: Sequence[Actions]) -> bool:
    """Whether the first movement that takes a drone anywhere takes it up, as on the ground it must."""
    return "ascend" in next((a for a in actions if not a <= _AT_REST), frozenset[Action](("ascend",)))


def _chains(view: UrbanView) -> list[tuple[int, int]]:
    """First and one past the last of the movements that are clear and follow on one another, as long as they do."""
    clear = [step.known and step.margin >= view.rules.step_margin_min for step in view.steps]
    ends = [0]
    for place, (before, after) in enumerate(pairwise(view.steps), start=1):
        joined = before.part == after.part and after.start_s - before.end_s <= view.rules.step_gap_max_s
        if not (joined and clear[place - 1] and clear[place]):
            ends.append(place)
    return [*pairwise(ends), (ends[-1], len(view.steps))]


def _overlap(a: Told, b: Told) -> bool:
    """Whether one reading says no more than a part of the other, so that both may be called right."""
    return all(overlap(one.actions, other.actions) for (_, one), (_, other) in zip(a, b, strict=True))


# Not the camera up for down: from level it is tilted down first, as anybody may guess.
_CHANGES: Final[tuple[Change, ...]] = (mirrored, flipped, stilled)
