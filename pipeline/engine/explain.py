"""Why a stage runs, by name: which input, which setting, which module is another than when its last result was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import yaml

from pipeline.engine.manifest import Entry, MadeOf

UNKNOWN: Final = "input: what it takes is made again first"


class Explained(NamedTuple):
    """What the plan says of one unit of a stage, and why in words."""

    entry: Entry
    reasons: tuple[str, ...]


def explained(entry: Entry, before: Entry | None, now: MadeOf, then: MadeOf) -> Explained:
    """An entry of a plan with all that differs from the last manifest; no reasons where nothing does."""
    if entry.why == "reused" and before is not None and before.key == entry.key:
        return Explained(entry, ())
    if before is None:
        return Explained(entry, ("never run before",))
    return Explained(entry, differences(before, entry, then, now) or _nothing(entry, before))


def differences(before: Entry, after: Entry, then: MadeOf, now: MadeOf) -> tuple[str, ...]:
    """All that one result of a stage was made from and another, or the same later, was not."""
    found = list(_inputs(before, after)) if after.key else [UNKNOWN]
    if before.config != after.config:
        told = [f"config: {change}" for change in _settings(before, after, then, now)]
        found += told or ["config: settings changed"]
    if before.code != after.code:
        told = [f"code: {change}" for change in _code(then.code.get(before.code), now.code.get(after.code))]
        found += told or ["code: changed, which modules is not known"]
    return tuple(found)


def _nothing(entry: Entry, before: Entry) -> tuple[str, ...]:
    if entry.why == "reused":
        return ("made before, under these inputs and settings",)
    if before.output is None:
        return ("left out the last time, and tried again",)
    return ("missing: its result, or what it wrote beside it, is not whole",) if entry.why == "missing" else ()


def _inputs(before: Entry, after: Entry) -> Iterator[str]:
    if before.inputs == after.inputs:
        return
    one, other = before.parts, after.parts
    told = False
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            told = True
            what = "changed" if name in one and name in other else "is new" if name in other else "is gone"
            yield f"input: {name} {what}"
    if not told:
        yield "input: changed"


def _settings(before: Entry, after: Entry, then: MadeOf, now: MadeOf) -> Iterator[str]:
    one, other = then.config.get(before.config), now.config.get(after.config)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from changes(one, other, f"{after.stage}.")


def _code(one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> Iterator[str]:
    if one is None or other is None:
        return
    for name in sorted({*one, *other}):
        if one.get(name) == other.get(name):
            continue
        if name not in other:
            yield f"{name} is not used any more"
        elif name not in one:
            yield f"{name} is new"
        else:
            yield f"{name} changed" if name.endswith(".py") else f"{name} {one[name]} -> {other[name]}"


def changes(before: Mapping[str, Any], after: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Every key of which the value differs, with both values."""
    for key in [*before, *(key for key in after if key not in before)]:
        one, other = before.get(key), after.get(key)
        if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            one, other = ({str(number): value for number, value in enumerate(values)} for values in (one, other))
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from changes(one, other, f"{at}{key}.")
        elif one != other:
            yield f"{at}{key} {written(one)} -> {written(other)}"


def written(value: Any) -> str:
    """A value as one writes it on the command line, in YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")
