"""The builder: plans a build, runs it stage by stage, and records the outcome with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from pipeline.core.arguments import RENAMED, nearest_of
from pipeline.core.errors import ConfigError
from pipeline.core.files import remove_temporary, translate_os_errors
from pipeline.engine.change_causes import Explained, explained
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import InputListing, RawInput, list_inputs
from pipeline.engine.job import quarantine_of
from pipeline.engine.lease import Lease, leased
from pipeline.engine.manifest import (
    MANIFEST_FILE,
    Entry,
    Lineage,
    Manifest,
    Outcome,
    read_lineage,
    read_manifest,
    read_quarantine,
    released_manifest,
    write_outcome,
)
from pipeline.engine.plan import WHOLE, Planner, expected_of
from pipeline.engine.rerun import check_fit, matching, rerunnable_units, with_the_rest
from pipeline.engine.run import Execute, LocalExecutor, Runner, at_once, groups_of, rounds_of, run_here
from pipeline.engine.stage import STORE, Progress, Stage, no_progress
from pipeline.engine.stat_cache import StatCache, state_of
from pipeline.engine.store import Store
from pipeline.llm.providers import check_installed
from pipeline.release.history import candidate, keep_copy
from pipeline.stages.registry import STAGES

SAMPLES: Final = "samples"  # folder of a build, for raw data that are written where none are given


class Builder:
    """Runs one build configuration into one output folder.

    Args:
        config: the resolved configuration; its roots must be set.
        out: folder of the build: ``store/``, ``manifest.parquet``, ``release/``.
        execute: runs batches of jobs, in any order and process; gives what became of each.
        here: has the work done that stays in this process: what looks at all scenes, or asks models.
        progress: called with stage, units done and units to do.
        keys: API keys of the configured models by the name of their environment variable.
        stages: what is run, in this order.
    """

    def __init__(
        self,
        config: BuildConfig,
        out: Path,
        execute: Execute = run_here,
        progress: Progress = no_progress,
        keys: Mapping[str, str] | None = None,
        stages: Mapping[str, Stage] = STAGES,
        here: LocalExecutor = at_once,
    ) -> None:
        self.config = config
        self.out = out
        self._execute = execute
        self._here = here
        self._progress = progress
        self._keys = keys or {}
        self._stages = stages
        self._listed: InputListing | None = None
        self._signed: dict[str, str] = {}
        self._plan: tuple[Manifest, Lineage] | None = None
        self._seen: tuple[int, ...] = ()

    @cached_property
    def _previous(self) -> Manifest:
        """The last manifest."""
        self._seen = state_of(self.out / MANIFEST_FILE)
        return read_manifest(self.out)

    @cached_property
    def _stat_cache(self) -> StatCache:
        return StatCache(self.out, [STORE, *(folder for stage in self._stages.values() for folder in stage.folders)])

    def with_executor(self, execute: Execute, progress: Progress, here: LocalExecutor) -> Builder:
        """The same builder, with what it knows of the inputs and of the last build, and another executor."""
        other = copy(self)
        other._execute, other._progress, other._here = execute, progress, here
        return other

    def check(self, name: str | None = None) -> None:
        """Raises at once what would be raised after a start: an unknown stage, an empty root, no place to write.

        A call that is refused has written nothing.

        For a stage of the whole build also where what it would bring together is of different ages.
        """
        stage = None if name is None else self._stage_named(name)
        if stage is None or stage.needs_roots or stage.unit == "build":
            self.inputs()
        self._check_models(self._stages.values() if stage is None else [stage])
        with self._leased():
            pass
        if stage is not None and stage.unit == "build":
            check_fit(stage, self._stages, self.config, self._previous, self._planner(self.inputs()))

    def build(self) -> Outcome:
        """The whole build. Raises ConfigError and StoreError; broken scenes are quarantined and listed."""
        with self._leased() as lease:
            outcome = self._outcome()
            runner = self._runner(outcome, self.inputs(), lease)
            if self._plan is not None and state_of(self.out / MANIFEST_FILE) == self._seen:
                runner.plan, runner.planner.made_of = self._plan
            outcome.entries.planned = self._signatures(runner.planner)  # of what is there before it runs
            for group in groups_of(self._wanted(), self.config):
                runner.run(group)
            self._finish(outcome, lease, runner.planner.made_of)
            if not units_due(outcome):
                self._stat_cache.write()
            return outcome

    def confirm(self, plan: Outcome) -> bool:
        """Ends a build of which a plan (`dry_run`) says that nothing runs, without planning it again.

        Returns whether it could: False where something must run, or another build ran since.
        """
        if not self._previous or units_due(plan) or not plan.entries.has_keys_of(self._previous):
            return False
        with self._leased() as lease:
            if state_of(self.out / MANIFEST_FILE) != self._seen:
                return False
            for name, own in plan.entries.results({WHOLE}).items():
                if summary := self._stages[name].summary:
                    plan.released = summary(Store(self.out / STORE).get(own[WHOLE]))
            left_out = sorted(plan.quarantine, key=lambda row: (row.unit, row.stage))
            is_new = left_out != read_quarantine(self.out)
            whys = (self._previous.table(bits, ["why"])["why"].unique().to_pylist() for bits in self._previous.packs)
            if is_new or any(own != ["reused"] for own in whys):
                self._finish(plan, lease)
            self._stat_cache.write()
            return True

    def _finish(self, outcome: Outcome, lease: Lease, made_of: Lineage | None = None) -> None:
        lease.check()
        write_outcome(self.out, outcome, list(self._stages), made_of)
        manifests = [outcome.entries, *([released_manifest(self.out)] if candidate(self.out) else [])]
        found = (manifest.results_in(bits) for manifest in manifests for bits in manifest.packs)
        Store(self.out / STORE).prune(result for pack in found for own in pack.values() for result in own.values())
        keep_copy(self.out, MANIFEST_FILE)
        remove_temporary(self.out, [*(f for s in self._stages.values() for f in s.folders), SAMPLES])

    def dry_run(self) -> Outcome:
        """The plan of `build`, with the reasons and without running it; units behind one that runs count as "input"."""
        planner = self._planner(self.inputs())
        plan = self._dry_run(planner)
        self._plan = plan.entries, planner.made_of
        return plan

    def _signatures(self, planner: Planner) -> dict[str, str]:
        """Digests of the inputs and of the stages; made once."""
        if not self._signed:
            self._signed = planner.signatures(self._wanted(), Manifest(len(planner.inputs)).pack_of)
        return self._signed

    def _dry_run(self, planner: Planner) -> Outcome:
        plan, signatures, groups = self._outcome(), self._signatures(planner), groups_of(self._wanted(), self.config)
        are_whole = bool(self._previous) and self._stat_cache.are_results_as_noted
        of_scenes = [stage for stage in self._wanted() if stage.unit == "scene"]
        rows, reused = plan.entries, planner.reusable_packs(signatures, are_whole)
        for pack in reused:
            rows.reuse(pack, [stage.name for stage in of_scenes])
        if len(reused) == len(signatures) - 1 and (of_all := planner.reusable_build(signatures, are_whole)):
            rows.reuse(of_all, [stage.name for stage in self._wanted() if stage.unit == "build"])
            rows.planned = signatures
            return plan
        packs = rows.reused_packs
        others, same = [bits for bits in self._previous.packs if bits not in packs], set[str]()
        for entries in planner.reusable_units(of_scenes, others, are_whole):
            rows.add(replace(entry, why="reused") for entry in entries)
            same.add(entries[0].unit)
        units = [unit for unit in planner.inputs if rows.pack_of(unit) not in packs and unit not in same]
        for group in groups:
            rounds: Sequence[list[str] | None] = [None] if group[0].unit == "build" else rounds_of(units)
            for own in rounds:
                outputs = expected_of(rows, own if own is None else {*own, WHOLE}, self._previous)
                plans = planner.plan_group(group, own, outputs).values()
                rows.add(step.entry for steps in plans for step in steps.values() if step.entry)
        return plan

    def explain(self, name: str | None = None, scenes: Sequence[str] = ()) -> list[Explained]:
        """The plan of `build`, or of `stage` for one stage, with the reasons by name; nothing is run or written."""
        stage = None if name is None else self._stage(name, scenes)
        inputs = self.inputs() if stage is None or stage.needs_roots else {}
        planner, then = self._planner(inputs), read_lineage(self.out)
        if stage is None:
            entries: Iterable[Entry] = self._dry_run(planner).manifest
        else:
            units = rerunnable_units(stage, self._stages, self.config, self._previous, planner.inputs, self.out)
            steps = planner.plan(stage, self._previous.results())
            chosen = matching(units, scenes) if stage.unit == "scene" else list(steps)
            entries = [step.entry for unit in chosen if (step := steps.get(unit)) and step.entry]
        return [explained(e, self._previous.get((e.stage, e.unit)), planner.made_of, then) for e in entries]

    def inputs(self) -> dict[str, RawInput]:
        """The scenes in the roots."""
        return self._list().inputs

    def num_due(self, name: str, scenes: Sequence[str] = ()) -> int:
        """How many scenes `stage` would run one stage for."""
        stage = self._stages[name]
        inputs = self.inputs() if stage.needs_roots else {}
        units = rerunnable_units(stage, self._stages, self.config, self._previous, inputs, self.out)
        return len(matching(units, scenes)) if stage.unit == "scene" else 0

    def stage(self, name: str, scenes: Sequence[str] = ()) -> Outcome:
        """One stage again, for all scenes or those that match, from the last results of the stages before it."""
        self.check(name)
        stage = self._stage(name, scenes)
        with self._leased() as lease:
            outcome = self._outcome() if stage.needs_roots else Outcome(Manifest(0, self.out))
            inputs = self.inputs() if stage.needs_roots else {}
            units = rerunnable_units(stage, self._stages, self.config, self._previous, inputs, self.out)
            runner = self._runner(outcome, inputs, lease, asked=True)
            runner.earlier, runner.units = self._previous, None if stage.unit == "build" else matching(units, scenes)
            runner.run([stage])
            lease.check()
            rest = with_the_rest(stage, self._stages, self._previous, outcome, self.out)
            write_outcome(self.out, rest, list(self._stages), runner.planner.made_of)
            if stage.summary:  # it wrote a release
                keep_copy(self.out, MANIFEST_FILE)
            return outcome

    def _stage_named(self, name: str) -> Stage:
        """A stage by its name. Raises ConfigError, for an old name with the new one."""
        if name not in self._stages:
            if name in RENAMED:
                raise ConfigError(f"stage {name} is now called {RENAMED[name]}")
            raise ConfigError(f"unknown stage {name!r}; {nearest_of(name, self._stages)}")
        return self._stages[name]

    def _stage(self, name: str, scenes: Sequence[str]) -> Stage:
        """A stage that can be run alone. Raises ConfigError."""
        stage = self._stage_named(name)
        if scenes and stage.unit == "build":
            raise ConfigError(f"stage {name} looks at all scenes at once; leave --scenes out")
        if not stage.is_wanted(self.config):
            raise ConfigError(f"stage {name} is switched off in this configuration")
        return stage

    def _wanted(self) -> list[Stage]:
        return [stage for stage in self._stages.values() if stage.is_wanted(self.config)]

    def _list(self) -> InputListing:
        if self._listed is None:
            self._listed = list_inputs(self.config, self._stat_cache.listing)
        return self._listed

    def _outcome(self) -> Outcome:
        """An outcome of nothing but what could not be listed: it is left out, in the name of the first stage."""
        first, found = next(iter(self._stages)), self._list()
        manifest = Manifest(len(found.inputs), self.out)
        return Outcome(manifest, [quarantine_of(error, unit, first) for unit, error in found.broken])

    def _planner(self, inputs: Mapping[str, RawInput], asked: bool = False) -> Planner:
        return Planner(self._stages, self.config, self.out, inputs, self._previous, asked)

    def _runner(self, outcome: Outcome, inputs: Mapping[str, RawInput], lease: Lease, asked: bool = False) -> Runner:
        planner = self._planner(inputs, asked)
        return Runner(
            self.config,
            self.out,
            inputs,
            planner,
            self._execute,
            self._here,
            self._progress,
            self._keys,
            outcome,
            lease,
        )

    def _check_models(self, stages: Iterable[Stage]) -> None:
        """Raises ConfigError for a missing key, package or file of weights now rather than after an hour of scenes."""
        for model in (model for stage in stages for model in stage.models(self.config)):
            check_installed(model)
            if model.key_name and not self._keys.get(model.key_name):
                raise ConfigError(
                    f"model {model.name}: its API key is missing: export {model.key_name}=… or leave the model out"
                )

    @contextmanager
    def _leased(self) -> Iterator[Lease]:
        """Two builds into one folder would prune each other's results."""
        with translate_os_errors(self.out), leased(self.out) as lease:
            yield lease


def units_due(plan: Outcome) -> set[str]:
    """The scenes that a plan runs something for, and `WHOLE` where a stage of the whole build is to run."""
    return {entry.unit for entry in plan.ran}
