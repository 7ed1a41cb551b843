"""The inputs of a build: the scenes in its roots, errors of listing them, and what people supplied about each scene.

`list_inputs` lists the scenes; `RawScene` reads one of them for the stages, with its `HumanInput`: written facts,
published questions and fixes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pipeline.core.budget import WorkerLimits
from pipeline.core.errors import ConfigError, RawDataError, require_extra
from pipeline.core.fixes import DropScene, FixEntry
from pipeline.core.groups import grouped
from pipeline.core.identity import digest_of
from pipeline.core.mirrors import Mirror, mirror_of
from pipeline.engine.config import BuildConfig
from pipeline.questions.published import Published, read_published
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.listing import list_within
from pipeline.reading.reader import Reader, folder_of
from pipeline.worlds.registry import READERS, WORLDS, takes_videos

ListRoot = Callable[[Reader, Path, WorkerLimits], Listing]


@dataclass(frozen=True)
class InputListing:
    """Raw data by unit, and what is broken, with the unit that it costs."""

    inputs: dict[str, RawInput]
    broken: list[tuple[str, RawDataError]]


def check_roots(config: BuildConfig) -> None:
    """Raises ConfigError where a root is missing, or a reader or its options are not known."""
    if not config.roots:
        raise ConfigError("no data root: give --root reader=folder")
    for name, root in sorted(config.roots.items()):
        if not root.exists():
            raise ConfigError(f"{root}: no such folder; give one with --root {name}=folder")
    worlds = config.of_benchmark().worlds
    readable = [reader.name for world in worlds for reader in WORLDS[world.name].readers]
    for name in sorted(name for name in {*config.roots} - {*readable} if name in READERS):
        message = (
            f"reader {name} reads no {' or '.join(world.units for world in worlds)}, which {config.benchmark} is about"
        )
        raise ConfigError(f"{message}; its readers are {', '.join(readable)}")
    for name in {*config.roots, *config.readers}:
        config.reader(name)
    if config.videos is not None:
        if not any(map(takes_videos, config.roots)):
            takers = ", ".join(filter(takes_videos, READERS))
            raise ConfigError(f"--videos is for roots of {takers}; leave it out, or with --set videos=null")
        if not config.videos.is_dir():
            raise ConfigError(f"{config.videos}: no such folder; give that of the videos with --videos")
    for name in sorted(config.roots):
        require_extra(READERS[name].extra, f"reader {name}")


def list_inputs(config: BuildConfig, listing_of: ListRoot = list_within) -> InputListing:
    """All scenes of all roots, each of them listed so. Raises ConfigError for a scene that is in two of them."""
    check_roots(config)
    inputs: dict[str, RawInput] = {}
    written, faults = _written(config)
    known = _published_by_scene(config)
    fixes = grouped(config.all_fixes(), lambda entry: entry.scene)
    broken = [(_unit_of(error), error) for error in faults]
    for name, root in sorted(config.roots.items()):
        reader = config.reader(name)
        listing = listing_of(reader, root, config.limits)
        drops = [e for own in fixes.values() for e in own if isinstance(e.fix, DropScene)]
        dropped = {e.scene for e in drops if e.fix.reader in (None, name)}
        broken += [(_unit_of(error), error) for error in listing.broken]
        for ref in listing.scenes:
            if ref.id in inputs:
                is_other = inputs[ref.id].reader.name != name
                where = f"in two of the roots, the second time in {root}" if is_other else f"twice in {root}"
                raise ConfigError(f"scene {ref.id} is {where}; keep one")
            dataset, _, scene = ref.id.partition("/")
            asked = tuple(q for q in known.get(scene, ()) if q.dataset in (None, dataset))
            own = tuple(e for e in fixes.pop(ref.id, ()) if e.fix.reader in (None, name))
            human_input = HumanInput(written.pop(ref.id, {}), asked, own)
            gone = frozenset(other.id for other in ref.compared_with) & dropped
            inputs[ref.id] = RawInput(reader, folder_of(root), ref, human_input, mirror_of(root), gone)
    file = next(iter(config.written.values()), Path())
    lost = ("written_without_scene", "no such scene in this build", "correct the scene, or give its data root")
    broken += [(scene, RawDataError(file, *lost, scene)) for scene in sorted(written)]
    _check_datasets(config, {unit.partition("/")[0] for unit in (*inputs, *(unit for unit, _ in broken))})
    return InputListing(inputs, broken + _without_scene(config, inputs, fixes))


def _check_datasets(config: BuildConfig, there: set[str]) -> None:
    """Raises ConfigError for terms, frames or videos of a dataset that neither the build nor its benchmark knows."""
    known = there | set(config.of_benchmark().card.terms)
    for key in ("terms", "frames", "videos"):
        if unknown := sorted(set(getattr(config.export, key)) - known):
            named = f"unknown dataset {', '.join(unknown)}; there are {', '.join(sorted(known))}"
            raise ConfigError(f"configuration export.{key}: {named}")


def _written(config: BuildConfig) -> tuple[dict[str, dict[str, Any]], list[RawDataError]]:
    """Facts that people wrote: changes by scene id, and errors of entries that cannot be used."""
    facts: dict[str, dict[str, Any]] = {}
    broken: list[RawDataError] = []
    readable = {world.name: world.read_written for world in config.of_benchmark().worlds if world.read_written}
    for name, path in sorted(config.written.items()):
        if name not in readable:
            known = ", ".join(readable) or "none"
            raise ConfigError(f"configuration written.{name}: people can write facts of {known}")
        found, faults = readable[name](path)
        facts |= found
        broken += faults
    return facts, broken


def _published_by_scene(config: BuildConfig) -> dict[str, list[Published]]:
    """Published questions by the name of their scene. A build need not have all the scenes that they are about."""
    if config.known_file is None:
        return {}
    benchmark = config.of_benchmark()
    if benchmark.audit is None or benchmark.audit.metadata is None:
        raise ConfigError(f"configuration known: published questions of {benchmark.name} cannot be answered again")
    published = read_published(config.known_file, benchmark.all_columns)
    return grouped(published, lambda question: question.scene_name)


def _without_scene(
    config: BuildConfig, inputs: Mapping[str, RawInput], left: Mapping[str, Sequence[FixEntry]]
) -> list[tuple[str, RawDataError]]:
    """Fixes of a folder of one's own whose dataset is here and whose scene is not.

    One need not have all the scenes that the shipped ones are about.
    """
    datasets = {unit.partition("/")[0] for unit in inputs}
    lost = []
    for entry in (entry for scene in sorted(left) for entry in left[scene]):
        if entry.dataset in datasets and entry.file.parent == config.fixes.folder:
            message = f"{entry.place}: no such scene in this build"
            remedy = "correct the scene, or give its data root"
            lost.append((entry.scene, RawDataError(entry.file, "fix_without_scene", message, remedy, entry.scene)))
    return lost


def _unit_of(error: RawDataError) -> str:
    scene = error.scene or "(file)"
    return scene if "/" in scene else f"{error.path.stem}/{scene}"


FIX: Final = "fix "  # before the id of a fix, in the names of inputs
_AGAIN: Final[dict[tuple[Path, str], dict[str, SceneRef]]] = {}  # of this process: roots listed anew, by reader
Parts = dict[str, str]  # inputs of a result by name, and their digests


@dataclass(frozen=True)
class HumanInput:
    """The input of people about one scene.

    Attributes:
        written: facts that they wrote.
        known: published questions about it.
        fixes: corrections.
    """

    written: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[Published, ...] = ()
    fixes: tuple[FixEntry, ...] = ()

    @property
    def parts(self) -> Parts:
        """By name, what changes with each of them."""
        written = {name: [one.model_dump() for one in values] for name, values in self.written.items()}
        parts = {f"{FIX}{entry.fix.id}": entry.digest for entry in self.fixes}
        parts |= {"what people wrote": digest_of(written)} if written else {}
        return parts | ({"published questions": digest_of([vars(q) for q in self.known])} if self.known else {})


@dataclass(frozen=True)
class RawInput:
    """One scene of a reader's root.

    Attributes:
        reader: with its options.
        mirror: of a root that lies elsewhere.
        dropped: of the scenes beside it those that a fix leaves out: it is not compared with them.
    """

    reader: Reader
    root: Path
    ref: SceneRef
    human_input: HumanInput = field(default_factory=HumanInput)
    mirror: Mirror | None = None
    dropped: frozenset[str] = frozenset()

    @property
    def parts(self) -> Parts:
        """By name, what changes with the scene's bytes and the file that holds them, not with where the root lies."""
        reader = digest_of([self.reader.name, self.reader.settings()])
        parts = {"raw data": digest_of([self.ref.files, self.ref.stamp]), f"reader {self.reader.name}": reader}
        return parts | (
            {"scenes beside it that fixes leave out": digest_of(sorted(self.dropped))} if self.dropped else {}
        )

    def open(self) -> RawScene:
        """The scene's raw data, to be shared by the stages of one process that read them."""
        ref = replace(
            self.ref, compared_with=tuple(other for other in self.ref.compared_with if other.id not in self.dropped)
        )
        return RawScene(self.reader, SceneFiles(self.mirror.root if self.mirror else self.root, ref))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Within the block its files can be opened on this machine, wherever they lie.

        Raises RawDataError where they are not what they were when the build was planned.
        """
        if self.mirror is None:
            yield
            return
        with self.mirror.in_use():
            self._check(self.mirror)
            yield

    def _check(self, mirror: Mirror) -> None:
        if mirror.is_as_listed():
            return
        if (mirror.root, self.reader.name) not in _AGAIN:
            _AGAIN[mirror.root, self.reader.name] = {r.id: r for r in self.reader.scenes(mirror.root).scenes}
        refs = _AGAIN[mirror.root, self.reader.name]
        if refs.get(self.ref.id) != self.ref:
            place = mirror.root / self.ref.files[0]
            message = "the scene changed after the build was planned"
            raise RawDataError(place, "changed_while_reading", message, "build again", self.ref.id)


@dataclass(frozen=True)
class RawScene:
    """The raw data of one scene in use: its files keep what was made of them, for the next stage that needs it."""

    reader: Reader
    files: SceneFiles
