"""The commands `scan2qa frames verify` and `frames write`: the frames that a release's answers are about."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from flows.cli.output.console import console, print_json
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_listing
from pipeline.core.errors import ConfigError
from pipeline.core.files import sha256_of_file
from pipeline.core.tables import SAMPLED, TWIN, VIDEOS_TABLE, ReleaseListing, check_files, check_version, sums_of
from pipeline.formats.videos import VideoError
from pipeline.rendering.sampled import FrameCheck, check_videos, video_identity, write_sampled

NAMED = 5  # frames of a video
_SAME = "is the same file"
_SHOWS_SAME = "is another file with the same pictures"


def verify(videos: Path, release: Path | None) -> bool:
    """Says which videos of a folder have other frames than a release; False where any has."""
    rows = _frames_of(videos, release)
    return _show(check_videos(videos, rows), rows, f"Frames of {videos}")


def verify_videos(videos: Path, release: Path | None) -> bool:
    """Says which videos of a folder are not those of a release; False where any is missing or shows something else."""
    rows = _frames_of(videos, release, VIDEOS_TABLE)
    found = [(row["file"], _found(videos, row)) for row in rows]
    wrong = [cells for cells in found if cells[1] not in {_SAME, _SHOWS_SAME}]
    if wrong:
        print_listing(ReleaseListing(f"Videos of {videos}", ("video", "finding"), wrong, sentences=("finding",)))
    anew = sum(finding == _SHOWS_SAME for _, finding in found)
    console.print(f"{len(rows) - len(wrong)} of {len(rows)} videos are those of the release ({anew} in another file)")
    print_json({"videos": [{"file": file, "finding": finding} for file, finding in found], "same": not wrong})
    return not wrong


def _found(videos: Path, row: dict[str, Any]) -> str:
    path = videos / row["file"]
    if not path.resolve().is_relative_to(videos.resolve()) or not path.is_file():
        return "is missing"
    if sha256_of_file(path) == row["sha256"]:
        return _SAME
    try:
        seen = video_identity(path, row["frames"])
    except VideoError as error:
        return str(error)
    return _SHOWS_SAME if seen["frames_sha256"] == row["frames_sha256"] else "shows other pictures"


def write(videos: Path, release: Path | None, out: Path | None, *, twins: bool) -> bool:
    """Writes the frames of each budget, and of twins, as videos; False where a video has other frames."""
    rows, folder = _frames_of(videos, release), out or videos
    asked = _frames_of(videos, release, TWIN) if twins else []
    own = [
        {"id": row["id"], "scene": f"{row['dataset']}/{row.get('scene_name') or row['scene_id']}"}
        | {"frames": row["frames"]}
        for row in asked
    ]
    return _show(write_sampled(videos, folder, rows, own), rows, f"Frames in {folder}")


def _frames_of(videos: Path, release: Path | None, table: str = SAMPLED) -> list[dict[str, Any]]:
    if not videos.is_dir():
        raise ConfigError(f"{videos}: is no folder; give the one with the videos, such as outputs/BUILD/videos")
    folder = release or videos.absolute().parent / "release"
    sums = sums_of(folder)
    files = [file for file in sums if file.startswith(f"{table}/")]
    if not files:
        raise ConfigError(f"{folder}: has no {table}/: build it with its videos, from films")
    check_files(folder, sums, files)
    check_version(folder / files[0])
    rows: list[dict[str, Any]] = pq.read_table(folder / files[0]).to_pylist()
    return rows


def _show(found: Iterable[FrameCheck], rows: list[dict[str, Any]], title: str) -> bool:
    """Prints what differs; True where nothing does."""
    scenes, checked = len({row["scene"] for row in rows}), []
    with progress_shown() as progress:
        for one in found:
            checked.append(one)
            progress("videos", len({c.video.rpartition("_frame/")[2] for c in checked}), scenes)
    wrong = [one for one in checked if not one.is_same]
    if wrong:
        cells = [(one.video, str(one.same), one.problem or f"differ: {_named(one.differ)}") for one in wrong]
        print_listing(ReleaseListing(title, ("video", "same", "finding"), cells, sentences=("finding",)))
    same = sum(one.same for one in checked)
    console.print(f"{len(checked) - len(wrong)} of {len(checked)} videos have the frames of the release ({same:,})")
    print_json({"videos": [one._asdict() for one in checked], "same": not wrong})
    return not wrong


def _named(numbers: tuple[int, ...]) -> str:
    more = len(numbers) - NAMED
    return ", ".join(map(str, numbers[:NAMED])) + (f", … {more} more" if more > 0 else "")
