import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.tables import CANDIDATES, rejected_in, selected_questions
from pipeline.metrics.mra import mean_relative_accuracy
from pipeline.questions.balance import (
    MEASURED_MIN,
    ONE_IN,
    TOO_COMMON,
    USUAL_AT,
    Balance,
    ClassTally,
    _in_digits,
    _roundest,
    _widened,
    balance_of,
    drawn,
    lot_of,
    tallies_in,
)
from pipeline.questions.selection import choose, select

COMPARED = (
    "object_size_comparison"  # of bathtubs, for which people and boxes have one usual size: classes are the answers
)


def test_lots_are_of_the_identity_and_even() -> None:
    lots = [drawn(number, "x") for number in range(2000)]
    assert lots[7] == drawn(7, "x") != drawn(7, "y")
    assert 0 <= min(lots) < max(lots) < 1
    assert abs(sum(lots) / len(lots) - 0.5) < 0.02


def both(task: str, *tallies: ClassTally) -> Balance:
    """The balance of one task, whatever the order of the scenes."""
    found = balance_of({task: tally} for tally in tallies)
    assert balance_of({task: tally} for tally in tallies[::-1]) == found
    return found


def test_answers_that_hardly_repeat_have_no_limits() -> None:
    assert both("task", ClassTally("a", {f"name {n}": 9 for n in range(16)} | {"often": 90})) == Balance()
    assert both("task", ClassTally("a", {f"name {n}": 9 for n in range(15)} | {"often": 90})).limits["task"].keys() == {
        "often"
    }
    assert both("task", ClassTally("a", {"only": 90})) == Balance()


@pytest.mark.parametrize(
    ("classes", "stay"),
    [
        ((26, 22), (25, 22)),  # the last above 0.54 of 48 goes
        ((48, 22), (41, 22)),  # no more than a tenth of 70
        ((24, 22), (24, 22)),
        ((24, 15), (24, 15)),  # 39 are too few
        ((24, 16), (21, 16)),  # 40 are enough: 0.54 of them are 21.6
        ((24, 24), (24, 24)),
        ((20, 19, 10), (18, 18, 10)),  # 4 of 49
        ((27, 27, 6), (24, 24, 6)),  # 6 of 60 go, and 6 are just enough others
        ((30, 30, 3), (30, 30, 3)),  # without 6 of 63 either would still be right in nearly half
        ((24, 20, 12, 12), (19, 19, 12, 12)),  # 0.29 of 68 are 19.7
    ],
)
def test_limits_by_hand(classes: tuple[int, ...], stay: tuple[int, ...]) -> None:
    """Those of the highest lots go."""
    found = both("task", ClassTally("one", dict(zip("abcd", classes, strict=False)))).limits.get("task", {})
    for name, n, left in zip("abcd", classes, stay, strict=False):
        lots = sorted(lot_of("one", "task", name, place) for place in range(n))
        assert sum(lot < found.get(name, 1.0) for lot in lots) == left


OTHERS = {f"other {k}: {10**k}": 1 for k in range(40)}  # one number a name, none of them near another


@pytest.mark.parametrize(
    ("numbers", "others", "stay"),
    [
        ({"bed: 300": 10}, 40, {"bed: 300": 10}),  # who knows nine knows the tenth, as who always says 300
        ({"bed: 300": 30, "cup: 3": 3}, 67, {"bed: 300": 30, "cup: 3": 3}),  # 33 of 100: 0.03 above the constant
        ({"bed: 300": 30, "cup: 3": 4}, 67, {"bed: 300": 28, "cup: 3": 4}),  # 34 of 101: until 32 of 99, 0.323
        ({"bed: 300": 5, "cup: 3": 5}, 40, {"bed: 300": 2, "cup: 3": 3}),  # 10 of 50 to 5 of 45, at most 0.13 each
        ({"bed: 300": 3, "bed: 3": 3}, 40, {"bed: 300": 3, "bed: 3": 3}),  # who knows the other five guesses wrong
        ({f"thing {k}: {3 * 10**k}": 2 for k in range(20)}, 0, {f"thing {k}: {3 * 10**k}": 1 for k in range(20)}),
    ],
)
def test_limits_within_names_by_hand(numbers: dict[str, int], others: int, stay: dict[str, int]) -> None:
    classes = {f"other {k}: {10**k}": 1 for k in range(others)} | numbers
    found = both("task", ClassTally("one", classes, by_name=True)).limits.get("task", {})
    for name, n in classes.items():
        lots = sorted(lot_of("one", "task", name, place) for place in range(n))
        assert [lot for lot in lots if lot < found.get(name, 1.0)] == lots[: stay.get(name, 1)], "the highest lots go"


def left_of_names(classes: dict[str, int]) -> dict[str, int]:
    """As `_limits_by_name`, of one scene, place by place: how many of each class stay."""
    lots = {of: sorted(lot_of("one", "task", of, place) for place in range(n)) for of, n in classes.items()}
    numbers = sorted({of.partition(": ")[2] for of in classes})
    names = sorted({of.partition(": ")[0] for of in classes})

    def tenths(guess: str, right: str) -> int:
        return round(10 * mean_relative_accuracy(float(guess), float(right)))

    def places(name: str) -> list[str]:
        return [number for number in numbers for _ in lots.get(f"{name}: {number}", ())]

    every = [number for name in names for number in places(name)]
    usual = {guess: sum(tenths(guess, right) for right in every) / len(every) for guess in numbers}

    def worth(guess: str, beside: list[str]) -> float:
        return sum(tenths(guess, right) for right in beside) + usual[guess]

    def earned(name: str) -> int:
        own, total = places(name), 0
        for at, right in enumerate(own):
            others = own[:at] + own[at + 1 :]
            total += tenths(max(numbers, key=lambda guess: worth(guess, others)), right)
        return total

    most = max(usual.values()) + 0.3
    while sum(map(earned, names)) > most * sum(len(places(name)) for name in names):
        several = [(most * len(places(name)) - earned(name), name) for name in names if len(places(name)) > 1]
        beyond, name = min(several, default=(0, ""))
        if beyond >= 0:
            break
        best = max((n for n in numbers if n in places(name)), key=lambda guess: worth(guess, places(name)))
        near = [n for n in numbers if n in places(name) and tenths(best, n) >= 5]
        lots[f"{name}: {max(near, key=lambda n: lots[f'{name}: {n}'][-1])}"].pop()
    return {of: len(own) for of, own in lots.items()}


@pytest.mark.parametrize("seed", range(6))
def test_limits_within_names_as_in_plain_python(seed: int) -> None:
    """Four names, each with a number of its own in most of its places, and others of which some are near to it."""
    rng = np.random.default_rng(seed)
    sizes = ["2", "3", "4", "9", "10", "30", "200"]
    classes: Counter[str] = Counter()
    for name in ("bed", "cup", "rug", "tv"):
        own = rng.choice(sizes)
        for _ in range(int(rng.integers(1, 24))):
            classes[f"{name}: {own if rng.random() < 0.5 else rng.choice(sizes)}"] += 1
    classes["lamp: 5"] = max(1, 40 - classes.total())
    found = both("task", ClassTally("one", dict(classes), by_name=True)).limits.get("task", {})
    stay = {
        of: sum(lot_of("one", "task", of, place) < found.get(of, 1.0) for place in range(n))
        for of, n in classes.items()
    }
    assert stay == left_of_names(dict(classes))


@pytest.mark.parametrize("longer", [216, 271])
def test_of_a_name_goes_what_is_near_to_its_best_guess(longer: int) -> None:
    """Of beds of 2 m by the lot, whichever of two lengths that are near to each other; the cot stays.

    Near is what earns half a point, as 271 and 200 do, of which one is 26% less.
    """
    beds = {"bed: 200": 5, f"bed: {longer}": 5, "bed: 90": 1}
    found = both("task", ClassTally("one", OTHERS | beds | {"cup: 3": 11}, by_name=True)).limits["task"]
    lots = sorted((lot_of("one", "task", name, place), name) for name in beds for place in range(beds[name]))
    near = [(lot, name) for lot, name in lots if name != "bed: 90"]
    left = [(lot, name) for lot, name in near if lot < found.get(name, 1.0)]
    assert 1 < len(left) < 10
    assert left == near[: len(left)]
    assert found.keys() <= {"bed: 200", f"bed: {longer}", "cup: 3"}


def test_numbers_of_few_questions_have_no_limits() -> None:
    few = {f"thing {k}: {3 * 10**k}": 2 for k in range(19)}
    assert both("task", ClassTally("one", few | {"bed: 200": 1}, by_name=True)) == Balance()
    assert both("task", ClassTally("one", few | {"bed: 200": 2}, by_name=True)).limits["task"].keys() >= few.keys()


def test_sizes_and_counts_are_tallied_by_name() -> None:
    rows = [row | {"task": "object_counting"} for row in scene("one", "2223").to_pylist()]
    (tally,) = choose(pa.Table.from_pylist(rows, schema=CANDIDATES), TASKS, 6).tallies("made/one").values()
    counted = {"bathtub: 2": 3, "bathtub: 3": 1}
    assert tally == ClassTally("made/one", counted, by_name=True)


def test_of_answers_that_hardly_repeat_as_many_are_tallied_as_show_it() -> None:
    """All sizes and counts, of which each name has its own; of others one more class than are balanced."""
    rows = scene("one", [str(n) for n in range(1, 31)]).to_pylist()
    counts = [row | {"task": "object_counting"} for row in rows]
    for own, n in ((counts, 30), (rows, 17)):
        (tally,) = choose(pa.Table.from_pylist(own, schema=CANDIDATES), TASKS, 99).tallies("made/one").values()
        assert len(tally.classes) == n


def test_what_is_usual_of_a_kind_are_its_quantiles_in_five_binary_digits() -> None:
    """By hand: of 1 to 65 and one beyond each end 1.03 and every 4 more; 33 is 16.5/32 of 64, a half is made even."""
    half = ClassTally(
        "one", {}, numbers={"arm_dt": {f"{n}": 1 for n in range(1, 40)}, "arm_mt": {"5.0": MEASURED_MIN - 2}}
    )
    rest = ClassTally("two", {}, numbers={"arm_dt": {f"{n}": 1 for n in range(40, 66)}, "arm_mt": {"5.0": 1}})
    found = both("task", half, rest)
    usual = [1.0, 5.0, 9.0, 13.0, 17.0, 21.0, 25.0, 29.0, 32.0, 36.0, 40.0, 44.0, 48.0, 52.0, 56.0, 60.0, 64.0]
    assert found.usual == {"task": {"arm_dt": usual}}
    assert found.of({"task": rest}) == found
    assert found.of({"task": ClassTally("four", {}, numbers={"arm_mt": {"5.0": 1}})}) == Balance()
    assert _widened(np.array([2.0, 4.0, 8.0])).tolist() == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_what_is_usual_is_measured_on_the_numbers_that_stay() -> None:
    """Of five numbers one is a third of all: what the balance takes of it does not count."""
    counts = {"10": 60, "20": 60, "30": 120, "40": 60, "50": 60}
    tallies = [
        {"task": ClassTally(f"{n}", {number: 1}, numbers={"kind": {number: 1}})}
        for number, times in counts.items()
        for n in range(times)
    ]
    found = balance_of(tallies)
    left = sum(lot_of(f"{n}", "task", "30", 0) < found.limits["task"]["30"] for n in range(120))
    stay = [float(number) for number, n in (counts | {"30": left}).items() for _ in range(n)]
    assert left < 120
    quantiles = np.quantile(_widened(np.array(stay)), USUAL_AT).tolist()
    assert found.usual["task"]["kind"] == [*map(_in_digits, quantiles)]


@pytest.mark.parametrize("numbers", [{"0": 4}, {"0": 3, "2.5": 1}, {"0.0": 1, "1.0": 2, "40.0": 3}])
def test_what_is_usual_of_numbers_of_which_some_are_zero_is_finite_and_in_order(numbers: dict[str, int]) -> None:
    found = both("task", ClassTally("a", {"x": 4}, numbers={"kind": numbers})).usual["task"]["kind"]
    assert len(found) == len(USUAL_AT)
    assert found == sorted(found)
    assert 0.0 <= found[0] <= found[-1] <= 2 * max(map(float, numbers))


def test_numbers_of_a_kind_are_tallied_and_offered_among_what_is_usual_of_it() -> None:
    """A distance of 20.0 cm: the least of four where most are longer, the largest where most are shorter."""
    rows = [
        {"id": n, "scene": "made/one", "task": "DT cm", "operands": ["arm_dt", f"{n}.00"], "answer": "20.0"}
        | {"wrong": [], "wording": "How far?"}
        for n in range(60)
    ]
    table = pa.Table.from_pylist(rows, schema=CANDIDATES)
    (tally,) = choose(table, EXAM_TASKS, 60).tallies("made/one").values()
    assert tally.numbers == {"arm_dt": {"20.0": 60}}
    assert tallies_in(json.dumps({"DT cm": asdict(tally)}).encode()) == {"DT cm": tally}
    places = []
    for usual in ([], [20.0, 40.0, 60.0, 80.0], [1.0, 10.0, 15.0, 20.0]):
        balance = Balance(usual={"DT cm": {"arm_dt": usual}})
        asked = selected_questions(select(table, EXAM_TASKS, 60, balance=balance)).to_pylist()
        values = [sorted(map(float, (own.partition(". ")[2] for own in row["choices"]))) for row in asked]
        places.append(Counter(own.index(20.0) for own in values))
    unknown, larger, smaller = places
    assert max(unknown.values()) < 30
    assert larger == {0: 60}
    assert smaller == {3: 60}


def test_numbers_are_offered_among_what_is_usual_of_a_kind_about_the_same() -> None:
    """Cones within 10 m are few where others are many; of what the build knows little of, the kind tells."""
    rows = [
        {"id": n, "scene": "made/one", "task": "L/M count", "operands": ["lm_seen", f"{n}.00", thing, "10"]}
        | {"answer": "3", "wrong": [], "wording": "How many?"}
        for n, thing in enumerate(["traffic cone", "car"] * 10)
    ]
    table = pa.Table.from_pylist(rows, schema=CANDIDATES)
    (tally,) = choose(table, EXAM_TASKS, 60).tallies("made/one").values()
    assert tally.numbers == {
        "lm_seen": {"3": 20},
        "lm_seen traffic cone 10": {"3": 10},
        "lm_seen car 10": {"3": 10},
    }
    usual = {"lm_seen traffic cone 10": [1.0, 2.0, 2.0, 3.0], "lm_seen": [3.0, 8.0, 12.0, 20.0]}
    asked = selected_questions(select(table, EXAM_TASKS, 60, balance=Balance(usual={"L/M count": usual}))).to_pylist()
    for row in asked:
        place = sorted(int(own.partition(". ")[2]) for own in row["choices"]).index(3)
        assert place == 0 if row["operands"][2] == "car" else place >= 2


def test_a_scene_depends_on_what_changes_its_questions_alone() -> None:
    """By hand: the roundest limit that takes the same places, no limit that takes none."""
    tally = {"task": ClassTally("one", {"a": 4, "b": 1})}
    lots = sorted(lot_of("one", "task", "a", place) for place in range(4))
    for limit in (*(k / 64 for k in range(65)), *lots):
        found = Balance(limits={"task": {"a": limit, "z": 0.0}}).of(tally)
        gone = [lot for lot in lots if lot >= limit]
        assert bool(found.limits) == bool(gone)
        if gone:
            ((name, own),) = found.limits["task"].items()
            assert name == "a"
            assert [lot for lot in lots if lot >= own] == gone
            assert limit <= own
    assert (
        Balance(limits={"task": {"a": 41 / 64}}).of(tally).limits
        == Balance(limits={"task": {"a": 0.75}}).of(tally).limits
    )


@pytest.mark.parametrize(
    ("low", "high", "found"), [(0.3, 0.5, 0.5), (0.3, 0.4, 0.375), (0.0, 1.0, 0.0), (0.5, 0.9, 0.5)]
)
def test_the_roundest_number_between_two_may_be_either(low: float, high: float, found: float) -> None:
    assert _roundest(low, high) == found


def scene(name: str, answers: Iterable[str]) -> pa.Table:
    """Answers of a scene that are asked."""
    rows: list[dict[str, Any]] = [
        {"id": int.from_bytes(f"{name}{n}".encode(), "big"), "scene": f"made/{name}", "task": COMPARED}
        | {"operands": ["bathtub"], "answer": answer, "evidence": []}
        for n, answer in enumerate(answers)
    ]
    return pa.Table.from_pylist(rows, schema=CANDIDATES)


def test_classes_with_few_candidates_go_first() -> None:
    """By hand: 3 with one candidate of sixteen goes at its start / 4, 2 at its start, and 2 again at its start + 1."""
    found = {n: choose(scene(str(n), "2" * 16 + "3"), TASKS, 1).tallies(f"made/{n}") for n in range(99)}
    for n, tally in found.items():
        starts = {answer: drawn(f"made/{n}", COMPARED, answer) for answer in "23"}
        first = "3" if starts["3"] / 4 < starts["2"] else "2"
        assert tally == {COMPARED: ClassTally(f"made/{n}", {first: 1})}
    assert sum("3" in tally[COMPARED].classes for tally in found.values()) > 80


def test_one_more_scene_changes_few_others() -> None:
    """Of 150 scenes, each third left out in turn: at most 2% of the others' questions come or go with it."""
    tables = {f"made/{n}": scene(str(n), "22223"[: 1 + n % 5] + "45"[: n % 3]) for n in range(150)}
    tallies = {name: choose(table, TASKS, 6).tallies(name) for name, table in tables.items()}

    def asked(names: set[str]) -> set[tuple[str, str, int]]:
        balance = balance_of(tallies[name] for name in names)
        limits = balance.limits[COMPARED]
        return {
            (name, answer, place)
            for name in names
            for answer, n in tallies[name][COMPARED].classes.items()
            for place in range(n)
            if lot_of(name, COMPARED, answer, place) < limits.get(answer, 1.0)
        }

    whole = asked({*tables})
    for name in [*tables][::3]:
        others = {one for one in whole if one[0] != name}
        assert len(others ^ asked({*tables} - {name})) <= len(others) / 50


@pytest.mark.slow
@settings(max_examples=1, deadline=None)
@given(st.lists(st.text("2345", min_size=1, max_size=8), min_size=20, max_size=30), st.integers(2, 4), st.randoms())
def test_at_most_a_tenth_goes_and_the_order_of_scenes_means_nothing(scenes: list[str], cap: int, order: Any) -> None:
    tables = [scene(str(n), answers) for n, answers in enumerate(scenes)]
    tallies = [choose(table, TASKS, cap).tallies(f"made/{n}") for n, table in enumerate(tables)]
    balance = balance_of(tallies)
    order.shuffle(shuffled := tallies.copy())
    assert balance_of(shuffled) == balance
    parts = [balance.of(own) for own in tallies]
    found = [select(table, TASKS, cap, balance=part) for table, part in zip(tables, parts, strict=True)]
    whole = [select(table, TASKS, cap, balance=balance) for table in tables]
    assert list(map(selected_questions, found)) == list(map(selected_questions, whole)), "the part is enough"
    kept = Counter(answer for table in found for answer in selected_questions(table)["answer"].to_pylist())
    gone = [row for table in found for row in rejected_in(table).to_pylist() if row["reason"] == TOO_COMMON]
    assert len(gone) * ONE_IN <= kept.total() + len(gone)
    assert all(row["measured"] >= row["limit"] for row in gone)
    even = [select(table, TASKS, cap) for table in tables]
    before = Counter(answer for table in even for answer in selected_questions(table)["answer"].to_pylist())
    assert max(kept.values()) <= max(before.values())
    assert kept.total() + len(gone) == before.total()


def test_nothing_to_balance() -> None:
    assert choose(CANDIDATES.empty_table(), TASKS, 6).tallies("made/0") == {}
    assert balance_of([]) == balance_of([{}]) == Balance()


def test_a_class_that_is_asked_once_is_asked_of_the_scene_with_the_lowest_lot() -> None:
    """However many classes there are, and whatever other scenes do not offer it."""
    scenes = {n: ClassTally(f"s{n}", {f"q{k}": 1 for k in range(n, n + 30)}, once=True) for n in range(3)}
    found = balance_of({"far": tally} for tally in scenes.values())
    left = {
        n: tally.classes.keys() - found.of({"far": tally}).limits.get("far", {}).keys() for n, tally in scenes.items()
    }
    assert sum(map(len, left.values())) == len(set().union(*left.values())) == 32
    for name, owner in found.owners["far"].items():
        lots = {tally.scene: drawn(tally.scene, "far", name) for tally in scenes.values() if name in tally.classes}
        assert owner == min(lots, key=lots.__getitem__)
    assert set(found.of({"far": scenes[0]}).limits["far"].values()) == {0.0}, "nothing of them is asked there"
