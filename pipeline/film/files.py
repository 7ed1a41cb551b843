"""Videos of a build as files: what is told of one that was written, and whether it is still there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.files import write_atomically
from pipeline.film.video import Encoded


def write_video(folder: Path, name: str, video: Encoded) -> dict[str, Any]:
    """Writes a video below a folder; its number of frames, size and digest, for a stage's result."""
    write_atomically(folder / name, video.raw)
    return {"frames": video.frames, "bytes": len(video.raw), "sha256": hashlib.sha256(video.raw).hexdigest()}


def is_there(path: Path, facts: Mapping[str, Any]) -> bool:
    """Whether a video has the size that it had: hashing hundreds would outlast the rest of an unchanged build."""
    return path.exists() and path.stat().st_size == facts["bytes"]
