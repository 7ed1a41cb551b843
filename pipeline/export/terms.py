"""LICENSES.md: whose data a release rests on, and under which terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.schema import AnyScene

TERMS_FILE: Final = "LICENSES.md"
NOT_STATED: Final = "not stated: whoever publishes this release finds them out, and says them under `export.terms`"


def terms_of(
    scenes: Sequence[AnyScene], stated: Mapping[str, str], benchmark: Benchmark[Any, Any]
) -> list[tuple[str, int, str]]:
    """Dataset, its number of scenes, its terms: as a configuration states them, else as the benchmark does."""
    known = dict(benchmark.card.terms) | dict(stated)
    per_dataset = Counter(scene.dataset for scene in scenes)
    return [(name, n, known.get(name, NOT_STATED)) for name, n in sorted(per_dataset.items())]


def licences(scenes: Sequence[AnyScene], stated: Mapping[str, str], benchmark: Benchmark[Any, Any]) -> str:
    """The text of LICENSES.md."""
    units = " and ".join(world.units for world in benchmark.worlds)
    rows = [f"| {name} | {n} | {terms} |" for name, n, terms in terms_of(scenes, stated, benchmark)]
    return "\n".join(
        [
            "# Terms of what this release rests on",
            "",
            f"This release passes on questions, numbers measured in the {units}, and pictures drawn of them: no scan, "
            "no mesh, no video. Who wants those asks their owners. The terms of a source bind what is derived from it "
            "as far as its owners say.",
            "",
            f"| source | {units} | terms |",
            "|---|---|---|",
            *rows,
            "",
            f"The form of the questions follows {benchmark.title}; see the citation in README.md. They were made with "
            "scan2qa, whose own licence binds its code and not what it makes.",
            "",
        ]
    )
