"""The commands `scan2qa build`, `stage` and `doctor`: from names on the command line to a build and its tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flows import show, show_money
from flows.cluster import CLUSTERS, Cluster, check_runner
from flows.console import console, done_waiting, print_json, voice, wait
from flows.forecast import COUNTED, bounds_of, efforts, outlook
from flows.kept import Kept, keep, read_kept
from flows.options import BUILDS, OUTPUTS
from flows.outcome import foretold, told
from flows.pool import Pool
from flows.progress import progress_shown
from flows.rates import READING, seconds_for
from flows.roots import root_at, roots_of, written
from flows.samples import sample_roots
from flows.server import LostPrefectError, is_kept, spare_loopback, trouble
from flows.show_forecast import show_bounds, show_efforts, show_outlook
from flows.stop import stoppable
from flows.tables import print_table
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.extras import need
from pipeline.core.fixes import DROPPED
from pipeline.core.mirrors import is_here, named
from pipeline.engine.config import BuildConfig, load_config
from pipeline.engine.explain import changes
from pipeline.engine.inputs import list_inputs
from pipeline.engine.manifest import Outcome, read_manifest
from pipeline.engine.run import Execute, at_once
from pipeline.reading.doctor import Inspection, Read, inspect, read_scenes
from pipeline.reading.reader import Reader
from pipeline.release.history import RELEASE, history
from pipeline.stages.author import is_blindfolded, is_too_small
from pipeline.stages.builder import SAMPLES, Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import configured, examined, world_of

if TYPE_CHECKING:
    from flows.far import Far

READ_WITHIN_S: Final = 30.0  # by the table's rates
PREFECT_FROM_SCENES: Final = 16  # a server of its own takes ten seconds to start: as long as this many scenes


@dataclass(frozen=True)
class Asked:
    """What a command says of a build.

    Attributes:
        path: its configuration.
        roots: ``reader=folder`` each.
        settings: ``key=value`` each.
        out: its folder, if it was given.
        forget: leave out what the build was started with before.
        workers: processes.
        prefect: as a Prefect flow or not; None: where that is worth it.
        runner: the kind of cluster that scenes go to; None: processes of this machine.
        address: of the cluster; None: one of this machine.
    """

    path: Path
    roots: Sequence[str]
    settings: Sequence[str]
    out: Path | None
    forget: bool
    workers: int
    prefect: bool | None
    runner: str | None = None
    address: str | None = None

    @property
    def name(self) -> str:
        """As the configuration is called on the command line."""
        return self.path.stem if self.path.parent == BUILDS else str(self.path)


@dataclass(frozen=True)
class Prepared:
    """A build that can be run: its settings in all, and the roots that were given, now or before."""

    config: BuildConfig
    folder: Path
    settings: Sequence[str]
    roots: Mapping[str, Path]


def build(asked: Asked, *, dry_run: bool, explain: bool = False) -> bool:
    """A whole build, or what it would run and why; whether all scenes are in it."""
    prepared = prepare(asked, write=not dry_run)
    config, folder = prepared.config, prepared.folder
    if config.look.model is not None and not config.video:
        done_waiting()
        console.print(f"{config.look.model.name} looks at nothing: it is shown videos, and this build makes none.")
    if config.author.model is not None:
        done_waiting()
        if is_blindfolded(config):
            console.print(f"{config.author.model.name} writes nothing: it is shown videos, and this build makes none.")
        elif is_too_small(config):
            console.print(f"{config.author.model.name} writes nothing: it is too small; give a larger author.model.")
    if explain:
        explained = Builder(config, folder).explain()
        done_waiting()
        show.show_explanation(explained)
        return True
    if dry_run:
        outcome = Builder(config, folder).dry_run()
        found = outlook(config, folder, outcome, list_inputs(config).inputs, asked.workers)
        done_waiting()
        print_json(told(config, folder, outcome) | {"dry_run": True} | foretold(found))
        show.show_elsewhere(config.roots)
        show.show_dry_run(outcome)
        show_outlook(config, found, asked.workers)
        return True
    kept = history(folder)
    complete = _run(asked, prepared, "build", {})
    _say_what_changed(folder, kept[-1].name if kept else None)
    if (folder / RELEASE).exists():
        console.print(f"Release: {folder / RELEASE}")
    return complete


def _say_what_changed(folder: Path, newest_before: str | None) -> None:
    """One line, and which questions; a release that cannot be compared costs no build."""
    from flows.diff import show_changes, since_last  # takes a moment to import

    try:
        told, report = since_last(folder, newest_before)
    except ConfigError as error:
        told, report = f"what changed cannot be told: {error}", None
    console.print(f"{told[0].upper()}{told[1:]}", soft_wrap=True)
    if report and report.changes:
        show_changes(report)


def stage(asked: Asked, stage: str, scenes: Sequence[str], *, dry_run: bool = False, explain: bool = False) -> bool:
    """One stage again, or what would run and why; whether no scene was left out."""
    prepared = prepare_stage(asked, stage)
    if dry_run or explain:
        found = Builder(prepared.config, prepared.folder).explain(stage, scenes)
        done_waiting()
        if explain:
            show.show_explanation(found)
        else:
            show.show_asked([one.entry.unit for one in found], stage)
        return True
    complete = _run(asked, prepared, "stage", {"name": stage, "scenes": scenes})
    if stage != next(reversed(STAGES)):
        command = f"scan2qa build {asked.name}" + (f" --out {asked.out}" if asked.out else "")
        console.print(f"Later stages were not run; {command} brings them up to date.", soft_wrap=True)
    return complete


def doctor(roots: Sequence[str], workers: int) -> bool:
    """What lies below roots; where that is quickly told, what is wrong with it and what it will give; is all well?"""
    sound = True
    for name, folder in roots_of(roots).items():
        reader, world = configured(name, {}), world_of(name)
        need(reader.extra, f"reader {name}")
        inspection = inspect(reader, folder)
        done_waiting()
        show.show_inspection(name, named(folder), inspection)
        show.show_elsewhere({name: folder})
        sound &= not inspection.broken
        if name in world.quick:
            read = _read_quickly(reader, folder, inspection)
            done_waiting()
            show.show_read(read, len(inspection.scenes))
            sound &= not read.broken
        for benchmark in BENCHMARKS.values():
            if any(world.name == own.name for own in benchmark.worlds):
                _show_prospects(benchmark.name, name, folder, workers)
    return sound


def _read_quickly(reader: Reader, root: Path, inspection: Inspection) -> Read:
    """Scenes as they are read in half a minute, of those that need not be fetched."""
    wait("Reading")
    most = min(COUNTED, int(READ_WITHIN_S / seconds_for(reader.name, READING)))
    here = [ref for ref in inspection.scenes[:most] if is_here(root / ref.files[0])]
    return read_scenes(reader, root, here, examined)


def _show_prospects(name: str, reader: str, root: Path, workers: int) -> None:
    """What a benchmark would make of a root, as its own configuration has it."""
    wait("Counting questions")
    config = load_config(BUILDS / f"{name}.yaml", ()).model_copy(update={"roots": {reader: root}})
    inputs, title = list_inputs(config).inputs, config.of_benchmark().title
    found = bounds_of(config, inputs)
    done_waiting()
    show_bounds(f"{title}: questions at most", found, config)
    show.show_costs(found.costs)
    due = {stage.name: {reader: len(inputs)} for stage in STAGES.values() if stage.is_wanted(config)}
    datasets = {reader: {raw.ref.dataset for raw in inputs.values()}}
    took = efforts(config, OUTPUTS / config.build, due, datasets, found.questions, workers)
    show_efforts(f"{title}: time and disk", took, workers)


def prepare_stage(asked: Asked, stage: str) -> Prepared:
    """A build of which one stage is to be run; needs raw data only where that stage does."""
    needs_root = stage in STAGES and (STAGES[stage].needs_roots or STAGES[stage].unit == "build")
    return prepare(asked, write=False, needs_root=needs_root)


def prepare(asked: Asked, write: bool, needs_root: bool = True) -> Prepared:
    """A build with what was said, now or the last time. Raises ConfigError; ``write``: may write sample scenes."""
    check_runner(asked.runner, asked.address)
    config = load_config(asked.path, asked.settings)
    folder = asked.out or OUTPUTS / config.build
    kept = Kept() if asked.forget else read_kept(folder)
    _refuse_another(folder, kept, config, "benchmark")  # whose settings would not fit
    settings = kept.with_settings(asked.settings)
    config = load_config(asked.path, settings)
    _refuse_another(folder, kept, config, "build")
    given = roots_of(asked.roots) or {name: root_at(root) for name, root in kept.roots.items()}
    need("s3" if config.store else None, "--store")
    done_waiting()
    _say_what_is_kept(asked, kept, config, given)
    wait("Looking for what has changed")
    roots = {name: root_at(str(root)) for name, root in config.roots.items() if name not in given} | given
    if not roots and needs_root:
        _refuse_samples(folder)
        roots = sample_roots(config.of_benchmark().worlds, folder / SAMPLES, write)
    samples = config.samples or (bool(roots) and all(_is_below(root, folder / SAMPLES) for root in roots.values()))
    if asked.runner is not None:  # whose workers start elsewhere
        folder, roots = folder.absolute(), {name: root.absolute() for name, root in roots.items()}
    return Prepared(config.model_copy(update={"roots": roots, "samples": samples}), folder, settings, given)


def _is_below(root: Path, folder: Path) -> bool:
    return root.resolve().is_relative_to(folder.resolve())


def hands_of(asked: Asked, store: str | None) -> Pool | Cluster:
    """Who does the scenes of a build."""
    return Pool(asked.workers) if asked.runner is None else CLUSTERS[asked.runner](asked.address, asked.workers, store)


@contextmanager
def shared(config: BuildConfig, folder: Path) -> Iterator[Far | None]:
    """Within the block the folder is what the build's object store holds, and nobody else builds there."""
    if config.store is None:
        yield None
        return
    from flows.far import kept_far

    with kept_far(config.store, folder) as far:
        yield far


def through(far: Far | None, asked: Asked, execute: Execute) -> Execute:
    """Runs batches so that what they make is on both sides."""
    if far is None:
        return execute
    return far.sending(execute) if asked.runner is None else far.fetching(execute)


def _say_what_is_kept(asked: Asked, kept: Kept, config: BuildConfig, roots: Mapping[str, Path]) -> None:
    if unsaid := kept.unsaid(asked.roots, asked.settings):
        console.print(f"As last time: {unsaid}", soft_wrap=True)
    if kept.configured:
        now = {"roots": written(roots), **config.resolved()}
        for change in changes({"roots": kept.roots, **kept.configured}, now):
            console.print(f"Changed since last time: {change}", soft_wrap=True)


def _refuse_another(folder: Path, kept: Kept, config: BuildConfig, key: str) -> None:
    """Raises ConfigError where a folder holds a build of another name, or of another benchmark."""
    before, now = kept.configured.get(key), getattr(config, key)
    if kept.configured and before != now:
        raise ConfigError(f"{folder} holds the {key} {before}; give {now} another --out")


def _refuse_samples(folder: Path) -> None:
    """Raises ConfigError where sample scenes would replace a build of other data."""
    kept = read_kept(folder)
    is_real = bool(kept.roots) if kept.configured else not (folder / SAMPLES).is_dir()
    if read_manifest(folder) and is_real:
        message = f"{folder} holds a build of real data, and sample scenes would replace it"
        raise ConfigError(f"{message}: give its --root again, or another folder with --out")


def _run(asked: Asked, prepared: Prepared, action: str, options: dict[str, Any]) -> bool:
    """Runs a method of `Builder`, as a Prefect flow where that is asked for or worth its start, and shows its end."""
    config, folder, prefect = prepared.config, prepared.folder, asked.prefect
    with stoppable(), shared(config, folder) as far:
        keys = start(prepared, options.get("name"))
        if prefect is None:
            prefect = is_kept() or Builder(config, folder).due(**options) >= PREFECT_FROM_SCENES
        outcome = None
        if prefect and _can_use_prefect(asked):
            outcome = _with_prefect(asked, prepared, keys, far, action, options)
        if outcome is None:
            with progress_shown() as progress, hands_of(asked, config.store) as workers:
                execute, here = through(far, asked, workers.execute), far.sending_here(at_once) if far else at_once
                outcome = getattr(Builder(config, folder, execute, progress, keys, here=here), action)(**options)
    print_json(told(config, folder, outcome))
    if voice.verbose:
        show.show_entries(outcome)
    show.show_outcome(outcome, config.benchmark)
    spending = show_money.spending_table(config, folder)
    if spending is not None:
        print_table(spending)
    return all(left_out.finding == DROPPED for left_out in outcome.quarantine)


def _with_prefect(
    asked: Asked, prepared: Prepared, keys: Mapping[str, str], far: Far | None, action: str, options: dict[str, Any]
) -> Outcome | None:
    """The same as a Prefect flow; None where Prefect fails on the way, and the store has what was finished."""
    from flows.orchestrate import Handed, orchestrate

    try:
        with progress_shown() as progress:
            handed = Handed(prepared, keys, progress, far)
            outcome = orchestrate(asked, handed, action, options)
    except LostPrefectError as error:
        _without_prefect(asked, str(error))
        return None
    if handed.lost:
        console.print(f"Prefect was not told how this ended: {handed.lost}", soft_wrap=True)
    return outcome


def _can_use_prefect(asked: Asked) -> bool:
    """Whether Prefect can be used. Says why not; raises ConfigError where it was asked for."""
    spare_loopback(os.environ)
    told = trouble()
    if told is not None:
        _without_prefect(asked, told)
    return told is None


def _without_prefect(asked: Asked, why: str) -> None:
    """Says that the build goes on without Prefect. Raises ConfigError where it was asked for."""
    if asked.prefect:
        raise ConfigError(f"Prefect cannot be used: {why}; build without it: --no-prefect")
    done_waiting()
    console.print(
        f"Building without Prefect: {why}. Its states are not kept; results are.", soft_wrap=True, markup=False
    )


def start(prepared: Prepared, stage: str | None = None) -> dict[str, str]:
    """Says what is wrong at once, keeps what the build is started with, and gives the keys of its models."""
    keys = _keys(prepared.config)
    Builder(prepared.config, prepared.folder, keys=keys).check(stage)
    keep(prepared.folder, prepared.config, prepared.settings, prepared.roots)
    return keys


def _keys(config: BuildConfig) -> dict[str, str]:
    """The API keys of the configured models, of those environment variables that are set."""
    names = {model.key_name for stage in STAGES.values() for model in stage.asks(config) if model.key_name}
    return {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}
