"""What lies in a data folder, and what each missing file costs, without reading any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import RawDataError
from pipeline.reading.reader import Reader
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
    folders = {ref.id: root / ref.files[0] for ref in listing.scenes}
    missing = {
        want: tuple(scene for scene, folder in folders.items() if not _there(folder, want.patterns))
        for want in reader.wants
    }
    return Inspection(tuple(folders), listing.broken, missing)


def _there(folder: Path, patterns: Sequence[str]) -> bool:
    return any(next(folder.glob(pattern.format(folder.name)), None) is not None for pattern in patterns)
