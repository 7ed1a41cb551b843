"""Stage `describe`: a model looks at pictures of the video; what it says is checked, or puts categories in doubt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pipeline.engine.stage import Stage, StageContext
from pipeline.formats.videos import VideoPictures
from pipeline.llm.prompts import load_prompt
from pipeline.worlds.registry import WORLDS, read_scene, world_of

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from pipeline.engine.config import BuildConfig
    from pipeline.llm.base import ModelSpec
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """The scene as stage `observe` gives it, with the looks that pictures tell.

    As it was where its world asks nobody, or there is no video. Raises RawDataError where the video is damaged.
    """
    raw, before, observed = context.source, read_scene(context.needed("fix")), context.needed("observe")
    world, film = WORLDS[before.facts.world], json.loads(context.needed("video"))
    geometry = raw.reader.geometry(raw.files, before)
    looker, most = world.looker, context.settings["describe"]["things"]
    if looker is None or (looker.filmed and film["video"] is None) or geometry is None:
        return observed
    config, seen = world.config.model_validate(context.settings[world.name]), read_scene(observed)
    if film["video"] is None:
        scene = looker.looking().look(before, seen, geometry, config, None, context.models, most)
        return scene.model_dump_json(indent=1).encode()
    video = VideoPictures(context.folder / film["video"])

    def picture_at(second: float) -> npt.NDArray[np.uint8]:
        return video.on_screen(second, film["fps"], film["frames"], context.unit)

    scene = looker.looking().look(before, seen, geometry, config, picture_at, context.models, most)
    video.close()
    return scene.model_dump_json(indent=1).encode()


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether every call had an answer: those that had none are made again in the next build."""
    scene = read_scene(result)
    looker = WORLDS[scene.facts.world].looker
    return looker is None or looker.looking().is_complete(scene)


def settings(config: BuildConfig) -> dict[str, Any]:
    """The model and what it is asked with, and how closely scenes are looked at."""
    model, second = config.describe.model, config.describe.second
    own = {"things": config.describe.things, "model": model.identity() if model else None}
    own |= {"second": second.identity()} if second else {}
    lookers = {world.name: world.looker for world in config.of_benchmark().worlds if world.looker}
    prompts = {world: {name: load_prompt(name).version for name in own.prompts} for world, own in lookers.items()}
    return config.observe.model_dump(mode="json") | {"describe": own, "prompts": prompts}


def is_wanted(config: BuildConfig) -> bool:
    """Whether there are videos, and a model to look at pictures of them."""
    asked = any(world.looker for world in config.of_benchmark().worlds)
    return config.video and config.describe.model is not None and asked


def models_of(config: BuildConfig) -> tuple[ModelSpec, ...]:
    """The model that looks and, if there is one, a second that confirms."""
    named = config.describe.model, config.describe.second
    return tuple(model for model in named if model) if is_wanted(config) else ()


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The code that the reader's world runs: none where nobody looks."""
    if reader is None:
        raise ValueError("this stage reads raw data")
    world = world_of(reader.name)
    if world.looker is None:
        return (world.facts.__module__,)
    return (world.observe.__module__, world.facts.__module__, world.config.__module__, world.looker.module)


DESCRIBE: Final = Stage(
    name="describe",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("fix", "observe", "video"),
    reads_raw=True,
    settings=settings,
    uses=uses,
    is_wanted=is_wanted,
    fallback="observe",
    is_complete=is_complete,
    models=models_of,
)
