from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from pipeline.blind import priors
from pipeline.blind.attack import (
    OTHERS,
    ForestScores,
    attack,
    standard_error,
    stress_table,
    stress_test,
    summarise,
    tasks_of,
)
from pipeline.blind.forest import WORTH_THREADS, on_all_cores, run_here
from pipeline.blind.items import BlindItem, folds_of, make_item, with_company
from pipeline.blind.totals import GuessScores
from pipeline.core.errors import ConfigError
from pipeline.metrics.mra import mean_relative_accuracy
from pipeline.questions.published import Published
from tests.blind.panel import counted, nearest_item, nearest_items, number_item, size_items


def scored(items: Sequence[BlindItem]) -> tuple[np.ndarray, ForestScores]:
    fold = folds_of([item.group for item in items])
    return fold, stress_test(items, fold)


def test_a_planted_shortcut_is_found() -> None:
    items = nearest_items(100, shortcut=True)
    _, scores = scored(items)
    assert scores.earned.mean() == 1
    assert scores.bias.mean() > 0.9
    assert set(scores.chance) == {0.25}


def test_letters_without_a_shortcut_stay_at_chance() -> None:
    items = nearest_items(200, shortcut=False)
    _, scores = scored(items)
    assert abs(scores.earned.mean() - 0.25) < 3 * (standard_error(scores.earned, [i.group for i in items]) or 0)
    assert abs(scores.bias.mean() - 0.25) < 0.03


@pytest.mark.slow
def test_sizes_by_category_are_found_and_sizes_at_random_are_not() -> None:
    _, scores = scored(size_items(150, spread=0.02))
    assert scores.earned.mean() > 0.9
    items = [replace(item, number=Decimal(n % 89 + 10)) for n, item in enumerate(size_items(150, spread=0.02))]
    _, scores = scored(items)
    assert abs(scores.earned.mean() - scores.chance.mean()) < 0.15


def test_a_number_is_guessed_for_its_score_and_not_for_its_mean() -> None:
    """Two in half the cases, three to thirty otherwise: the mean, 9, would earn next to nothing."""
    items = [number_item(id, 2 if id % 2 else 3 + id % 28) for id in range(120)]
    fold, scores = scored(items)
    assert scores.earned.mean() > 0.5
    assert scores.earned.mean() == pytest.approx(priors.most_frequent(items, fold).mean(), abs=0.03)


@pytest.mark.slow
def test_an_answer_changes_no_other_score_of_its_fold_or_of_other_tasks() -> None:
    items = [*nearest_items(60, shortcut=False), *(replace(i, id=int(i.id) + 60) for i in size_items(60, spread=0.5))]
    fold, before = scored(items)
    guessed = 60 + int(before.bias[60:].argmax())
    for chosen, changed in (
        (3, replace(items[3], right=((items[3].right or 0) + 1) % 4)),
        (guessed, replace(items[guessed], number=Decimal(1_000_000))),
    ):
        after = stress_test([*items[:chosen], changed, *items[chosen + 1 :]], fold)
        same = np.array(
            [n != chosen and (f == fold[chosen] or items[n].task != items[chosen].task) for n, f in enumerate(fold)]
        )
        assert same.sum() > 60
        assert before.bias[same].tobytes() == after.bias[same].tobytes()
        assert before.earned[same].tobytes() == after.earned[same].tobytes()
        assert before.bias[chosen] != after.bias[chosen]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["options", "numbers"])
def test_answers_permuted_within_a_fold_change_no_score_of_questions_that_keep_theirs(kind: str) -> None:
    items = nearest_items(80, shortcut=False) if kind == "options" else size_items(80, spread=0.5)
    fold, before = scored(items)
    test = np.flatnonzero(fold == 2).tolist()
    moved, kept = test[::2], test[1::2]
    permuted = list(items)
    for here, there in zip(moved, moved[1:] + moved[:1], strict=True):
        permuted[here] = replace(items[here], right=items[there].right, number=items[there].number)
    after = stress_test(permuted, fold)
    assert before.bias[kept].tobytes() == after.bias[kept].tobytes()
    assert before.bias[moved].tolist() != after.bias[moved].tolist()


@pytest.mark.slow
def test_the_order_of_the_questions_makes_no_difference() -> None:
    items = [*nearest_items(40, shortcut=False), *(replace(i, id=int(i.id) + 40) for i in size_items(40, spread=0.5))]
    _, before = scored(items)
    order = np.random.default_rng(0).permutation(len(items))
    _, after = scored([items[n] for n in order])
    assert before.bias[order].tobytes() == after.bias.tobytes()


def test_a_task_in_one_fold_stays_at_chance() -> None:
    one = [number_item(id, 2, group="one") for id in range(3)]
    other = [nearest_item(3 + id, "bed", ["lamp", "sofa", "tv", "door"], "lamp", group="one") for id in range(3)]
    _, scores = scored([*one, *other])
    assert scores.bias.tolist() == scores.chance.tolist() == [0, 0, 0, 0.25, 0.25, 0.25]


def test_options_of_different_number_and_a_single_one() -> None:
    items = [
        make_item(n, "task", f"s{n}", "?", ["left", "right", "back"][: n % 3 + 1], "ABC"[: n % 3 + 1][-1])
        for n in range(30)
    ]
    _, scores = scored(items)
    assert scores.bias[0::3].tolist() == [1] * 10
    assert (scores.bias > 0).all()
    assert (scores.bias <= 1).all()


def test_a_task_has_options_or_numbers() -> None:
    items = [make_item(0, "t", "a", "?", None, "1"), make_item(1, "t", "b", "?", ["x", "y"], "A")]
    with pytest.raises(ConfigError, match="t: question 0 and others have no options"):
        tasks_of(items)


def test_standard_error_of_clusters() -> None:
    """Equal scores within a group count as one: four groups of mean 0, 0, 1, 1."""
    scores = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=float)
    assert standard_error(scores, list("aabbccdd")) == pytest.approx(np.std([0, 0, 1, 1], ddof=1) / 2)
    assert standard_error(scores, ["a"] * 8) is None
    assert standard_error(np.array([1.0, 1, 0, 0]), ["a", "a", "b", "b"]) == pytest.approx(0.5), "of two: √(2 · 2) / 4"
    assert standard_error(np.array([1.0, 0.0]), ["a", "a"]) is None


def test_table_is_sorted_by_id_and_null_where_a_question_stays() -> None:
    items = [number_item(id, 2) for id in (9, 10, 2)]
    fold, scores = scored(items)
    rows = stress_table(items, fold, scores, np.array([0, 3, 0])).to_pylist()
    assert [(row["id"], row["removed_in_round"]) for row in rows] == [(2, None), (9, None), (10, 3)]
    assert rows[1] == {
        "id": 9,
        "question_type": "object_counting",
        "bias_score": scores.bias[0],
        "chance": scores.chance[0],
        "fold": fold[0],
        "removed_in_round": None,
    }


# The released questions


@pytest.fixture(scope="module")
def released(real_questions: list[Published]) -> list[BlindItem]:
    return [
        make_item(q.id, q.question_type, q.scene_name, q.question, q.options, q.ground_truth) for q in real_questions
    ]


@pytest.fixture(scope="module")
def summaries(released: list[BlindItem]) -> dict[str, GuessScores]:
    return summarise(released, attack(released, run_here))


@pytest.mark.real_data
def test_always_two_in_counting(released: list[BlindItem]) -> None:
    """blind.md, of all 5,130 questions: right in 53.5%, MRA 0.618."""
    truths = [item.number for item in released if item.task == "object_counting" and item.number is not None]
    right = np.array([truth == 2 for truth in truths])
    assert right.mean() == pytest.approx(0.535, abs=2 * right.std() / len(right) ** 0.5)
    earned = np.array([mean_relative_accuracy(2, truth) for truth in truths])
    assert earned.mean() == pytest.approx(0.618, abs=2 * earned.std() / len(earned) ** 0.5)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("task", "prior", "mixed", "published"),
    [
        ("object_size_estimation", priors.by_name, False, 0.640),
        ("room_size_estimation", priors.task_median, False, 0.33),
        ("object_abs_distance", priors.task_median, False, 0.31),
        ("object_rel_distance", priors.by_name, False, 0.40),
        ("object_rel_distance", priors.by_name, True, 0.60),
    ],
)
def test_published_priors(
    released: list[BlindItem], task: str, prior: Callable[..., np.ndarray], mixed: bool, published: float
) -> None:
    """blind.md, of all 5,130 questions; ours are 2,203. Twenty dealings: one moves relative distance by 0.035."""
    items = [item for item in released if item.task == task]
    dealings = [[f"{n} {item.id if mixed else item.group}" for item in items] for n in range(20)]
    earned = np.mean([prior(items, folds_of(groups)) for groups in dealings], axis=0)
    error = standard_error(earned, [item.group for item in items]) or 0.0
    assert earned.mean() == pytest.approx(published, abs=2 * error)


@pytest.mark.slow
@pytest.mark.real_data
def test_folds_that_mix_scenes_make_relative_distance_look_easy(released: list[BlindItem]) -> None:
    items = [item for item in released if item.task == "object_rel_distance"]
    mixed, apart = (
        priors.by_name(items, folds_of(groups)).mean()
        for groups in ([str(item.id) for item in items], [item.group for item in items])
    )
    assert mixed - apart > 0.15
    assert apart > 0.25


@pytest.mark.slow
@pytest.mark.real_data
def test_the_forest_is_no_worse_than_the_best_prior_beyond_two_standard_errors(
    summaries: dict[str, GuessScores],
) -> None:
    for s in summaries.values():
        assert s.earned["forest"] > max(s.chance, *s.earned.values()) - 2 * s.errors["forest"], s
    assert {t for t, s in summaries.items() if s.earned["forest"] > s.chance + 2 * s.errors.get("forest", 0)} >= {
        "object_counting",
        "object_abs_distance",
        "object_size_estimation",
        "object_rel_direction_hard",
        "object_rel_direction_medium",
        "obj_appearance_order",
    }


def test_threads_give_the_same_bytes() -> None:
    items = size_items(150, spread=0.3)
    fold = folds_of([item.group for item in items])
    with on_all_cores(WORTH_THREADS) as run:
        apart = stress_test(items, fold, run)
    assert apart.bias.tobytes() == stress_test(items, fold).bias.tobytes()


def test_how_often_others_mention_a_thing_tells_how_many_there_are() -> None:
    items = [item for item in counted(60) if item.task == "count"]
    assert attack(items, run_here, ("a",))[OTHERS].mean() > 0.9
    assert np.isnan(attack(with_company(items), run_here, ("a",))[OTHERS]).all()


def test_another_question_of_the_scene_tells_what_comes_next() -> None:
    """Captions tell the order in words of their own; without them, or with those of other scenes, it is a guess."""
    steps, rng, items = ["turn left", "fly forward", "hover", "ascend"], np.random.default_rng(0), []
    said = {"turn left": "turns left", "fly forward": "flies forward", "hover": "hovers", "ascend": "ascends"}
    for n in range(60):
        first, then, *wrong = rng.permutation(steps).tolist()
        caption = f"It {said[first]}, then {said[then]}."
        lettered = rng.permutation([then, *wrong]).tolist()
        text = f"What is the drone's next step after it {said[first]}?"
        items.append(make_item(2 * n, "next", f"s{n}", text, lettered, "ABC"[lettered.index(then)]))
        items.append(make_item(2 * n + 1, "caption", f"s{n}", "How does it move?", [caption, "It lands."], "A"))
    asked = [n for n, item in enumerate(items) if item.task == "next"]
    assert attack(with_company(items), run_here, ("a",))[OTHERS][asked].mean() > 0.95
    alone = with_company(item for item in items if item.task == "next")
    assert np.isnan(attack(alone, run_here, ("a",))[OTHERS]).all()
    elsewhere = [replace(item, group=f"s{(int(item.id) // 2 + item.id % 2) % 60}") for item in items]
    assert attack(with_company(elsewhere), run_here, ("a",))[OTHERS][asked].mean() < 1 / 3 + 0.2
