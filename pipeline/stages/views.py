"""Stages `declare` and `views`: pictures of a scene that are shown, beside the store.

`declare` makes those that a model which writes questions is shown, `views` those that selected questions show.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.identity import digest
from pipeline.core.parquet import read_table
from pipeline.core.tables import asked_in
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.media_files import is_there, write_media
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.geometry.views import View, Whole
    from pipeline.reading.reader import Reader


FOLDER: Final = "views"  # of a build
_NAME_CHARS: Final = 32  # hex; 128 bits


def run(context: StageContext) -> bytes:
    """Writes the pictures; the result says, as JSON, what was written, and for which questions.

    Questions that show the same share a picture. Pictures of questions that are no longer asked go.
    """
    views = BENCHMARKS[context.settings["benchmark"]].views
    scene = read_scene(context.needed("observe"))
    draw = WORLDS[scene.facts.world].pictures
    wanted: dict[str, View | Whole] = {}
    shown: dict[str, list[int]] = {}
    for row in asked_in(read_table(context.needed("select"))).to_pylist():
        for file, picture in views.of(row) if views and views.of and draw else ():
            wanted[file] = picture
            shown.setdefault(file, []).append(row["id"])
    made: list[dict[str, Any]] = []
    drawn = draw(context.source.files, scene, list(wanted.values())) if draw and wanted else ()
    for file, raw in zip(wanted, drawn, strict=True):
        name = f"{FOLDER}/{context.unit}/{digest(file).hex()[:_NAME_CHARS]}{Path(file).suffix}"
        made.append({"file": file, "picture": name, "of": shown[file]} | write_media(context.folder, name, raw))
    kept = {context.folder / one["picture"] for one in made}
    for path in (context.folder / FOLDER / context.unit).glob("*.*"):
        if path not in kept:
            path.unlink()
    return json.dumps({"pictures": made}).encode()


def is_whole(result: bytes, folder: Path) -> bool:
    """Whether every picture is there."""
    return all(is_there(folder / facts["picture"], facts) for facts in json.loads(result)["pictures"])


def settings(config: BuildConfig) -> dict[str, Any]:
    """Whose questions say what they show."""
    return {"benchmark": config.benchmark}


def are_views_wanted(config: BuildConfig) -> bool:
    """Whether its questions show pictures of a sphere, and pictures are made at all."""
    views = config.of_benchmark().views
    return config.video and views is not None and views.of is not None


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """What says which pictures, and what draws them."""
    benchmark = config.of_benchmark()
    drawing = [world.pictures.__module__ for world in benchmark.worlds if world.pictures is not None]
    return (*([benchmark.views.module] if benchmark.views else []), *drawing)


VIEWS: Final = Stage(
    name="views",
    suffix=".json",
    module=__name__,
    run=run,
    takes=("select", "observe"),
    reads_raw=True,
    settings=settings,
    uses=uses,
    is_wanted=are_views_wanted,
    passes_on="select",
    is_whole=is_whole,
    folders=(FOLDER,),
)


DECLARED: Final = "declared"  # of a build


def run_declare(context: StageContext) -> bytes:
    """Writes the pictures; the result names them in order, as JSON."""
    benchmark = BENCHMARKS[context.settings["benchmark"]]
    scene = read_scene(context.needed("look"))
    views, draw = benchmark.views, WORLDS[scene.facts.world].pictures
    made: list[dict[str, Any]] = []
    if views and views.declared and draw:
        rules = benchmark.rules.model_validate(context.settings["rules"])
        wanted = views.declared(benchmark.view(scene, rules))
        for number, raw in enumerate(draw(context.source.files, scene, wanted), start=1):
            name = f"{DECLARED}/{context.unit}/{number}.jpg"
            made.append({"picture": name} | write_media(context.folder, name, raw))
    return json.dumps({"pictures": made}).encode()


def declare_settings(config: BuildConfig) -> dict[str, Any]:
    """The rules under which a scene is looked at."""
    return {"benchmark": config.benchmark, "rules": config.generate.resolved_rules().model_dump()}


def are_views_declared(config: BuildConfig) -> bool:
    """Whether a model writes that is shown pictures, and there are views to show it."""
    views, model = config.of_benchmark().views, config.author.model
    is_shown = config.video and model is not None and "image" in model.inputs
    return is_shown and views is not None and views.declared is not None


def declare_uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """What declares the views, and what draws them."""
    benchmark = config.of_benchmark()
    drawing = [world.pictures.__module__ for world in benchmark.worlds if world.pictures is not None]
    declaring = [benchmark.views.module] if benchmark.views else []
    return (type(benchmark).__module__, benchmark.view.__module__, benchmark.rules.__module__, *declaring, *drawing)


DECLARE: Final = Stage(
    name="declare",
    suffix=".json",
    module=__name__,
    run=run_declare,
    takes=("look",),
    reads_raw=True,
    settings=declare_settings,
    uses=declare_uses,
    is_wanted=are_views_declared,
    is_whole=is_whole,
    folders=(DECLARED,),
)
