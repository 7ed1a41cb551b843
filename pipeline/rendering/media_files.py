"""Videos and pictures of a build as files: what is told of one that was written, and whether it is still there."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.core.files import write_atomically


def write_media(folder: Path, name: str, raw: bytes, *, sync: bool = True) -> dict[str, Any]:
    """Writes a file below a folder (``sync`` as of `write_atomically`); its size and digest, for a stage's result."""
    write_atomically(folder / name, raw, sync=sync)
    return {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}


def drop_others(folder: Path, kept: Iterable[Path], pattern: str = "*.*") -> None:
    """Deletes the files of a folder that are not kept."""
    for path in {*folder.glob(pattern)} - {*kept}:
        path.unlink()


def is_there(path: Path, facts: Mapping[str, Any]) -> bool:
    """Whether a file has the size that it had: hashing hundreds would outlast the rest of an unchanged build."""
    try:
        return os.stat(path).st_size == facts["bytes"]  # noqa: PTH116 # of thousands: a Path's own takes twice as long
    except (FileNotFoundError, NotADirectoryError):
        return False
