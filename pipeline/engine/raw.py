"""What a build is given of one scene: its raw data, and what people said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pipeline.core.fixes import Entry
from pipeline.core.identity import digest_of
from pipeline.questions.published import Published
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader, SceneRef

FIX: Final = "fix "  # before the id of a fix, in the names of inputs
Parts = dict[str, str]  # inputs of a result by name, and their digests


@dataclass(frozen=True)
class Said:
    """What people said of one scene.

    Attributes:
        written: facts that they wrote.
        known: published questions about it.
        fixes: corrections.
    """

    written: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[Published, ...] = ()
    fixes: tuple[Entry, ...] = ()

    @property
    def parts(self) -> Parts:
        """By name, what changes with each of them."""
        written = {name: [one.model_dump() for one in values] for name, values in self.written.items()}
        parts = {f"{FIX}{entry.fix.id}": entry.digest for entry in self.fixes}
        parts |= {"what people wrote": digest_of(written)} if written else {}
        return parts | ({"published questions": digest_of([asdict(q) for q in self.known])} if self.known else {})


@dataclass(frozen=True)
class RawInput:
    """One scene of a reader's root; ``reader`` with its options."""

    reader: Reader
    root: Path
    ref: SceneRef
    said: Said = field(default_factory=Said)

    @property
    def parts(self) -> Parts:
        """By name, what changes with the scene's bytes and the file that holds them, not with where the root lies."""
        reader = digest_of([self.reader.name, self.reader.settings()])
        return {"raw data": digest_of([self.ref.files, self.ref.stamp]), f"reader {self.reader.name}": reader}

    def open(self) -> RawScene:
        """The scene's raw data, to be shared by the stages of one process that read them."""
        return RawScene(self.reader, SceneFiles(self.root, self.ref))


@dataclass(frozen=True)
class RawScene:
    """The raw data of one scene in use: its files keep what was made of them, for the next stage that needs it."""

    reader: Reader
    files: SceneFiles
