"""Stretches of a flight that a finding is about, from the samples that it marks."""

from __future__ import annotations

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.schema import Finding

_DECIMALS = 3


def about(finding: Finding, t_s: FloatArray, marked: BoolArray) -> Finding:
    """The finding with `Finding.stretches`: of each run of marked samples, from the sample before to the one after.

    Args:
        finding: as found, about the whole log.
        t_s: (N,) never falling.
        marked: (N,).
    """
    edges = np.diff(np.concatenate([[0], marked.astype(np.int8), [0]]))
    begin, end = np.flatnonzero(edges == 1) - 1, np.flatnonzero(edges == -1)
    low, high = t_s[np.maximum(begin, 0)], t_s[np.minimum(end, len(t_s) - 1)]
    pairs = zip(low.round(_DECIMALS).tolist(), high.round(_DECIMALS).tolist(), strict=True)
    return finding.model_copy(update={"stretches": tuple(pairs)})
