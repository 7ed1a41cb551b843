from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.benchmarks.vsi.rules import PROFILES, ScanView
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.identity import rng_for
from pipeline.core.parquet import table_bytes
from pipeline.core.tables import CANDIDATES, UNCHECKED, rejected_in, selected_questions, unchecked_in
from pipeline.core.templates import load_template
from pipeline.questions import selection
from pipeline.questions.arrays import WRITTEN, ArrayTask
from pipeline.questions.choices import LETTERS
from pipeline.questions.selection import (
    OVER_CAP,
    SAME_FACT,
    SHARED_MAX,
    SHARES,
    THINNED,
    SpreadInput,
    _in_budgets,
    caps_of,
    choose,
    select,
    spread,
)
from pipeline.questions.task import Number
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.view import IndoorView
from tests.conftest import DIRECTIONS, METADATA_TASKS, make_scene, random_objects
from tests.tables import candidates

MEDIUM = "object_rel_direction_medium"
CAP = 6
answers = st.sampled_from(["left", "right", "back"])
few = settings(max_examples=10)  # whole scenes
some = settings(max_examples=20)
entries = st.dictionaries(st.integers(0, 2**53 - 1), answers, max_size=30)


def row(number: int, answer: str | None, **more: Any) -> dict[str, Any]:
    operands = [f"door {number}", "sofa", "tv"]
    return {"id": number, "scene": "made/room1", "task": MEDIUM, "operands": operands, "answer": answer} | more


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=CANDIDATES)


def chosen(given_entries: dict[int, str], cap: int = CAP) -> dict[int, str]:
    """As a released benchmark is selected: without spreading."""
    asked = selected_questions(select(table([row(*e) for e in given_entries.items()]), TASKS, cap, as_released=True))
    return dict(zip(asked["id"].to_pylist(), asked["answer"].to_pylist(), strict=True))


def of_random_scene(seed: int, profile: str = "strict") -> pa.Table:
    scene = make_scene(random_objects(seed, categories=8, repeated=2))
    return candidates(IndoorView(scene, PROFILES[profile]), [TASKS[t] for t in METADATA_TASKS])


@pytest.mark.slow
@some
@given(entries, st.integers(1, 12))
def test_the_cap_is_kept_and_reached(offered: dict[int, str], cap: int) -> None:
    found = chosen(offered, cap)
    assert len(found) == min(cap, len(offered))
    assert found.items() <= offered.items()


@pytest.mark.slow
@some
@given(entries, st.integers(1, 12))
def test_answers_take_turns(offered: dict[int, str], cap: int) -> None:
    """No answer gets a second question while another could have its first, and so on; lowest ids go first."""
    found, available = Counter(chosen(offered, cap).values()), Counter(offered.values())
    for answer, n in found.items():
        assert all(found[other] >= min(available[other], n - 1) for other in available)
        mine = sorted(i for i, a in offered.items() if a == answer)
        assert sorted(i for i, a in chosen(offered, cap).items() if a == answer) == mine[:n]


@pytest.mark.slow
@some
@given(entries, st.integers(0, 2**53 - 1), answers, st.integers(1, 12))
def test_one_more_candidate_displaces_at_most_one(offered: dict[int, str], number: int, answer: str, cap: int) -> None:
    if number in offered:
        return
    before, after = set(chosen(offered, cap)), set(chosen(offered | {number: answer}, cap))
    assert len(before - after) <= 1
    assert after - before <= {number}
    assert not before - after or after - before


@pytest.mark.slow
@few
@given(st.integers(0, 2**32 - 1))
def test_one_more_category_leaves_other_tasks_alone(seed: int) -> None:
    """Of one task as many are displaced as get in; a task without new candidates keeps its questions."""
    full = of_random_scene(seed)
    dropped = full.filter(pa.array([r["task"] != MEDIUM or r["id"] % 7 > 0 for r in full.to_pylist()]))
    for as_released, others in ((True, {MEDIUM}), (False, set(DIRECTIONS))):  # spread, a leak group is chosen together
        before, after = (
            selected_questions(select(t, TASKS, CAP, as_released=as_released)).to_pylist() for t in (dropped, full)
        )
        assert [r for r in before if r["task"] not in others] == [r for r in after if r["task"] not in others]


@pytest.mark.slow
@some
@given(entries, st.integers(1, 12))
def test_what_the_cap_displaced_carries_its_place(offered: dict[int, str], cap: int) -> None:
    selected = select(table([row(*e) for e in offered.items()]), TASKS, cap, as_released=True)
    displaced = rejected_in(selected).to_pylist()
    assert all((r["reason"], r["limit"], r["unit"]) == (OVER_CAP, cap, "place") for r in displaced)
    assert sorted(r["measured"] for r in displaced) == list(range(cap + 1, len(offered) + 1))
    assert {r["id"] for r in displaced} | set(chosen(offered, cap)) == set(offered)
    assert selected.num_rows == len(offered)
    kept_at_the_next_cap = set(chosen(offered, cap + 1)) - set(chosen(offered, cap))
    assert {r["id"] for r in displaced if r["measured"] == cap + 1} == kept_at_the_next_cap


@pytest.mark.slow
@few
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(PROFILES)))
def test_row_order_of_the_candidates_means_nothing(seed: int, profile: str) -> None:
    rows = of_random_scene(seed, profile)
    shuffled = rows.take(pa.array(np.random.default_rng(seed).permutation(rows.num_rows)))
    assert table_bytes(select(rows, TASKS, CAP)) == table_bytes(select(shuffled, TASKS, CAP))


@pytest.mark.slow
@few
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
def test_every_candidate_is_asked_or_rejected_once(seed: int, cap: int, as_released: bool) -> None:
    rows = of_random_scene(seed)
    selected = select(rows, TASKS, cap, as_released=as_released)
    assert sorted(selected["id"].to_pylist()) == sorted(rows["id"].to_pylist())
    refused = {r["id"]: r for r in rows.to_pylist() if r["reason"]}
    asked, rejected = selected_questions(selected).to_pylist(), rejected_in(selected).to_pylist()
    assert not refused.keys() & {q["id"] for q in asked}
    for r in rejected:
        if r["reason"] == SHARES:
            assert (r["measured"], r["limit"], r["unit"]) >= (3, 2, "objects")
        elif r["reason"] == THINNED:
            assert r["measured"] >= r["limit"], "its lot is not below the share that is asked"
        elif r["reason"] != OVER_CAP:
            before = refused[r["id"]]
            assert all(r[key] == before[key] for key in ("role", "operands", "reason", "measured", "limit", "unit"))
    per_task = Counter(q["task"] for q in asked)
    thinned = {r["id"] for r in rejected if r["reason"] == THINNED}
    could = Counter(r["task"] for r in rows.to_pylist() if r["reason"] is None and r["id"] not in thinned)
    spread_out = {task for task in could if TASKS[task].leak_group and not as_released}
    assert {t: n for t, n in per_task.items() if t not in spread_out} == {
        task: min(cap, n) for task, n in could.items() if task not in spread_out
    }
    assert all(per_task[task] <= cap for task in spread_out)
    keys = [(q["task"], q["id"]) for q in asked]
    assert keys == sorted(keys)


@pytest.mark.slow
@few
@given(st.integers(0, 2**32 - 1))
def test_options_text_and_truth_agree(seed: int) -> None:
    """Whatever is offered contains the truth once, at the letter that is given; numbers get choices of their own."""
    for question in selected_questions(select(of_random_scene(seed), TASKS, CAP)).to_pylist():
        task = TASKS[question["task"]]
        numeric = isinstance(task.form, Number)
        offered, letter = (
            (question["choices"], question["choice"]) if numeric else (question["options"], question["ground_truth"])
        )
        assert [o[:3] for o in offered] == [f"{x}. " for x in LETTERS[: len(offered)]]
        texts = [o[3:] for o in offered]
        assert len(set(texts)) == len(texts)
        assert texts.count(question["answer"]) == 1
        assert texts[LETTERS.index(letter)] == question["answer"]
        if numeric:
            assert (question["options"], question["ground_truth"]) == (None, question["answer"])
        else:
            assert (question["choices"], question["choice"]) == (None, None)
        fields = load_template(task.template).parse(question["text"])
        assert fields is not None
        assert task.canonical(fields) == tuple(question["operands"])
        if question["task"] == "object_rel_distance":
            assert list(fields["choices"]) == texts  # in the text in the order of the options


@pytest.mark.slow
@few
@given(st.integers(0, 2**32 - 1))
def test_letters_of_a_task_are_balanced(seed: int) -> None:
    questions = selected_questions(select(of_random_scene(seed), TASKS, 8)).to_pylist()
    for task in METADATA_TASKS:
        mine = [q for q in questions if q["task"] == task]
        letters = Counter(q["choice"] or q["ground_truth"] for q in mine)
        options = len(mine[0]["options"] or mine[0]["choices"]) if mine else 1
        counts = [letters[letter] for letter in LETTERS[:options]]
        assert max(counts) - min(counts) <= 1


def test_ours_is_worded_anew_and_a_release_is_not() -> None:
    """The verb follows the noun in our wording, and stays as published in the other."""
    rows = table([row(123, "left", operands=["door", "sofa", "headphones"])])
    (ours,), (released,) = (
        selected_questions(select(rows, TASKS, CAP, as_released=n)).to_pylist() for n in (False, True)
    )
    assert ours["text"].startswith("If I am standing by the door and facing the sofa, are the headphones to my left,")
    assert released["text"].startswith("If I am standing by the door and facing the sofa, is the headphones to my")
    assert ours | {"text": ""} == released | {"text": ""}


def test_golden_question() -> None:
    """A whole row, written out."""
    (question,) = selected_questions(select(table([row(123, "left", flags=["open_plan"])]), TASKS, CAP)).to_pylist()
    assert question.pop("text") == (
        "If I am standing by the door 123 and facing the sofa, is the tv to my left, right, or back?\n"
        "An object is to my back if I would have to turn at least 135 degrees in order to face it."
    )
    assert question == {
        "id": 123,
        "scene": "made/room1",
        "task": MEDIUM,
        "task_version": 1,
        "template": "vsi.object_rel_direction_medium",
        "template_version": 1,
        "operands": ["door 123", "sofa", "tv"],
        "group": None,
        "named": None,
        "options": ["A. back", "B. right", "C. left"],
        "ground_truth": "C",
        "answer": "left",
        "choices": None,
        "choice": None,
        "from_s": None,
        "until_s": None,
        "visible_in": None,
        "budgets": None,
        "evidence": None,
        "proof": None,
        "flags": ["open_plan"],
    }


def test_what_no_second_model_confirmed_takes_no_place_and_has_its_own_cap_and_letters() -> None:
    size = "object_size_estimation"
    sure = [row(n, "1", task=size, operands=["door"], wording="How long?", flags=[]) for n in range(10, 18)]
    held = [one | {"id": one["id"] - 10, "flags": ["model_assisted", UNCHECKED]} for one in sure]
    both, alone = (selected_questions(select(table(offered), TASKS, CAP)) for offered in ([*held, *sure], sure))
    apart = unchecked_in(both)
    assert both.filter(pc.invert(apart)).equals(alone)
    assert both.filter(apart)["id"].to_pylist() == list(range(CAP))
    assert Counter(both.filter(apart)["choice"].to_pylist()) == Counter(alone["choice"].to_pylist())


def test_what_is_held_or_written_by_people_is_not_counted_for_the_balance() -> None:
    found = [row(n, "left") for n in range(3)]
    held = [row(10 + n, "left", flags=[UNCHECKED]) for n in range(2)]
    written = [row(20 + n, "right", flags=[WRITTEN]) for n in range(2)]
    both = [row(30, "back", flags=[WRITTEN, UNCHECKED])]
    for others in ([], held, written, [*held, *written, *both]):
        (tally,) = choose(table([*found, *others]), TASKS, 9).tallies("made/room1").values()
        assert tally.classes == {"left": 3}


def test_what_people_wrote_goes_first() -> None:
    """Ids 900 and 901 come last by rank, and yet are kept."""
    rows = [row(number, "left") for number in range(10)] + [row(n, "left", flags=[WRITTEN]) for n in (900, 901)]
    asked = selected_questions(select(table(rows), TASKS, 4))
    assert asked["id"].to_pylist() == [0, 1, 900, 901]


@some
@given(entries, st.sets(st.integers(0, 2**53 - 1), max_size=20), st.integers(1, 6), st.booleans())
def test_what_is_refused_takes_no_place_and_displaces_nothing(
    offered: dict[int, str], refused: set[int], cap: int, as_released: bool
) -> None:
    """Neither beside a cap nor, where questions are spread, by the things that it names."""
    rows = [row(*entry) for entry in offered.items()]
    others = [
        row(number, None, reason="not_unique", measured=2.0, limit=1.0, unit="objects")
        for number in refused - {*offered}
    ]
    alone, among = (
        selected_questions(select(table(found), TASKS, cap, as_released=as_released)) for found in (rows, rows + others)
    )
    assert among.equals(alone)


def test_refused_candidates_keep_their_reasons() -> None:
    refused = row(5, None, reason="near_sector_boundary", measured=9.9, limit=10.0, unit="deg")
    role = row(6, None, role="facing", reason="not_unique", measured=2.0, limit=1.0, unit="objects")
    selected = select(table([refused, role, row(7, "left")]), TASKS, CAP)
    assert [(r["id"], r["role"], r["reason"], r["measured"]) for r in rejected_in(selected).to_pylist()] == [
        (5, None, "near_sector_boundary", 9.9),
        (6, "facing", "not_unique", 2.0),
    ]
    assert selected_questions(selected)["id"].to_pylist() == [7]


def test_a_lot_is_drawn_of_what_is_asked_less_often_than_it_occurs_and_of_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lots = {n: float(rng_for(n, THINNED).random()) for n in range(6)}
    rows = [row(n, "yes") | {"share": share} for n, share in enumerate((1.0, 0.0, 0.5, 1.0, lots[4], 0.9))]
    drawn: list[tuple[object, ...]] = []

    def noted(*identity: Any) -> np.random.Generator:
        drawn.append(identity)
        return rng_for(*identity)

    monkeypatch.setattr(selection, "rng_for", noted)
    found = choose(table(rows), TASKS, 9).thinned
    assert sorted(drawn) == [(n, THINNED) for n in (1, 2, 4, 5)]
    thinned = [n for n, one in enumerate(rows) if lots[n] >= one["share"]]
    assert found["row"].tolist() == thinned
    assert found["lot"].tolist() == [lots[n] for n in thinned]


@pytest.mark.parametrize("rows", [[], [row(5, None, reason="not_unique", measured=2.0, limit=1.0, unit="objects")]])
def test_nothing_to_ask(rows: list[dict[str, Any]]) -> None:
    selected = select(table(rows), TASKS, CAP)
    assert selected_questions(selected).num_rows == 0
    assert rejected_in(selected).num_rows == len(rows)


def test_a_task_without_a_share_is_refused() -> None:
    class Forgotten(ArrayTask[ScanView]):
        name = "forgotten"

    with pytest.raises(TypeError, match="benchmark vsi: task forgotten has no share"):
        replace(VSI, tasks=(*VSI.tasks, Forgotten()))


SPREAD_CAP = 6
KIN = (*DIRECTIONS, "object_rel_distance")


def kin_candidates(scene: IndoorScene, profile: str = "strict") -> pa.Table:
    return candidates(IndoorView(scene, PROFILES[profile]), [TASKS[task] for task in KIN])


def named(asked: pa.Table, leak_group: str | None) -> list[set[str]]:
    """What each question of a leak group names."""
    return [set(q["operands"]) for q in asked.to_pylist() if TASKS[q["task"]].leak_group == leak_group]


def triples(things: np.ndarray, task: int = 0) -> SpreadInput:
    """Candidates of one task and one answer."""
    return SpreadInput(
        np.full(len(things), task), np.zeros(len(things), dtype=np.intp), things, np.zeros(1), np.ones(1)
    )


def test_by_hand_everything_is_asked_about_before_anything_twice() -> None:
    """Seven things in sets of three: 012 is first by its id, then 345 names nothing again, then 6 is due."""
    things = np.array(list(combinations(range(7), 3)))
    found = spread(triples(things), [4])
    assert [tuple(things[row]) for row in found.chosen[:2]] == [(0, 1, 2), (3, 4, 5)]
    assert 6 in things[found.chosen[2]]
    assert len(found.chosen) == 4
    pairs = Counter(pair for row in found.chosen for pair in combinations(things[row], 2))
    assert max(pairs.values()) == 1  # 013 would ask about 0 and 1 together again


def test_of_nothing_nothing_is_chosen() -> None:
    found = spread(triples(np.empty((0, 3), dtype=np.intp)), [])
    assert found.chosen.tolist() == found.shared.tolist() == []


def test_what_shares_things_with_others_is_spread_in_ours_and_not_in_a_release() -> None:
    rows = [row(n, "left", operands=["door", "sofa", "tv", "lamp", "bed"][n:][:3]) for n in (0, 1)]
    rows.append(row(2, "left", operands=["tv", "sofa", "door"]))
    ours, released = (
        selected_questions(select(table(rows), TASKS, CAP, as_released=n))["id"].to_pylist() for n in (False, True)
    )
    assert (ours, released) == ([0, 1], [0, 1, 2]), "the last names the three things of the first"
    selected = select(table(rows), TASKS, CAP)
    assert rejected_in(selected).select(["id", "reason", "measured"]).to_pylist() == [
        {"id": 2, "reason": SHARES, "measured": 3}
    ]
    one = rejected_in(select(table(rows[:2]), TASKS, 1)).select(["reason", "measured"]).to_pylist()
    assert one == [{"reason": OVER_CAP, "measured": 2}], "two things may be shared"


@pytest.mark.parametrize("as_released", [False, True])
def test_orders_are_offered_beside_their_reverse_in_ours_and_not_in_a_release(as_released: bool) -> None:
    things = ["door", "sofa", "tv", "lamp"]
    order = row(7, ", ".join(things), task="obj_appearance_order", operands=things)
    (question,) = selected_questions(select(table([order]), TASKS, CAP, as_released=as_released)).to_pylist()
    options = {tuple(option[3:].split(", ")) for option in question["options"]}
    assert tuple(things) in options
    assert len(options) == 4
    assert (options == {option[::-1] for option in options}) is not as_released


def test_by_hand_one_set_of_three_is_asked_about_once() -> None:
    orders = np.array([(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 1, 3)])
    offered = replace(triples(orders), task=np.array([0, 1, 2, 2]), guess=np.array([0, 1, 2, 2]), start=np.zeros(3))
    offered = replace(offered, weight=np.ones(3))
    found = spread(offered, [SPREAD_CAP] * 3)
    assert found.chosen.tolist() == [0, 3]  # the second task has none left
    assert found.shared.tolist() == [0, 3, 3, 0]


def test_by_hand_answers_are_even_by_start_and_weight_before_things_are() -> None:
    """Answers take turns, from the lowest start on, though things are named again; twice the weight counts for two."""
    things = np.array([*np.arange(15).reshape(5, 3), [0, 1, 15]])
    answer = np.array([0, 0, 0, 1, 1, 2])

    def found(start: list[float], weight: list[float], cap: int) -> list[int]:
        offered = SpreadInput(np.zeros(6, dtype=np.intp), answer, things, np.array(start), np.array(weight))
        return answer[spread(offered, [cap]).chosen].tolist()

    assert found([0.0, 0.1, 0.2], [1, 1, 1], 3) == [0, 1, 2]  # the last names 0 and 1 again, which the first two do not
    assert found([0.3, 0.1, 0.2], [1, 1, 1], 1) == [1]
    assert found([0.3, 0.1, 0.2], [1, 2, 1], 4) == [1, 2, 0, 1]  # at 0.05, 0.2, 0.3, 0.55
    assert found([0.1, 0.9, 0.95], [3, 1, 1], 4) == [0, 0, 0, 1]  # at 0.033, 0.367, 0.7, 0.9


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(5, 8))
def test_no_two_questions_of_a_kin_share_three_things(seed: int, categories: int) -> None:
    rows = kin_candidates(make_scene(random_objects(seed, categories)))
    selected = select(rows, TASKS, SPREAD_CAP)
    asked = selected_questions(selected)
    for leak_group in ("direction", "nearest"):
        sets = named(asked, leak_group)
        assert all(len(a & b) <= SHARED_MAX for a, b in combinations(sets, 2))
    kinds = {TASKS[q["task"]].leak_group for q in asked.to_pylist()}
    assert kinds == {TASKS[r["task"]].leak_group for r in rows.to_pylist() if r["reason"] is None}
    for refused in rejected_in(selected).to_pylist():
        if refused["reason"] == SHARES:
            mine = set(refused["operands"])
            most = max(len(mine & other) for other in named(asked, TASKS[refused["task"]].leak_group))
            assert (refused["measured"], refused["limit"], refused["unit"]) == (most, SHARED_MAX, "objects")
            assert most > SHARED_MAX


def sharing(scenes: list[list[set[str]]]) -> float:
    """Of the questions of some scenes, the share whose three objects are those of another one."""
    return float(np.mean([sets.count(mine) > 1 for sets in scenes for mine in sets]))


@pytest.mark.slow
@pytest.mark.real_data
def test_real_direction_questions_no_longer_give_one_another_away(real_scenes: list[IndoorScene]) -> None:
    """Every third scene of the released metadata; as many are left as there are sets of three."""
    tables = [kin_candidates(scene) for scene in real_scenes[::3]]
    before = [
        named(selected_questions(select(table, TASKS, SPREAD_CAP, as_released=True)), "direction") for table in tables
    ]
    after = [named(selected_questions(select(table, TASKS, SPREAD_CAP)), "direction") for table in tables]
    assert sharing(before) > 0.5
    assert sharing(after) == 0
    for table, mine, theirs in zip(tables, after, before, strict=True):
        assert len(set().union(*mine)) >= len(set().union(*theirs))
        rows = [row for row in table.to_pylist() if row["task"] in DIRECTIONS and row["reason"] is None]
        sets = {frozenset(row["operands"]) for row in rows}
        assert len(mine) == len(sets) or len(mine) >= SPREAD_CAP


def test_a_caption_of_several_facts_is_asked_where_none_of_them_was() -> None:
    size = "object_size_estimation"

    def told(number: int, *facts: str) -> dict[str, Any]:
        flags = [f"{SAME_FACT}: {fact}" for fact in facts]
        return row(number, str(number), task=size, operands=["door"], wording="How many?", flags=flags)

    found = select(table([told(1, "a", "b"), told(2, "b", "c"), told(3, "c", "d"), told(4, "e")]), TASKS, CAP)
    assert selected_questions(found)["id"].to_pylist() == [
        1,
        3,
        4,
    ]  # that the second is not asked leaves c to the third


@pytest.mark.parametrize(("end_s", "times"), [(None, 1), (59.0, 1), (90.0, 1.5), (240.0, 4), (3600.0, 10)])
def test_a_longer_video_has_more_questions(end_s: float | None, times: float) -> None:
    size = "object_size_estimation"
    offered = [
        row(n, str(n), task=size, operands=["door"], wording="How many?", flags=[], until_s=end_s) for n in range(100)
    ]
    assert len(selected_questions(select(table(offered), TASKS, CAP))) == CAP * times
    few = {"often": 100, "seldom": 10}
    assert caps_of(few, CAP, few, times=times) == {"often": CAP * times, "seldom": max(1, round(0.6 * times))}
    assert caps_of(few, 12, few) == {"often": 12, "seldom": 2}, "1.2, rounded up"


def test_one_question_is_asked_of_each_fact_and_those_of_small_tasks_go_first() -> None:
    def told(number: int, task: str, fact: str | None) -> dict[str, Any]:
        flags = [] if fact is None else [f"{SAME_FACT}: {fact}"]
        return row(number, str(number), task=task, operands=["door"], wording="How many?", flags=flags)

    size, count = "object_size_estimation", "object_counting"
    offered = [told(1, size, "way 0"), told(2, size, "way 0"), told(3, size, "way 1"), told(4, size, None)]
    offered += [told(5, size, None), told(6, count, "way 0")]
    found = select(table(offered), TASKS, CAP)
    assert selected_questions(found)["id"].to_pylist() == [6, 3, 4, 5]
    refused = [(r["id"], r["reason"], r["measured"], r["limit"], r["unit"]) for r in rejected_in(found).to_pylist()]
    assert refused == [(1, SAME_FACT, 2.0, 1.0, "questions"), (2, SAME_FACT, 3.0, 1.0, "questions")]
    assert len(selected_questions(select(table(offered), TASKS, CAP, as_released=True))) == len(offered)


def test_a_budget_whose_answer_is_no_option_is_refused_and_the_others_stay() -> None:
    """Of three answers in the budgets one is offered, one is not; a budget without an answer keeps its own reason."""
    own = [
        {
            "budget": budget,
            "answer": answer,
            "evidence": [],
            "reason": reason,
            "measured": None,
            "limit": None,
            "unit": None,
        }
        for budget, answer, reason in ((8, "2", None), (16, "3", None), (32, None, "not_seen"))
    ]
    found = _in_budgets({"budgets": own, "answer": "2"}, ("2", "4"), 4)
    assert found["visible_in"] == [8]
    assert found["budgets"][0] == own[0]
    assert found["budgets"][2] == own[2]
    refused = found["budgets"][1]
    assert (refused["answer"], refused["evidence"], refused["measured"], refused["limit"]) == (None, None, 2.0, 4.0)
    assert _in_budgets({"budgets": None, "answer": "2"}, ("2",), 4) == {}
