"""What a build is given of one scene: its raw data, and what people said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pipeline.core.errors import RawDataError
from pipeline.core.fixes import Entry
from pipeline.core.identity import digest_of
from pipeline.core.mirrors import Mirror
from pipeline.questions.published import Published
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader, SceneRef

FIX: Final = "fix "  # before the id of a fix, in the names of inputs
_AGAIN: Final[dict[tuple[Path, str], dict[str, SceneRef]]] = {}  # of this process: roots listed anew, by reader
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
    """One scene of a reader's root; ``reader`` with its options, ``mirror`` of a root that lies elsewhere."""

    reader: Reader
    root: Path
    ref: SceneRef
    said: Said = field(default_factory=Said)
    mirror: Mirror | None = None

    @property
    def parts(self) -> Parts:
        """By name, what changes with the scene's bytes and the file that holds them, not with where the root lies."""
        reader = digest_of([self.reader.name, self.reader.settings()])
        return {"raw data": digest_of([self.ref.files, self.ref.stamp]), f"reader {self.reader.name}": reader}

    def open(self) -> RawScene:
        """The scene's raw data, to be shared by the stages of one process that read them."""
        return RawScene(self.reader, SceneFiles(self.mirror.root if self.mirror else self.root, self.ref))

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
