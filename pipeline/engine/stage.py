"""The `Stage` record, of a step per scene or over the whole build, and the `StageContext` that a stage runs with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pipeline.core.parquet import read_table
from pipeline.engine.store import Result, Store

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.engine.config import BuildConfig
    from pipeline.engine.inputs import HumanInput, RawScene
    from pipeline.llm.base import ModelSpec, Reply, Request
    from pipeline.reading.reader import Reader
    from pipeline.release.writer import Released


def nothing_beside(folder: Path) -> dict[str, str]:
    """The default of `Stage.beside`: the stage reads nothing in the build's folder besides results."""
    return {}


def whole(result: bytes, folder: Path) -> bool:
    """The default of the completeness check, for stages whose result is all that they write: always complete."""
    return True


def on_whole_results(context: StageContext) -> dict[str, str]:
    """The default of `Stage.depends`."""
    return {}


@dataclass(frozen=True)
class Stage:
    """One step of a build: a pure function of what it is given, its settings and its code.

    Attributes:
        name: names it on the command line, in the store and in the manifest.
        suffix: of its results' files, with the dot.
        module: where it stands; what it imports from there is its code.
        run: gives the bytes of the result. Raises RawDataError where the raw data of the unit cannot be used.
        unit: what it is run for: each scene, or the build as a whole.
        takes: the stages whose results it needs. It is run for a scene that has them all; a stage of the whole build
            is given those of the scenes that have them all, and is not run where there is none.
        may_take: the stages whose results it looks at where they are there.
        depends: of those that a scene depends on in part alone: by stage, the digest of that part.
        reads_raw: whether it goes back to the raw data.
        hears: whether it takes what people said of the scene.
        settings: all of the configuration that its result depends on, as JSON-like values.
        uses: modules that run besides what ``module`` imports: whatever it picks from a registry, for a configuration
            and, where it looks at what is given of a scene, its reader (whose own module need not be named).
        is_wanted: whether a configuration has this stage.
        passes_on: the stage whose result the later ones are given where this one is switched off; None: they get none.
        beside: what it reads in the build's folder besides results: the digest of each, by its name.
        is_whole: whether what it wrote beside its result is there, and nothing is left to be tried again.
        asks: the models that it asks. Their limits hold for the build, so such a stage runs in the build's own process.
        folders: folders of the build that it writes into, beside the store.
        summary: what of its result is shown at the end of a build.
    """

    name: str
    suffix: str
    module: str
    run: Callable[[StageContext], bytes]
    unit: Literal["scene", "build"] = "scene"
    takes: tuple[str, ...] = ()
    may_take: tuple[str, ...] = ()
    depends: Callable[[StageContext], Mapping[str, str]] = on_whole_results
    reads_raw: bool = False
    hears: bool = False
    settings: Callable[[BuildConfig], dict[str, Any]] = lambda config: {}
    uses: Callable[[BuildConfig, Reader | None], tuple[str, ...]] = lambda config, reader: ()
    is_wanted: Callable[[BuildConfig], bool] = lambda config: True
    passes_on: str | None = None
    beside: Callable[[Path], dict[str, str]] = nothing_beside
    is_whole: Callable[[bytes, Path], bool] = whole
    asks: Callable[[BuildConfig], tuple[ModelSpec, ...]] = lambda config: ()
    folders: tuple[str, ...] = ()
    summary: Callable[[bytes], Released] | None = None

    @property
    def needs_roots(self) -> bool:
        """Whether it reads a scene's raw inputs, beyond the results of other stages."""
        return self.reads_raw or self.hears


STORE: Final = "store"  # folder of a build
REPLIES_FILE: Final = "replies.sqlite"  # what models answered, beside the store: it outlives a change of anything else

Ask = Callable[["Request"], "Reply"]
Progress = Callable[[str, int, int], None]  # what is counted, how many are done, how many there are
Results = Mapping[str, tuple[tuple[str, Result], ...]]  # stage -> units, in order, and their results


def no_fence() -> None:
    """Nobody else may be building in the folder."""


def no_progress(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class StageContext:
    """All that a stage may look at.

    Attributes:
        unit: "dataset/name" of the scene, or the name of the whole build's unit.
        settings: what its `Stage.settings` gave; of the configuration its result depends on nothing else.
        folder: of the build.
        results: of the stages that it takes: for a scene those of this scene, for the build those of all scenes.
        raw: the scene's raw data, for a stage that reads them.
        human_input: what people said of the scene, for a stage that hears it.
        asks: ask the models of a stage that works scene by scene, in the order of `Stage.asks`.
        whole_config: for a stage of the build; beyond its settings it says how to work, not what comes out: how many
            requests at once, or where a server is.
        keys: API keys by the name of their environment variable; never part of a result.
        progress: to be called now and then by a stage that takes long.
        fence: raises StoreError where another build has taken the folder over; to be called before what others see.
    """

    unit: str
    settings: Mapping[str, Any]
    folder: Path
    results: Results = field(default_factory=dict)
    raw: RawScene | None = None
    human_input: HumanInput | None = None
    asks: tuple[Ask, ...] = ()
    whole_config: BuildConfig | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = no_progress
    fence: Callable[[], None] = no_fence

    @property
    def config(self) -> BuildConfig:
        """The configuration, for a stage of the build."""
        if self.whole_config is None:
            raise ValueError("a stage of scenes depends on its settings alone")
        return self.whole_config

    @property
    def source(self) -> RawScene:
        """The raw data, for a stage that reads them."""
        if self.raw is None:
            raise ValueError("this stage reads raw data")
        return self.raw

    @property
    def required_human_input(self) -> HumanInput:
        """The `HumanInput` of the scene, for a stage that uses it."""
        if self.human_input is None:
            raise ValueError("this stage takes what was said of a scene")
        return self.human_input

    def all_bytes(self, stage: str) -> Iterator[bytes]:
        """The results of a stage, one at a time, in order of their units; none where it did not run."""
        store = Store(self.folder / STORE)
        return (store.get(result) for _, result in self.results.get(stage, ()))

    def bytes_of(self, stage: str) -> bytes | None:
        """The one result of a stage; None where it did not run."""
        return next(self.all_bytes(stage), None)

    def needed(self, stage: str) -> bytes:
        """The one result of a stage that this one cannot do without."""
        raw = self.bytes_of(stage)
        if raw is None:
            raise ValueError(f"no result of stage {stage}")
        return raw

    def tables(self, stage: str) -> Iterator[pa.Table]:
        """`all_bytes`, as tables."""
        return map(read_table, self.all_bytes(stage))

    def table(self, stage: str) -> pa.Table | None:
        """`bytes_of`, as a table."""
        return next(self.tables(stage), None)

    def units(self, stage: str) -> tuple[str, ...]:
        """The units that have a result of a stage."""
        return tuple(unit for unit, _ in self.results.get(stage, ()))
