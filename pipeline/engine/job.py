"""A job: consecutive stages of one unit, run in any process; batches of jobs; and quarantine of units that fail."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pipeline.core.budget import WorkerLimits, limited
from pipeline.core.errors import RawDataError, unexpected
from pipeline.core.groups import grouped
from pipeline.core.identity import shard_of
from pipeline.core.mirrors import named
from pipeline.core.schema import Quarantine
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import RawInput, RawScene
from pipeline.engine.lease import Lease
from pipeline.engine.manifest import Entry
from pipeline.engine.plan import Step
from pipeline.engine.stage import STORE, Ask, Progress, Results, StageContext, no_fence, no_progress
from pipeline.engine.store import Result, Store

BATCH_UNITS: Final = 64


@dataclass(frozen=True)
class Job:
    """Stages of one unit, to be run one behind the other in any process.

    Attributes:
        steps: in order. One whose input failed, or was never there, is left out.
        outputs: results of earlier stages: stage -> unit -> result.
        models: the models of a stage that asks some; such jobs, and those of the whole build, stay in its process.
        config: for the stages of the whole build.
        keys: API keys, for the same.
        limits: of each stage, in a process that may end at them.
        lease: of the folder, where others may be building in it: nothing is written there by whom has lost it.
    """

    unit: str
    steps: tuple[Step, ...]
    outputs: Mapping[str, Mapping[str, Result]]
    raw: RawInput | None
    folder: Path
    models: tuple[Ask, ...] = ()
    config: BuildConfig | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = no_progress
    limits: WorkerLimits | None = None
    lease: Lease | None = None


@dataclass(frozen=True)
class JobResult:
    """The result of a job: an entry per stage that had its input, and the reasons for missing results."""

    unit: str
    entries: tuple[Entry, ...]
    quarantine: tuple[Quarantine, ...]


def run_job(job: Job) -> JobResult:
    """Runs one job and stores its results. Of a scene's stages only StoreError and ConfigError get out."""
    if job.raw is None or not any(step.spec.reads_raw and not step.reused for step in job.steps):
        return _run_steps(job)
    try:
        with job.raw.in_use():
            return _run_steps(job)
    except RawDataError as error:
        return JobResult(job.unit, (), (quarantine_of(error, job.unit, job.steps[0].spec.stage),))


def _run_steps(job: Job) -> JobResult:
    outputs: dict[str, dict[str, Result]] = {stage: dict(found) for stage, found in job.outputs.items()}
    entries: list[Entry] = []
    left_out: list[Quarantine] = []
    raw = job.raw.open() if job.raw else None
    for number, step in enumerate(job.steps):
        if not any(later.spec.reads_raw for later in job.steps[number:]):
            raw = None  # a mesh takes much memory
        taken = step.spec.taken(job.unit, outputs)
        if taken is None:
            continue
        entry = step.entry
        if entry is None or not entry.key:
            entry = step.decide(taken, job.raw, job.folder)
        if entry.output is None:
            results = {name: tuple((u, r) for u, r in found if r) for name, found in taken.items()}
            entry, fault = _run(job, step, entry, results, raw)
            left_out += [fault] if fault else []
        entries.append(entry)
        if entry.output is not None:
            outputs.setdefault(entry.stage, {})[job.unit] = entry.output
    return JobResult(job.unit, tuple(entries), tuple(left_out))


def _run(job: Job, step: Step, entry: Entry, results: Results, raw: RawScene | None) -> tuple[Entry, Quarantine | None]:
    """The entry with its output, or without one and why."""
    start, spec, fault = time.perf_counter(), step.spec, None
    context = StageContext(
        unit=job.unit,
        settings=spec.settings,
        code=spec.code,
        folder=job.folder,
        results=results,
        raw=raw if spec.reads_raw else None,
        human_input=job.raw.human_input if job.raw and spec.reads_human_input else None,
        models=job.models,
        whole_config=job.config,
        keys=job.keys,
        progress=job.progress,
        fence=job.lease.check if job.lease else no_fence,
    )
    try:
        context.fence()  # before what the stage writes beside the store, too
        with limited(job.limits, spec.stage):
            raw_result = spec.run(context)
        context.fence()
        output = Store(job.folder / STORE).put(spec.stage, job.unit, entry.key, raw_result, spec.suffix)
        entry = replace(entry, output=output)
    except Exception as error:  # a fault of the program, or a limit, costs one scene, and is told as one
        if spec.of_build and not isinstance(error, RawDataError):
            raise
        first = next((result.path for found in context.results.values() for _, result in found), Path())
        path = context.raw.files.path if context.raw else first
        fault = quarantine_of(unexpected(error, path), job.unit, spec.stage)
    return replace(entry, seconds=time.perf_counter() - start), fault


def quarantine_of(error: RawDataError, unit: str, stage: str) -> Quarantine:
    """The quarantine entry of a unit whose raw data are broken. Bytes of a name that are not UTF-8 are escaped."""
    row = {"unit": unit, "file": named(error.path), "message": error.message}
    plain = {key: text.encode(errors="backslashreplace").decode() for key, text in row.items()}
    return Quarantine(**plain, stage=stage, finding=error.finding, remedy=error.remedy)


def batches_of(jobs: Iterable[Job]) -> list[list[Job]]:
    """Jobs by dataset and hash bucket of about `BATCH_UNITS` units."""
    batches = []
    for members in grouped(jobs, lambda job: job.unit.partition("/")[0]).values():
        n_buckets = -(-len(members) // BATCH_UNITS)
        # As packs: a batch reads few of them.
        buckets = grouped(members, lambda job: shard_of(job.unit, n_buckets))  # noqa: B023 - called at once
        batches += [buckets[number] for number in sorted(buckets)]
    return batches
