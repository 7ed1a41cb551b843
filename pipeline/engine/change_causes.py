"""The causes of the changes between two releases, found by comparing their manifests.

A scene goes through its stages one after the other. Where the result of a stage is the same in both builds nothing
before it matters; where it differs, every input that differs, other than results of stages before it, is a cause: a
fix, raw data, a setting, a module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import FIX
from pipeline.engine.manifest import RESULTS, Entry, Lineage, read_lineage, read_manifest
from pipeline.engine.plan import WHOLE

if TYPE_CHECKING:
    from pipeline.release.comparison import LoadedRelease, QuestionChange, ReleasedQuestion

MODULES_SHOWN: Final = 3
UNKNOWN: Final = "not known: no manifest of the older release is kept"


@dataclass(frozen=True)
class ReleaseLineage:
    """The lineage of a release: its manifest, and the settings and modules behind its digests."""

    entries: Mapping[tuple[str, str], Entry] = field(default_factory=dict)
    made_of: Lineage = field(default_factory=Lineage)


def read_release_lineage(folder: Path, file: str) -> ReleaseLineage:
    """Reads the lineage of a release; empty where no manifest is kept."""
    return ReleaseLineage(read_manifest(folder, file), read_lineage(folder, file))


@dataclass(frozen=True)
class Difference:
    """Something that a stage's result was made from in one build only."""

    stage: str
    text: str

    @property
    def fix(self) -> str | None:
        """The id of the fix that it is about."""
        rest = self.text.removeprefix(f"input: {FIX}")
        return rest.partition(" ")[0] if rest != self.text else None

    @property
    def words(self) -> str:
        """The cause in words, for a report."""
        if self.fix:
            return f"fix {self.fix}{' (taken back)' if self.text.endswith('removed') else ''}"
        if self.text.startswith("input: "):
            return self.text.removeprefix("input: ")
        if self.text.startswith("config: ") and ".templates." in self.text:
            return f"template of {_template(self.text)}"
        return self.text.replace("config: generate.rules.", "rule: ")


def with_causes(
    changes: Sequence[QuestionChange],
    before: tuple[LoadedRelease, ReleaseLineage],
    after: tuple[LoadedRelease, ReleaseLineage],
    stages: Sequence[str],
) -> list[QuestionChange]:
    """The changes with what brought them about.

    Args:
        changes: between the releases.
        before: the older release, and how it was made.
        after: the newer one, and how it was made.
        stages: names of all stages, in order.
    """
    (one, then), (other, now) = before, after
    fixes = {**one.fixes, **other.fixes}
    of_scene: dict[str, list[Difference]] = {}
    of_build = [f"{d.stage}: {d.words}" for d in _of_scene(WHOLE, then, now, stages)]  # and of the release itself
    completed = []
    for change in changes:
        if not then.entries or not now.entries:
            completed.append(replace(change, causes=_from_provenance(change, one, other)))
            continue
        scene = change.asked.scene
        if scene not in of_scene:
            of_scene[scene] = list(_of_scene(scene, then, now, stages))
        causes = _relevant(change.asked, of_scene[scene], fixes) or of_build or _of_others(scene, then, now, stages)
        completed.append(replace(change, causes=tuple(dict.fromkeys(causes)) or ("not known",)))
    return completed


def _of_scene(scene: str, then: ReleaseLineage, now: ReleaseLineage, stages: Sequence[str]) -> Iterable[Difference]:
    """All that differs in what the results of a scene's stages were made from, where these differ."""
    there = [name for name in stages if (name, scene) in then.entries or (name, scene) in now.entries]
    for name in there:
        one, other = then.entries.get((name, scene)), now.entries.get((name, scene))
        if one is None or other is None:
            if name == there[0]:
                yield Difference(name, "input: the scene is new" if one is None else "input: the scene is gone")
            continue
        if (one.output and one.output.digest) == (other.output and other.output.digest):
            continue
        found = [text for text in differences(one, other, then.made_of, now.made_of) if f" {RESULTS}" not in text]
        modules = [text for text in found if text.startswith("code: ")]
        yield from (Difference(name, text) for text in found if text not in modules)
        if modules:
            yield Difference(name, _shortened(modules))
        if other.output is None:
            yield Difference(name, f"input: left out by stage {name} (quarantine.parquet says why)")


def _of_others(scene: str, then: ReleaseLineage, now: ReleaseLineage, stages: Sequence[str]) -> list[str]:
    """The stages that look at all scenes whose part for this one differs: other scenes have changed it."""
    found = []
    for name in stages:
        one, other = then.entries.get((name, scene)), now.entries.get((name, scene))
        if one is not None and other is not None:
            differing = dict(one.parts.items() ^ other.parts.items())
            sources = {part.removeprefix(RESULTS) for part in differing if part.startswith(RESULTS)}
            found += [f"other scenes, by stage {s}" for s in stages if s in sources and (s, WHOLE) in now.entries]
    return found


def _shortened(modules: Sequence[str]) -> str:
    names = [text.removeprefix("code: ") for text in modules]
    more = f" and {len(names) - MODULES_SHOWN} more" if len(names) > MODULES_SHOWN else ""
    return f"code: {', '.join(names[:MODULES_SHOWN])}{more}"


def _relevant(
    asked: ReleasedQuestion, found: Sequence[Difference], fixes: Mapping[str, Mapping[str, object]]
) -> list[str]:
    """The causes that may affect a question: fixes of the things it names, if there are any, and its own template."""
    about = {d.fix: d for d in found if d.fix}
    named = {name for name in about if _subjects(fixes.get(name or "")) & {"", *asked.operands}}
    kept = []
    for difference in found:
        if difference.fix and named and difference.fix not in named:
            continue
        if ".templates." in difference.text and _template(difference.text) != asked.task:
            continue
        kept.append(difference.words)
    return kept


def _template(text: str) -> str:
    return text.partition(".templates.")[2].partition(" ")[0]


def _subjects(fix: Mapping[str, object] | None) -> set[str]:
    subjects = (fix or {}).get("subjects")
    return set(subjects) if isinstance(subjects, list) else set()


def _from_provenance(change: QuestionChange, one: LoadedRelease, other: LoadedRelease) -> tuple[str, ...]:
    """The causes told by the provenance of both releases, of this question or another of its scene and task."""
    before = change.before or _question_of_scene(change.asked, one)
    after = change.after or _question_of_scene(change.asked, other)
    scene = change.asked.scene
    made = {release.name: {i for i, f in release.fixes.items() if f["scene"] == scene} for release in (one, other)}
    changed = made[one.name] ^ made[other.name]
    named = {i for i in changed if _subjects({**one.fixes, **other.fixes}[i]) & {"", *change.asked.operands}}
    causes = [f"fix {i}{'' if i in made[other.name] else ' (taken back)'}" for i in sorted(named or changed)]
    if before is None or after is None:
        causes.append("the scene is new" if before is None else "the scene is gone")
    else:
        names = [n for n in before.made_from if before.made_from[n] != after.made_from.get(n)]
        causes += [f"{name} changed" for name in dict.fromkeys(names)]
    return tuple(causes) or (UNKNOWN,)


def _question_of_scene(asked: ReleasedQuestion, release: LoadedRelease) -> ReleasedQuestion | None:
    there = [a for a in release.questions.values() if a.scene == asked.scene]
    return next((a for a in there if a.task == asked.task), there[0] if there else None)


UNKNOWN_INPUTS: Final = "input: what it takes is made again first"


class Explained(NamedTuple):
    """The plan of one unit of a stage, with its reason in words."""

    entry: Entry
    reasons: tuple[str, ...]


def explained(entry: Entry, before: Entry | None, now: Lineage, then: Lineage) -> Explained:
    """An entry of a plan with all that differs from the last manifest; no reasons where nothing does."""
    if entry.why == "reused" and before is not None and before.key == entry.key:
        return Explained(entry, ())
    if before is None:
        return Explained(entry, ("never run before",))
    return Explained(entry, differences(before, entry, then, now) or _cause_without_change(entry, before))


def differences(before: Entry, after: Entry, then: Lineage, now: Lineage) -> tuple[str, ...]:
    """All that one result of a stage was made from and another, or the same later, was not."""
    found = list(_inputs(before, after)) if after.key else [UNKNOWN_INPUTS]
    if before.config != after.config:
        lines = [f"config: {change}" for change in _settings(before, after, then, now)]
        found += lines or ["config: settings changed"]
    if before.code != after.code:
        one, other = then.code.get(before.code), now.code.get(after.code)
        if one is None or other is None:
            found.append("code: changed, which modules is not known")
        else:
            found += [f"code: {change}" for change in _code(one, other, explained=before.config != after.config)]
    return tuple(found)


def _cause_without_change(entry: Entry, before: Entry) -> tuple[str, ...]:
    if entry.why == "reused":
        return ("made before, under these inputs and settings",)
    if before.output is None:
        return ("left out the last time, and tried again",)
    return ("missing: its result, or what it wrote beside it, is not whole",) if entry.why == "missing" else ()


def _inputs(before: Entry, after: Entry) -> Iterator[str]:
    if before.inputs == after.inputs:
        return
    one, other = before.parts, after.parts
    is_explained = False
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            is_explained = True
            what = "changed" if name in one and name in other else "added" if name in other else "removed"
            yield f"input: {name} {what}"
    if not is_explained:
        yield "input: changed"


# Stages that take settings of another section of the configuration.
_SECTIONS: Final = {"answer_counts": "select", "filter": "blind", "describe": "observe", "verify": "describe"}


def _settings(before: Entry, after: Entry, then: Lineage, now: Lineage) -> Iterator[str]:
    one, other = then.config.get(before.config), now.config.get(after.config)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        found = dict[str, str]()
        for change in changes(one, other):
            key, _, values = change.partition(" ")
            section = key.partition(".")[0]
            if section == "rules":  # as they are resolved; the setting may stand beside them
                key = f"generate.{key}"
            elif section not in BuildConfig.model_fields:
                key = f"{_SECTIONS.get(after.stage, after.stage)}.{key}"
            if not found.get(key) or section == "rules":
                found[key] = f"{key} {values}"
        yield from found.values()


def _code(one: Mapping[str, str], other: Mapping[str, str], *, explained: bool) -> Iterator[str]:
    """The modules that changed. Only if none did, and no setting explains it, those that one side alone uses."""
    changed = [name for name in sorted(one.keys() & other.keys()) if one[name] != other[name]]
    for name in changed:
        yield f"{name} changed" if name.endswith(".py") else f"{name} {one[name]} -> {other[name]}"
    if not changed and not explained:
        for name in sorted(one.keys() ^ other.keys()):
            yield f"{name} is {'no longer used' if name in one else 'new'}"


def changes(before: Mapping[str, Any], after: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Every key of which the value differs, with both values."""
    for key in [*before, *(key for key in after if key not in before)]:
        one, other = before.get(key), after.get(key)
        one, other = (list(side) if isinstance(side, tuple) else side for side in (one, other))
        if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            one, other = ({str(number): value for number, value in enumerate(values)} for values in (one, other))
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from changes(one, other, f"{at}{key}.")
        elif one != other:
            sides = (written(side[key]) if key in side else "not set" for side in (before, after))
            yield f"{at}{key} {' -> '.join(sides)}"


def written(value: Any) -> str:
    """A value as one writes it on the command line, in YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")
