from __future__ import annotations

import numpy as np
import pytest

from pipeline.blind import priors
from pipeline.blind.items import folds_of, make_item
from tests.blind.made import nearest_item, number_item

OPTIONS = ["lamp", "sofa", "tv", "door"]


def test_numbers_are_guessed_from_the_other_folds() -> None:
    items = [number_item(id, truth) for id, truth in enumerate((2, 2, 2, 4, 9, 20))]
    fold = np.array([0, 0, 0, 0, 1, 1])
    assert priors.most_frequent(items, fold).tolist() == [0, 0, 0, 0, 0, 0], "9 is guessed for 2 and 4, 2 for 9 and 20"
    median = priors.task_median(items, fold)
    assert median.tolist() == [0, 0, 0, 0, 0, 0], "14.5 is the median of 9 and 20"
    fold = np.array([0, 1, 1, 0, 0, 0])
    assert priors.most_frequent(items, fold).tolist() == [1, 1, 1, 0.1, 0, 0], "2; of equals the smallest"


def test_the_random_guess_is_any_answer_of_the_other_folds() -> None:
    items = [number_item(id, truth) for id, truth in enumerate((10, 20, 20, 10))]
    # For the first two each guess is right or off by half or all of the truth: 20 for 10 earns 0, 10 for 20 0.1.
    earned = [(1 + 0) / 2, (1 + 0.1) / 2, (1 + 0.1) / 2, (1 + 0) / 2]
    assert priors.chance(items, np.array([0, 0, 1, 1])) == pytest.approx([np.mean(earned)] * 4)


def test_the_random_option_is_one_of_k() -> None:
    items = [nearest_item(0, "bed", OPTIONS, "tv"), make_item(1, "t", "s", "?", ["left", "right"], "A")]
    assert priors.chance(items, np.array([0, 1])).tolist() == [0.25, 0.5]


def test_medians_by_name_and_of_all_where_the_name_is_new() -> None:
    rows = [("bed", 200), ("bed", 210), ("bed", 190), ("lamp", 40), ("bed", 200), ("lamp", 195)]
    items = [number_item(id, t, [name], task="object_size_estimation") for id, (name, t) in enumerate(rows)]
    fold = np.array([0, 0, 0, 0, 1, 1])
    # The bed of fold 1 is guessed 200, its lamp 40. In fold 0 beds are guessed 200 and the lamp 195.
    assert priors.by_name(items, fold).tolist() == [1, 1, 0.9, 0, 1, 0]
    items[3] = number_item(3, 40, ["tv"], task="object_size_estimation")
    assert priors.by_name(items, fold)[5] == 1.0, "no lamp in fold 0: the median of 200, 210, 190 and 40 is 195"


def test_options_by_how_often_they_were_right_beside_the_same_name() -> None:
    items = [
        nearest_item(0, "bed", OPTIONS, "lamp"),
        nearest_item(1, "window", OPTIONS, "sofa"),
        nearest_item(2, "window", OPTIONS, "sofa"),
        nearest_item(3, "bed", OPTIONS, "lamp"),
        nearest_item(4, "window", OPTIONS, "lamp"),
    ]
    fold = np.array([0, 0, 0, 1, 1])
    assert priors.by_name(items, fold)[3:].tolist() == [1, 0], "beside the bed the lamp, beside the window the sofa"
    assert priors.most_frequent(items, fold)[3:].tolist() == [0, 0], "the sofa, most often"
    assert priors.task_median(items, fold) is None


def test_options_are_weighed_against_those_beside_them() -> None:
    """The sofa is right more often, but the tv wins where both are offered."""
    items = [
        *(nearest_item(n, "bed", ["sofa", "chair", "door", "lamp"], "sofa") for n in range(5)),
        *(nearest_item(n, "bed", ["sofa", "tv", "door", "lamp"], "tv") for n in range(5, 8)),
        nearest_item(8, "bed", ["sofa", "tv", "chair", "table"], "tv"),
    ]
    fold = np.array([0] * 8 + [1])
    assert priors.most_frequent(items, fold)[8] == 0
    assert priors.by_name(items[5:], fold[5:])[3] == 1


def test_options_never_seen_share_the_point() -> None:
    items = [
        nearest_item(0, "bed", OPTIONS, "lamp"),
        nearest_item(1, "bed", ["chair", "table", "tv", "window"], "table"),
    ]
    fold = np.array([0, 1])
    assert priors.most_frequent(items, fold).tolist() == [0.25, 0.25]
    assert priors.by_name(items, fold).tolist() == [0.25, 0.25]


def test_nothing_is_known_where_all_is_in_one_fold() -> None:
    items = [number_item(id, 2, group="one") for id in range(3)]
    fold = folds_of([item.group for item in items])
    assert priors.chance(items, fold).tolist() == priors.by_name(items, fold).tolist() == [0, 0, 0]


def test_equal_worths_share_the_point() -> None:
    assert [priors.tied_accuracy([2, 1, 2], right) for right in range(3)] == [0.5, 0, 0.5]
