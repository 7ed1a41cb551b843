"""Task supplementation (CityEQA, section 2.2): where a raw task begins, and over which landmarks its text leads.

Starts are drawn in eighths of the compass and thirds of the distance about the target, so that they are spread. For
each of them some chains of landmarks are put into words; the words are run as a query, and a chain stays only where
nothing but the target may fit them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from pipeline.benchmarks.cityeqa.query import MOST_TIMES, Hop, RouteQuery
from pipeline.benchmarks.cityeqa.raw import RawQuestion
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import DIRECTIONS, RELATIONS, HopText, Phrase, TaskText, render
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import TemplateError
from pipeline.core.identity import digest, rng_for
from pipeline.reading.maps.city_thing import BUILDING
from pipeline.worlds.city.visibility import MOST_RAYS

SIDES: Final = 8  # eighths of the compass
RINGS: Final = 3  # thirds of the distance
TURN_DEG: Final = 30.0  # of the agent; starts look in such steps
TRIES: Final = 10  # chains that are tried for a start
HOPS: Final = (1, 2, 2, 3)  # of a chain, as often as they come first
FEW_RAYS: Final = 64  # into a picture, to see whether the target is there
_NAMED_MAX: Final = 5  # other answers to a query that a rejection names


@dataclass(frozen=True)
class Start:
    """Where a task may begin.

    Attributes:
        pose: (6,); its yaw is set with the chain.
        side: eighth of the compass, seen from the target.
        away_m: from the target.
        path_m: shortest way to where the answer is seen.
    """

    pose: FloatArray
    side: int
    away_m: float
    path_m: float


@dataclass(frozen=True)
class StartChain:
    """How the text leads from a start to the target.

    Attributes:
        landmarks: indices of the things that it leads over, the target last.
    """

    way: RouteQuery
    landmarks: tuple[int, ...]
    text: str

    @property
    def hops(self) -> int:
        """Landmarks, and the target."""
        return len(self.landmarks)


def starts(view: CityView, raw: RawQuestion, pose: FloatArray) -> tuple[list[Start], FloatArray]:
    """Of the places (n, 6) that are drawn for a task those that lie right: free, reached, and without a view of it.

    Args:
        view: the city.
        raw: the task.
        pose: where its answer is seen.
    """
    drawn = _drawn(view, raw, float(pose[2]))
    kept = drawn[view.is_open(drawn)]
    length = view.ways(float(pose[2])).lengths(pose[:3], kept[:, :3])
    kept, length = kept[np.isfinite(length)], length[np.isfinite(length)]
    if view.rules.hidden_at_start:
        hidden = ~in_view(view, kept, raw.target)
        kept, length = kept[hidden], length[hidden]
    return made(view, raw, kept, length), drawn


def made(view: CityView, raw: RawQuestion, poses: FloatArray, length_m: FloatArray) -> list[Start]:
    """Starts at places (n, 6) with ways of some lengths (n,) to where the answer is seen."""
    offset = poses[:, :2] - view.centers[raw.target]
    away = np.hypot(*offset.T)
    side = (np.degrees(np.arctan2(*offset.T)) // (360 / SIDES)).astype(int) % SIDES
    return [Start(p, int(s), float(a), float(m)) for p, s, a, m in zip(poses, side, away, length_m, strict=True)]


def _drawn(view: CityView, raw: RawQuestion, z: float) -> FloatArray:
    """Poses (n, 6) about the target, one in each eighth of the compass and third of the distance, in decimetres."""
    rules, rng = view.rules, rng_for(view.scene.id, *raw.key, "starts")
    edges = np.linspace(rules.start_min_m, rules.start_max_m, RINGS + 1)
    side, ring = np.divmod(np.arange(SIDES * RINGS), RINGS)
    bearing = np.radians((side + rng.random(len(side))) * 360 / SIDES)
    away = edges[ring] + (edges[ring + 1] - edges[ring]) * rng.random(len(side))
    # 5 cm within the limits, since places are rounded
    away = np.clip(away, rules.start_min_m + 0.1, rules.start_max_m - 0.1)
    xy = view.centers[raw.target] + away[:, None] * np.stack([np.sin(bearing), np.cos(bearing)], axis=1)
    poses = np.zeros((len(side), 6))
    poses[:, :2], poses[:, 2] = np.round(xy, 1) + 0.0, z
    return poses


def in_view(view: CityView, poses: FloatArray, target: int) -> BoolArray:
    """Whether the target is surely seen from places (n, 6) in any direction: four looks.

    Over buildings of unknown height it may be seen from everywhere; that refuses nothing.
    """
    seen = np.zeros(len(poses), dtype=bool)
    for most in (FEW_RAYS, MOST_RAYS):  # where few rays meet it many need not be cast
        left = np.flatnonzero(~seen)
        looks = np.repeat(poses[left], 4, axis=0)
        looks[:, 5] = np.tile(np.arange(4) * 90.0, len(left))
        shown = view.sight.shown(looks, np.full(len(looks), target, dtype=np.intp), most)
        seen[left] = (shown.pixels > 0).reshape(-1, 4).any(1)
    return seen


def chains(view: CityView, raw: RawQuestion, found: Sequence[Start]) -> list[list[StartChain]]:
    """For each start a few chains that surely lead to the target, in the order in which they are to be tried."""
    places = np.array([start.pose[:2] for start in found]).reshape(-1, 2)
    pairs = view.query.relations.of_points(places, view.rules.first_reach_m)
    first: list[dict[int, list[int]]] = [{} for _ in found]  # per start: thing -> directions
    most: list[dict[tuple[int, int], list[str]]] = [{} for _ in found]  # per start: thing and direction -> superlatives
    for d in range(len(DIRECTIONS)):
        sure, maybe = pairs.holds(d, view.rules.margin_deg, view.rules.first_reach_m)
        for one, other in zip(pairs.one[sure].tolist(), pairs.other[sure].tolist(), strict=True):
            first[one].setdefault(other, []).append(d)
        for one in np.unique(pairs.one[sure]).tolist():
            there = maybe & (pairs.one == one) & view.query.is_building[pairs.other]
            for word, i in _superlatives(view, pairs.other[there], pairs.distance_m[there]):
                most[one].setdefault((i, d), []).append(word)
    last = _relations_to(view, raw.target)
    banned = {raw.target, *raw.about, *raw.shown}
    out = []
    for start, seen, best in zip(found, first, most, strict=True):
        rng = rng_for(view.scene.id, *raw.key, *(f"{v:.1f}" for v in start.pose[:2]), "chain")
        routes = _routes(view, raw.target, seen, last, banned)
        tried: dict[str, StartChain] = {}
        for _ in range(2 * TRIES):
            hops = [n for n in rng.permutation(HOPS).tolist() if routes[n]]
            if not hops or len(tried) == TRIES:
                break
            route = routes[hops[0]][int(rng.integers(len(routes[hops[0]])))]
            chain = _chain(view, raw, start, route, best, rng)
            if chain is not None:
                tried.setdefault(chain.text, chain)
        out.append(list(tried.values()))
    return out


def _superlatives(view: CityView, things: IntArray, away_m: FloatArray) -> list[tuple[str, int]]:
    """Which of some buildings is clearly the nearest, the tallest, the largest; at most one each."""
    near = 1.0 / away_m  # no start is within a body's radius of a building
    worth = {word: (low[things], high[things]) for word, (low, high) in view.query.worth.items()}
    found = []
    for word, (low, high) in sorted((worth | {"nearest": (near, near)}).items()):
        if len(things) < 2:  # the only one is the most of nothing
            continue
        first = int(np.argmax(low))
        if low[first] >= MOST_TIMES[word] * np.delete(high, first).max():
            found.append((word, int(things[first])))
    return found


class StartRoute(NamedTuple):
    """Landmarks, the target last, and the relation (an index) of each to the one before."""

    landmarks: tuple[int, ...]
    directions: tuple[int, ...]


def _relations_to(view: CityView, target: int) -> dict[int, list[int]]:
    """The landmarks to which a thing surely has a relation: thing -> relations."""
    found: dict[int, list[int]] = {}
    for d, steps in enumerate(view.query.into(target)):
        for one in steps:
            found.setdefault(one, []).append(d)
    return found


def _routes(
    view: CityView, target: int, seen: dict[int, list[int]], last: dict[int, list[int]], banned: set[int]
) -> dict[int, list[StartRoute]]:
    """Every chain of landmarks by its hops: from what lies about the start to the target."""
    near = [i for i in seen if view.query.is_landmark[i] and i not in banned]
    found: dict[int, list[StartRoute]] = {1: [StartRoute((target,), (d,)) for d in seen.get(target, ())]}
    found[2] = [StartRoute((i, target), (d, e)) for i in near for d in seen[i] for e in last.get(i, ())]
    found[3] = []
    for middle, ends in last.items():
        if middle not in banned and view.query.is_landmark[middle]:
            for d, steps in enumerate(view.query.into(middle)):
                for one in steps:
                    if one in seen and one not in banned and view.query.is_landmark[one]:
                        found[3] += [StartRoute((one, middle, target), (s, d, e)) for s in seen[one] for e in ends]
    return found


def _chain(
    view: CityView,
    raw: RawQuestion,
    start: Start,
    route: StartRoute,
    best: Mapping[tuple[int, int], Sequence[str]],
    rng: np.random.Generator,
) -> StartChain | None:
    """A route in words that are drawn for it; None where two of its landmarks would be called the same."""
    names = [view.landmark_phrases(i) for i in route.landmarks[:-1]]
    called = [options[int(rng.integers(len(options)))] for options in (*names, raw.phrases)]
    if len(set(called)) < len(called):
        return None
    legs = tuple(Hop(d, phrase) for d, phrase in zip(route.directions, called, strict=True))
    words = ["", *best.get((route.landmarks[0], route.directions[0]), ())]
    word = words[int(rng.integers(len(words)))]
    if word and view.query.is_building[route.landmarks[0]] and Phrase(BUILDING) not in called[1:]:
        legs = (Hop(route.directions[0], Phrase(BUILDING), word), *legs[1:])
    way = RouteQuery(float(start.pose[0]), float(start.pose[1]), legs)
    text = worded(way, raw)
    return None if text is None else StartChain(way, route.landmarks, text)


def worded(way: RouteQuery, raw: RawQuestion) -> str | None:
    """The wording; None where it would read in two ways, or calls the target, or what is passed, by an answer.

    "The building" reads in two ways where a red building was named before.
    """
    if way.legs[-1].phrase not in raw.phrases and raw.gives_away(way.legs[-1].phrase):
        return None
    called = [leg.phrase for leg in way.legs]
    if raw.is_told_by(called[:-1]):
        return None
    if any(phrase == Phrase(phrase.noun) in [Phrase(p.noun) for p in called[:k]] for k, phrase in enumerate(called)):
        return None
    try:
        hops = tuple(HopText(RELATIONS[leg.direction], str(leg.phrase), leg.most) for leg in way.legs)
        turn = digest("wording", *raw.key, f"{way.x_m:.1f} {way.y_m:.1f}")[0]
        return render(TaskText(hops, raw.question(way.legs[-1].phrase, turn)))
    except TemplateError:
        return None


def spread(found: Sequence[Start]) -> list[int]:
    """Indices of starts in the order in which they are tried: each side once, then again, near ones and far in turn."""
    rank: dict[int, int] = {}
    order = []
    for i, start in enumerate(found):
        turn = rank.get(start.side, 0)
        rank[start.side] = turn + 1
        order.append((turn, (start.side * 3) % 8, i))  # by threes, so that neighbours do not follow one another
    return [i for _, _, i in sorted(order)]


def turned(view: CityView, raw: RawQuestion, start: Start, way: RouteQuery) -> Start:
    """The start with its yaw, drawn; never towards the first hop, which gives that away, unless rules have it so."""
    if view.rules.start_looks_ahead:
        return replace(start, pose=np.array([*start.pose[:5], 90.0 * way.legs[0].direction]))
    rng = rng_for(view.scene.id, *raw.key, *(f"{v:.1f}" for v in start.pose[:2]), "yaw")
    yaws = np.arange(0.0, 360.0, TURN_DEG)
    pose = start.pose.copy()
    pose[5] = float(rng.choice(yaws[yaws != 90.0 * way.legs[0].direction]))
    return replace(start, pose=pose)


def others(view: CityView, found: Sequence[int]) -> str:
    """The names of things, for a rejection."""
    ids = [view.things[i].id for i in found]
    more = f" and {len(ids) - _NAMED_MAX} more" if len(ids) > _NAMED_MAX else ""
    return ", ".join(ids[:_NAMED_MAX]) + more
