"""Agreement: by hand, and as scikit-learn and krippendorff have it on random tables."""

import warnings

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from pipeline.review.reviewed import Reviewed, agreements, cohen_kappa, krippendorff_alpha, raw_agreement, review
from pipeline.review.verdicts import ReviewVerdict


def test_kappa_of_the_textbook_table() -> None:
    # 20 both yes, 5 yes/no, 10 no/yes, 15 both no: observed 0.7, by chance 0.5, so 0.4.
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert raw_agreement(one, other) == 0.7
    assert cohen_kappa(one, other) == pytest.approx(0.4)


def test_alpha_of_krippendorffs_own_example() -> None:
    # Krippendorff 2011, section C: four observers, twelve units, missing values; nominal 0.743, interval 0.849.
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    units = [[row[n] for row in observers if row[n] is not None] for n in range(12)]
    assert krippendorff_alpha(units, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units, "interval") == pytest.approx(0.849, abs=5e-4)


@pytest.mark.parametrize("seed", range(60))
def test_equal_to_the_libraries_on_random_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, items, raters = int(rng.integers(1, 5)), int(rng.integers(1, 40)), int(rng.integers(2, 5))
    table = rng.integers(0, labels, (raters, items)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is undefined is NaN with a warning there
        kappa = cohen_kappa_score(table[0], table[1])
    ours = cohen_kappa(table[0].tolist(), table[1].tolist())
    assert ours is None if np.isnan(kappa) else ours == pytest.approx(kappa, abs=1e-12)
    table[rng.random(table.shape) < 0.2] = np.nan
    units = [[value for value in column if not np.isnan(value)] for column in table.T.tolist()]
    paired = {value for unit in units if len(unit) > 1 for value in unit}
    for metric in ("nominal", "interval"):
        alpha = krippendorff_alpha(units, metric)
        if len(paired) < 2:
            assert alpha is None
        else:
            theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=metric)
            assert alpha == pytest.approx(theirs, abs=1e-9)


def test_undefined_where_all_say_one_thing_or_nobody_anything() -> None:
    assert (raw_agreement("aa", "aa"), cohen_kappa("aa", "aa")) == (1.0, None)
    assert krippendorff_alpha(["aa", "aa"], "nominal") is None
    assert (raw_agreement("", ""), cohen_kappa("", ""), krippendorff_alpha([], "interval")) == (None, None, None)


def test_rows_per_task_are_of_pairs_ordered_by_reviewer() -> None:
    def said(item: int, reviewer: str, answer: str, decision: str | None = "accept") -> ReviewVerdict:
        return ReviewVerdict(item, "c", reviewer, answer=answer, decision=decision)  # type: ignore[arg-type]

    reviews = {
        1: [said(1, "bo", "A"), said(1, "ann", "A")],
        2: [said(2, "ann", "B", "flag"), said(2, "bo", "A")],
        3: [said(3, "ann", "A"), said(3, "bo", "B", None)],  # not judged yet: no disagreement
        4: [said(4, "ann", "2.5"), said(4, "bo", "3")],
        5: [said(5, "ann", "2.5")],  # nobody to agree with
    }
    tasks = {1: "t", 2: "t", 3: "t", 4: "n", 5: "n"}
    rows = {(row.task, row.about): row for row in agreements(reviews, tasks, {"n"})}
    assert [(key, row.items, row.raw) for key, row in rows.items()] == [
        (("n", "verdict"), 1, 1.0),
        (("n", "answer"), 1, None),
        (("t", "verdict"), 2, 0.5),
        (("t", "answer"), 2, 0.5),
        (("all", "verdict"), 3, pytest.approx(2 / 3)),
    ]
    assert rows["n", "answer"].alpha == pytest.approx(0.0)  # of one pair, chance is what is seen
    assert agreements({}, {}, ()) == []
    assert {row.task for row in agreements({1: reviews[1]}, {1: "t"}, ())} == {"t"}
    assert Reviewed() == review([], [], b"")
    assert rows["t", "verdict"].kappa == pytest.approx(0.0)  # bo accepts both
