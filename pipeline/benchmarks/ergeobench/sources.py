"""``panoramas.jsonl`` of a release: licence, author and source of each panorama that is asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.ergeobench.tasks.geo import COARSE

FILE: Final = "panoramas.jsonl"


def source_lines(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """A line per panorama. A source's address may tell where it is: where positions are coarsened it is left out."""
    named = set(asked["scene"].to_pylist())
    coarse = any(COARSE in (flags or ()) for flags in asked["flags"].to_pylist())
    lines = []
    for scene in scenes():
        if scene.id in named:
            facts = scene.facts
            told = {
                "panorama": scene.id,
                "licence": facts.licence,
                "author": facts.author,
                "source_url": None if coarse else facts.source_url,
                "captured": facts.captured.isoformat() if facts.captured else None,
                "tags": list(facts.tags),
            }
            lines.append(json.dumps(told, ensure_ascii=False) + "\n")
    return {FILE: "".join(lines).encode()} if lines else {}
