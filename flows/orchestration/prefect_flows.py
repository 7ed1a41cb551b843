"""Builds as Prefect flows, to be called, served or deployed: `build_flow` and `stage_flow`.

Prefect gives states, logs, artifacts and schedules; whether a result can be reused is decided by the store alone. One
task per group of stages, dataset and batch of about 64 scenes, and one for each stage that looks at all scenes or asks
models. Prefect tasks cost milliseconds in threads and a hundred in processes, so tasks run in threads and hand their
scenes to one pool of processes.
"""

from __future__ import annotations

import logging
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from flows.orchestration.prefect_server import LostPrefectError, is_kept

# Before prefect is imported: stay offline, and give the first start of its local server time to migrate.
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")
os.environ.setdefault("PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", "ignore")
os.environ.setdefault("PREFECT_LOGGING_INTERNAL_LEVEL", "CRITICAL")
if not is_kept():  # a temporary server that is gone does not come back, and each further try takes twice as long
    os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", "1")

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.exceptions import Abort, CancelledRun
from prefect.futures import PrefectFuture, as_completed
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

import pipeline
from flows.cli.output.console import stop_spinner
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
from flows.orchestration.folders import CORES, configuration
from flows.orchestration.prefect_run import cancellable, drop_unsent_states, show_in_prefect, start_server
from flows.orchestration.processes import Pool, RunJobs
from flows.orchestration.roots import written as written_roots
from flows.remote.cluster import Cluster
from pipeline.core.errors import NoSpaceError, Scan2qaError
from pipeline.core.fixes import DROPPED
from pipeline.engine.change_causes import written
from pipeline.engine.config import BuildConfig
from pipeline.engine.job import Job, JobResult
from pipeline.engine.manifest import Outcome
from pipeline.engine.run import Execute, LocalExecutor
from pipeline.engine.stage import STORE, Progress, no_progress
from pipeline.engine.store import Store
from pipeline.release.history import PublishedRelease, candidate, history
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from flows.remote.remote_store import RemoteBuildStore

WITH_QUARANTINE: Final = "CompletedWithQuarantine"  # names of states, of type COMPLETED
UP_TO_DATE: Final = "UpToDate"
WITH_CANDIDATE: Final = "CompletedWithCandidate"
RETRIES: Final = 3  # of a run that nobody watches
RETRY_AFTER_S: Final = (60.0, 300.0, 900.0)
# Files that call Prefect.
CALLERS: Final = frozenset(Path(__file__).resolve().with_name(f"prefect_{name}.py") for name in ("flows", "run"))

Dones = SimpleQueue[JobResult | None]  # None: there are no more


@dataclass
class FlowContext:
    """The context of a flow, prepared before it begins.

    Attributes:
        resolved: the build.
        builder: has listed its inputs; its executor is the flow's.
        progress: is told how far it is.
        remote: its object store, while its lease is held; None: it is kept in a folder alone.
        outcome: what was done, as soon as it is.
    """

    resolved: ResolvedBuild
    builder: Builder
    progress: Progress
    remote: RemoteBuildStore | None = None
    outcome: Outcome | None = None


_OURS: Final = (Path(__file__).resolve().parents[1], Path(pipeline.__file__).resolve().parent)
_THREADS: Final[Any] = ThreadPoolTaskRunner(max_workers=CORES)


@flow(name="build", persist_result=False, task_runner=_THREADS)
def build_flow(
    benchmark: str,
    roots: dict[str, str] = {},
    settings: dict[str, Any] = {},
    out: str | None = None,
    workers: int = CORES,
    runner: str | None = None,
    runner_address: str | None = None,
) -> State[Any]:
    """Builds a release from raw data; runs only what changed since the last time.

    Ends as Completed, as UpToDate where nothing had changed, or as CompletedWithQuarantine where scenes were left out;
    all three are of type COMPLETED, and there is a release. CompletedWithCandidate: what was built failed a gate and
    waits for a decision (`scan2qa release`). Then, and for Failed, the last release is as it was.

    Args:
        benchmark: a configuration in flows/builds, such as "vsi", or the path of a YAML file.
        roots: reader -> folder of raw data; with none, those of the last time.
        settings: "a.b" -> value, laid over the configuration and over those of the last time.
        out: folder of the build; without one, outputs/ and the build's name.
        workers: processes.
        runner: the kind of cluster that scenes go to, "dask" or "ray"; without one, to processes of this machine.
        runner_address: of the cluster; without one, there is one of this machine.
    """
    request = _request(benchmark, roots, settings, out, workers, runner, runner_address)
    return _run_alone(request, resolve_build(request, write=True), "build", {})


@flow(name="stage", persist_result=False, task_runner=_THREADS)
def stage_flow(
    benchmark: str,
    stage: str,
    scenes: list[str] = [],
    roots: dict[str, str] = {},
    settings: dict[str, Any] = {},
    out: str | None = None,
    workers: int = CORES,
    runner: str | None = None,
    runner_address: str | None = None,
) -> State[Any]:
    """Runs one stage of a build again, on the last results of the stages before it.

    Args:
        benchmark: as for a build, and so are the others.
        stage: such as "generate".
        scenes: ids or names, with * and ?; all for none.
        roots: see above.
        settings: see above.
        out: see above.
        workers: see above.
        runner: see above.
        runner_address: see above.
    """
    request = _request(benchmark, roots, settings, out, workers, runner, runner_address)
    return _run_alone(request, resolve_stage(request, stage), "stage", {"name": stage, "scenes": scenes})


def run_as_flow(
    request: BuildRequest, context: FlowContext, action: str, options: dict[str, Any]
) -> tuple[Outcome, str]:
    """Runs ``build`` or ``stage`` as a flow of this process, for the command line.

    Returns:
        What was done, and why its end could not be reported to Prefect; "": it was.

    Raises LostPrefectError where Prefect fails before the build ends; what was finished is in the store.
    """
    logging.raiseExceptions = False  # what a server that is gone misses is no news
    for name in ("prefect", "EventsWorker"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors reach the user once, as scan2qa's own line
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).setLevel(logging.INFO)  # to the server, and not to the terminal
        logging.getLogger(name).propagate = False
    deployed: Any = {"build": build_flow, "stage": stage_flow}[action]

    @wraps(deployed.fn)  # the parameters that Prefect shows are those of the deployed flow
    def run(**parameters: Any) -> State[Any]:
        return _run(request, context, 0, action, options)  # whoever sits before it tries again

    try:
        with temporary_settings({PREFECT_API_URL: PREFECT_API_URL.value() or start_server()}):
            flow(name=deployed.name, persist_result=False, task_runner=_THREADS)(run)(
                benchmark=request.name,
                roots=written_roots(context.resolved.roots),
                settings=dict(setting.split("=", 1) for setting in context.resolved.settings),
                out=str(context.resolved.folder),
                workers=request.workers,
                runner=request.runner,
                runner_address=request.address,
                **({"stage": options["name"], "scenes": list(options["scenes"])} if options else {}),
            )
    except (Scan2qaError, LostPrefectError, CancelledRun, Abort):
        raise
    except Exception as error:  # Prefect lets through whatever its client, server and database raise
        if not _is_of_prefect(error):
            raise
        drop_unsent_states()
        why = str(error).partition("\n")[0] or type(error).__name__
        if context.outcome is None:
            raise LostPrefectError(why) from error
        return context.outcome, why
    if context.outcome is None:
        raise RuntimeError("the flow ended without an outcome")
    return context.outcome, ""


def _is_of_prefect(error: Exception) -> bool:
    """Returns whether Prefect or its libraries raised the error: our innermost function in the traceback calls them."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [number for number, file in enumerate(files) if any(file.is_relative_to(folder) for folder in _OURS)]
    last = files[ours[-1]] if ours else None
    return last is None or (last in CALLERS and ours[-1] < len(files) - 1)


def _request(
    benchmark: str,
    roots: dict[str, str],
    settings: dict[str, Any],
    out: str | None,
    workers: int,
    runner: str | None,
    address: str | None,
) -> BuildRequest:
    """The parameters of a flow as the command line has them; a setting that is no text as it is written there."""
    said = [f"{key}={value if isinstance(value, str) else written(value)}" for key, value in settings.items()]
    given = [f"{reader}={folder}" for reader, folder in roots.items()]
    folder = Path(out) if out else None
    return BuildRequest(configuration(benchmark), given, said, folder, False, workers, True, runner, address)


def _run_alone(request: BuildRequest, resolved: ResolvedBuild, action: str, options: dict[str, Any]) -> State[Any]:
    """Runs a flow that nobody sits before: of a deployment, or of a schedule."""
    store = resolved.config.store
    with remote_build(store, resolved.folder) as remote, started(resolved, options.get("name")) as builder:
        stop_spinner()  # from here on the log tells
        return _run(request, FlowContext(resolved, builder, no_progress, remote), RETRIES, action, options)


def _run(request: BuildRequest, context: FlowContext, retries: int, action: str, options: dict[str, Any]) -> State[Any]:
    config, folder, remote = context.resolved.config, context.resolved.folder, context.remote
    kept = history(folder)
    with cancellable(), make_executor(request, config.store) as workers:
        lacks_replies = partial(_lacks_replies, config, folder)
        execute, here = synchronised(remote, request, _submit_to(workers, retries)), _as_task(retries, lacks_replies)
        here = remote.sending_here(here) if remote else here
        builder = context.builder.with_executor(execute, context.progress, here)
        what = options.get("name") or f"{len(builder.inputs())} scenes"
        _name_run(f"{config.build} {what}", config.benchmark)
        get_run_logger().info("in %s, roots %s", folder.absolute(), written_roots(config.roots))
        outcome: Outcome = getattr(builder, action)(**options)
        context.outcome = outcome
        show_in_prefect(config, folder, outcome, kept[-1].name if kept else None)
    return _state(outcome, candidate(folder))


def _submit_to(workers: Pool | Cluster, retries: int) -> Execute:
    def execute(stages: str, batches: list[list[Job]]) -> Iterator[JobResult]:
        run_jobs = workers.job_runner(sum(map(len, batches)))
        labels = [f"{stages} {batch[0].unit.partition('/')[0]} x{len(batch)}" for batch in batches]
        run = run_batch.with_options(retries=retries, retry_delay_seconds=list(RETRY_AFTER_S))
        threads: ThreadPoolTaskRunner[Any] = ThreadPoolTaskRunner(max_workers=workers.at_once)
        with threads:
            futures: list[PrefectFuture[Any]] = [
                threads.submit(run, {"label": label, "batch": batch, "run_jobs": run_jobs})
                for label, batch in zip(labels, batches, strict=True)
            ]
            for future in as_completed(futures):
                yield from future.result()

    return execute


def _lacks_replies(config: BuildConfig, folder: Path, done: JobResult) -> bool:
    """Returns whether models failed for a part of a result: they may answer when it is tried again."""
    made = [(STAGES[entry.stage], entry.output) for entry in done.entries if entry.output is not None]
    store = Store(folder / STORE)
    return any(stage.models(config) and not stage.is_complete(store.get(output), folder) for stage, output in made)


def _as_task(retries: int, lacks_replies: Callable[[JobResult], bool]) -> LocalExecutor:
    def here(label: str, work: Callable[[], Iterable[JobResult]]) -> Iterator[JobResult]:
        dones: Dones = SimpleQueue()
        run = run_here.with_options(retries=retries, retry_delay_seconds=list(RETRY_AFTER_S))
        future = run.submit(label, work, dones, retries, lacks_replies)
        future.add_done_callback(lambda _: dones.put(None))  # however it ended
        yield from iter(dones.get, None)
        future.result()  # raises what it raised

    return here


def _may_heal(task: object, run: object, state: State[Any]) -> bool:
    """Returns whether a retry may succeed."""
    return isinstance(state.result(raise_on_failure=False), NoSpaceError | _MayHealError)


class _MayHealError(Exception):
    """Models failed for a part of a stage's result; they may answer when it is tried again."""


_TASK: Final[Any] = {
    "task_run_name": "{label}",
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "retry_condition_fn": _may_heal,
}


@task(name="scenes", **_TASK)
def run_batch(label: str, batch: list[Job], run_jobs: RunJobs) -> list[JobResult]:
    """All jobs of one batch; `label` names stages, dataset and number of scenes."""
    begun = time.monotonic()
    dones = list(run_jobs(batch))
    _log(label, dones, time.monotonic() - begun)
    return dones


@task(name="whole build", **_TASK)
def run_here(
    label: str,
    work: Callable[[], Iterable[JobResult]],
    dones: Dones,
    retries: int,
    lacks_replies: Callable[[JobResult], bool],
) -> None:
    """A stage that stays in the build's process; hands on what is done as soon as it will not be tried again."""
    begun, seen = time.monotonic(), []
    for done in work():
        seen.append(done)
        if not retries:
            dones.put(done)
    if retries:
        context = TaskRunContext.get()
        is_last = context is None or context.task_run.run_count > retries
        if not is_last and any(map(lacks_replies, seen)):
            raise _MayHealError(label)
        for done in seen:
            dones.put(done)
    _log(label, seen, time.monotonic() - begun)


def _log(label: str, dones: Sequence[JobResult], seconds: float) -> None:
    """One line for a batch, and a warning for each scene that was left out."""
    logger = get_run_logger()
    faults = [fault for done in dones for fault in done.quarantine]
    for fault in faults:
        told = f"{fault.unit} left out by {fault.stage}: {fault.file}: {fault.finding}: {fault.message}"
        logger.warning("%s. Remedy: %s", told, fault.remedy)
    logger.info("%s: done in %.1f s, %d left out", label, seconds, len(faults))


def _name_run(name: str, benchmark: str) -> None:
    from prefect.runtime import flow_run

    with get_client(sync_client=True) as client:
        client.update_flow_run(flow_run.id, name=name, tags=sorted({*flow_run.tags, "scan2qa", benchmark}))


def _state(outcome: Outcome, waiting: PublishedRelease | None = None) -> State[Any]:
    """The final state of a run that has finished its work; ``waiting`` is the build's candidate."""
    if waiting is not None:
        return Completed(
            name=WITH_CANDIDATE, message=f"candidate {waiting.name} is not released: {waiting.missed_gates}"
        )
    questions = sum(outcome.released.questions.values()) if outcome.released else None
    told = "" if questions is None else f"; {questions} questions are released"
    units = len({fault.unit for fault in outcome.quarantine if fault.finding != DROPPED})
    if units:
        return Completed(name=WITH_QUARANTINE, message=f"{units} left out, with file, finding and remedy{told}")
    ran = list(outcome.ran)
    if not ran:
        return Completed(name=UP_TO_DATE, message=f"nothing has changed since the last time{told}")
    return Completed(message=f"{len(ran)} results of {len({entry.unit for entry in ran})} units made{told}")
