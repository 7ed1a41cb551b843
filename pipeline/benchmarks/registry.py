"""All benchmarks, by name. One is imported when it is looked up: a build needs one, and all take half a second."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib.metadata import EntryPoint
from typing import Any, Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.plugins import load_plugins

_GROUP: Final = "scan2qa.benchmarks"
_OWN: Final = {
    "vsi": "pipeline.benchmarks.vsi.benchmark:VSI",
    "urbanvideo": "pipeline.benchmarks.urbanvideo.benchmark:URBANVIDEO",
    "cityeqa": "pipeline.benchmarks.cityeqa.benchmark:CITYEQA",
    "ergeobench": "pipeline.benchmarks.ergeobench.benchmark:ERGEOBENCH",
    "embodied4c": "pipeline.benchmarks.embodied4c.benchmark:EMBODIED4C",
}


class _Benchmarks(MutableMapping[str, Benchmark[Any, Any]]):
    """Name -> benchmark; to ask for names imports nothing."""

    def __init__(self, *others: Benchmark[Any, Any]) -> None:
        self._found: dict[str, Benchmark[Any, Any] | None] = dict.fromkeys(_OWN)
        self._found |= {benchmark.name: benchmark for benchmark in others}

    def __getitem__(self, name: str) -> Benchmark[Any, Any]:
        found = self._found[name]
        if found is None:
            found = self._found[name] = EntryPoint(name, _OWN[name], _GROUP).load()
        return found

    def __setitem__(self, name: str, benchmark: Benchmark[Any, Any]) -> None:
        self._found[name] = benchmark

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _fault_of_benchmark(benchmark: Any) -> str | None:
    return None if isinstance(benchmark, Benchmark) else "it is no pipeline.benchmarks.benchmark.Benchmark"


BENCHMARKS: Final[MutableMapping[str, Benchmark[Any, Any]]] = _Benchmarks(
    *load_plugins("scan2qa.benchmarks", _OWN, _fault_of_benchmark)
)
OWN_NAMES: Final = tuple(_OWN)  # without those of packages from outside
