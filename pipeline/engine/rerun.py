"""Reruns one stage: selects its units, checks that earlier results fit together, merges the outcome with the rest."""

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import RawInput
from pipeline.engine.manifest import Manifest, Outcome, read_quarantine
from pipeline.engine.plan import WHOLE, Planner, Step, known_results, source_of
from pipeline.engine.stage import Stage
from pipeline.engine.store import Result


def last_scenes(outputs: Mapping[str, Mapping[str, Result]]) -> Mapping[str, Result]:
    """The scenes as questions were made of them: unit -> result; empty where no scene got as far."""
    return outputs.get("describe") or outputs.get("observe") or {}


def rerunnable_units(
    stage: Stage,
    stages: Mapping[str, Stage],
    config: BuildConfig,
    previous: Manifest,
    inputs: Mapping[str, RawInput],
    folder: Path,
) -> list[str]:
    """The scenes that a stage can be run for again: those that had, the last time, all that it takes.

    Raises ConfigError where there is none.
    """
    sources = [source_of(name, stage, stages, config) or name for name in stage.requires]
    outputs = previous.results()
    there = [set(outputs.get(source, {})) for source in sources] or [{u for s, u in previous if s == stage.name}]
    for name, units in zip(sources or [stage.name], there, strict=True):
        if not units:
            raise ConfigError(f"{folder}: no results of stage {name} yet; run the whole build first")
    units = set.intersection(*there)
    if stage.needs_roots and not units & inputs.keys():
        raise ConfigError(f"{folder}: none of its scenes are in these roots; give those that it was built from")
    return sorted(units & inputs.keys() if stage.needs_roots else units)


def matching(units: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Units whose id or name matches any pattern; all for none. Raises ConfigError for a pattern without a match."""
    if not patterns:
        return list(units)
    chosen: set[str] = set()
    for pattern in patterns:
        hits = [u for u in units if any(fnmatch.fnmatchcase(name, pattern) for name in (u, u.partition("/")[2]))]
        if not hits:
            raise ConfigError(f"no scene matches {pattern!r}; scenes are named like {units[0]}")
        chosen.update(hits)
    return sorted(chosen)


def with_the_rest(
    stage: Stage, stages: Mapping[str, Stage], previous: Manifest, outcome: Outcome, folder: Path
) -> Outcome:
    """The outcome of a single stage, merged with the parts of earlier builds that still hold."""
    again = {(e.stage, e.unit) for e in outcome.manifest}
    failed = {e.unit for e in outcome.manifest if e.output is None}
    later = _stages_after(stage, stages.values())
    known = {unit for _, unit in previous}
    merged = Manifest(len(known), folder)
    merged.add(e for key, e in previous.items() if key not in again and not (e.stage in later and e.unit in failed))
    merged.add(outcome.manifest)
    left_out = [
        q
        for q in read_quarantine(folder)
        if (q.stage, q.unit) not in again and (q.unit in known or not stage.needs_roots)  # else it was listed again
    ]
    return Outcome(merged, [*left_out, *outcome.quarantine])


def _stages_after(first: Stage, stages: Iterable[Stage]) -> set[str]:
    """The stages of scenes that take the results of a stage, and those that take theirs."""
    behind: set[str] = set()
    taken = {first.name, first.replaces or first.name}
    for stage in dropwhile(lambda one: one.name != first.name, stages):
        if stage.name != first.name and taken & {*stage.requires, stage.fallback} and stage.unit == "scene":
            behind.add(stage.name)
            taken |= {stage.name, stage.replaces or stage.name}
    return behind


_WHYS: Final = {
    "new": "never run",
    "input": "what they are made from changed",
    "config": "settings changed",
    "code": "code changed",
    "missing": "missing in the store",
}
_OTHER: Final = "made under other settings"  # and the ones that fit are still in the store
_GONE: Final = "their raw data are gone"


def check_fit(
    stage: Stage, stages: Mapping[str, Stage], config: BuildConfig, previous: Manifest, planner: Planner
) -> None:
    """Raises ConfigError unless the last results of all stages behind this one are those that a build would give now.

    ``planner`` plans what that build would run. Those of a stage that never ran at all are told elsewhere.
    """
    outputs: dict[str, Mapping[str, Result | None]] = {}
    behind: set[str] = set()
    todo = [stage]
    while todo:
        one = todo.pop()
        for name in (*one.requires, *one.optional):
            source = source_of(name, one, stages, config)
            if source is not None and source not in behind:
                behind.add(source)
                todo.append(stages[source])
    for name in (name for name in stages if name in behind):
        steps = planner.plan(stages[name], outputs)
        there = {unit for (of, unit), entry in previous.items() if of == name and entry.output}
        whys = Counter(why for unit, step in steps.items() if (why := _why_outdated(step)))
        if gone := len(there - steps.keys()):
            whys[_GONE] = gone
        if whys and previous:
            raise ConfigError(_stale(stage.name, name, whys, len(steps.keys() | there), is_build=set(steps) == {WHOLE}))
        outputs[name] = known_results(steps)


def _why_outdated(step: Step) -> str | None:
    """Why the last result of a step does not fit; None where it does."""
    entry, before = step.entry, step.before
    if entry is None or step.fails_again:
        return None
    if entry.output is None:
        return _WHYS[entry.why]
    return None if before is not None and before.key == entry.key else _OTHER


def _stale(stage: str, name: str, whys: Counter[str], of: int, *, is_build: bool) -> str:
    reasons = ", ".join(whys)
    behind = f"that of {name} is out of date" if is_build else f"{whys.total()} of {of} of {name} are out of date"
    return (
        f"stage {stage} needs up-to-date results of the stages before it, but {behind} ({reasons}): "
        f"run stage {name} and those after it first, or the whole build"
    )
