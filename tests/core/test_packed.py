"""Series of numbers in the JSON of a scene, and what is drawn of a long one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.core.arrays import chunks
from pipeline.core.quantized_series import QuantizedSeries, pack
from pipeline.core.spatial import thinned

NUMBERS = st.one_of(st.just(math.nan), st.floats(-200_000, 200_000))


@settings(max_examples=30)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_numbers_come_back_to_the_nearest_step_and_nan_as_nan(rows: list[tuple[float, float]]) -> None:
    table = np.array(rows)
    packed = QuantizedSeries.model_validate_json(pack(table, 1e-4).model_dump_json())
    assert packed.array.shape == table.shape
    assert np.array_equal(np.isnan(packed.array), np.isnan(table))
    assert np.nanmax(np.abs(packed.array - table), initial=0) <= 0.5001e-4
    assert pack(packed.array, 1e-4) == packed  # what was rounded once stays


def test_a_decimal_is_the_decimal_and_a_thousand_equal_rows_are_one() -> None:
    assert pack(np.array([0.1, 0.3]), 1e-4).array[:, 0].tolist() == [0.1, 0.3]
    still = pack(np.full((1000, 3), 2.5), 0.5)
    assert len(still.data) == 16  # 12 bytes
    assert still.array.shape == (1000, 3)
    assert (still.array == 2.5).all()
    assert pack(np.empty((0, 3)), 1.0).array.shape == (0, 3)
    assert pack(np.full(4, np.nan), 1.0).array.shape == (4, 1)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"300000 is over 2147483647 steps of 0\.0001"):
        pack(np.array([3e5]), 1e-4)
    with pytest.raises(ValueError, match="inf is over"):
        pack(np.array([np.inf]), 1.0)
    with pytest.raises(ValidationError, match="data holds 2 rows of 1, not 3"):
        QuantizedSeries(rows=3, columns=1, step=1, data="AAAAAAAAAAA=")
    with pytest.raises(ValidationError, match="no base64"):
        QuantizedSeries(rows=1, columns=1, step=1, data="***")


@pytest.mark.parametrize(("rows", "kept"), [(0, 0), (1, 1), (400, 400), (401, 201), (800, 401), (801, 268)])
def test_of_a_path_at_most_every_so_many_are_drawn_and_the_last(rows: int, kept: int) -> None:
    """Of 800 every other, the first to the 799th, and the last; of 801 every third, which the last is not."""
    path = np.column_stack([np.arange(rows), np.arange(rows) * 2, np.full(rows, 5)]).astype(float)
    holed = np.insert(path, 0, [[np.nan, 0, 0], [0, 0, np.nan]], axis=0)
    found = thinned(holed)
    assert len(found) == kept
    assert found[:1].tolist() == path[:1].tolist()
    assert found[-1:].tolist() == path[-1:].tolist()
    assert len(set(np.diff(found[:-1, 0]))) <= 1


@pytest.mark.parametrize(
    ("rows", "width", "most", "ends"),
    [(7, 3, 9, [3, 6, 7]), (6, 3, 9, [3, 6]), (2, 10, 9, [1, 2]), (5, 0, 9, [5]), (0, 3, 9, []), (0, 0, 9, []),
     (4, 2, 100, [4])],
)  # fmt: skip
def test_chunks_hold_as_many_rows_as_fit_and_one_at_least(rows: int, width: int, most: int, ends: list[int]) -> None:
    found = list(chunks(rows, width, most))
    assert [part.stop for part in found] == ends
    assert [part.start for part in found] == [0, *ends][: len(ends)]
