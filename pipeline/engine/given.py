"""What a stage is given for one unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.core.parquet import read_table
from pipeline.engine.store import Result, Store

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.engine.config import BuildConfig
    from pipeline.engine.raw import RawScene, Said
    from pipeline.llm.base import Reply, Request

STORE: Final = "store"  # folder of a build
REPLIES_FILE: Final = "replies.sqlite"  # what models answered, beside the store: it outlives a change of anything else

Ask = Callable[["Request"], "Reply"]
Progress = Callable[[str, int, int], None]  # what is counted, how many are done, how many there are
Results = Mapping[str, tuple[tuple[str, Result], ...]]  # stage -> units, in order, and their results


def unfenced() -> None:
    """Nobody else may be building in the folder."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Given:
    """All that a stage may look at.

    Attributes:
        unit: "dataset/name" of the scene, or the name of the whole build's unit.
        settings: what its `Stage.settings` gave; of the configuration its result depends on nothing else.
        folder: of the build.
        results: of the stages that it takes: for a scene those of this scene, for the build those of all scenes.
        raw: the scene's raw data, for a stage that reads them.
        heard: what people said of the scene, for a stage that hears it.
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
    heard: Said | None = None
    asks: tuple[Ask, ...] = ()
    whole_config: BuildConfig | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = silent
    fence: Callable[[], None] = unfenced

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
    def said(self) -> Said:
        """What people said of the scene, for a stage that hears it."""
        if self.heard is None:
            raise ValueError("this stage takes what was said of a scene")
        return self.heard

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
