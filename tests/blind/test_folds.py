from __future__ import annotations

from collections import Counter

from pipeline.blind.items import FOLDS, folds_of

GROUPS = [f"scene{n % 23}" for n in range(200)]


def test_a_group_is_in_one_fold_and_folds_are_even() -> None:
    fold = folds_of(GROUPS).tolist()
    of_group = {group: {f for g, f in zip(GROUPS, fold, strict=True) if g == group} for group in GROUPS}
    assert all(len(folds) == 1 for folds in of_group.values())
    counts = Counter(folds.pop() for folds in of_group.values())
    assert sorted(counts) == list(range(FOLDS))
    assert set(counts.values()) <= {4, 5}


def test_folds_come_from_the_names_alone() -> None:
    turned = GROUPS[::-1]
    assert dict(zip(GROUPS, folds_of(GROUPS).tolist(), strict=True)) == dict(
        zip(turned, folds_of(turned).tolist(), strict=True)
    )


def test_folds_are_not_the_order_of_the_names() -> None:
    assert folds_of([f"scene{n}" for n in range(10)]).tolist() != [n % FOLDS for n in range(10)]


def test_fewer_groups_than_folds() -> None:
    assert sorted(folds_of(["a", "b", "c"]).tolist()) == [0, 1, 2]
