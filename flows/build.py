"""The commands `scan2qa build`, `stage` and `doctor`: from names on the command line to a build and its tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from flows import show, show_money
from flows.console import console
from flows.pool import Pool
from flows.samples import sample_roots
from flows.server import is_kept
from pipeline.benchmarks.prospects import Terms, prospects
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.engine.config import BuildConfig, load_config
from pipeline.engine.manifest import Outcome
from pipeline.reading.doctor import inspect
from pipeline.stages.author import is_blindfolded
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import READERS, configured, world_of
from pipeline.worlds.world import World

OUTPUTS: Final = Path("outputs")
BUILDS: Final = Path(__file__).resolve().parent / "builds"
PREFECT_FROM_SCENES: Final = 16  # a server of its own takes ten seconds to start: as long as this many scenes


def build(
    path: Path,
    roots: Sequence[str],
    settings: Sequence[str],
    out: Path | None,
    *,
    changes: Mapping[str, Any],
    dry_run: bool,
    workers: int,
    prefect: bool | None,
) -> bool:
    """A whole build, or what it would run; whether all scenes are in it."""
    config, folder = _prepare(path, roots, out, settings, write=not dry_run)
    config = config.model_copy(update=changes)
    if config.author.model is not None and is_blindfolded(config):
        console.print(f"{config.author.model.name} writes nothing: it is shown videos, and this build makes none.")
    if dry_run:
        outcome = Builder(config, folder).dry_run()
        show.show_dry_run(outcome)
        _show_forecast(config, folder, outcome)
        return True
    complete = _run(config, folder, workers, prefect, "build", {})
    console.print(f"Release: {folder / 'release'}")
    return complete


def stage(
    path: Path,
    stage: str,
    scenes: Sequence[str],
    roots: Sequence[str],
    settings: Sequence[str],
    out: Path | None,
    *,
    changes: Mapping[str, Any],
    workers: int,
    prefect: bool | None,
) -> bool:
    """One stage again; whether no scene was left out."""
    needs_root = stage in STAGES and STAGES[stage].reads_raw
    config, folder = _prepare(path, roots, out, settings, write=False, needs_root=needs_root)
    config = config.model_copy(update=changes)
    complete = _run(config, folder, workers, prefect, "stage", {"name": stage, "scenes": scenes})
    if stage != next(reversed(STAGES)):
        console.print(f"Later stages were not run; [b]scan2qa build {path.stem}[/b] brings them up to date.")
    return complete


def doctor(roots: Sequence[str]) -> bool:
    """What lies below roots, and what it will give where that is quickly counted; whether every scene can be read."""
    sound = True
    for name, folder in _roots(roots).items():
        reader, world = configured(name, {}), world_of(name)
        inspection = inspect(reader, folder)
        show.show_inspection(name, folder, inspection)
        sound &= not inspection.broken
        for benchmark in BENCHMARKS.values():
            if world.quick and any(world.name == own.name for own in benchmark.worlds):
                found = prospects(
                    benchmark, reader, folder, reader.scenes(folder).scenes, _terms(benchmark.name, world)
                )
                show.show_prospects(benchmark.title, found)
    return sound


def _terms(name: str, world: World[Any]) -> Terms:
    """As the benchmark's own build counts."""
    config = load_config(BUILDS / f"{name}.yaml", ())
    observe = getattr(config.observe, world.name)
    return Terms(observe, config.generate.resolved_rules(), config.generate.tasks, config.select.per_scene_and_task)


def _prepare(
    path: Path,
    roots: Sequence[str],
    out: Path | None,
    settings: Sequence[str],
    write: bool,
    needs_root: bool = True,
) -> tuple[BuildConfig, Path]:
    config = load_config(path, settings)
    folder = out or OUTPUTS / config.build
    given = dict(config.roots) | _roots(roots)
    if not given and needs_root:
        given = sample_roots(config.of_benchmark().worlds, folder / "samples", write)
    return config.model_copy(update={"roots": given}), folder


def _show_forecast(config: BuildConfig, folder: Path, outcome: Outcome) -> None:
    """What asking the models would take; by the last questions, since nothing is run."""
    from pipeline.stages.asking import forecast_of

    due = [entry.unit for entry in outcome.manifest if entry.stage == "author" and entry.why != "reused"]
    rows = forecast_of(config, folder, due)
    if rows is None:
        console.print("What the models will cost is not known before stage select has run: leave them out once.")
    elif rows:
        console.print(show_money.forecast_table(rows, show_money.caps_of(config)))


def _roots(roots: Sequence[str]) -> dict[str, Path]:
    given = {}
    for root in roots:
        reader, equals, directory = root.partition("=")
        if not equals or not directory:
            raise ConfigError(f"--root {root}: write it as reader=folder, with a reader of {', '.join(READERS)}")
        given[reader] = Path(directory)
    return given


def _run(
    config: BuildConfig, folder: Path, workers: int, prefect: bool | None, action: str, options: dict[str, Any]
) -> bool:
    """Runs a method of `Builder`, as a Prefect flow where that is asked for or worth its start, and shows its end."""
    keys = _keys(config)
    builder = Builder(config, folder, keys=keys)
    builder.check(options.get("name"))  # what is wrong is said at once
    if prefect is None:
        prefect = is_kept() or builder.due(**options) >= PREFECT_FROM_SCENES
    with show.progress_bars() as progress:
        if prefect:
            from flows.orchestrate import orchestrate

            outcome = orchestrate(config, folder, workers, action, progress, keys, **options)
        else:
            with Pool(workers) as pool:
                outcome = getattr(Builder(config, folder, pool.execute, progress, keys), action)(**options)
    show.show_outcome(outcome)
    spending = show_money.spending_table(config, folder)
    if spending is not None:
        console.print(spending)
    return not outcome.quarantine


def _keys(config: BuildConfig) -> dict[str, str]:
    """The API keys of the configured models, of those environment variables that are set."""
    names = {model.key_name for stage in STAGES.values() for model in stage.asks(config) if model.key_name}
    return {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}
