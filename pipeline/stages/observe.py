"""Stage `observe`: records which objects the video of a scene shows, and what a flight does and sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pipeline.engine.stage import Stage, StageContext
from pipeline.worlds.registry import WORLDS, read_scene, world_of
from pipeline.worlds.world import refuse_faults

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """The `Scene` with what was observed, as JSON; the scene as it was where the format has nothing to observe it by.

    Raises RawDataError for a mesh that lacks too much of what the video shows.
    """
    raw, before = context.source, context.needed("fix")
    scene = read_scene(before)
    geometry = raw.reader.geometry(raw.files, scene)
    if geometry is None:
        return before
    world = WORLDS[scene.facts.world]
    config = world.config.model_validate(context.settings[world.name])
    observed = refuse_faults(world.observe(scene, geometry, config), raw.files.path)
    return observed.model_dump_json(indent=1).encode()


def settings(config: BuildConfig) -> dict[str, Any]:
    """How closely each world's scenes are looked at."""
    return config.observe.model_dump(mode="json")


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The code that the reader's world runs."""
    if reader is None:
        raise ValueError("this stage reads raw data")
    world = world_of(reader.name)
    return (world.observe.__module__, world.facts.__module__, world.config.__module__)


OBSERVE: Final = Stage(
    name="observe",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("fix",),
    reads_raw=True,
    settings=settings,
    uses=uses,
)
