"""The raw data of one scene: where they lie, and opened for the stages that read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.core.identity import digest_of
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader, SceneRef
from pipeline.worlds.indoor.facts import Route


@dataclass(frozen=True)
class RawInput:
    """One scene of a reader's root. The reader has its options."""

    reader: Reader
    root: Path
    ref: SceneRef
    routes: tuple[Route, ...] = ()

    @property
    def digest(self) -> str:
        """Changes with the scene's bytes and with the file that holds them, not with where the root lies."""
        routes = [route.model_dump() for route in self.routes]
        return digest_of([self.reader.name, self.reader.settings(), self.ref.files, self.ref.stamp, routes])

    def open(self) -> RawScene:
        """For the stages that read them, in one process."""
        return RawScene(self.reader, SceneFiles(self.root, self.ref), self.routes)


@dataclass(frozen=True)
class RawScene:
    """The raw data of one scene in use: its files keep what was made of them, for the next stage that needs it."""

    reader: Reader
    files: SceneFiles
    routes: tuple[Route, ...]
