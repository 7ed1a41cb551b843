"""Long series of numbers in the JSON of a scene: integer multiples of a step, encoded as one string."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Final

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Model

_UNKNOWN: Final = np.iinfo(np.int32).min  # stands for NaN in the bytes, and never leaves this file
_LARGEST: Final = np.iinfo(np.int32).max


class QuantizedSeries(Model):
    """A table of numbers (rows, columns), each a whole multiple of ``step``; NaN where one is not known.

    ``data`` is base64 of 32-bit little-endian integers, row after row. A table whose rows are all alike holds one.
    """

    rows: Annotated[int, Field(ge=0)]
    columns: Annotated[int, Field(ge=1)]
    step: Annotated[FiniteFloat, Field(gt=0)] = Field(description="the unit is that of the field which holds it")
    data: str = Field(description="base64")

    @model_validator(mode="after")
    def _check_size(self) -> QuantizedSeries:
        try:
            count = len(base64.b64decode(self.data, validate=True)) / 4 / self.columns
        except binascii.Error as error:
            raise ValueError(f"data is no base64: {error}") from error
        if count not in {self.rows, min(self.rows, 1)}:
            raise ValueError(f"data holds {count:g} rows of {self.columns}, not {self.rows}")
        return self

    @property
    def array(self) -> FloatArray:
        """The numbers, (rows, columns)."""
        whole = np.frombuffer(base64.b64decode(self.data), dtype="<i4").reshape(-1, self.columns)
        # Divided where one over the step is whole: 0.1 is 1000 / 10000, and no nearest multiple of 1e-4.
        times = round(1 / self.step)
        exact = whole / times if times and 1 / times == self.step else whole * self.step
        numbers = np.where(whole == _UNKNOWN, np.nan, exact)
        return np.repeat(numbers, self.rows, axis=0) if len(numbers) == 1 else numbers


def pack(numbers: FloatArray, step: float) -> QuantizedSeries:
    """A table (N,) or (N, k) to the nearest multiples of a step, NaN included.

    Raises ValueError where a number is infinite or too large for its step (2**31 of them).
    """
    table = np.asarray(numbers, dtype=np.float64)
    table = table.reshape(len(table), -1 if table.size else (table.shape[1] if table.ndim > 1 else 1))
    times = round(1 / step)
    scaled = np.rint(table * times if times and 1 / times == step else table / step)
    known = ~np.isnan(scaled)
    if (np.abs(scaled[known]) > _LARGEST).any():
        raise ValueError(f"{np.abs(table[known]).max():g} is over {_LARGEST} steps of {step:g}")
    whole = np.where(known, scaled, _UNKNOWN).astype("<i4")
    rows = len(whole)
    if rows > 1 and (whole == whole[0]).all():
        whole = whole[:1]
    data = base64.b64encode(whole.tobytes()).decode()
    return QuantizedSeries.model_construct(
        rows=rows, columns=whole.shape[1], step=step, data=data
    )  # right by its making
