"""Stage `views`: renders the pictures that selected questions show, beside the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.benchmark import modules_of
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.files import sync_files
from pipeline.core.identity import digest
from pipeline.core.parquet import read_table
from pipeline.core.tables import selected_questions
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.media_files import drop_others, is_there, write_media
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.geometry.views import PinholeView, WholeSphere
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
    wanted: dict[str, PinholeView | WholeSphere] = {}
    shown: dict[str, list[int]] = {}
    for row in selected_questions(read_table(context.needed("select"))).to_pylist():
        for file, picture in views.of(row) if views and views.of and draw else ():
            wanted[file] = picture
            shown.setdefault(file, []).append(row["id"])
    made: list[dict[str, Any]] = []
    drawn = draw(context.source.files, scene, list(wanted.values())) if draw and wanted else ()
    for file, raw in zip(wanted, drawn, strict=True):
        name = f"{FOLDER}/{context.unit}/{digest(file).hex()[:_NAME_CHARS]}{Path(file).suffix}"
        made.append(
            {"file": file, "picture": name, "of": shown[file]} | write_media(context.folder, name, raw, sync=False)
        )
    pictures = [context.folder / one["picture"] for one in made]
    sync_files(pictures)
    drop_others(context.folder / FOLDER / context.unit, pictures)
    return json.dumps({"pictures": made}).encode()


def is_complete(result: bytes, folder: Path) -> bool:
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
    """The code that says which pictures, and that draws them."""
    benchmark = config.of_benchmark()
    return modules_of(benchmark.views, *(world.pictures for world in benchmark.worlds))


VIEWS: Final = Stage(
    name="views",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("select", "observe"),
    reads_raw=True,
    settings=settings,
    uses=uses,
    is_wanted=are_views_wanted,
    fallback="select",
    is_complete=is_complete,
    folders=(FOLDER,),
)
