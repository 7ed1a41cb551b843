"""All benchmarks, by name."""

from __future__ import annotations

from typing import Any, Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.benchmarks.vsi.benchmark import VSI

_ALL: Final[tuple[Benchmark[Any, Any], ...]] = (
    VSI,
    URBANVIDEO,
)
BENCHMARKS: Final[dict[str, Benchmark[Any, Any]]] = {benchmark.name: benchmark for benchmark in _ALL}
