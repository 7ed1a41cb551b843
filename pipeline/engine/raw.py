"""The raw data of one scene: where they lie, and opened for the stages that read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core.identity import digest_of
from pipeline.questions.published import Published
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader, SceneRef


@dataclass(frozen=True)
class RawInput:
    """One scene of a reader's root.

    Attributes:
        reader: with its options.
        written: facts that people wrote.
        known: published questions about it.
    """

    reader: Reader
    root: Path
    ref: SceneRef
    written: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[Published, ...] = ()

    @property
    def digest(self) -> str:
        """Changes with the scene's bytes and with the file that holds them, not with where the root lies."""
        facts = {name: [one.model_dump() for one in values] for name, values in self.written.items()}
        known = [asdict(question) for question in self.known]
        return digest_of([self.reader.name, self.reader.settings(), self.ref.files, self.ref.stamp, facts, known])

    def open(self) -> RawScene:
        """The scene's raw data, to be shared by the stages of one process that read them."""
        return RawScene(self.reader, SceneFiles(self.root, self.ref), self.written, self.known)


@dataclass(frozen=True)
class RawScene:
    """The raw data of one scene in use: its files keep what was made of them, for the next stage that needs it."""

    reader: Reader
    files: SceneFiles
    written: Mapping[str, Any]
    known: tuple[Published, ...]
