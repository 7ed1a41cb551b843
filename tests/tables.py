"""Short forms of what many tests do with tables of candidates and files of questions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from pydantic import BaseModel
from shapely.geometry.base import BaseGeometry

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.quantized_series import QuantizedSeries
from pipeline.core.tables import CANDIDATES
from pipeline.questions.published import Published, read_published
from pipeline.questions.task import Task


def candidates(view: Any, tasks: Iterable[Task[Any]]) -> pa.Table:
    """Every candidate of every task, in the order of the tasks."""
    return pa.concat_tables([CANDIDATES.empty_table(), *(task.candidates(view) for task in tasks)])


def read_questions(path: Path) -> list[Published]:
    """The questions of a published file of any benchmark."""
    return read_published(path, [columns for benchmark in BENCHMARKS.values() for columns in benchmark.all_columns])


def digest_of_rows(rows: Iterable[Any]) -> str:
    """Of all columns of some rows; of numbers four digits count, since processors may differ beyond."""

    def shown(value: Any) -> str:
        if isinstance(value, QuantizedSeries):
            value = value.array
        if isinstance(value, BaseModel):
            value = {name: getattr(value, name) for name in type(value).model_fields}
        if is_dataclass(value):
            value = {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, BaseGeometry):
            value = shapely.get_coordinates(value)
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            steady = _steady(value) if value.dtype.kind == "f" else value
            return f"{value.shape} {hashlib.sha256(steady.tobytes()).hexdigest()}"
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        if isinstance(value, dict):
            return repr([(key, shown(one)) for key, one in value.items()])
        if isinstance(value, list | tuple):
            return repr([shown(one) for one in value])
        if isinstance(value, set | frozenset):
            return repr(sorted(map(shown, value)))
        if isinstance(value, float):
            return f"{value + 0.0:.4g}"
        if not isinstance(value, str | bytes | int | date | NoneType):
            raise TypeError(f"{type(value)} has no text of its own")
        return repr(value)

    return hashlib.sha256("\n".join(map(shown, rows)).encode()).hexdigest()[:12]


def _steady(numbers: np.ndarray) -> np.ndarray:
    """To four digits and at most six decimals: of all a hair more, or numbers of few digits would lie between two."""
    near = np.round(numbers * (1 + 3e-8), 6)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = 10.0 ** (np.floor(np.log10(np.abs(near))) - 3)
        return np.where(np.isfinite(step) & (step > 0), np.rint(near / step * (1 + 3e-8)), near) + 0.0


def parts_of(whole: object) -> dict[str, Any]:
    """All that an object tells whoever asks it nothing: its attributes, its fields and its properties."""
    kind = type(whole)
    own = kind.model_fields if isinstance(whole, BaseModel) else vars(whole)
    told = (name for name in dir(kind) if isinstance(getattr(kind, name), property | cached_property))
    names = (name for name in sorted({*own, *told}) if name[0] != "_" and not name.startswith("model_"))
    return {name: getattr(whole, name) for name in names}


def digests_of(**parts: Iterable[Any]) -> dict[str, str]:
    """A digest of all of each part."""
    return {name: digest_of_rows(part) for name, part in parts.items()}


def told_under_moved_limits(module: ModuleType, told: Callable[[], Iterable[object]], draws: int) -> Iterator[object]:
    """What is told while the limits of a module are others, drawn from a tenth of what they are; three times, beyond 1.

    So each check has something to tell of what is sound, and what it measures is seen.
    """
    limits = {name: own for name, own in vars(module).items() if name.isupper() and isinstance(own, float)}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        with pytest.MonkeyPatch.context() as patch:
            for name, own in limits.items():
                patch.setattr(module, name, own * float(rng.choice([0.1, 0.3, 1.0, 3.0 if own > 1 else 1.0])))
            yield from told()
