"""What a reader of raw data offers to the build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.errors import RawDataError
from pipeline.schema import Scene


@dataclass(frozen=True)
class SceneRef:
    """One scene in the raw data, cheap to make and to send to a worker.

    Attributes:
        id: "dataset/name".
        file: the file that holds it, relative to the root.
        span: first and one-past-last byte within the file.
        sha256: over the raw bytes of this scene alone, so that a change elsewhere in the file does not touch it.
    """

    id: str
    file: str
    span: tuple[int, int]
    sha256: str

    @property
    def dataset(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]


@dataclass(frozen=True)
class Listing:
    """The scenes of a root, sorted by id, and what could not even be listed."""

    scenes: tuple[SceneRef, ...]
    broken: tuple[RawDataError, ...]


class Reader(Protocol):
    """Reads one raw format."""

    name: str
    version: int

    def scenes(self, root: Path) -> Listing:
        """All scenes below ``root``. Raises ConfigError if the folder is missing or holds nothing of this format."""
        ...

    def read(self, root: Path, ref: SceneRef) -> Scene:
        """One scene. Raises RawDataError, which names file, scene, finding and remedy, if it cannot be used."""
        ...
