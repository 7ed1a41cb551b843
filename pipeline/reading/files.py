"""The scenes of a root, and the files of one: read whole, in one place, remembered and digested."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file
from pipeline.core.findings import Findings
from pipeline.core.schema import AnyScene, Facts, Source, Video
from pipeline.formats.json_scenes import whole_number

T = TypeVar("T")
S = TypeVar("S", bound=AnyScene)


@dataclass(frozen=True)
class SceneRef:
    """One scene in the raw data, cheap to make and to send to a worker.

    Attributes:
        id: "dataset/name".
        files: the files that hold it, relative to the root; the first names the scene in messages.
        stamp: changes whenever the scene's raw data may have changed: a digest of its bytes, or where those are too
            many to read each time, of names, sizes and modification times.
        span: first and one-past-last byte, for scenes that share a file.
        compared_with: other scenes of the root with which it is compared; ``stamp`` changes with theirs.
    """

    id: str
    files: tuple[str, ...]
    stamp: str
    span: tuple[int, int] | None = None
    compared_with: tuple[SceneRef, ...] = ()

    @property
    def dataset(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]


@dataclass(frozen=True)
class Listing:
    """The scenes of a root, sorted by id, and what could not even be listed."""

    scenes: tuple[SceneRef, ...]
    broken: tuple[RawDataError, ...]


class Versioned(Protocol):
    """A reader, as the source of a scene names it."""

    name: str
    version: int


class SceneFiles:
    """Reads the files of one scene and keeps their names and digests for its `Source`.

    Args:
        root: the reader's root.
        ref: the scene; its first file is its folder.
    """

    def __init__(self, root: Path, ref: SceneRef) -> None:
        self.root = root
        self.ref = ref
        self.scene = ref.id
        self.dataset = ref.dataset
        self.name = ref.id.partition("/")[2]
        self.path = root / ref.files[0]
        self._digests: dict[str, str] = {}
        self._made: dict[str, tuple[Any, Findings]] = {}

    def once(self, name: str, make: Callable[[Findings], T], findings: Findings) -> T:
        """The value that ``make`` returned for this name on its first call; its findings are added on every call.

        So what several stages need of a scene's raw data is read once, and kept as long as these files are in use.
        """
        if name not in self._made:
            found = Findings()
            self._made[name] = (make(found), found)
        made, found = self._made[name]
        findings.add(*found.items)
        return made

    def fault(self, path: Path, finding: str, message: str, remedy: str) -> RawDataError:
        """The error to raise where a file makes the scene unusable."""
        return RawDataError(path, finding, message, remedy, self.scene)

    def relative(self, path: Path) -> str:
        """The path below the root, as it stands in `Source` and `Video`."""
        return Path(os.path.relpath(path, self.root)).as_posix()  # what lies beside the root begins with ".."

    def raw(self, path: Path, remedy: str = "fetch the file again") -> bytes:
        """A whole file. Raises RawDataError where it is missing, empty, too large or unreadable."""
        try:
            raw = read_file(path)
        except FileNotFoundError as error:
            raise self.fault(path, "missing_file", "there is no such file", remedy) from error
        except OSError as error:
            if error.errno == errno.EFBIG:
                message, remedy = str(error.strerror), "is this the right file?"
                raise self.fault(path, "file_too_large", message, remedy) from error
            raise self.fault(path, "unreadable_file", str(error.strerror), "make the file readable") from error
        if not raw:
            raise self.fault(path, "empty_file", "the file is empty", remedy)
        self.add(self.relative(path), raw)
        return raw

    def text(self, path: Path, remedy: str = "fetch the file again") -> str:
        """A whole file as UTF-8 text."""
        raw = self.raw(path, remedy)
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"byte {error.start} is not UTF-8"
            raise self.fault(path, "not_utf8", message, "save it as UTF-8; if it is no text, fetch it again") from error

    def json(self, path: Path, remedy: str = "fetch the file again") -> dict[str, Any]:
        """A whole file as a JSON object."""
        value = self.json_value(path, remedy)
        if not isinstance(value, dict):
            raise self.fault(path, "not_an_object", f"the JSON is {type(value).__name__}, not an object", remedy)
        return value

    def json_value(self, path: Path, remedy: str = "fetch the file again") -> Any:
        """A whole file as JSON of any kind."""
        text = self.text(path, remedy)
        findings = Findings()
        try:
            value = json.loads(text, object_pairs_hook=findings.unique_keys, parse_int=whole_number)
        except json.JSONDecodeError as error:
            cut = error.pos >= len(text.rstrip()) or not text.rstrip().endswith(("}", "]"))
            message = f"{error.msg} at line {error.lineno}, column {error.colno}"
            raise self.fault(path, "truncated_json" if cut else "bad_json", message, remedy) from error
        except RecursionError as error:
            raise self.fault(path, "too_deep", "the JSON is nested too deeply", remedy) from error
        self.raise_faults(path, findings)
        return value

    def raise_faults(self, path: Path, findings: Findings) -> None:
        """All faults among the findings as one error, which names the file they come from."""
        if findings.faults:
            first, *others = {(f.name, f.message): f for f in findings.faults}.values()  # of several boxes one label
            more = "".join(f"; also {f.name}: {f.message}" for f in others)
            raise self.fault(path, first.name, first.message + more, first.remedy)

    def add(self, name: str, raw: bytes) -> None:
        """Remembers bytes that went into the scene under a name."""
        self._digests[name] = hashlib.sha256(raw).hexdigest()

    def source(self, reader: str, version: int, box_method: str) -> Source:
        """The provenance of the scene: the files that were read."""
        names = sorted(self._digests)
        total = hashlib.sha256("".join(f"{name}\0{self._digests[name]}\n" for name in names).encode())
        return Source(
            reader=reader,
            reader_version=version,
            files=tuple(names),
            sha256=total.hexdigest(),
            box_method=box_method,
        )

    def scene_of(
        self,
        kind: type[S],
        reader: Versioned,
        box_method: str,
        facts: Facts,
        findings: Findings,
        video: Video | None = None,
    ) -> S:
        """The scene that a reader made of these files: its facts, its video and what was found on the way."""
        return kind(
            id=self.scene,
            dataset=self.dataset,
            name=self.name,
            source=self.source(reader.name, reader.version, box_method),
            video=video,
            facts=facts,
            findings=tuple(findings.items),
        )
