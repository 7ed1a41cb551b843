"""The commands `scan2qa build` and `scan2qa stage`: run a build, or show the plan, and print the outcome."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from flows.cli.output.build_screen import show_general, show_left_out, show_screen
from flows.cli.output.console import console, count_of, output_options, print_json, start_spinner, stop_spinner
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_table
from flows.cli.release import show_waiting, waiting_line
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
from flows.orchestration.prefect_server import LostPrefectError, is_kept, spare_loopback, trouble
from flows.orchestration.processes import stoppable
from flows.remote.cluster import check_answers
from pipeline.core.errors import ConfigError, Scan2qaError
from pipeline.core.fixes import DROPPED
from pipeline.engine.config import BuildConfig
from pipeline.engine.manifest import Outcome
from pipeline.engine.plan import WHOLE
from pipeline.engine.run import at_once
from pipeline.release.history import RELEASE, candidate, history, newest_release
from pipeline.stages.author import is_blindfolded, is_too_small
from pipeline.stages.builder import Builder, units_due
from pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from flows.orchestration.forecast import BuildForecast
    from flows.remote.remote_store import RemoteBuildStore
    from pipeline.release.comparison import Report

PREFECT_FROM_SCENES: Final = 16  # a server of its own takes ten seconds to start: as long as this many scenes
GALLERY_QUESTIONS: Final = 500  # of a release; the gallery of more takes longer than a few seconds


def build(request: BuildRequest, *, dry_run: bool, explain: bool = False) -> bool:
    """A whole build, or what it would run and why; whether all scenes are in it."""
    resolved = resolve_build(request, write=not dry_run)
    config, folder = resolved.config, resolved.folder
    _print_idle_models(config)
    if explain or dry_run:
        from flows.cli.output import build_tables  # takes a moment to import
    if explain:
        explained = Builder(config, folder).explain()
        stop_spinner()
        build_tables.show_explanation(explained)
        return True
    if dry_run:
        from flows.cli.output.forecast_tables import show_forecast
        from flows.orchestration.forecast import build_forecast

        builder = Builder(config, folder)
        outcome = builder.dry_run()
        found = build_forecast(config, folder, outcome, builder.inputs(), request.workers)
        stop_spinner()
        print_json(summary(config, folder, outcome) | {"dry_run": True} | plan_summary(found))
        build_tables.show_elsewhere(config.roots)
        build_tables.show_dry_run(outcome)
        show_forecast(config, found, outcome.num_scenes, request.workers)
        return True
    began, before = time.monotonic(), _newest(folder)
    outcome = _run(request, resolved, "build", {})
    newest, waiting = _newest(folder), candidate(folder)
    name = str(folder) if request.out else folder.name
    report: Report | None = None
    stays = "nothing changed" if outcome.released else "stays as it was, as no scene got as far as a release"
    line = f"Release {newest}: {stays}" if newest else "Nothing was released"
    line = waiting_line(folder, waiting, name) if waiting else line
    if newest != before:
        line, report = _changes(folder, before, config.benchmark)
    print_json(summary(config, folder, outcome) | changes_summary(newest, before, line, report))
    made = any(entry.output for entry in outcome.ran)
    if waiting and not made and not output_options.verbose:
        show_waiting(folder, name, "Nothing changed, and the candidate still waits. ")
        show_left_out(outcome.quarantine)
        return False
    if not made and newest == before and outcome.released and not output_options.verbose:
        questions, scenes = sum(outcome.released.questions.values()), outcome.num_scenes
        console.print(
            f"Nothing changed: {count_of(questions, 'question')} of {count_of(scenes, 'scene')} in {folder / RELEASE} "
            f"({newest})"
        )
        show_left_out(outcome.quarantine)
        return _is_complete(outcome)
    _show_end(config, folder, outcome, time.monotonic() - began)
    if waiting:
        show_waiting(folder, name)
        return False
    console.print(line)
    if report and report.changes and output_options.verbose:
        from flows.cli.diff import show_changes

        show_changes(report)
    if newest:
        has_changed = report is not None and bool(report.changes)
        _show_next(request, name, folder, outcome, config, is_new=newest != before, has_changed=has_changed)
    return _is_complete(outcome)


def stage(request: BuildRequest, stage: str, scenes: Sequence[str], *, dry_run: bool, explain: bool) -> bool:
    """One stage again, or what would run and why; whether no scene was left out."""
    resolved = resolve_stage(request, stage)
    if dry_run or explain:
        from flows.cli.output import build_tables

        found = Builder(resolved.config, resolved.folder).explain(stage, scenes)
        stop_spinner()
        if explain:
            build_tables.show_explanation(found)
        else:
            build_tables.show_asked([one.entry.unit for one in found], stage)
        return True
    began = time.monotonic()
    outcome = _run(request, resolved, "stage", {"name": stage, "scenes": scenes})
    print_json(summary(resolved.config, resolved.folder, outcome))
    _show_end(resolved.config, resolved.folder, outcome, time.monotonic() - began)
    if outcome.released and candidate(resolved.folder):
        show_waiting(resolved.folder, str(resolved.folder) if request.out else resolved.folder.name)
        return False
    if stage != next(reversed(STAGES)):
        command = f"scan2qa build {quote(request.name)}" + (f" --out {quote(str(request.out))}" if request.out else "")
        console.print(f"Later stages were not run; {command} brings them up to date.")
    return _is_complete(outcome)


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


def _newest(folder: Path) -> str | None:
    kept = history(folder)
    return kept[-1].name if kept else None


def _is_complete(outcome: Outcome) -> bool:
    return all(left_out.finding == DROPPED for left_out in outcome.quarantine)


def _changes(folder: Path, newest_before: str | None, benchmark: str) -> tuple[str, Report | None]:
    """The changes since a release, on one line and compared; a release that cannot be compared costs no build."""
    start_spinner("Comparing with the last release")
    from flows.cli.diff import since_last  # takes a moment to import

    try:
        line, report = since_last(folder, newest_before, benchmark)
    except ConfigError as error:
        return f"The changes are unknown: {error}", None
    finally:
        stop_spinner()
    return f"{line[0].upper()}{line[1:]}", report


def _show_end(config: BuildConfig, folder: Path, outcome: Outcome, seconds: float) -> None:
    """Prints the screen that a build or a stage ends on; with ``--verbose`` its tables too."""
    from flows.cli.output.forecast_tables import lasting, spending_line, spending_table

    if output_options.verbose:
        from flows.cli.output import build_tables

        build_tables.show_entries(outcome)
        build_tables.show_outcome(outcome, config.benchmark)
        if (spending := spending_table(config, folder)) is not None:
            print_table(spending)
        console.print()
    show_screen(outcome, lasting(seconds))
    general = [task.name for task in config.of_benchmark().tasks if getattr(task, "general", False)]
    if outcome.released and general:
        show_general(outcome.released, general)
    if spent := spending_line(config, folder):
        console.print(spent)


def _show_next(
    request: BuildRequest,
    name: str,
    folder: Path,
    outcome: Outcome,
    config: BuildConfig,
    *,
    is_new: bool,
    has_changed: bool,
) -> None:
    """Prints where to look and what to do next, having written the gallery where that is quickly done."""
    from flows.cli.gallery import FOLDER, write_gallery
    from pipeline.rendering.gallery import INDEX

    look = folder / FOLDER / INDEX
    n = sum(outcome.released.questions.values()) if outcome.released else 0
    is_there = look.exists() and not is_new
    if is_new and 0 < n <= GALLERY_QUESTIONS:
        with suppress(Scan2qaError):  # something else lies there
            start_spinner("Writing the gallery")
            write_gallery(folder, folder / FOLDER)
            is_there = True
        stop_spinner()
    console.print(f"Look: {look}" if is_there else f"Look: scan2qa gallery {quote(name)}")
    own_data = f"scan2qa build {quote(request.name)} --root READER=DIR  (your own data: scan2qa readers)"
    command = "diff" if has_changed else "report"
    what = own_data if config.samples and not has_changed else f"scan2qa {command} {quote(name)}"
    console.print(f"Next: {what}")


def _run(request: BuildRequest, resolved: ResolvedBuild, action: str, options: dict[str, Any]) -> Outcome:
    """Runs a method of `Builder`, as a Prefect flow where that is asked for or worth its start."""
    config, folder, prefect = resolved.config, resolved.folder, request.prefect
    check_answers(request.runner, request.address)
    with stoppable(), remote_build(config.store, folder) as remote, started(resolved, options.get("name")) as builder:
        kept = prefect is None and is_kept()
        if action == "build":
            plan = builder.dry_run()
            if not prefect and not kept and not remote and builder.confirm(plan):
                stop_spinner()
                return plan
            scenes = len(units_due(plan) - {WHOLE})
            _print_forecast(config, folder, plan, builder, request.workers)
        else:
            scenes = builder.num_due(**options)
        if prefect is None:
            prefect = kept or scenes >= PREFECT_FROM_SCENES
        outcome = None
        if prefect and _can_use_prefect(request):
            outcome = _run_with_prefect(request, resolved, builder, remote, action, options)
        if outcome is None:
            with progress_shown() as progress, make_executor(request, config.store) as workers:
                execute = synchronised(remote, request, workers.execute)
                here = remote.sending_here(at_once) if remote else at_once
                outcome = getattr(builder.with_executor(execute, progress, here), action)(**options)
    return outcome


def _print_forecast(config: BuildConfig, folder: Path, plan: Outcome, builder: Builder, workers: int) -> None:
    """Prints how long a build will take."""
    from flows.cli.output.forecast_tables import lasting
    from flows.orchestration.forecast import time_forecast

    scenes = len(units_due(plan) - {WHOLE})
    found = time_forecast(config, folder, plan, builder.inputs(), workers)
    known = sum(one.seconds or 0 for one in found)
    unknown = [one.stage for one in found if one.seconds is None and STAGES[one.stage].models(config)]
    stop_spinner()
    processes = "one process" if workers == 1 else f"{workers} processes"
    what = f"{count_of(scenes, 'scene')} in {processes}" if scenes else "stages of the whole build"
    more = f", and {', '.join(unknown)}: not known" if unknown else ""
    console.print(f"This takes about {lasting(known)} ({what}{more})")


def _run_with_prefect(
    request: BuildRequest,
    resolved: ResolvedBuild,
    builder: Builder,
    remote: RemoteBuildStore | None,
    action: str,
    options: dict[str, Any],
) -> Outcome | None:
    """The same as a Prefect flow; None where Prefect fails on the way, and the store has what was finished."""
    from flows.orchestration.prefect_flows import FlowContext, run_as_flow

    try:
        with progress_shown("starting Prefect") as progress:
            outcome, not_reported = run_as_flow(
                request, FlowContext(resolved, builder, progress, remote), action, options
            )
    except LostPrefectError as error:
        _go_without_prefect(request, str(error))
        return None
    if not_reported:
        console.print(f"Prefect was not told how this ended: {not_reported}")
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
    console.print(f"Building without Prefect: {why}. Its states are not kept; results are.")


def summary(config: BuildConfig, folder: Path, outcome: Outcome) -> dict[str, Any]:
    """The outcome of a build, a stage or a dry run as JSON-like values: the output of `--json`."""
    released, waiting = outcome.released, candidate(folder)
    return {
        "build": config.build,
        "benchmark": config.benchmark,
        "folder": str(folder),
        "configuration": config.digest(),
        "complete": _is_complete(outcome) and waiting is None,
        "stages": outcome.counts(),
        "release": str(folder / RELEASE) if released and newest_release(folder) else None,
        "candidate": waiting and {"name": waiting.name, "failed": [found._asdict() for found in waiting.failed]},
        "questions": {} if released is None else released.questions,
        "dropped": {} if released is None else released.rejections,
        "reviewed": {} if released is None else released.reviewed,
        "left_out": [row.model_dump() for row in outcome.quarantine],
    }


def changes_summary(newest: str | None, before: str | None, line: str, report: Report | None) -> dict[str, Any]:
    """The release of a build and its difference from the one before as JSON-like values."""
    changed = {} if report is None else {"changes": report.totals, "causes": [cause.name for cause in report.causes]}
    return {"release_name": newest, "since_last": {"release": before, "told": line} | changed}


def plan_summary(found: BuildForecast) -> dict[str, Any]:
    """The forecast of a dry run as JSON-like values."""
    return {
        "questions_at_most": dict(found.bounds.by_task),
        "for_lack_of": [asdict(cost) for cost in found.bounds.costs],
        "models": None if found.models is None else [asdict(row) for row in found.models],
        "time_and_disk": [asdict(one) for one in found.efforts],
    }
