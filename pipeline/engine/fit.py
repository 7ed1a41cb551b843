"""Whether the last results fit together: a stage that brings scenes together takes none of another age."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from pipeline.core.errors import ConfigError
from pipeline.engine.again import Previous
from pipeline.engine.config import BuildConfig
from pipeline.engine.plan import WHOLE, Planner, Step, known, source_of
from pipeline.engine.stage import Stage
from pipeline.engine.store import Result

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
    stage: Stage, stages: Mapping[str, Stage], config: BuildConfig, previous: Previous, planner: Planner
) -> None:
    """Raises ConfigError unless the last results of all stages behind this one are those that a build would give now.

    ``planner`` plans what that build would run. Those of a stage that never ran at all are told elsewhere.
    """
    outputs: dict[str, Mapping[str, Result | None]] = {}
    behind = _behind(stage, stages, config)
    for name in (name for name in stages if name in behind):
        steps = planner.plan(stages[name], outputs)
        there = {unit for (of, unit), entry in previous.items() if of == name and entry.output}
        told = Counter(why for unit, step in steps.items() if (why := _why(step)))
        if gone := len(there - steps.keys()):
            told[_GONE] = gone
        if told and previous:
            raise ConfigError(_told(stage.name, name, told, len(steps.keys() | there), is_build=set(steps) == {WHOLE}))
        outputs[name] = known(steps)


def _behind(stage: Stage, stages: Mapping[str, Stage], config: BuildConfig) -> set[str]:
    """The stages whose results a stage takes, and those whose results these take."""
    behind: set[str] = set()
    todo = [stage]
    while todo:
        one = todo.pop()
        for name in (*one.takes, *one.may_take):
            source = source_of(name, stages, config)
            if source is not None and source not in behind:
                behind.add(source)
                todo.append(stages[source])
    return behind


def _why(step: Step) -> str | None:
    """Why the last result of a step does not fit; None where it does."""
    entry, before = step.entry, step.before
    if entry is None or step.fails_again:
        return None
    if entry.output is None:
        return _WHYS[entry.why]
    return None if before is not None and before.key == entry.key else _OTHER


def _told(stage: str, name: str, whys: Counter[str], of: int, *, is_build: bool) -> str:
    reasons = ", ".join(whys)
    behind = f"that of {name} is out of date" if is_build else f"{whys.total()} of {of} of {name} are out of date"
    return (
        f"stage {stage} needs up-to-date results of the stages before it, but {behind} ({reasons}): "
        f"run stage {name} and those after it first, or the whole build"
    )
