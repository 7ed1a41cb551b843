"""All benchmarks, by name."""

from __future__ import annotations

from typing import Any, Final

from pipeline.benchmarks.benchmark import Audit, Benchmark
from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C
from pipeline.benchmarks.ergeobench.benchmark import ERGEOBENCH
from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.core.plugins import load_plugins
from pipeline.questions.scoring_protocol import Score

_OWN: Final[tuple[Benchmark[Any, Any], ...]] = (
    VSI,
    URBANVIDEO,
    CITYEQA,
    ERGEOBENCH,
    EMBODIED4C,
)


def _fault_of_benchmark(benchmark: Any) -> str | None:
    return None if isinstance(benchmark, Benchmark) else "it is no pipeline.benchmarks.benchmark.Benchmark"


_ALL: Final[tuple[Benchmark[Any, Any], ...]] = (
    *_OWN,
    *load_plugins("scan2qa.benchmarks", [benchmark.name for benchmark in _OWN], _fault_of_benchmark),
)
BENCHMARKS: Final[dict[str, Benchmark[Any, Any]]] = {benchmark.name: benchmark for benchmark in _ALL}
# Whose published questions can be examined, by name.
AUDITS: Final[dict[str, Audit]] = {b.name: b.audit for b in _ALL if b.audit}
# Whose replies can be scored, by name.
SCORES: Final[dict[str, Score[Any]]] = {b.name: b.score for b in _ALL if b.score}
