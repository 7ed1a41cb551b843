"""What a stage is: one record, for a step per scene as for a step over the whole build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.engine.given import Given
    from pipeline.llm.base import ModelSpec
    from pipeline.reading.reader import Reader
    from pipeline.release.writer import Released


def no_settings(config: BuildConfig) -> dict[str, Any]:
    """The settings of a stage that depends on no part of the configuration."""
    return {}


def always(config: BuildConfig) -> bool:
    """Whether a stage runs that no configuration switches off: it does."""
    return True


def nobody(config: BuildConfig) -> tuple[ModelSpec, ...]:
    """The models that a stage asks which asks none."""
    return ()


def nothing_else(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The further modules of a stage whose own imports are all the code that it runs: none."""
    return ()


def nothing_beside(folder: Path) -> dict[str, str]:
    """What a stage reads in the build's folder besides results that reads nothing there."""
    return {}


def whole(result: bytes, folder: Path) -> bool:
    """Whether a stage's result is whole that is all the stage writes: it is."""
    return True


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
    run: Callable[[Given], bytes]
    unit: Literal["scene", "build"] = "scene"
    takes: tuple[str, ...] = ()
    may_take: tuple[str, ...] = ()
    reads_raw: bool = False
    hears: bool = False
    settings: Callable[[BuildConfig], dict[str, Any]] = no_settings
    uses: Callable[[BuildConfig, Reader | None], tuple[str, ...]] = nothing_else
    is_wanted: Callable[[BuildConfig], bool] = always
    passes_on: str | None = None
    beside: Callable[[Path], dict[str, str]] = nothing_beside
    is_whole: Callable[[bytes, Path], bool] = whole
    asks: Callable[[BuildConfig], tuple[ModelSpec, ...]] = nobody
    folders: tuple[str, ...] = ()
    summary: Callable[[bytes], Released] | None = None

    @property
    def needs_roots(self) -> bool:
        """Whether it looks at what is given of a scene, beyond the results of other stages."""
        return self.reads_raw or self.hears
