"""Runs the steps of a plan."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from pipeline.core.groups import grouped
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import RawInput
from pipeline.engine.job import Job, JobResult, batches_of, run_job
from pipeline.engine.lease import Lease
from pipeline.engine.manifest import Entry, Manifest, Outcome
from pipeline.engine.plan import WHOLE, Planner, Step
from pipeline.engine.stage import REPLIES_FILE, STORE, Progress, Stage
from pipeline.engine.store import Result, Store, hash_bits
from pipeline.llm.base import ModelSpec
from pipeline.llm.budget import Money

CHECKED: Final = "checked"  # progress of rounds whose scenes all have their results, as of a build that was stopped
ROUND_UNITS: Final = 4096  # scenes whose plan and jobs are in memory at a time
Results = Mapping[str, Mapping[str, Result]]  # stage -> unit -> result
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
        anywhere = stage.unit == "scene" and not stage.models(config)
        if joins and anywhere:
            groups[-1].append(stage)
        else:
            groups.append([stage])
        joins = anywhere
    return groups


def rounds_of(units: Collection[str]) -> list[list[str]]:
    """The units of each round, in order: as few rounds of whole packs as hold at most `ROUND_UNITS` on average."""
    depth = max(0, -(-len(units) // ROUND_UNITS) - 1).bit_length()
    rounds = grouped(sorted(units), lambda unit: hash_bits(unit)[:depth])
    return [rounds[bits] for bits in sorted(rounds)]


@dataclass
class _Rounds:
    """The rounds of a group of stages: how many units are not planned yet, how many have ended, what is said of it.

    ``units``: all of them where there are several rounds, else 0.
    """

    group: Sequence[Stage]
    unplanned: int
    money: Money
    units: int = 0
    ended: int = 0
    label: str = ""


@dataclass
class Runner:
    """Runs the stages of a build, group by group, and the scenes of a group in rounds of whole packs.

    Attributes:
        outcome: what was done so far.
        earlier: the rows that name the results of earlier stages; None: those of the outcome.
        units: the scenes that stages are run for; None: all inputs.
        plan: the rows of a plan of this build; scenes that reuse all by it are not planned again.
    """

    config: BuildConfig
    folder: Path
    inputs: Mapping[str, RawInput]
    planner: Planner
    execute: Execute
    run_local: LocalExecutor
    progress: Progress
    keys: Mapping[str, str]
    outcome: Outcome
    lease: Lease | None = None
    earlier: Manifest | None = None
    units: Collection[str] | None = None
    plan: Manifest | None = None

    def run(self, group: Sequence[Stage]) -> None:
        """Plans a group of stages, runs what must run, and notes what became of it."""
        made = self.outcome.entries if self.earlier is None else self.earlier
        units = self.inputs.keys() if self.units is None else self.units
        money = Money(limit_cost=self.config.limit_cost)
        if group[0].unit == "build":
            self._run_round(_Rounds(group, 0, money), None, made.results(stages=self.planner.sources(group)))
            return
        plan = self.plan
        if plan is not None and self._has_foreseen(made.results({WHOLE})):
            for pack in plan.reused_packs.values():
                self.outcome.entries.reuse(pack, [stage.name for stage in group])
            packs = plan.reused_packs
            units = [unit for unit in units if plan.pack_of(unit) not in packs]
        many = rounds_of(units)
        rounds = _Rounds(group, len(units), money, len(units) if len(many) > 1 else 0)
        for own in many:
            rounds.unplanned -= len(own)
            self._run_round(rounds, own, made.results({*own, WHOLE}))
            for stage in group if len(many) > 1 else ():
                Store(self.folder / STORE).pack(stage.name, len(units))

    def _run_round(self, rounds: _Rounds, units: Collection[str] | None, outputs: Results) -> None:
        """Runs a group of stages for some scenes, or for the whole build."""
        group = rounds.group
        entries = self._reused(group, units, outputs)
        plans = self.planner.plan_group(group, units and {*units} - {entry.unit for entry in entries}, outputs)
        todo = {name: {u for u, step in plan.items() if not step.reused} for name, plan in plans.items()}
        due = sorted(set().union(*todo.values()))
        jobs = [
            self._job(unit, [plans[s.name].get(unit) or self.planner.step(s, unit) for s in group], outputs)
            for unit in due
        ]
        entries += [
            step.entry for plan in plans.values() for unit, step in plan.items() if unit not in due and step.entry
        ]
        names = [name for name, own in todo.items() if own]
        total = rounds.ended + len(jobs) + rounds.unplanned
        if not rounds.label:
            rounds.label = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" if names else ""
            checked = rounds.units and rounds.units - rounds.unplanned
            self.progress(CHECKED, checked, checked if rounds.label else rounds.units)
        if rounds.label:
            self.progress(rounds.label, rounds.ended, total)
        for done in self._start(group, jobs, rounds.money):
            rounds.ended += 1
            self.progress(rounds.label, rounds.ended, total)
            entries += done.entries
            self.outcome.quarantine += done.quarantine
        self._note(group, entries)

    def _reused(self, group: Sequence[Stage], units: Collection[str] | None, outputs: Results) -> list[Entry]:
        """The rows of those scenes that reuse all results by the plan, if it has foreseen what looks at all scenes."""
        whole = {stage: found for stage, found in outputs.items() if WHOLE in found}
        if self.plan is None or units is None or not self._has_foreseen(whole):
            return []
        rows = list(self.plan.rows({*units}))
        due = {entry.unit for entry in rows if entry.why != "reused"}
        names = {stage.name for stage in group}
        return [entry for entry in rows if entry.unit not in due and entry.stage in names]

    def _has_foreseen(self, whole: Results) -> bool:
        """Whether the results of the stages that look at all scenes are those of the last build, as a plan expects."""
        before = self.planner.previous
        return all(
            (entry := before.get((stage, WHOLE))) is not None and entry.output == found[WHOLE]
            for stage, found in whole.items()
        )

    def _job(self, unit: str, steps: Sequence[Step], results: Results) -> Job:
        of_build = steps[0].spec.of_build
        outputs = {
            stage: found if of_build else {u: found[u] for u in (unit, WHOLE) if u in found}
            for stage, found in results.items()
        }
        return Job(
            unit, tuple(steps), outputs, self.inputs.get(unit), self.folder, limits=self.config.limits, lease=self.lease
        )

    def _start(self, group: Sequence[Stage], jobs: list[Job], money: Money) -> Iterable[JobResult]:
        first, last = group[0], group[-1]
        if not jobs:
            return ()
        if first.unit == "build":
            mine = [replace(j, config=self.config, keys=self.keys, progress=self.progress) for j in jobs]
            return self.run_local(first.name, lambda: run_here(first.name, [mine]))
        models = first.models(self.config)
        if models:
            return self.run_local(first.name, lambda: _run_asking(models, jobs, self.folder, self.keys, money))
        label = first.name if first is last else f"{first.name} to {last.name}"
        return self.execute(label, batches_of(jobs))

    def _note(self, group: Sequence[Stage], entries: list[Entry]) -> None:
        place = {stage.name: number for number, stage in enumerate(group)}
        self.outcome.entries.add(sorted(entries, key=lambda entry: (place[entry.stage], entry.unit)))
        summaries = {stage.name: stage.summary for stage in group}
        for entry in entries:
            if entry.output and (summary := summaries[entry.stage]):
                self.outcome.released = summary(Store(self.folder / STORE).get(entry.output))


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
            yield from threads.map(run_job, [replace(job, models=asks) for job in jobs])
        except BaseException:
            session.close()  # else the calls under way would be waited for to their end
            raise
