"""Raw tasks: which stay when answers are made even, in which order they are tried, and what gives an answer away."""

import re
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.columns import _beside_table_4
from pipeline.benchmarks.cityeqa.extra_starts import worded
from pipeline.benchmarks.cityeqa.query import Hop, Query, RouteLimits, RouteQuery
from pipeline.benchmarks.cityeqa.raw import (
    CLOSED,
    YES_NO,
    RawQuestion,
    evened,
    in_turns,
    offered,
    one_way,
    raw_checks,
    split_of,
)
from pipeline.benchmarks.cityeqa.released import TABLE_4
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.base import known_of, names_of_split, other_names, others_of
from pipeline.benchmarks.cityeqa.tasks.counting import Counting
from pipeline.benchmarks.cityeqa.tasks.recognition import ObjectRecognition
from pipeline.benchmarks.cityeqa.tasks.registry import CITY_TASKS
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import RELATIONS, Phrase
from pipeline.core.identity import question_ids
from pipeline.core.schema import Source
from pipeline.core.templates import load_table
from pipeline.worlds.city.facts import City, CityScene
from tests.benchmarks.cityeqa.cities import sample, tasks_of
from tests.worlds.city.cities import city, house, point

DIRECTIONS = ("north", "east", "south", "west")


def raw(
    number: int, answer: str, others: tuple[str, ...], kind: str = "k", even: str = "", **more: object
) -> RawQuestion:
    facts = {"phrases": (Phrase("shop"),), "part": "ask_colour", "shown": (number,), "pixels_min": 1}
    facts |= {"operands": (f"t{number}",)} | more
    return RawQuestion(
        kind=kind, target=number, answer=answer, others=others, answer_type=CLOSED,
        even=even, **facts,  # type: ignore[arg-type]
    )  # fmt: skip


def counted(answers: str, others: tuple[str, ...], spare: int = 1) -> Counter[str]:
    raws = [raw(n, answer, others) for n, answer in enumerate(answers)]
    kept = evened(raws, spare)
    return Counter(one.answer for one in raws if one.key in kept)


def test_few_answers_are_made_exactly_even() -> None:
    assert counted("aaaaabbb", tuple("ab")) == {"a": 3, "b": 3}
    assert counted("aaaaabbbccd", tuple("abcd")) == dict.fromkeys("abcd", 1)
    assert counted("aaaab", tuple("ab"), spare=2) == {"a": 2, "b": 1}
    assert counted("aaaa", tuple("ab")) == {}
    # Of more that there may be, each as often as the rarest that is there.
    assert counted("aaaaaaaaabbbcc", tuple("abcdefgh")) == {"a": 2, "b": 2, "c": 2}


def test_few_answers_are_even_within_each_split() -> None:
    """Else who knows what is rare in the one knows what is frequent in the other."""
    raws = [
        raw(n, answer, ("a", "b"), split=split)
        for n, (answer, split) in enumerate(zip("aaabbab", "xxyxyyz", strict=False))
    ]
    kept = [one for one in raws if one.key in evened(raws)]
    assert Counter((one.split, one.answer) for one in kept) == {(s, a): 1 for s in "xy" for a in "ab"}


@pytest.mark.parametrize(
    ("train", "test", "stay"),
    [
        ("abc", "addee", "ad"),  # no more that train lacks than it has
        ("abc", "de", ""),
        ("abcd", "abef", "abef"),
        ("abcde", "abf", "ab"),  # train has enough to guess among
        ("aabbc", "aabb", "aabb"),  # as often as any other of the same split
        ("", "ab", "ab"),  # nothing to learn from
        ("ab", "ab", "ab"),
        ("ab", "a", ""),  # of two both, or none
        ("ab", "aac", "ac"),
    ],
)
def test_who_knows_train_finds_the_answer_neither_there_nor_among_the_rest(train: str, test: str, stay: str) -> None:
    told = [(answer, split) for split, answers in (("train", train), ("test", test)) for answer in answers]
    raws = [raw(n, answer, tuple("abcdefgh"), split=split) for n, (answer, split) in enumerate(told)]
    kept = evened(raws)
    assert sorted(one.answer for one in raws if one.key in kept and one.split == "test") == list(stay)
    assert {one.answer for one in raws if one.key in kept and one.split == "train"} == set(train)


@pytest.mark.parametrize(
    ("train", "test", "stay", "among"),
    [
        ("nesw", "nesw", "nesw", "nesw"),
        ("nnsw", "ee", "", ""),  # a lone answer is known without a look
        ("nnsw", "nne", "ne", "ne"),
        ("nnsw", "ss", "", ""),
        ("n", "eww", "ew", "ew"),
    ],
)
def test_of_four_directions_those_that_a_split_has_are_even_and_offered(
    train: str, test: str, stay: str, among: str
) -> None:
    told = [(answer, split) for split, answers in (("train", train), ("test", test)) for answer in answers]
    raws = [raw(n, answer, tuple("nesw"), split=split) for n, (answer, split) in enumerate(told)]
    own = [one for one in offered([one for one in raws if one.key in evened(raws)]) if one.split == "test"]
    assert sorted(one.answer for one in own) == sorted(stay)
    assert {one.others for one in own} == ({tuple(c for c in "nesw" if c in among)} if among else set())


def test_of_two_ways_round_the_rarer_answer_is_asked() -> None:
    ways = [(0, "n", "ab"), (1, "s", "ab"), (2, "n", "cd"), (3, "s", "cd"), (4, "n", "ef"), (5, "w", "")]
    raws = [raw(n, answer, tuple("nesw"), pair=tuple(pair)) for n, answer, pair in ways]
    kept = [one for one in raws if one.key in one_way(raws)]
    assert {one.pair for one in kept} == {one.pair for one in raws}
    assert Counter(one.answer for one in kept) in ({"n": 2, "s": 1, "w": 1}, {"n": 1, "s": 2, "w": 1})
    assert len(kept) == 4


def test_of_a_shop_a_true_and_a_false_use_are_asked() -> None:
    """Of many one is right, so that who reads all of them would say no; here all answers turned round fit as well."""
    sorts = ("bread", "money", "money", "shoes", "toys")
    raws = [
        raw(n, answer, YES_NO, "use", use, crossed=True, split="test", operands=(f"t{n}", use))
        for n, own in enumerate(sorts)
        for use in sorted({*sorts})
        for answer in [YES_NO[own != use]]
    ]
    kept = evened(raws)
    found = Counter((of, one.answer) for one in raws if one.key in kept for of in (one.target, one.even))
    assert len(kept) == 10
    assert {found[target, answer] for target in range(5) for answer in YES_NO} == {1}
    assert all(found[use, "yes"] == found[use, "no"] > 0 for use in sorts)


def test_a_kind_that_is_even_within_many_things_takes_no_more_turns() -> None:
    pairs = [raw(10 * n + k, "ab"[k], ("a", "b"), "nearer", f"pair {n}") for n in range(20) for k in range(2)]
    ways = [raw(1000 + n, DIRECTIONS[n % 4], DIRECTIONS, "direction") for n in range(40)]
    first = in_turns([*pairs, *ways], "city")[:30]
    assert Counter(one.kind for one in first) == {"nearer": 10, "direction": 20}


def test_a_fifth_of_what_is_counted_are_storeys() -> None:
    """Of 18 raw tasks that are tried, in the share of table 4, four are of storeys; the fifth is over that limit."""
    raws = [raw(n, "two", ("one", "two"), "storeys" if n % 2 else "number") for n in range(10)]
    tried, refused = Counting()._tried(raws, 18)
    assert [one.kind for one in tried] == [one.kind for one in raws[:9]]
    assert [(case.refusal.reason, case.refusal.measured, case.refusal.limit) for case in refused if case.refusal] == [
        ("more_than_are_tried", 5, 4)
    ]
    assert {name: task.share for name, task in CITY_TASKS.items()} == {
        name: sum(cells) for name, cells in TABLE_4.items()
    }
    paper = sum(task.share for task in CITY_TASKS.values())
    assert paper == 1412
    assert sum(CITYEQA.tiny.values()) == 200
    assert all(abs(n - 200 * CITY_TASKS[name].share / paper) < 0.5 for name, n in CITYEQA.tiny.items())


def test_the_card_has_the_mix_beside_that_of_the_paper() -> None:
    solved = {("Counting", True): 1, ("Counting", False): 1, ("Spatial Reasoning", True): 1}
    lines = _beside_table_4(Counter(solved | {("Counting", "number"): 1, ("Spatial Reasoning", "open text"): 1}))
    assert lines[2] == "Counting: 33% of all tasks (in the paper 15%): 1 number (205)."
    assert lines[4].endswith("(in the paper 14%): 0 yes/no (52), 0 closed text (83), 1 open text (68).")


@pytest.mark.parametrize(
    ("part", "called", "answer", "others", "given"),
    [
        ("ask_roof_colour", Phrase("building", colour="orange"), "orange", ("orange", "red"), True),
        ("ask_roof_colour", Phrase("building", colour="orange"), "red", ("orange", "red"), False),
        ("ask_roof_colour", Phrase("building"), "orange", ("orange", "red"), False),
        ("ask_noun", Phrase("shop", name="The Old Bar"), "bar", ("bar", "bank"), True),
        ("ask_noun", Phrase("shop", name="Barbara"), "bar", ("bar", "bank"), False),
        ("ask_bearing", Phrase("building"), "north", ("north", "east", "south", "west"), False),
    ],
)
def test_what_gives_an_answer_away(
    part: str, called: Phrase, answer: str, others: tuple[str, ...], given: bool
) -> None:
    fields = {"ask_noun": {"general": "shop"}, "ask_bearing": {"other": "the bank"}}.get(part, {})
    assert raw(1, answer, others, part=part, fields=fields).gives_away(called) is given


def test_of_a_kind_with_many_things_some_are_drawn_and_the_rest_is_told() -> None:
    """Two shops of more are asked about, the same whatever else is there; every thing is still counted and named."""
    few, all_of_them = CityRules(things_per_kind=2), CityRules()
    view = CityView(sample("arden"), few)
    shops, drawn = view.of_kind("shop").tolist(), view.targets("shop")
    assert len(shops) > 2
    assert len(drawn) == 2
    assert set(drawn) < set(shops)
    raws = list(ObjectRecognition().raws(view))
    assert {one.target for one in raws if one.kind == "sort"} <= set(drawn)
    whole = {one.key: one for one in ObjectRecognition().raws(CityView(sample("arden"), all_of_them))}
    assert all(whole[one.key] == one for one in raws)  # what is asked about a thing does not hang on the draw
    _, rejections = tasks_of(sample("arden"), few, "Object Recognition")
    told = {row["operands"][0]: row for row in rejections if row["reason"] == "things_are_drawn"}
    assert (told["shop"]["measured"], told["shop"]["limit"]) == (len(shops), 2)


def test_people_check_each_raw_task_once_and_the_poses_of_a_fifth() -> None:
    """Two starts of one raw task and one each of others: texts, options, what is told and what hangs on the answer."""
    told = [{"name": name, "value": 1.0} for name in ("observation_pose", "path", "target_pose", "coverage")]
    rows = [
        {
            "id": n, "scene": "city/here", "task": "Counting", "answer": "four", "group": "x", "evidence": told,
            "operands": [f"t{n // 2}", "storeys", f"{n} 1 5", "a > b"], "text": f"Start {n}: how many storeys?",
        }
        for n in range(60)
    ]  # fmt: skip
    found = raw_checks(reversed(rows))
    of_tasks = [one for one in found if one["task"] == "raw_task"]
    assert [(one["operands"], one["asked"]) for one in of_tasks] == sorted(
        ([f"t{n}", "storeys"], [2 * n, 2 * n + 1]) for n in range(30)
    )
    assert of_tasks[0]["text"] == (
        "Counting: “Start 0: how many storeys?” Answer: “four”. The picture is the view from the observation pose."
    )
    of_poses = [one for one in found if one["task"] == "raw_pose"]
    numbers = {n: question_ids("city/here", "raw_pose", "", [[f"t{n}", "storeys"]])[0] for n in range(30)}
    assert [one["operands"][0] for one in of_poses] == sorted(
        f"t{n}" for n, number in numbers.items() if not number % 5
    )
    assert 0 < len(of_poses) < 15
    assert of_poses[0]["text"].endswith(
        "” The picture is the view from the observation pose, with the target outlined."
    )
    for one in found:
        assert (one["ground_truth"], one["group"]) == ("A", None)
        assert one["id"] == question_ids("city/here", one["task"], "", [one["operands"]])[0]
        assert one["options"] == load_table("cityeqa/raw_review")[one["task"]]
        assert [fact["name"] for fact in one["evidence"]] == ["observation_pose", "target_pose"]


def test_answers_that_differ_in_case_alone_are_one() -> None:
    assert known_of(["ubs", None, "UBS", "", "BNP", "B.N.P"]) == ("B.N.P", "BNP", "UBS")


NORTH, EAST = RELATIONS.index("north"), RELATIONS.index("east")
FRONT = RELATIONS.index("front")


def scene_of(facts: City) -> CityScene:
    """Facts as a scene."""
    source = Source(reader="city", reader_version=1, files=(), sha256="")
    return CityScene(id="city/here", dataset="city", name="here", source=source, facts=facts)


def leads(facts: City, *legs: Hop) -> tuple[list[str], list[str]]:
    """What a wording leads to from the middle of the southern border, surely and possibly."""
    found = Query(facts, RouteLimits(10.0, 120.0, 60.0)).lead([RouteQuery(50.0, 1.0, legs)])
    sure, maybe = ([facts.things[i].id for i in np.sort(m.indices)] for m in found)
    return sure, maybe


def test_a_statue_leads_to_what_lies_east_of_it() -> None:
    facts = city(
        house("far", 80, 80, 8, 8), point("bench-1", "bench", 80.0, 50.0), point("bench-2", "bench", 20.0, 50.0),
        point("roon", "statue", 50.0, 50.0),
    )  # fmt: skip
    assert leads(facts, Hop(NORTH, Phrase("statue")), Hop(EAST, Phrase("bench"))) == (["bench-1"], ["bench-1"])


def test_a_memorial_of_unknown_looks_leads_nowhere_surely_and_may_be_the_statue() -> None:
    facts = city(
        house("far", 80, 80, 8, 8), point("bench-1", "bench", 80.0, 50.0), point("bench-2", "bench", 72.0, 12.0),
        point("roon", "statue", 50.0, 50.0),
        point("unclear", "statue", 50.0, 30.0, noun="memorial", doubt="what it looks like is not told"),
    )  # fmt: skip
    sure, maybe = leads(facts, Hop(NORTH, Phrase("statue")), Hop(EAST, Phrase("bench")))
    assert sure == ["bench-1"]
    assert maybe == ["bench-1", "bench-2"]
    assert not CityView(scene_of(facts), CityRules()).query.is_landmark[-1]


def test_a_shop_that_a_phrase_may_mean_leads_on_too() -> None:
    """A bank in a building is a bank to whoever reads "the bank", wherever the bank has a building of its own."""
    facts = city(
        house("own", 46, 40, 8, 8).model_copy(update={"noun": "bank"}),
        point("office", "shop", 40.0, 20.0, noun="bank"),
        point("bench-1", "bench", 80.0, 44.0), point("bench-2", "bench", 80.0, 20.0),
    )  # fmt: skip
    _, maybe = leads(facts, Hop(NORTH, Phrase("bank")), Hop(EAST, Phrase("bench")))
    assert maybe == ["bench-1", "bench-2"]


def test_nothing_is_surely_in_front_of_a_square() -> None:
    facts = city(
        house("far", 80, 80, 8, 8), point("bench-1", "bench", 50.0, 60.0),
        point("square", "square", 50.0, 50.0, facing_deg=0.0),
    )  # fmt: skip
    sure, maybe = leads(facts, Hop(NORTH, Phrase("square")), Hop(FRONT, Phrase("bench")))
    assert (sure, maybe) == ([], ["bench-1"])


def test_names_of_stops_are_asked_where_there_are_two() -> None:
    stops = [point(f"stop-{2 * i}", "bus stop", 20.0 + 60 * i, 50.0) for i in range(2)]  # of one split
    alike = [stop.model_copy(update={"name": "Market"}) for stop in stops]
    houses = [house("far", 80, 80, 8, 8)]
    other = alike[1].model_copy(update={"name": "Town Hall"})
    for stops, reasons in ((alike, {"other_names"}), ([alike[0], other], set())):
        _, refused = tasks_of(scene_of(city(*houses, *stops)), CityRules(), "Object Recognition")
        of_names = {row["reason"] for row in refused if row["operands"][0] == "name of a bus stop"}
        assert (of_names & {"other_names"}) == reasons
        assert of_names


def test_a_shop_that_is_asked_what_it_is_goes_by_no_name() -> None:
    """Of "the shop named Planet Pasta" everybody knows what it is for, and of a chain who knows the chain."""
    facts = city(
        house("h", 40, 40, 20, 20),
        point("pasta", "shop", 50.0, 40.0, noun="restaurant").model_copy(update={"name": "Planet Pasta"}),
        point("lacy", "shop", 50.0, 60.0, noun="shoe shop", sign="LACY").model_copy(update={"name": "Lacy"}),
    )
    view = CityView(scene_of(facts), CityRules())
    for number, thing in enumerate(view.things):
        if thing.kind == "shop":
            assert any(p.name for p in view.phrases(number)) == (view.asked_of(number) == "")
            assert {(p.noun, p.name) for p in view.unsorted_phrases(number)} == {("business", None)}


def chosen_by_lot(view: CityView) -> list[RawQuestion]:
    """All raw tasks but those that a lot leaves out."""
    raws = [raw for task in CITY_TASKS.values() for raw in task.raws(view)]
    return [raw for raw in raws if all(one.holds for one in raw.checks if one.name == "tells_another_answer")]


def test_no_text_about_a_shop_tells_what_is_asked_of_it() -> None:
    view = CityView(sample("arden"), CityRules())
    raws = [raw for raw in chosen_by_lot(view) if view.things[raw.target].kind == "shop"]
    asked: dict[int, set[str]] = defaultdict(set)
    for one in raws:
        of = {"name": "name", "sort": "noun", "use": "use", "colour of a board": "sign"}
        thing, part = view.things[one.target], of.get(one.kind)
        asked[one.target] |= {part} if part else set()
        for phrase in one.phrases:
            told = {"name": phrase.name, "noun": phrase.noun == thing.noun != "shop", "sign": phrase.sign}
            told["use"] = told["noun"] or phrase.name
            assert not told.get(view.asked_of(one.target))
    assert all(parts <= {view.asked_of(target)} for target, parts in asked.items())
    assert {part for parts in asked.values() for part in parts} == {"name", "noun", "use", "sign"}
    assert any(one.kind == "name" and one.broken is None for one in raws), "several shops are of a sort"


def test_of_a_vehicle_at_another_thing_one_question_is_asked() -> None:
    view = CityView(sample("arden"), CityRules())
    asked: dict[int, set[str]] = defaultdict(set)
    for one in chosen_by_lot(view):
        if "vehicle" in one.kind or one.kind.startswith("colour of the car "):
            asked[one.about[0]].add(one.kind.partition(" in")[0].partition(" nearest")[0])
    assert set.union(*asked.values()) == {"vehicle", "which vehicle", "colour of the car"}
    assert all(len(kinds) == 1 for kinds in asked.values())


def test_numbers_offered_are_those_that_the_city_has_of_a_kind() -> None:
    view = CityView(sample("arden"), CityRules())
    raws = [one for one in Counting().raws(view) if one.broken is None]
    for one in raws:
        assert set(one.others) == {other.answer for other in raws if other.kind == one.kind}


@pytest.mark.parametrize(
    ("first", "last", "reads"),
    [
        (Phrase("building", "red"), Phrase("building"), False),  # of which of the two?
        (Phrase("building"), Phrase("building", "red"), True),
        (Phrase("building", "red"), Phrase("building", corner=True), True),
        (Phrase("park"), Phrase("building"), True),
        (Phrase("building", "white"), Phrase("building", corner=True), False),  # white is offered, and so less likely
        (Phrase("building", "grey"), Phrase("park"), False),  # the answer
    ],
)
def test_a_way_is_not_called_like_the_target_or_an_answer(first: Phrase, last: Phrase, reads: bool) -> None:
    asked = raw(0, "grey", ("grey", "white"), phrases=(last,), part="ask_wall_colour")
    text = worded(RouteQuery(50.0, 1.0, (Hop(NORTH, first), Hop(EAST, last))), asked)
    assert (text is not None) == reads
    assert text is None or re.search(f"the walls of {last.definite}", text)


@pytest.mark.parametrize("number", [2, 3, 4, 5, 9, 16])
def test_answers_are_offered_in_blocks_of_which_all_are_offered_equally_often(number: int) -> None:
    """Were each drawn for itself, the right one would be offered less by other questions, which ask for others."""
    view: Any = SimpleNamespace(scene=SimpleNamespace(id="city/x"))
    known = [f"name {n:02}" for n in range(number)]
    offered = {own: others_of(view, own.upper(), known, 3, "name") for own in known}
    for own, block in offered.items():
        assert own in block
        assert 2 <= len(block) <= 4
        assert all(offered[other] == block for other in block)
    assert set(others_of(view, None, known, 3, "name")) <= set(known)


def test_names_offered_are_those_of_the_same_split() -> None:
    """Of one thing alone in its split they are those of all."""
    view: Any = SimpleNamespace(
        scene=SimpleNamespace(id="city/x"), things=[SimpleNamespace(id=f"shop{n}") for n in range(40)], read=str
    )
    of = [split_of("city/x", f"shop{n}") for n in range(40)]
    for i, names in names_of_split(view, range(40)).items():
        assert {int(name) for name in names} == {j for j in range(40) if of[j] == of[i]}
    lone = of.index("test")
    some = [lone, *(i for i in range(40) if of[i] == "train")]
    assert names_of_split(view, some)[lone] == (str(lone),), "what train asks for is not offered"
    # Of others' names those that are asked for at targets of the split; with one alone there is nothing to choose.
    beside = [(i + 1) % 40 for i in some]
    names = names_of_split(view, some, beside)
    assert names[lone] == (str((lone + 1) % 40),)
    assert {int(name) for name in names[some[1]]} == set(beside[1:])
    assert not other_names(names[lone], str((lone + 1) % 40)).holds
    assert other_names(names[some[1]], str(beside[1])).holds
