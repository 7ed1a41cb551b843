"""ScanNet++'s ``map_benchmark.csv``: which label stands for which class of its benchmark, and which for none."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError
from pipeline.core.files import read_file
from pipeline.worlds.indoor.readers.categories import normal

PLACES: Final = ("metadata/semantic_benchmark/map_benchmark.csv", "metadata/map_benchmark.csv", "map_benchmark.csv")
NO_CLASS: Final = "None"  # as the file writes it; an empty field leaves the label as it is

BenchmarkMap = Mapping[str, str | None]


def map_bytes(root: Path) -> bytes:
    """The file below the root, or below the folder above it; nothing where there is none. Raises ConfigError."""
    top = root.absolute()
    for path in (folder / place for folder in (top, top.parent) for place in PLACES):
        if path.is_file():
            try:
                return read_file(path)
            except OSError as error:
                raise ConfigError(f"{path}: {error.strerror}. Make the file readable") from error
    return b""


def benchmark_map(raw: bytes) -> BenchmarkMap:
    """Label -> the label that stands for it among instances, None for those that the benchmark leaves out.

    Labels that stand for themselves are not in it. Raises ConfigError where the columns are not there.
    """
    if not raw:
        return {}
    try:
        rows = list(csv.DictReader(raw.decode("utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"map_benchmark.csv cannot be read as CSV: {error}") from error
    if rows and not {"class", "instance_map_to"} <= set(rows[0]):
        raise ConfigError("map_benchmark.csv has no columns class and instance_map_to; fetch ScanNet++'s own file")
    named = ((normal(row["class"] or ""), (row["instance_map_to"] or "").strip()) for row in rows)
    return {label: None if target == NO_CLASS else target for label, target in named if target}
