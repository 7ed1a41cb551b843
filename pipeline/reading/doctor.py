"""Inspects data folders: their contents, the cost of each missing file, and findings that are quick to read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.budget import WorkerLimits
from pipeline.core.errors import RawDataError, unexpected
from pipeline.core.schema import AnyScene, Finding
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.listing import list_within
from pipeline.reading.reader import ExpectedFile, Reader, folder_of


@dataclass(frozen=True)
class Inspection:
    """The findings below one root.

    Attributes:
        scenes: all that would be read.
        broken: what could not even be listed.
        missing: part -> ids of the scenes that lack it, in the order of `Reader.expected_files`.
    """

    scenes: tuple[SceneRef, ...]
    broken: tuple[RawDataError, ...]
    missing: dict[ExpectedFile, tuple[str, ...]]

    @property
    def lost(self) -> tuple[SceneRef, ...]:
        """The scenes that lack a part without which they are left out."""
        ids = {scene for want, scenes in self.missing.items() if want.needed for scene in scenes}
        return tuple(ref for ref in self.scenes if ref.id in ids)


@dataclass(frozen=True)
class ReadSummary:
    """The result of reading scenes.

    Attributes:
        scenes: how many were read.
        broken: what costs a scene.
        findings: what costs none, each with the id of its scene.
    """

    scenes: int
    broken: tuple[RawDataError, ...]
    findings: tuple[tuple[str, Finding], ...]


def inspect(reader: Reader, root: Path) -> Inspection:
    """Looks for every wanted file of every scene. Raises ConfigError as `Reader.scenes` does."""
    listing = list_within(reader, root, WorkerLimits())
    missing = {
        want: tuple(ref.id for ref in listing.scenes if not has_part(folder_of(root), ref, want))
        for want in reader.expected_files
    }
    return Inspection(tuple(listing.scenes), listing.broken, missing)


def read_scenes(
    reader: Reader, root: Path, refs: Sequence[SceneRef], examined: Callable[[AnyScene], AnyScene]
) -> ReadSummary:
    """Reads scenes one after the other; ``examined`` puts in what their world finds unusual."""
    broken: list[RawDataError] = []
    findings: list[tuple[str, Finding]] = []
    for ref in refs:
        try:
            scene = examined(reader.read(SceneFiles(folder_of(root), ref)))
        except Exception as error:  # costs one scene, as in a build
            broken.append(unexpected(error, folder_of(root) / ref.files[0], ref.id))
        else:
            findings += [(ref.id, finding) for finding in scene.findings]
    return ReadSummary(len(refs), tuple(broken), tuple(findings))


def has_part(root: Path, ref: SceneRef, want: ExpectedFile) -> bool:
    """Whether a scene below the folder ``root`` has a part."""
    folder, own = root / ref.files[0], ref.files[1:]
    if want.present is not None:
        return want.present(folder)
    if any(name.lower().endswith(want.recorded) for name in own if want.recorded):
        return True
    return any(next(folder.glob(pattern.format(folder.name)), None) is not None for pattern in want.patterns)
