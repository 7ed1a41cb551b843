"""Pruning: what goes and what stays of one round, and what is left on folds that no round ever saw."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pipeline.blind.forest
import pipeline.blind.items
import pipeline.blind.prune
from pipeline.blind.attack import OTHERS, ForestScores, PreparedTask, attack, standard_error, summarise
from pipeline.blind.config import BATCH, PruneConfig
from pipeline.blind.filtering import filtered
from pipeline.blind.forest import Run, run_here
from pipeline.blind.items import BlindItem, make_item, shards_of
from pipeline.blind.priors import by_frequency
from pipeline.blind.prune import FLOOR, PruneLog, _set_quota, _share, debiased, prune
from pipeline.blind.shortcut_attackers import LEAST
from pipeline.core.arrays import IntArray
from tests.blind.panel import counted, directions, nearest_items, number_item, questions_table, size_items

OPTIONS = ("lamp", "sofa", "tv", "door")


def made(percents: Sequence[int], task: str = "nearest", first_id: int = 0) -> list[BlindItem]:
    """Questions whose text says how guessable they are; right options and scenes tell nothing."""
    return [
        make_item(
            first_id + n, task, f"s{first_id + n}", str(percent), [f"{n} {option}" for option in OPTIONS], "ABCD"[n % 4]
        )
        for n, percent in enumerate(percents)
    ]


def as_said(tested: Sequence[PreparedTask], folds: Sequence[IntArray], run: Run) -> list[ForestScores]:
    """Every question is as guessable as its text says, in every fold and round."""
    biases = [np.array([float(item.text) / 100 for item in one.items]) for one in tested]
    return [ForestScores(bias, np.full(len(bias), 0.25), bias) for bias in biases]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline.blind.prune, "scores_of", as_said)


def left_of(items: Sequence[BlindItem], **config: float) -> tuple[list[int], list[BlindItem]]:
    rounds = prune(items, PruneConfig.model_validate({"tau": 0.0} | config)).tolist()
    return rounds, [item for item, number in zip(items, rounds, strict=True) if not number]


@pytest.mark.usefixtures("told")
def test_the_most_biased_go_first_and_half_of_what_has_to_go() -> None:
    """Forty of 100 and sixty of 5 percent have 18 points more than chance: 18 / 0.75 are 24 too many; 12 go."""
    items = made([100] * 40 + [5] * 60)
    rounds, _ = left_of(items)
    assert [n for n, number in enumerate(rounds) if number == 1] == list(range(12)), "equal ones go by id"
    assert 12 < np.count_nonzero(rounds) < 24
    assert set(rounds[40:]) == {0}


@pytest.mark.usefixtures("told")
def test_a_task_at_chance_or_below_is_left_alone() -> None:
    """Luck has a spread: what is guessed right by luck is no bias while as much is guessed wrong."""
    assert set(left_of(made([0, 50] * 30))[0]) == {0}
    assert set(left_of(made([100, 0, 0, 0, 0] * 12))[0]) == {0}


@pytest.mark.usefixtures("told")
def test_a_task_that_seems_done_is_looked_at_in_five_dealings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    drawn = pipeline.blind.prune._drawn

    def watched(tested: Sequence[PreparedTask], dealings: Sequence[str], run: Run) -> Any:
        seen.extend(name for name in dealings if tested)
        return drawn(tested, dealings, run)

    monkeypatch.setattr(pipeline.blind.prune, "_drawn", watched)
    left_of(made([0, 50] * 30))
    informed = [f"prune informed {n}" for n in range(5)]
    assert seen == [*informed, "prune 1", *(f"prune 1 again {n}" for n in range(1, 5))]


@pytest.mark.usefixtures("told")
def test_nothing_that_is_less_than_tau_above_chance_goes() -> None:
    rounds, left = left_of(made([90] * 5 + [74] * 60), tau=0.5)
    assert rounds[:5] != [0] * 5
    assert {item.text for item in left} == {"74"}
    assert rounds[5:] == [0] * 60


@pytest.mark.usefixtures("told")
def test_a_task_keeps_its_floor_unless_that_is_guessed_too() -> None:
    items = [*made([90] * 30), *made([10] * 4 + [60] * 16, "other", first_id=30), *made([90] * 9, "small", first_id=90)]
    left = Counter(item.task for item in left_of(items)[1])
    assert left == {"other": FLOOR, "small": 9}


def test_few_numbers_go_together_where_they_are_known_by_name() -> None:
    usual = {"bed": 200, "lamp": 55, "door": 205, "mug": 11, "sofa": 200, "tv": 105, "chair": 90, "toilet": 70}
    task = "object_size_estimation"
    items = [number_item(n, usual[name], [name], f"s{n}", task) for n, name in enumerate(usual)]
    assert not left_of(items)[1]
    assert len(left_of(items[:4])[1]) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("told")
def test_a_batch_or_a_tenth_is_the_most_that_goes_of_a_task_at_once() -> None:
    assert Counter(left_of(made([90] * 300))[0])[1] == BATCH
    assert Counter(left_of(made([90] * 300), batch=10)[0])[1] == 30
    assert Counter(left_of(made([90] * 90), batch=7)[0])[1] == 9


@pytest.mark.usefixtures("told")
def test_a_budget_ranks_questions_with_options_against_one_another() -> None:
    items = [*made([80] * 30), *made([90] * 30, "other", first_id=30)]
    _, left = left_of(items, budget=12)
    assert Counter(item.task for item in left) == {"nearest": 30, "other": 18}
    assert len(left) == 48
    assert set(left_of(items, budget=0)[0]) == {0}


def test_a_budget_is_for_each_form_of_answer() -> None:
    options = nearest_items(60, shortcut=True)
    numbers = [replace(item, id=int(item.id) + 60) for item in size_items(60, spread=0.05)]
    _, left = left_of([*options, *numbers], budget=5)
    assert Counter(item.task for item in left) == {"object_rel_distance": 55, "object_size_estimation": 55}


def test_every_round_is_scored_on_other_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    def watched(tested: Sequence[PreparedTask], folds: Sequence[IntArray], run: Run) -> list[ForestScores]:
        seen.extend(fold[:20].tobytes() for fold in folds)
        return as_said(tested, folds, run)

    monkeypatch.setattr(pipeline.blind.prune, "scores_of", watched)
    items = made([26] * 20 + [90] * 40)
    rounds, _ = left_of(items)
    assert max(rounds) > 3
    assert len(set(seen)) == len(seen)


def planted() -> list[BlindItem]:
    """A hundred questions where the lamp is right and two hundred by chance."""
    items = [*nearest_items(100, shortcut=True), *nearest_items(200, shortcut=False, seed=1)]
    return [replace(item, id=n, group=f"scene{n // 4}") for n, item in enumerate(items)]


@pytest.mark.slow
def test_a_planted_shortcut_is_gone_on_folds_that_pruning_never_saw() -> None:
    items = planted()
    rounds, left = left_of(items)
    removed = [item for item, number in zip(items, rounds, strict=True) if number]
    assert np.mean([item.options[item.right or 0] == "lamp" for item in removed]) > 0.9
    before, after = (summarise(split, attack(split, run_here))["object_rel_distance"] for split in (items, left))
    assert before.earned["forest"] > 0.4
    assert max(after.earned.values()) < 0.25 + 0.06, "of 200 questions, two standard errors"


def test_what_pruning_took_is_not_forgotten() -> None:
    """Who knows the sizes that were taken out is no better on those that stay than the best constant."""
    items = size_items(120, spread=0.3)
    stays = np.array(left_of(items)[0]) == 0
    left = [item for item, mine in zip(items, stays.tolist(), strict=True) if mine]
    informed = {name: scores[stays] for name, scores in attack(items, run_here).items()}
    constant = by_frequency(None, [str(item.number) for item in left])
    error = standard_error(informed["by name"], [item.group for item in left]) or 0.0
    assert attack(items, run_here)["by name"].mean() > constant + 0.2
    assert informed["by name"].mean() < constant + 2 * error
    own = attack(left, run_here)
    better = attack(left, run_here, informed=informed)
    for name in ("by name", "forest"):
        assert better[name].mean() == max(own[name].mean(), informed[name].mean())


def test_what_other_questions_of_the_scene_tell_goes_too() -> None:
    """In half of the scenes as many questions are about a thing as there are of it."""
    items = [item for item in counted(120, lambda scene: scene % 2 == 0) if item.task == "count"]
    left = left_of(items)[1]
    for some, bias in ((items, True), (left, False)):
        scores, constant = attack(some, run_here)[OTHERS], by_frequency(None, [str(item.number) for item in some])
        error = standard_error(scores, [item.group for item in some]) or 0.0
        assert (scores.mean() > constant + 2 * error) == bias
    assert len(left) >= len(items) / 2


@pytest.mark.slow
def test_the_order_of_the_questions_makes_no_difference() -> None:
    items = planted()[::3]
    order = np.random.default_rng(0).permutation(len(items))
    rounds, shuffled = prune(items, PruneConfig()), prune([items[n] for n in order], PruneConfig())
    assert rounds[order].tolist() == shuffled.tolist()
    assert rounds.any()


@pytest.mark.slow
def test_questions_by_luck_are_left_alone() -> None:
    """Of a hundred questions without bias no more than a few go, however often the test is made."""
    rounds, _ = left_of(nearest_items(100, shortcut=False, seed=3))
    assert np.count_nonzero(rounds) <= 8


@pytest.mark.slow
def test_who_has_other_answers_of_an_even_task_does_not_know_the_rest_in_debiased() -> None:
    """Of as many left as right a fold has more of what the others lack; a twelfth less, most of one, and it has not."""
    before, after = [], []
    for deal in range(3):
        orders = [["left", "right"], ["right", "left"]]
        items = [
            make_item(n, "side", f"s{deal}{n}", "On which side?", orders[n // 2 % 2], "AB"[n % 2]) for n in range(60)
        ]
        rounds, left = left_of(items, tau=0.1)
        assert 3 <= np.count_nonzero(rounds) <= 6
        gone = Counter(item.options[item.right or 0] for item in items if rounds[int(item.id)])
        assert max(gone.values()) >= 0.75 * gone.total()
        before.append(attack(items, run_here)[LEAST].mean() - 0.5)
        after.append(attack(left, run_here, informed={LEAST: np.ones(len(left))})[LEAST].mean() - 0.5)
    assert min(before) > 0.1
    assert abs(np.mean(after)) < 0.04


class KilledError(Exception):
    """The process ends here."""


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("config", [{"batch": 2}, {"batch": 2, "budget": 24}])
def test_one_that_was_killed_goes_on_where_it_was(
    config: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = made([100] * 40 + [5] * 60) + made([90] * 20 + [5] * 30, "order", 100)
    settings = PruneConfig.model_validate({"tau": 0.0} | config)
    whole = prune(items, settings).tolist()
    assert max(whole) > 1
    scored: list[int] = []
    real = pipeline.blind.prune._assessed  # what is not to be done again

    def counted(tasks: Any, number: int, *rest: Any) -> Any:
        scored.append(number)
        return real(tasks, number, *rest)

    monkeypatch.setattr(pipeline.blind.prune, "_assessed", counted)
    rounds = PruneLog(tmp_path / "rounds", "key")

    def killed(done: int, _: int) -> None:
        if done % 2 == 0:
            raise KilledError

    for _ in range(max(whole) // 2):
        with pytest.raises(KilledError):
            prune(items, settings, progress=killed, rounds=rounds)
        with (tmp_path / "rounds").open("a") as file:
            file.write('{"key": "key", "remo')  # the write that the kill came into
    assert prune(items, settings, rounds=rounds).tolist() == whole
    assert sorted(scored) == sorted(set(scored)), "no round was scored twice"
    scored.clear()
    assert prune(items, settings, rounds=PruneLog(tmp_path / "rounds", "other")).tolist() == whole
    assert scored[0] == 1, "rounds of another pruning are not taken"


@pytest.mark.slow
def test_shards_are_pruned_and_filtered_each_by_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = directions({"left": 150, "right": 40, "back": 30})
    rows = [{**row, "scene": f"scene {n // 2}"} for n, row in enumerate(rows)]
    questions, config = questions_table(rows), PruneConfig(budget=21)
    assert shards_of(questions) == [questions]
    monkeypatch.setattr(pipeline.blind.items, "SHARD", 115)
    monkeypatch.setattr(pipeline.blind.forest, "TREES", 3)
    one, other = shards_of(questions)
    assert sorted(one["id"].to_pylist() + other["id"].to_pylist()) == questions["id"].to_pylist()
    assert not set(one["scene"].to_pylist()) & set(other["scene"].to_pylist())
    more = questions_table([*rows, {**rows[0], "id": 1, "scene": "one more"}])
    assert sum(part["id"].to_pylist() in (one["id"].to_pylist(), other["id"].to_pylist()) for part in shards_of(more))

    scores, seen = filtered(questions, ()), []
    whole = debiased(questions, scores, config, lambda *done: seen.append(done), PruneLog(tmp_path / "a.jsonl", "key"))
    monkeypatch.setattr(pipeline.blind.items, "SHARD", 220)
    share = [21 * len(one) // 220, 21 - 21 * len(one) // 220]
    parts = [
        debiased(shard, filtered(shard, ()), PruneConfig(budget=n), lambda *done: None)
        for shard, n in zip((one, other), share, strict=True)
    ]
    assert whole.equals(pa.concat_tables(parts).sort_by("id").combine_chunks())
    assert seen[-1] == (pc.count(whole["removed_in_round"]).as_py(), 220)
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "a-1.jsonl"}
    PruneLog(tmp_path / "a.jsonl", "key").end()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("left", "errors", "points", "clear", "tau", "quota"),
    [
        (100, 1.0, 300, 100, 0.1, 0),  # as far above chance as luck goes
        (100, 1.1, 3, 100, 0.1, 2),  # half of the 4 that earn 3 / 4 more than chance
        (100, 1.1, 300, 100, 0.1, 10),  # a tenth at once
        (100, 1.1, 300, 5, 0.1, 5),  # no more than are guessable
        (100, 1.1, 300, 0, 0.0, 0),  # at the level of chance nothing is
        (15, 1.1, 300, 15, 0.1, 5),  # ten stay
        (10, 2.6, 1.1, 10, 0.1, 10),  # or none, where that is clear
        (10, 2.6, 0.9, 10, 0.1, 0),
        (10, 2.5, 1.1, 10, 0.1, 0),
    ],
)
def test_how_many_go_at_once(left: int, errors: float, points: float, clear: int, tau: float, quota: int) -> None:
    """Of so many questions, some guessable by a tenth and the others by half as much, or at the level of chance."""
    bias = np.where(np.arange(left) < clear, 0.1, tau / 2)
    task = SimpleNamespace(left=np.arange(left))
    found = SimpleNamespace(bias=bias, errors=errors, points=points, room=0.75)
    _set_quota(task, found, PruneConfig(batch=8, tau=tau))
    assert task.quota == quota


@pytest.mark.parametrize(("budget", "sizes", "shares"), [(21, (110, 110), [10, 11]), (7, (1, 2, 3, 4), [0, 2, 2, 3])])
def test_the_shares_of_shards_come_to_their_budget(budget: int, sizes: tuple[int, ...], shares: list[int]) -> None:
    before = [sum(sizes[:n]) for n in range(len(sizes))]
    assert [_share(budget, b, own, sum(sizes)) for b, own in zip(before, sizes, strict=True)] == shares
    assert sum(shares) == budget
