"""Stage `unify`: raw data become a `Scene` in the shared schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.registry import BENCHMARKS
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
    scene = examined(scene)
    audit = BENCHMARKS[given.settings["known_to"]].audit if given.settings else None
    if audit and raw.known:
        scene = scene.model_copy(update={"findings": (*scene.findings, *audit.doubts(raw.known, scene))})
    return scene.model_dump_json(indent=1).encode()


def settings(config: BuildConfig) -> dict[str, Any]:
    """Where published questions are given, the benchmark that they are of."""
    return {"known_to": config.benchmark} if config.known else {}


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """What the reader's world examines scenes with; where published questions are given, what answers these again."""
    if reader is None:
        raise ValueError("this stage reads raw data")
    audit = config.of_benchmark().audit if config.known else None
    return (world_of(reader.name).examine.__module__, *([audit.doubts.__module__] if audit else []))


UNIFY: Final = Stage(
    name="unify", suffix=".json", module=__name__, run=run, reads_raw=True, settings=settings, uses=uses
)
