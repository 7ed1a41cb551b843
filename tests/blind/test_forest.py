"""The trees of the stress test are grown without the classes around them, and are those that these grow."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor

from pipeline.blind import forest


@pytest.mark.parametrize("tried", [2, 7])
@pytest.mark.parametrize("most_rows", [8_000, 150])
def test_trees_are_those_of_the_library(tried: int, most_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "MOST_ROWS", most_rows)
    random = np.random.default_rng(3)
    features, target = random.random((200, 7)).round(2), random.random(200)
    trees = forest._grown(features, target, tried, 11)

    drawer = np.random.RandomState(11)
    for tree in trees:
        rows = np.arange(200) if most_rows >= 200 else np.sort(drawer.permutation(200)[:most_rows])
        known = ExtraTreeRegressor(min_samples_leaf=forest.MIN_LEAF, max_features=tried, random_state=drawer)
        known.fit(features[rows].astype(np.float32), target[rows])
        assert known.tree_.node_count == tree.node_count
        assert known.tree_.__getstate__()["nodes"].tobytes() == tree.__getstate__()["nodes"].tobytes()
        assert known.tree_.value.tobytes() == tree.value.tobytes()
    assert sum(tree.node_count for tree in trees) > 10 * len(trees)
