"""The commands `scan2qa videos` and `scan2qa frames`: `make`, `write` and `verify`.

Videos of a release are made from raw data, and checked; so are the frames that its answers are about.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from flows.cli.output.console import console, print_json
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_listing
from flows.cli.score import scorable
from flows.orchestration.folders import configuration
from flows.orchestration.processes import Pool, stoppable
from flows.orchestration.roots import roots_of
from pipeline.core.errors import ConfigError
from pipeline.core.files import sha256_of_file, write_atomically
from pipeline.core.groups import first_named
from pipeline.core.parquet import read_files
from pipeline.core.tables import (
    SAMPLED,
    TWIN,
    VIDEOS_TABLE,
    ReleaseListing,
    check_files,
    check_version,
    is_below,
    sums_of,
)
from pipeline.core.video_spec import VIDEOS, video_file
from pipeline.engine.config import load_config
from pipeline.engine.inputs import InputListing, list_inputs
from pipeline.engine.job import Job, JobResult
from pipeline.engine.manifest import Manifest, Outcome
from pipeline.engine.plan import Planner
from pipeline.engine.run import Runner, at_once, groups_of
from pipeline.formats.videos import VideoError
from pipeline.release.media import VIDEO_FOLDER, link_or_copy
from pipeline.rendering.clip import clip
from pipeline.rendering.sampled import FrameCheck, check_videos, video_identity, write_sampled
from pipeline.stages.registry import STAGES

Rows = Sequence[Mapping[str, Any]]
_SAME: Final = "is the same file"
_SHOWS_SAME: Final = "is another file with the same pictures"
_GOOD: Final = (_SAME, _SHOWS_SAME)
_FILMED: Final = ("unify", "fix", "video")
_DRAWN: Final = (*_FILMED, "observe", "bev_video")


def make_videos(
    name: str, release: Path, roots: Sequence[str], settings: Sequence[str], out: Path | None, workers: int
) -> bool:
    """Makes the videos of a release that are not there yet, as a build makes them, and checks all of them.

    Args:
        name: of the benchmark.
        release: which names the videos; its build need not be there.
        roots: ``reader=folder`` of the raw data.
        settings: ``key=value`` of the build, where it had any that change what a reader reads.
        out: folder of the videos; None: where `ask` and the harnesses look for them.
        workers: processes.

    Returns False where one is missing or shows something else.
    """
    scorable(name)
    rows = released_rows(release, VIDEOS_TABLE)
    folder = out or release.parent / VIDEOS
    odd = next((row["file"] for row in rows if row["file"] != _file_of(row) or not is_below(row["file"])), None)
    if odd is not None:  # nothing is written that a file of somebody else names
        raise ConfigError(f"{release}: {odd} in {VIDEOS_TABLE}/ is not named as a video of its scene")
    config = load_config(configuration(name), settings).model_copy(update={"roots": roots_of(roots)})
    for row in rows:
        own, path = release / VIDEO_FOLDER / row["file"], folder / row["file"]
        if own.is_file() and not path.exists():
            link_or_copy(own, path)
    due = [row for row in rows if _compare_file(folder, row) not in _GOOD]
    listing = list_inputs(config) if due else InputListing({}, [])
    scenes = {row["scene"] for row in due}
    inputs = {unit: raw for unit, raw in listing.inputs.items() if unit in scenes}
    fps = {row["scene"]: row["fps"] for row in rows if row["fps"] is not None}
    why = dict.fromkeys(scenes - set(inputs), "no root has its scene") | {u: str(e) for u, e in listing.broken}
    wanted = _DRAWN if config.of_benchmark().video.drawn else _FILMED
    stages = {stage: STAGES[stage] for stage in STAGES if stage in wanted}
    folder.mkdir(parents=True, exist_ok=True)
    with (
        stoppable(),
        TemporaryDirectory(prefix=".making_", dir=folder) as within,
        progress_shown() as progress,
        Pool(workers) as pool,
    ):
        made = Path(within)
        outcome = Outcome(Manifest(len(inputs), made))

        def execute(label: str, batches: list[list[Job]]) -> Iterator[JobResult]:
            for done in pool.execute(label, batches):
                if done.unit in fps and not done.quarantine:
                    own = [row for row in due if row["scene"] == done.unit]
                    why.update(_place(made, folder, done.unit, fps[done.unit], own))
                yield done

        planner = Planner(stages, config, made, inputs, Manifest())
        runner = Runner(config, made, inputs, planner, execute, at_once, progress, {}, outcome)
        for group in groups_of(stages.values(), config):
            runner.run(group)
    why |= {row.unit: f"{row.message}; {row.remedy}" for row in outcome.quarantine}
    return _print_differences(folder, rows, why)


def _place(made: Path, folder: Path, scene: str, fps: int, due: Rows) -> dict[str, str]:
    """Puts the video of a scene into its folder, and the parts of it; why not, by scene."""
    whole = made / VIDEOS / video_file(scene)
    if not whole.is_file():
        return {scene: "its raw data have no film, and none is drawn of them"}
    try:
        for row in due:
            if row.get("until_s") is not None:
                write_atomically(folder / row["file"], clip(whole, row["until_s"], fps, row["from_s"]).raw)
    except ValueError as error:  # it is another video
        return {scene: str(error)}
    target = folder / video_file(scene)
    target.parent.mkdir(parents=True, exist_ok=True)
    whole.replace(target)
    return {}


def verify_videos(videos: Path, release: Path | None) -> bool:
    """Says which videos of a folder are not those of a release; False where any is missing or shows something else."""
    return _print_differences(videos, _rows_beside(videos, release, VIDEOS_TABLE), {})


def _print_differences(videos: Path, rows: Rows, why: Mapping[str, str]) -> bool:
    """Prints which videos are not those of the release, and ``why`` a scene's are missing; True where all are."""
    found = [(row["file"], _compare_file(videos, row)) for row in rows]
    wrong = [
        (file, f"{finding}: {why[row['scene']]}" if row["scene"] in why else finding)
        for row, (file, finding) in zip(rows, found, strict=True)
        if finding not in _GOOD
    ]
    if wrong:
        print_listing(ReleaseListing(f"Videos of {videos}", ("video", "finding"), wrong, sentences=("finding",)))
    anew = sum(finding == _SHOWS_SAME for _, finding in found)
    other = f"; {anew} of them in other files of the same pictures" if anew else ""
    console.print(f"{len(rows) - len(wrong)} of {len(rows)} videos are those of the release{other}")
    print_json({"videos": [{"file": file, "finding": finding} for file, finding in found], "same": not wrong})
    return not wrong


def _compare_file(videos: Path, row: Mapping[str, Any]) -> str:
    path = videos / row["file"]
    if not path.resolve().is_relative_to(videos.resolve()) or not path.is_file():
        return "is missing"
    if sha256_of_file(path) == row["sha256"]:
        return _SAME
    if row["frames_sha256"] is None:
        return "is another file than that part of the video"
    try:
        seen = video_identity(path, row["frames"])
    except VideoError as error:
        return str(error)
    return _SHOWS_SAME if seen["frames_sha256"] == row["frames_sha256"] else "shows other pictures"


def _file_of(row: Mapping[str, Any]) -> str:
    """Where a build puts it."""
    return video_file(row["scene"], row.get("until_s"), row.get("from_s"))


NAMED = 5  # frames of a video


def verify(videos: Path, release: Path | None) -> bool:
    """Says which videos of a folder have other frames than a release; False where any has."""
    rows = _rows_beside(videos, release, SAMPLED)
    return _show_frames(check_videos(videos, rows), rows, f"Frames of {videos}")


def write(videos: Path, release: Path | None, out: Path | None, *, twins: bool) -> bool:
    """Writes the frames of each budget, and of twins, as videos; False where a video has other frames."""
    rows, folder = _rows_beside(videos, release, SAMPLED), out or videos
    asked = _rows_beside(videos, release, TWIN) if twins else []
    own = [
        {"id": row["id"], "scene": f"{row['dataset']}/{row.get('scene_name') or row['scene_id']}"}
        | {"frames": row["frames"]}
        for row in asked
    ]
    return _show_frames(write_sampled(videos, folder, rows, own), rows, f"Frames in {folder}")


def _rows_beside(videos: Path, release: Path | None, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a release, which lies beside its videos where no other is named. Raises ConfigError."""
    if not videos.is_dir():
        raise ConfigError(f"{videos}: is no folder; give the one with the videos, such as outputs/BUILD/videos")
    beside = videos.absolute().parent / "release"
    if release is None and not beside.is_dir():
        raise ConfigError(f"{videos}: no folder release beside it; give the release with --release")
    return released_rows(release or beside, table)


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


def _show_frames(found: Iterable[FrameCheck], rows: list[dict[str, Any]], title: str) -> bool:
    """Prints what differs; True where nothing does."""
    scenes, checked = len({row["scene"] for row in rows}), []
    with progress_shown() as progress:
        for one in found:
            checked.append(one)
            progress("videos", len({c.video.rpartition("_frame/")[2] for c in checked}), scenes)
    wrong = [one for one in checked if not one.is_same]
    if wrong:
        cells = [
            (one.video, str(one.same), one.problem or f"differ: {first_named(one.differ, NAMED)}") for one in wrong
        ]
        print_listing(ReleaseListing(title, ("video", "same", "finding"), cells, sentences=("finding",)))
    same = sum(one.same for one in checked)
    console.print(f"{len(checked) - len(wrong)} of {len(checked)} videos have the frames of the release ({same:,})")
    print_json({"videos": [one._asdict() for one in checked], "same": not wrong})
    return not wrong
