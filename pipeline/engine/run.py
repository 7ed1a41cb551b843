"""Runs the steps of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import RawInput
from pipeline.engine.job import Job, JobResult, batches_of, run_job
from pipeline.engine.lease import Lease
from pipeline.engine.manifest import Entry, Outcome
from pipeline.engine.plan import WHOLE, Planner, Step, known
from pipeline.engine.stage import REPLIES_FILE, STORE, Progress, Stage
from pipeline.engine.store import Result, Store
from pipeline.llm.base import ModelSpec
from pipeline.llm.budget import Money

Execute = Callable[[str, list[list[Job]]], Iterable[JobResult]]  # runs batches of jobs, in any order and process
# Has work done that must be done in the build's own process: what it is called, and the work.
LocalExecutor = Callable[[str, Callable[[], Iterable[JobResult]]], Iterable[JobResult]]


def at_once(label: str, work: Callable[[], Iterable[JobResult]]) -> Iterable[JobResult]:
    """Does the work (`LocalExecutor`)."""
    return work()


def run_here(label: str, batches: list[list[Job]]) -> Iterator[JobResult]:
    """Runs all jobs one after the other in this process."""
    for batch in batches:
        yield from map(run_job, batch)


def groups_of(stages: Iterable[Stage], config: BuildConfig) -> list[list[Stage]]:
    """Stages that a scene goes through in one job: those in a row that any process may run."""
    groups: list[list[Stage]] = []
    joins = False
    for stage in stages:
        anywhere = stage.unit == "scene" and not stage.asks(config)
        if joins and anywhere:
            groups[-1].append(stage)
        else:
            groups.append([stage])
        joins = anywhere
    return groups


@dataclass
class Runner:
    """Runs the stages of a build, group by group.

    Attributes:
        outputs: the results so far: stage -> unit -> result.
        outcome: what was done so far.
    """

    config: BuildConfig
    folder: Path
    inputs: Mapping[str, RawInput]
    planner: Planner
    execute: Execute
    here: LocalExecutor
    progress: Progress
    keys: Mapping[str, str]
    outcome: Outcome
    lease: Lease | None = None
    outputs: dict[str, dict[str, Result]] = field(default_factory=dict)

    def run(self, group: Sequence[Stage]) -> None:
        """Plans a group of stages, runs what must run, and notes what became of it."""
        plans: dict[str, dict[str, Step]] = {}
        ahead: dict[str, Mapping[str, Result | None]] = dict(self.outputs)
        for stage in group:
            plans[stage.name] = self.planner.plan(stage, ahead)
            ahead[stage.name] = known(plans[stage.name])
        todo = {name: {u for u, step in plan.items() if not step.reused} for name, plan in plans.items()}
        units = sorted(set().union(*todo.values()))
        jobs = [
            self._job(unit, [plans[s.name].get(unit) or self.planner.step(s, unit) for s in group]) for unit in units
        ]
        entries = [
            step.entry for plan in plans.values() for unit, step in plan.items() if unit not in units and step.entry
        ]
        due = [name for name, units in todo.items() if units]
        label = due[0] if len(due) == 1 else f"{due[0]} to {due[-1]}" if due else ""
        for done in self._watched(self._start(group, jobs), label, len(jobs)):
            entries += done.entries
            self.outcome.quarantine += done.quarantine
        for stage in group:
            self._note(stage, sorted((e for e in entries if e.stage == stage.name), key=lambda e: e.unit))

    def _job(self, unit: str, steps: Sequence[Step]) -> Job:
        of_build = steps[0].spec.of_build
        outputs = {
            stage: found if of_build else {u: found[u] for u in (unit, WHOLE) if u in found}
            for stage, found in self.outputs.items()
        }
        return Job(
            unit, tuple(steps), outputs, self.inputs.get(unit), self.folder, limits=self.config.limits, lease=self.lease
        )

    def _start(self, group: Sequence[Stage], jobs: list[Job]) -> Iterable[JobResult]:
        first, last = group[0], group[-1]
        if not jobs:
            return ()
        if first.unit == "build":
            mine = [replace(j, config=self.config, keys=self.keys, progress=self.progress) for j in jobs]
            return self.here(first.name, lambda: run_here(first.name, [mine]))
        models = first.asks(self.config)
        if models:
            money = Money(limit_cost=self.config.limit_cost)
            return self.here(first.name, lambda: _run_asking(models, jobs, self.folder, self.keys, money))
        label = first.name if first is last else f"{first.name} to {last.name}"
        return self.execute(label, batches_of(jobs))

    def _watched(self, results: Iterable[JobResult], label: str, total: int) -> Iterator[JobResult]:
        """Tells how many units of a group are done."""
        self.progress(label, 0, total)
        for ended, done in enumerate(results, start=1):
            self.progress(label, ended, total)
            yield done

    def _note(self, stage: Stage, entries: list[Entry]) -> None:
        self.planner.forget(stage)
        self.outcome.entries.add(entries)
        self.outputs[stage.name] = {e.unit: e.output for e in entries if e.output}
        if stage.summary:
            for result in self.outputs[stage.name].values():
                self.outcome.released = stage.summary(Store(self.folder / STORE).get(result))


def _run_asking(
    models: Sequence[ModelSpec], jobs: list[Job], folder: Path, keys: Mapping[str, str], money: Money
) -> Iterator[JobResult]:
    """Runs jobs that ask models in threads of this process: its limits hold for the build, not for a process."""
    from pipeline.llm.session import Session  # model packages take a while to start

    with (
        Session(models, folder / REPLIES_FILE, keys, money=money) as session,
        ThreadPoolExecutor(min(models[0].concurrency, len(jobs))) as threads,
    ):
        asks = tuple(partial(session.ask, model.name) for model in models)
        try:
            yield from threads.map(run_job, [replace(job, asks=asks) for job in jobs])
        except BaseException:
            session.close()  # else the calls under way would be waited for to their end
            raise
