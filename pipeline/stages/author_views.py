"""Stage `author_views`: renders the views shown to the model that writes questions, beside the store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import read_table
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.media_files import write_media
from pipeline.stages.views import is_complete
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader

DECLARED: Final = "declared"  # of a build


def run(context: StageContext) -> bytes:
    """Writes the pictures; the result names them in order, as JSON."""
    benchmark = BENCHMARKS[context.settings["benchmark"]]
    scene = read_scene(context.needed("describe"))
    views, draw = benchmark.views, WORLDS[scene.facts.world].pictures
    made: list[dict[str, Any]] = []
    if views and views.declared and draw:
        view = benchmark.view_of(scene, context.settings)
        wanted = list(views.declared(view))
        if benchmark.author and context.settings["checked"]:
            wanted += benchmark.author.pictured(view, read_table(context.needed("generate")))
        for number, raw in enumerate(draw(context.source.files, scene, wanted), start=1):
            name = f"{DECLARED}/{context.unit}/{number}.jpg"
            made.append({"picture": name} | write_media(context.folder, name, raw))
    return json.dumps({"pictures": made}).encode()


def settings(config: BuildConfig) -> dict[str, Any]:
    """The rules under which a scene is looked at, and whether a second model checks what facts gave."""
    rules = config.generate.resolved_rules().model_dump()
    return {"benchmark": config.benchmark, "rules": rules, "checked": config.author.second is not None}


def is_wanted(config: BuildConfig) -> bool:
    """Whether a model writes that is shown pictures, and there are views to show it."""
    views, model = config.of_benchmark().views, config.author.model
    is_shown = config.video and model is not None and "image" in model.inputs
    return is_shown and views is not None and views.declared is not None


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The code that declares the views, and that draws them."""
    benchmark = config.of_benchmark()
    drawing = (world.pictures for world in benchmark.worlds)
    return benchmark.view_modules(benchmark.views, benchmark.author, *drawing)


AUTHOR_VIEWS: Final = Stage(
    name="author_views",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("describe", "generate"),
    reads_raw=True,
    settings=settings,
    uses=uses,
    is_wanted=is_wanted,
    is_complete=is_complete,
    folders=(DECLARED,),
)
