"""Starts that are searched for: all that there are, counted again place by place and route by route.

Which text leads where is asked of the map one text at a time (`Query.lead`, forwards); the search goes backwards over
all of them together. Ways are found with a heap, places by shapely.
"""

import heapq
import math
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.cityeqa import view as city_view
from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.extra_starts import Start, StartChain, spread, starts, turned, worded
from pipeline.benchmarks.cityeqa.oracle import Observer, Oracle
from pipeline.benchmarks.cityeqa.query import Hop, RouteQuery
from pipeline.benchmarks.cityeqa.raw import RawQuestion
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.search import STAGES, Search
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import DIRECTIONS, MOSTS, RELATIONS, Phrase
from pipeline.worlds.city.facts import CityScene
from tests.benchmarks.cityeqa.agents import Agent
from tests.benchmarks.cityeqa.cities import ill_answered, ill_supplemented, small, tasks_of
from tests.environment import times
from tests.oracles.city_answers import shape

RULES = CityRules(raw_tasks_per_category=2)
REASONS = (
    "starts_free", "starts_with_a_path", "starts_with_a_chain", "starts_without_a_view", "starts", "sides",
)  # fmt: skip
GRID_M = 30.0  # coarser than that of builds: each of its places is looked at on its own
SAMPLED = 3  # places of a task of which all texts are compared
ROUTED = 150  # texts along sure routes that are asked of the map, of each place
pytestmark = pytest.mark.slow


def observed(
    view: CityView, scene: CityScene, categories: tuple[str, ...]
) -> dict[tuple[str, ...], tuple[RawQuestion, Any]]:
    """The raw tasks of some categories that can be seen, with the pose that shows each."""
    observer, found = Observer(view), {}
    for name in categories:
        for raw in CITYEQA.by_name()[name].raws(view):  # type: ignore[attr-defined]
            if raw.broken is None and all(i in view.solid_things for i in raw.shown):
                pose = observer.of_raw(raw).pose
                if pose is not None:
                    found[raw.key] = (raw, pose)
    return found


def along_routes(view: CityView, raw: RawQuestion, x: float, y: float) -> Iterator[tuple[RouteQuery, tuple[int, ...]]]:
    """Every text whose hops surely hold, of one to three, and the things that it leads over; superlatives too.

    A superlative leads over the building that surely is it, so over none that merely lies there.
    """
    query = view.query
    banned = {raw.target, *raw.about, *raw.shown}
    after = _next_things(view)
    here = shapely.Point(x, y)
    pairs = query.relations.of_points(np.array([[x, y]]), query.limits.first_m)
    for d in range(len(DIRECTIONS)):
        sure, _ = pairs.holds(d, query.limits.margin_deg, query.limits.first_m)
        most = query.lead([RouteQuery(x, y, (Hop(d, Phrase("building"), word),)) for word in MOSTS]).sure.toarray()
        for one in pairs.other[sure].tolist():
            assert shapely.distance(here, query.shapes[one]) <= query.limits.first_m
            routes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((one,), (d,))] if one == raw.target else []
            if one not in banned and query.is_landmark[one]:
                for e, two in after[one]:
                    if two == raw.target:
                        routes.append(((one, two), (d, e)))
                    elif two not in banned and query.is_landmark[two]:
                        routes += [((one, two, j), (d, e, f)) for f, j in after[two] if j == raw.target]
            for things, relations in routes:
                names = [view.landmark_phrases(i) for i in things[:-1]] + [raw.phrases]
                for called in product(*names):
                    legs = [Hop(r, p) for r, p in zip(relations, called, strict=True)]
                    if len(set(called)) == len(called):
                        yield RouteQuery(x, y, tuple(legs)), things
                words = [word for word, is_it in zip(MOSTS, most[:, one].tolist(), strict=True) if is_it]
                if view.query.is_building[one]:
                    for word, called in product(words, product(*names[1:])):
                        if Phrase("building") not in called and len(set(called)) == len(called):
                            first = Hop(d, Phrase("building"), word)
                            rest = (Hop(r, p) for r, p in zip(relations[1:], called, strict=True))
                            yield RouteQuery(x, y, (first, *rest)), things


@cache
def _next_things(view: CityView) -> list[list[tuple[int, int]]]:
    """Of each thing the relations to others that surely hold, with the others."""
    sure = [view.query.steps(d)[0] for d in range(len(RELATIONS))]
    return [[(d, j) for d, matrix in enumerate(sure) for j in _row(matrix, i)] for i in range(len(view.things))]


def _row(matrix: Any, row: int) -> list[int]:
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()


def proven(view: CityView, raw: RawQuestion, ways: list[RouteQuery]) -> list[bool]:
    """Whether texts lead to the target surely, and nowhere else possibly: one after the other."""
    found = view.query.lead(ways)
    out = []
    for row in range(len(ways)):
        sure, maybe = (set(_row(matrix, row)) for matrix in (found.sure, found.maybe))
        out.append(maybe == {raw.target} == sure)
    return out


def plain_lengths(free: np.ndarray, goal: tuple[int, int], most_m: float) -> dict[tuple[int, int], float]:
    """Shortest ways to a cell from all cells about it, one cell after the other."""
    best, queue = {goal: 0.0}, [(0.0, goal)]
    while queue:
        away, (row, column) = heapq.heappop(queue)
        if away > best[row, column]:
            continue
        for down, right in product((-1, 0, 1), repeat=2):
            r, c = row + down, column + right
            if not (0 <= r < free.shape[0] and 0 <= c < free.shape[1]) or not (free[r, c] and free[row, c]):
                continue
            length = away + math.hypot(down, right)
            if free[r, column] and length <= most_m and length < best.get((r, c), math.inf):
                best[r, c] = length
                heapq.heappush(queue, (length, (r, c)))
    return best


def counted(view: CityView, raw: RawQuestion, pose: np.ndarray) -> tuple[dict[str, int], set[int]]:
    """Of the drawn places and those of the grid how many are free, reached and so on, and on which sides they lie."""
    rules, z, (cx, cy) = view.rules, float(pose[2]), view.things[raw.target].center
    reach = math.ceil(rules.start_max_m / GRID_M) + 1
    drawn = {(float(p[0]), float(p[1])) for p in starts(view, raw, pose)[1]}
    middle = (round(cx / GRID_M), round(cy / GRID_M))
    steps = range(-reach, reach + 1)
    places = drawn | {((middle[0] + i) * GRID_M, (middle[1] + j) * GRID_M) for i in steps for j in steps}
    places = {(x, y) for x, y in places if rules.start_min_m <= math.hypot(x - cx, y - cy) <= rules.start_max_m}
    solid = shapely.union_all([shape(t) for t in view.things if t.kind == "building"])
    slab = view.free.slab(z)
    lengths = plain_lengths(slab.free, tuple(slab.cells(pose[None])[0].tolist()), rules.path_max_m)
    oracle = Oracle(view)
    count = dict.fromkeys(REASONS[:-1], 0)
    sides = set()
    for x, y in sorted(places):
        point = np.array([[x, y, z]])
        if solid.distance(shapely.Point(x, y)) <= rules.body_m or not view.free.free(point)[0]:
            continue
        count["starts_free"] += 1
        if tuple(slab.cells(point)[0].tolist()) not in lengths:
            continue
        count["starts_with_a_path"] += 1
        ways = list(along_routes(view, raw, x, y))
        holds = proven(view, raw, [way for way, _ in ways])
        good = [own for own, held in zip(ways, holds, strict=True) if held and worded(own[0], raw) is not None]
        if not good:
            continue
        count["starts_with_a_chain"] += 1
        looks = np.array([[x, y, z, 0, 0, turn] for turn in (0, 90, 180, 270)], dtype=float)
        if view.sight.shown(looks, np.full(4, raw.target), None).pixels.any():
            continue
        count["starts_without_a_view"] += 1
        start = Start(looks[0], int(math.degrees(math.atan2(x - cx, y - cy)) % 360 // 45), 0.0, 0.0)
        if any(
            oracle.solve(turned(view, raw, start, way), StartChain(way, things, ""), pose, raw.pixels_min)
            for way, things in good
        ):
            count["starts"] += 1
            sides.add(start.side)
    return count, sides


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "categories"),
    [(1, ("Attribute Recognition",)), (8, ("Counting",)), (8, ("Existence Judgement",))],
)
def test_refused_tasks_really_lack_starts(
    seed: int, categories: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What refuses a task and how many starts it has is what comes out of looking at every place on its own."""
    monkeypatch.setattr(city_view, "GRID_M", GRID_M)
    scene = small(seed)
    rows, refused = tasks_of(scene, RULES, *categories)
    view = CityView(scene, RULES)
    raws = observed(view, scene, categories)
    assert ill_supplemented(scene, rows, RULES) == []
    own = [row for row in refused if row["reason"] in REASONS]
    assert own
    for row in own:
        count, sides = counted(view, *raws[tuple(row["operands"])])
        limits = [(name, n, RULES.starts_min) for name, n in count.items()]
        limits.append(("sides", len(sides), RULES.sides_min))
        broken = [(name, n) for name, n, least in limits if n < least]
        assert broken, (row["operands"], count)
        assert (row["reason"], row["measured"]) == broken[0], (row["operands"], count)
    assert {row["raw"] for row in rows}.isdisjoint(tuple(row["operands"]) for row in own)


@pytest.mark.long
@settings(max_examples=times(2, 3), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(CITYEQA.by_name())))
def test_texts_are_all_that_lead_to_the_target_alone(seed: int, category: str) -> None:
    """No text that is found leads elsewhere, and none along a sure route is missed, whatever landmarks are called."""
    scene = small(seed)
    view = CityView(scene, RULES)
    oracle = Oracle(view)
    for raw, pose in list(observed(view, scene, (category,)).values())[:3]:
        search = Search(view, oracle, raw, pose, np.empty((0, 6)), [])
        chosen = np.random.default_rng(seed).permutation(len(search.starts))[:SAMPLED]
        for start in (search.starts[k] for k in chosen.tolist()):
            texts: dict[str, RouteQuery] = {}
            for hops, most in STAGES:
                found = search.texts(start.pose[None], hops, most)
                for chain in search.chains(start, found, 0, hops):
                    assert len(chain.landmarks) == len(chain.way.legs) == hops
                    assert chain.landmarks[-1] == raw.target
                    texts[chain.text] = chain.way
            assert all(proven(view, raw, list(texts.values())))
            routed = list(along_routes(view, raw, *start.pose[:2].tolist()))
            some = np.random.default_rng(seed + 1).permutation(len(routed))[:ROUTED].tolist()
            held = proven(view, raw, [routed[k][0] for k in some])
            for holds, (way, things) in zip(held, (routed[k] for k in some), strict=True):
                goes_on = len(things) == 1 or _goes_on(view, oracle, things[-2], way.legs[-1].direction, pose)
                text = worded(way, raw)
                if text is not None and goes_on:
                    assert (text in texts) is holds, text


def _goes_on(view: CityView, oracle: Oracle, landmark: int, direction: int, pose: np.ndarray) -> bool:
    place = oracle.place_beside(landmark, direction, float(pose[2]))
    return place is not None and view.ways(float(pose[2])).path(pose[:3], place) is not None


@settings(max_examples=times(2, 3), deadline=None)
@given(st.integers(0, 10_000))
def test_starts_lie_as_they_should(seed: int) -> None:
    """In any city, of any category."""
    scene, rules = small(seed), CityRules(raw_tasks_per_category=1)
    rows, _ = tasks_of(scene, rules)
    assert ill_supplemented(scene, rows, rules) == []
    assert ill_answered(scene, rows) == []


def test_starts_are_kept_for_sides_that_are_missing() -> None:
    """Of six starts at most four lie on one side, five on two: the others are for the sides that a task must have."""
    scene = small(1)
    view = CityView(scene, RULES)
    raw, pose = next(iter(observed(view, scene, ("Object Recognition",)).values()))
    search = Search(view, Oracle(view), raw, pose, np.empty((0, 6)), [])
    assert search.run() is None
    assert RULES.starts_min <= len(search.found) <= RULES.starts_max
    assert len({one.start.side for one in search.found}) >= RULES.sides_min
    again = Search(view, Oracle(view), raw, pose, np.empty((0, 6)), [search.found[0]] * RULES.starts_max)
    assert len(again.found) == RULES.starts_max - RULES.sides_min + 1


@settings(max_examples=times(2, 3), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(CITYEQA.by_name())))
def test_agents_find_every_target_in_any_city(seed: int, category: str) -> None:
    """One goes by the words, one looks everywhere; the oracle makes no fewer moves than a search breadth first."""
    scene = small(seed)
    rows, _ = tasks_of(scene, RULES, category)
    agent = Agent(scene.facts)
    for row in {(row["group"], row["hops"]): row for row in rows}.values():
        assert agent.by_words(row), row["question"]
        assert agent.everywhere(row), row["question"]
        stops = np.column_stack([row["oracle_x"], row["oracle_y"]])
        moves = np.diff(stops, axis=0)
        assert np.hypot(*moves.T).max() <= 10 + 1e-6
        assert len(moves) >= agent.fewest_moves(row)
        headings = [row["initial_pose"][5], *np.degrees(np.arctan2(*moves.T)), row["observation_pose"][5]]
        turns = [round(abs((b - a + 180) % 360 - 180) / 30) for a, b in pairwise(headings)]
        assert row["oracle_steps"] == len(moves) + sum(turns)


def test_each_side_is_tried_once_before_any_is_tried_again() -> None:
    found = [Start(np.zeros(6), side, 10.0, 20.0) for side in (0, 0, 1, 3, 0)]
    assert spread(found) == [0, 3, 2, 1, 4]  # of sides 0, 3 and 1, which are 0, 1 and 3 by threes
