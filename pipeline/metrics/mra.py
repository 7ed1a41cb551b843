"""Mean relative accuracy (MRA), VSI-Bench's score of a number.

The share of ten tolerances 0.5, 0.45, …, 0.05 (thresholds 0.5, 0.55, …, 0.95) within which the relative error lies. The
paper says "less than", the released scorer counts an error equal to the tolerance too (``<=``); so do we, since that is
what published scores are. The tolerances are twentieths and the comparison is exact: 0.85 for 1 is off by 0.15 and no
more, whatever binary fractions make of it.

A truth of 0 has no relative error: 0 is then right (1.0) and every other number wrong (0.0).
"""

from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

THRESHOLDS: Final = tuple(Decimal(n) / 20 for n in range(10, 20))  # 0.5, 0.55, …, 0.95
_TWENTIETHS: Final = 20
_STEPS: Final = len(THRESHOLDS)
_DRIFT: Final = 1e-9  # of a twentieth; far above what doubles lose, below what decimals of eight digits differ by
_EXACT: Final = Context(prec=60, traps=[])  # "1e999999999" overflows to infinity instead of raising


def mean_relative_accuracy(prediction: Decimal | float | None, truth: Decimal | float) -> float:
    """Score in [0, 1] of one prediction; None, NaN and infinity score 0.

    A float stands for the shortest decimal that names it.
    """
    if prediction is None:
        return 0.0
    guess, right = _decimal(prediction), _decimal(truth)
    if not guess.is_finite() or not right.is_finite():
        return 0.0
    if right.is_zero():
        return float(guess.is_zero())
    error = _EXACT.multiply(_EXACT.abs(_EXACT.subtract(guess, right)), Decimal(_TWENTIETHS))
    steps = _EXACT.divide(error, _EXACT.abs(right))
    if steps > _STEPS:
        return 0.0
    return (_STEPS + 1 - max(int(steps.to_integral_value(ROUND_CEILING)), 1)) / _STEPS


def mean_relative_accuracies(predictions: npt.ArrayLike, truths: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Scores of arrays that broadcast against each other.

    Equal to `mean_relative_accuracy` for numbers of up to eight significant digits: an error that differs from a
    tolerance by less than doubles can tell counts as equal to it.
    """
    guess, right = np.broadcast_arrays(np.asarray(predictions, dtype=np.float64), np.asarray(truths, dtype=np.float64))
    size = np.abs(right)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = _TWENTIETHS * (np.abs(guess - right) / np.where(size > 0, size, np.nan))
        score = np.fmax((_STEPS + 1 - np.maximum(np.ceil(steps - _DRIFT), 1)) / _STEPS, 0.0)
    return np.where(right == 0, (guess == 0).astype(np.float64), score)


def _decimal(value: Decimal | float) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))
