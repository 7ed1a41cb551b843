"""Plans a build: decides from the store, without running anything, which stages must run for which units, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from pipeline.core.errors import StoreError
from pipeline.core.groups import grouped
from pipeline.core.identity import digest_of
from pipeline.engine.code import code_digest
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import RawInput
from pipeline.engine.manifest import RESULTS, SHORT, Entry, Lineage, Manifest, ReusedPack, Why
from pipeline.engine.stage import STORE, Stage, StageContext, always_complete, no_other_files
from pipeline.engine.store import Result, Store

WHOLE: Final = "build/all"  # the unit of the stages of the whole build

Outputs = Mapping[str, Mapping[str, Result | None]]  # stage -> unit -> result; None: not known before it is made
StageInputs = dict[str, tuple[tuple[str, Result | None], ...]]  # `stage.Results`, of which some may not be known yet


@dataclass(frozen=True)
class StageSpec:
    """A stage in one configuration, for the scenes of one reader. It can be sent to another process.

    Attributes:
        of_build: whether its unit is the whole build.
        requires: the stages whose results it needs: as it calls them, and whose results these are.
        optional: the same of the stages whose results it looks at where they are there.
        part_digests: see `Stage`.
        config: digest of the settings.
        code: digest of the code.
        modules: the modules whose code that is, with all that they import.
    """

    stage: str
    suffix: str
    run: Callable[[StageContext], bytes]
    other_files: Callable[[Path], dict[str, str]]
    is_complete: Callable[[bytes, Path], bool]
    of_build: bool
    reads_raw: bool
    reads_human_input: bool
    requires: tuple[tuple[str, str], ...]
    optional: tuple[tuple[str, str], ...]
    part_digests: Callable[[StageContext], Mapping[str, str]]
    settings: Mapping[str, Any]
    config: str
    code: str
    modules: tuple[str, ...]

    def taken(self, unit: str, outputs: Outputs) -> StageInputs | None:
        """The results that the stage receives for a unit; None where a required one is missing."""
        units = {unit} if not self.of_build else self._scenes(outputs)
        found = {}
        for name, source in (*self.requires, *self.optional):
            there = outputs.get(source, {})
            chosen = sorted(there.keys() & units) or sorted(there.keys() & {WHOLE})
            found[name] = tuple((u, there[u]) for u in chosen)
        return None if any(not found[name] for name, _ in self.requires) else found

    def _scenes(self, outputs: Outputs) -> set[str]:
        """The scenes that have all results that it needs."""
        needed = [set(outputs.get(source, {})) - {WHOLE} for _, source in self.requires]
        return set.intersection(*needed) if needed else set()


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of one unit.

    Attributes:
        before: what the last manifest says of it.
        found: its results in the store, by key.
        is_forced: whether it is run although its result may be there.
        entry: what the plan says of it: with an output where a result is there, without a key where what it is made
            from is not known yet; None where none was expected.
    """

    spec: StageSpec
    unit: str
    before: Entry | None
    found: Mapping[str, Result]
    is_forced: bool = False
    entry: Entry | None = None

    def decide(self, taken: StageInputs, raw: RawInput | None, folder: Path) -> Entry:
        """Plans the step for these inputs: the entry has an output where the store has a complete result for them."""
        spec = self.spec
        results = {name: tuple((u, r) for u, r in found if r) for name, found in taken.items()}
        if any(len(results[name]) < len(found) for name, found in taken.items()):
            return self._undecided
        made_from = {name: digest_of([[u, result.digest] for u, result in found]) for name, found in results.items()}
        made_from |= spec.part_digests(StageContext(self.unit, spec.settings, folder, results))
        parts = {f"{RESULTS}{name}": part for name, part in made_from.items() if part}
        parts |= raw.parts if raw and spec.reads_raw else {}
        parts |= raw.human_input.parts if raw and spec.reads_human_input else {}
        parts |= spec.other_files(folder)
        inputs = digest_of(parts)
        key = digest_of([spec.stage, self.unit, inputs, spec.config, spec.code])
        short = {name: digest[:SHORT] for name, digest in parts.items()}
        entry = Entry(spec.stage, self.unit, key, inputs, spec.config, spec.code, "asked", parts=short)
        if self.is_forced:
            return entry
        found = self.found.get(key)
        if found is not None and _is_complete(spec, found, folder):
            if self.before and self.before.key == key and self.before.output == found:
                return replace(self.before, why="reused")  # whose texts are in memory already
            return replace(entry, why="reused", output=found)
        return replace(entry, why=self._reason_to_run(entry))

    @property
    def is_new(self) -> bool:
        """Whether it is sure to run whatever its inputs are: there is no result, and never was one."""
        return self.before is None and not self.found and not self.is_forced

    @property
    def _undecided(self) -> Entry:
        """The entry while its inputs are not looked at."""
        why: Why = "asked" if self.is_forced else "new" if self.before is None else "input"
        return Entry(self.spec.stage, self.unit, "", "", self.spec.config, self.spec.code, why)

    def planned(self, taken: StageInputs, raw: RawInput | None, folder: Path) -> Step:
        """The same step with its entry; that of a new one is decided where it runs."""
        return replace(self, entry=self._undecided if self.is_new else self.decide(taken, raw, folder))

    @property
    def reused(self) -> bool:
        """Whether its result exists and is reused."""
        return self.entry is not None and self.entry.output is not None

    @property
    def fails_again(self) -> bool:
        """Whether the same input was quarantined the last time, and so is expected to be again."""
        return _fails_again(self.entry, self.before)

    def _reason_to_run(self, entry: Entry) -> Why:
        before = self.before
        if before is None:
            return "new"
        if before.key == entry.key:
            return "missing"
        if before.inputs != entry.inputs:
            return "input"
        return "config" if before.config != entry.config else "code"


def _is_complete(spec: StageSpec | Stage, found: Result, folder: Path) -> bool:
    """Whether a result and what belongs to it are there; a damaged one is made again."""
    store = Store(folder / STORE)
    if spec.is_complete is always_complete:
        return store.is_sound(found)
    try:
        raw = store.get(found)
    except StoreError:
        return False
    return spec.is_complete(raw, folder)


class Planner:
    """Makes the steps of a build, and says of each what is to be done.

    Args:
        stages: all stages by name, in the order in which they run.
        config: of the build.
        folder: of the build.
        inputs: raw data by unit.
        previous: the last manifest.
        asked: whether results that are there are made again.

    Attributes:
        made_of: what is behind the digests of settings and code of the steps that were made.
    """

    def __init__(
        self,
        stages: Mapping[str, Stage],
        config: BuildConfig,
        folder: Path,
        inputs: Mapping[str, RawInput],
        previous: Manifest,
        asked: bool = False,
    ) -> None:
        self._stages, self._config, self._folder = stages, config, folder
        self.inputs, self.previous, self._asked = inputs, previous, asked
        self.made_of = Lineage()
        self._specs: dict[tuple[str, str | None], StageSpec] = {}
        self._found: dict[str, dict[str, dict[str, Result]]] = {}
        self._before: dict[str, dict[str, Entry]] = {}

    def signatures(self, stages: Iterable[Stage], pack_of: Callable[[str], str]) -> dict[str, str]:
        """Digests of all that the plan of a build with these stages is made from, but for the results.

        Of the scenes of each pack of the manifest by its bits, and by `WHOLE` of the stages that look at all scenes.

        Args:
            stages: of the build.
            pack_of: gives the bits of the pack of a unit.
        """
        specs: dict[str, list[Any]] = {"scene": [], "build": []}
        for stage in stages:
            readers = {raw.reader.name: raw for raw in self.inputs.values()} if stage.needs_roots else {"": None}
            for name, raw in sorted(readers.items()):
                spec = self._spec(stage, raw)
                specs[stage.unit].append([stage.name, name, spec.config, spec.code, spec.other_files(self._folder)])
        scenes, packs = digest_of(specs["scene"]), dict[str, list[Any]]()
        for unit, raw in sorted(self.inputs.items()):
            packs.setdefault(pack_of(unit), []).append([unit, raw.parts, raw.human_input.parts])
        return {bits: digest_of([scenes, own]) for bits, own in packs.items()} | {WHOLE: digest_of(specs["build"])}

    def reusable_packs(self, signatures: Mapping[str, str], are_whole: bool) -> list[ReusedPack]:
        """The packs of the last manifest whose plan was made from the same, and all of whose results are there.

        Args:
            signatures: as `signatures` gives them.
            are_whole: whether all results are known to be whole.
        """
        before, found = self.previous, list[ReusedPack]()
        store = Store(self._folder / STORE)
        for bits in before.packs:
            if bits in signatures and before.planned.get(bits) == signatures[bits]:
                table = before.table(bits)
                is_full = table.num_rows and not table["output"].null_count
                if is_full and (are_whole or self._are_sound(store, bits, before)):
                    found.append(ReusedPack.of(before, bits, table))
        return found

    def reusable_units(self, wanted: Sequence[Stage], packs: Iterable[str], are_whole: bool) -> Iterator[list[Entry]]:
        """The rows of those units in some packs of the last manifest that stay as they are, unit by unit.

        Where a whole build made that manifest, its rows were made from one another: what can differ are settings and
        code, raw data and human input.

        Args:
            wanted: the stages of scenes, which a unit has all been through.
            packs: by the bits of their units' hash.
            are_whole: whether all results are known to be whole.
        """
        before, store, names = self.previous, Store(self._folder / STORE), {stage.name for stage in wanted}
        whole = before.results({WHOLE})
        for bits in packs:
            if bits not in before.planned or not (are_whole or self._are_sound(store, bits, before)):
                continue
            rows = grouped(before.pack(bits).values(), lambda entry: entry.unit)
            for unit, entries in rows.items():
                own = {entry.stage: entry for entry in entries}
                outputs = whole | {name: {unit: entry.output} for name, entry in own.items() if entry.output}
                is_full = unit in self.inputs and own.keys() == names <= outputs.keys()
                if is_full and all(self._is_as_before(stage, own[stage.name], outputs) for stage in wanted):
                    yield entries

    def _is_as_before(self, stage: Stage, before: Entry, outputs: Outputs) -> bool:
        """Whether the same step gives a row again, if the results that it takes are those of the last manifest."""
        raw = self.inputs[before.unit]
        spec = self._spec(stage, raw if stage.needs_roots else None)
        if (before.config, before.code) != (spec.config, spec.code):
            return False
        if not stage.needs_roots and stage.other_files is no_other_files:
            return True
        taken = spec.taken(before.unit, outputs)
        step = Step(spec, before.unit, before, {})
        return taken is not None and step.decide(taken, raw, self._folder).key == before.key

    def _are_sound(self, store: Store, bits: str, manifest: Manifest) -> bool:
        """Whether all results of the scenes in a pack are there, whole and undamaged."""
        for name, of_units in manifest.results_in(bits).items():
            stage, results = self._stages[name], list(of_units.values())
            if stage.unit == "scene" and not (
                store.are_sound(results, bits)
                if stage.is_complete is always_complete
                else all(_is_complete(stage, result, self._folder) for result in results)
            ):
                return False
        return True

    def reusable_build(self, signatures: Mapping[str, str], are_whole: bool) -> ReusedPack | None:
        """The pack of the stages that look at all scenes, where these and all that they are made from are the same.

        To be asked only where all packs are reused; None where a result is missing or not whole.
        """
        before = self.previous
        bits = before.pack_of(WHOLE)
        table = before.table(bits)
        is_same = before.planned == signatures and not table["output"].null_count
        made = {name: own[WHOLE] for name, own in before.results({WHOLE}).items()} if is_same else {}
        if made and (
            are_whole or all(_is_complete(self._stages[n], result, self._folder) for n, result in made.items())
        ):
            return ReusedPack.of(before, bits, table)
        return None

    def sources(self, group: Iterable[Stage]) -> set[str]:
        """The stages whose results some stages take."""
        pairs = ((name, stage) for stage in group for name in (*stage.requires, *stage.optional))
        return {source for name, stage in pairs if (source := self._source(name, stage))}

    def plan_group(
        self, group: Sequence[Stage], units: Collection[str] | None, outputs: Outputs
    ) -> dict[str, dict[str, Step]]:
        """The steps of stages that some units go through one after the other, by stage and unit, in order.

        Args:
            group: the stages.
            units: those that are planned; None: all.
            outputs: the results that these have, or are expected to have.
        """
        self._found.clear()
        units = None if units is None else set(units)
        self._before = self._rows_before(group, units)
        plans: dict[str, dict[str, Step]] = {}
        ahead = dict(outputs)
        for stage in group:
            plans[stage.name] = self.plan(stage, ahead, units)
            ahead[stage.name] = known_results(plans[stage.name])
        return plans

    def plan(self, stage: Stage, outputs: Outputs, units: Set[str] | None = None) -> dict[str, Step]:
        """The steps of a stage for all units, or some, that have, or are to have, what it needs; by unit, in order."""
        steps = {}
        if stage.unit == "scene":
            outputs = {name: self._expected(name, found) for name, found in outputs.items()}
        if stage.name not in self._found:
            self._found[stage.name] = self._index(stage.name, units)
        if stage.name not in self._before:
            self._before |= self._rows_before([stage], units)
        for unit in [WHOLE] if stage.unit == "build" else self._units(stage, outputs, units):
            step = self.step(stage, unit)
            taken = step.spec.taken(unit, outputs)
            if taken is not None:
                steps[unit] = step.planned(taken, self.inputs.get(unit), self._folder)
        return steps

    def step(self, stage: Stage, unit: str) -> Step:
        """One step, of which nothing is said yet."""
        found = self._found[stage.name].get(unit, {})
        spec = self._spec(stage, self.inputs.get(unit) if stage.needs_roots else None)
        return Step(spec, unit, self._before[stage.name].get(unit), found, self._asked)

    def _rows_before(self, stages: Sequence[Stage], units: Set[str] | None) -> dict[str, dict[str, Entry]]:
        """What the last manifest says of stages of one kind: stage -> unit -> row. Its packs are gone through once."""
        found: dict[str, dict[str, Entry]] = {stage.name: {} for stage in stages}
        for entry in self.previous.rows({WHOLE} if stages[0].unit == "build" else units, found):
            found[entry.stage][entry.unit] = entry
        return found

    def _expected(self, name: str, found: Mapping[str, Result | None]) -> Mapping[str, Result | None]:
        """Results of a stage; what it makes of the whole build is expected to be as before while it is not known."""
        before = self.previous.get((name, WHOLE))
        return {WHOLE: before.output} if before and before.output and found == {WHOLE: None} else found

    def _units(self, stage: Stage, outputs: Outputs, units: Collection[str] | None) -> Iterable[str]:
        source = None if not stage.requires or stage.reads_raw else self._source(stage.requires[0], stage) or ""
        found = self.inputs.keys() if source is None else outputs.get(source, {}).keys()
        return sorted(found if units is None else found & units)

    def _source(self, name: str, taker: Stage) -> str | None:
        return source_of(name, taker, self._stages, self._config)

    def _sources(self, names: Iterable[str], taker: Stage) -> tuple[tuple[str, str], ...]:
        """Stages, and whose results are taken as theirs; without those that are switched off and pass nothing on."""
        return tuple((name, source) for name in names if (source := self._source(name, taker)))

    def _index(self, name: str, units: Collection[str] | None) -> dict[str, dict[str, Result]]:
        found: dict[str, dict[str, Result]] = {}
        for (unit, key), result in Store(self._folder / STORE).index(name, units).items():
            found.setdefault(unit, {})[key] = result
        return found

    def _spec(self, stage: Stage, raw: RawInput | None) -> StageSpec:
        at = (stage.name, raw.reader.name if raw else None)
        if at not in self._specs:
            settings = stage.settings(self._config)
            reader = raw.reader if raw else None
            own = (stage.module, *([type(reader).__module__] if reader and stage.reads_raw else []))
            roots = (*own, *stage.uses(self._config, reader))
            self._specs[at] = StageSpec(
                stage=stage.name,
                suffix=stage.suffix,
                run=stage.run,
                other_files=stage.other_files,
                is_complete=stage.is_complete,
                of_build=stage.unit == "build",
                reads_raw=stage.reads_raw,
                reads_human_input=stage.reads_human_input,
                requires=self._sources(stage.requires, stage),
                optional=self._sources(stage.optional, stage),
                part_digests=stage.part_digests,
                settings=settings,
                config=digest_of(settings),
                code=code_digest(roots),
                modules=roots,
            )
            self.made_of.note(self._specs[at].config, settings, self._specs[at].code, roots)
        return self._specs[at]


def source_of(name: str, taker: Stage, stages: Mapping[str, Stage], config: BuildConfig) -> str | None:
    """The stage whose results ``taker`` gets as those of another.

    The last one before it that replaces them; else the other itself, or what it passes on where it is switched off.
    """
    stage: Stage | None = stages[name]
    while stage is not None and not stage.is_wanted(config):
        stage = stages[stage.fallback] if stage.fallback else None
    for other in takewhile(lambda one: one.name != taker.name, stages.values()):
        if other.replaces == name and other.is_wanted(config):
            stage = other
    return stage.name if stage else None


def expected_of(rows: Manifest, units: Set[str] | None, previous: Manifest) -> Outputs:
    """The results that the rows of a plan name, of some units or of all: stage -> unit -> result.

    Those that are not known yet are None, and those missing that failed the last time.
    """
    found: dict[str, dict[str, Result | None]] = {stage: {**own} for stage, own in rows.results(units).items()}
    for entry in rows.rows(units, is_made=False):
        if not entry.key or not _fails_again(entry, previous.get((entry.stage, entry.unit))):
            found.setdefault(entry.stage, {})[entry.unit] = None
    return found


def _fails_again(entry: Entry | None, before: Entry | None) -> bool:
    return bool(entry and entry.key and before and not before.output and before.key == entry.key)


def known_results(steps: Mapping[str, Step]) -> dict[str, Result | None]:
    """The known results of a stage, from its steps; those expected to fail have none."""
    return {unit: step.entry.output for unit, step in steps.items() if step.entry and not step.fails_again}
