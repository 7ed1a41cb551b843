"""Cities of the samples as scenes, and tasks that were generated from them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.columns import COLUMNS
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.core.tables import asked_in
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.city.world import CITY
from pipeline.worlds.registry import READERS


@cache
def sample(name: str) -> CityScene:
    """A sample city."""
    root = Path(mkdtemp())
    CITY.samples.write(root)
    reader = READERS["city"]
    (ref,) = [ref for ref in reader.scenes(root / "city").scenes if ref.id.endswith(f"/{name}")]
    return reader.read(SceneFiles(root / "city", ref))


def tasks_of(scene: CityScene, rules: CityRules, *categories: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Released rows of a city, and rejections."""
    view = CityView(scene, rules)
    names = categories or tuple(CITYEQA.by_name())
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for name in names:
        task = CITYEQA.by_name()[name]
        found = task.candidates(view)
        selected = select(found, CITYEQA.by_name(), 10_000)
        rows += COLUMNS.table(asked_in(selected), ()).to_pylist()
        refused += [row for row in found.to_pylist() if row["reason"] is not None]
    return rows, refused
