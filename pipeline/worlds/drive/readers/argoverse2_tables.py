"""The tables of an Argoverse 2 log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.formats.feather import Columns, FeatherError, read_feather
from pipeline.reading.files import SceneFiles

UNIT_TOLERANCE: Final = 1e-3  # of a quaternion's length; those of the released logs are off by 1e-12


def table_of(rows: Columns, *names: str) -> FloatArray:
    """Columns side by side, (N, k)."""
    return np.stack([rows[name].astype(np.float64) for name in names], axis=-1)


def read_rows(files: SceneFiles, path: Path, wanted: Mapping[str, type[np.generic] | None]) -> Columns:
    """The wanted columns of a Feather file (`read_feather`). Raises RawDataError."""
    raw = files.raw(path)
    try:
        return read_feather(raw, wanted)
    except FeatherError as error:
        remedy = "give the files of an Argoverse 2 sensor log, as its devkit writes them"
        raise files.fault(path, error.finding, error.message, remedy) from error
