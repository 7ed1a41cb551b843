"""What refuses a question, in cities of a few things: each value by hand, beside a city that breaks nothing."""

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.cityeqa.extra_starts import (
    Start,
    StartChain,
    StartRoute,
    _drawn,
    _routes,
    _superlatives,
    in_view,
    made,
    starts,
    turned,
)
from pipeline.benchmarks.cityeqa.oracle import Observer, Oracle, SolvedPath, _steps, _stops_along
from pipeline.benchmarks.cityeqa.query import Hop, RouteQuery
from pipeline.benchmarks.cityeqa.raw import NUMBERS, one_way
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.base import written
from pipeline.benchmarks.cityeqa.tasks.recognition import _vehicles
from pipeline.benchmarks.cityeqa.tasks.spatial import SpatialReasoning
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import ACROSS, BEHIND, FRONT, RELATIONS, Phrase
from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Source
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import City, CityScene, RawTask
from pipeline.worlds.city.paths import Slab
from tests.benchmarks.cityeqa.cities import tasks_of
from tests.worlds.city.cities import city, house, point

RULES = CityRules(raw_tasks_per_category=1)
COLOURS = ("red", "green", "blue")
WALL = house("wall", 20.0, 60.0, 60.0, 10.0)  # its front, at y = 60, faces south


def scene(facts: City) -> CityScene:
    source = Source(reader="city", reader_version=1, files=("map.geojson",), sha256="0" * 64)
    return CityScene(id="city/here", dataset="city", name="here", source=source, facts=facts, findings=())


def board(name: str, x: float, words: str, y: float = 59.9, facing_deg: float = 180.0, **facts: Any) -> CityThing:
    own = {"base_m": 3.0, "on": "wall"} | facts
    return point(name, "signboard", x, y, sign=words, facing_deg=facing_deg, **own)


def shop(identity: str, x: float, called: str | None = None, y: float = 59.9, **facts: Any) -> CityThing:
    own = {"noun": "bakery", "facing_deg": 180.0, "on": "wall"} | facts
    return point(identity, "shop", x, y, **own).model_copy(update={"name": called})


def refusals(facts: City, category: str, reason: str, rules: CityRules = RULES) -> set[tuple[str, float, float]]:
    """Operands, measured value and limit of what a reason refuses."""
    _, refused = tasks_of(scene(facts), rules, category)
    return {
        (" ".join(row["operands"]), round(row["measured"], 3), row["limit"])
        for row in refused
        if row["reason"] == reason
    }


def test_a_board_that_hangs_back_is_not_beside_another() -> None:
    """10 m to the left and 10 m forward: 45 degrees from the line along the front; 5 m forward: 27 degrees."""
    for y, off in ((49.9, 45.0), (54.9, None)):
        facts = city(WALL, board("a", 50.0, "ALPHA"), board("b", 40.0, "BETA", y=y), board("c", 70.0, "GAMMA"))
        found = refusals(facts, "Spatial Reasoning", "not_beside")
        key = "signboard beside a left b"
        assert {row for row in found if row[0] == key} == ({(key, off, 35.0)} if off else set())


def test_a_board_that_faces_elsewhere_is_not_beside_another() -> None:
    for facing, broken in ((205.0, True), (195.0, False)):
        facts = city(WALL, board("a", 50.0, "ALPHA"), board("b", 40.0, "BETA", facing_deg=facing))
        found = refusals(facts, "Spatial Reasoning", "other_front")
        assert (("signboard beside a left b", 25.0, 20.0) in found) is broken


def test_of_two_boards_beside_one_the_nearer_must_be_so_clearly() -> None:
    """12 m is 1.2 times 10 m, and 15 m is one and a half times."""
    for farther, broken in ((12.0, True), (15.0, False)):
        facts = city(WALL, board("a", 60.0, "ALPHA"), board("b", 50.0, "BETA"), board("c", 60.0 - farther, "GAMMA"))
        found = refusals(facts, "Spatial Reasoning", "two_beside")
        assert (("signboard beside a left b", 1.2, 1.4) in found) is broken


def test_what_stands_at_a_thing_is_not_nearer_than_another() -> None:
    for away, broken in ((0.9, True), (1.0, False)):
        kiosk, fountain = point("k", "kiosk", 64.0, 30.0), point("f", "fountain", 50.0 - away, 30.0)
        found = refusals(city(point("s", "statue", 50.0, 30.0), kiosk, fountain), "Spatial Reasoning", "touches")
        assert (("nearer s f k", 0.9, 1.0) in found) is broken


@pytest.mark.parametrize(("walls", "between"), [((57.0,), 1), ((41.0, 57.0), 2)])
def test_of_two_things_neither_is_behind_a_house(walls: tuple[float, ...], between: int) -> None:
    """The fountain, 14 m to the west of the statue, is the nearer; the kiosk stands 20 m to the east."""
    things = point("s", "statue", 50.0, 30.0), point("k", "kiosk", 70.0, 30.0), point("f", "fountain", 36.0, 30.0)
    facts = city(*things, *(house(f"h{n}", x, 25.0, 2.0, 10.0) for n, x in enumerate(walls)))
    assert ("nearer s f k", between, 0.0) in refusals(facts, "Spatial Reasoning", "something_between")


def test_of_two_boards_beside_each_other_one_is_asked_about() -> None:
    """The text about the one would say the colour of the other; of a chain of three, one of each pair."""
    boards = [board(name, x, name, colour=colour) for name, x, colour in zip("abc", (30, 40, 50), COLOURS, strict=True)]
    facts = city(WALL, *boards, complete=("signboard",))
    beside = [raw for raw in SpatialReasoning().raws(CityView(scene(facts), RULES)) if raw.kind == "colour beside"]
    sound = [raw for raw in beside if raw.broken is None]
    assert len(sound) == 4
    ways = [(raw.target, *raw.about) for raw in sound if raw.key in one_way(sound)]
    assert len({frozenset(way) for way in ways}) == len(ways) == 2


def test_a_shop_under_two_boards_has_no_one_board(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CityView, "asked_of", lambda *_: "sign")  # elsewhere a lot decides
    for colour, broken in (("blue", True), ("red", False)):
        facts = city(
            WALL, shop("s", 50.0, called="Crumb"), board("a", 49.0, "CRUMB", colour="red"),
            board("b", 51.0, "CRUMB", colour=colour), board("c", 75.0, "ELSE", colour="green"),
        )  # fmt: skip
        found = refusals(facts, "Attribute Recognition", "two_boards")
        assert found == ({("colour of a board s", 2.0, 1.0)} if broken else set())


def test_a_board_of_the_wall_s_colour_is_not_told_from_it() -> None:
    """By their values: 40 levels of a channel are enough, 39 are not; without values, by their words."""
    seen = []
    for wall, own in (((200, 30, 30), (160, 30, 30)), ((200, 30, 30), (161, 30, 30)), (None, (161, 30, 30))):
        facts = city(
            WALL.model_copy(update={"colour": "red", "rgb": wall}), shop("s", 50.0, called="Crumb"),
            board("a", 50.0, "CRUMB", colour="red", rgb=own), board("c", 75.0, "ELSE", colour="green"),
        )  # fmt: skip
        view = CityView(scene(facts), RULES)
        told = {str(phrase) for i in (view.index["s"], view.index["a"]) for phrase in view.phrases(i)}
        seen.append((view.stands_out(view.index["a"]).value, any("red" in words for words in told)))
    assert seen == [(40.0, True), (39.0, False), (0.0, False)]


def test_the_tallest_building_may_be_too_far_for_a_direction() -> None:
    """From the shop at 35, 10 to the tower's corner at 75, 60, and to a hut that is low."""
    rules = CityRules(raw_tasks_per_category=1, bearing_gap_m=(5.0, 25.0))
    things = (
        house("home", 30.0, 10.0, 10.0, 10.0),
        shop("s", 35.0, called="Crumb", y=9.9, on="home"),
        house("hut", 5.0, 10.0, 10.0, 10.0, height_m=4.0),
        house("tower", 30.0, 50.0, 10.0, 10.0, height_m=40.0),
    )
    away = math.hypot(0.0, 50.0 - 9.9)
    found = refusals(city(*things), "Spatial Reasoning", "too_far", rules)
    assert ("direction of the tallest s tower", round(away, 3), 25.0) in found
    assert refusals(city(*things), "Spatial Reasoning", "too_far") == set()


def test_a_question_of_people_in_a_category_that_is_none_and_about_what_cannot_be_seen() -> None:
    asked = {"question": "Is it open on Sundays?", "answer": "yes", "p_obs": (50.0, 40.0, 5.0, 0.0, 0.0, 0.0)}
    tasks = (
        RawTask(id="odd", category="Weather", target="s", point=(50.0, 59.9, 0.0), **asked),
        RawTask(id="hid", category="World Knowledge", target="t", point=(70.0, 59.9, 0.0), **asked),
    )
    facts = city(WALL, shop("s", 50.0, called="Crumb"), shop("t", 70.0, noun="bank", facing_deg=None), tasks=tasks)
    (raw,) = written(CityView(scene(facts), RULES.model_copy(update={"pixels_min": 40})), "World Knowledge")
    assert (raw.operands, raw.pixels_min) == (("t", "hid"), 10)  # a quarter of what generated ones need
    found = refusals(facts, "Object Recognition", "category_unknown")
    assert {row[1:] for row in found} == {(0.0, 1.0)}
    assert refusals(facts, "World Knowledge", "extent_unknown") == {("written t hid", 1.0, 0.0)}


def test_tasks_of_people_are_called_by_nothing_that_answers_them_and_have_answers_of_their_sort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CityView, "asked_of", lambda *_: "")

    def asked(answer: str, target: str = "t") -> RawTask:
        own = {"category": "World Knowledge", "question": "What of it?", "p_obs": (50.0, 40.0, 5.0, 0.0, 0.0, 0.0)}
        return RawTask(id=answer, target=target, point=(70.0, 59.9, 0.0), answer=answer, **own)

    tasks = (asked("two"), asked("3"), asked("bank"), asked("Till"), asked("red", "gone"))
    facts = city(WALL, shop("s", 50.0, called="Crumb"), shop("t", 70.0, noun="bank", called="Till"), tasks=tasks)
    found = {raw.answer: raw for raw in written(CityView(scene(facts), RULES), "World Knowledge")}
    named, unnamed = Phrase("bank", name="Till"), Phrase("bank")
    called = {"two": (named, unnamed), "3": (named, unnamed), "bank": (), "Till": (unnamed,), "red": ()}
    assert {answer: raw.phrases for answer, raw in found.items()} == called
    assert found["two"].others == NUMBERS[1:]
    assert found["3"].others == tuple("123456789")
    assert found["bank"].others == ("Till", "bakery", "bank", "building", "red")


@pytest.mark.parametrize(("colour", "which"), [("red", True), (None, False)])
def test_one_of_two_sorts_is_asked_of_a_vehicle_whose_colour_is_known(colour: str | None, which: bool) -> None:
    van, bus = point("v", "van", 50.0, 55.0, colour=colour), point("k", "bus", 120.0, 20.0)
    facts = city(WALL, shop("s", 50.0, called="Crumb"), van, bus, complete=("car", "van", "truck", "bus"))
    found = {raw.kind: (raw.answer, raw.others) for raw in _vehicles(CityView(scene(facts), RULES))}
    assert found == {"vehicle in front of a shop": ("van", ("bus", "van"))} | (
        {"which vehicle": ("van", ("bus", "van"))} if which else {}
    )
    two = facts.model_copy(update={"things": (*facts.things, point("w", "car", 52.0, 55.0, colour="red"))})
    raws = [raw for raw in _vehicles(CityView(scene(two), RULES)) if raw.kind == "which vehicle"]
    several = {one.holds for raw in raws for one in raw.checks if one.name == "several_there"}
    assert several == {False}, "of one colour, or perhaps"


@pytest.mark.slow
def test_ways_that_take_too_many_steps_or_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty are asked, and 51 alone where longer tasks are wanted."""
    monkeypatch.setattr(CityView, "asked_of", lambda *_: "name")
    facts = city(WALL, shop("s", 50.0, called="Crumb"), shop("v", 140.0, called="Till"), size_m=150.0)
    longer = {"steps_min": 51, "steps_max": 200}
    cases: list[tuple[int, dict[str, int], str]] = [
        (50, {}, ""), (51, {}, "too_many_steps"), (51, longer, ""), (50, longer, "too_few_steps"),
    ]  # fmt: skip
    for steps, limits, why in cases:

        def way(
            _: Oracle, start: Start, chain: object, pose: FloatArray, pixels: int, steps: int = steps
        ) -> SolvedPath:
            return SolvedPath(np.array([start.pose[:3], pose[:3]]), steps, 10.0, 5)

        monkeypatch.setattr(Oracle, "solve", way)
        rows, refused = tasks_of(scene(facts), CityRules(raw_tasks_per_category=1, **limits), "Object Recognition")
        assert bool(rows) == (not why)
        assert {(row["measured"], row["limit"]) for row in refused if row["reason"] == why} == (
            {(float(steps), 101.0 - steps)} if why else set()
        )


@pytest.mark.slow
def test_a_chain_that_cannot_be_gone_gives_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the oracle finds no way along any chain, each start says so, and the task has none."""
    monkeypatch.setattr(Oracle, "solve", lambda *_: None)
    monkeypatch.setattr(CityView, "asked_of", lambda *_: "name")
    facts = city(WALL, shop("s", 50.0, called="Crumb"), shop("v", 140.0, called="Till"), size_m=150.0)
    rows, refused = tasks_of(scene(facts), CityRules(raw_tasks_per_category=1), "Object Recognition")
    assert rows == []
    told = {
        (row["measured"], row["limit"], row["unit"]) for row in refused if row["reason"] == "no_way_along_the_chain"
    }
    assert told == {(0.0, 1.0, "ways")}


OPEN = city(house("hut", 30.5, 20.5, 11.0, 7.0), house("wall", 70.5, 10.5, 4.0, 60.0), size_m=140.0)
HUT = ((30.5, 41.5), (20.5, 27.5))  # from west to east, and from south to north


CROWDED = (("e", 41.9, 18.0, 6.0, 9.0), ("n", 33.0, 28.0, 9.0, 5.0), ("s", 31.0, 9.0, 4.0, 11.0))


@pytest.mark.parametrize("others", [(), CROWDED])
@pytest.mark.parametrize("direction", ["north", "east", "south", "west", FRONT, BEHIND, ACROSS])
def test_the_place_beside_a_landmark_is_the_free_one_nearest_to_its_side(
    others: tuple[tuple[str, float, float, float, float], ...], direction: str
) -> None:
    """Of all cells within 12 m along the side and 24 m out; its front looks east, at a street 9.25 m away."""
    facts = OPEN.model_copy(update={"things": (*OPEN.things, *(house(*other) for other in others))})
    view = CityView(scene(facts), RULES)
    fronts = view.query.fronts._replace(front_deg=np.full(9, 90.0), distance_m=np.full(9, 9.25))
    view.query.__dict__["fronts"] = fronts
    side = {FRONT: "east", BEHIND: "west", ACROSS: "east"}.get(direction, direction)
    axis, sign = {"north": (1, 1), "east": (0, 1), "south": (1, -1), "west": (0, -1)}[side]
    middle = np.array([36.0, 24.0])
    edge = middle.copy()
    edge[axis] = HUT[axis][sign > 0] + (9.25 if direction == ACROSS else 0.0) * sign
    best: list[tuple[float, float, float]] = []
    for y in np.arange(0.5, 140.0):
        for x in np.arange(0.5, 140.0):
            out, along = sign * ((x, y)[axis] - edge[axis]), abs((x, y)[1 - axis] - edge[1 - axis])
            if 0.4 < out < 23.6 and along < 12.0 and view.free.free(np.array([[x, y, 5.0]]))[0]:
                best.append((math.hypot(x - edge[0], y - edge[1]), y, x))
    _, y, x = min(best)
    found = Oracle(view).place_beside(0, RELATIONS.index(direction), 5.0)
    assert found is not None
    assert found.tolist() == [x, y, 5.0]


def test_moves_and_turns_are_counted_until_each_stop() -> None:
    """From looking east: north, east, and north again, and at last to the north-west."""
    stops = np.array([[0.0, 0, 5], [0, 10, 5], [10, 10, 5], [10, 20, 5]])
    assert _steps(stops, 90.0, 300.0).tolist() == [0, 1 + 3, 5 + 3, 9 + 3 + 2]
    assert _steps(stops[:2], 10.0, 350.0).tolist() == [0, 1], "a third of a turn is none"
    assert _steps(stops[::-1], 200.0, 170.0).tolist() == [0, 1 + 1, 3 + 3, 7 + 3]


def test_stops_are_as_far_along_a_way_as_a_straight_free_move_leads() -> None:
    """Around the corner of a wall: 4 m north, 12 m east; from 3 m on the wall is passed."""
    free = np.ones((20, 20), dtype=bool)
    free[0:4, 1:20] = False
    way = np.array([*([0.5, y + 0.5, 5.0] for y in range(5)), *([x + 0.5, 4.5, 5.0] for x in range(1, 13))])
    assert _stops_along(Slab(5.0, free, np.zeros(2)), way)[:, :2].tolist() == [[0.5, 4.5], [10.5, 4.5], [12.5, 4.5]]
    assert _stops_along(Slab(5.0, free | True, np.zeros(2)), way)[:, :2].tolist() == [[6.5, 4.5], [12.5, 4.5]]
    assert _stops_along(Slab(5.0, free, np.zeros(2)), way[:1]).shape == (0, 3)


def test_places_are_drawn_in_each_eighth_of_the_compass_and_third_of_the_distance() -> None:
    """About the wall, whose middle is at 72.5, 40.5, between 30 m and 200 m of it; and on which side each lies."""
    view = CityView(scene(OPEN), RULES)
    raw = SimpleNamespace(key=("a", "b"), target=1)
    drawn = _drawn(view, raw, 5.0)  # type: ignore[arg-type]
    east, north = drawn[:, 0] - 72.5, drawn[:, 1] - 40.5
    bearing, away = np.degrees(np.arctan2(east, north)) % 360, np.hypot(east, north)
    assert (bearing // 45).tolist() == np.repeat(np.arange(8.0), 3).tolist()
    rings = 30 + (np.tile(np.arange(3), 8) + 0.5) * 170 / 3
    assert (np.abs(away - rings) <= 170 / 6 + 0.1).all()
    assert np.ptp(bearing % 45) > 30
    assert np.ptp(away[::3]) > 30
    assert (np.round(drawn, 1) == drawn).all()
    assert (drawn[:, 2:] == [5, 0, 0, 0]).all()
    found = made(view, raw, drawn, np.arange(24.0))  # type: ignore[arg-type]
    assert [(own.side, own.path_m) for own in found] == [(n // 3, float(n)) for n in range(24)]
    assert [own.away_m for own in found] == pytest.approx(away.tolist())
    corners = np.array([[72.5, 50.5], [82.5, 50.5], [82.5, 40.5], [62.5, 50.4], [62.5, 30.5], [72.4, 50.5]])
    poses = np.column_stack([corners, np.zeros((6, 4))])
    assert [own.side for own in made(view, raw, poses, np.zeros(6))] == [0, 1, 2, 6, 5, 7]  # type: ignore[arg-type]


def test_places_that_are_free_and_from_where_the_target_is_seen() -> None:
    """The hut, 3 m high, is seen from all places but those behind the wall; no place is over a building."""
    facts = city(house("hut", 30.5, 20.5, 11.0, 7.0, 3.0), house("wall", 70.5, 0.5, 4.0, 139.0), size_m=140.0)
    view = CityView(scene(facts), RULES)
    at = [(20, 20), (30.0, 24), (29.9, 24), (35, 24), (42.1, 24), (69, 60), (76, 60), (120, 24), (-1, 20), (5, 135)]
    poses = np.column_stack([np.array(at), np.full(len(at), 6.0), np.zeros((len(at), 3))])
    assert view.is_open(poses).tolist() == [True, False, True, False, True, True, True, True, False, True]
    assert in_view(view, poses[[0, 2, 5, 6, 7, 9]], 0).tolist() == [True, True, True, False, False, True]
    raw: Any = SimpleNamespace(key=("a", "b"), target=0)
    from_all = CityView(scene(facts), RULES.model_copy(update={"hidden_at_start": False}))
    found, drawn = starts(from_all, raw, np.array([25.5, 25.5, 6.0, 0.0, 0.0, 90.0]))
    kept = np.array([start.pose for start in found])
    assert 2 <= len(kept) < view.is_open(drawn).sum(), "some lie behind the wall, or outside"
    assert (kept[:, 0] < 70.5).all()
    assert (kept[:, 2:] == [6, 0, 0, 0]).all(), "as high as where the answer is seen"
    assert starts(view, raw, np.array([25.5, 25.5, 6.0, 0.0, 0.0, 90.0]))[0] == [], "all see it"


@pytest.mark.parametrize("ahead", [True, False])
def test_a_start_looks_towards_its_first_hop_only_where_rules_have_it_so(ahead: bool) -> None:
    view = CityView(scene(OPEN), RULES.model_copy(update={"start_looks_ahead": ahead}))
    start = Start(np.array([20.5, 10.5, 5.0, 0.0, 0.0, 180.0]), 0, 0.0, 0.0)
    way = RouteQuery(20.5, 10.5, (Hop(1, Phrase("building")), Hop(2, Phrase("building"))))
    raws: list[Any] = [SimpleNamespace(key=("a", str(n))) for n in range(99)]
    found = np.array([turned(view, raw, start, way).pose for raw in raws])
    assert (found[:, :5] == start.pose[:5]).all()
    others = {30.0 * n for n in range(12)} - {90.0}
    assert set(found[:, 5]) == ({90.0} if ahead else others)


def test_a_task_that_is_solved_by_hand() -> None:
    """Around the hut's corner, 9 m aslant, 13 m east and 4 m north, to its east side, and on to the north by 34 m."""
    view = CityView(scene(OPEN), RULES)
    legs = Hop(0, Phrase("building")), Hop(RELATIONS.index("east"), Phrase("building"))
    start = Start(np.array([20.5, 10.5, 5.0, 0.0, 0.0, 180.0]), 0, 0.0, 0.0)
    chain = StartChain(RouteQuery(20.5, 10.5, legs), (0, 1), "")
    pose = np.array([42.5, 57.5, 5.0, 0.0, 0.0, 90.0])
    oracle = Oracle(view)
    solved = oracle.solve(start, chain, pose, 400)
    assert solved is not None
    beside = oracle.place_beside(0, RELATIONS.index("east"), 5.0)
    assert beside is not None
    assert beside.tolist() == [42.5, 23.5, 5.0]
    assert solved.length_m == pytest.approx(9 * math.sqrt(2) + 13 + 4 + 34)
    stops = solved.stops.tolist()
    assert stops[0] == [20.5, 10.5, 5.0]
    last = stops.index(beside.tolist())
    assert stops[last:] == [[42.5, 23.5 + d, 5.0] for d in (0, 10, 20, 30, 34)]
    headings = [180.0, *(math.degrees(math.atan2(b[0] - a[0], b[1] - a[1])) for a, b in pairwise(stops)), 90.0]
    turns = [round(abs((b - a + 180) % 360 - 180) / 30) for a, b in pairwise(headings)]
    assert solved.steps == len(stops) - 1 + sum(turns)
    looks = [np.array([[*stop, 0, 0, yaw] for yaw in (0, 90, 180, 270)]) for stop in stops[last:-1]]
    shown = [int(view.sight.shown(own, np.ones(4, dtype=np.intp)).pixels.max()) for own in looks]
    assert len(set(shown)) == 4
    for n, pixels in enumerate(shown):
        first = next(k for k, other in enumerate(shown) if other >= pixels)
        found = oracle.solve(start, chain, pose, pixels)
        assert found is not None
        assert found.found_after == last + first + sum(turns[: last + first]), n
    nowhere = oracle.solve(start, chain, pose, max(shown) + 1)
    assert nowhere is not None
    assert nowhere.found_after == nowhere.steps == solved.steps


def test_a_sign_is_read_from_near_and_from_before_it() -> None:
    """From 3.5 m above the middle of a front of 5 m with ten letters: 320 * 0.5 / hypot(look, 3.5) pixels each."""
    facts = city(
        house("wall", 20.0, 30.0, 60.0, 19.8), shop("a", 40.0, "TEN LETTER", y=50.0, facing_deg=0.0), slabs_m=(5.0,)
    )
    for look_m, pixels in ((30.0, 5.3), (33.0, 4.82)):
        observer = Observer(CityView(scene(facts), CityRules(look_m=(look_m,), read_pixels_min=400)))
        i = observer.view.index["a"]
        observed = observer.observe((i,), 400, 0.0)
        found = {own.name: own for own in observed.rules}
        assert found["letters_too_small"].value == pytest.approx(pixels, abs=0.01)
        assert (observed.pose is not None) is found["letters_too_small"].holds is (pixels >= 5)
        assert "letters_too_small" not in {own.name for own in observer.observe((i,), 399, 0.0).rules}
    # On the level of its middle, 10 m off: 59 and 61 degrees from straight before it; letters look half as wide.
    poses = [[40.0 + 10.0 * math.sin(turn), 50.0 + 10.0 * math.cos(turn), 1.5, 0.0, 0.0, 0.0]
             for turn in np.radians([59.0, -61.0])]  # fmt: skip
    told = [{own.name: own for own in rules} for rules in observer._legible(np.array(poses), [i])]
    assert [own["seen_edge_on"].value for own in told] == pytest.approx([59.0, 61.0])
    assert [own["seen_edge_on"].holds for own in told] == [True, False]
    assert told[0]["letters_too_small"].value == pytest.approx(320 * 0.5 * math.cos(math.radians(59)) / 10)


@pytest.mark.parametrize(
    ("low_m", "high_m", "away_m", "told"),
    [
        ([12.0, 10.0], [12.0, 10.0], [20.0, 21.0], [("tallest", 8)]),
        ([11.9, 10.0], [11.9, 10.0], [20.0, 21.0], []),
        ([12.0, 9.0], [12.0, 10.1], [20.0, 21.0], []),  # the other may be as tall as that
        ([9.0, 9.0], [9.0, 9.0], [28.1, 20.0], [("nearest", 3)]),
        ([9.0, 9.0], [9.0, 9.0], [27.9, 20.0], []),
        ([9.0], [9.0], [20.0], []),  # the only one
    ],
)
def test_one_building_is_clearly_the_most(
    low_m: list[float], high_m: list[float], away_m: list[float], told: list[tuple[str, int]]
) -> None:
    """The tallest by a fifth, the nearest by two fifths."""
    things, worth = np.array([8, 3][: len(low_m)]), np.zeros((2, 9))
    worth[:, things] = low_m, high_m
    view: Any = SimpleNamespace(query=SimpleNamespace(worth={"tallest": tuple(worth)}))
    assert _superlatives(view, things, np.array(away_m)) == told


def test_routes_lead_over_landmarks_that_give_nothing_away() -> None:
    """About the start are 1, 2 (banned), 3 and 5 (no landmark); 1, 2, 4 and 5 lie about the target, 9."""
    into = {1: [[3], []], 4: [[1, 2], [3, 5]]}
    is_landmark = np.arange(10) != 5
    view: Any = SimpleNamespace(query=SimpleNamespace(is_landmark=is_landmark, into=into.__getitem__))
    seen, last = {1: [0], 2: [1], 3: [2], 5: [0]}, {1: [0], 2: [0], 4: [1], 5: [1]}
    assert _routes(view, 9, seen, last, {2, 9}) == {
        1: [],
        2: [StartRoute((1, 9), (0, 0))],
        3: [
            StartRoute((3, 1, 9), (2, 0, 0)),
            StartRoute((1, 4, 9), (0, 0, 1)),
            StartRoute((3, 4, 9), (2, 1, 1)),
        ],
    }
    assert _routes(view, 3, seen, {}, {2, 3})[1] == [StartRoute((3,), (2,))]
