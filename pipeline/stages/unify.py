"""Stage `unify`: raw data become a `Scene` in the shared schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.engine.given import Given
from pipeline.engine.stage import Stage
from pipeline.worlds.registry import examined, world_of

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


def run(given: Given) -> bytes:
    """A `Scene` as JSON."""
    raw = given.source
    scene = raw.reader.read(raw.files)
    if raw.written:
        scene = scene.with_facts(**raw.written)
    return examined(scene).model_dump_json(indent=1).encode()


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """What the reader's world examines scenes with."""
    if reader is None:
        raise ValueError("this stage reads raw data")
    return (world_of(reader.name).examine.__module__,)


UNIFY: Final = Stage(name="unify", suffix=".json", module=__name__, run=run, reads_raw=True, uses=uses)
