"""A build: finds out what must run, runs it stage by stage, and writes down why."""

from __future__ import annotations

import fcntl
import fnmatch
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError, RawDataError, StoreError
from pipeline.core.files import remove_temporary
from pipeline.core.identity import digest, digest_of
from pipeline.engine.build_stages import (
    BLIND,
    BUILD_STAGES,
    EXPORT,
    OBSERVED,
    RELEASE,
    REPLIES_FILE,
    SELECTED,
    BuildStage,
    Work,
)
from pipeline.engine.config import BuildConfig
from pipeline.engine.manifest import Entry, Outcome, Why, read_manifest, read_quarantine, write_outcome
from pipeline.engine.stages import (
    SCENE_STAGES,
    STORE,
    VIDEOS,
    Done,
    Job,
    RawInput,
    Stage,
    code_digest,
    quarantine_of,
    run_job,
)
from pipeline.engine.store import Result, Store
from pipeline.export.release import Released
from pipeline.llm.session import Session
from pipeline.worlds.indoor.readers.written_routes import read_routes
from pipeline.worlds.registry import configured

WHOLE: Final = "build/all"  # the unit of the stages that look at all scenes
AUTHOR: Final = "author"
BATCH_UNITS: Final = 64
STAGES: Final = (*SCENE_STAGES, *BUILD_STAGES)
OWN_FOLDERS: Final = (RELEASE, VIDEOS, "samples")  # beside the store; raw data may lie in the same folder too

Execute = Callable[[str, list[list[Job]]], Iterable[Done]]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Given:
    """What a stage is given for one unit: its raw data and the result of the stage before."""

    raw: RawInput | None = None
    before: Result | None = None
    beside: tuple[Result | None, ...] = ()

    def digest(self, stage: Stage) -> str:
        """Digest of all that the stage looks at."""
        raw = self.raw.digest if stage.reads_raw and self.raw else None
        results = [result.digest if result else None for result in (self.before, *self.beside)]
        return digest_of([raw, *results])


def run_here(stage: str, batches: list[list[Job]]) -> Iterator[Done]:
    """Runs all jobs one after the other in this process."""
    for batch in batches:
        yield from map(run_job, batch)


class Builder:
    """Runs one build configuration into one output folder.

    Args:
        config: the resolved configuration; its roots must be set.
        out: folder of the build: ``store/``, ``manifest.parquet``, ``release/``.
        execute: runs batches of jobs, in any order and process; gives what became of each.
        progress: called with stage, units done and units to do.
        keys: API keys of the configured models by the name of their environment variable.
    """

    def __init__(
        self,
        config: BuildConfig,
        out: Path,
        execute: Execute = run_here,
        progress: Progress = lambda stage, done, total: None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.config = config
        self.out = out
        self.store = Store(out / STORE)
        self._execute = execute
        self._progress = progress
        self._keys = keys or {}
        self._previous = read_manifest(out)

    def check(self, stage: str | None = None) -> None:
        """Raises at once what would be raised after a start: an unknown stage, a missing root, no place to write."""
        if stage is not None and stage not in STAGES:
            raise ConfigError(f"unknown stage {stage!r}; there are {', '.join(STAGES)}")
        if stage is None or (stage in SCENE_STAGES and SCENE_STAGES[stage].reads_raw):
            self._check_roots()
        self._check_keys(stage)
        with self._locked():
            pass

    def build(self) -> Outcome:
        """The whole build. Raises ConfigError and StoreError; broken scenes are quarantined and listed."""
        with self._locked():
            outcome = Outcome()
            given: dict[str | None, dict[str, Given]] = {None: self._raw_inputs(outcome)}
            for stage in self._stages():
                given[stage.name] = self._run_stage(stage, self._given_to(stage, given), outcome)
            for name in self._build_stages():
                self._run_build_stage(BUILD_STAGES[name], outcome.manifest, outcome)
            write_outcome(self.out, outcome, STAGES)
            self.store.prune(e.output.path for e in outcome.manifest if e.output)
            remove_temporary(self.out, OWN_FOLDERS)
            return outcome

    def dry_run(self) -> Outcome:
        """What `build` would run and why, without running it; units behind one that runs count as "input"."""
        outcome = Outcome()
        given: dict[str | None, dict[str, Given]] = {None: self._raw_inputs(outcome)}
        pending: dict[str | None, set[str]] = {None: set()}  # units behind something that would run
        for stage in self._stages():
            waits = pending[self._after(stage)].union(*(pending.get(name, set()) for name in stage.beside))
            known = {unit: value for unit, value in self._given_to(stage, given).items() if unit not in waits}
            entries = {e.unit: e for e in self._entries(stage, known, self.store.index(stage.name))}
            for unit in sorted(waits):
                why: Why = "input" if (stage.name, unit) in self._previous else "new"
                entries[unit] = Entry(stage.name, unit, "", "", "", "", why)
            outcome.manifest += entries.values()
            failing = {unit for unit, e in entries.items() if self._failed_before(e)}
            pending[stage.name] = {unit for unit, e in entries.items() if e.output is None} - failing
            given[stage.name] = {
                u: Given(value.raw, entries[u].output)
                for u, value in given[self._after(stage)].items()
                if u in entries and u not in failing
            }
        waiting = {name for name, units in pending.items() if units and name}
        for name in self._build_stages():
            whole = BUILD_STAGES[name]
            if waiting & set(whole.takes):
                entry = Entry(name, WHOLE, "", "", "", "", "input" if (name, WHOLE) in self._previous else "new")
            else:
                entry = self._build_entry(whole, self._taken(whole, outcome.manifest))
            if entry.output is None:
                waiting.add(name)
            outcome.manifest.append(entry)
        return outcome

    def stage(self, name: str, scenes: Sequence[str] = ()) -> Outcome:
        """One stage again, for all scenes or those that match, from the last results of the stage before it."""
        self.check(name)
        with self._locked():
            outcome = Outcome()
            if name in BUILD_STAGES:
                if scenes:
                    raise ConfigError(f"stage {name} looks at all scenes at once; leave --scenes out")
                if name not in self._build_stages():
                    raise ConfigError(f"stage {name} is switched off in this configuration")
                if not any(e.stage == SELECTED and e.output for e in self._previous.values()):
                    raise ConfigError(f"{self.out}: no results of stage {SELECTED} yet; run the whole build first")
                self._run_build_stage(BUILD_STAGES[name], list(self._previous.values()), outcome, asked=name != EXPORT)
            else:
                if not SCENE_STAGES[name].is_wanted(self.config):
                    raise ConfigError(f"stage {name} is switched off in this configuration")
                given = self._given_again(SCENE_STAGES[name], outcome)
                chosen = {unit: given[unit] for unit in _matching(given, scenes)}
                self._run_stage(SCENE_STAGES[name], chosen, outcome, asked=True)
            write_outcome(self.out, self._with_the_rest(name, outcome), STAGES)
            return outcome

    def _with_the_rest(self, name: str, outcome: Outcome) -> Outcome:
        """What a single stage did, together with what still holds of the builds before."""
        again = {(e.stage, e.unit) for e in outcome.manifest}
        failed = {e.unit for e in outcome.manifest if e.output is None}
        later = _behind(name)
        kept = [
            e for key, e in self._previous.items() if key not in again and not (e.stage in later and e.unit in failed)
        ]
        listed_again = name in SCENE_STAGES and SCENE_STAGES[name].reads_raw
        known = {e.unit for e in self._previous.values()}
        left_out = [
            q
            for q in read_quarantine(self.out)
            if (q.stage, q.unit) not in again and (q.unit in known or not listed_again)
        ]
        return Outcome([*kept, *outcome.manifest], [*left_out, *outcome.quarantine])

    def _given_again(self, stage: Stage, outcome: Outcome) -> dict[str, Given]:
        """What a stage was last given: raw data as they are now, and the last results of the stage before it."""
        after = self._after(stage)
        if after is None:
            units: dict[str, Result | None] = {u: None for s, u in self._previous if s == stage.name}
        else:
            units = {u: e.output for (s, u), e in self._previous.items() if s == after and e.output}
        if not units:
            raise ConfigError(f"{self.out}: no results of stage {after or stage.name} yet; run the whole build first")
        if not stage.reads_raw:
            last = self._previous
            return {
                unit: Given(
                    None, result, tuple(last[s, unit].output if (s, unit) in last else None for s in stage.beside)
                )
                for unit, result in units.items()
            }
        raw = self._raw_inputs(outcome)
        given = {unit: Given(raw[unit].raw, result) for unit, result in units.items() if unit in raw}
        if not given:
            raise ConfigError(f"{self.out}: none of its scenes are in these roots; give those that it was built from")
        return given

    def _raw_inputs(self, outcome: Outcome) -> dict[str, Given]:
        self._check_roots()
        inputs: dict[str, Given] = {}
        routes, broken = read_routes(self.config.routes) if self.config.routes else ({}, [])
        outcome.quarantine += [quarantine_of(e, _unit_of(e), "unify") for e in broken]
        for name, root in sorted(self.config.roots.items()):
            options = self.config.readers.get(name, {})
            listing = configured(name, options).scenes(root)
            outcome.quarantine += [quarantine_of(e, _unit_of(e), "unify") for e in listing.broken]
            for ref in listing.scenes:
                if ref.id in inputs:
                    raise ConfigError(f"scene {ref.id} is in two of the roots, the second time in {root}; keep one")
                inputs[ref.id] = Given(
                    RawInput(name, root, ref, routes.pop(ref.id, ()), tuple(sorted(options.items())))
                )
        if self.config.routes:
            remedy = "correct the scene, or give its data root"
            for scene in sorted(routes):
                lost = RawDataError(
                    self.config.routes, "route_without_scene", "no such scene in this build", remedy, scene
                )
                outcome.quarantine.append(quarantine_of(lost, scene, "unify"))
        return inputs

    def _check_roots(self) -> None:
        if not self.config.roots:
            raise ConfigError("no data root: give --root reader=folder")
        for name, root in sorted(self.config.roots.items()):
            if not root.is_dir():
                raise ConfigError(f"{root}: no such folder; give one with --root {name}=folder")
        for name in {*self.config.roots, *self.config.readers}:
            configured(name, self.config.readers.get(name, {}))

    def _check_keys(self, stage: str | None) -> None:
        """At once rather than after an hour of scenes."""
        asked = {BLIND: self.config.blind.models, AUTHOR: (self.config.author.model,)}
        for model in chain.from_iterable(models for name, models in asked.items() if stage in {None, name}):
            if model is None:
                continue
            if model.key_name and not self._keys.get(model.key_name):
                raise ConfigError(
                    f"model {model.name}: its API key is not there; export {model.key_name}=… or leave the model out"
                )

    def _run_stage(
        self, stage: Stage, given: dict[str, Given], outcome: Outcome, asked: bool = False
    ) -> dict[str, Given]:
        entries = self._entries(stage, given, {} if asked else self.store.index(stage.name))
        for entry in entries:
            if asked:
                entry.why = "asked"
        settings = stage.settings(self.config)
        todo = [
            Job(
                stage.name,
                e.unit,
                e.key,
                given[e.unit].raw,
                given[e.unit].before,
                settings,
                self.out,
                given[e.unit].beside,
            )
            for e in entries
            if e.output is None
        ]
        by_unit = {e.unit: e for e in entries}
        self._progress(stage.name, 0, len(todo))
        results = self._write(todo) if stage.name == AUTHOR else self._execute(stage.name, _batches(todo))
        for number, done in enumerate(results, start=1):
            entry = by_unit[done.unit]
            entry.output, entry.seconds = done.result, done.seconds
            if done.quarantine:
                outcome.quarantine.append(done.quarantine)
            self._progress(stage.name, number, len(todo))
        outcome.manifest += entries
        return {e.unit: Given(given[e.unit].raw, e.output) for e in entries if e.output}

    def _entries(self, stage: Stage, given: dict[str, Given], index: dict[tuple[str, str], Result]) -> list[Entry]:
        """One entry per unit, in order; those whose result is in the store, whole, have it as output."""
        config, code = digest_of(stage.settings(self.config)), code_digest(stage.code)
        entries = []
        for unit, value in sorted(given.items()):
            inputs = value.digest(stage)
            key = digest_of([stage.name, unit, inputs, config, code])
            found = index.get((unit, key))
            entry = Entry(stage.name, unit, key, inputs, config, code, "reused", found)
            if found is None or not self._is_whole(stage, found):
                entry.output = None
                entry.why = self._why(entry)
            entries.append(entry)
        return entries

    def _is_whole(self, stage: Stage, found: Result) -> bool:
        return self.store.is_sound(found) and stage.is_whole(self.store.get(found), self.out)

    def _stages(self) -> list[Stage]:
        """The stages of this build, each behind the one whose results it takes."""
        return [stage for stage in SCENE_STAGES.values() if stage.is_wanted(self.config)]

    def _after(self, stage: Stage) -> str | None:
        """The stage whose results a stage takes; one that is switched off passes on what it would be given."""
        after = stage.after
        while after is not None and not SCENE_STAGES[after].is_wanted(self.config):
            after = SCENE_STAGES[after].after
        return after

    def _given_to(self, stage: Stage, given: Mapping[str | None, Mapping[str, Given]]) -> dict[str, Given]:
        """What a stage is given for each unit, of what the stages before it have made."""
        units = given[self._after(stage)]
        if not stage.beside:
            return dict(units)
        beside = [given.get(name, {}) for name in stage.beside]
        return {
            unit: replace(value, beside=tuple(found[unit].before if unit in found else None for found in beside))
            for unit, value in units.items()
        }

    def _write(self, jobs: list[Job]) -> Iterator[Done]:
        """Runs the jobs of stage `author` here: the limits of a model hold for the build, not for a process."""
        model = self.config.author.model
        if not jobs or model is None:
            return
        with (
            Session([model], self.out / REPLIES_FILE, self._keys) as session,
            ThreadPoolExecutor(min(model.concurrency, len(jobs))) as threads,
        ):
            ask = partial(session.ask, model.name)
            try:
                yield from threads.map(run_job, [replace(job, ask=ask) for job in jobs])
            except BaseException:
                session.close()  # else the flights under way would be asked to their end
                raise

    def _why(self, entry: Entry) -> Why:
        before = self._previous.get((entry.stage, entry.unit))
        if before is None:
            return "new"
        if before.key == entry.key:
            return "missing"
        if before.inputs != entry.inputs:
            return "input"
        return "config" if before.config != entry.config else "code"

    def _failed_before(self, entry: Entry) -> bool:
        """Whether the same input was quarantined the last time, and so will be again."""
        before = self._previous.get((entry.stage, entry.unit))
        return entry.output is None and before is not None and before.output is None and before.key == entry.key

    def _build_stages(self) -> list[str]:
        """The stages over all scenes that this configuration wants, each behind those whose results it takes."""
        return [name for name, stage in BUILD_STAGES.items() if stage.is_wanted(self.config)]

    def _taken(self, stage: BuildStage, entries: Iterable[Entry]) -> list[Entry]:
        """The results that a stage over all scenes takes: of scenes those that have questions."""
        wanted = {*SCENE_STAGES, *self._build_stages()} & set(stage.takes)
        found = [e for e in entries if e.stage in wanted and e.output]
        selected = {e.unit for e in found if e.stage == SELECTED}
        taken = [e for e in found if e.stage != OBSERVED or e.unit in selected]
        return sorted(taken, key=lambda e: (stage.takes.index(e.stage), e.unit))

    def _build_entry(self, stage: BuildStage, taken: Iterable[Entry]) -> Entry:
        results = [(e.stage, e.unit, e.output.digest) for e in taken if e.output]
        inputs, config, code = digest_of(results), digest_of(stage.settings(self.config)), code_digest(stage.code)
        key = digest_of([stage.name, inputs, config, code])
        entry = Entry(stage.name, WHOLE, key, inputs, config, code, "reused")
        found = self.store.index(stage.name).get((WHOLE, key))
        if found and self.store.is_sound(found) and stage.is_whole(self.store.get(found), self.out):
            entry.output = found
        else:
            entry.why = self._why(entry)
        return entry

    def _run_build_stage(self, stage: BuildStage, entries: list[Entry], outcome: Outcome, asked: bool = False) -> None:
        """Runs a stage over all scenes, unless its result is there; with no scene left, the last release stays."""
        taken = self._taken(stage, entries)
        if not any(e.stage == SELECTED for e in taken):
            return
        entry = self._build_entry(stage, taken)
        if asked:
            entry.output, entry.why = None, "asked"
        self._progress(stage.name, 0, int(entry.output is None))
        if entry.output is None:
            start = time.perf_counter()
            results: dict[str, list[tuple[str, Result]]] = {}
            for e in taken:
                if e.output:
                    results.setdefault(e.stage, []).append((e.unit, e.output))
            work = Work(self.config, self.out, self.store, results, self._keys, self._progress)
            entry.output = self.store.put(stage.name, WHOLE, entry.key, stage.run(work), stage.suffix)
            entry.seconds = time.perf_counter() - start
            self._progress(stage.name, 1, 1)
        if stage.name == EXPORT:
            outcome.released = Released.model_validate_json(self.store.get(entry.output))
        outcome.manifest.append(entry)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Two builds into one folder would prune each other's results."""
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            with (self.out / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield
        except BlockingIOError as error:
            raise StoreError(
                f"{self.out}: another build is running in this folder; wait for it or give --out"
            ) from error
        except OSError as error:
            hint = "give a folder that can be written with --out"
            raise StoreError(f"{self.out}: cannot write ({error.strerror}): {hint}") from error


def _behind(name: str) -> set[str]:
    """The stages that take the results of a stage, and those that take theirs."""
    behind: set[str] = set()
    for stage in SCENE_STAGES.values():
        if stage.after in {name, *behind}:
            behind.add(stage.name)
    return behind


def _batches(jobs: list[Job]) -> list[list[Job]]:
    """Jobs by dataset and hash bucket of about `BATCH_UNITS` units."""
    datasets: dict[str, list[Job]] = {}
    for job in jobs:
        datasets.setdefault(job.unit.partition("/")[0], []).append(job)
    batches = []
    for members in datasets.values():
        buckets: dict[int, list[Job]] = {}
        n_buckets = -(-len(members) // BATCH_UNITS)
        for job in members:
            buckets.setdefault(int.from_bytes(digest(job.unit)[:4], "big") % n_buckets, []).append(job)
        batches += [buckets[number] for number in sorted(buckets)]
    return batches


def _matching(given: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """Units whose id or name matches any pattern; all for none. Raises ConfigError for a pattern without a match."""
    units = sorted(given)
    if not patterns:
        return units
    chosen: set[str] = set()
    for pattern in patterns:
        hits = [
            u for u in units if fnmatch.fnmatchcase(u, pattern) or fnmatch.fnmatchcase(u.partition("/")[2], pattern)
        ]
        if not hits:
            raise ConfigError(f"no scene matches {pattern!r}; scenes are named like {units[0]}")
        chosen.update(hits)
    return sorted(chosen)


def _unit_of(error: RawDataError) -> str:
    scene = error.scene or "(file)"
    return scene if "/" in scene else f"{error.path.stem}/{scene}"
