"""Resolves a request from the command line into a build: its configuration, folder, roots and workers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.cli.output.console import console, start_spinner, stop_spinner
from flows.orchestration.folders import BUILDS, OUTPUTS
from flows.orchestration.processes import Pool
from flows.orchestration.roots import root_at, roots_of, sample_roots, written
from flows.orchestration.saved_build import (
    SAVED_FILE,
    UNFINISHED_FILE,
    SavedBuild,
    read_saved_build,
    save_if_successful,
)
from flows.remote.cluster import CLUSTERS, Cluster, check_runner
from pipeline.core.errors import ConfigError, require_extra
from pipeline.core.plugins import folders
from pipeline.engine.change_causes import changes
from pipeline.engine.config import BuildConfig, load_config
from pipeline.engine.lease import is_running
from pipeline.engine.manifest import read_manifest, read_quarantine
from pipeline.engine.run import Execute
from pipeline.llm.providers import check_installed
from pipeline.stages.builder import SAMPLES, Builder
from pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from flows.remote.remote_store import RemoteBuildStore


@dataclass(frozen=True)
class BuildRequest:
    """A build as a command asks for it.

    Attributes:
        path: its configuration.
        roots: ``reader=folder`` each.
        settings: ``key=value`` each.
        out: its folder, if it was given.
        forget: ignore the saved arguments.
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
        """The configuration's name on the command line."""
        return self.path.stem if self.path.parent in {BUILDS, *folders("builds")} else str(self.path)


@dataclass(frozen=True)
class ResolvedBuild:
    """A build that can be run: all of its settings, and the roots that were given, now or before."""

    config: BuildConfig
    folder: Path
    settings: Sequence[str]
    roots: Mapping[str, Path]


def resolve_build(request: BuildRequest, *, write: bool, needs_root: bool = True) -> ResolvedBuild:
    """The build that a command asks for, with the saved arguments of its folder.

    Args:
        request: what was said now.
        write: sample scenes may be written where there are no roots.
        needs_root: whether it is of no use without raw data.

    Raises ConfigError where it cannot be run so.
    """
    check_runner(request.runner, request.address)
    config, folder, saved, settings = _resolve_settings(request)
    given = roots_of(request.roots) or {name: root_at(root) for name, root in saved.roots.items()}
    require_extra("s3" if config.store else None, "--store")
    require_extra("finetune" if config.blind.finetune else None, "blind.finetune")
    stop_spinner()
    _print_saved(request, saved, config, given)
    if not request.roots:
        _print_outranked(request.path, config, saved)
    start_spinner("Looking for what has changed")
    roots = {name: root_at(str(root)) for name, root in config.roots.items() if name not in given} | given
    if not roots and needs_root:
        _refuse_samples(folder)
        for model in (model for stage in STAGES.values() if write for model in stage.models(config)):
            check_installed(model)  # before samples are written, which takes a while
        roots = sample_roots(config.of_benchmark().worlds, folder / SAMPLES, write)
    home = (folder / SAMPLES).resolve()
    are_samples = bool(roots) and all(root.resolve().is_relative_to(home) for root in roots.values())
    if request.runner is not None:  # whose workers start elsewhere
        folder, roots = folder.absolute(), {name: root.absolute() for name, root in roots.items()}
    config = config.model_copy(update={"roots": roots, "samples": config.samples or are_samples})
    return ResolvedBuild(config, folder, settings, given)


def resolve_stage(request: BuildRequest, stage: str) -> ResolvedBuild:
    """A build of which one stage is to be run; needs raw data only where that stage does."""
    needs_root = stage in STAGES and (STAGES[stage].needs_roots or STAGES[stage].unit == "build")
    return resolve_build(request, write=False, needs_root=needs_root)


def _resolve_settings(request: BuildRequest) -> tuple[BuildConfig, Path, SavedBuild, list[str]]:
    """Configuration and folder, the arguments saved there, and those settings with the new ones laid over them.

    Raises ConfigError where the folder holds a build of another name, or of another benchmark.
    """
    config = load_config(request.path, request.settings)
    folder = request.out or OUTPUTS / config.build
    saved, file = SavedBuild(), SAVED_FILE
    if not request.forget:
        saved, unfinished = read_saved_build(folder), read_saved_build(folder, UNFINISHED_FILE)
        if not saved.at:  # nothing has succeeded yet
            saved, file = unfinished, UNFINISHED_FILE
        elif unfinished.at and unfinished.unsaid() != saved.unsaid() and not is_running(folder):
            stop_spinner()
            said = f"The run started at {unfinished.at} UTC has not finished or built no scene"
            arguments = unfinished.unsaid() or "none"
            console.print(f"{said}, and its arguments are not saved: {arguments}")
    settings = saved.with_settings(request.settings)
    _refuse_another(folder, saved, config, "benchmark")  # whose settings would not fit
    try:
        config = load_config(request.path, settings)
    except ConfigError as error:  # those of the call alone are sound
        raise ConfigError(f"{folder / file}: {error}; correct it there, or start without it: --forget") from error
    _refuse_another(folder, saved, config, "build")
    return config, folder, saved, settings


def _refuse_another(folder: Path, saved: SavedBuild, config: BuildConfig, key: str) -> None:
    before, now = saved.configured.get(key), getattr(config, key)
    if saved.configured and before != now:
        raise ConfigError(f"{folder} holds the {key} {before}; give {now} another --out")


def _print_saved(request: BuildRequest, saved: SavedBuild, config: BuildConfig, roots: Mapping[str, Path]) -> None:
    if unsaid := saved.unsaid(request.roots, request.settings):
        console.print(f"As last time: {unsaid}")
    if saved.configured:
        now = {"roots": written(roots), **config.resolved()}
        for change in changes({"roots": saved.roots, **saved.configured}, now):
            console.print(f"Changed since last time: {change}")


def _print_outranked(path: Path, config: BuildConfig, saved: SavedBuild) -> None:
    """Says which roots of a configuration are not used, since others of the same readers were saved before."""
    for name in sorted(config.roots.keys() & saved.roots.keys()):
        own = written({name: root_at(str(config.roots[name]))})[name]
        if own != saved.roots[name]:
            reason = f"{saved.roots[name]} was given as --root and is saved with the build"
            console.print(f"{path}: its root {name}={own} is not used: {reason}; give --root {name}={own}, or --forget")


def _refuse_samples(folder: Path) -> None:
    """Raises ConfigError where sample scenes would replace a build of other data."""
    saved = read_saved_build(folder)
    is_real = bool(saved.roots) if saved.configured else not (folder / SAMPLES).is_dir()
    if read_manifest(folder) and is_real:
        message = f"{folder} holds a build of real data, and sample scenes would replace it"
        raise ConfigError(f"{message}: give its --root again, or another folder with --out")


def check(resolved: ResolvedBuild, stage: str | None = None) -> Builder:
    """A builder with the API keys of its models. Raises ConfigError and StoreError for what would be raised later."""
    names = {model.key_name for each in STAGES.values() for model in each.models(resolved.config) if model.key_name}
    keys = {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}
    builder = Builder(resolved.config, resolved.folder, keys=keys)
    builder.check(stage)
    return builder


@contextmanager
def started(resolved: ResolvedBuild, stage: str | None = None) -> Iterator[Builder]:
    """Within the block a build is run, by this builder; its arguments are saved if it succeeds."""
    builder = check(resolved, stage)
    folder = resolved.folder

    def has_built() -> bool:
        left_out = {one.unit for one in read_quarantine(folder)}
        return stage is not None or not left_out.issuperset(builder.inputs())

    with save_if_successful(folder, resolved.config, resolved.settings, resolved.roots, has_built):
        yield builder


def make_executor(request: BuildRequest, store: str | None) -> Pool | Cluster:
    """The executor of a build's scenes: processes of this machine, or a cluster."""
    if request.runner is None:
        return Pool(request.workers)
    return CLUSTERS[request.runner](request.address, request.workers, store)


def remote_build(store: str | None, folder: Path) -> AbstractContextManager[RemoteBuildStore | None]:
    """Within the block the folder is what the build's object store holds, if any, and nobody else builds there."""
    if store is None:
        return nullcontext()
    from flows.remote.remote_store import remote_build_store

    return remote_build_store(store, folder)


def synchronised(remote: RemoteBuildStore | None, request: BuildRequest, execute: Execute) -> Execute:
    """Runs batches so that what they make is on both sides."""
    if remote is None:
        return execute
    return remote.sending(execute) if request.runner is None else remote.fetching(execute)
