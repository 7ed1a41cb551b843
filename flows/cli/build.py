"""The commands `scan2qa build` and `scan2qa stage`: run a build, or show the plan, and print the outcome."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flows.cli.output import build_tables
from flows.cli.output.console import console, output_options, print_json, stop_spinner
from flows.cli.output.forecast_tables import show_forecast, spending_table
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_table
from flows.orchestration.build import (
    BuildRequest,
    ResolvedBuild,
    make_executor,
    remote_build,
    resolve_build,
    resolve_stage,
    started,
    synchronised,
)
from flows.orchestration.forecast import BuildForecast, build_forecast
from flows.orchestration.prefect_server import LostPrefectError, is_kept, spare_loopback, trouble
from flows.orchestration.processes import stoppable
from pipeline.core.errors import ConfigError
from pipeline.core.fixes import DROPPED
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import list_inputs
from pipeline.engine.manifest import Outcome
from pipeline.engine.run import at_once
from pipeline.release.history import RELEASE, history
from pipeline.stages.author import is_blindfolded, is_too_small
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from flows.remote.remote_store import RemoteBuildStore

PREFECT_FROM_SCENES: Final = 16  # a server of its own takes ten seconds to start: as long as this many scenes


def build(request: BuildRequest, *, dry_run: bool, explain: bool = False) -> bool:
    """A whole build, or what it would run and why; whether all scenes are in it."""
    resolved = resolve_build(request, write=not dry_run)
    config, folder = resolved.config, resolved.folder
    _print_idle_models(config)
    if explain:
        explained = Builder(config, folder).explain()
        stop_spinner()
        build_tables.show_explanation(explained)
        return True
    if dry_run:
        outcome = Builder(config, folder).dry_run()
        found = build_forecast(config, folder, outcome, list_inputs(config).inputs, request.workers)
        stop_spinner()
        print_json(summary(config, folder, outcome) | {"dry_run": True} | plan_summary(found))
        build_tables.show_elsewhere(config.roots)
        build_tables.show_dry_run(outcome)
        show_forecast(config, found, request.workers)
        return True
    kept = history(folder)
    complete = _run(request, resolved, "build", {})
    _print_changes(folder, kept[-1].name if kept else None)
    if (folder / RELEASE).exists():
        console.print(f"Release: {folder / RELEASE}")
    return complete


def stage(request: BuildRequest, stage: str, scenes: Sequence[str], *, dry_run: bool, explain: bool) -> bool:
    """One stage again, or what would run and why; whether no scene was left out."""
    resolved = resolve_stage(request, stage)
    if dry_run or explain:
        found = Builder(resolved.config, resolved.folder).explain(stage, scenes)
        stop_spinner()
        if explain:
            build_tables.show_explanation(found)
        else:
            build_tables.show_asked([one.entry.unit for one in found], stage)
        return True
    complete = _run(request, resolved, "stage", {"name": stage, "scenes": scenes})
    if stage != next(reversed(STAGES)):
        command = f"scan2qa build {request.name}" + (f" --out {request.out}" if request.out else "")
        console.print(f"Later stages were not run; {command} brings them up to date.", soft_wrap=True)
    return complete


def _print_idle_models(config: BuildConfig) -> None:
    """Prints the configured models that are not asked in this build, and the reasons."""
    describe, author, lines = config.describe.model, config.author.model, []
    if describe is not None and not config.video:
        lines.append(f"{describe.name} looks at nothing: it is shown videos, and this build makes none.")
    if author is not None and is_blindfolded(config):
        lines.append(f"{author.name} writes nothing: it is shown videos, and this build makes none.")
    elif author is not None and is_too_small(config):
        lines.append(f"{author.name} writes nothing: it is too small; give a larger author.model.")
    for line in lines:
        stop_spinner()
        console.print(line)


def _print_changes(folder: Path, newest_before: str | None) -> None:
    """One line, and which questions; a release that cannot be compared costs no build."""
    from flows.cli.diff import show_changes, since_last  # takes a moment to import

    try:
        line, report = since_last(folder, newest_before)
    except ConfigError as error:
        line, report = f"what changed cannot be told: {error}", None
    console.print(f"{line[0].upper()}{line[1:]}", soft_wrap=True)
    if report and report.changes:
        show_changes(report)


def _run(request: BuildRequest, resolved: ResolvedBuild, action: str, options: dict[str, Any]) -> bool:
    """Runs a method of `Builder`, as a Prefect flow where that is asked for or worth its start, and shows its end."""
    config, folder, prefect = resolved.config, resolved.folder, request.prefect
    with stoppable(), remote_build(config, folder) as remote, started(resolved, options.get("name")) as keys:
        if prefect is None:
            prefect = is_kept() or Builder(config, folder).due(**options) >= PREFECT_FROM_SCENES
        outcome = None
        if prefect and _can_use_prefect(request):
            outcome = _run_with_prefect(request, resolved, keys, remote, action, options)
        if outcome is None:
            with progress_shown() as progress, make_executor(request, config.store) as workers:
                execute = synchronised(remote, request, workers.execute)
                here = remote.sending_here(at_once) if remote else at_once
                outcome = getattr(Builder(config, folder, execute, progress, keys, here=here), action)(**options)
    print_json(summary(config, folder, outcome))
    if output_options.verbose:
        build_tables.show_entries(outcome)
    build_tables.show_outcome(outcome, config.benchmark)
    spending = spending_table(config, folder)
    if spending is not None:
        print_table(spending)
    return all(left_out.finding == DROPPED for left_out in outcome.quarantine)


def _run_with_prefect(
    request: BuildRequest,
    resolved: ResolvedBuild,
    keys: Mapping[str, str],
    remote: RemoteBuildStore | None,
    action: str,
    options: dict[str, Any],
) -> Outcome | None:
    """The same as a Prefect flow; None where Prefect fails on the way, and the store has what was finished."""
    from flows.orchestration.prefect_flows import FlowContext, run_as_flow

    try:
        with progress_shown() as progress:
            outcome, not_reported = run_as_flow(request, FlowContext(resolved, keys, progress, remote), action, options)
    except LostPrefectError as error:
        _go_without_prefect(request, str(error))
        return None
    if not_reported:
        console.print(f"Prefect was not told how this ended: {not_reported}", soft_wrap=True)
    return outcome


def _can_use_prefect(request: BuildRequest) -> bool:
    """Returns whether Prefect can be used. Prints why not; raises ConfigError where it was requested."""
    spare_loopback(os.environ)
    why = trouble()
    if why is not None:
        _go_without_prefect(request, why)
    return why is None


def _go_without_prefect(request: BuildRequest, why: str) -> None:
    """Says that the build goes on without Prefect. Raises ConfigError where it was asked for."""
    if request.prefect:
        raise ConfigError(f"Prefect cannot be used: {why}; build without it: --no-prefect")
    stop_spinner()
    console.print(
        f"Building without Prefect: {why}. Its states are not kept; results are.", soft_wrap=True, markup=False
    )


def summary(config: BuildConfig, folder: Path, outcome: Outcome) -> dict[str, Any]:
    """The outcome of a build, a stage or a dry run as JSON-like values: the output of `--json`."""
    released = outcome.released
    return {
        "build": config.build,
        "benchmark": config.benchmark,
        "folder": str(folder),
        "configuration": config.digest(),
        "complete": all(row.finding == DROPPED for row in outcome.quarantine),
        "stages": outcome.counts(),
        "release": None if released is None else str(folder / RELEASE),
        "questions": {} if released is None else released.questions,
        "dropped": {} if released is None else released.rejections,
        "left_out": [row.model_dump() for row in outcome.quarantine],
    }


def plan_summary(found: BuildForecast) -> dict[str, Any]:
    """The forecast of a dry run as JSON-like values."""
    return {
        "questions_at_most": dict(found.bounds.by_task),
        "for_lack_of": [asdict(cost) for cost in found.bounds.costs],
        "models": None if found.models is None else [asdict(row) for row in found.models],
        "time_and_disk": [asdict(one) for one in found.efforts],
    }
