"""All benchmarks, by name. One is imported when it is looked up: a build needs one, and all take half a second."""

from collections.abc import MutableMapping
from typing import Any, Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.plugins import LazyImports, load_plugins

_OWN: Final = {
    "vsi": "pipeline.benchmarks.vsi.benchmark:VSI",
    "urbanvideo": "pipeline.benchmarks.urbanvideo.benchmark:URBANVIDEO",
    "cityeqa": "pipeline.benchmarks.cityeqa.benchmark:CITYEQA",
    "ergeobench": "pipeline.benchmarks.ergeobench.benchmark:ERGEOBENCH",
    "embodied4c": "pipeline.benchmarks.embodied4c.benchmark:EMBODIED4C",
}


def _fault_of_benchmark(benchmark: Any) -> str | None:
    return None if isinstance(benchmark, Benchmark) else "it is no pipeline.benchmarks.benchmark.Benchmark"


BENCHMARKS: Final[MutableMapping[str, Benchmark[Any, Any]]] = LazyImports(
    _OWN, load_plugins("scan2qa.benchmarks", _OWN, _fault_of_benchmark)
)
OWN_NAMES: Final = tuple(_OWN)  # without those of packages from outside
