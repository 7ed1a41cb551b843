"""Reader of LeRobot datasets: version 3 has many episodes in few Parquet files and videos, version 2 one in each.

Version 3: ``meta/info.json``, ``meta/tasks.parquet``, ``meta/episodes/chunk-*/file-*.parquet``,
``data/chunk-*/file-*.parquet``, ``videos/KEY/chunk-*/file-*.mp4``; the video shows an episode from its
``from_timestamp`` on. Version 2: ``meta/info.json``, ``meta/episodes.jsonl``, ``data/chunk-*/episode_N.parquet``,
``videos/chunk-*/KEY/episode_N.mp4``; times of rows are those of the video. From people ``arm.yaml`` and
``things/episode_N.json`` (`declared.py`). Cadene et al., "LeRobot: State-of-the-art machine learning for real-world
robotics in PyTorch" (2024).
"""

import json
import os
import re
from collections.abc import Container, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError, faults_of
from pipeline.core.files import read_file
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Video
from pipeline.formats.parquet_rows import columns_of, read_rows, read_tables
from pipeline.formats.videos import VideoPictures
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.folders import RENAME, SAFE_NAME, FolderReader, check_scene_name, digest_files
from pipeline.reading.footage import Footage, movie_facts, movie_footage
from pipeline.reading.reader import NO_VIDEO, ExpectedFile
from pipeline.reading.settings import read_model
from pipeline.worlds.arm.facts import EPISODE_MAX_S, TIME_STEP_S, ArmCamera, Episode, EpisodeScene
from pipeline.worlds.arm.quality_checks import held_against_film
from pipeline.worlds.arm.readers.declared import (
    STATE,
    DeclaredFacts,
    declared_arm,
    declared_gripper,
    read_things,
    undeclared_arm,
)

TASKS: Final = "meta/tasks.parquet"
VIDEO: Final = "videos/{}/chunk-{:03d}/file-{:03d}.mp4"
# Of version 2
EPISODES_2: Final = "meta/episodes.jsonl"
DATA_2: Final = "data/chunk-{:03d}/episode_{:06d}.parquet"
VIDEO_2: Final = "videos/chunk-{:03d}/{}/episode_{:06d}.mp4"
DATA_PATHS: Final = {
    2: "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    3: "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
}
_INDEX_2: Final = re.compile(r'"episode_index"\s*:\s*(\d{1,7})\b')
TEXT_MAX: Final = 2000  # characters of an instruction
AGAIN: Final = "fetch the dataset again"
_NAME_MAX: Final = 100


def rows_of(path: Path, columns: tuple[str, ...], equal: tuple[str, int] | None) -> dict[str, list[Any]]:
    """`read_rows`, with errors that name the file."""
    with faults_of(path, AGAIN):
        return read_rows(path, columns, equal)


def parts_of(names: Any, width: int) -> list[str]:
    """Names of a feature's parts: a list, one in another, or ``{"motors": […]}``; numbers where there are none."""
    if isinstance(names, dict) and len(names) == 1:
        names = next(iter(names.values()))
    elif isinstance(names, list) and len(names) == 1 and isinstance(names[0], list):
        names = names[0]  # as datasets of version 2 may have them
    usable = isinstance(names, list) and len(names) == width and len(set(map(str, names))) == width
    return [str(name)[:_NAME_MAX] for name in names] if usable else [str(number) for number in range(width)]


def instructions(files: SceneFiles, row: dict[str, Any], numbers: FloatArray, findings: Findings) -> tuple[str, ...]:
    """Those of the episode: by the numbers of its rows in ``meta/tasks.parquet``, or as its own row names them."""
    own = row.get("tasks")
    texts = [text for text in own if isinstance(text, str) and text.strip()] if isinstance(own, list) else []
    path = files.path / TASKS
    if path.is_file():
        files.raw(path)
        with faults_of(path, AGAIN, files.scene):
            names = columns_of(path)
        words = next((name for name in ("task", "__index_level_0__") if name in names), None)
        if words is not None and "task_index" in names:
            rows = rows_of(path, ("task_index", words), None)
            table = {n: text for n, text in zip(rows["task_index"], rows[words], strict=True) if isinstance(text, str)}
            texts = [
                table[n] for n in np.unique(numbers[np.isfinite(numbers)]).astype(int).tolist() if n in table
            ] or texts
    if not texts:
        findings.add(note("no_instructions", "instructions", "no instruction is given", f"fetch {TASKS}"))
    return tuple(dict.fromkeys(" ".join(text.split())[:TEXT_MAX] for text in texts if text.strip()))


def _film(place: Path, key: str, row: dict[str, Any]) -> Path | None:
    """The video of a camera that has an episode; None where the episode's row tells none."""
    chunk, file = row.get(f"videos/{key}/chunk_index"), row.get(f"videos/{key}/file_index")
    if type(chunk) is not int or type(file) is not int:
        return None
    return place / (VIDEO_2.format(chunk, key, file) if EPISODES_2 in row else VIDEO.format(key, chunk, file))


def cameras_of(
    files: SceneFiles,
    features: dict[str, dict[str, Any]],
    row: dict[str, Any],
    times_s: FloatArray,
    findings: Findings,
) -> tuple[tuple[ArmCamera, ...], Video | None]:
    """The cameras that the dataset names, and the first one's video, of which the episode is a part.

    Its length is held against the times (N,) of the rows, two at least: each is one picture.
    """
    cameras: list[ArmCamera] = []
    video = None
    for key, feature in features.items():
        if str(feature.get("dtype")) not in {"video", "image"} or not SAFE_NAME.fullmatch(key):
            continue
        path = _film(files.path, key, row)
        there = path is not None and path.is_file()
        cameras.append(ArmCamera(name=key.removeprefix("observation.images."), pictures=there))
        if feature["dtype"] == "video" and not there:
            message = f"the video of {key} is not there"
            findings.add(note("missing_video", "video", message, "fetch the dataset's videos"))
        start, end = row.get(f"videos/{key}/from_timestamp"), row.get(f"videos/{key}/to_timestamp")
        if video is None and path is not None and there and isinstance(start, float) and isinstance(end, float):
            facts = movie_facts(files, path).as_shown(path)
            first = round(start * facts.fps) if facts.fps and start >= 0 else facts.frames
            frames = min(round((end - start) * facts.fps) if facts.fps else 0, facts.frames - first)
            if frames <= 0 or facts.fps is None:
                message = (
                    f"{key} shows the episode from {start:g} to {end:g} s of {facts.frames} pictures at {facts.fps} Hz"
                )
                findings.add(doubt("rows_missing", "video", message, AGAIN, frames, 1, "pictures"))
            else:
                lasts_s = float(times_s[-1]) * len(times_s) / (len(times_s) - 1)
                off_s, most_s = abs(frames / facts.fps - lasts_s), max(FILM_OFF_MAX_S, FILM_OFF_MAX * lasts_s)
                if off_s > most_s:
                    message = (
                        f"the rows last {lasts_s:.2f} s, and {frames} pictures of {key} {frames / facts.fps:.2f} s"
                    )
                    remedy = f"are fps in {INFO}, the rows' timestamp and the video of one rate?"
                    findings.add(doubt("film_at_other_times", "log", message, remedy, off_s, most_s, "s"))
                files.add(f"{files.relative(path)}#{start:g}-{end:g}", b"%d" % path.stat().st_size)
                video = Video(
                    path=files.relative(path), fps=facts.fps, frames=frames, width=facts.width, height=facts.height
                )
    return tuple(cameras), video


INFO: Final = "meta/info.json"
EPISODES: Final = "meta/episodes"
DATA: Final = "data/chunk-{:03d}/file-{:03d}.parquet"
DECLARED: Final = "arm.yaml"
THINGS: Final = "things/episode_{}.json"
FILM_OFF_MAX_S: Final = 0.5  # between the rows of an episode and its part of the video
FILM_OFF_MAX: Final = 0.02  # and as a share of it
_ROWS_MIN: Final = 2  # nothing moves within one
STEP_MIN_S: Final = 1e-4  # no robot is recorded as often
UNEVEN_MAX: Final = 0.1  # share of a step by which times may differ from the declared rate
EPISODES_MAX: Final = 1_000_000
ACTION: Final = "action."
CHUNK_2: Final = 1000  # episodes of a folder of version 2, as LeRobot writes them
_HANDS: Final = (("left", "right"), ("right", "left"), ("Left", "Right"), ("Right", "Left"))
_NUMBERS: Final = ("float", "int", "bool", "uint")
EXPECTED_FILES: Final = (
    ExpectedFile("info", (INFO,), "the dataset is left out", True),
    ExpectedFile("episodes", (f"{EPISODES}/*/*.parquet", EPISODES_2), "the dataset is left out", True),
    ExpectedFile("data", ("data/*/*.parquet",), "the episodes are left out", True),
    ExpectedFile("tasks", (TASKS,), "instructions are those that the episodes name, if any"),
    ExpectedFile("videos", ("videos/*/*/*.mp4",), NO_VIDEO),
    ExpectedFile(
        "columns", (DECLARED,), "units and meanings of columns are not known: hardly a question about movements"
    ),
    ExpectedFile("things", ("things/*.json",), "nothing is known of what lies beside the robot"),
)


class LeRobot(FolderReader):
    """Datasets of LeRobot, versions 2 and 3."""

    name = "lerobot"
    version = 1
    video_fps = 30
    expected_files = EXPECTED_FILES
    expected_root = "a LeRobot dataset of version 2 or 3, or a folder of them"
    expected_scenes = f"no {INFO} here. Give {expected_root}"

    def places(self, root: Path) -> Iterator[Path]:
        """See `FolderReader.places`: datasets at, or up to two folders below, the root."""
        return (path.parent.parent for top in ("", "*/", "*/*/") for path in root.glob(top + INFO))

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        """See `FolderReader.refs`: one for each episode of a dataset."""
        dataset = ".".join(place.relative_to(root).parts) or place.resolve().name
        check_scene_name(place, f"{dataset}.episode000000", RENAME)
        paths = sorted((place / EPISODES).glob("chunk-*/file-*.parquet"))
        if not paths and (place / EPISODES_2).is_file():
            yield from self._refs_2(root, place, dataset, shared)
            return
        if not paths:
            message = f"no {EPISODES}/chunk-*/file-*.parquet and no {EPISODES_2}: which episodes there are is not known"
            raise RawDataError(place / EPISODES, "missing_episodes", message, AGAIN)
        of_all = [place / INFO, place / TASKS, place / DECLARED]
        for path in paths:
            rows = rows_of(path, ("episode_index", "data/chunk_index", "data/file_index"), None)
            for index, chunk, file in zip(*rows.values(), strict=True):
                if not all(type(n) is int and 0 <= n < EPISODES_MAX for n in (index, chunk, file)):
                    message = f"an episode with the numbers {index}, {chunk}, {file}"
                    raise RawDataError(path, "wrong_columns", message, AGAIN)
                data, things = place / DATA.format(chunk, file), place / THINGS.format(f"{index:06d}")
                own = [(os.path.relpath(p, place), p.stat()) for p in (*of_all, path, data, things) if p.is_file()]
                names = tuple(p.relative_to(root).as_posix() for p in (place, data, path))
                stamp = digest_files(place, own, shared + b"%d" % index)
                yield SceneRef(f"{self.name}/{dataset}.episode{index:06d}", names, stamp)

    def _refs_2(self, root: Path, place: Path, dataset: str, shared: bytes) -> Iterator[SceneRef]:
        """One for each episode that a dataset of version 2 names."""
        path = place / EPISODES_2
        try:
            text = read_file(path).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RawDataError(path, "unreadable_file", str(error)[:200], AGAIN) from error
        there = {
            int(p.stem.removeprefix("episode_")): p
            for p in place.glob("data/chunk-*/episode_*.parquet")
            if p.stem[8:].isdecimal()
        }
        lines = [line for line in text.splitlines() if line.strip()]
        named = [found for line in lines if (found := _INDEX_2.search(line))]
        for index in dict.fromkeys(int(found[1]) for found in named):
            if index >= EPISODES_MAX:
                message = f"an episode with the number {index}"
                raise RawDataError(path, "wrong_columns", message, AGAIN)
            data = there.get(index, place / DATA_2.format(index // CHUNK_2, index))
            things = place / THINGS.format(f"{index:06d}")
            films = sorted(place.glob(f"videos/chunk-*/*/episode_{index:06d}.mp4"))
            of_all = [place / INFO, place / DECLARED, path, data, things, *films]
            own = [(os.path.relpath(p, place), p.stat()) for p in of_all if p.is_file()]
            names = tuple(p.relative_to(root).as_posix() for p in (place, data, path))
            stamp = digest_files(place, own, shared + b"%d" % index)
            yield SceneRef(f"{self.name}/{dataset}.episode{index:06d}", names, stamp)
        if len(named) < len(lines) or not lines:  # last: it costs none of the others
            message = f"{len(lines) - len(named)} of {len(lines)} lines name no episode"
            raise RawDataError(path, "missing_episodes", message, AGAIN)

    def read(self, files: SceneFiles) -> EpisodeScene:
        """See `Reader.read`."""
        findings = Findings()
        index, info = _index(files), files.json(files.path / INFO)
        features = _features(files, info)
        row = _episode_row(files, index, info)
        times_s, columns, numbers = _columns(files, index, features, row, info, findings)
        path = files.path / DECLARED
        declared = read_model(files, path, DeclaredFacts) if path.is_file() else None
        named = declared.columns() if declared else set()
        unknown = sorted(named - columns.keys())
        if unknown:
            message = f"no column is called {', '.join(unknown)}; there are {', '.join(columns)}"
            raise files.fault(path, "unknown_column", message, "name columns as FEATURE.PART")
        commanded = sorted(name for name in named if name.replace(ACTION, STATE) in columns.keys() - {name})
        if commanded:
            message = f"{', '.join(commanded)}: an action is a command to the arm, not where it was"
            findings.add(doubt("commanded_columns", "log", message, f"name columns of {STATE[:-1]} in {DECLARED}"))
        arm = undeclared_arm(columns, findings) if declared is None else declared_arm(declared, columns, findings)
        gripper = declared_gripper(declared or DeclaredFacts(), columns, findings)
        things = files.path / THINGS.format(f"{index:06d}")
        things_read = read_things(files, things, len(times_s), findings) if things.is_file() else ((), False, None)
        items, complete, success = things_read
        cameras, video = cameras_of(files, features, row, times_s, findings)
        if declared and gripper is not None and video is not None and _is_one_of_two(declared.of_gripper(), columns):
            message = "the dataset has columns of another gripper, and its film may show both"
            remedy = 'nothing is to be done: questions say "the gripper", and are left out'
            findings.add(note("two_grippers", "gripper", message, remedy))
            gripper = None
        facts = Episode(
            seconds=pack(times_s, TIME_STEP_S),
            clock="recorded",
            task=None,
            instructions=instructions(files, row, numbers, findings),
            success=success,
            arm=arm,
            gripper=gripper,
            items=items,
            items_complete=complete,
            cameras=cameras,
        )
        if video is not None and video.fps and video.frames:
            pictures, first = VideoPictures(files.root / video.path), _first(files, row, video)
            findings.add(*held_against_film(facts, video.fps, video.frames, lambda n: pictures(first + n)))
            pictures.close()
        return files.scene_of(EpisodeScene, self, "recorded", facts, findings, video)

    def footage(self, files: SceneFiles, scene: EpisodeScene) -> Footage | None:
        """See `Reader.footage`: the episode's part of the first camera's video."""
        if scene.video is None or scene.video.fps is None or scene.video.frames is None:
            return None
        row = _episode_row(files, _index(files), files.json(files.path / INFO))
        first, path, count = _first(files, row, scene.video), files.root / scene.video.path, scene.video.frames
        whole = movie_footage(files, path, scene.video.fps, movie_facts(files, path).frames)

        def frames() -> Iterator[npt.NDArray[np.uint8]]:
            return islice(whole.frames(), first, first + count)

        return Footage(scene.video.fps, frames)


def _is_one_of_two(own: Iterable[str], columns: Container[str]) -> bool:
    """Whether a gripper's columns are those of a left or a right one, and there are columns of the other one."""
    return any(name.replace(one, other) in columns for name in own for one, other in _HANDS if one in name)


def _first(files: SceneFiles, row: dict[str, Any], video: Video) -> int:
    """The number of an episode's first picture in its video."""
    key = Path(video.path).parts[-2 if EPISODES_2 in row else -3]
    return round(float(row[f"videos/{key}/from_timestamp"]) * (video.fps or 0.0))


def _index(files: SceneFiles) -> int:
    return int(files.name.rpartition(".episode")[2])


def _features(files: SceneFiles, info: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Those of the dataset, from ``meta/info.json``."""
    path, version, features = files.path / INFO, info.get("codebase_version"), info.get("features")
    laid_out = 2 if files.ref.files[2].endswith(EPISODES_2) else 3
    if not isinstance(version, str) or not re.fullmatch(rf"v?{laid_out}(\.\d+)*", version):
        message = f"the dataset is of version {str(version)[:20]}, and laid out as of version {laid_out}"
        raise files.fault(path, "other_version", message, "convert it with LeRobot's own script")
    if not isinstance(features, dict) or not all(isinstance(feature, dict) for feature in features.values()):
        raise files.fault(path, "missing_key", "it has no features", AGAIN)
    standard = DATA_PATHS[laid_out]
    if info.get("data_path", standard) != standard:
        message = f"data_path is {str(info['data_path'])[:100]!r}, not {standard!r}"
        raise files.fault(path, "other_layout", message, "lay the files out as LeRobot does")
    return features


def _episode_line(files: SceneFiles, path: Path, index: int, info: dict[str, Any]) -> dict[str, Any]:
    """The line of an episode of version 2, as the row that version 3 would have: its video is all its own."""
    found = []
    for number, line in enumerate(files.text(path).splitlines(), start=1):
        match = _INDEX_2.search(line)
        if match is None or int(match[1]) != index:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise files.fault(path, "bad_json", f"line {number}: {error}"[:200], AGAIN) from error
        if isinstance(record, dict):
            found.append(record)
    if len(found) != 1:
        message = f"episode {index} is there {len(found)} times"
        raise files.fault(path, "duplicate_episode", message, AGAIN)
    row, fps = found[0] | {EPISODES_2: True}, info.get("fps")
    chunk = re.fullmatch(r"chunk-(\d{1,6})", Path(files.ref.files[1]).parent.name)
    features = info.get("features")
    if (
        chunk
        and isinstance(features, dict)
        and isinstance(fps, int | float)
        and fps > 0
        and type(row.get("length")) is int
    ):
        for key in features:
            own = {"chunk_index": int(chunk[1]), "file_index": index, "from_timestamp": 0.0}
            own["to_timestamp"] = row["length"] / fps
            row |= {f"videos/{key}/{name}": value for name, value in own.items()}
    return row


def _episode_row(files: SceneFiles, index: int, info: dict[str, Any]) -> dict[str, Any]:
    """The row of an episode in ``meta/episodes``, without its statistics."""
    path = files.root / files.ref.files[2]
    if path.name == Path(EPISODES_2).name:
        return _episode_line(files, path, index, info)
    with faults_of(path, AGAIN, files.scene):
        names = tuple(name for name in columns_of(path) if not name.startswith("stats/"))
    rows = rows_of(path, names, ("episode_index", index))
    files.add(f"{files.relative(path)}#{index}", repr(sorted(rows.items())).encode())
    if len(rows["episode_index"]) != 1:
        message = f"episode {index} is there {len(rows['episode_index'])} times"
        raise files.fault(path, "duplicate_episode", message, AGAIN)
    return {name: values[0] for name, values in rows.items()}


def _columns(
    files: SceneFiles,
    index: int,
    features: dict[str, dict[str, Any]],
    row: dict[str, Any],
    info: dict[str, Any],
    findings: Findings,
) -> tuple[FloatArray, dict[str, FloatArray], FloatArray]:
    """Times (N,) from 0 on, all columns of numbers (N,) as FEATURE.PART, numbers of tasks (N, 0 or 1)."""
    path = files.root / files.ref.files[1]
    wanted = [name for name, feature in features.items() if str(feature.get("dtype", "")).startswith(_NUMBERS)]
    wanted = list(dict.fromkeys(["timestamp", "frame_index", "episode_index", *wanted]))
    with faults_of(path, AGAIN, files.scene):
        tables = read_tables(path, wanted, ("episode_index", index))
    files.add(f"{files.relative(path)}#{index}", b"".join(name.encode() + tables[name].tobytes() for name in wanted))
    times_s, number = tables["timestamp"][:, 0], tables["frame_index"][:, 0]
    count = len(times_s)
    if count < _ROWS_MIN or not np.isfinite(times_s).all() or np.ptp(times_s) > EPISODE_MAX_S:
        message = f"{count} rows, or times that are not finite or over {EPISODE_MAX_S:g} s"
        raise files.fault(path, "no_movement", message, "record the episode again")
    length = row.get("length")
    if isinstance(length, int) and length != count:
        message = f"{count} rows are there, of {length} that {EPISODES} tells"
        findings.add(doubt("rows_missing", "log", message, "fetch the dataset again", count, length, "rows"))
    back = int((np.diff(times_s) < STEP_MIN_S).sum() + (~(np.diff(number) > 0)).sum())
    if back:
        message = f"times or frame numbers stand still or run backwards at {back} of {count} rows"
        raise files.fault(path, "times_backwards", message, "which order is right is not known: record it again")
    fps = info.get("fps")
    if isinstance(fps, int | float) and 0 < fps < np.inf:
        off = float(np.abs(np.diff(times_s) * fps - 1).max())
        if off > UNEVEN_MAX:
            message = f"steps differ from 1/{fps:g} s by up to {off:.0%}; the recorded times count"
            steady = float(np.median(np.diff(times_s))) * fps
            is_rate = abs(steady - 1) <= UNEVEN_MAX  # else another one throughout: one of the two is wrong
            remedy = "nothing is to be done" if is_rate else f"correct fps in {INFO}, or the column timestamp"
            found = note("uneven_times", "log", message, remedy, off, UNEVEN_MAX, "share")
            findings.add(found if is_rate else found.model_copy(update={"severity": "doubt"}))
    columns: dict[str, FloatArray] = {}
    for name, table in tables.items():
        if name in {"timestamp", "frame_index", "episode_index", "index", "task_index"}:
            continue
        parts = parts_of(features[name].get("names"), table.shape[1])
        columns |= {f"{name}.{part}": table[:, at] for at, part in enumerate(parts)}
    return times_s - times_s[0], columns, tables.get("task_index", np.zeros((count, 0)))
