"""Stage `generate`: every candidate of a scene, a question or a reasoned rejection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.registry import ALL_TASKS
from pipeline.benchmarks.urbanvideo.benchmark import URBAN_TASKS
from pipeline.benchmarks.urbanvideo.candidates import urban_candidates
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.vsi.benchmark import TASKS
from pipeline.benchmarks.vsi.rules import Rules
from pipeline.core.parquet import table_bytes
from pipeline.core.templates import load_template
from pipeline.engine.given import Given
from pipeline.engine.stage import Stage
from pipeline.questions.candidates import candidates
from pipeline.worlds.flight.view import FlightView
from pipeline.worlds.indoor.view import SceneView
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig


def run(given: Given) -> bytes:
    """All candidates of all tasks (`core.tables.CANDIDATES`)."""
    scene, names = read_scene(given.needed("observe")), given.settings["tasks"]
    if scene.facts.world == "flight":
        flight = FlightView(scene, UrbanRules.model_validate(given.settings["flight_rules"]))
        return table_bytes(urban_candidates(flight, [URBAN_TASKS[name] for name in names if name in URBAN_TASKS]))
    view = SceneView(scene, Rules.model_validate(given.settings["rules"]))
    return table_bytes(candidates(view, [TASKS[name] for name in names if name in TASKS]))


def settings(config: BuildConfig) -> dict[str, Any]:
    """Tasks and limits, and the wording of flight tasks, whose candidates hold words."""
    return {
        "tasks": list(config.generate.tasks),
        "rules": config.generate.resolved_rules().model_dump(),
        "flight_rules": config.generate.flight_rules.model_dump(),
        "flight_templates": {name: text for name, text in wordings(config).items() if name in URBAN_TASKS},
    }


def wordings(config: BuildConfig) -> dict[str, str]:
    """Task -> digest of its template."""
    return {name: load_template(ALL_TASKS[name].template).digest for name in config.generate.tasks}


GENERATE: Final = Stage(
    name="generate", suffix=".parquet", module=__name__, run=run, takes=("observe",), settings=settings
)
