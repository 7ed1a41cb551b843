"""Raw tasks: which stay when answers are made even, in which order they are tried, and what gives an answer away."""

from __future__ import annotations

from collections import Counter

import pytest

from pipeline.benchmarks.cityeqa.raw import CLOSED, RawQuestion, evened, in_turns
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.tasks.base import known_of
from pipeline.benchmarks.cityeqa.tasks.recognition import ObjectRecognition
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Phrase
from tests.benchmarks.cityeqa.cities import sample, tasks_of

DIRECTIONS = ("north", "east", "south", "west")


def raw(
    number: int, answer: str, others: tuple[str, ...], kind: str = "k", even: str = "", **more: object
) -> RawQuestion:
    facts = {"phrases": (Phrase("shop"),), "part": "ask_colour", "shown": (number,), "pixels_min": 1} | more
    return RawQuestion(
        kind=kind, target=number, operands=(f"t{number}",), answer=answer, others=others, answer_type=CLOSED,
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
    # Of more that there may be, none over twice as often as the median.
    assert counted("aaaaaaaaabbc", tuple("abcdefgh")) == {"a": 4, "b": 2, "c": 1}


def test_a_kind_that_is_even_within_many_things_takes_no_more_turns() -> None:
    pairs = [raw(10 * n + k, "ab"[k], ("a", "b"), "nearer", f"pair {n}") for n in range(20) for k in range(2)]
    ways = [raw(1000 + n, DIRECTIONS[n % 4], DIRECTIONS, "direction") for n in range(40)]
    first = in_turns([*pairs, *ways], "city")[:30]
    assert Counter(one.kind for one in first) == {"nearer": 10, "direction": 20}


@pytest.mark.parametrize(
    ("part", "called", "answer", "others", "given"),
    [
        ("ask_roof_colour", Phrase("building", colour="orange"), "orange", ("orange", "red"), True),
        ("ask_roof_colour", Phrase("building", colour="orange"), "red", ("orange", "red"), False),
        ("ask_roof_colour", Phrase("building"), "orange", ("orange", "red"), False),
        ("ask_noun", Phrase("shop", name="The Old Bar"), "bar", ("bar", "bank"), True),
        ("ask_noun", Phrase("shop", name="Barbara"), "bar", ("bar", "bank"), False),
        ("ask_roof_shape", Phrase("building"), "flat", ("flat", "pitched", "pointed", "domed", "rounded"), False),
    ],
)
def test_what_gives_an_answer_away(
    part: str, called: Phrase, answer: str, others: tuple[str, ...], given: bool
) -> None:
    fields = {"general": "shop"} if part == "ask_noun" else {}
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


def test_answers_that_differ_in_case_alone_are_one() -> None:
    assert known_of(["ubs", None, "UBS", "", "BNP", "B.N.P"]) == ("B.N.P", "BNP", "UBS")
