"""What lies in a data folder, and what each missing file costs, without reading any of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import RawDataError
from pipeline.reading.reader import Reader, SceneRef
from pipeline.reading.wants import Want


@dataclass(frozen=True)
class Inspection:
    """What was found below one root.

    Attributes:
        scenes: ids of all scenes that would be read.
        broken: what could not even be listed.
        missing: part -> ids of the scenes that lack it, in the order of `Reader.wants`.
    """

    scenes: tuple[str, ...]
    broken: tuple[RawDataError, ...]
    missing: dict[Want, tuple[str, ...]]


def inspect(reader: Reader, root: Path) -> Inspection:
    """Looks for every wanted file of every scene. Raises ConfigError as `Reader.scenes` does."""
    listing = reader.scenes(root)
    missing = {want: tuple(ref.id for ref in listing.scenes if not _there(root, ref, want)) for want in reader.wants}
    return Inspection(tuple(ref.id for ref in listing.scenes), listing.broken, missing)


def _there(root: Path, ref: SceneRef, want: Want) -> bool:
    folder, own = root / ref.files[0], ref.files[1:]
    if own and want.recorded:
        return any(name.lower().endswith(want.recorded) for name in own)
    return any(next(folder.glob(pattern.format(folder.name)), None) is not None for pattern in want.patterns)
