"""Tasks of a sample city: answered again from their text, followed by agents, and held against their limits."""

import math
import re
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import shapely

from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.raw import ANSWER_TYPES, evened
from pipeline.benchmarks.cityeqa.released import CATEGORIES
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.spatial import SpatialReasoning
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import DIRECTIONS, parse, render
from pipeline.metrics.number_words import normalised
from pipeline.worlds.city.facts import CityScene, RawTask
from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.visibility import CitySight
from tests.benchmarks.cityeqa.agents import Agent
from tests.benchmarks.cityeqa.cities import ill_supplemented, sample, small, tasks_of
from tests.oracles.city_answers import answer, plain, shape, targets
from tests.tables import digest_of_rows

RULES = CityRules(raw_tasks_per_category=3)
MORE = CityRules(raw_tasks_per_category=12)  # of categories whose answers are made even over few of a kind
USES, LOOKS = "World Knowledge", "Attribute Recognition"
Row = dict[str, Any]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made() -> tuple[list[Row], list[Row]]:
    """Released rows of a sample city, and rejections."""
    few = tasks_of(sample("arden"), RULES, *(name for name in CATEGORIES if name not in {USES, LOOKS}))
    more = tasks_of(sample("arden"), MORE, LOOKS)
    return few[0] + more[0], few[1] + more[1]


@pytest.fixture(scope="module")
def rows(made: tuple[list[Row], list[Row]]) -> list[Row]:
    """Released rows of a sample city."""
    return made[0]


def test_every_task_leads_to_one_thing_and_has_its_answer(rows: list[Row]) -> None:
    """From the text alone, by shapely: no other thing fits any text, and every answer comes out again."""
    city = sample("arden").facts
    for row in rows:
        found = targets(city, row["question"], tuple(row["initial_pose"][:2]))
        assert [thing.id for thing in found] == [row["group"].partition("/")[2]], row["question"]
        assert answer(city, row["question"], found[0]) == row["answer"], row["question"]


def test_what_shops_are_for() -> None:
    """The sixth category, in a city with more shops: as often the answer is yes as no, of each shop once at most."""
    city = sample("brookfield").facts
    rows, _ = tasks_of(sample("brookfield"), MORE, USES)
    for row in rows:
        found = targets(city, row["question"], tuple(row["initial_pose"][:2]))
        assert [thing.id for thing in found] == [row["group"].partition("/")[2]], row["question"]
        assert answer(city, row["question"], found[0]) == row["answer"], row["question"]
    raws = {row["raw"]: row["answer"] for row in rows}
    count = Counter(raws.values())
    assert count["yes"] == count["no"] > 0
    assert (
        max(Counter((row["group"], row["answer"]) for row in {row["raw"]: row for row in rows}.values()).values()) == 1
    )


def test_categories_types_and_hops_are_there(rows: list[Row]) -> None:
    assert {row["category"] for row in rows} == set(CATEGORIES) - {USES}
    assert {row["answer_type"] for row in rows} == set(ANSWER_TYPES)
    assert {row["hops"] for row in rows} == {1, 2, 3}


def test_the_target_s_pose_is_its_place_and_where_it_faces(rows: list[Row]) -> None:
    things = {thing.id: thing for thing in sample("arden").facts.things}
    targets = [things[row["group"].partition("/")[2]] for row in rows]
    posed = [(*row["target_pose"][:2], row["target_pose"][5]) for row in rows]
    assert posed == [(*thing.center, thing.facing_deg or 0.0) for thing in targets]
    assert {yaw != 0 for _, _, yaw in posed} == {True, False}


def test_texts_read_back(rows: list[Row]) -> None:
    for row in rows:
        told = parse(row["question"])
        assert render(told) == row["question"]
        assert len(told.hops) == row["hops"]


def test_starts_are_free_hidden_apart_and_look_elsewhere(rows: list[Row]) -> None:
    """Of every question four to six starts in three eighths of the compass, none in or near a building's walls."""
    scene = sample("arden")
    city = scene.facts
    by_id = {thing.id: thing for thing in city.things}
    solid = shapely.union_all([shape(t) for t in city.things if t.kind == "building"])
    sight, free = CitySight(city), FreeSpace(city)
    index = {thing.id: i for i, thing in enumerate(city.things)}
    for row in rows:
        target = by_id[row["group"].partition("/")[2]]
        x, y, z, _, _, yaw = row["initial_pose"]
        dx, dy = x - target.center[0], y - target.center[1]
        assert 30 <= math.hypot(dx, dy) <= 200
        assert solid.distance(shapely.Point(x, y)) >= RULES.body_m
        assert free.free(np.array([[x, y, z]]))[0]
        told = parse(row["question"])
        assert yaw != 90 * DIRECTIONS.index(told.hops[0].direction)
        looks = np.array([[x, y, z, 0, 0, turn] for turn in (0, 90, 180, 270)], dtype=float)
        assert not sight.shown(looks, np.full(4, index[target.id])).pixels.any()
    assert ill_supplemented(scene, rows, RULES) == []


def test_the_observation_shows_the_target(rows: list[Row]) -> None:
    city = sample("arden").facts
    index = {thing.id: i for i, thing in enumerate(city.things)}
    sight = CitySight(city)
    for row in rows:
        if "signboard of" in row["question"]:
            continue  # there the board is looked at
        pose = np.array([row["observation_pose"]])
        thing = np.array([index[row["group"].partition("/")[2]]])
        assert sight.shown(pose, thing).pixels[0] >= RULES.pixels_min // 4


def test_the_oracle_goes_by_free_moves_and_its_steps_are_counted_again(rows: list[Row]) -> None:
    """From the released way alone: moves of 10 m at most, each through free space, and turns of 30 degrees."""
    free = FreeSpace(sample("arden").facts, 0.2)  # moves are straight, and may graze a corner that the grid goes round
    for row in rows:
        stops = np.column_stack([row["oracle_x"], row["oracle_y"]])
        moves = np.diff(stops, axis=0)
        assert np.hypot(*moves.T).max() <= 10 + 1e-6
        shares = np.linspace(0, 1, 11)[:, None, None]
        along = (stops[:-1] + shares * moves).reshape(-1, 2)
        assert free.free(np.c_[along, np.full(len(along), row["initial_pose"][2])]).all(), row["question_id"]
        headings = [row["initial_pose"][5], *(math.degrees(math.atan2(x, y)) for x, y in moves)]
        headings.append(row["observation_pose"][5])
        turns = [round(abs((b - a + 180) % 360 - 180) / 30) for a, b in pairwise(headings)]
        assert row["oracle_steps"] == len(moves) + sum(turns) <= CityRules().steps_max == 50
        assert math.dist(stops[-1], row["observation_pose"][:2]) < 1.5


def test_answers_are_even(rows: list[Row]) -> None:
    """Who knows the category and the answers' kind alone is right about half of the questions with yes or no."""
    count = Counter(row["answer"] for row in rows if row["category"] == "Existence Judgement")
    assert abs(count["yes"] - count["no"]) <= 6  # from four or from six starts
    raws = {
        (row["group"], *found.groups(), row["answer"])
        for row in rows
        if (found := re.search(r"Is there any (.+?) within (\d+) metres", row["question"]))
    }
    even = Counter((asked, metres, answer) for _, asked, metres, answer in raws)
    assert even  # nor does who knows the distance
    assert all(even[asked, metres, "yes"] == even[asked, metres, "no"] for asked, metres, _ in even)


def test_which_is_nearer_is_even_over_pairs_and_places() -> None:
    """Each of two things is nearer as often as the other, and a pair is always said in one order."""
    view = CityView(sample("arden"), CityRules())
    raws = [raw for raw in SpatialReasoning().raws(view) if raw.kind == "nearer" and raw.broken is None]
    kept = evened(raws)
    answers: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for raw in (raw for raw in raws if raw.key in kept):
        answers[raw.fields["one"], raw.fields["other"]][raw.answer] += 1
    assert len(answers) >= 4
    for (one, other), count in answers.items():
        assert (other, one) not in answers
        assert count[one] == count[other] > 0


def test_no_question_gives_its_answer(rows: list[Row]) -> None:
    """Where the answer is in the question, other answers are too."""
    lists = ("Which is nearer", "In ", "What shape", "Is ", "What is the")
    for row in rows:
        question = plain(row["question"].partition("Please tell me ")[2])
        if not question.startswith(lists):
            assert f" {normalised(row['answer'])} " not in f" {normalised(question)} ", row["question"]


@pytest.fixture(scope="module")
def agent() -> Agent:
    """One that knows nothing of how tasks are made."""
    return Agent(sample("arden").facts)


def test_who_looks_everywhere_finds_every_target(rows: list[Row], agent: Agent) -> None:
    for row in {(row["group"], row["initial_pose"][2]): row for row in rows}.values():
        assert agent.everywhere(row), row["question"]


def test_who_goes_by_the_words_finds_every_target(rows: list[Row], agent: Agent) -> None:
    for row in {(row["group"], row["hops"]): row for row in rows}.values():
        assert agent.by_words(row), row["question"]


def test_the_oracle_makes_no_fewer_moves_than_are_needed(rows: list[Row], agent: Agent) -> None:
    """Never fewer than a breadth-first search, or than its own way has tens of metres; turns come on top.

    Without a landmark between, its way is the shortest but for where in their cells the ends are.
    """
    for row in rows:
        stops = np.column_stack([row["oracle_x"], row["oracle_y"]])
        moves, length = len(stops) - 1, np.hypot(*np.diff(stops, axis=0).T).sum()
        assert row["oracle_steps"] >= moves >= length / 10
        if row["hops"] == 1:
            assert length <= row["path_m"] + 1.5
    for row in {row["group"]: row for row in rows}.values():
        assert len(row["oracle_x"]) - 1 >= agent.fewest_moves(row), row["question_id"]


def test_splits_keep_targets_together(rows: list[Row]) -> None:
    split: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        split[row["group"]].add(row["split"])
    assert all(len(found) == 1 for found in split.values())


def test_rejections_name_what_was_measured(made: tuple[list[Row], list[Row]]) -> None:
    refused = made[1]
    assert all(row["measured"] is not None and row["limit"] is not None for row in refused)
    other = next(row for row in refused if row["reason"] == "possible_targets")
    assert other["unit"].startswith("things: ")


@pytest.mark.long
def test_tasks_are_the_same_again_whatever_else_is_asked(rows: list[Row]) -> None:
    again, _ = tasks_of(sample("arden"), RULES, "Spatial Reasoning")
    assert again == [row for row in rows if row["category"] == "Spatial Reasoning"]


def test_what_people_wrote_takes_the_same_way() -> None:
    """A question of people's with its own pose; others whose target is not known, or whose pose is in a wall."""
    scene = sample("arden")
    rows, _ = tasks_of(scene, RULES, "World Knowledge")
    shop = rows[0]
    (pose, point, target) = (shop["observation_pose"], shop["target_pose"][:3], shop["group"].partition("/")[2])
    base = {"question": "Is it open on Sundays?", "answer": "yes", "category": "World Knowledge", "p_obs": pose}
    thing = next(t for t in scene.facts.things if t.id == target)
    wall = next(t for t in scene.facts.things if t.kind == "building")
    written = [
        RawTask(id="good", target=target, point=point, **base),
        RawTask(id="lost", target=None, point=point, **base),
        RawTask(id="wall", target=target, point=point, **base | {"p_obs": (*wall.center, 5.0, 0.0, 0.0, 0.0)}),
    ]
    rows, refused = tasks_of(
        scene.with_facts(tasks=tuple(written)), CityRules(raw_tasks_per_category=1), "World Knowledge"
    )
    rows = [row for row in rows if row["raw"][0] == "written"]
    assert len(rows) >= 4
    for row in rows:
        assert row["question"].endswith("Please tell me Is it open on Sundays?")
        assert row["observation_pose"] == pose
        assert targets(scene.facts, row["question"], tuple(row["initial_pose"][:2])) == [thing]
    told = {tuple(row["operands"][1:3]): row["reason"] for row in refused if row["operands"][0] == "written"}
    assert told["unknown", "lost"] == "target_unknown"
    assert told[target, "wall"] == "pose_not_free"


def with_things(scene: CityScene, kind: str = "", every: int = 1, **facts: Any) -> CityScene:
    """A city of which some things (of a kind, each second) have other facts, or none."""
    things = tuple(
        thing.model_copy(update=facts) if kind in {"", thing.kind} and number % every == 0 else thing
        for number, thing in enumerate(scene.facts.things)
    )
    return scene.with_facts(things=things)


@pytest.mark.slow
def test_what_a_map_does_not_tell_is_refused_by_name() -> None:
    city, rules = small(1), CityRules(raw_tasks_per_category=1)
    made = {
        "map_incomplete": (city.with_facts(complete=()), rules, "Counting"),
        "colour_unknown": (with_things(city, every=2, colour=None, roof_colour=None), rules, "Existence Judgement"),
        "half_storeys": (with_things(city, levels=2.5), rules, "Counting"),
        "height_unknown": (with_things(city, height_m=None, top_m=None, levels=None), rules, "Spatial Reasoning"),
        "other_colours": (with_things(city, colour="red"), rules, "Attribute Recognition"),
        "other_sorts": (with_things(small(7), "shop", noun="bakery"), rules, "Object Recognition"),
        "is_no_business": (with_things(city, "shop", noun="museum"), rules, "World Knowledge"),
        "no_name_to_read": (with_things(city, sign=None), rules, "Object Recognition"),
        "shows_what_it_is": (with_things(city, "shop", sign=None, name=None), rules, "World Knowledge"),
        "no_map": (city.with_facts(bounds=()), rules, "Counting"),
        "starts_free": (city, CityRules(start_min_m=150.0), "Attribute Recognition"),
    }
    met = {reason: {row["reason"] for row in tasks_of(scene, r, t)[1]} for reason, (scene, r, t) in made.items()}
    assert {reason for reason, found in met.items() if reason not in found} == set()
    raws = SpatialReasoning().raws(CityView(with_things(sample("arden"), "shop", noun="museum"), rules))
    asked = [raw for raw in raws if raw.kind in {"shop beside", "across"}]
    assert {raw.kind for raw in asked} == {"shop beside", "across"}
    assert all(any(own.name == "is_no_business" and not own.holds for own in raw.checks) for raw in asked)


IN_FULL = {
    "Object Recognition": "10 of 43: 106617a05ab4",
    "Attribute Recognition": "12 of 65: 5f06ffe187c0",
    "Counting": "0 of 313: bef3f93c40b0",
    "Existence Judgement": "36 of 558: cfb0f44626f2",
    "Spatial Reasoning": "23 of 212: 9ab90b4a479a",
    "World Knowledge": "12 of 60: 25b030721020",
}


@cache
def busy_view() -> CityView:
    return CityView(small(5), CityRules(raw_tasks_per_category=4))


@pytest.mark.parametrize("name", IN_FULL)
def test_all_that_is_asked_of_a_small_city(name: str) -> None:
    """A change of any answer, option, start, proof or refusal is seen; to read it, print the rows before and after."""
    rows = CITYEQA.by_name()[name].candidates(busy_view()).to_pylist()
    asked = sum(row["reason"] is None for row in rows)
    assert f"{asked} of {len(rows)}: {digest_of_rows(rows)}" == IN_FULL[name]
