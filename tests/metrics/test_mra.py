from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.metrics.mra import THRESHOLDS, mean_relative_accuracies, mean_relative_accuracy

# prediction, truth, score; the tolerances for a truth of 20 are 10, 9, …, 1
CASES = [
    ("20", "20", 1.0),
    ("21", "20", 1.0),  # as far off as the narrowest tolerance allows
    ("21.01", "20", 0.9),
    ("19", "20", 1.0),
    ("18.99", "20", 0.9),
    ("30", "20", 0.1),
    ("30.01", "20", 0.0),
    ("10", "20", 0.1),
    ("9.99", "20", 0.0),
    ("0", "20", 0.0),
    ("-20", "20", 0.0),
    ("-21", "-20", 1.0),
    # on a tolerance in decimals, beside it in binary fractions
    ("0.85", "1", 0.8),
    ("1.15", "1", 0.8),
    ("0.3", "0.4", 0.6),
    ("1.2", "1.5", 0.7),
    ("0.9", "0.6", 0.1),
    # a truth of nought
    ("0", "0", 1.0),
    ("0.0", "0", 1.0),
    ("-0", "0", 1.0),
    ("0.001", "0", 0.0),
    # no numbers, and numbers beyond doubles
    ("NaN", "1", 0.0),
    ("sNaN", "1", 0.0),
    ("Infinity", "1", 0.0),
    ("1", "NaN", 0.0),
    ("1e999999", "1", 0.0),
    ("1e999999999", "1", 0.0),
    ("1e-999999999", "1", 0.0),
]


@pytest.mark.parametrize(("prediction", "truth", "score"), CASES)
def test_score(prediction: str, truth: str, score: float) -> None:
    assert mean_relative_accuracy(Decimal(prediction), Decimal(truth)) == score
    if prediction != "sNaN":
        assert mean_relative_accuracies(float(prediction), float(truth)) == score


def test_no_prediction_scores_nothing() -> None:
    assert mean_relative_accuracy(None, 0) == mean_relative_accuracy(None, 1) == 0


def test_ten_thresholds_as_exact_decimals() -> None:
    assert list(map(str, THRESHOLDS)) == ["0.5", "0.55", "0.6", "0.65", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95"]


def test_a_float_stands_for_the_decimal_that_names_it() -> None:
    assert mean_relative_accuracy(0.3, 0.4) == 0.6


@given(st.integers(-9999, 9999), st.integers(-9999, 9999), st.integers(0, 3), st.integers(0, 3))
def test_arrays_give_the_exact_score(guess: int, truth: int, guess_decimals: int, truth_decimals: int) -> None:
    exact = mean_relative_accuracy(Decimal(guess).scaleb(-guess_decimals), Decimal(truth).scaleb(-truth_decimals))
    assert mean_relative_accuracies(guess / 10**guess_decimals, truth / 10**truth_decimals) == exact


def test_arrays_broadcast_and_take_what_is_no_number() -> None:
    guesses = np.array([1.0, 0.0, np.nan, np.inf])
    scores = mean_relative_accuracies(guesses[:, None], np.array([1.0, 0.0]))
    assert scores.tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]


def test_the_definition() -> None:
    """Counted out threshold by threshold in fractions of whole numbers."""
    for guess in range(1, 60):
        for truth in range(1, 60):
            within = sum(abs(guess - truth) <= (1 - threshold) * truth for threshold in THRESHOLDS)
            assert mean_relative_accuracy(guess, truth) == within / 10
