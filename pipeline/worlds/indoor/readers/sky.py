"""Which way ARKitScenes' videos are to be turned: ``sky_direction`` of ``metadata.csv``, held against the poses."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError
from pipeline.core.files import read_file
from pipeline.core.findings import Findings, note
from pipeline.geometry.scans import Frames
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.readers.arkit_film import dataset_folders
from pipeline.worlds.indoor.readers.poses import Turn, upright_turn

METADATA: Final = ("metadata.csv", "3dod/metadata.csv", "raw/metadata.csv")
# Clockwise turn that brings the sky to the top, by where it is in the stored pictures.
TURN_OF_SKY: Final[dict[str, Turn]] = {"Up": 0, "Left": 90, "Down": 180, "Right": 270}
TURN_SHARE_MIN: Final = 0.8  # share of the frames that must agree before the poses overrule the metadata


def video_turn(files: SceneFiles, frames: Frames | None, findings: Findings) -> Turn:
    """How to turn the video upright: as ``metadata.csv`` says, unless the poses clearly say otherwise."""
    row = metadata_row(files.root, files.name)
    if row:
        files.add("metadata.csv", row_bytes(files.root, files.name))
    sky = row.get("sky_direction")
    stated = TURN_OF_SKY.get(sky or "")
    measured = upright_turn(frames.world_T_camera) if frames is not None else None
    if stated is None:
        used: Turn = measured[0] if measured else 0
        known = f"sky_direction is {sky!r}" if sky else "metadata.csv does not name this video"
        message = f"{known}; a turn of {used} degrees is taken{' from the poses' if measured else ''}"
        remedy = "give as root the folder that holds metadata.csv, with Up, Left, Down or Right for this video"
        findings.add(note("no_sky_direction", "video", message, remedy))
        return used
    if measured and measured[0] != stated:
        sure = measured[1] >= TURN_SHARE_MIN
        used = measured[0] if sure else stated
        message = (
            f"sky_direction {sky} means a turn of {stated} degrees, but {measured[1]:.0%} of the frames are upright "
        )
        message += f"after {measured[0]} degrees; {used} are taken"
        remedy = "look at the video and correct metadata.csv"
        findings.add(note("sky_direction_differs", "video", message, remedy, measured[0], stated, "deg"))
        return used
    return stated


def metadata_row(root: Path, name: str) -> dict[str, str]:
    """The video's row of ``metadata.csv`` below the root; empty where there is none."""
    for path in (top / place for top in dataset_folders(root.absolute()) for place in METADATA):
        try:
            stat = path.stat()
        except OSError:
            continue
        row = _rows(path, stat.st_mtime_ns, stat.st_size).get(name)
        if row is not None:
            return row
    return {}


def row_bytes(root: Path, name: str) -> bytes:
    """The video's row as bytes, for digests."""
    return repr(sorted(metadata_row(root, name).items())).encode()


@lru_cache(maxsize=4)
def _rows(path: Path, mtime_ns: int, size: int) -> dict[str, dict[str, str]]:
    """All rows by video; the file's time and size stand for its content."""
    try:
        text = read_file(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    try:
        rows = list(csv.DictReader(text.splitlines()))
    except csv.Error as error:
        raise ConfigError(f"{path}: cannot be read as CSV: {error}") from error
    return {row["video_id"]: {k: v for k, v in row.items() if k and v} for row in rows if row.get("video_id")}
