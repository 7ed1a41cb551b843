"""Folders as they come from a drone's memory card: many recordings in one, each a video and its subtitles.

``DJI_0001.MP4`` with ``DJI_0001.SRT`` is one flight, named after both; in a folder below the root the folder's name
stands before it, since a drone begins to count again in every folder. A ``flight.yaml`` in the folder is for all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

LOG_SUFFIXES: Final = (".srt",)
VIDEO_SUFFIXES: Final = (".mp4", ".mov")
OWN_NAMES: Final = ("log", "video")  # stems of a folder that is a flight of its own


class Recording(NamedTuple):
    """One recording of a card; without a video where only the subtitles were copied."""

    name: str
    log: Path
    video: Path | None

    def files(self) -> tuple[Path, ...]:
        """Those that are there."""
        return (self.log,) if self.video is None else (self.log, self.video)


def recordings(folder: Path, root: Path) -> tuple[Recording, ...]:
    """The recordings in a folder, sorted by name; none in a folder that is a flight of its own."""
    there = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if any(path.stem.lower() in OWN_NAMES for path in there):
        return ()
    videos = {path.stem.lower(): path for path in reversed(there) if path.suffix.lower() in VIDEO_SUFFIXES}
    prefix = "" if folder == root else f"{folder.name}."
    return tuple(
        Recording(prefix + path.stem, path, videos.get(path.stem.lower()))
        for path in there
        if path.suffix.lower() in LOG_SUFFIXES
    )


def folders(root: Path) -> tuple[Path, ...]:
    """The root and the folders in it, where cards are looked for."""
    return (root, *sorted(Path(entry.path) for entry in os.scandir(root) if entry.is_dir()))


def of_recording(files: Sequence[str], key: str) -> str | None:
    """The log or the video among the files of a scene, relative to the root; None: the scene is no recording."""
    if not any(name.lower().endswith(LOG_SUFFIXES) for name in files[1:]):
        return None
    suffixes = LOG_SUFFIXES if key == "log" else VIDEO_SUFFIXES
    return next((name for name in files[1:] if name.lower().endswith(suffixes)), "")
