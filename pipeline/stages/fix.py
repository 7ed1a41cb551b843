"""Stage `fix`: applies people's corrections to a scene, then records its doubts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import RawDataError
from pipeline.core.fixes import DROPPED, DropScene, FixEntry, SettleDoubt, UnexpectedError, target_of, with_applied
from pipeline.core.schema import AnyScene
from pipeline.engine.stage import Stage, StageContext
from pipeline.worlds.registry import WORLDS, examined, read_scene, world_of

if TYPE_CHECKING:
    from pipeline.benchmarks.benchmark import Benchmark, FromMetadata
    from pipeline.engine.config import BuildConfig
    from pipeline.engine.inputs import HumanInput
    from pipeline.reading.reader import Reader

LOOK_AGAIN: Final = "the source changed under the fix: look at the scene again, then correct expect, or delete the fix"


def run(context: StageContext) -> bytes:
    """The `Scene` as JSON, corrected, with what people wrote of it and with the findings of its world.

    Raises RawDataError for a scene that is to be left out, or that is not as a fix expects it.
    """
    scene = with_human_input(
        read_scene(context.needed("unify")), context.required_human_input, context.settings.get("known_to")
    )
    return scene.model_dump_json(indent=1).encode()


def with_human_input(scene: AnyScene, human: HumanInput, known_to: str | None = None) -> AnyScene:
    """A scene with what people said of it; ``known_to`` is the benchmark whose published questions are given."""
    values = [e for e in human.fixes if not isinstance(e.fix, SettleDoubt)]
    for entry in human.fixes:
        if isinstance(entry.fix, DropScene):
            message = f"{entry.place} leaves it out: {entry.fix.why} ({entry.fix.who}, {entry.fix.date})"
            raise RawDataError(entry.file, DROPPED, message, "delete the fix to have it again", scene.id)
    _check(scene, values)
    world = WORLDS[scene.facts.world]
    fixes = [entry.fix for entry in values]
    if fixes:
        scene = with_applied(world.fix(scene, fixes), fixes)
    if human.written:
        scene = scene.with_facts(**human.written)
    scene = examined(scene)
    against = _known_answers_check(BENCHMARKS[known_to]) if known_to else None
    if against and human.known:
        settled = {subject for fix in scene.fixes for subject in fix.subjects}
        scene = scene.model_copy(update={"findings": (*scene.findings, *against.doubts(human.known, scene, settled))})
    return _settled(scene, [e for e in human.fixes if isinstance(e.fix, SettleDoubt)])


def _known_answers_check(benchmark: Benchmark[Any, Any]) -> FromMetadata | None:
    """How its published questions are held against the data of a scene."""
    return benchmark.audit.metadata if benchmark.audit else None


def _check(scene: AnyScene, entries: Sequence[FixEntry]) -> None:
    """Raises RawDataError for the first fix that does not find what it expects, and names the others."""
    faults: list[tuple[FixEntry, str]] = []
    for entry in entries:
        if entry.fix.world != scene.facts.world:
            kinds = ", ".join(map(target_of, WORLDS[scene.facts.world].fixes))
            faults.append((entry, f"target {entry.fix.target} is none of this scene's; there are {kinds}"))
            continue
        try:
            entry.fix.check(scene)
        except UnexpectedError as error:
            faults.append((entry, str(error)))
    _raise(scene, faults)


def _settled(scene: AnyScene, entries: Sequence[FixEntry]) -> AnyScene:
    """The scene without the doubts that somebody looked at."""
    faults = []
    for entry in entries:
        if not any(entry.fix.settles(finding) for finding in scene.findings):
            about = sorted(f.name for f in scene.findings if f.subject == entry.fix.of and f.severity == "doubt")
            found = ", ".join(about) or "none"
            faults.append((entry, f"doubt about {entry.fix.of}: expected {entry.fix.expect}, found {found}"))
    _raise(scene, faults)
    fixes = [entry.fix for entry in entries]
    kept = tuple(f for f in scene.findings if not any(fix.settles(f) for fix in fixes))
    return with_applied(scene.model_copy(update={"findings": kept}), fixes) if fixes else scene


def _raise(scene: AnyScene, faults: Sequence[tuple[FixEntry, str]]) -> None:
    if faults:
        first: Path = faults[0][0].file
        message = "; ".join(f"{entry.place}: {fault}" for entry, fault in faults)
        raise RawDataError(first, "fix_does_not_fit", message, LOOK_AGAIN, scene.id)


def settings(config: BuildConfig) -> dict[str, Any]:
    """Where published questions are given, the benchmark that they are of."""
    return {"known_to": config.benchmark} if config.known_file else {}


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The code by which the reader's world corrects and examines, and answers published questions again where given."""
    if reader is None:
        raise ValueError("this stage takes what was said of a scene")
    world, against = world_of(reader.name), _known_answers_check(config.of_benchmark()) if config.known_file else None
    own = (world.facts.__module__, world.fix.__module__, world.examine.__module__)
    return (*own, *([against.doubts.__module__] if against else []))


FIX: Final = Stage(
    name="fix",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("unify",),
    reads_human_input=True,
    settings=settings,
    uses=uses,
)
