"""Videos of a build as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.film.video import Encoded
from pipeline.film.written import write_media


def write_video(folder: Path, name: str, video: Encoded) -> dict[str, Any]:
    """Writes a video below a folder; its number of frames, size and digest, for a stage's result."""
    return {"frames": video.frames} | write_media(folder, name, video.raw)
