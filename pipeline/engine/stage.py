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
    from pipeline.release.released import Released


def no_other_files(folder: Path) -> dict[str, str]:
    """The default of `Stage.other_files`: the stage reads nothing in the build's folder besides results."""
    return {}


def always_complete(result: bytes, folder: Path) -> bool:
    """The default of the completeness check, for stages whose result is all that they write: always complete."""
    return True


def no_part_digests(context: StageContext) -> dict[str, str]:
    """The default of `Stage.part_digests`."""
    return {}


@dataclass(frozen=True)
class Stage:
    """One step of a build: a pure function of its inputs, settings and code.

    Attributes:
        name: on the command line, in the store and in the manifest.
        suffix: of result files, with the dot.
        module: the module that defines the stage (``__name__``); its imports are the stage's code.
        run: returns the bytes of the result. Raises RawDataError if the raw data of the unit cannot be used.
        unit: what the stage runs for: each scene, or the build as a whole.
        requires: stages whose results are required, unless they are switched off without a ``fallback``. The stage runs
            for each scene that has all of them. A stage of the whole build gets the results of these scenes, and does
            not run if there is no such scene.
        optional: stages whose results are optional.
        part_digests: for results of which only a part matters for a scene: by stage, the digest of that part, or ""
            where it matters only that there is a result.
        reads_raw: whether the stage reads raw data.
        reads_human_input: whether the stage reads human input about the scene.
        settings: every part of the configuration that the result depends on, as JSON-like values.
        uses: modules that run beyond the imports of ``module``, such as those from a registry, for a configuration and,
            in a stage of scenes, a reader (whose own module need not be named).
        is_wanted: whether a configuration includes this stage.
        fallback: the stage whose result replaces this one's for later stages if this one is switched off; None: none.
        replaces: the stage whose results this one changes: later stages that take those get this one's; None: none.
        other_files: other files that the stage reads in the build's folder: name -> digest.
        is_complete: whether the files beside the result are complete, and nothing remains to be tried again.
        models: those that the stage queries. Their limits hold for the build, so the stage runs in the build's process.
        folders: folders of the build, beside the store, that the stage writes into.
        summary: the part of the result that the end of a build shows.
    """

    name: str
    suffix: str
    module: str
    run: Callable[[StageContext], bytes]
    unit: Literal["scene", "build"] = "scene"
    requires: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    part_digests: Callable[[StageContext], Mapping[str, str]] = no_part_digests
    reads_raw: bool = False
    reads_human_input: bool = False
    settings: Callable[[BuildConfig], dict[str, Any]] = lambda config: {}
    uses: Callable[[BuildConfig, Reader | None], tuple[str, ...]] = lambda config, reader: ()
    is_wanted: Callable[[BuildConfig], bool] = lambda config: True
    fallback: str | None = None
    replaces: str | None = None
    other_files: Callable[[Path], dict[str, str]] = no_other_files
    is_complete: Callable[[bytes, Path], bool] = always_complete
    models: Callable[[BuildConfig], tuple[ModelSpec, ...]] = lambda config: ()
    folders: tuple[str, ...] = ()
    summary: Callable[[bytes], Released] | None = None

    @property
    def needs_roots(self) -> bool:
        """Whether it reads a scene's raw inputs, beyond the results of other stages."""
        return self.reads_raw or self.reads_human_input


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
    """The inputs of a stage; a stage reads nothing else.

    Attributes:
        unit: "dataset/name" of the scene, or the name of the whole build's unit.
        settings: the values of `Stage.settings`, the only part of the configuration that the result depends on.
        folder: of the build.
        results: of the stages in `Stage.requires`: for a scene those of this scene, for the build those of all scenes.
        raw: the scene's raw data, for a stage that reads them.
        human_input: corrections and verdicts about the scene, for a stage that hears them.
        models: functions that query the models, in the order of `Stage.models`, in a stage of scenes.
        whole_config: for a stage of the build: how to work, without effect on the result, such as the number of
            concurrent requests or the address of a server.
        code: digest of the stage's code.
        keys: API keys by the name of their environment variable; never part of a result.
        progress: call it now and then in a stage that takes long.
        fence: raises StoreError if another build has taken over the folder; call it before each visible change.
    """

    unit: str
    settings: Mapping[str, Any]
    folder: Path
    results: Results = field(default_factory=dict)
    raw: RawScene | None = None
    human_input: HumanInput | None = None
    models: tuple[Ask, ...] = ()
    whole_config: BuildConfig | None = None
    code: str = ""
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
