"""The commands `scan2qa frames verify` and `frames write`: the frames that a release's answers are about."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flows.cli.output.console import console, print_json
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_listing
from pipeline.core.errors import ConfigError
from pipeline.core.parquet import read_files
from pipeline.core.tables import SAMPLED, TWIN, ReleaseListing, check_files, check_version, sums_of
from pipeline.rendering.sampled import FrameCheck, check_videos, write_sampled

NAMED = 5  # frames of a video


def verify(videos: Path, release: Path | None) -> bool:
    """Says which videos of a folder have other frames than a release; False where any has."""
    rows = _frames_of(videos, release)
    return _show(check_videos(videos, rows), rows, f"Frames of {videos}")


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
    return released_rows(release or videos.absolute().parent / "release", table)


def released_rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a release. Raises ConfigError where it has none, or it is not as it was released."""
    sums = sums_of(folder)
    files = sorted(file for file in sums if file.startswith(f"{table}/"))
    if not files:
        raise ConfigError(f"{folder}: has no {table}/: build it with its videos, from films")
    check_files(folder, sums, files)
    for file in files:
        check_version(folder / file)
    rows: list[dict[str, Any]] = read_files([folder / file for file in files]).to_pylist()
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
